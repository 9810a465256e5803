//! Forgetting: conversations, and sessions that nobody goes on with (M-72).

use std::time::Duration;

use mia_api::{ConversationId, TaskId};
use mia_store::StoreError;

use crate::core::Core;

/// What came of deleting a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deleted {
    /// It is gone, with its tasks and the agents' sessions.
    Done,
    /// These tasks of it have not ended; nothing was changed.
    Busy(Vec<TaskId>),
    /// There is no such conversation.
    Unknown,
}

impl Core {
    /// Deletes a conversation with all its tasks, and lets every plugin forget its session of it.
    ///
    /// # Errors
    /// When the record can't be changed; then it is as it was.
    pub async fn delete_conversation(
        &self,
        conversation: &ConversationId,
    ) -> Result<Deleted, StoreError> {
        match self.store().delete_conversation(conversation).await? {
            mia_store::Deleted::Unknown => return Ok(Deleted::Unknown),
            mia_store::Deleted::Busy { tasks } => return Ok(Deleted::Busy(tasks)),
            mia_store::Deleted::Now { .. } => {}
        }
        let plugins = self.plugins();
        for (_, plugin) in plugins.registry().iter() {
            // The sessions on record are gone already; this is for plugins that keep them elsewhere.
            let _ = plugin.clear_session(conversation).await;
        }
        Ok(Deleted::Done)
    }

    /// Lets every plugin forget sessions that were not used for that long; says how many were.
    pub async fn cleanup(&self, max_age: Duration) -> u64 {
        let plugins = self.plugins();
        let mut forgotten = 0;
        for (name, plugin) in plugins.registry().iter() {
            if plugins.is_enabled(name) && plugins.refusal(name).is_none() {
                forgotten += plugin.cleanup(max_age).await as u64;
            }
        }
        forgotten
    }
}
