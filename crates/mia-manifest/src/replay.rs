//! Recorded output, read as a plugin would read it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use mia_api::{Cause, ConversationId, DispatchResult, ErrorCode, EventBody, PluginError, TaskId};
use mia_config::{ConfigError, nearest};
use mia_host::framing::{LineEvent, LineSplitter};
use mia_plugin::{CliAdapter as _, Exit, Noise, Out, Terminal};
use serde_json::Value;

use crate::adapter::ManifestAdapter;
use crate::mend;
use crate::model::{Manifest, Rule};
use crate::path::{Path, Paths, Scope, Step};

/// The longest line that is read, as in a dispatch.
const MAX_LINE: usize = 32 * 1024 * 1024;
/// How many types of unknown events are told apart.
const TYPES: usize = 100;
/// Where lines are counted that are no JSON objects.
const NO_OBJECT: &str = "(no JSON object)";
/// How many members of an object are named to help.
const NAMED: usize = 8;

/// Reads recorded output. The agent is taken to exit with status 0 at its end.
#[derive(Debug)]
pub struct Replay {
    manifest: Arc<Manifest>,
    adapter: ManifestAdapter,
    out: Out,
    splitter: LineSplitter,
    lines: u64,
    unread: u64,
    noise: BTreeMap<String, u64>,
    uses: BTreeMap<usize, Use>,
}

/// What came of a recording.
#[derive(Debug)]
pub struct Replayed {
    /// The last events, the terminal one among them.
    pub events: Vec<EventBody>,
    /// How many lines there were, blank ones not counted.
    pub lines: u64,
    /// How many came after the last word, to which nobody listens.
    pub unread: u64,
    /// How many were not understood, by their type.
    pub noise: BTreeMap<String, u64>,
    /// What of the manifest was of no use: rules that no line fits, and places that were never
    /// there, each in its place in the file.
    pub remarks: Vec<ConfigError>,
}

/// How often a rule fits, or a place is there.
#[derive(Debug, Default)]
struct Use {
    tried: u64,
    found: u64,
    /// What a place that was not there may have been meant to be.
    there: Option<String>,
}

impl Replay {
    /// A replay through a manifest.
    #[must_use]
    pub fn new(manifest: Manifest) -> Self {
        let adapter = ManifestAdapter::new(manifest);
        Self {
            manifest: Arc::clone(&adapter.manifest),
            out: Out::new(&adapter.manifest.name),
            adapter,
            splitter: LineSplitter::new(MAX_LINE),
            lines: 0,
            unread: 0,
            noise: BTreeMap::new(),
            uses: BTreeMap::new(),
        }
    }

