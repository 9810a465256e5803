//! A manifest that has no mistakes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use mia_api::{Cause, NoticeKind, PermissionPolicy, StopReason, ToolKind};
use mia_config::yaml::Source;
use serde_json::Value;

use crate::condition::When;
use crate::path::{Path, Paths};
use crate::template::{Given, Template};

/// How a CLI is started and what its lines say.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// What it was read from.
    pub(crate) source: Arc<Source>,
    /// The plugin's name.
    pub(crate) name: String,
    /// The program; none means the plugin's name.
    pub(crate) binary: Option<String>,
    pub(crate) version: Vec<String>,
    pub(crate) install: String,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) pass_env: Vec<String>,
    pub(crate) args: Vec<Arg>,
    pub(crate) stdin: Stdin,
    pub(crate) permissions: Modes,
    pub(crate) session: Session,
    pub(crate) tools: BTreeMap<String, ToolKind>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) errors: Vec<KnownError>,
    pub(crate) exit: BTreeMap<i32, ExitMeaning>,
    /// SIGINT before TERM.
    pub(crate) interrupt: bool,
    /// The place that most likely tells an event's type, for messages.
    pub(crate) type_path: Option<Path>,
}

impl Manifest {
    /// The plugin's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program that is started, a name or a path.
    #[must_use]
    pub fn program(&self) -> &str {
        self.binary.as_deref().unwrap_or(&self.name)
    }

    /// The policies that it can be told.
    #[must_use]
    pub fn policies(&self) -> Vec<PermissionPolicy> {
        let all = [PermissionPolicy::ReadOnly, PermissionPolicy::Edit, PermissionPolicy::Full];
        all.into_iter().filter(|policy| self.permissions.of(Some(*policy)).is_some()).collect()
    }

    /// True when it goes on with a session of its own.
    #[must_use]
    pub fn resumes(&self) -> bool {
        self.takes(Given::Session)
    }

    /// True when it can be told which model to ask.
    #[must_use]
    pub fn takes_model(&self) -> bool {
        self.takes(Given::Model)
    }

    fn takes(&self, given: Given) -> bool {
        self.args.iter().any(|arg| arg.takes(given)) || self.stdin.takes(given)
    }

    pub(crate) fn any_rule(&self, is: &dyn Fn(&Rule) -> bool) -> bool {
        fn any(rules: &[Rule], is: &dyn Fn(&Rule) -> bool) -> bool {
            rules
                .iter()
                .any(|rule| is(rule) || rule.each.as_ref().is_some_and(|each| any(&each.rules, is)))
        }
        any(&self.rules, is)
    }
}

/// One argument, or several that come and go together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arg {
    /// Left out when a place in it has no value.
    One(Template<Given>),
    /// Left out as a whole when a place in it has no value.
    Group(Vec<Template<Given>>),
    /// One list or the other.
    If { given: Given, then: Vec<Arg>, otherwise: Vec<Arg> },
    /// Where the arguments of the configuration stand.
    Configured,
    /// Where the arguments of the policy stand.
    Permissions,
}

impl Arg {
    pub(crate) fn takes(&self, given: Given) -> bool {
        let within = |template: &Template<Given>| template.places().any(|place| place == given);
        match self {
            Self::One(template) => within(template),
            Self::Group(templates) => templates.iter().any(within),
            Self::If { then, otherwise, .. } => {
                then.iter().chain(otherwise).any(|arg| arg.takes(given))
            }
            Self::Configured | Self::Permissions => false,
        }
    }
}

/// What goes to stdin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stdin {
    Nothing,
    Text(Template<Given>),
    /// One line of JSON.
    Line(JsonTemplate),
}

impl Stdin {
    pub(crate) fn takes(&self, given: Given) -> bool {
        match self {
            Self::Nothing => false,
            Self::Text(template) => template.places().any(|place| place == given),
            Self::Line(json) => json.takes(given),
        }
    }
}

