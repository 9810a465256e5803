//! `mia plugin check`: what is wrong with a manifest, and what it makes of recorded output.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use mia_api::{ConversationId, Event, EventBody, PluginStatus, TaskId};
use mia_config::{ConfigError, ConfigErrors, Origin};
use mia_core::Registry;
use mia_manifest::{Manifest, Replay, Replayed};
use mia_plugin::Lack;
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::manifests;
use crate::manual::{print, print_json};
use crate::mistake;
use crate::program::{Program, block_on};
use crate::setup;
use crate::table::aligned;
use crate::terminal::{Terminal, clean, fit, write};

/// How much of a recording is read at once.
const CHUNK: usize = 64 * 1024;
/// How many columns of an event's text are shown.
const COLUMNS: usize = 100;

/// What is to be checked.
pub(crate) struct Check<'a> {
    pub(crate) file: &'a Path,
    pub(crate) replay: Option<&'a Path>,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
}

pub(crate) fn run(program: &Program, check: &Check<'_>) -> Result<ExitCode, Failure> {
    if !check.file.exists() {
        let message = format!("there is no manifest {}", check.file.display());
        return Err(Failure::usage(message));
    }
    let manifest = match read(program, check.file) {
        Ok(manifest) => manifest,
        Err(mistakes) => return wrong(check, &mistakes),
    };
    match check.replay {
        Some(recording) => replay(check, manifest, recording),
        None => right(check, manifest),
    }
}

/// Reads the manifest, and sees that its name can be had.
fn read(program: &Program, file: &Path) -> Result<Manifest, ConfigErrors> {
    let manifest = Manifest::read(file)?;
    let name = manifest.name().to_owned();
    let whole = |message: String, help: String| {
        let origin = Origin::WholeFile { path: file.into() };
        ConfigErrors::from(ConfigError { origin, message, help: Some(help), snippet: None })
    };
    if file.extension().is_none_or(|extension| extension != "yaml") {
        let message = "is not read under this name".to_owned();
        return Err(whole(message, format!("name it {name}.yaml")));
    }
    let taken = program
        .built_in()
        .and_then(|mut registry| manifests::add(&mut registry, &name, manifest.clone()));
    match taken {
        Ok(()) => Ok(manifest),
        Err(error) => Err(whole(manifests::unusable(&error), "rename the file".to_owned())),
    }
}

/// A mistake for a program.
#[derive(Serialize)]
struct Mistake<'a> {
    line: Option<usize>,
    column: Option<usize>,
    message: &'a str,
    help: Option<&'a str>,
}

/// What `--json` tells.
#[derive(Serialize)]
struct Report<'a> {
    file: String,
    ok: bool,
    mistakes: Vec<Mistake<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    plugin: Option<Plugin>,
}

/// What the plugin can do, and whether its agent is there.
#[derive(Serialize)]
struct Plugin {
    name: String,
    program: String,
    binary: Option<String>,
    agent_version: Option<String>,
    problem: Option<String>,
    hint: Option<String>,
    resumes: bool,
    model: bool,
    permissions: Vec<mia_api::PermissionPolicy>,
    lacks: Vec<Lack>,
}

fn wrong(check: &Check<'_>, mistakes: &ConfigErrors) -> Result<ExitCode, Failure> {
    if check.json {
        let file = check.file.display().to_string();
        let mistakes = mistakes.list().iter().map(as_json).collect();
        print_json(&Report { file, ok: false, mistakes, plugin: None })?;
    } else {
        let terminal = Terminal::of_stderr();
        let count = match mistakes.list().len() {
            1 => "a mistake".to_owned(),
            more => format!("{more} mistakes"),
        };
        let text = terminal.error(&clean(&format!("{} has {count}", check.file.display())));
        let all = mistake::all_in_their_lines(mistakes.list(), terminal);
        write(&format!("{text}\n{all}\n"));
    }
    Ok(Exit::Failed.into())
}

