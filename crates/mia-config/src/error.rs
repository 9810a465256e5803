//! What is wrong with a configuration, and where.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// More problems than this are counted, not listed.
const LISTED: usize = 20;

/// Where a value, or a mistake in one, came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// Built into Mia.
    Default,
    /// A place in a file.
    File {
        /// The file, as it was named.
        #[serde(serialize_with = "lossy")]
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
    },
    /// A file as a whole, where no line can be named.
    WholeFile {
        /// The file, as it was named.
        #[serde(serialize_with = "lossy")]
        path: PathBuf,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// The command line.
    Flag {
        /// The flag as it was written, such as `--model`.
        flag: String,
    },
}

/// JSON is UTF-8 and a path need not be.
fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line, column } => write!(f, "{}:{line}:{column}", path.display()),
            Self::WholeFile { path } => write!(f, "{}", path.display()),
            Self::Environment { variable } => write!(f, "${variable}"),
            Self::Flag { flag } => f.write_str(flag),
        }
    }
}

/// The text around a mistake, for a renderer that underlines it.
#[derive(Clone, PartialEq, Eq)]
pub struct Snippet {
    /// The whole text that was read.
    pub text: Arc<str>,
    /// Where the mistake begins, in bytes of `text`; always on a character boundary.
    pub offset: usize,
    /// How long it is, in bytes; may be 0.
    pub length: usize,
}

// The text may hold a secret, and a debug print ends in a log.
impl fmt::Debug for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snippet")
            .field("bytes", &self.text.len())
            .field("offset", &self.offset)
            .field("length", &self.length)
            .finish()
    }
}

/// One mistake in a configuration.
///
/// Its display is one line: `config.yaml:12:3: unknown key "stal_timeout" (did you mean
/// "stall_timeout"?)`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {message}{}", Parenthesised(help.as_deref()))]
pub struct ConfigError {
    /// Where it is.
    pub origin: Origin,
    /// What is wrong: a lower-case fragment without the place.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The text it is in; absent where the file could not be read as text.
    pub snippet: Option<Snippet>,
}

struct Parenthesised<'a>(Option<&'a str>);

impl fmt::Display for Parenthesised<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}

/// Every mistake that was found, in the order of the text; never empty.
///
/// Its display is one line for each, at most twenty and a count of the rest. The exit code for it
/// is 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// `Ok` when there are none.
    ///
    /// # Errors
    ///
    /// With all of them.
    pub fn check(errors: Vec<ConfigError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }

    pub(crate) fn into_list(self) -> Vec<ConfigError> {
        self.0
    }

    /// The mistakes, at least one.
    #[must_use]
    pub fn list(&self) -> &[ConfigError] {
        &self.0
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().take(LISTED).enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        match self.0.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for ConfigErrors {}
