//! Claude Code, by its dialogue over stdio (`claude -p --input-format stream-json`).
//!
//! Every quirk stands beside the line that needs it; all were seen with 2.1.332.

use std::borrow::Cow;
use std::collections::HashMap;

use mia_api::{
    Cause, ErrorCode, Location, NoticeKind, OptionKind, PermissionOption, PermissionPolicy,
    PermissionRequest, PermissionResolution, PlanEntry, PluginError, StopReason, ToolCallInfo,
    ToolKind, ToolStatus, Usage,
};
use mia_plugin::{Call, CliAdapter, Exit, Interrupt, Launch, Noise, Out, Profile};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The adapter for Claude Code.
#[derive(Debug, Clone, Default)]
pub struct ClaudeCode {
    /// Questions that wait for their answer, by request id.
    asked: HashMap<String, Asked>,
    /// True answers every question with yes: the caller chose `--permissions full`.
    allow_all: bool,
    /// The session that was to be resumed.
    resumed: Option<String>,
    /// What the main agent says now.
    telling: Telling,
    /// What the last synthetic message gave as its error.
    failure: Option<String>,
    /// The seconds that the agent said it would wait for its next try.
    retry_after_ms: Option<u64>,
}

/// The main agent's message that came last.
///
/// A stream that breaks ends like a whole one, but for `message_delta`; no line withdraws what came
/// of it. Only a block whose `assistant` line came is final. Where some are, claude keeps them and
/// asks the model to go on; where none is, or only thoughts are, the model begins again. So text
/// without its `assistant` line is told again, in a message of another id: as deltas, or, from the
/// last try, which is not streamed, as one `assistant` line.
#[derive(Debug, Clone, Default)]
struct Telling {
    /// The message's id.
    id: Option<String>,
    /// How many bytes of its current block came as deltas.
    streamed: usize,
    /// Thoughts came.
    thoughts: bool,
    /// It ended as a whole one does, or was not streamed.
    whole: bool,
    /// Its text is to stand apart from that of the message before.
    apart: bool,
}

#[derive(Debug, Clone)]
struct Asked {
    input: Value,
    /// What "always" changes, as far as it lasts only for the session.
    always: Value,
}

impl ClaudeCode {
    /// The version of this adapter.
    pub const VERSION: &'static str = "1.0.0";
    /// The name that people select it by.
    pub const NAME: &'static str = "claude-code";
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
            install: "npm install -g @anthropic-ai/claude-code".to_owned(),
            env: env.map(str::to_owned).to_vec(),
            // 2.1.332 resumes from anywhere; older ones only where the session began.
            session_needs_cwd: true,
            // The prompt `/clear` begins another session, and a stale one is told in words.
            resume_keeps_id: false,
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
                launch
                    .arg("--tools=Read,Grep,Glob")
                    .arg("--strict-mcp-config");
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
        launch
            .env
            .push(("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS".into(), "1".into()));
        // What a sub-agent says in the foreground is else not printed. The option of the same
        // meaning would stop versions that don't know it.
        launch
            .env
            .push(("CLAUDE_CODE_FORWARD_SUBAGENT_TEXT".into(), "1".into()));
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
        let line: Line<'_> = serde_json::from_str(line)?;
        let parent = line.parent_tool_use_id.as_ref().map(|id| id.0.as_ref());
        match line.kind.as_ref() {
            "stream_event" => {
                if let Some(event) = &line.event {
                    self.stream_event(event, parent, out);
                }
            }
            "assistant" => self.assistant(&line, parent, out)?,
            "user" => user(&line, out)?,
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
        if exit.stderr.contains("is already in use") {
            let message = "the session is in use by another claude";
            let error = out.error(ErrorCode::SessionError, Cause::SessionBusy, message);
            out.fail(error);
        } else if exit.stderr.contains("unknown option") {
            let message = "this version of claude does not know an option that mia needs";
            let error = out
                .error(ErrorCode::SpawnFailure, Cause::NotExecutable, message)
                .with_hint("update it with: npm install -g @anthropic-ai/claude-code@latest");
            out.fail(error);
        }
    }
}

