//! Streams that break: what was shown is not shown again, and the result is what claude finally
//! said.

use mia_api::{Cause, ErrorCode, NoticeKind};
use pretty_assertions::assert_eq;

use super::World;

#[tokio::test]
async fn m_026_a_stream_that_is_cut_once_says_its_text_once() {
    let Some(world) = World::new().await else {
        return;
    };
    // After a tool the words of the cut stream are shown; at the very beginning they may not be.
    let prompt = "PRE first.\nTOOL bash true\nCUT times=1 the whole\nSAY the whole answer";
    let ran = world.ask(prompt).await;
    assert_eq!(ran.answer(), "first.\n\nthe whole answer");
    assert!(!ran.notices(NoticeKind::Retry).is_empty(), "{:?}", ran.events);
    let ran = world.ask("CUT times=1 the whole thing\nSAY the whole thing and more").await;
    assert_eq!(ran.answer(), "the whole thing and more");
}

#[tokio::test]
async fn m_026_other_words_after_a_cut_replace_the_first_ones_in_the_result() {
    let Some(world) = World::new().await else {
        return;
    };
    for fails in ["CUT times=1 the hole", "STREAMERROR times=1"] {
        let ran = world.ask(&format!("TOOL bash true\n{fails}\nSAY the whole answer")).await;
        assert_eq!(ran.result().content, "the whole answer", "{fails}");
        assert!(ran.said().ends_with("\nthe whole answer"), "{:?}", ran.said());
        assert!(!ran.notices(NoticeKind::Retry).is_empty(), "{fails}: {:?}", ran.events);
    }
}

#[tokio::test]
async fn m_026_text_before_a_cut_in_a_later_block_stays() {
    let Some(world) = World::new().await else {
        return;
    };
    // The first text is whole when the stream breaks: claude keeps it and asks the model to go on.
    let prompt = "PRE ke\nTHINK hm\nCUT times=1 lost\nSAY pt";
    let ran = world.ask(prompt).await;
    assert_eq!(ran.result().content, "kept", "{:?}", ran.events);
    assert_eq!(ran.said(), "kelost\npt");
}

#[tokio::test]
async fn m_026_a_stream_that_is_always_cut_is_one_error_with_its_text_once() {
    let Some(world) = World::new().await else {
        return;
    };
    for (prompt, partial) in [
        ("TOOL bash true\nCUT cut here ", "cut here"),
        ("CUT", "cut here "),
        ("TOOL bash true\nSTREAMERROR type=api_error", "about to fail "),
    ] {
        let ran = world.ask(prompt).await;
        let error = ran.error();
        assert_eq!(error.code, ErrorCode::ProviderError, "{error:?}");
        assert!(matches!(error.cause, Some(Cause::Connection | Cause::Server)), "{error:?}");
        assert_eq!(ran.partial(), partial);
        assert_eq!(ran.said(), partial);
        assert!(error.hint.is_some());
    }
}
