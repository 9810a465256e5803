//! Two ends with plugs between them, over streams.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mia_plug::erased::DynPlug;
use mia_plug::{Direction, PlugError, Reply, plug};
use mia_runner::{Fault, Lane, MessageChain, wire};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::message::entered;

/// The other side of an end: what a client or an agent would hold.
struct Side {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
}

impl Side {
    async fn says(&mut self, value: &Value) {
        self.raw(&value.to_string()).await;
    }

    async fn raw(&mut self, line: &str) {
        self.write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn line(&mut self) -> Option<String> {
        self.lines.next_line().await.unwrap()
    }

    async fn hears(&mut self) -> Value {
        serde_json::from_str(&self.line().await.unwrap()).unwrap()
    }
}

struct Relay {
    client: Side,
    agent: Side,
    faults: mpsc::UnboundedReceiver<Fault>,
    lanes: [JoinHandle<()>; 2],
}

/// A relay with these plugs; each stream holds that many bytes.
async fn relay_of(plugs: Vec<Arc<dyn DynPlug>>, room: usize) -> Relay {
    let plugs = if plugs.is_empty() { Vec::new() } else { entered(plugs).await };
    let end = || {
        let (near, far) = tokio::io::duplex(room);
        let (read, write) = tokio::io::split(near);
        let (lines, out) = tokio::io::split(far);
        let lines = BufReader::new(lines).lines();
        (wire(read, write, 1 << 20), Side { lines, write: out })
    };
    let ((to_agent, from_agent, writes_agent), agent) = end();
    let ((to_client, from_client, writes_client), client) = end();
    tokio::spawn(writes_agent);
    tokio::spawn(writes_client);
    let chain = MessageChain::new(plugs, Arc::new(to_agent.clone()), Arc::new(to_client.clone()));
    let (tell, faults) = mpsc::unbounded_channel();
    let down = Lane::new(Direction::ToAgent, Arc::clone(&chain), to_client, tell.clone());
    let up = Lane::new(Direction::FromAgent, chain, to_agent, tell);
    let lanes = [
        tokio::spawn(async move { down.run(from_client).await.unwrap() }),
        tokio::spawn(async move { up.run(from_agent).await.unwrap() }),
    ];
    Relay { client, agent, faults, lanes }
}

async fn relay(plugs: Vec<Arc<dyn DynPlug>>) -> Relay {
    relay_of(plugs, 1 << 16).await
}

/// A plug that passes everything on.
fn passes() -> Arc<dyn DynPlug> {
    plug("passes").on_message(async |_, message, next| next.run(message).await).build()
}

fn update(text: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"text": text}})
}

#[tokio::test(start_paused = true)]
async fn p_155_p_160_everything_passes_as_it_is_and_in_its_order() {
    for plugs in [vec![], vec![passes(), passes()]] {
        let mut relay = relay(plugs).await;
        let odd = [
            r#"{"method":"session/update","params":{"sessionUpdate":"zzz","n":1.50e3}, "x":{}}"#,
            r#"{"method":"_x/y","params":[1,2]}"#,
            r#" {"jsonrpc":"2.0","method":"session/update","params":null} "#,
        ];
        for line in odd {
            relay.agent.raw(line).await;
        }
        for line in odd {
            assert_eq!(relay.client.line().await.unwrap(), line);
        }
        let asks = r#"{"id":"q","method":"_x/ask","params":{"deep":[[]]}}"#;
        relay.client.raw(asks).await;
        assert_eq!(relay.agent.line().await.unwrap(), asks);
        let answer = r#"{"result":{"a":1.0},"id":"q","more":true}"#;
        relay.agent.raw(answer).await;
        assert_eq!(relay.client.line().await.unwrap(), answer);
    }
}

#[tokio::test(start_paused = true)]
async fn p_156_an_answer_comes_behind_all_updates_that_came_before_it() {
    let slow = plug("slow")
        .on_message(async |_, message, next| {
            if message.direction() == Direction::FromAgent {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            next.run(message).await
        })
        .build();
    // It takes its time after all have come to it.
    let mut relay = relay(vec![slow, passes()]).await;
    relay.client.says(&json!({"id": 1, "method": "session/prompt", "params": {}})).await;
    relay.agent.hears().await;
    for number in 0..5 {
        relay.agent.says(&update(&number.to_string())).await;
    }
    relay.agent.raw(r#"{"method":"_unknown"}"#).await;
    relay.agent.says(&json!({"id": 1, "result": {"stopReason": "end_turn"}})).await;
    relay.agent.says(&update("late")).await;
    for number in 0..5 {
        assert_eq!(relay.client.hears().await["params"]["text"], number.to_string());
    }
    assert_eq!(relay.client.hears().await["method"], "_unknown");
    assert_eq!(relay.client.hears().await["result"]["stopReason"], "end_turn");
    assert_eq!(relay.client.hears().await["params"]["text"], "late");
}

#[tokio::test(start_paused = true)]
async fn p_149_an_error_of_a_plug_answers_without_details_and_is_told() {
    let breaks = plug("breaks")
        .on_message(async |_, message, _| match message.is_request() {
            true => Err(PlugError::new("the secret is sk-canary")),
            false => Ok(Reply::nothing()),
        })
        .build();
    let mut relay = relay(vec![breaks]).await;
    relay.agent.says(&json!({"id": 7, "method": "fs/read_text_file", "params": {}})).await;
    let error =
        json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -32603, "message": "internal error"}});
    assert_eq!(relay.agent.hears().await, error);
    let Some(Fault::Failed(failure)) = relay.faults.recv().await else { panic!("not told") };
    assert_eq!((failure.code(), failure.message()), ("message_failed", "the secret is sk-canary"));
}

