//! Telling what a rule says of a line.

use std::borrow::Cow;

use mia_api::{Cause, Location, StopReason, ToolCallInfo, ToolContent, ToolStatus};
use mia_plugin::Out;
use serde_json::Value;

use crate::adapter::ManifestAdapter;
use crate::failure::{failure, known, of_status};
use crate::model::{
    Complete, Each, ErrorAt, Manner, Rule, Said, ToolCall, ToolResult, ToolUpdate, UsageAt,
};
use crate::path::{Paths, Scope};
use crate::telling::New;
use crate::template::Template;
use crate::title::title;

/// How many open calls without an id are kept apart.
const OPEN: usize = 1_000;
/// The same for sub-agents, each with the beginning of its text.
const OTHERS: usize = 64;
/// A longer id is none that an agent makes.
const LONGEST_ID: usize = 1024;

/// Text of the answer, or of thinking.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Text,
    Thought,
}

impl ManifestAdapter {
    /// Tells all that a rule says. `parent` is the sub-agent of the line around it.
    pub(crate) fn apply(
        &mut self,
        rule: &Rule,
        parent: Option<&str>,
        scope: Scope<'_>,
        out: &mut Out,
    ) {
        let own = rule.parent.as_ref().and_then(|at| at.text(scope));
        let parent = own.as_deref().or(parent);
        let text = |at: &Option<Paths>| at.as_ref().and_then(|at| at.text(scope));
        if let Some(id) = text(&rule.message).filter(|_| parent.is_none()) {
            self.message(&id, out);
        }
        if let Some(id) = text(&rule.session) {
            self.session(&id, out);
        }
        if let Some(model) = text(&rule.model) {
            out.model(&model);
        }
        for (what, said) in [(What::Thought, &rule.thought), (What::Text, &rule.text)] {
            if let Some(said) = said {
                self.said(what, said, parent, scope, out);
            }
        }
        if let Some(call) = &rule.tool_call {
            self.tool_call(call, parent, scope, out);
        }
        if let Some(update) = &rule.tool_update {
            tool_update(update, scope, out);
        }
        if let Some(result) = &rule.tool_result {
            self.tool_result(result, scope, out);
        }
        if let Some(usage) = &rule.usage {
            self.usage(usage, scope, out);
        }
        if let Some(notice) = &rule.notice {
            out.notice(notice.kind, fill(&notice.text, scope));
        }
        if let Some(warning) = &rule.warning {
            out.warn(fill(warning, scope));
        }
        if rule.sign_of_work {
            out.sign_of_work();
        }
        if let Some(each) = &rule.each {
            self.each(each, parent, scope, out);
        }
        if let Some(error) = &rule.error {
            self.error(error, scope, out);
        }
        if let Some(complete) = &rule.complete {
            self.complete(complete, scope, out);
        }
    }

    /// The main agent is in a message. The texts of two messages are two paragraphs.
    fn message(&mut self, id: &str, out: &mut Out) {
        if self.state.message.as_deref() == Some(id) {
            return;
        }
        self.state.message = Some(id.to_owned());
        self.state.main = Default::default();
        self.state.apart = true;
        out.begin_message();
    }

    fn said(
        &mut self,
        what: What,
        said: &Said,
        parent: Option<&str>,
        scope: Scope<'_>,
        out: &mut Out,
    ) {
        let Some(text) = said.at.text(scope) else { return };
        self.state.said = true;
        let state = &mut self.state;
        let speaker = match parent {
            None => &mut state.main,
            Some(parent) => {
                if state.others.len() >= OTHERS && !state.others.contains_key(parent) {
                    state.others.clear();
                }
                let id: String = parent.chars().take(LONGEST_ID).collect();
                state.others.entry(id).or_default()
            }
        };
        let telling = match what {
            What::Text => &mut speaker.text,
            What::Thought => &mut speaker.thought,
        };
        if what == What::Text && parent.is_none() {
            let new = telling.take(&text, said.manner);
            return self.token(new, said.manner, out);
        }
        // What is only shown can't be taken back: it stands, until it is told differently.
        if said.manner == Manner::SoFar && telling.has_said_more_than(&text) {
            return;
        }
        let text = match telling.take(&text, said.manner) {
            New::More(text) => Cow::Borrowed(text),
            New::Another(text) => Cow::Owned(format!("\n{text}")),
        };
        match (what, parent) {
            (What::Text, Some(parent)) => out.sub_agent_token(parent, &text),
            (_, parent) => out.thought(&text, parent),
        }
    }

    fn token(&mut self, new: New<'_>, manner: Manner, out: &mut Out) {
        // Without ids of messages a whole text is a message of its own.
        let own_message = self.state.message.is_none() && manner != Manner::Piece;
        let text = match new {
            New::More(text) => text,
            New::Another(text) if manner == Manner::SoFar && own_message => {
                self.state.apart = true;
                text
            }
            New::Another(text) => {
                out.restart_message();
                text
            }
        };
        if !text.is_empty() {
            let apart = std::mem::take(&mut self.state.apart);
            if apart && !out.content().is_empty() && !out.content().ends_with('\n') {
                out.token("\n\n");
                out.begin_message();
            }
            out.token(text);
        }
        if manner == Manner::Whole {
            // It is final now.
            out.begin_message();
            self.state.apart |= own_message;
        }
    }

