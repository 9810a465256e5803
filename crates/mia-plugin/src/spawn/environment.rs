//! Which variables an agent gets (M-13).

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::contract::{Environment, Inherit, PluginConfig};

/// Variables by which an agent knows that it runs inside another; exact names. The last two were
/// seen in the children of Claude Code 2.1.332.
const NESTING: [&str; 5] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
];

/// Words in a name that make its value look like a secret.
const SECRET_WORDS: [&str; 18] = [
    "APIKEY",
    "AUTH",
    "COOKIE",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "DSN",
    "JWT",
    "KEY",
    "KEYS",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "PWD",
    "SECRET",
    "TOKEN",
];

/// Names that look like a secret and are none: a socket's path, which git over ssh needs, and
/// folders.
const HARMLESS: [&str; 3] = ["SSH_AUTH_SOCK", "PWD", "OLDPWD"];

/// What every program needs.
const MINIMAL: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_*",
    "TERM",
    "TMPDIR",
    "TZ",
    "XDG_*",
    "SSL_CERT_*",
];

/// What an agent gets, and what was kept from it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Composed {
    /// All variables of the child.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// Names that looked like secrets, sorted.
    pub(crate) withheld: Vec<String>,
}

/// Composes a child's environment: the caller's minus what looks secret and minus nesting markers,
/// plus what the plugin declares, plus what the configuration passes or sets, plus the call's own.
pub(crate) fn compose(
    caller: &Environment,
    declared: &[String],
    config: &PluginConfig,
    call: &[(OsString, OsString)],
    options: &BTreeMap<String, String>,
) -> Composed {
    let mut child: BTreeMap<OsString, OsString> = BTreeMap::new();
    let mut withheld = Vec::new();
    for (name, value) in caller.iter() {
        let text = name.to_string_lossy();
        let asked_for = declared.iter().any(|pattern| matches_pattern(pattern, &text))
            || config.pass_env.iter().any(|pattern| matches_pattern(pattern, &text));
        let nesting = NESTING.iter().any(|marker| name == OsStr::new(marker));
        let ours = text.starts_with("MIA_");
        if nesting || ours {
            continue;
        }
        let wanted = match config.inherit {
            Inherit::AllButSecrets => true,
            Inherit::Minimal => is_minimal(&text),
        };
        if asked_for || (wanted && !looks_secret(&text)) {
            child.insert(name.to_owned(), value.to_owned());
        } else if wanted {
            withheld.push(text.into_owned());
        }
    }
    child.insert("NO_COLOR".into(), "1".into());
    for (name, value) in call {
        // What the caller set for the agent wins over what the adapter would like.
        child.entry(name.clone()).or_insert_with(|| value.clone());
    }
    child.extend(config.env.iter().map(|(n, v)| (OsString::from(n), OsString::from(v))));
    child.extend(options.iter().map(|(n, v)| (OsString::from(n), OsString::from(v))));
    Composed { variables: child.into_iter().collect(), withheld }
}

/// True for what every program needs, unless it looks like a secret.
pub(crate) fn is_needed(name: &str) -> bool {
    is_minimal(name) && !looks_secret(name)
}

fn is_minimal(name: &str) -> bool {
    MINIMAL.iter().any(|pattern| matches_pattern(pattern, name))
}

/// True for a name whose value looks like a secret: one of its words is one of ours, or it ends
/// like `…APIKEY`.
fn looks_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    if HARMLESS.contains(&upper.as_str()) {
        return false;
    }
    upper.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| {
        SECRET_WORDS.contains(&word)
            || ["TOKEN", "SECRET", "PASSWORD", "APIKEY"].iter().any(|end| word.ends_with(end))
    })
}

/// Compares a name with an exact name or with a prefix that ends in `*`.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn composed(config: &PluginConfig, caller: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let caller: Environment = caller.iter().copied().collect();
        let declared = ["ANTHROPIC_API_KEY".to_owned(), "AWS_*".to_owned()];
        let composed = compose(&caller, &declared, config, &[], &BTreeMap::new());
        let names =
            composed.variables.iter().map(|(n, _)| n.to_string_lossy().into_owned()).collect();
        (names, composed.withheld)
    }

    const CALLER: [(&str, &str); 13] = [
        ("ANTHROPIC_API_KEY", "declared"),
        ("AWS_SECRET_ACCESS_KEY", "declared"),
        ("CLAUDECODE", "1"),
        ("CLAUDE_CODE_ENTRYPOINT", "cli"),
        ("EDITOR", "vi"),
        ("GITHUB_TOKEN", "canary"),
        ("MIA_HOME", "/x"),
        ("MONKEY", "a name that only ends like a word of ours"),
        ("MY_PASSWORD", "canary"),
        ("OPENAI_API_KEY", "canary"),
        ("PATH", "/bin"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("npm_config__authtoken", "canary"),
    ];

    #[test]
    fn m_013_secrets_and_nesting_markers_stay_out_and_declared_names_win() {
        let (names, withheld) = composed(&PluginConfig::new("p"), &CALLER);
        let expected = [
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "EDITOR",
            "MONKEY",
            "NO_COLOR",
            "PATH",
            "SSH_AUTH_SOCK",
        ];
        assert_eq!(names, expected);
        let kept = ["GITHUB_TOKEN", "MY_PASSWORD", "OPENAI_API_KEY", "npm_config__authtoken"];
        assert_eq!(withheld, kept);
    }

    #[test]
    fn m_013_names_that_look_secret_and_names_that_only_resemble_them() {
        for name in ["MYSQL_PWD", "SMTP_PASS", "GH_PAT", "PGPASSWORD", "my-api-key", "X_JWT"] {
            assert!(looks_secret(name), "{name}");
        }
        for name in ["PWD", "OLDPWD", "PATH", "GIT_ASKPASS", "XAUTHORITY", "AUTHOR", "KEYMAP"] {
            assert!(!looks_secret(name), "{name}");
        }
    }

    #[test]
    fn m_013_minimal_is_an_allow_list() {
        let config = PluginConfig { inherit: Inherit::Minimal, ..PluginConfig::new("p") };
        let (names, withheld) = composed(&config, &CALLER);
        assert_eq!(names, ["ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "NO_COLOR", "PATH"]);
        assert!(withheld.is_empty());
    }

    #[test]
    fn m_013_what_the_configuration_passes_or_sets_arrives() {
        let config = PluginConfig {
            pass_env: vec!["GITHUB_TOKEN".into()],
            env: [("EDITOR".to_owned(), "true".to_owned())].into(),
            ..PluginConfig::new("p")
        };
        let caller: Environment = CALLER.iter().copied().collect();
        let call = [("EDITOR".into(), "adapter".into()), ("X".into(), "adapter".into())];
        let options = [("X".to_owned(), "option".to_owned())].into();
        let all = compose(&caller, &[], &config, &call, &options).variables;
        let value = |n: &str| {
            all.iter().find(|(name, _)| name == n).map(|(_, v)| v.to_string_lossy().into_owned())
        };
        assert_eq!(value("GITHUB_TOKEN").as_deref(), Some("canary"));
        assert_eq!(value("EDITOR").as_deref(), Some("true"));
        assert_eq!(value("X").as_deref(), Some("option"));
    }
}
