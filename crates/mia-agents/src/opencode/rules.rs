//! What opencode may do, as configuration of its own, given to this one process.
//!
//! Its rules are lists in which the last match counts: its defaults, the user's `permission`, those
//! of the agent that works. So what has to hold is an agent of ours. Its name can't be guessed, for
//! a project's `opencode.json` is merged into an agent of the same name.

use std::ffi::OsString;

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
    pub(super) fn of(policy: Option<PermissionPolicy>) -> Self {
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
        }
        // A caller's own variable wins over this one. Then the agent is not known, and no turn
        // begins.
        rules.env.push(("OPENCODE_CONFIG_CONTENT".into(), config.to_string().into()));
        rules
    }
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

/// Files in the folder may be changed; else it asks. No sub-agents: they have rules of their own.
fn edit() -> Value {
    json!({
        "*": "ask",
        "edit": "allow",
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

    fn config(rules: &Rules) -> Value {
        let (_, config) = rules.env.last().unwrap();
        serde_json::from_str(config.to_str().unwrap()).unwrap()
    }

    #[test]
    fn m_026_the_agent_of_a_policy_can_not_be_named_beforehand() {
        for policy in [PermissionPolicy::ReadOnly, PermissionPolicy::Edit] {
            let (one, other) = (Rules::of(Some(policy)), Rules::of(Some(policy)));
            assert_ne!(one.agent, other.agent);
            let agent = config(&one)["agent"][one.agent.unwrap()].take();
            assert_eq!(agent["permission"]["task"].as_str().unwrap_or("deny"), "deny");
        }
    }

    #[test]
    fn m_026_the_rule_for_everything_comes_first_for_the_last_match_counts() {
        for policy in [PermissionPolicy::ReadOnly, PermissionPolicy::Edit] {
            let rules = Rules::of(Some(policy));
            let text = config(&rules)["agent"][rules.agent.unwrap()]["permission"].to_string();
            assert!(text.starts_with(r#"{"*":"#), "{text}");
            assert!(text.contains(r#""read":{"*":"allow","*.env":"ask""#), "{text}");
        }
    }
}
