//! Tokens and money, as agents count them.

use mia_api::Usage;
use serde_json::{Value, json};

use crate::model::{Per, UsageAt};
use crate::path::Scope;

/// What was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Totals {
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_creation: Option<u64>,
    cost: Option<f64>,
}

/// What this run used, and what the session had used before it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counting {
    run: Totals,
    before: Totals,
    /// What the session has used by now, as far as it was told.
    session: Totals,
    /// What is to be found again has been given.
    given: bool,
}

impl Counting {
    /// Finds again what [`Counting::take`] gave at the end of the turn before.
    pub(crate) fn resumed(state: &Value) -> Self {
        let count = |name: &str| state.pointer(&format!("/counted/{name}")).and_then(Value::as_u64);
        let before = Totals {
            input: count("input"),
            output: count("output"),
            cache_read: count("cache_read"),
            cache_creation: count("cache_creation"),
            cost: state.pointer("/counted/cost").and_then(Value::as_f64),
        };
        Self { before, ..Self::default() }
    }

    /// What to find again in the next turn if this one counts nothing: what the last one left. Given
    /// once.
    pub(crate) fn unchanged(&mut self) -> Option<Value> {
        let given = std::mem::replace(&mut self.given, true);
        (!given && self.before != Totals::default()).then(|| self.before.to_state())
    }

    /// Takes what an event counts. Gives what this run used so far, and what to find again in the
    /// next turn; none when the event counts nothing.
    pub(crate) fn take(
        &mut self,
        at: &UsageAt,
        scope: Scope<'_>,
    ) -> Option<(Totals, Option<Value>)> {
        let now = Totals::read(at, scope);
        if now == Totals::default() {
            return None;
        }
        match at.per {
            Per::Run => self.run = now.or(self.run),
            Per::Step => self.run = self.run.plus(now),
            Per::Session => {
                self.session = now.or(self.session);
                // Counters that went back began again, so that all of them counts.
                if self.session.is_less_than(self.before) {
                    self.before = Totals::default();
                }
                self.run = self.session.minus(self.before);
            }
        }
        let state = (at.per == Per::Session).then(|| {
            self.given = true;
            self.session.or(self.before).to_state()
        });
        Some((self.run, state))
    }
}

impl Totals {
    fn read(at: &UsageAt, scope: Scope<'_>) -> Self {
        let count =
            |paths: &Option<crate::path::Paths>| paths.as_ref().and_then(|p| p.count(scope));
        let (input, cache_read) = (count(&at.input), count(&at.cache_read));
        let cached = if at.input_has_cache { cache_read.unwrap_or(0) } else { 0 };
        let cost = at.cost.as_ref().and_then(|paths| paths.amount(scope));
        Self {
            input: input.map(|input| input.saturating_sub(cached)),
            output: count(&at.output),
            cache_read,
            cache_creation: count(&at.cache_creation),
            cost: cost.filter(|cost| cost.is_finite() && *cost >= 0.0),
        }
    }

    fn plus(self, other: Self) -> Self {
        let both = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        Self {
            input: both(self.input, other.input),
            output: both(self.output, other.output),
            cache_read: both(self.cache_read, other.cache_read),
            cache_creation: both(self.cache_creation, other.cache_creation),
            cost: match (self.cost, other.cost) {
                (None, None) => None,
                (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
            },
        }
    }

    /// These, and the others where there are none.
    fn or(self, other: Self) -> Self {
        Self {
            input: self.input.or(other.input),
            output: self.output.or(other.output),
            cache_read: self.cache_read.or(other.cache_read),
            cache_creation: self.cache_creation.or(other.cache_creation),
            cost: self.cost.or(other.cost),
        }
    }

    /// True when a count that both have is less here. Money counts where there are no tokens: sums
    /// of it are not exact.
    fn is_less_than(self, other: Self) -> bool {
        let less = |a: Option<u64>, b: Option<u64>| a.zip(b).is_some_and(|(a, b)| a < b);
        let no_tokens = self.input.is_none() && self.output.is_none();
        less(self.input, other.input)
            || less(self.output, other.output)
            || (no_tokens && self.cost.zip(other.cost).is_some_and(|(a, b)| a < b - 1e-9))
    }

    /// What came since. What is not counted now has nothing new.
    fn minus(self, before: Self) -> Self {
        let since = |a: Option<u64>, b: Option<u64>| a.map(|a| a.saturating_sub(b.unwrap_or(0)));
        Self {
            input: since(self.input, before.input),
            output: since(self.output, before.output),
            cache_read: since(self.cache_read, before.cache_read),
            cache_creation: since(self.cache_creation, before.cache_creation),
            cost: self.cost.map(|cost| (cost - before.cost.unwrap_or(0.0)).max(0.0)),
        }
    }

    fn to_state(self) -> Value {
        json!({"counted": {
            "input": self.input,
            "output": self.output,
            "cache_read": self.cache_read,
            "cache_creation": self.cache_creation,
            "cost": self.cost,
        }})
    }

    pub(crate) fn cost(self) -> Option<f64> {
        self.cost
    }

    /// The tokens, where any were counted.
    pub(crate) fn usage(self) -> Option<Usage> {
        let usage = Usage {
            input_tokens: self.input.unwrap_or(0),
            output_tokens: self.output.unwrap_or(0),
            cache_creation: self.cache_creation,
            cache_read: self.cache_read,
        };
        (!usage.is_zero()).then_some(usage)
    }
}
