//! State that survives the run: small, encrypted at rest, of one session and one plug id.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Mutex;

/// The most bytes of JSON that a value may have (P-115).
const LARGEST: usize = 8 * 1024;

/// A type that a plug's state may have. All that serde reads and writes are; [`NoState`] says that there
/// is none.
pub trait PersistedState: Serialize + DeserializeOwned + Send + Sync + 'static {}

/// A plug without state that survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoState {}

/// A type that says what a plug keeps: [`NoState`], or a [`PersistedState`].
pub trait Keeps: Send + Sync + Sized + 'static {
    /// False for [`NoState`].
    const DECLARED: bool;

    /// Reads what was stored.
    ///
    /// # Errors
    /// When it is not of this type any more.
    fn read(stored: &Value) -> Result<Self, serde_json::Error>;

    /// As it is stored.
    ///
    /// # Errors
    /// When it can't be JSON, or is too large.
    fn write(&self) -> Result<Value, StateError>;
}

impl Keeps for NoState {
    const DECLARED: bool = false;

    fn read(_: &Value) -> Result<Self, serde_json::Error> {
        Err(serde::de::Error::custom("the plug keeps no state"))
    }

    fn write(&self) -> Result<Value, StateError> {
        match *self {}
    }
}

impl<T: PersistedState> Keeps for T {
    const DECLARED: bool = true;

    fn read(stored: &Value) -> Result<Self, serde_json::Error> {
        serde_json::from_value(stored.clone())
    }

    fn write(&self) -> Result<Value, StateError> {
        let invalid = |error: serde_json::Error| StateError::Invalid(error.to_string());
        let value = serde_json::to_value(self).map_err(invalid)?;
        let bytes = serde_json::to_vec(&value).map_err(invalid)?.len();
        if bytes > LARGEST { Err(StateError::TooLarge(bytes)) } else { Ok(value) }
    }
}

/// Why state was not written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StateError {
    /// It can't be JSON, or not be read again as what it is.
    #[error("the state can't be kept: {0}")]
    Invalid(String),
    /// It is too large.
    #[error("the state has {0} bytes, and may have {LARGEST}")]
    TooLarge(usize),
    /// The run is over, or the hook was given up.
    #[error("the run is over: nothing can be kept any more")]
    Revoked,
    /// Another runner has the session now.
    #[error("another runner has the session now")]
    LeaseLost,
    /// It could not be written.
    #[error("the state could not be written: {0}")]
    Failed(String),
}

/// Where state is written to; the engine's part. Both return once it is durable.
pub trait StateWriter: Send + Sync {
    /// Puts a value in place of the one before.
    fn put(&self, value: Value) -> BoxFuture<'_, Result<(), StateError>>;

    /// Removes the value.
    fn delete(&self) -> BoxFuture<'_, Result<(), StateError>>;
}

/// State of a plug that survives the run. A cheap handle.
pub struct Persisted<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    value: RwLock<Option<Arc<T>>>,
    writer: Arc<dyn StateWriter>,
    /// One write after the other, in the order of the calls.
    turn: Mutex<()>,
}

impl<T> Persisted<T> {
    pub(crate) fn new(value: Option<T>, writer: Arc<dyn StateWriter>) -> Self {
        let value = RwLock::new(value.map(Arc::new));
        Self { shared: Arc::new(Shared { value, writer, turn: Mutex::default() }) }
    }

    /// What is kept now.
    #[must_use]
    pub fn value(&self) -> Option<Arc<T>> {
        self.shared.value.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn replace(&self, value: Option<Arc<T>>) {
        *self.shared.value.write().unwrap_or_else(PoisonError::into_inner) = value;
    }
}

impl<T: PersistedState> Persisted<T> {
    /// Keeps a value, and returns once it is durable; only then [`value`](Self::value) is the new one.
    /// Calls take effect in their order. Dropping the future may or may not have kept it.
    ///
    /// # Errors
    /// What kept it from being written; the value is the one before then.
    pub async fn set(&self, value: T) -> Result<(), StateError> {
        let stored = value.write()?;
        // What the next run will read.
        let read = T::read(&stored).map_err(|error| StateError::Invalid(error.to_string()))?;
        let _turn = self.shared.turn.lock().await;
        self.shared.writer.put(stored).await?;
        self.replace(Some(Arc::new(read)));
        Ok(())
    }

    /// Removes what is kept, and returns once that is durable.
    ///
    /// # Errors
    /// What kept it from being removed; it is there still then.
    pub async fn clear(&self) -> Result<(), StateError> {
        let _turn = self.shared.turn.lock().await;
        self.shared.writer.delete().await?;
        self.replace(None);
        Ok(())
    }
}

impl<T> Clone for Persisted<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T> fmt::Debug for Persisted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What it is may be a secret.
        f.debug_struct("Persisted").field("there", &self.value().is_some()).finish()
    }
}
