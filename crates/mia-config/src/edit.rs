//! Changing one key of a configuration file (M-40).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::dotted::KeyPath;
use crate::error::ConfigErrors;
use crate::keys::{KeyError, resolve};
use crate::layer::{self, FileLayer, read_assignment};
use crate::paths::{PathsError, ensure_folder};
use crate::replace::{lock, replace, sweep, target, write_all};
use crate::source::{Author, Source};
use crate::splice;
use crate::tree::parse;
use crate::value::Value;

/// What an edit did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Edited {
    /// The dotted key in its own spelling.
    pub key: String,
    /// The file that was changed: where `config.yaml` is a symbolic link, what it leads to.
    pub file: PathBuf,
    /// False when the file said so already; it was then not written.
    pub changed: bool,
}

/// Why a key was not changed. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The key leads nowhere.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The value doesn't fit the key.
    #[error("set a value that doesn't fit: {0}")]
    Value(ConfigErrors),
    /// The file was invalid before the edit.
    #[error("edit a file that has mistakes; fix them first:\n{0}")]
    Invalid(ConfigErrors),
    /// The file would be invalid after it.
    #[error("make a change that leaves the file invalid:\n{0}")]
    Rejected(ConfigErrors),
    /// The key is written in a way that can't be changed without changing something else: through
    /// an alias, say.
    #[error("change {key} in {file:?} without changing something else there; edit it by hand")]
    Awkward {
        /// The dotted key.
        key: String,
        /// The file.
        file: PathBuf,
    },
    /// The folder of the file can't be made.
    #[error(transparent)]
    Folder(#[from] PathsError),
    /// The file can't be written.
    #[error("write {path:?}, which is as it was: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Sets one key of a file, and keeps its comments, order and layout.
///
/// `value` is YAML; text needs no quotes. A map given for a section is merged into it, key by key.
/// The result is validated before it replaces the file, in one step, so that the file is the old or
/// the new one at any moment, and after a crash; what a killed edit left is removed by the next. A missing file is made, 0600, with its folder,
/// 0700. A symbolic link is followed. Two edits at once take turns.
///
/// Blocks for up to 5 seconds while another process edits.
///
/// # Errors
///
/// See [`EditError`]; the file is as it was.
pub fn set(file: &Path, key: &str, value: &str) -> Result<Edited, EditError> {
    let (path, ..) = resolve(key)?;
    let source = Source::new(Author::Flag(path.to_string()), value);
    let (path, assigned) = read_assignment(&source, key).map_err(EditError::Value)?;
    let changes: Vec<_> =
        assigned.leaves.into_iter().map(|(path, leaf)| (path, leaf.value)).collect();
    edit(file, &path, true, |text, before| {
        let mut text = text.to_owned();
        let mut expected = owned(before);
        for (path, value) in &changes {
            if expected.get(path) != Some(value) {
                text = splice::set(&text, root_of(&text).as_ref(), path, &value.to_yaml())?;
                expected.insert(path.clone(), value.clone());
            }
        }
        Some((text, expected))
    })
}

/// Removes one key of a file, or a section with all in it; as [`set`] otherwise.
///
/// What isn't there needs no change, and a missing file is not made.
///
/// # Errors
///
/// See [`EditError`]; the file is as it was.
pub fn unset(file: &Path, key: &str) -> Result<Edited, EditError> {
    let (path, ..) = resolve(key)?;
    edit(file, &path, false, |text, before| {
        let mut expected = owned(before);
        expected.retain(|other, _| !other.0.starts_with(&path.0));
        let text = splice::unset(text, root_of(text).as_ref(), &path)?;
        Some((text, expected))
    })
}

type Values = BTreeMap<KeyPath, Value>;

/// Changes a file by `change`, which gives the new text and the values it has to have.
fn edit(
    file: &Path,
    key: &KeyPath,
    create: bool,
    change: impl FnOnce(&str, &FileLayer) -> Option<(String, Values)>,
) -> Result<Edited, EditError> {
    let failed = |source| EditError::Io { path: file.into(), source };
    let target = target(file).map_err(failed)?;
    let folder = target.parent().unwrap_or(Path::new("/"));
    if create {
        ensure_folder(folder)?;
    }
    let edited = |changed| Edited { key: key.to_string(), file: target.clone(), changed };
    let turn = match lock(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !create => {
            return Ok(edited(false));
        }
        turn => turn.map_err(failed)?,
    };
    if turn.is_some() {
        sweep(folder);
    }
    let source = Source::read(&target).map_err(|error| EditError::Invalid(error.into()))?;
    let old = source.as_ref().map(Source::text);
    let text = old.unwrap_or_default();
    let before = read_text(&target, text);
    ConfigErrors::check(before.errors.clone()).map_err(EditError::Invalid)?;

    let awkward = || EditError::Awkward { key: key.to_string(), file: target.clone() };
    let (new, expected) = change(text, &before).ok_or_else(awkward)?;
    if new == text {
        return Ok(edited(false));
    }
    let after = read_text(&target, &new);
    if owned(&after) != expected {
        return Err(awkward());
    }
    ConfigErrors::check(after.errors).map_err(EditError::Rejected)?;
    replace(&target, old, &new, write_all).map_err(failed)?;
    Ok(edited(true))
}

fn read_text(file: &Path, text: &str) -> FileLayer {
    layer::read(&Source::new(Author::File(file.into()), text))
}

fn root_of(text: &str) -> Option<crate::tree::Node> {
    parse(&Source::new(Author::Flag(String::new()), text)).root
}

fn owned(file: &FileLayer) -> Values {
    file.layer.leaves.iter().map(|(path, leaf)| (path.clone(), leaf.value.clone())).collect()
}
