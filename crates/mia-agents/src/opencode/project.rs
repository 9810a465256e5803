//! What a folder brings along that opencode would obey.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::foreign::{Folder, is_there};

/// Plugins and tools, which are code; servers and templates, which run commands; a provider's
/// address, which gets the user's key; and rules.
const OBEYED: [&str; 3] = ["opencode.json", "opencode.jsonc", ".opencode"];

/// The first of what opencode would obey in that folder or above it. Its own switch for a project's
/// configuration is not enough: with it the plugins are run all the same. What lies in the user's
/// own home is the user's own.
pub(super) fn obeyed(directory: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let folder = match Folder::of(directory, home) {
        Ok(folder) => folder,
        // Nothing can be started in it.
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        Err(_) => return Some(directory.to_owned()),
    };
    folder
        .foreign()
        .flat_map(|folder| OBEYED.iter().map(move |name| folder.join(name)))
        .find(|path| is_there(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_026_what_a_folder_brings_along_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (work, link) = (root.join("real/work"), root.join("link"));
        std::fs::create_dir_all(&work).unwrap();
        std::os::unix::fs::symlink(&work, &link).unwrap();
        assert_eq!(obeyed(&link, None), None);
        for name in ["real/work/opencode.json", "real/opencode.jsonc", "real/work/.opencode"] {
            let path = root.join(name);
            std::os::unix::fs::symlink("/nowhere", &path).unwrap();
            assert_eq!(obeyed(&link, None), Some(path.clone()));
            std::fs::remove_file(path).unwrap();
        }
        std::fs::create_dir(root.join("real/.opencode")).unwrap();
        assert_eq!(obeyed(&work, Some(&root.join("real"))), None, "it is the user's own");
        assert!(obeyed(&work, Some(&root)).is_some());
        assert_eq!(obeyed(&root.join("missing"), None), None);
    }
}
