//! The suite that every plugin has to pass, and what the plugin costs.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mia_agents::ClaudeCode;
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::SpawnPlugin;
use mia_plugin::conformance::{Prompt, Subject, check};
use serde_json::json;

use super::World;

#[tokio::test]
async fn m_001_claude_code_conforms() {
    let Some(world) = World::new().await else {
        return;
    };
    let make = || {
        let claude = ClaudeCode::default();
        Arc::new(SpawnPlugin::new(ClaudeCode::NAME, ClaudeCode::VERSION, claude)) as _
    };
    let supervisor = Supervisor::new(SupervisorProgram::ThisProgram);
    let mut subject = Subject {
        answer: Prompt::new("SAY hello", "hello"),
        tool: Some("PTOOL bash echo a\nPTOOL bash echo b\nSAY done".to_owned()),
        remember: Some("REMEMBER kiwi".to_owned()),
        recall: Prompt::new("RECALL", "The word is kiwi"),
        busy: "PRE working \nGATE never\nSAY x".to_owned(),
        environment: world.environment().into_iter().collect(),
        ..Subject::new(Box::new(make), supervisor, world.home.work())
    };
    subject.config.binary = Some(world.program().clone());
    check(&subject).await.unwrap();
}

/// One answer of claude without Mia, by the same dialogue.
fn bare(world: &World) -> Duration {
    let began = Instant::now();
    let mut child = world
        .home
        .command(world.program())
        .args(["-p", "--input-format", "stream-json", "--output-format", "stream-json"])
        .args(["--verbose", "--include-partial-messages", "--permission-prompt-tool", "stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let content = json!([{"type": "text", "text": "SAY hello"}]);
    let message = json!({"type": "user", "message": {"role": "user", "content": content}});
    writeln!(stdin, "{message}").unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while !lines.next().unwrap().unwrap().contains(r#""type":"result""#) {}
    drop(stdin);
    assert!(child.wait().unwrap().success());
    began.elapsed()
}

/// Prints what a dispatch costs over the bare program, both to the exit. No limit is checked: on a
/// busy machine the starts of claude differ by more than the plugin costs.
#[tokio::test]
async fn what_a_dispatch_costs_over_the_bare_program() {
    let Some(world) = World::new().await else {
        return;
    };
    let (mut alone, mut behind) = (Vec::new(), Vec::new());
    world.ask("SAY warm").await;
    for _ in 0..3 {
        alone.push(bare(&world));
        let ran = world.ask("SAY hello").await;
        assert_eq!(ran.answer(), "hello");
        behind.push(ran.took);
    }
    let (alone, behind) = (alone.iter().min().unwrap(), behind.iter().min().unwrap());
    println!("claude bare: {alone:?}, behind the plugin: {behind:?} (best of 3)");
}
