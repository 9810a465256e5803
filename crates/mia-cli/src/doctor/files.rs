//! Configuration, folders, disk. Only looked at: permissions are asked for, never tried.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use mia_config::{Loaded, Paths};
use rustix::fs::{Access, access, statvfs};

use super::check::{Check, Group};
use crate::failure::Failure;

const GROUP: Group = Group::Files;
/// Less than this and not even a few prompts can be recorded, in bytes.
const FULL: u64 = 16 << 20;
/// Less than this and an agent's installation or a large task may fill it.
const NEARLY_FULL: u64 = 1 << 30;

pub(super) fn checks(
    paths: Result<&Paths, &Failure>,
    loaded: Option<&Result<Loaded, Failure>>,
) -> Vec<Check> {
    let paths = match paths {
        Ok(paths) => paths,
        Err(failure) => {
            let hint = "set HOME, or MIA_HOME to a folder for Mia's files";
            return vec![Check::failure(GROUP, "folders", failure.in_short(), hint)];
        }
    };
    let mut checks = Vec::new();
    if let Some(loaded) = loaded {
        checks.push(configuration(paths, loaded));
    }
    checks.push(folder("configuration folder", &paths.config_dir));
    checks.push(folder("state folder", &paths.state_dir));
    checks.extend(disk(&paths.state_dir));
    checks
}

fn configuration(paths: &Paths, loaded: &Result<Loaded, Failure>) -> Check {
    let name = "configuration";
    let file = paths.config_file.display();
    match loaded {
        Err(failure) => {
            let hint = format!("correct {file}");
            Check::failure(GROUP, name, failure.in_short(), hint)
        }
        Ok(loaded) => match fs::metadata(&paths.config_file) {
            Err(_) => Check::ok(GROUP, name, format!("no {file}: the defaults are in force")),
            Ok(about) => {
                let secrets = loaded.config.plugins.values().any(|plugin| !plugin.env.is_empty());
                if secrets && about.mode() & 0o077 != 0 {
                    let message = format!("{file} sets variables, and others may read it");
                    return Check::warning(GROUP, name, message, format!("chmod 600 {file}"));
                }
                Check::ok(GROUP, name, format!("{file} is valid"))
            }
        },
    }
}

/// A folder that Mia writes to, or would make.
fn folder(name: &str, path: &Path) -> Check {
    let shown = path.display();
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return missing(name, path),
        Err(error) => {
            let message = format!("{shown} can't be looked at: {error}");
            return Check::failure(GROUP, name, message, "check the folders above it");
        }
    };
    if !about.is_dir() {
        let message = format!("{shown} is not a folder");
        return Check::failure(GROUP, name, message, "move it away");
    }
    if let Err(error) = access(path, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK) {
        let message = format!("{shown} can't be written: {}", io::Error::from(error));
        return Check::failure(GROUP, name, message, "check its owner and permissions");
    }
    if about.mode() & 0o022 != 0 {
        let message = format!("{shown} can be written by others");
        return Check::warning(GROUP, name, message, format!("chmod 700 {shown}"));
    }
    Check::ok(GROUP, name, format!("{shown} can be written"))
}

fn missing(name: &str, path: &Path) -> Check {
    let shown = path.display();
    let Some(above) = nearest(path) else {
        return Check::failure(GROUP, name, format!("{shown} can't be made"), "set MIA_HOME");
    };
    if !above.is_dir() {
        let message = format!("{shown} can't be made: {} is not a folder", above.display());
        return Check::failure(GROUP, name, message, "move that away, or set MIA_HOME");
    }
    if let Err(error) = access(above, Access::WRITE_OK | Access::EXEC_OK) {
        let error = io::Error::from(error);
        let message = format!("{shown} can't be made in {}: {error}", above.display());
        return Check::failure(GROUP, name, message, "make it writable, or set MIA_HOME");
    }
    Check::ok(GROUP, name, format!("{shown} is made when it is needed"))
}

/// The nearest thing above a path that is there.
fn nearest(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|above| fs::symlink_metadata(above).is_ok())
}

fn disk(state: &Path) -> Option<Check> {
    let name = "disk";
    let place = if state.exists() { state } else { nearest(state)? };
    let free = match statvfs(place) {
        Ok(about) => about.f_bavail.saturating_mul(about.f_frsize),
        Err(error) => {
            let message = format!("its free space can't be seen: {}", io::Error::from(error));
            return Some(Check::info(GROUP, name, message));
        }
    };
    let message = format!("{} free at {}", size(free), place.display());
    Some(match free {
        ..FULL => Check::failure(GROUP, name, message, "free some: nothing can be recorded"),
        FULL..NEARLY_FULL => {
            Check::warning(GROUP, name, message, "free some: an agent takes up to half a GB")
        }
        _ => Check::ok(GROUP, name, message),
    })
}

/// A size for people.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        ..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}
