//! A `CodingPlugin` for any CLI adapter.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use mia_api::{
    Attempt, Cause, ConversationId, DispatchResult, ErrorCode, EventBody, NoticeKind, PluginError,
    TaskId,
};
use mia_host::SpawnSpec;
use tokio::time::Instant;

use super::adapter::{Call, CliAdapter, Launch, Profile};
use super::binary::{self, Found};
use super::environment::{self, Composed};
use super::life::Start;
use super::outcome::{Outcome, conclude};
use super::run::run;
use super::stdin::ToStdin;
use super::watch::Limits;
use super::{probe, prompt};
use crate::contract::{CodingPlugin, Dispatch, Environment, PluginConfig, Probe, Services};
use crate::login::SignIn;
use crate::package::Package;
use crate::sessions::{SessionKey, SessionsError};
use crate::sink::EventSink;
use crate::slots::{Slot, Slots};
use mia_api::Lack;

/// How long a write to the record of sessions is waited for once the agent is gone.
const SAVE: Duration = Duration::from_secs(5);

/// What a person is told of a session that is not on record.
const NOT_SAVED: &str = "the session could not be saved, so the next turn may begin a fresh one";
/// What a person is told of a session that is on record and should not be.
const NOT_FORGOTTEN: &str = "the session could not be forgotten, so the next turn may go on in it";

/// A CLI plugin: spawning, streaming, sessions, limits and killing around a [`CliAdapter`].
pub struct SpawnPlugin<A> {
    name: String,
    version: String,
    adapter: A,
    ready: OnceLock<Ready>,
}

/// What `initialize` brought.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) config: PluginConfig,
    pub(super) services: Services,
    slots: Slots,
}

impl<A> fmt::Debug for SpawnPlugin<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnPlugin").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<A: CliAdapter> SpawnPlugin<A> {
    /// A plugin of that name and version around an adapter. The name is also the program's, unless
    /// the adapter's profile says another.
    pub fn new(name: impl Into<String>, version: impl Into<String>, adapter: A) -> Self {
        Self { name: name.into(), version: version.into(), adapter, ready: OnceLock::new() }
    }
}

impl<A> SpawnPlugin<A> {
    fn ready(&self) -> Result<&Ready, PluginError> {
        self.ready.get().ok_or_else(|| {
            PluginError::new(
                ErrorCode::Unknown,
                &self.name,
                "the plugin was asked before it was initialized",
            )
        })
    }
}

impl<A: CliAdapter> SpawnPlugin<A> {
    fn profile(&self) -> Profile {
        let mut profile = self.adapter.profile();
        if profile.program.is_empty() {
            profile.program.clone_from(&self.name);
        }
        profile
    }

    fn find(
        &self,
        ready: &Ready,
        profile: &Profile,
        environment: &Environment,
        cwd: &Path,
    ) -> Result<Found, PluginError> {
        let installed = ready.services.installed_agents.as_deref();
        let install = match profile.package {
            Some(_) => format!("mia plugin install {}", self.name),
            None => profile.install.clone(),
        };
        binary::find(&ready.config, &profile.program, &install, environment, installed, cwd)
    }

    /// What the agent gets of an environment, before any call.
    fn composed(&self, profile: &Profile, environment: &Environment) -> Option<Composed> {
        let config = &self.ready().ok()?.config;
        Some(environment::compose(environment, &profile.env, config, &[], &[].into()))
    }

