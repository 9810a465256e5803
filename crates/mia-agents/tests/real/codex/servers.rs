//! The user's MCP servers.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use mia_api::{OptionKind, PermissionPolicy};
use pretty_assertions::assert_eq;

use super::World;
use crate::world::Somebody;

/// A server with the tool `put`, which says what it was asked for.
const SERVER: &str = r#"#!/bin/sh
while read -r line; do
    id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
        *'"initialize"'*) r='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fs","version":"1"}}' ;;
        *'"tools/list"'*) r='{"tools":[{"name":"put","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}]}' ;;
        *'"tools/call"'*) r='{"content":[{"type":"text","text":"it was put"}]}' ;;
        *) r='{}' ;;
    esac
    [ -n "$id" ] && printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
"#;

async fn with_server() -> Option<World> {
    let world = World::new().await?;
    let server = world.home.home().join("server.sh");
    fs::write(&server, SERVER).unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    let file = world.home.home().join(".codex/config.toml");
    let config = fs::read_to_string(&file).unwrap();
    let more = format!("\n[mcp_servers.fs]\ncommand = \"{}\"\n", server.display());
    fs::write(&file, config + &more).unwrap();
    Some(world)
}

#[tokio::test]
async fn m_026_a_tool_of_a_server_is_asked_for_and_off_in_read_only() {
    let Some(world) = with_server().await else {
        return;
    };
    let prompt = "TOOL mcp__fs.put {\"x\":\"1\"}\nSAY done";
    let run = |answer: OptionKind, policy: Option<PermissionPolicy>| {
        let (somebody, mut dispatch) = (Somebody::who_says(answer), world.dispatch(prompt));
        dispatch.permissions = somebody.clone();
        dispatch.options.permissions = policy;
        let world = &world;
        async move { (world.run(dispatch).await, somebody.asked()) }
    };
    let (allowed, asked) = run(OptionKind::AllowOnce, None).await;
    assert_eq!(allowed.answer(), "done");
    assert_eq!(asked.len(), 1, "{allowed:?}");
    assert_eq!(asked[0].title, r#"fs.put {"x":"1"}"#);
    assert_eq!(asked[0].tool_call_id, allowed.calls()[0].id);
    assert_eq!(allowed.results()[0].output, "it was put");

    let (denied, _) = run(OptionKind::RejectOnce, None).await;
    assert!(denied.results()[0].is_error);
    assert_eq!(denied.result().warnings, [r#"not allowed: fs.put {"x":"1"}"#]);

    let (off, asked) = run(OptionKind::AllowOnce, Some(PermissionPolicy::ReadOnly)).await;
    assert_eq!(off.answer(), "done");
    assert_eq!((off.calls().len(), asked.len()), (0, 0), "{off:?}");
}
