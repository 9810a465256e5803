//! What an adapter says about its agent's output.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use mia_api::{
    Cause, ContextUsage, ConversationId, DispatchResult, ErrorCode, EventBody, NoticeKind,
    PermissionRequest, PlanEntry, PluginError, StopReason, TaskId, ToolCallInfo, ToolContent,
    ToolKind, ToolResultInfo, ToolStatus, Usage,
};
use serde_json::Value;
use tokio::time::Instant;

use super::adapter::Noise;

/// How much of a tool's output goes into an event, in bytes.
const TOOL_OUTPUT: usize = 1024 * 1024;
/// How much text is kept for the result, in bytes. The events carry all of it.
const CONTENT: usize = 64 * 1024 * 1024;
/// How much of the tools' input is kept for the result, in bytes.
const TOOL_INPUT: usize = 64 * 1024 * 1024;
/// How many noise lines become a notice.
const NOISE_NOTICES: u64 = 3;
/// The longest session id.
const SESSION_ID: usize = 1024;
/// How many warnings the result has.
const WARNINGS: usize = 200;
/// How many calls are kept for the result, and how many may be open.
const TOOL_CALLS: usize = 10_000;

/// How the agent said that it is done.
#[derive(Debug, Clone, PartialEq)]
pub enum Terminal {
    /// It has answered.
    Complete(StopReason),
    /// It has failed.
    Failed(Box<PluginError>),
    /// It does not know the session that it was to resume (M-18).
    StaleSession(String),
}

/// Takes what an adapter understood of its agent's output: events, bytes for stdin, questions, and
/// what belongs to the result.
#[derive(Debug)]
pub struct Out {
    plugin: String,
    events: Vec<EventBody>,
    stdin: Vec<u8>,
    questions: Vec<PermissionRequest>,
    withdrawn: Vec<String>,
    /// Where in the content the agent's current message begins.
    message_start: usize,
    /// How far into the current message its second telling has come; none when it tells it first.
    retold: Option<usize>,
    open_tools: HashMap<String, Open>,
    /// Calls that the model still writes.
    announced: HashSet<String>,
    /// The session that is resumed; another one is a fresh one that the agent began in silence.
    expected_session: Option<String>,
    /// The content has reached its limit.
    full: bool,
    /// How much of the tools' input was kept for the result, in bytes.
    input_kept: usize,
    terminal: Option<Terminal>,
    visible: bool,
    noise: u64,
    /// What belongs to the result.
    pub(super) said: Said,
}

/// A call that has no result yet.
#[derive(Debug)]
struct Open {
    name: String,
    since: Instant,
    /// The files that it changes, if it ends well.
    changes: Vec<String>,
}

/// What of an agent's output belongs to the result.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) content: String,
    pub(super) usage: Option<Usage>,
    pub(super) cost_usd: Option<f64>,
    pub(super) model: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) session_state: Value,
    pub(super) tool_calls: Vec<ToolCallInfo>,
    pub(super) files_changed: BTreeSet<String>,
    pub(super) warnings: Vec<String>,
}

impl Out {
    /// An empty one, for the named plugin. Adapters get theirs from the spawn base; this is for
    /// their tests.
    #[must_use]
    pub fn new(plugin: &str) -> Self {
        Self {
            plugin: plugin.to_owned(),
            events: Vec::new(),
            stdin: Vec::new(),
            questions: Vec::new(),
            withdrawn: Vec::new(),
            message_start: 0,
            retold: None,
            open_tools: HashMap::new(),
            announced: HashSet::new(),
            expected_session: None,
            full: false,
            input_kept: 0,
            terminal: None,
            visible: false,
            noise: 0,
            said: Said::default(),
        }
    }

    /// The session that is resumed, of a CLI that keeps its id then (M-18).
    pub(super) fn expect_session(&mut self, id: Option<String>) {
        self.expected_session = id;
    }

    /// What an agent says in a session that it began in silence is not shown: the prompt is
    /// asked again.
    fn is_stale(&self) -> bool {
        matches!(self.terminal, Some(Terminal::StaleSession(_)))
    }

    fn push(&mut self, event: EventBody) {
        if self.is_stale() {
            return;
        }
        self.visible |= event.is_visible();
        let left = match self.events.last_mut() {
            Some(last) => last.join(event),
            None => Some(event),
        };
        self.events.extend(left);
    }

