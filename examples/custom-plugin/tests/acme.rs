//! The example, run as a user runs it.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::process::{Command, Output};

use tempfile::TempDir;

fn acme(home: &TempDir, arguments: &[&str]) -> Output {
    let agents = concat!(env!("CARGO_MANIFEST_DIR"), "/bin");
    Command::new(env!("CARGO_BIN_EXE_acme"))
        .args(arguments)
        .env_clear()
        .env("PATH", format!("{agents}:/usr/bin:/bin"))
        .env("MIA_HOME", home.path())
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {stderr}", output.status);
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn m_025_a_cli_of_ones_own_needs_one_file() {
    let home = TempDir::new().unwrap();
    let ask = ["ask", "--json", "--plugin", "jot", "--conversation", "c", "one two three"];
    let first = stdout(&acme(&home, &ask));
    assert!(
        first.contains(r#""type":"tool_result","id":"t-1","name":"count","output":"3""#),
        "{first}"
    );
    let result = |lines: &str| {
        let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!(last["type"], "complete");
        last["result"].clone()
    };
    assert_eq!(result(&first)["content"], "noted, 3 words");
    // The second turn resumes the session of the first, in another process.
    let second = stdout(&acme(&home, &ask));
    assert_eq!(result(&second)["session_id"], result(&first)["session_id"]);
    assert_eq!(result(&second)["context_reset"], false);
}

#[test]
fn m_030_what_is_registered_is_selectable_by_its_name() {
    let home = TempDir::new().unwrap();
    stdout(&acme(&home, &["plugin", "switch", "loud"]));
    assert_eq!(stdout(&acme(&home, &["ask", "hear me"])), "HEAR ME\n");
    let list = stdout(&acme(&home, &["plugin", "list", "--json"]));
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let names: Vec<_> =
        list.as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    for name in ["claude-code", "guide", "jot", "loud"] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
}
