//! Both directions of both pipes.

use mia_api::{ErrorCode, NoticeKind};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::toy::{DONE, Toy, say, text};
use crate::world::World;

#[tokio::test]
async fn m_012_a_child_that_reads_to_the_end_first_is_given_the_end() {
    let world = World::new(&["read-stdin in\n", &text("read"), DONE].concat()).await;
    assert_eq!(world.run(world.dispatch("all of it")).await.content(), "read");
    assert_eq!(world.file("in"), "all of it");
}

#[tokio::test]
async fn m_012_a_child_that_exits_while_it_is_written_to_is_judged_by_its_exit() {
    let world = World::new("err it went wrong\nexit 3\n").await;
    let ran = world.run(world.dispatch(&"x".repeat(1 << 20))).await;
    let error = ran.error();
    assert_eq!((error.code, error.exit_code), (ErrorCode::ProcessExit, Some(3)));
    assert_eq!(error.stderr_tail.as_deref(), Some("it went wrong\n"));
}

#[tokio::test]
async fn m_012_a_child_that_closes_stdin_may_still_answer() {
    let world = World::new(&["close-stdin\n", &text("unread"), DONE].concat()).await;
    let ran = world.run(world.dispatch(&"x".repeat(1 << 20))).await;
    assert_eq!(ran.content(), "unread");
}

#[tokio::test]
async fn m_012_a_child_that_never_reads_may_still_answer() {
    let world = World::new(&[&text("unread"), DONE].concat()).await;
    let ran = world.run(world.dispatch(&"x".repeat(1 << 20))).await;
    assert_eq!(ran.content(), "unread");
}

#[tokio::test]
async fn m_012_a_mebibyte_of_stderr_before_the_first_line_holds_nobody_up() {
    let script = ["errfill 1048576\nerr the end\n", &text("a"), "exit 1"].concat();
    let world = World::with(Toy::default(), &script, |config| config.stderr_tail = 1000).await;
    let ran = world.run(world.dispatch("x")).await;
    let tail = ran.error().stderr_tail.as_deref().unwrap();
    assert_eq!(tail.len(), 1000);
    assert!(tail.ends_with("xxx") || tail.ends_with("the end\n"), "{tail}");
    assert!(tail.ends_with("the end\n"), "nothing of the end is missing");
}

#[tokio::test]
async fn m_012_stderr_that_comes_last_is_in_the_tail() {
    // More than one read of it, and the exit at once.
    let world = World::new("errfill 60000\nerr the very end\nexit 1").await;
    for _ in 0..10 {
        let ran = world.run(world.dispatch("x")).await;
        let tail = ran.error().stderr_tail.as_deref().unwrap();
        assert!(tail.ends_with("the very end\n"), "{} bytes", tail.len());
    }
}

#[tokio::test]
async fn m_012_without_a_prompt_for_stdin_it_is_null() {
    let toy = Toy { takes_stdin: false, ..Toy::default() };
    let world = World::with(toy, &["read-stdin in\n", DONE].concat(), |_| {}).await;
    world.run(world.dispatch("x")).await.outcome.unwrap();
    assert_eq!(world.file("in"), "");
}

#[tokio::test]
async fn m_012_a_dialogue_keeps_stdin_open_until_the_last_word() {
    let toy = Toy { dialogue: true, ..Toy::default() };
    // It reads to the end after its last word, and says by a file that the end came.
    let script =
        ["read-line first\n", &text("a"), DONE, "read-stdin rest\ntouch closed\n"].concat();
    let world = World::with(toy, &script, |_| {}).await;
    let ran = world.run(world.dispatch("prompt\n")).await;
    assert_eq!(ran.content(), "a");
    assert!(world.cli.beside("closed").exists(), "its stdin was closed, and it left by itself");
    assert_eq!(world.file("first"), "prompt\n");
    assert_eq!(world.file("rest"), "");
}

