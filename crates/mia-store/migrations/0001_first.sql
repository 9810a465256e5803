-- Times are unix milliseconds. Paths are bytes, for a path need not be UTF-8.
-- Long columns come last in their tables: SQLite reads a row from its front.

CREATE TABLE conversations (
    id         TEXT   NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- Who runs a task of this conversation now, and how often that has changed.
    lock_owner TEXT,
    lock_epoch BIGINT NOT NULL DEFAULT 0
);

CREATE TABLE tasks (
    -- The order of acceptance, over all conversations.
    place           INTEGER NOT NULL PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE,
    conversation_id TEXT    NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    status          TEXT    NOT NULL
        CHECK (status IN ('queued', 'running', 'completed', 'failed', 'interrupted')),
    owner           TEXT    NOT NULL,
    -- The conversation's epoch while this task runs; moved on when the task is taken from its owner.
    epoch           BIGINT  NOT NULL DEFAULT 0,
    plugin          TEXT,
    model           TEXT,
    created_at      BIGINT  NOT NULL,
    started_at      BIGINT,
    ended_at        BIGINT,
    duration_ms     BIGINT,
    cost_usd        DOUBLE PRECISION,
    input_tokens    BIGINT,
    output_tokens   BIGINT,
    cache_creation  BIGINT,
    cache_read      BIGINT,
    error_code      TEXT,
    error_cause     TEXT,
    -- The number of the terminal event.
    end_seq         BIGINT,
    cwd             BLOB    NOT NULL,
    prompt          TEXT    NOT NULL,
    result          TEXT,
    error           TEXT
);

CREATE INDEX tasks_of_conversation ON tasks (conversation_id, place);
CREATE INDEX tasks_of_plugin ON tasks (plugin, place);
CREATE INDEX tasks_in_folder ON tasks (cwd, place);
CREATE INDEX tasks_by_time ON tasks (created_at);
-- Partial indexes are as small as what they hold; queries repeat their words.
CREATE INDEX tasks_unfinished ON tasks (place)
    WHERE status IN ('queued', 'running');
CREATE INDEX tasks_in_queue ON tasks (conversation_id, place)
    WHERE status IN ('queued', 'running');
CREATE INDEX tasks_failed ON tasks (place)
    WHERE status IN ('failed', 'interrupted');

CREATE TABLE attempts (
    task    BIGINT  NOT NULL REFERENCES tasks (place) ON DELETE CASCADE,
    idx     BIGINT  NOT NULL,
    plugin  TEXT    NOT NULL,
    started BIGINT  NOT NULL,
    ended   BIGINT,
    error   TEXT,
    PRIMARY KEY (task, idx)
);

CREATE TABLE events (
    task      BIGINT NOT NULL REFERENCES tasks (place) ON DELETE CASCADE,
    seq       BIGINT NOT NULL,
    -- The last of the text events that were joined into this row.
    last_seq  BIGINT NOT NULL,
    attempt   BIGINT NOT NULL,
    kind      TEXT   NOT NULL,
    parent_id TEXT,
    -- "offset" is a word of SQL.
    at_byte   BIGINT,
    -- What an event says at length: text of token and thought, output of tool_result.
    text      TEXT,
    -- The rest of it as JSON.
    json      TEXT,
    PRIMARY KEY (task, seq)
);

-- What `events` holds of each tool call, where it is found there, and when it was.
CREATE TABLE tool_calls (
    task        BIGINT  NOT NULL REFERENCES tasks (place) ON DELETE CASCADE,
    id          TEXT    NOT NULL,
    parent_id   TEXT,
    name        TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    title       TEXT    NOT NULL,
    call_seq    BIGINT,
    result_seq  BIGINT,
    is_error    BOOLEAN NOT NULL DEFAULT FALSE,
    truncated   BOOLEAN NOT NULL DEFAULT FALSE,
    started     BIGINT  NOT NULL,
    duration_ms BIGINT,
    PRIMARY KEY (task, id)
);

CREATE TABLE sessions (
    conversation_id TEXT   NOT NULL,
    plugin          TEXT   NOT NULL,
    -- Empty for agents that resume anywhere.
    cwd             BLOB   NOT NULL,
    session_id      TEXT   NOT NULL,
    created         BIGINT NOT NULL,
    used            BIGINT NOT NULL,
    state           TEXT   NOT NULL,
    PRIMARY KEY (conversation_id, plugin, cwd)
);

CREATE INDEX sessions_by_use ON sessions (used);
