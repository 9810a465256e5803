//! `mia plugin install`, `upgrade` and `uninstall`, with an `npm` that does as it is told.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use mia_testkit::proc::{INT, KILL, Process, block_until, block_until_gone, descendants};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::daemon::SOON;
use crate::npm::{brings, brings_claude, names};
use crate::person::{Person, Ran};
use crate::terminal::Terminal;

/// The version that the adapter asks for.
const PINNED: &str = "2.1.332";

impl Person {
    /// Runs it, and fails the test when it does not end soon.
    #[track_caller]
    fn run_soon(&self, args: &[&str]) -> Ran {
        let mut child = self.start(args);
        let pid = child.id();
        let (tell, told) = std::sync::mpsc::channel();
        let waits = std::thread::spawn(move || {
            if told.recv_timeout(SOON).is_err() {
                let _ = Process::of(pid).map(|process| process.signal(KILL));
            }
        });
        let ended = child.wait();
        tell.send(()).ok();
        waits.join().unwrap();
        ended.unwrap();
        child.wait_with_output().unwrap().into()
    }
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap()
}

fn reached(person: &Person, mark: &str) {
    block_until(mark, SOON, || person.mark(mark).exists().then_some(()));
}

/// Touches a mark, and never ends.
fn hangs(person: &Person) -> String {
    format!("touch {}\nwhile :; do sleep 1; done\n", person.mark("hangs").display())
}

#[test]
fn m_010_an_agent_is_installed_and_found() {
    let person = Person::new();
    person.npm(&brings_claude());
    let ran = person.run(&["plugin", "install", "claude-code"]).code(0);
    let folder = person.agent().join(PINNED);
    let says = format!("claude-code {PINNED} is installed ({}), 1 MB, ", folder.display());
    assert!(ran.out.starts_with(&says), "{ran:?}");
    let info = json(&person.run(&["plugin", "info", "claude-code", "--json"]).code(0));
    assert_eq!(info["found_by"], "installed by mia");
    assert_eq!(info["agent_version"], format!("{PINNED} (Claude Code)"));
    let list = person.run(&["plugin", "list"]).code(0);
    assert!(list.out.contains("(Claude Code), installed by mia"), "{list:?}");
    assert_eq!(person.agent_files(), [PINNED, "current", "lock"]);

    // It is there: npm is not even asked.
    person.npm("exit 1\n");
    let again = person.run(&["plugin", "install", "claude-code"]).code(0);
    assert!(again.out.contains("is installed already"), "{again:?}");
    // Unless it does not start any more.
    fs::remove_file(folder.join("bin/claude")).unwrap();
    person.npm(&brings_claude());
    let mended = person.run(&["plugin", "install", "claude-code"]).code(0);
    assert!(mended.out.contains(" is installed ("), "{mended:?}");
    person.run(&["plugin", "info", "claude-code"]).code(0);
}

#[test]
fn m_010_an_installation_as_json() {
    let person = Person::new();
    person.npm(&brings_claude());
    let ran = person.run(&["plugin", "install", "claude-code@1.2.3", "--json"]).code(0);
    let mut installed = json(&ran);
    assert!(installed["duration_ms"].as_u64().is_some() && installed["bytes"].as_u64().is_some());
    installed["duration_ms"] = 0.into();
    installed["bytes"] = 0.into();
    let text = serde_json::to_string_pretty(&installed).unwrap();
    insta::assert_snapshot!(text.replace(person.folder().to_str().unwrap(), "/w"));
    let ran = person.run(&["plugin", "uninstall", "claude-code", "--json"]).code(0);
    let mut removed = json(&ran);
    removed["bytes"] = 0.into();
    let text = serde_json::to_string_pretty(&removed).unwrap();
    insta::assert_snapshot!(text.replace(person.folder().to_str().unwrap(), "/w"));
}

