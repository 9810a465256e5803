//! What a key takes, and how it is read from a node.

use std::ops::Range;
use std::time::Duration;

use crate::suggest::nearest;
use crate::tree::{Body, Node};
use crate::units;
use crate::value::Value;

/// The most of a found value that is quoted in a message.
const QUOTED: usize = 40;

/// What one key takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Flag,
    Count {
        max: u64,
    },
    Price,
    Duration {
        off: bool,
        max: Duration,
    },
    Size {
        off: bool,
        max: u64,
    },
    Choice(&'static [&'static str]),
    PluginName,
    PluginNames,
    /// Free text: a model's name.
    Text,
    /// A program to run.
    Program,
    /// An `http` or `https` address.
    Address,
    /// Arguments, passed on as written.
    Words,
    /// Names of environment variables.
    Variables,
    /// The value of one environment variable.
    Word,
    /// Has to repeat the name of the entry it is in; says nothing else.
    OwnName,
}

/// A value that doesn't fit, and what to do about it.
#[derive(Debug)]
pub(crate) struct Misfit {
    pub(crate) span: Range<usize>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Kind {
    /// What is expected, with an example: `a duration, such as 30m`.
    pub(crate) fn expected(self) -> String {
        match self {
            Self::Flag => "true or false".into(),
            Self::Count { max } => format!("a whole number from 1 to {max}"),
            Self::Price => "a price per million tokens, such as 3.0".into(),
            Self::Duration { off: true, .. } => {
                "a duration, such as 30m, 1h30m or 500ms, or off".into()
            }
            Self::Duration { off: false, .. } => "a duration, such as 2s, 1m30s or 500ms".into(),
            Self::Size { off: true, .. } => "a size, such as 2GiB, 64KiB or 4096, or off".into(),
            Self::Size { off: false, .. } => "a size, such as 32MiB, 64KiB or 4096".into(),
            Self::Choice(choices) => choices.join(" or "),
            Self::PluginName => "the name of a plugin, such as claude-code".into(),
            Self::PluginNames => "a list of plugins, such as [codex, gemini]".into(),
            Self::Text => "text, such as opus".into(),
            Self::Program => {
                "a program, such as /usr/local/bin/claude, ~/bin/claude or claude".into()
            }
            Self::Address => "an address, such as https://api.example.com".into(),
            Self::Words => "a list of arguments, such as [\"--verbose\"]".into(),
            Self::Variables => "a list of variable names, such as [HTTPS_PROXY]".into(),
            Self::Word => "text; \"\" is an empty one".into(),
            Self::OwnName => "the name of this entry".into(),
        }
    }

    /// Takes any text, so that a command line needs no YAML quotes around it.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Program | Self::Address | Self::Word | Self::PluginName)
    }

    /// Reads a node. With `millis` a duration is a bare number of milliseconds.
    pub(crate) fn read(self, node: &Node, millis: bool) -> Result<Value, Misfit> {
        match self {
            Self::PluginNames | Self::Words | Self::Variables => self.read_list(node),
            _ => self.read_scalar(node, millis),
        }
    }

