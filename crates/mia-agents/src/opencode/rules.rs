//! What opencode may do, as configuration of its own, given to this one process.
//!
//! Its rules are lists in which the last match counts: its defaults, the user's `permission`, those
//! of the agent that works. So what has to hold is an agent of ours. Its name can't be guessed, for
//! a project's `opencode.json` is merged into an agent of the same name.

use std::ffi::OsString;
use std::path::Path;

use mia_api::PermissionPolicy;
use serde_json::{Value, json};

/// Rules for one process.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// The agent that is to work; none is the user's.
    pub(super) agent: Option<String>,
    /// The variables that say so.
    pub(super) env: Vec<(OsString, OsString)>,
}

impl Rules {
    /// For that policy in that folder.
    pub(super) fn of(policy: Option<PermissionPolicy>, cwd: &Path) -> Self {
        let mut rules = Self::default();
        // Else a refusal ends the turn, in the middle and without a word.
        let mut config = json!({"experimental": {"continue_loop_on_deny": true}});
        let (name, permission) = match policy {
            None => {
                set(&mut config, "agent", json!({"general": unasking(), "explore": unasking()}));
                ("", Value::Null)
            }
            Some(PermissionPolicy::ReadOnly) => ("read-only", read_only()),
            Some(PermissionPolicy::Edit) => ("edit", edit()),
            Some(PermissionPolicy::Full) => {
                // Besides, every question is answered with yes; those of sub-agents never come.
                rules.env.push(("OPENCODE_PERMISSION".into(), r#"{"*":"allow"}"#.into()));
                ("", Value::Null)
            }
        };
        if !permission.is_null() {
            let agent = format!("mia-{name}-{}", uuid::Uuid::new_v4().simple());
            let rules_of_it = json!({"mode": "primary", "permission": permission});
            set(&mut config, "agent", json!({ agent.as_str(): rules_of_it }));
            rules.agent = Some(agent);
            rules.leave_the_project_out(&mut config, cwd);
        }
        // A caller's own variable wins over this one. Then the agent is not known, and no turn
        // begins.
        rules.env.push(("OPENCODE_CONFIG_CONTENT".into(), config.to_string().into()));
        rules
    }

    /// What lies in the folder configures nothing, even if it is put there while opencode starts;
    /// see `project` for what this does not leave out.
    fn leave_the_project_out(&mut self, config: &mut Value, cwd: &Path) {
        // Neither `opencode.json` nor `.opencode`, of the folder or above it; nor are packages
        // written into that.
        self.env.push(("OPENCODE_DISABLE_PROJECT_CONFIG".into(), "true".into()));
        // Skills of the project's `.claude` and `.agents`, each of which is a command as well.
        self.env.push(("OPENCODE_DISABLE_EXTERNAL_SKILLS".into(), "true".into()));
        // Programs of the project's own `node_modules`, where the user has these switched on.
        set(config, "formatter", false.into());
        set(config, "lsp", false.into());
        // With its configuration the project's instructions are left out too, which are only read.
        set(config, "instructions", instructions(cwd).into());
    }
}

/// The instructions that opencode would read by itself: of the first of these names that there are
/// any, from the folder up to where its repository begins.
fn instructions(cwd: &Path) -> Vec<String> {
    let Ok(cwd) = cwd.canonicalize() else { return Vec::new() };
    let top = cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&cwd);
    let folders = || cwd.ancestors().take_while(|folder| folder.starts_with(top));
    ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"]
        .iter()
        .map(|name| folders().map(move |folder| folder.join(name)).filter(|path| path.is_file()))
        .map(|found| found.filter_map(|path| Some(path.to_str()?.to_owned())).collect::<Vec<_>>())
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

/// Sub-agents, whose questions reach nobody, may not do what asks by opencode's own rules. Where it
/// puts long output of its tools is theirs to read.
fn unasking() -> Value {
    json!({"permission": {
        "doom_loop": "deny",
        "external_directory": {"*": "deny", "~/.local/share/opencode/tool-output/*": "allow"},
        "read": {"*.env": "deny", "*.env.*": "deny", "*.env.example": "allow"},
    }})
}

/// Looking only. What is denied by `*` is not even offered to the model: tools of MCP servers and
/// plugins as well.
fn read_only() -> Value {
    json!({
        "*": "deny",
        "external_directory": "ask",
        "glob": "allow",
        "grep": "allow",
        "list": "allow",
        "read": read(),
        "todoread": "allow",
        "todowrite": "allow",
    })
}

/// It asks for all that changes anything, and files in the folder may be changed: its own rule
/// for them goes by the path and not by where links lead, so `inside` answers for it. No sub-agents:
/// they have rules of their own.
fn edit() -> Value {
    json!({
        "*": "ask",
        "glob": "allow",
        "grep": "allow",
        "list": "allow",
        "read": read(),
        "skill": "allow",
        "task": "deny",
        "todoread": "allow",
        "todowrite": "allow",
    })
}

/// opencode's own rules for reading.
fn read() -> Value {
    json!({"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"})
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(members) = object {
        members.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(policy: PermissionPolicy) -> Rules {
        Rules::of(Some(policy), Path::new("/w"))
    }

    fn config(rules: &Rules) -> Value {
        let (_, config) = rules.env.last().unwrap();
        serde_json::from_str(config.to_str().unwrap()).unwrap()
    }

    #[test]
    fn m_026_the_agent_of_a_policy_can_not_be_named_beforehand() {
        for policy in [PermissionPolicy::ReadOnly, PermissionPolicy::Edit] {
            let (one, other) = (of(policy), of(policy));
            assert_ne!(one.agent, other.agent);
            let agent = config(&one)["agent"][one.agent.unwrap()].take();
            assert_eq!(agent["permission"]["task"].as_str().unwrap_or("deny"), "deny");
        }
    }

    #[test]
    fn m_026_the_rule_for_everything_comes_first_for_the_last_match_counts() {
        for policy in [PermissionPolicy::ReadOnly, PermissionPolicy::Edit] {
            let rules = of(policy);
            let text = config(&rules)["agent"][rules.agent.unwrap()]["permission"].to_string();
            assert!(text.starts_with(r#"{"*":"#), "{text}");
            assert!(text.contains(r#""read":{"*":"allow","*.env":"ask""#), "{text}");
        }
    }

    #[test]
    fn m_026_a_folder_configures_nothing_where_its_policy_is_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let work = root.join("repository/a");
        std::fs::create_dir_all(&work).unwrap();
        std::fs::create_dir(root.join("repository/.git")).unwrap();
        for file in ["AGENTS.md", "repository/AGENTS.md", "repository/a/CLAUDE.md"] {
            std::fs::write(root.join(file), "x").unwrap();
        }
        let names = |rules: &Rules| -> Vec<String> {
            rules.env.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
        };
        let without = "OPENCODE_DISABLE_PROJECT_CONFIG".to_owned();
        for policy in [PermissionPolicy::ReadOnly, PermissionPolicy::Edit] {
            let rules = Rules::of(Some(policy), &work);
            assert!(names(&rules).contains(&without), "{rules:?}");
            let config = config(&rules);
            assert_eq!(config["instructions"], json!([root.join("repository/AGENTS.md")]));
            assert_eq!((&config["lsp"], &config["formatter"]), (&json!(false), &json!(false)));
        }
        for policy in [None, Some(PermissionPolicy::Full)] {
            assert!(!names(&Rules::of(policy, &work)).contains(&without));
        }
    }
}
