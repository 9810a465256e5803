//! Running a script.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::script::{Step, Stream};
use super::sleeper;

/// Room for output: as much as a pipe holds.
const BUFFER: usize = 64 * 1024;

/// Runs the steps and returns the exit code. The error names the step that failed.
pub(super) fn play(steps: &[Step], folder: &Path) -> Result<i32, String> {
    let mut stage = Stage::new(folder).map_err(|error| error.to_string())?;
    for step in steps {
        match stage.act(step) {
            Ok(Some(code)) => return Ok(code),
            Ok(None) => {}
            Err(error) => return Err(format!("{step:?}: {error}")),
        }
    }
    Ok(0)
}

/// Makes the process deaf to a signal. Children that exec start with the default again.
pub(super) fn ignore(signal: Signal) -> io::Result<()> {
    // A handler that does nothing but set a flag nobody reads.
    signal_hook::flag::register(signal.as_raw(), Arc::new(AtomicBool::new(false))).map(drop)
}

/// The process's streams, and what it read last.
struct Stage {
    folder: PathBuf,
    out: Option<BufWriter<File>>,
    err: Option<BufWriter<File>>,
    input: Option<BufReader<File>>,
    last: String,
}

impl Stage {
    fn new(folder: &Path) -> io::Result<Self> {
        // Not `io::stdout()`: that one looks for newlines in all that it is given, and flushes at each. The copies are
        // closed in children: a sleeper holds only what it is told to hold.
        let copy = |stream: OwnedFd| BufWriter::with_capacity(BUFFER, File::from(stream));
        Ok(Self {
            folder: folder.to_path_buf(),
            out: rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3).ok().map(copy),
            err: rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3).ok().map(copy),
            input: rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)
                .ok()
                .map(|stream| BufReader::new(File::from(stream))),
            last: String::new(),
        })
    }

    fn act(&mut self, step: &Step) -> io::Result<Option<i32>> {
        match step {
            Step::Out(text) => {
                let line = self.filled(text).into_owned();
                say(&mut self.out, |out| writeln!(out, "{line}"))?;
            }
            Step::Raw(bytes) => say(&mut self.out, |out| out.write_all(bytes))?,
            Step::Err(text) => {
                let line = self.filled(text).into_owned();
                say(&mut self.err, |err| writeln!(err, "{line}"))?;
            }
            Step::ErrFill(count) => say(&mut self.err, |err| fill(err, *count))?,
            Step::Repeat(count, text) => say(&mut self.out, |out| repeat(out, *count, text))?,
            Step::BigLine(count, text) => say(&mut self.out, |out| {
                let (before, after) = text.split_once("{fill}").unwrap_or((text, ""));
                out.write_all(before.as_bytes())?;
                fill(out, *count)?;
                writeln!(out, "{after}")
            })?,
            Step::ReadLine(path) => {
                self.read_line()?;
                if let Some(path) = path {
                    let mut file = OpenOptions::new()
                        .create(true)
                        .append(true)
                        .open(self.folder.join(path))?;
                    file.write_all(self.last.as_bytes())?;
                }
            }
            Step::ReadUntil(text) => {
                while self.read_line()? > 0 && !self.last.contains(text.as_str()) {}
            }
            Step::ReadStdin(path) => {
                let mut sink: Box<dyn io::Write> = match path {
                    Some(path) => Box::new(File::create(self.folder.join(path))?),
                    None => Box::new(io::sink()),
                };
                io::copy(self.input()?, &mut sink)?;
            }
            Step::EchoStdin => {
                let input = self.input.as_mut().ok_or_else(closed)?;
                let out = self.out.as_mut().ok_or_else(closed)?;
                echo(input, out)?;
            }
            Step::Sleep(ms) => thread::sleep(Duration::from_millis(*ms)),
            Step::WaitFile(path) => {
                let path = self.folder.join(path);
                while !path.exists() {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            Step::Touch(path) => drop(File::create(self.folder.join(path))?),
            Step::WriteFile(path, text) => self.save(path, &format!("{text}\n"))?,
            Step::DumpEnv(path) => self.save(path, &environment().to_string())?,
            Step::DumpArgv(path) => self.save(path, &arguments().to_string())?,
            Step::DumpCwd(path) => self.save(path, &std::env::current_dir()?.to_string_lossy())?,
            Step::Ignore(signal) => ignore(*signal)?,
            Step::ForkSleeper(path, options) => sleeper::start(&self.folder.join(path), options)?,
            Step::Close(stream) => self.close(*stream)?,
            Step::SignalSelf(signal) => {
                rustix::process::kill_process(rustix::process::getpid(), *signal)?
            }
            Step::Exit(code) => return Ok(Some(*code)),
        }
        Ok(None)
    }

    fn input(&mut self) -> io::Result<&mut BufReader<File>> {
        self.input.as_mut().ok_or_else(closed)
    }

    fn read_line(&mut self) -> io::Result<usize> {
        let mut bytes = Vec::new();
        let count = self.input()?.read_until(b'\n', &mut bytes)?;
        self.last = String::from_utf8_lossy(&bytes).into_owned();
        Ok(count)
    }

    /// Puts what was read last into `${last}` and `${last.KEY}`.
    fn filled<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if !text.contains("${last") {
            return Cow::Borrowed(text);
        }
        let last: Value = serde_json::from_str(&self.last).unwrap_or_default();
        let mut result = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${last") {
            result.push_str(before);
            let (key, after) = after.split_once('}').unwrap_or((after, ""));
            match key.strip_prefix('.') {
                Some(key) => match member(&last, key) {
                    Some(Value::String(text)) => result.push_str(text),
                    Some(other) => result.push_str(&other.to_string()),
                    None => {}
                },
                None => result.push_str(self.last.trim_end_matches(['\n', '\r'])),
            }
            rest = after;
        }
        result.push_str(rest);
        Cow::Owned(result)
    }

    fn save(&self, path: &str, text: &str) -> io::Result<()> {
        // Renamed into place: who sees the file finds all of it.
        let path = self.folder.join(path);
        let aside = path.with_extension("writing");
        fs::write(&aside, text)?;
        fs::rename(aside, path)
    }

    fn close(&mut self, stream: Stream) -> io::Result<()> {
        let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
        match stream {
            Stream::In => {
                self.input = None;
                rustix::stdio::dup2_stdin(null.as_fd())?;
            }
            Stream::Out => {
                self.out = None;
                rustix::stdio::dup2_stdout(null.as_fd())?;
            }
            Stream::Err => {
                self.err = None;
                rustix::stdio::dup2_stderr(null.as_fd())?;
            }
        }
        Ok(())
    }
}

