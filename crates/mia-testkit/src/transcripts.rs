//! What the real agents printed when they were recorded, by agent and case.
//!
//! `CASE.stdout`, `CASE.stderr`, `CASE.meta` are a one-shot run; `CASE.ndjson` is a dialogue. Paths in them are neutral: `/w` is where the
//! agent worked, `/h` its home, `/t` the temp folder.

use std::fs;
use std::path::{Path, PathBuf};

/// One recorded run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// The case, which is the file's name without its ending.
    pub case: String,
    /// What the agent wrote to stdout, byte for byte but for the paths.
    pub stdout: Vec<u8>,
    /// What it wrote to stderr.
    pub stderr: Vec<u8>,
    /// The dialogue, where it was one.
    pub dialogue: Vec<Turn>,
    /// The command line, exit code and the like, for people.
    pub meta: String,
}

/// One line of a dialogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// A line that the client sent.
    Sent(String),
    /// A line that the agent sent.
    Received(String),
    /// What the recorder did or saw besides.
    Remark(String),
}

/// All recordings of Claude Code, by case.
///
/// # Panics
/// When they can't be read.
#[must_use]
pub fn claude() -> Vec<Transcript> {
    recordings("claude")
}

/// All recordings of Codex, by case. Its first remark says what the turn was allowed, and which
/// session it resumes.
///
/// # Panics
/// When they can't be read.
#[must_use]
pub fn codex() -> Vec<Transcript> {
    recordings("codex")
}

/// All recordings of Gemini CLI, by case.
///
/// # Panics
/// When they can't be read.
#[must_use]
pub fn gemini() -> Vec<Transcript> {
    recordings("gemini")
}

/// All recordings of `opencode run --format json`, by case.
///
/// # Panics
/// When they can't be read.
#[must_use]
pub fn opencode_run() -> Vec<Transcript> {
    recordings("opencode-run")
}

fn recordings(agent: &str) -> Vec<Transcript> {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts").join(agent))
}

/// All recordings of Qwen Code, by case. A remark that begins with `stderr ` is a line of stderr.
///
/// # Panics
/// When they can't be read.
#[must_use]
pub fn qwen() -> Vec<Transcript> {
    recordings("qwen")
}

/// All recordings of opencode's ACP dialogue, by case.
///
/// # Panics
/// When they can't be read.
#[must_use]
pub fn opencode() -> Vec<Transcript> {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts/opencode"))
}

fn read(folder: &Path) -> Vec<Transcript> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    let ends =
        |path: &Path, ending: &str| path.extension().is_some_and(|extension| extension == ending);
    let mut transcripts: Vec<Transcript> = Vec::new();
    for path in paths.iter().filter(|path| ends(path, "stdout") || ends(path, "ndjson")) {
        let text =
            |ending: &str| fs::read_to_string(path.with_extension(ending)).unwrap_or_default();
        let case = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let dialogue = if ends(path, "ndjson") { dialogue(&text("ndjson")) } else { Vec::new() };
        let stdout = if dialogue.is_empty() {
            fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        } else {
            received(&dialogue)
        };
        transcripts.push(Transcript {
            case,
            stdout,
            stderr: text("stderr").into_bytes(),
            meta: text("meta"),
            dialogue,
        });
    }
    transcripts
}

fn dialogue(text: &str) -> Vec<Turn> {
    let turn = |line: &str| {
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        match mark {
            ">" => Turn::Sent(rest.to_owned()),
            "<" => Turn::Received(rest.to_owned()),
            "!" => Turn::Remark(rest.to_owned()),
            _ => panic!("a line of a dialogue starts with >, < or !: {line}"),
        }
    };
    text.split_terminator('\n').map(turn).collect()
}

fn received(dialogue: &[Turn]) -> Vec<u8> {
    let lines = dialogue.iter().filter_map(|turn| match turn {
        Turn::Received(line) => Some(format!("{line}\n")),
        _ => None,
    });
    lines.collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn all_recordings_of_claude_are_lines_of_json_with_a_case_each() {
        let transcripts = claude();
        assert!(transcripts.len() > 40, "{}", transcripts.len());
        for transcript in &transcripts {
            let text = std::str::from_utf8(&transcript.stdout).unwrap();
            for line in text.lines() {
                let parsed: Result<serde_json::Value, _> = serde_json::from_str(line);
                assert!(parsed.is_ok(), "{}: {line}", transcript.case);
            }
        }
        let mut cases: Vec<&str> =
            transcripts.iter().map(|transcript| transcript.case.as_str()).collect();
        cases.dedup();
        assert_eq!(cases.len(), transcripts.len());
    }

    #[test]
    fn a_dialogue_keeps_who_said_what() {
        let turns = dialogue("! started\n> {\"a\":1}\n< {\"b\": 2}\n");
        assert_eq!(
            turns,
            [
                Turn::Remark("started".to_owned()),
                Turn::Sent("{\"a\":1}".to_owned()),
                Turn::Received("{\"b\": 2}".to_owned())
            ]
        );
        assert_eq!(received(&turns), b"{\"b\": 2}\n");
    }
}
