//! It asks before it reads outside the working directory.

use std::sync::Arc;

use mia_api::{EventBody, OptionKind, PermissionPolicy, ResolvedBy};
use mia_plugin::Permissions;
use pretty_assertions::assert_eq;

use super::fixture::{Fixture, Said, Somebody, ask};

async fn asked(
    policy: Option<PermissionPolicy>,
    somebody: Option<Somebody>,
    prompt: &str,
) -> (Said, usize) {
    let fixture = Fixture::empty().await;
    std::fs::write(fixture.home.join("secret.txt"), "open sesame\n").unwrap();
    std::os::unix::fs::symlink(&fixture.home, fixture.cwd.join("link")).unwrap();
    let mut dispatch = fixture.dispatch(prompt);
    dispatch.options.permissions = policy;
    if let Some(somebody) = somebody {
        dispatch.permissions = Arc::new(somebody) as Arc<dyn Permissions>;
    }
    let said = ask(&fixture.guide, dispatch).await;
    let questions = said.events.iter().filter_map(|event| match event {
        EventBody::Permission(request) => Some(request),
        _ => None,
    });
    let questions = questions
        .inspect(|request| {
            assert!(request.option(OptionKind::AllowOnce).is_some());
            assert!(request.option(OptionKind::RejectOnce).is_some());
            assert!(request.title.contains("outside the working directory"));
        })
        .count();
    (said, questions)
}

const PROMPTS: [&str; 4] = [
    "show ../home/secret.txt",
    "show link/secret.txt",
    "show ~/secret.txt",
    "find sesame in ../home",
];

#[tokio::test]
async fn allowed_it_reads() {
    for prompt in PROMPTS {
        let (said, questions) = asked(None, Some(Somebody::Says("allow_once")), prompt).await;
        assert!(said.text().contains("open sesame"), "{prompt}: {}", said.text());
        assert_eq!(questions, 1);
    }
}

#[tokio::test]
async fn denied_it_says_so() {
    for prompt in PROMPTS {
        let (said, questions) = asked(None, Some(Somebody::Says("reject_once")), prompt).await;
        assert!(!said.text().contains("open"), "{prompt}: {}", said.text());
        assert!(said.text().contains("outside the working directory"));
        assert_eq!(questions, 1);
        assert!(said.tools().iter().all(|tool| tool.ends_with('!')), "{:?}", said.tools());
    }
}

#[tokio::test]
async fn nobody_there_is_denied_at_once() {
    let (said, questions) = asked(Some(PermissionPolicy::Edit), None, PROMPTS[0]).await;
    assert_eq!(questions, 1);
    assert!(!said.text().contains("open sesame"));
    let by_nobody = |event: &EventBody| matches!(event, EventBody::PermissionResolved(r) if r.by == ResolvedBy::Nobody);
    assert!(said.events.iter().any(by_nobody));
}

#[tokio::test]
async fn a_policy_needs_no_question() {
    let (said, questions) = asked(Some(PermissionPolicy::Full), None, PROMPTS[0]).await;
    assert!(said.text().contains("open sesame"));
    assert_eq!(questions, 0);

    let somebody = Some(Somebody::Says("allow_once"));
    let (said, questions) = asked(Some(PermissionPolicy::ReadOnly), somebody, PROMPTS[0]).await;
    assert!(!said.text().contains("open sesame"));
    assert_eq!(questions, 0);
    let denied = |event: &EventBody| {
        matches!(event, EventBody::Notice { kind: mia_api::NoticeKind::Denied, .. })
    };
    assert!(said.events.iter().any(denied));
}
