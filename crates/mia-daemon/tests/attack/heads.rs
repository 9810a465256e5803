//! Heads of requests, and what is none.

use mia_daemon::Limits;
use tokio::io::AsyncWriteExt;

use crate::daemon::{Daemon, SHORT, bare, rest, status};

#[tokio::test]
async fn a_head_that_is_too_large_or_has_too_many_lines_is_refused() {
    let daemon = Daemon::start().await;
    let large =
        format!("GET /v1/health HTTP/1.1\r\nHost: mia\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    assert_eq!(bare(&daemon.says(large).await), 431);
    let path = format!("GET /{} HTTP/1.1\r\nHost: mia\r\n\r\n", "x".repeat(1 << 20));
    // Which it is depends on how much of it comes at once.
    let answer = bare(&daemon.says(path).await);
    assert!([414, 431].contains(&answer), "{answer}");
    let many = format!("GET /v1/health HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(1000));
    assert_eq!(bare(&daemon.says(many).await), 431);
    daemon.is_well().await;
}

#[tokio::test]
async fn a_head_that_does_not_come_is_cut() {
    let daemon = Daemon::with(Limits { head: SHORT, ..Limits::default() }).await;
    for begun in ["", "G", "GET /v1/health HTTP/1.1\r\nHost: mia\r\nX-", "\r\n\r\n"] {
        let answer = daemon.says(begun).await;
        assert!(answer.is_empty() || status(&answer) >= 400, "{begun:?}: {answer}");
    }
    // After an answer, too: nobody keeps a place without using it.
    let answer = daemon.says("GET /v1/health HTTP/1.1\r\nHost: mia\r\n\r\n").await;
    assert!(answer.ends_with("ok\n"), "{answer}");
    daemon.is_well().await;
}

#[tokio::test]
async fn garbage_is_no_request() {
    let daemon = Daemon::with(Limits { head: SHORT, ..Limits::default() }).await;
    assert_eq!(bare(&daemon.says("no HTTP\r\n\r\n").await), 400);
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".repeat(50);
    let noise: Vec<u8> =
        (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for garbage in [
        &hello,
        &noise,
        &vec![0; 200_000],
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        &b"GET /v1/health HTTP/9.9\r\n\r\n".to_vec(),
        &b"GET  HTTP/1.1\r\n\r\n".to_vec(),
        &b"POST /v1/stop HTTP/1.1\r\nContent-Length: -1\r\n\r\n".to_vec(),
        &b"POST /v1/stop HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n".to_vec(),
        // One request within another.
        &b"POST /v1/stop HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"
            .to_vec(),
        &b"POST /v1/stop HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n".to_vec(),
    ] {
        let answer = daemon.says(garbage).await;
        assert!(answer.is_empty() || (400..500).contains(&status(&answer)), "{answer}");
        daemon.is_well().await;
    }
}

#[tokio::test]
async fn requests_in_a_row_are_answered_in_a_row() {
    let daemon = Daemon::start().await;
    let row = "GET /v1/health HTTP/1.1\r\nHost: mia\r\n\r\n".repeat(100)
        + "GET /v1/nothing HTTP/1.1\r\nHost: mia\r\nConnection: close\r\n\r\n";
    let answers = daemon.says(row).await;
    assert_eq!(answers.matches("HTTP/1.1 200 OK\r\n").count(), 100);
    assert!(answers.contains("HTTP/1.1 404"));
}

#[tokio::test]
async fn the_old_protocol_gets_its_answer_and_an_end() {
    let daemon = Daemon::start().await;
    let answer = daemon.says("GET /v1/health HTTP/1.0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n") && answer.ends_with("ok\n"), "{answer}");
    daemon.client().dispatch(&daemon.help("t")).await.unwrap();
    let answer = daemon.says("GET /v1/tasks/t/events HTTP/1.0\r\n\r\n").await;
    assert!(!answer.contains("chunked") && answer.contains("\"type\":\"complete\""), "{answer}");
}

#[tokio::test]
async fn who_closes_his_side_holds_no_place() {
    let limits = Limits { connections: 1, ..Limits::default() };
    let daemon = Daemon::with(limits).await;
    for request in ["", "GET /v1/eve", "GET /v1/events HTTP/1.1\r\nHost: mia\r\n\r\n"] {
        let mut stream = daemon.raw().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        rest(&mut stream).await;
        daemon.is_well().await;
    }
}
