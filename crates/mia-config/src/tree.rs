//! YAML as a small tree of spanned nodes, under a budget.

use std::collections::HashMap;
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle};

use crate::error::ConfigError;
use crate::source::Source;

/// Nodes of one document, those that aliases repeat included.
const MAX_NODES: usize = 20_000;
const MAX_DEPTH: usize = 32;

/// One value and the bytes it was written as.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The bytes that it was written as.
    pub span: Range<usize>,
    /// What it is.
    pub body: Body,
    /// Came here by `*alias`; the span is that of the alias.
    pub aliased: bool,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Text, a number, a flag or nothing.
    Scalar {
        /// It, without quotes and escapes.
        text: String,
        /// True where it had no quotes.
        plain: bool,
    },
    /// Values by name.
    Map {
        /// Its members, in the order of the text. A key that is given twice is there twice.
        entries: Vec<Entry>,
        /// Written in braces.
        flow: bool,
    },
    /// Values in order.
    List {
        /// Its members.
        items: Vec<Node>,
        /// Written in brackets.
        flow: bool,
    },
}

/// A member of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// The bytes of the key.
    pub key_span: Range<usize>,
    /// Its value.
    pub value: Node,
}

impl Node {
    /// Nothing, `~` or `null`, unquoted. The parser writes `~` where nothing is written.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.body, Body::Scalar { text, plain: true }
            if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    fn size(&self) -> usize {
        1 + match &self.body {
            Body::Scalar { .. } => 0,
            Body::Map { entries, .. } => entries.iter().map(|entry| 1 + entry.value.size()).sum(),
            Body::List { items, .. } => items.iter().map(Self::size).sum(),
        }
    }
}

/// What a text holds: the tree as far as it is well formed, and every mistake in its form.
#[derive(Debug)]
pub struct Parsed {
    /// The value; none in an empty text.
    pub root: Option<Node>,
    /// Mistakes in the form.
    pub errors: Vec<ConfigError>,
}

/// Parses one document. An empty text, or one of comments only, has no root.
///
/// At most 20,000 values, those that aliases repeat included, and 32 levels as written.
#[must_use]
pub fn parse(source: &Source) -> Parsed {
    let mut builder = Builder::new(source);
    let root = builder.run().unwrap_or_else(|fatal| {
        builder.errors.push(fatal);
        None
    });
    Parsed { root, errors: builder.errors }
}

struct Frame {
    start: usize,
    anchor: usize,
    flow: bool,
    open: Open,
}

enum Open {
    Map { entries: Vec<Entry>, key: Option<(String, Range<usize>)>, seen: HashMap<String, usize> },
    List { items: Vec<Node> },
}

struct Builder<'a> {
    source: &'a Source,
    stack: Vec<Frame>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    documents: usize,
    root: Option<Node>,
    errors: Vec<ConfigError>,
}

impl<'a> Builder<'a> {
    fn new(source: &'a Source) -> Self {
        Self {
            source,
            stack: Vec::new(),
            anchors: HashMap::new(),
            nodes: 0,
            documents: 0,
            root: None,
            errors: Vec::new(),
        }
    }

    fn run(&mut self) -> Result<Option<Node>, ConfigError> {
        let options = granit_parser::options! {
            emit_comments: false,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
        };
        let source = self.source;
        let end = source.text().len();
        for item in Parser::new_from_str_with_options(source.text(), options) {
            let (event, span) = item.map_err(|error| self.malformed(&error))?;
            let range = span.byte_range().unwrap_or(end..end);
            self.take(event, range)?;
        }
        Ok(self.root.take())
    }

    fn malformed(&self, error: &granit_parser::ScanError) -> ConfigError {
        let text = self.source.text();
        let offset = error.marker().byte_offset().unwrap_or(text.len()).min(text.len());
        let before = text.get(..offset).unwrap_or_default();
        let line = before.rsplit(['\n', '\r']).next().unwrap_or_default();
        let after = text.get(offset..).unwrap_or_default();
        let tab = after.starts_with('\t') || (line.trim().is_empty() && line.contains('\t'));
        let help = if tab {
            "indent with spaces, not with tabs"
        } else {
            "check the indentation and the quotes here and on the line above"
        };
        let message = format!("is not YAML: {}", error.info());
        self.source.error(offset..offset, message, Some(help.into()))
    }

