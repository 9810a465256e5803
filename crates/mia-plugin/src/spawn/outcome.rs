//! From what came of a child to what a dispatch is.

use mia_api::{Cause, ErrorCode, Partial, PluginError, StopReason};

use super::failure::cut_error;
use super::judge::{Ended, Verdict, judge};
use super::out::Said;
use super::run::Ran;
use crate::sessions::SessionRecord;

/// What an attempt of a CLI plugin amounts to.
pub(super) enum Outcome {
    /// It has answered.
    Answered { said: Box<Said>, stop_reason: StopReason, record: Option<SessionRecord> },
    /// It has failed.
    Failed { error: Box<PluginError>, record: Option<SessionRecord> },
    /// It does not know its session; the error is for where that can't be helped.
    Stale { message: String, error: Box<PluginError>, visible: bool },
}

/// Concludes. A cut by us decides; else payload and exit do (M-23).
pub(super) fn conclude(plugin: &str, program: &str, max_line: usize, ran: Ran) -> Outcome {
    let Ran { mut out, exit, by_us, cut, stderr } = ran;
    let ended =
        Ended { code: exit.and_then(|e| e.code), signal: exit.and_then(|e| e.signal), by_us };
    let terminal = out.take_terminal();
    let visible = out.is_visible();
    let mut said = std::mem::take(&mut out.said);
    let verdict = match cut {
        Some(cut) => {
            let mut error = cut_error(plugin, program, max_line, cut);
            error.stderr_tail = (!stderr.trim().is_empty()).then_some(stderr);
            Verdict::Failed(Box::new(error))
        }
        None => judge(plugin, program, terminal, ended, &stderr),
    };
    let record = said
        .session_id
        .as_ref()
        .map(|id| SessionRecord { session_id: id.clone(), state: said.session_state.clone() });
    match verdict {
        Verdict::Answered { stop_reason, warning } => {
            said.warnings.extend(warning);
            Outcome::Answered { said: Box::new(said), stop_reason, record }
        }
        Verdict::Failed(mut error) => {
            add_partial(&mut error, said);
            Outcome::Failed { error, record }
        }
        Verdict::StaleSession(message) => {
            let told = format!("the agent does not know its session: {message}");
            let mut error = PluginError::new(ErrorCode::SessionError, plugin, told)
                .with_cause(Cause::StaleSession)
                .with_hint("send the prompt again: it begins a fresh session");
            said.session_id = None;
            add_partial(&mut error, said);
            Outcome::Stale { message, error: Box::new(error), visible }
        }
    }
}

/// What had been said is not lost with a failure (M-24).
fn add_partial(error: &mut PluginError, said: Said) {
    let Said { content, usage, cost_usd, session_id, .. } = said;
    let partial = Partial { content, usage, cost_usd, session_id };
    if error.partial.is_none() && partial != Partial::default() {
        error.partial = Some(Box::new(partial));
    }
}
