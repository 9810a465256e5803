//! What a failure means.

use mia_api::{Cause, ErrorCode, PluginError};

use crate::model::{KnownError, Manifest};

/// The first known text in a foreign text, and the line that it is in.
pub(crate) fn known<'m>(manifest: &'m Manifest, text: &str) -> Option<(&'m KnownError, String)> {
    if manifest.errors.is_empty() {
        return None;
    }
    let lower: Vec<_> = text.lines().map(|line| (line, line.to_lowercase())).collect();
    manifest.errors.iter().find_map(|error| {
        let says = |line: &str| error.texts.iter().any(|text| line.contains(text.as_str()));
        let (line, _) = lower.iter().find(|(_, lower)| says(lower))?;
        Some((error, plain(line)))
    })
}

/// A line without what a terminal would take for a command.
pub(crate) fn plain(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            // A colour: everything up to its letter.
            rest.by_ref().find(char::is_ascii_alphabetic);
        } else if !c.is_control() {
            text.push(c);
        }
    }
    text.trim().to_owned()
}

/// What an HTTP status of the provider means.
pub(crate) fn of_status(status: u64, message: &str) -> Option<Cause> {
    Some(match status {
        401 | 403 => Cause::Authentication,
        413 => Cause::TooLong,
        429 => Cause::RateLimited,
        503 | 529 => Cause::Overloaded,
        500..=599 => Cause::Server,
        400..=499 if message.to_lowercase().contains("prompt is too long") => Cause::TooLong,
        400..=499 => Cause::InvalidRequest,
        _ => return None,
    })
}

/// The error that a failure is.
pub(crate) fn failure(
    manifest: &Manifest,
    message: &str,
    cause: Option<Cause>,
    hint: Option<String>,
) -> PluginError {
    let code = match cause {
        Some(Cause::Requested) => ErrorCode::Aborted,
        Some(Cause::SessionBusy) => ErrorCode::SessionError,
        Some(_) => ErrorCode::ProviderError,
        None => ErrorCode::Unknown,
    };
    let usual = match cause {
        Some(Cause::Authentication) => {
            Some(format!("log in with {}, or set its key", manifest.program()))
        }
        Some(Cause::TooLong) => Some("shorten the prompt, or begin a new conversation".to_owned()),
        Some(Cause::RateLimited | Cause::Overloaded | Cause::Server) => {
            Some("wait a little and try again, or choose another --model or --plugin".to_owned())
        }
        Some(Cause::Connection) => Some("check the network, then try again".to_owned()),
        _ => None,
    };
    let mut error = PluginError::new(code, &manifest.name, message);
    error.cause = cause;
    error.hint = hint.or(usual);
    error
}
