//! Changing one key in a text, and nothing else in it.
//!
//! Positions come from the tree, whatever the style; where one isn't as expected the answer is
//! `None`. The caller reads the result again, and that is what decides whether it is right: nothing
//! here has to be clever about rare YAML.

use std::ops::Range;

use crate::dotted::KeyPath;
use crate::keys::{Cursor, Step};
use crate::tree::{Body, Entry, Node};
use crate::value::scalar;

/// Sets `path` to `yaml`, which is one line and fits any context.
pub(crate) fn set(text: &str, root: Option<&Node>, path: &KeyPath, yaml: &str) -> Option<String> {
    let segments = path.segments();
    let edit = Edit { text, eol: eol(text), step: indent_step(text, root) };
    let Some(root) = root else {
        return Some(edit.append(&segments, yaml));
    };
    let walk = walk(root, &segments)?;
    match (walk.place, walk.rest.is_empty()) {
        (Some(place), true) => edit.replace_value(&place, yaml),
        (place, false) => edit.insert(walk.node, place.as_ref(), walk.rest, yaml),
        (None, true) => None,
    }
}

/// Removes `path` with all below it; the text as it is when nothing is there.
pub(crate) fn unset(text: &str, root: Option<&Node>, path: &KeyPath) -> Option<String> {
    let segments = path.segments();
    let edit = Edit { text, eol: eol(text), step: 2 };
    let Some(root) = root else {
        return Some(text.to_owned());
    };
    let walk = walk(root, &segments)?;
    match walk.place {
        Some(place) if walk.rest.is_empty() => edit.remove(&place),
        _ => Some(text.to_owned()),
    }
}

/// An entry and the map it is in.
struct Place<'a> {
    map: &'a Node,
    index: usize,
    entry: &'a Entry,
    step: Step,
}

/// How far a path goes in a tree.
struct Walk<'a, 's> {
    /// The node that was reached.
    node: &'a Node,
    /// The entry it is the value of; none for the root.
    place: Option<Place<'a>>,
    /// What of the path is not there.
    rest: &'s [&'s str],
}

/// `None` where the way leads through an alias: what is there is somewhere else too.
fn walk<'a, 's>(root: &'a Node, segments: &'s [&'s str]) -> Option<Walk<'a, 's>> {
    let mut walk = Walk { node: root, place: None, rest: segments };
    let mut cursor = Cursor::root();
    while let Some((segment, rest)) = walk.rest.split_first() {
        if walk.node.aliased {
            return None;
        }
        let Body::Map { entries, .. } = &walk.node.body else {
            break;
        };
        let found = entries.iter().enumerate().find_map(|(index, entry)| {
            let step = cursor.enter(&entry.key).ok().filter(|step| step.name == *segment)?;
            Some((index, entry, step))
        });
        let Some((index, entry, step)) = found else {
            break;
        };
        cursor = step.cursor.clone();
        let map = walk.node;
        walk = Walk { node: &entry.value, place: Some(Place { map, index, entry, step }), rest };
    }
    Some(walk)
}

struct Edit<'a> {
    text: &'a str,
    eol: &'static str,
    step: usize,
}