#[test]
fn m_010_a_program_on_the_path_comes_first_and_that_is_told() {
    let person = Person::new();
    person.claude("out 2.1.300 (Claude Code)\n");
    person.npm(&brings_claude());
    let ran = person.run(&["plugin", "install", "claude-code"]).code(0);
    let ours = person.agent().join("current/bin/claude");
    let command = format!("config set plugins.claude-code.binary {}", ours.display());
    assert!(ran.out.contains("bin/claude\nTo use this one:\n    mia config set"), "{ran:?}");
    assert!(ran.out.contains(&command), "{ran:?}");
    let words: Vec<_> = command.split(' ').collect();
    person.run(&words).code(0);
    let info = json(&person.run(&["plugin", "info", "claude-code", "--json"]).code(0));
    assert_eq!(info["agent_version"], format!("{PINNED} (Claude Code)"));
    assert_eq!(info["found_by"], "configured");
}

#[test]
fn m_010_what_npm_says_is_told_and_nothing_is_left() {
    let person = Person::new();
    for (word, code, says) in [
        ("ENOSPC", 3, "no space is left on the disk"),
        ("E404", 3, "the registry has no such package"),
        ("ETARGET", 2, "npm knows no such version"),
        ("ENOTFOUND", 3, "npm can't reach its registry"),
        ("E401", 3, "the registry refuses"),
        ("SELF_SIGNED_CERT_IN_CHAIN", 3, "NODE_EXTRA_CA_CERTS"),
        ("ESOMETHING", 3, "npm failed (exit code 7)"),
    ] {
        let script = "mkdir -p node_modules/half\n".to_owned()
            + &format!(
                "echo npm error code {word} >&2\necho npm error its own words >&2\nexit 7\n"
            );
        person.npm(&script);
        let own = "| npm error its own words";
        person.run(&["plugin", "install", "claude-code"]).code(code).says(&["error: ", says, own]);
        assert_eq!(person.agent_files(), ["lock"], "{word}");
    }
    fs::remove_file(person.folder().join("bin/npm")).unwrap();
    let none = person.run(&["plugin", "install", "claude-code"]).code(3);
    none.says(&["npm is not installed", "https://nodejs.org"]);
    person.npm("exit 0\n");
    let ran = person.run(&["plugin", "install", "claude-code"]).code(3);
    ran.says(&["npm said that all is well, and did not install", "dry-run or package-lock-only"]);
    person.npm("echo npm error code ETARGET >&2\nexit 1\n");
    let ran = person.run(&["plugin", "install", "claude-code@9.9.9"]).code(2);
    ran.says(&["`npm view @anthropic-ai/claude-code versions` lists them"]);
}

/// An `agents/claude-code` with a version of Mia's, and other things in it.
fn with_files_of_the_person(person: &Person) {
    person.npm(&brings_claude());
    person.run(&["plugin", "install", "claude-code@1.0.0"]).code(0);
    let agent = person.agent();
    // One for each rule of what is Mia's.
    for folder in ["mynotes", "3.0.0", "new-ideas"] {
        fs::create_dir(agent.join(folder)).unwrap();
        fs::write(agent.join(folder).join("n.txt"), folder).unwrap();
    }
    fs::write(agent.join("4.0.0"), "a file").unwrap();
    fs::write(agent.join("new-link"), "no link").unwrap();
    symlink(agent.join("mynotes"), agent.join("5.0.0")).unwrap();
}

/// They are all there.
#[track_caller]
fn files_of_the_person_stay(person: &Person) {
    let agent = person.agent();
    for folder in ["mynotes", "3.0.0", "new-ideas"] {
        assert_eq!(fs::read_to_string(agent.join(folder).join("n.txt")).unwrap(), folder);
    }
    assert_eq!(fs::read_to_string(agent.join("4.0.0")).unwrap(), "a file");
    assert!(agent.join("5.0.0").is_symlink());
}

