//! The daemon: it is there when it is needed, once, and loses nothing.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};
use std::time::Duration;

use mia_testkit::fakecli::FakeCli;
use mia_testkit::proc::{INT, KILL, Process, block_until, block_until_gone, descendants};
use serde_json::Value;

use crate::claude::{answer, begin, end, say};
use crate::person::{Person, Ran};

/// Longer than anything takes by itself on a loaded machine.
pub(crate) const SOON: Duration = Duration::from_secs(20);
const SWEPT: Duration = Duration::from_secs(6);

fn status(person: &Person) -> Value {
    serde_json::from_str(&person.run(&["status", "--json"]).out).unwrap()
}

pub(crate) fn daemon(person: &Person) -> Process {
    let pid = status(person)["pid"].as_u64().unwrap();
    Process::of(u32::try_from(pid).unwrap()).unwrap()
}

/// An agent that says something, and goes on when the gate is opened.
fn gated(person: &Person) -> FakeCli {
    let claude = person.claude(&answer("later"));
    claude.next_script(&(begin() + &say("first\n") + "wait-file go\n" + &say("last\n") + &end("")));
    claude
}

fn open_gate(claude: &FakeCli) {
    fs::write(claude.beside("go"), "").unwrap();
}

/// A client that has got the first line.
fn asked(person: &Person, args: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = person.start(&[&["ask"], args].concat());
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "first\n");
    (child, out)
}

#[test]
fn it_starts_when_it_is_needed_and_stops_when_it_is_told() {
    let person = Person::new();
    let ran = person.run(&["status"]).code(3);
    assert_eq!(ran.out, "no daemon runs; it starts when it is needed\n");
    assert_eq!(status(&person), serde_json::json!({"running": false}));
    assert_eq!(fs::read_dir(person.mia_home()).unwrap().count(), 0, "a look makes nothing");
    assert_eq!(person.run(&["stop"]).code(0).out, "no daemon runs\n");
    person.ask_guide(&["help"]).code(0);
    let told = status(&person);
    assert_eq!(told["running"], true);
    assert_eq!(told["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(told["tasks"], serde_json::json!([]));
    assert!(told["uptime_ms"].is_u64() && told["socket"].as_str().unwrap().ends_with(".sock"));
    let process = daemon(&person);
    assert!(person.run(&["start"]).code(0).out.starts_with("the daemon runs already (process "));
    assert_eq!(daemon(&person).pid(), process.pid());
    person.run(&["serve"]).code(3).says(&["a daemon runs already (process "]);
    let below = descendants(process.pid());
    assert_eq!(person.run(&["stop"]).code(0).out, "the daemon has stopped\n");
    assert_eq!(block_until_gone(&[process], SOON), Ok(()));
    assert_eq!(block_until_gone(&below, SOON), Ok(()));
    assert!(!person.mia_home().join("daemon.sock").exists());
}

#[test]
fn ten_starts_at_once_leave_one_daemon() {
    let person = Person::new();
    let starts: Vec<_> = (0..10).map(|_| person.start(&["start"])).collect();
    for start in starts {
        Ran::from(start.wait_with_output().unwrap()).code(0);
    }
    let started = person.run(&["logs"]).code(0).out.matches("started, version").count();
    assert_eq!(started, 1);
}

#[test]
fn a_stale_socket_and_a_stale_lock_file_are_no_obstacle() {
    let person = Person::new();
    person.run(&["start"]).code(0);
    let process = daemon(&person);
    process.signal(KILL);
    block_until_gone(&[process], SOON).unwrap();
    assert!(person.mia_home().join("daemon.sock").exists(), "nobody took it away");
    person.ask_guide(&["help"]).code(0);
}

#[test]
fn a_socket_that_was_taken_away_is_made_anew() {
    let person = Person::new();
    person.run(&["start"]).code(0);
    let pid = daemon(&person).pid();
    let socket = person.mia_home().join("daemon.sock");
    fs::remove_file(&socket).unwrap();
    // A prompt waits for it, and no second daemon comes.
    person.ask_guide(&["help"]).code(0);
    assert_eq!(daemon(&person).pid(), pid);
    // And it can be stopped right after it was taken away.
    fs::remove_file(&socket).unwrap();
    assert_eq!(person.run(&["stop"]).code(0).out, "the daemon has stopped\n");
    assert!(!socket.exists());
    assert_eq!(person.run(&["stop"]).code(0).out, "no daemon runs\n");
}

#[test]
fn a_daemon_of_another_environment_is_found() {
    let person = Person::new();
    let (state, config) = (person.folder().join("state"), person.folder().join("config"));
    let run = |args: &[&str], runtime: Option<&str>| {
        let mut mia = person.mia(args);
        mia.env_remove("MIA_HOME").env("XDG_STATE_HOME", &state).env("XDG_CONFIG_HOME", &config);
        if let Some(name) = runtime {
            let folder = person.folder().join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))
                .unwrap();
            mia.env("XDG_RUNTIME_DIR", folder);
        }
        Ran::from(mia.output().unwrap())
    };
    run(&["start"], Some("one")).code(0);
    for other in [None, Some("two")] {
        assert!(run(&["status"], other).code(0).out.contains("/one/"));
        run(&["ask", "--plugin", "guide", "help"], other).code(0);
    }
    assert_eq!(run(&["stop"], None).code(0).out, "the daemon has stopped\n");
}

