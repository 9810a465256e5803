//! What codex may do.

use std::path::{Component, Path};

use mia_api::PermissionPolicy;
use serde_json::{Map, Value, json};

use crate::edits;

/// How a session's record names what its last turn was allowed.
pub(super) const OWN: &str = "own";

pub(super) fn name(policy: Option<PermissionPolicy>) -> &'static str {
    match policy {
        None => OWN,
        Some(PermissionPolicy::ReadOnly) => "read-only",
        Some(PermissionPolicy::Edit) => "edit",
        Some(PermissionPolicy::Full) => "full",
    }
}

/// The members of `thread/start` and `thread/resume` that say it. None are codex's own rules.
pub(super) fn members(policy: Option<PermissionPolicy>) -> Map<String, Value> {
    let members = match policy {
        None => Value::Null,
        // Commands that only read run; what its sandbox stops is asked for, as is every change of a
        // file, and here the answers differ: see `asking`. `on-request` would not do: there a
        // command that the sandbox stops just fails, and no item tells of it. Nor would
        // `workspace-write` for edits: in it every command may write. Nor `untrusted`: it asks for
        // every `ls`.
        Some(PermissionPolicy::ReadOnly | PermissionPolicy::Edit) => json!({
            "sandbox": "read-only",
            "approvalPolicy": {"granular": {
                "sandbox_approval": true,
                "rules": true,
                "skill_approval": true,
                "request_permissions": true,
                "mcp_elicitations": true,
            }},
            // Else a configured model may answer in our place.
            "approvalsReviewer": "user",
        }),
        Some(PermissionPolicy::Full) => {
            json!({"sandbox": "danger-full-access", "approvalPolicy": "never"})
        }
    };
    match members {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Whether a change of that file is an edit of the project: below the working directory, links
/// followed, and not in a folder whose files are commands to a program.
pub(super) fn is_edit(path: &str, cwd: &Path) -> bool {
    let path = cwd.join(path);
    let odd = |part: Component<'_>| match part {
        Component::ParentDir => true,
        Component::Normal(name) => {
            [".git", ".codex", ".agents", ".mia"].iter().any(|folder| name == *folder)
        }
        _ => false,
    };
    let Ok(inside) = path.strip_prefix(cwd) else { return false };
    if inside.components().any(odd) {
        return false;
    }
    let (Some(real), Ok(cwd)) = (edits::real(&path), cwd.canonicalize()) else { return false };
    real.strip_prefix(cwd).is_ok_and(|inside| !inside.components().any(odd))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_stays_in_the_project_and_out_of_what_is_run() {
        let folder = tempfile::tempdir().unwrap();
        let cwd = folder.path().join("project");
        std::fs::create_dir_all(cwd.join("src")).unwrap();
        std::os::unix::fs::symlink("/etc", cwd.join("out")).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", cwd.join("dangling")).unwrap();
        std::os::unix::fs::symlink(".git", cwd.join("hidden")).unwrap();
        std::fs::create_dir(cwd.join(".git")).unwrap();
        let inside = |path: &str| cwd.join(path).to_string_lossy().into_owned();
        for path in ["a.txt", "src/new/b.rs", &inside("src/c.rs"), ".gitignore"] {
            assert!(is_edit(path, &cwd), "{path}");
        }
        for path in [
            "/etc/passwd",
            "../other.txt",
            "src/../../x",
            ".git/hooks/pre-commit",
            "sub/.codex/config.toml",
            "out/passwd",
            "dangling",
            "hidden/config",
            &inside("../project2/x"),
        ] {
            assert!(!is_edit(path, &cwd), "{path}");
        }
    }
}
