//! How people sign in to an agent, and whether somebody has.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::contract::Environment;

/// The most of a login's file that is looked at, in bytes.
const MOST: u64 = 1024 * 1024;

/// Where an agent finds what it signs in with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Login {
    /// Variables that hold a key, or that choose a provider with keys of its own.
    pub variables: Vec<String>,
    /// Files that somebody who has signed in has.
    pub files: Vec<LoginFile>,
    /// What to do when there is neither: one sentence without a full stop.
    pub hint: String,
}

/// A file that holds a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginFile {
    /// The variable that names the folder, where the agent knows one.
    pub variable: Option<String>,
    /// The folder otherwise, below HOME.
    pub folder: String,
    /// The file, below the folder.
    pub file: String,
    /// The member of its JSON that is the login, dotted; none means any content but an empty
    /// object.
    pub member: Option<String>,
}

impl LoginFile {
    /// A file in a folder below HOME.
    pub fn new(folder: impl Into<String>, file: impl Into<String>) -> Self {
        Self { variable: None, folder: folder.into(), file: file.into(), member: None }
    }

    /// The variable that names another folder.
    #[must_use]
    pub fn or_below(mut self, variable: impl Into<String>) -> Self {
        self.variable = Some(variable.into());
        self
    }

    /// Only with this member, dotted, the file is a login.
    #[must_use]
    pub fn with_member(mut self, member: impl Into<String>) -> Self {
        self.member = Some(member.into());
        self
    }

    /// Where it is for somebody with this environment, and how that place is shown.
    fn place(&self, environment: &Environment) -> Option<(PathBuf, String)> {
        let named = self.variable.as_ref().and_then(|v| environment.get(v));
        if let Some(folder) = named.filter(|folder| !folder.is_empty()) {
            let path = Path::new(folder).join(&self.file);
            let shown = path.display().to_string();
            return Some((path, shown));
        }
        let below = Path::new(&self.folder).join(&self.file);
        let shown = format!("~/{}", below.display());
        Some((Path::new(environment.get("HOME")?).join(below), shown))
    }

    fn holds_a_login(&self, path: &Path) -> bool {
        let mut text = Vec::new();
        // A FIFO would make the look at it wait for ever.
        if !path.metadata().is_ok_and(|about| about.is_file()) {
            return false;
        }
        let read = File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut text));
        if read.is_err() || text.trim_ascii().is_empty() {
            return false;
        }
        let json = serde_json::from_slice::<Value>(&text);
        match (&self.member, json) {
            (None, Ok(Value::Object(members))) => !members.is_empty(),
            // What is not JSON is the agent's own format.
            (None, _) => true,
            (Some(_), Err(_)) => false,
            (Some(member), Ok(json)) => {
                let found = member.split('.').try_fold(&json, |value, name| value.get(name));
                found.is_some_and(|v| !matches!(v, Value::Null) && v != "" && v != false)
            }
        }
    }
}

/// Whether somebody has signed in to an agent. Nothing in here is a secret: names only.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SignIn {
    /// The variable or file that was found.
    pub found: Option<String>,
    /// Everything that was looked for.
    pub looked_for: Vec<String>,
    /// What to do when nothing was found.
    pub hint: String,
}

impl Login {
    /// Looks for a login as the agent would, in the environment that it gets.
    #[must_use]
    pub fn look(&self, environment: &Environment) -> SignIn {
        let mut found = None;
        let mut looked_for = Vec::new();
        for name in &self.variables {
            let on =
                environment.get(name).is_some_and(|v| !v.is_empty() && v != "0" && v != "false");
            if on && found.is_none() {
                found = Some(name.clone());
            }
            looked_for.push(name.clone());
        }
        for file in &self.files {
            let Some((path, shown)) = file.place(environment) else { continue };
            if found.is_none() && file.holds_a_login(&path) {
                found = Some(shown.clone());
            }
            looked_for.push(shown);
        }
        SignIn { found, looked_for, hint: self.hint.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use pretty_assertions::assert_eq;

    fn login() -> Login {
        Login {
            variables: vec!["A_KEY".into(), "USE_B".into()],
            files: vec![
                LoginFile::new(".a", "auth.json").or_below("A_HOME"),
                LoginFile::new("", ".a.json").with_member("user.key"),
            ],
            hint: "run `a login`".into(),
        }
    }

    fn found(pairs: &[(&str, &str)]) -> Option<String> {
        login().look(&pairs.iter().copied().collect()).found
    }

    #[test]
    fn m_071_a_variable_that_is_set_is_a_login_and_an_empty_one_is_none() {
        assert_eq!(found(&[("A_KEY", "x")]).as_deref(), Some("A_KEY"));
        assert_eq!(found(&[("USE_B", "1"), ("A_KEY", "")]).as_deref(), Some("USE_B"));
        assert_eq!(found(&[("USE_B", "0"), ("A_KEY", "")]), None);
    }

    #[test]
    fn m_071_a_file_is_a_login_when_something_is_in_it() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().to_str().unwrap();
        fs::create_dir(home.path().join(".a")).unwrap();
        let file = home.path().join(".a/auth.json");
        for (text, there) in [("", false), ("{}", false), ("{\"token\":1}", true), ("opaque", true)]
        {
            fs::write(&file, text).unwrap();
            assert_eq!(found(&[("HOME", at)]).is_some(), there, "{text:?}");
        }
        assert_eq!(found(&[("HOME", at)]).as_deref(), Some("~/.a/auth.json"));
        // The variable takes the place of the folder.
        assert_eq!(found(&[("HOME", at), ("A_HOME", "/nowhere")]), None);
        fs::rename(&file, home.path().join("auth.json")).unwrap();
        let there = format!("{at}/auth.json");
        assert_eq!(found(&[("HOME", "/nowhere"), ("A_HOME", at)]), Some(there));
    }

    #[test]
    fn m_071_a_member_decides_where_a_file_holds_other_things_too() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path().to_str().unwrap();
        for (text, there) in [
            ("{\"theme\":1}", false),
            ("{\"user\":{\"key\":\"\"}}", false),
            ("{\"user\":7}", false),
            ("[", false),
            ("{\"user\":{\"key\":\"k\"}}", true),
        ] {
            fs::write(home.path().join(".a.json"), text).unwrap();
            assert_eq!(found(&[("HOME", at)]).is_some(), there, "{text:?}");
        }
        let all = login().look(&[("HOME", at)].into_iter().collect()).looked_for;
        assert_eq!(all, ["A_KEY", "USE_B", "~/.a/auth.json", "~/.a.json"]);
        assert_eq!(login().look(&Environment::default()).looked_for, ["A_KEY", "USE_B"]);
    }
}
