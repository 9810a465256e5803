//! How opencode is started, and which line is whose.

use mia_acp::from_update;
use mia_api::{Cause, ErrorCode, EventBody, PermissionPolicy, PermissionResolution, PluginError};
use mia_plugin::surrogate::without_lone;
use mia_plugin::{
    Ability, Call, CliAdapter, Exit, Interrupt, Lack, Launch, Login, LoginFile, Noise, Out,
    Package, Profile,
};
use serde_json::{Value, json};

use super::ending::Account;
use super::project::obeyed;
use super::rules::Rules;
use super::telling::Telling;
use crate::acp_dialogue::{
    Message, Opening, Progress, Questions, Request, Tools, Turn, Update, answer, read, refuse,
    update,
};

/// The adapter for opencode.
#[derive(Debug, Clone, Default)]
pub struct OpenCode {
    pub(super) turn: Turn,
    pub(super) tools: Tools,
    pub(super) questions: Questions,
    /// Questions about a call whose input has not come yet.
    pub(super) held: Vec<Request>,
    /// Where it works.
    pub(super) cwd: String,
    /// True answers questions about edits of the project with yes.
    pub(super) edits: bool,
    /// A line of it was understood.
    understood: bool,
    pub(super) telling: Telling,
    pub(super) account: Account,
    /// A session was to be resumed.
    pub(super) resumed: bool,
    /// The model that was chosen.
    model: Option<String>,
    /// The prompt again, should opencode take it for a command of its own that it has not.
    pub(super) spare_prompt: Option<Vec<Value>>,
}

impl OpenCode {
    /// The version of this adapter.
    pub const VERSION: &'static str = "1.0.0";
    /// The name that people select it by.
    pub const NAME: &'static str = "opencode";
}

/// What it signs in with: its own login, or the key of any of the providers that people use most.
fn login() -> Login {
    let variables = [
        "OPENCODE_API_KEY",
        "OPENCODE_AUTH_CONTENT",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        "DEEPSEEK_API_KEY",
        "GROQ_API_KEY",
        "MISTRAL_API_KEY",
        "OPENROUTER_API_KEY",
        "XAI_API_KEY",
    ];
    Login {
        variables: variables.map(str::to_owned).to_vec(),
        files: vec![LoginFile::new(".local/share", "opencode/auth.json").or_below("XDG_DATA_HOME")],
        hint: "run opencode auth login, or set a provider's key".to_owned(),
    }
}

impl CliAdapter for OpenCode {
    fn profile(&self) -> Profile {
        let env = [
            "OPENCODE_*",
            // The providers' own: what models.dev names for those that people use most.
            "ANTHROPIC_*",
            "OPENAI_*",
            "GEMINI_API_KEY",
            "GOOGLE_*",
            "AWS_*",
            "AZURE_*",
            "CEREBRAS_API_KEY",
            "CLOUDFLARE_*",
            "COHERE_API_KEY",
            "DEEPINFRA_API_KEY",
            "DEEPSEEK_API_KEY",
            "FIREWORKS_API_KEY",
            "GITLAB_TOKEN",
            "GROQ_API_KEY",
            "HF_TOKEN",
            "LITELLM_*",
            "LMSTUDIO_*",
            "MINIMAX_API_KEY",
            "MISTRAL_API_KEY",
            "MOONSHOT_API_KEY",
            "NVIDIA_API_KEY",
            "OLLAMA_*",
            "OPENROUTER_API_KEY",
            "PERPLEXITY_API_KEY",
            "TOGETHER_API_KEY",
            "AI_GATEWAY_API_KEY",
            "VERCEL_OIDC_TOKEN",
            "XAI_API_KEY",
            "ZAI_API_KEY",
            "ZHIPU_API_KEY",
        ];
        Profile {
            program: "opencode".to_owned(),
            install: "mia plugin install opencode".to_owned(),
            // Its script only picks the native program; `baseline` is for processors without AVX2.
            package: Some(
                Package::new("opencode-ai", "1.18.33")
                    .program("opencode-linux-{cpu}/bin/opencode")
                    .program("opencode-linux-{cpu}-baseline/bin/opencode")
                    .program("opencode-linux-{cpu}-musl/bin/opencode")
                    .program("opencode-linux-{cpu}-baseline-musl/bin/opencode"),
            ),
            login: Some(login()),
            env: env.map(str::to_owned).to_vec(),
            // Elsewhere it resumes too, but its tools run in the folder where the session began.
            session_needs_cwd: true,
            own_rules:
                "it changes files and runs commands in its folder, and asks for what lies outside"
                    .to_owned(),
            lacks: vec![
                Lack::new(
                    Ability::TurnUsage,
                    "tokens stay unknown for a turn with tools: it tells those of its last request only",
                ),
                Lack::new(
                    Ability::GivesUp,
                    "a provider that fails is asked six times, over a minute or more, before the error is shown",
                ),
                Lack::new(
                    Ability::RetryNotices,
                    "nothing is shown while opencode asks a failing provider again",
                ),
            ],
            ..Profile::default()
        }
    }