/// JSON whose texts have places. A member or element is left out when a place in it has no value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum JsonTemplate {
    Value(Value),
    Text(Template<Given>),
    List(Vec<JsonTemplate>),
    Object(Vec<(String, JsonTemplate)>),
}

impl JsonTemplate {
    fn takes(&self, given: Given) -> bool {
        match self {
            Self::Value(_) => false,
            Self::Text(template) => template.places().any(|place| place == given),
            Self::List(list) => list.iter().any(|item| item.takes(given)),
            Self::Object(members) => members.iter().any(|(_, value)| value.takes(given)),
        }
    }

    pub(crate) fn fill(&self, value: &dyn Fn(&Given) -> Option<String>) -> Option<Value> {
        match self {
            Self::Value(json) => Some(json.clone()),
            Self::Text(template) => template.fill(value).map(Value::String),
            Self::List(list) => {
                Some(Value::Array(list.iter().filter_map(|item| item.fill(value)).collect()))
            }
            Self::Object(members) => {
                let filled = members
                    .iter()
                    .filter_map(|(name, member)| Some((name.clone(), member.fill(value)?)));
                Some(Value::Object(filled.collect()))
            }
        }
    }
}

/// What a policy adds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Mode {
    pub(crate) args: Vec<Arg>,
    pub(crate) env: Vec<(String, String)>,
}

/// What each policy adds. One that is absent can't be told.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Modes {
    pub(crate) unasked: Mode,
    pub(crate) read_only: Option<Mode>,
    pub(crate) edit: Option<Mode>,
    pub(crate) full: Option<Mode>,
}

impl Modes {
    /// All that there are.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Mode> {
        let asked = [&self.read_only, &self.edit, &self.full];
        std::iter::once(&self.unasked).chain(asked.into_iter().flatten())
    }

    pub(crate) fn of(&self, policy: Option<PermissionPolicy>) -> Option<&Mode> {
        match policy {
            None => Some(&self.unasked),
            Some(PermissionPolicy::ReadOnly) => self.read_only.as_ref(),
            Some(PermissionPolicy::Edit) => self.edit.as_ref(),
            Some(PermissionPolicy::Full) => self.full.as_ref(),
        }
    }
}

/// What is so of sessions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Session {
    /// Where any line may tell the session's id.
    pub(crate) id: Option<Paths>,
    pub(crate) needs_cwd: bool,
    pub(crate) keeps_id: bool,
    /// Texts that mean that the session is unknown.
    pub(crate) lost: Vec<String>,
}

/// What a line means, or an element of one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rule {
    /// Where it is written.
    pub(crate) span: Range<usize>,
    pub(crate) when: When,
    pub(crate) each: Option<Each>,
    pub(crate) message: Option<Paths>,
    pub(crate) parent: Option<Paths>,
    pub(crate) session: Option<Paths>,
    pub(crate) model: Option<Paths>,
    pub(crate) text: Option<Said>,
    pub(crate) thought: Option<Said>,
    pub(crate) tool_call: Option<ToolCall>,
    pub(crate) tool_update: Option<ToolUpdate>,
    pub(crate) tool_result: Option<ToolResult>,
    pub(crate) usage: Option<UsageAt>,
    pub(crate) notice: Option<Notice>,
    pub(crate) warning: Option<Template<Paths>>,
    pub(crate) sign_of_work: bool,
    pub(crate) error: Option<ErrorAt>,
    pub(crate) complete: Option<Complete>,
}

/// Elements of a line that mean something each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Each {
    pub(crate) at: Paths,
    pub(crate) rules: Vec<Rule>,
}

/// How a text is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Piece by piece.
    Piece,
    /// All of the message so far, again and again.
    SoFar,
    /// As a whole, after pieces of it or without.
    Whole,
}