    fn read_list(self, node: &Node) -> Result<Value, Misfit> {
        let Body::List { items, .. } = &node.body else {
            return Err(self.unexpected(node, None));
        };
        let each = match self {
            Self::PluginNames => Self::PluginName,
            _ => Self::Word,
        };
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            if let Value::Text(text) = each.read_scalar(item, false)? {
                if self == Self::Variables && !is_variable(&text) {
                    let expected = "expected the name of a variable, such as HTTPS_PROXY";
                    return Err(misfit(item, format!("{expected}, found {}", found(item)), None));
                }
                list.push(text);
            }
        }
        Ok(Value::List(list))
    }

    fn read_scalar(self, node: &Node, millis: bool) -> Result<Value, Misfit> {
        let Body::Scalar { text, plain } = &node.body else {
            return Err(self.unexpected(node, None));
        };
        if node.is_null() {
            return Err(self.unexpected(node, None));
        }
        let value = match self {
            Self::Flag => match (text.as_str(), plain) {
                ("true", true) => Some(Value::Flag(true)),
                ("false", true) => Some(Value::Flag(false)),
                _ => None,
            },
            Self::Count { max } => {
                let count = units::digits(text).filter(|_| *plain);
                count.filter(|count| (1..=max).contains(count)).map(Value::Count)
            }
            Self::Price => plain.then(|| price(text)).flatten().map(Value::Price),
            Self::Duration { off, max } => return self.read_duration(node, text, millis, off, max),
            Self::Size { off, max } => return self.read_size(node, text, off, max),
            Self::Choice(choices) => match choices.iter().find(|choice| **choice == text) {
                Some(choice) => Some(Value::Text((*choice).into())),
                None => {
                    let near = nearest(text, choices.iter().copied());
                    return Err(self.unexpected(node, near.map(did_you_mean)));
                }
            },
            Self::PluginName => is_plugin_name(text).then(|| Value::Text(text.clone())),
            Self::Text => (!text.trim().is_empty() && !text.contains(char::is_control))
                .then(|| Value::Text(text.clone())),
            Self::Program => return self.read_program(node, text),
            Self::Address => is_address(text).then(|| Value::Text(text.clone())),
            Self::Word => (!text.contains('\0')).then(|| Value::Text(text.clone())),
            Self::OwnName => Some(Value::Text(text.clone())),
            Self::PluginNames | Self::Words | Self::Variables => None,
        };
        let is_flag = *plain && matches!(text.as_str(), "true" | "false");
        match (value, self) {
            // A flag here is a misunderstanding, not a name.
            (Some(_), Self::Text | Self::PluginName | Self::Program) if is_flag => {
                Err(self.unexpected(node, None))
            }
            (Some(value), _) => Ok(value),
            (None, _) => Err(self.unexpected(node, None)),
        }
    }

    fn read_duration(
        self,
        node: &Node,
        text: &str,
        millis: bool,
        off: bool,
        max: Duration,
    ) -> Result<Value, Misfit> {
        if off && text == "off" {
            return Ok(Value::Duration(None));
        }
        let read = if millis {
            units::digits(text).map(Duration::from_millis)
        } else {
            units::duration(text)
        };
        let never = if off { "write off to turn it off" } else { "it can't be turned off" };
        match read {
            Some(time) if time.is_zero() => {
                Err(misfit(node, "is zero, and must be longer".into(), Some(never.into())))
            }
            Some(time) if time > max => {
                let longest = units::format_duration(max);
                let message = format!("is longer than {longest}, the longest there is");
                Err(misfit(node, message, off.then(|| never.into())))
            }
            Some(time) => Ok(Value::Duration(Some(time))),
            None if millis => {
                let message =
                    format!("expected a whole number of milliseconds, found {}", found(node));
                let help = "with a unit, as in 30m, the key has no _ms at its end";
                Err(misfit(node, message, Some(help.into())))
            }
            None => Err(self.unexpected(node, None)),
        }
    }

    fn read_size(self, node: &Node, text: &str, off: bool, max: u64) -> Result<Value, Misfit> {
        if off && text == "off" {
            return Ok(Value::Size(None));
        }
        match units::size(text) {
            Some(0) => Err(misfit(
                node,
                "is zero, and must be larger".into(),
                off.then(|| "write off for no limit".into()),
            )),
            Some(bytes) if bytes > max => {
                let largest = units::format_size(max);
                Err(misfit(node, format!("is more than {largest}, the most there is"), None))
            }
            Some(bytes) => Ok(Value::Size(Some(bytes))),
            None => Err(self.unexpected(node, None)),
        }
    }

    fn read_program(self, node: &Node, text: &str) -> Result<Value, Misfit> {
        if text.is_empty() || text.contains(['\0', '\n']) {
            return Err(self.unexpected(node, None));
        }
        // What it would be relative to differs from run to run.
        if text.contains('/') && !text.starts_with('/') && !text.starts_with("~/") {
            return Err(misfit(
                node,
                format!("the program {} is relative, and Mia runs in many folders", found(node)),
                Some("write /…, ~/…, or a bare name that is on PATH".into()),
            ));
        }
        Ok(Value::Text(text.to_owned()))
    }

    fn unexpected(self, node: &Node, help: Option<String>) -> Misfit {
        let message = format!("expected {}, found {}", self.expected(), found(node));
        let help = help.or_else(|| self.hint(node));
        Misfit { span: node.span.clone(), message, help }
    }

    fn hint(self, node: &Node) -> Option<String> {
        match &node.body {
            _ if node.is_null() => Some("remove the line for the default".into()),
            Body::Scalar { text, plain: false } => {
                let bare = matches!(self, Self::Flag | Self::Count { .. } | Self::Price);
                (bare && !text.is_empty()).then(|| "remove the quotes".into())
            }
            Body::Scalar { text, .. } if self == Self::Flag => {
                let word = text.to_ascii_lowercase();
                match word.as_str() {
                    "yes" | "on" | "y" | "true" | "1" => Some("write true".into()),
                    "no" | "off" | "n" | "false" | "0" => Some("write false".into()),
                    _ => None,
                }
            }
            Body::Scalar { text, .. } => {
                let list = matches!(self, Self::PluginNames | Self::Words | Self::Variables);
                list.then(|| format!("write [{}]", shorten(text)))
            }
            Body::Map { .. } | Body::List { .. } => None,
        }
    }
}

fn misfit(node: &Node, message: String, help: Option<String>) -> Misfit {
    Misfit { span: node.span.clone(), message, help }
}

pub(crate) fn did_you_mean(word: &str) -> String {
    format!("did you mean {word:?}?")
}

/// The found value for a message, cut short.
#[must_use]
pub fn found(node: &Node) -> String {
    match &node.body {
        _ if node.is_null() => "nothing".into(),
        Body::Scalar { text, .. } => format!("{:?}", shorten(text)),
        Body::Map { .. } => "a map".into(),
        Body::List { .. } => "a list".into(),
    }
}

pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Finite, not negative, and below any price there will be.
fn price(text: &str) -> Option<f64> {
    let shape = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value = text.parse::<f64>().ok().filter(|_| shape)?;
    (0.0..=1_000_000.0).contains(&value).then_some(value)
}

/// A plugin's name is also a file name: `plugins/NAME.yaml`.
pub(crate) fn is_plugin_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(allowed)
}

/// True for what can be the name of an environment variable.
#[must_use]
pub fn is_variable(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c == '=' || c.is_control() || c.is_whitespace())
}

fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
            && !rest.contains(|c: char| c.is_control() || c.is_whitespace())
    })
}
