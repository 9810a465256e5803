//! Plugs of all types as one type: what the engine drives. Plugs in other languages implement
//! [`DynPlug`] themselves.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use mia_host::host::Host;
use serde_json::Value;
use tokio::sync::{OwnedMutexGuard, oneshot};

pub use crate::context::{Common, Level, LogSink, SharedDraft};
pub use crate::persisted::{Keeps, StateWriter};
pub use crate::plug::Hooks;

use crate::agent::AgentDraft;
use crate::context::{Ctx, LoadCtx, declared};
use crate::error::PlugError;
use crate::message::{Answered, Message, Reply};
use crate::next::{MessageNext, Next, TeardownNext};
use crate::pause::{PauseInfo, Paused, TeardownInfo, TornDown};
use crate::persisted::{Persisted, StateError};
use crate::plug::Plug;
use crate::signal::Signal;

/// What a plug says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// False when it can't handle runs that resume.
    pub resumable: bool,
    /// True when it keeps state, and so needs an id.
    pub persists: bool,
    /// Which hooks it has.
    pub hooks: Hooks,
    /// The JSON Schema of its inputs.
    pub inputs: Value,
    /// The version of the contract that it was made for.
    pub api_version: u32,
}

/// A plug of any type.
pub trait DynPlug: Send + Sync {
    /// What it says of itself.
    fn definition(&self) -> &Definition;

    /// Enters it for a run: validates inputs, loads what is kept, migrates it where needed, and makes the
    /// state.
    fn enter(
        self: Arc<Self>,
        entry: Entry,
    ) -> BoxFuture<'static, Result<Arc<dyn Entered>, NotEntered>>;
}

/// What a plug is entered with.
#[derive(Debug)]
pub struct Entry {
    /// `with:`, its expressions evaluated.
    pub with: Value,
    /// What was kept, as it was stored.
    pub stored: Option<Value>,
    /// What contexts have.
    pub common: Arc<Common>,
    /// Where kept state is written to.
    pub writer: Writer,
    /// Set when the session is shutting down.
    pub signal: Signal,
}

/// Where kept state is written to. A cheap handle.
#[derive(Clone)]
pub struct Writer(pub Arc<dyn StateWriter>);

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writer")
    }
}

/// Why a plug was not entered.
#[derive(Debug)]
pub enum NotEntered {
    /// The inputs don't fit: where, and why.
    Inputs(String),
    /// What was kept does not fit any more, and nothing makes it fit.
    State(String),
    /// `on_migrate` or what it made failed.
    Migrate(PlugError),
    /// `on_load` failed.
    Load(PlugError),
}

/// A plug in a run.
pub trait Entered: Send + Sync {
    /// As [`Plug::on_session`].
    fn on_session(
        &self,
        signal: Signal,
        next: Next,
    ) -> BoxFuture<'static, Result<Paused, PlugError>>;

    /// As [`Plug::on_teardown`].
    fn on_teardown(
        &self,
        signal: Signal,
        next: TeardownNext,
    ) -> BoxFuture<'static, Result<TornDown, PlugError>>;

    /// As [`Plug::on_message`].
    fn on_message(
        &self,
        message: Message,
        next: MessageNext,
    ) -> BoxFuture<'static, Result<Reply, PlugError>>;
}

/// What was said with `next` in `on_session`.
#[derive(Debug)]
pub struct SessionCall {
    /// The agent's draft.
    pub draft: AgentDraft,
    /// What was published.
    pub outputs: BTreeMap<String, Value>,
    /// The host that was given.
    pub host: Option<Arc<dyn Host>>,
    /// Where it is told how it ended.
    pub back: oneshot::Sender<PauseInfo>,
}

/// What was said with `next` in `on_teardown`.
#[derive(Debug)]
pub struct TeardownCall {
    /// What was published.
    pub outputs: BTreeMap<String, Value>,
    /// The host that was given.
    pub host: Option<Arc<dyn Host>>,
    /// The inner environment is gone already.
    pub gone: bool,
    /// Where it is told how it ended.
    pub back: oneshot::Sender<TeardownInfo>,
}

/// The turn of a message at a plug: as long as it is held, no later one of its direction enters.
pub type Hold = Option<OwnedMutexGuard<()>>;

/// The way of messages; the engine's part.
pub trait Chain: Send + Sync {
    /// Hands a message on from the plug at that place, and frees its turn there once it has the next one.
    fn forward(
        self: Arc<Self>,
        from: usize,
        hold: Hold,
        message: Message,
    ) -> BoxFuture<'static, Answered>;
}

/// A plug as one of any type.
#[must_use]
pub fn erase<P: Plug>(plug: P) -> Arc<dyn DynPlug> {
    let definition = Definition {
        name: P::NAME.to_owned(),
        description: P::DESCRIPTION.map(str::to_owned),
        resumable: P::RESUMABLE,
        persists: declared::<P>(),
        hooks: Hooks::of::<P>(),
        inputs: schemars::schema_for!(P::Inputs).to_value(),
        api_version: crate::PLUG_API_VERSION,
    };
    described(plug, definition)
}

