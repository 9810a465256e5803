//! What the provider refuses.

use mia_api::{Cause, ErrorCode, NoticeKind};
use mia_testkit::fakellm::Happening;
use pretty_assertions::assert_eq;

use super::World;

#[tokio::test]
async fn m_026_errors_of_the_provider_are_told_once_with_their_cause_and_a_hint() {
    let Some(world) = World::new().await else {
        return;
    };
    let world = &world;
    // What is asked for, what it means, whether there is something to do, how often it is asked for;
    // a 400 is asked for again without claude's newest features, one after the other.
    let cases = [
        ("400 msg=bad request of ours", Cause::InvalidRequest, false, 0),
        ("401", Cause::Authentication, true, 2),
        ("429 retry-after=1", Cause::RateLimited, true, 2),
        ("429 retry-after=3600", Cause::RateLimited, true, 1),
        ("500", Cause::Server, true, 2),
        ("529", Cause::Overloaded, true, 2),
    ];
    let asked = cases.map(|(error, ..)| async move { world.ask(&format!("ERROR {error}")).await });
    let all = futures::future::join_all(asked).await;
    for (ran, (prompt, cause, hint, _)) in all.iter().zip(cases) {
        let error = ran.error();
        assert_eq!(
            (error.code, error.cause, error.hint.is_some()),
            (ErrorCode::ProviderError, Some(cause), hint),
            "{prompt}: {error:?}"
        );
        assert_eq!(ran.said(), "", "an error is no answer");
        assert!(error.partial.as_ref().is_none_or(|partial| partial.content.is_empty()));
        assert!(!error.message.is_empty() && !error.message.contains("ede_diagnostic"));
        // Claude tells its own wait, never the provider's.
        assert_eq!(error.retry_after_ms, None, "{prompt}: {error:?}");
    }
    assert!(all[0].error().message.contains("bad request of ours"));
    assert!(all[4].notices(NoticeKind::Retry)[0].contains("500"), "{:?}", all[4].events);
    // Each prompt was asked for as often as claude tries, and not once more by us.
    let expected: usize = cases.iter().map(|(.., tries)| tries).sum();
    let mut asked = world.asked();
    asked.retain(|(_, happening)| *happening != Happening::Failed(400));
    assert_eq!(asked.len(), expected, "{asked:?}");
    // What failed in its first turn is not gone on with.
    assert_eq!(world.sessions.ids(), Vec::<String>::new());
}
