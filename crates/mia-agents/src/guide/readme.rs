//! The title and first paragraph of a README.

use super::prose;

/// The longest description that is quoted, in characters.
const LONGEST: usize = 400;

/// What a README says first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Readme {
    /// Its title.
    pub(super) title: Option<String>,
    /// Its first paragraph that is prose.
    pub(super) description: Option<String>,
}

impl Readme {
    /// Reads Markdown, or whatever comes near it.
    pub(super) fn of(text: &str) -> Self {
        let mut readme = Self::default();
        let mut paragraph: Vec<&str> = Vec::new();
        let mut fenced = false;
        for line in text.lines().take(200).map(str::trim).chain([""]) {
            if line.starts_with("```") {
                fenced = !fenced;
                paragraph.clear();
                continue;
            }
            if fenced {
                continue;
            }
            if is_rule(line) && paragraph.len() == 1 && readme.title.is_none() {
                readme.title = paragraph.pop().map(plain);
            } else if let Some(title) = line.strip_prefix('#') {
                paragraph.clear();
                let title = plain(title.trim_matches('#'));
                if readme.title.is_none() && !title.is_empty() {
                    readme.title = Some(title);
                }
            } else if line.is_empty() || is_decoration(line) {
                if !paragraph.is_empty() {
                    break;
                }
            } else {
                paragraph.push(line);
            }
        }
        let text = plain(&paragraph.join(" "));
        readme.description = (!text.is_empty()).then(|| prose::cut(&text, LONGEST));
        readme
    }
}

/// The line under a title.
fn is_rule(line: &str) -> bool {
    line.len() > 2 && (line.chars().all(|c| c == '=') || line.chars().all(|c| c == '-'))
}

/// Badges, pictures, HTML, tables, lists, directives.
fn is_decoration(line: &str) -> bool {
    ["[![", "![", "<", "|", "- ", "* ", "> [!", "..", "["].iter().any(|mark| line.starts_with(mark))
}

/// The text without links, pictures and marks of emphasis.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let link = after.split_once("](").and_then(|(label, target)| {
            let (_, rest) = target.split_once(')')?;
            (!label.contains(['[', ']'])).then_some((label, rest))
        });
        plain.push_str(before.strip_suffix('!').unwrap_or(before));
        match link {
            Some((label, after)) => {
                plain.push_str(label);
                rest = after;
            }
            None => {
                plain.push('[');
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    let plain = plain.replace("**", "");
    prose::clean(plain.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn badges_and_code_are_no_description() {
        let readme = Readme::of(
            "<p align=center>\n\n# Mia\n\n[![ci](x)](y)\n\n```sh\nnot this\n```\n\n\
             **Mia** runs [any agent](https://x),\nanywhere.\n\nMore.\n",
        );
        assert_eq!(readme.title.as_deref(), Some("Mia"));
        assert_eq!(readme.description.as_deref(), Some("Mia runs any agent, anywhere."));
    }

    #[test]
    fn underlined_titles_and_empty_files_are_read() {
        let readme = Readme::of("Tool\n====\n\nDoes it [x.\n");
        assert_eq!(readme.title.as_deref(), Some("Tool"));
        assert_eq!(readme.description.as_deref(), Some("Does it [x."));
        assert_eq!(Readme::of(""), Readme::default());
    }
}
