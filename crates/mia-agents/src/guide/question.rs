//! What a prompt asks for: fixed rules, the same answer each time.

use serde::{Deserialize, Serialize};

/// As much of a prompt as is looked at, in characters.
const LONGEST: usize = 500;

/// What a prompt asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Question {
    /// What it is and can do.
    Help,
    /// What this repository is.
    Overview,
    /// What is not committed yet.
    Changed,
    /// The same, line by line.
    Diff,
    /// What was committed.
    Log,
    /// Where a text is.
    Find {
        /// The text.
        text: String,
        /// The file or folder that is searched.
        within: Option<String>,
    },
    /// What is in a file or folder.
    Show {
        /// The file or folder.
        path: String,
        /// The first line, counted from 1.
        first: Option<u64>,
        /// The last line.
        last: Option<u64>,
    },
    /// What was asked before.
    Recall,
    /// To go on where the last answer stopped.
    More,
    /// The last question once more.
    Again,
    /// Something else.
    Unknown,
}

impl Question {
    /// Reads a prompt.
    pub(super) fn of(prompt: &str) -> Self {
        let cut: String = prompt.trim_start().chars().take(LONGEST).collect();
        let line = cut.lines().next().unwrap_or_default();
        let line = line.trim().trim_end_matches(['?', '!', ',']);
        // A full stop ends a sentence; alone it is a folder.
        let line = line.strip_suffix('.').filter(|l| !l.ends_with([' ', '.', '/'])).unwrap_or(line);
        let line = line.trim_end();
        let line = after(line, &["please ", "can you ", "could you ", "hey, ", "now ", "and "]);
        let line = line.strip_suffix(" please").unwrap_or(line);
        let low = line.to_lowercase().replace('’', "'");
        whole(&low).or_else(|| with_words(line, &low)).unwrap_or_else(|| about(&low))
    }
}

/// Prompts that are known as a whole.
fn whole(low: &str) -> Option<Question> {
    Some(match low {
        "" | "help" | "hello" | "hi" | "?" | "what can you do" | "who are you" | "what are you"
        | "how do you work" | "what is mia" => Question::Help,
        "more" | "next" | "continue" | "go on" | "keep going" | "show more" | "show me more" => {
            Question::More
        }
        "again" | "repeat" | "repeat that" | "once more" | "same again" => Question::Again,
        "ls" | "tree" | "about" => Question::Overview,
        "log" | "history" | "commits" | "git log" => Question::Log,
        "status" | "changes" | "git status" => Question::Changed,
        "diff" | "git diff" => Question::Diff,
        _ if ["what did i ask", "my last question", "my questions", "my previous question"]
            .iter()
            .any(|words| low.contains(words)) =>
        {
            Question::Recall
        }
        _ => return None,
    })
}

/// Prompts that begin with what is to be done and go on with what to do it to.
fn with_words(line: &str, low: &str) -> Option<Question> {
    const SHOW: &[&str] = &["show ", "cat ", "open ", "read ", "print ", "view ", "display "];
    const FIND: &[&str] = &[
        "find ",
        "search ",
        "grep ",
        "look for ",
        "where is ",
        "where are ",
        "where's ",
        "who uses ",
        "who calls ",
        "which files contain ",
        "which files mention ",
        "which files use ",
    ];
    if let Some(rest) = begins(line, SHOW) {
        let words = &["me ", "the ", "contents of ", "content of ", "file ", "folder "];
        let rest = after(rest, words);
        let known = about(&rest.to_lowercase());
        let looks_like_a_path = rest.contains(['/', '.']) && !rest.contains(' ');
        if known != Question::Unknown && !looks_like_a_path {
            return Some(known);
        }
        return show(rest);
    }
    if let Some(rest) = begins(line, FIND) {
        return find(rest);
    }
    // A path alone.
    (!low.contains(' ') && low.contains('/')).then(|| show(line)).flatten()
}

