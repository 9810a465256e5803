//! What changed: not committed yet, line by line, and committed.

use super::git::Printed;
use super::prose;
use super::stop::Ended;
use super::talk::Talk;

/// How many paths of one kind are listed.
const PATHS: usize = 20;

/// How many lines of a diff are shown at once.
const LINES: usize = 150;

/// How many commits are listed at once.
const COMMITS: usize = 15;

/// What `git status` says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    branch: Option<String>,
    upstream: Option<String>,
    ahead: u64,
    behind: u64,
    commit: Option<String>,
    staged: Vec<String>,
    unstaged: Vec<String>,
    untracked: Vec<String>,
    conflicts: Vec<String>,
}

impl Status {
    /// Asks git. None where it can't say.
    pub(super) async fn ask(talk: &mut Talk<'_>) -> Result<Option<Self>, Ended> {
        const ARGUMENTS: &[&str] = &["status", "--porcelain=v2", "--branch", "-z"];
        let printed = talk.git("git_status", "What changed", ARGUMENTS).await?;
        Ok(printed.as_ref().map(Printed::text).as_deref().map(Self::read))
    }

    fn read(text: &str) -> Self {
        let mut status = Self::default();
        let mut records = text.split('\0');
        while let Some(record) = records.next() {
            let (kind, rest) = record.split_once(' ').unwrap_or((record, ""));
            // The path is the last field, and may have blanks.
            let path = |fields: usize| {
                let path = rest.splitn(fields, ' ').nth(fields - 1).unwrap_or_default();
                prose::clean(path).replace('\n', "\u{FFFD}")
            };
            match kind {
                "#" => status.header(rest),
                "1" => status.entry(rest, path(8)),
                "2" => {
                    let old = prose::clean(records.next().unwrap_or_default());
                    status.entry(rest, format!("{old} → {}", path(9)));
                }
                "u" => status.conflicts.push(path(10)),
                "?" => status.untracked.push(path(1)),
                _ => {}
            }
        }
        status
    }

    fn header(&mut self, header: &str) {
        match header.split_once(' ') {
            Some(("branch.head", "(detached)")) | None => {}
            Some(("branch.head", name)) => self.branch = Some(prose::clean(name)),
            Some(("branch.oid", "(initial)")) => {}
            Some(("branch.oid", oid)) => self.commit = Some(oid.chars().take(7).collect()),
            Some(("branch.upstream", name)) => self.upstream = Some(prose::clean(name)),
            Some(("branch.ab", counts)) => {
                let mut counts =
                    counts.split(' ').map(|count| count.trim_start_matches(['+', '-']));
                let mut next = || counts.next().and_then(|count| count.parse().ok()).unwrap_or(0);
                (self.ahead, self.behind) = (next(), next());
            }
            Some(_) => {}
        }
    }

    fn entry(&mut self, fields: &str, path: String) {
        let mut letters = fields.chars();
        let (index, tree) = (letters.next().unwrap_or('.'), letters.next().unwrap_or('.'));
        if index != '.' {
            self.staged.push(format!("{} `{path}`", word(index)));
        }
        if tree != '.' {
            self.unstaged.push(format!("{} `{path}`", word(tree)));
        }
    }

    /// How many files differ from the last commit, a file that is staged and changed again counted
    /// twice.
    pub(super) fn changes(&self) -> u64 {
        let lists = [&self.staged, &self.unstaged, &self.untracked, &self.conflicts];
        lists.iter().map(|list| list.len() as u64).sum()
    }

    /// Where it stands, one sentence.
    pub(super) fn position(&self) -> String {
        let mut text = match (&self.branch, &self.commit) {
            (Some(branch), None) => format!("On branch `{branch}`, without a commit yet"),
            (Some(branch), Some(_)) => format!("On branch `{branch}`"),
            (None, Some(commit)) => format!("On no branch, at commit `{commit}`"),
            (None, None) => "On no branch".to_owned(),
        };
        if let Some(upstream) = &self.upstream {
            text.push_str(&match (self.ahead, self.behind) {
                (0, 0) => format!(", up to date with `{upstream}`"),
                (ahead, 0) => format!(", {ahead} ahead of `{upstream}`"),
                (0, behind) => format!(", {behind} behind `{upstream}`"),
                (ahead, behind) => format!(", {ahead} ahead of and {behind} behind `{upstream}`"),
            });
        }
        text.push_str(".\n");
        text
    }
}

/// Git's letters for people.
fn word(letter: char) -> &'static str {
    match letter {
        'A' => "added",
        'D' => "deleted",
        'R' => "renamed",
        'C' => "copied",
        'T' => "type changed",
        _ => "modified",
    }
}

/// Says why git could not say something.
async fn cant_tell(talk: &mut Talk<'_>) -> Result<(), Ended> {
    let problem = talk.git_problem.take().unwrap_or_else(|| "git said nothing".to_owned());
    talk.say(prose::wrap(&format!("I can't say: {problem}.")) + "\n").await
}

