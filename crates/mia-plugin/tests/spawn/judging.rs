//! What was said counts first, the exit second.

use mia_api::{Cause, ErrorCode};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::toy::{DONE, Toy, call, say, text};
use crate::world::World;

#[tokio::test]
async fn m_023_the_matrix_of_payload_and_exit() {
    let fail = say(&json!({"t": "fail", "m": "overloaded"}));
    for (exit, code, signal) in
        [("exit 0", Some(0), None), ("exit 3", Some(3), None), ("signal-self KILL", None, Some(9))]
    {
        let noise = "err DeprecationWarning: harmless\n";
        let world = World::new("").await;

        world.cli.script(&[noise, &text("a"), DONE, exit].concat());
        let answered = world.run(world.dispatch("x")).await.outcome.unwrap();
        assert_eq!(answered.content, "a");
        assert_eq!(answered.warnings.len(), usize::from(code != Some(0)), "{exit}");

        world.cli.script(&[noise, &text("a"), &fail, exit].concat());
        let ran = world.run(world.dispatch("x")).await;
        let error = ran.error();
        assert_eq!((error.code, error.message.as_str()), (ErrorCode::ProviderError, "overloaded"));
        assert_eq!((error.exit_code, error.signal), (code, signal), "{exit}");

        world.cli.script(&[noise, &text("a"), exit].concat());
        let ran = world.run(world.dispatch("x")).await;
        let error = ran.error();
        assert_eq!((error.code, error.cause), (ErrorCode::ProcessExit, Some(Cause::NoResult)));
        assert_eq!((error.exit_code, error.signal), (code, signal), "{exit}");
        assert!(!error.message.contains("harmless"), "{}", error.message);
        assert!(error.stderr_tail.as_ref().unwrap().contains("harmless"));
        assert_eq!(error.partial.as_ref().unwrap().content, "a");
    }
}

#[tokio::test]
async fn m_023_a_cli_whose_last_word_is_its_exit_is_judged_by_its_adapter() {
    let toy = Toy { exit_is_the_end: true, ..Toy::default() };
    let world = World::with(toy, &text("a"), |_| {}).await;
    assert_eq!(world.run(world.dispatch("x")).await.content(), "a");
    world.cli.script(&[&text("a"), "exit 1"].concat());
    assert_eq!(world.run(world.dispatch("x")).await.code(), Some(ErrorCode::ProcessExit));
}

#[tokio::test]
async fn m_008_what_comes_after_the_last_word_is_not_listened_to() {
    let fail = say(&json!({"t": "fail", "m": "late"}));
    let world = World::new(&[&text("a"), DONE, &text("b"), &call("1"), &fail].concat()).await;
    let ran = world.run(world.dispatch("x")).await;
    assert_eq!(ran.content(), "a");
    assert!(ran.outcome.unwrap().tool_calls.is_empty());
}
