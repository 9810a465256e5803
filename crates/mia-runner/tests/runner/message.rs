//! Messages: which way they go, what plugs may do with them, and that they stay in order.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use mia_acp::{Frame, Id, RequestError};
use mia_plug::erased::{DynPlug, Entered};
use mia_plug::{Direction, Message, PlugError, Reply, Signal, plug};
use mia_runner::{MessageChain, Peer};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};

use crate::world::{Does, Trace, World};

/// An end of the chain: takes everything, and answers like this.
struct End {
    took: Mutex<Vec<String>>,
    answer: Box<Answer>,
}

type Answer = dyn Fn(&Frame) -> BoxFuture<'static, Frame> + Send + Sync;

impl End {
    fn new(
        answer: impl Fn(&Frame) -> BoxFuture<'static, Frame> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { took: Mutex::default(), answer: Box::new(answer) })
    }

    /// Answers each request with its own params.
    fn echo() -> Arc<Self> {
        Self::new(|frame| {
            let answer = Frame::result(&frame.id().unwrap(), &frame.read::<Value>().unwrap());
            async move { answer.unwrap() }.boxed()
        })
    }

    fn took(&self) -> Vec<String> {
        std::mem::take(&mut self.took.lock().unwrap())
    }
}

impl Peer for End {
    fn send(&self, frame: Frame) -> BoxFuture<'static, ()> {
        self.took.lock().unwrap().push(frame.text().to_owned());
        async {}.boxed()
    }

    fn request(&self, frame: Frame) -> BoxFuture<'static, BoxFuture<'static, Frame>> {
        self.took.lock().unwrap().push(frame.text().to_owned());
        let answer = (self.answer)(&frame);
        std::future::ready(answer).boxed()
    }
}

/// The plugs as they are in a run.
pub(crate) async fn entered(plugs: Vec<Arc<dyn DynPlug>>) -> Vec<Arc<dyn Entered>> {
    let (send, receive) = oneshot::channel();
    let send = Mutex::new(Some(send));
    type Plugs = Vec<Arc<dyn Entered>>;
    struct Takes(Mutex<Option<oneshot::Sender<Plugs>>>);
    impl mia_runner::Center for Takes {
        fn run(
            &self,
            inside: mia_runner::Inside,
        ) -> BoxFuture<'static, Result<(), mia_plug::Failure>> {
            let plugs = inside.plugs.into_iter().map(|(_, plug)| plug).collect();
            let send = self.0.lock().unwrap().take().unwrap();
            assert!(send.send(plugs).is_ok());
            async { Ok(()) }.boxed()
        }
    }
    let trace = Trace::default();
    let world = World::with(&trace, plugs, Does::Completes, |_| ());
    let memory = Arc::clone(&world.memory) as Arc<dyn mia_runner::Control>;
    let run = mia_runner::Run::new(world.spec.clone(), memory, Arc::new(Takes(send)));
    assert_eq!(run.session().await.error, None);
    receive.await.unwrap()
}

fn message(direction: Direction, text: &str) -> Message {
    let frame = Frame::parse(Bytes::copy_from_slice(text.as_bytes())).unwrap();
    let (_, reason) = watch::channel(None);
    Message::of(direction, frame, false, Signal::of(reason)).unwrap()
}

fn update(text: &str) -> Message {
    let text = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"text": text}});
    message(Direction::FromAgent, &text.to_string())
}

fn prompt(id: i64, text: &str) -> Message {
    let params = json!({"text": text});
    let frame = Frame::request(&id.into(), "session/prompt", &params).unwrap();
    message(Direction::ToAgent, frame.text())
}

/// A plug that writes down what passes, and when it has come back.
fn passes(name: &'static str, trace: &Trace) -> Arc<dyn DynPlug> {
    let trace = trace.clone();
    plug(name)
        .on_message(move |_, message, next| {
            let trace = trace.clone();
            async move {
                let method = message.method().name();
                trace.add(format!("{name} {method}"));
                let reply = next.run(message).await?;
                trace.add(format!("{name} back"));
                Ok(reply)
            }
        })
        .build()
}

