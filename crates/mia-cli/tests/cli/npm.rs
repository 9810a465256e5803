//! A scripted `npm`, and a person who has it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::person::Person;

/// What npm is asked for, as a word of the script.
const ASKED: &str = r#"PATH=/usr/bin:/bin
version=$(sed -n 's/.*claude-code": "\(.*\)".*/\1/p' package.json)
modules=node_modules/@anthropic-ai
[ "$1" = install ] || exit 9
"#;

/// Brings the package and a program for this machine, which does that.
pub(crate) fn brings(program: &str) -> String {
    let cpu = mia_plugin::npm_cpu();
    format!(
        r#"mkdir -p $modules/claude-code $modules/claude-code-linux-{cpu}
echo '{{"version": "'$version'"}}' > $modules/claude-code/package.json
cat > $modules/claude-code-linux-{cpu}/claude <<END
#!/bin/sh
{program}
END
chmod 755 $modules/claude-code-linux-{cpu}/claude
"#
    )
}

/// The usual program: it tells its version.
pub(crate) fn brings_claude() -> String {
    brings("echo \"$version (Claude Code)\"")
}

impl Person {
    /// Installs an `npm` that does that, in `$version`'s folder.
    pub(crate) fn npm(&self, script: &str) -> &Self {
        self.program("npm", &format!("{ASKED}{script}"))
    }

    /// Puts a script on the `PATH`.
    pub(crate) fn program(&self, name: &str, script: &str) -> &Self {
        let path = self.folder().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// A file that scripts and the test agree on.
    pub(crate) fn mark(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// The folder of Mia's own `claude`.
    pub(crate) fn agent(&self) -> PathBuf {
        self.mia_home().join("agents/claude-code")
    }

    /// What is in it.
    pub(crate) fn agent_files(&self) -> Vec<String> {
        names(&self.agent())
    }
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
