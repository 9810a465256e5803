//! An agent's questions, asked on the terminal.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use mia_api::{OptionKind, PermissionRequest};
use tokio::sync::mpsc;

use super::status::{Look, clean};
use super::text::TextOutput;

/// Questions of one task, asked one after the other on `/dev/tty`, for stdin may be the prompt.
pub(super) struct Questions {
    terminal: File,
    lines: Option<mpsc::Receiver<String>>,
    open: VecDeque<PermissionRequest>,
    /// The id of the question that stands on the terminal.
    asking: Option<String>,
}

impl Questions {
    /// None when there is no terminal to ask on.
    pub(super) fn open() -> Option<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
        Some(Self { terminal, lines: None, open: VecDeque::new(), asking: None })
    }

    pub(super) fn asked(&mut self, question: PermissionRequest) {
        self.open.push_back(question);
    }

    pub(super) fn resolved(&mut self, id: &str) {
        self.open.retain(|question| question.id != id);
        if self.asking.as_deref() == Some(id) {
            self.asking = None;
        }
    }

    pub(super) fn is_asking(&self) -> bool {
        self.asking.is_some()
    }

    /// Puts the first open question on the terminal, if none stands there.
    pub(super) fn show(&mut self, output: &mut TextOutput) {
        if self.asking.is_some() {
            return;
        }
        let Some(question) = self.open.front() else { return };
        self.asking = Some(question.id.clone());
        let _ = output.line(&format!("? {}", question.title), Look::Plain);
        self.prompt();
        self.listen();
    }

    fn prompt(&mut self) {
        let Some(question) = self.open.front() else { return };
        let answers: Vec<_> =
            question.options.iter().map(|o| format!("{} ({})", clean(&o.name), key(o.kind))).collect();
        // If the terminal is gone, so is the person; the answer then never comes, and Ctrl-C or a
        // limit of time ends the task.
        let _ = write!(self.terminal, "  {}: ", answers.join(", "));
    }

    /// Begins to read the terminal, in a thread that lives as long as the process: a read can't be
    /// called back.
    fn listen(&mut self) {
        if self.lines.is_some() {
            return;
        }
        let Ok(terminal) = self.terminal.try_clone() else { return };
        let (sender, lines) = mpsc::channel(1);
        std::thread::spawn(move || {
            for line in BufReader::new(terminal).lines() {
                let Ok(line) = line else { break };
                if sender.blocking_send(line).is_err() {
                    break;
                }
            }
        });
        self.lines = Some(lines);
    }

    /// The next answer: the question's id and the chosen option. Cancel-safe.
    pub(super) async fn next_answer(&mut self) -> (String, Option<String>) {
        loop {
            let Some(lines) = &mut self.lines else { return std::future::pending().await };
            let Some(line) = lines.recv().await else {
                self.lines = None;
                continue;
            };
            // What was typed while nothing was asked answers nothing.
            let Some(id) = self.asking.clone() else { continue };
            let Some(question) = self.open.front() else { continue };
            match choose(question, &line) {
                Choice::Option(option) => {
                    self.resolved(&id);
                    return (id, Some(option));
                }
                Choice::Refuse => {
                    self.resolved(&id);
                    return (id, None);
                }
                Choice::Unclear => self.prompt(),
            }
        }
    }
}

enum Choice {
    Option(String),
    Refuse,
    Unclear,
}

fn choose(question: &PermissionRequest, line: &str) -> Choice {
    let typed = line.trim().to_lowercase();
    let kind = match typed.as_str() {
        "y" | "yes" | "a" | "allow" => OptionKind::AllowOnce,
        "always" | "w" => OptionKind::AllowAlways,
        "n" | "no" | "d" | "deny" => OptionKind::RejectOnce,
        "never" => OptionKind::RejectAlways,
        _ => return Choice::Unclear,
    };
    match question.option(kind) {
        Some(option) => Choice::Option(option.to_owned()),
        None if kind == OptionKind::RejectOnce => Choice::Refuse,
        None => Choice::Unclear,
    }
}

/// What to type for an option.
fn key(kind: OptionKind) -> &'static str {
    match kind {
        OptionKind::AllowOnce => "y",
        OptionKind::AllowAlways => "always",
        OptionKind::RejectOnce => "n",
        OptionKind::RejectAlways => "never",
    }
}
