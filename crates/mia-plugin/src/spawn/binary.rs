//! Where an agent's program is (M-10).

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use mia_api::{Cause, ErrorCode, PluginError};

use crate::contract::{Environment, PluginConfig};
use crate::installed::{AgentFolder, Hold};

/// A program that was found.
#[derive(Debug)]
pub(super) struct Found {
    /// Its path, absolute.
    pub(super) path: PathBuf,
    /// `configured`, `PATH` or `installed by mia`.
    pub(super) by: &'static str,
    /// Keeps the files of one that Mia installed for as long as this lives.
    pub(super) _hold: Option<Hold>,
}

/// Searches the configured path, else the user's `PATH`, else Mia's own folder of agents.
///
/// # Errors
/// SPAWN_FAILURE that says what was searched, and how to install it.
pub(super) fn find(
    config: &PluginConfig,
    program: &str,
    install: &str,
    environment: &Environment,
    installed: Option<&Path>,
    cwd: &Path,
) -> Result<Found, PluginError> {
    let failure = |message: String, cause: Cause, hint: String| {
        PluginError::new(ErrorCode::SpawnFailure, &config.name, message)
            .with_cause(cause)
            .with_hint(hint)
            .with_phase(mia_api::Phase::Start)
    };
    let ours = installed.map(|agents| AgentFolder::new(agents, &config.name));
    if let Some(configured) = &config.binary {
        let configured = expand_home(configured, environment);
        // A bare name is searched like any other; a path is taken as it is.
        if configured.components().count() > 1 {
            let path = cwd.join(&configured);
            let (path, hold) =
                ours.as_ref().and_then(|ours| ours.program_at(&path)).unwrap_or((path, None));
            return match unusable(&path) {
                None => Ok(Found { path, by: "configured", _hold: hold }),
                Some((cause, what)) => Err(failure(
                    format!("the configured program {} {what}", path.display()),
                    cause,
                    format!("correct plugins.{}.binary in the configuration", config.name),
                )),
            };
        }
    }
    let name = config.binary.as_deref().map_or(OsStr::new(program), Path::as_os_str);
    let mut searched = Vec::new();
    let mut broken = None;
    let path = environment.get("PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let on_path = std::env::split_paths(path).map(|folder| {
        let folder = cwd.join(folder);
        (folder.join(name), None, "PATH", folder)
    });
    let own = ours.iter().map(|ours| {
        let (candidate, hold) =
            ours.program(name).unwrap_or_else(|| (ours.link().join("bin").join(name), None));
        (candidate, hold, "installed by mia", ours.path().to_owned())
    });
    for (candidate, hold, by, folder) in on_path.chain(own) {
        match unusable(&candidate) {
            None => {
                let by = if config.binary.is_some() { "configured" } else { by };
                return Ok(Found { path: candidate, by, _hold: hold });
            }
            Some((Cause::NotExecutable, what)) => {
                broken.get_or_insert((candidate.clone(), what));
            }
            Some(_) => {}
        }
        searched.push(folder.display().to_string());
    }
    let hint = if install.is_empty() {
        format!("install {}, or set plugins.{}.binary", name.display(), config.name)
    } else {
        format!("install it with: {install}")
    };
    let error = match broken {
        Some((path, what)) => {
            failure(format!("the program {} {what}", path.display()), Cause::NotExecutable, hint)
        }
        None => failure(
            format!("the program {} is not installed", name.display()),
            Cause::NotInstalled,
            hint,
        ),
    };
    Err(error.with_detail(format!("searched: {}", searched.join(", "))))
}

/// Why a path can't be run, if so.
fn unusable(path: &Path) -> Option<(Cause, String)> {
    let metadata = match path.metadata() {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Some((Cause::NotInstalled, "does not exist".to_owned()));
        }
        Err(error) => return Some((Cause::NotInstalled, format!("can't be looked at: {error}"))),
    };
    if metadata.is_dir() {
        Some((Cause::NotExecutable, "is a folder".to_owned()))
    } else if metadata.permissions().mode() & 0o111 == 0 {
        Some((Cause::NotExecutable, "is not executable".to_owned()))
    } else if metadata.len() == 0 && metadata.is_file() {
        Some((Cause::NotExecutable, "is empty".to_owned()))
    } else {
        None
    }
}

