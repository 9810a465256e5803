//! The plug contract: middleware around a session of an agent that speaks ACP.
//!
//! A [`Plug`] sees the start, pause, resume and teardown of a session and every message of it, keeps a
//! small state that survives, publishes outputs to later plugs, and may choose the host. Plugs lie around
//! the agent like the skins of an onion: the first is nearest to the client.
//!
//! | file | what |
//! |---|---|
//! | `plug` | the trait |
//! | `context` | what a hook is given |
//! | `next` | the way inward: [`Next`], [`TeardownNext`], [`MessageNext`] |
//! | `pause` | what comes back: [`PauseInfo`], [`TeardownInfo`] |
//! | `message` | messages and answers |
//! | `agent` | the draft of the agent's process |
//! | `persisted` | state that survives |
//! | `outputs` | what plugs publish to later ones |
//! | `signal` | how a hook learns that the session is shutting down |
//! | `error` | what a hook may fail with |
//! | `erased` | plugs of all types as one type, for the engine |
//! | `closure` | small plugs without a type |

mod agent;
mod closure;
mod context;
pub mod erased;
mod error;
mod message;
mod next;
mod outputs;
mod pause;
mod persisted;
mod plug;
mod signal;

pub use agent::AgentDraft;
pub use closure::{ClosurePlug, plug};
pub use context::{Ctx, LoadCtx, Log, NoInputs, PlugPlace, RunInfo, RunKind, SessionInfo};
pub use error::{Failure, Phase, PlugError};
pub use message::{Direction, Message, Method, Reply};
pub use next::{MessageNext, Next, TeardownNext};
pub use outputs::{OutputError, Outputs};
pub use pause::{PauseInfo, Paused, Reason, TeardownInfo, TornDown};
pub use persisted::{NoState, Persisted, PersistedState, StateError};
pub use plug::{Inputs, PassThrough, Plug};
pub use signal::Signal;

/// The version of this contract.
pub const PLUG_API_VERSION: u32 = 1;
