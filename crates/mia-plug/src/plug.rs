//! What a plug is.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::{Ctx, LoadCtx};
use crate::error::PlugError;
use crate::message::{Message, Reply};
use crate::next::{MessageNext, Next, TeardownNext};
use crate::pause::{Paused, TornDown};
use crate::persisted::Keeps;

/// A type that `with:` may have: all that serde reads and that has a JSON Schema.
pub trait Inputs: DeserializeOwned + JsonSchema + Send + Sync + 'static {}

impl<T: DeserializeOwned + JsonSchema + Send + Sync + 'static> Inputs for T {}

/// Middleware around a session. Only the hooks that a plug needs are written; those that are not pass
/// everything through and cost nothing.
///
/// Hooks take `&self` and an owned context. `on_message` may run for several messages at once, also
/// while `on_session` does.
pub trait Plug: Send + Sync + Sized + 'static {
    /// The name in logs and errors; stored with persisted state, which is never handed to a plug of
    /// another name.
    const NAME: &'static str;

    /// What it is for, in a line.
    const DESCRIPTION: Option<&'static str> = None;

    /// False when `on_session` can't handle runs that resume a session. Whether a session pauses is
    /// decided elsewhere.
    const RESUMABLE: bool = true;

    /// What `with:` holds, once its expressions are evaluated. [`NoInputs`](crate::NoInputs) where there
    /// is nothing to choose, [`serde_json::Value`] for anything.
    type Inputs: Inputs;

    /// What `on_load` makes: in memory, of one run.
    type State: Send + Sync + 'static;

    /// What survives the run: [`NoState`](crate::NoState), or a type that is a
    /// [`PersistedState`](crate::PersistedState). Such a plug needs an `id` in the setup.
    type Persisted: Keeps;

    /// Makes the state of a run, before all other hooks. No place to create anything that has to be
    /// removed again: a plug whose load fails is not torn down by that run.
    ///
    /// # Errors
    /// Fails the run; inner plugs are not reached.
    fn on_load(
        &self,
        cx: LoadCtx<Self>,
    ) -> impl Future<Output = Result<Self::State, PlugError>> + Send;

    /// Makes of stored state that is not of the type any more what is kept from now on; none drops it.
    /// Without this hook such state fails the run.
    ///
    /// # Errors
    /// Fails the run, and what is stored stays.
    fn on_migrate(
        &self,
        cx: LoadCtx<Self>,
        stored: Value,
    ) -> impl Future<Output = Result<Option<Self::Persisted>, PlugError>> + Send {
        let _ = (cx, stored);
        PassThrough::new(async { Err(PlugError::new("there is no way from the old state")) })
    }

    /// Wraps a run that starts or resumes the session: what is before `next.run()` attaches, what is
    /// after it pauses.
    ///
    /// # Errors
    /// Fails the run. The pause code of outer plugs runs all the same, and of inner ones where they ran.
    fn on_session(
        &self,
        cx: Ctx<Self>,
        next: Next,
    ) -> impl Future<Output = Result<Paused, PlugError>> + Send {
        let _ = cx;
        PassThrough::new(async move { Ok(next.run().await.done()) })
    }

    /// Wraps the destruction of the environment, once the session is over: what is before `next.run()`
    /// restores access for inner plugs, what is after it destroys. Must work a second time.
    ///
    /// # Errors
    /// Fails the teardown, which is tried again later. Outer plugs destroy all the same.
    fn on_teardown(
        &self,
        cx: Ctx<Self>,
        next: TeardownNext,
    ) -> impl Future<Output = Result<TornDown, PlugError>> + Send {
        let _ = cx;
        PassThrough::new(async move { Ok(next.run().await.done()) })
    }

    /// Wraps every message: pass it on, change it, change what came of it, answer it, refuse it.
    ///
    /// # Errors
    /// A [`RequestError`](mia_acp::RequestError) answers a request with it and drops a notification; any
    /// other one fails the session.
    fn on_message(
        &self,
        cx: Ctx<Self>,
        message: Message,
        next: MessageNext,
    ) -> impl Future<Output = Result<Reply, PlugError>> + Send {
        let _ = cx;
        PassThrough::new(async move { next.run(message).await })
    }
}

/// What a hook that is not written comes to. Its type is how the engine knows that.
pub struct PassThrough<T>(BoxFuture<'static, Result<T, PlugError>>);

impl<T> PassThrough<T> {
    fn new(way: impl Future<Output = Result<T, PlugError>> + Send + 'static) -> Self {
        Self(way.boxed())
    }
}

impl<T> Future for PassThrough<T> {
    type Output = Result<T, PlugError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(context)
    }
}

impl<T> fmt::Debug for PassThrough<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PassThrough")
    }
}

/// Which hooks a plug has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hooks {
    /// `on_migrate`.
    pub migrate: bool,
    /// `on_session`.
    pub session: bool,
    /// `on_teardown`.
    pub teardown: bool,
    /// `on_message`.
    pub message: bool,
}

impl Hooks {
    /// Those that are written in `P`.
    #[must_use]
    pub fn of<P: Plug>() -> Self {
        Self {
            migrate: is_written_2(P::on_migrate),
            session: is_written_2(P::on_session),
            teardown: is_written_2(P::on_teardown),
            message: is_written_3(P::on_message),
        }
    }
}

// A function item becomes a pointer for one lifetime, and so what it returns a type with a name.

fn is_written_2<'a, P, A, B, T, F>(_: fn(&'a P, A, B) -> F) -> bool
where
    T: 'static,
    F: Future<Output = Result<T, PlugError>>,
{
    typeid::of::<F>() != typeid::of::<PassThrough<T>>()
}

fn is_written_3<'a, P, A, B, C, T, F>(_: fn(&'a P, A, B, C) -> F) -> bool
where
    T: 'static,
    F: Future<Output = Result<T, PlugError>>,
{
    typeid::of::<F>() != typeid::of::<PassThrough<T>>()
}
