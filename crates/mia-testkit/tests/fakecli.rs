//! The fake CLI does what its script says, spawned from the test binary itself.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use mia_testkit::fakecli::FakeCli;
use mia_testkit::proc::{self, Process};
use pretty_assertions::assert_eq;

fn scripted(script: &str) -> (tempfile::TempDir, FakeCli) {
    let dir = tempfile::tempdir().unwrap();
    let cli = FakeCli::new(dir.path());
    cli.script(script);
    (dir, cli)
}

fn run(cli: &FakeCli, input: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(cli.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn pid_in(path: &Path) -> u32 {
    fs::read_to_string(path).unwrap().parse().unwrap()
}

#[test]
fn writes_to_both_streams_and_exits_with_its_code() {
    let (_dir, cli) = scripted("out hello\nraw a\\tb\\n\nerr bad\nerrfill 3\nexit 7\nout never");
    assert_eq!(run(&cli, ""), (Some(7), "hello\na\tb\n".to_owned(), "bad\nxxx".to_owned()));
}

#[test]
fn repeats_and_fills_exactly() {
    let (_dir, cli) = scripted("repeat 3 <{i}>\nbigline 4 a{fill}b\nbigline 2");
    assert_eq!(run(&cli, "").1, "<0>\n<1>\n<2>\naxxxxb\nxx\n");
}

#[test]
fn talks_with_whoever_writes_to_it() {
    let (_dir, cli) = scripted(
        "read-until ask\nout {\"id\":\"${last.request_id}\",\"n\":${last.n}}\nread-line\nout got ${last}.\necho-stdin",
    );
    let input = "noise\n{\"ask\":{\"request_id\":\"r1\",\"n\":5}}\nsecond\nthe\nrest";
    assert_eq!(run(&cli, input).1, "{\"id\":\"r1\",\"n\":5}\ngot second.\nthe\nrest");
}

#[test]
fn queued_scripts_are_used_once_and_in_order() {
    let (_dir, cli) = scripted("out always");
    cli.next_script("out first").next_script("out second");
    let said: Vec<String> = (0..4).map(|_| run(&cli, "").1).collect();
    assert_eq!(said, ["first\n", "second\n", "always\n", "always\n"]);
}

#[test]
fn takes_another_name_and_is_found_on_a_path() {
    let dir = tempfile::tempdir().unwrap();
    let cli = FakeCli::named(dir.path(), "claude");
    cli.script("dump-argv argv\nout I am it");
    let output = Command::new("claude").arg("-p").env("PATH", dir.path()).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "I am it\n");
    assert_eq!(fs::read_to_string(cli.beside("argv")).unwrap(), r#"["claude","-p"]"#);
}

#[test]
fn the_environment_can_hold_the_script_and_be_dumped() {
    let (_dir, cli) = scripted("out not this");
    let script = "dump-env env\ndump-cwd cwd\nread-stdin in";
    let mut child = Command::new(cli.path())
        .env_clear()
        .env("FAKECLI_SCRIPT", script)
        .current_dir("/")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"input").unwrap();
    assert!(child.wait().unwrap().success());
    let env: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(cli.beside("env")).unwrap()).unwrap();
    assert_eq!(env, serde_json::json!({ "FAKECLI_SCRIPT": script }));
    assert_eq!(fs::read_to_string(cli.beside("cwd")).unwrap(), "/");
    assert_eq!(fs::read_to_string(cli.beside("in")).unwrap(), "input");
}

#[test]
fn a_bad_script_is_told() {
    let (_dir, cli) = scripted("shout");
    let (code, _, err) = run(&cli, "");
    assert_eq!((code, err.as_str()), (Some(99), "fakecli: line 1: unknown step shout: shout\n"));
}

#[test]
fn a_closed_stdout_is_seen_while_it_runs_on() {
    let (_dir, cli) = scripted("out a\nclose-stdout\nout nobody\nwait-file go");
    let mut child = Command::new(cli.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "a\n");
    assert_eq!(child.try_wait().unwrap(), None, "it waits for the gate");
    fs::write(cli.beside("go"), "").unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn dies_of_its_own_signal_and_is_deaf_where_told() {
    let (_dir, cli) = scripted("signal-self KILL");
    let status = Command::new(cli.path()).status().unwrap();
    assert_eq!(status.signal(), Some(9));
    cli.script("ignore TERM\nsignal-self TERM\nexit 5");
    assert_eq!(Command::new(cli.path()).status().unwrap().code(), Some(5));
    cli.script("signal-self TERM\nexit 5");
    assert_eq!(Command::new(cli.path()).status().unwrap().signal(), Some(15));
}

#[test]
fn a_sleeper_outlives_it_in_a_session_of_its_own() {
    let (_dir, cli) = scripted("fork-sleeper pid setsid clean-env stubborn\nout ready");
    let marker = format!("fakecli-test-{}", std::process::id());
    let output = Command::new(cli.path()).env("MIA_TEST_MARK", &marker).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "ready\n");
    let path = cli.beside("pid");
    let sleeper = Process::of(pid_in(&path)).expect("it sleeps");
    assert_eq!(proc::with_argument(&path.to_string_lossy()), vec![sleeper.clone()]);
    assert_eq!(proc::with_env("MIA_TEST_MARK", &marker), vec![], "its environment is clean");
    assert_eq!(sleeper.session(), Some(sleeper.pid()));
    sleeper.signal(15);
    assert!(sleeper.alive(), "stubborn");
    sleeper.signal(9);
    proc::block_until_gone(&[sleeper], Duration::from_secs(10)).unwrap();
}

#[test]
fn a_sleeper_can_hold_the_pipe_open() {
    let (_dir, cli) = scripted("fork-sleeper pid hold-stdout\nout ready");
    let mut child = Command::new(cli.path()).stdout(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert!(child.wait().unwrap().success());
    let sleeper = Process::of(pid_in(&cli.beside("pid"))).unwrap();
    let rest = std::thread::spawn(move || reader.read_to_string(&mut String::new()).unwrap());
    assert!(!rest.is_finished(), "the pipe has a writer");
    sleeper.signal(9);
    assert_eq!(rest.join().unwrap(), 0);
}
