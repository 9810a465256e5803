//! Taking connections.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::connection::connection;
use super::limits::Limits;
use super::room::Room;
use crate::server::is_true;

/// How often it is told that somebody was refused: who knocks without end must not push everything
/// else out of the log.
const TELL: Duration = Duration::from_secs(1);
/// How long to wait when the system gives no connection for want of descriptors.
const SHORTAGE: Duration = Duration::from_millis(100);

/// Serves connections until `closing` is ready; from then on nobody can connect, and those that are
/// open get [`Limits::closing`] to come to their end, after which they are cut. Only this process's own
/// user is served: others are dropped without a byte.
pub async fn serve(
    listener: UnixListener,
    router: Router,
    mut closing: watch::Receiver<bool>,
    limits: Limits,
) {
    let room = Room::new(limits.bodies);
    let limits = Arc::new(limits);
    let closes = closing.clone();
    let mut open = JoinSet::new();
    let mut short = false;
    let mut doorkeeper = Doorkeeper::default();
    loop {
        let accepted = tokio::select! {
            () = is_true(&mut closing) => break,
            Some(_) = open.join_next() => continue,
            accepted = listener.accept(), if open.len() < limits.connections => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                short = false;
                if doorkeeper.lets_in(&stream) {
                    let (router, limits) = (router.clone(), Arc::clone(&limits));
                    open.spawn(connection(stream, router, closes.clone(), limits, room.clone()));
                }
            }
            Err(error) => {
                // Once, and not ten times a second for as long as it lasts.
                if !std::mem::replace(&mut short, true) {
                    tracing::warn!("can't take a connection: {error}; {} are open", open.len());
                }
                tokio::time::sleep(SHORTAGE).await;
            }
        }
    }
    // Who still waits to be taken learns it at once.
    drop(listener);
    let all = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.closing, all).await.is_err() {
        tracing::warn!("{} connections were cut", open.len());
        open.shutdown().await;
    }
}

/// Tells this process's own user from others.
#[derive(Debug, Default)]
struct Doorkeeper {
    /// When the last refusal was told, and how many were not since.
    told: Option<Instant>,
    untold: u64,
}

impl Doorkeeper {
    fn lets_in(&mut self, stream: &UnixStream) -> bool {
        let who = match stream.peer_cred() {
            Ok(peer) if peer.uid() == rustix::process::geteuid().as_raw() => return true,
            Ok(peer) => {
                let process = peer.pid().map(|pid| format!(" (process {pid})")).unwrap_or_default();
                format!("of user {}{process}", peer.uid())
            }
            Err(error) => format!("without credentials ({error})"),
        };
        if self.told.is_some_and(|told| told.elapsed() < TELL) {
            self.untold += 1;
        } else {
            let before = match std::mem::take(&mut self.untold) {
                0 => String::new(),
                untold => format!(", and {untold} before it"),
            };
            tracing::warn!("a connection {who} was refused{before}");
            self.told = Some(Instant::now());
        }
        false
    }
}
