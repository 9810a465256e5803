//! The manifests of a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mia_config::{ConfigError, ConfigErrors, Origin};

use crate::model::Manifest;

/// A manifest that was found, good or not.
#[derive(Debug)]
pub struct Found {
    /// The name that its plugin has.
    pub name: String,
    /// The file.
    pub file: PathBuf,
    /// What it says, or what is wrong with it.
    pub manifest: Result<Manifest, ConfigErrors>,
}

/// All manifests of a folder, by name. A folder that is not there has none. A file that can't be
/// used is among them, with the reason; it spoils no other.
#[must_use]
pub fn load(folder: &Path) -> Vec<Found> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let wrong = whole(folder, format!("can't be looked into: {error}"), None);
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return vec![Found { name, file: folder.into(), manifest: Err(wrong) }];
        }
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files.iter().filter_map(|file| found(file)).collect()
}

fn found(file: &Path) -> Option<Found> {
    let name = file.file_stem()?.to_string_lossy().into_owned();
    // Editors keep theirs under such names.
    if name.starts_with('.') {
        return None;
    }
    let manifest = match file.extension()?.to_str()? {
        "yaml" => Manifest::read(file),
        "yml" => {
            let help = format!("rename it to {name}.yaml");
            Err(whole(file, "is not read under this name".to_owned(), Some(help)))
        }
        _ => return None,
    };
    Some(Found { name, file: file.into(), manifest })
}

fn whole(path: &Path, message: String, help: Option<String>) -> ConfigErrors {
    let origin = Origin::WholeFile { path: path.into() };
    ConfigErrors::from(ConfigError { origin, message, help, snippet: None })
}
