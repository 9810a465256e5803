//! Small plugs without a type of their own.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::context::{Ctx, LoadCtx, NoInputs};
use crate::erased::{Definition, DynPlug, Hooks, described};
use crate::error::PlugError;
use crate::message::{Message, Reply};
use crate::next::{MessageNext, Next, TeardownNext};
use crate::pause::{Paused, TornDown};
use crate::persisted::NoState;
use crate::plug::{Inputs, Plug};

/// Begins a plug of that name.
///
/// ```
/// # use mia_plug::plug;
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Inputs {
///     who: String,
/// }
///
/// let greeter = plug("acme/greeter")
///     .inputs::<Inputs>()
///     .on_session(async |cx, next| {
///         cx.log().info(format!("hello {}", cx.inputs().who));
///         Ok(next.run().await.done())
///     })
///     .build();
/// assert_eq!(greeter.definition().name, "acme/greeter");
/// ```
#[must_use]
pub fn plug(name: &str) -> ClosurePlug<NoInputs> {
    plug_of(name.to_owned())
}

type Hook<A, B> = Box<dyn Fn(A, B) -> BoxFuture<'static, Result<Done<B>, PlugError>> + Send + Sync>;
type Done<B> = <B as Way>::Done;

/// What a hook on the way inward comes back with.
trait Way {
    type Done;
}

impl Way for Next {
    type Done = Paused;
}

impl Way for TeardownNext {
    type Done = TornDown;
}

type MessageHook<I> = Box<
    dyn Fn(
            Ctx<ClosurePlug<I>>,
            Message,
            MessageNext,
        ) -> BoxFuture<'static, Result<Reply, PlugError>>
        + Send
        + Sync,
>;

/// A plug that is made of closures. It keeps no state; what its hooks share they capture.
pub struct ClosurePlug<I: Inputs> {
    name: String,
    description: Option<String>,
    resumable: bool,
    session: Option<Hook<Ctx<Self>, Next>>,
    teardown: Option<Hook<Ctx<Self>, TeardownNext>>,
    message: Option<MessageHook<I>>,
    inputs: PhantomData<fn() -> I>,
}

impl ClosurePlug<NoInputs> {
    /// What `with:` holds. Comes before the hooks.
    #[must_use]
    pub fn inputs<I: Inputs>(self) -> ClosurePlug<I> {
        let Self { name, description, resumable, .. } = self;
        ClosurePlug { description, resumable, ..plug_of(name) }
    }
}

fn plug_of<I: Inputs>(name: String) -> ClosurePlug<I> {
    ClosurePlug {
        name,
        description: None,
        resumable: true,
        session: None,
        teardown: None,
        message: None,
        inputs: PhantomData,
    }
}

impl<I: Inputs> ClosurePlug<I> {
    /// What it is for, in a line.
    #[must_use]
    pub fn description(mut self, text: &str) -> Self {
        self.description = Some(text.to_owned());
        self
    }

    /// Says that it can't handle runs that resume a session.
    #[must_use]
    pub fn not_resumable(mut self) -> Self {
        self.resumable = false;
        self
    }

    /// As [`Plug::on_session`].
    #[must_use]
    pub fn on_session<F, R>(mut self, hook: F) -> Self
    where
        F: Fn(Ctx<Self>, Next) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Paused, PlugError>> + Send + 'static,
    {
        self.session = Some(Box::new(move |cx, next| hook(cx, next).boxed()));
        self
    }

    /// As [`Plug::on_teardown`].
    #[must_use]
    pub fn on_teardown<F, R>(mut self, hook: F) -> Self
    where
        F: Fn(Ctx<Self>, TeardownNext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<TornDown, PlugError>> + Send + 'static,
    {
        self.teardown = Some(Box::new(move |cx, next| hook(cx, next).boxed()));
        self
    }

    /// As [`Plug::on_message`].
    #[must_use]
    pub fn on_message<F, R>(mut self, hook: F) -> Self
    where
        F: Fn(Ctx<Self>, Message, MessageNext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Reply, PlugError>> + Send + 'static,
    {
        self.message = Some(Box::new(move |cx, message, next| hook(cx, message, next).boxed()));
        self
    }

    /// The plug.
    #[must_use]
    pub fn build(self) -> Arc<dyn DynPlug> {
        let definition = Definition {
            name: self.name.clone(),
            description: self.description.clone(),
            resumable: self.resumable,
            persists: false,
            hooks: Hooks {
                migrate: false,
                session: self.session.is_some(),
                teardown: self.teardown.is_some(),
                message: self.message.is_some(),
            },
            inputs: schemars::schema_for!(I).to_value(),
            api_version: crate::PLUG_API_VERSION,
        };
        described(self, definition)
    }
}

impl<I: Inputs> Plug for ClosurePlug<I> {
    /// Each has one of its own, in its definition.
    const NAME: &'static str = "closures";
    type Inputs = I;
    type State = ();
    type Persisted = NoState;

    async fn on_load(&self, _: LoadCtx<Self>) -> Result<(), PlugError> {
        Ok(())
    }

    async fn on_session(&self, cx: Ctx<Self>, next: Next) -> Result<Paused, PlugError> {
        match &self.session {
            Some(hook) => hook(cx, next).await,
            None => Ok(next.run().await.done()),
        }
    }

    async fn on_teardown(&self, cx: Ctx<Self>, next: TeardownNext) -> Result<TornDown, PlugError> {
        match &self.teardown {
            Some(hook) => hook(cx, next).await,
            None => Ok(next.run().await.done()),
        }
    }

    async fn on_message(
        &self,
        cx: Ctx<Self>,
        message: Message,
        next: MessageNext,
    ) -> Result<Reply, PlugError> {
        match &self.message {
            Some(hook) => hook(cx, message, next).await,
            None => next.run(message).await,
        }
    }
}

impl<I: Inputs> fmt::Debug for ClosurePlug<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClosurePlug").field("name", &self.name).finish_non_exhaustive()
    }
}
