//! Calls and questions in words.

use serde_json::Value;

/// How much of what would run a question shows, in characters.
const QUESTION: usize = 8000;

/// A text on one line; what does not fit is counted.
fn one_line(text: &str, most: usize) -> String {
    let text = text.trim().replace("\r\n", "\n").replace('\n', " ⏎ ");
    let mut shown: String = text.chars().take(most).collect();
    let hidden = text.chars().count().saturating_sub(most);
    if hidden > 0 {
        shown.push_str(&format!(" … and {hidden} characters more"));
    }
    shown
}

/// All that a call would do, on one line: nobody should have to allow what they can't see.
pub(crate) fn question(tool: &str, subject: &str) -> String {
    format!("{tool} {}", one_line(subject, QUESTION)).trim_end().to_owned()
}

/// One line for people: the tool and what it works on.
pub(crate) fn title(tool: &str, input: &Value) -> String {
    let keys =
        ["command", "filePath", "file_path", "pattern", "path", "url", "query", "description"];
    let subject = keys.iter().find_map(|key| input.get(key).and_then(Value::as_str));
    let line = subject.and_then(|s| s.lines().find(|l| !l.trim().is_empty())).unwrap_or_default();
    let mut short: String = line.chars().take(160).collect();
    if subject.is_some_and(|subject| subject.trim() != short.trim()) {
        short.push('…');
    }
    format!("{tool} {}", short.trim()).trim_end().to_owned()
}
