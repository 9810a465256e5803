//! What the guide says and does in one dispatch, as events.

use std::path::Path;
use std::time::{Duration, Instant};

use mia_api::{
    EventBody, Location, NoticeKind, OptionKind, PermissionOption, PermissionPolicy,
    PermissionRequest, ToolCallInfo, ToolKind, ToolResultInfo,
};
use mia_plugin::{Dispatch, EventSink, Services, ask};
use serde_json::Value;

use super::git::{Git, Printed};
use super::prose;
use super::stop::{Budget, Ended, Stop};

/// How much of a tool's output is in its event, in bytes.
const OUTPUT: usize = 16 * 1024;

/// One dispatch while it is answered.
#[derive(Debug)]
pub(super) struct Talk<'a> {
    /// What is asked.
    pub(super) dispatch: &'a Dispatch,
    /// What Mia offers.
    pub(super) services: &'a Services,
    /// When it ends early.
    pub(super) stop: Stop,
    /// Where events go.
    pub(super) events: &'a EventSink,
    /// What was said.
    pub(super) content: String,
    /// Which tools were called.
    pub(super) calls: Vec<ToolCallInfo>,
    /// Why git could not say something, the last time it was asked.
    pub(super) git_problem: Option<String>,
    /// How many questions were asked.
    questions: usize,
}

/// A tool that is about to be called.
#[derive(Debug)]
pub(super) struct Tool<'a> {
    /// Its name.
    pub(super) name: &'static str,
    /// One line for people.
    pub(super) title: String,
    /// What it does.
    pub(super) kind: ToolKind,
    /// Its arguments.
    pub(super) input: Value,
    /// The file or folder that it works on.
    pub(super) path: Option<&'a Path>,
}

/// A tool call that has begun.
#[derive(Debug)]
pub(super) struct Open {
    id: String,
    name: &'static str,
    began: Instant,
}

/// What a tool gave back.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// As text.
    pub(super) text: String,
    /// True when it failed, or was not allowed.
    pub(super) is_error: bool,
    /// True when the text is only the beginning.
    pub(super) truncated: bool,
}

impl Output {
    /// What a tool that failed gives back.
    pub(super) fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, truncated: false }
    }
}

impl<'a> Talk<'a> {
    /// A dispatch that begins to be answered.
    pub(super) fn new(
        dispatch: &'a Dispatch,
        services: &'a Services,
        events: &'a EventSink,
        stop: Stop,
    ) -> Self {
        let (content, calls) = (String::new(), Vec::new());
        Self { dispatch, services, stop, events, content, calls, git_problem: None, questions: 0 }
    }

    /// The working directory.
    pub(super) fn cwd(&self) -> &'a Path {
        &self.dispatch.options.working_directory
    }

    /// Says a piece of the answer.
    pub(super) async fn say(&mut self, text: impl Into<String>) -> Result<(), Ended> {
        let text = text.into();
        self.content.push_str(&text);
        self.send(EventBody::token(text)).await
    }

    /// Begins a tool call.
    pub(super) async fn begin(&mut self, tool: Tool<'_>) -> Result<Open, Ended> {
        let id = format!("call-{}", self.calls.len() + 1);
        let location = |path: &Path| Location { path: shown(path), line: None };
        let call = ToolCallInfo {
            id: id.clone(),
            name: tool.name.to_owned(),
            title: tool.title,
            kind: tool.kind,
            input: tool.input,
            locations: tool.path.map(location).into_iter().collect(),
            ..ToolCallInfo::default()
        };
        self.calls.push(call.clone());
        let open = Open { id, name: tool.name, began: Instant::now() };
        self.send(EventBody::ToolCall(call)).await?;
        Ok(open)
    }

    /// Ends a tool call.
    pub(super) async fn end(&mut self, open: Open, output: Output) -> Result<(), Ended> {
        let clean = prose::clean(&output.text);
        let (text, cut) = prose::beginning(&clean, OUTPUT);
        let duration = open.began.elapsed().as_millis();
        let result = ToolResultInfo {
            id: open.id,
            name: open.name.to_owned(),
            output: text.to_owned(),
            is_error: output.is_error,
            truncated: cut || output.truncated,
            duration_ms: u64::try_from(duration).unwrap_or(u64::MAX),
        };
        self.send(EventBody::ToolResult(result)).await
    }

    /// A whole tool call that works on files. None when its code panicked.
    pub(super) async fn files<T: Send + 'static>(
        &mut self,
        tool: Tool<'_>,
        limit: Duration,
        work: impl FnOnce(&Budget) -> T + Send + 'static,
        output: impl FnOnce(&T) -> Output,
    ) -> Result<Option<T>, Ended> {
        let open = self.begin(tool).await?;
        let done = self.stop.files(limit, work).await?;
        let output = done.as_ref().map_or_else(|| Output::error("the guide's code failed"), output);
        self.end(open, output).await?;
        Ok(done)
    }

    /// A whole tool call that runs git. None when it could not, or git failed; a repository is
    /// looked for first, so that a folder that is none is no failure.
    pub(super) async fn git(
        &mut self,
        name: &'static str,
        title: &str,
        arguments: &[&str],
    ) -> Result<Option<Printed>, Ended> {
        let git = Git::new(self.dispatch, self.services);
        if !git.is_in_a_repository() {
            self.git_problem = Some("this folder is in no git repository".to_owned());
            return Ok(None);
        }
        let input = serde_json::json!({ "command": format!("git {}", arguments.join(" ")) });
        let kind = ToolKind::Execute;
        let tool = Tool { name, title: title.to_owned(), kind, input, path: None };
        let open = self.begin(tool).await?;
        let ran = git.run(arguments, &self.stop).await?;
        let output = match &ran {
            Ok(printed) => Output {
                text: printed.text().replace('\0', "\n"),
                is_error: false,
                truncated: printed.truncated,
            },
            Err(problem) => Output::error(problem),
        };
        self.end(open, output).await?;
        Ok(ran.map_err(|problem| self.git_problem = Some(problem)).ok())
    }

    /// Asks whether a tool may go outside the working directory, unless that is settled already.
    pub(super) async fn may_leave(&mut self, open: &Open, title: String) -> Result<bool, Ended> {
        match self.dispatch.options.permissions {
            Some(PermissionPolicy::Full) => return Ok(true),
            Some(PermissionPolicy::ReadOnly) => {
                let message = format!("denied by --permissions read-only: {title}");
                self.send(EventBody::notice(NoticeKind::Denied, message)).await?;
                return Ok(false);
            }
            Some(PermissionPolicy::Edit) | None => {}
        }
        self.questions += 1;
        let option = |id: &str, name: &str, kind| PermissionOption {
            id: id.to_owned(),
            name: name.to_owned(),
            kind,
        };
        let request = PermissionRequest {
            id: format!("permission-{}", self.questions),
            tool_call_id: open.id.clone(),
            title,
            options: vec![
                option("allow_once", "Allow once", OptionKind::AllowOnce),
                option("reject_once", "Reject", OptionKind::RejectOnce),
            ],
        };
        let asked = ask(self.events, self.dispatch.permissions.as_ref(), request);
        let resolution = self.stop.or(asked).await??;
        Ok(resolution.option_id.as_deref() == Some("allow_once"))
    }

    async fn send(&self, event: EventBody) -> Result<(), Ended> {
        Ok(self.stop.or(self.events.send(event)).await??)
    }
}

/// A path for people, clean of what a terminal would obey.
pub(super) fn shown(path: &Path) -> String {
    prose::clean(&path.to_string_lossy()).replace('\n', "\u{FFFD}")
}
