//! A text that configuration is read from, and the places in it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{ConfigError, Origin, Snippet};

/// A larger file is refused: nobody writes one by hand.
const MAX_BYTES: u64 = 1024 * 1024;

/// Who wrote the text.
#[derive(Debug, Clone)]
pub enum Author {
    /// A file.
    File(PathBuf),
    /// An environment variable.
    Variable(String),
    /// A flag of the command line.
    Flag(String),
}

/// One text with its line starts.
#[derive(Debug)]
pub struct Source {
    author: Author,
    text: Arc<str>,
    line_starts: Vec<usize>,
}

impl Source {
    /// A text and who wrote it.
    #[must_use]
    pub fn new(author: Author, text: &str) -> Self {
        Self { author, text: text.into(), line_starts: line_starts(text) }
    }

    /// Reads a file; `None` when there is none.
    ///
    /// Refuses what is not a regular file (a FIFO would block), what is over 1 MiB, and what is
    /// not UTF-8.
    ///
    /// # Errors
    ///
    /// Why it can't be read, as a mistake in the file.
    pub fn read(path: &Path) -> Result<Option<Self>, ConfigError> {
        match read_bytes(path) {
            Ok(None) => Ok(None),
            Ok(Some(bytes)) => Self::decode(path, bytes).map(Some),
            Err(error) => Err(whole_file(path, format!("cannot be read: {error}"))),
        }
    }

    fn decode(path: &Path, bytes: Vec<u8>) -> Result<Self, ConfigError> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(whole_file(path, "is larger than 1 MiB, which no configuration is".into()));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(Author::File(path.into()), &text)),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let head = error.as_bytes().get(..valid).unwrap_or_default();
                let source = Self::new(Author::File(path.into()), &String::from_utf8_lossy(head));
                let message = "is not UTF-8 from here on".to_owned();
                Err(source.error(valid..valid, message, Some("save it as UTF-8".into())))
            }
        }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column of a byte, both from 1; the column counts characters.
    #[must_use]
    pub fn place(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or_default();
        (line, before.trim_start_matches('\u{feff}').chars().count() + 1)
    }

    pub(crate) fn origin(&self, offset: usize) -> Origin {
        match &self.author {
            Author::File(path) => {
                let (line, column) = self.place(offset);
                Origin::File { path: path.clone(), line, column }
            }
            Author::Variable(variable) => Origin::Environment { variable: variable.clone() },
            Author::Flag(flag) => Origin::Flag { flag: flag.clone() },
        }
    }

    /// A mistake in this text, at these bytes.
    #[must_use]
    pub fn error(&self, span: Range<usize>, message: String, help: Option<String>) -> ConfigError {
        let snippet = Snippet {
            text: Arc::clone(&self.text),
            offset: span.start,
            length: span.end.saturating_sub(span.start),
        };
        ConfigError { origin: self.origin(span.start), message, help, snippet: Some(snippet) }
    }
}

fn whole_file(path: &Path, message: String) -> ConfigError {
    ConfigError {
        origin: Origin::WholeFile { path: path.into() },
        message,
        help: None,
        snippet: None,
    }
}

fn read_bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        // A link to nothing is a mistake, not the absence of a configuration.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return if fs::symlink_metadata(path).is_ok() {
                Err(io::Error::new(error.kind(), "it is a symbolic link to nothing"))
            } else {
                Ok(None)
            };
        }
        Err(error) => return Err(error),
    };
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// LF, CRLF and a lone CR end a line in YAML.
fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = bytes.iter().enumerate().filter(|(index, byte)| {
        **byte == b'\n' || (**byte == b'\r' && bytes.get(index + 1) != Some(&b'\n'))
    });
    std::iter::once(0).chain(ends.map(|(index, _)| index + 1)).collect()
}
