//! Bodies that are too large, and bodies that don't come.

use std::time::Duration;

use mia_daemon::{ClientError, LARGEST_BODY, Limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::daemon::{Daemon, SHORT, SOON, problem, rest, status};

const HEAD: &str = "POST /v1/tasks HTTP/1.1\r\nHost: mia\r\nContent-Type: application/json\r\n";
const MIB: usize = 1024 * 1024;

/// Sends that much before it looks at an answer, as simple clients do.
async fn pour(stream: &mut UnixStream, mut bytes: usize, chunked: bool) {
    let mut chunk = Vec::new();
    if chunked {
        chunk.extend(format!("{MIB:x}\r\n").into_bytes());
    }
    chunk.extend(vec![b' '; MIB]);
    if chunked {
        chunk.extend(b"\r\n");
    }
    while bytes > 0 {
        timeout(SOON, stream.write_all(&chunk)).await.expect("it is read").expect("to the end");
        bytes = bytes.saturating_sub(MIB);
    }
}

#[tokio::test]
async fn a_body_that_is_announced_as_too_large_is_refused_and_its_sender_can_read_that() {
    let daemon = Daemon::start().await;
    let mut stream = daemon.raw().await;
    let length = LARGEST_BODY + MIB;
    let head = format!("{HEAD}Connection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    pour(&mut stream, length, false).await;
    let (status, problem) = problem(&rest(&mut stream).await);
    assert_eq!((status, problem.code.as_str()), (413, "invalid_request"));
    assert!(problem.message.contains("too large"), "{}", problem.message);
    daemon.is_well().await;
}

#[tokio::test]
async fn who_asks_first_whether_to_send_it_is_spared_the_work() {
    // The rest, which never comes, is not waited for.
    let daemon = Daemon::with(Limits { rest: 10 * SOON, ..Limits::default() }).await;
    let head = format!("{HEAD}Expect: 100-continue\r\nContent-Length: 99999999999\r\n\r\n");
    let answer = daemon.says(head).await;
    assert_eq!(problem(&answer).0, 413, "{answer}");
    // And who may send is told to.
    let mut stream = daemon.raw().await;
    let head =
        format!("{HEAD}Connection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{}").await.unwrap();
    assert_eq!(problem(&rest(&mut stream).await).0, 422);
}

#[tokio::test]
async fn a_body_of_unknown_length_that_grows_too_large_is_refused() {
    let daemon = Daemon::start().await;
    let mut stream = daemon.raw().await;
    let head = format!("{HEAD}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    pour(&mut stream, LARGEST_BODY + 8 * MIB, true).await;
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    assert_eq!(problem(&rest(&mut stream).await).0, 413);
    daemon.is_well().await;
}

#[tokio::test]
async fn a_body_without_an_end_is_not_read_for_ever() {
    let daemon = Daemon::with(Limits { rest: SHORT, ..Limits::default() }).await;
    let mut stream = daemon.raw().await;
    let head = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = [format!("{MIB:x}\r\n").into_bytes(), vec![b' '; MIB], b"\r\n".to_vec()].concat();
    let cut = async { while stream.write_all(&chunk).await.is_ok() {} };
    timeout(SOON, cut).await.expect("it is cut");
    let answer = rest(&mut stream).await;
    assert_eq!(problem(&answer).0, 413, "what was said is there to read: {answer}");
}

#[tokio::test]
async fn our_client_reads_why_its_prompt_is_too_large() {
    let daemon = Daemon::start().await;
    let mut body = daemon.help("t");
    body.prompt = "x".repeat(LARGEST_BODY);
    // Without optimization it takes long to write so much JSON.
    let failed = timeout(4 * SOON, daemon.client().dispatch(&body)).await.unwrap().unwrap_err();
    let ClientError::Refused(problem) = failed else { panic!("{failed:?}") };
    assert!(problem.message.contains("too large"), "{}", problem.message);
    daemon.is_well().await;
}

#[tokio::test]
async fn a_body_that_does_not_come_is_refused_in_time() {
    let limits = Limits { body: SHORT, ..Limits::default() };
    let daemon = Daemon::with(limits).await;
    for begun in
        ["Content-Length: 100\r\n\r\n{\"prompt\":", "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"p"]
    {
        let answer = daemon.says(format!("{HEAD}{begun}")).await;
        let (status, problem) = problem(&answer);
        assert_eq!((status, problem.code.as_str()), (408, "invalid_request"), "{answer}");
        assert!(problem.message.contains("did not come in time"), "{}", problem.message);
    }
    daemon.is_well().await;
}

#[tokio::test]
async fn a_body_that_comes_byte_by_byte_does_not_come_for_ever() {
    let whole = Duration::from_millis(500);
    let daemon = Daemon::with(Limits { whole_body: whole, ..Limits::default() }).await;
    let mut stream = daemon.raw().await;
    stream.write_all(format!("{HEAD}Content-Length: 100000\r\n\r\n").as_bytes()).await.unwrap();
    let (mut reads, mut writes) = stream.into_split();
    let drip = tokio::spawn(async move {
        while writes.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    let mut answer = Vec::new();
    let _ = timeout(SOON, reads.read_to_end(&mut answer)).await.expect("an end");
    timeout(SOON, drip).await.expect("it is closed").unwrap();
    assert_eq!(problem(&String::from_utf8(answer).unwrap()).0, 408);
}

/// A body that is small, and refused once it is read.
fn small() -> String {
    format!("{HEAD}Connection: close\r\nContent-Length: 2\r\n\r\n{{}}")
}

/// A sender that stands still when its body has taken all the room.
async fn takes_all(daemon: &Daemon, room: usize) -> UnixStream {
    let mut stream = daemon.raw().await;
    let head = format!("{HEAD}Content-Length: {}\r\n\r\n", room + 1);
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b' '; room]).await.unwrap();
    stream
}

/// Asks until the answer has that status; those before have the other one.
async fn until(daemon: &Daemon, wanted: u16, before: u16) -> String {
    let asks = async {
        loop {
            let answer = daemon.says(small()).await;
            if status(&answer) == wanted {
                return answer;
            }
            assert_eq!(status(&answer), before, "{answer}");
        }
    };
    timeout(SOON, asks).await.expect("that answer")
}

#[tokio::test]
async fn bodies_have_a_bound_in_sum_and_who_finds_no_room_is_told_to_try_again() {
    let limits = Limits { bodies: MIB, room: SHORT, ..Limits::default() };
    let daemon = Daemon::with(limits).await;
    let stands_still = takes_all(&daemon, MIB).await;
    let (_, problem) = problem(&until(&daemon, 503, 422).await);
    assert_eq!((problem.code.as_str(), problem.exit_code), ("no_room", 3));
    assert!(problem.message.contains("no room") && problem.help.is_some(), "{problem:?}");
    // What needs no room is answered.
    daemon.is_well().await;
    drop(stands_still);
    until(&daemon, 422, 503).await;
    // One after the other takes no more than one alone.
    let large = format!("{HEAD}Connection: close\r\nContent-Length: {MIB}\r\n\r\n");
    for _ in 0..5 {
        let answer = daemon.says([large.as_bytes(), &vec![b' '; MIB]].concat()).await;
        assert_eq!(status(&answer), 422, "{answer}");
    }
}

#[tokio::test]
async fn a_body_that_finds_no_room_waits_for_it() {
    let limits = Limits { bodies: MIB, room: 10 * SOON, ..Limits::default() };
    let daemon = Daemon::with(limits).await;
    let stands_still = takes_all(&daemon, MIB).await;
    let waits = async {
        loop {
            let mut stream = daemon.raw().await;
            stream.write_all(small().as_bytes()).await.unwrap();
            // An answer came: not all was taken yet.
            if timeout(SHORT, stream.readable()).await.is_err() {
                return stream;
            }
        }
    };
    let mut waits = timeout(SOON, waits).await.expect("one that waits");
    drop(stands_still);
    assert_eq!(problem(&rest(&mut waits).await).0, 422);
}

#[tokio::test]
async fn who_sends_more_than_there_is_room_can_read_why_it_is_refused() {
    let limits = Limits { bodies: MIB, room: SHORT, ..Limits::default() };
    let daemon = Daemon::with(limits).await;
    let mut stream = daemon.raw().await;
    let head = format!("{HEAD}Connection: close\r\nContent-Length: {}\r\n\r\n", 8 * MIB);
    stream.write_all(head.as_bytes()).await.unwrap();
    pour(&mut stream, 8 * MIB, false).await;
    assert_eq!(problem(&rest(&mut stream).await).0, 503);
    daemon.is_well().await;
}
