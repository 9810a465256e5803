//! The answer as text on stdout, with what goes on beside it on stderr.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::time::Instant;

use mia_api::{DispatchResult, Event, EventBody, NoticeKind, ToolCallInfo, ToolResultInfo};

use super::screen::on_terminal;
use super::status::{Look, Status, seconds};
use crate::failure::describe;

/// Shows a task to a person.
pub(super) struct TextOutput {
    out: BufWriter<io::Stdout>,
    /// Whether the answer goes to a terminal; else it goes byte for byte.
    terminal: bool,
    quiet: bool,
    status: Status,
    /// Whether the terminal's line has text of the answer on it.
    line_open: bool,
    /// Whether the answer ends without a line end.
    unfinished: bool,
    tools: Vec<OpenTool>,
    /// What is waited for while no tool is open.
    doing: Option<(String, Instant)>,
    started: Instant,
}

struct OpenTool {
    id: String,
    title: String,
    since: Instant,
}

impl TextOutput {
    pub(super) fn new(quiet: bool) -> Self {
        Self {
            out: BufWriter::with_capacity(64 * 1024, io::stdout()),
            terminal: io::stdout().is_terminal(),
            quiet,
            status: Status::new(quiet),
            line_open: false,
            unfinished: false,
            tools: Vec::new(),
            doing: None,
            started: Instant::now(),
        }
    }

    pub(super) fn event(&mut self, event: Event) -> io::Result<()> {
        match event.body {
            EventBody::Attempt { plugin, .. } => {
                self.started = Instant::now();
                self.doing = Some((plugin, self.started));
            }
            EventBody::Token { text, parent_id: None, .. } => self.text(&text)?,
            EventBody::Thought { parent_id: None, .. } => {
                if self.doing.as_ref().is_none_or(|(what, _)| what != "thinking") {
                    self.doing = Some(("thinking".to_owned(), Instant::now()));
                }
            }
            EventBody::ToolCall(call) => self.tool_call(call),
            EventBody::ToolResult(result) => self.tool_result(&result)?,
            EventBody::Notice { kind, message } => self.notice(kind, &message)?,
            EventBody::Complete { result } => self.complete(&result)?,
            EventBody::Error { error } => {
                self.end_answer()?;
                let text = describe(&error);
                self.status.clear();
                let break_line = if std::mem::take(&mut self.line_open) { "\n" } else { "" };
                let _ = write!(io::stderr(), "{break_line}{}\n", multi_line(&text));
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.doing = None;
        self.status.clear();
        if self.terminal {
            self.out.write_all(on_terminal(text).as_bytes())?;
            self.line_open = !text.ends_with('\n');
        } else {
            self.out.write_all(text.as_bytes())?;
        }
        self.unfinished = !text.ends_with('\n');
        Ok(())
    }

    fn tool_call(&mut self, call: ToolCallInfo) {
        let indent = if call.parent_id.is_some() { "  " } else { "" };
        let title = if call.title.is_empty() { call.name } else { call.title };
        let title = format!("{indent}{title}");
        self.tools.push(OpenTool { id: call.id, title, since: Instant::now() });
        // Calls without results must not pile up.
        if self.tools.len() > 1000 {
            self.tools.remove(0);
        }
    }

    fn tool_result(&mut self, result: &ToolResultInfo) -> io::Result<()> {
        let Some(place) = self.tools.iter().position(|tool| tool.id == result.id) else {
            return Ok(());
        };
        let tool = self.tools.remove(place);
        if self.status.is_live() {
            let (mark, look) = if result.is_error { ("✗", Look::Bad) } else { ("✓", Look::Dim) };
            let time = seconds(tool.since.elapsed());
            self.line(&format!("{mark} {}  {time}", tool.title), look)?;
        }
        self.doing = Some(("working".to_owned(), Instant::now()));
        Ok(())
    }

    fn notice(&mut self, kind: NoticeKind, message: &str) -> io::Result<()> {
        if self.quiet {
            return Ok(());
        }
        if kind == NoticeKind::Waiting {
            self.doing = Some(("waiting for its turn".to_owned(), Instant::now()));
        }
        self.line(&format!("mia: {message}"), Look::Dim)
    }

    fn complete(&mut self, result: &DispatchResult) -> io::Result<()> {
        self.end_answer()?;
        if self.quiet {
            return Ok(());
        }
        for warning in &result.warnings {
            self.line(&format!("mia: {warning}"), Look::Plain)?;
        }
        if self.status.is_live() {
            self.line(&summary(result), Look::Dim)?;
        }
        Ok(())
    }

    /// Ends the answer's last line.
    fn end_answer(&mut self) -> io::Result<()> {
        self.status.clear();
        if std::mem::take(&mut self.unfinished) {
            self.out.write_all(b"\n")?;
            self.line_open = false;
        }
        self.out.flush()
    }

    /// Writes a line to stderr, after everything that stdout was given.
    pub(super) fn line(&mut self, text: &str, look: Look) -> io::Result<()> {
        self.out.flush()?;
        let after_text = std::mem::take(&mut self.line_open) && self.status.is_live();
        self.status.line(text, look, after_text);
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Moves the status line, where there is room for it.
    pub(super) fn tick(&mut self) {
        if self.line_open {
            return;
        }
        match (self.tools.last(), &self.doing) {
            (Some(tool), _) => {
                let more = match self.tools.len() {
                    1 => String::new(),
                    n => format!(" (+{})", n - 1),
                };
                self.status.show(&format!("{}{more}", tool.title), tool.since);
            }
            (None, Some((what, since))) => self.status.show(what, *since),
            (None, None) => {}
        }
    }
}

/// The last line: who answered, how long it took, what it used.
fn summary(result: &DispatchResult) -> String {
    let mut parts = vec![result.plugin.clone()];
    parts.extend(result.model.clone());
    parts.push(seconds(std::time::Duration::from_millis(result.duration_ms)));
    if let Some(usage) = &result.usage {
        let read = usage.input_tokens
            + usage.cache_read.unwrap_or(0)
            + usage.cache_creation.unwrap_or(0);
        parts.push(format!("{} in, {} out", short(read), short(usage.output_tokens)));
    }
    if let Some(cost) = result.cost_usd {
        parts.push(format!("${cost:.4}"));
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

/// Lines of an error, none of which can move the cursor.
fn multi_line(text: &str) -> String {
    text.lines().map(super::status::clean).collect::<Vec<_>>().join("\n")
}
