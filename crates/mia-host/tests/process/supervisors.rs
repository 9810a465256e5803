//! The supervisor process itself.

use std::time::Duration;

use mia_host::supervisor::SupervisorError;
use mia_host::{SpawnError, Supervisor, SupervisorLost, SupervisorProgram};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal};

use crate::world::{
    SIX_SECONDS, eventually, is_running, kill_9, running, shell, signal, start, supervisor, tag,
};

#[tokio::test]
async fn m_021_a_killed_supervisor_takes_its_children_along_and_is_replaced() {
    let (supervisor, tag) = (supervisor(), tag());
    let script = format!(
        "trap '' TERM; (setsid sleep {tag} &); setsid sleep {tag} & setsid sh -c 'env -i sleep {tag}; :' & \
                          echo up; while :; do sleep {tag}; done"
    );
    let children = [start(&supervisor, &script).await, start(&supervisor, &script).await];
    eventually(SIX_SECONDS, "all run", || running(&tag).len() >= 12).await;
    let first = supervisor.pid().unwrap();
    kill_9(first);
    for child in &children {
        assert_eq!(child.process.wait_exit().await, Err(SupervisorLost));
        assert_eq!(child.process.sweep().await, Err(SupervisorLost));
    }
    assert_eq!(running(&tag), []);
    let again = start(&supervisor, "echo up; exit 4").await;
    assert_eq!(again.process.wait_exit().await.unwrap().code, Some(4));
    assert_ne!(supervisor.pid().unwrap(), first);
}

#[tokio::test]
async fn a_supervisor_ends_with_its_last_handle() {
    let supervisor = supervisor();
    supervisor.start().unwrap();
    let pid = supervisor.pid().unwrap();
    let child = start(&supervisor, "echo up; exec sleep 1000").await;
    drop(supervisor);
    assert!(is_running(child.process.pid()));
    drop(child);
    eventually(SIX_SECONDS, "the supervisor has ended", || !is_running(pid)).await;
}

#[tokio::test]
async fn a_program_that_is_no_supervisor_is_found_out() {
    let no_supervisor = Supervisor::new(SupervisorProgram::Path("/bin/true".into()));
    let error = no_supervisor.spawn(shell("exit 0")).await.unwrap_err();
    assert!(
        matches!(&error, SpawnError::Supervisor(SupervisorError::NotASupervisor { .. })),
        "{error}"
    );
    let missing = Supervisor::new(SupervisorProgram::Path("/nowhere/mia".into()));
    let error = missing.spawn(shell("exit 0")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "start the supervisor /nowhere/mia: No such file or directory (os error 2)"
    );
}

#[tokio::test]
async fn a_supervisor_is_deaf_to_what_ends_other_programs() {
    let supervisor = supervisor();
    let child = start(&supervisor, "echo up; exec sleep 1000").await;
    // Not even a terminal's Ctrl-C reaches it: it has a session of its own.
    let pid = Pid::from_raw(supervisor.pid().unwrap().cast_signed());
    assert_eq!(rustix::process::getsid(pid).ok(), pid);
    for number in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        signal(supervisor.pid().unwrap(), number);
    }
    let other = start(&supervisor, "echo up").await;
    assert!(other.process.wait_exit().await.unwrap().success());
    assert!(is_running(child.process.pid()));
}

#[tokio::test]
async fn a_child_inherits_neither_handlers_nor_descriptors() {
    let supervisor = supervisor();
    let script = "grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2; ls /proc/self/fd | wc -l";
    let mut child = supervisor.spawn(shell(script)).await.unwrap();
    let mut text = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut child.stdout, &mut text).await.unwrap();
    let [blocked, ignored, descriptors] = text.lines().collect::<Vec<_>>().try_into().unwrap();
    // HUP, INT, QUIT, USR1, USR2, PIPE, TERM and CHLD; others are as they are around this test.
    let ours =
        [1, 2, 3, 10, 12, 13, 15, 17].iter().fold(0, |mask, signal| mask | 1 << (signal - 1));
    assert_eq!(u64::from_str_radix(blocked, 16).unwrap(), 0);
    assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & ours, 0);
    // The standard streams and the folder that is listed.
    assert_eq!(descriptors, "4");
}

#[tokio::test]
async fn m_021_a_cancelled_spawn_leaves_nothing() {
    let (supervisor, tag) = (supervisor(), tag());
    supervisor.start().unwrap();
    for micros in (0..3000).step_by(150) {
        let spec = shell(&format!("setsid sleep {tag} & exec sleep {tag}"));
        let spawn = supervisor.spawn(spec);
        // Whether it came in time or not: nobody keeps the child.
        let _ = tokio::time::timeout(Duration::from_micros(micros), spawn).await;
    }
    // Requests are served in order: when this child runs, all the others were started.
    start(&supervisor, "echo up").await;
    crate::world::gone(&tag).await;
}

#[tokio::test]
async fn a_supervisor_that_is_slow_loses_no_request() {
    let (supervisor, tag) = (supervisor(), tag());
    let child = start(&supervisor, &format!("trap '' INT; echo up; exec sleep {tag}")).await;
    let pid = supervisor.pid().unwrap();
    signal(pid, Signal::STOP);
    // More than the socket holds.
    for _ in 0..2000 {
        child.process.interrupt();
    }
    let others: Vec<_> = (0..20)
        .map(|code| {
            let supervisor = supervisor.clone();
            tokio::spawn(async move { supervisor.spawn(shell(&format!("exit {code}"))).await })
        })
        .collect();
    drop(child);
    tokio::task::yield_now().await;
    signal(pid, Signal::CONT);
    for (code, other) in (0..).zip(others) {
        let exit = other.await.unwrap().unwrap().process.wait_exit().await.unwrap();
        assert_eq!(exit.code, Some(code));
    }
    crate::world::gone(&tag).await;
}

#[tokio::test]
async fn m_021_shutdown_does_without_a_supervisor_that_stands_still() {
    let (supervisor, tag) = (supervisor(), tag());
    let child = start(&supervisor, &format!("setsid sleep {tag} & echo up; wait")).await;
    signal(supervisor.pid().unwrap(), Signal::STOP);
    supervisor.shutdown().await;
    assert_eq!(running(&tag), []);
    assert_eq!(child.process.wait_exit().await, Err(SupervisorLost));
}
