//! What it is given of the caller's environment, and where it calls.

use mia_api::NoticeKind;
use pretty_assertions::assert_eq;

use crate::world::{Real, World};

pub(crate) async fn m_013_no_canary_and_no_other_call<A: Real>(world: World<A>) {
    let mut dispatch = world.dispatch("TOOL bash env > seen.txt\nSAY done");
    dispatch.options.permissions = Some(mia_api::PermissionPolicy::Full);
    let more = [
        ("MY_SECRET_TOKEN", "canary"),
        ("GITHUB_TOKEN", "canary"),
        ("MIA_HOME", "canary"),
        ("HARMLESS", "yes"),
    ];
    let more = more.map(|(name, value)| (name.to_owned(), value.to_owned()));
    dispatch.environment = world.environment().into_iter().chain(more).collect();
    let ran = world.run(dispatch).await;
    assert_eq!(ran.answer(), "done");
    let seen = world.file("seen.txt").unwrap();
    assert!(!seen.contains("canary"), "{seen}");
    assert!(seen.contains("HARMLESS=yes"), "{seen}");
    let withheld = ran.notices(NoticeKind::WithheldEnv);
    assert_eq!(withheld.len(), 1);
    for name in ["MY_SECRET_TOKEN", "GITHUB_TOKEN"] {
        assert!(withheld[0].contains(name), "{withheld:?}");
    }
    for request in &world.llm.log().requests {
        assert!(request.path.starts_with("/v1"), "{}", request.path);
        assert_eq!(request.key, "dummy", "{}", request.path);
    }
}

pub(crate) async fn m_013_the_chosen_model_is_asked<A: Real>(world: World<A>) {
    let mut dispatch = world.dispatch("SAY y");
    dispatch.options.model = Some(A::OTHER_MODEL.to_owned());
    let ran = world.run(dispatch).await;
    assert_eq!(ran.answer(), "y");
    let log = world.llm.log();
    let asked = &log.turns().last().unwrap().model;
    assert!(A::OTHER_MODEL.ends_with(asked.as_str()), "{asked}");
}