#[test]
fn m_010_only_what_mia_made_is_removed() {
    let person = Person::new();
    with_files_of_the_person(&person);
    let again = person.run(&["plugin", "install", "claude-code@1.0.0"]).code(0);
    assert!(again.out.contains("is installed already"), "{again:?}");
    files_of_the_person_stay(&person);
    // What is no link of Mia's is not replaced, either.
    let ran = person.run(&["plugin", "install", "claude-code"]).code(3);
    ran.says(&["new-link is not the link that Mia makes; move it away"]);
    assert_eq!(fs::read_to_string(person.agent().join("new-link")).unwrap(), "no link");
    fs::remove_file(person.agent().join("new-link")).unwrap();
    person.run(&["plugin", "upgrade"]).code(0);
    files_of_the_person_stay(&person);
    let all = ["3.0.0", "4.0.0", "5.0.0", "current", "lock", "mynotes", "new-ideas"];
    let mut with_ours = all.to_vec();
    with_ours.insert(0, PINNED);
    assert_eq!(person.agent_files(), with_ours);

    let ran = person.run(&["plugin", "uninstall", "claude-code"]).code(0);
    assert!(ran.out.starts_with("claude-code 2.1.332 is removed ("), "{ran:?}");
    let stays = format!(
        "\n{} stays, for mia did not make this in it: 3.0.0, 4.0.0, 5.0.0, mynotes, new-ideas\n",
        person.agent().display()
    );
    assert!(ran.out.ends_with(&stays), "{ran:?}");
    files_of_the_person_stay(&person);
    assert_eq!(person.agent_files(), ["3.0.0", "4.0.0", "5.0.0", "mynotes", "new-ideas"]);
}

#[test]
fn m_010_a_folder_without_anything_of_mia_s_is_not_removed() {
    let person = Person::new();
    fs::create_dir_all(person.agent().join("mine")).unwrap();
    fs::write(person.agent().join("mine/x"), "x").unwrap();
    let ran = person.run(&["plugin", "uninstall", "claude-code"]).code(0);
    assert!(ran.out.contains("there is nothing to remove\n"), "{ran:?}");
    assert!(ran.out.ends_with(" stays, for mia did not make this in it: mine\n"), "{ran:?}");
    let told = json(&person.run(&["plugin", "uninstall", "claude-code", "--json"]).code(0));
    assert_eq!((&told["changed"], &told["kept"]), (&false.into(), &serde_json::json!(["mine"])));
    assert_eq!(fs::read_to_string(person.agent().join("mine/x")).unwrap(), "x");
    assert_eq!(person.agent_files(), ["mine"]);
}

#[test]
fn m_010_a_link_in_the_place_of_the_folder_is_refused() {
    let person = Person::new();
    person.npm(&brings_claude());
    person.run(&["plugin", "install", "claude-code@1.0.0"]).code(0);
    let elsewhere = person.mark("elsewhere");
    fs::rename(person.agent(), &elsewhere).unwrap();
    fs::write(elsewhere.join("n.txt"), "precious").unwrap();
    symlink(&elsewhere, person.agent()).unwrap();
    let before = names(&elsewhere);
    for args in [&["install", "claude-code"][..], &["upgrade"], &["uninstall", "claude-code"]] {
        let ran = person.run(&[&["plugin"], args].concat()).code(3);
        ran.says(&["agents/claude-code is a symbolic link", "what it leads to stays"]);
        assert_eq!(names(&elsewhere), before);
    }
    fs::remove_dir_all(&elsewhere).unwrap();
    person.run(&["plugin", "uninstall", "claude-code"]).code(3).says(&["is a symbolic link"]);
}