    fn take(&mut self, event: Event<'_>, span: Range<usize>) -> Result<(), ConfigError> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.source.error(
                        span,
                        "begins a second document, and a configuration is one".into(),
                        Some("remove the line `---`".into()),
                    ));
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.tagged(tag.is_some(), &span);
                let plain = style == ScalarStyle::Plain;
                let text = text.into_owned();
                let node = Node { span, body: Body::Scalar { text, plain }, aliased: false };
                self.finish(node, anchor)
            }
            Event::SequenceStart(style, anchor, tag) => {
                self.tagged(tag.is_some(), &span);
                let open = Open::List { items: Vec::new() };
                self.open(span.start, anchor, style, open);
                Ok(())
            }
            Event::MappingStart(style, anchor, tag) => {
                self.tagged(tag.is_some(), &span);
                let open = Open::Map { entries: Vec::new(), key: None, seen: HashMap::new() };
                self.open(span.start, anchor, style, open);
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(id) => match self.anchors.get(&id) {
                Some(node) => {
                    let mut node = node.clone();
                    self.nodes += node.size();
                    node.span = span;
                    node.aliased = true;
                    self.finish(node, 0)
                }
                None => {
                    Err(self.source.error(span, "is an alias of what it is itself in".into(), None))
                }
            },
            _ => Ok(()),
        }
    }

    fn tagged(&mut self, is: bool, span: &Range<usize>) {
        if is {
            self.errors.push(self.source.error(
                span.clone(),
                "has a tag, which a configuration doesn't use".into(),
                Some("remove the word that begins with `!`".into()),
            ));
        }
    }

    fn open(&mut self, start: usize, anchor: usize, style: StructureStyle, open: Open) {
        let flow = style == StructureStyle::Flow;
        self.stack.push(Frame { start, anchor, flow, open });
    }

    fn close(&mut self, end: Range<usize>) -> Result<(), ConfigError> {
        let Some(Frame { start, anchor, flow, open }) = self.stack.pop() else {
            return Ok(());
        };
        let (body, last) = match open {
            Open::Map { entries, .. } => {
                let last = entries.last().map(|entry| entry.value.span.end.max(entry.key_span.end));
                (Body::Map { entries, flow }, last)
            }
            Open::List { items } => {
                let last = items.last().map(|item| item.span.end);
                (Body::List { items, flow }, last)
            }
        };
        // A block collection ends with its last member: its own end event is at the next token.
        let end = if flow { end.end } else { last.unwrap_or(start) };
        self.finish(Node { span: start..end, body, aliased: false }, anchor)
    }

    fn finish(&mut self, node: Node, anchor: usize) -> Result<(), ConfigError> {
        self.nodes += 1;
        if anchor != 0 {
            self.nodes += node.size();
            self.anchors.insert(anchor, node.clone());
        }
        if self.nodes > MAX_NODES {
            let message = format!("has more than {MAX_NODES} values, counting repeated aliases");
            return Err(self.source.error(node.span, message, None));
        }
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Frame { open: Open::List { items }, .. }) => items.push(node),
            Some(Frame { open: Open::Map { entries, key, seen }, .. }) => match key.take() {
                Some((key, key_span)) => entries.push(Entry { key, key_span, value: node }),
                None => {
                    let span = node.span.clone();
                    let Body::Scalar { text, .. } = node.body else {
                        let message = "is a key that is not plain text".to_owned();
                        return Err(self.source.error(span, message, None));
                    };
                    if let Some(first) = seen.insert(text.clone(), span.start) {
                        let (line, _) = self.source.place(first);
                        self.errors.push(self.source.error(
                            span.clone(),
                            format!("key {text:?} is given twice"),
                            Some(format!("the first is on line {line}")),
                        ));
                    }
                    *key = Some((text, span));
                }
            },
        }
        Ok(())
    }
}
