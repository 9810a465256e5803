//! From a call to a command line.

use std::cell::Cell;

use mia_api::{Cause, ErrorCode, PermissionPolicy, PluginError};
use mia_plugin::{Call, Launch};

use crate::model::{Arg, Manifest, Mode, Stdin};
use crate::template::{Given, Template};

/// The longest argument that Linux takes, less its closing zero byte.
const LONGEST: usize = 128 * 1024 - 1;

/// A longer id of a session is none that an agent makes.
const LONGEST_ID: usize = 1024;

/// An argument that is to be checked, or a place for others.
enum Piece {
    Arg { text: String, begins_with: Option<Given>, givens: Vec<Given> },
    Configured,
    Permissions,
}

/// How the CLI is started for a call.
pub(crate) fn launch(manifest: &Manifest, call: &Call<'_>) -> Result<Launch, PluginError> {
    let name = manifest.name.as_str();
    if !call.images.is_empty() {
        let message = format!("{name} takes no pictures: a manifest can't hand them over");
        return Err(PluginError::new(ErrorCode::Unknown, name, message)
            .with_cause(Cause::InvalidRequest)
            .with_hint("name their files in the prompt"));
    }
    let mode = manifest.permissions.of(call.permissions).ok_or_else(|| refused(manifest, call))?;
    let nameless = Cell::new(false);
    let value = |given: &Given| match given {
        Given::Prompt => Some(call.prompt.to_owned()),
        Given::Session => call.session.map(|session| session.session_id.clone()),
        // An empty one is none.
        Given::Model => call.model.filter(|model| !model.trim().is_empty()).map(str::to_owned),
        Given::Cwd => {
            let name = call.working_directory.to_str();
            nameless.set(nameless.get() || name.is_none());
            name.map(str::to_owned)
        }
    };
    let mut launch = Launch::default();
    for text in arguments(manifest, mode, call.extra_args, &value)? {
        launch.arg(text);
    }
    let settings = manifest.env.iter().chain(&mode.env);
    launch.env.extend(settings.map(|(name, value)| (name.into(), value.into())));
    launch.stdin = match &manifest.stdin {
        Stdin::Nothing => Vec::new(),
        Stdin::Text(template) => template.fill(value).unwrap_or_default().into_bytes(),
        Stdin::Line(json) => {
            let line = json.fill(&value).unwrap_or_default();
            format!("{line}\n").into_bytes()
        }
    };
    if nameless.get() {
        let message = format!(
            "{name} is told its folder in words, and the name of {} is not UTF-8",
            call.working_directory.display()
        );
        return Err(PluginError::new(ErrorCode::SpawnFailure, name, message)
            .with_cause(Cause::WorkingDirectory)
            .with_hint("rename the folder, or choose another"));
    }
    Ok(launch)
}

/// All arguments in their order, each of which the system takes and the CLI reads as what it is.
fn arguments(
    manifest: &Manifest,
    mode: &Mode,
    configured: &[String],
    value: &dyn Fn(&Given) -> Option<String>,
) -> Result<Vec<String>, PluginError> {
    let mut pieces = Vec::new();
    flatten(&manifest.args, value, &mut pieces);
    let mut added = Vec::new();
    flatten(&mode.args, value, &mut added);
    put(&mut pieces, added, |piece| matches!(piece, Piece::Permissions));
    let configured = configured.iter().map(|arg| Piece::Arg {
        text: arg.clone(),
        begins_with: None,
        givens: Vec::new(),
    });
    put(&mut pieces, configured.collect(), |piece| matches!(piece, Piece::Configured));
    let mut arguments = Vec::new();
    let mut after_dashes = false;
    for piece in pieces {
        after_dashes |= is_dashes(&piece);
        if let Piece::Arg { text, begins_with, givens } = piece {
            check(manifest, &text, begins_with.filter(|_| !after_dashes), &givens)?;
            arguments.push(text);
        }
    }
    Ok(arguments)
}

/// True when a session of this id can be resumed: it is a name, as any record of sessions takes it,
/// and whatever else is asked for, it can stand where the arguments have it.
pub(crate) fn can_resume(manifest: &Manifest, id: &str) -> bool {
    let is_name = id.len() <= LONGEST_ID && !id.chars().any(char::is_control);
    is_name
        && manifest.permissions.all().all(|mode| {
            [None, Some("model")].into_iter().all(|model| {
                let value = |given: &Given| match given {
                    Given::Session => Some(id.to_owned()),
                    Given::Model => model.map(str::to_owned),
                    Given::Prompt | Given::Cwd => Some(String::new()),
                };
                arguments(manifest, mode, &[], &value).is_ok()
            })
        })
}

