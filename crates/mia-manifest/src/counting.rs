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
        Self { run: Totals::default(), before }
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
            Per::Run => self.run = now,
            Per::Step => self.run = self.run.plus(now),
            Per::Session => self.run = now.minus(self.before),
        }
        let state = (at.per == Per::Session).then(|| now.to_state());
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

    fn each(
        self,
        other: Self,
        count: impl Fn(u64, u64) -> u64,
        money: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let both = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(count(a.unwrap_or(0), b.unwrap_or(0))),
        };
        Self {
            input: both(self.input, other.input),
            output: both(self.output, other.output),
            cache_read: both(self.cache_read, other.cache_read),
            cache_creation: both(self.cache_creation, other.cache_creation),
            cost: match (self.cost, other.cost) {
                (None, None) => None,
                (a, b) => Some(money(a.unwrap_or(0.0), b.unwrap_or(0.0))),
            },
        }
    }

    fn plus(self, other: Self) -> Self {
        self.each(other, u64::saturating_add, |a, b| a + b)
    }

    /// What came since. Counters that went back began again, so that all of them counts.
    fn minus(self, before: Self) -> Self {
        let began_again = self.input < before.input || self.output < before.output;
        if began_again {
            return self;
        }
        self.each(before, u64::saturating_sub, |a, b| (a - b).max(0.0))
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
