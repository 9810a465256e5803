//! A value of each type of the API: with all its members, and with as few as it can have.

use std::sync::LazyLock;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Who writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Mia: what counts is what serde writes.
    Sent,
    /// A client: what counts is what serde reads.
    Taken,
}

/// A type with its values.
#[derive(Debug)]
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) direction: Direction,
    /// With all members.
    pub(crate) full: &'static str,
    /// With as few as it can have, as serde writes it.
    pub(crate) bare: &'static str,
    /// Reads a value as the type, and writes it again.
    pub(crate) again: fn(Value) -> serde_json::Result<Value>,
}

fn again<T: Serialize + DeserializeOwned>(value: Value) -> serde_json::Result<Value> {
    serde_json::to_value(serde_json::from_value::<T>(value)?)
}

macro_rules! samples {
    ($($direction:ident $name:ident $full:expr, $bare:expr;)*) => {
        vec![$(Sample {
            name: stringify!($name),
            direction: Direction::$direction,
            full: $full,
            bare: $bare,
            again: again::<mia_api::$name>,
        }),*]
    };
}

const USAGE: &str = r#"{"input_tokens":1,"output_tokens":2}"#;
const CALL: &str =
    r#"{"id":"c","name":"Bash","title":"Bash ls","kind":"execute","input":null,"locations":[]}"#;
const RESULT: &str = r#"{"content":"","tool_calls":[],"duration_ms":0,"task_id":"t","conversation_id":"c",
    "plugin":"p","stop_reason":"end_turn","attempts":[],"files_changed":[],"context_reset":false,"warnings":[]}"#;
const ERROR: &str = r#"{"code":"UNKNOWN","plugin_name":"p","message":"m","detail":null,"phase":null,
    "cause":null,"exit_code":null,"signal":null,"stderr_tail":null,"retry_after_ms":null,"hint":null,
    "partial":null}"#;
const TASK: &str = r#"{"task_id":"t","conversation_id":"c","prompt":"p","plugin":null,"status":"queued",
    "error":null,"created_at":1,"started_at":null,"duration_ms":null,"cost_usd":null,"usage":null}"#;
const CONVERSATION: &str = r#"{"conversation_id":"c","title":null,"first_prompt":"p","tasks":1,"unfinished":0,
    "plugin":null,"cwd":"/a","created_at":-1,"updated_at":2}"#;
const STATUS: &str = r#"{"pid":1,"version":"0.1.0","socket":"/s","uptime_ms":1,"stopping":false,
    "read_only":null,"configuration":null,"resting":[],"tasks":[]}"#;

/// A JSON object with some members' values replaced by other samples.
fn with(text: &str, members: &[(&str, &str)]) -> &'static str {
    let mut value: Value = serde_json::from_str(text).unwrap();
    for (name, member) in members {
        value[name] = serde_json::from_str(member).unwrap();
    }
    value.to_string().leak()
}

