//! A manifest as an adapter of a CLI.

use std::collections::HashMap;
use std::sync::Arc;

use mia_api::{Cause, ErrorCode, NoticeKind, PluginError, StopReason};
use mia_plugin::{Call, CliAdapter, Exit, Interrupt, Launch, Noise, Out, Profile, SpawnPlugin};
use serde::de::Error as _;
use serde_json::Value;

use crate::counting::Counting;
use crate::failure::{failure, known};
use crate::launch::{can_resume, launch};
use crate::mend;
use crate::model::{ExitMeaning, Manifest};
use crate::path::Scope;
use crate::telling::Telling;

/// The adapter that a manifest describes.
#[derive(Debug, Clone)]
pub struct ManifestAdapter {
    pub(crate) manifest: Arc<Manifest>,
    pub(crate) state: State,
}

/// What is known of one child.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// The session that was to be resumed.
    pub(crate) resumed: Option<String>,
    /// The id that was told last, and whether a session is resumed by it.
    pub(crate) told: Option<(String, bool)>,
    /// It has said or done something.
    pub(crate) said: bool,
    /// The message that the main agent is in.
    pub(crate) message: Option<String>,
    /// The text that comes next is to stand apart from what was said.
    pub(crate) apart: bool,
    pub(crate) main: Speaker,
    /// Sub-agents by the calls that made them.
    pub(crate) others: HashMap<String, Speaker>,
    /// Calls without an id so far, and those of them that are open.
    pub(crate) calls: u64,
    pub(crate) open: Vec<String>,
    pub(crate) counting: Counting,
}

/// One who speaks and thinks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Speaker {
    pub(crate) text: Telling,
    pub(crate) thought: Telling,
}

impl ManifestAdapter {
    /// The version that plugins of manifests have.
    pub const VERSION: &'static str = "manifest";

    /// The adapter of a manifest.
    #[must_use]
    pub fn new(manifest: Manifest) -> Self {
        Self { manifest: Arc::new(manifest), state: State::default() }
    }

    /// The plugin of a manifest, with the manifest's name.
    #[must_use]
    pub fn plugin(manifest: Manifest) -> SpawnPlugin<Self> {
        SpawnPlugin::new(manifest.name.clone(), Self::VERSION, Self::new(manifest))
    }
}

impl CliAdapter for ManifestAdapter {
    fn profile(&self) -> Profile {
        let manifest = &self.manifest;
        Profile {
            program: manifest.program().to_owned(),
            version_args: manifest.version.clone(),
            install: manifest.install.clone(),
            env: manifest.pass_env.clone(),
            session_needs_cwd: manifest.session.needs_cwd,
            resume_keeps_id: manifest.session.keeps_id,
            lacks: manifest.lacks(),
            ..Profile::default()
        }
    }

    fn build_args(&mut self, call: &Call<'_>) -> Result<Launch, PluginError> {
        if let Some(session) = call.session {
            self.state.resumed = Some(session.session_id.clone());
            self.state.counting = Counting::resumed(&session.state);
        }
        launch(&self.manifest, call)
    }

    fn parse_output(&mut self, line: &str, out: &mut Out) -> Result<(), Noise> {
        let line = mend::read(line)?;
        if !line.is_object() {
            return Err(Noise::NotJson(serde_json::Error::custom("it is no object")));
        }
        let manifest = Arc::clone(&self.manifest);
        let scope = Scope::of(&line);
        if let Some(id) = manifest.session.id.as_ref().and_then(|at| at.text(scope)) {
            self.session(&id, out);
        }
        match manifest.rules.iter().find(|rule| rule.when.matches(scope)) {
            Some(rule) => {
                self.apply(rule, None, scope, out);
                Ok(())
            }
            None => Err(Noise::UnknownType(manifest.type_of(scope))),
        }
    }

    fn interrupt(&mut self, _out: &mut Out) -> Interrupt {
        if self.manifest.interrupt { Interrupt::Signal } else { Interrupt::None }
    }

    fn on_exit(&mut self, exit: &Exit<'_>, out: &mut Out) {
        let manifest = Arc::clone(&self.manifest);
        let meaning = exit.code.and_then(|code| manifest.exit.get(&code));
        // What stands on stderr of a run that answered is no error (M-23).
        if self.state.said && matches!(meaning, Some(ExitMeaning::Complete)) {
            out.complete(StopReason::EndTurn);
            return;
        }
        if let Some(line) = self.lost(exit.stderr) {
            out.stale_session(line);
        } else if let Some((error, line)) = known(&manifest, exit.stderr) {
            let error = failure(&manifest, &line, Some(error.cause), error.hint.clone());
            out.fail(error);
        } else if let Some(ExitMeaning::Failed { message, cause, hint }) = meaning {
            let status = exit.code.unwrap_or_default();
            let message = message
                .clone()
                .unwrap_or_else(|| format!("{} exited with status {status}", manifest.program()));
            let mut error = failure(&manifest, &message, *cause, hint.clone());
            if cause.is_none() {
                error.code = ErrorCode::ProcessExit;
                error.cause = Some(Cause::NoResult);
            }
            out.fail(error);
        }
    }
}

impl ManifestAdapter {
    /// The line of a text that says that the session to resume is unknown.
    pub(crate) fn lost(&self, text: &str) -> Option<String> {
        let texts = &self.manifest.session.lost;
        if self.state.resumed.is_none() || texts.is_empty() {
            return None;
        }
        let says = |line: &&str| {
            let line = line.to_lowercase();
            texts.iter().any(|lost| line.contains(lost.as_str()))
        };
        let line = text.lines().find(says)?;
        Some(crate::failure::plain(line))
    }

    /// A session that can't be resumed is not told: else the next turn would count on it, and not
    /// be told what was said before.
    pub(crate) fn session(&mut self, id: &str, out: &mut Out) {
        if id.is_empty() || !self.manifest.resumes() {
            return;
        }
        let known = self.state.told.as_ref().filter(|(told, _)| told == id).map(|(_, can)| *can);
        let can = known.unwrap_or_else(|| can_resume(&self.manifest, id));
        if known.is_none() {
            self.state.told = Some((id.to_owned(), can));
        }
        if can {
            out.session(id);
            if let Some(state) = self.state.counting.unchanged() {
                out.session_state(state);
            }
            return;
        }
        // On record it would be an error in each turn to come.
        if known.is_none() {
            let (name, id) = (self.manifest.program(), id.chars().take(40).collect::<String>());
            let message = format!(
                "{name} calls its session {id:?}, which can't be given back to it, so the conversation \
                 can't be resumed there: the next turn begins a fresh session"
            );
            out.notice(NoticeKind::Warning, message);
        }
        if self.state.resumed.is_some() && self.manifest.session.keeps_id {
            out.stale_session("it answered in another session");
        }
    }

    /// What is counted is of the session that is resumed, also when its agent does not name it.
    pub(crate) fn session_state(&mut self, state: Value, out: &mut Out) {
        if let Some(resumed) = &self.state.resumed
            && self.state.told.is_none()
            && self.manifest.session.keeps_id
        {
            out.session(resumed);
        }
        out.session_state(state);
    }
}

impl Manifest {
    /// What an event calls itself.
    pub(crate) fn type_of(&self, scope: Scope<'_>) -> String {
        let Some(path) = &self.type_path else { return "(none)".to_owned() };
        match path.find(scope).first() {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => format!("(no {path})"),
        }
    }
}