#[test]
fn m_010_a_fifo_makes_nobody_wait() {
    let person = Person::new();
    person.npm(&brings_claude());
    person.run(&["plugin", "install", "claude-code"]).code(0);
    let version = person.agent().join(PINNED);
    let fifo = |path: &Path| {
        fs::remove_file(path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(path).status().unwrap();
        assert!(made.success());
    };
    fifo(&version.join("in-use"));
    let list = person.run_soon(&["plugin", "list"]).code(0);
    assert!(list.out.contains("(Claude Code), installed by mia"), "{list:?}");
    person.run_soon(&["doctor"]).code(0);
    // It tells its version and no more, so it gives no answer.
    person.run_soon(&["ask", "-p", "claude-code", "x"]).code(1);
    let ran = person.run_soon(&["plugin", "uninstall", "claude-code"]).code(3);
    ran.says(&["in-use is no regular file"]);
    fifo(&version.join("installed.json"));
    fifo(&person.agent().join("lock"));
    for action in ["install", "uninstall"] {
        let ran = person.run_soon(&["plugin", action, "claude-code"]).code(3);
        ran.says(&["lock in it is no regular file; move it away"]);
    }
    fs::remove_file(person.agent().join("lock")).unwrap();
    symlink(person.mark("made"), person.agent().join("lock")).unwrap();
    person.run_soon(&["plugin", "install", "claude-code"]).code(3).says(&["lock"]);
    assert!(!person.mark("made").exists(), "a link is not followed");
    fs::remove_file(person.agent().join("lock")).unwrap();
    let ran = person.run_soon(&["plugin", "install", "claude-code"]).code(0);
    assert!(ran.out.contains(" is installed ("), "{ran:?}");
}

#[test]
fn m_010_what_does_not_start_takes_nobodys_place() {
    let person = Person::new();
    person.npm(&brings_claude());
    person.run(&["plugin", "install", "claude-code@1.0.0"]).code(0);
    person.npm(&brings("exit 5"));
    let ran = person.run(&["plugin", "upgrade"]).code(3);
    ran.says(&["was fetched and does not start", "it ended with exit code 5"]);
    assert_eq!(person.agent_files(), ["1.0.0", "current", "lock"]);
    person.npm(
        "mkdir -p $modules/claude-code\n\
                echo '{\"version\": \"2.0.0\"}' > $modules/claude-code/package.json\n",
    );
    person.run(&["plugin", "upgrade"]).code(3).says(&["has no program for this machine"]);
    let info = json(&person.run(&["plugin", "info", "claude-code", "--json"]).code(0));
    assert_eq!(info["agent_version"], "1.0.0 (Claude Code)");
}

#[test]
fn m_010_what_can_not_be_installed_is_refused() {
    let person = Person::new();
    person.run(&["plugin", "install", "guide"]).code(2).says(&["it can for: claude-code"]);
    person.run(&["plugin", "install", "claude"]).code(2).says(&["did you mean \"claude-code\"?"]);
    for version in
        ["../x", "^1.0.0", "file:/x", "-g", "", "0.1.x", "1.x", "x", "evil.tgz", "--foo", "v1", "1"]
    {
        let name = format!("claude-code@{version}");
        person.run(&["plugin", "install", &name]).code(2).says(&["is no version"]);
    }
    person.run(&["plugin", "upgrade", "--version", "1.0.0"]).code(2);
    person.configure("plugins:\n  claude-code:\n    enabled: false\n");
    person.run(&["plugin", "install", "claude-code"]).code(2).says(&["is disabled"]);
    person.configure("");
    person.run(&["plugin", "upgrade", "claude-code"]).code(2).says(&["has not installed"]);
    assert_eq!(person.agent_files(), [""; 0]);
}

#[test]
fn m_010_npm_gets_its_tokens_and_no_other_secret() {
    let person = Person::new();
    let env = person.mark("env");
    let args = person.mark("args");
    person.npm(&format!(
        "env > {}\necho \"$@\" > {}\n{}",
        env.display(),
        args.display(),
        brings_claude()
    ));
    let settings = "//registry.example/:_authToken=${COMPANY_TOKEN}\n";
    fs::write(person.folder().join("home/.npmrc"), settings).unwrap();
    let ran = person
        .mia(&["plugin", "install", "claude-code"])
        .env("COMPANY_TOKEN", "canary-1")
        .env("npm_config__authToken", "canary-2")
        .env("HTTPS_PROXY", "http://proxy.example")
        .env("ANTHROPIC_API_KEY", "canary-3")
        .env("GITHUB_TOKEN", "canary-4")
        .output()
        .unwrap();
    Ran::from(ran).code(0);
    let env = fs::read_to_string(env).unwrap();
    for there in ["canary-1", "canary-2", "http://proxy.example"] {
        assert!(env.contains(there), "{there} in {env}");
    }
    for kept in ["canary-3", "canary-4", "MIA_HOME"] {
        assert!(!env.contains(kept), "{kept} in {env}");
    }
    let args = fs::read_to_string(args).unwrap();
    assert!(args.contains("--ignore-scripts") && args.contains("--global=false"), "{args}");
}

#[test]
fn m_010_ctrl_c_ends_npm_and_leaves_nothing() {
    let person = Person::new();
    person.npm(&("mkdir -p node_modules/half\n".to_owned() + &hangs(&person)));
    let child = person.start(&["plugin", "install", "claude-code"]);
    reached(&person, "hangs");
    let processes = descendants(child.id());
    assert!(processes.len() >= 2, "supervisor and npm: {processes:?}");
    Process::of(child.id()).unwrap().signal(INT);
    Ran::from(child.wait_with_output().unwrap()).code(130).says(&["interrupted"]);
    assert_eq!(block_until_gone(&processes, Duration::ZERO), Ok(()), "gone before mia is");
    assert_eq!(person.agent_files(), ["lock"]);
}

#[test]
fn m_010_npm_that_never_ends_is_ended() {
    let person = Person::new();
    person.npm(&hangs(&person));
    let ran = person.run(&["plugin", "install", "claude-code", "--timeout", "1s"]).code(3);
    ran.says(&["npm did not finish in 1.0 s", "--timeout"]);
    assert_eq!(person.agent_files(), ["lock"]);
}

#[test]
fn m_010_a_killed_installation_changes_nothing_and_the_next_one_cleans_up() {
    let person = Person::new();
    person.npm(&brings_claude());
    person.run(&["plugin", "install", "claude-code@1.0.0"]).code(0);
    person.npm(&(brings_claude() + &hangs(&person)));
    let mut child = person.start(&["plugin", "upgrade"]);
    reached(&person, "hangs");
    let processes = descendants(child.id());
    Process::of(child.id()).unwrap().signal(KILL);
    child.wait().unwrap();
    let left = person.agent_files();
    assert_eq!(left.len(), 4, "with the folder that was being built: {left:?}");
    let info = json(&person.run(&["plugin", "info", "claude-code", "--json"]).code(0));
    assert_eq!(info["agent_version"], "1.0.0 (Claude Code)");
    assert_eq!(block_until_gone(&processes, SOON), Ok(()), "npm goes with mia");
    person.npm(&brings_claude());
    person.run(&["plugin", "upgrade"]).code(0);
    assert_eq!(person.agent_files(), [PINNED, "current", "lock"]);
}

#[test]
fn m_010_of_two_installations_at_once_one_waits() {
    let person = Person::new();
    let gate = person.mark("gate");
    let wait = format!("while [ ! -e {} ]; do sleep 0.05; done\n", gate.display());
    let count = format!("echo x >> {}\n", person.mark("asked").display());
    person.npm(&(count + &wait + &brings_claude()));
    let first = person.start(&["plugin", "install", "claude-code"]);
    reached(&person, "asked");
    let second = Terminal::start(&person, &["plugin", "install", "claude-code"]);
    second.wait_for("waiting for another mia");
    fs::write(gate, "").unwrap();
    Ran::from(first.wait_with_output().unwrap()).code(0);
    let (code, screen) = second.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.replace('\n', "").contains("is installed already"), "{screen}");
    assert_eq!(fs::read_to_string(person.mark("asked")).unwrap(), "x\n", "npm was asked once");
}

