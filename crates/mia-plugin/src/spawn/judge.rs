//! How an attempt is judged: by payload first, by exit second (M-23).

use mia_api::{Cause, ErrorCode, Phase, PluginError, StopReason};

use super::out::Terminal;

/// How the child ended, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    /// True when we ended it after its terminal message: its exit then says nothing.
    pub(super) by_us: bool,
}

/// What an attempt amounts to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// Answered; perhaps with a warning about the exit.
    Answered { stop_reason: StopReason, warning: Option<String> },
    /// Failed.
    Failed(Box<PluginError>),
    /// The session is unknown to the agent.
    StaleSession(String),
}

/// Judges: what the agent said counts; only where it said nothing does its exit.
pub(super) fn judge(
    plugin: &str,
    program: &str,
    terminal: Option<Terminal>,
    ended: Ended,
    stderr: &str,
) -> Verdict {
    match terminal {
        Some(Terminal::Complete(stop_reason)) => {
            let warning = (!ended.by_us && ended.code != Some(0))
                .then(|| format!("{program} answered, and then {}", manner(ended)));
            Verdict::Answered { stop_reason, warning }
        }
        Some(Terminal::Failed(mut error)) => {
            fill(&mut error, ended, stderr);
            Verdict::Failed(error)
        }
        Some(Terminal::StaleSession(message)) => Verdict::StaleSession(message),
        None => {
            let message = format!("{program} {} without a result", manner(ended));
            let mut error = PluginError::new(ErrorCode::ProcessExit, plugin, message)
                .with_cause(Cause::NoResult)
                .with_phase(Phase::Stream);
            fill(&mut error, ended, stderr);
            Verdict::Failed(Box::new(error))
        }
    }
}

/// Adds what the process left behind. Harmless stderr text is never the message by itself.
fn fill(error: &mut PluginError, ended: Ended, stderr: &str) {
    if !ended.by_us {
        error.exit_code = error.exit_code.or(ended.code);
        error.signal = error.signal.or(ended.signal);
    }
    if error.stderr_tail.is_none() && !stderr.trim().is_empty() {
        error.stderr_tail = Some(stderr.to_owned());
    }
}

/// How it ended, in words.
pub(super) fn manner(ended: Ended) -> String {
    match (ended.code, ended.signal) {
        (_, Some(signal)) => format!("was killed by signal {signal}"),
        (Some(code), None) => format!("exited with status {code}"),
        (None, None) => "went away".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXITS: [(Option<i32>, Option<i32>); 3] =
        [(Some(0), None), (Some(3), None), (None, Some(9))];

    fn ended((code, signal): (Option<i32>, Option<i32>)) -> Ended {
        Ended { code, signal, by_us: false }
    }

    #[test]
    fn m_023_a_good_result_is_a_success_whatever_the_exit() {
        for exit in EXITS {
            let terminal = Some(Terminal::Complete(StopReason::EndTurn));
            let Verdict::Answered { warning, .. } =
                judge("p", "cli", terminal, ended(exit), "noise")
            else {
                panic!("not a success: {exit:?}")
            };
            assert_eq!(warning.is_some(), exit != (Some(0), None));
        }
    }

    #[test]
    fn m_023_an_error_result_is_a_failure_whatever_the_exit() {
        for exit in EXITS {
            let said = PluginError::new(ErrorCode::ProviderError, "p", "overloaded");
            let terminal = Some(Terminal::Failed(Box::new(said)));
            let Verdict::Failed(error) = judge("p", "cli", terminal, ended(exit), "tail") else {
                panic!("not a failure: {exit:?}")
            };
            assert_eq!(
                (error.code, error.message.as_str()),
                (ErrorCode::ProviderError, "overloaded")
            );
            assert_eq!((error.exit_code, error.signal), exit);
            assert_eq!(error.stderr_tail.as_deref(), Some("tail"));
        }
    }

    #[test]
    fn m_023_no_result_is_process_exit_even_with_status_0() {
        for (exit, says) in EXITS.into_iter().zip(["status 0", "status 3", "signal 9"]) {
            let Verdict::Failed(error) = judge("p", "cli", None, ended(exit), "warning: x") else {
                panic!("not a failure: {exit:?}")
            };
            assert_eq!(error.code, ErrorCode::ProcessExit);
            assert_eq!(error.cause, Some(Cause::NoResult));
            assert!(error.message.contains(says), "{}", error.message);
            assert!(!error.message.contains("warning: x"), "{}", error.message);
        }
    }
}
