//! The suite that every plugin has to pass, for those that need no agent. An agent's own tests run
//! it with the real program: see `real/matrix.rs`.

use std::sync::Arc;

use mia_agents::Guide;
use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::conformance::{Prompt, Subject, check};
// Linked for the supervisor that this binary becomes.
use mia_testkit as _;

#[tokio::test]
async fn m_001_the_guide_conforms() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("here.txt"), "a line\n").unwrap();
    let supervisor = Supervisor::new(SupervisorProgram::ThisProgram);
    let subject = Subject {
        answer: Prompt::new("help", "guide"),
        tool: Some("show here.txt".to_owned()),
        remember: Some("find kiwi".to_owned()),
        recall: Prompt::new("what did I ask?", "kiwi"),
        // Outside its folder it asks first, and nobody answers.
        busy: "show /etc/hostname".to_owned(),
        ..Subject::new(Box::new(|| Arc::new(Guide::new())), supervisor, folder.path().into())
    };
    check(&subject).await.unwrap();
}