impl ClaudeCode {
    fn stream_event(&mut self, event: &StreamEvent<'_>, parent: Option<&str>, out: &mut Out) {
        match event.kind.as_ref() {
            "content_block_delta" => {
                let Some(delta) = &event.delta else { return };
                if let Some(text) = &delta.text {
                    match parent {
                        Some(parent) => out.sub_agent_token(parent, &text.0),
                        None => {
                            self.stand_apart(out);
                            self.telling.streamed += text.0.len();
                            out.token(&text.0);
                        }
                    }
                } else if let Some(thinking) = &delta.thinking {
                    if parent.is_none() {
                        self.telling.streamed += thinking.0.len();
                        self.telling.thoughts = true;
                    }
                    out.thought(&thinking.0, parent);
                }
            }
            "message_start" if parent.is_none() => {
                let id = event
                    .message
                    .as_ref()
                    .and_then(|message| message.id.as_ref());
                self.next_message(id.map(|id| id.0.as_ref()), false, out);
            }
            "content_block_start" if parent.is_none() => self.telling.streamed = 0,
            "message_delta" if parent.is_none() => self.telling.whole = true,
            _ => {}
        }
    }

    /// The main agent's next message, which may be the last one begun again.
    fn next_message(&mut self, id: Option<&str>, whole: bool, out: &mut Out) {
        let last = std::mem::take(&mut self.telling);
        if last.whole {
            out.begin_message();
            self.telling.apart = true;
        } else {
            // What goes on after a cut may begin within a word, so it does not stand apart.
            out.restart_message();
        }
        if last.thoughts && !last.whole {
            out.notice(
                NoticeKind::Retry,
                "claude's message was cut; it may think the same again",
            );
        }
        self.telling.id = id.map(str::to_owned);
        self.telling.whole = whole;
    }

    /// The texts of two messages are two paragraphs: claude has none of its own between them.
    fn stand_apart(&mut self, out: &mut Out) {
        let apart = std::mem::take(&mut self.telling.apart);
        if apart && !out.content().is_empty() && !out.content().ends_with('\n') {
            out.token("\n\n");
            out.begin_message();
        }
    }

    /// A whole block of a message. What of it came as deltas is not said again.
    fn assistant(
        &mut self,
        line: &Line<'_>,
        parent: Option<&str>,
        out: &mut Out,
    ) -> Result<(), Noise> {
        let Some(message) = line.message else {
            return Ok(());
        };
        let message: Message<'_> = serde_json::from_str(message.get())?;
        // What the CLI itself says of an error is no answer; the result repeats it.
        if message.model.as_ref().is_some_and(|m| m.0 == "<synthetic>") {
            self.failure = line.error.and_then(text_of).map(Cow::into_owned);
            return Ok(());
        }
        let id = message.id.as_ref().map(|id| id.0.as_ref());
        if parent.is_none() && id != self.telling.id.as_deref() {
            self.next_message(id, true, out);
        }
        let already = match parent {
            Some(_) => 0,
            None => std::mem::take(&mut self.telling.streamed),
        };
        for block in message.blocks()? {
            match (block.kind.as_ref(), block.text, block.thinking) {
                ("text", Some(text), _) => match parent {
                    Some(parent) => out.sub_agent_token(parent, &text.0),
                    None => {
                        self.stand_apart(out);
                        out.token(text.0.get(already..).unwrap_or_default());
                        // It is final now.
                        out.begin_message();
                    }
                },
                ("thinking", _, Some(thinking)) => {
                    out.thought(thinking.0.get(already..).unwrap_or_default(), parent);
                }
                ("tool_use", ..) => {
                    let id = block.id.map(|id| id.0.into_owned()).unwrap_or_default();
                    let name = block.name.map(|n| n.0.into_owned()).unwrap_or_default();
                    tool_use(id, name, block.input, parent, out);
                }
                _ => {}
            }
        }
        Ok(())
    }

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
                self.retry_after_ms = line.retry_delay_ms.map(|ms| ms.max(0.0) as u64);
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
                out.notice(
                    NoticeKind::Retry,
                    format!("{what}; claude tries again{tries}"),
                );
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

