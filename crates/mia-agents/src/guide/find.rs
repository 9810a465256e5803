//! Where a text is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mia_api::ToolKind;
use serde_json::json;

use super::place::{self, Place};
use super::prose;
use super::stop::{Budget, Ended};
use super::talk::{Output, Talk, Tool, shown};
use super::{text_file, walk};

/// How many matches are shown at once.
const PAGE: u64 = 30;

/// How many file names are shown.
const NAMES: usize = 10;

/// How much of one file is searched, in bytes.
const FILE: u64 = 4 * 1024 * 1024;

/// How long a search may take.
const LIMIT: Duration = Duration::from_secs(10);

/// How much of a line is shown, in characters.
const LINE: usize = 70;

/// A line that matches.
#[derive(Debug, PartialEq, Eq)]
struct Match {
    path: String,
    line: u64,
    text: String,
}

/// What a search found.
#[derive(Debug, Default)]
struct Matches {
    /// Those that are shown.
    page: Vec<Match>,
    /// How many there are.
    total: u64,
    /// In how many files they are.
    files: u64,
    /// Files that are named like it.
    names: Vec<String>,
    /// How many files were searched.
    searched: u64,
    /// False when time ran out.
    complete: bool,
}

/// Answers `find …`, from a match on. Returns where it goes on.
pub(super) async fn find(
    talk: &mut Talk<'_>,
    text: &str,
    within: Option<&str>,
    from: u64,
) -> Result<Option<u64>, Ended> {
    let quoted = prose::clean(&prose::cut(text, 60));
    let cwd = talk.cwd().to_owned();
    let path = within.unwrap_or(".").to_owned();
    let home = talk.dispatch.environment.get("HOME").map(PathBuf::from);
    let place = talk
        .stop
        .files(LIMIT, move |_| place::resolve(&cwd, &path, home.as_deref()))
        .await?
        .unwrap_or_else(|| Err(std::io::Error::other("the guide's code failed")));
    let place = match place {
        Ok(place) => place,
        Err(_) => {
            let within = prose::clean(within.unwrap_or("."));
            talk.say(format!("There is no `{within}` here that I can search.\n")).await?;
            return Ok(None);
        }
    };
    let where_to =
        within.map(|within| format!(" in `{}`", prose::clean(within))).unwrap_or_default();
    let tool = Tool {
        name: "search_text",
        title: format!("Search for \"{quoted}\"{where_to}"),
        kind: ToolKind::Search,
        input: json!({ "text": text, "path": within.unwrap_or(".") }),
        path: Some(&place.real),
    };
    let open = talk.begin(tool).await?;
    if !place.inside {
        let title = format!("Search in {}, outside the working directory", shown(&place.real));
        if !talk.may_leave(&open, title).await? {
            talk.end(open, Output::error("not allowed")).await?;
            talk.say(format!(
                "I did not search in `{}`: it is outside the working directory, and that was not\n\
                 allowed.\n",
                shown(&place.real)
            ))
            .await?;
            return Ok(None);
        }
    }
    let needle = Needle::new(text);
    let prefix = PathBuf::from(within.unwrap_or_default());
    let Place { real, .. } = place;
    let matches = talk
        .stop
        .files(LIMIT, move |budget| search(&real, &prefix, &needle, from, budget))
        .await?
        .unwrap_or_default();
    let mut lines = String::new();
    for found in &matches.page {
        lines.push_str(&format!("{}:{}: {}\n", found.path, found.line, found.text));
    }
    let truncated = matches.total > from + matches.page.len() as u64 || !matches.complete;
    talk.end(open, Output { text: lines, is_error: false, truncated }).await?;
    say(talk, &matches, &quoted, &where_to, from).await?;
    let next = from + matches.page.len() as u64;
    Ok((matches.total > next).then_some(next))
}