fn as_json(mistake: &ConfigError) -> Mistake<'_> {
    let (line, column) = match &mistake.origin {
        Origin::File { line, column, .. } => (Some(*line), Some(*column)),
        _ => (None, None),
    };
    Mistake { line, column, message: &mistake.message, help: mistake.help.as_deref() }
}

fn right(check: &Check<'_>, manifest: Manifest) -> Result<ExitCode, Failure> {
    let status = status(&manifest)?;
    let plugin = Plugin {
        name: manifest.name().to_owned(),
        program: manifest.program().to_owned(),
        binary: status.binary,
        agent_version: status.agent_version,
        problem: status.problem,
        hint: status.hint,
        resumes: manifest.resumes(),
        model: manifest.takes_model(),
        permissions: manifest.policies(),
        lacks: manifest.lacks(),
    };
    let file = check.file.display().to_string();
    if check.json {
        return print_json(&Report { file, ok: true, mistakes: Vec::new(), plugin: Some(plugin) });
    }
    print(format!("{file} is right\n{}", summary(&plugin)).as_bytes())
}

/// Its agent, asked for its version as any other is.
fn status(manifest: &Manifest) -> Result<PluginStatus, Failure> {
    let mut registry = Registry::new();
    manifests::add(&mut registry, manifest.name(), manifest.clone())?;
    block_on(async {
        let ground = setup::ground_of(|_| Ok(registry)).await?;
        let status = ground.plugins.status(manifest.name(), &ground.environment).await;
        ground.close().await;
        Ok(status?)
    })
}

fn summary(plugin: &Plugin) -> String {
    let row = |name: &str, value: String| vec![name.to_owned(), clean(&value)];
    let found = match (&plugin.binary, &plugin.agent_version, &plugin.problem) {
        (_, _, Some(problem)) => match &plugin.hint {
            Some(hint) => format!("{problem} ({hint})"),
            None => problem.clone(),
        },
        (Some(binary), Some(version), None) => format!("{binary} ({version})"),
        (Some(binary), None, None) => binary.clone(),
        (None, _, None) => plugin.program.clone(),
    };
    let permissions: Vec<_> = plugin.permissions.iter().map(ToString::to_string).collect();
    let permissions = match permissions.as_slice() {
        [] => "none".to_owned(),
        some => some.join(", "),
    };
    let say = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    let mut rows = vec![
        row("plugin", plugin.name.clone()),
        row("program", found),
        row("resumes", say(plugin.resumes)),
        row("model", say(plugin.model)),
        row("permissions", permissions),
    ];
    rows.extend(plugin.lacks.iter().map(|lack| row("note", lack.shows.clone())));
    aligned(&rows)
}

fn replay(check: &Check<'_>, manifest: Manifest, recording: &Path) -> Result<ExitCode, Failure> {
    let read_error = |error: io::Error| {
        Failure::usage(format!("can't read the recording {}: {error}", recording.display()))
    };
    let mut input: Box<dyn Read> = match recording.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(recording).map_err(read_error)?),
    };
    let (task, conversation) = ids()?;
    let mut out = Output {
        out: BufWriter::new(io::stdout().lock()),
        json: check.json,
        task: task.clone(),
        seq: 0,
        said: (0, 0),
    };
    let mut replay = Replay::new(manifest);
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = match input.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(read_error(error)),
        };
        if !out.events(replay.read(chunk.get(..count).unwrap_or_default()))? {
            return Ok(Exit::Done.into());
        }
    }
    let mut replayed = replay.finish(task, conversation);
    out.events(std::mem::take(&mut replayed.events))?;
    out.finish()?;
    if !check.quiet {
        let terminal = Terminal::of_stderr();
        let mut text = understood(&replayed);
        if !replayed.remarks.is_empty() {
            text.push_str("this recording has no use for:\n");
            text.push_str(&mistake::all_in_their_lines(&replayed.remarks, terminal));
            text.push('\n');
        }
        write(&text);
    }
    Ok(Exit::Done.into())
}

fn ids() -> Result<(TaskId, ConversationId), Failure> {
    let bad = |_| Failure::environment("can't name the replay");
    Ok(("replay".parse().map_err(bad)?, "replay".parse().map_err(bad)?))
}

