//! What it answers, word by word.

use insta::assert_snapshot;
use mia_api::EventBody;
use pretty_assertions::assert_eq;

use super::fixture::{Fixture, touch};

#[tokio::test]
async fn overview_of_a_repository() {
    let fixture = Fixture::project().await;
    fixture.write("src/lib.rs", "pub fn parse_output() {}\n\n");
    let said = fixture.ask("what is this repository?").await;
    assert_snapshot!(said.text());
    assert_eq!(said.tools(), ["list_files", "read_file", "read_file", "git_status", "git_log"]);
    let tokens = said.events.iter().filter(|e| matches!(e, EventBody::Token { .. })).count();
    assert!(tokens > 1, "{tokens}");
}

#[tokio::test]
async fn overview_of_a_folder_without_git() {
    let fixture = Fixture::empty().await;
    fixture.write("tool.py", "print(1)\n");
    fixture.write("data/old.bin", b"\0\0");
    touch(&fixture.cwd.join("tool.py"), 2_000_000);
    touch(&fixture.cwd.join("data/old.bin"), 1_000_000);
    let said = fixture.ask("overview").await;
    assert_snapshot!(said.text());
    assert_eq!(said.tools(), ["list_files"]);
}

#[tokio::test]
async fn overview_of_nothing() {
    let said = Fixture::empty().await.ask("overview").await;
    assert_snapshot!(said.text());
}

#[tokio::test]
async fn changes_and_their_lines() {
    let fixture = Fixture::project().await;
    assert_snapshot!("nothing_changed", fixture.ask("what changed?").await.text());
    fixture.write("src/lib.rs", "pub fn parse_output(x: u8) {}\n");
    fixture.write("new file.txt", "x\n");
    fixture.git(&["mv", "docs/README.md", "docs/index.md"]);
    assert_snapshot!("what_changed", fixture.ask("what changed?").await.text());
    assert_snapshot!("diff", fixture.ask("show me the diff").await.text());
}

#[tokio::test]
async fn commits() {
    let fixture = Fixture::project().await;
    assert_snapshot!(fixture.ask("show the last commits").await.text());
}

#[tokio::test]
async fn found_text() {
    let fixture = Fixture::project().await;
    let said = fixture.ask("find TODO").await;
    assert_snapshot!("find", said.text());
    assert_eq!(said.tools(), ["search_text"]);
    assert_snapshot!("find_nothing", fixture.ask("where is no_such_thing?").await.text());
    assert_snapshot!("find_a_file", fixture.ask("find lib.rs in src").await.text());
}

#[tokio::test]
async fn shown_files() {
    let fixture = Fixture::project().await;
    assert_snapshot!("show", fixture.ask("show src/main.rs 2-3").await.text());
    assert_snapshot!("show_a_folder", fixture.ask("show src").await.text());
    assert_snapshot!("show_by_name", fixture.ask("cat lib.rs").await.text());
    assert_snapshot!("show_by_stem", fixture.ask("show me the readme").await.text());
    assert_snapshot!("show_nothing", fixture.ask("show src/none.rs").await.text());
}

#[tokio::test]
async fn it_says_what_it_is() {
    let fixture = Fixture::empty().await;
    assert_snapshot!("help", fixture.ask("help").await.text());
    assert_snapshot!("unknown", fixture.ask("rewrite it in Rust").await.text());
    for prompt in ["help", "rewrite it in Rust"] {
        assert!(fixture.ask(prompt).await.text().contains("no AI model"));
    }
}

#[tokio::test]
async fn git_in_every_state() {
    let fixture = Fixture::project().await;
    fixture.git(&["checkout", "-q", "--detach"]);
    let said = fixture.ask("status").await;
    assert!(said.text().starts_with("On no branch, at commit `"), "{}", said.text());

    let mut below = Fixture::project().await;
    below.cwd.push("docs");
    let said = below.ask("overview").await;
    assert!(said.text().contains("## Changed last\n\n- `README.md`\n"), "{}", said.text());

    let fresh = Fixture::empty().await;
    fresh.git(&["init", "-q", "-b", "main"]);
    fresh.write("a.txt", "a\n");
    for prompt in ["status", "overview", "log", "diff"] {
        let said = fresh.ask(prompt).await;
        assert!(said.outcome.is_ok(), "{said:?}");
    }
    let said = fresh.ask("status").await;
    assert!(said.text().contains("without a commit yet"), "{}", said.text());
}

#[tokio::test]
async fn without_git_installed_it_says_so() {
    let mut fixture = Fixture::project().await;
    fixture.path = Some("/nowhere".into());
    for prompt in ["what changed?", "log", "diff"] {
        let said = fixture.ask(prompt).await;
        assert!(said.text().contains("git is not installed"), "{}", said.text());
    }
    assert!(fixture.ask("overview").await.text().starts_with("# demo-things\n"));
}
