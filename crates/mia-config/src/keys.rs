//! The one table of keys, and the way from a spelling to a row of it.

use std::borrow::Cow;
use std::time::Duration;

use crate::dotted::KeyPath;
use crate::kind::{Kind, did_you_mean, is_plugin_name, is_variable};
use crate::suggest::nearest;

const DAY: Duration = Duration::from_secs(86_400);
const MONTH: Duration = Duration::from_secs(30 * 86_400);
const CENTURY: Duration = Duration::from_secs(36_500 * 86_400);
const GIB: u64 = 1 << 30;

/// One key. Segments of the pattern in capitals stand for names of the user's choice.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) pattern: &'static [&'static str],
    pub(crate) kind: Kind,
    /// As it would be written; empty for none.
    pub(crate) default: &'static str,
    pub(crate) about: &'static str,
    /// Nothing reads it yet: it is checked, and has no effect.
    pub(crate) unused: bool,
}

impl Key {
    /// What is said of it: `about`, and whether it has an effect.
    pub(crate) fn shown_about(&self) -> Cow<'static, str> {
        match self.unused {
            true => format!("{} (not in use yet)", self.about).into(),
            false => self.about.into(),
        }
    }
}

const TIMEOUT: Kind = Kind::Duration { off: true, max: MONTH };

macro_rules! keys {
    // A row that ends in `unused` is of a key that nothing reads yet.
    ($($($segment:ident).+ = $kind:expr, $default:literal, $about:literal $(, $unused:ident)?;)+) => {
        &[$(Key {
            pattern: &[$(stringify!($segment)),+],
            kind: $kind,
            default: $default,
            about: $about,
            unused: is_unused(&[$(stringify!($unused))?]),
        }),+]
    };
}

const fn is_unused(marks: &[&str]) -> bool {
    !marks.is_empty()
}

/// Every key, in the order of the reference.
#[rustfmt::skip]
pub(crate) static KEYS: &[Key] = keys! {
    active_plugin = Kind::PluginName, "", "The plugin that answers. Without it: the first installed of claude-code, codex, gemini, opencode, qwen.";
    fallback.plugins = Kind::PluginNames, "[]", "Plugins to try next, in order, when the active one fails before its first visible output.";
    fallback.after_output = Kind::Choice(&["fail", "restart"]), "fail", "What a failure after visible output does: fail the dispatch, or restart it with the next plugin.";
    limits.concurrent = Kind::Count { max: 1_000 }, "8", "Dispatches that run at once, over all conversations.";
    limits.queue = Kind::Count { max: 10_000 }, "10", "Dispatches of one conversation that may wait; the next is refused.";
    plugins.NAME.name = Kind::OwnName, "", "May repeat NAME; nothing else.";
    plugins.NAME.enabled = Kind::Flag, "true", "Whether the plugin may be used.";
    plugins.NAME.binary = Kind::Program, "", "The agent's program: an absolute path, `~/…`, or a name on PATH.";
    plugins.NAME.model = Kind::Text, "", "The model to ask for; without it the agent's own choice.";
    plugins.NAME.max_concurrency = Kind::Count { max: 1_000 }, "4", "Dispatches of this plugin that run at once.";
    plugins.NAME.timeout = TIMEOUT, "4h", "The longest a dispatch may take, start included; `off` for no limit.";
    plugins.NAME.stall_timeout = TIMEOUT, "2m", "The longest silence of the agent; `off` for no limit.";
    plugins.NAME.tool_timeout = TIMEOUT, "30m", "The longest silence while a tool runs or a permission is pending; `off` for no limit.";
    plugins.NAME.args = Kind::Words, "[]", "More arguments for the agent's program.";
    plugins.NAME.env.VARIABLE = Kind::Word, "", "An environment variable to set for the agent.";
    plugins.NAME.pass_env = Kind::Variables, "[]", "Variables to pass on although their names look like secrets.";
    plugins.NAME.inherit = Kind::Choice(&["all-but-secrets", "minimal"]), "all-but-secrets", "What of the caller's environment the agent gets.";
    plugins.NAME.api_url = Kind::Address, "", "The address of the model's API, for plugins that speak HTTP.", unused;
    context.budget_tokens = Kind::Count { max: 10_000_000 }, "8000", "The most that context may add to a prompt, in tokens.", unused;
    context.deadline = Kind::Duration { off: false, max: DAY }, "2s", "The longest that gathering context may take.", unused;
    memory.extract = Kind::Choice(&["off", "on"]), "off", "Learn facts after each dispatch. Costs tokens.", unused;
    memory.mcp = Kind::Flag, "false", "Offer the memory to agents as an MCP server.", unused;
    history.keep = Kind::Duration { off: true, max: CENTURY }, "90d", "How long history is kept; `off` for ever.";
    history.max_size = Kind::Size { off: true, max: 1 << 50 }, "2GiB", "How large history may grow; `off` for no limit.";
    prices.MODEL.input = Kind::Price, "", "Price of a million input tokens. Needs `output` too.";
    prices.MODEL.output = Kind::Price, "", "Price of a million output tokens. Needs `input` too.";
    prices.MODEL.cache_read = Kind::Price, "", "Price of a million tokens read from the cache.";
    prices.MODEL.cache_write = Kind::Price, "", "Price of a million tokens written to the cache.";
    streams.max_line = Kind::Size { off: false, max: GIB }, "32MiB", "The longest line an agent may print; a longer one ends the dispatch.";
    streams.stderr_tail = Kind::Size { off: false, max: GIB }, "64KiB", "How much of an agent's stderr is kept for its error.";
    streams.keep_background = Kind::Flag, "false", "Leave processes running that an agent left behind.";
};

