//! How Claude Code is started, and which of its lines is whose.

use std::collections::HashMap;

use mia_api::{
    Cause, ErrorCode, NoticeKind, PermissionPolicy, PermissionResolution, PluginError, ToolStatus,
};
use mia_plugin::surrogate::without_lone;
use mia_plugin::{
    Call, CliAdapter, Exit, Interrupt, Launch, Login, LoginFile, Noise, Out, Package, Profile,
};
use serde_json::json;

use super::asking::Asked;
use super::line::Line;
use super::telling::Telling;
use crate::stream_json::{respond, results, text_of};

/// The adapter for Claude Code.
#[derive(Debug, Clone, Default)]
pub struct ClaudeCode {
    /// Questions that wait for their answer, by request id.
    pub(super) asked: HashMap<String, Asked>,
    /// True answers every question with yes: the caller chose `--permissions full`.
    pub(super) allow_all: bool,
    /// The session that was to be resumed.
    pub(super) resumed: Option<String>,
    /// What the main agent says now.
    pub(super) telling: Telling,
    /// What the last synthetic message gave as its error.
    pub(super) failure: Option<String>,
    /// A line of it was understood.
    understood: bool,
}

impl ClaudeCode {
    /// The version of this adapter.
    pub const VERSION: &'static str = "1.0.0";
    /// The name that people select it by.
    pub const NAME: &'static str = "claude-code";
}

/// The package's own script copies the native program of another package over a stub, and would be
/// run by node; the program is run where it lies instead. The package asks for node 22, and its
/// program for none.
fn package() -> Package {
    Package::new("@anthropic-ai/claude-code", "2.1.332")
        .program("@anthropic-ai/claude-code-linux-{cpu}/claude")
        .program("@anthropic-ai/claude-code-linux-{cpu}-musl/claude")
}

fn login() -> Login {
    let variables = [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        // The keys are then those of the cloud.
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
        "CLAUDE_CODE_USE_FOUNDRY",
    ];
    Login {
        variables: variables.map(str::to_owned).to_vec(),
        files: vec![
            // By `/login` with a subscription, where there is no keychain.
            LoginFile::new(".claude", ".credentials.json")
                .or_below("CLAUDE_CONFIG_DIR")
                .with_member("claudeAiOauth"),
            // By `/login` with an account that pays by token.
            LoginFile::new("", ".claude.json")
                .or_below("CLAUDE_CONFIG_DIR")
                .with_member("primaryApiKey"),
            // A program that tells the key.
            LoginFile::new(".claude", "settings.json")
                .or_below("CLAUDE_CONFIG_DIR")
                .with_member("apiKeyHelper"),
        ],
        hint: "run claude and type /login, or set ANTHROPIC_API_KEY".to_owned(),
    }
}

impl CliAdapter for ClaudeCode {
    fn profile(&self) -> Profile {
        let env = [
            "ANTHROPIC_*",
            "CLAUDE_CODE_*",
            "CLAUDE_CONFIG_DIR",
            "AWS_*",
            "GOOGLE_*",
            "AZURE_*",
            "CLOUD_ML_REGION",
            "VERTEX_REGION_*",
            "API_TIMEOUT_MS",
            "MAX_THINKING_TOKENS",
            "BASH_*",
            "DISABLE_*",
            "IS_SANDBOX",
        ];
        Profile {
            program: "claude".to_owned(),
            install: "mia plugin install claude-code".to_owned(),
            package: Some(package()),
            login: Some(login()),
            env: env.map(str::to_owned).to_vec(),
            // 2.1.332 resumes from anywhere; older ones only where the session began.
            session_needs_cwd: true,
            // The prompt `/clear` begins another session, and a stale one is told in words.
            resume_keeps_id: false,
            own_rules: "it reads in its folder and runs harmless commands, and asks for the rest"
                .to_owned(),
            ..Profile::default()
        }
    }

    fn build_args(&mut self, call: &Call<'_>) -> Result<Launch, PluginError> {
        let mut launch = Launch::new([
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            // Without it stream-json is refused with status 1.
            "--verbose",
            "--include-partial-messages",
            "--permission-prompt-tool",
            "stdio",
        ]);
        if let Some(session) = call.session {
            launch.arg(format!("--resume={}", session.session_id));
            self.resumed = Some(session.session_id.clone());
        }
        if let Some(model) = call.model {
            launch.arg(format!("--model={model}"));
        }
        match call.permissions {
            None => {}
            // `--permission-mode plan` is not read-only: it asks, and writes if allowed. An
            // allow-list of tools is; MCP servers of the user could write too.
            Some(PermissionPolicy::ReadOnly) => {
                launch.arg("--tools=Read,Grep,Glob").arg("--strict-mcp-config");
                // The folder's own settings may hold hooks, which are commands, and variables that
                // send the key elsewhere. Its CLAUDE.md is then not read either.
                launch.arg("--setting-sources=user");
            }
            Some(PermissionPolicy::Edit) => {
                launch.arg("--permission-mode=acceptEdits");
            }
            // `bypassPermissions` is refused for root; answering each question with yes works for
            // everybody, and the user's own deny rules still hold.
            Some(PermissionPolicy::Full) => self.allow_all = true,
        }
        for arg in call.extra_args {
            launch.arg(arg);
        }
        // Else sub-agents and long commands go on after the first `result`, which is then not the
        // answer.
        launch.env.push(("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS".into(), "1".into()));
        // What a sub-agent says in the foreground is else not printed. The option of the same
        // meaning would stop versions that don't know it.
        launch.env.push(("CLAUDE_CODE_FORWARD_SUBAGENT_TEXT".into(), "1".into()));
        let mut content = vec![json!({"type": "text", "text": call.prompt})];
        for image in call.images {
            let source =
                json!({"type": "base64", "media_type": image.media_type, "data": image.data});
            content.push(json!({"type": "image", "source": source}));
        }
        let message = json!({"type": "user", "message": {"role": "user", "content": content}});
        launch.stdin = format!("{message}\n").into_bytes();
        launch.dialogue = true;
        Ok(launch)
    }

