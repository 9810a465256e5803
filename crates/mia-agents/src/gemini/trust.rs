//! Whether gemini may take the working directory for trusted.

use std::path::Path;

use crate::foreign::{Folder, is_there};

/// True when trusting the directory would release nothing that lies in it.
///
/// Headless, gemini refuses (status 55) to work where the user has not trusted the directory in its
/// terminal, which is any directory at first. Trust makes it obey what a repository brings along:
/// `.gemini` (hooks and servers, which are commands that run by themselves) and `.env` (variables,
/// the provider's address among them), the latter also from the directories above. Where there is
/// none of these, trust is no risk and Mia grants it, for this one process. Where there is one, only
/// the user can. What lies in the user's own home is the user's own.
pub(super) fn releases_nothing(directory: &Path, home: Option<&Path>) -> bool {
    let Ok(folder) = Folder::of(directory, home) else { return false };
    let settings =
        folder.foreign().any(|one| one == folder.path() && is_there(&one.join(".gemini")));
    let variables = folder
        .foreign()
        .any(|one| is_there(&one.join(".env")) || is_there(&one.join(".gemini/.env")));
    !settings && !variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_brings_settings_or_variables_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("a/b");
        std::fs::create_dir_all(&work).unwrap();
        assert!(releases_nothing(&work, None));
        for name in ["a/.env", "a/b/.env", "a/.gemini/.env", "a/b/.gemini/settings.json"] {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "x").unwrap();
            assert!(!releases_nothing(&work, None), "{name}");
            std::fs::remove_file(&file).unwrap();
            let _ = std::fs::remove_dir(file.parent().unwrap());
        }
        std::fs::create_dir_all(&work).unwrap();
        assert!(releases_nothing(&work, None));
        std::os::unix::fs::symlink("/nowhere", work.join(".gemini")).unwrap();
        assert!(!releases_nothing(&work, None), "a link may get a target later");
    }

    #[test]
    fn a_link_to_a_directory_is_followed_before_what_lies_above_is_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real/work"), folder.path().join("other/link"));
        std::fs::create_dir_all(&real).unwrap();
        std::fs::create_dir(folder.path().join("other")).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(releases_nothing(&link, None));
        std::fs::write(folder.path().join("real/.env"), "x").unwrap();
        assert!(!releases_nothing(&link, None));
        std::fs::remove_file(folder.path().join("real/.env")).unwrap();
        std::fs::write(folder.path().join("other/.env"), "x").unwrap();
        assert!(releases_nothing(&link, None), "it does not lie above");
        assert!(!releases_nothing(&folder.path().join("missing"), None));
    }

    #[test]
    fn what_lies_in_the_home_is_the_users_own() {
        let folder = tempfile::tempdir().unwrap();
        let (home, work) = (folder.path().join("home"), folder.path().join("home/a"));
        std::fs::create_dir_all(&work).unwrap();
        std::fs::create_dir(home.join(".gemini")).unwrap();
        std::fs::write(home.join(".gemini/.env"), "x").unwrap();
        std::fs::write(home.join(".env"), "x").unwrap();
        assert!(!releases_nothing(&work, None));
        for directory in [&work, &home] {
            assert!(releases_nothing(directory, Some(&home)), "{directory:?}");
        }
        assert!(!releases_nothing(&work, Some(folder.path())), "that is another home");
        std::fs::write(work.join(".env"), "x").unwrap();
        assert!(!releases_nothing(&work, Some(&home)));
    }
}
