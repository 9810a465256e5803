//! A plugin that crashes each time.

use mia_testkit::proc::block_until;
use pretty_assertions::assert_eq;

use crate::daemon::{Daemon, SOON};
use crate::person::Person;
use crate::rounds::rounds;

/// So many descriptors more are no leak: a connection that is about to close, one more to the record.
const FEW: usize = 8;

/// How an agent may crash.
const CRASHES: [&str; 5] = [
    "exit 7\n",
    "err out of cheese\nsignal-self SEGV\n",
    "read-line\nout {not json\nexit 1\n",
    "close-stdout\nsignal-self ABRT\n",
    "fork-sleeper sleeper setsid clean-env\nexit 3\n",
];

#[test]
fn a_plugin_that_crashes_each_time_leaks_nothing_and_the_next_one_answers() {
    rounds("crashes", |round| {
        let (asked, tested) = (round.size(60, 500), round.size(30, 200));
        let person = Person::new();
        person.configure("active_plugin: claude-code\nfallback: {plugins: [guide]}\n");
        let claude = person.claude(CRASHES[0]);
        let crash = |round: &mut crate::rounds::Round| {
            let _ = std::fs::remove_file(claude.beside("sleeper"));
            claude.script(round.rng.choice(CRASHES).unwrap());
        };
        let mut rested = 0;
        let ask = |rested: &mut usize| {
            let ran = person.run(&["ask", "help"]).code(0);
            assert!(ran.out.contains("Mia's guide"), "{ran:?}");
            *rested += usize::from(ran.err.contains("left alone"));
        };
        // The first ones open what stays open, and make the breaker open.
        for _ in 0..5 {
            crash(round);
            ask(&mut rested);
        }
        assert!(rested >= 1, "nobody was told that it is left alone");
        let daemon = Daemon::of(&person);
        let before = quiet(&daemon);
        for _ in 5..asked {
            ask(&mut rested);
        }
        assert_eq!(rested, asked - 3, "it was asked although it rests");
        for _ in 0..tested {
            crash(round);
            // This asks it all the same.
            person.run(&["plugin", "test", "claude-code"]).code(1);
        }
        let after = quiet(&daemon);
        assert!(after <= before + FEW, "{after} descriptors are open, {before} were");
        assert_eq!(Daemon::of(&person).process, daemon.process, "it is the same daemon still");
        format!(
            "{asked} prompts answered by the fallback, {} crashes, {before} descriptors before and \
             {after} after",
            tested + 3
        )
    });
}

/// Waits until nothing but the supervisor runs below a daemon, and counts its descriptors.
fn quiet(daemon: &Daemon) -> usize {
    block_until("what crashed to be gone", SOON, || (daemon.below().len() == 1).then_some(()));
    daemon.descriptors()
}
