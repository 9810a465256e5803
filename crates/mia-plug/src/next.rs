//! The way inward. Each is owned and goes away when it is used, so that a second call does not compile.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use mia_host::host::Host;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::agent::AgentDraft;
use crate::erased::{Chain, Hold, SessionCall, TeardownCall};
use crate::error::{Failure, Phase};
use crate::message::{Answered, Message, Method};
use crate::outputs::{self, OutputError};
use crate::pause::{PauseInfo, Reason, TeardownInfo};

/// The way inward in `on_session`. What can be done before the inner plugs run is done with it; the
/// agent's draft and the outputs can't be changed any more once it was run.
///
/// A second run does not compile (P-48), nor does a late change of the draft (P-83), nor a hook that
/// returns without having run it and without an error:
///
/// ```compile_fail,E0382
/// # use mia_plug::{Next, PlugError, Paused};
/// # async fn hook(next: Next) -> Result<Paused, PlugError> {
/// next.run().await;
/// Ok(next.run().await.done())
/// # }
/// ```
///
/// ```compile_fail,E0382
/// # use mia_plug::{Next, PlugError, Paused};
/// # async fn hook(mut next: Next) -> Result<Paused, PlugError> {
/// let info = next.run().await;
/// next.agent_mut().args.push("--late".into());
/// Ok(info.done())
/// # }
/// ```
///
/// ```compile_fail,E0308
/// # use mia_plug::{Next, PlugError, Paused};
/// # async fn hook(next: Next) -> Result<Paused, PlugError> {
/// Ok(())
/// # }
/// ```
///
/// As it should be:
///
/// ```
/// # use mia_plug::{Next, PlugError, Paused};
/// # async fn hook(mut next: Next) -> Result<Paused, PlugError> {
/// next.agent_mut().args.push("--early".into());
/// let info = next.run().await;
/// Ok(info.done())
/// # }
/// ```
pub struct Next {
    draft: AgentDraft,
    outputs: BTreeMap<String, Value>,
    host: Option<Arc<dyn Host>>,
    call: oneshot::Sender<SessionCall>,
}

impl Next {
    /// One that says there when it is run; for the engine.
    #[must_use]
    pub fn new(draft: AgentDraft, call: oneshot::Sender<SessionCall>) -> Self {
        Self { draft, outputs: BTreeMap::new(), host: None, call }
    }

    /// The agent's draft, as outer plugs have left it.
    #[must_use]
    pub fn agent(&self) -> &AgentDraft {
        &self.draft
    }

    /// The same, to be changed.
    pub fn agent_mut(&mut self) -> &mut AgentDraft {
        &mut self.draft
    }

    /// Publishes a value to later plugs, as `setup.ID.outputs.NAME`. The last one of a name counts. Of a
    /// plug without an id nobody sees it.
    ///
    /// # Errors
    /// When it can't be JSON, or has more than 64 KiB.
    pub fn set_output(&mut self, name: &str, value: impl Serialize) -> Result<(), OutputError> {
        self.outputs.insert(name.to_owned(), outputs::value(name, &value)?);
        Ok(())
    }

    /// Has all inner plugs and the agent run on another host. It is closed when [`run`](Self::run)
    /// comes back, and never opened when nobody uses it and it is a
    /// [`LazyHost`](mia_host::host::LazyHost).
    #[must_use]
    pub fn on_host(mut self, host: Arc<dyn Host>) -> Self {
        self.host = Some(host);
        self
    }

    /// Runs everything inside, to its pause. Never fails: what fails inside arrives as
    /// [`Reason::Failed`].
    ///
    /// Dropping the future stops the session as failed; the inner plugs come to their pause all the same.
    pub fn run(self) -> impl Future<Output = PauseInfo> + Send + 'static {
        let (back, info) = oneshot::channel();
        let Self { draft, outputs, host, call } = self;
        let late = call.send(SessionCall { draft, outputs, host, back }).is_err();
        async move {
            match info.await {
                Ok(info) if !late => info,
                _ => {
                    let why = "next was run after its run was over";
                    let mut info = PauseInfo::new(Reason::Failed, false);
                    info.error = Some(Failure::new("run_over", Phase::Pause, why));
                    info
                }
            }
        }
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").finish_non_exhaustive()
    }
}

/// The way inward in `on_teardown`.
pub struct TeardownNext {
    outputs: BTreeMap<String, Value>,
    host: Option<Arc<dyn Host>>,
    call: oneshot::Sender<TeardownCall>,
}

impl TeardownNext {
    /// One that says there when it is run; for the engine.
    #[must_use]
    pub fn new(call: oneshot::Sender<TeardownCall>) -> Self {
        Self { outputs: BTreeMap::new(), host: None, call }
    }

    /// As [`Next::set_output`].
    ///
    /// # Errors
    /// As there.
    pub fn set_output(&mut self, name: &str, value: impl Serialize) -> Result<(), OutputError> {
        self.outputs.insert(name.to_owned(), outputs::value(name, &value)?);
        Ok(())
    }

    /// As [`Next::on_host`].
    #[must_use]
    pub fn on_host(mut self, host: Arc<dyn Host>) -> Self {
        self.host = Some(host);
        self
    }

    /// Tears down everything inside. Never fails: what fails inside arrives as [`Reason::Failed`].
    pub fn run(self) -> impl Future<Output = TeardownInfo> + Send + 'static {
        self.send(false)
    }

    /// Says that the environment of the inner plugs is gone already: their teardown counts as done and
    /// does not run.
    pub fn inner_gone(self) -> impl Future<Output = TeardownInfo> + Send + 'static {
        self.send(true)
    }

    fn send(self, gone: bool) -> impl Future<Output = TeardownInfo> + Send + 'static {
        let (back, info) = oneshot::channel();
        let Self { outputs, host, call } = self;
        let late = call.send(TeardownCall { outputs, host, gone, back }).is_err();
        async move {
            match info.await {
                Ok(info) if !late => info,
                _ => {
                    let why = "next was run after its run was over";
                    let error = Failure::new("run_over", Phase::Teardown, why);
                    TeardownInfo::new(Reason::Failed, Some(error))
                }
            }
        }
    }
}

impl fmt::Debug for TeardownNext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeardownNext").finish_non_exhaustive()
    }
}

/// The way on of one message.
pub struct MessageNext {
    chain: Arc<dyn Chain>,
    /// The place of the plug that has it.
    at: usize,
    hold: Hold,
    method: Method,
}

impl MessageNext {
    /// The way on from the plug at that place; for the engine.
    #[must_use]
    pub fn new(chain: Arc<dyn Chain>, at: usize, hold: Hold, method: Method) -> Self {
        Self { chain, at, hold, method }
    }

    /// Hands the message to the next plug, or to the peer. For a request this comes back with its
    /// result; for a notification once it was taken.
    ///
    /// # Errors
    /// The peer's error, as a [`RequestError`](mia_acp::RequestError); or when this is another message
    /// than the one that came.
    pub fn run(self, message: Message) -> BoxFuture<'static, Answered> {
        if message.method() != self.method {
            let (is, was) = (message.method().name(), self.method.name());
            let error = WrongMessage(format!("next got a {is} in the place of a {was}"));
            return async move { Err(error.into()) }.boxed();
        }
        self.chain.forward(self.at, self.hold, message)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct WrongMessage(String);

impl fmt::Debug for MessageNext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageNext").field("method", &self.method).finish_non_exhaustive()
    }
}
