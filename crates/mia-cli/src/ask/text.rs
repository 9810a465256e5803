//! The answer as text on stdout, with what goes on beside it on stderr.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::{Duration, Instant};

use mia_api::{
    DispatchResult, Event, EventBody, NoticeKind, PluginError, ToolCallInfo, ToolResultInfo,
};

use crate::failure::describe;
use crate::status::Status;
use crate::terminal::{Look, Terminal, clean_lines, columns, defused, width, write};
use crate::time::took;

/// How many open tool calls are kept in mind: calls without results must not pile up.
const TOOLS: usize = 1000;

/// What the model does before it says something.
const THINKING: &str = "thinking";

/// Shows a task to a person.
pub(super) struct TextOutput {
    program: &'static str,
    out: BufWriter<io::Stdout>,
    /// Whether the answer goes to a terminal; else it goes byte for byte.
    to_terminal: bool,
    quiet: bool,
    terminal: Terminal,
    status: Status,
    /// Whether the line that the next line of stderr would continue has something on it.
    line_open: bool,
    /// Whether the last thing on the terminal is a line of ours.
    below_line: bool,
    /// Whether the answer ends without a line end.
    unfinished: bool,
    /// Whether stdout and stderr are one file or pipe.
    one_file: bool,
    tools: Vec<OpenTool>,
    /// Questions that wait for an answer, each with its tool call.
    asked: Vec<(String, String)>,
    /// What is waited for while no tool is open.
    doing: Option<(String, Instant)>,
}

struct OpenTool {
    id: String,
    title: String,
    indent: &'static str,
    since: Instant,
}

impl TextOutput {
    pub(super) fn new(program: &'static str, quiet: bool) -> Self {
        let terminal = Terminal::of_stderr();
        let shown =
            if quiet { Terminal { there: false, moves: false, colours: false } } else { terminal };
        Self {
            program,
            out: BufWriter::with_capacity(64 * 1024, io::stdout()),
            to_terminal: io::stdout().is_terminal(),
            one_file: are_one_file(),
            quiet,
            terminal,
            status: Status::new(shown),
            line_open: false,
            below_line: false,
            unfinished: false,
            tools: Vec::new(),
            asked: Vec::new(),
            doing: None,
        }
    }

    /// Shows an event. An error means that stdout can't be written.
    pub(super) fn event(&mut self, event: Event) -> io::Result<()> {
        match event.body {
            EventBody::Attempt { plugin, index } => {
                // What another plugin says is an answer of its own.
                if index > 0 && self.unfinished {
                    self.text("\n")?;
                }
                self.doing = Some((plugin, Instant::now()));
            }
            EventBody::Token { text, parent_id: None, .. } => self.text(&text)?,
            EventBody::Thought { parent_id: None, .. } if !self.thinks() => {
                self.doing = Some((THINKING.to_owned(), Instant::now()));
            }
            EventBody::ToolCall(call) => self.tool_call(call),
            EventBody::ToolResult(result) => self.tool_result(&result)?,
            EventBody::Permission(request) => self.asked.push((request.id, request.tool_call_id)),
            EventBody::PermissionResolved(resolution) => self.resolved(&resolution.id),
            EventBody::Notice { kind, message } => self.notice(kind, &message)?,
            EventBody::Complete { result } => self.complete(&result)?,
            EventBody::Error { error } => self.failed(&error)?,
            _ => {}
        }
        Ok(())
    }

    fn thinks(&self) -> bool {
        self.doing.as_ref().is_some_and(|(what, _)| what == THINKING)
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        // What sets a paragraph apart from the one before is not needed below a line of ours.
        let below = self.to_terminal && self.below_line;
        let text = if below { text.trim_start_matches('\n') } else { text };
        if text.is_empty() {
            return Ok(());
        }
        self.below_line = false;
        self.doing = None;
        self.status.clear();
        self.unfinished = !text.ends_with('\n');
        if self.to_terminal {
            self.line_open = self.unfinished && self.terminal.there;
            self.out.write_all(defused(text).as_bytes())
        } else {
            self.line_open = self.unfinished && self.one_file;
            self.out.write_all(text.as_bytes())
        }
    }

    fn tool_call(&mut self, call: ToolCallInfo) {
        let indent = if call.parent_id.is_some() { "  " } else { "" };
        let title = if call.title.is_empty() { call.name } else { call.title };
        if self.tools.len() >= TOOLS {
            self.tools.remove(0);
        }
        self.tools.push(OpenTool { id: call.id, title, indent, since: Instant::now() });
    }

    fn tool_result(&mut self, result: &ToolResultInfo) -> io::Result<()> {
        let Some(place) = self.tools.iter().position(|tool| tool.id == result.id) else {
            return Ok(());
        };
        let tool = self.tools.remove(place);
        self.doing = Some(("working".to_owned(), Instant::now()));
        if self.quiet || !self.terminal.there {
            return Ok(());
        }
        let (mark, look) = if result.is_error { ("✗", Look::Bad) } else { ("✓", Look::Dim) };
        let text = format!("{}{mark} {}", tool.indent, tool.title);
        self.begin_line()?;
        self.status.took(&text, tool.since.elapsed(), look);
        Ok(())
    }

