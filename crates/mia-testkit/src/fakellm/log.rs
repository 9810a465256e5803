//! What the server was asked, for tests to look at and wait for.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::conversation::Role;

/// Requests that are remembered.
const KEPT: usize = 500;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happening {
    /// It is being answered.
    Open,
    /// It was answered to the end.
    Answered,
    /// It was answered by this HTTP error.
    Failed(u16),
    /// The script dropped the connection.
    Cut,
    /// The client went away before the end.
    Gone,
}

/// One request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// Its number, from 1.
    pub number: u64,
    /// The API: `anthropic`, `openai-responses`, `openai-chat` or `gemini`; empty for a path of none.
    pub api: &'static str,
    /// The HTTP method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The model that was asked for.
    pub model: String,
    /// The directive that was followed; `AUX`, `DONE`, `NONE`, `COUNT_TOKENS`, or empty.
    pub verb: String,
    /// Whether it was side work of the client.
    pub auxiliary: bool,
    /// Whether it asked for a stream.
    pub stream: bool,
    /// The key that came with it.
    pub key: String,
    /// The client's name for itself.
    pub user_agent: String,
    /// The tools on offer.
    pub tools: Vec<String>,
    /// The role of each message.
    pub roles: Vec<Role>,
    /// The size of the body.
    pub bytes: usize,
    /// The body, with [`Options::bodies`](super::Options::bodies).
    pub body: Option<Arc<Value>>,
    /// What became of it.
    pub happening: Happening,
}

impl Request {
    /// The request as one line of JSON.
    #[must_use]
    pub fn line(&self) -> String {
        self.json().to_string()
    }

    pub(super) fn json(&self) -> Value {
        let roles: Vec<&str> = self.roles.iter().map(|role| role.name()).collect();
        json!({
            "number": self.number, "api": self.api, "method": self.method, "path": self.path, "model": self.model,
            "verb": self.verb, "auxiliary": self.auxiliary, "stream": self.stream, "key": self.key,
            "user_agent": self.user_agent, "tools": self.tools, "messages": self.roles.len(), "roles": roles,
            "bytes": self.bytes, "body": self.body.as_deref(), "happening": format!("{:?}", self.happening),
        })
    }
}

/// The newest requests, oldest of them first.
#[derive(Debug, Default, Clone)]
#[non_exhaustive]
pub struct Log {
    /// The requests.
    pub requests: Vec<Request>,
    /// How many there were in all.
    pub total: u64,
}

impl Log {
    /// The requests for an answer that are no side work: what a turn is made of.
    pub fn turns(&self) -> impl Iterator<Item = &Request> {
        self.requests.iter().filter(|request| {
            !request.verb.is_empty() && request.verb != "COUNT_TOKENS" && !request.auxiliary
        })
    }
}

/// The log as the server writes it.
#[derive(Debug)]
pub(super) struct Journal(watch::Sender<Log>);

impl Journal {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(Log::default()))
    }

    /// Enters a request and returns its number.
    pub(super) fn enter(&self, mut request: Request) -> u64 {
        let mut number = 0;
        self.0.send_modify(|log| {
            log.total += 1;
            number = log.total;
            request.number = number;
            log.requests.push(request);
            let surplus = log.requests.len().saturating_sub(KEPT);
            log.requests.drain(..surplus);
        });
        number
    }

    /// Notes what became of it.
    pub(super) fn note(&self, number: u64, happening: Happening) {
        self.0.send_modify(|log| {
            if let Some(request) = log.requests.iter_mut().find(|request| request.number == number)
            {
                request.happening = happening;
            }
        });
    }

    pub(super) fn snapshot(&self) -> Log {
        self.0.borrow().clone()
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Log> {
        self.0.subscribe()
    }
}