#[test]
fn m_010_a_terminal_shows_one_line_while_it_lasts() {
    let person = Person::new();
    let gate = person.mark("gate");
    person.npm(&format!(
        "while [ ! -e {} ]; do sleep 0.05; done\n{}",
        gate.display(),
        brings_claude()
    ));
    let terminal = Terminal::start(&person, &["plugin", "install", "claude-code"]);
    terminal.wait_for("npm installs @anthropic-ai/claude-code 2.1.332  ");
    assert_eq!(terminal.screen().lines().count(), 1);
    fs::write(gate, "").unwrap();
    let (code, screen) = terminal.end();
    assert_eq!(code, Some(0));
    assert!(screen.starts_with("claude-code 2.1.332 is installed ("), "{screen}");
    let quiet = person.run(&["--quiet", "plugin", "install", "claude-code@1.0.0"]).code(0);
    assert_eq!(quiet.err, "");
}

/// A `claude` that tells its version, or works until it is asked to end.
fn works_on(person: &Person) -> String {
    let mark = person.mark("works");
    brings(&format!(
        "case \\$1 in --version) echo $version; exit;; esac\n\
         echo $version >> {}\n\
         while read line; do case \\$line in *interrupt*) exit 1;; esac; done",
        mark.display()
    ))
}

#[test]
fn m_010_an_agent_that_runs_keeps_its_files() {
    let person = Person::new();
    person.npm(&works_on(&person));
    person.run(&["plugin", "install", "claude-code@1.0.0"]).code(0);
    let task = person.start(&["ask", "work"]);
    reached(&person, "works");
    person.run(&["plugin", "upgrade"]).code(0);
    assert_eq!(person.agent_files(), ["1.0.0", PINNED, "current", "lock"]);
    let refused = person.run(&["plugin", "uninstall", "claude-code"]).code(3);
    refused.says(&["a task of claude-code runs from", "was not removed"]);
    assert_eq!(person.agent_files(), ["1.0.0", PINNED, "current", "lock"]);
    Process::of(task.id()).unwrap().signal(INT);
    Ran::from(task.wait_with_output().unwrap()).code(130);
    // The old one goes with the next installation.
    person.run(&["plugin", "install", "claude-code"]).code(0);
    assert_eq!(person.agent_files(), [PINNED, "current", "lock"]);
    let ran = person.run(&["plugin", "uninstall", "claude-code"]).code(0);
    assert!(ran.out.starts_with("claude-code 2.1.332 is removed ("), "{ran:?}");
    assert!(!person.agent().exists());
    let again = person.run(&["plugin", "uninstall", "claude-code"]).code(0);
    assert!(again.out.contains("there is nothing to remove"), "{again:?}");
    person
        .run(&["plugin", "test", "claude-code"])
        .code(3)
        .says(&["install it with: mia plugin install claude-code"]);
}