async fn say(
    talk: &mut Talk<'_>,
    matches: &Matches,
    quoted: &str,
    where_to: &str,
    from: u64,
) -> Result<(), Ended> {
    if from == 0 {
        let number = match matches.total {
            0 => "Nothing".to_owned(),
            total => prose::count(total, "line", "lines"),
        };
        let files = match matches.files {
            0 => format!("{} searched", prose::count(matches.searched, "file", "files")),
            files => prose::count(files, "file", "files"),
        };
        let verb = if matches.total > 1 { "match" } else { "matches" };
        let end = if matches.complete { "" } else { ", as far as I got in 10 s" };
        let text = format!("{number} {verb} \"{quoted}\"{where_to}, in {files}{end}.\n");
        talk.say(prose::wrap(&text) + "\n").await?;
    }
    if !matches.names.is_empty() {
        let mut text = "\nFiles named like it:\n\n".to_owned();
        for name in &matches.names {
            text.push_str(&format!("- `{name}`\n"));
        }
        talk.say(text).await?;
    }
    for group in matches.page.chunk_by(|a, b| a.path == b.path) {
        let Some(first) = group.first() else { continue };
        let mut text = format!("\n`{}`\n\n", first.path);
        for found in group {
            text.push_str(&format!("    {:>5}  {}\n", found.line, found.text));
        }
        talk.say(text).await?;
    }
    Ok(())
}

/// What is searched for: any case, unless it has a capital letter.
#[derive(Debug)]
struct Needle {
    text: String,
    exact: bool,
}

impl Needle {
    fn new(text: &str) -> Self {
        let exact = text.chars().any(char::is_uppercase);
        Self { text: text.to_owned(), exact }
    }

    /// Where it is in a line, in bytes of the line as it is compared.
    fn find(&self, line: &str) -> Option<usize> {
        if self.exact { line.find(&self.text) } else { line.to_lowercase().find(&self.text) }
    }

    /// Whether it can be in a text at all.
    fn is_in(&self, text: &str) -> bool {
        if self.exact {
            text.contains(&self.text)
        } else {
            text.to_lowercase().contains(&self.text)
        }
    }
}

/// Searches below a folder, or in a file; `prefix` is how the person named it.
fn search(root: &Path, prefix: &Path, needle: &Needle, from: u64, budget: &Budget) -> Matches {
    let walk = walk::walk(root, budget);
    let mut matches = Matches { complete: walk.complete, ..Matches::default() };
    let single = root.is_file();
    for found in walk.files {
        if budget.is_spent() {
            matches.complete = false;
            break;
        }
        let (path, name) = if single {
            (root.to_owned(), shown(prefix))
        } else {
            (root.join(&found.path), shown(&prefix.join(&found.path)))
        };
        let is_alike = needle.find(&shown(&found.path)).is_some();
        if from == 0 && matches.names.len() < NAMES && is_alike {
            matches.names.push(name.clone());
        }
        let Some(text) = text_file::beginning(&path, FILE) else {
            continue;
        };
        matches.searched += 1;
        if !needle.is_in(&text) {
            continue;
        }
        let before = matches.total;
        for (number, line) in (1..).zip(text.lines()) {
            let Some(at) = needle.find(line) else {
                continue;
            };
            if matches.total >= from && matches.page.len() < PAGE as usize {
                let text = excerpt(line, at);
                matches.page.push(Match { path: name.clone(), line: number, text });
            }
            matches.total += 1;
        }
        matches.files += u64::from(matches.total > before);
    }
    matches
}

/// The part of a line around a match.
fn excerpt(line: &str, at: usize) -> String {
    let indent = line.len() - line.trim_start().len();
    let line = line.trim();
    let at = line.floor_char_boundary(at.saturating_sub(indent));
    let before = line.get(..at).map_or(0, |before| before.chars().count());
    if before <= LINE - 20 {
        return prose::cut(&prose::clean(line), LINE);
    }
    let rest: String = line.chars().skip(before - 20).collect();
    prose::cut(&prose::clean(&format!("…{rest}")), LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_is_always_in_its_excerpt() {
        let long = format!("{}needle{}", "x".repeat(500), "y".repeat(500));
        let shown = excerpt(&long, 500);
        assert!(shown.contains("needle") && shown.chars().count() <= LINE, "{shown}");
        assert_eq!(excerpt("    let a = 1;", 8), "let a = 1;");
    }

    #[test]
    fn capital_letters_make_it_exact() {
        assert_eq!(Needle::new("todo").find("// TODO"), Some(3));
        assert_eq!(Needle::new("Todo").find("// TODO"), None);
        assert_eq!(Needle::new("ä").find("Ä"), Some(0));
    }
}