    fn build_args(&mut self, call: &Call<'_>) -> Result<Launch, PluginError> {
        let Some(cwd) = call.working_directory.to_str() else {
            let message = "opencode needs a working directory whose path is UTF-8";
            return Err(PluginError::new(ErrorCode::SpawnFailure, Self::NAME, message)
                .with_cause(Cause::WorkingDirectory));
        };
        if matches!(call.permissions, Some(PermissionPolicy::ReadOnly | PermissionPolicy::Edit))
            && let Some(path) = obeyed(call.working_directory, call.home)
        {
            let message = format!(
                "this folder brings settings along that opencode would obey, whatever the permissions: {}",
                path.display()
            );
            return Err(PluginError::new(ErrorCode::ProviderError, Self::NAME, message)
                .with_cause(Cause::InvalidRequest)
                .with_hint(
                    "look at them; then choose no --permissions, or full, or another --plugin",
                ));
        }
        let rules = Rules::of(call.permissions, call.working_directory);
        self.edits = call.permissions == Some(PermissionPolicy::Edit);
        self.questions.allow_all = call.permissions == Some(PermissionPolicy::Full);
        let mut opening = Opening {
            cwd: cwd.to_owned(),
            resumed: call.session.map(|session| session.session_id.clone()),
            ..Opening::default()
        };
        // A resumed session has the agent of its last turn, and its model.
        opening.settings.extend(rules.agent.map(|agent| ("mode", agent)));
        opening.settings.extend(call.model.map(|model| ("model", model.to_owned())));
        opening.prompt = prompt(call);
        // A prompt that begins with `/` and is no command of opencode's is swallowed without a word
        // to the model. It looks no further than the text's first character that is no blank.
        if let Some(command) = call.prompt.trim_start().strip_prefix('/') {
            let mut spare = vec![json!({"type": "text", "text": "\u{2060}"})];
            spare.extend(opening.prompt.iter().cloned());
            if breaks_rules(command, call.permissions) {
                opening.prompt = spare;
            } else {
                self.spare_prompt = Some(spare);
            }
        }
        self.resumed = call.session.is_some();
        self.cwd = cwd.to_owned();
        self.model = call.model.map(str::to_owned);
        self.account = Account::since(call.session);
        let mut launch = Launch::new(["acp"]);
        for arg in call.extra_args {
            launch.arg(arg);
        }
        launch.env = rules.env;
        // It opens a TCP port on loopback for itself, which without a password everybody on this
        // machine may use to run commands as this user.
        let password = uuid::Uuid::new_v4().simple().to_string();
        launch.env.push(("OPENCODE_SERVER_PASSWORD".into(), password.into()));
        let (turn, line) = Turn::begin(opening);
        self.turn = turn;
        launch.stdin = line.into_bytes();
        launch.dialogue = true;
        Ok(launch)
    }

    fn parse_output(&mut self, line: &str, out: &mut Out) -> Result<(), Noise> {
        let line = without_lone(line);
        match read(&line)? {
            Message::Notification { method, params } if method == "session/update" => {
                // Before the prompt it is about what was said in earlier turns.
                if self.turn.is_prompted()
                    && let Some(params) = params
                    && let Some(update) = update(params, self.turn.session())
                {
                    self.update(update, out);
                }
            }
            Message::Notification { .. } => {}
            Message::Request { id, method, params } => match method.as_ref() {
                "session/request_permission" => self.request(Request::read(id, params), out),
                // Sent when an edit was allowed, whatever the client says that it can do, for an
                // editor to show; opencode writes the file itself. A refusal it prints on stderr.
                "fs/write_text_file" => {
                    let id = serde_json::from_str(id.get())?;
                    answer(&id, json!({}), out);
                }
                method => refuse(id, method, out),
            },
            Message::Answer { id, outcome } => match self.turn.answered(id, outcome, out) {
                Progress::Going => {}
                Progress::Opened(session) => {
                    self.account.begin(out);
                    if let Some(model) = self.model.as_deref().or(model(&session)) {
                        out.model(model);
                    }
                }
                Progress::Answered(result) => self.answered(&result, out),
                Progress::Failed(step, failure) => self.failed(step, &failure, out),
            },
        }
        self.understood = true;
        Ok(())
    }

