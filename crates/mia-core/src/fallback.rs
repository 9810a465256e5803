//! Whether the next plugin is asked after one has failed (M-34). Pure.

use mia_api::{Cause, ErrorCode, PluginError};
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

/// Decides. `visible` says whether the attempt had shown anything, or its model had begun to work;
/// `out_of_time` whether the limit of the dispatch has come, which is for all attempts together.
pub(crate) fn after(
    error: &PluginError,
    visible: bool,
    out_of_time: bool,
    after_output: AfterOutput,
) -> Next {
    let hopeless = match error.code {
        // Somebody wants the end; another agent would print as much.
        ErrorCode::Aborted | ErrorCode::BufferOverflow => true,
        // A plugin's own limit is only that plugin's.
        ErrorCode::Timeout => out_of_time,
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
            assert_eq!(after(&error, false, false, AfterOutput::Fail), expected, "{code}");
            assert_eq!(after(&error, true, false, AfterOutput::Fail), Next::Stop, "{code}");
            let restart = if never { Next::Stop } else { Next::Restart };
            assert_eq!(after(&error, true, false, AfterOutput::Restart), restart, "{code}");
        }
        let timeout = PluginError::new(ErrorCode::Timeout, "p", "x");
        assert_eq!(after(&timeout, false, true, AfterOutput::Restart), Next::Stop);
    }
}
