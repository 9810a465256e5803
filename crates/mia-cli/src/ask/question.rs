//! An agent's questions, asked on the terminal.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};

use mia_api::{OptionKind, PermissionRequest};
use rustix::termios::{QueueSelector, tcflush};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::text::TextOutput;
use crate::terminal::{Look, clean};

/// The longest line that is kept, in bytes; a terminal gives no longer one.
const LINE: usize = 4096;

/// Questions of one task, asked one after the other on `/dev/tty`, for stdin may be the prompt.
///
/// Only what is typed while a question stands on the terminal answers it. The terminal is read only
/// then, a line at a time, and what it has kept until then is thrown away before it is asked.
pub(super) struct Questions {
    /// What is typed; a read never waits.
    keyboard: AsyncFd<File>,
    /// The same terminal, opened for itself: a write does wait.
    terminal: File,
    /// What was typed of a line whose end is not there yet.
    line: Vec<u8>,
    open: VecDeque<PermissionRequest>,
    /// The id of the question that stands on the terminal.
    asking: Option<String>,
}

impl Questions {
    /// None when there is no terminal to ask on. Needs a runtime.
    pub(super) fn open() -> Option<Self> {
        let terminal = File::options().write(true).open("/dev/tty").ok()?;
        let keyboard = File::open("/dev/tty").ok()?;
        rustix::io::ioctl_fionbio(&keyboard, true).ok()?;
        #[expect(deprecated, reason = "the new form is unsafe; a `File` keeps its descriptor open")]
        let keyboard = AsyncFd::with_interest(keyboard, Interest::READABLE).ok()?;
        Some(Self { keyboard, terminal, line: Vec::new(), open: VecDeque::new(), asking: None })
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
        // Nobody can have meant this question with what was typed before it could be read. Writing
        // it may have taken long, so this comes after.
        self.line.clear();
        let _ = tcflush(&self.keyboard, QueueSelector::IFlush);
        self.prompt();
        output.set_line_open(true);
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

    /// The next answer: the question's id and the chosen option; none refuses. Never ready while
    /// nothing is asked. Cancel-safe.
    pub(super) async fn next_answer(&mut self) -> (String, Option<String>) {
        loop {
            let (Some(id), Some(question)) = (self.asking.clone(), self.open.front().cloned())
            else {
                return std::future::pending().await;
            };
            let choice = match self.typed().await {
                Some(line) => choose(&question, &line),
                None => {
                    // Ctrl-D leaves the cursor where it was.
                    let _ = self.terminal.write_all(b"\n");
                    Choice::Refuse
                }
            };
            let option = match choice {
                Choice::Option(option) => Some(option),
                Choice::Refuse => None,
                Choice::Unclear => {
                    self.prompt();
                    continue;
                }
            };
            self.resolved(&id);
            return (id, option);
        }
    }

    /// The next line; none for the end of input (Ctrl-D), and when the terminal is gone. Cancel-safe.
    async fn typed(&mut self) -> Option<String> {
        loop {
            let mut ready = self.keyboard.readable().await.ok()?;
            let mut bytes = [0; LINE];
            let read = match ready.try_io(|keyboard| keyboard.get_ref().read(&mut bytes)) {
                // Others that read the terminal, too, may have been faster.
                Err(_would_block) => continue,
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(Err(_)) | Ok(Ok(0)) => return None,
                Ok(Ok(count)) => bytes.get(..count)?,
            };
            // What is behind the end of a line was typed for no question: a terminal gives it with
            // the line only when it does not edit lines.
            let mut parts = read.split(|byte| *byte == b'\n');
            self.line.extend(parts.next()?.iter().take(LINE.saturating_sub(self.line.len())));
            if parts.next().is_some() {
                let line = std::mem::take(&mut self.line);
                return Some(String::from_utf8_lossy(&line).into_owned());
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