#[tokio::test(start_paused = true)]
async fn p_154_an_error_for_a_notification_drops_it_and_is_told() {
    let refuses = plug("refuses")
        .on_message(async |_, _, _| Err(mia_acp::RequestError::new(-1, "no").into()))
        .build();
    let mut relay = relay(vec![refuses]).await;
    relay.agent.says(&update("x")).await;
    let Some(Fault::Dropped(why)) = relay.faults.recv().await else { panic!("not told") };
    assert_eq!(why, "a notification, by a plug: no (-1)");
    relay.agent.raw("{\"method\":\"_y\"}").await;
    assert_eq!(relay.client.hears().await["method"], "_y", "the lane goes on");
}

#[tokio::test(start_paused = true)]
async fn requests_of_both_sides_and_of_one_id_find_their_answers() {
    let mut relay = relay(vec![passes()]).await;
    // The same id twice, while the first one waits.
    for text in ["first", "second"] {
        let ask = json!({"id": 1, "method": "session/prompt", "params": {"text": text}});
        relay.client.says(&ask).await;
    }
    let (first, second) = (relay.agent.hears().await, relay.agent.hears().await);
    assert_eq!((&first["id"], first["params"]["text"].as_str()), (&json!(1), Some("first")));
    assert_ne!(second["id"], first["id"]);
    // And the agent asks with that id, too.
    relay.agent.says(&json!({"id": 1, "method": "session/request_permission", "params": {}})).await;
    assert_eq!(relay.client.hears().await["id"], 1);
    relay.agent.says(&json!({"id": second["id"], "result": "of the second"})).await;
    assert_eq!(relay.client.hears().await, json!({"id": 1, "result": "of the second"}));
    relay.client.says(&json!({"id": 1, "result": "allowed"})).await;
    assert_eq!(relay.agent.hears().await["result"], "allowed");
    relay.agent.says(&json!({"id": 1, "result": "of the first"})).await;
    assert_eq!(relay.client.hears().await["result"], "of the first");
    // And of methods that no plug sees.
    for _ in 0..2 {
        relay.client.raw("{\"id\":5,\"method\":\"_x\"}").await;
    }
    relay.agent.hears().await;
    let renamed = relay.agent.hears().await;
    relay.agent.says(&json!({"id": renamed["id"], "result": "renamed"})).await;
    assert_eq!(relay.client.hears().await, json!({"id": 5, "result": "renamed"}));
}

#[tokio::test(start_paused = true)]
async fn junk_is_dropped_and_told_and_the_rest_goes_on() {
    let mut relay = relay(vec![]).await;
    let long = format!("{{\"method\":\"m\",\"params\":\"{}\"}}", "x".repeat(1 << 20));
    for line in ["hello", "", "[1]", "{\"method\":", "{\"id\":9,\"result\":1}", &long] {
        relay.agent.raw(line).await;
    }
    relay.agent.says(&update("x")).await;
    assert_eq!(relay.client.hears().await, update("x"));
    let mut told = Vec::new();
    while let Ok(Fault::Dropped(why)) = relay.faults.try_recv() {
        told.push(why);
    }
    assert_eq!(told.len(), 5, "{told:?}");
    assert!(
        told[3].contains("nobody waits for") && told[4].contains("longer than any"),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn p_071_p_073_what_came_before_the_end_is_delivered_and_what_waits_is_answered() {
    let mut relay = relay(vec![passes()]).await;
    relay.client.says(&json!({"id": "p", "method": "session/prompt", "params": {}})).await;
    relay.agent.hears().await;
    for number in 0..1000 {
        relay.agent.says(&update(&number.to_string())).await;
        if number % 100 == 99 {
            for number in number - 99..=number {
                assert_eq!(relay.client.hears().await["params"]["text"], number.to_string());
            }
        }
    }
    let Relay { mut client, agent, lanes: [_, up], .. } = relay;
    drop(agent);
    up.await.unwrap();
    let error = client.hears().await;
    assert_eq!(
        (&error["id"], &error["error"]["message"]),
        (&json!("p"), &json!("the other end has gone"))
    );
    // And so is whatever is asked later.
    client.says(&json!({"id": "q", "method": "session/prompt", "params": {}})).await;
    assert_eq!(client.hears().await["error"]["code"], -32603);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_makes_the_agent_wait() {
    let seen = Arc::new(Mutex::new(0_usize));
    let counts = {
        let seen = Arc::clone(&seen);
        plug("counts")
            .on_message(move |_, message, next| {
                *seen.lock().unwrap() += 1;
                next.run(message)
            })
            .build()
    };
    let mut relay = relay_of(vec![counts], 1 << 12).await;
    let text = "x".repeat(10_000);
    let mut sent = 0;
    // Until it stands still.
    while tokio::time::timeout(Duration::from_secs(1), relay.agent.says(&update(&text)))
        .await
        .is_ok()
    {
        sent += 1;
        assert!(sent < 1000, "nothing holds it back");
    }
    // What is on its way is what the queue and the streams hold: about 1 MiB, and what is in hand.
    assert!((50..600).contains(&sent), "{sent}");
    assert!(*seen.lock().unwrap() <= sent);
    for _ in 0..sent {
        assert_eq!(relay.client.hears().await["params"]["text"], text);
    }
}
