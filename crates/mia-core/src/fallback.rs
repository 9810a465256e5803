//! Whether the next plugin is asked after one has failed (M-34). Pure.

use mia_api::{Cause, ErrorCode, Phase, PluginError};
use mia_config::AfterOutput;

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The dispatch has failed.
    Stop,
    /// The next plugin is asked.
    MoveOn,
    /// The same, although something was shown already: what comes is a new answer.
    Restart,
}

/// Decides. `visible` says whether the attempt had shown anything, or its model had begun to work.
pub(crate) fn after(error: &PluginError, visible: bool, after_output: AfterOutput) -> Next {
    let hopeless = match error.code {
        // Somebody wants the end; another agent would print as much.
        ErrorCode::Aborted | ErrorCode::BufferOverflow => true,
        // The limit is the dispatch's, whoever answers.
        ErrorCode::Timeout => matches!(error.phase, Some(Phase::Total | Phase::Queue)),
        // No agent can work there.
        ErrorCode::SpawnFailure => error.cause == Some(Cause::WorkingDirectory),
        _ => false,
    };
    match (hopeless, visible, after_output) {
        (true, ..) | (false, true, AfterOutput::Fail) => Next::Stop,
        (false, true, AfterOutput::Restart) => Next::Restart,
        (false, false, _) => Next::MoveOn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m_034_what_moves_on_and_what_never_does() {
        for code in ErrorCode::ALL {
            let error = PluginError::new(code, "p", "x");
            let never = matches!(code, ErrorCode::Aborted | ErrorCode::BufferOverflow);
            let expected = if never { Next::Stop } else { Next::MoveOn };
            assert_eq!(after(&error, false, AfterOutput::Fail), expected, "{code}");
            assert_eq!(after(&error, true, AfterOutput::Fail), Next::Stop, "{code}");
            let restart = if never { Next::Stop } else { Next::Restart };
            assert_eq!(after(&error, true, AfterOutput::Restart), restart, "{code}");
        }
        let total = PluginError::new(ErrorCode::Timeout, "p", "x").with_phase(Phase::Total);
        assert_eq!(after(&total, false, AfterOutput::Fail), Next::Stop);
        let stall = PluginError::new(ErrorCode::Timeout, "p", "x").with_phase(Phase::Stall);
        assert_eq!(after(&stall, false, AfterOutput::Fail), Next::MoveOn);
    }
}
