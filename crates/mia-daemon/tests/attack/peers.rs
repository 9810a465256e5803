//! Other users.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};

use mia_daemon::{ClientError, Connection, Socket};
use rustix::process::Uid;

use crate::daemon::{Daemon, said};

/// Does that as another user; none where this one may not become another. Only the thread does.
fn as_another<T: Send>(act: impl FnOnce() -> T + Send) -> Option<T> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can be another user");
        return None;
    }
    let act = || {
        let nobody = Uid::from_raw(STRANGER);
        rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        act()
    };
    std::thread::scope(|scope| Some(scope.spawn(act).join().unwrap()))
}

const STRANGER: u32 = 54_321;

#[tokio::test(flavor = "multi_thread")]
async fn another_user_gets_no_byte_however_open_the_socket_is() {
    let daemon = Daemon::start().await;
    let socket = daemon.socket();
    let got = tokio::task::block_in_place(|| {
        as_another(|| UnixStream::connect(&socket).map(drop).map_err(|error| error.kind()))
    });
    let Some(got) = got else { return };
    assert_eq!(got, Err(std::io::ErrorKind::PermissionDenied), "the folder keeps him out");
    // Whoever opened all doors by mistake.
    for open in [daemon.folder(), &daemon.folder().join("mia"), &socket] {
        fs::set_permissions(open, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let got = tokio::task::block_in_place(|| {
        as_another(|| {
            let mut answer = Vec::new();
            // Again and again, which must not fill the log.
            for _ in 0..200 {
                let mut stream = UnixStream::connect(&socket).unwrap();
                // It may be closed by then.
                let _ = stream.write_all(b"GET /v1/status HTTP/1.1\r\nHost: mia\r\n\r\n");
                let _ = stream.read_to_end(&mut answer);
            }
            answer
        })
    });
    assert_eq!(got, Some(Vec::new()));
    let log = said();
    let own = std::process::id();
    let refused = format!("a connection of user {STRANGER} (process {own}) was refused");
    let told = log.lines().filter(|line| line.contains(&refused)).count();
    assert!((1..50).contains(&told), "{log}");
    daemon.is_well().await;
}

#[tokio::test]
async fn the_client_sends_nothing_to_a_socket_of_another_user() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let socket = folder.path().join("daemon.sock");
    let Some(listener) = as_another(|| std::os::unix::net::UnixListener::bind(&socket).unwrap())
    else {
        return;
    };
    let failed = Connection::over(socket).get::<serde_json::Value>("/v1/status").await.unwrap_err();
    assert!(matches!(failed, ClientError::Stranger(_)), "{failed:?}");
    let (mut stream, _) = listener.accept().unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert_eq!(got, b"");
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_moment_at_which_the_socket_is_open_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("daemon.sock");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let seen = scope.spawn(|| {
            let mut seen = 0;
            while !over.load(Ordering::Relaxed) {
                seen |= fs::metadata(&path).map_or(0, |about| about.permissions().mode() & 0o777);
            }
            seen
        });
        for _ in 0..2000 {
            drop(Socket::bind(&path).unwrap());
        }
        over.store(true, Ordering::Relaxed);
        assert_eq!(format!("{:o}", seen.join().unwrap()), "600");
    });
}
