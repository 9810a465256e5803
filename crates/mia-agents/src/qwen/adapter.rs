//! How Qwen Code is started, and which of its lines is whose.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use mia_api::{
    Cause, ErrorCode, NoticeKind, PermissionPolicy, PermissionResolution, PluginError, ToolStatus,
};
use mia_plugin::surrogate::without_lone;
use mia_plugin::{
    Ability, Call, CliAdapter, Exit, Interrupt, Lack, Launch, Login, LoginFile, Noise, Out,
    Package, Profile,
};
use serde_json::json;

use super::asking::Asked;
use super::line::{Line, Tokens};
use super::project::obeyed;
use super::telling::Telling;
use super::tool::READING;
use crate::stream_json::results;

/// The longest that qwen waits for an answer, in ms; asked for more it waits for a minute.
const PATIENCE: u64 = 600_000;

/// How a person installs it.
const INSTALL: &str = "mia plugin install qwen";
/// The most ids of calls that are kept of a kind.
pub(super) const CALLS: usize = 1000;

/// What acts, in a roundabout way: `--core-tools` leaves it in.
const ACTING: [&str; 4] = ["send_message", "skill", "enter_worktree", "exit_worktree"];

/// The adapter for Qwen Code.
#[derive(Debug, Clone, Default)]
pub struct Qwen {
    /// Questions that wait for their answer, by request id.
    pub(super) asked: HashMap<String, Asked>,
    /// Calls that are allowed for the rest of the turn.
    pub(super) always: HashSet<String>,
    /// Ids of the calls that were denied.
    pub(super) denied: HashSet<String>,
    /// True answers every question with yes: the caller chose `--permissions full`.
    pub(super) allow_all: bool,
    /// True answers every question but those about reading with no.
    pub(super) only_reading: bool,
    /// Where files may be changed unasked.
    pub(super) edits_in: Option<PathBuf>,
    /// It has answered, so it takes requests.
    listens: bool,
    /// The session that was to be resumed.
    resumed: Option<String>,
    /// What the session had used before this turn.
    pub(super) before: Option<Tokens>,
    /// What the main agent says now.
    pub(super) telling: Telling,
    /// Ids of the calls of sub-agents.
    pub(super) sub_agents: Vec<String>,
    /// A line of it was understood.
    understood: bool,
}

/// What it signs in with.
fn login() -> Login {
    let variables = [
        "OPENAI_API_KEY",
        "DASHSCOPE_API_KEY",
        "BAILIAN_CODING_PLAN_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "OPENROUTER_API_KEY",
    ];
    let file = |name: &str| LoginFile::new(".qwen", name).or_below("QWEN_HOME");
    Login {
        variables: variables.map(str::to_owned).to_vec(),
        files: vec![
            file("oauth_creds.json"),
            file(".env"),
            file("settings.json").with_member("security.auth.apiKey"),
        ],
        hint: "run qwen and sign in, or set OPENAI_API_KEY".to_owned(),
    }
}

impl Qwen {
    /// The version of this adapter.
    pub const VERSION: &'static str = "1.0.0";
    /// The name that people select it by.
    pub const NAME: &'static str = "qwen";
}

impl CliAdapter for Qwen {
    fn profile(&self) -> Profile {
        let env = [
            "OPENAI_*",
            "QWEN_*",
            "DASHSCOPE_*",
            "BAILIAN_*",
            "MODELSCOPE_*",
            "OPENROUTER_*",
            "DEEPSEEK_*",
            "ZAI_*",
            "MOONSHOT_*",
            "MINIMAX_*",
            "ANTHROPIC_*",
            "GEMINI_*",
            "GOOGLE_*",
        ];
        let lacks = [
            (Ability::Images, "a picture is refused: qwen would send its bytes as text"),
            (Ability::Cost, "the cost is unknown, unless prices are configured"),
            (
                Ability::GivesUp,
                "it tries again for a minute and a half on a server error, for hours on a rate limit; set a --timeout",
            ),
            (
                Ability::RetryNotices,
                "it tells of streams that broke and of rate limits, and tries other requests again in silence",
            ),
        ];
        Profile {
            program: "qwen".to_owned(),
            install: INSTALL.to_owned(),
            // Its `--version` answers with an older node, too.
            package: Some(
                Package::new("@qwen-code/qwen-code", "0.24.4")
                    .program("@qwen-code/qwen-code/cli-entry.js")
                    .node(22),
            ),
            login: Some(login()),
            env: env.map(str::to_owned).to_vec(),
            // From elsewhere the session is unknown.
            session_needs_cwd: true,
            // The prompt `/clear` begins another session, and a stale one is told in words.
            resume_keeps_id: false,
            own_rules:
                "it changes files in its folder, and its own model decides which commands run"
                    .to_owned(),
            lacks: lacks.map(|(ability, shows)| Lack::new(ability, shows)).to_vec(),
            ..Profile::default()
        }
    }

