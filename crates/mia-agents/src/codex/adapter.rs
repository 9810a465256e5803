//! How codex is run, and which of its lines is whose.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use mia_api::{Cause, ErrorCode, NoticeKind, PermissionPolicy, PermissionResolution, PluginError};
use mia_plugin::{
    Ability, Call, CliAdapter, Exit, Interrupt, Lack, Launch, Login, LoginFile, Noise, Out,
    Package, Profile,
};
use serde::de::Error as _;
use serde_json::{Value, json};

use super::asking::Asked;
use super::item::{Items, plan};
use super::line::{Delta, Line, text, value};
use super::policy;
use super::spent::Spent;
use super::start::{INTERRUPT, Start, request};
use super::telling::Telling;

/// The adapter for Codex.
#[derive(Debug, Clone, Default)]
pub struct Codex {
    /// What is needed until the turn begins.
    pub(super) start: Start,
    /// What it may do; none are its own rules.
    pub(super) policy: Option<PermissionPolicy>,
    /// Where it works.
    pub(super) cwd: PathBuf,
    /// The thread of the main agent; empty until it is known.
    pub(super) thread: String,
    /// Its turn; likewise.
    pub(super) turn: String,
    /// The turn runs, so that it can be interrupted.
    running: bool,
    /// The provider has answered in this turn.
    pub(super) provider_works: bool,
    /// How often in a row codex has said that it waits for the network.
    pub(super) waits: u32,
    pub(super) telling: Telling,
    pub(super) items: Items,
    /// The threads of sub-agents that are at work.
    pub(super) busy_agents: BTreeSet<String>,
    /// Questions that wait for their answer.
    pub(super) asked: HashMap<String, Asked>,
    spent: Spent,
    /// A line of it was read.
    has_spoken: bool,
}

impl Codex {
    /// The version of this adapter.
    pub const VERSION: &'static str = "1.0.0";
    /// The name that people select it by.
    pub const NAME: &'static str = "codex";
}

/// What to do where it is too old: for one that Mia installed, and for one that it found.
pub(super) const UPDATE: &str = "run: mia plugin upgrade codex; or, where mia did not install it, \
                                 update it, or run: mia plugin install codex";

impl CliAdapter for Codex {
    fn profile(&self) -> Profile {
        // Other variables may hold keys by the user's configuration; `pass_env` names those.
        let env = ["CODEX_*", "OPENAI_*", "AZURE_OPENAI_*", "AWS_*", "OLLAMA_*"];
        Profile {
            program: Self::NAME.to_owned(),
            install: "npm install -g @openai/codex".to_owned(),
            // Its script only starts the native program.
            package: Some(
                Package::new("@openai/codex", "0.171.0").program(
                    "@openai/codex-linux-{cpu}/vendor/{arch}-unknown-linux-musl/bin/codex",
                ),
            ),
            login: Some(Login {
                // OPENAI_API_KEY alone is no login, says `codex login status`.
                variables: ["CODEX_API_KEY", "CODEX_ACCESS_TOKEN"].map(str::to_owned).to_vec(),
                files: vec![LoginFile::new(".codex", "auth.json").or_below("CODEX_HOME")],
                hint: "run codex login, or set CODEX_API_KEY".to_owned(),
            }),
            env: env.map(str::to_owned).to_vec(),
            session_needs_cwd: false,
            resume_keeps_id: true,
            own_rules:
                "as its config.toml says; else it reads, and runs commands in a sandbox without \
                        write access, and asks for more"
                    .to_owned(),
            lacks: vec![
                Lack::new(Ability::Cost, "codex counts tokens and no money"),
                Lack::new(
                    Ability::RetryNotices,
                    "a failed request is sent up to 4 times more, for a second or two, before it tells",
                ),
                Lack::new(
                    Ability::Edit,
                    "a file in a folder that is not there yet can't be made, and codex says so",
                ),
                Lack::new(
                    Ability::ReadOnly,
                    "commands that the rules in codex's own home allow always run, even then",
                ),
            ],
            ..Profile::default()
        }
    }

