//! How Gemini CLI is started, and which of its lines is whose.

use std::ffi::OsString;

use mia_api::{Cause, ErrorCode, NoticeKind, PermissionPolicy, PluginError};
use mia_plugin::{
    Ability, Call, CliAdapter, Exit, Lack, Launch, Login, LoginFile, Noise, Out, Package, Profile,
};

use super::ending::Ending;
use super::exit;
use super::line::{Line, text};
use super::telling::Telling;
use super::tool::Tools;
use super::trust;

/// The longest prompt, in bytes. Gemini drops what is over, and says so on stderr only.
const LONGEST: usize = 8 * 1024 * 1024;

/// Else it starts itself a second time, for a larger heap: it takes twice as long to start, and the
/// first process ignores signals.
const NO_RELAUNCH: [&str; 2] = ["GEMINI_CLI_NO_RELAUNCH", "true"];

/// Makes it wait for its reader. Else it exits with what the pipe had no room for still unwritten:
/// with a reader that is a little behind the end of the answer is lost, and so is its last word. The
/// tools that it starts don't see the variable; one that the caller has set is left as it is.
const BLOCKING_STDOUT: [&str; 2] = [
    "NODE_OPTIONS",
    "--import=data:text/javascript,process.stdout._handle?.setBlocking?.(true);\
     delete%20process.env.NODE_OPTIONS",
];

/// The adapter for Gemini CLI.
#[derive(Debug, Clone, Default)]
pub struct Gemini {
    /// A session is to be resumed.
    resumed: bool,
    /// Nothing was said of what it may do, so its own rules hold.
    own_rules: bool,
    /// A line of it was read.
    has_spoken: bool,
    telling: Telling,
    tools: Tools,
    ending: Ending,
}

impl Gemini {
    /// The version of this adapter.
    pub const VERSION: &'static str = "1.0.0";
    /// The name that people select it by.
    pub const NAME: &'static str = "gemini";
}

impl CliAdapter for Gemini {
    fn profile(&self) -> Profile {
        let env = ["GEMINI_*", "GOOGLE_*", "GCLOUD_PROJECT", "CLOUD_SHELL", "CLOUDSDK_*"];
        Profile {
            program: "gemini".to_owned(),
            // Asking it starts it twice, too, which may take longer than it has.
            version_env: vec![NO_RELAUNCH.map(OsString::from).into()],
            install: "npm install -g @google/gemini-cli".to_owned(),
            package: Some(
                Package::new("@google/gemini-cli", "0.61.0")
                    .program("@google/gemini-cli/bundle/gemini.js")
                    .node(20),
            ),
            login: Some(login()),
            env: env.map(str::to_owned).to_vec(),
            // Its sessions lie in a folder of the project.
            session_needs_cwd: true,
            own_rules: "it reads, and denies what would need a yes".to_owned(),
            lacks: vec![
                Lack::new(
                    Ability::ForeignFolders,
                    "with folder trust switched off in the user's settings, hooks and servers of the \
                     folder run even then; with it on, which is the default, such a folder is refused",
                ),
                Lack::new(Ability::Thoughts, "it does not print what the model thinks"),
                Lack::new(
                    Ability::Questions,
                    "what would need a yes is denied, and a warning tells if the model tried it",
                ),
                Lack::new(
                    Ability::Images,
                    "a picture is refused; it opens one in its folder that the prompt names as `@FILE`",
                ),
                Lack::new(Ability::Cost, "the cost stays unknown unless prices are configured"),
                Lack::new(
                    Ability::Reconnects,
                    "a connection that breaks in mid-answer is an error at once; it asks again only \
                     where the stream ends without a reason",
                ),
                Lack::new(
                    Ability::GivesUp,
                    "it asks a failing provider again for about 4 minutes, unless \
                     `general.maxAttempts` in its settings is less than 10; a time limit ends it",
                ),
                Lack::new(Ability::RetryNotices, "nothing tells that it does"),
            ],
            ..Profile::default()
        }
    }

