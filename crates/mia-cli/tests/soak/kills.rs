//! The daemon is killed while an agent streams.

use std::process::Child;
use std::time::Duration;

use mia_testkit::fakecli::FakeCli;
use mia_testkit::proc::{KILL, block_until, block_until_gone, with_env};
use pretty_assertions::assert_eq;

use crate::claude::answer;
use crate::daemon::{Daemon, SOON, SWEPT, trace, wait_for_text};
use crate::person::{Person, Ran};
use crate::rounds::{Round, rounds};
use crate::stream::stream;

/// A variable by which all that a task started is found.
const MARK: &str = "SOAK_MARK";
/// When the daemon is killed.
#[derive(Debug)]
enum Moment {
    /// That long after a client has begun to ask; perhaps nothing was accepted yet.
    Asking(Duration),
    /// That long after the prompt was accepted; the agent may not have begun, or have ended.
    Accepted(Duration),
    /// When a watcher has got that many bytes of text.
    Said(usize),
}

/// What was found afterwards.
#[derive(Debug, Default)]
struct Tally {
    points: usize,
    interrupted: usize,
    with_text: usize,
    completed: usize,
    unaccepted: usize,
}

#[test]
fn m_039_a_daemon_killed_at_any_point_of_a_stream_loses_nothing() {
    rounds("kills", |round| {
        let person = Person::new();
        let claude = person.claude(&answer("nothing yet"));
        let mut tally = Tally::default();
        for point in 0..20 {
            one_kill(round, &person, &claude, point, &mut tally);
        }
        let Tally { points, interrupted, with_text, completed, unaccepted } = tally;
        assert!(with_text > 0, "no kill came while it spoke");
        assert_eq!(interrupted + completed + unaccepted, points);
        format!(
            "{points} kills: {interrupted} tasks interrupted, {with_text} of them with text, \
             {completed} had ended, {unaccepted} were never accepted"
        )
    });
}

fn one_kill(round: &mut Round, person: &Person, claude: &FakeCli, point: usize, tally: &mut Tally) {
    let task = format!("task-{point}");
    let conversation = format!("talk-{point}");
    let said = stream("hello", round.size(60, 300), 3, &mut round.rng);
    claude.script(&said.script);
    let daemon = Daemon::of(person);
    let moment = match point % 4 {
        0 => Moment::Asking(round.up_to(Duration::from_millis(30))),
        1 => Moment::Accepted(round.up_to(Duration::from_millis(300))),
        _ => Moment::Said(round.rng.usize(0..said.text.len())),
    };
    let names = ["--task", &task, "--conversation", &conversation];
    let mut ask = person.mia(&[&["ask", "--detach", "hello"], &names[..]].concat());
    let client = ask.env(MARK, person.folder()).spawn().unwrap();
    let client = kill(daemon, client, &moment, &task);
    tally.points += 1;
    let asking = matches!(moment, Moment::Asking(_));
    if !asking {
        assert_eq!(client.code, Some(0), "{moment:?}: {client:?}");
        // A client that was still asking has started the next daemon, and perhaps the task again.
        nothing_runs(person);
    }
    // One that was not told that it is accepted may have been, and must then have ended too.
    if client.code != Some(0) && person.run(&["log", "--trace", &task]).code != Some(0) {
        tally.unaccepted += 1;
        goes_on(person, claude, &conversation, false);
        return;
    }
    let ended = ended(person, &task, asking);
    nothing_runs(person);
    let (result, error) = (&ended["result"], &ended["error"]);
    let partial = error["partial"]["content"].as_str().unwrap_or_default();
    match ended["summary"]["status"].as_str().unwrap() {
        "completed" => {
            assert_eq!(result["content"], said.text, "{moment:?}");
            tally.completed += 1;
        }
        "interrupted" => {
            assert_eq!(
                (&error["code"], &error["cause"]),
                (&"ABORTED".into(), &"interrupted".into())
            );
            assert!(said.text.starts_with(partial), "{moment:?}: {partial:?} was never said");
            tally.interrupted += 1;
            tally.with_text += usize::from(!partial.is_empty());
        }
        other => panic!("{moment:?}: {other}: {ended:#}"),
    }
    // Its session was on record before its text was.
    goes_on(person, claude, &conversation, !partial.is_empty());
}

/// Kills the daemon at that moment, and waits until what it had started is gone. What became of the
/// client.
fn kill(daemon: Daemon, client: Child, moment: &Moment, task: &str) -> Ran {
    let (below, client) = match moment {
        Moment::Asking(delay) => {
            std::thread::sleep(*delay);
            let below = daemon.below();
            daemon.process.signal(KILL);
            (below, client.wait_with_output().unwrap())
        }
        Moment::Accepted(_) | Moment::Said(_) => {
            let client = client.wait_with_output().unwrap();
            match moment {
                Moment::Accepted(delay) => std::thread::sleep(*delay),
                Moment::Said(bytes) => wait_for_text(&daemon.socket, task, *bytes),
                Moment::Asking(_) => {}
            }
            let below = daemon.below();
            daemon.process.signal(KILL);
            (below, client)
        }
    };
    block_until_gone(&[daemon.process], SOON).unwrap();
    assert_eq!(block_until_gone(&below, SWEPT), Ok(()), "{moment:?}: something runs on");
    client.into()
}

/// Waits until nothing that a task started runs any more, wherever it fled to.
fn nothing_runs(person: &Person) {
    let mark = person.folder().to_str().unwrap();
    block_until("nothing of the task to run", SWEPT, || {
        with_env(MARK, mark).is_empty().then_some(())
    });
}

/// The next prompt of a conversation is answered; `resumed`: and that in the agent's session.
fn goes_on(person: &Person, claude: &FakeCli, conversation: &str, resumed: bool) {
    claude.script(&("dump-argv argv\n".to_owned() + &answer("later")));
    let ran = person.run(&["ask", "--conversation", conversation, "more"]).code(0);
    assert_eq!(ran.out, "later\n");
    let argv = std::fs::read_to_string(claude.beside("argv")).unwrap();
    assert!(!resumed || argv.contains("--resume=s-1"), "a fresh session: {argv}");
}

/// The task once it has ended. After a restart that was at once, unless a client asked again.
fn ended(person: &Person, task: &str, may_run: bool) -> serde_json::Value {
    let look = || {
        let now = trace(person, task);
        let open = ["running", "queued"].map(Into::into).contains(&now["summary"]["status"]);
        assert!(may_run || !open, "it is still {}", now["summary"]["status"]);
        (!open).then_some(now)
    };
    block_until("the task to end", SOON, look)
}
