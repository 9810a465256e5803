//! The kill routine on real children (M-21, M-24).

use std::time::{Duration, Instant};

use mia_host::kill::{KillPlan, KillStep};
use mia_host::{ExitStatus, Leftover, StderrTail};
use pretty_assertions::assert_eq;

use crate::world::{gone, is_running, running, start, supervisor, tag};

const NOTHING: Leftover = Leftover { killed: 0, survivors: 0 };

fn by_signal(signal: i32) -> Option<ExitStatus> {
    Some(ExitStatus { code: None, signal: Some(signal) })
}

#[tokio::test]
async fn m_021_term_ends_a_child_and_its_group() {
    let (supervisor, tag) = (supervisor(), tag());
    let child = start(&supervisor, &format!("sleep {tag} & echo up; wait")).await;
    let report = child.process.kill(KillPlan::default()).await.unwrap();
    assert_eq!((report.ended_by, report.exit), (KillStep::Terminate, by_signal(15)));
    assert_eq!(running(&tag), []);
}

#[tokio::test]
async fn m_021_a_child_that_ignores_term_is_killed_after_the_grace() {
    let (supervisor, tag) = (supervisor(), tag());
    let script = format!("trap '' TERM; echo up; while :; do sleep {tag}; done");
    let child = start(&supervisor, &script).await;
    let began = Instant::now();
    let plan = KillPlan { grace: Duration::from_millis(300), ..KillPlan::default() };
    let report = child.process.kill(plan).await.unwrap();
    assert_eq!((report.ended_by, report.exit), (KillStep::Kill, by_signal(9)));
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(running(&tag), []);
}

#[tokio::test]
async fn m_024_interrupt_first_lets_a_child_save_its_session() {
    let supervisor = supervisor();
    let script = "trap 'echo saved; exit 7' INT; echo up; while :; do sleep 0.01; done";
    let mut child = start(&supervisor, script).await;
    let report = child.process.kill(KillPlan::interrupt_first(Duration::from_secs(5))).await;
    let report = report.unwrap();
    assert_eq!(report.ended_by, KillStep::Polite);
    assert_eq!(report.exit, Some(ExitStatus { code: Some(7), signal: None }));
    crate::world::wait_for_line(&mut child, "saved").await;
}

#[tokio::test]
async fn m_024_hurry_ends_a_kill_that_is_patient() {
    let (supervisor, tag) = (supervisor(), tag());
    let script = format!("trap '' TERM INT; echo up; while :; do sleep {tag}; done");
    let child = start(&supervisor, &script).await;
    let plan = KillPlan::interrupt_first(Duration::from_secs(600));
    let began = Instant::now();
    let (report, ()) = tokio::join!(child.process.kill(plan), async { child.process.hurry() });
    assert_eq!(report.unwrap().ended_by, KillStep::Kill);
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(running(&tag), []);
}

#[tokio::test]
async fn m_021_a_child_that_writes_a_lot_before_it_ends_is_drained() {
    let supervisor = supervisor();
    // More than any pipe holds: without a reader it would never get to its exit.
    let script = "trap 'yes abc | head -c 3000000 >&2; exit 5' TERM; echo up; \
                  while :; do sleep 0.01; done";
    let mut child = start(&supervisor, script).await;
    let mut tail = StderrTail::default();
    let (report, drained) =
        tokio::join!(child.process.kill(KillPlan::default()), tail.drain(&mut child.stderr));
    drained.unwrap();
    let report = report.unwrap();
    assert_eq!((report.ended_by, report.exit.unwrap().code), (KillStep::Terminate, Some(5)));
    assert!(tail.total_bytes() >= 3_000_000);
    assert_eq!(tail.text().len(), 64 << 10);
}

#[tokio::test]
async fn m_021_a_kill_of_what_has_ended_kills_nothing() {
    let supervisor = supervisor();
    let child = start(&supervisor, "echo up; exit 3").await;
    let exit = child.process.wait_exit().await.unwrap();
    assert_eq!(exit, ExitStatus { code: Some(3), signal: None });
    for _ in 0..2 {
        let report = child.process.kill(KillPlan::default()).await.unwrap();
        assert_eq!(report.ended_by, KillStep::AlreadyGone);
        assert_eq!((report.exit, report.leftover), (Some(exit), NOTHING));
    }
    assert_eq!(child.process.wait_exit().await.unwrap(), exit);
    assert!(!is_running(child.process.pid()));
}

#[tokio::test]
async fn m_021_a_cancelled_kill_can_be_taken_up_again() {
    let (supervisor, tag) = (supervisor(), tag());
    let script = format!("trap '' TERM; echo up; while :; do sleep {tag}; done");
    let child = start(&supervisor, &script).await;
    let patient = child.process.kill(KillPlan::default());
    assert!(tokio::time::timeout(Duration::from_millis(50), patient).await.is_err());
    assert!(is_running(child.process.pid()));
    let report = child.process.kill(KillPlan::AT_ONCE).await.unwrap();
    assert_eq!(report.ended_by, KillStep::Kill);
    assert_eq!(running(&tag), []);
}

#[tokio::test]
async fn m_021_dropping_a_child_kills_its_tree() {
    let (supervisor, tag) = (supervisor(), tag());
    let script = format!("setsid sleep {tag} & sleep {tag} & echo up; wait");
    let child = start(&supervisor, &script).await;
    assert!(!running(&tag).is_empty());
    drop(child);
    gone(&tag).await;
}
