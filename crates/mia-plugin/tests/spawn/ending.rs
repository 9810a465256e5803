//! Nothing of a child lives on, and nothing of it holds its dispatch up.

use std::time::Duration;

use mia_api::{ErrorCode, NoticeKind};
use mia_plugin::CodingPlugin;
use pretty_assertions::assert_eq;

use crate::toy::{DONE, Toy, text};
use crate::world::World;

/// Far below the grace of a kill and far above the drain.
const NOT_HELD: Duration = Duration::from_secs(4);

#[tokio::test]
async fn m_021_a_child_and_a_helper_that_are_deaf_to_term_are_killed() {
    let script =
        ["ignore TERM\nfork-sleeper pid setsid clean-env stubborn\n", &text("a"), "hang"].concat();
    let world = World::new(&script).await;
    let mut running = world.start(world.dispatch("x"));
    running.until_said("a").await;
    let helper = world.process("pid").unwrap();
    let family = world.alive();
    assert!(family.len() >= 2 && helper.session() == Some(helper.pid()), "{family:?}");
    let task = running.task.clone();
    // The second abort spares us the grace.
    tokio::join!(world.plugin.abort(&task), world.plugin.abort(&task));
    assert_eq!(world.alive(), [], "all is gone when the abort is answered");
    assert_eq!(running.end().await.code(), Some(ErrorCode::Aborted));
}