    /// Text of the answer. Text that a restarted message says again is not shown again.
    pub fn token(&mut self, text: &str) {
        match self.retold {
            None => self.say(text),
            Some(at) => self.retell(at, text),
        }
    }

    /// A new message of the agent begins; what it had said before is final. Text that a restart
    /// took back, and that was not said again, is then not part of the answer.
    pub fn begin_message(&mut self) {
        self.settle(0);
        self.message_start = self.said.content.len();
        self.retold = None;
    }

    /// The agent begins its current message again, for example after a cut connection. What it says
    /// again word for word is skipped; where it says something else, a notice tells and the result
    /// holds only the second telling.
    pub fn restart_message(&mut self) {
        if self.said.content.len() > self.message_start {
            self.retold = Some(0);
        }
    }

    fn retell(&mut self, at: usize, text: &str) {
        let told = self.said.content.get(self.message_start..).unwrap_or_default();
        let rest = told.get(at..).unwrap_or_default();
        if rest.starts_with(text) {
            self.retold = Some(at + text.len());
        } else if let Some(new) = text.strip_prefix(rest) {
            self.retold = None;
            self.say(new);
        } else {
            let again = format!("{}{text}", told.get(..at).unwrap_or_default());
            self.retold = None;
            self.said.content.truncate(self.message_start);
            self.notice(NoticeKind::Retry, "the agent began its last message again");
            self.say("\n");
            self.said.content.truncate(self.message_start);
            self.say(&again);
        }
    }

    /// A message whose second telling ended before its first one did: the second one counts, if it
    /// has come that far.
    fn settle(&mut self, least: usize) {
        let Some(at) = self.retold.take().filter(|at| *at >= least) else {
            return;
        };
        let end = self.message_start + at;
        if end < self.said.content.len() {
            self.said.content.truncate(end);
            self.notice(
                NoticeKind::Retry,
                "the agent did not say all of its last text again, so the result leaves that out",
            );
        }
    }

    fn say(&mut self, text: &str) {
        if text.is_empty() || self.is_stale() {
            return;
        }
        if !self.full && self.said.content.len() + text.len() <= CONTENT {
            self.said.content.push_str(text);
        } else if !self.full {
            self.full = true;
            self.warn("the answer is over 64 MiB: the result holds only its beginning");
        }
        self.visible = true;
        if let Some(EventBody::Token { text: last, parent_id: None, raw: None }) =
            self.events.last_mut()
        {
            last.push_str(text);
        } else {
            self.events.push(EventBody::token(text));
        }
    }

    /// Text that a sub-agent said: it is shown and is not part of the answer.
    pub fn sub_agent_token(&mut self, parent: &str, text: &str) {
        if !text.is_empty() {
            let (text, parent_id) = (text.to_owned(), Some(parent.to_owned()));
            self.push(EventBody::Token { text, parent_id, raw: None });
        }
    }

    /// Text of the model's thinking, a sub-agent's with its parent call.
    pub fn thought(&mut self, text: &str, parent: Option<&str>) {
        if !text.is_empty() {
            let (text, parent_id) = (text.to_owned(), parent.map(str::to_owned));
            self.push(EventBody::Thought { text, parent_id, raw: None });
        }
    }