/// A text or thought.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    pub(crate) manner: Manner,
    pub(crate) at: Paths,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolCall {
    pub(crate) id: Option<Paths>,
    pub(crate) name: Paths,
    pub(crate) input: Option<Paths>,
    pub(crate) title: Option<Paths>,
    /// Files that it works on.
    pub(crate) files: Option<Paths>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolUpdate {
    pub(crate) id: Paths,
    pub(crate) output: Option<Paths>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolResult {
    pub(crate) id: Option<Paths>,
    pub(crate) output: Option<Paths>,
    pub(crate) failed: Option<When>,
}

/// Over what an agent counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Per {
    /// Each event counts what came since the one before.
    Step,
    /// Each event counts all of this run.
    #[default]
    Run,
    /// Each event counts all of the session, earlier runs included.
    Session,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UsageAt {
    pub(crate) input: Option<Paths>,
    pub(crate) output: Option<Paths>,
    pub(crate) cache_read: Option<Paths>,
    pub(crate) cache_creation: Option<Paths>,
    pub(crate) cost: Option<Paths>,
    pub(crate) per: Per,
    /// `input` counts what came from the cache, too.
    pub(crate) input_has_cache: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Notice {
    pub(crate) kind: NoticeKind,
    pub(crate) text: Template<Paths>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ErrorAt {
    pub(crate) message: Option<Paths>,
    /// What is said where the event has no message.
    pub(crate) text: Option<Template<Paths>>,
    pub(crate) status: Option<Paths>,
    pub(crate) cause: Option<Cause>,
    pub(crate) hint: Option<String>,
}

/// The last word.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Complete {
    /// For this reason.
    Reason(StopReason),
    /// As the event says.
    At { text: Option<Paths>, stop_reason: Option<Paths> },
}

/// What a text in an error's message, or in stderr, means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnownError {
    pub(crate) texts: Vec<String>,
    pub(crate) cause: Cause,
    pub(crate) hint: Option<String>,
}

/// What an exit status means where no event was the last word.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExitMeaning {
    Complete,
    Failed { message: Option<String>, cause: Option<Cause>, hint: Option<String> },
}

impl Rule {
    /// All places that it looks at, less those of its conditions and of the rules of `each`, with
    /// the key of each.
    pub(crate) fn paths(&self) -> Vec<(String, &Paths)> {
        fn add<'r>(all: &mut Vec<(String, &'r Paths)>, key: &str, at: Option<&'r Paths>) {
            all.extend(at.map(|at| (key.to_owned(), at)));
        }
        let mut all = Vec::new();
        add(&mut all, "message", self.message.as_ref());
        add(&mut all, "parent", self.parent.as_ref());
        add(&mut all, "session", self.session.as_ref());
        add(&mut all, "model", self.model.as_ref());
        add(&mut all, "thought", self.thought.as_ref().map(|said| &said.at));
        add(&mut all, "text", self.text.as_ref().map(|said| &said.at));
        if let Some(call) = &self.tool_call {
            add(&mut all, "tool_call.id", call.id.as_ref());
            add(&mut all, "tool_call.name", Some(&call.name));
            add(&mut all, "tool_call.input", call.input.as_ref());
            add(&mut all, "tool_call.title", call.title.as_ref());
            add(&mut all, "tool_call.files", call.files.as_ref());
        }
        if let Some(update) = &self.tool_update {
            add(&mut all, "tool_update.id", Some(&update.id));
            add(&mut all, "tool_update.output", update.output.as_ref());
        }
        if let Some(result) = &self.tool_result {
            add(&mut all, "tool_result.id", result.id.as_ref());
            add(&mut all, "tool_result.output", result.output.as_ref());
        }
        if let Some(usage) = &self.usage {
            all.extend(usage.paths().map(|(name, at)| (format!("usage.{name}"), at)));
        }
        add(&mut all, "each", self.each.as_ref().map(|each| &each.at));
        if let Some(error) = &self.error {
            add(&mut all, "error.message", error.message.as_ref());
            add(&mut all, "error.status", error.status.as_ref());
        }
        if let Some(Complete::At { text, stop_reason }) = &self.complete {
            add(&mut all, "complete.text", text.as_ref());
            add(&mut all, "complete.stop_reason", stop_reason.as_ref());
        }
        all
    }
}
