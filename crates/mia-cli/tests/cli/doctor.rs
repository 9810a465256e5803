//! `mia doctor`: what it finds, and that it changes nothing, however broken everything is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use mia_testkit::fakecli::FakeCli;
use mia_testkit::proc::{CONT, Process, STOP};
use pretty_assertions::assert_eq;
use serde_json::Value;
use sqlx::{ConnectOptions, Connection};

use crate::npm::brings_claude;
use crate::person::{Person, Ran};
use crate::terminal::Terminal;

/// Somebody with git, npm, an agent that tells its version, and a login for it.
fn well() -> (Person, FakeCli) {
    let person = Person::new();
    let claude = person.claude("out 2.1.332 (Claude Code)\n");
    person.program("git", "echo git version 2.39.5\n").program("npm", "exit 9\n");
    let login = person.folder().join("home/.claude");
    fs::create_dir(&login).unwrap();
    let text = "{\"claudeAiOauth\": {\"accessToken\": \"canary-token\"}}";
    fs::write(login.join(".credentials.json"), text).unwrap();
    (person, claude)
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap()
}

/// The check of that name.
#[track_caller]
fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name);
    assert!(found.is_some(), "no check {name} in {report:#}");
    found.unwrap()
}

/// Runs it as JSON: the report of a doctor that came to this code.
#[track_caller]
fn doctor(person: &Person, code: i32) -> Value {
    let ran = person.run(&["doctor", "--json"]).code(code);
    assert_eq!(ran.err, "");
    let report = json(&ran);
    assert_eq!(report["ok"], code == 0);
    report
}

#[track_caller]
fn failure(person: &Person, name: &str, says: &str) {
    let report = doctor(person, 1);
    let check = check(&report, name);
    assert_eq!(check["status"], "failure", "{check:#}");
    let message = check["message"].as_str().unwrap();
    assert!(message.contains(says), "{message}");
    let words = person.run(&["doctor"]).code(1);
    assert!(words.out.contains(&format!("  FAILURE  {name}: ")), "{}", words.out);
}

/// Every file below a folder, with its content.
fn everything(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        all.push((folder.display().to_string(), Vec::new()));
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                let content = fs::read(entry.path()).unwrap_or_default();
                all.push((entry.path().display().to_string(), content));
            }
        }
    }
    all.sort();
    all
}

