//! The requests of one turn, each sent when the one before has its answer.

use std::collections::VecDeque;

use mia_plugin::Out;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::line::{Failure, notification, request};

/// What a turn begins with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Opening {
    /// Where the agent works.
    pub(crate) cwd: String,
    /// The session to go on with.
    pub(crate) resumed: Option<String>,
    /// The session's options to set: `configId` and `value`.
    pub(crate) settings: VecDeque<(&'static str, String)>,
    /// The prompt's content blocks.
    pub(crate) prompt: Vec<Value>,
}

/// Which request waits for its answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Step {
    #[default]
    Initialize,
    Session,
    /// The option of that id is set.
    Setting(&'static str),
    Prompt,
}

/// How far an answer has brought the turn.
#[derive(Debug)]
pub(crate) enum Progress {
    /// It goes on.
    Going,
    /// The session is open, with that answer; it goes on.
    Opened(Value),
    /// The prompt has its answer.
    Answered(Value),
    /// A request was refused; nothing more was sent.
    Failed(Step, Failure),
}

/// One turn of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    opening: Opening,
    session: Option<String>,
    step: Step,
    /// The id of the request that waits.
    waiting: u64,
}

impl Turn {
    /// A turn, and the line that begins it.
    pub(crate) fn begin(opening: Opening) -> (Self, String) {
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": {
                "fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false,
            },
            "clientInfo": {"name": "mia", "version": env!("CARGO_PKG_VERSION")},
        });
        let turn = Self { opening, waiting: 1, ..Self::default() };
        (turn, format!("{}\n", request(1, "initialize", params)))
    }

    /// True once the prompt was sent: what comes before is about earlier turns.
    pub(crate) fn is_prompted(&self) -> bool {
        self.step == Step::Prompt
    }

    /// Takes the answer to a request of ours, and sends the next one.
    pub(crate) fn answered(
        &mut self,
        id: Option<u64>,
        outcome: Result<Option<&RawValue>, Failure>,
        out: &mut Out,
    ) -> Progress {
        if id != Some(self.waiting) {
            return Progress::Going;
        }
        let result: Value = match outcome {
            Ok(raw) => raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default(),
            Err(failure) => return Progress::Failed(self.step, failure),
        };
        match self.step {
            Step::Initialize => {
                self.open_session(&result, out);
                Progress::Going
            }
            Step::Session => {
                let named = result.get("sessionId").and_then(Value::as_str).map(str::to_owned);
                let Some(session) = self.opening.resumed.clone().or(named) else {
                    let message = "the answer to session/new names no session".to_owned();
                    return Progress::Failed(self.step, Failure { message, ..Failure::default() });
                };
                out.session(&session);
                self.session = Some(session);
                self.set_or_prompt(out);
                Progress::Opened(result)
            }
            Step::Setting(_) => {
                self.set_or_prompt(out);
                Progress::Going
            }
            Step::Prompt => Progress::Answered(result),
        }
    }

    fn open_session(&mut self, initialized: &Value, out: &mut Out) {
        let mut params = json!({"cwd": self.opening.cwd, "mcpServers": []});
        // `session/load` tells all that was said before, `session/resume` does not.
        let resumes = initialized.pointer("/agentCapabilities/sessionCapabilities/resume");
        let method = match (&self.opening.resumed, resumes) {
            (None, _) => "session/new",
            (Some(_), Some(Value::Object(_))) => "session/resume",
            (Some(_), _) => "session/load",
        };
        if let (Some(id), Some(params)) = (&self.opening.resumed, params.as_object_mut()) {
            params.insert("sessionId".to_owned(), id.as_str().into());
        }
        self.send(Step::Session, method, params, out);
    }

    fn set_or_prompt(&mut self, out: &mut Out) {
        if let Some((option, value)) = self.opening.settings.pop_front() {
            let params = json!({"sessionId": self.session, "configId": option, "value": value});
            self.send(Step::Setting(option), "session/set_config_option", params, out);
        } else {
            let prompt = std::mem::take(&mut self.opening.prompt);
            self.prompt(prompt, out);
        }
    }

    /// Sends a prompt.
    pub(crate) fn prompt(&mut self, blocks: Vec<Value>, out: &mut Out) {
        let params = json!({"sessionId": self.session, "prompt": blocks});
        self.send(Step::Prompt, "session/prompt", params, out);
    }

    fn send(&mut self, step: Step, method: &str, params: Value, out: &mut Out) {
        self.step = step;
        self.waiting += 1;
        out.write_json_line(&request(self.waiting, method, params));
    }

    /// Asks the agent to stop. False when it was not yet asked anything.
    pub(crate) fn cancel(&self, out: &mut Out) -> bool {
        if self.is_prompted() {
            let params = json!({"sessionId": self.session});
            out.write_json_line(&notification("session/cancel", params));
        }
        self.is_prompted()
    }

    /// The session.
    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }
}
