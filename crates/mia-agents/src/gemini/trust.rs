//! Whether gemini may take the working directory for trusted.

use std::path::Path;

/// True when trusting the directory would release nothing that lies in it.
///
/// Headless, gemini refuses (status 55) to work where the user has not trusted the directory in its
/// terminal, which is any directory at first. Trust makes it obey what a repository brings along:
/// `.gemini` (hooks and servers, which are commands that run by themselves) and `.env` (variables,
/// the provider's address among them), the latter also from the directories above. Where there is
/// none of these, trust is no risk and Mia grants it, for this one process. Where there is one, only
/// the user can.
pub(super) fn releases_nothing(directory: &Path) -> bool {
    let home = std::env::home_dir();
    let has = |folder: &Path, name: &str| folder.join(name).symlink_metadata().is_ok();
    // In the home directory these are the user's own, which gemini reads anyway.
    let above = directory.ancestors().filter(|folder| Some(*folder) != home.as_deref());
    !has(directory, ".gemini")
        && above.into_iter().all(|folder| !has(folder, ".env") && !has(folder, ".gemini/.env"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_brings_settings_or_variables_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("a/b");
        std::fs::create_dir_all(&work).unwrap();
        assert!(releases_nothing(&work));
        for name in ["a/.env", "a/b/.env", "a/.gemini/.env", "a/b/.gemini/settings.json"] {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "x").unwrap();
            assert!(!releases_nothing(&work), "{name}");
            std::fs::remove_file(&file).unwrap();
            let _ = std::fs::remove_dir(file.parent().unwrap());
        }
        std::fs::create_dir_all(&work).unwrap();
        assert!(releases_nothing(&work));
        std::os::unix::fs::symlink("/nowhere", work.join(".gemini")).unwrap();
        assert!(!releases_nothing(&work), "a link may get a target later");
    }
}
