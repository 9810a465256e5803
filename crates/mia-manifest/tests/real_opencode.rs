//! The real OpenCode behind the manifest of `examples/manifests`, with nothing of it in Rust.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::sync::Arc;

use mia_api::{
    ConversationId, DispatchOptions, DispatchResult, EventBody, PermissionPolicy, PluginContext,
    TaskId,
};
use mia_host::{Supervisor, SupervisorProgram};
use mia_manifest::{Manifest, ManifestAdapter};
use mia_plugin::conformance::InMemorySessions;
use mia_plugin::{
    CodingPlugin, Dispatch, Environment, Nobody, PluginConfig, Services, event_channel,
};
use mia_testkit::agents::{self, RealAgent, RealHome};
use mia_testkit::fakellm::FakeLlm;
use serde_json::json;

/// Has it ask the model server of the test.
fn configure(home: &RealHome, llm: &FakeLlm) {
    let options = json!({"baseURL": format!("{}/v1", llm.url()), "apiKey": "dummy"});
    let model = json!({"name": "fake", "limit": {"context": 100_000, "output": 10_000}});
    let config = json!({
        "provider": {"fake": {"npm": "@ai-sdk/anthropic", "options": options, "models": {"fake-model": model}}},
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "enabled_providers": ["fake"],
        "autoupdate": false,
        "share": "disabled",
    });
    let folder = home.home().join(".config/opencode");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("opencode.json"), config.to_string()).unwrap();
}

/// Asks, in a conversation, with everything allowed.
async fn ask(
    plugin: &impl CodingPlugin,
    home: &RealHome,
    conversation: &ConversationId,
    prompt: &str,
) -> (Vec<EventBody>, DispatchResult) {
    let mut options = DispatchOptions::new(TaskId::generate(), conversation.clone(), home.work());
    options.permissions = Some(PermissionPolicy::Full);
    // It looks its models up in the network else.
    let quiet = ("OPENCODE_DISABLE_MODELS_FETCH".to_owned(), "1".to_owned());
    let dispatch = Dispatch {
        prompt: prompt.to_owned(),
        context: PluginContext::default(),
        options,
        environment: home.env().into_iter().chain([quiet]).collect(),
        permissions: Arc::new(Nobody),
        earlier_turns: 0,
    };
    let (sink, mut stream) = event_channel();
    let read = async {
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event);
        }
        events
    };
    let (events, outcome) = tokio::join!(read, plugin.dispatch(dispatch, sink));
    (events, outcome.unwrap())
}

#[tokio::test]
async fn m_025_the_real_opencode_by_a_manifest_alone() {
    let Some(program) = RealAgent::OpenCode.program() else {
        agents::skip_or_fail("opencode");
        return;
    };
    let llm = FakeLlm::start().await;
    let home = RealHome::new(&llm);
    configure(&home, &llm);
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/manifests"));
    let manifest = Manifest::read(&folder.join("opencode-run.yaml")).unwrap();
    let plugin = ManifestAdapter::plugin(manifest);
    let mut config = PluginConfig::new("opencode-run");
    config.binary = Some(program);
    let services = Services {
        supervisor: Supervisor::new(SupervisorProgram::ThisProgram),
        sessions: Arc::new(InMemorySessions::default()),
        environment: Environment::default(),
        installed_agents: None,
    };
    plugin.initialize(config, services).await.unwrap();
    let conversation = ConversationId::generate();
    let (events, first) =
        ask(&plugin, &home, &conversation, "TOOL bash echo hi\nREMEMBER kiwi").await;
    let tools: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            EventBody::ToolCall(call) => Some(format!("{:?} {}", call.kind, call.title)),
            EventBody::ToolResult(result) => Some(result.output.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(tools, ["Execute bash echo hi", "hi\n"]);
    assert_eq!(first.content, "OK, remembered kiwi");
    assert!(first.usage.is_some_and(|usage| usage.output_tokens > 0));
    let (_, second) = ask(&plugin, &home, &conversation, "RECALL").await;
    assert_eq!(second.content, "The word is kiwi");
    assert_eq!((second.session_id, second.context_reset), (first.session_id, false));
}
