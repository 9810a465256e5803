//! A provider that fails, at once or in the middle.

use std::time::Duration;

use mia_api::{Cause, ErrorCode, NoticeKind, Phase};
use mia_plugin::Ability;
use pretty_assertions::assert_eq;

use crate::world::{Ran, Real, World};

/// What ends an agent that tries again in silence for minutes.
const LIMIT: Duration = Duration::from_secs(20);

async fn ask_with_limit<A: Real>(world: &World<A>, prompt: &str, limit: Duration) -> Ran {
    let mut dispatch = world.dispatch(prompt);
    dispatch.options.permissions = Some(mia_api::PermissionPolicy::Full);
    dispatch.options.timeout_ms = Some(limit.as_millis() as u64);
    world.run(dispatch).await
}

/// It failed in time, for one of these reasons; or it is known to go on trying, and the limit has
/// ended it.
fn failed_or_ended<A: Real>(world: &World<A>, ran: &Ran, causes: &[Cause]) {
    let error = ran.error();
    let gave_up = error.code == ErrorCode::ProviderError
        && error.cause.is_some_and(|cause| causes.contains(&cause))
        && error.hint.is_some();
    let ended = (error.code, error.phase) == (ErrorCode::Timeout, Some(Phase::Total));
    // Whether one that goes on trying does so within the limit is up to the provider too.
    assert!(gave_up || ended && !world.can(Ability::GivesUp), "{error:?}");
    assert_eq!(world.alive(), []);
}

pub(crate) async fn m_026_errors_of_the_provider_have_their_cause<A: Real>(world: World<A>) {
    let ask = |error: &'static str| {
        let world = &world;
        async move { ask_with_limit(world, &format!("ERROR {error}"), LIMIT).await }
    };
    // These are final, so there is no limit to race with on a loaded machine.
    let bad = world.ask("ERROR 400 msg=bad request of ours").await;
    let key = world.ask("ERROR 401").await;
    for (ran, cause) in [(&bad, Cause::InvalidRequest), (&key, Cause::Authentication)] {
        let error = ran.error();
        assert_eq!((error.code, error.cause), (ErrorCode::ProviderError, Some(cause)), "{error:?}");
    }
    assert!(bad.error().message.contains("bad request of ours"), "{:?}", bad.error());
    assert!(key.error().hint.is_some(), "{:?}", key.error());
    let (limited, broken) = tokio::join!(ask("429 retry-after=1"), ask("500"));
    failed_or_ended(&world, &limited, &[Cause::RateLimited]);
    failed_or_ended(&world, &broken, &[Cause::Server, Cause::Overloaded]);
    for ran in [bad, key, limited, broken] {
        assert_eq!(ran.said(), "", "an error is no answer");
        assert!(!ran.error().message.is_empty());
    }
    // What failed in its first turn is not gone on with.
    assert_eq!(world.sessions.ids(), Vec::<String>::new());
}

pub(crate) async fn m_026_an_error_that_passes_is_no_error<A: Real>(world: World<A>) {
    let ran = world.ask("ERROR 500 times=1\nSAY fine").await;
    assert_eq!(ran.answer(), "fine");
    let told = ran.notices(NoticeKind::Retry).len();
    assert_eq!(told > 0, world.can(Ability::RetryNotices), "{:?}", ran.events);
}

pub(crate) async fn m_026_without_a_key_it_says_what_to_do<A: Real>(world: World<A>) {
    let mut dispatch = world.dispatch("SAY x");
    let key = A::AGENT.key();
    let env = world.environment().into_iter().filter(|(name, _)| name != key);
    dispatch.environment = env.collect();
    let ran = world.run(dispatch).await;
    let error = ran.error();
    assert_eq!(
        (error.code, error.cause),
        (ErrorCode::ProviderError, Some(Cause::Authentication)),
        "{error:?}"
    );
    assert!(error.hint.is_some(), "{error:?}");
    assert_eq!(ran.said(), "");
}

pub(crate) async fn m_026_a_provider_that_never_answers_is_ended_by_the_limit<A: Real>(
    world: World<A>,
) {
    let limit = Duration::from_secs(8);
    let ran = ask_with_limit(&world, "HANG", limit).await;
    assert_eq!((ran.error().code, ran.error().phase), (ErrorCode::Timeout, Some(Phase::Total)));
    assert!(ran.took >= limit, "{:?}", ran.took);
    assert_eq!(world.alive(), []);
}

/// The cut was an error at once, and what had been said is kept.
fn ended_by_the_cut(ran: &Ran) {
    let error = ran.error();
    assert_eq!((error.code, error.cause), (ErrorCode::ProviderError, Some(Cause::Connection)));
    assert!(error.hint.is_some(), "{error:?}");
    assert_eq!(ran.partial(), ran.said());
}

pub(crate) async fn m_026_a_stream_that_is_cut_once_says_its_text_once<A: Real>(world: World<A>) {
    // After a tool the words of the cut stream are shown; at the very beginning they may not be.
    let prompt = "PRE first.\nTOOL bash true\nCUT times=1 the whole\nSAY the whole answer";
    let ran = world.ask(prompt).await;
    if !world.can(Ability::Reconnects) {
        ended_by_the_cut(&ran);
        assert_eq!(ran.partial(), "first.\n\nthe whole");
        return;
    }
    assert_eq!(ran.result().content, "first.\n\nthe whole answer", "{:?}", ran.events);
    assert_eq!(ran.said().matches("the whole").count(), 1, "{:?}", ran.events);
}

pub(crate) async fn m_026_a_stream_that_is_always_cut_is_one_error<A: Real>(world: World<A>) {
    // One that asks the model to go on asks with another message each time.
    let ran = ask_with_limit(&world, &["CUT"; 8].join("\n"), LIMIT).await;
    if world.can(Ability::Reconnects) {
        failed_or_ended(&world, &ran, &[Cause::Connection, Cause::Server]);
    } else {
        ended_by_the_cut(&ran);
    }
    assert!(ran.said().matches("cut").count() <= 1, "{:?}", ran.events);
    assert_eq!(ran.partial(), ran.said());
}
