//! It keeps a session, in the record and nowhere else.

use std::sync::atomic::Ordering;
use std::time::Duration;

use mia_api::ErrorCode;
use mia_plugin::{CodingPlugin, PluginConfig};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::fixture::{Fixture, ask, guide};

fn numbered(last: u32) -> String {
    (1..=last).map(|n| format!("line {n}\n")).collect()
}

#[tokio::test]
async fn m_017_another_process_goes_on_where_the_last_answer_stopped() {
    let fixture = Fixture::empty().await;
    fixture.write("long.txt", numbered(250));
    let first = fixture.ask("show long.txt").await;
    assert!(first.text().contains("100  line 100\n") && !first.text().contains("line 101"));

    let later = guide(&fixture.sessions, PluginConfig::new("guide")).await;
    let second = ask(&later, fixture.dispatch("more")).await;
    assert!(second.text().contains("101  line 101\n"), "{}", second.text());
    assert!(second.text().contains("200  line 200\n") && !second.text().contains("line 201"));
    let session = |said: &super::fixture::Said| said.outcome.as_ref().unwrap().session_id.clone();
    assert_eq!(session(&first), session(&second));

    let again = ask(&later, fixture.dispatch("again")).await;
    assert!(again.text().contains("  line 1\n"), "{}", again.text());
    ask(&later, fixture.dispatch("more")).await;
    let last = ask(&later, fixture.dispatch("more")).await;
    assert!(last.text().contains("line 250\n") && !last.text().contains("There is more"));
    let end = ask(&later, fixture.dispatch("more")).await;
    assert!(end.text().starts_with("That was all."), "{}", end.text());

    let recalled = ask(&later, fixture.dispatch("what did I ask?")).await;
    assert!(
        recalled.text().contains("1. show long.txt\n2. more\n3. again\n"),
        "{}",
        recalled.text()
    );
}

#[tokio::test]
async fn long_searches_diffs_and_logs_go_on_too() {
    let fixture = Fixture::project().await;
    fixture.write("many.txt", "needle\n".repeat(45));
    let text =
        format!("{}{}", fixture.ask("find needle").await.text(), fixture.ask("more").await.text());
    for line in 1..=45 {
        assert_eq!(text.matches(&format!("{line:>5}  needle\n")).count(), 1, "line {line}");
    }

    fixture.write("src/lib.rs", numbered(400));
    assert!(fixture.ask("diff").await.text().contains("\n+line 1\n"));
    fixture.ask("more").await;
    assert!(fixture.ask("more").await.text().contains("\n+line 400\n"));

    for number in 0..20 {
        fixture.write("n.txt", number.to_string());
        fixture.commit(&format!("Number {number}"));
    }
    assert!(!fixture.ask("log").await.text().contains("First"));
    assert!(fixture.ask("more").await.text().contains("First"));
}

#[tokio::test]
async fn m_001_sessions_are_shown_cleared_and_cleaned_up() {
    let fixture = Fixture::empty().await;
    let talk = "talk".parse().unwrap();
    assert_eq!(fixture.guide.get_session(&talk).await.unwrap(), None);
    let said = fixture.ask("help").await;
    let session = said.outcome.unwrap().session_id;
    assert!(session.is_some());
    assert_eq!(fixture.guide.get_session(&talk).await.unwrap(), session);
    fixture.guide.clear_session(&talk).await.unwrap();
    assert_eq!(fixture.guide.get_session(&talk).await.unwrap(), None);
    assert!(fixture.ask("more").await.text().starts_with("There is nothing to go on with"));
    assert_eq!(fixture.guide.cleanup(Duration::from_secs(9)).await, 1);
}

#[tokio::test]
async fn a_record_that_is_not_ours_is_no_obstacle() {
    let fixture = Fixture::empty().await;
    fixture.ask("help").await;
    for record in fixture.sessions.0.lock().unwrap().values_mut() {
        record.state = json!({"turns": "many"});
    }
    assert!(fixture.ask("more").await.text().starts_with("There is nothing to go on with"));
}

#[tokio::test]
async fn a_guide_that_was_not_initialised_says_so() {
    let fixture = Fixture::empty().await;
    let said = ask(&crate::Guide::new(), fixture.dispatch("help")).await;
    assert_eq!(said.outcome.unwrap_err().code, ErrorCode::Unknown);
}

#[tokio::test]
async fn m_017_an_answer_whose_session_cannot_be_saved_is_an_answer_with_a_warning() {
    let fixture = Fixture::empty().await;
    fixture.sessions.1.store(true, Ordering::Relaxed);
    let result = fixture.ask("help").await.outcome.unwrap();
    assert!(result.content.contains("guide"), "{}", result.content);
    let warning = "the session could not be saved, so the next turn may begin a fresh one: \
                   the disk is full";
    assert_eq!(result.warnings, [warning]);
}
