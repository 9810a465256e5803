//! One line for people about a tool call.

use serde_json::Value;

/// Members of an input that tell what a tool works on, in the words of the agents there are.
const SUBJECTS: [&str; 12] = [
    "command",
    "file_path",
    "filePath",
    "notebook_path",
    "pattern",
    "path",
    "url",
    "query",
    "description",
    "prompt",
    "text",
    "name",
];

/// The tool and what it works on.
pub(crate) fn title(tool: &str, input: &Value) -> String {
    let subject = SUBJECTS.iter().find_map(|key| input.get(key).and_then(Value::as_str));
    let line = subject.and_then(|s| s.lines().find(|l| !l.trim().is_empty())).unwrap_or_default();
    let mut short: String = line.chars().take(160).collect();
    if subject.is_some_and(|subject| subject.trim() != short.trim()) {
        short.push('…');
    }
    format!("{tool} {}", short.trim()).trim_end().to_owned()
}
