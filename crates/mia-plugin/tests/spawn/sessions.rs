//! Which session is resumed, when it is on record, and what happens when it is lost.

use mia_api::{Cause, ConversationId, ErrorCode, NoticeKind};
use mia_plugin::{CodingPlugin, Dispatch};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::toy::{DONE, Toy, call, say, session, text};
use crate::world::World;

fn turn(world: &World, conversation: &ConversationId, earlier: u64) -> Dispatch {
    let mut dispatch = world.dispatch("the prompt");
    dispatch.options.conversation_id = conversation.clone();
    dispatch.earlier_turns = earlier;
    dispatch
}

fn resumed(world: &World) -> Option<String> {
    let argv: Value = serde_json::from_str(&world.file("argv")).unwrap();
    let flags = argv.as_array().unwrap().iter().filter_map(Value::as_str);
    flags.filter_map(|flag| flag.strip_prefix("--resume=")).map(str::to_owned).next()
}

fn answers_in(id: &str) -> String {
    ["dump-argv argv\nread-stdin in\n", &session(id), &text("a"), DONE].concat()
}

fn stale() -> String {
    say(&json!({"t": "stale", "m": "No conversation found"}))
}

#[tokio::test]
async fn m_017_a_session_is_on_record_when_the_result_is_there_and_resumed_next_time() {
    let world = World::new(&answers_in("s1")).await;
    let conversation = ConversationId::generate();
    let ran = world.run(turn(&world, &conversation, 0)).await;
    assert_eq!(ran.outcome.unwrap().session_id.as_deref(), Some("s1"));
    assert_eq!(world.sessions.ids(), ["s1"]);
    assert_eq!(resumed(&world), None);
    assert_eq!(world.plugin.get_session(&conversation).await.unwrap().as_deref(), Some("s1"));

    world.run(turn(&world, &conversation, 1)).await.outcome.unwrap();
    assert_eq!(resumed(&world).as_deref(), Some("s1"));
    world.run(turn(&world, &ConversationId::generate(), 0)).await.outcome.unwrap();
    assert_eq!(resumed(&world), None, "another conversation");

    world.plugin.clear_session(&conversation).await.unwrap();
    world.run(turn(&world, &conversation, 2)).await.outcome.unwrap();
    assert_eq!(resumed(&world), None, "it was cleared");
}

#[tokio::test]
async fn m_017_the_working_directory_is_part_of_the_place_only_where_the_cli_needs_it() {
    for needs_cwd in [true, false] {
        let toy = Toy { needs_cwd, ..Toy::default() };
        let world = World::with(toy, &answers_in("s1"), |_| {}).await;
        let conversation = ConversationId::generate();
        world.run(turn(&world, &conversation, 0)).await.outcome.unwrap();
        let mut elsewhere = turn(&world, &conversation, 1);
        elsewhere.options.working_directory = "/".into();
        world.run(elsewhere).await.outcome.unwrap();
        assert_eq!(resumed(&world).is_some(), !needs_cwd);
    }
}

#[tokio::test]
async fn m_017_a_fresh_session_is_on_record_while_its_first_turn_runs() {
    let script = [&session("s1"), "touch said\nwait-file go\n", DONE].concat();
    let world = World::new(&script).await;
    let mut running = world.start(world.dispatch("x"));
    world.made("said").await;
    mia_testkit::proc::wait_for("the record", crate::world::SOON, || {
        (world.sessions.ids() == ["s1"]).then_some(())
    })
    .await;
    world.open_gate("go");
    running.seen.clear();
    running.end().await.outcome.unwrap();
}

#[tokio::test]
async fn m_017_a_fresh_session_whose_first_turn_failed_is_not_kept_and_an_older_one_is() {
    let world = World::new(&answers_in("s1")).await;
    let conversation = ConversationId::generate();
    world.cli.next_script(&[&session("s0"), &text("a"), "exit 1"].concat());
    let ran = world.run(turn(&world, &conversation, 0)).await;
    assert_eq!(ran.code(), Some(ErrorCode::ProcessExit));
    assert_eq!(world.sessions.log(), ["put s0", "remove"]);

    world.run(turn(&world, &conversation, 0)).await.outcome.unwrap();
    world.cli.next_script(&[&session("s1"), "exit 1"].concat());
    world.run(turn(&world, &conversation, 1)).await.outcome.unwrap_err();
    assert_eq!(world.sessions.ids(), ["s1"], "M-18: only session-class failures drop a session");
}

#[tokio::test]
async fn m_017_what_an_adapter_keeps_is_of_the_last_turn_even_if_that_failed() {
    let keep = |n: u64| say(&json!({"t": "keep", "n": n}));
    let world = World::new(&answers_in("s1")).await;
    let conversation = ConversationId::generate();
    world.cli.next_script(&[&session("s1"), &keep(1), DONE].concat());
    world.run(turn(&world, &conversation, 0)).await.outcome.unwrap();
    world.cli.next_script(&[&session("s1"), &keep(2), "exit 1"].concat());
    world.run(turn(&world, &conversation, 1)).await.outcome.unwrap_err();
    world.run(turn(&world, &conversation, 2)).await.outcome.unwrap();
    let argv = world.file("argv");
    assert!(argv.contains("--resume=s1") && argv.contains("--kept=2"), "{argv}");
}