impl Edit<'_> {
    fn replace_value(&self, place: &Place<'_>, yaml: &str) -> Option<String> {
        let value = &place.entry.value;
        let block_list = matches!(value.body, Body::List { flow: false, .. });
        let mut text = if !value.aliased && (block_list || self.block_scalar(place.entry)?) {
            self.replace_block(place.entry, yaml)?
        } else if value.span.is_empty() {
            return None;
        } else {
            self.splice(value.span.clone(), yaml)?
        };
        if place.step.millis {
            // `timeout_ms: 30m` would be wrong: the key loses its unit.
            text.replace_range(place.entry.key_span.clone(), &place.step.name);
        }
        Some(text)
    }

    /// `|` and `>`: the span of the node is that of the lines below.
    fn block_scalar(&self, entry: &Entry) -> Option<bool> {
        let colon = self.after_colon(entry)?;
        let head = self.text.get(colon..entry.value.span.start.max(colon))?.trim_start();
        let head = head.strip_prefix('&').map_or(head, |anchor| {
            anchor.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start())
        });
        Some(head.starts_with(['|', '>']))
    }

    /// Puts a value in line where lines below were one; a comment in the key's line stays.
    fn replace_block(&self, entry: &Entry, yaml: &str) -> Option<String> {
        let colon = self.after_colon(entry)?;
        let first_end = self.line_end(colon);
        let first = self.text.get(colon..first_end)?;
        let comment = first.find(" #").map_or("", |at| first.get(at..).unwrap_or_default());
        let end = self.line_end(self.content_end(entry)).max(first_end);
        self.splice(colon..end, &format!(" {yaml}{comment}"))
    }

    fn insert(
        &self,
        node: &Node,
        place: Option<&Place<'_>>,
        rest: &[&str],
        yaml: &str,
    ) -> Option<String> {
        match (&node.body, place) {
            (Body::Map { entries, flow: true }, _) => {
                let pair = flow_pair(rest, yaml)?;
                match entries.last() {
                    Some(last) => {
                        let at = self.flow_end(last);
                        self.splice(at..at, &format!(", {pair}"))
                    }
                    None => {
                        let at = node.span.start + 1;
                        self.splice(at..at, &format!(" {pair} "))
                    }
                }
            }
            (Body::Map { entries, flow: false }, _) => {
                let indent = self.indent(entries.first()?)?;
                let at = self.block_end(self.content_end(entries.last()?), indent);
                self.insert_lines(at, rest, yaml, indent)
            }
            _ if !node.is_null() => None,
            (_, None) if node.span.is_empty() => Some(self.append(rest, yaml)),
            (_, Some(place)) if node.span.is_empty() => self.fill(place, rest, yaml),
            // A written-out `~` or `null`.
            _ => self.splice(node.span.clone(), &format!("{{ {} }}", flow_pair(rest, yaml)?)),
        }
    }

    /// Puts a first key below a section that is empty.
    fn fill(&self, place: &Place<'_>, rest: &[&str], yaml: &str) -> Option<String> {
        if let Body::Map { flow: true, .. } = place.map.body {
            let pair = flow_pair(rest, yaml)?;
            return match self.after_colon(place.entry) {
                Some(at) => self.splice(at..at, &format!(" {{ {pair} }}")),
                None => {
                    let at = place.entry.key_span.end;
                    self.splice(at..at, &format!(": {{ {pair} }}"))
                }
            };
        }
        let indent = self.indent(place.entry)? + self.step;
        self.insert_lines(self.line_end(place.entry.key_span.end), rest, yaml, indent)
    }

    fn remove(&self, place: &Place<'_>) -> Option<String> {
        let Body::Map { entries, flow } = &place.map.body else {
            return None;
        };
        let key = &place.entry.key_span;
        if *flow {
            let previous = place.index.checked_sub(1).and_then(|index| entries.get(index));
            return match (previous, entries.get(place.index + 1)) {
                (Some(previous), _) => {
                    self.splice(self.flow_end(previous)..self.flow_end(place.entry), "")
                }
                (None, Some(next)) => self.splice(key.start..next.key_span.start, ""),
                (None, None) => self.splice(place.map.span.start + 1..place.map.span.end - 1, ""),
            };
        }
        let indent = self.indent(place.entry)?;
        let end = self.line_end(self.content_end(place.entry));
        let end = end + self.break_at(end);
        self.splice(key.start - indent..end, "")
    }

    /// Adds lines at the end of a text that has no value yet.
    fn append(&self, rest: &[&str], yaml: &str) -> String {
        let mut text = self.text.to_owned();
        if !(text.is_empty() || text.ends_with(['\n', '\r', '\u{feff}'])) {
            text.push_str(self.eol);
        }
        text.push_str(&self.lines(rest, yaml, 0).join(self.eol));
        text.push_str(self.eol);
        text
    }

    fn insert_lines(&self, at: usize, rest: &[&str], yaml: &str, indent: usize) -> Option<String> {
        let lines = self.lines(rest, yaml, indent);
        let added: String = lines.iter().flat_map(|line| [self.eol, line]).collect();
        self.splice(at..at, &added)
    }

    fn lines(&self, rest: &[&str], yaml: &str, indent: usize) -> Vec<String> {
        let last = rest.len().saturating_sub(1);
        let line = |(depth, segment): (usize, &&str)| {
            let blank = " ".repeat(indent + depth * self.step);
            let value = if depth == last { format!(" {yaml}") } else { String::new() };
            format!("{blank}{}:{value}", scalar(segment))
        };
        rest.iter().enumerate().map(line).collect()
    }

    fn splice(&self, range: Range<usize>, with: &str) -> Option<String> {
        let head = self.text.get(..range.start)?;
        let tail = self.text.get(range.end..)?;
        Some(format!("{head}{with}{tail}"))
    }

    /// Right after the colon of a key; `None` where something else follows the key.
    fn after_colon(&self, entry: &Entry) -> Option<usize> {
        let end = entry.key_span.end;
        let tail = self.text.get(end..)?;
        let trimmed = tail.trim_start_matches([' ', '\t']);
        trimmed.starts_with(':').then(|| end + tail.len() - trimmed.len() + 1)
    }

    /// The end of an entry in a flow map: that of its value, or of its key and colon.
    fn flow_end(&self, entry: &Entry) -> usize {
        let value = &entry.value.span;
        if value.is_empty() {
            self.after_colon(entry).unwrap_or(entry.key_span.end)
        } else {
            value.end
        }
    }

    /// The end of the last thing written in an entry. A block scalar's span may go on to blank
    /// lines.
    fn content_end(&self, entry: &Entry) -> usize {
        let end = entry.value.span.end.max(entry.key_span.end);
        self.text.get(..end).map_or(end, |head| head.trim_end().len()).max(entry.key_span.end)
    }

    /// Where a line can be added to a block: after its last line, and after comments of its own.
    fn block_end(&self, content_end: usize, indent: usize) -> usize {
        let mut end = self.line_end(content_end);
        loop {
            let next = end + self.break_at(end);
            let line_end = self.line_end(next);
            let line = self.text.get(next..line_end).unwrap_or_default();
            let blank = line.len() - line.trim_start_matches(' ').len();
            let comment = line.trim_start_matches(' ').starts_with('#');
            if next == end || !comment || blank < indent.max(1) {
                return end;
            }
            end = line_end;
        }
    }

    /// Spaces before a key; `None` when something else is there.
    fn indent(&self, entry: &Entry) -> Option<usize> {
        let head = self.text.get(..entry.key_span.start)?;
        let line = head.rsplit(['\n', '\r']).next().unwrap_or(head);
        let line = line.trim_start_matches('\u{feff}');
        line.bytes().all(|byte| byte == b' ').then_some(line.len())
    }

    fn line_end(&self, from: usize) -> usize {
        let tail = self.text.get(from..).unwrap_or_default();
        from + tail.find(['\n', '\r']).unwrap_or(tail.len())
    }

    /// The length of the line break at a place; 0 at the end of the text.
    fn break_at(&self, at: usize) -> usize {
        let tail = self.text.get(at..).unwrap_or_default();
        if tail.starts_with("\r\n") { 2 } else { usize::from(!tail.is_empty()) }
    }
}

