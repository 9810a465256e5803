//! What is in a file or folder.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mia_api::ToolKind;
use serde_json::json;

use super::place::{self, Place};
use super::prose;
use super::stop::{Budget, Ended};
use super::talk::{Output, Talk, Tool, shown};
use super::text_file::{self, Lines, Opened};
use super::walk;

/// How many lines are shown at once when nobody says how many.
const PAGE: u64 = 100;

/// The most lines that are shown at once.
const MOST: u64 = 400;

/// How many entries of a folder are shown at once.
const ENTRIES: usize = 100;

/// How much is shown at once, in bytes.
const BYTES: usize = 64 * 1024;

/// How long reading may take.
const LIMIT: Duration = Duration::from_secs(10);

/// What was found at a path.
#[derive(Debug)]
enum Found {
    Lines(Lines),
    Entries { entries: Vec<String>, more: bool },
    Binary(u64),
    Special,
    Unreadable(String),
}

/// Answers `show …`. Returns the line where it goes on.
pub(super) async fn show(
    talk: &mut Talk<'_>,
    path: &str,
    first: Option<u64>,
    last: Option<u64>,
) -> Result<Option<u64>, Ended> {
    let Some((place, typed)) = locate(talk, path).await? else {
        return Ok(None);
    };
    let first = first.unwrap_or(1).max(1);
    let most =
        last.map_or(PAGE, |last| last.saturating_sub(first).saturating_add(1)).clamp(1, MOST);
    let title =
        if place.inside { format!("Read {typed}") } else { format!("Read {}", shown(&place.real)) };
    let tool = Tool {
        name: "read_file",
        title,
        kind: ToolKind::Read,
        input: json!({ "path": path, "first": first, "lines": most }),
        path: Some(&place.real),
    };
    let open = talk.begin(tool).await?;
    if !place.inside {
        let title = format!("Read {}, outside the working directory", shown(&place.real));
        if !talk.may_leave(&open, title).await? {
            talk.end(open, Output::error("not allowed")).await?;
            let path = shown(&place.real);
            talk.say(format!(
                "I did not read `{path}`: it is outside the working directory, and that was\n\
                 not allowed.\n"
            ))
            .await?;
            return Ok(None);
        }
    }
    let real = place.real.clone();
    let found = talk
        .stop
        .files(LIMIT, move |budget| read(&real, first, most, budget))
        .await?
        .unwrap_or_else(|| Found::Unreadable("the guide's code failed".to_owned()));
    let output = match &found {
        Found::Lines(Lines { lines, more, .. }) => {
            Output { text: lines.join("\n"), is_error: false, truncated: *more }
        }
        Found::Entries { entries, more } => {
            Output { text: entries.join("\n"), is_error: false, truncated: *more }
        }
        Found::Binary(size) => {
            Output { text: format!("{size} bytes, no text"), ..Output::default() }
        }
        Found::Special => Output::error("a pipe, a socket or a device"),
        Found::Unreadable(problem) => Output::error(problem),
    };
    talk.end(open, output).await?;
    say(talk, &typed, found, first).await
}

async fn say(
    talk: &mut Talk<'_>,
    typed: &str,
    found: Found,
    first: u64,
) -> Result<Option<u64>, Ended> {
    match found {
        Found::Lines(Lines { lines, before, more }) => {
            if lines.is_empty() {
                talk.say(match before {
                    0 if first == 1 => format!("`{typed}` is empty.\n"),
                    lines => {
                        format!("`{typed}` has only {}.\n", prose::count(lines, "line", "lines"))
                    }
                })
                .await?;
                return Ok(None);
            }
            let end = first + lines.len() as u64;
            let width = (end - 1).to_string().len();
            let part = match (first, more) {
                (1, false) => String::new(),
                _ => format!(", lines {first} to {}", end - 1),
            };
            talk.say(format!("`{typed}`{part}\n\n")).await?;
            let mut numbered = String::new();
            for (number, line) in (first..).zip(&lines) {
                let line = format!("{number:>width$}  {line}");
                numbered.push_str(line.trim_end());
                numbered.push('\n');
            }
            talk.say(prose::code(&numbered)).await?;
            Ok(more.then_some(end))
        }
        Found::Entries { entries, more } => {
            if entries.is_empty() {
                let what = if first == 1 { "is an empty folder" } else { "has no more in it" };
                talk.say(format!("`{typed}` {what}.\n")).await?;
                return Ok(None);
            }
            let mut text = format!("`{typed}` is a folder:\n\n");
            for entry in &entries {
                text.push_str(&format!("- `{entry}`\n"));
            }
            talk.say(text).await?;
            Ok(more.then(|| first + entries.len() as u64))
        }
        Found::Binary(size) => {
            let size = prose::count(size, "byte", "bytes");
            talk.say(format!("`{typed}` is no text: {size}.\n")).await?;
            Ok(None)
        }
        Found::Special => {
            talk.say(format!("`{typed}` is a pipe, a socket or a device; I read only files.\n"))
                .await?;
            Ok(None)
        }
        Found::Unreadable(problem) => {
            talk.say(format!("I can't read `{typed}`: {problem}.\n")).await?;
            Ok(None)
        }
    }
}