    /// The task is being aborted: whatever was going on is not worth a line any more.
    pub(super) fn aborting(&mut self) {
        self.tools.clear();
        let what = "stopping (Ctrl-C again to end it at once)";
        self.doing = Some((what.to_owned(), Instant::now()));
    }

    /// What a person took to answer is not the tool's time.
    fn resolved(&mut self, question: &str) {
        let Some(place) = self.asked.iter().position(|(id, _)| id == question) else {
            return;
        };
        let (_, call) = self.asked.remove(place);
        if let Some(tool) = self.tools.iter_mut().find(|tool| tool.id == call) {
            tool.since = Instant::now();
        }
    }

    fn notice(&mut self, kind: NoticeKind, message: &str) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        if kind == NoticeKind::Waiting {
            self.doing = Some(("waiting for its turn".to_owned(), Instant::now()));
        }
        self.line(&format!("{}: {message}", self.program), Look::Dim)
    }

    fn complete(&mut self, result: &DispatchResult) -> io::Result<()> {
        self.end_answer()?;
        if self.quiet {
            return Ok(());
        }
        for warning in &result.warnings {
            self.line(&format!("{}: {warning}", self.program), Look::Plain)?;
        }
        if self.terminal.there {
            self.line(&summary(result, columns()), Look::Dim)?;
        }
        Ok(())
    }

    fn failed(&mut self, error: &PluginError) -> io::Result<()> {
        let ended = self.end_answer();
        // It is told also when nobody reads the answer.
        self.begin_line().ok();
        self.status.clear();
        write(&format!("{}\n", self.terminal.error(&clean_lines(&describe(error)))));
        ended
    }

    /// Ends the answer's last line.
    fn end_answer(&mut self) -> io::Result<()> {
        self.status.clear();
        let one_terminal = self.to_terminal && self.terminal.there;
        // Below a line of ours on the same terminal it has ended already.
        if std::mem::take(&mut self.unfinished) && (self.line_open || !one_terminal) {
            self.out.write_all(b"\n")?;
            self.line_open = false;
        }
        self.out.flush()
    }

    /// Writes a line to stderr, after everything that stdout was given.
    pub(super) fn line(&mut self, text: &str, look: Look) -> io::Result<()> {
        self.begin_line()?;
        self.status.line(text, look);
        Ok(())
    }

    /// Goes to an empty line of the terminal, below what stdout was given.
    fn begin_line(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.below_line = true;
        if std::mem::take(&mut self.line_open) {
            write("\n");
        }
        Ok(())
    }

    /// Somebody wrote to the terminal: whether that line has something on it now.
    pub(super) fn set_line_open(&mut self, open: bool) {
        self.line_open = open;
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Moves the status line.
    pub(super) fn tick(&mut self) -> io::Result<()> {
        let (what, since) = match (self.tools.last(), &self.doing) {
            (Some(tool), _) => {
                let more = match self.tools.len() {
                    1 => String::new(),
                    n => format!(" (+{})", n - 1),
                };
                (format!("{}{more}", tool.title), tool.since)
            }
            (None, Some((what, since))) => (what.clone(), *since),
            (None, None) => return Ok(()),
        };
        if self.status.is_due(since) {
            self.begin_line()?;
            self.status.show(&what, since);
        }
        Ok(())
    }
}

/// Whether stdout and stderr go to one file or pipe, as with `2>&1`.
fn are_one_file() -> bool {
    let of = |about: rustix::io::Result<rustix::fs::Stat>| {
        about.map(|about| (about.st_dev, about.st_ino)).ok()
    };
    let out = of(rustix::fs::fstat(io::stdout()));
    out.is_some() && out == of(rustix::fs::fstat(io::stderr()))
}

/// The last line: who answered, how long it took, what it used; as much of it as there is room for.
fn summary(result: &DispatchResult, room: usize) -> String {
    let mut parts = vec![result.plugin.clone()];
    parts.extend(result.model.clone());
    parts.push(took(Duration::from_millis(result.duration_ms)));
    if let Some(usage) = &result.usage {
        let read = usage
            .input_tokens
            .saturating_add(usage.cache_read.unwrap_or(0))
            .saturating_add(usage.cache_creation.unwrap_or(0));
        parts.push(format!("{} in, {} out", short(read), short(usage.output_tokens)));
    }
    if let Some(cost) = result.cost_usd {
        parts.push(format!("${cost:.4}"));
    }
    while parts.len() > 1 && width(&parts.join(" · ")) >= room {
        parts.pop();
    }
    parts.join(" · ")
}

/// A count for people.
fn short(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit after the point")]
    let thousands = count as f64 / 1000.0;
    match count {
        0..1000 => count.to_string(),
        1000..1_000_000 => format!("{thousands:.1}k"),
        _ => format!("{:.1}M", thousands / 1000.0),
    }
}