#[test]
fn a_daemon_whose_lock_was_taken_away_ends_and_leaves_the_next_one_alone() {
    let person = Person::new();
    person.run(&["start"]).code(0);
    let first = daemon(&person);
    fs::remove_file(person.mia_home().join("daemon.lock")).unwrap();
    fs::remove_file(person.mia_home().join("daemon.sock")).unwrap();
    person.ask_guide(&["help"]).code(0);
    let second = daemon(&person).pid();
    assert_ne!(first.pid(), second);
    assert_eq!(block_until_gone(&[first], SOON), Ok(()));
    assert_eq!(daemon(&person).pid(), second);
}

#[test]
fn m_039_what_a_killed_process_without_the_daemon_left_is_interrupted_while_a_daemon_runs() {
    let person = Person::new();
    let _claude = gated(&person);
    person.run(&["start"]).code(0);
    let mut here = person.start(&["--no-daemon", "ask", "x"]);
    let mut line = String::new();
    BufReader::new(here.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(person.log()[0]["status"], "running");
    here.kill().unwrap();
    here.wait().unwrap();
    block_until("its task to end", SOON, || {
        (person.log()[0]["status"] == "interrupted").then_some(())
    });
}

#[test]
fn who_stops_a_daemon_that_is_stopping_waits_for_its_end_too() {
    let person = Person::new();
    let claude = gated(&person);
    let (mut client, _out) = asked(&person, &["x"]);
    let process = daemon(&person);
    let stops: Vec<_> = (0..2).map(|_| person.start(&["stop"])).collect();
    block_until("it to stop", SOON, || status(&person)["stopping"].as_bool()?.then_some(()));
    open_gate(&claude);
    for stop in stops {
        let ran = Ran::from(stop.wait_with_output().unwrap()).code(0);
        assert_eq!(ran.out, "the daemon has stopped\n");
        assert!(!process.alive());
    }
    assert!(client.wait().unwrap().success());
}

#[test]
fn it_keeps_no_secret_and_no_descriptor_of_its_starter() {
    let person = Person::new();
    let open = person.write("open", "");
    // A shell's own redirection reaches everything that it runs.
    let mut shell = Command::new("/bin/sh");
    person.surround(shell.args(["-c", "exec 9<open; exec \"$0\" start"]));
    shell.arg(env!("CARGO_BIN_EXE_mia"));
    shell.env("ANTHROPIC_API_KEY", "sk-canary-1").env("LANG", "C.UTF-8");
    shell.env("XDG_SOME_TOKEN", "sk-canary-2");
    Ran::from(shell.output().unwrap()).code(0);
    let pid = daemon(&person).pid();
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    assert!(environment.contains("LANG=C.UTF-8") && !environment.contains("canary"));
    let cwd = fs::read_link(format!("/proc/{pid}/cwd")).unwrap();
    assert_eq!(cwd.to_str(), Some("/"));
    let held = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let held: Vec<_> = held.filter_map(|fd| fs::read_link(fd.unwrap().path()).ok()).collect();
    assert!(held.iter().any(|path| path.ends_with("mia.db")) && !held.contains(&open), "{held:?}");
}

#[test]
fn m_013_the_agent_gets_the_environment_of_who_asks_and_not_of_who_started_the_daemon() {
    let person = Person::new();
    let mut starter = person.mia(&["start"]);
    starter.env("STARTERS_OWN", "1");
    Ran::from(starter.output().unwrap()).code(0);
    let claude = person.claude(&("dump-env env\n".to_owned() + &answer("yes")));
    let mut ask = person.mia(&["ask", "x"]);
    ask.env("ASKERS_OWN", "1");
    Ran::from(ask.output().unwrap()).code(0);
    let env = fs::read_to_string(claude.beside("env")).unwrap();
    assert!(env.contains("ASKERS_OWN") && !env.contains("STARTERS_OWN"), "{env}");
}

#[test]
fn a_client_that_is_killed_leaves_its_task_running_and_it_can_be_watched() {
    let person = Person::new();
    let claude = gated(&person);
    let (mut child, _out) = asked(&person, &["do it"]);
    child.kill().unwrap();
    child.wait().unwrap();
    let task = status(&person)["tasks"][0]["task_id"].as_str().unwrap().to_owned();
    let mut watch = person.start(&["watch", &task]);
    let mut out = BufReader::new(watch.stdout.take().unwrap());
    let mut text = String::new();
    out.read_line(&mut text).unwrap();
    open_gate(&claude);
    out.read_to_string(&mut text).unwrap();
    assert_eq!((text.as_str(), watch.wait().unwrap().code()), ("first\nlast\n", Some(0)));
    // And again, once it is over.
    assert_eq!(person.run(&["watch", &task]).code(0).out, "first\nlast\n");
}

#[test]
fn an_attached_client_that_is_killed_takes_its_task_with_it() {
    let person = Person::new();
    gated(&person);
    let (mut child, _out) = asked(&person, &["--attached", "do it"]);
    let below = descendants(daemon(&person).pid());
    let agent = below.iter().find(|p| p.command().contains("stream-json")).unwrap().clone();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(block_until_gone(&[agent], SWEPT), Ok(()));
    block_until("the end", SOON, || (person.log()[0]["status"] == "failed").then_some(()));
    assert_eq!(person.log()[0]["error"]["code"], "ABORTED");
}

#[test]
fn an_attached_client_that_is_gone_before_its_prompt_is_on_record_takes_it_along() {
    let person = Person::new();
    let claude = person.claude(&(begin() + &say("first\n") + "wait-file go\n" + &end("")));
    person.run(&["start"]).code(0);
    let told = person.run(&["status", "--json"]).code(0).out;
    let told: Value = serde_json::from_str(&told).unwrap();
    let path = claude.path().parent().unwrap().to_str().unwrap().to_owned();
    for round in 0..20 {
        let body = serde_json::json!({
            "prompt": "x", "working_directory": person.project(), "plugin": "claude-code",
            "task_id": format!("t{round}"), "attached": true,
            "environment": [{"name": "PATH", "value": path}],
        });
        let body = body.to_string();
        let mut stream =
            std::os::unix::net::UnixStream::connect(told["socket"].as_str().unwrap()).unwrap();
        let head = format!(
            "POST /v1/tasks HTTP/1.1\r\nhost: mia\r\naccept: text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
        // Gone at once, or a moment later.
        std::thread::sleep(Duration::from_micros(300 * round));
    }
    block_until("all of them to end", SOON, || {
        let tasks = person.run(&["tasks", "--json"]).code(0).out;
        (serde_json::from_str::<Value>(&tasks).unwrap() == serde_json::json!([])).then_some(())
    });
    let log = person.run(&["log", "--json", "-n", "50"]).code(0).out;
    let log: Value = serde_json::from_str(&log).unwrap();
    for task in log.as_array().unwrap() {
        assert_eq!(task["error"]["code"], "ABORTED", "{task}");
    }
}

#[test]
fn m_024_ctrl_c_aborts_the_task_in_the_daemon() {
    let person = Person::new();
    gated(&person);
    let (child, _out) = asked(&person, &["do it"]);
    let below = descendants(daemon(&person).pid());
    let agent = below.iter().find(|p| p.command().contains("stream-json")).unwrap().clone();
    Process::of(child.id()).unwrap().signal(INT);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert_eq!(block_until_gone(&[agent], Duration::ZERO), Ok(()), "gone before mia is");
}

#[test]
fn detach_prints_the_id_and_the_task_goes_on() {
    let person = Person::new();
    let claude = gated(&person);
    let ran = person.run(&["ask", "--detach", "--task", "my-task", "do it"]).code(0);
    assert_eq!(ran.out, "my-task\n");
    // The same again is the same task.
    assert_eq!(
        person.run(&["ask", "--detach", "--task", "my-task", "do it"]).code(0).out,
        "my-task\n"
    );
    person
        .run(&["ask", "--detach", "--task", "my-task", "another"])
        .code(2)
        .says(&["choose another id"]);
    block_until("it to run", SOON, || person.run(&["tasks"]).out.contains("running").then_some(()));
    open_gate(&claude);
    assert_eq!(person.run(&["watch", "my-task"]).code(0).out, "first\nlast\n");
    assert_eq!(person.run(&["tasks"]).code(0).out, "nothing waits and nothing runs\n");
    person.run(&["watch", "no-such-task"]).code(2).says(&["no task no-such-task is on record"]);
}

#[test]
fn abort_ends_tasks_and_says_which() {
    let person = Person::new();
    gated(&person);
    person.run(&["ask", "--detach", "--task", "a", "--conversation", "c", "x"]).code(0);
    person.run(&["ask", "--detach", "--task", "b", "--conversation", "c", "y"]).code(0);
    let ran = person.run(&["abort", "--all"]).code(0);
    assert_eq!(ran.out, "aborted b\naborted a\n");
    let log = person.log();
    for task in log.as_array().unwrap() {
        assert_eq!(task["error"]["code"], "ABORTED", "{log:#}");
    }
    assert_eq!(person.run(&["abort", "a"]).code(0).out, "it had ended before\n");
    person.run(&["abort", "zzz"]).code(2).says(&["no task zzz is on record"]);
}

#[test]
fn m_039_a_killed_daemon_loses_nothing_and_the_client_learns_the_end() {
    let person = Person::new();
    gated(&person);
    let (child, mut out) = asked(&person, &["--conversation", "talk", "do it"]);
    // Another process sees what is on record by now.
    let task = status(&person)["tasks"][0]["task_id"].as_str().unwrap().to_owned();
    let mut other = person.start(&["--no-daemon", "watch", &task]);
    let mut line = String::new();
    BufReader::new(other.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "first\n");
    other.kill().unwrap();
    other.wait().unwrap();
    let process = daemon(&person);
    let below = descendants(process.pid());
    process.signal(KILL);
    assert_eq!(block_until_gone(&below, SWEPT), Ok(()), "nothing of it runs on");
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap()).code(1);
    assert!(ran.err.contains("mia ended while the agent was at work"), "{ran:?}");
    assert_eq!(rest, "", "no text is said twice");
    let log = person.log();
    assert_eq!(
        (&log[0]["status"], &log[0]["error"]["cause"]),
        (&"interrupted".into(), &"interrupted".into())
    );
    let trace =
        person.run(&["log", "--json", "--trace", log[0]["task_id"].as_str().unwrap()]).code(0);
    let trace: Value = serde_json::from_str(&trace.out).unwrap();
    assert_eq!(trace["error"]["partial"]["content"], "first\n");
    // The conversation goes on.
    assert_eq!(person.run(&["ask", "--conversation", "talk", "more"]).code(0).out, "later\n");
}

#[test]
fn stop_waits_for_what_runs_and_now_interrupts_it() {
    let person = Person::new();
    let claude = gated(&person);
    let (child, mut out) = asked(&person, &["do it"]);
    let mut stop = person.start(&["stop"]);
    let mut err = BufReader::new(stop.stderr.take().unwrap());
    let mut line = String::new();
    err.read_line(&mut line).unwrap();
    assert!(line.starts_with("waiting for 1 task to end"), "{line}");
    line.clear();
    err.read_line(&mut line).unwrap();
    assert!(line.contains("claude-code") && line.contains("do it"), "it says which: {line}");
    person.run(&["ask", "another"]).code(3).says(&["about to stop"]);
    open_gate(&claude);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "last\n");
    Ran::from(child.wait_with_output().unwrap()).code(0);
    assert_eq!(stop.wait().unwrap().code(), Some(0));

    fs::remove_file(claude.beside("go")).unwrap();
    claude.next_script(&(begin() + &say("first\n") + "wait-file go\n" + &end("")));
    let (child, _out) = asked(&person, &["do it again"]);
    person.run(&["stop", "--now"]).code(0);
    let ran = Ran::from(child.wait_with_output().unwrap()).code(1);
    assert!(ran.err.contains("mia was stopped while the agent was at work"), "{ran:?}");
}

