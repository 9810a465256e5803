// The types of Mia's API, generated from docs/openapi.json by `cargo xtask api`.

export interface paths {
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Counts of what has happened since the daemon began, for Prometheus.
         * @description The names and what they count are in docs/daemon.md.
         */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * This document.
         * @description It says what this very daemon does: it is made from the code.
         */
        get: operations["openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/abort": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Asks all tasks to end.
         * @description What waits first, so that nothing begins because another one ends.
         */
        post: operations["abort_all"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/active-plugin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Switches to a plugin: from now on it is asked when none is named.
         * @description That is written into the configuration file.
         */
        put: operations["switch_plugin"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cleanup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Forgets sessions of agents that nobody goes on with. */
        post: operations["cleanup"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The conversations, the last used first. */
        get: operations["list_conversations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{conversation}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A conversation with its tasks. */
        get: operations["show_conversation"];
        put?: never;
        post?: never;
        /** Forgets a conversation: its tasks, their events and the agents' sessions. */
        delete: operations["delete_conversation"];
        options?: never;
        head?: never;
        /** Gives a conversation a name, or takes it away. */
        patch: operations["rename_conversation"];
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The events of all tasks, from now on.
         * @description Where its reader is too slow, a `gap` says how many are missing.
         */
        get: operations["watch_all"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the daemon lives. */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What was asked, the newest first. */
        get: operations["history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plugins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The plugins, as the daemon's own environment finds their agents. */
        get: operations["list_plugins"];
        put?: never;
        /**
         * The plugins, as somebody with that environment finds their agents.
         * @description It changes nothing; the environment is in a body because it is no part of an address.
         */
        post: operations["list_plugins_for"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plugins/{plugin}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A plugin, as the daemon's own environment finds its agent. */
        get: operations["show_plugin"];
        put?: never;
        /**
         * A plugin, as somebody with that environment finds its agent.
         * @description It changes nothing.
         */
        post: operations["show_plugin_for"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plugins/{plugin}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Asks a plugin's agent for one word, and waits for it.
         * @description It is asked in an empty folder of its own: the agent sees no project, and nobody who goes on with
         *     the last conversation of a folder finds the test. When the connection closes before, the test is
         *     aborted.
         */
        post: operations["test_plugin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether the daemon takes prompts.
         * @description It does not while nothing can be put on record, and when it is about to stop.
         */
        get: operations["ready"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How the daemon is.
         * @description Its process, version and socket, and what waits and runs. The configuration is looked at before.
         */
        get: operations["status"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Asks the daemon to end.
         * @description It takes no more prompts, and ends when what was accepted is over; with `now` it interrupts that:
         *     each task ends as `ABORTED`, cause `interrupted`, its text kept.
         */
        post: operations["stop"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What waits and runs, the newest first. */
        get: operations["list_tasks"];
        put?: never;
        /**
         * Dispatches a prompt.
         * @description It is on record when the answer comes. Its `task_id` is an idempotency key: the same again, with
         *     the same prompt and conversation, is the same task and is answered once.
         *
         *     With `Accept: text/event-stream` the answer is the task's events.
         */
        post: operations["dispatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A task in full. */
        get: operations["show_task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task}/abort": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Asks a task to end.
         * @description It has ended when its terminal event comes. One that has ended already is left alone.
         */
        post: operations["abort_task"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The events of a task, from its beginning or any place on, to its terminal one.
         * @description The stream ends with the terminal event. Who had that already gets the frame `end`, and comes no
         *     more. A frame `problem` says why the stream ends before. A connection that closes without either
         *     is to be opened again, with the `id` of the last frame.
         */
        get: operations["watch_task"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tasks/{task}/permissions/{permission}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answers a question of an agent, once. */
        post: operations["answer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What plugins and models have used. */
        get: operations["usage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description What people expect of an agent.
         * @enum {string}
         */
        Ability: "deltas" | "thoughts" | "open_tools" | "questions" | "read_only" | "foreign_folders" | "edit" | "full" | "model" | "images" | "long_prompts" | "usage" | "turn_usage" | "cost" | "resume" | "resume_after_abort" | "reconnects" | "gives_up" | "retry_notices";
        /** @description Tasks that were asked to end. */
        Aborted: {
            /** @description The tasks, those that had not begun first. */
            tasks: components["schemas"]["TaskId"][];
        };
        /** @description One frame of the stream of all events: an event, with its `id`, or a gap, without. */
        AnyFrame: {
            id?: components["schemas"]["ResumePoint"];
            /** @enum {string} */
            event?: "message";
            data: string;
        };
        /** @description A file that the caller hands over with the prompt. */
        Attachment: {
            /** @description Its path, absolute or as the caller wrote it. */
            path: string;
            /** @description Its text; none when it is not text or too large, then the agent is only told the path. */
            text?: string | null;
        };
        /** @description One plugin's try at a task. */
        Attempt: {
            /** @description The plugin. */
            plugin: string;
            /** @description Why it failed; none for the one that answered. */
            error?: components["schemas"]["PluginError"];
        };
        /** @description One plugin's try at a task. */
        AttemptRecord: {
            /**
             * Format: uint32
             * @description Counted from 0.
             */
            index: number;
            /** @description The plugin. */
            plugin: string;
            /**
             * Format: int64
             * @description When it began, in unix milliseconds.
             */
            started_at: number;
            /**
             * Format: int64
             * @description When it ended, in unix milliseconds.
             */
            ended_at: number | null;
            /** @description Why it failed. */
            error: components["schemas"]["PluginError"] | null;
        };
        /**
         * @description What lies behind an error, finer than its code, so that a program can decide.
         * @enum {string}
         */
        Cause: "not_installed" | "not_executable" | "working_directory" | "authentication" | "rate_limited" | "overloaded" | "server" | "invalid_request" | "too_long" | "connection" | "no_result" | "stale_session" | "session_busy" | "requested" | "interrupted" | "store" | "panic" | "breaker_open";
        /** @description What was forgotten. */
        Cleaned: {
            /**
             * Format: uint64
             * @description How many sessions of agents.
             */
            sessions: number;
        };
        /** @description Which sessions of agents are to be forgotten: the body of `POST /v1/cleanup`. */
        Cleanup: {
            /**
             * Format: uint64
             * @description Those that were not used for that long, in ms (M-72).
             */
            max_age_ms?: number;
        };
        /** @description How full the agent's context window is. */
        ContextUsage: {
            /**
             * Format: uint64
             * @description Tokens in the window now.
             */
            used: number;
            /**
             * Format: uint64
             * @description Tokens that fit.
             */
            size: number;
        };
        /** @description What a person sees as one talk. A caller may choose its name. */
        ConversationId: string;
        /** @description A conversation with its tasks. */
        ConversationRecord: {
            /** @description What a list says of it. */
            summary: components["schemas"]["ConversationSummary"];
            /** @description Its tasks, the newest first, and at most as many as were asked for. */
            tasks: components["schemas"]["TaskSummary"][];
        };
        /** @description A conversation in a list. */
        ConversationSummary: {
            /** @description The conversation. */
            conversation_id: components["schemas"]["ConversationId"];
            /** @description What a person calls it; none means its first prompt says best what it is about. */
            title: string | null;
            /** @description The beginning of its first prompt. */
            first_prompt: string;
            /**
             * Format: uint64
             * @description How many tasks it has.
             */
            tasks: number;
            /**
             * Format: uint64
             * @description How many of them wait or run.
             */
            unfinished: number;
            /** @description The plugin of its last task. */
            plugin: string | null;
            /** @description The working directory of its last task. */
            cwd: components["schemas"]["OsText"];
            /**
             * Format: int64
             * @description When it began, in unix milliseconds.
             */
            created_at: number;
            /**
             * Format: int64
             * @description When its last task was accepted or ended, in unix milliseconds.
             */
            updated_at: number;
        };
        /** @description The daemon. */
        DaemonStatus: {
            /**
             * Format: uint32
             * @description Its process.
             */
            pid: number;
            /** @description Its version. */
            version: string;
            /** @description Its socket. */
            socket: components["schemas"]["OsText"];
            /**
             * Format: uint64
             * @description How long it runs, in ms.
             */
            uptime_ms: number;
            /** @description True when it takes no prompts any more and waits for what runs. */
            stopping: boolean;
            /** @description Why nothing can be put on record, if that is so: prompts are refused then. */
            read_only: string | null;
            /** @description What is wrong with the configuration file; the last good configuration is in force then. */
            configuration: string | null;
            /** @description Plugins that are left alone for a while after failures in a row, by name. */
            resting: components["schemas"]["Resting"][];
            /** @description What waits and runs, the newest first. */
            tasks: components["schemas"]["TaskSummary"][];
        };
        /** @description The answer to a prompt that is on record. */
        DispatchAccepted: {
            /** @description The task. */
            task_id: components["schemas"]["TaskId"];
            /** @description Its conversation. */
            conversation_id: components["schemas"]["ConversationId"];
            /** @description True when the same task had been accepted before. */
            already: boolean;
        };
        /** @description A prompt to dispatch: the body of `POST /v1/tasks`. */
        DispatchBody: {
            /** @description The prompt, as the person wrote it: not blank, and without a NUL character. */
            prompt: string;
            /** @description Where the agent works; absolute. */
            working_directory: components["schemas"]["OsText"];
            /** @description The task's id, the caller's idempotency key; none means a fresh one. */
            task_id?: components["schemas"]["TaskId"] | null;
            /** @description The conversation to begin or to go on with; none means a fresh one. */
            conversation_id?: components["schemas"]["ConversationId"] | null;
            /** @description True to go on with the last conversation of the working directory. */
            continue_last?: boolean;
            /** @description The plugin; none means the active one, or the first installed. */
            plugin?: string | null;
            /**
             * @description Whether the configured fallbacks are asked when it fails; none means that they are, unless a
             *     plugin is named.
             */
            fallback?: boolean | null;
            /** @description The model, in the agent's own words. */
            model?: string | null;
            /**
             * Format: uint64
             * @description The limit for the whole dispatch, in ms.
             */
            timeout_ms?: number | null;
            /** @description Coding or general. */
            mode?: components["schemas"]["Mode"];
            /** @description Pictures. */
            images?: components["schemas"]["Image"][];
            /** @description Files. */
            files?: components["schemas"]["Attachment"][];
            /** @description True to send the prompt alone. */
            skip_context?: boolean;
            /** @description What the agent may do; none means the agent's default mode, its questions asked. */
            permissions?: components["schemas"]["PermissionPolicy"] | null;
            /**
             * @description The caller's environment: what the agent inherits of it is decided as M-13 says. It is never
             *     written anywhere. None means the daemon's own, which is nearly empty.
             */
            environment?: components["schemas"]["EnvVar"][] | null;
            /** @description Variables added to the agent's environment; they win over everything else. */
            env?: {
                [key: string]: string;
            };
            /**
             * @description True when the caller answers questions of the agent; else they are refused at once, as long
             *     as nobody else attends.
             */
            attended?: boolean;
            /**
             * @description True to abort the task when the connection of this request closes before its end. Only with
             *     `Accept: text/event-stream`.
             */
            attached?: boolean;
        };
        /**
         * @description The success of a dispatch: the page's `PluginDispatchResult` and what we add to it (M-06).
         *
         *     `content` is all text of the main agent, in order; what sub-agents said is not in it.
         */
        DispatchResult: {
            /** @description The whole answer. */
            content: string;
            /** @description Tokens of this dispatch, where the agent tells. */
            usage?: components["schemas"]["Usage"];
            /** @description The agent's own session id, for the next turn. */
            session_id?: string;
            /** @description Every tool call made. */
            tool_calls: components["schemas"]["ToolCallInfo"][];
            /**
             * Format: uint64
             * @description From the first attempt to the end, in ms.
             */
            duration_ms: number;
            /** @description The task. */
            task_id: components["schemas"]["TaskId"];
            /** @description Its conversation. */
            conversation_id: components["schemas"]["ConversationId"];
            /** @description The plugin that answered. */
            plugin: string;
            /** @description The model that answered, where the agent tells. */
            model?: string;
            /**
             * Format: double
             * @description What it cost in US dollars: as the agent said, or by configured prices, else unknown; never
             *     guessed.
             */
            cost_usd?: number;
            /** @description Why the agent stopped. */
            stop_reason: components["schemas"]["StopReason"];
            /** @description Every try, in order. */
            attempts: components["schemas"]["Attempt"][];
            /** @description Files that tools of the agent say they changed, as it named them, sorted. */
            files_changed: string[];
            /** @description True when the agent's session was lost and a fresh one was told what had been said (M-18). */
            context_reset: boolean;
            /** @description What went not quite right. */
            warnings: string[];
        };
        /** @description A variable of a caller's environment. */
        EnvVar: {
            /** @description Its name. */
            name: components["schemas"]["OsText"];
            /** @description Its value. */
            value: components["schemas"]["OsText"];
        };
        /**
         * @description The page's error codes, and `ABORTED` (M-07).
         * @enum {string}
         */
        ErrorCode: "TIMEOUT" | "SPAWN_FAILURE" | "PROCESS_EXIT" | "BUFFER_OVERFLOW" | "CONCURRENCY_LIMIT" | "PROVIDER_ERROR" | "SESSION_ERROR" | "UNKNOWN" | "ABORTED";
        /** @description Why a task in a list failed. */
        ErrorSummary: {
            /** @description The kind. */
            code: components["schemas"]["ErrorCode"];
            /** @description The finer kind. */
            cause: components["schemas"]["Cause"] | null;
            /** @description What happened, or its beginning. */
            message: string | null;
        };
        /** @description One event of a task: the members of its kind, and these. The last is `complete` or `error`. Neighbouring texts of one kind may be joined; the text is the same. */
        Event: components["schemas"]["EventBody"] & {
            task_id: components["schemas"]["TaskId"];
            /**
             * Format: uint64
             * @description Counted from 1, growing by one within the task.
             */
            seq: number;
            /**
             * Format: uint64
             * @description For `token` and `thought`: how many bytes of that kind the attempt had said before.
             */
            offset?: number;
        };
        /** @description The kinds of events. The kind is the member `type` in JSON. */
        EventBody: {
            /** @description Its conversation. */
            conversation_id: components["schemas"]["ConversationId"];
            /**
             * Format: uint64
             * @description How many tasks of the conversation are before it; 0 when it runs at once.
             */
            queue_place: number;
            /** @enum {string} */
            type: "accepted";
        } | {
            /** @description The plugin. */
            plugin: string;
            /**
             * Format: uint32
             * @description Counted from 0.
             */
            index: number;
            /** @enum {string} */
            type: "attempt";
        } | {
            /** @description The text. */
            text: string;
            /** @description The tool call of the sub-agent that speaks; such text is not part of the answer. */
            parent_id?: string;
            /** @description The original ACP update, where these members don't say all of it. */
            raw?: unknown;
            /** @enum {string} */
            type: "token";
        } | {
            /** @description The text. */
            text: string;
            /** @description The tool call of the sub-agent that thinks. */
            parent_id?: string;
            /** @description The original ACP update, where these members don't say all of it. */
            raw?: unknown;
            /** @enum {string} */
            type: "thought";
        } | (components["schemas"]["ToolCallInfo"] & {
            /** @enum {string} */
            type: "tool_call";
        }) | {
            /** @description The call. */
            id: string;
            /** @description How far it is. */
            status?: components["schemas"]["ToolStatus"];
            /** @description What it has produced so far. */
            content: components["schemas"]["ToolContent"][];
            /** @description The original ACP update, where these members don't say all of it. */
            raw?: unknown;
            /** @enum {string} */
            type: "tool_update";
        } | (components["schemas"]["ToolResultInfo"] & {
            /** @enum {string} */
            type: "tool_result";
        }) | {
            /** @description Its steps. */
            entries: components["schemas"]["PlanEntry"][];
            /** @description The original ACP update, where these members don't say all of it. */
            raw?: unknown;
            /** @enum {string} */
            type: "plan";
        } | {
            /** @description Tokens. */
            tokens?: components["schemas"]["Usage"];
            /** @description How full the context window is. */
            context?: components["schemas"]["ContextUsage"];
            /**
             * Format: double
             * @description US dollars.
             */
            cost_usd?: number;
            /** @description The original ACP update, where these members don't say all of it. */
            raw?: unknown;
            /** @enum {string} */
            type: "usage";
        } | (components["schemas"]["PermissionRequest"] & {
            /** @enum {string} */
            type: "permission";
        }) | (components["schemas"]["PermissionResolution"] & {
            /** @enum {string} */
            type: "permission_resolved";
        }) | {
            /** @description What it is about. */
            kind: components["schemas"]["NoticeKind"];
            /** @description One line. */
            message: string;
            /** @enum {string} */
            type: "notice";
        } | {
            /** @description The original. */
            raw: unknown;
            /** @enum {string} */
            type: "other";
        } | {
            /** @description The result. */
            result: components["schemas"]["DispatchResult"];
            /** @enum {string} */
            type: "complete";
        } | {
            /** @description The error. */
            error: components["schemas"]["PluginError"];
            /** @enum {string} */
            type: "error";
        };
        /** @description A place in the stream of all events where some are missing: its reader was too slow. */
        Gap: {
            /** @enum {string} */
            type: "gap";
            /**
             * Format: uint64
             * @description How many are missing. Each task's own events are still to be had.
             */
            missed: number;
        };
        /** @description A picture for the model. */
        Image: {
            /** @description Its media type: image/png, image/jpeg, image/gif or image/webp. */
            media_type: string;
            /** @description Its bytes in base64. */
            data: string;
            /** @description Where it came from, for people. */
            name?: string | null;
        };
        /** @description An ability that an agent has not, or not as people expect it. */
        Lack: {
            /** @description What it can't do. */
            ability: components["schemas"]["Ability"];
            /** @description How a person notices that: one sentence without a full stop. */
            shows: string;
        };
        /** @description A place that a tool works on. */
        Location: {
            /** @description The file, as the agent named it. */
            path: string;
            /**
             * Format: uint32
             * @description The line, counted as the agent counts it.
             */
            line?: number;
        };
        /**
         * @description What kind of answer is wanted.
         * @enum {string}
         */
        Mode: "coding" | "general";
        /**
         * @description What a notice is about.
         * @enum {string}
         */
        NoticeKind: "context_reset" | "fallback" | "retry" | "noise" | "denied" | "withheld_env" | "leftover" | "waiting" | "history" | "lost" | "warning";
        /**
         * @description What an answer means, in ACP's words. Agents name their options differently; choose by kind.
         * @enum {string}
         */
        OptionKind: "allow_once" | "allow_always" | "reject_once" | "reject_always";
        /** @description A path or a variable of the system: a string where it is UTF-8, else its bytes. */
        OsText: string | {
            base64: string;
        };
        /** @description What had been said before the failure (M-24). */
        Partial: {
            /** @description The text so far. */
            content: string;
            /** @description Tokens so far, where the agent tells. */
            usage?: components["schemas"]["Usage"];
            /**
             * Format: double
             * @description What it had cost so far, where the agent tells, in US dollars.
             */
            cost_usd?: number;
            /** @description The agent's session, where it can be resumed. */
            session_id?: string;
        };
        /** @description The answer to an agent's question: the body of `POST /v1/tasks/ID/permissions/PID`. */
        PermissionAnswer: {
            /** @description The chosen option; null refuses. It can't be left out, so that nothing is refused by mistake. */
            option_id: string | null;
        };
        /** @description One possible answer. */
        PermissionOption: {
            /** @description The answer's id. */
            id: string;
            /** @description The answer for people. */
            name: string;
            /** @description What it means. */
            kind: components["schemas"]["OptionKind"];
        };
        /**
         * @description What the agent may do without asking.
         * @enum {string}
         */
        PermissionPolicy: "read-only" | "edit" | "full";
        /** @description A question of an agent. */
        PermissionRequest: {
            /** @description The question's id, unique in its task. */
            id: string;
            /** @description The tool call that it is about. */
            tool_call_id: string;
            /** @description One line for people: what the agent wants to do. */
            title: string;
            /** @description The possible answers. */
            options: components["schemas"]["PermissionOption"][];
        };
        /** @description The answer to a `PermissionRequest`. */
        PermissionResolution: {
            /** @description The question's id. */
            id: string;
            /** @description The chosen option; none means that it was not answered and counts as refused. */
            option_id?: string;
            /** @description Who answered. */
            by: components["schemas"]["ResolvedBy"];
        };
        /**
         * @description Where in its life the dispatch failed.
         * @enum {string}
         */
        Phase: "start" | "stream" | "stall" | "tool" | "total" | "queue";
        /** @description One step of a plan. */
        PlanEntry: {
            /** @description The step. */
            content: string;
            /** @description `high`, `medium` or `low`. */
            priority: string;
            /** @description `pending`, `in_progress` or `completed`. */
            status: string;
        };
        /**
         * @description The error of a dispatch: the page's `PluginError` and what we add to it (M-07).
         *
         *     `Display` is a lower-case fragment that fits after "failed to answer: ".
         */
        PluginError: {
            /** @description The kind. */
            code: components["schemas"]["ErrorCode"];
            /** @description The plugin that failed. */
            plugin_name: string;
            /** @description What happened, to what. */
            message: string;
            /** @description More of it, perhaps long: the provider's body, the paths that were searched. */
            detail: string | null;
            /** @description When it happened. */
            phase: components["schemas"]["Phase"] | null;
            /** @description The finer kind. */
            cause: components["schemas"]["Cause"] | null;
            /**
             * Format: int32
             * @description The agent's exit status; null when it did not exit or was killed.
             */
            exit_code: number | null;
            /**
             * Format: int32
             * @description The signal that ended the agent.
             */
            signal: number | null;
            /** @description The last of what the agent wrote to stderr. */
            stderr_tail: string | null;
            /**
             * Format: uint64
             * @description How long the provider asks to wait, in ms.
             */
            retry_after_ms: number | null;
            /** @description What to do. */
            hint: string | null;
            /** @description What had been said. */
            partial: components["schemas"]["Partial"] | null;
            /** @description All plugins that were asked, where there were several (M-35). */
            attempts?: components["schemas"]["Attempt"][];
        };
        /** @description A plugin and the agent behind it, as they are now. */
        PluginStatus: {
            /** @description The name that it is selected by. */
            name: string;
            /** @description The plugin's own version. */
            version: string;
            /** @description True for the one that is asked when none is named. */
            active: boolean;
            /**
             * Format: uint32
             * @description Its place among those that are asked when the active one fails, counted from 1.
             */
            fallback: number | null;
            /** @description False when the configuration disables it. */
            enabled: boolean;
            /** @description True when it is enabled, and its agent is there and says its version. */
            available: boolean;
            /** @description What its agent says of itself. */
            agent_version: string | null;
            /** @description The agent's program. */
            binary: string | null;
            /** @description Where the program was found: a setting, a folder, `PATH`. */
            found_by: string | null;
            /** @description Why it is not available. */
            problem: string | null;
            /** @description What to do about that. */
            hint: string | null;
            /**
             * Format: uint64
             * @description How many tasks it works on.
             */
            running: number;
            /**
             * Format: uint64
             * @description How many tasks it may work on at once.
             */
            max_concurrency: number;
            /**
             * Format: uint64
             * @description How long it is still left alone after failures in a row, in ms (M-36).
             */
            resting_ms: number | null;
            /** @description What people expect of an agent and this one can't do. */
            lacks: components["schemas"]["Lack"][];
            /** @description What it does unasked when no permissions are chosen. */
            own_rules: string | null;
            /** @description True for a manifest that can't be used. */
            broken?: boolean;
        };
        /** @description What went wrong with a request: the body of every answer with a status of 400 and above. */
        Problem: {
            /** @description A stable word for programs: `not_found`, `invalid_request`, `store_disk_full`, … */
            code: string;
            /** @description What happened, to what: a lower-case fragment. */
            message: string;
            /** @description What to do. */
            help?: string;
            /** @description The arguments of a `mia` command that helps. */
            command?: string;
            /**
             * Format: uint8
             * @description The status that a command which meets it exits with: 1, 2 or 3, as docs/cli.md says.
             */
            exit_code: number;
        };
        /** @description The new name of a conversation: the body of `PATCH /v1/conversations/ID`. */
        Rename: {
            /** @description The name; null takes it away. It can't be left out, so that no name is lost by mistake. */
            title: string | null;
        };
        /**
         * @description Who answered.
         * @enum {string}
         */
        ResolvedBy: "client" | "policy" | "nobody" | "end";
        /** @description A plugin that is left alone for a while. */
        Resting: {
            /** @description Its name. */
            plugin: string;
            /**
             * Format: uint64
             * @description For how much longer, in ms. 0 while one prompt tries whether it is well again.
             */
            left_ms: number;
        };
        /** @description How far a client has come in a task's events: `SEQ` of the last event it has, and after text `SEQ:OFFSET`, the offset being the event's own plus the text's bytes. 0 is the beginning. */
        ResumePoint: string;
        /** @description How the daemon is to stop: the body of `POST /v1/stop`. */
        Stop: {
            /** @description True to interrupt what runs (M-39); else it is waited for. */
            now?: boolean;
        };
        /**
         * @description Why the agent stopped, in ACP's words.
         * @enum {string}
         */
        StopReason: "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";
        /** @description A caller's environment: the body of requests that look at agents. */
        Surroundings: {
            /** @description The variables; none means the daemon's own. */
            environment?: components["schemas"]["EnvVar"][] | null;
        };
        /** @description The plugin to switch to: the body of `PUT /v1/active-plugin`. */
        Switch: {
            /** @description Its name. */
            name: string;
            /** @description The caller's environment, to see whether its agent is there. */
            environment?: components["schemas"]["EnvVar"][] | null;
        };
        /** @description What came of a switch. */
        Switched: {
            /** @description The configuration file that says so now. */
            file: components["schemas"]["OsText"];
            /** @description Why the plugin can't answer yet. */
            problem: string | null;
            /** @description What to do about that. */
            hint: string | null;
        };
        /** @description One frame of the stream of a task's events. */
        TaskFrame: {
            id: components["schemas"]["ResumePoint"];
            /** @enum {string} */
            event?: "message";
            data: string;
        } | {
            /** @enum {string} */
            event: "problem";
            data: string;
        } | {
            /** @enum {string} */
            event: "end";
            /** @enum {string} */
            data: "";
        };
        /** @description One prompt of one conversation, from acceptance to its terminal event. A client may choose it; it is then an idempotency key. */
        TaskId: string;
        /** @description A task in full. */
        TaskRecord: {
            /** @description What a list says of it, with the whole prompt. */
            summary: components["schemas"]["TaskSummary"];
            /** @description The model that answered, or was asked for. */
            model: string | null;
            /** @description Its working directory. */
            cwd: components["schemas"]["OsText"];
            /**
             * Format: int64
             * @description When it ended, or was found interrupted, in unix milliseconds.
             */
            ended_at: number | null;
            /** @description Its attempts, in order. */
            attempts: components["schemas"]["AttemptRecord"][];
            /** @description Its tool calls, in order of their start. */
            tools: components["schemas"]["ToolRecord"][];
            /** @description The result. */
            result: components["schemas"]["DispatchResult"] | null;
            /** @description The error. */
            error: components["schemas"]["PluginError"] | null;
        };
        /**
         * @description How far a task is.
         * @enum {string}
         */
        TaskStatus: "queued" | "running" | "completed" | "failed" | "interrupted";
        /** @description A task in a list. */
        TaskSummary: {
            /** @description The task. */
            task_id: components["schemas"]["TaskId"];
            /** @description Its conversation. */
            conversation_id: components["schemas"]["ConversationId"];
            /** @description The prompt, or its beginning. */
            prompt: string;
            /** @description The plugin that answered, or was asked for. */
            plugin: string | null;
            /** @description How far it is. */
            status: components["schemas"]["TaskStatus"];
            /** @description Why it failed. */
            error: components["schemas"]["ErrorSummary"] | null;
            /**
             * Format: int64
             * @description When it was accepted, in unix milliseconds.
             */
            created_at: number;
            /**
             * Format: int64
             * @description When it started, in unix milliseconds.
             */
            started_at: number | null;
            /**
             * Format: uint64
             * @description How long it took, in ms; unknown for an interrupted one.
             */
            duration_ms: number | null;
            /**
             * Format: double
             * @description What it cost in US dollars, where that is known.
             */
            cost_usd: number | null;
            /** @description Its tokens, where they are known. */
            usage: components["schemas"]["Usage"] | null;
        };
        /** @description What came of a test of a plugin: a result or an error. */
        Tested: {
            /** @description What it answered. */
            result: components["schemas"]["DispatchResult"] | null;
            /** @description Why it did not. */
            error: components["schemas"]["PluginError"] | null;
        };
        /** @description A tool call (M-05). */
        ToolCallInfo: {
            /** @description The agent's id of the call; the result carries the same (M-09). */
            id: string;
            /** @description The call of the sub-agent that made this one. */
            parent_id?: string;
            /** @description The tool's name as the agent knows it. */
            name: string;
            /** @description One line for people. */
            title: string;
            /** @description What the tool does. */
            kind: components["schemas"]["ToolKind"];
            /** @description The tool's arguments. */
            input: unknown;
            /** @description Files that it works on. */
            locations: components["schemas"]["Location"][];
            /** @description The original ACP update, where these members don't say all of it. */
            raw?: unknown;
        };
        /** @description Something that a tool produced. */
        ToolContent: {
            /** @description The text. */
            text: string;
            /** @enum {string} */
            type: "text";
        } | {
            /** @description The file. */
            path: string;
            /** @description Its text before; absent for a new file. */
            old_text?: string;
            /** @description Its text after. */
            new_text: string;
            /** @enum {string} */
            type: "diff";
        } | {
            /** @description Its id. */
            terminal_id: string;
            /** @enum {string} */
            type: "terminal";
        } | {
            /** @description The original content block. */
            raw: unknown;
            /** @enum {string} */
            type: "other";
        };
        /**
         * @description What a tool does, in ACP's words. A client picks an icon or a rule by it.
         * @enum {string}
         */
        ToolKind: "read" | "edit" | "delete" | "move" | "search" | "execute" | "think" | "fetch" | "switch_mode" | "other";
        /** @description A tool call on record. */
        ToolRecord: {
            /** @description The call, as the agent told of it last. */
            call: components["schemas"]["ToolCallInfo"];
            /** @description Its result; none when the task ended before. */
            result?: components["schemas"]["ToolResultInfo"];
            /**
             * Format: int64
             * @description When it was called, in unix milliseconds; as exact as batches are long.
             */
            started_at: number;
            /**
             * Format: uint64
             * @description How long it took, in ms.
             */
            duration_ms?: number;
        };
        /** @description A tool's result, paired with its call by `id` (M-09). */
        ToolResultInfo: {
            /** @description The id of the call. */
            id: string;
            /** @description The tool's name. */
            name: string;
            /** @description What it printed or returned, as text. */
            output: string;
            /** @description True when the tool failed or was not allowed. */
            is_error: boolean;
            /** @description True when `output` is only the beginning. */
            truncated: boolean;
            /**
             * Format: uint64
             * @description From call to result, in ms.
             */
            duration_ms: number;
        };
        /**
         * @description How far a tool call is.
         * @enum {string}
         */
        ToolStatus: "pending" | "in_progress" | "completed" | "failed";
        /**
         * @description Tokens of one dispatch (M-06). Counts are this dispatch's own, never cumulative, whatever the
         *     agent reports.
         */
        Usage: {
            /**
             * Format: uint64
             * @description Tokens read by the model and not taken from a cache.
             */
            input_tokens: number;
            /**
             * Format: uint64
             * @description Tokens written by the model, thinking included.
             */
            output_tokens: number;
            /**
             * Format: uint64
             * @description Tokens written to the provider's cache.
             */
            cache_creation?: number;
            /**
             * Format: uint64
             * @description Tokens read from the provider's cache.
             */
            cache_read?: number;
        };
        /** @description What plugins and models have used in some time. */
        UsageReport: {
            /**
             * Format: int64
             * @description From when on, in unix milliseconds; none is all there is on record.
             */
            since: number | null;
            /** @description One row for each plugin and model, those with the most tokens first. */
            rows: components["schemas"]["UsageRow"][];
        };
        /** @description What one model has used through one plugin. */
        UsageRow: {
            /** @description The plugin; none for tasks that no plugin has answered. */
            plugin: string | null;
            /** @description The model, where it is known. */
            model: string | null;
            /**
             * Format: uint64
             * @description How many tasks ended, well or not.
             */
            tasks: number;
            /**
             * Format: uint64
             * @description How many of them failed or were interrupted.
             */
            failed: number;
            /** @description The sum of the tokens that are known. */
            usage: components["schemas"]["Usage"];
            /**
             * Format: uint64
             * @description How many tasks told no tokens.
             */
            tokens_unknown: number;
            /**
             * Format: double
             * @description The sum of the costs that are known, in US dollars; none when none is.
             */
            cost_usd: number | null;
            /**
             * Format: uint64
             * @description How many tasks have no known cost.
             */
            cost_unknown: number;
            /**
             * Format: uint64
             * @description How long they took together, in ms.
             */
            duration_ms: number;
        };
    };
    responses: {
        /** @description No space is left for the record: `store_disk_full`. */
        DiskFull: {
            headers: {
                "mia-version": components["headers"]["MiaVersion"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description The path, the query, a header or the body is not as described here (`invalid_request`), or can't be done as it stands: there is no such plugin or none is installed (`no_plugin`), no such folder (`working_directory`), no conversation to go on with (`no_conversation`). The message says which. */
        Invalid: {
            headers: {
                "mia-version": components["headers"]["MiaVersion"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description The body did not come in time, or nothing of it for too long: `invalid_request`. */
        Late: {
            headers: {
                "mia-version": components["headers"]["MiaVersion"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is not said to be `application/json`: `invalid_request`. */
        NotJson: {
            headers: {
                "mia-version": components["headers"]["MiaVersion"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description It can't be done now: the record can't be read or written (`store_locked`, `store_read_only`, …), the daemon is about to stop (`stopping`), or there is no room for the body beside those of other requests (`no_room`). */
        NotNow: {
            headers: {
                "mia-version": components["headers"]["MiaVersion"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is larger than 160 MiB: `invalid_request`. */
        TooLarge: {
            headers: {
                "mia-version": components["headers"]["MiaVersion"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description The body could not be read to its end: `invalid_request`. */
        Unreadable: {
            headers: {
                "mia-version": components["headers"]["MiaVersion"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description The version of Mia that answers. */
        MiaVersion: string;
    };
    pathItems: never;
}
export type Ability = components['schemas']['Ability'];
export type Aborted = components['schemas']['Aborted'];
export type AnyFrame = components['schemas']['AnyFrame'];
export type Attachment = components['schemas']['Attachment'];
export type Attempt = components['schemas']['Attempt'];
export type AttemptRecord = components['schemas']['AttemptRecord'];
export type Cause = components['schemas']['Cause'];
export type Cleaned = components['schemas']['Cleaned'];
export type Cleanup = components['schemas']['Cleanup'];
export type ContextUsage = components['schemas']['ContextUsage'];
export type ConversationId = components['schemas']['ConversationId'];
export type ConversationRecord = components['schemas']['ConversationRecord'];
export type ConversationSummary = components['schemas']['ConversationSummary'];
export type DaemonStatus = components['schemas']['DaemonStatus'];
export type DispatchAccepted = components['schemas']['DispatchAccepted'];
export type DispatchBody = components['schemas']['DispatchBody'];
export type DispatchResult = components['schemas']['DispatchResult'];
export type EnvVar = components['schemas']['EnvVar'];
export type ErrorCode = components['schemas']['ErrorCode'];
export type ErrorSummary = components['schemas']['ErrorSummary'];
export type Event = components['schemas']['Event'];
export type EventBody = components['schemas']['EventBody'];
export type Gap = components['schemas']['Gap'];
export type Image = components['schemas']['Image'];
export type Lack = components['schemas']['Lack'];
export type Location = components['schemas']['Location'];
export type Mode = components['schemas']['Mode'];
export type NoticeKind = components['schemas']['NoticeKind'];
export type OptionKind = components['schemas']['OptionKind'];
export type OsText = components['schemas']['OsText'];
export type Partial = components['schemas']['Partial'];
export type PermissionAnswer = components['schemas']['PermissionAnswer'];
export type PermissionOption = components['schemas']['PermissionOption'];
export type PermissionPolicy = components['schemas']['PermissionPolicy'];
export type PermissionRequest = components['schemas']['PermissionRequest'];
export type PermissionResolution = components['schemas']['PermissionResolution'];
export type Phase = components['schemas']['Phase'];
export type PlanEntry = components['schemas']['PlanEntry'];
export type PluginError = components['schemas']['PluginError'];
export type PluginStatus = components['schemas']['PluginStatus'];
export type Problem = components['schemas']['Problem'];
export type Rename = components['schemas']['Rename'];
export type ResolvedBy = components['schemas']['ResolvedBy'];
export type Resting = components['schemas']['Resting'];
export type ResumePoint = components['schemas']['ResumePoint'];
export type Stop = components['schemas']['Stop'];
export type StopReason = components['schemas']['StopReason'];
export type Surroundings = components['schemas']['Surroundings'];
export type Switch = components['schemas']['Switch'];
export type Switched = components['schemas']['Switched'];
export type TaskFrame = components['schemas']['TaskFrame'];
export type TaskId = components['schemas']['TaskId'];
export type TaskRecord = components['schemas']['TaskRecord'];
export type TaskStatus = components['schemas']['TaskStatus'];
export type TaskSummary = components['schemas']['TaskSummary'];
export type Tested = components['schemas']['Tested'];
export type ToolCallInfo = components['schemas']['ToolCallInfo'];
export type ToolContent = components['schemas']['ToolContent'];
export type ToolKind = components['schemas']['ToolKind'];
export type ToolRecord = components['schemas']['ToolRecord'];
export type ToolResultInfo = components['schemas']['ToolResultInfo'];
export type ToolStatus = components['schemas']['ToolStatus'];
export type Usage = components['schemas']['Usage'];
export type UsageReport = components['schemas']['UsageReport'];
export type UsageRow = components['schemas']['UsageRow'];
export type ResponseDiskFull = components['responses']['DiskFull'];
export type ResponseInvalid = components['responses']['Invalid'];
export type ResponseLate = components['responses']['Late'];
export type ResponseNotJson = components['responses']['NotJson'];
export type ResponseNotNow = components['responses']['NotNow'];
export type ResponseTooLarge = components['responses']['TooLarge'];
export type ResponseUnreadable = components['responses']['Unreadable'];
export type HeaderMiaVersion = components['headers']['MiaVersion'];
export type $defs = Record<string, never>;
export interface operations {
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Text in the OpenMetrics format. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text; version=1.0.0; charset=utf-8": string;
                };
            };
            422: components["responses"]["Invalid"];
        };
    };
    openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OpenAPI 3.1. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            422: components["responses"]["Invalid"];
            /** @description An error in Mia: `internal`. */
            500: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    abort_all: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tasks. */
            202: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Aborted"];
                };
            };
            422: components["responses"]["Invalid"];
        };
    };
    switch_plugin: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Switch"];
            };
        };
        responses: {
            /** @description It is active, and perhaps can't answer yet. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Switched"];
                };
            };
            400: components["responses"]["Unreadable"];
            408: components["responses"]["Late"];
            /** @description The configuration file can't be changed: `configuration`. */
            409: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            422: components["responses"]["Invalid"];
            /** @description An error in Mia: `internal`. */
            500: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            503: components["responses"]["NotNow"];
        };
    };
    cleanup: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Cleanup"] | null;
            };
        };
        responses: {
            /** @description What was forgotten. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Cleaned"];
                };
            };
            400: components["responses"]["Unreadable"];
            408: components["responses"]["Late"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
        };
    };
    list_conversations: {
        parameters: {
            query?: {
                /** @description The most that are listed. */
                limit?: number;
                /** @description Only those whose last task was in that folder. */
                cwd?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The conversations. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationSummary"][];
                };
            };
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
            507: components["responses"]["DiskFull"];
        };
    };
    show_conversation: {
        parameters: {
            query?: {
                /** @description The most tasks. */
                limit?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The conversation.
                 * @example release
                 */
                conversation: components["schemas"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The conversation. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConversationRecord"];
                };
            };
            /** @description No such conversation is on record. */
            404: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
            507: components["responses"]["DiskFull"];
        };
    };
    delete_conversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The conversation. */
                conversation: components["schemas"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is forgotten. */
            204: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No such conversation is on record. */
            404: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Some of its tasks have not ended: `busy`. */
            409: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
            507: components["responses"]["DiskFull"];
        };
    };
    rename_conversation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The conversation.
                 * @example release
                 */
                conversation: components["schemas"]["ConversationId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Rename"];
            };
        };
        responses: {
            /** @description That is its name now. */
            204: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Unreadable"];
            /** @description No such conversation is on record. */
            404: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            408: components["responses"]["Late"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
            507: components["responses"]["DiskFull"];
        };
    };
    watch_all: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events, without an end. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["AnyFrame"];
                };
            };
            422: components["responses"]["Invalid"];
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It answers. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            422: components["responses"]["Invalid"];
        };
    };
    history: {
        parameters: {
            query?: {
                /** @description The most that are listed, the newest first. */
                limit?: number;
                /** @description Only those that failed or were interrupted. */
                failed?: boolean;
                /** @description Only those of that plugin. */
                plugin?: string;
                /** @description Only those of that conversation. */
                conversation?: components["schemas"]["ConversationId"];
                /** @description Only those accepted at that time or later, in unix milliseconds. */
                since?: number;
                /** @description Only those that have that text in the prompt or the error. */
                grep?: string;
                /** @description The most characters of each prompt; none means all of it. */
                prompt_chars?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tasks. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskSummary"][];
                };
            };
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
            507: components["responses"]["DiskFull"];
        };
    };
    list_plugins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The plugins. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PluginStatus"][];
                };
            };
            422: components["responses"]["Invalid"];
        };
    };
    list_plugins_for: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Surroundings"] | null;
            };
        };
        responses: {
            /** @description The plugins. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PluginStatus"][];
                };
            };
            400: components["responses"]["Unreadable"];
            408: components["responses"]["Late"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
        };
    };
    show_plugin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The plugin's name.
                 * @example guide
                 */
                plugin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The plugin. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PluginStatus"];
                };
            };
            /** @description There is no such plugin: `no_plugin`. */
            404: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["Invalid"];
        };
    };
    show_plugin_for: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The plugin's name.
                 * @example guide
                 */
                plugin: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Surroundings"] | null;
            };
        };
        responses: {
            /** @description The plugin. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PluginStatus"];
                };
            };
            400: components["responses"]["Unreadable"];
            /** @description There is no such plugin: `no_plugin`. */
            404: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            408: components["responses"]["Late"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
        };
    };
    test_plugin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The plugin's name; `-` is the one that is asked when none is named.
                 * @example guide
                 */
                plugin: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Surroundings"] | null;
            };
        };
        responses: {
            /** @description What came of it, well or not. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tested"];
                };
            };
            400: components["responses"]["Unreadable"];
            /** @description There is no such plugin: `no_plugin`. */
            404: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            408: components["responses"]["Late"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            422: components["responses"]["Invalid"];
            /** @description Too much waits: `concurrency_limit`. */
            429: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            503: components["responses"]["NotNow"];
            507: components["responses"]["DiskFull"];
        };
    };
    ready: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It does. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            422: components["responses"]["Invalid"];
            /** @description It does not: `not_ready`, or what is wrong with the record. */
            503: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description No space is left for the record: `store_disk_full`. */
            507: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    status: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The daemon. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DaemonStatus"];
                };
            };
            422: components["responses"]["Invalid"];
        };
    };
    stop: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Stop"] | null;
            };
        };
        responses: {
            /** @description The daemon, and what it waits for. */
            202: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DaemonStatus"];
                };
            };
            400: components["responses"]["Unreadable"];
            408: components["responses"]["Late"];
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
        };
    };
    list_tasks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tasks. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskSummary"][];
                };
            };
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
            507: components["responses"]["DiskFull"];
        };
    };
    dispatch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "prompt": "what is this repository?",
                 *       "working_directory": "/",
                 *       "plugin": "guide"
                 *     }
                 */
                "application/json": components["schemas"]["DispatchBody"];
            };
        };
        responses: {
            /** @description Its events, as `watch_task` gives them from the beginning. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["TaskFrame"];
                };
            };
            /** @description It is on record. */
            202: {
                headers: {
                    /** @description The path of the task. */
                    location?: string;
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DispatchAccepted"];
                };
            };
            400: components["responses"]["Unreadable"];
            408: components["responses"]["Late"];
            /** @description The id is taken by another prompt or conversation: `task_conflict`. */
            409: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            422: components["responses"]["Invalid"];
            /** @description Too many tasks of the conversation wait: `concurrency_limit`. */
            429: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            503: components["responses"]["NotNow"];
            507: components["responses"]["DiskFull"];
        };
    };
    show_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The task.
                 * @example first
                 */
                task: components["schemas"]["TaskId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskRecord"];
                };
            };
            /** @description No such task is on record. */
            404: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
            507: components["responses"]["DiskFull"];
        };
    };
    abort_task: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The task.
                 * @example first
                 */
                task: components["schemas"]["TaskId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task, or none where it had ended. */
            202: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Aborted"];
                };
            };
            /** @description No such task is on record. */
            404: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
            507: components["responses"]["DiskFull"];
        };
    };
    watch_task: {
        parameters: {
            query?: {
                /** @description The place after which events are wanted; none is the beginning. */
                after?: components["schemas"]["ResumePoint"];
                /** @description True when the watcher answers the agent's questions. */
                attended?: boolean;
                /** @description True to abort the task when this connection closes before its end. */
                attached?: boolean;
            };
            header?: {
                /** @description As `after`, and before it: what a client sends by itself that comes back. */
                "last-event-id"?: components["schemas"]["ResumePoint"];
            };
            path: {
                /**
                 * @description The task.
                 * @example first
                 */
                task: components["schemas"]["TaskId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its events. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["TaskFrame"];
                };
            };
            /** @description No such task is on record. */
            404: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
            507: components["responses"]["DiskFull"];
        };
    };
    answer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The task.
                 * @example first
                 */
                task: components["schemas"]["TaskId"];
                /** @description The question: `id` of the event `permission`. */
                permission: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PermissionAnswer"];
            };
        };
        responses: {
            /** @description That is the answer. */
            204: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Unreadable"];
            408: components["responses"]["Late"];
            /** @description Nobody asks that, or not any more: `not_waiting`. */
            409: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["TooLarge"];
            415: components["responses"]["NotJson"];
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
        };
    };
    usage: {
        parameters: {
            query?: {
                /** @description In unix milliseconds; none is all there is. */
                since?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One row for each plugin and model. */
            200: {
                headers: {
                    "mia-version": components["headers"]["MiaVersion"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageReport"];
                };
            };
            422: components["responses"]["Invalid"];
            503: components["responses"]["NotNow"];
            507: components["responses"]["DiskFull"];
        };
    };
}