    /// Answers, with a second try in a fresh session where the agent has lost its own (M-18).
    async fn answer(
        &self,
        ready: &Ready,
        dispatch: Dispatch,
        events: EventSink,
        slot: &Slot,
    ) -> Result<DispatchResult, PluginError> {
        let began = Instant::now();
        let profile = self.profile();
        let options = &dispatch.options;
        let cwd = options.working_directory.as_path();
        let found = self.find(ready, &profile, &dispatch.environment, cwd)?;
        let key = SessionKey {
            plugin: self.name.clone(),
            conversation: options.conversation_id.clone(),
            cwd: profile.session_needs_cwd.then(|| cwd.to_owned()),
        };
        let sessions = ready.services.sessions.as_ref();
        let store_error = |e: SessionsError| self.store_error(&e);
        let mut session = sessions.get(&key).await.map_err(store_error)?;
        let mut context_reset = false;
        // What could not be written since the agent ran: no reason to lose what it said.
        let mut unwritten: Option<String> = None;
        loop {
            let recap = if dispatch.earlier_turns == 0 {
                None
            } else {
                let (conversation, task) = (&options.conversation_id, &options.task_id);
                sessions
                    .recap(conversation, task, session.as_ref().map(|_| &key))
                    .await
                    .map_err(store_error)?
            };
            let prompt =
                prompt::compose(&dispatch.prompt, &dispatch.context, options, recap.as_deref());
            let mut adapter = self.adapter.clone();
            let launch = adapter.build_args(&Call {
                prompt: &prompt,
                images: &options.images,
                session: session.as_ref(),
                model: options.model.as_deref().or(ready.config.model.as_deref()),
                permissions: options.permissions,
                somebody_there: dispatch.permissions.somebody_there(),
                working_directory: cwd,
                home: dispatch.environment.get("HOME").map(Path::new),
                extra_args: &ready.config.args,
            });
            // What it refuses was never started.
            let launch = launch.map_err(|mut error| {
                error.phase.get_or_insert(mia_api::Phase::Start);
                error
            })?;
            drop(prompt);
            let (spec, withheld) = self.spec(ready, &profile, &dispatch, &found, &launch);
            if dispatch.earlier_turns == 0 && !context_reset && !withheld.is_empty() {
                self.tell_withheld(&withheld, &events);
            }
            let start = Start {
                plugin: &self.name,
                adapter,
                launch,
                profile: &profile,
                supervisor: &ready.services.supervisor,
                events: events.clone(),
                permissions: Arc::clone(&dispatch.permissions),
                limits: limits(ready, options.timeout_ms),
                began,
                requests: slot.requests(),
                max_line: ready.config.max_line,
                stderr_tail: ready.config.stderr_tail,
                keep_background: ready.config.keep_background,
                resumed: session.as_ref().map(|s| s.session_id.clone()),
                key: &key,
                sessions,
            };
            let ran = run(spec, start).await?;
            match conclude(&self.name, &profile.program, ready.config.max_line, ran) {
                Outcome::Answered { said, stop_reason, record } => {
                    let mut said = *said;
                    if let Some(record) = record {
                        // It takes the place of whatever could not be forgotten.
                        unwritten = written(NOT_SAVED, sessions.put(&key, &record)).await;
                    }
                    said.warnings.extend(unwritten);
                    let (task, conversation) =
                        (options.task_id.clone(), options.conversation_id.clone());
                    return Ok(DispatchResult {
                        usage: said.usage,
                        session_id: said.session_id,
                        tool_calls: said.tool_calls,
                        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
                        model: said.model,
                        cost_usd: said.cost_usd,
                        stop_reason,
                        attempts: vec![Attempt { plugin: self.name.clone(), error: None }],
                        files_changed: said.files_changed.into_iter().collect(),
                        context_reset,
                        warnings: said.warnings,
                        ..DispatchResult::new(task, conversation, &self.name, said.content)
                    });
                }
                Outcome::Failed { error, record } => {
                    match record {
                        Some(record) if error.code == ErrorCode::Aborted => {
                            unwritten = written(NOT_SAVED, sessions.put(&key, &record)).await;
                        }
                        // A fresh session whose first turn failed holds a prompt that would be
                        // sent again with the next one; the next fresh one is told of it instead.
                        Some(_) if session.is_none() => {
                            unwritten = written(NOT_FORGOTTEN, sessions.remove(&key)).await;
                        }
                        // What the adapter counts on next time is of this turn, too: a failed one
                        // has its tokens.
                        Some(record) if !record.state.is_null() => {
                            unwritten = written(NOT_SAVED, sessions.put(&key, &record)).await;
                        }
                        _ => {}
                    }
                    return Err(with_unwritten(*error, unwritten));
                }
                Outcome::Stale { message, error, visible } => {
                    unwritten = written(NOT_FORGOTTEN, sessions.remove(&key)).await;
                    if session.take().is_none() || visible {
                        return Err(with_unwritten(*error, unwritten));
                    }
                    context_reset = true;
                    let message = format!(
                        "the agent has lost its session, so a fresh one is told what was said before ({message})"
                    );
                    let _ = events.push(EventBody::notice(NoticeKind::ContextReset, message));
                }
            }
        }
    }

