//! How an agent gets onto a machine: what `mia plugin install` needs to know of it.

use std::path::PathBuf;

/// An agent's package in the npm registry.
///
/// Mia installs it without running any script of a package: what a package's own script would put
/// in place is named by [`program`](Package::program) instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its name in the registry.
    pub name: String,
    /// The version that the adapter was made for, exact.
    pub version: String,
    /// The name that its program is run by; empty means that of the adapter's profile.
    pub command: String,
    /// The agent's program, below `node_modules`: the first that is there and starts. `{cpu}`
    /// stands for npm's name of this machine's processor (`x64`, `arm64`), `{arch}` for the
    /// compilers' (`x86_64`, `aarch64`).
    pub programs: Vec<String>,
    /// The major version of node that runs the program; none when it runs by itself.
    pub node: Option<u32>,
}

impl Package {
    /// A package whose program runs by itself.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            command: String::new(),
            programs: Vec::new(),
            node: None,
        }
    }

    /// Adds a place where its program may be.
    #[must_use]
    pub fn program(mut self, path: impl Into<String>) -> Self {
        self.programs.push(path.into());
        self
    }

    /// Its program is a script for that major version of node or a newer one.
    #[must_use]
    pub fn node(mut self, major: u32) -> Self {
        self.node = Some(major);
        self
    }

    /// Where the program may be on this machine, below `node_modules`.
    #[must_use]
    pub fn program_paths(&self) -> Vec<PathBuf> {
        let arch = std::env::consts::ARCH;
        let fill = |path: &String| path.replace("{cpu}", npm_cpu()).replace("{arch}", arch);
        self.programs.iter().map(|path| fill(path).into()).collect()
    }
}

/// What npm calls the processor of this machine.
#[must_use]
pub fn npm_cpu() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_the_one_for_this_machine() {
        let package = Package::new("a", "1.0.0").program("a-linux-{cpu}/{arch}/a").program("b");
        let arch = std::env::consts::ARCH;
        let native = format!("a-linux-{}/{arch}/a", npm_cpu());
        assert_eq!(package.program_paths(), [PathBuf::from(native), PathBuf::from("b")]);
    }
}