/// `a: { b: value }` for the rest of a path.
fn flow_pair(rest: &[&str], yaml: &str) -> Option<String> {
    let (last, parents) = rest.split_last()?;
    let pair = format!("{}: {yaml}", scalar(last));
    Some(parents.iter().rev().fold(pair, |inner, name| format!("{}: {{ {inner} }}", scalar(name))))
}

fn eol(text: &str) -> &'static str {
    match text.find(['\n', '\r']).and_then(|at| text.get(at..)) {
        Some(tail) if tail.starts_with("\r\n") => "\r\n",
        Some(tail) if tail.starts_with('\r') => "\r",
        _ => "\n",
    }
}

/// The indentation that the file uses, from its first section in block style.
fn indent_step(text: &str, root: Option<&Node>) -> usize {
    let Some(Node { body: Body::Map { entries, flow: false }, .. }) = root else {
        return 2;
    };
    let edit = Edit { text, eol: "\n", step: 2 };
    entries
        .iter()
        .filter(|entry| !entry.value.aliased)
        .find_map(|entry| match &entry.value.body {
            Body::Map { entries: inner, flow: false } => {
                let (outer, inner) = (edit.indent(entry)?, edit.indent(inner.first()?)?);
                inner.checked_sub(outer).filter(|step| (1..=8).contains(step))
            }
            _ => None,
        })
        .unwrap_or(2)
}
