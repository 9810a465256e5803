//! Reading what the lines of a CLI mean.

use mia_api::{Cause, NoticeKind, StopReason};
use mia_config::yaml::{Body, Entry, Node};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::reader::{Field, Fields, Reader, shown};
use crate::condition::{Condition, Test, When};
use crate::model::{
    Complete, Each, ErrorAt, Manner, Notice, Per, Rule, Said, ToolCall, ToolResult, ToolUpdate,
    UsageAt,
};
use crate::path::{Path, Paths, Step};
use crate::table::{
    CAUSES, COMPLETE, ERROR, Kind, NOTICE, NOTICES, PER, RULE, STOP_REASONS, TEST, TOOL_CALL,
    TOOL_RESULT, TOOL_UPDATE, USAGE,
};
use crate::template::Template;

/// More rules in a list are none that a person writes; each is checked against those before it.
const RULES: usize = 500;
/// The same for conditions and alternatives in a `when`.
const CONDITIONS: usize = 50;

/// The three ways in which text is told.
const MANNERS: [(&str, Manner); 3] =
    [("", Manner::Piece), ("_so_far", Manner::SoFar), ("_whole", Manner::Whole)];

impl Reader<'_> {
    /// The rules of a list. `inside` is true for those of `each`.
    pub(crate) fn rules(&mut self, field: Field<'_>, inside: bool) -> Vec<Rule> {
        let items = self.list(field, Kind::Section(&RULE));
        if items.is_empty() && matches!(field.node.body, Body::List { .. }) {
            self.mistake(field.key_span, format!("{} is empty", field.key), None);
        }
        if items.len() > RULES {
            self.mistake(field.key_span, format!("{}: more than {RULES} rules", field.key), None);
        }
        let mut rules: Vec<Rule> = Vec::new();
        for item in items.into_iter().take(RULES) {
            let Some(rule) = self.rule(item, inside) else { continue };
            if let Some(earlier) = rules.iter().find(|earlier| rule.when.implies(&earlier.when)) {
                let line = self.line(earlier.span.start);
                let message = format!(
                    "no line comes to this rule: all of its lines fit the one on line {line}"
                );
                let help = "put it before that one, or give that one a narrower `when`".to_owned();
                self.mistake(&when_span(item.node), message, help);
            }
            rules.push(rule);
        }
        rules
    }

    fn rule(&mut self, item: Field<'_>, inside: bool) -> Option<Rule> {
        let item = Field { key: "an event", ..item };
        let fields = self.section(item, &RULE)?;
        let when = match fields.get("when") {
            Some(field) => self.when(field, inside),
            None => Some(When(vec![Vec::new()])),
        };
        let (text, thought) =
            (self.said(&fields, "text", inside), self.said(&fields, "thought", inside));
        let mut paths = |name| fields.get(name).and_then(|field| self.paths(field, inside));
        let (message, parent) = (paths("message"), paths("parent"));
        let (session, model, each) = (paths("session"), paths("model"), paths("each"));
        let rule = Rule {
            span: fields.span.clone(),
            each: self.each(&fields, each),
            message,
            parent,
            session,
            model,
            text,
            thought,
            tool_call: fields.get("tool_call").and_then(|f| self.tool_call(f, inside)),
            tool_update: fields.get("tool_update").and_then(|f| self.tool_update(f, inside)),
            tool_result: fields.get("tool_result").and_then(|f| self.tool_result(f, inside)),
            usage: fields.get("usage").and_then(|f| self.usage(f, inside)),
            notice: fields.get("notice").and_then(|f| self.notice(f, inside)),
            warning: fields.get("warning").and_then(|f| self.event_template(f, inside)),
            sign_of_work: fields.get("sign_of_work").and_then(|f| self.flag(f)) == Some(true),
            error: fields.get("error").and_then(|f| self.error(f, inside)),
            complete: fields.get("complete").and_then(|f| self.complete(f, inside)),
            // Without its conditions it would be the rule for all lines.
            when: when.clone().unwrap_or(When(Vec::new())),
        };
        self.check_rule(&fields, &rule);
        when.map(|_| rule)
    }

    fn check_rule(&mut self, fields: &Fields<'_>, rule: &Rule) {
        let says = RULE
            .keys
            .iter()
            .filter(|key| !matches!(key.name, "when" | "ignore" | "message" | "parent"));
        let says = says.filter(|key| fields.get(key.name).is_some()).count();
        let ignore = fields.get("ignore").and_then(|field| self.flag(field)) == Some(true);
        let nothing = says == 0 && fields.get("ignore").is_none();
        if nothing && !fields.has_unknown {
            let help = "say what it means, or `ignore: true`".to_owned();
            self.mistake(&when_span_of(fields), "this rule says nothing", help);
        }
        if let Some(field) = fields.get("ignore").filter(|_| ignore && says > 0) {
            let message = "ignore: the rule says what the line means, too";
            self.mistake(field.key_span, message, "remove one of the two".to_owned());
        }
        for condition in rule.when.0.iter().flatten() {
            self.check_reach(fields, rule, condition);
        }
    }

    /// A place can't be in what a condition says is text or absent.
    fn check_reach(&mut self, fields: &Fields<'_>, rule: &Rule, condition: &Condition) {
        let outer = &condition.path;
        // Of several elements another one may have it.
        let several = outer.steps.contains(&Step::Every);
        if several || rule.when.0.len() != 1 || !condition.leaves_nothing_inside() {
            return;
        }
        let inside = |path: &Path| path != outer && path.is_within(outer);
        let mut never: Vec<(String, std::ops::Range<usize>)> = Vec::new();
        for other in rule.when.0.iter().flatten() {
            if inside(&other.path) && other.needs_something() {
                never.push((other.path.to_string(), when_span_of(fields)));
            }
        }
        for (_, paths) in rule.paths() {
            for path in paths.list.iter().filter(|path| inside(path)) {
                never.push((path.to_string(), paths.span.clone()));
            }
        }
        for (path, span) in never {
            let message =
                format!("{path} is never there: `when` says that {outer} has nothing inside");
            self.mistake(&span, message, None);
        }
    }

    fn each(&mut self, fields: &Fields<'_>, at: Option<Paths>) -> Option<Each> {
        match (fields.get("each"), fields.get("events")) {
            (None, None) => None,
            (Some(each), None) => {
                let help = "add `events` with what they mean".to_owned();
                self.mistake(each.key_span, "each: nothing says what the elements mean", help);
                None
            }
            (None, Some(events)) => {
                let help = "add `each` with the place of the list".to_owned();
                self.mistake(events.key_span, "events: nothing says of which list", help);
                None
            }
            (Some(_), Some(events)) => Some(Each { rules: self.rules(events, true), at: at? }),
        }
    }

    fn said(&mut self, fields: &Fields<'_>, what: &str, inside: bool) -> Option<Said> {
        let mut said: Option<Said> = None;
        for (ending, manner) in MANNERS {
            let Some(field) = fields.get(&format!("{what}{ending}")) else { continue };
            let Some(at) = self.paths(field, inside) else { continue };
            if said.is_some() {
                let message =
                    format!("{}: the rule says in two ways how its {what} is told", field.key);
                self.mistake(field.key_span, message, "keep one of the two".to_owned());
            }
            said = Some(Said { manner, at });
        }
        said
    }

    fn tool_call(&mut self, field: Field<'_>, inside: bool) -> Option<ToolCall> {
        let fields = self.section(field, &TOOL_CALL)?;
        let mut paths = |name| fields.get(name).and_then(|field| self.paths(field, inside));
        Some(ToolCall {
            id: paths("id"),
            input: paths("input"),
            title: paths("title"),
            files: paths("files"),
            name: paths("name")?,
        })
    }

    fn tool_update(&mut self, field: Field<'_>, inside: bool) -> Option<ToolUpdate> {
        let fields = self.section(field, &TOOL_UPDATE)?;
        let mut paths = |name| fields.get(name).and_then(|field| self.paths(field, inside));
        let output = paths("output");
        Some(ToolUpdate { id: paths("id")?, output })
    }

    fn tool_result(&mut self, field: Field<'_>, inside: bool) -> Option<ToolResult> {
        let fields = self.section(field, &TOOL_RESULT)?;
        let mut paths = |name| fields.get(name).and_then(|field| self.paths(field, inside));
        let (id, output) = (paths("id"), paths("output"));
        Some(ToolResult {
            id,
            output,
            failed: fields.get("failed").and_then(|f| self.when(f, inside)),
        })
    }

    fn usage(&mut self, field: Field<'_>, inside: bool) -> Option<UsageAt> {
        let fields = self.section(field, &USAGE)?;
        let mut paths = |name| fields.get(name).and_then(|field| self.paths(field, inside));
        let usage = UsageAt {
            input: paths("input"),
            output: paths("output"),
            cache_read: paths("cache_read"),
            cache_creation: paths("cache_creation"),
            cost: paths("cost"),
            per: match fields.get("per").and_then(|field| self.choice(field, PER)) {
                Some("step") => Per::Step,
                Some("session") => Per::Session,
                _ => Per::Run,
            },
            input_has_cache: fields.get("input_has_cache").and_then(|f| self.flag(f)) == Some(true),
        };
        if ["input", "output", "cache_read", "cache_creation", "cost"]
            .iter()
            .all(|key| fields.get(key).is_none())
            && !fields.has_unknown
        {
            self.mistake(field.key_span, "usage: nothing says where the numbers are", None);
        }
        Some(usage)
    }

    fn notice(&mut self, field: Field<'_>, inside: bool) -> Option<Notice> {
        let fields = self.section(field, &NOTICE)?;
        let kind = fields.get("kind").and_then(|field| self.choice(field, NOTICES));
        Some(Notice {
            text: fields.get("text").and_then(|field| self.event_template(field, inside))?,
            kind: kind.and_then(named).unwrap_or(NoticeKind::Warning),
        })
    }

    fn error(&mut self, field: Field<'_>, inside: bool) -> Option<ErrorAt> {
        let fields = self.section(field, &ERROR)?;
        let mut paths = |name| fields.get(name).and_then(|field| self.paths(field, inside));
        let (message, status) = (paths("message"), paths("status"));
        let text = fields.get("text").and_then(|field| self.event_template(field, inside));
        let cause = fields.get("cause").and_then(|field| self.cause(field));
        let hint = fields.get("hint").and_then(|field| self.text(field));
        Some(ErrorAt { message, text, status, cause, hint })
    }

    pub(crate) fn cause(&mut self, field: Field<'_>) -> Option<Cause> {
        self.choice(field, CAUSES).and_then(named)
    }

    fn complete(&mut self, field: Field<'_>, inside: bool) -> Option<Complete> {
        if matches!(field.node.body, Body::Map { .. }) {
            let fields = self.section(field, &COMPLETE)?;
            let mut paths = |name| fields.get(name).and_then(|field| self.paths(field, inside));
            return Some(Complete::At { text: paths("text"), stop_reason: paths("stop_reason") });
        }
        let reason: StopReason = self.choice(field, STOP_REASONS).and_then(named)?;
        Some(Complete::Reason(reason))
    }

    fn event_template(&mut self, field: Field<'_>, inside: bool) -> Option<Template<Paths>> {
        let text = self.text(field)?;
        let span = &field.node.span;
        let template = Template::parse(&text, |place| match Path::parse(place) {
            Ok(mut path) => {
                path.from_line &= inside;
                Ok(Paths { list: vec![path], span: span.clone() })
            }
            Err(wrong) => Err(format!("has a place {{{}}} that {wrong}", shown(place))),
        });
        template.map_err(|wrong| self.template_mistake(field, &text, &wrong)).ok()
    }

    /// Conditions: one map of them, or a list of such maps.
    pub(crate) fn when(&mut self, field: Field<'_>, inside: bool) -> Option<When> {
        let maps = match &field.node.body {
            Body::List { items, .. } if !items.is_empty() => items.iter().collect(),
            _ => vec![field.node],
        };
        let size = |node: &&Node| matches!(&node.body, Body::Map { entries, .. } if entries.len() > CONDITIONS);
        if maps.len() > CONDITIONS || maps.iter().any(size) {
            let message = format!("{}: more than {CONDITIONS} conditions", field.key);
            self.mistake(field.key_span, message, None);
            return None;
        }
        let mut alternatives = Vec::new();
        for map in maps {
            match &map.body {
                Body::Map { entries, .. } if !entries.is_empty() => {
                    let all =
                        entries.iter().filter_map(|entry| self.condition(field, entry, inside));
                    let all: Vec<_> = all.collect();
                    // One that could not be read would make the rule match too much.
                    (all.len() == entries.len()).then(|| alternatives.push(all))?;
                }
                _ => {
                    self.when_mistake(field, map);
                    return None;
                }
            }
        }
        Some(When(alternatives))
    }

    fn when_mistake(&mut self, field: Field<'_>, node: &Node) {
        let found = mia_config::yaml::found(node);
        let message = format!("{}: expected {}, found {found}", field.key, Kind::When.expected());
        let help = match &node.body {
            Body::Scalar { text, .. } => {
                text.split_once("==").or_else(|| text.split_once('=')).map(|(path, value)| {
                    let value = value.trim().trim_matches(['"', '\'']);
                    format!("write {{{}: {value}}}", path.trim())
                })
            }
            _ => None,
        };
        self.mistake(&node.span, message, help);
    }

    fn condition(&mut self, field: Field<'_>, entry: &Entry, inside: bool) -> Option<Condition> {
        let path = self.path(field.key, &entry.key, &entry.key_span, inside)?;
        let value = Field {
            key: &entry.key,
            key_span: &entry.key_span,
            node: &entry.value,
            kind: Kind::Literals,
            in_list: false,
        };
        let Body::Map { entries, .. } = &entry.value.body else {
            return Some(Condition { path, test: Test::OneOf(self.literals(value)?) });
        };
        let fields = self.section(value, &TEST)?;
        if entries.len() != 1 {
            let names: Vec<_> = TEST.keys.iter().map(|key| key.name).collect();
            let message = format!("{}: expected one of {}", shown(&entry.key), names.join(", "));
            self.mistake(&entry.key_span, message, None);
            return None;
        }
        let test = if let Some(field) = fields.get("exists") {
            Test::Exists(self.flag(field)?)
        } else if let Some(field) = fields.get("not") {
            Test::Not(self.literals(field)?)
        } else if let Some(field) = fields.get("starts_with") {
            Test::StartsWith(self.texts(field))
        } else {
            Test::Contains(self.texts(fields.get("contains")?))
        };
        Some(Condition { path, test })
    }
}

impl UsageAt {
    pub(crate) fn paths(&self) -> impl Iterator<Item = (&'static str, &Paths)> {
        let all = [
            ("input", &self.input),
            ("output", &self.output),
            ("cache_read", &self.cache_read),
            ("cache_creation", &self.cache_creation),
            ("cost", &self.cost),
        ];
        all.into_iter().filter_map(|(name, at)| Some((name, at.as_ref()?)))
    }
}

/// A word of a table as the value that it names.
pub(crate) fn named<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(Value::String(word.to_owned())).ok()
}

/// The `when` of a rule, or its first key.
fn when_span(rule: &Node) -> std::ops::Range<usize> {
    let Body::Map { entries, .. } = &rule.body else { return rule.span.clone() };
    let first = entries.iter().find(|entry| entry.key == "when").or(entries.first());
    first.map_or(rule.span.clone(), |entry| entry.key_span.start..entry.value.span.end)
}

fn when_span_of(fields: &Fields<'_>) -> std::ops::Range<usize> {
    match fields.get("when") {
        Some(when) => when.key_span.start..when.node.span.end,
        None => fields.span.clone(),
    }
}