fn closed() -> io::Error {
    io::Error::other("the stream is closed")
}

/// Writes and flushes; to a stream that the script closed it writes nothing.
fn say(
    stream: &mut Option<BufWriter<File>>,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let Some(stream) = stream else { return Ok(()) };
    write(stream)?;
    stream.flush()
}

fn fill(stream: &mut BufWriter<File>, count: usize) -> io::Result<()> {
    io::copy(&mut io::repeat(b'x').take(count as u64), stream).map(drop)
}

fn repeat(stream: &mut BufWriter<File>, count: usize, text: &str) -> io::Result<()> {
    let pieces: Vec<&str> = text.split("{i}").collect();
    for index in 0..count {
        for (place, piece) in pieces.iter().enumerate() {
            if place > 0 {
                write!(stream, "{index}")?;
            }
            stream.write_all(piece.as_bytes())?;
        }
        stream.write_all(b"\n")?;
    }
    Ok(())
}

/// Copies at once what there is: a peer that waits for the echo of half a line gets it.
fn echo(input: &mut BufReader<File>, out: &mut BufWriter<File>) -> io::Result<()> {
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(());
        }
        out.write_all(bytes)?;
        out.flush()?;
        let count = bytes.len();
        input.consume(count);
    }
}

/// The first member of that name, looking into everything.
fn member<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Object(members) => {
            members.get(key).or_else(|| members.values().find_map(|inner| member(inner, key)))
        }
        Value::Array(items) => items.iter().find_map(|inner| member(inner, key)),
        _ => None,
    }
}

fn environment() -> Value {
    std::env::vars_os()
        .map(|(name, value)| {
            (name.to_string_lossy().into_owned(), Value::from(value.to_string_lossy()))
        })
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn arguments() -> Value {
    std::env::args_os().map(|argument| Value::from(argument.to_string_lossy())).collect()
}