    fn build_args(&mut self, call: &Call<'_>) -> Result<Launch, PluginError> {
        let refused = |message: &str| {
            PluginError::new(ErrorCode::ProviderError, Self::NAME, message)
                .with_cause(Cause::InvalidRequest)
        };
        if !call.images.is_empty() {
            return Err(refused(
                "qwen takes no picture in its dialogue: it would send the bytes as text",
            )
            .with_hint("name the picture's file in the prompt, or choose another --plugin"));
        }
        if call.prompt.is_empty() {
            // It would wait for ever for one that is not.
            return Err(refused("qwen does not answer an empty prompt").with_hint("say something"));
        }
        if matches!(call.permissions, Some(PermissionPolicy::ReadOnly | PermissionPolicy::Edit))
            && let Some(path) = obeyed(call.working_directory, call.home)
        {
            let message = format!(
                "this folder brings settings along that qwen would obey, whatever the permissions: {}",
                path.display()
            );
            return Err(refused(&message).with_hint(
                "look at them; then choose no --permissions, or full, or another --plugin",
            ));
        }
        let mut launch = Launch::new([
            "--input-format=stream-json",
            "--output-format=stream-json",
            "--include-partial-messages",
            // Its answers would have to come in the place of the tool's input, and nobody could give
            // them as the answer to a question about a permission.
            "--exclude-tools=ask_user_question",
        ]);
        if let Some(session) = call.session {
            launch.arg(format!("--resume={}", session.session_id));
            self.resumed = Some(session.session_id.clone());
        }
        self.before = match call.session {
            Some(session) => Tokens::remembered(&session.state),
            None => Some(Tokens::default()),
        };
        if let Some(model) = call.model {
            launch.arg(format!("--model={model}"));
        }
        match call.permissions {
            None => {}
            // The mode `plan` runs commands that it takes for harmless, and has the model write a
            // plan; an allow-list of tools does not. MCP servers of the user could write too.
            Some(PermissionPolicy::ReadOnly) => {
                self.only_reading = true;
                launch.arg("--approval-mode=default").arg("--allowed-mcp-server-names=none");
                for tool in READING {
                    launch.arg(format!("--core-tools={tool}"));
                }
                for tool in ACTING {
                    launch.arg(format!("--exclude-tools={tool}"));
                }
            }
            // The mode `auto-edit` writes outside of the working directory too. So it asks, and
            // gets a yes for what lies inside: see `asking`.
            Some(PermissionPolicy::Edit) => {
                self.edits_in = Some(call.working_directory.to_owned());
                launch.arg("--approval-mode=default");
            }
            Some(PermissionPolicy::Full) => {
                self.allow_all = true;
                launch.arg("--approval-mode=yolo");
                launch.env.push(("QWEN_CODE_SUPPRESS_YOLO_WARNING".into(), "1".into()));
            }
        }
        if !self.allow_all {
            // What a sub-agent in the foreground would have to ask is told to nobody, and it waits
            // for the answer for ever.
            launch.arg("--exclude-tools=agent");
        }
        for arg in call.extra_args {
            launch.arg(arg);
        }
        // Else a job that the model plans for later holds up the last word until it has run.
        launch.env.push(("QWEN_CODE_DISABLE_CRON".into(), "1".into()));
        let initialize = json!({"subtype": "initialize", "timeout": {"canUseTool": PATIENCE}});
        let initialize =
            json!({"type": "control_request", "request_id": "mia-start", "request": initialize});
        let mut prompt = call.prompt.to_owned();
        // Its own commands ask nobody: `/init` writes a file, others write settings. With something
        // before the slash it is a prompt like any other.
        if self.only_reading && is_command(&prompt) {
            prompt.insert(0, '\u{2060}');
        }
        let content = json!([{"type": "text", "text": prompt}]);
        let message = json!({
            "type": "user",
            "session_id": "",
            "parent_tool_use_id": null,
            "message": {"role": "user", "content": content},
        });
        // Without the first line it takes no questions to anybody.
        launch.stdin = format!("{initialize}\n{message}\n").into_bytes();
        launch.dialogue = true;
        Ok(launch)
    }

