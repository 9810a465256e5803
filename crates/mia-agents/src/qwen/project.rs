//! What a folder brings along that qwen would obey.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::foreign::{Folder, is_there};

/// Of the folder and of those above it: variables, the provider's address among them, which then
/// gets the user's key.
const ABOVE: [&str; 2] = [".env", ".qwen/.env"];
/// Of the folder and of those above it up to where its repository begins: rules for tools, and what
/// runs commands by itself (hooks, servers, templates) or tells of tools that may be used.
const OBEYED: [&str; 7] = [
    ".qwen/settings.json",
    ".qwen/agents",
    ".qwen/commands",
    ".qwen/extensions",
    ".qwen/hooks",
    ".qwen/skills",
    ".mcp.json",
];

/// The first of what qwen would obey in that folder. Its flags and variables leave none of it out:
/// `--bare` leaves the user's own settings out as well, and `--safe-mode` leaves these in. What lies
/// in the user's own home is the user's own.
pub(super) fn obeyed(directory: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let folder = match Folder::of(directory, home) {
        Ok(folder) => folder,
        // Nothing can be started in it.
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(_) => return Some(directory.to_owned()),
    };
    let top = folder.path().ancestors().find(|folder| is_there(&folder.join(".git")));
    let top = top.unwrap_or(folder.path());
    folder.foreign().find_map(|folder| {
        let obeyed = OBEYED.iter().filter(|_| folder.starts_with(top));
        ABOVE.iter().chain(obeyed).map(|name| folder.join(name)).find(|path| is_there(path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_026_what_a_folder_brings_along_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let work = root.join("a/b");
        std::fs::create_dir_all(&work).unwrap();
        std::fs::create_dir(root.join("a/.git")).unwrap();
        assert_eq!(obeyed(&work, None), None);
        for name in [".env", "a/.env", "a/b/.env", "a/.qwen/.env", "a/b/.qwen/settings.json"] {
            let file = root.join(name);
            let parent = file.parent().unwrap().to_owned();
            std::fs::create_dir_all(&parent).unwrap();
            std::fs::write(&file, "x").unwrap();
            assert_eq!(obeyed(&work, None), Some(file.clone()));
            std::fs::remove_file(&file).unwrap();
            let _ = std::fs::remove_dir(&parent);
            std::fs::create_dir_all(&work).unwrap();
        }
        std::fs::create_dir_all(root.join(".qwen/commands")).unwrap();
        std::fs::create_dir_all(work.join(".qwen")).unwrap();
        assert_eq!(obeyed(&work, None), None, "above the repository, and an empty folder");
        std::os::unix::fs::symlink("/nowhere", work.join(".qwen/hooks")).unwrap();
        assert_eq!(obeyed(&work, None), Some(work.join(".qwen/hooks")));
        assert_eq!(obeyed(&root.join("missing"), None), None);
    }

    #[test]
    fn m_026_what_lies_in_the_home_is_the_users_own() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        let work = home.join("a");
        std::fs::create_dir_all(home.join(".qwen")).unwrap();
        std::fs::create_dir(&work).unwrap();
        for name in [".env", ".qwen/.env", ".qwen/settings.json"] {
            std::fs::write(home.join(name), "x").unwrap();
        }
        assert_eq!(obeyed(&work, Some(&home)), None);
        assert_eq!(obeyed(&home, Some(&home)), None);
        assert!(obeyed(&work, None).is_some());
    }
}
