//! Counts of what happens, in the text format of Prometheus.

use std::fmt;
use std::time::Duration;

use mia_api::{DispatchResult, PluginError};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds of the classes of time to first output, in seconds.
const FIRST_OUTPUT: [f64; 10] = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// The labels of a count; their values are names of plugins, codes and kinds, never of a user's
/// choice without bound.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Labels(Vec<(&'static str, String)>);

impl EncodeLabelSet for Labels {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> fmt::Result {
        self.0.as_slice().encode(encoder)
    }
}

/// What is counted since this process began.
#[derive(Debug)]
pub struct Meter {
    accepted: Counter,
    ended: Family<Labels, Counter>,
    errors: Family<Labels, Counter>,
    tokens: Family<Labels, Counter>,
    first_output: Family<Labels, Histogram>,
}

/// What is so at a moment.
#[derive(Debug, Clone, Default)]
pub struct Moment {
    /// How many tasks are at work.
    pub in_flight: usize,
    /// How many wait.
    pub queued: usize,
    /// The plugins, each with whether it is left alone after failures.
    pub plugins: Vec<(String, bool)>,
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self {
            accepted: Counter::default(),
            ended: Family::default(),
            errors: Family::default(),
            tokens: Family::default(),
            first_output: Family::new_with_constructor(|| Histogram::new(FIRST_OUTPUT)),
        }
    }

    pub(crate) fn accepted(&self) {
        self.accepted.inc();
    }

    pub(crate) fn first_output(&self, plugin: &str, took: Duration) {
        let labels = Labels(vec![("plugin", plugin.to_owned())]);
        self.first_output.get_or_create(&labels).observe(took.as_secs_f64());
    }

    pub(crate) fn ended(&self, outcome: Result<&DispatchResult, &PluginError>) {
        let (plugin, usage, status) = match outcome {
            Ok(result) => (&result.plugin, result.usage.as_ref(), "completed"),
            Err(error) => {
                let labels = vec![
                    ("plugin", error.plugin_name.clone()),
                    ("code", error.code.as_str().to_owned()),
                ];
                self.errors.get_or_create(&Labels(labels)).inc();
                let usage = error.partial.as_ref().and_then(|partial| partial.usage.as_ref());
                (&error.plugin_name, usage, "failed")
            }
        };
        let labels = vec![("plugin", plugin.clone()), ("status", status.to_owned())];
        self.ended.get_or_create(&Labels(labels)).inc();
        let Some(usage) = usage else { return };
        let kinds = [
            ("input", Some(usage.input_tokens)),
            ("output", Some(usage.output_tokens)),
            ("cache_creation", usage.cache_creation),
            ("cache_read", usage.cache_read),
        ];
        for (kind, tokens) in kinds {
            if let Some(tokens) = tokens {
                let labels = vec![("plugin", plugin.clone()), ("kind", kind.to_owned())];
                self.tokens.get_or_create(&Labels(labels)).inc_by(tokens);
            }
        }
    }

    /// Everything as text in the OpenMetrics format.
    #[must_use]
    pub fn render(&self, moment: &Moment) -> String {
        let mut registry = Registry::with_prefix("mia");
        let gauge = |number: usize| {
            let gauge = Gauge::<i64>::default();
            gauge.set(count(number));
            gauge
        };
        registry.register("tasks_in_flight", "Tasks at work", gauge(moment.in_flight));
        registry.register("tasks_queued", "Tasks that wait", gauge(moment.queued));
        let resting = Family::<Labels, Gauge>::default();
        for (plugin, rests) in &moment.plugins {
            let labels = Labels(vec![("plugin", plugin.clone())]);
            resting.get_or_create(&labels).set(i64::from(*rests));
        }
        registry.register(
            "breaker_open",
            "1 while a plugin is left alone after failures in a row",
            resting,
        );
        registry.register("tasks_accepted", "Prompts put on record", self.accepted.clone());
        registry.register(
            "tasks_ended",
            "Tasks that ended, by plugin and status",
            self.ended.clone(),
        );
        registry.register("errors", "Tasks that failed, by plugin and code", self.errors.clone());
        registry.register("tokens", "Tokens, by plugin and kind", self.tokens.clone());
        registry.register(
            "first_output_seconds",
            "From the start of an attempt to its first visible output",
            self.first_output.clone(),
        );
        let mut text = String::new();
        // A string takes everything.
        let _ = encode(&mut text, &registry);
        text
    }
}
