//! What this repository is: only what its files say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mia_api::ToolKind;
use serde_json::json;

use super::changes::{self, Status};
use super::manifest::{self, Manifest};
use super::prose::{self, count};
use super::readme::Readme;
use super::stop::{Budget, Ended};
use super::talk::{Output, Talk, Tool, shown};
use super::walk::Walk;
use super::{language, text_file, walk};

/// How long looking at the files may take.
const LIMIT: Duration = Duration::from_secs(3);

/// How many languages, folders and files are listed.
const LANGUAGES: usize = 8;
const FOLDERS: usize = 12;
const NEWEST: usize = 8;

/// The largest file whose lines are counted, in bytes.
const COUNTED: u64 = 1024 * 1024;

/// How much of a README or manifest is read, in bytes.
const READ: u64 = 64 * 1024;

/// Files of one language.
#[derive(Debug, Default)]
struct Share {
    files: u64,
    lines: u64,
}

/// A folder at the top.
#[derive(Debug, Default)]
struct Folder {
    files: u64,
    languages: BTreeMap<&'static str, u64>,
    says: Option<String>,
}

/// What is in the working directory.
#[derive(Debug, Default)]
struct Survey {
    /// False when there was more than could be looked at.
    complete: bool,
    unreadable: u64,
    files: u64,
    languages: Vec<(&'static str, Share)>,
    folders: Vec<(String, Folder)>,
    /// Files at the top, by name.
    top: Vec<String>,
    /// The files that were written last, newest first.
    newest: Vec<String>,
}

/// Answers `what is this repository?`.
pub(super) async fn overview(talk: &mut Talk<'_>) -> Result<(), Ended> {
    let cwd = talk.cwd().to_owned();
    let tool = Tool {
        name: "list_files",
        title: "List the files".to_owned(),
        kind: ToolKind::Search,
        input: json!({ "path": "." }),
        path: Some(talk.cwd()),
    };
    let work = move |budget: &Budget| survey(&cwd, budget);
    let survey = talk
        .files(tool, LIMIT, work, |survey| Output {
            text: summary(survey),
            is_error: false,
            truncated: !survey.complete,
        })
        .await?
        .unwrap_or_default();

    let readme = readme(talk, &survey.top).await?;
    let manifests = manifests(talk, &survey.top).await?;
    let folder = talk.cwd().file_name().map(|name| shown(Path::new(name)));
    let name = manifests
        .iter()
        .find_map(|(_, manifest)| manifest.name.clone())
        .or(readme.title)
        .or(folder)
        .unwrap_or_else(|| "/".to_owned());
    let description = readme
        .description
        .or_else(|| manifests.iter().find_map(|(_, manifest)| manifest.description.clone()));
    talk.say(format!("# {name}\n\n")).await?;
    if let Some(description) = description {
        talk.say(format!("{}\n\n", prose::wrap(&description))).await?;
    }
    talk.say(format!("{}\n", summary(&survey))).await?;
    talk.say(languages(&survey)).await?;
    talk.say(folders(&survey)).await?;
    let commands: Vec<String> = manifests
        .iter()
        .flat_map(|(name, manifest)| {
            manifest.commands.iter().map(move |command| format!("- `{command}` ({name})\n"))
        })
        .collect();
    if !commands.is_empty() {
        talk.say(format!("\n## Build\n\n{}", commands.concat())).await?;
    }
    history(talk, &survey).await
}

fn summary(survey: &Survey) -> String {
    if survey.files == 0 && survey.complete {
        return "There are no files here.".to_owned();
    }
    let lines: u64 = survey
        .languages
        .iter()
        .filter(|(language, _)| !language::is_beside_code(language))
        .map(|(_, share)| share.lines)
        .sum();
    let mut text = count(survey.files, "file", "files");
    if lines > 0 {
        text.push_str(&format!(", {} of code", count(lines, "line", "lines")));
    }
    if !survey.complete {
        text.push_str(", and more that I did not look at");
    }
    if survey.unreadable > 0 {
        text.push_str(&format!(
            "; {} could not be read",
            count(survey.unreadable, "place", "places")
        ));
    }
    text.push('.');
    text
}

fn languages(survey: &Survey) -> String {
    if survey.languages.is_empty() {
        return String::new();
    }
    let mut text = "\n## Languages\n\n".to_owned();
    for (language, share) in survey.languages.iter().take(LANGUAGES) {
        let files = count(share.files, "file", "files");
        let lines = count(share.lines, "line", "lines");
        text.push_str(&format!("- {language}: {files}, {lines}\n"));
    }
    text
}

fn folders(survey: &Survey) -> String {
    if survey.folders.is_empty() {
        return String::new();
    }
    let mut text = "\n## Folders\n\n".to_owned();
    for (name, folder) in survey.folders.iter().take(FOLDERS) {
        let mut line = format!("- `{name}/` {}", count(folder.files, "file", "files"));
        let main = folder.languages.iter().max_by_key(|(name, files)| (**files, *name));
        if let Some((language, files)) = main {
            let mostly = if *files == folder.files { "" } else { "mostly " };
            line.push_str(&format!(", {mostly}{language}"));
        }
        if let Some(says) = &folder.says {
            line.push_str(&format!(": {says}"));
        }
        text.push_str(&prose::cut(&line, 79));
        text.push('\n');
    }
    if let Some(more) = survey.folders.len().checked_sub(FOLDERS).filter(|&more| more > 0) {
        text.push_str(&format!("- and {more} more\n"));
    }
    text
}

/// What git says, or the files' times where there is no git.
async fn history(talk: &mut Talk<'_>, survey: &Survey) -> Result<(), Ended> {
    let mut newest = Vec::new();
    if let Some(status) = Status::ask(talk).await? {
        let mut text = format!("\n## Git\n\n{}", status.position());
        const ARGUMENTS: &[&str] = &[
            "log",
            "--max-count=15",
            "--date=short",
            "--no-color",
            "--name-only",
            "--relative",
            "--format=%x01%h%x09%ad%x09%an%x09%s",
            "--",
            ".",
        ];
        let log = talk.git("git_log", "The last commits", ARGUMENTS).await?;
        let log = log.map(|printed| printed.text()).unwrap_or_default();
        for line in log.lines().filter(|line| !line.is_empty()) {
            match line.strip_prefix('\u{1}') {
                Some(commit) if newest.is_empty() && !text.contains("Last commit") => {
                    if let Some(commit) = changes::commit(commit) {
                        text.push_str(&format!("Last commit: {commit}\n"));
                    }
                }
                Some(_) => {}
                None => {
                    let path = prose::clean(line);
                    if newest.len() < NEWEST && !newest.contains(&path) {
                        newest.push(path);
                    }
                }
            }
        }
        if status.changes() > 0 {
            let changes = count(status.changes(), "change is", "changes are");
            text.push_str(&format!("{changes} not committed yet: ask `what changed?`.\n"));
        }
        talk.say(text).await?;
    } else {
        newest.clone_from(&survey.newest);
    }
    if newest.is_empty() {
        return Ok(());
    }
    let list: String = newest.iter().map(|path| format!("- `{path}`\n")).collect();
    talk.say(format!("\n## Changed last\n\n{list}")).await
}

/// Reads the README, if there is one.
async fn readme(talk: &mut Talk<'_>, top: &[String]) -> Result<Readme, Ended> {
    let is_readme = |name: &&String| {
        let low = name.to_lowercase();
        ["readme.md", "readme", "readme.rst", "readme.txt", "readme.adoc"].contains(&low.as_str())
    };
    let Some(name) = top.iter().find(is_readme) else {
        return Ok(Readme::default());
    };
    Ok(Readme::of(&read(talk, name).await?))
}

/// Reads the manifests at the top, at most two.
async fn manifests(
    talk: &mut Talk<'_>,
    top: &[String],
) -> Result<Vec<(&'static str, Manifest)>, Ended> {
    let mut manifests = Vec::new();
    let there = manifest::NAMES.into_iter().filter(|name| top.iter().any(|file| file == name));
    for name in there.take(2) {
        let text = read(talk, name).await?;
        manifests.push((name, Manifest::of(name, &text, top)));
    }
    Ok(manifests)
}

/// Reads the beginning of a file at the top.
async fn read(talk: &mut Talk<'_>, name: &str) -> Result<String, Ended> {
    let path = talk.cwd().join(name);
    let tool = Tool {
        name: "read_file",
        title: format!("Read {name}"),
        kind: ToolKind::Read,
        input: json!({ "path": name }),
        path: Some(&path),
    };
    let real = path.clone();
    let text = talk
        .files(
            tool,
            LIMIT,
            move |_| text_file::beginning(&real, READ),
            |text| match text {
                Some(text) => Output {
                    text: text.clone(),
                    is_error: false,
                    truncated: text.len() as u64 >= READ,
                },
                None => Output::error("no text, or not readable"),
            },
        )
        .await?;
    Ok(text.flatten().unwrap_or_default())
}

fn survey(cwd: &Path, budget: &Budget) -> Survey {
    let Walk { files, complete, unreadable } = walk::walk(cwd, budget);
    let mut survey =
        Survey { complete, unreadable, files: files.len() as u64, ..Survey::default() };
    let mut languages: BTreeMap<&'static str, Share> = BTreeMap::new();
    let mut folders: BTreeMap<PathBuf, Folder> = BTreeMap::new();
    for file in &files {
        let language = language::of(&file.path);
        if let Some(language) = language {
            let share = languages.entry(language).or_default();
            share.files += 1;
            if budget.is_spent() {
                survey.complete = false;
            } else {
                let lines = text_file::count_lines(&cwd.join(&file.path), COUNTED);
                share.lines += lines.unwrap_or(0);
            }
        }
        let mut parts = file.path.components();
        let (first, rest) = (parts.next(), parts.next());
        match (first, rest) {
            (Some(folder), Some(_)) => {
                let folder = folders.entry(PathBuf::from(folder.as_os_str())).or_default();
                folder.files += 1;
                if let Some(language) = language {
                    *folder.languages.entry(language).or_default() += 1;
                }
            }
            (Some(name), None) => survey.top.extend(name.as_os_str().to_str().map(str::to_owned)),
            _ => {}
        }
    }
    survey.languages = languages.into_iter().collect();
    survey.languages.sort_by_key(|(name, share)| {
        (language::is_beside_code(name), std::cmp::Reverse(share.lines), *name)
    });
    let mut folders: Vec<_> = folders.into_iter().collect();
    folders.sort_by(|(a, this), (b, that)| that.files.cmp(&this.files).then_with(|| a.cmp(b)));
    survey.folders = folders
        .into_iter()
        .enumerate()
        .map(|(index, (path, mut folder))| {
            if index < FOLDERS {
                folder.says = what_it_says(&cwd.join(&path));
            }
            (shown(&path), folder)
        })
        .collect();
    let mut newest: Vec<_> = files.iter().collect();
    newest.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    survey.newest = newest.iter().take(NEWEST).map(|file| shown(&file.path)).collect();
    survey
}

/// What a folder says of itself, in its manifest or README.
fn what_it_says(folder: &Path) -> Option<String> {
    let manifest = |name: &&str| {
        let text = text_file::beginning(&folder.join(name), READ)?;
        Manifest::of(name, &text, &[]).description
    };
    let from_manifest = ["Cargo.toml", "package.json", "pyproject.toml"].iter().find_map(manifest);
    from_manifest
        .or_else(|| Readme::of(&text_file::beginning(&folder.join("README.md"), READ)?).description)
}
