//! Which changes of files are edits of the project.

use std::path::{Component, Path, PathBuf};

/// Folders whose files are commands to a program.
const FOLDERS: [&str; 9] =
    [".git", ".opencode", ".qwen", ".agents", ".claude", ".codex", ".gemini", ".mia", ".vscode"];
/// Files that configure an agent, of which each is such a command as well.
const FILES: [&str; 4] = ["opencode.json", "opencode.jsonc", ".mcp.json", ".env"];

/// Whether a change of that file is an edit of the project: below the working directory, links
/// followed, and not of what is obeyed by a program that starts there.
pub(crate) fn is_edit(path: &Path, cwd: &Path) -> bool {
    let path = cwd.join(path);
    let odd = |part: Component<'_>| match part {
        Component::ParentDir => true,
        Component::Normal(name) => FOLDERS.iter().chain(&FILES).any(|odd| name == *odd),
        _ => false,
    };
    let Ok(canonical) = cwd.canonicalize() else { return false };
    let inside = path.strip_prefix(cwd).or_else(|_| path.strip_prefix(&canonical));
    if !inside.is_ok_and(|inside| !inside.components().any(odd)) {
        return false;
    }
    // The folder itself is no file.
    real(&path).is_some_and(|real| {
        real.strip_prefix(canonical)
            .is_ok_and(|inside| inside != Path::new("") && !inside.components().any(odd))
    })
}

/// Where a path leads that may not exist yet: its nearest part that does, links followed, and the
/// rest. A link that leads nowhere is nothing to write through.
pub(crate) fn real(path: &Path) -> Option<PathBuf> {
    for part in path.ancestors() {
        match part.canonicalize() {
            Ok(real) => return Some(real.join(path.strip_prefix(part).ok()?)),
            Err(_) if part.is_symlink() => return None,
            Err(_) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn m_026_an_edit_stays_in_the_project_and_out_of_what_is_obeyed() {
        let folder = tempfile::tempdir().unwrap();
        let (cwd, link) = (folder.path().join("project"), folder.path().join("link"));
        std::fs::create_dir_all(cwd.join("src")).unwrap();
        std::fs::create_dir(cwd.join(".git")).unwrap();
        symlink(&cwd, &link).unwrap();
        symlink("/etc", cwd.join("out")).unwrap();
        symlink(folder.path().join("outside.txt"), cwd.join("dangling")).unwrap();
        symlink(".git", cwd.join("hidden")).unwrap();
        symlink("src", cwd.join("within")).unwrap();
        let inside = |path: &str| cwd.join(path);
        for path in ["a.txt", "src/new/b.rs", "within/c.rs", ".gitignore", ".env.example"] {
            assert!(is_edit(&inside(path), &cwd), "{path}");
            assert!(is_edit(Path::new(path), &cwd), "{path}");
            assert!(is_edit(&inside(path), &link), "{path}");
            assert!(is_edit(&link.join(path), &link), "{path}");
        }
        for path in [
            "",
            "/etc/passwd",
            "../other.txt",
            "src/../../x",
            ".git/hooks/pre-commit",
            "sub/.opencode/plugin/x.js",
            "opencode.json",
            ".qwen/settings.json",
            "out/passwd",
            "dangling",
            "hidden/config",
            "../project2/x",
        ] {
            assert!(!is_edit(&inside(path), &cwd), "{path}");
        }
    }
}
