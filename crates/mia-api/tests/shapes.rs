//! The JSON forms that others rely on.

use mia_api::{
    Cause, ErrorCode, Event, EventBody, Partial, Phase, PluginContext, PluginError, Usage,
};

#[test]
fn m_003_the_context_has_the_members_of_the_page() {
    let context = PluginContext {
        memory_facts: vec!["a fact".into()],
        codebase_context: "Rust".into(),
        git_context: "on main".into(),
        workspace_snapshot: "src/".into(),
        project_instructions: "be brief".into(),
        conversation_summary: Some("said before".into()),
    };
    insta::assert_json_snapshot!(context, @r#"
    {
      "memory_facts": [
        "a fact"
      ],
      "codebase_context": "Rust",
      "git_context": "on main",
      "workspace_snapshot": "src/",
      "project_instructions": "be brief",
      "conversation_summary": "said before"
    }
    "#);
    let nothing: PluginContext = serde_json::from_str("{}").unwrap();
    assert_eq!(nothing, PluginContext::default());
}

/// Every code, with all that an error can say.
#[test]
fn m_007_every_error_has_a_stable_form() {
    let errors: Vec<_> = ErrorCode::ALL
        .into_iter()
        .map(|code| {
            let error = PluginError::new(code, "claude-code", "it failed");
            serde_json::json!({
                "error": error,
                "retryable": error.retryable(),
                "exit_code": error.exit_code(),
            })
        })
        .collect();
    insta::assert_json_snapshot!("errors", errors);

    let mut full = PluginError::new(ErrorCode::ProviderError, "claude-code", "too many requests")
        .with_cause(Cause::RateLimited)
        .with_detail("429")
        .with_hint("wait")
        .with_phase(Phase::Stream);
    full.exit_code = Some(1);
    full.signal = Some(15);
    full.stderr_tail = Some("warning".into());
    full.retry_after_ms = Some(1000);
    full.partial = Some(Box::new(Partial {
        content: "so far".into(),
        usage: Some(Usage { input_tokens: 1, output_tokens: 2, ..Usage::default() }),
        cost_usd: Some(0.5),
        session_id: Some("s".into()),
    }));
    assert!(full.retryable());
    insta::assert_json_snapshot!("full_error", full);
    let back: PluginError = serde_json::from_value(serde_json::to_value(&full).unwrap()).unwrap();
    assert_eq!(back, full);
}

#[test]
fn m_007_an_exit_status_is_never_0_by_default() {
    let error = serde_json::to_value(PluginError::new(ErrorCode::Unknown, "p", "x")).unwrap();
    assert!(error["exit_code"].is_null() && error["signal"].is_null());
}

#[test]
fn an_event_is_one_flat_object_and_comes_back() {
    let event = Event {
        task_id: "t1".parse().unwrap(),
        seq: 7,
        offset: Some(3),
        body: EventBody::token("ü\n"),
    };
    let line = serde_json::to_string(&event).unwrap();
    assert_eq!(line, r#"{"type":"token","text":"ü\n","task_id":"t1","seq":7,"offset":3}"#);
    assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    let unknown = serde_json::from_str::<Event>(r#"{"type":"zzz","task_id":"t1","seq":1}"#);
    assert!(unknown.unwrap_err().to_string().contains("zzz"));
    let nameless = serde_json::from_str::<Event>(r#"{"type":"token","text":"","seq":1}"#);
    assert!(nameless.unwrap_err().to_string().contains("task_id"));
}