    fn control_request(&mut self, line: &Line<'_>, out: &mut Out) -> Result<(), Noise> {
        let (Some(id), Some(request)) = (&line.request_id, line.request) else {
            return Ok(());
        };
        let request: ControlRequest<'_> = serde_json::from_str(request.get())?;
        if request.subtype.0 != "can_use_tool" {
            // An unanswered request would wait for ever.
            out.write_json_line(&json!({
                "type": "control_response",
                "response": {
                    "subtype": "error",
                    "request_id": id.0,
                    "error": format!("mia does not answer {}", request.subtype.0),
                },
            }));
            return Ok(());
        }
        let input: Value = request
            .input
            .map_or(Ok(Value::Null), |i| serde_json::from_str(i.get()))?;
        if self.allow_all {
            respond(
                out,
                &id.0,
                json!({"behavior": "allow", "updatedInput": input}),
            );
            return Ok(());
        }
        let tool = request
            .tool_name
            .map(|t| t.0.into_owned())
            .unwrap_or_default();
        let always = session_only(request.permission_suggestions.unwrap_or_default());
        let mut options = vec![option("allow_once", "Allow", OptionKind::AllowOnce)];
        if always.as_array().is_some_and(|a| !a.is_empty()) {
            let name = "Allow the like for this turn";
            options.push(option("allow_always", name, OptionKind::AllowAlways));
        }
        options.push(option("reject_once", "Deny", OptionKind::RejectOnce));
        out.ask(PermissionRequest {
            id: id.0.clone().into_owned(),
            tool_call_id: request
                .tool_use_id
                .map(|t| t.0.into_owned())
                .unwrap_or_default(),
            title: title(&tool, &input),
            options,
        });
        self.asked
            .insert(id.0.clone().into_owned(), Asked { input, always });
        Ok(())
    }

    fn result(&mut self, line: &Line<'_>, out: &mut Out) -> Result<(), Noise> {
        let subtype = line.subtype.as_ref().map_or("", |s| s.0.as_ref());
        let errors = line.errors.as_ref().map_or(&[][..], Vec::as_slice);
        // The stale session is told before stdin is read, with the id that was asked for.
        let stale = self.resumed.is_some()
            && errors.iter().any(|e| {
                e.contains("No conversation found") || e.contains("requires a valid session")
            });
        if stale {
            out.stale_session(errors.join("; "));
            return Ok(());
        }
        if let Some(id) = &line.session_id {
            out.session(&id.0);
        }
        self.usage(line, out);
        for denial in line
            .permission_denials
            .as_ref()
            .map_or(&[][..], Vec::as_slice)
        {
            let tool = denial
                .get("tool_name")
                .and_then(Value::as_str)
                .unwrap_or("a tool");
            let input = denial.get("tool_input").unwrap_or(&Value::Null);
            out.warn(format!("not allowed: {}", title(tool, input)));
        }
        let text = line.result.and_then(text_of).unwrap_or_default();
        let text = text.as_ref();
        if subtype == "error_max_turns" {
            out.complete(StopReason::MaxTurnRequests);
        } else if line.is_error == Some(true) || subtype.starts_with("error") {
            let error = self.failed(line, subtype, text, errors, out);
            out.fail(error);
        } else {
            // Text that was taken back and never told again is no part of the answer.
            out.begin_message();
            if out.content().is_empty() {
                out.token(text);
            }
            out.complete(match line.stop_reason.as_ref().map(|s| s.0.as_ref()) {
                Some("max_tokens") => StopReason::MaxTokens,
                Some("refusal") => StopReason::Refusal,
                _ => StopReason::EndTurn,
            });
        }
        Ok(())
    }

    /// Tokens and money of this turn. `usage` is zero after an interrupt and counts a half stream
    /// twice; `total_cost_usd` is cumulative over the session. `model_usage_since_last_result` is
    /// right in both, where there is one.
    fn usage(&self, line: &Line<'_>, out: &mut Out) {
        let models = line
            .model_usage_since_last_result
            .as_ref()
            .filter(|m| !m.is_empty());
        let usage = match (models, &line.usage) {
            (Some(models), _) => {
                out.cost(models.values().filter_map(|m| m.cost).sum());
                let total = |of: fn(&ModelUsage) -> u64| models.values().map(of).sum::<u64>();
                Usage {
                    input_tokens: total(|m| m.input),
                    output_tokens: total(|m| m.output),
                    cache_creation: Some(total(|m| m.cache_creation)),
                    cache_read: Some(total(|m| m.cache_read)),
                }
            }
            (None, Some(usage)) => {
                // Cumulative only where the member above exists.
                if let Some(cost) = line.total_cost_usd {
                    out.cost(cost);
                }
                Usage {
                    input_tokens: usage.input_tokens,
                    output_tokens: usage.output_tokens,
                    cache_creation: usage.cache_creation_input_tokens,
                    cache_read: usage.cache_read_input_tokens,
                }
            }
            (None, None) => return,
        };
        if !usage.is_zero() {
            out.usage(usage);
        }
    }

