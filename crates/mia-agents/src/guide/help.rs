//! What the guide says of itself.

use super::session::Memory;

/// Said at the end of the first answer of a conversation.
pub(super) const FOOTNOTE: &str =
    "\n*This was Mia's guide: a fixed program, no AI model. Ask it `help`.*\n";

const WHAT_IT_DOES: &str = "\
- `what is this repository?` for an overview
- `what changed?` or `diff` for what is not committed yet
- `log` for the last commits
- `find parse_output`, also `find TODO in src`
- `show src/main.rs`, also `show src/main.rs 10-40` or `show docs`
- `more` to go on where the last answer stopped, `again` to repeat it
- `what did I ask?`
";

const REAL_AGENTS: &str = "\
For real work ask a coding agent: `mia plugin list` shows which ones are
installed and how to get the others. Then: `mia ask \"…\"`, without `--plugin guide`.
";

/// The answer to `help`.
pub(super) fn help() -> String {
    format!(
        "I am Mia's guide: a small, fixed program in the `mia` binary, no AI model. I read\n\
         files and ask git, and change nothing. I understand:\n\n{WHAT_IT_DOES}\n{REAL_AGENTS}"
    )
}

/// The answer to what it does not understand.
pub(super) fn unknown() -> String {
    format!(
        "I don't understand that: I am Mia's guide, a small, fixed program, no AI model.\n\
         I can answer these:\n\n{WHAT_IT_DOES}\n{REAL_AGENTS}"
    )
}

/// The answer to `what did I ask?`.
pub(super) fn recall(memory: &Memory) -> String {
    if memory.prompts.is_empty() {
        return "Nothing yet: this is the first thing you ask me in this conversation.\n"
            .to_owned();
    }
    let forgotten = memory.turns.saturating_sub(memory.prompts.len() as u64);
    let mut text = "In this conversation you asked me:\n\n".to_owned();
    for (number, prompt) in (forgotten + 1..).zip(&memory.prompts) {
        let prompt = if prompt.is_empty() { "(nothing)" } else { prompt };
        text.push_str(&format!("{number}. {prompt}\n"));
    }
    text
}
