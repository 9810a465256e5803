//! From merged settings to the typed configuration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::dotted::KeyPath;
use crate::layer::Layer;
use crate::model::{
    AfterOutput, Config, ContextLimits, Extract, Fallback, History, Inherit, Limits, Memory,
    PluginSettings, Price, Streams,
};
use crate::value::Value;

/// The typed form of merged settings; what is not set is at its default. `home` stands for `~`.
pub(crate) fn config(settings: &Layer, home: Option<&Path>) -> Config {
    let base = Config::default();
    let top = View { settings, path: KeyPath::default() };
    let section = |name| top.below(name);
    let (fallback, limits, context) = (section("fallback"), section("limits"), section("context"));
    let (memory, history, streams) = (section("memory"), section("history"), section("streams"));
    Config {
        active_plugin: top.text("active_plugin"),
        fallback: Fallback {
            plugins: fallback.list("plugins").unwrap_or_default(),
            after_output: match fallback.text("after_output").as_deref() {
                Some("restart") => AfterOutput::Restart,
                _ => AfterOutput::Fail,
            },
        },
        limits: Limits {
            concurrent: limits.count("concurrent").unwrap_or(base.limits.concurrent),
            queue: limits.count("queue").unwrap_or(base.limits.queue),
        },
        plugins: settings
            .names_in("plugins")
            .map(|name| (name.into(), plugin(settings, PluginSettings::named(name), home)))
            .collect(),
        context: ContextLimits {
            budget_tokens: context.count("budget_tokens").unwrap_or(base.context.budget_tokens),
            deadline: context.time("deadline").flatten().unwrap_or(base.context.deadline),
        },
        memory: Memory {
            extract: match memory.text("extract").as_deref() {
                Some("on") => Extract::On,
                _ => Extract::Off,
            },
            mcp: memory.flag("mcp").unwrap_or(base.memory.mcp),
        },
        history: History {
            keep: history.time("keep").unwrap_or(base.history.keep),
            max_size: history.size("max_size").unwrap_or(base.history.max_size),
        },
        prices: settings.names_in("prices").filter_map(|model| price(settings, model)).collect(),
        streams: Streams {
            max_line: streams.length("max_line").unwrap_or(base.streams.max_line),
            stderr_tail: streams.length("stderr_tail").unwrap_or(base.streams.stderr_tail),
            keep_background: streams
                .flag("keep_background")
                .unwrap_or(base.streams.keep_background),
        },
    }
}

/// Lays what is set for a plugin over `base`, whose name says which.
pub(crate) fn plugin(
    settings: &Layer,
    base: PluginSettings,
    home: Option<&Path>,
) -> PluginSettings {
    let view = View { settings, path: KeyPath::of(&["plugins", &base.name]) };
    let mut env = base.env;
    env.extend(view.below("env").texts());
    PluginSettings {
        enabled: view.flag("enabled").unwrap_or(base.enabled),
        binary: view.text("binary").map(|text| program(text, home)).or(base.binary),
        model: view.text("model").or(base.model),
        max_concurrency: view.count("max_concurrency").unwrap_or(base.max_concurrency),
        timeout: view.time("timeout").unwrap_or(base.timeout),
        stall_timeout: view.time("stall_timeout").unwrap_or(base.stall_timeout),
        tool_timeout: view.time("tool_timeout").unwrap_or(base.tool_timeout),
        args: view.list("args").unwrap_or(base.args),
        env,
        pass_env: view.list("pass_env").unwrap_or(base.pass_env),
        inherit: match view.text("inherit").as_deref() {
            Some("minimal") => Inherit::Minimal,
            Some(_) => Inherit::AllButSecrets,
            None => base.inherit,
        },
        api_url: view.text("api_url").or(base.api_url),
        name: base.name,
    }
}

fn price(settings: &Layer, model: &str) -> Option<(String, Price)> {
    let view = View { settings, path: KeyPath::of(&["prices", model]) };
    let price = Price {
        input: view.price("input")?,
        output: view.price("output")?,
        cache_read: view.price("cache_read"),
        cache_write: view.price("cache_write"),
    };
    Some((model.to_owned(), price))
}

fn program(text: String, home: Option<&Path>) -> PathBuf {
    match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    }
}

/// One section of merged settings. A value of another kind than asked for can't be there: the
/// table decided it when it was read.
struct View<'a> {
    settings: &'a Layer,
    path: KeyPath,
}

impl<'a> View<'a> {
    fn below(&self, name: &str) -> View<'a> {
        View { settings: self.settings, path: self.path.join(name) }
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        self.settings.leaves.get(&self.path.join(name)).map(|leaf| &leaf.value)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.value(name).and_then(|value| match value {
            Value::Flag(flag) => Some(*flag),
            _ => None,
        })
    }

    fn count(&self, name: &str) -> Option<u32> {
        self.value(name).and_then(|value| match value {
            Value::Count(count) => u32::try_from(*count).ok(),
            _ => None,
        })
    }

    fn price(&self, name: &str) -> Option<f64> {
        self.value(name).and_then(|value| match value {
            Value::Price(price) => Some(*price),
            _ => None,
        })
    }

    fn time(&self, name: &str) -> Option<Option<Duration>> {
        self.value(name).and_then(|value| match value {
            Value::Duration(time) => Some(*time),
            _ => None,
        })
    }

    fn size(&self, name: &str) -> Option<Option<u64>> {
        self.value(name).and_then(|value| match value {
            Value::Size(size) => Some(*size),
            _ => None,
        })
    }

    fn length(&self, name: &str) -> Option<usize> {
        self.size(name).flatten().and_then(|bytes| usize::try_from(bytes).ok())
    }

    fn text(&self, name: &str) -> Option<String> {
        self.value(name).and_then(|value| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        })
    }

    fn list(&self, name: &str) -> Option<Vec<String>> {
        self.value(name).and_then(|value| match value {
            Value::List(items) => Some(items.clone()),
            _ => None,
        })
    }

    /// Every text right below, by its last segment.
    fn texts(&self) -> Vec<(String, String)> {
        let depth = self.path.0.len();
        self.settings
            .leaves
            .iter()
            .filter(|(path, _)| path.0.len() == depth + 1 && path.0.starts_with(&self.path.0))
            .filter_map(|(path, leaf)| match &leaf.value {
                Value::Text(text) => path.0.last().map(|name| (name.clone(), text.clone())),
                _ => None,
            })
            .collect()
    }
}