/// Whether a segment of a pattern stands for a name of the user's choice.
pub(crate) fn is_name(segment: &str) -> bool {
    segment.starts_with(|c: char| c.is_ascii_uppercase())
}

/// A dotted path that leads nowhere, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default())]
pub struct KeyError {
    /// What is wrong: a lower-case fragment.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// A place in the table while a path or a tree is walked.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    keys: Vec<&'static Key>,
    depth: usize,
}

/// One step from a spelling.
#[derive(Debug)]
pub(crate) struct Step {
    /// The segment in its own spelling: snake_case, no `_ms`.
    pub(crate) name: String,
    /// Spelt with `_ms` or `Ms`: the value is a bare number of milliseconds.
    pub(crate) millis: bool,
    pub(crate) cursor: Cursor,
}

impl Cursor {
    pub(crate) fn root() -> Self {
        Self { keys: KEYS.iter().collect(), depth: 0 }
    }

    /// The key, when nothing can follow.
    pub(crate) fn leaf(&self) -> Option<&'static Key> {
        self.keys.first().copied().filter(|key| key.pattern.len() == self.depth)
    }

    /// Our own names that may follow, in the order of the table.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.segments().filter(|segment| !is_name(segment)).collect();
        names.dedup();
        names
    }

    /// The kind of name of the user's choice that may follow: `NAME`, `MODEL` or `VARIABLE`.
    pub(crate) fn dynamic(&self) -> Option<&'static str> {
        self.segments().find(|segment| is_name(segment))
    }

    fn segments(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().filter_map(|key| key.pattern.get(self.depth).copied())
    }

    fn narrow(&self, segment: &str) -> Self {
        let here = |key: &&'static Key| key.pattern.get(self.depth) == Some(&segment);
        Self { keys: self.keys.iter().copied().filter(here).collect(), depth: self.depth + 1 }
    }

    /// Follows one segment in any accepted spelling: snake_case, camelCase, and for durations
    /// also with `_ms` or `Ms` at the end.
    pub(crate) fn enter(&self, spelt: &str) -> Result<Step, KeyError> {
        if let Some(dynamic) = self.dynamic() {
            check_name(dynamic, spelt)?;
            return Ok(Step { name: spelt.into(), millis: false, cursor: self.narrow(dynamic) });
        }
        for name in self.names() {
            let cursor = self.narrow(name);
            let timed = matches!(cursor.leaf(), Some(Key { kind: Kind::Duration { .. }, .. }));
            for (suffix, millis) in [("", false), ("_ms", true)] {
                let snake = format!("{name}{suffix}");
                if (!millis || timed) && (spelt == snake || spelt == camel(&snake)) {
                    return Ok(Step { name: name.into(), millis, cursor });
                }
            }
        }
        Err(self.unknown(spelt))
    }

    fn unknown(&self, spelt: &str) -> KeyError {
        let message = format!("unknown key {:?}", crate::kind::shorten(spelt));
        let names = self.names();
        let help = if spelt == "<<" {
            Some("merge keys are not supported; write the keys out".into())
        } else if let Some(near) = nearest(spelt, names.iter().copied()) {
            Some(did_you_mean(near))
        } else if let Some(elsewhere) = elsewhere(spelt) {
            Some(format!("it belongs at {elsewhere}"))
        } else if names.is_empty() {
            None
        } else {
            Some(format!("the keys here are {}", names.join(", ")))
        };
        KeyError { message, help }
    }
}

