//! The daemon: whether it runs, answers and is well. It is not started for that.

use std::time::Duration;

use mia_api::DaemonStatus;
use mia_config::Paths;
use mia_daemon::{ClientError, Connection, Holder, Lock, Patience};

use super::check::{Check, Group};
use crate::failure::how_to_end;
use crate::program::Program;
use crate::setup;
use crate::time::took;

const GROUP: Group = Group::Daemon;
const NAME: &str = "daemon";
/// How long it may take to answer.
const LIMIT: Duration = Duration::from_secs(3);

/// What the daemon says of itself, if it does, and what to think of that.
pub(super) async fn look(
    program: &Program,
    paths: Option<&Paths>,
) -> (Vec<Check>, Option<DaemonStatus>) {
    let Some(paths) = paths else { return (Vec::new(), None) };
    let patience = Patience { connect: LIMIT, head: LIMIT, ..Patience::default() };
    let connection = Connection::over(setup::way_to_daemon(program, paths)).with_patience(patience);
    let check = match connection.get("/v1/status").await {
        Ok(status) => return (judged(program, &status), Some(status)),
        Err(ClientError::NotRunning(_)) => match Lock::look(&setup::lock_file(program, paths)) {
            Ok(Holder::Nobody) => {
                Check::ok(GROUP, NAME, "it does not run; it starts when it is needed")
            }
            Ok(Holder::Somebody(_)) => Check::info(GROUP, NAME, "it is about to start, or to end"),
            Err(error) => Check::failure(GROUP, NAME, error.to_string(), "move it away"),
        },
        Err(silent @ ClientError::Silent { pid: Some(pid), .. }) => {
            Check::failure(GROUP, NAME, silent.to_string(), how_to_end(pid))
        }
        Err(error) => broken(program, &error),
    };
    (vec![check], None)
}

/// It answers, and not with its status.
fn broken(program: &Program, error: &ClientError) -> Check {
    let hint = format!("{} logs tells more", program.name);
    Check::failure(GROUP, NAME, error.to_string(), hint)
}

fn judged(program: &Program, status: &DaemonStatus) -> Vec<Check> {
    let (pid, version) = (status.pid, &status.version);
    let uptime = took(Duration::from_millis(status.uptime_ms));
    let about = format!("process {pid}, version {version}, for {uptime}");
    let restart = format!("{} restart", program.name);
    let mut checks = vec![if *version != mia_daemon::VERSION {
        let message = format!("{about}: this is version {}", mia_daemon::VERSION);
        Check::warning(GROUP, NAME, message, restart)
    } else if status.stopping {
        let message = format!("{about}: it is about to stop, and takes no prompts");
        Check::info(GROUP, NAME, message)
    } else {
        Check::ok(GROUP, NAME, about)
    }];
    if let Some(why) = &status.read_only {
        let message = format!("nothing can be put on record: {why}");
        let hint = "it goes on by itself once that is over";
        checks.push(Check::failure(GROUP, "daemon record", message, hint));
    }
    if let Some(mistake) = &status.configuration {
        let message = format!("the last good one is in force: {mistake}");
        let hint = "it is read again with the next prompt";
        checks.push(Check::warning(GROUP, "daemon configuration", message, hint));
    }
    let (tasks, noun) =
        (status.tasks.len(), if status.tasks.len() == 1 { "task" } else { "tasks" });
    if tasks > 0 {
        let message = format!("{tasks} {noun} wait or run");
        checks.push(Check::info(GROUP, "daemon tasks", message));
    }
    checks
}