    /// What a failed turn means. `subtype` is `success` for errors of the API.
    fn failed(
        &self,
        line: &Line<'_>,
        subtype: &str,
        text: &str,
        errors: &[String],
        out: &Out,
    ) -> PluginError {
        let kind = self.failure.as_deref().unwrap_or("");
        if line
            .terminal_reason
            .as_ref()
            .is_some_and(|r| r.0.starts_with("aborted"))
        {
            return out.error(
                ErrorCode::Aborted,
                Cause::Requested,
                "claude was interrupted",
            );
        }
        let cause = match line.api_error_status {
            Some(401 | 403) => Cause::Authentication,
            Some(413) => Cause::TooLong,
            Some(429) => Cause::RateLimited,
            Some(503 | 529) => Cause::Overloaded,
            Some(500..) => Cause::Server,
            Some(_) if text.to_lowercase().contains("prompt is too long") => Cause::TooLong,
            Some(_) => Cause::InvalidRequest,
            None if kind == "authentication_failed" => Cause::Authentication,
            None if text.starts_with("Prompt is too long") => Cause::TooLong,
            None if subtype == "success" => Cause::Connection,
            None => {
                let said = if errors.is_empty() {
                    text.to_owned()
                } else {
                    errors.join("; ")
                };
                let message = format!("claude could not go on ({subtype}): {said}");
                return out.error(ErrorCode::Unknown, Cause::NoResult, message);
            }
        };
        let mut error = out.error(ErrorCode::ProviderError, cause, text);
        error.retry_after_ms = self.retry_after_ms.filter(|_| cause == Cause::RateLimited);
        error.hint = match cause {
            Cause::Authentication => {
                Some("run `claude` once and log in, or set ANTHROPIC_API_KEY".to_owned())
            }
            Cause::TooLong => Some("shorten the prompt, or begin a new conversation".to_owned()),
            Cause::RateLimited | Cause::Overloaded | Cause::Server => Some(
                "wait a little and try again, or choose another --model or --plugin".to_owned(),
            ),
            Cause::Connection => {
                Some("check the network and ANTHROPIC_BASE_URL, then try again".to_owned())
            }
            _ => None,
        };
        error
    }
}

fn respond(out: &mut Out, request: &str, answer: Value) {
    let response = json!({"subtype": "success", "request_id": request, "response": answer});
    out.write_json_line(&json!({"type": "control_response", "response": response}));
}

fn option(id: &str, name: &str, kind: OptionKind) -> PermissionOption {
    PermissionOption {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
    }
}

/// What "always" may change. A suggestion with the destination `localSettings` would write a file
/// into the project, so it is made to last for the session only.
fn session_only(suggestions: Vec<Value>) -> Value {
    let mut suggestions = suggestions;
    for suggestion in &mut suggestions {
        if let Some(destination) = suggestion.get_mut("destination") {
            *destination = Value::from("session");
        }
    }
    Value::Array(suggestions)
}

/// A `user` line holds the results of tools.
fn user(line: &Line<'_>, out: &mut Out) -> Result<(), Noise> {
    let Some(message) = line.message else {
        return Ok(());
    };
    let message: Message<'_> = serde_json::from_str(message.get())?;
    for block in message.blocks()? {
        if let ("tool_result", Some(id)) = (block.kind.as_ref(), &block.tool_use_id) {
            let output = block.content.map(flatten).transpose()?.unwrap_or_default();
            out.tool_result(&id.0, &output, block.is_error.unwrap_or(false));
        }
    }
    Ok(())
}

/// The content of a tool result: a text, or a list of blocks.
fn flatten(content: &RawValue) -> Result<Cow<'_, str>, serde_json::Error> {
    if content.get().starts_with('[') {
        let blocks: Vec<Block<'_>> = serde_json::from_str(content.get())?;
        let texts = blocks.iter().map(|block| match &block.text {
            Some(text) => text.0.clone(),
            None => Cow::Owned(format!("[{}]", block.kind)),
        });
        Ok(Cow::Owned(texts.collect::<Vec<_>>().join("\n")))
    } else {
        serde_json::from_str::<Text<'_>>(content.get()).map(|text| text.0)
    }
}

fn tool_use(
    id: String,
    name: String,
    input: Option<&RawValue>,
    parent: Option<&str>,
    out: &mut Out,
) {
    let input: Value = input
        .and_then(|i| serde_json::from_str(i.get()).ok())
        .unwrap_or(Value::Null);
    if name == "TodoWrite" && parent.is_none() {
        out.plan(plan(&input));
    }
    let path = ["file_path", "notebook_path", "path"]
        .iter()
        .find_map(|key| input.get(key).and_then(Value::as_str));
    out.tool_call(ToolCallInfo {
        title: title(&name, &input),
        kind: kind(&name),
        locations: path
            .map(|p| Location {
                path: p.to_owned(),
                line: None,
            })
            .into_iter()
            .collect(),
        id,
        parent_id: parent.map(str::to_owned),
        name,
        input,
        raw: None,
    });
}