/// Answers `what changed?`.
pub(super) async fn changed(talk: &mut Talk<'_>) -> Result<(), Ended> {
    let Some(status) = Status::ask(talk).await? else {
        return cant_tell(talk).await;
    };
    talk.say(status.position()).await?;
    if status.changes() == 0 {
        let what = if status.commit.is_some() {
            "Nothing has changed since the last commit."
        } else {
            "There is nothing in it yet."
        };
        return talk.say(format!("\n{what}\n")).await;
    }
    let untracked: Vec<String> = status.untracked.iter().map(|path| format!("`{path}`")).collect();
    let conflicts: Vec<String> = status.conflicts.iter().map(|path| format!("`{path}`")).collect();
    for (heading, paths) in [
        ("In conflict", &conflicts),
        ("Staged", &status.staged),
        ("Not staged", &status.unstaged),
        ("New, not in git", &untracked),
    ] {
        if paths.is_empty() {
            continue;
        }
        let mut text = format!("\n## {heading} ({})\n\n", paths.len());
        for path in paths.iter().take(PATHS) {
            text.push_str(&format!("- {path}\n"));
        }
        if let Some(more) = paths.len().checked_sub(PATHS).filter(|&more| more > 0) {
            text.push_str(&format!("- and {more} more\n"));
        }
        talk.say(text).await?;
    }
    talk.say("\nAsk `diff` to see it line by line.\n").await
}

/// Answers `diff`, from a line on. Returns where it goes on.
pub(super) async fn diff(talk: &mut Talk<'_>, from: u64) -> Result<Option<u64>, Ended> {
    const SAFE: [&str; 4] = ["diff", "--no-ext-diff", "--no-textconv", "--no-color"];
    let [diff, external, textconv, color] = SAFE;
    let since_commit = [diff, external, textconv, color, "HEAD", "--"];
    // Before the first commit there is no HEAD; then what is staged is all there is.
    let staged = [diff, external, textconv, color, "--cached", "--"];
    let Some(status) = Status::ask(talk).await? else {
        cant_tell(talk).await?;
        return Ok(None);
    };
    let arguments = if status.commit.is_some() { &since_commit } else { &staged };
    let Some(printed) = talk.git("git_diff", "What changed, line by line", arguments).await? else {
        cant_tell(talk).await?;
        return Ok(None);
    };
    let text = prose::clean(&printed.text());
    let skip = usize::try_from(from).unwrap_or(usize::MAX);
    let mut lines = text.lines().skip(skip);
    let page: Vec<String> = lines.by_ref().take(LINES).map(|line| prose::cut(line, 400)).collect();
    if page.is_empty() {
        let new = status.untracked.len() as u64;
        let new = if new > 0 && from == 0 {
            format!(
                " {} not in git: ask `what changed?`.",
                prose::count(new, "file is", "files are")
            )
        } else {
            String::new()
        };
        talk.say(format!("No line has changed since the last commit.{new}\n")).await?;
        return Ok(None);
    }
    let lines_left = lines.next().is_some();
    talk.say(prose::code(&page.join("\n"))).await?;
    if printed.truncated && !lines_left {
        talk.say("\nThe diff is longer than I read. `git diff HEAD` shows all of it.\n").await?;
    }
    Ok(lines_left.then(|| from + page.len() as u64))
}

/// Answers `log`, from a commit on. Returns where it goes on.
pub(super) async fn log(talk: &mut Talk<'_>, from: u64) -> Result<Option<u64>, Ended> {
    let (skip, most) = (format!("--skip={from}"), format!("--max-count={}", COMMITS + 1));
    let arguments =
        ["log", &skip, &most, "--date=short", "--no-color", "--format=%h%x09%ad%x09%an%x09%s"];
    let Some(printed) = talk.git("git_log", "The last commits", &arguments).await? else {
        cant_tell(talk).await?;
        return Ok(None);
    };
    let commits: Vec<String> = printed.text().lines().filter_map(commit).collect();
    if commits.is_empty() {
        talk.say("There are no commits.\n").await?;
        return Ok(None);
    }
    let mut list = String::new();
    for commit in commits.iter().take(COMMITS) {
        list.push_str(&format!("- {commit}\n"));
    }
    talk.say(list).await?;
    Ok((commits.len() > COMMITS).then(|| from + COMMITS as u64))
}

/// A line of the log for people.
pub(super) fn commit(line: &str) -> Option<String> {
    let mut fields = line.splitn(4, '\t').map(prose::clean);
    let (hash, date, author, subject) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    Some(format!("`{hash}` {date} {}: {}", prose::cut(&author, 24), prose::cut(&subject, 72)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_read() {
        let status = Status::read(
            "# branch.oid 0123456789abcdef\0# branch.head main\0# branch.upstream origin/main\0\
             # branch.ab +2 -1\0\
             1 AM N... 000000 100644 100644 0000 1111 new file.rs\0\
             1 .D N... 100644 100644 000000 1111 1111 gone.rs\0\
             2 R. N... 100644 100644 100644 1111 1111 R100 b\x1b.rs\0a.rs\0\
             u UU N... 100644 100644 100644 100644 1 2 3 both.rs\0\
             ? odd name\n.txt\0",
        );
        assert_eq!(
            status,
            Status {
                branch: Some("main".into()),
                upstream: Some("origin/main".into()),
                ahead: 2,
                behind: 1,
                commit: Some("0123456".into()),
                staged: vec!["added `new file.rs`".into(), "renamed `a.rs → b\u{FFFD}.rs`".into()],
                unstaged: vec!["modified `new file.rs`".into(), "deleted `gone.rs`".into()],
                untracked: vec!["odd name\u{FFFD}.txt".into()],
                conflicts: vec!["both.rs".into()],
            }
        );
        assert_eq!(status.position(), "On branch `main`, 2 ahead of and 1 behind `origin/main`.\n");
    }
}
