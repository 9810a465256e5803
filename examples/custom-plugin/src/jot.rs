//! A plugin for a CLI: all that is particular about `jot`, in one file.
//!
//! `jot` reads the prompt from stdin and prints lines like these:
//!
//! ```json
//! {"event":"session","id":"s-1"}
//! {"event":"tool","id":"t-1","name":"count","of":"words"}
//! {"event":"tool-done","id":"t-1","output":"3"}
//! {"event":"text","text":"noted"}
//! {"event":"end"}
//! ```

use mia_api::{Cause, ErrorCode, PluginError, StopReason, ToolCallInfo, ToolKind};
use mia_plugin::{Call, CliAdapter, Launch, Noise, Out, Profile};
use serde::Deserialize;
use serde_json::json;

/// The adapter for `jot`.
#[derive(Debug, Clone)]
pub(crate) struct Jot;

/// What `jot` prints.
#[derive(Debug, Deserialize)]
struct Line<'a> {
    event: &'a str,
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    of: String,
    #[serde(default)]
    output: String,
    #[serde(default)]
    text: String,
}

impl CliAdapter for Jot {
    fn build_args(&mut self, call: &Call<'_>) -> Result<Launch, PluginError> {
        let mut launch = Launch::default();
        if let Some(session) = call.session {
            launch.arg(format!("--resume={}", session.session_id));
        }
        // Never as an argument: prompts may be long, begin with a dash, and be nobody's business.
        launch.stdin = call.prompt.as_bytes().to_vec();
        Ok(launch)
    }

    fn parse_output(&mut self, line: &str, out: &mut Out) -> Result<(), Noise> {
        let line: Line<'_> = serde_json::from_str(line)?;
        match line.event {
            "session" => out.session(&line.id),
            "text" => out.token(&line.text),
            "tool" => out.tool_call(ToolCallInfo {
                title: format!("{} {}", line.name, line.of),
                input: json!({"of": line.of}),
                kind: ToolKind::Read,
                id: line.id,
                name: line.name,
                ..ToolCallInfo::default()
            }),
            "tool-done" => out.tool_result(&line.id, &line.output, false),
            "error" => {
                let error = out.error(ErrorCode::ProviderError, Cause::Server, line.text);
                out.fail(error);
            }
            "end" => out.complete(StopReason::EndTurn),
            unknown => return Err(Noise::UnknownType(unknown.to_owned())),
        }
        Ok(())
    }

    // Everything below is optional.
    fn profile(&self) -> Profile {
        Profile {
            install: "put examples/custom-plugin/bin on your PATH".to_owned(),
            env: vec!["JOT_*".to_owned()],
            ..Profile::default()
        }
    }
}