#[tokio::test(start_paused = true)]
async fn p_146_to_the_agent_from_outside_and_from_it_from_inside() {
    let trace = Trace::default();
    let plugs = entered(vec![passes("a", &trace), passes("b", &trace)]).await;
    let (agent, client) = (End::echo(), End::echo());
    let chain = MessageChain::new(plugs, agent.clone(), client.clone());
    let reply = Arc::clone(&chain).enter(prompt(1, "hi")).await.await.unwrap();
    assert_eq!(reply.read::<Value>().unwrap(), json!({"text": "hi"}));
    assert_eq!(trace.take(), ["a session/prompt", "b session/prompt", "b back", "a back"]);
    chain.enter(update("x")).await.await.unwrap();
    assert_eq!(trace.take(), ["b session/update", "a session/update", "a back", "b back"]);
    assert_eq!((agent.took().len(), client.took().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn p_147_p_153_pass_change_answer_drop_and_what_comes_back() {
    let changes = plug("changes")
        .on_message(async |_, message, next| {
            let mut params: Value = message.params()?;
            match params["text"].as_str() {
                Some("drop") => return Ok(Reply::nothing()),
                Some("answer") => return Ok(Reply::result(&json!({"here": true}))?),
                Some("raise") => return Err(RequestError::new(-32001, "not you").into()),
                _ => {}
            }
            params["more"] = 1.into();
            let reply = next.run(message.with_params(&params)?).await?;
            if !reply.read::<Value>()?.is_object() {
                return Ok(reply);
            }
            let mut result: Value = reply.read()?;
            result["after"] = 2.into();
            Ok(Reply::result(&result)?)
        })
        .build();
    let plugs = entered(vec![changes]).await;
    let (agent, client) = (End::echo(), End::echo());
    let chain = MessageChain::new(plugs, agent.clone(), client.clone());
    let ask = async |text: &str| Arc::clone(&chain).enter(prompt(1, text)).await.await;
    let reply = ask("x").await.unwrap();
    assert_eq!(reply.read::<Value>().unwrap(), json!({"text": "x", "more": 1, "after": 2}));
    assert!(agent.took()[0].ends_with(r#""params":{"text":"x","more":1}}"#));
    assert_eq!(ask("answer").await.unwrap().raw(), r#"{"here":true}"#);
    let error = ask("raise").await.unwrap_err().into_request_error().unwrap();
    assert_eq!(error, RequestError::new(-32001, "not you"));
    Arc::clone(&chain).enter(update("drop")).await.await.unwrap();
    assert_eq!((agent.took().len(), client.took().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn p_152_an_error_of_the_peer_arrives_and_can_be_replaced() {
    let maps = plug("maps")
        .on_message(async |_, message, next| match next.run(message).await {
            Ok(reply) => Ok(reply),
            Err(error) => {
                let error = error.into_request_error()?;
                Err(RequestError::new(error.code - 1, format!("mapped: {}", error.message)).into())
            }
        })
        .build();
    let plugs = entered(vec![maps]).await;
    let agent = End::new(|frame| {
        let answer = Frame::error(&frame.id().unwrap(), &RequestError::new(-32001, "no"));
        async move { answer }.boxed()
    });
    let chain = MessageChain::new(plugs, agent, End::echo());
    let error = chain.enter(prompt(1, "x")).await.await.unwrap_err();
    let error = error.into_request_error().unwrap();
    assert_eq!(error, RequestError::new(-32002, "mapped: no"));
}

#[tokio::test(start_paused = true)]
async fn p_151_another_message_than_the_one_that_came_is_refused() {
    let swaps =
        plug("swaps").on_message(async |_, _, next| next.run(update("instead")).await).build();
    let plugs = entered(vec![swaps]).await;
    let agent = End::echo();
    let chain = MessageChain::new(plugs, agent.clone(), End::echo());
    let error: PlugError = chain.enter(prompt(1, "x")).await.await.unwrap_err();
    assert!(error.to_string().contains("session/update in the place of a session/prompt"));
    assert_eq!(agent.took(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn p_160_what_no_plug_changes_stays_byte_for_byte() {
    let trace = Trace::default();
    let plugs = entered(vec![passes("a", &trace), passes("b", &trace)]).await;
    let (agent, client) = (End::echo(), End::echo());
    let chain = MessageChain::new(plugs, agent, client.clone());
    let odd = " {\"params\": {\"update\":{\"sessionUpdate\":\"zzz\",\"n\":12345678901234567890.10}},\
               \"_x\":1e3 , \"method\":\"session\\/update\"}";
    chain.enter(message(Direction::FromAgent, odd)).await.await.unwrap();
    assert_eq!(client.took(), [odd]);
}

#[tokio::test(start_paused = true)]
async fn p_156_a_request_holds_nothing_while_its_answer_is_awaited() {
    let trace = Trace::default();
    let plugs = entered(vec![passes("a", &trace), passes("b", &trace)]).await;
    let (answer, answered) = oneshot::channel::<()>();
    let answered = answered.shared();
    let agent = End::new(move |frame| {
        let (id, answered) = (frame.id().unwrap(), answered.clone());
        async move {
            let _ = answered.await;
            Frame::result(&id, &json!({})).unwrap()
        }
        .boxed()
    });
    let chain = MessageChain::new(plugs, agent.clone(), End::echo());
    let asked = tokio::spawn(Arc::clone(&chain).enter(prompt(1, "long")).await);
    let text = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {}}).to_string();
    let cancel = message(Direction::ToAgent, &text);
    Arc::clone(&chain).enter(cancel).await.await.unwrap();
    Arc::clone(&chain).enter(update("x")).await.await.unwrap();
    assert_eq!(agent.took().len(), 2, "the prompt and the cancel");
    assert!(!asked.is_finished());
    answer.send(()).unwrap();
    asked.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn p_156_a_request_of_the_agents_frees_its_turn_on_entry() {
    let (decide, decided) = oneshot::channel::<()>();
    let decided = decided.shared();
    let asks = plug("asks")
        .on_message(move |_, message, next| {
            let decided = decided.clone();
            async move {
                if message.is_request() {
                    let _ = decided.await;
                }
                next.run(message).await
            }
        })
        .build();
    let plugs = entered(vec![asks]).await;
    let client = End::echo();
    let chain = MessageChain::new(plugs, End::echo(), client.clone());
    let id = Id::from("p");
    let frame = Frame::request(&id, "session/request_permission", &json!({"ask": 1})).unwrap();
    let permission = message(Direction::FromAgent, frame.text());
    let asked = tokio::spawn(Arc::clone(&chain).enter(permission).await);
    Arc::clone(&chain).enter(update("meanwhile")).await.await.unwrap();
    assert_eq!(client.took().len(), 1, "the update is not held up");
    decide.send(()).unwrap();
    asked.await.unwrap().unwrap();
}

/// A plug that takes its time over each message, as that says.
fn slow(delays: Vec<u64>) -> Arc<dyn DynPlug> {
    let delays = Arc::new(Mutex::new(delays.into_iter().cycle()));
    plug("slow")
        .on_message(move |_, message, next| {
            let delay = delays.lock().unwrap().next().unwrap_or(0);
            async move {
                tokio::time::sleep(Duration::from_millis(delay)).await;
                let reply = next.run(message).await;
                tokio::time::sleep(Duration::from_millis(delay)).await;
                reply
            }
        })
        .build()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn p_156_order_is_kept_whatever_plugs_take_their_time_over(
        delays in proptest::collection::vec(proptest::collection::vec(0_u64..50, 1..6), 1..5),
        gaps in proptest::collection::vec(0_u64..20, 1..30),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let plugs = entered(delays.into_iter().map(slow).collect()).await;
            let (agent, client) = (End::echo(), End::echo());
            let chain = MessageChain::new(plugs, agent.clone(), client.clone());
            let mut tasks = Vec::new();
            for (number, gap) in gaps.iter().enumerate() {
                tokio::time::sleep(Duration::from_millis(*gap)).await;
                let down = Arc::clone(&chain).enter(prompt(number as i64, &number.to_string())).await;
                let up = Arc::clone(&chain).enter(update(&number.to_string())).await;
                tasks.extend([tokio::spawn(down), tokio::spawn(up)]);
            }
            // What waits for all that came before it sees all of that.
            drop(Arc::clone(&chain).behind(Direction::FromAgent).await.await);
            let seen = client.took();
            assert_eq!(seen.len(), gaps.len());
            futures::future::join_all(tasks).await;
            for (took, text) in [(agent.took(), "prompt"), (seen, "update")] {
                for (number, frame) in took.iter().enumerate() {
                    assert!(frame.contains(text));
                    assert!(frame.contains(&format!("\"text\":\"{number}\"")), "{took:?}");
                }
            }
        });
    }
}