    /// A tool is called. A second call with an id that is open is an update of it.
    pub fn tool_call(&mut self, call: ToolCallInfo) {
        if self.is_stale() {
            return;
        }
        if self.open_tools.contains_key(&call.id) {
            let status = Some(ToolStatus::InProgress);
            self.push(EventBody::ToolUpdate {
                id: call.id,
                status,
                content: Vec::new(),
                raw: call.raw,
            });
            return;
        }
        self.announced.remove(&call.id);
        if self.open_tools.len() < TOOL_CALLS {
            let changes = matches!(call.kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
            let files = call.locations.iter().filter(|_| changes).map(|l| l.path.clone());
            let (name, since) = (call.name.clone(), Instant::now());
            let open = Open { name, since, changes: files.collect() };
            self.open_tools.insert(call.id.clone(), open);
        }
        if self.said.tool_calls.len() < TOOL_CALLS {
            let mut kept = call.clone();
            self.input_kept = self.input_kept.saturating_add(mia_api::json_weight(&kept.input));
            if self.input_kept > TOOL_INPUT {
                kept.input = Value::Null;
                kept.raw = None;
                self.warn("over 64 MiB of tool input: the result lists some calls without");
            }
            self.said.tool_calls.push(kept);
        } else {
            self.warn("over 10,000 tool calls: the result lists only the first");
        }
        self.push(EventBody::ToolCall(call));
    }

    /// The model begins to write a call of a tool, whose input is not known yet. Nothing is shown, but
    /// an agent that prints nothing meanwhile is not taken for stalled.
    pub fn tool_announced(&mut self, id: &str) {
        if self.announced.len() < TOOL_CALLS && !self.is_open(id) {
            self.announced.insert(id.to_owned());
        }
    }

    /// A tool call goes on.
    pub fn tool_update(&mut self, id: &str, status: ToolStatus, content: Vec<ToolContent>) {
        self.push(EventBody::ToolUpdate {
            id: id.to_owned(),
            status: Some(status),
            content,
            raw: None,
        });
    }

    /// A tool has ended. It is paired with its call by id (M-09); a result without a call is shown
    /// too. Output over 1 MiB is cut.
    pub fn tool_result(&mut self, id: &str, output: &str, is_error: bool) {
        self.announced.remove(id);
        let (name, since) = match self.open_tools.remove(id) {
            Some(open) => {
                // What was refused or went wrong has changed nothing.
                let changes = open.changes.into_iter().filter(|_| !is_error);
                for file in changes {
                    if self.said.files_changed.len() < TOOL_CALLS {
                        self.said.files_changed.insert(file);
                    }
                }
                (open.name, open.since.elapsed())
            }
            None => (String::new(), Duration::ZERO),
        };
        let cut = floor_char_boundary(output, TOOL_OUTPUT);
        self.push(EventBody::ToolResult(ToolResultInfo {
            id: id.to_owned(),
            name,
            output: output.get(..cut).unwrap_or_default().to_owned(),
            is_error,
            truncated: cut < output.len(),
            duration_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        }));
    }

    /// The agent's plan.
    pub fn plan(&mut self, entries: Vec<PlanEntry>) {
        self.push(EventBody::Plan { entries, raw: None });
    }

    /// Tokens of this dispatch so far; replaces what was said before.
    pub fn usage(&mut self, usage: Usage) {
        self.said.usage = Some(usage.clone());
        self.push(EventBody::Usage {
            tokens: Some(usage),
            context: None,
            cost_usd: self.said.cost_usd,
            raw: None,
        });
    }

    /// How full the context window is.
    pub fn context_usage(&mut self, context: ContextUsage) {
        self.push(EventBody::Usage {
            tokens: None,
            context: Some(context),
            cost_usd: self.said.cost_usd,
            raw: None,
        });
    }

    /// What this dispatch has cost so far, in US dollars. Only what the agent says.
    pub fn cost(&mut self, usd: f64) {
        if usd.is_finite() && usd >= 0.0 {
            self.said.cost_usd = Some(usd);
        }
    }

    /// The model that answers.
    pub fn model(&mut self, model: &str) {
        self.said.model = Some(model.to_owned());
    }

    /// The agent's session id. One that no agent can be given back (control characters, over 1 KiB)
    /// is not kept: the next turn begins a fresh session.
    pub fn session(&mut self, id: &str) {
        if id.is_empty() || id.len() > SESSION_ID || id.chars().any(char::is_control) {
            self.warn("the agent gave its session a name that can't be used, so it can't go on");
            return;
        }
        if self.said.session_id.as_deref() != Some(id) {
            self.said.session_id = Some(id.to_owned());
        }
        if self.expected_session.as_deref().is_some_and(|expected| expected != id) {
            self.stale_session("it answered in another session");
        }
    }

    /// What the adapter wants to find again in [`SessionRecord::state`](crate::SessionRecord).
    pub fn session_state(&mut self, state: Value) {
        self.said.session_state = state;
    }

    /// Something a person should know.
    pub fn notice(&mut self, kind: NoticeKind, message: impl Into<String>) {
        self.push(EventBody::notice(kind, message));
    }

    /// Something that went not quite right and stands in the result: each once, and 200 of them
    /// at most.
    pub fn warn(&mut self, message: impl Into<String>) {
        let (message, warnings) = (message.into(), &mut self.said.warnings);
        match warnings.len() {
            0..WARNINGS if warnings.contains(&message) => {}
            0..WARNINGS => warnings.push(message),
            WARNINGS => warnings.push("and more, which the result leaves out".to_owned()),
            _ => {}
        }
    }

    /// An event that has no kind of its own.
    pub fn other(&mut self, raw: Value) {
        self.push(EventBody::Other { raw });
    }

    /// Asks a question on behalf of the agent; the answer comes to
    /// [`CliAdapter::on_permission`](super::CliAdapter::on_permission).
    pub fn ask(&mut self, request: PermissionRequest) {
        if self.is_stale() {
            return;
        }
        self.visible = true;
        self.questions.push(request);
    }

    /// The agent no longer waits for the answer to that question.
    pub fn withdraw(&mut self, question: &str) {
        self.questions.retain(|q| q.id != question);
        self.withdrawn.push(question.to_owned());
    }

    /// Bytes for the agent's stdin. Lost when stdin is closed.
    pub fn write_stdin(&mut self, bytes: &[u8]) {
        self.stdin.extend_from_slice(bytes);
    }

    /// A JSON value and a newline for the agent's stdin.
    pub fn write_json_line(&mut self, value: &Value) {
        self.stdin.extend_from_slice(value.to_string().as_bytes());
        self.stdin.push(b'\n');
    }

    /// The provider has begun to work, though nothing can be shown: from here on the attempt counts
    /// as visible, so a lost session is not retried.
    pub fn sign_of_work(&mut self) {
        self.visible = true;
    }

    /// The agent's last word: it has answered. What it says afterwards is ignored.
    pub fn complete(&mut self, stop_reason: StopReason) {
        self.settle(1);
        self.end(Terminal::Complete(stop_reason));
    }

    /// The agent's last word: it has failed.
    pub fn fail(&mut self, error: PluginError) {
        self.end(Terminal::Failed(Box::new(error)));
    }

    /// The agent's last word: it does not know the session that it was to resume.
    pub fn stale_session(&mut self, message: impl Into<String>) {
        self.end(Terminal::StaleSession(message.into()));
    }

    fn end(&mut self, terminal: Terminal) {
        self.terminal.get_or_insert(terminal);
    }

    /// An error of this plugin.
    #[must_use]
    pub fn error(&self, code: ErrorCode, cause: Cause, message: impl Into<String>) -> PluginError {
        PluginError::new(code, &self.plugin, message).with_cause(cause)
    }

    /// The text of the answer so far.
    #[must_use]
    pub fn content(&self) -> &str {
        &self.said.content
    }

    /// True while the named call has no result.
    #[must_use]
    pub fn is_open(&self, tool: &str) -> bool {
        self.open_tools.contains_key(tool)
    }

    /// True while any tool call has no result, or is being written.
    #[must_use]
    pub fn has_open_tools(&self) -> bool {
        !self.open_tools.is_empty() || !self.announced.is_empty()
    }

    /// How the agent said that it is done, once it has.
    #[must_use]
    pub fn terminal(&self) -> Option<&Terminal> {
        self.terminal.as_ref()
    }

    /// What a dispatch would return if this were all, less what its process says. For whoever reads
    /// recorded output.
    #[must_use]
    pub fn result(&self, task: TaskId, conversation: ConversationId) -> DispatchResult {
        let said = &self.said;
        DispatchResult {
            usage: said.usage.clone(),
            session_id: said.session_id.clone(),
            tool_calls: said.tool_calls.clone(),
            model: said.model.clone(),
            cost_usd: said.cost_usd,
            stop_reason: match self.terminal {
                Some(Terminal::Complete(reason)) => reason,
                _ => StopReason::default(),
            },
            files_changed: said.files_changed.iter().cloned().collect(),
            warnings: said.warnings.clone(),
            ..DispatchResult::new(task, conversation, &self.plugin, said.content.clone())
        }
    }

    /// The events since the last call, in order.
    pub fn take_events(&mut self) -> Vec<EventBody> {
        std::mem::take(&mut self.events)
    }

    /// The bytes for stdin since the last call.
    pub fn take_stdin(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.stdin)
    }