#[test]
fn m_071_all_is_well() {
    let (person, _claude) = well();
    person.run(&["--no-daemon", "ask", "--plugin", "guide", "help"]).code(0);
    let ran = person.run(&["doctor"]).code(0);
    let lines: Vec<_> = ran
        .out
        .lines()
        .filter(|line| !line.contains(" disk: "))
        .map(|line| {
            line.split(" (").next().unwrap().replace(person.folder().to_str().unwrap(), "/w")
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    let report = doctor(&person, 0);
    assert!(check(&report, "disk")["message"].as_str().unwrap().contains(" free at "));
}

#[test]
fn m_071_the_report_as_json() {
    let (person, _claude) = well();
    let ran = person.mia(&["doctor", "--json"]).env("GITHUB_TOKEN", "canary").output().unwrap();
    let ran = Ran::from(ran).code(0);
    assert!(!ran.out.contains("canary"), "names only: {}", ran.out);
    let mut report = json(&ran);
    for check in report["checks"].as_array_mut().unwrap() {
        if check["name"] == "disk" || check["name"] == "supervisor" {
            check["message"] = "…".into();
        }
    }
    let text = serde_json::to_string_pretty(&report).unwrap();
    insta::assert_snapshot!(text.replace(person.folder().to_str().unwrap(), "/w"));
}

#[test]
fn m_071_the_daemon_is_asked_and_one_that_hangs_is_not_waited_for_long() {
    let (person, _claude) = well();
    let daemon = |report: &Value| {
        let check = check(report, "daemon");
        (check["status"].clone(), check["message"].as_str().unwrap().to_owned())
    };
    let (status, message) = daemon(&doctor(&person, 0));
    assert_eq!(
        (status, message.as_str()),
        ("ok".into(), "it does not run; it starts when it is needed")
    );
    person.run(&["start"]).code(0);
    let told = person.run(&["status", "--json"]).code(0).out;
    let pid = serde_json::from_str::<Value>(&told).unwrap()["pid"].as_u64().unwrap();
    let (status, message) = daemon(&doctor(&person, 0));
    assert_eq!(status, "ok");
    assert!(message.starts_with(&format!("process {pid}, version ")), "{message}");
    let process = Process::of(u32::try_from(pid).unwrap()).unwrap();
    process.signal(STOP);
    let began = Instant::now();
    failure(&person, "daemon", "does not answer");
    assert!(began.elapsed() < Duration::from_secs(20));
    process.signal(CONT);
    doctor(&person, 0);
}

#[test]
fn m_071_nothing_is_changed() {
    let (person, claude) = well();
    // The agent's own program leaves marks of its start.
    fs::remove_file(claude.beside("fakecli.script")).unwrap();
    fs::remove_file(claude.path()).unwrap();
    person.program("claude", "echo 2.1.332\n");
    fs::remove_dir(person.mia_home()).unwrap();
    let before = everything(person.folder());
    doctor(&person, 0);
    assert_eq!(everything(person.folder()), before, "nothing was there");
    person.run(&["--no-daemon", "ask", "--plugin", "guide", "help"]).code(0);
    let before = everything(person.folder());
    doctor(&person, 0);
    assert_eq!(everything(person.folder()), before, "a record is there");
}

#[test]
fn m_071_files_that_can_not_be_used_are_failures() {
    let (person, _claude) = well();
    person.configure("active_plugin: claude-code\nplugins:\n  claude-code:\n    modle: x\n");
    failure(&person, "configuration", "config.yaml:4:5");
    person.configure("");

    fs::write(person.database(), "precious text, and no database at all").unwrap();
    failure(&person, "database", "it does not begin as a SQLite file does");
    fs::remove_file(person.database()).unwrap();
    fs::create_dir(person.database()).unwrap();
    failure(&person, "database", "it is not a file");

    fs::remove_dir_all(person.mia_home()).unwrap();
    fs::write(person.mia_home(), "").unwrap();
    failure(&person, "folders", "it is not a folder");
    let mut mia = person.mia(&["doctor", "--json"]);
    mia.env_remove("MIA_HOME").env("XDG_STATE_HOME", person.mia_home());
    let report = json(&Ran::from(mia.output().unwrap()).code(1));
    let check = check(&report, "state folder");
    assert_eq!(check["status"], "failure", "{check:#}");
}

#[tokio::test]
async fn m_071_a_damaged_or_locked_database_is_a_failure() {
    let (person, _claude) = well();
    for _ in 0..20 {
        person.run(&["--no-daemon", "ask", "--plugin", "guide", "help"]).code(0);
    }
    let path = person.database();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut other = options.clone().locking_mode(sqlx::sqlite::SqliteLockingMode::Exclusive);
    other = other.journal_mode(sqlx::sqlite::SqliteJournalMode::Delete);
    let mut holder = other.connect().await.unwrap();
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut holder).await.unwrap();
    failure(&person, "database", "is locked by another process");
    holder.close().await.unwrap();
    doctor(&person, 0);

    let mut bytes = fs::read(&path).unwrap();
    let pages = bytes.len() / 4096;
    assert!(pages > 8, "{pages}");
    // Not the first one, which opening would notice.
    for page in 3..pages {
        bytes[page * 4096..(page + 1) * 4096].fill(0x5a);
    }
    fs::write(&path, bytes).unwrap();
    failure(&person, "database", "is not a usable database of Mia");
}

#[test]
fn m_071_the_agent_that_is_asked_must_work_and_the_others_need_not_be_there() {
    let (person, claude) = well();
    person.configure("active_plugin: guide\n");
    let report = doctor(&person, 0);
    assert_eq!(check(&report, "claude-code")["status"], "ok");
    claude.script("err no\nexit 1\n");
    assert_eq!(check(&doctor(&person, 0), "claude-code")["status"], "warning");
    person.configure("active_plugin: claude-code\n");
    failure(&person, "claude-code", "it ended with exit code 1");

    fs::remove_file(claude.path()).unwrap();
    failure(&person, "claude-code", "the program claude is not installed");
    person.configure("active_plugin: guide\n");
    let report = doctor(&person, 0);
    let missing = check(&report, "claude-code");
    assert_eq!(missing["status"], "info");
    assert_eq!(missing["hint"], "install it with: mia plugin install claude-code");

    person.configure("");
    failure(&person, "asked by default", "no coding agent is installed");
    person.configure("active_plugin: nobody\n");
    failure(&person, "asked by default", "there is no plugin \"nobody\"");
    person.configure("active_plugin: guide\nplugins:\n  guide:\n    enabled: false\n");
    failure(&person, "asked by default", "is disabled");
}

#[test]
fn m_071_a_login_is_looked_for_and_what_is_kept_from_an_agent_is_named() {
    let (person, _claude) = well();
    fs::remove_dir_all(person.folder().join("home/.claude")).unwrap();
    let report = doctor(&person, 0);
    let login = check(&report, "claude-code login");
    assert_eq!(login["status"], "warning");
    assert!(login["hint"].as_str().unwrap().contains("/login"), "{login:#}");
    let mut mia = person.mia(&["doctor", "--json"]);
    mia.env("ANTHROPIC_API_KEY", "canary-1").env("GITHUB_TOKEN", "canary-2");
    let ran = Ran::from(mia.output().unwrap()).code(0);
    assert!(!ran.out.contains("canary"), "{}", ran.out);
    let report = json(&ran);
    assert_eq!(check(&report, "claude-code login")["message"], "ANTHROPIC_API_KEY");
    let kept = check(&report, "claude-code variables");
    assert!(kept["message"].as_str().unwrap().ends_with(": GITHUB_TOKEN"), "{kept:#}");
    assert_eq!(report["plugins"][0]["withheld"][0], "GITHUB_TOKEN");
}

#[test]
fn m_071_who_has_to_sign_in_is_told_where_the_program_is() {
    let person = Person::new();
    person.program("git", "echo git version 2.39.5\n").npm(&brings_claude());
    person.run(&["plugin", "install", "claude-code"]).code(0);
    let report = doctor(&person, 0);
    let place = person.agent().join("current/bin/claude");
    let ends = format!("; claude is not on the PATH, but {}", place.display());
    let hint = check(&report, "claude-code login")["hint"].as_str().unwrap();
    assert!(hint.starts_with("run claude and type /login") && hint.ends_with(&ends), "{hint}");
    assert!(place.exists());
    assert_eq!(report["plugins"][0]["login"]["hint"], hint);
    // One on the PATH needs no more words.
    person.claude("out 2.1.332 (Claude Code)\n");
    let report = doctor(&person, 0);
    let hint = check(&report, "claude-code login")["hint"].as_str().unwrap();
    assert!(!hint.contains("not on the PATH"), "{hint}");
}

#[test]
fn m_071_what_is_unsafe_or_missing_is_a_warning() {
    let (person, _claude) = well();
    fs::set_permissions(person.mia_home(), fs::Permissions::from_mode(0o777)).unwrap();
    fs::remove_file(person.folder().join("bin/git")).unwrap();
    fs::remove_file(person.folder().join("bin/npm")).unwrap();
    person.configure("plugins:\n  claude-code:\n    env: { X: secret }\n");
    let file = person.mia_home().join("config.yaml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let report = doctor(&person, 0);
    for (name, status, hint) in [
        ("state folder", "warning", "chmod 700"),
        ("configuration", "warning", "chmod 600"),
        ("git", "warning", "install git"),
        ("npm", "info", ""),
    ] {
        let check = check(&report, name);
        assert_eq!(check["status"], status, "{check:#}");
        assert!(check["hint"].as_str().unwrap_or_default().contains(hint), "{check:#}");
    }
    let words = person.run(&["doctor"]).code(0);
    assert!(words.out.ends_with(" warnings\n"), "{}", words.out);
}

#[test]
fn m_071_a_program_that_hangs_is_not_waited_for_long() {
    let (person, claude) = well();
    claude.script("hang\n");
    person.program("git", "while :; do /bin/sleep 1; done\n");
    let began = Instant::now();
    let report = doctor(&person, 1);
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    let message = check(&report, "git")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("did not tell its version in 5 s"), "{message}");
    let hint = check(&report, "git")["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains("bin/git --version` does") && !hint.contains("install git"), "{hint}");
    assert_eq!(check(&report, "claude-code")["status"], "failure");
}

#[test]
fn m_071_a_terminal_has_80_columns() {
    let (person, _claude) = well();
    fs::remove_dir_all(person.folder().join("home/.claude")).unwrap();
    let terminal = Terminal::start(&person, &["doctor"]);
    terminal.wait_for("1 warning");
    let raw = terminal.raw();
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0), "{screen}");
    let clean = raw.replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "");
    for line in clean.lines() {
        let one_word = line.trim().split(' ').filter(|word| word.len() > 60).count() == 1;
        assert!(line.chars().count() <= 80 || one_word, "{line:?}");
    }
    assert!(screen.contains("> run claude and type /login"), "{screen}");
}