#[test]
fn m_032_a_switch_is_in_force_without_a_restart_and_survives_one() {
    let person = Person::new();
    person.run(&["start"]).code(0);
    let process = daemon(&person);
    person.run(&["plugin", "switch", "guide"]).code(0);
    assert!(person.run(&["ask", "help"]).code(0).out.contains("Mia's guide"));
    assert_eq!(daemon(&person).pid(), process.pid());
    person.run(&["restart"]).code(0);
    assert!(person.run(&["ask", "help"]).code(0).out.contains("Mia's guide"));
    assert_ne!(daemon(&person).pid(), process.pid());
    // M-40: by hand, and wrong: the last good one is in force, and it is told where it is wrong.
    person.configure("active_plugin: guide\nlimitz: {}\n");
    person
        .run(&["ask", "help"])
        .code(0)
        .says(&["the last good one is in force", "config.yaml:2:1"]);
    assert!(person.run(&["status"]).out.contains("config.yaml:2:1"));
    person.configure("active_plugin: guide\n");
    assert_eq!(person.run(&["ask", "help"]).code(0).err, "");
}

#[test]
fn a_conversation_is_listed_named_and_deleted() {
    let person = Person::new();
    person.claude(&answer("blue"));
    person.run(&["ask", "--conversation", "sky", "what colour?"]).code(0);
    person.run(&["conversation", "rename", "sky", "Colours of things"]).code(0);
    assert!(person.run(&["conversation", "list"]).out.contains("Colours of things"));
    let shown = person.run(&["conversation", "show", "sky"]).code(0).out;
    assert!(shown.contains("> what colour?") && shown.contains("claude-code: blue"), "{shown}");
    let usage = person.run(&["usage", "--json"]).code(0).out;
    let usage: Value = serde_json::from_str(&usage).unwrap();
    assert_eq!(
        (&usage["rows"][0]["plugin"], &usage["rows"][0]["tasks"]),
        (&"claude-code".into(), &1.into())
    );
    person.run(&["conversation", "delete", "sky"]).code(0);
    assert_eq!(person.run(&["log"]).out, "nothing was asked yet\n");
    person.run(&["conversation", "show", "sky"]).code(2).says(&["no conversation sky"]);
}