    fn build_args(&mut self, call: &Call<'_>) -> Result<Launch, PluginError> {
        refuse_what_it_does_not_take(call)?;
        let mut launch = Launch::new(["--output-format=stream-json"]);
        if let Some(session) = call.session {
            launch.arg(format!("--resume={}", session.session_id));
            self.resumed = true;
        }
        if let Some(model) = call.model {
            launch.arg(format!("--model={model}"));
        }
        match call.permissions {
            None => self.own_rules = true,
            Some(PermissionPolicy::ReadOnly) => {
                // `plan` is not read-only: headless, the model may leave it. In the default mode
                // all that changes something is denied, but for what the user's rules, settings,
                // extensions and servers allow; each of these options replaces one of them.
                launch
                    .arg("--approval-mode=default")
                    .arg("--policy=/dev/null")
                    .arg("--allowed-tools=read_file")
                    .arg("--extensions=none")
                    .arg("--allowed-mcp-server-names=none");
            }
            Some(PermissionPolicy::Edit) => {
                launch.arg("--approval-mode=auto_edit");
            }
            Some(PermissionPolicy::Full) => {
                launch.arg("--approval-mode=yolo");
            }
        }
        for arg in call.extra_args {
            launch.arg(arg);
        }
        launch.env.push(NO_RELAUNCH.map(OsString::from).into());
        launch.env.push(BLOCKING_STDOUT.map(OsString::from).into());
        if trust::releases_nothing(call.working_directory, call.home) {
            launch.env.push(("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into()));
        }
        launch.stdin = call.prompt.as_bytes().to_vec();
        Ok(launch)
    }

    fn parse_output(&mut self, line: &str, out: &mut Out) -> Result<(), Noise> {
        let line: Line<'_> = serde_json::from_str(line)?;
        self.has_spoken = true;
        match line.kind.as_ref() {
            "init" => self.init(&line, out),
            "message" => {
                // The prompt comes back too.
                if text(line.role).as_deref() == Some("assistant") {
                    let content = text(line.content).unwrap_or_default();
                    self.telling.text(&content, text(line.timestamp).as_deref(), out);
                }
            }
            "tool_use" => {
                self.telling.end(out);
                self.tools.call(&line, out);
            }
            "tool_result" => self.tools.result(&line, out),
            "error" => self.ending.error(&line, out),
            "result" => {
                if text(line.status).as_deref() == Some("success") {
                    self.telling.end(out);
                }
                self.ending.result(&line, out);
            }
            unknown => return Err(Noise::UnknownType(unknown.to_owned())),
        }
        Ok(())
    }

    // No `interrupt`: its session is written as it goes, and TERM ends it within 0.1 s, with
    // status 0 and no last word. INT does the same.

    fn on_exit(&mut self, exit: &Exit<'_>, out: &mut Out) {
        if !self.ending.exit(exit, out) {
            exit::without_a_word(exit, self.resumed, self.has_spoken, out);
        }
    }
}

impl Gemini {
    fn init(&mut self, line: &Line<'_>, out: &mut Out) {
        if let Some(id) = text(line.session_id) {
            out.session(&id);
        }
        if let Some(model) = text(line.model) {
            self.ending.model(&model, out);
        }
        // Once in a conversation: a person who expects to be asked should know.
        if self.own_rules && !self.resumed {
            out.notice(
                NoticeKind::Warning,
                "gemini can't ask here, so what needs a yes is denied; \
                 `--permissions edit` and `full` allow more",
            );
        }
    }
}

/// What it signs in with. GEMINI_CLI_HOME stands for HOME.
fn login() -> Login {
    let variables = [
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_GENAI_USE_GCA",
        "GEMINI_CLI_USE_COMPUTE_ADC",
    ];
    let files = ["oauth_creds.json", "gemini-credentials.json", ".env"];
    let file = |name| LoginFile::new("", format!(".gemini/{name}")).or_below("GEMINI_CLI_HOME");
    Login {
        variables: variables.map(str::to_owned).to_vec(),
        files: files.map(file).to_vec(),
        hint: "run gemini and sign in, or set GEMINI_API_KEY".to_owned(),
    }
}

fn refuse_what_it_does_not_take(call: &Call<'_>) -> Result<(), PluginError> {
    let refused = |cause, message: String, hint: &str| {
        Err(PluginError::new(ErrorCode::ProviderError, Gemini::NAME, message)
            .with_cause(cause)
            .with_hint(hint))
    };
    if !call.images.is_empty() {
        // Headless it has no way in for them.
        return refused(
            Cause::InvalidRequest,
            "gemini takes no picture along with a prompt".to_owned(),
            "put the picture into the folder that gemini works in, and write @ and its name",
        );
    }
    if call.prompt.is_empty() {
        // Status 42, as for a session that is not there.
        return refused(
            Cause::InvalidRequest,
            "gemini takes no empty prompt".to_owned(),
            "say what it should do",
        );
    }
    if call.prompt.len() > LONGEST {
        return refused(
            Cause::TooLong,
            format!("the prompt has {} bytes; gemini takes 8 MiB", call.prompt.len()),
            "shorten the prompt, or put it into a file and let gemini read that",
        );
    }
    Ok(())
}