    /// Reads bytes of it, cut anywhere. Gives the events that they complete.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<EventBody> {
        self.splitter.push(bytes);
        self.take_lines()
    }

    fn take_lines(&mut self) -> Vec<EventBody> {
        // The splitter lends its lines, so it is not in the way here.
        let mut splitter = std::mem::replace(&mut self.splitter, LineSplitter::new(0));
        while let Some(event) = splitter.next_line() {
            match event {
                LineEvent::Line(line) => self.line(&line.to_str_lossy()),
                LineEvent::TooLong { .. } => {
                    self.lines += 1;
                    match self.out.terminal() {
                        Some(_) => self.unread += 1,
                        None => self.count("(a line over 32 MiB)"),
                    }
                }
            }
        }
        self.splitter = splitter;
        self.out.take_events()
    }

    fn line(&mut self, line: &str) {
        if line.trim_ascii().is_empty() {
            return;
        }
        self.lines += 1;
        if self.out.terminal().is_some() {
            self.unread += 1;
            return;
        }
        match self.adapter.parse_output(line, &mut self.out) {
            Ok(()) => {}
            Err(Noise::NotJson(_)) => self.count(NO_OBJECT),
            Err(Noise::UnknownType(kind)) => {
                let kind: String = kind.chars().take(80).collect();
                self.count(&kind);
            }
        }
        if let Ok(line) = mend::read(line) {
            let manifest = Arc::clone(&self.manifest);
            if let Some(id) = &manifest.session.id {
                self.used(id, Scope::of(&line));
            }
            self.trace(&manifest.rules, Scope::of(&line));
        }
    }

    fn count(&mut self, kind: &str) {
        let known = self.noise.len() < TYPES || self.noise.contains_key(kind);
        let kind = if known { kind } else { "(others)" };
        *self.noise.entry(kind.to_owned()).or_default() += 1;
    }

    fn trace(&mut self, rules: &[Rule], scope: Scope<'_>) {
        let Some(rule) = rules.iter().find(|rule| rule.when.matches(scope)) else { return };
        self.uses.entry(rule.span.start).or_default().found += 1;
        for (_, paths) in rule.paths() {
            self.used(paths, scope);
        }
        let Some(each) = &rule.each else { return };
        for value in each.at.find(scope) {
            let elements = match value {
                Value::Array(elements) => elements.as_slice(),
                one => std::slice::from_ref(one),
            };
            for here in elements {
                self.trace(&each.rules, Scope { line: scope.line, here });
            }
        }
    }

    fn used(&mut self, paths: &Paths, scope: Scope<'_>) {
        let found = !paths.find(scope).is_empty();
        let seen = self.uses.entry(paths.span.start).or_default();
        seen.tried += 1;
        seen.found += u64::from(found);
        if !found && seen.there.is_none() {
            seen.there = paths.list.first().and_then(|path| instead(path, scope));
        }
    }

    /// Reads to the end.
    #[must_use]
    pub fn finish(mut self, task: TaskId, conversation: ConversationId) -> Replayed {
        self.splitter.finish();
        let mut events = self.take_lines();
        if self.out.terminal().is_none() {
            let exit = Exit { code: Some(0), signal: None, stderr: "" };
            self.adapter.on_exit(&exit, &mut self.out);
            events.extend(self.out.take_events());
        }
        events.push(self.terminal(task, conversation));
        let remarks = self.remarks();
        let Self { lines, unread, noise, .. } = self;
        Replayed { events, lines, unread, noise, remarks }
    }

    fn terminal(&self, task: TaskId, conversation: ConversationId) -> EventBody {
        let name = &self.manifest.name;
        let error = match self.out.terminal() {
            Some(Terminal::Complete(_)) => {
                let result: DispatchResult = self.out.result(task, conversation);
                return EventBody::Complete { result: Box::new(result) };
            }
            Some(Terminal::Failed(error)) => error.clone(),
            Some(Terminal::StaleSession(message)) => {
                let error = PluginError::new(ErrorCode::SessionError, name, message);
                Box::new(error.with_cause(Cause::StaleSession))
            }
            None => {
                let message = "the recording ends without a last word";
                let error = PluginError::new(ErrorCode::ProcessExit, name, message);
                Box::new(error.with_cause(Cause::NoResult))
            }
        };
        EventBody::Error { error }
    }

    fn remarks(&self) -> Vec<ConfigError> {
        let mut remarks = Vec::new();
        if let Some(id) = &self.manifest.session.id {
            self.remark_places(&mut remarks, "session.id", id);
        }
        self.remark_rules(&mut remarks, &self.manifest.rules);
        remarks
    }

    fn remark_rules(&self, remarks: &mut Vec<ConfigError>, rules: &[Rule]) {
        for rule in rules {
            if !self.uses.contains_key(&rule.span.start) {
                let message = "nothing fits this rule".to_owned();
                remarks.push(self.manifest.source.error(self.head(&rule.span), message, None));
                continue;
            }
            for (key, paths) in rule.paths() {
                self.remark_places(remarks, &key, paths);
            }
            if let Some(each) = &rule.each {
                self.remark_rules(remarks, &each.rules);
            }
        }
    }

    fn remark_places(&self, remarks: &mut Vec<ConfigError>, key: &str, paths: &Paths) {
        let Some(used) = self.uses.get(&paths.span.start).filter(|used| used.found == 0) else {
            return;
        };
        let times = match used.tried {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        let message = format!("{key}: never there, though looked for {times}");
        remarks.push(self.manifest.source.error(paths.span.clone(), message, used.there.clone()));
    }

    /// The first line of a rule.
    fn head(&self, span: &Range<usize>) -> Range<usize> {
        let text = self.manifest.source.text().get(span.clone()).unwrap_or_default();
        span.start..span.start + text.find(['\n', '\r']).unwrap_or(text.len())
    }
}

/// What is there instead of a place: the nearest name, or all of them.
fn instead(path: &Path, scope: Scope<'_>) -> Option<String> {
    let mut reached = Path { from_line: path.from_line, steps: Vec::new() };
    for step in &path.steps {
        let mut next = reached.clone();
        next.steps.push(step.clone());
        if next.find(scope).is_empty() {
            break;
        }
        reached = next;
    }
    let Step::Name(missing) = path.steps.get(reached.steps.len())? else { return None };
    let there = reached.find(scope).into_iter().find_map(Value::as_object)?;
    let whole = |name: &str| {
        let mut path = reached.clone();
        path.steps.push(Step::Name(name.to_owned()));
        path.to_string()
    };
    if let Some(near) = nearest(missing, there.keys().map(String::as_str)) {
        return Some(format!("did you mean {}?", whole(near)));
    }
    let names: Vec<_> = there.keys().take(NAMED).map(|name| whole(name)).collect();
    let more = if there.len() > NAMED { " …" } else { "" };
    (!names.is_empty()).then(|| format!("there was {}{more}", names.join(", ")))
}
