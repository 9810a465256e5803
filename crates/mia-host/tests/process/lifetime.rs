//! Mia ends or is killed, and nothing of its children lives on (M-21).

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::world::{SIX_SECONDS, eventually, gone, is_running, kill_9, running, shell, start};
use crate::world::{supervisor, tag, wait_for_line};

/// Starts a Mia in small with these scripts; gives it, and the pid of its supervisor.
async fn mia(scripts: &[String]) -> (Child, u32) {
    // Descriptor 9 is one that its own parent left open.
    let mut mia = Command::new("/bin/sh")
        .args(["-c", "exec 9</dev/null; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_mia-host-test-parent"))
        .args(scripts)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(mia.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
    let supervisor = line.trim().strip_prefix("ready ").unwrap().parse().unwrap();
    (mia, supervisor)
}

/// Children of all sorts that try to stay.
fn stubborn(tag: &str) -> [String; 4] {
    [
        format!("trap '' TERM INT HUP; echo up; while :; do sleep {tag}; done"),
        format!("setsid sleep {tag} & echo up; wait"),
        format!("(env -i setsid sh -c 'trap \"\" TERM; echo up; while :; do sleep {tag}; done' &)"),
        format!(
            "setsid setsid sh -c 'setsid sleep {tag} & echo up; sleep {tag}' & exec sleep {tag}"
        ),
    ]
}

#[tokio::test]
async fn m_021_nothing_lives_six_seconds_after_mia_was_killed() {
    let tag = tag();
    let (mut mia, supervisor) = mia(&stubborn(&tag)).await;
    assert!(running(&tag).len() >= 6);
    kill_9(mia.id().unwrap());
    mia.wait().await.unwrap();
    gone(&tag).await;
    eventually(SIX_SECONDS, "the supervisor has ended", || !is_running(supervisor)).await;
}

#[tokio::test]
async fn m_021_nothing_lives_on_after_mia_has_ended() {
    let tag = tag();
    let (mut mia, supervisor) = mia(&stubborn(&tag)).await;
    drop(mia.stdin.take());
    assert!(mia.wait().await.unwrap().success());
    gone(&tag).await;
    eventually(SIX_SECONDS, "the supervisor has ended", || !is_running(supervisor)).await;
}

#[tokio::test]
async fn m_021_a_child_gets_a_term_when_mia_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("said");
    let script = format!(
        "exec 2>/dev/null; trap 'echo term >> {}; exit 0' TERM; echo up; while :; do sleep 0.01; done",
        file.display()
    );
    let (mut mia, supervisor) = mia(&[script]).await;
    kill_9(mia.id().unwrap());
    mia.wait().await.unwrap();
    eventually(SIX_SECONDS, "the supervisor has ended", || !is_running(supervisor)).await;
    // Exactly one: a second one means "at once" to many programs.
    assert_eq!(std::fs::read_to_string(file).unwrap(), "term\n");
}

#[tokio::test]
async fn m_021_shutdown_returns_when_all_is_gone() {
    let (supervisor, tag) = (supervisor(), tag());
    let mut children = Vec::new();
    for script in stubborn(&tag) {
        children.push(start(&supervisor, &script).await);
    }
    supervisor.shutdown().await;
    assert_eq!(running(&tag), []);
    assert!(supervisor.spawn(shell("exit 0")).await.is_err());
    let mut exits = Vec::new();
    for child in children {
        exits.push(child.process.wait_exit().await.unwrap().to_string());
    }
    // The third one had ended by itself; the first one takes no notice of a TERM.
    assert_eq!(exits, ["signal 9", "signal 15", "exit code 0", "signal 15"]);
}

#[tokio::test]
async fn m_021_a_mia_inside_another_ones_tree_is_ended_with_all_that_it_runs() {
    let (outer, tag) = (supervisor(), tag());
    let mut spec = shell("");
    spec.program = env!("CARGO_BIN_EXE_mia-host-test-parent").into();
    spec.args = stubborn(&tag).into_iter().map(Into::into).collect();
    spec.stdin = mia_host::Stdin::Piped;
    let mut inner = outer.spawn(spec).await.unwrap();
    let mut lines = mia_host::framing::LineReader::new(&mut inner.stdout, 1000);
    lines.next().await.unwrap();
    assert!(running(&tag).len() >= 6);
    // No time for the inner one to clean up by itself.
    let report = inner.process.kill(mia_host::kill::KillPlan::AT_ONCE).await.unwrap();
    assert!(report.leftover.killed >= 6);
    assert_eq!(running(&tag), []);
}

#[tokio::test]
async fn a_child_is_told_where_it_runs_and_no_caller_can_fake_it() {
    let supervisor = supervisor();
    let mut spec = shell("case $MIA_SUPERVISED in *fake*) ;; *.*) echo marked;; esac");
    spec.env.push(("MIA_SUPERVISED".into(), "fake.1".into()));
    let mut child = supervisor.spawn(spec).await.unwrap();
    wait_for_line(&mut child, "marked").await;
}

#[tokio::test]
async fn a_supervisor_keeps_nothing_open_that_mia_inherited() {
    let (mut mia, supervisor) = mia(&["echo up; exec sleep 1000".to_owned()]).await;
    let open = |pid: u32| -> Vec<String> {
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    assert!(open(mia.id().unwrap()).contains(&"9".to_owned()));
    assert!(!open(supervisor).contains(&"9".to_owned()));
    // Standard streams, the socket, and both ends of the self-pipe.
    assert_eq!(open(supervisor).len(), 6);
    drop(mia.stdin.take());
    mia.wait().await.unwrap();
}