/// Finds the file that is meant, and its name for people: the path, or the only file of that name.
/// Says so when there is none.
async fn locate(talk: &mut Talk<'_>, path: &str) -> Result<Option<(Place, String)>, Ended> {
    let shown_path = prose::clean(&prose::cut(path, 200));
    let (cwd, typed) = (talk.cwd().to_owned(), path.to_owned());
    let home = talk.dispatch.environment.get("HOME").map(PathBuf::from);
    let place =
        talk.stop.files(LIMIT, move |_| place::resolve(&cwd, &typed, home.as_deref())).await?;
    let problem = match place {
        Some(Ok(place)) => return Ok(Some((place, shown_path))),
        Some(Err(error)) => error,
        None => std::io::Error::other("the guide's code failed"),
    };
    if problem.kind() != std::io::ErrorKind::NotFound {
        talk.say(format!("I can't read `{shown_path}`: {problem}.\n")).await?;
        return Ok(None);
    }
    let (cwd, typed) = (talk.cwd().to_owned(), path.to_owned());
    let alike = if Path::new(path).is_absolute() {
        Vec::new()
    } else {
        let tool = Tool {
            name: "list_files",
            title: format!("Look for a file named {shown_path}"),
            kind: ToolKind::Search,
            input: json!({ "name": path }),
            path: None,
        };
        let work = move |budget: &Budget| named_like(&cwd, &typed, budget);
        talk.files(tool, LIMIT, work, |alike| Output {
            text: alike.join("\n"),
            ..Output::default()
        })
        .await?
        .unwrap_or_default()
    };
    if let [only] = alike.as_slice() {
        let found = shown(Path::new(only));
        talk.say(format!("There is no `{shown_path}`, but there is `{found}`.\n\n")).await?;
        let real = talk.cwd().join(only);
        // It came from the walk, which follows no links.
        return Ok(Some((Place { real, inside: true }, found)));
    }
    let mut text = format!("There is no `{shown_path}` here.\n");
    if !alike.is_empty() {
        text.push_str("\nFiles of that name:\n\n");
        for path in &alike {
            text.push_str(&format!("- `{}`\n", shown(Path::new(path))));
        }
    }
    talk.say(text).await?;
    Ok(None)
}

/// Files whose path ends with that path, or that are named so but for the ending, at most ten.
fn named_like(cwd: &Path, path: &str, budget: &Budget) -> Vec<String> {
    let files = walk::walk(cwd, budget).files;
    let is_alike = |file: &Path| {
        let stem = file.file_stem().and_then(|stem| stem.to_str());
        file.ends_with(path) || stem.is_some_and(|stem| stem.eq_ignore_ascii_case(path))
    };
    let alike = files.iter().map(|file| file.path.as_path()).filter(|file| is_alike(file));
    // What is nearest comes first.
    let mut alike: Vec<&Path> = alike.collect();
    alike.sort_by_key(|file| file.components().count());
    if let Some(first) = alike.first().filter(|file| file.components().count() == 1) {
        alike = vec![*first];
    }
    alike.into_iter().filter_map(Path::to_str).take(10).map(str::to_owned).collect()
}

fn read(path: &Path, first: u64, most: u64, budget: &Budget) -> Found {
    let unreadable = |error: std::io::Error| Found::Unreadable(error.to_string());
    match text_file::open(path) {
        Ok(Opened::Text(mut reader, _)) => {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            text_file::lines(&mut reader, first, most, budget).map_or_else(
                unreadable,
                |mut read| {
                    let mut bytes = 0;
                    let fits = read.lines.iter().take_while(|line| {
                        bytes += line.len();
                        bytes <= BYTES
                    });
                    let keep = fits.count().max(1);
                    read.more |= keep < read.lines.len();
                    read.lines.truncate(keep);
                    Found::Lines(read)
                },
            )
        }
        Ok(Opened::Binary(size)) => Found::Binary(size),
        Ok(Opened::Special) => Found::Special,
        Ok(Opened::Folder) => entries(path, first, budget).unwrap_or_else(unreadable),
        Err(error) => unreadable(error),
    }
}

/// What is in a folder, hidden files too: by name, folders with a slash.
fn entries(path: &Path, first: u64, budget: &Budget) -> std::io::Result<Found> {
    /// The most entries that are sorted; a folder with more is shown in part.
    const SORTED: usize = 100_000;
    let mut names = Vec::new();
    for entry in std::fs::read_dir(path)?.take(SORTED) {
        let entry = entry?;
        let slash = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
        names.push(format!("{}{slash}", shown(Path::new(&entry.file_name()))));
        if budget.is_spent() {
            break;
        }
    }
    names.sort_unstable();
    let skip = usize::try_from(first - 1).unwrap_or(usize::MAX);
    let more = names.len() > skip.saturating_add(ENTRIES);
    let entries = names.into_iter().skip(skip).take(ENTRIES).collect();
    Ok(Found::Entries { entries, more })
}
