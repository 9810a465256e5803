-- What a person calls a conversation; none means its first prompt says best what it is about.
ALTER TABLE conversations ADD COLUMN title TEXT;

CREATE INDEX conversations_by_use ON conversations (updated_at);
CREATE INDEX tasks_in_folder_by_conversation ON tasks (cwd, conversation_id);

-- All that a sum of what was used needs, so that no long row is read for it. A task comes into it
-- once, when it ends.
CREATE INDEX tasks_used ON tasks (created_at, plugin, model, status, duration_ms, cost_usd,
    input_tokens, output_tokens, cache_creation, cache_read)
    WHERE status IN ('completed', 'failed', 'interrupted');

-- Places of tasks that are gone, whose events are still to be removed, a few at a time. Such a place
-- is not given to another task before that.
CREATE TABLE graves (
    task INTEGER NOT NULL PRIMARY KEY
);