/// Puts arguments into their place; without one before `--`, else at the end.
fn put(pieces: &mut Vec<Piece>, added: Vec<Piece>, is_place: fn(&Piece) -> bool) {
    let range = match pieces.iter().position(is_place) {
        Some(at) => at..at + 1,
        None => {
            let at = pieces.iter().position(is_dashes).unwrap_or(pieces.len());
            at..at
        }
    };
    pieces.splice(range, added);
}

fn is_dashes(piece: &Piece) -> bool {
    matches!(piece, Piece::Arg { text, begins_with: None, .. } if text == "--")
}

/// A policy that the CLI can't be told is refused: another one would allow what was not asked for.
fn refused(manifest: &Manifest, call: &Call<'_>) -> PluginError {
    let word = |policy| match policy {
        PermissionPolicy::ReadOnly => "read-only",
        PermissionPolicy::Edit => "edit",
        PermissionPolicy::Full => "full",
    };
    let name = manifest.name.as_str();
    let asked = call.permissions.map_or("", word);
    let message =
        format!("{name} can't be told to be {asked}: its manifest has no permissions.{asked}");
    let known: Vec<_> = manifest.policies().into_iter().map(word).collect();
    let hint = match known.as_slice() {
        [] => format!("leave out --permissions, or give its manifest permissions.{asked}"),
        known => format!(
            "leave out --permissions, choose {}, or give its manifest permissions.{asked}",
            known.join(" or ")
        ),
    };
    PluginError::new(ErrorCode::Unknown, name, message)
        .with_cause(Cause::InvalidRequest)
        .with_hint(hint)
}

fn flatten(args: &[Arg], value: &dyn Fn(&Given) -> Option<String>, pieces: &mut Vec<Piece>) {
    let piece = |template: &Template<Given>| {
        let begins_with = template.start().is_empty().then(|| template.places().next()).flatten();
        let givens = template.places().collect();
        Some(Piece::Arg { text: template.fill(value)?, begins_with, givens })
    };
    for arg in args {
        match arg {
            Arg::One(template) => pieces.extend(piece(template)),
            Arg::Group(templates) => {
                let all: Option<Vec<_>> = templates.iter().map(piece).collect();
                pieces.extend(all.into_iter().flatten());
            }
            Arg::If { given, then, otherwise } => {
                let args = if value(given).is_some() { then } else { otherwise };
                flatten(args, value, pieces);
            }
            Arg::Configured => pieces.push(Piece::Configured),
            Arg::Permissions => pieces.push(Piece::Permissions),
        }
    }
}

/// What the system would not take, or the CLI would read as an option.
fn check(
    manifest: &Manifest,
    text: &str,
    begins_with: Option<Given>,
    givens: &[Given],
) -> Result<(), PluginError> {
    let name = manifest.name.as_str();
    let error =
        |code, cause, message: String| Err(PluginError::new(code, name, message).with_cause(cause));
    if text.len() > LONGEST && !givens.contains(&Given::Prompt) {
        let what = givens.first().map_or("an argument".to_owned(), |given| format!("the {given}"));
        let message = format!(
            "{what} has {} bytes with what belongs to it, and {name} takes at most {LONGEST} as an argument",
            text.len()
        );
        return error(code(givens), Cause::InvalidRequest, message);
    }
    if text.len() > LONGEST {
        let message = format!(
            "the prompt has {} bytes with what belongs to it, and {name} takes at most {LONGEST} as an argument",
            text.len()
        );
        return error(ErrorCode::ProviderError, Cause::TooLong, message)
            .map_err(|e: PluginError| e.with_hint("shorten it, or let the agent read a file"));
    }
    if text.contains('\0') {
        let message = "an argument can't have a zero byte in it".to_owned();
        return error(code(givens), Cause::InvalidRequest, message);
    }
    match begins_with {
        Some(given) if text.starts_with('-') => {
            let message = format!(
                "the {given} {text:?} begins with a dash, and {name} would read it as an option"
            );
            error(code(&[given]), Cause::InvalidRequest, message)
        }
        _ => Ok(()),
    }
}

/// Whose fault an argument is.
fn code(givens: &[Given]) -> ErrorCode {
    match givens.contains(&Given::Session) {
        true => ErrorCode::SessionError,
        false => ErrorCode::Unknown,
    }
}
