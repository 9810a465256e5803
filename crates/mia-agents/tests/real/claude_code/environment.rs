//! What it is given of the caller's environment, and where it calls.

use mia_api::NoticeKind;
use pretty_assertions::assert_eq;

use super::World;

#[tokio::test]
async fn m_013_canaries_are_withheld_and_its_own_settings_passed_on() {
    let Some(world) = World::new().await else {
        return;
    };
    let mut dispatch = world.dispatch("TOOL bash env > seen.txt\nSAY done");
    dispatch.options.permissions = Some(mia_api::PermissionPolicy::Full);
    let more = [
        ("MY_SECRET_TOKEN", "canary"),
        ("GITHUB_TOKEN", "canary"),
        ("CLAUDECODE", "parent"),
        ("CLAUDE_CODE_ENTRYPOINT", "parent"),
        ("CLAUDE_CODE_SSE_PORT", "parent"),
        ("CLAUDE_CODE_SESSION_ID", "parent"),
        ("CLAUDE_CODE_CHILD_SESSION", "parent"),
        ("AWS_SECRET_ACCESS_KEY", "its own"),
        ("HARMLESS", "yes"),
        ("MIA_HOME", "canary"),
    ];
    let more = more.map(|(name, value)| (name.to_owned(), value.to_owned()));
    dispatch.environment = world.environment().into_iter().chain(more).collect();
    let ran = world.run(dispatch).await;
    assert_eq!(ran.answer(), "done");
    let seen = world.file("seen.txt").unwrap();
    for gone in ["canary", "parent"] {
        assert!(!seen.contains(gone), "{seen}");
    }
    for there in
        ["HARMLESS=yes", "AWS_SECRET_ACCESS_KEY=its own", "NO_COLOR=1", "ANTHROPIC_BASE_URL="]
    {
        assert!(seen.contains(there), "{there} is not in {seen}");
    }
    let withheld = ran.notices(NoticeKind::WithheldEnv);
    assert_eq!(withheld.len(), 1);
    for name in ["MY_SECRET_TOKEN", "GITHUB_TOKEN"] {
        assert!(withheld[0].contains(name), "{withheld:?}");
    }
    // Net clean: with these settings nothing but the model was called, with the key that is its.
    let log = world.llm.log();
    assert_eq!(log.total, 2, "{:?}", world.asked());
    for request in &log.requests {
        assert_eq!((request.method.as_str(), request.key.as_str()), ("POST", "dummy"));
        assert!(request.path.starts_with("/v1/messages"), "{}", request.path);
    }
}