    /// The questions since the last call.
    pub fn take_questions(&mut self) -> Vec<PermissionRequest> {
        std::mem::take(&mut self.questions)
    }

    /// The questions that were withdrawn since the last call.
    pub(super) fn take_withdrawn(&mut self) -> Vec<String> {
        std::mem::take(&mut self.withdrawn)
    }

    /// True once a person could see something of it.
    pub(super) fn is_visible(&self) -> bool {
        self.visible
    }

    pub(super) fn take_terminal(&mut self) -> Option<Terminal> {
        self.terminal.take()
    }

    /// Counts a line that is no event; the first few are shown.
    pub(super) fn noise(&mut self, line: &str, noise: &Noise) {
        self.noise += 1;
        if self.noise > NOISE_NOTICES {
            return;
        }
        let message = match noise {
            Noise::NotJson(_) => format!("skipped a line that is no event: {}", shown(line)),
            Noise::UnknownType(kind) => {
                format!("skipped an event of the unknown type {}", shown(kind))
            }
        };
        self.push(EventBody::notice(NoticeKind::Noise, message));
    }

    /// Says how much noise there was, at the end.
    pub(super) fn noise_total(&mut self) {
        if self.noise > NOISE_NOTICES {
            let message = format!("skipped {} lines that were no events", self.noise);
            self.push(EventBody::notice(NoticeKind::Noise, message));
        }
    }
}

