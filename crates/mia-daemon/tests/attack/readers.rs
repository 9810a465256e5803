//! Clients that don't read, and the end.

use std::time::Instant;

use mia_daemon::{ClientError, Limits};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use crate::daemon::{Daemon, SHORT, SOON, rest};

#[tokio::test]
async fn who_never_reads_his_answers_loses_his_place() {
    let limits = Limits { connections: 1, unread: SHORT, ..Limits::default() };
    let daemon = Daemon::with(limits).await;
    let mut stream = daemon.raw().await;
    let row = "GET /metrics HTTP/1.1\r\nHost: mia\r\n\r\n".repeat(10_000);
    let _ = timeout(SOON, stream.write_all(row.as_bytes())).await.expect("it is cut");
    // There is one place only.
    daemon.is_well().await;
    let answers = rest(&mut stream).await.matches("HTTP/1.1 200").count();
    assert!((1..10_000).contains(&answers), "{answers}");
}

#[tokio::test]
async fn who_reads_a_while_later_gets_all() {
    let daemon = Daemon::start().await;
    let mut stream = daemon.raw().await;
    let row = "GET /metrics HTTP/1.1\r\nHost: mia\r\n\r\n".repeat(999)
        + "GET /metrics HTTP/1.1\r\nHost: mia\r\nConnection: close\r\n\r\n";
    stream.write_all(row.as_bytes()).await.unwrap();
    tokio::time::sleep(SHORT).await;
    daemon.is_well().await;
    assert_eq!(rest(&mut stream).await.matches("HTTP/1.1 200").count(), 1000);
}

#[tokio::test]
async fn at_the_end_nobody_can_connect_and_nobody_holds_it_up() {
    let limits = Limits { closing: SHORT, ..Limits::default() };
    let daemon = Daemon::with(limits.clone()).await;
    let mut watcher = daemon.client().all_events().await.unwrap();
    let (mut unread, mut begun) = (daemon.raw().await, daemon.raw().await);
    let row = "GET /metrics HTTP/1.1\r\nHost: mia\r\n\r\n".repeat(1000);
    let _ = timeout(SHORT, unread.write_all(row.as_bytes())).await;
    begun.write_all(b"POST /v1/stop HTTP/1.1\r\nContent-Length: 9\r\n\r\n").await.unwrap();
    daemon.is_well().await;
    let client = daemon.client();
    let began = Instant::now();
    daemon.close();
    assert_eq!(timeout(SOON, watcher.next()).await.unwrap().unwrap(), None, "streams end");
    daemon.end().await;
    assert!(began.elapsed() < limits.closing + SOON / 2);
    let refused = client.get::<serde_json::Value>("/v1/status").await.unwrap_err();
    assert!(matches!(refused, ClientError::NotRunning(_)), "{refused:?}");
    // They were cut.
    rest(&mut unread).await;
    assert_eq!(rest(&mut begun).await, "");
}

#[tokio::test]
async fn who_waits_to_be_taken_at_the_end_learns_it_at_once() {
    // It is long, so that the test would notice.
    let limits = Limits { connections: 1, closing: SOON * 10, ..Limits::default() };
    let daemon = Daemon::with(limits).await;
    let mut open = daemon.raw().await;
    open.write_all(b"POST /v1/stop HTTP/1.1\r\nContent-Length: 9\r\n\r\n").await.unwrap();
    let client = daemon.client();
    let waits = tokio::spawn(async move { client.get::<serde_json::Value>("/v1/status").await });
    let mut also = daemon.raw().await;
    daemon.close();
    assert_eq!(rest(&mut also).await, "");
    let failed = timeout(SOON, waits).await.unwrap().unwrap().unwrap_err();
    assert!(failed.is_gone(), "{failed:?}");
}