#[test]
fn m_072_gc_forgets_sessions_that_nobody_goes_on_with() {
    let person = Person::new();
    let claude = person.claude(&format!("dump-argv argv\n{}", answer("blue")));
    let ask = || person.run(&["ask", "--conversation", "sky", "what colour?"]).code(0);
    let resumes = || {
        let argv = fs::read_to_string(claude.beside("argv")).unwrap();
        argv.contains("--resume=")
    };
    ask();
    assert!(!resumes());
    assert_eq!(person.run(&["gc"]).code(0).out, "nothing to forget\n", "it is in use");
    ask();
    assert!(resumes(), "the session was kept");
    let old = person.run(&["gc", "--max-age", "1ms"]).code(0).out;
    assert_eq!(old, "1 session was forgotten\n");
    ask();
    assert!(!resumes(), "the conversation goes on with a session of its own");
}

#[test]
fn a_daemon_whose_record_was_deleted_ends_and_the_next_one_begins_afresh() {
    let person = Person::new();
    person.ask_guide(&["help"]).code(0);
    let process = daemon(&person);
    for end in ["", "-wal", "-shm"] {
        fs::remove_file(person.mia_home().join(format!("mia.db{end}"))).unwrap();
    }
    assert_eq!(block_until_gone(&[process], SOON), Ok(()));
    assert_eq!(person.run(&["log"]).code(0).out, "nothing was asked yet\n");
}

