//! Streams of events, which go on where they broke.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use bytes::Bytes;
use futures::StreamExt;
use mia_api::{Event, Gap, Problem, ResumePoint, TaskId};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

use super::connection::{Connection, Watching};
use super::error::{ClientError, told};
use super::parser::{Parser, Sent};

/// How often a broken stream is asked for again without having got any further, and the pause before
/// the second time; it doubles. That is some three seconds in all.
const RETRIES: u32 = 7;
const PAUSE: Duration = Duration::from_millis(50);

/// The body of a stream, as events.
#[derive(Debug)]
struct Stream {
    connection: Connection,
    body: BodyDataStream,
    parser: Parser,
    /// When the daemon was last heard of.
    heard: Instant,
}

impl Stream {
    fn new(connection: Connection, body: Body) -> Self {
        let (body, parser) = (body.into_data_stream(), Parser::default());
        Self { connection, body, parser, heard: Instant::now() }
    }

    /// The next event; none when the stream has ended. Cancel-safe.
    async fn next(&mut self) -> Result<Option<Sent>, ClientError> {
        loop {
            if let Some(sent) = self.parser.next() {
                return Ok(Some(sent));
            }
            let Some(chunk) = self.chunk().await? else { return Ok(None) };
            self.parser.push(&chunk)?;
        }
    }

    /// What comes. When nothing does, the daemon is asked whether it is there.
    async fn chunk(&mut self) -> Result<Option<Bytes>, ClientError> {
        loop {
            let chunk = match self.connection.silence() {
                Some(limit) => timeout_at(self.heard + limit, self.body.next()).await.ok(),
                None => Some(self.body.next().await),
            };
            match chunk {
                Some(chunk) => {
                    self.heard = Instant::now();
                    let broken = |error: axum::Error| ClientError::Broken(told(&error));
                    return chunk.transpose().map_err(broken);
                }
                None => match self.connection.sign_of_life().await {
                    Ok(()) => self.heard = Instant::now(),
                    Err(error) if error.is_gone() => {
                        return Err(ClientError::Broken(error.to_string()));
                    }
                    Err(error) => return Err(error),
                },
            }
        }
    }
}

fn read<T: DeserializeOwned>(sent: &Sent) -> Result<T, ClientError> {
    if sent.kind.as_deref() == Some("problem") {
        let problem: Problem = parse(&sent.data)?;
        return Err(ClientError::Refused(Box::new(problem)));
    }
    parse(&sent.data)
}

fn parse<T: DeserializeOwned>(data: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(data).map_err(|error| ClientError::Answer(error.to_string()))
}

/// The events of a task, to its terminal one. A connection that breaks in between is made again, and
/// the text goes on at the very byte (M-38).
#[derive(Debug)]
pub struct EventSource {
    connection: Connection,
    task: Option<TaskId>,
    watching: Watching,
    stream: Stream,
    ended: bool,
    /// How often it was asked for again since it last got further.
    broke: u32,
}

impl EventSource {
    pub(super) fn new(
        connection: Connection,
        task: Option<TaskId>,
        watching: Watching,
        body: Body,
    ) -> Self {
        let stream = Stream::new(connection.clone(), body);
        Self { connection, task, watching, stream, ended: false, broke: 0 }
    }

    /// Tries again, although it had given up.
    pub fn try_again(&mut self) {
        self.broke = 0;
    }

    /// The next event; none after the terminal one. Cancel-safe.
    ///
    /// # Errors
    /// When the daemon has gone and does not come back in a few seconds, does not answer, or says why it
    /// can't go on.
    pub async fn next(&mut self) -> Result<Option<Event>, ClientError> {
        if self.ended {
            return Ok(None);
        }
        loop {
            let broke = match self.stream.next().await {
                Ok(Some(sent)) => return self.take(&sent),
                Ok(None) => ClientError::Broken("it ended before the task".to_owned()),
                Err(error @ ClientError::Broken(_)) => error,
                Err(error) => return Err(error),
            };
            self.connect_again(broke).await?;
        }
    }

    fn take(&mut self, sent: &Sent) -> Result<Option<Event>, ClientError> {
        if sent.kind.as_deref() == Some("end") {
            self.ended = true;
            return Ok(None);
        }
        let event: Event = read(sent)?;
        self.task.get_or_insert_with(|| event.task_id.clone());
        let here = ResumePoint::after(&event);
        let before = self.watching.after;
        if (here.seq, here.offset) > (before.seq, before.offset) {
            self.broke = 0;
        }
        self.watching.after = here;
        self.ended = event.body.is_terminal();
        Ok(Some(event))
    }

    async fn connect_again(&mut self, mut why: ClientError) -> Result<(), ClientError> {
        let Some(task) = self.task.clone() else { return Err(why) };
        while self.broke < RETRIES {
            if let Some(exponent) = self.broke.checked_sub(1) {
                tokio::time::sleep(PAUSE * 2_u32.pow(exponent)).await;
            }
            self.broke += 1;
            match self.connection.events(&task, self.watching).await {
                Ok(body) => {
                    self.stream = Stream::new(self.connection.clone(), body);
                    return Ok(());
                }
                Err(error) if error.is_gone() => why = error,
                Err(error) => return Err(error),
            }
        }
        Err(why)
    }
}

/// What the stream of all events brings.
#[derive(Debug, Clone, PartialEq)]
pub enum Any {
    /// An event of some task.
    Event(Box<Event>),
    /// Some events are missing here.
    Gap(Gap),
}

/// The events of all tasks, for as long as the connection lasts.
#[derive(Debug)]
pub struct AllEventSource {
    stream: Stream,
}

impl AllEventSource {
    pub(super) fn new(connection: Connection, body: Body) -> Self {
        Self { stream: Stream::new(connection, body) }
    }

    /// The next one; none when the daemon ends. Cancel-safe.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn next(&mut self) -> Result<Option<Any>, ClientError> {
        let Some(sent) = self.stream.next().await? else { return Ok(None) };
        if let Ok(gap) = parse::<Gap>(&sent.data) {
            return Ok(Some(Any::Gap(gap)));
        }
        Ok(Some(Any::Event(Box::new(read(&sent)?))))
    }
}
