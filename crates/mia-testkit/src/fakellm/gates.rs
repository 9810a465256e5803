//! Gates: where an answer waits for the test.

use std::collections::HashMap;

use tokio::sync::watch;

/// All gates by name. A gate is there as soon as somebody names it.
#[derive(Debug)]
pub(super) struct Gates(watch::Sender<HashMap<String, Gate>>);

#[derive(Debug, Default, Clone, Copy)]
struct Gate {
    reached: bool,
    open: bool,
}

impl Gates {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(HashMap::new()))
    }

    fn change(&self, name: &str, change: impl FnOnce(&mut Gate)) {
        self.0.send_modify(|gates| change(gates.entry(name.to_owned()).or_default()));
    }

    async fn until(&self, name: &str, holds: impl Fn(Gate) -> bool) {
        let mut gates = self.0.subscribe();
        let holds = |gates: &HashMap<String, Gate>| gates.get(name).copied().is_some_and(&holds);
        // The sender is ours, so it is not gone.
        let _ = gates.wait_for(holds).await;
    }

    /// Opens a gate for good: all who wait there, and all who come.
    pub(super) fn open(&self, name: &str) {
        self.change(name, |gate| gate.open = true);
    }

    /// Says that an answer is at the gate and waits until it is open.
    pub(super) async fn pass(&self, name: &str) {
        self.change(name, |gate| gate.reached = true);
        self.until(name, |gate| gate.open).await;
    }

    /// Waits until an answer has come to the gate.
    pub(super) async fn reached(&self, name: &str) {
        self.until(name, |gate| gate.reached).await;
    }
}