/// Prompts by the words in them.
fn about(low: &str) -> Question {
    let words: Vec<&str> =
        low.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|w| !w.is_empty()).collect();
    let has = |any: &[&str]| words.iter().any(|word| any.contains(word));
    if has(&["diff", "patch"]) {
        Question::Diff
    } else if has(&["log", "commits", "commit", "history"]) && !has(&["uncommitted"]) {
        Question::Log
    } else if has(&["changed", "changes", "change", "status", "uncommitted", "modified", "new"]) {
        Question::Changed
    } else if has(&["overview", "structure", "summary", "languages"])
        || (has(&["how"]) && has(&["build", "compile", "install", "run", "start", "test"]))
        || (has(&["explain", "describe", "summarize", "summarise", "what", "what's", "about"])
            && has(&[
                "repo",
                "repository",
                "project",
                "codebase",
                "code",
                "folder",
                "directory",
                "here",
                "this",
            ]))
    {
        Question::Overview
    } else {
        Question::Unknown
    }
}

/// `src/main.rs`, `src/main.rs 10-40`, `src/main.rs:10`, `lines 10 to 40 of src/main.rs`.
fn show(rest: &str) -> Option<Question> {
    let rest = match begins(rest, &["lines ", "line "]) {
        Some(lines) => {
            let (lines, path) = split_once(lines, &[" of ", " in ", " from "])?;
            return path_and_lines(path, range(lines)?);
        }
        None => rest,
    };
    if let Some((path, lines)) =
        split_once(rest, &[" from line ", " from lines ", " lines ", " line "])
        && let Some(range) = range(lines)
    {
        return path_and_lines(path, range);
    }
    for divider in [' ', ':'] {
        if let Some((path, lines)) = rest.rsplit_once(divider)
            && let Some(range) = range(lines)
        {
            return path_and_lines(path, range);
        }
    }
    path_and_lines(rest, (None, None))
}

fn path_and_lines(path: &str, (first, last): (Option<u64>, Option<u64>)) -> Option<Question> {
    let path = unquoted(path.trim_end_matches(':'));
    (!path.is_empty()).then(|| Question::Show { path: path.to_owned(), first, last })
}

/// `10`, `10-40`, `10:40`, `10 to 40`, `10..40`, `10-`.
fn range(lines: &str) -> Option<(Option<u64>, Option<u64>)> {
    let lines = lines.trim();
    if let Ok(line) = lines.parse() {
        return Some((Some(line), None));
    }
    let (first, last) = split_once(lines, &[" to ", "..", "-", "–", ":", " "])?;
    let first = first.trim().parse().ok()?;
    let last = last.trim();
    if last.is_empty() { Some((Some(first), None)) } else { Some((Some(first), last.parse().ok())) }
}

fn find(rest: &str) -> Option<Question> {
    let words = &[
        "for ",
        "all ",
        "me ",
        "the ",
        "files named ",
        "files called ",
        "file named ",
        "files ",
        "file ",
        "text ",
        "uses of ",
        "usages of ",
        "occurrences of ",
        "definition of ",
        "word ",
        "function ",
        "struct ",
        "class ",
        "string ",
    ];
    let rest = rest.trim();
    let quoted = rest.len() > 2 && unquoted(rest) != rest;
    let rest = if quoted { rest } else { after(rest, words) };
    let rest =
        [" defined", " used", " called", " implemented", " declared", " mentioned", " located"]
            .iter()
            .find_map(|word| rest.strip_suffix(word))
            .unwrap_or(rest);
    let (text, within) = match rest.rsplit_once(" in ") {
        Some((text, place)) if !place.trim().contains(' ') => {
            let here =
                ["here", "repo", "repository", "project", "codebase", "code"].contains(&place);
            (text, (!here).then(|| unquoted(place).to_owned()))
        }
        Some((text, place)) if place.starts_with("this ") || place.starts_with("the ") => {
            (text, None)
        }
        _ => (rest, None),
    };
    let text = unquoted(text);
    (!text.is_empty()).then(|| Question::Find { text: text.to_owned(), within })
}