fn plan(input: &Value) -> Vec<PlanEntry> {
    let text = |todo: &Value, key: &str| {
        todo.get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let todos = input
        .get("todos")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    todos
        .iter()
        .map(|todo| PlanEntry {
            content: text(todo, "content"),
            priority: "medium".to_owned(),
            status: text(todo, "status"),
        })
        .collect()
}

fn kind(tool: &str) -> ToolKind {
    match tool {
        "Read" => ToolKind::Read,
        "Edit" | "MultiEdit" | "NotebookEdit" | "Write" => ToolKind::Edit,
        "Grep" | "Glob" | "LS" | "ToolSearch" => ToolKind::Search,
        "Bash" | "BashOutput" | "KillShell" => ToolKind::Execute,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        "Agent" | "Task" | "TodoWrite" => ToolKind::Think,
        "EnterPlanMode" | "ExitPlanMode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// One line for people: the tool and what it works on.
fn title(tool: &str, input: &Value) -> String {
    let subject = [
        "command",
        "file_path",
        "notebook_path",
        "pattern",
        "path",
        "url",
        "query",
        "description",
        "prompt",
    ]
    .iter()
    .find_map(|key| input.get(key).and_then(Value::as_str));
    let line = subject
        .and_then(|s| s.lines().find(|l| !l.trim().is_empty()))
        .unwrap_or_default();
    let short: String = line.chars().take(160).collect();
    format!("{tool} {}", short.trim()).trim_end().to_owned()
}

/// Text that is borrowed from the line where it has no escapes.
#[derive(Debug, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The text in a member whose type differs from line to line.
fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text<'_>>(raw.get())
        .ok()
        .map(|text| text.0)
}

/// One line. Its `type` may stand anywhere in it. Members of all types are side by side, for the
/// parser skips what is absent at no cost.
#[derive(Debug, Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    subtype: Option<Text<'a>>,
    #[serde(borrow, default)]
    event: Option<StreamEvent<'a>>,
    #[serde(borrow, default)]
    parent_tool_use_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    session_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    model: Option<Text<'a>>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    request_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    request: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_use_id: Option<Text<'a>>,
    #[serde(default)]
    attempt: Option<u64>,
    #[serde(default)]
    max_retries: Option<u64>,
    #[serde(default)]
    retry_delay_ms: Option<f64>,
    #[serde(default)]
    error_status: Option<u16>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    stop_reason: Option<Text<'a>>,
    #[serde(borrow, default)]
    terminal_reason: Option<Text<'a>>,
    #[serde(default)]
    api_error_status: Option<u16>,
    #[serde(default)]
    errors: Option<Vec<String>>,
    #[serde(default)]
    permission_denials: Option<Vec<Value>>,
    #[serde(default)]
    total_cost_usd: Option<f64>,
    #[serde(default)]
    usage: Option<TurnUsage>,
    #[serde(default)]
    model_usage_since_last_result: Option<HashMap<String, ModelUsage>>,
}

/// An event of the provider's stream.
#[derive(Debug, Deserialize)]
struct StreamEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
    #[serde(borrow, default)]
    message: Option<MessageId<'a>>,
}

#[derive(Debug, Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
struct MessageId<'a> {
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    model: Option<Text<'a>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

impl<'a> Message<'a> {
    /// Its blocks; a content that is a plain text has none that matter.
    fn blocks(&self) -> Result<Vec<Block<'a>>, serde_json::Error> {
        match self.content {
            Some(content) if content.get().starts_with('[') => serde_json::from_str(content.get()),
            _ => Ok(Vec::new()),
        }
    }
}

#[derive(Debug, Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_use_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct ControlRequest<'a> {
    #[serde(borrow)]
    subtype: Text<'a>,
    #[serde(borrow, default)]
    tool_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_use_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(default)]
    permission_suggestions: Option<Vec<Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TurnUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModelUsage {
    #[serde(rename = "inputTokens")]
    input: u64,
    #[serde(rename = "outputTokens")]
    output: u64,
    #[serde(rename = "cacheCreationInputTokens")]
    cache_creation: u64,
    #[serde(rename = "cacheReadInputTokens")]
    cache_read: u64,
    #[serde(rename = "costUSD")]
    cost: Option<f64>,
}
