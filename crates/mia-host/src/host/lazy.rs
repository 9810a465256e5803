//! A host that is opened with its first use (P-131, P-132).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};

use super::{ExecOutput, ExecSpec, Host, HostError, HostInfo, HostProcess, ProcessSpec};

type Opened = Result<Arc<dyn Host>, HostError>;

/// A host that is opened once, with its first use; others wait for that, and go on with it when who came
/// first is dropped. When it fails it stays so. After [`close`](Host::close) it is not used any more.
pub struct LazyHost {
    opening: Shared<BoxFuture<'static, Opened>>,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unused,
    Used,
    Closed,
}

impl LazyHost {
    /// A host that this opens.
    pub fn new<O>(open: O) -> Self
    where
        O: Future<Output = Opened> + Send + 'static,
    {
        let opening = open.map(|opened| {
            opened.map_err(|error| match error {
                HostError::Open(_) => error,
                other => HostError::Open(other.to_string().into()),
            })
        });
        Self { opening: opening.boxed().shared(), state: Mutex::new(State::Unused) }
    }

    /// True once somebody has used it, also when it could not be opened.
    #[must_use]
    pub fn is_used(&self) -> bool {
        self.opening.peek().is_some() || *self.state() == State::Used
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts it into that state, and says in which it was.
    fn enter(&self, next: State) -> State {
        let mut state = self.state();
        let before = *state;
        if before != State::Closed {
            *state = next;
        }
        before
    }

    async fn host(&self) -> Opened {
        match self.enter(State::Used) {
            State::Closed => Err(HostError::Closed),
            State::Unused | State::Used => self.opening.clone().await,
        }
    }
}

impl Host for LazyHost {
    fn info(&self) -> BoxFuture<'_, Result<HostInfo, HostError>> {
        Box::pin(async { self.host().await?.info().await })
    }

    fn exec(&self, spec: ExecSpec) -> BoxFuture<'_, Result<ExecOutput, HostError>> {
        Box::pin(async { self.host().await?.exec(spec).await })
    }

    fn spawn(&self, spec: ProcessSpec) -> BoxFuture<'_, Result<HostProcess, HostError>> {
        Box::pin(async { self.host().await?.spawn(spec).await })
    }

    /// One that nobody has used is not opened for that.
    fn close(&self) -> BoxFuture<'_, Result<(), HostError>> {
        Box::pin(async {
            match self.enter(State::Closed) {
                State::Used => match self.opening.clone().await {
                    Ok(host) => host.close().await,
                    // There is nothing to close, and who used it knows why.
                    Err(_) => Ok(()),
                },
                State::Unused | State::Closed => Ok(()),
            }
        })
    }
}

impl fmt::Debug for LazyHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyHost").field("state", &*self.state()).finish_non_exhaustive()
    }
}
