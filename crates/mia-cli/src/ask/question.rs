//! An agent's questions, asked on the terminal.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use mia_api::{OptionKind, PermissionRequest};
use tokio::sync::mpsc;

use super::text::TextOutput;
use crate::terminal::{Look, clean};

/// A line that was typed; none for the end of input (Ctrl-D).
type Typed = Option<String>;

/// Questions of one task, asked one after the other on `/dev/tty`, for stdin may be the prompt.
pub(super) struct Questions {
    terminal: File,
    typed: Option<mpsc::Receiver<Typed>>,
    open: VecDeque<PermissionRequest>,
    /// The id of the question that stands on the terminal.
    asking: Option<String>,
}

impl Questions {
    /// None when there is no terminal to ask on.
    pub(super) fn open() -> Option<Self> {
        let terminal = File::options().read(true).write(true).open("/dev/tty").ok()?;
        Some(Self { terminal, typed: None, open: VecDeque::new(), asking: None })
    }

    pub(super) fn asked(&mut self, question: PermissionRequest) {
        self.open.push_back(question);
    }

    /// Takes a question away, whoever answered it.
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
        let Some(question) = self.open.front() else {
            return;
        };
        self.asking = Some(question.id.clone());
        // An answer that can't be written ends the task elsewhere.
        let _ = output.line(&format!("? {}", question.title), Look::Strong);
        self.prompt();
        output.set_line_open(true);
        self.listen();
    }

    fn prompt(&mut self) {
        let Some(question) = self.open.front() else {
            return;
        };
        let answer = |o: &mia_api::PermissionOption| format!("{}: {}", key(o.kind), clean(&o.name));
        let answers: Vec<_> = question.options.iter().map(answer).collect();
        // If the terminal is gone, so is the person; the answer then never comes, and Ctrl-C or a
        // limit of time ends the task.
        let _ = write!(self.terminal, "  {} › ", answers.join(" · "));
    }

    /// Begins to read the terminal, in a thread that lives as long as the process: a read can't be
    /// called back.
    fn listen(&mut self) {
        if self.typed.is_some() {
            return;
        }
        let Ok(terminal) = self.terminal.try_clone() else {
            return;
        };
        let (sender, typed) = mpsc::channel(1);
        std::thread::spawn(move || {
            let mut lines = BufReader::new(terminal).lines().map_while(Result::ok);
            loop {
                let line = lines.next();
                let ended = line.is_none();
                // A terminal that is gone gives nothing but ends, so each is read once.
                if sender.blocking_send(line).is_err() || ended {
                    break;
                }
            }
        });
        self.typed = Some(typed);
    }

    /// The next answer: the question's id and the chosen option; none refuses. Cancel-safe.
    pub(super) async fn next_answer(&mut self) -> (String, Option<String>) {
        loop {
            let Some(typed) = &mut self.typed else {
                return std::future::pending().await;
            };
            let line = typed.recv().await.flatten();
            if line.is_none() {
                self.typed = None;
                // Ctrl-D leaves the cursor where it was.
                let _ = self.terminal.write_all(b"\n");
            }
            // What was typed while nothing was asked answers nothing.
            let Some(id) = self.asking.clone() else {
                continue;
            };
            let Some(question) = self.open.front() else {
                continue;
            };
            let choice = line.map_or(Choice::Refuse, |line| choose(question, &line));
            match choice {
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

#[derive(Debug, PartialEq, Eq)]
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

#[cfg(test)]
mod tests {
    use super::*;
    use mia_api::PermissionOption;

    #[test]
    fn an_answer_is_taken_by_what_it_means_and_never_guessed() {
        let option = |id: &str, kind| PermissionOption { id: id.into(), name: id.into(), kind };
        let question = PermissionRequest {
            id: "q".into(),
            tool_call_id: "t".into(),
            title: "x".into(),
            options: vec![option("ok", OptionKind::AllowOnce)],
        };
        let choice = |line| choose(&question, line);
        assert_eq!(choice(" Y \r"), Choice::Option("ok".into()));
        assert_eq!(choice("no"), Choice::Refuse);
        for unclear in ["", "always", "yy", "ok"] {
            assert_eq!(choice(unclear), Choice::Unclear, "{unclear}");
        }
    }
}