#[tokio::test]
async fn m_056_a_session_is_told_what_others_have_answered_meanwhile() {
    let world = World::new(&answers_in("s1")).await;
    let conversation = ConversationId::generate();
    world.run(turn(&world, &conversation, 0)).await.outcome.unwrap();
    world.run(turn(&world, &conversation, 1)).await.outcome.unwrap();
    assert_eq!(world.file("in"), "the prompt", "its own session holds the rest");
    world.sessions.set_missed("They told another agent about Rex.");
    world.run(turn(&world, &conversation, 2)).await.outcome.unwrap();
    assert_eq!(resumed(&world).as_deref(), Some("s1"));
    let told = world.file("in");
    assert!(told.contains("about Rex.") && told.ends_with("the prompt"), "{told}");
}

#[tokio::test]
async fn m_017_an_aborted_turn_keeps_its_session() {
    let world = World::new(&[&session("s1"), &text("a"), "hang"].concat()).await;
    let mut running = world.start(world.dispatch("x"));
    running.until_said("a").await;
    world.plugin.abort(&running.task.clone()).await;
    assert_eq!(running.end().await.code(), Some(ErrorCode::Aborted));
    assert_eq!(world.sessions.ids(), ["s1"]);
}

#[tokio::test]
async fn m_017_a_record_that_cannot_be_used_is_told() {
    let world = World::new(DONE).await;
    world.sessions.break_it();
    let ran = world.run(world.dispatch("x")).await;
    let error = ran.error();
    assert_eq!((error.code, error.cause), (ErrorCode::SessionError, Some(Cause::Store)));
    assert!(error.message.contains("the disk is full"), "{}", error.message);
}

#[tokio::test]
async fn m_018_a_stale_session_is_dropped_and_the_prompt_retried_once_with_the_recap() {
    let world = World::new(&answers_in("s2")).await;
    let conversation = ConversationId::generate();
    world.cli.next_script(&answers_in("s1"));
    world.run(turn(&world, &conversation, 0)).await.outcome.unwrap();
    world.sessions.set_recap("what was said");
    world.cli.next_script(&[&stale(), "exit 1"].concat());
    let ran = world.run(turn(&world, &conversation, 1)).await;
    assert_eq!(ran.notices(NoticeKind::ContextReset).len(), 1);
    let result = ran.outcome.unwrap();
    assert!(result.context_reset);
    assert_eq!((result.content.as_str(), result.session_id.as_deref()), ("a", Some("s2")));
    assert_eq!(world.sessions.ids(), ["s2"]);
    assert_eq!(resumed(&world), None);
    let prompt = world.file("in");
    assert!(prompt.contains("what was said") && prompt.ends_with("\n\nthe prompt"), "{prompt}");
}

#[tokio::test]
async fn m_018_a_second_stale_answer_is_a_session_error() {
    let world = World::new(&answers_in("s1")).await;
    let conversation = ConversationId::generate();
    world.run(turn(&world, &conversation, 0)).await.outcome.unwrap();
    world.cli.script(&[&stale(), "exit 1"].concat());
    let ran = world.run(turn(&world, &conversation, 1)).await;
    let error = ran.error();
    assert_eq!((error.code, error.cause), (ErrorCode::SessionError, Some(Cause::StaleSession)));
    assert!(error.message.contains("No conversation found"), "{}", error.message);
    assert!(error.hint.is_some());
    assert_eq!(world.sessions.ids(), [""; 0]);
}

#[tokio::test]
async fn m_018_after_something_visible_a_lost_session_is_not_retried() {
    let world = World::new(&answers_in("s1")).await;
    let conversation = ConversationId::generate();
    world.run(turn(&world, &conversation, 0)).await.outcome.unwrap();
    world.cli.script(&[text("a"), call("1"), stale()].concat());
    let ran = world.run(turn(&world, &conversation, 1)).await;
    assert_eq!(ran.code(), Some(ErrorCode::SessionError));
}

#[tokio::test]
async fn m_018_a_resume_that_silently_begins_anew_is_told_by_its_id() {
    let conversation = ConversationId::generate();
    // Line by line, and all at once.
    let slowly = [&session("s2"), "sleep 50\n", &text("who are you?"), DONE].concat();
    let at_once =
        r#"raw {"t":"session","id":"s2"}\n{"t":"text","x":"who are you?"}\n{"t":"done"}\n"#;
    for silent in [slowly.as_str(), at_once] {
        let world = World::new(&answers_in("s3")).await;
        world.cli.next_script(&answers_in("s1"));
        world.run(turn(&world, &conversation, 0)).await.outcome.unwrap();
        world.cli.next_script(silent);
        let ran = world.run(turn(&world, &conversation, 1)).await;
        let result = ran.outcome.as_ref().unwrap();
        assert!(result.context_reset, "{:?}", ran.events);
        assert_eq!(ran.content(), "a", "nothing of the empty session is shown");
        assert_eq!(world.sessions.ids(), ["s3"]);
    }
}

#[tokio::test]
async fn m_018_a_fresh_session_in_an_old_conversation_is_told_what_was_said() {
    let world = World::new(&answers_in("s1")).await;
    world.sessions.set_recap("said to another plugin");
    world.run(turn(&world, &ConversationId::generate(), 3)).await.outcome.unwrap();
    assert!(world.file("in").contains("said to another plugin"));
    world.run(turn(&world, &ConversationId::generate(), 0)).await.outcome.unwrap();
    assert_eq!(world.file("in"), "the prompt");
}
