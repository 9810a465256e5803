//! What the commands talk to.

use std::path::Path;

use mia_api::{ConversationId, TaskId};
use mia_core::{AnswerError, Core, DispatchRequest, Refused, TaskEvents};

use crate::failure::Failure;

/// A door to the core. It has one form so far: the core in this process. With the daemon comes a
/// second one, over its socket; the commands do not see which it is.
#[derive(Debug, Clone)]
pub struct Client {
    core: Core,
}

impl Client {
    /// The core in this process.
    #[must_use]
    pub fn in_process(core: Core) -> Self {
        Self { core }
    }

    /// The core itself, for what only this process can tell.
    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// Hands a prompt over. When this returns, it is on record.
    ///
    /// # Errors
    /// When it was not accepted.
    pub async fn dispatch(&self, request: DispatchRequest) -> Result<TaskEvents, Refused> {
        self.core.dispatch(request).await
    }

    /// Asks a task to end; its events tell how it did. A second call ends it without patience.
    pub fn abort(&self, task: &TaskId) {
        self.core.abort(task);
    }

    /// Answers a question of an agent; no option refuses.
    ///
    /// # Errors
    /// When nothing waits for that answer.
    pub fn answer(
        &self,
        task: &TaskId,
        question: &str,
        option: Option<&str>,
    ) -> Result<(), AnswerError> {
        self.core.permissions().answer(task, question, option)
    }

    /// The conversation that was used last in a folder.
    pub(crate) async fn last_conversation(
        &self,
        cwd: &Path,
    ) -> Result<Option<ConversationId>, Failure> {
        Ok(self.core.last_conversation(cwd).await?)
    }

    /// Ends everything that this process has started, and returns when it is gone.
    pub async fn close(&self) {
        self.core.close().await;
    }
}
