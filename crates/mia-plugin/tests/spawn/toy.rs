//! A made-up CLI: its adapter, and the lines of its made-up dialect.

use mia_api::{
    Cause, ErrorCode, OptionKind, PermissionOption, PermissionRequest, PermissionResolution,
    PluginError, StopReason, ToolCallInfo, Usage,
};
use mia_plugin::{Call, CliAdapter, Exit, Interrupt, Launch, Noise, Out, Profile};
use serde::Deserialize;
use serde_json::json;

/// The adapter. Its fields are the ways in which CLIs differ.
#[derive(Debug, Clone)]
pub(crate) struct Toy {
    pub(crate) dialogue: bool,
    pub(crate) takes_stdin: bool,
    pub(crate) interrupt: Interrupt,
    pub(crate) needs_cwd: bool,
    /// Without a last word an exit with status 0 is one.
    pub(crate) exit_is_the_end: bool,
}

impl Default for Toy {
    fn default() -> Self {
        Self {
            dialogue: false,
            takes_stdin: true,
            interrupt: Interrupt::None,
            needs_cwd: false,
            exit_is_the_end: false,
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
enum Said {
    Session {
        id: String,
    },
    Text {
        x: String,
    },
    Sub {
        p: String,
        x: String,
    },
    Call {
        id: String,
        name: String,
    },
    Result {
        id: String,
        x: String,
    },
    Usage {
        input: u64,
        output: u64,
    },
    /// What it wants to find again.
    Keep {
        n: u64,
    },
    Ask {
        id: String,
    },
    Unask {
        id: String,
    },
    Done,
    Fail {
        m: String,
    },
    Stale {
        m: String,
    },
    Panic,
    #[serde(other)]
    Unknown,
}

impl CliAdapter for Toy {
    fn build_args(&mut self, call: &Call<'_>) -> Result<Launch, PluginError> {
        let mut launch = Launch::new(["run"]);
        for arg in call.extra_args {
            launch.arg(arg);
        }
        if let Some(session) = call.session {
            launch.arg(format!("--resume={}", session.session_id));
            launch.arg(format!("--kept={}", session.state));
        }
        if call.somebody_there {
            launch.arg("--asks");
        }
        if self.takes_stdin {
            launch.stdin = call.prompt.into();
        }
        launch.dialogue = self.dialogue;
        Ok(launch)
    }

    fn parse_output(&mut self, line: &str, out: &mut Out) -> Result<(), Noise> {
        match serde_json::from_str(line)? {
            Said::Session { id } => out.session(&id),
            Said::Text { x } => out.token(&x),
            Said::Sub { p, x } => out.sub_agent_token(&p, &x),
            Said::Call { id, name } => {
                out.tool_call(ToolCallInfo { id, name, ..ToolCallInfo::default() });
            }
            Said::Result { id, x } => out.tool_result(&id, &x, false),
            Said::Usage { input, output } => {
                out.usage(Usage { input_tokens: input, output_tokens: output, ..Usage::default() })
            }
            Said::Keep { n } => out.session_state(json!(n)),
            Said::Ask { id } => out.ask(question(&id)),
            Said::Unask { id } => out.withdraw(&id),
            Said::Done => out.complete(StopReason::EndTurn),
            Said::Fail { m } => {
                let error = out.error(ErrorCode::ProviderError, Cause::Server, m);
                out.fail(error);
            }
            Said::Stale { m } => out.stale_session(m),
            Said::Panic => panic!("the adapter of a test panics"),
            Said::Unknown => return Err(Noise::UnknownType("?".to_owned())),
        }
        Ok(())
    }

    fn profile(&self) -> Profile {
        Profile {
            program: "toy".to_owned(),
            install: "npm i toy".to_owned(),
            env: vec!["TOY_API_KEY".to_owned()],
            session_needs_cwd: self.needs_cwd,
            ..Profile::default()
        }
    }

    fn on_permission(&mut self, resolution: &PermissionResolution, out: &mut Out) {
        out.write_json_line(&json!({"answer": resolution.id, "option": resolution.option_id}));
    }

    fn interrupt(&mut self, out: &mut Out) -> Interrupt {
        if self.interrupt == Interrupt::Written {
            out.write_json_line(&json!({"interrupt": true}));
        }
        self.interrupt
    }

    fn on_exit(&mut self, exit: &Exit<'_>, out: &mut Out) {
        if self.exit_is_the_end && exit.code == Some(0) {
            out.complete(StopReason::EndTurn);
        }
    }
}

/// The question that `ask` asks.
pub(crate) fn question(id: &str) -> PermissionRequest {
    let option = |id: &str, kind| PermissionOption { id: id.into(), name: id.into(), kind };
    PermissionRequest {
        id: id.to_owned(),
        tool_call_id: String::new(),
        title: format!("may I {id}?"),
        options: vec![option("yes", OptionKind::AllowOnce), option("no", OptionKind::RejectOnce)],
    }
}

/// The step of a script that says a line of the dialect.
pub(crate) fn say(line: &serde_json::Value) -> String {
    format!("out {line}\n")
}

pub(crate) fn text(text: &str) -> String {
    say(&json!({"t": "text", "x": text}))
}

pub(crate) fn session(id: &str) -> String {
    say(&json!({"t": "session", "id": id}))
}

pub(crate) fn call(id: &str) -> String {
    say(&json!({"t": "call", "id": id, "name": format!("tool-{id}")}))
}

pub(crate) fn result(id: &str, output: &str) -> String {
    say(&json!({"t": "result", "id": id, "x": output}))
}

pub(crate) fn ask(id: &str) -> String {
    say(&json!({"t": "ask", "id": id}))
}

/// The last word.
pub(crate) const DONE: &str = "out {\"t\":\"done\"}\n";