/// The rest of a line that begins with one of these, in any case.
fn begins<'a>(line: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|word| {
        let (head, rest) = line.split_at_checked(word.len())?;
        head.eq_ignore_ascii_case(word).then(|| rest.trim_start())
    })
}

/// The line without any of these at its beginning.
fn after<'a>(mut line: &'a str, words: &[&str]) -> &'a str {
    while let Some(rest) = begins(line, words).filter(|rest| !rest.is_empty()) {
        line = rest;
    }
    line
}

fn split_once<'a>(text: &'a str, dividers: &[&str]) -> Option<(&'a str, &'a str)> {
    dividers.iter().find_map(|divider| text.split_once(divider))
}

/// The text without quotes around it.
fn unquoted(text: &str) -> &str {
    let text = text.trim();
    [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('<', '>')]
        .iter()
        .find_map(|(open, close)| text.strip_prefix(*open)?.strip_suffix(*close))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(path: &str, first: Option<u64>, last: Option<u64>) -> Question {
        Question::Show { path: path.to_owned(), first, last }
    }

    fn find(text: &str, within: Option<&str>) -> Question {
        Question::Find { text: text.to_owned(), within: within.map(str::to_owned) }
    }

    #[test]
    fn plain_english_is_understood() {
        for (prompt, question) in [
            ("", Question::Help),
            ("Help!", Question::Help),
            ("what can you do?", Question::Help),
            ("what is this repository?", Question::Overview),
            ("Explain this repo", Question::Overview),
            ("give me an overview", Question::Overview),
            ("how do I build this?", Question::Overview),
            ("What changed?", Question::Changed),
            ("show me what changed", Question::Changed),
            ("git status", Question::Changed),
            ("show the diff", Question::Diff),
            ("log", Question::Log),
            ("show me the last commits, please", Question::Log),
            ("more", Question::More),
            ("Go on.", Question::More),
            ("again", Question::Again),
            ("what did I ask?", Question::Recall),
            ("find TODO", find("TODO", None)),
            ("find TODO in src", find("TODO", Some("src"))),
            ("find \"for the win\"", find("for the win", None)),
            ("where is parse_output", find("parse_output", None)),
            ("Where is parse_output defined?", find("parse_output", None)),
            ("search for `fn main` in this repository", find("fn main", None)),
            ("show src/main.rs", show("src/main.rs", None, None)),
            ("show src/main.rs 10-40", show("src/main.rs", Some(10), Some(40))),
            ("show src/main.rs:7", show("src/main.rs", Some(7), None)),
            ("show lines 3 to 5 of a b.txt", show("a b.txt", Some(3), Some(5))),
            ("cat README.md", show("README.md", None, None)),
            ("please show me the file Cargo.toml", show("Cargo.toml", None, None)),
            ("show CHANGES.md", show("CHANGES.md", None, None)),
            ("show src", show("src", None, None)),
            ("show .", show(".", None, None)),
            ("show ../..", show("../..", None, None)),
            ("show src/main.rs.", show("src/main.rs", None, None)),
            ("open /etc/hosts", show("/etc/hosts", None, None)),
            ("src/lib.rs", show("src/lib.rs", None, None)),
            ("how do I fix it?", Question::Unknown),
            ("write me a poem", Question::Unknown),
            ("fix the bug in main.rs", Question::Unknown),
        ] {
            assert_eq!(Question::of(prompt), question, "{prompt:?}");
        }
    }

    #[test]
    fn no_prompt_is_too_odd() {
        for prompt in
            ["show", "find", "find \"\"", "show  ", "ßhow ẞ", "show :", "show 10-20", "\0"]
        {
            let _ = Question::of(prompt);
        }
        assert_eq!(Question::of(&"x".repeat(1_000_000)), Question::Unknown);
    }
}