#[test]
fn m_010_an_upgrade_goes_to_the_version_of_this_mia_and_never_back() {
    let person = Person::new();
    person.npm(&brings_claude());
    let none = person.run(&["plugin", "upgrade"]).code(0);
    assert!(none.out.contains("has installed no agent"), "{none:?}");
    assert_eq!(json(&person.run(&["plugin", "upgrade", "--json"]).code(0)), Value::Array(vec![]));
    person.run(&["plugin", "install", "claude-code@1.0.0"]).code(0);
    let ran = person.run(&["plugin", "upgrade"]).code(0);
    assert!(ran.out.contains("claude-code 2.1.332 is installed instead of 1.0.0"), "{ran:?}");
    let ran = json(&person.run(&["plugin", "upgrade", "--json"]).code(0));
    assert_eq!((&ran[0]["changed"], &ran[0]["version"]), (&false.into(), &PINNED.into()));
    person.run(&["plugin", "upgrade", "claude-code", "--version", "9.0.0"]).code(0);
    let ran = person.run(&["plugin", "upgrade"]).code(0);
    assert_eq!(ran.out, "", "and not that there is none");
    ran.says(&["9.0.0 is newer than 2.1.332", "stays"]);
    let ran = person.run(&["plugin", "install", "claude-code"]).code(0);
    assert!(ran.out.contains("2.1.332 is installed instead of 9.0.0"), "{ran:?}");
}

/// With the real npm and the real package, where the registry can be reached or is in npm's cache.
#[test]
fn m_010_the_real_agent_from_the_registry() {
    let npm = |args: &[&str]| {
        let said = std::process::Command::new("npm").args(args).output().ok()?;
        said.status.success().then(|| String::from_utf8_lossy(&said.stdout).trim().to_owned())
    };
    let package = format!("@anthropic-ai/claude-code@{PINNED}");
    let found = npm(&["view", "--prefer-offline", "--fetch-retries=0", &package, "version"]);
    let (Some(_), Some(cache)) = (found, npm(&["config", "get", "cache"])) else {
        eprintln!("skipped: there is no npm, or its registry can't be reached");
        return;
    };
    let person = Person::new();
    let mut mia = person.mia(&["plugin", "install", "claude-code", "--json"]);
    mia.env("npm_config_cache", cache).env("npm_config_prefer_offline", "true");
    for name in ["PATH", "NODE_EXTRA_CA_CERTS", "npm_config_registry", "HTTPS_PROXY"] {
        if let Some(value) = std::env::var_os(name) {
            mia.env(name, value);
        }
    }
    let installed = json(&Ran::from(mia.output().unwrap()).code(0));
    assert_eq!((&installed["version"], &installed["node"]), (&PINNED.into(), &Value::Null));
    let info = json(&person.run(&["plugin", "info", "claude-code", "--json"]).code(0));
    assert_eq!(info["agent_version"], format!("{PINNED} (Claude Code)"));
}