/// The same, with a definition that its type does not know.
pub(crate) fn described<P: Plug>(plug: P, definition: Definition) -> Arc<dyn DynPlug> {
    Arc::new(Erased { plug, definition })
}

struct Erased<P> {
    plug: P,
    definition: Definition,
}

impl<P: Plug> DynPlug for Erased<P> {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn enter(
        self: Arc<Self>,
        entry: Entry,
    ) -> BoxFuture<'static, Result<Arc<dyn Entered>, NotEntered>> {
        async move {
            let Entry { with, stored, common, writer, signal } = entry;
            let inputs: P::Inputs = serde_path_to_error::deserialize(with)
                .map_err(|error| NotEntered::Inputs(error.to_string()))?;
            let cx = LoadCtx {
                common,
                inputs: Arc::new(inputs),
                persisted: Persisted::new(None, Arc::new(Refuses)),
                signal,
            };
            let kept = self.kept(&cx, stored, &writer).await?;
            let persisted = Persisted::new(kept, writer.0);
            let cx = LoadCtx { persisted, ..cx };
            let LoadCtx { common, inputs, persisted, signal } = &cx;
            let (common, inputs) = (Arc::clone(common), Arc::clone(inputs));
            let (persisted, signal) = (persisted.clone(), signal.clone());
            let state = self.plug.on_load(cx).await.map_err(NotEntered::Load)?;
            let cx = Ctx { common, inputs, state: Arc::new(state), persisted, signal };
            let entered: Arc<dyn Entered> = Arc::new(InRun { plug: self, cx });
            Ok(entered)
        }
        .boxed()
    }
}

impl<P: Plug> Erased<P> {
    /// What is kept, of the type that it has now.
    async fn kept(
        &self,
        cx: &LoadCtx<P>,
        stored: Option<Value>,
        writer: &Writer,
    ) -> Result<Option<P::Persisted>, NotEntered> {
        let Some(stored) = stored.filter(|_| declared::<P>()) else { return Ok(None) };
        let unfit = match P::Persisted::read(&stored) {
            Ok(kept) => return Ok(Some(kept)),
            Err(unfit) => unfit,
        };
        if !self.definition.hooks.migrate {
            return Err(NotEntered::State(unfit.to_string()));
        }
        let cx = LoadCtx {
            common: Arc::clone(&cx.common),
            inputs: Arc::clone(&cx.inputs),
            persisted: cx.persisted.clone(),
            signal: cx.signal.clone(),
        };
        let failed = NotEntered::Migrate;
        let made = self.plug.on_migrate(cx, stored).await.map_err(failed)?;
        match &made {
            Some(made) => {
                let value = P::Persisted::write(made).map_err(|error| failed(error.into()))?;
                writer.0.put(value).await.map_err(|error| failed(error.into()))?;
            }
            None => writer.0.delete().await.map_err(|error| failed(error.into()))?,
        }
        Ok(made)
    }
}

/// Where nothing may be written.
struct Refuses;

impl StateWriter for Refuses {
    fn put(&self, _: Value) -> BoxFuture<'_, Result<(), StateError>> {
        self.delete()
    }

    fn delete(&self) -> BoxFuture<'_, Result<(), StateError>> {
        let why = "what on_migrate returns is kept; nothing else can be written in it";
        async move { Err(StateError::Failed(why.to_owned())) }.boxed()
    }
}

struct InRun<P: Plug> {
    plug: Arc<Erased<P>>,
    cx: Ctx<P>,
}

impl<P: Plug> InRun<P> {
    fn with(&self, signal: Signal) -> (Arc<Erased<P>>, Ctx<P>) {
        (Arc::clone(&self.plug), Ctx { signal, ..self.cx.clone() })
    }
}

impl<P: Plug> Entered for InRun<P> {
    fn on_session(
        &self,
        signal: Signal,
        next: Next,
    ) -> BoxFuture<'static, Result<Paused, PlugError>> {
        let (plug, cx) = self.with(signal);
        async move { plug.plug.on_session(cx, next).await }.boxed()
    }

    fn on_teardown(
        &self,
        signal: Signal,
        next: TeardownNext,
    ) -> BoxFuture<'static, Result<TornDown, PlugError>> {
        let (plug, cx) = self.with(signal);
        async move { plug.plug.on_teardown(cx, next).await }.boxed()
    }

    fn on_message(
        &self,
        message: Message,
        next: MessageNext,
    ) -> BoxFuture<'static, Result<Reply, PlugError>> {
        let (plug, cx) = (Arc::clone(&self.plug), self.cx.clone());
        async move { plug.plug.on_message(cx, message, next).await }.boxed()
    }
}
