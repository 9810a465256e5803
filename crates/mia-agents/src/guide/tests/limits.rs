//! Slots, deadlines, aborts.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mia_api::{Cause, ErrorCode, EventBody, Phase};
use mia_plugin::{CodingPlugin, Dispatch, EventStream, PluginConfig, event_channel};
use mia_testkit::proc;
use pretty_assertions::assert_eq;

use super::fixture::{Fixture, Somebody, ask, guide};

/// A dispatch that waits for an answer that never comes.
fn waiting(fixture: &Fixture) -> Dispatch {
    let mut dispatch = fixture.dispatch("show /etc/hostname");
    dispatch.permissions = Arc::new(Somebody::Thinks);
    dispatch
}

async fn until_asked(stream: &mut EventStream) {
    while !matches!(stream.next().await.unwrap(), EventBody::Permission(_)) {}
}

#[tokio::test]
async fn m_024_an_abort_ends_the_dispatch_and_frees_its_slot() {
    let fixture = Fixture::empty().await;
    let (sink, mut stream) = event_channel();
    let task = "task-1".parse().unwrap();
    let dispatch = fixture.guide.dispatch(waiting(&fixture), sink);
    let aborted = async {
        until_asked(&mut stream).await;
        assert_eq!(fixture.guide.running_task_count(), 1);
        fixture.guide.abort(&"task-2".parse().unwrap()).await;
        fixture.guide.abort(&task).await;
        assert_eq!(fixture.guide.running_task_count(), 0);
    };
    let (outcome, ()) = tokio::join!(dispatch, aborted);
    let error = outcome.unwrap_err();
    assert_eq!((error.code, error.cause), (ErrorCode::Aborted, Some(Cause::Requested)));
    assert!(error.partial.is_some());

    // A late one changes nothing in the next dispatch of that name.
    fixture.guide.abort(&task).await;
    assert!(fixture.ask("help").await.outcome.is_ok());
}

#[tokio::test]
async fn m_021_an_abort_leaves_no_git_behind() {
    let mut fixture = Fixture::project().await;
    // A git that hangs, and says who it is.
    let (bin, pid) = (fixture.home.join("bin"), fixture.home.join("pid"));
    std::fs::create_dir(&bin).unwrap();
    let script =
        format!("#!/bin/sh\necho $$ > {0}.new\nmv {0}.new {0}\nexec sleep 1000\n", pid.display());
    std::fs::write(bin.join("git"), script).unwrap();
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    fixture.path = Some(format!("{}:/usr/bin:/bin", bin.display()).into());

    let (sink, _stream) = event_channel();
    let dispatch = fixture.guide.dispatch(fixture.dispatch("status"), sink);
    let aborted = async {
        let read = || std::fs::read_to_string(&pid).ok()?.trim().parse().ok();
        let pid = proc::wait_for("git to start", Duration::from_secs(10), read).await;
        let git = proc::Process::of(pid).unwrap();
        fixture.guide.abort(&"task-1".parse().unwrap()).await;
        assert!(!git.alive());
    };
    let (outcome, ()) = tokio::join!(dispatch, aborted);
    assert_eq!(outcome.unwrap_err().code, ErrorCode::Aborted);
}

#[tokio::test]
async fn m_020_at_the_limit_a_dispatch_is_rejected() {
    let fixture = Fixture::empty().await;
    let config = PluginConfig { max_concurrency: 2, ..PluginConfig::new("guide") };
    let guide = guide(&fixture.sessions, config).await;
    let start = || {
        let mut dispatch = waiting(&fixture);
        dispatch.options.task_id = mia_api::TaskId::generate();
        guide.dispatch(dispatch, event_channel().0)
    };
    // None was polled yet: the slot is taken by the call.
    let (first, second) = (start(), start());
    let third = start().await.unwrap_err();
    assert_eq!(third.code, ErrorCode::ConcurrencyLimit);
    assert_eq!(guide.running_task_count(), 2);
    drop(first);
    assert_eq!(guide.running_task_count(), 1);
    drop(second);
    ask(&guide, fixture.dispatch("help")).await.outcome.unwrap();
}

#[tokio::test]
async fn m_019_the_deadline_covers_the_whole_dispatch() {
    let fixture = Fixture::empty().await;
    let mut dispatch = waiting(&fixture);
    dispatch.options.timeout_ms = Some(30);
    let error = ask(&fixture.guide, dispatch).await.outcome.unwrap_err();
    assert_eq!((error.code, error.phase), (ErrorCode::Timeout, Some(Phase::Total)));
}

#[tokio::test]
async fn a_dispatch_that_nobody_reads_ends() {
    let fixture = Fixture::empty().await;
    let (sink, stream) = event_channel();
    drop(stream);
    let error = fixture.guide.dispatch(fixture.dispatch("help"), sink).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Aborted);
}

#[tokio::test]
async fn a_folder_of_20_000_files_takes_under_2_s() {
    let fixture = Fixture::empty().await;
    for folder in 0..200 {
        let folder = fixture.cwd.join(format!("f{folder}"));
        std::fs::create_dir(&folder).unwrap();
        for file in 0..100 {
            std::fs::write(folder.join(format!("{file}.rs")), "fn main() {}\n").unwrap();
        }
    }
    for prompt in ["overview", "find main"] {
        let began = Instant::now();
        let said = fixture.ask(prompt).await;
        let took = began.elapsed();
        assert!(said.text().contains("20,000"), "{}", said.text());
        assert!(took < Duration::from_secs(2), "{prompt} took {took:?}");
    }
}