    fn parse_output(&mut self, line: &str, out: &mut Out) -> Result<(), Noise> {
        let line = without_lone(line);
        let mut line: Line<'_> = serde_json::from_str(&line)?;
        let message = line.message.take().unwrap_or_default().0;
        let parent = line.parent_tool_use_id.as_ref().map(|id| id.0.as_ref());
        match line.kind.as_ref() {
            "stream_event" => {
                if let Some(event) = &line.event {
                    self.stream_event(event, parent, out);
                }
            }
            "assistant" => self.assistant(message, line.error, parent, out),
            "user" => results(&message, out)?,
            "result" => self.result(&line, out)?,
            "system" => self.system(&line, out),
            "control_request" => self.control_request(&line, out)?,
            "control_cancel_request" => {
                if let Some(id) = &line.request_id {
                    self.asked.remove(id.0.as_ref());
                    out.withdraw(&id.0);
                }
            }
            "control_response" | "command_lifecycle" | "conversation_reset" | "keep_alive"
            | "rate_limit_event" | "tool_progress" => {}
            unknown => return Err(Noise::UnknownType(unknown.to_owned())),
        }
        self.understood = true;
        Ok(())
    }

    fn on_permission(&mut self, resolution: &PermissionResolution, out: &mut Out) {
        let Some(asked) = self.asked.remove(&resolution.id) else {
            return;
        };
        let answer = match resolution.option_id.as_deref() {
            Some("allow_always") => json!({
                "behavior": "allow",
                "updatedInput": asked.input,
                "updatedPermissions": asked.always,
            }),
            Some("allow_once") => json!({"behavior": "allow", "updatedInput": asked.input}),
            _ => json!({"behavior": "deny", "message": "This was not allowed. Do without it."}),
        };
        respond(out, &resolution.id, answer);
    }

    fn interrupt(&mut self, out: &mut Out) -> Interrupt {
        // Also ends the tool that runs, and saves the session; SIGTERM does not save it.
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
        if exit.stderr.contains("is already in use") {
            let message = "the session is in use by another claude";
            let error = out.error(ErrorCode::SessionError, Cause::SessionBusy, message);
            out.fail(error);
        } else if exit.stderr.contains("unknown option") {
            let message = "this version of claude does not know an option that mia needs";
            let error = out
                .error(ErrorCode::SpawnFailure, Cause::NotExecutable, message)
                .with_hint(
                    "if Mia installed it, run: mia plugin upgrade claude-code; else update it, or run: mia plugin install claude-code",
                );
            out.fail(error);
        }
    }
}

impl ClaudeCode {
    fn system(&mut self, line: &Line<'_>, out: &mut Out) {
        match line.subtype.as_ref().map(|s| s.0.as_ref()) {
            Some("init") => {
                if let Some(id) = &line.session_id {
                    out.session(&id.0);
                }
                if let Some(model) = &line.model {
                    out.model(&model.0);
                }
            }
            Some("api_retry") => {
                let what = match (line.error_status, line.error.and_then(text_of)) {
                    (Some(status), _) => format!("the provider answered {status}"),
                    (None, Some(error)) if error != "unknown" => {
                        format!("the provider failed ({error})")
                    }
                    _ => "the connection to the provider was cut".to_owned(),
                };
                let tries = match (line.attempt, line.max_retries) {
                    (Some(attempt), Some(max)) => format!(" (retry {attempt} of {max})"),
                    _ => String::new(),
                };
                out.notice(NoticeKind::Retry, format!("{what}; claude tries again{tries}"));
            }
            Some("permission_denied") => {
                let tool = line.tool_name.as_ref().map_or("a tool", |t| t.0.as_ref());
                out.notice(NoticeKind::Denied, format!("claude did not allow {tool}"));
            }
            Some("task_started") => {
                if let Some(id) = line.tool_use_id.as_ref().filter(|id| out.is_open(&id.0)) {
                    out.tool_update(&id.0, ToolStatus::InProgress, Vec::new());
                }
            }
            _ => {}
        }
    }
}