    fn parse_output(&mut self, line: &str, out: &mut Out) -> Result<(), Noise> {
        let line = without_lone(line);
        let mut line: Line<'_> = serde_json::from_str(&line)?;
        let message = line.message.0.take().unwrap_or_default();
        let parent = line.parent_tool_use_id.0.as_ref().map(|id| id.0.as_ref());
        match line.kind.as_ref() {
            // What a sub-agent does comes whole as well.
            "stream_event" if parent.is_some() => {}
            "stream_event" => {
                if let Some(event) = &line.event.0 {
                    self.stream_event(event, out);
                }
            }
            "assistant" => self.assistant(message, parent, out),
            "user" => {
                for block in &message.content.0 {
                    if let Some(call) = &block.tool_use_id {
                        self.withdraw(&call.0, out);
                    }
                }
                results(&message, out)?;
            }
            "result" => self.result(&line, out),
            "system" => self.system(&line, out),
            "control_request" => self.control_request(&line, out)?,
            "control_response" => self.listens = true,
            "control_cancel_request" => {}
            unknown => return Err(Noise::UnknownType(unknown.to_owned())),
        }
        self.understood = true;
        Ok(())
    }

    fn on_permission(&mut self, resolution: &PermissionResolution, out: &mut Out) {
        self.answered(resolution, out);
    }

    fn interrupt(&mut self, out: &mut Out) -> Interrupt {
        // While it starts, it reads nothing, and has done nothing that could be lost.
        if !self.listens {
            return Interrupt::None;
        }
        // Also ends the tool that runs, and tells what was used; after SIGTERM nothing does.
        out.write_json_line(&json!({
            "type": "control_request",
            "request_id": "mia-interrupt",
            "request": {"subtype": "interrupt"},
        }));
        Interrupt::Written
    }

    fn on_exit(&mut self, exit: &Exit<'_>, out: &mut Out) {
        // All of these come before its first line; later such words may be a tool's.
        if self.understood {
            return;
        }
        if exit.stderr.contains("No saved session found with") {
            out.stale_session("it has no saved session of that id");
        } else if exit.stderr.contains("Unknown argument") {
            let message = "this version of qwen does not know an option that mia needs";
            let error = out
                .error(ErrorCode::SpawnFailure, Cause::NotExecutable, message)
                .with_hint(
                    "if Mia installed it, run: mia plugin upgrade qwen; else update it, or run: mia plugin install qwen",
                );
            out.fail(error);
        } else if exit.code == Some(127) && exit.stderr.contains("node") {
            let message = "qwen is a program for node, and there is no node";
            let error = out
                .error(ErrorCode::SpawnFailure, Cause::NotExecutable, message)
                .with_hint("install node 22 or newer, and have it in PATH");
            out.fail(error);
        }
    }
}

/// Whether qwen takes a prompt for a command of its own that may change anything; those that are
/// about the conversation alone do not.
fn is_command(prompt: &str) -> bool {
    let name = prompt.trim_start().strip_prefix('/').map(|rest| rest.split_whitespace().next());
    let harmless = ["clear", "reset", "new", "compress", "summarize"];
    name.is_some_and(|name| name.is_none_or(|name| !harmless.contains(&name)))
}

impl Qwen {
    fn system(&mut self, line: &Line<'_>, out: &mut Out) {
        let data = line.data.0.as_ref();
        match (line.subtype.0.as_ref().map(|s| s.0.as_ref()), data) {
            (Some("init"), _) => {
                if let Some(id) = &line.session_id.0 {
                    out.session(&id.0);
                    // What it has used is not known before the last word: a turn that ends without
                    // one must not be counted in the next.
                    out.session_state(json!({}));
                    if self.resumed.as_ref().is_some_and(|resumed| *resumed != id.0) {
                        out.stale_session("it began another session");
                    }
                }
                if let Some(model) = &line.model.0 {
                    out.model(&model.0);
                }
            }
            (Some("retry"), Some(data)) => self.retry(data, out),
            (Some("model_fallback"), Some(data)) => {
                if let Some(model) = &data.to_model.0 {
                    out.model(&model.0);
                    out.notice(NoticeKind::Retry, format!("qwen goes on with {}", model.0));
                }
            }
            (Some("task_started"), Some(data)) => {
                if let Some(id) = data.tool_use_id.0.as_ref().filter(|id| out.is_open(&id.0)) {
                    out.tool_update(&id.0, ToolStatus::InProgress, Vec::new());
                }
            }
            (Some("session_recording_degraded"), _) => {
                out.warn("qwen could not save the session, so the next turn may begin a fresh one");
            }
            _ => {}
        }
    }
}
