//! The script's language: text in, steps out.

use rustix::process::Signal;

/// One step of a script.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Out(String),
    Raw(Vec<u8>),
    Err(String),
    ErrFill(usize),
    Repeat(usize, String),
    BigLine(usize, String),
    ReadLine(Option<String>),
    ReadUntil(String),
    ReadStdin(Option<String>),
    EchoStdin,
    Sleep(u64),
    WaitFile(String),
    Touch(String),
    WriteFile(String, String),
    DumpEnv(String),
    DumpArgv(String),
    DumpCwd(String),
    Ignore(Signal),
    ForkSleeper(String, Vec<String>),
    Close(Stream),
    SignalSelf(Signal),
    Exit(i32),
}

/// A standard stream.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) enum Stream {
    In,
    Out,
    Err,
}

/// How long `hang` waits: long enough for any test, short enough not to outlive the day.
const HANG_MS: u64 = 600_000;

/// Parses a whole script. The error names the line.
pub(super) fn parse(text: &str) -> Result<Vec<Step>, String> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim_start()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| step(line).map_err(|error| format!("line {number}: {error}: {line}")))
        .collect()
}

fn step(line: &str) -> Result<Step, String> {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let text = || rest.to_owned();
    let path = || Some(text()).filter(|path| !path.is_empty());
    let needed = || path().ok_or_else(|| "a path is missing".to_owned());
    Ok(match verb {
        "out" => Step::Out(text()),
        "raw" => Step::Raw(unescape(rest)?),
        "err" => Step::Err(text()),
        "errfill" => Step::ErrFill(number(rest)?),
        "repeat" => counted(rest).map(|(count, text)| Step::Repeat(count, text))?,
        "bigline" => counted(rest).map(|(count, text)| {
            Step::BigLine(count, if text.is_empty() { "{fill}".to_owned() } else { text })
        })?,
        "read-line" => Step::ReadLine(path()),
        "read-until" => Step::ReadUntil(text()),
        "read-stdin" => Step::ReadStdin(path()),
        "echo-stdin" => Step::EchoStdin,
        "sleep" => Step::Sleep(number(rest)?),
        "hang" => Step::Sleep(HANG_MS),
        "wait-file" => Step::WaitFile(needed()?),
        "touch" => Step::Touch(needed()?),
        "write-file" => {
            let (path, text) = rest.split_once(' ').ok_or("a path and a text are missing")?;
            Step::WriteFile(path.to_owned(), text.to_owned())
        }
        "dump-env" => Step::DumpEnv(needed()?),
        "dump-argv" => Step::DumpArgv(needed()?),
        "dump-cwd" => Step::DumpCwd(needed()?),
        "ignore" => Step::Ignore(signal(rest)?),
        "fork-sleeper" => {
            let mut words = rest.split_whitespace().map(str::to_owned);
            let path = words.next().ok_or("a path for the pid is missing")?;
            let options: Vec<String> = words.collect();
            let known = ["setsid", "clean-env", "hold-stdout", "stubborn"];
            if let Some(other) = options.iter().find(|option| !known.contains(&option.as_str())) {
                return Err(format!("unknown option {other}"));
            }
            Step::ForkSleeper(path, options)
        }
        "close-stdin" => Step::Close(Stream::In),
        "close-stdout" => Step::Close(Stream::Out),
        "close-stderr" => Step::Close(Stream::Err),
        "signal-self" => Step::SignalSelf(signal(rest)?),
        "exit" => Step::Exit(number(rest)?),
        _ => return Err(format!("unknown step {verb}")),
    })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| "not a number".to_owned())
}

fn counted(rest: &str) -> Result<(usize, String), String> {
    let (count, text) = rest.split_once(' ').unwrap_or((rest, ""));
    Ok((number(count)?, text.to_owned()))
}

fn signal(text: &str) -> Result<Signal, String> {
    let name = text.trim();
    let by_name = [
        ("HUP", Signal::HUP),
        ("INT", Signal::INT),
        ("QUIT", Signal::QUIT),
        ("ABRT", Signal::ABORT),
        ("KILL", Signal::KILL),
        ("SEGV", Signal::SEGV),
        ("PIPE", Signal::PIPE),
        ("TERM", Signal::TERM),
        ("USR1", Signal::USR1),
        ("USR2", Signal::USR2),
    ];
    let bare = name.strip_prefix("SIG").unwrap_or(name);
    let named = by_name.iter().find(|(known, _)| *known == bare).map(|(_, signal)| *signal);
    named
        .or_else(|| Signal::from_named_raw(name.parse().ok()?))
        .ok_or_else(|| "unknown signal".to_owned())
}

fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'0') => 0,
            Some(b'e') => 0x1b,
            Some(b'\\') => b'\\',
            Some(b'x') => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                let digits = String::from_utf8(digits).map_err(|_| "not hexadecimal")?;
                u8::from_str_radix(&digits, 16).map_err(|_| "not hexadecimal")?
            }
            _ => return Err("unknown escape".to_owned()),
        });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_script_is_one_step_a_line() {
        let script = "# a remark\n\n  out {\"a\": 1}\nraw a\\n\\x00\\\\\nrepeat 3 line {i}\nfork-sleeper p setsid stubborn\nignore TERM\nsignal-self 9\nexit 7\n";
        let steps = vec![
            Step::Out("{\"a\": 1}".to_owned()),
            Step::Raw(b"a\n\0\\".to_vec()),
            Step::Repeat(3, "line {i}".to_owned()),
            Step::ForkSleeper("p".to_owned(), vec!["setsid".to_owned(), "stubborn".to_owned()]),
            Step::Ignore(Signal::TERM),
            Step::SignalSelf(Signal::KILL),
            Step::Exit(7),
        ];
        assert_eq!(parse(script), Ok(steps));
    }

    #[test]
    fn errors_name_the_line() {
        let error = |script| parse(script).unwrap_err();
        assert_eq!(error("out a\nshout b"), "line 2: unknown step shout: shout b");
        assert_eq!(error("sleep soon"), "line 1: not a number: sleep soon");
        assert_eq!(error("raw \\q"), "line 1: unknown escape: raw \\q");
        assert_eq!(
            error("fork-sleeper p quickly"),
            "line 1: unknown option quickly: fork-sleeper p quickly"
        );
        assert_eq!(error("wait-file"), "line 1: a path is missing: wait-file");
    }
}