#[test]
fn m_036_the_list_shows_fallbacks_and_who_is_left_alone() {
    let person = Person::new();
    person.configure("active_plugin: guide\nfallback: {plugins: [codex, claude-code]}\n");
    // It says its version, and fails whatever it is asked.
    let claude = person.claude("out 2.1.332\n");
    for _ in 0..3 {
        claude.next_script("exit 7\n");
        person.run(&["ask", "--plugin", "claude-code", "x"]).code(1);
    }
    let list = person.run(&["plugin", "list"]).code(0).out;
    let line = |name: &str| list.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("guide").starts_with("*  guide        ready"), "{list}");
    assert!(line("codex").starts_with("1  codex        missing"), "{list}");
    assert!(line("claude-code").starts_with("2  claude-code  resting"), "{list}");
    person.run(&["ask", "--plugin", "claude-code", "x"]).code(3).says(&["left alone for a while"]);
    let told = status(&person);
    assert_eq!(told["resting"][0]["plugin"], "claude-code");
    let left = told["resting"][0]["left_ms"].as_u64().unwrap();
    assert!((200_000..=300_000).contains(&left), "{left}");
    let words = person.run(&["status"]).code(0).out;
    assert!(
        words.contains("claude-code has failed several times in a row, and is left"),
        "{words}"
    );
    let report = person.run(&["doctor", "--json"]).code(0).out;
    let report: Value = serde_json::from_str(&report).unwrap();
    let of = |list: &str, name: &str| {
        let all = report[list].as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap().clone()
    };
    assert_eq!(of("checks", "claude-code breaker")["status"], "warning");
    assert!(of("plugins", "claude-code")["resting_ms"].as_u64().unwrap() > 200_000);
    assert_eq!(of("plugins", "codex")["resting_ms"], Value::Null);
}

