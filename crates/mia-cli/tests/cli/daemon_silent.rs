//! A daemon that is there and does not answer: nobody waits for it for ever.

use mia_testkit::proc::{CONT, KILL, STOP, block_until_gone};

use crate::daemon::{SOON, daemon};
use crate::person::{Person, Ran};

#[test]
fn who_meets_a_suspended_daemon_is_told_which_and_what_to_do() {
    let person = Person::new();
    person.run(&["start"]).code(0);
    let process = daemon(&person);
    process.signal(STOP);
    let commands: [&[&str]; 4] =
        [&["status"], &["stop"], &["start"], &["ask", "--plugin", "guide", "help"]];
    let started = commands.map(|args| (args, person.start(args)));
    let pid = process.pid();
    let (who, help) =
        (format!("the daemon (process {pid}) does not answer"), format!("kill -CONT {pid}"));
    for (args, child) in started {
        let ran = Ran::from(child.wait_with_output().unwrap()).code(3);
        assert_eq!(ran.out, "", "{args:?}");
        ran.says(&[&who, &help]);
    }
    assert!(process.alive(), "nobody has ended it");
    // Whether the one that came to an end by itself still counts is its luck; this one does.
    process.signal(CONT);
    person.run(&["stop"]).code(0);
    assert_eq!(block_until_gone(&[process], SOON), Ok(()));
    person.ask_guide(&["help"]).code(0);
}

#[test]
fn m_039_a_prompt_that_meets_a_dying_daemon_is_answered_by_the_next() {
    let person = Person::new();
    let mut before = None;
    // The system takes a while to take everything of a process away, and its socket goes late.
    for _ in 0..8 {
        person.run(&["start"]).code(0);
        let process = daemon(&person);
        assert_ne!(before.replace(process.pid()), Some(process.pid()));
        process.signal(STOP);
        process.signal(KILL);
        person.ask_guide(&["help"]).code(0);
        person.run(&["log"]).code(0);
    }
}
