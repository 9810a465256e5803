//! The client with a daemon that misbehaves.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mia_api::{ConversationId, DispatchResult, Event, EventBody, ResumePoint, TaskId};
use mia_daemon::{ClientError, Connection, Patience, Watching};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::time::timeout;

use crate::daemon::{SHORT, SOON};

const IMPATIENT: Patience = Patience { connect: SHORT, head: SHORT, silence: SHORT };
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
/// The frame of an event that ends a task.
fn last() -> String {
    let (task, conversation) = ("t".parse::<TaskId>().unwrap(), ConversationId::generate());
    let result = Box::new(DispatchResult::new(task.clone(), conversation, "guide", "done"));
    let body = EventBody::Complete { result };
    let event = Event { task_id: task, seq: 3, offset: None, body };
    let id = ResumePoint::after(&event);
    format!("id: {id}\ndata: {}\n\n", serde_json::to_string(&event).unwrap())
}

/// What a bad daemon does with the connections that come, one after the other.
struct Bad {
    folder: TempDir,
    came: Arc<AtomicUsize>,
}

impl Bad {
    /// For each connection the head of its request is read and then that done with it.
    fn doing<F>(act: impl Fn(usize, String, UnixStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let folder = TempDir::new().unwrap();
        let listener = UnixListener::bind(folder.path().join("s")).unwrap();
        let came = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&came);
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let number = count.fetch_add(1, Ordering::Relaxed);
                let head = head(&mut stream).await;
                tokio::spawn(act(number, head, stream));
            }
        });
        Self { folder, came }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    fn client(&self) -> Connection {
        Connection::over(self.socket()).with_patience(IMPATIENT)
    }

    fn came(&self) -> usize {
        self.came.load(Ordering::Relaxed)
    }
}

/// The head of a request, as far as it comes.
async fn head(stream: &mut UnixStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { break };
        head.push(byte);
    }
    String::from_utf8(head).unwrap()
}

/// Says that and closes.
async fn say(mut stream: UnixStream, text: &str) {
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Says that, and nothing more for ever.
async fn say_and_stay(mut stream: UnixStream, text: &str) {
    let _ = stream.write_all(text.as_bytes()).await;
    std::future::pending::<()>().await;
}

#[track_caller]
fn is_silent(error: &ClientError) {
    let own = format!("the daemon (process {}) does not answer", std::process::id());
    assert!(matches!(error, ClientError::Silent { .. }), "{error:?}");
    assert!(error.to_string().contains(&own) && !error.is_gone(), "{error}");
}

#[tokio::test]
async fn one_that_does_not_answer_is_named() {
    let bad = Bad::doing(async |_, _, stream| say_and_stay(stream, "").await);
    is_silent(&timeout(SOON, bad.client().get::<Value>("/v1/status")).await.unwrap().unwrap_err());
    assert_eq!(bad.came(), 1, "it is not asked twice");
    let bad = Bad::doing(async |_, _, stream| say_and_stay(stream, &OK.replace(" 2", " 9")).await);
    is_silent(&timeout(SOON, bad.client().get::<Value>("/v1/status")).await.unwrap().unwrap_err());
}

#[tokio::test]
async fn one_whose_queue_is_full_is_not_taken_for_none() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("s");
    let socket = UnixSocket::new_stream().unwrap();
    socket.bind(&path).unwrap();
    let listener = socket.listen(1).unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = UnixStream::connect(&path).await {
        waiting.push(stream);
    }
    assert!(mia_daemon::somebody_listens(&path).await.unwrap(), "no second one is to be started");
    let client = Connection::over(path).with_patience(IMPATIENT);
    let full = client.get::<Value>("/v1/status").await.unwrap_err();
    assert!(matches!(full, ClientError::Silent { pid: None, .. }), "{full:?}");
    // Once there is room, it gets through.
    let patient = client.with_patience(Patience::default());
    let asks = tokio::spawn(async move { patient.get::<Value>("/v1/status").await });
    drop(waiting);
    // It is to find the queue full at first.
    tokio::time::sleep(SHORT).await;
    let serves = async {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                head(&mut stream).await;
                say(stream, OK).await;
            });
        }
    };
    tokio::select! {
        () = serves => {}
        asked = timeout(SOON, asks) => { asked.unwrap().unwrap().unwrap(); }
    }
}