#[test]
fn m_040_a_mistake_in_the_file_leaves_the_last_good_one_in_force_and_is_told() {
    let person = Person::new();
    person.configure("active_plugin: guide\n");
    person.run(&["ask", "help"]).code(0);
    // Torn in the middle of a word.
    person.configure("active_plugin: guide\nlimits:\n  concur");
    person.run(&["ask", "help"]).code(0).says(&["config.yaml:3:3"]);
    let told = status(&person);
    assert!(told["configuration"].as_str().unwrap().contains("config.yaml:3:3"), "{told}");
    let words = person.run(&["status"]).code(0).out;
    assert!(words.contains("the last good one is in force: "), "{words}");
    let report = person.run(&["doctor", "--json"]).code(1).out;
    assert!(report.contains("\"daemon configuration\""), "{report}");
    person.configure("active_plugin: codex\n");
    person.run(&["ask", "help"]).code(3).says(&["codex"]);
    assert_eq!(status(&person)["configuration"], Value::Null);
}

#[test]
fn who_started_it_is_told_when_it_is_ready_and_when_it_stops() {
    let person = Person::new();
    let path = person.folder().join("notify");
    let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    let hear = || {
        let mut text = [0; 64];
        let size = socket.recv(&mut text).unwrap();
        String::from_utf8(text[..size].to_vec()).unwrap().trim().to_owned()
    };
    let mut serve = person.mia(&["serve"]).env("NOTIFY_SOCKET", &path).spawn().unwrap();
    assert_eq!(hear(), "READY=1");
    assert_eq!(status(&person)["pid"], serve.id());
    person.run(&["stop"]).code(0);
    assert_eq!(hear(), "STOPPING=1");
    assert!(serve.wait().unwrap().success());
}
