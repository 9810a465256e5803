//! A folder with a `config.yaml`, and paths that lead there.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use mia_config::{Config, ConfigErrors, Loaded, Override, Paths, Surroundings};
use tempfile::TempDir;

pub(crate) struct Home {
    pub(crate) folder: TempDir,
    pub(crate) paths: Paths,
}

impl Home {
    /// Without a file.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().as_os_str().to_owned();
        let paths = Paths::discover(&Surroundings {
            var: &|name| match name {
                "MIA_HOME" => Some(root.clone()),
                "HOME" => Some("/home/someone".into()),
                _ => None,
            },
            cwd: &|| Ok(PathBuf::from("/")),
            account_home: &|| None,
        });
        Self { folder, paths: paths.unwrap() }
    }

    pub(crate) fn with(text: impl AsRef<[u8]>) -> Self {
        let home = Self::empty();
        fs::write(&home.paths.config_file, text).unwrap();
        home
    }

    pub(crate) fn text(&self) -> String {
        fs::read_to_string(&self.paths.config_file).unwrap()
    }

    pub(crate) fn load(&self) -> Result<Loaded, ConfigErrors> {
        self.load_with(&[], &[])
    }

    pub(crate) fn load_with(
        &self,
        vars: &[(&str, &str)],
        overrides: &[(&str, &str, &str)],
    ) -> Result<Loaded, ConfigErrors> {
        let overrides: Vec<_> = overrides
            .iter()
            .map(|(flag, key, value)| Override {
                flag: (*flag).into(),
                key: (*key).into(),
                value: (*value).into(),
            })
            .collect();
        let var = |name: &str| {
            vars.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        };
        Config::load(&self.paths, &var, &overrides)
    }

    /// The mistakes of the file, one a line, under its bare name.
    pub(crate) fn mistakes(&self) -> String {
        let folder = format!("{}/", self.folder.path().display());
        let error = self.load().unwrap_err();
        let lines: Vec<_> = error.list().iter().map(ToString::to_string).collect();
        lines.join("\n").replace(&folder, "")
    }
}
