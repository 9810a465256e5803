//! What an exit of Gemini CLI without a last word means.

use mia_api::{Cause, ErrorCode, PluginError};
use mia_plugin::{Exit, Out};

/// Says what the exit means, where its status has a meaning. What stands on stderr is full of
/// warnings: only the lines that belong to the status count. Those about its start mean nothing once
/// it has spoken, for what it worked on may have said the same.
pub(super) fn without_a_word(exit: &Exit<'_>, resumed: bool, has_spoken: bool, out: &mut Out) {
    let line = |words: &str| exit.stderr.lines().find(|line| line.contains(words)).map(str::trim);
    let last = || exit.stderr.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let at_start = |words: &str| line(words).filter(|_| !has_spoken);
    let stale = at_start("Error resuming session");
    let error = match exit.code {
        Some(41) => authentication(exit.stderr, out),
        Some(42) if resumed && stale.is_some() => {
            out.stale_session(stale.unwrap_or_default());
            return;
        }
        Some(42) => out
            .error(ErrorCode::ProviderError, Cause::InvalidRequest, "gemini refused the request")
            .with_detail(last().unwrap_or_default()),
        Some(44) => out
            .error(ErrorCode::SpawnFailure, Cause::NotExecutable, "gemini has no sandbox to run in")
            .with_detail(last().unwrap_or_default())
            .with_hint("mend or unset GEMINI_SANDBOX, or tools.sandbox in gemini's settings"),
        Some(52) => settings(exit.stderr, out),
        Some(53) => out.error(
            ErrorCode::Unknown,
            Cause::NoResult,
            "gemini reached its limit of model requests",
        ),
        Some(54) => {
            out.error(ErrorCode::Unknown, Cause::NoResult, "a tool of gemini failed for good")
        }
        Some(55) => out
            .error(
                ErrorCode::SpawnFailure,
                Cause::WorkingDirectory,
                "gemini does not trust the working directory, and .gemini or .env is in it or above it",
            )
            .with_hint(
                "look at what is in them, then run `gemini` there once and trust the folder, or \
                 set GEMINI_CLI_TRUST_WORKSPACE=true",
            ),
        Some(130) => out.error(ErrorCode::Aborted, Cause::Requested, "gemini was interrupted"),
        Some(1) if at_start("Unknown argument").or(at_start("Invalid values:")).is_some() => out
            .error(
                ErrorCode::SpawnFailure,
                Cause::NotExecutable,
                "this version of gemini does not know an option that it was given",
            )
            .with_detail(line("Unknown argument").or(line("Argument:")).unwrap_or_default())
            .with_hint(
                "look at plugins.gemini.args in the configuration, or run: mia plugin upgrade \
                 gemini; or, where mia did not install it, update it, or run: mia plugin install \
                 gemini",
            ),
        _ => return,
    };
    out.fail(error);
}

/// It has no way to log in, or one that does not work without a person.
fn authentication(stderr: &str, out: &Out) -> PluginError {
    let error = |message: &str| out.error(ErrorCode::ProviderError, Cause::Authentication, message);
    if stderr.contains("Invalid auth method selected") {
        // With an own address it chooses a way to log in that it then refuses.
        error("gemini does not accept its way to log in").with_hint(
            "with GOOGLE_GEMINI_BASE_URL, set security.auth.selectedType to \"gemini-api-key\" in \
             ~/.gemini/settings.json",
        )
    } else {
        error("gemini is not logged in")
            .with_hint("run `gemini` once and log in, or set GEMINI_API_KEY")
    }
}

/// Its settings are wrong, or forbid what was asked for.
fn settings(stderr: &str, out: &Out) -> PluginError {
    let said = |words: &str| stderr.lines().find(|line| line.contains(words)).map(str::trim);
    if let Some(line) = said("YOLO mode is disabled") {
        out.error(ErrorCode::SpawnFailure, Cause::NotExecutable, "gemini's settings forbid `full`")
            .with_detail(line)
            .with_hint("choose `--permissions edit`, or allow it in gemini's settings")
    } else {
        let line = said("Error in ").or(said("Invalid ")).unwrap_or_default();
        out.error(ErrorCode::SpawnFailure, Cause::NotExecutable, "gemini's settings are wrong")
            .with_detail(line)
            .with_hint("mend them: ~/.gemini/settings.json, or .gemini/settings.json here")
    }
}
