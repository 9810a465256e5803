//! From a call to a command line.

use mia_api::{Cause, ErrorCode, PermissionPolicy, PluginError};
use mia_plugin::{Call, Launch};

use crate::model::{Arg, Manifest, Stdin};
use crate::template::{Given, Template};

/// The longest argument that Linux takes, less its closing zero byte.
const LONGEST: usize = 128 * 1024 - 1;

/// An argument that is to be checked, or a place for others.
enum Piece {
    Arg { text: String, begins_with: Option<Given> },
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
    let value = |given: &Given| match given {
        Given::Prompt => Some(call.prompt.to_owned()),
        Given::Session => call.session.map(|session| session.session_id.clone()),
        Given::Model => call.model.map(str::to_owned),
        Given::Cwd => Some(call.working_directory.to_string_lossy().into_owned()),
    };
    let mut pieces = Vec::new();
    flatten(&manifest.args, &value, &mut pieces);
    let mut added = Vec::new();
    flatten(&mode.args, &value, &mut added);
    put(&mut pieces, added, |piece| matches!(piece, Piece::Permissions));
    let configured =
        call.extra_args.iter().map(|arg| Piece::Arg { text: arg.clone(), begins_with: None });
    put(&mut pieces, configured.collect(), |piece| matches!(piece, Piece::Configured));
    let mut launch = Launch::default();
    let mut after_dashes = false;
    for piece in pieces {
        after_dashes |= is_dashes(&piece);
        if let Piece::Arg { text, begins_with } = piece {
            check(manifest, &text, begins_with.filter(|_| !after_dashes))?;
            launch.arg(text);
        }
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
    Ok(launch)
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
    matches!(piece, Piece::Arg { text, begins_with: None } if text == "--")
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
        Some(Piece::Arg { text: template.fill(value)?, begins_with })
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
fn check(manifest: &Manifest, text: &str, begins_with: Option<Given>) -> Result<(), PluginError> {
    let name = manifest.name.as_str();
    let error =
        |code, cause, message: String| Err(PluginError::new(code, name, message).with_cause(cause));
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
        return error(ErrorCode::Unknown, Cause::InvalidRequest, message);
    }
    match begins_with {
        Some(given) if text.starts_with('-') => {
            let message = format!(
                "the {given} {text:?} begins with a dash, and {name} would read it as an option"
            );
            let code =
                if given == Given::Session { ErrorCode::SessionError } else { ErrorCode::Unknown };
            error(code, Cause::InvalidRequest, message)
        }
        _ => Ok(()),
    }
}
