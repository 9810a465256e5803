//! What the scripted agent says: lines as Claude Code prints them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;

/// How long a line of a stream is, without its line end.
pub(crate) const LINE: usize = 255;

const SESSION: &str = "53b16d42-7464-483e-854a-1beec93fba78";

/// A script for the agent, in a file of its own.
#[derive(Debug)]
pub(crate) struct Script {
    file: PathBuf,
}

impl Script {
    /// Writes a script into a folder.
    pub(crate) fn write(folder: &Path, name: &str, steps: &[String]) -> Result<Self, Failure> {
        let file = folder.join(format!("{name}.script"));
        fs::write(&file, steps.join("\n") + "\n")?;
        Ok(Self { file })
    }

    /// A program whose agent follows this script. It knows nothing of our environment but PATH.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("FAKECLI_SCRIPT_FILE", &self.file);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }
}

/// The first line.
pub(crate) fn init() -> String {
    format!(
        r#"out {{"type":"system","subtype":"init","cwd":"/","session_id":"{SESSION}","model":"claude-opus-5-5","permissionMode":"default"}}"#
    )
}

/// So many deltas of an answer, each a line of 255 bytes; and the bytes of text in one of them.
pub(crate) fn deltas(count: usize) -> (Vec<String>, usize) {
    let text = LINE.saturating_sub(delta("").len());
    let line =
        delta(&"a few words of an answer ".repeat(LINE).chars().take(text).collect::<String>());
    let message = format!(
        r#"out {{"type":"stream_event","event":{{"type":"message_start","message":{{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[]}}}},"session_id":"{SESSION}","parent_tool_use_id":null}}"#
    );
    (vec![message, format!("repeat {count} {line}")], text)
}

fn delta(text: &str) -> String {
    format!(
        r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":1,"delta":{{"type":"text_delta","text":"{text}"}}}},"session_id":"{SESSION}","parent_tool_use_id":null,"uuid":"c7d74ff3-7a50-48d3-b0e7-c86ac0593ec5"}}"#
    )
}

/// One line with that many bytes of answer in it.
pub(crate) fn big_line(bytes: usize) -> String {
    format!(
        r#"bigline {bytes} {{"type":"assistant","message":{{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-5-5","content":[{{"type":"text","text":"{{fill}}"}}]}},"parent_tool_use_id":null,"session_id":"{SESSION}"}}"#
    )
}

/// The last line.
pub(crate) fn result() -> String {
    format!(
        r#"out {{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"num_turns":1,"result":"done","stop_reason":"end_turn","session_id":"{SESSION}","total_cost_usd":0.01,"usage":{{"input_tokens":1,"output_tokens":1}}}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_delta_is_a_line_of_255_bytes_of_json() {
        let (steps, text) = deltas(7);
        let line = steps.last().and_then(|step| step.strip_prefix("repeat 7 ")).unwrap();
        assert_eq!(line.len(), LINE);
        let json: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(json["event"]["delta"]["text"].as_str().map(str::len), Some(text));
    }
}