#[tokio::test]
async fn m_021_the_grace_of_a_kill_is_five_seconds() {
    let world = World::new(&["ignore TERM\n", &text("a"), "hang"].concat()).await;
    let mut running = world.start(world.dispatch("x"));
    running.until_said("a").await;
    let began = std::time::Instant::now();
    world.plugin.abort(&running.task.clone()).await;
    assert!(began.elapsed() >= Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(world.alive(), []);
    running.end().await.outcome.unwrap_err();
}

#[tokio::test]
async fn m_021_output_is_read_while_the_child_is_being_ended() {
    // On TERM it could not end before its output was read: more than a pipe holds.
    let script = [
        &text("a"),
        "ignore TERM\ntouch go\nrepeat 20000 {\"t\":\"text\",\"x\":\"0123456789012345678901234567890123456789\"}\n",
        "touch written\nhang",
    ]
    .concat();
    let world = World::new(&script).await;
    let mut running = world.start(world.dispatch("x"));
    running.until_said("a").await;
    world.made("go").await;
    let task = running.task.clone();
    let plugin = std::sync::Arc::clone(&world.plugin);
    let abort = tokio::spawn(async move { plugin.abort(&task).await });
    let ran = running.end().await;
    abort.await.unwrap();
    assert!(world.cli.beside("written").exists(), "it was not stuck on a full pipe");
    let partial = ran.error().partial.as_ref().unwrap();
    assert_eq!(partial.content.len(), 1 + 20_000 * 40);
}

#[tokio::test]
async fn m_021_dropping_the_dispatch_kills_everything() {
    let script =
        ["ignore TERM\nfork-sleeper pid setsid clean-env stubborn\n", &text("a"), "hang"].concat();
    let world = World::new(&script).await;
    let mut running = world.start(world.dispatch("x"));
    running.until_said("a").await;
    assert!(world.alive().len() >= 2);
    running.dispatched.abort();
    assert!(running.dispatched.await.unwrap_err().is_cancelled());
    assert_eq!(world.plugin.running_task_count(), 0);
    world.all_gone().await;
}

#[tokio::test]
async fn m_021_a_reader_that_went_away_ends_the_dispatch() {
    let world = World::new("repeat 2000000000 {\"t\":\"text\",\"x\":\"{i} \"}\n").await;
    let mut running = world.start(world.dispatch("x"));
    running.until_said("1").await;
    drop(running.stream);
    let error = running.dispatched.await.unwrap().unwrap_err();
    assert_eq!(error.code, ErrorCode::Aborted);
    assert_eq!(world.alive(), []);
}

#[tokio::test]
async fn m_022_a_helper_that_holds_stdout_does_not_hold_the_dispatch() {
    for last in [DONE, "exit 1"] {
        let script = [&text("a"), "fork-sleeper pid setsid hold-stdout\n", last].concat();
        let world = World::new(&script).await;
        let ran = world.run(world.dispatch("x")).await;
        assert!(ran.took < NOT_HELD, "{:?}", ran.took);
        assert_eq!(ran.outcome.is_ok(), last == DONE);
        assert_eq!(world.alive(), [], "what is left is killed");
        let notices = ran.notices(NoticeKind::Leftover);
        assert_eq!(notices, ["ended 1 process that the agent had left running"]);
    }
}

#[tokio::test]
async fn m_022_a_helper_that_holds_nothing_is_killed_too() {
    let world = World::new(&["fork-sleeper pid\nfork-sleeper pid2 setsid\n", DONE].concat()).await;
    let ran = world.run(world.dispatch("x")).await;
    ran.outcome.as_ref().unwrap();
    assert_eq!(world.alive(), []);
    let notices = ran.notices(NoticeKind::Leftover);
    assert_eq!(notices, ["ended 2 processes that the agent had left running"]);
}

#[tokio::test]
async fn m_022_nothing_left_is_no_notice() {
    let world = World::new(&[&text("a"), DONE].concat()).await;
    let ran = world.run(world.dispatch("x")).await;
    assert!(ran.notices(NoticeKind::Leftover).is_empty());
    assert!(ran.outcome.unwrap().warnings.is_empty());
}

#[tokio::test]
async fn m_022_a_cli_that_runs_on_after_its_last_word_is_ended_with_a_notice() {
    let world = World::new(&[&text("a"), DONE, "hang"].concat()).await;
    let ran = world.run(world.dispatch("x")).await;
    assert_eq!(ran.content(), "a");
    assert!(ran.took >= Duration::from_millis(500) && ran.took < NOT_HELD, "{:?}", ran.took);
    assert!(ran.outcome.as_ref().unwrap().warnings.is_empty(), "its exit was our doing");
    assert_eq!(ran.notices(NoticeKind::Leftover).len(), 1);
    assert_eq!(world.alive(), []);
}

#[tokio::test]
async fn m_022_keep_background_leaves_running_what_is_left() {
    let script = ["fork-sleeper pid setsid hold-stdout\n", &text("a"), DONE].concat();
    let world = World::with(Toy::default(), &script, |c| c.keep_background = true).await;
    let ran = world.run(world.dispatch("x")).await;
    assert_eq!(ran.content(), "a");
    assert!(ran.took < NOT_HELD, "{:?}", ran.took);
    assert!(ran.notices(NoticeKind::Leftover).is_empty());
    let helper = world.process("pid").unwrap();
    // The next dispatch of the same supervisor leaves it alone too.
    world.cli.script(DONE);
    world.run(world.dispatch("x")).await.outcome.unwrap();
    assert!(helper.alive());
    helper.signal(9);
    world.all_gone().await;
}

#[tokio::test]
async fn m_022_an_abort_ends_also_what_would_be_kept() {
    let script = ["fork-sleeper pid setsid\n", &text("a"), "hang"].concat();
    let world = World::with(Toy::default(), &script, |c| c.keep_background = true).await;
    let mut running = world.start(world.dispatch("x"));
    running.until_said("a").await;
    world.plugin.abort(&running.task.clone()).await;
    assert_eq!(world.alive(), []);
    running.end().await.outcome.unwrap_err();
}

#[tokio::test]
async fn m_021_a_supervisor_that_was_killed_is_a_failure_that_keeps_what_was_said() {
    let world = World::new(&[&text("a"), "hang"].concat()).await;
    let supervisor = world.supervisor().await;
    let mut running = world.start(world.dispatch("x"));
    running.until_said("a").await;
    supervisor.signal(9);
    let ran = running.end().await;
    assert_eq!(ran.code(), Some(ErrorCode::ProcessExit));
    assert!(ran.error().message.contains("supervisor"), "{}", ran.error().message);
    assert_eq!(ran.error().partial.as_ref().unwrap().content, "a");
    world.all_gone().await;
    // The next dispatch has a new one.
    world.cli.script(DONE);
    world.run(world.dispatch("x")).await.outcome.unwrap();
}
