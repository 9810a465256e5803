//! A scripted child process, driven by a small line language.
//!
//! [`FakeCli::new`] puts a symbolic link named `fakecli` to the running test binary into a folder;
//! spawned by that path the binary runs the script instead of the tests, so no other package has to be
//! built first. `cargo run -p mia-testkit --bin fakecli` is the same program for benchmarks and people.
//!
//! # Where the script comes from
//! The first of: the variable `FAKECLI_SCRIPT` (the text), the variable `FAKECLI_SCRIPT_FILE` (a path), the
//! lowest-numbered `fakecli.script.N` beside the program (used once: [`FakeCli::next_script`]),
//! `fakecli.script` beside the program ([`FakeCli::script`]), and `--script PATH` (`-`: standard input).
//!
//! # The language
//! One step a line; blank lines and lines that start with `#` are skipped; a relative path counts from the folder of
//! the program. Output is flushed after every step. After the last step the exit code is 0.
//!
//! | step | does |
//! |---|---|
//! | `out TEXT` | writes TEXT and a newline to stdout. `${last}` is the last line read, `${last.KEY}` the first member KEY found anywhere in it |
//! | `raw TEXT` | writes TEXT to stdout with `\n \r \t \0 \e \\ \xHH` unescaped, no newline |
//! | `err TEXT`, `errfill N` | the same as `out` on stderr; N bytes on stderr |
//! | `repeat N TEXT` | `out` N times at pipe speed, `{i}` counting from 0 |
//! | `bigline N [TEXT]` | one line in which `{fill}` (or everything) is N bytes of `x` |
//! | `read-line [PATH]` | reads one line of stdin, appends it to PATH |
//! | `read-until TEXT` | reads lines until one contains TEXT (or the end) |
//! | `read-stdin [PATH]` | reads to the end, into PATH |
//! | `echo-stdin` | copies stdin to stdout to the end |
//! | `sleep MS`, `hang` | waits; `hang` for ten minutes |
//! | `wait-file PATH` | waits until PATH exists (a gate that the test opens) |
//! | `touch PATH`, `write-file PATH TEXT` | creates an empty file, a file with TEXT and a newline |
//! | `dump-env PATH`, `dump-argv PATH`, `dump-cwd PATH` | a JSON object, a JSON array, the path |
//! | `ignore SIGNAL` | ignores TERM, INT, HUP or another that can be |
//! | `fork-sleeper PATH [setsid] [clean-env] [hold-stdout] [stubborn]` | starts a child that sleeps for ten minutes and has its pid in PATH once it is ready: in its own session, with an empty environment, holding our stdout and stderr open, deaf to TERM, INT and HUP |
//! | `close-stdout`, `close-stderr`, `close-stdin` | replaces it with /dev/null |
//! | `signal-self SIGNAL` | by name or number |
//! | `exit N` | ends at once |
//!
//! A script that can't be parsed ends the program with code 99 and a line on stderr; a failed step with 98.

mod entry;
mod play;
mod program;
mod script;
mod sleeper;

pub use entry::main;
pub(crate) use entry::run_if_asked;
pub use program::{FakeCli, program};
