//! Reading the file as a whole.

use std::collections::BTreeMap;
use std::path::Path as FilePath;
use std::sync::Arc;

use mia_api::ToolKind;
use mia_config::yaml::{Author, Body, Node, Source, parse};
use mia_config::{ConfigError, ConfigErrors, Origin};

use super::events::named;
use super::reader::{Field, Fields, Reader, shown};
use crate::model::{Complete, ExitMeaning, KnownError, Manifest, Modes, Rule, Session};
use crate::table::{EXIT, KNOWN, Kind, MANIFEST, SESSION, TOOL_KINDS};
use crate::template::Given;

/// Names that YAML or its readers take for something else than text where they stand without quotes.
const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];

impl Manifest {
    /// Reads a manifest from a file. The plugin's name is the file's, less its ending.
    ///
    /// # Errors
    ///
    /// Every mistake in it, each with its place; or why the file can't be read.
    pub fn read(file: &FilePath) -> Result<Self, ConfigErrors> {
        match Source::read(file)? {
            Some(source) => Self::from_source(file, source),
            None => Err(ConfigErrors::from(ConfigError {
                origin: Origin::WholeFile { path: file.into() },
                message: "there is no such file".to_owned(),
                help: None,
                snippet: None,
            })),
        }
    }

    /// Reads a manifest from a text that would be in that file.
    ///
    /// # Errors
    ///
    /// As [`Manifest::read`].
    pub fn parse(file: &FilePath, text: &str) -> Result<Self, ConfigErrors> {
        Self::from_source(file, Source::new(Author::File(file.into()), text))
    }

    fn from_source(file: &FilePath, source: Source) -> Result<Self, ConfigErrors> {
        let name = &*file.file_stem().unwrap_or_default().to_string_lossy();
        let source = Arc::new(source);
        let parsed = parse(&source);
        let mut reader = Reader::new(&source);
        let formed = parsed.errors.is_empty();
        reader.take(parsed.errors);
        let empty = Node {
            span: 0..0,
            body: Body::Map { entries: Vec::new(), flow: false },
            aliased: false,
        };
        if WORDS.contains(&name.to_ascii_lowercase().as_str()) {
            let message = format!(
                "the plugin would be named {name}, which is no text in a configuration: it could not be chosen there"
            );
            let origin = Origin::WholeFile { path: file.into() };
            let help = Some("rename the file".to_owned());
            reader.take(vec![ConfigError { origin, message, help, snippet: None }]);
        }
        let manifest = match parsed.root {
            Some(root) if !root.is_null() => reader.manifest(name, &root),
            // A text that is not YAML is no manifest without events.
            _ if formed => reader.manifest(name, &empty),
            _ => None,
        };
        ConfigErrors::check(reader.into_errors())?;
        manifest.ok_or_else(|| {
            ConfigErrors::from(source.error(0..0, "is no manifest".to_owned(), None))
        })
    }
}

