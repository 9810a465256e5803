//! The suite that every plugin has to pass.

use std::sync::Arc;

use mia_host::{Supervisor, SupervisorProgram};
use mia_plugin::SpawnPlugin;
use mia_plugin::conformance::{Prompt, Subject, check};

use crate::world::{Real, World};

pub(crate) async fn m_001_it_conforms<A: Real>(world: World<A>) {
    let make = || Arc::new(SpawnPlugin::new(A::AGENT.name(), A::VERSION, A::default())) as _;
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