/// What of the lines was understood, in words.
fn understood(replayed: &Replayed) -> String {
    let Replayed { lines, unread, noise, .. } = replayed;
    let not: u64 = noise.values().sum();
    let known = lines.saturating_sub(not).saturating_sub(*unread);
    let mut text = format!("{lines} lines: {known} understood, {not} not");
    if *unread > 0 {
        text.push_str(&format!(", {unread} after the last word"));
    }
    text.push('\n');
    let rows: Vec<_> = noise
        .iter()
        .map(|(kind, count)| vec![String::new(), clean(kind), count.to_string()])
        .collect();
    if !rows.is_empty() {
        text.push_str("not understood, by type:\n");
        text.push_str(&aligned(&rows));
    }
    text
}

/// Where the events go.
struct Output<W: Write> {
    out: BufWriter<W>,
    json: bool,
    task: TaskId,
    seq: u64,
    /// How many bytes of text and of thought there were.
    said: (u64, u64),
}

impl<W: Write> Output<W> {
    /// Writes events. False when nobody reads them any more.
    fn events(&mut self, events: Vec<EventBody>) -> Result<bool, Failure> {
        for event in events {
            match self.event(event) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(false),
                Err(error) => {
                    return Err(Failure::environment(format!("can't write to stdout: {error}")));
                }
            }
        }
        Ok(true)
    }

    /// Writes what is left. That nobody reads it is no failure.
    fn finish(mut self) -> Result<(), Failure> {
        match self.out.flush() {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::environment(format!("can't write to stdout: {error}")))
            }
            _ => Ok(()),
        }
    }

    fn event(&mut self, body: EventBody) -> io::Result<()> {
        if !self.json {
            return writeln!(self.out, "{}", shown(&body));
        }
        self.seq += 1;
        let (seq, task_id) = (self.seq, self.task.clone());
        let counted = match &body {
            EventBody::Token { text, .. } => Some((&mut self.said.0, text.len())),
            EventBody::Thought { text, .. } => Some((&mut self.said.1, text.len())),
            _ => None,
        };
        let offset = counted.map(|(said, length)| {
            let before = *said;
            *said += length as u64;
            before
        });
        serde_json::to_writer(&mut self.out, &Event { task_id, seq, offset, body })?;
        self.out.write_all(b"\n")
    }
}

/// A word as it stands in JSON.
fn word(value: &impl Serialize) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}

/// An event on a line, for people.
fn shown(event: &EventBody) -> String {
    let of = |parent: &Option<String>| if parent.is_some() { "sub-agent: " } else { "" };
    let text = match event {
        EventBody::Token { text, parent_id, .. } => format!("{}{text:?}", of(parent_id)),
        EventBody::Thought { text, parent_id, .. } => format!("{}{text:?}", of(parent_id)),
        EventBody::ToolCall(call) => {
            format!("{}{} ({}, {})", of(&call.parent_id), call.title, word(&call.kind), call.id)
        }
        EventBody::ToolResult(result) => {
            let how = if result.is_error { "failed" } else { "ended" };
            format!("{} {how}: {:?}", result.name, result.output)
        }
        EventBody::ToolUpdate { id, .. } => id.clone(),
        EventBody::Usage { tokens, cost_usd, .. } => {
            let tokens = tokens.clone().unwrap_or_default();
            let cost = cost_usd.map(|cost| format!(", ${cost}")).unwrap_or_default();
            format!("{} in, {} out{cost}", tokens.input_tokens, tokens.output_tokens)
        }
        EventBody::Notice { message, .. } => message.clone(),
        EventBody::Complete { result } => {
            let session = result.session_id.as_deref().unwrap_or("none");
            let (reason, bytes) = (word(&result.stop_reason), result.content.len());
            format!("{reason}, {bytes} bytes of text, session {session}")
        }
        EventBody::Error { error } => format!("{}: {}", error.code, error.message),
        _ => String::new(),
    };
    fit(&format!("{:<12} {text}", event.kind()), COLUMNS).trim_end().to_owned()
}
