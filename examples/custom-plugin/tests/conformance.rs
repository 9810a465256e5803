//! The suite that every plugin has to pass, run on the two of this example.

// A plugin in a library of its own needs no paths.
#[path = "../src/jot.rs"]
mod jot;
#[path = "../src/loud.rs"]
mod loud;

use std::sync::Arc;

use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::SpawnPlugin;
use mia_plugin::conformance::{Prompt, Subject, check};
// Linked for the supervisor that this test becomes.
use mia_testkit as _;
use tempfile::TempDir;

#[tokio::test]
async fn m_001_jot_conforms() {
    let folder = TempDir::new().unwrap();
    let agents = concat!(env!("CARGO_MANIFEST_DIR"), "/bin:/usr/bin:/bin");
    let notes = folder.path().to_str().unwrap();
    let subject = Subject {
        answer: Prompt::new("one two three", "3 words"),
        tool: Some("one".to_owned()),
        remember: Some("the word is kiwi".to_owned()),
        recall: Prompt::new("read back", "kiwi"),
        busy: "wait".to_owned(),
        environment: [("PATH", agents), ("JOT_NOTES", notes)].into_iter().collect(),
        ..Subject::new(
            Box::new(|| Arc::new(SpawnPlugin::new("jot", "1.0.0", jot::Jot))),
            Supervisor::new(SupervisorProgram::ThisProgram),
            folder.path().into(),
        )
    };
    check(&subject).await.unwrap();
}

#[tokio::test]
async fn m_001_loud_conforms() {
    let folder = TempDir::new().unwrap();
    let subject = Subject {
        answer: Prompt::new("hear me", "HEAR ME"),
        // More than waits to be read, so that it is not over by itself.
        busy: "again ".repeat(1_000_000),
        ..Subject::new(
            Box::new(|| Arc::new(loud::Loud::default())),
            Supervisor::new(SupervisorProgram::ThisProgram),
            folder.path().into(),
        )
    };
    check(&subject).await.unwrap();
}
