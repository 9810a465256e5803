//! Events and updates for the property tests.

use mia_api::{
    Attempt, Cause, ContextUsage, DispatchResult, ErrorCode, EventBody, Location, NoticeKind,
    OptionKind, Partial, PermissionOption, PermissionRequest, PermissionResolution, Phase,
    PlanEntry, PluginError, ResolvedBy, StopReason, ToolCallInfo, ToolContent, ToolKind,
    ToolResultInfo, ToolStatus, Usage,
};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn text() -> BoxedStrategy<String> {
    prop_oneof![Just(String::new()), "[a-c\u{0}\n\"ü€]{1,6}", ".{0,12}"].boxed()
}

fn number() -> BoxedStrategy<f64> {
    (prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL).boxed()
}

/// Any JSON, with the words of ACP and of ours in it.
pub(crate) fn json_value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        number().prop_map(Value::from),
        text().prop_map(Value::from),
        known_word().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((prop_oneof![text(), known_word()], inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
    .boxed()
}

fn known_word() -> BoxedStrategy<String> {
    prop::sample::select(vec![
        "text",
        "type",
        "content",
        "diff",
        "path",
        "oldText",
        "newText",
        "terminal",
        "terminalId",
        "line",
        "priority",
        "status",
        "high",
        "pending",
        "completed",
        "failed",
        "used",
        "size",
        "amount",
        "currency",
        "USD",
        "_meta",
        "mia",
        "raw",
        "sessionUpdate",
        "token",
        "tool_result",
    ])
    .prop_map(str::to_owned)
    .boxed()
}

fn tool_content() -> BoxedStrategy<ToolContent> {
    prop_oneof![
        text().prop_map(|text| ToolContent::Text { text }),
        (text(), of(text()), text()).prop_map(|(path, old_text, new_text)| ToolContent::Diff {
            path,
            old_text,
            new_text
        }),
        text().prop_map(|terminal_id| ToolContent::Terminal { terminal_id }),
        json_value().prop_map(|raw| ToolContent::Other { raw }),
        block().prop_map(|raw| ToolContent::Other { raw }),
    ]
    .boxed()
}

fn tool_kind() -> BoxedStrategy<ToolKind> {
    prop::sample::select(vec![
        ToolKind::Read,
        ToolKind::Edit,
        ToolKind::Delete,
        ToolKind::Move,
        ToolKind::Search,
        ToolKind::Execute,
        ToolKind::Think,
        ToolKind::Fetch,
        ToolKind::SwitchMode,
        ToolKind::Other,
    ])
    .boxed()
}

fn tool_status() -> BoxedStrategy<ToolStatus> {
    prop::sample::select(vec![
        ToolStatus::Pending,
        ToolStatus::InProgress,
        ToolStatus::Completed,
        ToolStatus::Failed,
    ])
    .boxed()
}

fn usage() -> BoxedStrategy<Usage> {
    (any::<u64>(), any::<u64>(), of(any::<u64>()), of(any::<u64>()))
        .prop_map(|(input_tokens, output_tokens, cache_creation, cache_read)| Usage {
            input_tokens,
            output_tokens,
            cache_creation,
            cache_read,
        })
        .boxed()
}

fn original() -> BoxedStrategy<Option<Value>> {
    // `null` as the original is no original: JSON can't tell them apart.
    of(prop_oneof![json_value(), update()])
        .prop_map(|raw| raw.filter(|value| !value.is_null()))
        .boxed()
}

fn tool_call() -> BoxedStrategy<ToolCallInfo> {
    let location = (text(), of(any::<u32>())).prop_map(|(path, line)| Location { path, line });
    (
        (text(), of(text()), text(), text(), tool_kind()),
        (json_value(), vec(location, 0..3), original()),
    )
        .prop_map(|((id, parent_id, name, title, kind), (input, locations, raw))| ToolCallInfo {
            id,
            parent_id,
            name,
            title,
            kind,
            input,
            locations,
            raw,
        })
        .boxed()
}

fn error() -> BoxedStrategy<PluginError> {
    let partial = (text(), of(usage()), of(text())).prop_map(|(content, usage, session_id)| {
        Box::new(Partial { content, usage, cost_usd: None, session_id })
    });
    (
        (prop::sample::select(ErrorCode::ALL.to_vec()), text(), text(), of(text())),
        (
            of(prop::sample::select(vec![Phase::Start, Phase::Stall, Phase::Queue])),
            of(prop::sample::select(vec![Cause::RateLimited, Cause::Panic, Cause::Requested])),
            of(any::<i32>()),
            of(any::<i32>()),
        ),
        (of(text()), of(any::<u64>()), of(text()), of(partial)),
    )
        .prop_map(
            |((code, plugin_name, message, detail), (phase, cause, exit_code, signal), rest)| {
                let (stderr_tail, retry_after_ms, hint, partial) = rest;
                PluginError {
                    code,
                    plugin_name,
                    message,
                    detail,
                    phase,
                    cause,
                    exit_code,
                    signal,
                    stderr_tail,
                    retry_after_ms,
                    hint,
                    partial,
                    attempts: Vec::new(),
                }
            },
        )
        .boxed()
}

fn result() -> BoxedStrategy<DispatchResult> {
    let attempt = (text(), of(error().prop_map(Box::new)))
        .prop_map(|(plugin, error)| Attempt { plugin, error });
    (
        (text(), of(usage()), of(text()), vec(tool_call(), 0..2), any::<u64>()),
        (text(), of(text()), of(number()), vec(attempt, 0..2), vec(text(), 0..2)),
        (any::<bool>(), vec(text(), 0..2)),
    )
        .prop_map(
            |(
                (content, usage, session_id, tool_calls, duration_ms),
                (plugin, model, cost_usd, attempts, files),
                (context_reset, warnings),
            )| DispatchResult {
                content,
                usage,
                session_id,
                tool_calls,
                duration_ms,
                task_id: "t1".parse().unwrap(),
                conversation_id: "c1".parse().unwrap(),
                plugin,
                model,
                cost_usd,
                stop_reason: StopReason::Refusal,
                attempts,
                files_changed: files,
                context_reset,
                warnings,
            },
        )
        .boxed()
}

fn said() -> BoxedStrategy<EventBody> {
    prop_oneof![
        (text(), of(text()), original()).prop_map(|(text, parent_id, raw)| EventBody::Token {
            text,
            parent_id,
            raw
        }),
        (text(), of(text()), original()).prop_map(|(text, parent_id, raw)| EventBody::Thought {
            text,
            parent_id,
            raw
        }),
        tool_call().prop_map(EventBody::ToolCall),
        (text(), of(tool_status()), vec(tool_content(), 0..3), original()).prop_map(
            |(id, status, content, raw)| EventBody::ToolUpdate { id, status, content, raw }
        ),
        (text(), text(), text(), any::<bool>(), any::<bool>(), any::<u64>()).prop_map(
            |(id, name, output, is_error, truncated, duration_ms)| {
                EventBody::ToolResult(ToolResultInfo {
                    id,
                    name,
                    output,
                    is_error,
                    truncated,
                    duration_ms,
                })
            }
        ),
        (vec(plan_entry(), 0..3), original())
            .prop_map(|(entries, raw)| EventBody::Plan { entries, raw }),
        (of(usage()), of((any::<u64>(), any::<u64>())), of(number()), original()).prop_map(
            |(tokens, context, cost_usd, raw)| EventBody::Usage {
                tokens,
                context: context.map(|(used, size)| ContextUsage { used, size }),
                cost_usd,
                raw,
            }
        ),
    ]
    .boxed()
}

fn plan_entry() -> BoxedStrategy<PlanEntry> {
    let word = |words: [&str; 3]| {
        prop_oneof![prop::sample::select(words.map(str::to_owned).to_vec()), text()]
    };
    (text(), word(["high", "medium", "low"]), word(["pending", "in_progress", "completed"]))
        .prop_map(|(content, priority, status)| PlanEntry { content, priority, status })
        .boxed()
}

/// Any event.
pub(crate) fn event() -> BoxedStrategy<EventBody> {
    let option = (text(), text()).prop_map(|(id, name)| PermissionOption {
        id,
        name,
        kind: OptionKind::AllowAlways,
    });
    prop_oneof![
        4 => said(),
        1 => any::<u64>().prop_map(|queue_place| EventBody::Accepted {
            conversation_id: "release-1".parse().unwrap(),
            queue_place,
        }),
        1 => (text(), any::<u32>()).prop_map(|(plugin, index)| EventBody::Attempt { plugin, index }),
        1 => (text(), text(), text(), vec(option, 0..3)).prop_map(
            |(id, tool_call_id, title, options)| {
                EventBody::Permission(PermissionRequest { id, tool_call_id, title, options })
            }
        ),
        1 => (text(), of(text())).prop_map(|(id, option_id)| {
            EventBody::PermissionResolved(PermissionResolution {
                id,
                option_id,
                by: ResolvedBy::Nobody,
            })
        }),
        1 => text().prop_map(|message| EventBody::notice(NoticeKind::Noise, message)),
        1 => json_value().prop_map(|raw| EventBody::Other { raw }),
        1 => update().prop_map(|raw| EventBody::Other { raw }),
        1 => result().prop_map(|result| EventBody::Complete { result: Box::new(result) }),
        1 => error().prop_map(|error| EventBody::Error { error: Box::new(error) }),
    ].boxed()
}

/// A tool's content as ACP says it, perhaps with more.
fn block() -> BoxedStrategy<Value> {
    (
        prop_oneof![
            text().prop_map(|t| json!({"type": "content", "content": {"type": "text", "text": t}})),
            text().prop_map(|t| json!({"type": "diff", "path": t, "newText": t})),
            text().prop_map(|t| json!({"type": "diff", "path": t, "newText": t, "oldText": null})),
            text().prop_map(|t| json!({"type": "terminal", "terminalId": t})),
            text().prop_map(|t| json!({"type": "session", "sessionId": t})),
        ],
        of((text(), json_value())),
    )
        .prop_map(|(block, more)| with(block, more))
        .boxed()
}

/// An update, mostly well-formed, of a kind that exists or not, perhaps with more in it.
pub(crate) fn update() -> BoxedStrategy<Value> {
    let member = prop_oneof![
        4 => text().prop_map(|t| ("title", Value::from(t))),
        4 => text().prop_map(|t| ("toolCallId", Value::from(t))),
        2 => text().prop_map(|t| ("content", json!({"type": "text", "text": t}))),
        2 => vec(block(), 0..3).prop_map(|blocks| ("content", Value::from(blocks))),
        1 => Just(("status", json!("completed"))),
        1 => Just(("kind", json!("read"))),
        1 => Just(("kind", json!("other"))),
        1 => text().prop_map(|t| ("name", Value::from(t))),
        1 => any::<i64>().prop_map(|line| ("locations", json!([{"path": "a", "line": line}]))),
        1 => Just(("entries", json!([{"content": "a", "priority": "low", "status": "pending"}]))),
        1 => any::<u64>().prop_map(|n| ("used", Value::from(n))),
        1 => any::<u64>().prop_map(|n| ("size", Value::from(n))),
        1 => number().prop_map(|n| ("cost", json!({"amount": n, "currency": "USD"}))),
        2 => (
            prop::sample::select(vec![
                "title", "toolCallId", "content", "status", "kind", "name", "locations", "rawInput",
                "entries", "used", "size", "cost", "messageId", "_meta", "surprise",
            ]),
            json_value(),
        ),
    ];
    let kind = prop::sample::select(vec![
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "usage_update",
        "session_info_update",
        "user_message_chunk",
        "of_tomorrow",
    ]);
    (kind, vec(member, 0..6))
        .prop_map(|(kind, members)| {
            let mut update = Map::new();
            update.insert("sessionUpdate".to_owned(), kind.into());
            for (name, value) in members {
                update.insert(name.to_owned(), value);
            }
            Value::Object(update)
        })
        .boxed()
}

/// The same with one more member, or with another value of one that it has.
pub(crate) fn with(mut value: Value, more: Option<(String, Value)>) -> Value {
    if let (Some(object), Some((name, member))) = (value.as_object_mut(), more) {
        object.insert(name, member);
    }
    value
}