/// The beginning of a foreign text, without what a terminal would take for a command.
fn shown(text: &str) -> String {
    let harmless = |c: char| {
        if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }
    };
    text.chars().take(120).map(harmless).collect()
}

/// The last place at or before `at` where a character begins.
fn floor_char_boundary(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    (0..=at).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> ToolCallInfo {
        ToolCallInfo { id: id.into(), name: format!("tool-{id}"), ..ToolCallInfo::default() }
    }

    #[tokio::test]
    async fn m_009_swapped_results_find_their_calls() {
        let mut out = Out::new("p");
        out.tool_call(call("1"));
        out.tool_call(call("2"));
        out.tool_result("2", "second", false);
        out.tool_result("1", "first", true);
        assert!(!out.has_open_tools());
        let names: Vec<_> = out
            .take_events()
            .into_iter()
            .filter_map(|e| match e {
                EventBody::ToolResult(r) => Some((r.id, r.name, r.output, r.is_error)),
                _ => None,
            })
            .collect();
        let expected = vec![
            ("2".to_owned(), "tool-2".to_owned(), "second".to_owned(), false),
            ("1".to_owned(), "tool-1".to_owned(), "first".to_owned(), true),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn m_018_a_session_that_no_agent_can_be_given_back_is_not_kept() {
        for id in ["", "a\0b", "a\nb", &"x".repeat(SESSION_ID + 1)] {
            let mut out = Out::new("p");
            out.session(id);
            assert_eq!((out.said.session_id.clone(), out.said.warnings.len()), (None, 1), "{id:?}");
        }
    }

    #[test]
    fn there_is_an_end_to_warnings_and_none_is_said_twice() {
        let mut out = Out::new("p");
        for n in 0..1000 {
            out.warn(format!("{}", n / 2));
        }
        assert_eq!(out.said.warnings.len(), WARNINGS + 1);
        assert_eq!(out.said.warnings[1], "1");
        assert!(out.said.warnings[WARNINGS].starts_with("and more"));
    }

    #[tokio::test]
    async fn m_006_only_what_a_tool_did_has_changed_a_file() {
        let mut out = Out::new("p");
        for id in ["done", "denied", "open"] {
            let locations = vec![mia_api::Location { path: format!("{id}.txt"), line: None }];
            out.tool_call(ToolCallInfo { kind: ToolKind::Edit, locations, ..call(id) });
        }
        out.tool_result("done", "", false);
        out.tool_result("denied", "", true);
        assert_eq!(out.said.files_changed, BTreeSet::from(["done.txt".to_owned()]));
    }

    #[tokio::test]
    async fn m_019_a_call_that_is_being_written_counts_as_open() {
        let mut out = Out::new("p");
        for id in ["1", "2"] {
            out.tool_announced(id);
            assert!(out.has_open_tools());
        }
        assert_eq!(out.take_events(), []);
        out.tool_call(call("1"));
        out.tool_result("1", "", false);
        assert!(out.has_open_tools());
        out.tool_result("2", "", true);
        assert!(!out.has_open_tools());
    }

    #[tokio::test]
    async fn m_006_what_a_sub_agent_says_is_not_in_the_content() {
        let mut out = Out::new("p");
        out.token("mine");
        out.sub_agent_token("t1", "theirs");
        assert_eq!(out.content(), "mine");
        assert_eq!(out.take_events().len(), 2);
    }

    fn texts(out: &mut Out) -> String {
        out.take_events()
            .into_iter()
            .filter_map(|e| match e {
                EventBody::Token { text, .. } => Some(text),
                _ => None,
            })
            .collect()
    }

    #[tokio::test]
    async fn a_message_that_is_told_again_is_not_doubled() {
        for second in
            [vec!["one two three"], vec!["o", "ne ", "two ", "three"], vec!["one two", " three"]]
        {
            let mut out = Out::new("p");
            out.token("before ");
            out.begin_message();
            out.token("one ");
            out.token("tw");
            out.restart_message();
            for text in second {
                out.token(text);
            }
            assert_eq!(out.content(), "before one two three");
            assert_eq!(texts(&mut out), "before one two three");
        }
    }

    #[tokio::test]
    async fn a_message_that_is_told_differently_replaces_the_first_in_the_result() {
        let mut out = Out::new("p");
        out.token("before ");
        out.begin_message();
        out.token("one two");
        out.restart_message();
        out.token("one ");
        out.token("three");
        assert_eq!(out.content(), "before one three");
        assert_eq!(texts(&mut out), "before one two\none three");
    }

    #[tokio::test]
    async fn a_message_that_is_told_shorter_replaces_the_first_in_the_result() {
        let mut out = Out::new("p");
        out.token("one two");
        out.restart_message();
        out.token("one");
        out.complete(StopReason::EndTurn);
        assert_eq!(out.content(), "one");
        let mut out = Out::new("p");
        out.token("one two");
        out.restart_message();
        out.complete(StopReason::EndTurn);
        assert_eq!(out.content(), "one two", "it was not told again");
    }

    #[tokio::test]
    async fn text_that_was_taken_back_and_not_told_again_is_not_in_the_result() {
        let mut out = Out::new("p");
        out.token("before ");
        out.begin_message();
        out.token("one two");
        out.restart_message();
        out.begin_message();
        out.token("three");
        out.complete(StopReason::EndTurn);
        assert_eq!(out.content(), "before three");
        let notices = out.take_events().into_iter().filter(|e| e.kind() == "notice");
        assert_eq!(notices.count(), 1);
    }

    #[tokio::test]
    async fn content_over_the_limit_has_no_holes() {
        let mut out = Out::new("p");
        out.token(&"x".repeat(CONTENT - 1));
        out.token("yy");
        out.token("z");
        assert_eq!(out.content().len(), CONTENT - 1);
        assert_eq!(out.said.warnings.len(), 1);
        assert_eq!(texts(&mut out).len(), CONTENT + 2);
    }

    #[tokio::test]
    async fn the_input_of_calls_in_the_result_is_bounded() {
        let mut out = Out::new("p");
        for id in ["1", "2", "3"] {
            let input = Value::from("x".repeat(TOOL_INPUT / 2 - 100));
            out.tool_call(ToolCallInfo { input, ..call(id) });
        }
        let kept = out.said.tool_calls.iter().filter(|call| !call.input.is_null()).count();
        assert_eq!((out.said.tool_calls.len(), kept), (3, 2));
        assert_eq!(out.take_events().len(), 3);
    }

    #[tokio::test]
    async fn output_is_cut_at_a_character() {
        let mut out = Out::new("p");
        let long = "ü".repeat(TOOL_OUTPUT);
        out.tool_result("x", &format!("a{long}"), false);
        let events = out.take_events();
        let Some(EventBody::ToolResult(result)) = events.first() else { panic!("no result") };
        assert!(result.truncated);
        assert_eq!(result.output.len(), TOOL_OUTPUT - 1);
    }

    #[tokio::test]
    async fn m_016_the_first_noise_is_shown_and_all_is_counted() {
        let mut out = Out::new("p");
        for _ in 0..10 {
            out.noise("Debugger attached", &Noise::UnknownType("x".into()));
        }
        assert_eq!(out.take_events().len(), 3);
        out.noise_total();
        let EventBody::Notice { message, .. } = &out.take_events()[0] else { panic!("no notice") };
        assert!(message.contains("10 lines"), "{message}");
    }

    #[tokio::test]
    async fn m_008_the_first_terminal_message_counts() {
        let mut out = Out::new("p");
        out.complete(StopReason::EndTurn);
        out.fail(PluginError::new(ErrorCode::Unknown, "p", "late"));
        assert_eq!(out.terminal(), Some(&Terminal::Complete(StopReason::EndTurn)));
    }
}