#[tokio::test]
async fn m_014_any_framing_gives_the_same_lines() {
    let done = r#"{"t":"done"}"#;
    for script in [
        // A byte order mark, CRLF, blank lines, no newline at the end.
        format!(r#"raw \xef\xbb\xbf{{"t":"text","x":"héé"}}\r\n\r\n\n  \n{done}"#),
        // A character in two pieces.
        format!("raw {{\"t\":\"text\",\"x\":\"h\\xc3\nsleep 5\nraw \\xa9é\"}}\\n\nraw {done}\n"),
        // Two lines in one piece.
        format!(r#"raw {{"t":"text","x":"hé"}}\n{{"t":"text","x":"é"}}\n{done}\n"#),
    ] {
        let world = World::new(&script).await;
        let ran = world.run(world.dispatch("x")).await;
        assert_eq!(ran.content(), "héé");
        assert!(ran.notices(NoticeKind::Noise).is_empty());
    }
}

#[tokio::test]
async fn m_014_invalid_utf_8_is_replaced() {
    let world = World::new("raw {\"t\":\"text\",\"x\":\"a\\xffb\\xc3\"}\\n{\"t\":\"done\"}").await;
    assert_eq!(world.run(world.dispatch("x")).await.content(), "a\u{fffd}b\u{fffd}");
}

#[tokio::test]
async fn m_014_a_line_of_9_mib_arrives_whole() {
    let script = ["bigline 9437184 {\"t\":\"text\",\"x\":\"{fill}\"}\n", DONE].concat();
    let world = World::new(&script).await;
    let ran = world.run(world.dispatch("x")).await;
    assert_eq!(ran.content().len(), 9 << 20);
}

#[tokio::test]
async fn m_015_the_cap_is_exact_and_a_longer_line_ends_the_child() {
    const CAP: usize = 300;
    let around = say(&json!({"t": "text", "x": ""})).len() - "out \n".len();
    for (length, then) in
        [(CAP - 1, DONE), (CAP, DONE), (CAP + 1, "hang"), (CAP + 1, "exit 0"), (1 << 20, "hang")]
    {
        let fill = length - around;
        let line = format!("bigline {fill} {{\"t\":\"text\",\"x\":\"{{fill}}\"}}\n");
        let script = [&text("before"), &line, then].concat();
        let world = World::with(Toy::default(), &script, |config| config.max_line = CAP).await;
        let ran = world.run(world.dispatch("x")).await;
        if length <= CAP {
            assert_eq!(ran.content().len(), "before".len() + fill);
        } else {
            let error = ran.error();
            assert_eq!(error.code, ErrorCode::BufferOverflow, "{length} {then}");
            assert!(error.message.contains("300 bytes"), "{}", error.message);
            assert_eq!(error.partial.as_ref().unwrap().content, "before");
            assert_eq!(world.alive(), []);
        }
    }
}

#[tokio::test]
async fn m_015_a_line_without_an_end_is_noticed_before_it_ends() {
    let script =
        "bigline 5000 {\"t\":\"text\",\"x\":\"a\"}\nraw endless \nrepeat 1000000000 x{i} \n";
    let world = World::with(Toy::default(), script, |config| config.max_line = 4096).await;
    assert_eq!(world.run(world.dispatch("x")).await.code(), Some(ErrorCode::BufferOverflow));
    assert_eq!(world.alive(), []);
}

#[tokio::test]
async fn m_016_noise_is_skipped_and_counted() {
    let script = [
        "out Debugger attached.\n",
        &text("a"),
        "out [1, 2]\nout 7\nout {\"t\":\"not known\"}\nout {}\nraw \\e[31mred\\n\n",
        &text("b"),
        DONE,
        "out after\n",
    ];
    let world = World::new(&script.concat()).await;
    let ran = world.run(world.dispatch("x")).await;
    assert_eq!(ran.content(), "ab");
    let notices = ran.notices(NoticeKind::Noise);
    assert_eq!(notices.len(), 4, "the first three, and the sum: {notices:?}");
    assert_eq!(notices[0], "skipped a line that is no event: Debugger attached.");
    assert!(notices[3].contains("6 lines"), "{notices:?}");
}

#[tokio::test]
async fn m_016_noise_that_is_shown_is_short_and_harmless() {
    let world = World::new(&["raw \\e]0;title\\x07\\n\nbigline 1000000\n", DONE].concat()).await;
    let ran = world.run(world.dispatch("x")).await;
    for notice in ran.notices(NoticeKind::Noise) {
        assert!(notice.len() < 500, "{} bytes", notice.len());
        assert!(!notice.contains(char::is_control), "{notice:?}");
    }
    assert_eq!(ran.notices(NoticeKind::Noise).len(), 2);
}

#[tokio::test]
async fn m_009_results_find_their_calls_whatever_their_order() {
    use mia_api::EventBody;
    let world = World::new(
        &[
            crate::toy::call("1"),
            crate::toy::call("2"),
            crate::toy::result("2", "second"),
            crate::toy::result("1", "first"),
            DONE.to_owned(),
        ]
        .concat(),
    )
    .await;
    let ran = world.run(world.dispatch("x")).await;
    let results: Vec<_> = ran
        .events
        .iter()
        .filter_map(|event| match event {
            EventBody::ToolResult(r) => Some((r.id.as_str(), r.name.as_str(), r.output.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(results, [("2", "tool-2", "second"), ("1", "tool-1", "first")]);
}