    /// What to start, and the names of the variables that were kept from it.
    fn spec(
        &self,
        ready: &Ready,
        profile: &Profile,
        dispatch: &Dispatch,
        found: &Found,
        launch: &Launch,
    ) -> (SpawnSpec, Vec<String>) {
        let options = &dispatch.options;
        let composed = environment::compose(
            &dispatch.environment,
            &profile.env,
            &ready.config,
            &launch.env,
            &options.env,
        );
        let spec = SpawnSpec {
            program: found.path.clone(),
            args: launch.args.clone(),
            env: composed.variables,
            cwd: options.working_directory.clone(),
            stdin: ToStdin::wanted(launch),
        };
        (spec, composed.withheld)
    }

    fn tell_withheld(&self, names: &[String], events: &EventSink) {
        let message = format!(
            "kept from the agent, for they look like secrets: {} (plugins.{}.pass_env passes them on)",
            names.join(", "),
            self.name
        );
        let _ = events.push(EventBody::notice(NoticeKind::WithheldEnv, message));
    }

    fn store_error(&self, error: &SessionsError) -> PluginError {
        let message = format!("the record of sessions can't be used: {error}");
        PluginError::new(ErrorCode::SessionError, &self.name, message).with_cause(Cause::Store)
    }
}

/// The limits of a dispatch; its own total comes before the configured one.
fn limits(ready: &Ready, timeout_ms: Option<u64>) -> Limits {
    Limits {
        total: timeout_ms.map(Duration::from_millis).or(ready.config.timeout),
        stall: ready.config.stall_timeout,
        tool: ready.config.tool_timeout,
    }
}

/// Waits for a write, but not for ever. Says what did not work, and why.
async fn written(
    what: &str,
    write: impl Future<Output = Result<(), SessionsError>>,
) -> Option<String> {
    match tokio::time::timeout(SAVE, write).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("{what}: {error}")),
        Err(_) => Some(format!("{what}: the record of sessions did not answer within {SAVE:?}")),
    }
}

/// The agent's own failure stays the error; what could not be written is a detail of it.
fn with_unwritten(mut error: PluginError, unwritten: Option<String>) -> PluginError {
    if let Some(unwritten) = unwritten {
        error.detail = Some(match error.detail.take() {
            Some(detail) => format!("{detail}\n{unwritten}"),
            None => unwritten,
        });
    }
    error
}

impl<A: CliAdapter> CodingPlugin for SpawnPlugin<A> {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn lacks(&self) -> Vec<Lack> {
        self.adapter.profile().lacks
    }

    fn own_rules(&self) -> Option<String> {
        Some(self.adapter.profile().own_rules).filter(|rules| !rules.is_empty())
    }