    fn build_args(&mut self, call: &Call<'_>) -> Result<Launch, PluginError> {
        let Some(cwd) = call.working_directory.to_str() else {
            // What is written to it is JSON, so it would look into another folder.
            let message = "codex needs a working directory whose path is UTF-8";
            return Err(PluginError::new(ErrorCode::SpawnFailure, Self::NAME, message)
                .with_cause(Cause::WorkingDirectory));
        };
        let mut launch = Launch::new(["app-server"]);
        for arg in call.extra_args {
            launch.arg(arg);
        }
        self.policy = call.permissions;
        self.cwd = call.working_directory.to_owned();
        let mut input = vec![json!({"type": "text", "text": call.prompt})];
        for image in call.images {
            let url = format!("data:{};base64,{}", image.media_type, image.data);
            input.push(json!({"type": "image", "url": url}));
        }
        let start = &mut self.start;
        start.input = input;
        start.session = call.session.map(|session| session.session_id.clone());
        cwd.clone_into(&mut start.cwd);
        start.model = call.model.map(str::to_owned);
        start.had_policy =
            call.session.is_some_and(|session| text(&session.state, "policy") != policy::OWN);
        launch.stdin = self.start.first_lines();
        launch.dialogue = true;
        Ok(launch)
    }

    fn parse_output(&mut self, line: &str, out: &mut Out) -> Result<(), Noise> {
        if !line.trim_ascii_start().starts_with('{') {
            return Err(serde_json::Error::custom("no object").into());
        }
        let line: Line<'_> = serde_json::from_str(line)?;
        self.has_spoken = true;
        match (line.method.0.as_ref(), line.id) {
            ("", Some(id)) => {
                let id = id.get().parse().unwrap_or_default();
                self.response(id, &value(line.result), &value(line.error), out);
                Ok(())
            }
            (method, Some(id)) => {
                self.server_request(method, value(Some(id)), &value(line.params), out);
                Ok(())
            }
            (method, None) => self.notification(method, &line, out),
        }
    }

    fn on_permission(&mut self, resolution: &PermissionResolution, out: &mut Out) {
        self.answered(&resolution.id, resolution.option_id.as_deref(), out);
    }

    fn interrupt(&mut self, out: &mut Out) -> Interrupt {
        // Before its turn runs codex refuses this, and TERM loses nothing.
        if !self.running {
            return Interrupt::None;
        }
        let params = json!({"threadId": self.thread, "turnId": self.turn});
        out.write_json_line(&request(INTERRUPT, "turn/interrupt", &params));
        Interrupt::Written
    }

    fn on_exit(&mut self, exit: &Exit<'_>, out: &mut Out) {
        // These words alone say nothing: what its tools print may stand on stderr, too.
        let unknown = ["unrecognized subcommand", "unexpected argument"];
        if !self.has_spoken
            && exit.code == Some(2)
            && unknown.iter().any(|words| exit.stderr.contains(words))
        {
            let message = "this version of codex does not know how mia talks to it, or an argument in plugins.codex.args";
            let error =
                out.error(ErrorCode::SpawnFailure, Cause::NotExecutable, message).with_hint(UPDATE);
            out.fail(error);
        }
    }
}

/// What is told of something that Mia has no use for: of the user's other threads and clients, of
/// what was asked for, of what the items say again.
const IRRELEVANT: [&str; 28] = [
    "account/",
    "app/",
    "autoApprovalReview/",
    "command/exec/",
    "deprecationNotice",
    "externalAgentConfig/",
    "fs/",
    "fuzzyFileSearch/",
    "hook/",
    "item/autoApprovalReview/",
    "item/commandExecution/",
    "item/fileChange/",
    "item/mcpToolCall/",
    "item/plan/",
    "mcpServer/",
    "model/safetyBuffering/",
    "model/verification",
    "modelProvider/",
    "process/",
    "project/",
    "rawResponse",
    "remoteControl/",
    "skills/",
    "thread/",
    "turn/diff/",
    "turn/moderationMetadata",
    "windows/",
    "windowsSandbox/",
];

