//! What the commands talk to: the API, of the daemon or of a core in this process.

use std::fmt::Display;
use std::time::Duration;

use mia_api::{Aborted, DispatchAccepted, DispatchBody, Event, PermissionAnswer, TaskId};
use mia_core::Core;
use mia_daemon::{ClientError, Connection, EventSource, Method, Patience};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) use mia_daemon::Watching;

use crate::daemon::Starter;
use crate::failure::Failure;

/// How long an answer may take that waits for agents.
const LONG: Duration = Duration::from_secs(10 * 60);

/// The API. Commands don't see which door it is behind.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    connection: Connection,
    behind: Behind,
}

#[derive(Debug, Clone)]
enum Behind {
    /// The daemon, which is started when it has gone.
    Daemon(Starter),
    /// A core in this process.
    Here(Core),
}

impl Client {
    /// The daemon's.
    pub(crate) fn of_daemon(connection: Connection, starter: Starter) -> Self {
        Self { connection, behind: Behind::Daemon(starter) }
    }

    /// That of a core in this process.
    pub(crate) fn in_process(connection: Connection, core: Core) -> Self {
        Self { connection, behind: Behind::Here(core) }
    }

    /// True when what was handed over ends with this process.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.behind, Behind::Here(_))
    }

    /// Makes a request. A daemon that has ended since it was looked for has not heard of it: another one
    /// is started for it.
    async fn sure<T>(
        &self,
        request: impl AsyncFn() -> Result<T, ClientError>,
    ) -> Result<T, Failure> {
        match (request().await, &self.behind) {
            (Err(ClientError::NotRunning(_)), Behind::Daemon(starter)) => {
                starter.start().await?;
                Ok(request().await?)
            }
            (answer, _) => Ok(answer?),
        }
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.sure(async || self.connection.get(path).await).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.sure(async || self.connection.post(path, body).await).await
    }

    /// The same for what an agent has to do first; the daemon has a limit for that.
    pub(crate) async fn post_long<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        let patience = Patience { head: LONG, ..Patience::default() };
        let connection = self.connection.clone().with_patience(patience);
        self.sure(async || connection.post(path, body).await).await
    }

    pub(crate) async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.sure(async || self.connection.put(path, body).await).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &impl Serialize) -> Result<(), Failure> {
        self.sure(async || self.connection.change(Method::PATCH, path, Some(body)).await).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<(), Failure> {
        self.sure(async || self.connection.change(Method::DELETE, path, None::<&()>).await).await
    }

    /// Hands a prompt over. When this returns, it is on record.
    ///
    /// # Errors
    /// When it was not accepted.
    pub(crate) async fn dispatch(&self, body: &DispatchBody) -> Result<Events, Failure> {
        let source = self.sure(async || self.connection.dispatch(body).await).await?;
        Ok(Events { client: self.clone(), source, revived: false })
    }

    /// Hands a prompt over and leaves it there.
    ///
    /// # Errors
    /// When it was not accepted.
    pub(crate) async fn leave(&self, body: &DispatchBody) -> Result<DispatchAccepted, Failure> {
        self.sure(async || self.connection.leave(body).await).await
    }

    /// The events of a task.
    ///
    /// # Errors
    /// When there is no such task.
    pub(crate) async fn watch(&self, task: &TaskId, how: Watching) -> Result<Events, Failure> {
        let source = self.sure(async || self.connection.watch(task, how).await).await?;
        Ok(Events { client: self.clone(), source, revived: false })
    }

    /// Asks a task to end, and returns when that was heard; its events tell how it did. A second call
    /// ends it without patience.
    pub(crate) async fn abort(&self, task: &TaskId) {
        let path = format!("/v1/tasks/{task}/abort");
        let _ = self.connection.post::<Aborted>(&path, &()).await;
    }

    /// The same, without waiting for it.
    pub(crate) fn abort_soon(&self, task: &TaskId) {
        let (client, task) = (self.clone(), task.clone());
        tokio::spawn(async move { client.abort(&task).await });
    }

    /// Answers a question of an agent; no option refuses. It may have been withdrawn or answered in the
    /// meantime; then there is nothing to answer.
    pub(crate) async fn answer(&self, task: &TaskId, question: &str, option: Option<String>) {
        let path = format!("/v1/tasks/{task}/permissions/{}", encoded(question));
        let answer = PermissionAnswer { option_id: option };
        let _ = self.connection.change(Method::POST, &path, Some(&answer)).await;
    }

    /// Ends everything that this process has started, and returns when it is gone.
    pub(crate) async fn close(&self) {
        if let Behind::Here(core) = &self.behind {
            core.close().await;
        }
    }
}

/// The events of a task, to its terminal one.
#[derive(Debug)]
pub(crate) struct Events {
    client: Client,
    source: EventSource,
    /// The daemon was started anew for it.
    revived: bool,
}

impl Events {
    /// The next event; none after the terminal one. Cancel-safe, but for what it does when the daemon
    /// has gone.
    ///
    /// A daemon that has gone is started again, once: it knows how the task ended.
    ///
    /// # Errors
    /// When the events can't be had any more.
    pub(crate) async fn next(&mut self) -> Result<Option<Event>, Failure> {
        loop {
            match self.source.next().await {
                Err(error) if error.is_gone() && !self.revived => {
                    let Behind::Daemon(starter) = &self.client.behind else {
                        return Err(error.into());
                    };
                    starter.start().await?;
                    self.revived = true;
                    self.source.try_again();
                }
                other => return Ok(other?),
            }
        }
    }
}

/// A path with a query.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    path: String,
    begun: bool,
}

impl Query {
    pub(crate) fn new(path: &str) -> Self {
        Self { path: path.to_owned(), begun: false }
    }

    /// The same with a member; its value may be any text.
    pub(crate) fn with(mut self, name: &str, value: impl Display) -> Self {
        let mark = if std::mem::replace(&mut self.begun, true) { '&' } else { '?' };
        let value = value.to_string();
        self.path.push_str(&format!("{mark}{name}={}", encoded(&value)));
        self
    }

    /// The same with a member, if there is a value.
    pub(crate) fn with_some(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    pub(crate) fn path(self) -> String {
        self.path
    }
}

/// A text as a part of a path or a query.
pub(crate) fn encoded(text: &str) -> impl Display {
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}
