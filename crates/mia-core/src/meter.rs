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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use mia_api::{ErrorCode, Partial, Usage};

    use super::*;

    /// Each family with its type and the labels that it is counted by.
    type Families = BTreeMap<String, (String, BTreeSet<String>)>;

    /// What is served when something of everything was counted.
    fn served() -> Families {
        let meter = Meter::new();
        meter.accepted();
        meter.first_output("p", Duration::from_secs(1));
        meter.ended(Err(&PluginError::new(ErrorCode::Unknown, "p", "m")));
        let mut partial = PluginError::new(ErrorCode::Timeout, "p", "m");
        let usage = Some(Usage { input_tokens: 1, ..Usage::default() });
        partial.partial = Some(Box::new(Partial { usage, ..Partial::default() }));
        meter.ended(Err(&partial));
        let moment = Moment { plugins: vec![("p".to_owned(), true)], ..Moment::default() };
        let text = meter.render(&moment);
        let mut families = Families::new();
        for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
            let (name, kind) = line.split_once(' ').unwrap();
            families.insert(name.to_owned(), (kind.to_owned(), BTreeSet::new()));
        }
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split(['{', ' ']).next().unwrap();
            // The longest that it begins with: a counter ends with `_total`, a histogram has parts.
            let family = families.iter_mut().rfind(|(family, _)| name.starts_with(*family));
            let (_, labels) = family.unwrap().1;
            let between = line.split_once('{').and_then(|(_, rest)| rest.split_once('}'));
            for label in between.map_or("", |(labels, _)| labels).split(',') {
                let label = label.split('=').next().unwrap();
                // A bucket's bound is the histogram's own.
                if !label.is_empty() && label != "le" {
                    labels.insert(label.to_owned());
                }
            }
        }
        families
    }

    /// The rows of the table in docs/daemon.md.
    fn documented() -> Families {
        let text = include_str!("../../../docs/daemon.md");
        let rows = text.lines().filter(|line| line.starts_with("| `mia_"));
        rows.map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [_, name, kind, labels, meaning, _] = cells.as_slice() else { panic!("{row}") };
            assert!(!meaning.is_empty(), "{row}");
            let labels = labels.split(", ").map(|label| label.trim_matches('`').to_owned());
            let labels = labels.filter(|label| !label.is_empty()).collect();
            let name = name.trim_matches('`');
            let family =
                if *kind == "counter" { name.strip_suffix("_total").unwrap() } else { name };
            (family.to_owned(), ((*kind).to_owned(), labels))
        })
        .collect()
    }

    #[test]
    fn every_metric_is_documented_and_every_documented_one_is_served() {
        assert_eq!(served(), documented());
    }
}
