//! The permission broker: questions of agents on one side, answers of clients on the other.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use mia_api::{PermissionRequest, PermissionResolution, ResolvedBy, TaskId};
use mia_plugin::Permissions;
use tokio::sync::oneshot;

/// Why an answer was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Nothing waits for it: it was answered already, withdrawn, or never asked.
    #[error("no question {id} of task {task} waits for an answer")]
    NotWaiting {
        /// The task.
        task: TaskId,
        /// The question.
        id: String,
    },
    /// The option is none of the question's.
    #[error("{option:?} is no answer to this question; the answers are: {}", .options.join(", "))]
    NoSuchOption {
        /// What was answered.
        option: String,
        /// What can be answered.
        options: Vec<String>,
    },
}

type Place = (TaskId, String);

#[derive(Debug)]
struct Waiting {
    /// Tells a question from a later one with the same id.
    number: u64,
    options: Vec<String>,
    answer: oneshot::Sender<PermissionResolution>,
}

/// Brings the questions of all tasks together with their answers. Each question takes one answer.
#[derive(Debug, Clone, Default)]
pub struct PermissionBroker {
    waiting: Arc<Mutex<HashMap<Place, Waiting>>>,
    asked: Arc<AtomicU64>,
}

impl PermissionBroker {
    fn waiting(&self) -> MutexGuard<'_, HashMap<Place, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the questions of one task go. `attending` is how many clients have promised to answer;
    /// without one, a question is refused at once. One that was asked waits, also when the last of
    /// them leaves: somebody may come back.
    #[must_use]
    pub fn desk(&self, task: TaskId, attending: Arc<AtomicUsize>) -> Arc<dyn Permissions> {
        Arc::new(Desk { broker: self.clone(), task, attending })
    }

    /// Answers a question; no option refuses it.
    ///
    /// # Errors
    /// When nothing waits for that answer.
    pub fn answer(&self, task: &TaskId, id: &str, option: Option<&str>) -> Result<(), AnswerError> {
        let place = (task.clone(), id.to_owned());
        let not_waiting = || AnswerError::NotWaiting { task: task.clone(), id: id.to_owned() };
        let mut waiting = self.waiting();
        let question = waiting.get(&place).ok_or_else(not_waiting)?;
        if let Some(option) = option
            && !question.options.iter().any(|o| o == option)
        {
            return Err(AnswerError::NoSuchOption {
                option: option.to_owned(),
                options: question.options.clone(),
            });
        }
        let question = waiting.remove(&place).ok_or_else(not_waiting)?;
        let resolution = PermissionResolution {
            id: id.to_owned(),
            option_id: option.map(str::to_owned),
            by: ResolvedBy::Client,
        };
        question.answer.send(resolution).map_err(|_| not_waiting())
    }
}

#[derive(Debug)]
struct Desk {
    broker: PermissionBroker,
    task: TaskId,
    attending: Arc<AtomicUsize>,
}

impl Permissions for Desk {
    fn somebody_there(&self) -> bool {
        self.attending.load(Ordering::SeqCst) > 0
    }

    fn ask(&self, request: PermissionRequest) -> BoxFuture<'static, PermissionResolution> {
        let unanswered = |id: String, by| PermissionResolution { id, option_id: None, by };
        if !self.somebody_there() {
            return Box::pin(async move { unanswered(request.id, ResolvedBy::Nobody) });
        }
        let (answer, answered) = oneshot::channel();
        let place = (self.task.clone(), request.id.clone());
        let options = request.options.into_iter().map(|o| o.id).collect();
        let number = self.broker.asked.fetch_add(1, Ordering::Relaxed);
        self.broker.waiting().insert(place.clone(), Waiting { number, options, answer });
        let withdraw = Withdraw { broker: self.broker.clone(), place, number };
        Box::pin(async move {
            let answer = answered.await;
            drop(withdraw);
            answer.unwrap_or_else(|_| unanswered(request.id, ResolvedBy::End))
        })
    }
}

/// Takes a question back when nobody waits for its answer any more.
struct Withdraw {
    broker: PermissionBroker,
    place: Place,
    number: u64,
}

impl Drop for Withdraw {
    fn drop(&mut self) {
        let mut waiting = self.broker.waiting();
        if waiting.get(&self.place).is_some_and(|question| question.number == self.number) {
            waiting.remove(&self.place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mia_api::{OptionKind, PermissionOption};

    fn question(id: &str) -> PermissionRequest {
        let option =
            PermissionOption { id: "yes".into(), name: "Yes".into(), kind: OptionKind::AllowOnce };
        PermissionRequest {
            id: id.into(),
            tool_call_id: "t".into(),
            title: "x".into(),
            options: vec![option],
        }
    }

    #[tokio::test]
    async fn a_question_takes_one_answer() {
        let broker = PermissionBroker::default();
        let task = TaskId::generate();
        let desk = broker.desk(task.clone(), Arc::new(1.into()));
        let answer = desk.ask(question("q"));
        let wrong = broker.answer(&task, "q", Some("maybe"));
        assert!(matches!(wrong, Err(AnswerError::NoSuchOption { .. })));
        broker.answer(&task, "q", Some("yes")).unwrap();
        assert!(broker.answer(&task, "q", None).is_err());
        let resolution = answer.await;
        assert_eq!(resolution.option_id.as_deref(), Some("yes"));
        assert_eq!(resolution.by, ResolvedBy::Client);
    }

    #[tokio::test]
    async fn nobody_there_is_a_refusal_at_once() {
        let broker = PermissionBroker::default();
        let resolution = broker.desk(TaskId::generate(), Arc::default()).ask(question("q")).await;
        assert_eq!((resolution.option_id, resolution.by), (None, ResolvedBy::Nobody));
    }

    #[tokio::test]
    async fn a_question_that_is_put_again_outlives_the_first() {
        let broker = PermissionBroker::default();
        let task = TaskId::generate();
        let desk = broker.desk(task.clone(), Arc::new(1.into()));
        let first = desk.ask(question("q"));
        let second = desk.ask(question("q"));
        drop(first);
        broker.answer(&task, "q", Some("yes")).unwrap();
        assert_eq!(second.await.option_id.as_deref(), Some("yes"));
    }

    #[tokio::test]
    async fn a_withdrawn_question_cannot_be_answered() {
        let broker = PermissionBroker::default();
        let task = TaskId::generate();
        drop(broker.desk(task.clone(), Arc::new(1.into())).ask(question("q")));
        assert!(broker.answer(&task, "q", Some("yes")).is_err());
    }
}
