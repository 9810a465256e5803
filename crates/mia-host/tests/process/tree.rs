//! What a child starts, and how it is found (M-21, M-22).

use std::time::Duration;

use mia_host::kill::{KillPlan, KillStep};
use pretty_assertions::assert_eq;
use tokio::io::AsyncReadExt;

use crate::world::{
    SIX_SECONDS, eventually, gone, is_running, running, shell, start, supervisor, tag, zombies_of,
};

#[tokio::test]
async fn m_021_a_grandchild_in_its_own_session_is_killed() {
    let (supervisor, tag) = (supervisor(), tag());
    let script = format!("setsid sh -c 'echo up; exec sleep {tag}' & wait");
    let child = start(&supervisor, &script).await;
    let report = child.process.kill(KillPlan::default()).await.unwrap();
    assert_eq!((report.ended_by, report.leftover.killed), (KillStep::Terminate, 1));
    assert_eq!(running(&tag), []);
}

#[tokio::test]
async fn m_021_an_orphan_with_a_cleaned_environment_is_killed() {
    let (supervisor, tag) = (supervisor(), tag());
    // Twice detached: the one in between ends at once, and nothing in the environment tells.
    let script = format!(
        "(env -i /usr/bin/setsid /bin/sh -c 'echo up; exec /bin/sleep {tag}' &) ; exec sleep {tag}"
    );
    let child = start(&supervisor, &script).await;
    let report = child.process.kill(KillPlan::default()).await.unwrap();
    assert_eq!((report.ended_by, report.leftover.killed), (KillStep::Terminate, 1));
    assert_eq!(running(&tag), []);
}

#[tokio::test]
async fn m_021_the_leader_goes_first() {
    let (supervisor, tag) = (supervisor(), tag());
    let script = format!("setsid sh -c 'echo up; exec sleep {tag}' & exit 0");
    let child = start(&supervisor, &script).await;
    assert!(child.process.wait_exit().await.unwrap().success());
    assert_eq!(running(&tag).len(), 1);
    let report = child.process.kill(KillPlan::default()).await.unwrap();
    assert_eq!((report.ended_by, report.leftover.killed), (KillStep::AlreadyGone, 1));
    assert_eq!(running(&tag), []);
}