    fn initialize(
        &self,
        config: PluginConfig,
        services: Services,
    ) -> BoxFuture<'_, Result<(), PluginError>> {
        Box::pin(async move {
            let slots = Slots::new(&self.name, config.max_concurrency);
            self.ready.set(Ready { config, services, slots }).map_err(|_| {
                PluginError::new(
                    ErrorCode::Unknown,
                    &self.name,
                    "the plugin was initialized a second time",
                )
            })
        })
    }

    fn dispatch(
        &self,
        dispatch: Dispatch,
        events: EventSink,
    ) -> BoxFuture<'_, Result<DispatchResult, PluginError>> {
        // Before the first await, even before the first poll.
        let slot = self
            .ready()
            .and_then(|ready| Ok((ready, ready.slots.take(&dispatch.options.task_id)?)));
        Box::pin(async move {
            let (ready, slot) = slot?;
            self.answer(ready, dispatch, events, &slot).await
        })
    }

    fn locate(
        &self,
        environment: &Environment,
        cwd: &Path,
    ) -> Result<Option<PathBuf>, PluginError> {
        let ready = self.ready()?;
        self.find(ready, &self.profile(), environment, cwd).map(|found| Some(found.path))
    }

    fn is_available(&self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            let Ok(ready) = self.ready() else { return false };
            self.probe(&ready.services.environment).await.problem.is_none()
        })
    }

    fn probe<'a>(&'a self, environment: &'a Environment) -> BoxFuture<'a, Probe> {
        Box::pin(async move {
            let failed = |error: PluginError| Probe {
                problem: Some(error.message),
                hint: error.hint,
                ..Probe::default()
            };
            let ready = match self.ready() {
                Ok(ready) => ready,
                Err(error) => return failed(error),
            };
            let profile = self.profile();
            match self.find(ready, &profile, environment, Path::new("/")) {
                Ok(found) => {
                    probe::version(ready, &profile, &found, environment, probe::LIMIT).await
                }
                Err(error) => failed(error),
            }
        })
    }

    fn probe_program<'a>(&'a self, program: &'a Path, limit: Duration) -> BoxFuture<'a, Probe> {
        Box::pin(async move {
            match self.ready() {
                Ok(ready) => {
                    let found = Found { path: program.to_owned(), by: "named", _hold: None };
                    let environment = &ready.services.environment;
                    probe::version(ready, &self.profile(), &found, environment, limit).await
                }
                Err(error) => Probe { problem: Some(error.message), ..Probe::default() },
            }
        })
    }

    fn package(&self) -> Option<Package> {
        let profile = self.profile();
        let mut package = profile.package?;
        if package.command.is_empty() {
            package.command = profile.program;
        }
        Some(package)
    }

    fn sign_in(&self, environment: &Environment) -> Option<SignIn> {
        let profile = self.adapter.profile();
        let composed = self.composed(&profile, environment)?;
        Some(profile.login?.look(&composed.variables.into_iter().collect()))
    }

    fn withheld(&self, environment: &Environment) -> Vec<String> {
        let composed = self.composed(&self.adapter.profile(), environment);
        composed.map(|composed| composed.withheld).unwrap_or_default()
    }

    fn get_session<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<Option<String>, PluginError>> {
        Box::pin(async move {
            let sessions = &self.ready()?.services.sessions;
            let record = sessions.latest(&self.name, conversation).await;
            Ok(record.map_err(|e| self.store_error(&e))?.map(|r| r.session_id))
        })
    }

    fn clear_session<'a>(
        &'a self,
        conversation: &'a ConversationId,
    ) -> BoxFuture<'a, Result<(), PluginError>> {
        Box::pin(async move {
            let sessions = &self.ready()?.services.sessions;
            let removed = sessions.remove_all(&self.name, conversation).await;
            removed.map_err(|e| self.store_error(&e))
        })
    }

    fn abort<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Ok(ready) = self.ready() {
                ready.slots.abort(task).await;
            }
        })
    }

    fn running_task_count(&self) -> usize {
        self.ready().map_or(0, |ready| ready.slots.taken())
    }

    fn cleanup(&self, max_age: Duration) -> BoxFuture<'_, usize> {
        Box::pin(async move {
            let Ok(ready) = self.ready() else { return 0 };
            ready.services.sessions.remove_older(&self.name, max_age).await.unwrap_or(0)
        })
    }
}
