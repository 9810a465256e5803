//! Whether agents are there, asked once for many who want to know (M-33).

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mia_plugin::{CodingPlugin, Environment, Probe};
use tokio::time::Instant;

use crate::plugins::PATIENCE;

/// How long it is good that an agent is there, and that it is not.
const GOOD: Duration = Duration::from_secs(60);
const BAD: Duration = Duration::from_secs(5);
/// How many answers are kept.
const KEPT: usize = 256;

/// What an answer is about: a plugin, and the program that a caller would get. Another program, or
/// another file in its place, is another question.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Question {
    plugin: String,
    program: Option<(PathBuf, Stamp)>,
    /// Where its helpers are looked for, such as node.
    path: Option<OsString>,
}

type Stamp = Option<(u64, u64, i64, i64)>;

fn stamp(path: &Path) -> Stamp {
    let about = fs::metadata(path).ok()?;
    Some((about.dev(), about.ino(), about.ctime(), about.ctime_nsec()))
}

type Answer = Arc<tokio::sync::Mutex<Option<(Instant, Probe)>>>;

/// Answers that are still good.
#[derive(Debug, Default)]
pub(crate) struct Availability {
    answers: Mutex<HashMap<Question, Answer>>,
}

impl Availability {
    /// What that caller finds of the plugin's agent: as it was found a moment ago, or asked now. Of
    /// several who want to know the same one asks, and the others wait for him. Within 5 s.
    pub(crate) async fn of(
        &self,
        plugin: &Arc<dyn CodingPlugin>,
        environment: &Environment,
    ) -> Probe {
        let program = match plugin.locate(environment, Path::new("/")) {
            Ok(program) => program,
            // Nothing was started to find that out, so there is nothing to spare.
            Err(error) => {
                let problem = Some(error.message);
                return Probe { problem, hint: error.hint, ..Probe::default() };
            }
        };
        let question = Question {
            plugin: plugin.name().to_owned(),
            program: program.map(|path| {
                let stamp = stamp(&path);
                (path, stamp)
            }),
            path: environment.get("PATH").map(ToOwned::to_owned),
        };
        let answer = self.place(question);
        let late = || Probe {
            problem: Some("it did not tell of itself in 5 s".to_owned()),
            ..Probe::default()
        };
        let asked = async {
            let mut known = answer.lock().await;
            if let Some((at, probe)) = known.as_ref() {
                let good = if probe.problem.is_none() { GOOD } else { BAD };
                if at.elapsed() < good {
                    return probe.clone();
                }
            }
            let probe = plugin.probe(environment);
            let probe = tokio::time::timeout(PATIENCE, probe).await.unwrap_or_else(|_| late());
            *known = Some((Instant::now(), probe.clone()));
            probe
        };
        // Who waited for another one waits no longer than if he had asked himself.
        tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| late())
    }

    fn place(&self, question: Question) -> Answer {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= KEPT && !answers.contains_key(&question) {
            // Those that are being asked for are held by who asks.
            answers.retain(|_, answer| Arc::strong_count(answer) > 1);
        }
        Arc::clone(answers.entry(question).or_default())
    }
}