impl Codex {
    fn notification(&mut self, method: &str, line: &Line<'_>, out: &mut Out) -> Result<(), Noise> {
        match method {
            "item/agentMessage/delta"
            | "item/reasoning/summaryTextDelta"
            | "item/reasoning/textDelta" => {
                let Some(params) = line.params else { return Ok(()) };
                let delta: Delta<'_> = serde_json::from_str(params.get())?;
                let Some(parent) = self.whose(&delta.thread_id.0) else { return Ok(()) };
                self.works();
                if method == "item/agentMessage/delta" {
                    self.text_delta(&delta, parent.as_deref(), out);
                } else {
                    self.thought_delta(&delta, parent.as_deref(), out);
                }
                return Ok(());
            }
            // Large, and said again by the items; not worth reading.
            "item/commandExecution/outputDelta" | "turn/diff/updated" => return Ok(()),
            _ => {}
        }
        let params = value(line.params);
        match method {
            "warning" | "guardianWarning" => {
                out.notice(NoticeKind::Warning, text(&params, "message"));
                return Ok(());
            }
            "configWarning" => {
                // Harmless: it brings one along.
                if !text(&params, "summary").contains("bubblewrap") {
                    let (summary, details) = (text(&params, "summary"), text(&params, "details"));
                    out.notice(NoticeKind::Warning, format!("{summary} {details}").trim_end());
                }
                return Ok(());
            }
            "serverRequest/resolved" => {
                self.resolved(&params, out);
                return Ok(());
            }
            _ => {}
        }
        let thread = text(&params, "threadId");
        let Some(parent) = self.whose(thread) else { return known(method) };
        let (main, item) = (parent.is_none(), params.get("item").unwrap_or(&Value::Null));
        match method {
            "turn/started" if main => {
                self.running = true;
                let turn = text(params.get("turn").unwrap_or(&Value::Null), "id");
                turn.clone_into(&mut self.turn);
            }
            "turn/started" => {
                self.busy_agents.insert(thread.to_owned());
            }
            "item/started" | "item/completed" => {
                if text(item, "type") != "userMessage" {
                    self.works();
                }
                if method == "item/started" {
                    self.item_started(item, parent.as_deref(), out);
                } else {
                    self.item_completed(item, parent.as_deref(), out);
                }
            }
            "item/reasoning/summaryPartAdded" => {
                self.thought_part(&params, parent.as_deref(), out);
            }
            "turn/plan/updated" if main => out.plan(plan(&params)),
            "thread/tokenUsage/updated" => {
                // A resumed thread begins with what its last turn took.
                let in_turn = !main || text(&params, "turnId") == self.turn;
                self.spent.told(&params, in_turn, main, out);
            }
            "error" => self.provider_failed(&params, main, out),
            "model/rerouted" if main => {
                out.model(text(&params, "toModel"));
                let (from, to) = (text(&params, "fromModel"), text(&params, "toModel"));
                out.warn(format!("the provider gave the answer of {to} for {from}"));
            }
            "turn/completed" if main => self.turn_completed(&params, out),
            "turn/completed" => {
                self.busy_agents.remove(thread);
            }
            _ => return known(method),
        }
        Ok(())
    }

    /// The provider answers.
    fn works(&mut self) {
        self.provider_works = true;
        self.waits = 0;
    }

    /// Whose thread that is: of the main agent, or of a sub-agent with the call that began it; none
    /// for others.
    fn whose(&self, thread: &str) -> Option<Option<String>> {
        if thread == self.thread && !thread.is_empty() {
            return Some(None);
        }
        self.items.sub_agents.get(thread).cloned().map(Some)
    }
}

/// Whether Mia knows that it has no use for it.
fn known(method: &str) -> Result<(), Noise> {
    let mine =
        ["error", "turn/", "item/started", "item/completed", "item/reasoning/", "model/rerouted"];
    if mine.iter().chain(&IRRELEVANT).any(|known| method.starts_with(known)) {
        Ok(())
    } else {
        Err(Noise::UnknownType(method.to_owned()))
    }
}