/// Follows a whole path. The path returned is in our own spelling.
pub(crate) fn resolve(text: &str) -> Result<(KeyPath, Cursor, bool), KeyError> {
    let path = KeyPath::parse(text).ok_or_else(|| KeyError {
        message: format!("{text:?} is not a dotted key"),
        help: Some("write it as in plugins.claude-code.model or prices.\"gpt-4.1\".input".into()),
    })?;
    let mut cursor = Cursor::root();
    let mut canonical = KeyPath::default();
    let mut millis = false;
    let mut after_name = false;
    for segment in path.segments() {
        if cursor.leaf().is_some() {
            return Err(KeyError {
                message: format!("unknown key {text:?}"),
                help: Some(format!("{canonical} has no keys below it")),
            });
        }
        let step = cursor.enter(segment).map_err(|error| {
            let message = format!("{} in {text:?}", error.message);
            // An unquoted dot in a name shows as an unknown key right after it.
            let near = error.help.as_deref().is_some_and(|help| help.starts_with("did you"));
            let help = if after_name && !near {
                Some(format!("put a name that has dots in quotes, as in {}", quoted_example(&path)))
            } else {
                error.help
            };
            KeyError { message, help }
        })?;
        after_name = cursor.dynamic().is_some();
        canonical = canonical.join(&step.name);
        millis = step.millis;
        cursor = step.cursor;
    }
    Ok((canonical, cursor, millis))
}

fn quoted_example(path: &KeyPath) -> String {
    match path.0.as_slice() {
        [first, name @ .., last] => format!("{first}.\"{}\".{last}", name.join(".")),
        _ => path.to_string(),
    }
}

/// Where else a key of this name is.
fn elsewhere(spelt: &str) -> Option<String> {
    let key = KEYS.iter().find(|key| {
        key.pattern.last().is_some_and(|last| *last == spelt || camel(last) == spelt)
    })?;
    Some(key.pattern.join("."))
}

fn check_name(dynamic: &str, name: &str) -> Result<(), KeyError> {
    let (good, what) = match dynamic {
        "NAME" => (is_plugin_name(name), "a plugin's name is up to 64 of a-z, 0-9, -, _ and ."),
        "VARIABLE" => (is_variable(name), "a variable's name has no blanks and no ="),
        _ => (!name.trim().is_empty() && name.len() <= 256, "a model's name is not empty"),
    };
    if good {
        return Ok(());
    }
    let message = format!("{:?} can't be a name", crate::kind::shorten(name));
    Err(KeyError { message, help: Some(what.into()) })
}

/// `max_concurrency` as `maxConcurrency`.
pub(crate) fn camel(snake: &str) -> String {
    let mut words = snake.split('_');
    let mut text = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut chars = word.chars();
        text.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        text.push_str(chars.as_str());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::dotted::KeyPath;
    use crate::layer::{Layer, Leaf, read_value};
    use crate::model::Config;
    use crate::project;
    use crate::source::{Author, Source};

    #[test]
    fn the_tables_defaults_are_those_of_the_model() {
        let mut layer = Layer::default();
        for key in KEYS.iter().filter(|key| !key.default.is_empty()) {
            let source = Source::new(Author::Flag("default".into()), key.default);
            let value = read_value(&source, key, false).unwrap();
            let segments: Vec<_> = key.pattern.iter().map(|s| s.replace("NAME", "some")).collect();
            let origin = crate::error::Origin::Default;
            layer.names.insert(KeyPath::of(&["plugins", "some"]), origin.clone());
            layer.leaves.insert(KeyPath(segments), Leaf { value, origin });
        }
        let mut built_in = Config::default();
        built_in.plugins.insert("some".into(), built_in.plugin("some"));
        assert_eq!(project::config(&layer, None), built_in);
    }

    #[test]
    fn keys_are_unique_and_sections_are_whole() {
        let patterns: BTreeSet<_> = KEYS.iter().map(|key| key.pattern).collect();
        assert_eq!(patterns.len(), KEYS.len());
        let mut sections: Vec<_> = KEYS.iter().map(|key| key.pattern.first()).collect();
        sections.dedup();
        assert_eq!(sections.iter().collect::<BTreeSet<_>>().len(), sections.len());
    }

    #[test]
    fn m_002_both_spellings() {
        assert_eq!(camel("max_concurrency"), "maxConcurrency");
        assert_eq!(camel("timeout_ms"), "timeoutMs");
        for (spelt, path, millis) in [
            ("plugins.x.maxConcurrency", "plugins.x.max_concurrency", false),
            ("plugins.x.timeoutMs", "plugins.x.timeout", true),
            ("plugins.x.timeout_ms", "plugins.x.timeout", true),
            ("activePlugin", "active_plugin", false),
            ("plugins.\"my.cli\".env.FOO_ms", "plugins.\"my.cli\".env.FOO_ms", false),
        ] {
            let (found, cursor, is_millis) = resolve(spelt).unwrap();
            assert_eq!((found.to_string().as_str(), is_millis), (path, millis));
            assert!(cursor.leaf().is_some());
        }
    }
}