fn expand_home(path: &Path, environment: &Environment) -> PathBuf {
    match (path.strip_prefix("~"), environment.get("HOME")) {
        (Ok(rest), Some(home)) => Path::new(home).join(rest),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Place {
        root: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            for folder in ["bin", "empty", "dir/tool", "agents/p/1.0.0/bin"] {
                fs::create_dir_all(root.path().join(folder)).unwrap();
            }
            let agent = AgentFolder::new(&root.path().join("agents"), "p");
            AgentFolder::make_holdable(&agent.path().join("1.0.0")).unwrap();
            agent.switch_to("1.0.0").unwrap();
            Self { root }
        }

        fn program(&self, path: &str, text: &str, mode: u32) {
            let path = self.root.path().join(path);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }

        fn find(&self, binary: Option<&str>, folders: &[&str]) -> Result<Found, PluginError> {
            let joined: Vec<_> = folders.iter().map(|f| self.root.path().join(f)).collect();
            let path = std::env::join_paths(joined).unwrap();
            let config = PluginConfig {
                binary: binary.map(|b| self.root.path().join(b)),
                ..PluginConfig::new("p")
            };
            let environment: Environment = [("PATH", path)].into_iter().collect();
            let installed = self.root.path().join("agents");
            let cwd = Path::new("/");
            find(&config, "tool", "npm i tool", &environment, Some(&installed), cwd)
        }
    }

    #[test]
    fn m_010_configured_then_path_then_our_own_folder() {
        let place = Place::new();
        place.program("agents/p/1.0.0/bin/tool", "#!/bin/sh\n", 0o755);
        let ours = place.find(None, &["empty"]).unwrap();
        assert_eq!((ours.by, ours._hold.is_some()), ("installed by mia", true));
        assert!(ours.path.ends_with("p/1.0.0/bin/tool"), "not through the link: {ours:?}");
        place.program("bin/tool", "#!/bin/sh\n", 0o755);
        assert_eq!(place.find(None, &["empty", "bin"]).unwrap().by, "PATH");
        place.program("mine", "#!/bin/sh\n", 0o755);
        assert_eq!(place.find(Some("mine"), &["bin"]).unwrap().by, "configured");
        let chosen = place.find(Some("agents/p/current/bin/tool"), &["bin"]).unwrap();
        assert_eq!((chosen.by, chosen._hold.is_some()), ("configured", true));
    }

    #[test]
    fn m_010_what_is_missing_or_broken_is_said_with_what_to_do() {
        let place = Place::new();
        let missing = place.find(None, &["empty"]).unwrap_err();
        assert_eq!(missing.code, ErrorCode::SpawnFailure);
        assert_eq!(missing.cause, Some(Cause::NotInstalled));
        assert_eq!(missing.hint.as_deref(), Some("install it with: npm i tool"));
        assert!(missing.detail.unwrap().contains("/empty"));

        place.program("plain", "#!/bin/sh\n", 0o644);
        place.program("void", "", 0o755);
        for (binary, says) in [
            ("nowhere", "does not exist"),
            ("plain", "is not executable"),
            ("dir", "is a folder"),
            ("void", "is empty"),
        ] {
            let error = place.find(Some(binary), &["bin"]).unwrap_err();
            assert_eq!(error.code, ErrorCode::SpawnFailure);
            assert!(error.message.contains(says), "{binary}: {}", error.message);
        }
        // A folder on the PATH that has the program's name is no program.
        let error = place.find(None, &["dir"]).unwrap_err();
        assert!(error.message.contains("is a folder"), "{}", error.message);
    }
}