    fn tool_call(
        &mut self,
        call: &ToolCall,
        parent: Option<&str>,
        scope: Scope<'_>,
        out: &mut Out,
    ) {
        self.state.said = true;
        let text = |at: &Option<Paths>| at.as_ref().and_then(|at| at.text(scope));
        let name = call.name.text(scope).unwrap_or_default().into_owned();
        let id = match text(&call.id) {
            Some(id) => id.into_owned(),
            None => {
                self.state.calls += 1;
                let id = format!("call-{}", self.state.calls);
                if self.state.open.len() < OPEN {
                    self.state.open.push(id.clone());
                }
                id
            }
        };
        let input = call.input.as_ref().and_then(|at| at.find(scope).first().copied().cloned());
        let input = match input.unwrap_or_default() {
            // Providers give the arguments as a text.
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(object @ Value::Object(_)) => object,
                _ => Value::String(text),
            },
            input => input,
        };
        let files = call.files.as_ref().map(|at| at.find(scope)).unwrap_or_default();
        let files = files.into_iter().filter_map(Value::as_str);
        out.tool_call(ToolCallInfo {
            title: text(&call.title)
                .map_or_else(|| title(&name, &input), |t| title(&t, &Value::Null)),
            kind: self.manifest.tools.get(&name).copied().unwrap_or_default(),
            locations: files.map(|path| Location { path: path.to_owned(), line: None }).collect(),
            id,
            parent_id: parent.map(str::to_owned),
            name,
            input,
            raw: None,
        });
    }

    fn tool_result(&mut self, result: &ToolResult, scope: Scope<'_>, out: &mut Out) {
        self.state.said = true;
        let id = result.id.as_ref().and_then(|at| at.text(scope));
        let id = match id {
            Some(id) => id.into_owned(),
            None => self.state.open.pop().unwrap_or_default(),
        };
        // Without ids of messages what is said after a tool is another one.
        if self.state.message.is_none() {
            self.state.main = Default::default();
            self.state.apart = true;
        }
        let output = result.output.as_ref().and_then(|at| at.text_or_json(scope));
        let failed = result.failed.as_ref().is_some_and(|when| when.matches(scope));
        out.tool_result(&id, &output.unwrap_or_default(), failed);
    }

    fn usage(&mut self, at: &UsageAt, scope: Scope<'_>, out: &mut Out) {
        let Some((run, state)) = self.state.counting.take(at, scope) else { return };
        if let Some(cost) = run.cost() {
            out.cost(cost);
        }
        if let Some(usage) = run.usage() {
            self.state.said = true;
            out.usage(usage);
        }
        if let Some(state) = state {
            self.session_state(state, out);
        }
    }

    fn each(&mut self, each: &Each, parent: Option<&str>, scope: Scope<'_>, out: &mut Out) {
        let found = each.at.find(scope);
        let elements = found.iter().flat_map(|value| match value {
            Value::Array(elements) => elements.as_slice(),
            one => std::slice::from_ref(*one),
        });
        for here in elements {
            let scope = Scope { line: scope.line, here };
            if let Some(rule) = each.rules.iter().find(|rule| rule.when.matches(scope)) {
                self.apply(rule, parent, scope, out);
            }
            if out.terminal().is_some() {
                return;
            }
        }
    }

    fn error(&mut self, error: &ErrorAt, scope: Scope<'_>, out: &mut Out) {
        let message = error.message.as_ref().and_then(|at| at.text_or_json(scope));
        let own = || error.text.as_ref().map(|text| fill(text, scope));
        let message = message
            .filter(|m| !m.trim().is_empty())
            .or_else(own)
            .unwrap_or_else(|| format!("{} failed and did not say why", self.manifest.program()));
        if let Some(line) = self.lost(&message) {
            out.stale_session(line);
            return;
        }
        let status = error.status.as_ref().and_then(|at| at.count(scope));
        let (cause, hint) = match known(&self.manifest, &message) {
            Some((known, _)) => (Some(known.cause), known.hint.clone()),
            None => (None, None),
        };
        let cause: Option<Cause> =
            cause.or(error.cause).or_else(|| status.and_then(|status| of_status(status, &message)));
        let error = failure(&self.manifest, &message, cause, hint.or_else(|| error.hint.clone()));
        out.fail(error);
    }

    fn complete(&mut self, complete: &Complete, scope: Scope<'_>, out: &mut Out) {
        let reason = match complete {
            Complete::Reason(reason) => *reason,
            Complete::At { text, stop_reason } => {
                let text = text.as_ref().and_then(|at| at.text(scope));
                if let Some(text) = text.filter(|_| out.content().is_empty()) {
                    out.token(&text);
                }
                let word = stop_reason.as_ref().and_then(|at| at.text(scope));
                reason(word.as_deref().unwrap_or_default())
            }
        };
        out.complete(reason);
    }
}

fn tool_update(update: &ToolUpdate, scope: Scope<'_>, out: &mut Out) {
    let Some(id) = update.id.text(scope).filter(|id| out.is_open(id)) else { return };
    let output = update.output.as_ref().and_then(|at| at.text_or_json(scope));
    let content = output.map(|text| ToolContent::Text { text }).into_iter().collect();
    out.tool_update(&id, ToolStatus::InProgress, content);
}

/// Why it stopped, in the words that agents and providers have for it.
fn reason(word: &str) -> StopReason {
    match word.to_ascii_lowercase().as_str() {
        "max_tokens" | "length" => StopReason::MaxTokens,
        "max_turn_requests" | "max_turns" => StopReason::MaxTurnRequests,
        "refusal" | "content_filter" => StopReason::Refusal,
        "cancelled" | "canceled" => StopReason::Cancelled,
        _ => StopReason::EndTurn,
    }
}

/// A place without a value is left empty: a notice is better than none.
fn fill(template: &Template<Paths>, scope: Scope<'_>) -> String {
    let filled = template.fill(|at| Some(at.text_or_json(scope).unwrap_or_default()));
    filled.unwrap_or_default()
}