#[tokio::test]
async fn m_022_a_grandchild_that_holds_stdout_open_delays_nothing() {
    let (supervisor, tag) = (supervisor(), tag());
    let mut child = start(&supervisor, &format!("sleep {tag} & echo up; exit 0")).await;
    assert!(child.process.wait_exit().await.unwrap().success());
    // It is still open.
    let read = child.stdout.read_u8();
    assert!(tokio::time::timeout(Duration::from_millis(50), read).await.is_err());
    assert_eq!(child.process.sweep().await.unwrap().killed, 1);
    let end = child.stdout.read_u8().await;
    assert_eq!(end.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn m_022_a_released_tree_lives_on() {
    let (supervisor, tag) = (supervisor(), tag());
    let script = format!("setsid sh -c 'echo up; exec sleep {tag}' & exit 0");
    let child = start(&supervisor, &script).await;
    child.process.wait_exit().await.unwrap();
    child.process.release();
    // Another child comes and goes, then all of Mia.
    let other = start(&supervisor, "echo up").await;
    other.process.kill(KillPlan::default()).await.unwrap();
    supervisor.shutdown().await;
    let left = running(&tag);
    assert_eq!(left.len(), 1);
    left.into_iter().for_each(crate::world::kill_9);
}

#[tokio::test]
async fn m_021_fifty_children_leave_no_zombie() {
    let (supervisor, tag) = (supervisor(), tag());
    let threads = |pid: u32| std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().count();
    let me = std::process::id();
    let before = threads(me);
    let starting: Vec<_> = (0..50)
        .map(|index| {
            let script = format!("setsid sleep {tag} & sleep {tag} & echo up; exit {index}");
            let supervisor = supervisor.clone();
            tokio::spawn(async move { start(&supervisor, &script).await })
        })
        .collect();
    let mut children = Vec::new();
    for child in starting {
        children.push(child.await.unwrap());
    }
    // The bound leaves room for other tests, not for a thread a child.
    assert!(threads(me) < before + 40);
    assert_eq!(threads(supervisor.pid().unwrap()), 1);
    for (index, child) in (0..).zip(&children) {
        assert_eq!(child.process.wait_exit().await.unwrap().code, Some(index));
        let report = child.process.kill(KillPlan::default()).await.unwrap();
        assert_eq!((report.leftover.killed, report.leftover.survivors), (2, 0));
    }
    assert_eq!(running(&tag), []);
    assert_eq!(zombies_of(supervisor.pid().unwrap()), 0);
    assert!(children.iter().all(|child| !is_running(child.process.pid())));
    drop(supervisor);
    drop(children);
    // The supervisor itself leaves none either.
    let what = "no zombie is left of the supervisor";
    eventually(SIX_SECONDS, what, || zombies_of(me) == 0).await;
}

#[tokio::test]
async fn m_021_a_tree_that_forks_faster_than_one_can_look_is_killed() {
    let (supervisor, tag) = (supervisor(), tag());
    // Each generation starts the next one, detached, and ends. Bounded, should it get away.
    let script = format!(
        "f() {{ [ $1 -gt 3000 ] || (setsid sh -c \"$BODY\" {tag} $(($1 + 1)) &) ; }}; \
         export BODY='n=$1; : {tag}; [ $n -gt 3000 ] || \
         (setsid sh -c \"$BODY\" {tag} $((n + 1)) & setsid sleep {tag} &)'; f 0; f 0; echo up; wait"
    );
    let child = start(&supervisor, &script).await;
    let report = child.process.kill(KillPlan::AT_ONCE).await.unwrap();
    assert_eq!(report.leftover.survivors, 0);
    assert_eq!(running(&tag), []);
}

#[tokio::test]
async fn m_021_strangers_and_other_children_are_left_alone() {
    let (supervisor, tag) = (supervisor(), tag());
    let mut stranger = tokio::process::Command::new("/bin/sleep")
        .arg(format!("{tag}1"))
        .env("MIA_SUPERVISED", "1-2-3-4.1")
        .spawn()
        .unwrap();
    let other = start(
        &supervisor,
        &format!("(env -i setsid sh -c 'echo up; exec sleep {tag}2' &); exec sleep {tag}2"),
    )
    .await;
    eventually(SIX_SECONDS, "both run", || running(&format!("{tag}2")).len() == 2).await;
    let child = start(&supervisor, &format!("setsid sleep {tag}3 & echo up; wait")).await;
    child.process.kill(KillPlan::default()).await.unwrap();
    assert_eq!(running(&format!("{tag}3")), []);
    assert_eq!(running(&format!("{tag}2")).len(), 2);
    assert_eq!(running(&format!("{tag}1")).len(), 1);
    other.process.kill(KillPlan::default()).await.unwrap();
    gone(&format!("{tag}2")).await;
    supervisor.shutdown().await;
    assert!(stranger.try_wait().unwrap().is_none());
    stranger.kill().await.unwrap();
}

#[tokio::test]
async fn m_021_an_orphan_of_one_of_two_children_ends_with_the_last_of_them() {
    let (supervisor, tag) = (supervisor(), tag());
    let first = start(&supervisor, "echo up; exec sleep 1000").await;
    let script =
        format!("(env -i setsid /bin/sh -c 'echo up; exec /bin/sleep {tag}' &); exec sleep 1000");
    let second = start(&supervisor, &script).await;
    // Nobody can tell whose it is, so it is nobody's stranger: it lives for as long as either.
    eventually(SIX_SECONDS, "it runs", || running(&format!("sleep\0{tag}")).len() == 1).await;
    second.process.kill(KillPlan::AT_ONCE).await.unwrap();
    assert_eq!(running(&tag).len(), 1);
    first.process.kill(KillPlan::AT_ONCE).await.unwrap();
    assert_eq!(running(&tag), []);
}

#[tokio::test]
async fn m_021_an_orphan_that_was_seen_with_its_parent_is_known() {
    let (supervisor, tag) = (supervisor(), tag());
    let _other = start(&supervisor, "echo up; exec sleep 1000").await;
    let script = format!("env -i setsid /bin/sh -c 'echo up; exec /bin/sleep {tag}' & wait");
    let child = start(&supervisor, &script).await;
    let report = child.process.kill(KillPlan::default()).await.unwrap();
    assert_eq!((report.ended_by, report.leftover.killed), (KillStep::Terminate, 1));
    assert_eq!(running(&tag), []);
}

#[tokio::test]
async fn m_021_an_orphan_in_its_childs_group_is_known() {
    let (supervisor, tag) = (supervisor(), tag());
    let _other = start(&supervisor, "echo up; exec sleep 1000").await;
    let script = format!("env -i /bin/sh -c 'echo up; exec /bin/sleep {tag}' & exit 0");
    let child = start(&supervisor, &script).await;
    child.process.wait_exit().await.unwrap();
    assert_eq!(child.process.sweep().await.unwrap().killed, 1);
    assert_eq!(running(&tag), []);
}

#[tokio::test]
async fn m_021_an_orphan_of_a_child_that_is_gone_is_killed() {
    let (supervisor, tag) = (supervisor(), tag());
    let mut gone_child = supervisor.spawn(shell("echo $MIA_SUPERVISED")).await.unwrap();
    let mut marker = String::new();
    gone_child.stdout.read_to_string(&mut marker).await.unwrap();
    gone_child.process.sweep().await.unwrap();
    // Its straggler, made by another child that lives on.
    let script = format!(
        "(MIA_SUPERVISED={} setsid sh -c 'echo up; exec sleep {tag}' &); exec sleep 1000",
        marker.trim()
    );
    let _other = start(&supervisor, &script).await;
    // The supervisor looks around whenever it starts something.
    start(&supervisor, "echo up").await;
    gone(&tag).await;
}
