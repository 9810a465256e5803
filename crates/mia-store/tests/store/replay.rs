//! Any client gets exactly what it has not (M-38).

use mia_api::{Event, EventBody, ResumePoint};
use mia_store::Store;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use crate::fixture::{Home, Sequence, id, ok, result, start};

/// What a client has: text by kind, and everything else in order.
fn digest(events: &[Event]) -> Vec<(String, String)> {
    let mut digest: Vec<(String, String)> = Vec::new();
    for event in events {
        let (key, text) = match &event.body {
            EventBody::Token { text, parent_id, .. }
            | EventBody::Thought { text, parent_id, .. } => {
                (format!("{} {parent_id:?}", event.body.kind()), text.clone())
            }
            other => (other.kind().to_owned(), serde_json::to_string(other).unwrap()),
        };
        match digest.last_mut() {
            Some((last, all)) if *last == key && key.contains(' ') => all.push_str(&text),
            _ => digest.push((key, text)),
        }
    }
    digest
}

async fn replay(store: &Store, from: ResumePoint, bytes: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut from = from;
    loop {
        let page = store.events(&id("t"), from, bytes).await.unwrap();
        events.extend(page.events);
        from = page.next;
        if !page.more {
            return events;
        }
    }
}

fn body() -> impl Strategy<Value = EventBody> {
    let parent = proptest::option::of(Just("tool".to_owned()));
    // Some of it long, so that rows fill and are put together.
    let long = ("[a-zü]{1,6}", 1..900_usize).prop_map(|(text, times)| text.repeat(times));
    prop_oneof![
        3 => long.prop_map(EventBody::token),
        4 => ("[a-zü😀]{0,6}", parent.clone())
            .prop_map(|(text, parent_id)| EventBody::Token { text, parent_id, raw: None }),
        2 => ("[a-z]{1,6}", parent)
            .prop_map(|(text, parent_id)| EventBody::Thought { text, parent_id, raw: None }),
        1 => Just(EventBody::notice(mia_api::NoticeKind::Warning, "n")),
        1 => (0..3_u32).prop_map(|index| EventBody::Attempt { plugin: "p".to_owned(), index }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn m_038_from_any_point_comes_exactly_the_rest(
        bodies in proptest::collection::vec(body(), 1..24),
        batch in 1..6_usize,
        page in 1..6000_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let home = Home::new();
            let store = home.open().await;
            let owner = store.owner().unwrap();
            let claim = start(&store, &owner, "t", "c").await;
            let mut sent = Sequence::all("t", bodies);
            for events in sent.chunks(batch) {
                store.record(&id("t"), events).await.unwrap();
            }
            store.finish(&claim, ok(&result("t", "c", "?"))).await.unwrap();
            let end = replay(&store, ResumePoint::default(), usize::MAX).await.pop().unwrap();
            assert!(end.body.is_terminal());
            sent.push(end);
            let whole = digest(&sent);

            // A client that got every event as it was sent, and left after each.
            for has in 0..=sent.len() {
                let point =
                    has.checked_sub(1).map_or_else(ResumePoint::default, |last| ResumePoint::after(&sent[last]));
                let mut all = sent[..has].to_vec();
                all.extend(replay(&store, point, page).await);
                assert_eq!(digest(&all), whole, "after {has} events");
            }
            // One that got some of them joined, which keeps the first one's number.
            for from in 0..sent.len() {
                for to in from + 1..sent.len() {
                    let mut joined = sent[from].clone();
                    let mut alone = true;
                    for event in &sent[from + 1..=to] {
                        alone &= joined.body.join(event.body.clone()).is_none();
                    }
                    if alone {
                        let mut all = sent[..from].to_vec();
                        all.push(joined.clone());
                        all.extend(replay(&store, ResumePoint::after(&joined), page).await);
                        assert_eq!(digest(&all), whole, "joined {from} to {to}");
                    }
                }
            }
        });
    }
}

#[tokio::test]
async fn m_038_a_point_inside_of_text_gives_the_rest_of_it() {
    let home = Home::new();
    let store = home.open().await;
    let owner = store.owner().unwrap();
    start(&store, &owner, "t", "c").await;
    let sent = Sequence::all("t", ["hello ", "wörld"].map(EventBody::token));
    store.record(&id("t"), &sent).await.unwrap();
    for (had, rest) in [(0, "hello wörld"), (3, "lo wörld"), (8, "rld"), (9, "rld"), (12, "")] {
        let from = ResumePoint { seq: 1, offset: Some(had) };
        let page = store.events(&id("t"), from, usize::MAX).await.unwrap();
        let text: String = page
            .events
            .iter()
            .map(|event| match &event.body {
                EventBody::Token { text, .. } => text.as_str(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(text, rest, "after {had} bytes");
        assert_eq!(page.last_seq, 2);
    }
}
