//! The real agents, at the versions that the lock file pins.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::missing;
use crate::Failure;
use crate::outcome::Outcome;
use crate::repository::{Repository, on_path, run};

const LOCK: &str = "tests/agents/package-lock.json";
/// A copy of the lock file, written when all of it was installed.
const STAMP: &str = "tests/agents/node_modules/.installed-lock.json";

/// What the lock file says.
pub(super) struct Agents {
    text: String,
    lock: Lock,
}

#[derive(Debug, Deserialize)]
struct Lock {
    /// By folder; the empty one is the project itself.
    packages: BTreeMap<String, Package>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Package {
    optional: bool,
    os: Vec<String>,
    cpu: Vec<String>,
    libc: Vec<String>,
    dependencies: BTreeMap<String, String>,
    engines: BTreeMap<String, String>,
}

impl Agents {
    pub(super) fn read(repository: &Repository) -> Result<Self, Failure> {
        let text = fs::read_to_string(repository.path(LOCK))
            .map_err(|error| format!("can't read {LOCK}: {error}"))?;
        let lock =
            serde_json::from_str(&text).map_err(|error| format!("can't read {LOCK}: {error}"))?;
        Ok(Self { text, lock })
    }

    /// The names of the agents.
    fn names(&self) -> Vec<&str> {
        let project = self.lock.packages.get("");
        project.into_iter().flat_map(|p| p.dependencies.keys()).map(String::as_str).collect()
    }

    /// The major version of node that all agents can live with.
    pub(super) fn node_major(&self) -> u32 {
        let of = |name: &&str| {
            let package = self.lock.packages.get(&format!("node_modules/{name}"))?;
            oldest_major(package.engines.get("node")?)
        };
        self.names().iter().filter_map(of).max().unwrap_or(0)
    }

    /// Whether all of it is there already.
    pub(super) fn installed(&self, repository: &Repository) -> bool {
        fs::read_to_string(repository.path(STAMP)).is_ok_and(|stamp| stamp == self.text)
            && self.missing(repository).is_empty()
    }

    /// The packages for this platform that are not there. npm itself says nothing when it could
    /// not bring an optional one, such as the native program of an agent.
    fn missing(&self, repository: &Repository) -> Vec<&str> {
        let agents = repository.path("tests/agents");
        let wanted = self.lock.packages.iter().filter(|(_, package)| package.is_for_us());
        wanted
            .map(|(folder, _)| folder.as_str())
            .filter(|folder| !agents.join(folder).join("package.json").is_file())
            .collect()
    }

    /// Installs them where they are missing.
    pub(super) fn prepare(
        &self,
        repository: &Repository,
        node_bin: Option<&Path>,
    ) -> Result<Outcome, Failure> {
        if self.installed(repository) {
            return Ok(Outcome::passed());
        }
        let names = self.names().join(", ");
        if !on_path("npm") {
            let why = format!("real agents ({names}): there is no npm to install them");
            return Ok(missing(&why, String::new()));
        }
        let mut command = repository.command("npm");
        command.args(["ci", "--prefer-offline"]).current_dir(repository.path("tests/agents"));
        if let Some(bin) = node_bin {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = [PathBuf::from(bin)].into_iter().chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(folders)?);
        }
        let said = run(&mut command)?;
        if !said.ok() {
            let why = format!("real agents ({names}): `npm ci` failed in tests/agents");
            return Ok(missing(&why, said.all));
        }
        let absent = self.missing(repository);
        if !absent.is_empty() {
            let what = absent.join(", ");
            let why = format!("real agents ({names}): npm did not install {what}");
            return Ok(missing(&why, said.all));
        }
        fs::write(repository.path(STAMP), &self.text)?;
        Ok(Outcome { summary: format!("installed: {names}"), ..Outcome::passed() })
    }
}

impl Package {
    /// Whether npm installs it on this machine.
    fn is_for_us(&self) -> bool {
        let cpu = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => other,
        };
        let libc = if cfg!(target_env = "musl") { "musl" } else { "glibc" };
        let fits = |list: &[String], ours: &str| list.is_empty() || list.iter().any(|x| x == ours);
        let everywhere = self.os.is_empty() && self.cpu.is_empty();
        if self.optional && everywhere {
            return false;
        }
        fits(&self.os, std::env::consts::OS) && fits(&self.cpu, cpu) && fits(&self.libc, libc)
    }
}

/// The lowest major version that a range such as `^20.19.0 || >=22.12.0` allows.
fn oldest_major(range: &str) -> Option<u32> {
    let numbers = |part: &str| {
        let digits = part.trim().trim_start_matches(|c: char| !c.is_ascii_digit());
        digits.split(|c: char| !c.is_ascii_digit()).next().and_then(|major| major.parse().ok())
    };
    range.split("||").filter_map(numbers).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn agents(text: &str) -> Agents {
        Agents { text: text.to_owned(), lock: serde_json::from_str(text).unwrap() }
    }

    #[test]
    fn the_lock_file_says_which_node_and_which_packages() {
        let agents = agents(
            r#"{"packages": {
                "": {"dependencies": {"a": "1.0.0", "b": "1.0.0"}},
                "node_modules/a": {"engines": {"node": ">=20"}},
                "node_modules/b": {"engines": {"node": "^20.19.0 || >=22.12.0"}},
                "node_modules/c": {"engines": {"node": ">=99"}, "optional": true, "os": ["win32"]}
            }}"#,
        );
        assert_eq!(agents.names(), ["a", "b"]);
        assert_eq!(agents.node_major(), 20);
        let ours: Vec<_> = agents.lock.packages.iter().filter(|(_, p)| p.is_for_us()).collect();
        let ours: Vec<_> = ours.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(ours, ["", "node_modules/a", "node_modules/b"]);
    }

    #[test]
    fn the_oldest_major_of_a_range() {
        assert_eq!(oldest_major(">=22.0.0"), Some(22));
        assert_eq!(oldest_major("^20.19.0 || >=22.12.0"), Some(20));
        assert_eq!(oldest_major("*"), None);
    }
}