/// All of them.
pub(crate) static SAMPLES: LazyLock<Vec<Sample>> = LazyLock::new(|| {
    let full_usage = with(USAGE, &[("cache_creation", "3"), ("cache_read", "4")]);
    let attempt = with(r#"{"plugin":"p"}"#, &[("error", ERROR)]);
    let attempts = with(ERROR, &[("attempts", &format!("[{attempt}]"))]);
    let partial =
        with(r#"{"content":"so far","cost_usd":0.5,"session_id":"s"}"#, &[("usage", USAGE)]);
    let full_error = with(
        attempts,
        &[
            ("detail", r#""d""#),
            ("phase", r#""stall""#),
            ("cause", r#""rate_limited""#),
            ("exit_code", "-1"),
            ("signal", "9"),
            ("stderr_tail", r#""e""#),
            ("retry_after_ms", "18446744073709551615"),
            ("hint", r#""h""#),
            ("partial", partial),
        ],
    );
    let full_call = with(
        CALL,
        &[
            ("parent_id", r#""b""#),
            ("input", r#"{"command":"ls"}"#),
            ("raw", "[1]"),
            ("locations", r#"[{"path":"a","line":4294967295},{"path":"b"}]"#),
        ],
    );
    let result_of_tool = r#"{"id":"c","name":"Bash","output":"o","is_error":true,"truncated":false,
        "duration_ms":12}"#;
    let full_result = with(
        RESULT,
        &[
            ("usage", USAGE),
            ("session_id", r#""s""#),
            ("model", r#""m""#),
            ("cost_usd", "0.25"),
            ("tool_calls", &format!("[{full_call}]")),
            ("attempts", &format!("[{attempt}]")),
            ("files_changed", r#"["a"]"#),
            ("warnings", r#"["w"]"#),
        ],
    );
    let summary_of_error = r#"{"code":"TIMEOUT","cause":"store","message":"m"}"#;
    let full_task = with(
        TASK,
        &[
            ("plugin", r#""p""#),
            ("error", summary_of_error),
            ("started_at", "2"),
            ("duration_ms", "3"),
            ("cost_usd", "0.5"),
            ("usage", full_usage),
        ],
    );
    let attempt_record = r#"{"index":0,"plugin":"p","started_at":1,"ended_at":null,"error":null}"#;
    let full_attempt = with(attempt_record, &[("ended_at", "2"), ("error", ERROR)]);
    let tool = with(r#"{"started_at":1}"#, &[("call", CALL)]);
    let full_tool = with(tool, &[("result", result_of_tool), ("duration_ms", "4")]);
    let record = with(
        r#"{"model":null,"cwd":"/a","ended_at":null,"attempts":[],"tools":[],"result":null,"error":null}"#,
        &[("summary", TASK)],
    );
    let full_record = with(
        record,
        &[
            ("summary", full_task),
            ("model", r#""m""#),
            ("cwd", r#"{"base64":"L/8="}"#),
            ("ended_at", "5"),
            ("attempts", &format!("[{full_attempt}]")),
            ("tools", &format!("[{full_tool}]")),
            ("result", full_result),
            ("error", full_error),
        ],
    );
    let full_conversation = with(CONVERSATION, &[("title", r#""t""#), ("plugin", r#""p""#)]);
    let conversation = with(r#"{"tasks":[]}"#, &[("summary", CONVERSATION)]);
    let all_of_conversation =
        with(conversation, &[("summary", full_conversation), ("tasks", &format!("[{full_task}]"))]);
    let row = with(
        r#"{"plugin":null,"model":null,"tasks":1,"failed":0,"tokens_unknown":0,"cost_usd":null,
            "cost_unknown":1,"duration_ms":5}"#,
        &[("usage", USAGE)],
    );
    let full_row = with(row, &[("plugin", r#""p""#), ("model", r#""m""#), ("cost_usd", "1.5")]);
    let tested =
        with(r#"{"result":null,"error":null}"#, &[("result", full_result), ("error", full_error)]);
    let report = with(r#"{"since":5}"#, &[("rows", &format!("[{full_row}]"))]);
    let plugin = r#"{"name":"p","version":"1","active":true,"fallback":null,"enabled":true,
        "available":false,"agent_version":null,"binary":null,"found_by":null,"problem":null,"hint":null,
        "running":0,"max_concurrency":4,"resting_ms":null,"lacks":[],"own_rules":null}"#;
    let lack = r#"{"ability":"deltas","shows":"all at once"}"#;
    let full_plugin = with(
        plugin,
        &[
            ("fallback", "1"),
            ("agent_version", r#""2""#),
            ("binary", r#""/b""#),
            ("found_by", r#""PATH""#),
            ("problem", r#""p""#),
            ("hint", r#""h""#),
            ("resting_ms", "1"),
            ("lacks", &format!("[{lack}]")),
            ("own_rules", r#""o""#),
            ("broken", "true"),
        ],
    );
    let option = r#"{"id":"a","name":"Allow","kind":"allow_once"}"#;
    let question = with(
        r#"{"id":"q","tool_call_id":"c","title":"t"}"#,
        &[("options", &format!("[{option}]"))],
    );
    let full_status = with(
        STATUS,
        &[
            ("read_only", r#""full""#),
            ("configuration", r#""c""#),
            ("resting", r#"[{"plugin":"p","left_ms":1}]"#),
            ("tasks", &format!("[{TASK}]")),
        ],
    );
    let variable = r#"{"name":"A","value":{"base64":"/w=="}}"#;
    let variables = r#"{"environment":[{"name":"A","value":"b"}]}"#;
    let body = r#"{"prompt":"p","working_directory":"/a","mode":"coding","skip_context":false,
        "attended":false,"attached":false}"#;
    let full_body = with(
        body,
        &[
            ("task_id", r#""t""#),
            ("conversation_id", r#""c""#),
            ("plugin", r#""p""#),
            ("fallback", "true"),
            ("model", r#""m""#),
            ("timeout_ms", "5"),
            ("images", r#"[{"media_type":"image/png","data":""}]"#),
            ("files", r#"[{"path":"a"}]"#),
            ("permissions", r#""read-only""#),
            ("environment", &format!("[{variable}]")),
            ("env", r#"{"A":"b"}"#),
        ],
    );
    samples! {
        Sent Ability r#""usage""#, r#""usage""#;
        Sent Aborted r#"{"tasks":["t"]}"#, r#"{"tasks":[]}"#;
        Taken Attachment r#"{"path":"a","text":"b"}"#, r#"{"path":"a"}"#;
        Sent Attempt attempt, r#"{"plugin":"p"}"#;
        Sent AttemptRecord full_attempt, attempt_record;
        Sent Cause r#""panic""#, r#""panic""#;
        Sent Cleaned r#"{"sessions":1}"#, r#"{"sessions":0}"#;
        Taken Cleanup r#"{"max_age_ms":1}"#, r#"{"max_age_ms":0}"#;
        Sent ContextUsage r#"{"used":1,"size":2}"#, r#"{"used":1,"size":2}"#;
        Sent ConversationId r#""c""#, r#""c""#;
        Sent ConversationRecord all_of_conversation, conversation;
        Sent ConversationSummary full_conversation, CONVERSATION;
        Sent DaemonStatus full_status, STATUS;
        Sent DispatchAccepted r#"{"task_id":"t","conversation_id":"c","already":true}"#,
            r#"{"task_id":"t","conversation_id":"c","already":false}"#;
        Taken DispatchBody full_body, body;
        Sent DispatchResult full_result, RESULT;
        Taken EnvVar variable, variable;
        Sent ErrorCode r#""ABORTED""#, r#""ABORTED""#;
        Sent ErrorSummary summary_of_error, r#"{"code":"TIMEOUT","cause":null,"message":null}"#;
        Sent Event EVENTS[0], EVENTS[2];
        Sent EventBody r#"{"type":"notice","kind":"noise","message":"m"}"#,
            r#"{"type":"token","text":""}"#;
        Sent Gap r#"{"type":"gap","missed":3}"#, r#"{"type":"gap","missed":0}"#;
        Taken Image r#"{"media_type":"image/png","data":"","name":"n"}"#,
            r#"{"media_type":"image/png","data":""}"#;
        Sent Lack lack, lack;
        Sent Location r#"{"path":"a","line":1}"#, r#"{"path":"a"}"#;
        Taken Mode r#""general""#, r#""general""#;
        Sent NoticeKind r#""noise""#, r#""noise""#;
        Sent OptionKind r#""allow_once""#, r#""allow_once""#;
        Sent OsText r#"{"base64":"/w=="}"#, r#""""#;
        Sent Partial partial, r#"{"content":""}"#;
        Taken PermissionAnswer r#"{"option_id":"a"}"#, r#"{"option_id":null}"#;
        Sent PermissionOption option, option;
        Taken PermissionPolicy r#""full""#, r#""full""#;
        Sent PermissionRequest question, question;
        Sent PermissionResolution r#"{"id":"q","option_id":"a","by":"client"}"#,
            r#"{"id":"q","by":"end"}"#;
        Sent Phase r#""tool""#, r#""tool""#;
        Sent PlanEntry r#"{"content":"c","priority":"low","status":"pending"}"#,
            r#"{"content":"c","priority":"low","status":"pending"}"#;
        Sent PluginError full_error, ERROR;
        Sent PluginStatus full_plugin, plugin;
        Sent Problem r#"{"code":"not_found","message":"m","help":"h","command":"mia log","exit_code":2}"#,
            r#"{"code":"not_found","message":"m","exit_code":255}"#;
        Taken Rename r#"{"title":"t"}"#, r#"{"title":null}"#;
        Sent Resting r#"{"plugin":"p","left_ms":1}"#, r#"{"plugin":"p","left_ms":0}"#;
        Sent ResolvedBy r#""policy""#, r#""policy""#;
        Taken Stop r#"{"now":true}"#, r#"{"now":false}"#;
        Sent StopReason r#""refusal""#, r#""refusal""#;
        Taken Surroundings variables, "{}";
        Taken Switch with(variables, &[("name", r#""p""#)]), r#"{"name":"p"}"#;
        Sent Switched r#"{"file":"/f","problem":"p","hint":"h"}"#,
            r#"{"file":"/f","problem":null,"hint":null}"#;
        Sent TaskId r#""t""#, r#""t""#;
        Sent TaskRecord full_record, record;
        Sent TaskStatus r#""queued""#, r#""queued""#;
        Sent TaskSummary full_task, TASK;
        Sent Tested tested, r#"{"result":null,"error":null}"#;
        Sent ToolCallInfo full_call, CALL;
        Sent ToolContent r#"{"type":"diff","path":"a","old_text":"b","new_text":"c"}"#,
            r#"{"type":"terminal","terminal_id":"t"}"#;
        Sent ToolKind r#""fetch""#, r#""fetch""#;
        Sent ToolRecord full_tool, tool;
        Sent ToolResultInfo result_of_tool, result_of_tool;
        Sent ToolStatus r#""failed""#, r#""failed""#;
        Sent Usage full_usage, USAGE;
        Sent UsageReport report, r#"{"since":null,"rows":[]}"#;
        Sent UsageRow full_row, row;
    }
});

/// An event of each kind, and of those with several shapes each shape.
pub(crate) const EVENTS: &[&str] = &[
    r#"{"type":"token","text":"x","parent_id":"p","raw":{},"task_id":"t","seq":1,"offset":3}"#,
    r#"{"type":"thought","text":"x","parent_id":"p","raw":{},"task_id":"t","seq":1,"offset":3}"#,
    r#"{"type":"token","text":"","task_id":"t","seq":18446744073709551615}"#,
    r#"{"type":"thought","text":"x","task_id":"t","seq":1}"#,
    r#"{"type":"accepted","conversation_id":"c","queue_place":0,"task_id":"t","seq":1}"#,
    r#"{"type":"attempt","plugin":"p","index":0,"task_id":"t","seq":1}"#,
    r#"{"type":"tool_call","id":"c","parent_id":"b","name":"n","title":"t","kind":"read","input":[],"locations":[{"path":"a","line":1}],"raw":1,"task_id":"t","seq":1}"#,
    r#"{"type":"tool_update","id":"c","content":[],"task_id":"t","seq":1}"#,
    r#"{"type":"tool_update","id":"c","status":"pending","content":[{"type":"text","text":"x"},{"type":"diff","path":"a","new_text":"b"},{"type":"diff","path":"a","old_text":"a","new_text":"b"},{"type":"terminal","terminal_id":"t"},{"type":"other","raw":null}],"raw":{},"task_id":"t","seq":1}"#,
    r#"{"type":"tool_result","id":"c","name":"n","output":"o","is_error":false,"truncated":true,"duration_ms":1,"task_id":"t","seq":1}"#,
    r#"{"type":"plan","entries":[{"content":"c","priority":"high","status":"completed"}],"task_id":"t","seq":1}"#,
    r#"{"type":"usage","task_id":"t","seq":1}"#,
    r#"{"type":"usage","tokens":{"input_tokens":1,"output_tokens":1,"cache_read":1},"context":{"used":1,"size":2},"cost_usd":0.5,"raw":{},"task_id":"t","seq":1}"#,
    r#"{"type":"permission","id":"q","tool_call_id":"c","title":"t","options":[{"id":"a","name":"A","kind":"reject_always"}],"task_id":"t","seq":1}"#,
    r#"{"type":"permission_resolved","id":"q","by":"end","task_id":"t","seq":1}"#,
    r#"{"type":"permission_resolved","id":"q","option_id":"a","by":"client","task_id":"t","seq":1}"#,
    r#"{"type":"notice","kind":"context_reset","message":"m","task_id":"t","seq":1}"#,
    r#"{"type":"other","raw":null,"task_id":"t","seq":1}"#,
    r#"{"type":"complete","result":{"content":"","tool_calls":[],"duration_ms":0,"task_id":"t","conversation_id":"c","plugin":"p","stop_reason":"max_tokens","attempts":[],"files_changed":[],"context_reset":false,"warnings":[]},"task_id":"t","seq":1}"#,
    r#"{"type":"error","error":{"code":"UNKNOWN","plugin_name":"p","message":"m","detail":null,"phase":null,"cause":null,"exit_code":null,"signal":null,"stderr_tail":null,"retry_after_ms":null,"hint":null,"partial":null},"task_id":"t","seq":1}"#,
];