    fn on_permission(&mut self, resolution: &PermissionResolution, out: &mut Out) {
        self.questions.answered(resolution, out);
    }

    fn interrupt(&mut self, out: &mut Out) -> Interrupt {
        // Also ends the tool that runs. Without it the session's last message stays unfinished, and
        // a tool that runs outlives SIGTERM.
        if self.turn.cancel(out) { Interrupt::Written } else { Interrupt::None }
    }

    fn on_exit(&mut self, exit: &Exit<'_>, out: &mut Out) {
        // Such words on stderr may be a tool's, or of a trouble that was overcome.
        if self.understood {
            return;
        }
        // Several first starts at once race to make its database, and some lose.
        if exit.stderr.contains("CREATE TABLE") || exit.stderr.contains("database is locked") {
            let message = "opencode could not open its database, which another one was using";
            let error = out
                .error(ErrorCode::SpawnFailure, Cause::NotExecutable, message)
                .with_hint("try again: this happens when several are started for the first time");
            out.fail(error);
        } else if let Some(mistake) = mistake(exit.stderr) {
            let message = format!("opencode does not start with its configuration: {mistake}");
            let error = out
                .error(ErrorCode::SpawnFailure, Cause::NotExecutable, message)
                .with_hint("correct that file, or run `opencode` in this folder to see more");
            out.fail(error);
        }
    }
}

/// The line in which it tells of a mistake in its configuration.
fn mistake(stderr: &str) -> Option<&str> {
    let tells = ["Configuration is invalid at ", "Config file at "];
    let at = tells.iter().find_map(|words| stderr.find(words))?;
    stderr.get(at..)?.lines().next()
}

impl OpenCode {
    fn update(&mut self, update: Update<'_>, out: &mut Out) {
        match update {
            Update::Text { message, text } => self.telling.text(message.as_deref(), &text, out),
            Update::Thought(text) => out.thought(&text, None),
            Update::Tool(update) => self.tool(update, out),
            Update::Other(kind, update) => match kind.as_str() {
                "usage_update" => {
                    if let EventBody::Usage { context, cost_usd, .. } = from_update(&update) {
                        self.account.total(cost_usd, out);
                        // Zero after a failed or aborted request, which is not what it means.
                        if let Some(context) = context.filter(|context| context.used > 0) {
                            out.context_usage(context);
                        }
                    }
                }
                "plan" => {
                    if let EventBody::Plan { entries, .. } = from_update(&update) {
                        out.plan(entries);
                    }
                }
                "available_commands_update"
                | "config_option_update"
                | "current_mode_update"
                | "session_info_update"
                | "user_message_chunk" => {}
                _ => out.other(update),
            },
        }
    }
}

/// Whether a command may be run by an agent that has not the rules of that policy: those of the
/// user's own configuration name one or run commands themselves, and `/review` has a sub-agent.
fn breaks_rules(command: &str, policy: Option<PermissionPolicy>) -> bool {
    let name = command.split_whitespace().next().unwrap_or_default();
    match policy {
        Some(PermissionPolicy::ReadOnly) => !matches!(name, "init" | "compact"),
        Some(PermissionPolicy::Edit) => name == "review",
        Some(PermissionPolicy::Full) | None => false,
    }
}

fn prompt(call: &Call<'_>) -> Vec<Value> {
    let mut blocks = vec![json!({"type": "text", "text": call.prompt})];
    blocks.extend(
        call.images.iter().map(
            |image| json!({"type": "image", "mimeType": image.media_type, "data": image.data}),
        ),
    );
    blocks
}

/// The model of a session.
fn model(session: &Value) -> Option<&str> {
    let mut options = session.get("configOptions")?.as_array()?.iter();
    options.find(|option| option.get("id") == Some(&"model".into()))?.get("currentValue")?.as_str()
}
