//! One request over the daemon's socket, and the beginning of its answer.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

use super::error::{ClientError, told};

/// The first and the longest pause before a full queue is tried again.
const PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// How long a daemon is waited for, until it counts as one that does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Until it has room for the connection: 5 s.
    pub connect: Duration,
    /// Until it begins to answer: 30 s.
    pub head: Duration,
    /// Until it goes on with an answer, 60 s. A stream of events has a sign of life every 15 s.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            head: Duration::from_secs(30),
            silence: Duration::from_secs(60),
        }
    }
}

/// Who answers, as the system says: the process that listens. It goes with each answer that came over
/// the socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answerer(pub(super) Option<i32>);

/// Sends a request on a connection of its own, and returns when the head of the answer is there.
pub(super) async fn exchange(
    path: &Path,
    request: Request<Body>,
    patience: Patience,
) -> Result<Response<Body>, ClientError> {
    let stream = connect(path, patience.connect).await?;
    let peer =
        stream.peer_cred().map_err(|source| ClientError::Io { path: path.to_owned(), source })?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        // The request holds the caller's environment.
        return Err(ClientError::Stranger(path.to_owned()));
    }
    let broken = |error: hyper::Error| ClientError::Broken(told(&error));
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // It ends when the answer is read, or nobody wants it any more.
    tokio::spawn(connection);
    let Ok(answer) = timeout(patience.head, sender.send_request(request)).await else {
        return Err(ClientError::Silent { pid: peer.pid(), after: patience.head });
    };
    let mut answer = answer.map_err(broken)?;
    answer.extensions_mut().insert(Answerer(peer.pid()));
    // The connection is for this request only; it closes with the answer's body.
    Ok(answer.map(|body| Body::new(Held { body, _sender: sender })))
}

/// Connects. A queue that is full is tried again for a while: somebody listens, and has much to do.
async fn connect(path: &Path, limit: Duration) -> Result<UnixStream, ClientError> {
    let began = Instant::now();
    let mut pause = PAUSE;
    loop {
        let source = match UnixStream::connect(path).await {
            Ok(stream) => return Ok(stream),
            Err(source) => source,
        };
        match source.kind() {
            io::ErrorKind::WouldBlock if began.elapsed() < limit => {}
            io::ErrorKind::WouldBlock => {
                return Err(ClientError::Silent { pid: None, after: limit });
            }
            kind if is_nobody(kind) => return Err(ClientError::NotRunning(path.to_owned())),
            _ => return Err(ClientError::Io { path: path.to_owned(), source }),
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// True when somebody listens on the socket, who may have too much to do to answer.
///
/// # Errors
/// When the socket can't be used at all.
pub async fn somebody_listens(socket: &Path) -> io::Result<bool> {
    match UnixStream::connect(socket).await {
        Ok(_) => Ok(true),
        Err(error) => match error.kind() {
            io::ErrorKind::WouldBlock => Ok(true),
            kind if is_nobody(kind) => Ok(false),
            _ => Err(error),
        },
    }
}

/// True when nobody listens, or who did ends at this moment.
fn is_nobody(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{
        BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, NotFound,
    };
    matches!(kind, NotFound | ConnectionRefused | ConnectionReset | ConnectionAborted | BrokenPipe)
}

/// A body that keeps its connection open until it is read or dropped.
struct Held {
    body: Incoming,
    _sender: SendRequest<Body>,
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }
}