#[tokio::test]
async fn what_can_be_asked_twice_is_asked_again_when_the_connection_breaks() {
    let bad = Bad::doing(async |number, _, stream| {
        if number % 2 == 1 {
            say(stream, OK).await;
        }
    });
    bad.client().get::<Value>("/v1/status").await.unwrap();
    bad.client().put::<Value>("/v1/active-plugin", &()).await.unwrap();
    assert_eq!(bad.came(), 4);
    let broken = bad.client().post::<Value>("/v1/cleanup", &()).await.unwrap_err();
    assert!(matches!(broken, ClientError::Broken(_)), "{broken:?}");
    assert_eq!(bad.came(), 5, "who knows what happened the first time");
    // Once again, and no more.
    let bad = Bad::doing(async |_, _, _| {});
    bad.client().get::<Value>("/v1/status").await.unwrap_err();
    assert_eq!(bad.came(), 2);
}

#[tokio::test]
async fn an_answer_that_is_none_is_an_error() {
    for nonsense in
        ["garbage\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nnot json", "HTTP/1.1 500 No\r\n\r\n<html>"]
    {
        let bad = Bad::doing(async move |_, _, stream| say(stream, nonsense).await);
        let error = bad.client().get::<Value>("/v1/status").await.unwrap_err();
        assert!(
            matches!(error, ClientError::Broken(_) | ClientError::Answer(_)),
            "{nonsense}: {error:?}"
        );
    }
}

#[tokio::test]
async fn m_038_a_stream_that_ends_at_once_is_asked_for_with_pauses_and_not_for_ever() {
    let bad = Bad::doing(async |_, _, stream| say(stream, STREAM).await);
    let began = Instant::now();
    let task = "t".parse().unwrap();
    let mut source = bad.client().watch(&task, Watching::default()).await.unwrap();
    let error = timeout(SOON, source.next()).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("it ended before the task"), "{error}");
    assert_eq!(bad.came(), 8);
    assert!(began.elapsed() > Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test]
async fn m_038_a_stream_that_falls_silent_goes_on_while_the_daemon_lives() {
    let bad = Bad::doing(async |number, head, mut stream| {
        if head.starts_with("GET /v1/health") {
            say(stream, OK).await;
        } else {
            assert_eq!(number, 0, "the stream is not given up");
            stream.write_all(STREAM.as_bytes()).await.unwrap();
            tokio::time::sleep(3 * SHORT).await;
            say(stream, &last()).await;
        }
    });
    let task = "t".parse().unwrap();
    let mut source = bad.client().watch(&task, Watching::default()).await.unwrap();
    let event = timeout(SOON, source.next()).await.unwrap().unwrap().unwrap();
    assert_eq!((event.seq, event.body.kind()), (3, "complete"));
    assert!(bad.came() > 1, "it was asked whether it lives");
}

#[tokio::test]
async fn m_038_a_stream_of_a_daemon_that_stands_still_is_an_error() {
    let bad = Bad::doing(async |_, head, stream| {
        let text = if head.starts_with("GET /v1/health") { "" } else { STREAM };
        say_and_stay(stream, text).await;
    });
    let task = "t".parse().unwrap();
    let mut source = bad.client().watch(&task, Watching::default()).await.unwrap();
    is_silent(&timeout(SOON, source.next()).await.unwrap().unwrap_err());
    let mut every = bad.client().all_events().await.unwrap();
    is_silent(&timeout(SOON, every.next()).await.unwrap().unwrap_err());
}
