//! What is told on stderr while an installation lasts.

use std::time::{Duration, Instant};

use crate::status::Status;
use crate::terminal::{Look, Terminal};

const TICK: Duration = Duration::from_millis(100);

/// One quiet line on a terminal, a line for each step elsewhere, nothing with `--quiet`.
#[derive(Debug)]
pub(super) struct Progress {
    status: Status,
    terminal: Terminal,
    quiet: bool,
}

impl Progress {
    pub(super) fn new(quiet: bool) -> Self {
        let terminal = Terminal::of_stderr();
        Self { status: Status::new(terminal), terminal, quiet }
    }

    /// Waits for something, and tells what it is.
    pub(super) async fn during<T>(&mut self, what: &str, future: impl Future<Output = T>) -> T {
        if self.quiet {
            return future.await;
        }
        if !self.terminal.moves {
            self.status.line(what, Look::Plain);
            return future.await;
        }
        let began = Instant::now();
        let mut future = std::pin::pin!(future);
        let outcome = loop {
            match tokio::time::timeout(TICK, &mut future).await {
                Ok(outcome) => break outcome,
                Err(_) => self.status.show(what, began),
            }
        };
        self.status.clear();
        outcome
    }

    /// Tells something that stays, besides the outcome.
    pub(super) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.status.line(text, Look::Plain);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.status.clear();
    }
}