impl Reader<'_> {
    fn manifest(&mut self, name: &str, root: &Node) -> Option<Manifest> {
        let field = Field {
            key: "the file",
            key_span: &root.span,
            node: root,
            kind: Kind::Section(&MANIFEST),
            in_list: false,
        };
        let fields = self.section(field, &MANIFEST)?;
        let args = fields.get("args").map(|field| self.args(field)).unwrap_or_default();
        let rules = fields.get("events").map(|field| self.rules(field, false)).unwrap_or_default();
        let manifest = Manifest {
            source: Arc::clone(self.source()),
            name: name.to_owned(),
            binary: fields.get("binary").and_then(|field| self.program(field)),
            version: fields
                .get("version")
                .map_or_else(|| vec!["--version".to_owned()], |field| self.words(field)),
            install: fields.get("install").and_then(|f| self.text(f)).unwrap_or_default(),
            env: fields.get("env").map(|field| self.settings(field)).unwrap_or_default(),
            pass_env: fields.get("pass_env").map(|field| self.variables(field)).unwrap_or_default(),
            stdin: self.stdin(fields.get("stdin"), &args),
            permissions: fields
                .get("permissions")
                .map_or_else(Modes::default, |field| self.modes(field)),
            session: self.session(&fields),
            tools: fields.get("tools").map(|field| self.tools(field)).unwrap_or_default(),
            errors: fields.get("errors").map(|field| self.known_errors(field)).unwrap_or_default(),
            exit: fields.get("exit").map(|field| self.exits(field)).unwrap_or_default(),
            interrupt: fields
                .get("interrupt")
                .is_some_and(|field| self.choice(field, &["sigint"]).is_some()),
            type_path: type_path(&rules),
            args,
            rules,
        };
        if self.is_clean() {
            self.check(&fields, &manifest);
        }
        Some(manifest)
    }

    /// What is wrong with a manifest as a whole.
    fn check(&mut self, fields: &Fields<'_>, manifest: &Manifest) {
        let Some(events) = fields.get("events") else { return };
        let says = |rule: &Rule| {
            let last = matches!(&rule.complete, Some(Complete::At { text: Some(_), .. }));
            last || rule.text.is_some()
        };
        if !manifest.any_rule(&says) {
            let help = "add `text` to the rule of the lines that have it".to_owned();
            self.mistake(events.key_span, "no rule says where the answer's text is", help);
        }
        let ends = manifest.any_rule(&|rule| rule.complete.is_some())
            || manifest.exit.values().any(|meaning| *meaning == ExitMeaning::Complete);
        if !ends {
            let help = "add `complete` to the rule of its last line, or `exit: {0: complete}` where it \
                        has none";
            self.mistake(events.key_span, "nothing says when it has answered", help.to_owned());
        }
        let tells =
            manifest.session.id.is_some() || manifest.any_rule(&|rule| rule.session.is_some());
        if manifest.resumes() && !tells {
            let key =
                fields.get(if manifest.stdin.takes(Given::Session) { "stdin" } else { "args" });
            let span = key.map_or(events.key_span, |field| field.key_span);
            let help = "add `session: {id: …}`, or `session` to the rule that has it".to_owned();
            self.mistake(span, "{session} is used, and nothing says where its id is told", help);
        }
        if let Some(when) = manifest.loses_prompt() {
            let key = if manifest.stdin.takes(Given::Prompt) { "stdin" } else { "args" };
            let field = fields.get(key).or_else(|| fields.get("stdin")).unwrap_or(events);
            let message = format!("{}: the prompt goes nowhere{when}", field.key);
            let help = match when.is_empty() {
                true => "put {prompt} into stdin, or into args",
                false => {
                    "put {prompt} where nothing else has to be there: what has a place without a value is left out"
                }
            };
            self.mistake(field.key_span, message, help.to_owned());
        }
    }

    fn session(&mut self, fields: &Fields<'_>) -> Session {
        let mut session = Session { id: None, needs_cwd: false, keeps_id: true, lost: Vec::new() };
        let Some(fields) = fields.get("session").and_then(|f| self.section(f, &SESSION)) else {
            return session;
        };
        session.id = fields.get("id").and_then(|field| self.paths(field, false));
        session.needs_cwd = fields.get("needs_cwd").and_then(|f| self.flag(f)).unwrap_or(false);
        session.keeps_id = fields.get("keeps_id").and_then(|f| self.flag(f)).unwrap_or(true);
        let lost = fields.get("lost").map(|field| self.texts(field)).unwrap_or_default();
        session.lost = lost.iter().map(|text| text.to_lowercase()).collect();
        session
    }

    fn tools(&mut self, field: Field<'_>) -> BTreeMap<String, ToolKind> {
        let Some(entries) = self.entries(field) else { return BTreeMap::new() };
        let mut tools = BTreeMap::new();
        for entry in entries {
            let value = Field {
                key: &entry.key,
                key_span: &entry.key_span,
                node: &entry.value,
                kind: Kind::Choice(TOOL_KINDS),
                in_list: false,
            };
            if let Some(kind) = self.choice(value, TOOL_KINDS).and_then(named) {
                tools.insert(entry.key.clone(), kind);
            }
        }
        tools
    }

    fn known_errors(&mut self, field: Field<'_>) -> Vec<KnownError> {
        let mut known = Vec::new();
        let items = self.list(field, Kind::Section(&KNOWN));
        if items.is_empty() && matches!(field.node.body, Body::List { .. }) {
            self.mistake(field.key_span, format!("{} is empty", field.key), None);
        }
        for item in items {
            let Some(fields) = self.section(Field { key: "an error", ..item }, &KNOWN) else {
                continue;
            };
            let texts = fields.get("text").map(|field| self.texts(field)).unwrap_or_default();
            let hint = fields.get("hint").and_then(|field| self.text(field));
            if let Some(cause) = fields.get("cause").and_then(|field| self.cause(field)) {
                let texts = texts.iter().map(|text| text.to_lowercase()).collect();
                known.push(KnownError { texts, cause, hint });
            }
        }
        known
    }

    fn exits(&mut self, field: Field<'_>) -> BTreeMap<i32, ExitMeaning> {
        let Some(entries) = self.entries(field) else { return BTreeMap::new() };
        let mut exits = BTreeMap::new();
        for entry in entries {
            let Some(status) = entry.key.parse::<i32>().ok().filter(|s| (0..=255).contains(s))
            else {
                let message =
                    format!("exit: {:?} is no exit status from 0 to 255", shown(&entry.key));
                self.mistake(&entry.key_span, message, None);
                continue;
            };
            if entry.key != status.to_string() {
                let message =
                    format!("exit: {:?} is no usual way to write {status}", shown(&entry.key));
                self.mistake(&entry.key_span, message, format!("write {status}"));
                continue;
            }
            let value = Field {
                key: &entry.key,
                key_span: &entry.key_span,
                node: &entry.value,
                kind: Kind::ChoiceOr(&["complete"], &EXIT),
                in_list: false,
            };
            if let Some(meaning) = self.exit(value) {
                exits.insert(status, meaning);
            }
        }
        exits
    }

    fn exit(&mut self, field: Field<'_>) -> Option<ExitMeaning> {
        if !matches!(field.node.body, Body::Map { .. }) {
            return self.choice(field, &["complete"]).map(|_| ExitMeaning::Complete);
        }
        let fields = self.section(field, &EXIT)?;
        if fields.is_empty() && !fields.has_unknown {
            self.mistake(field.key_span, "exit: nothing says what this status means", None);
        }
        Some(ExitMeaning::Failed {
            cause: fields.get("cause").and_then(|field| self.cause(field)),
            message: fields.get("message").and_then(|field| self.text(field)),
            hint: fields.get("hint").and_then(|field| self.text(field)),
        })
    }
}

/// The place that most rules ask for: it tells an event's type.
fn type_path(rules: &[Rule]) -> Option<crate::path::Path> {
    let asked: Vec<_> =
        rules.iter().flat_map(|rule| rule.when.0.iter().flatten()).map(|c| &c.path).collect();
    let often = |path: &crate::path::Path| asked.iter().filter(|other| **other == path).count();
    // Of several the first: max_by_key takes the last.
    asked.iter().rev().max_by_key(|path| often(path)).map(|path| (*path).clone())
}
