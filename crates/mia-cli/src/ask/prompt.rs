//! What is asked: words, stdin, files and pictures.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use base64::Engine;
use mia_api::{Attachment, Image};

use crate::failure::Failure;

/// The longest prompt that is read, in bytes.
const PROMPT: u64 = 64 * 1024 * 1024;
/// The longest file whose text is handed over; of a longer one the agent is told the path.
const FILE: u64 = 1024 * 1024;
/// The largest picture, in bytes.
const IMAGE: u64 = 20 * 1024 * 1024;

/// The prompt: the words with spaces between, each `-` among them replaced by stdin; without words
/// stdin alone.
pub(super) fn read(words: &[String]) -> Result<String, Failure> {
    let mut stdin = None;
    if words.is_empty() && io::stdin().is_terminal() {
        return Err(Failure::usage("there is nothing to ask")
            .with_help("Pipe the prompt in, or say it:")
            .with_example("ask \"explain this repo\""));
    }
    if words.is_empty() || words.iter().any(|word| word == "-") {
        stdin = Some(read_stdin()?);
    }
    let parts: Vec<&str> = match &stdin {
        Some(text) if words.is_empty() => vec![text],
        Some(text) => {
            words.iter().map(|word| if word == "-" { text.as_str() } else { word }).collect()
        }
        None => words.iter().map(String::as_str).collect(),
    };
    let prompt = parts.join(if stdin.is_some() && parts.len() > 1 { "\n\n" } else { " " });
    if prompt.trim().is_empty() {
        return Err(Failure::usage("the prompt is empty").with_help("say what is to be done"));
    }
    if let Some(position) = prompt.find('\0') {
        return Err(Failure::usage(format!(
            "the prompt has a NUL byte at position {position}, which no agent takes"
        ))
        .with_help("is it text? hand a binary file over with --file"));
    }
    Ok(prompt)
}

fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(PROMPT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::usage(format!("can't read the prompt from stdin: {error}")))?;
    if bytes.len() as u64 > PROMPT {
        return Err(Failure::usage("the prompt on stdin is over 64 MiB")
            .with_help("put it into a file and tell the agent its path with --file"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(format!("the prompt on stdin is no UTF-8 text (at byte {at})"))
            .with_help("convert it, or hand it over as a file with --file")
    })
}

/// Files to hand over, with their text where they are text.
pub(super) fn files(paths: &[PathBuf]) -> Result<Vec<Attachment>, Failure> {
    paths
        .iter()
        .map(|path| {
            let (bytes, whole) = read_file(path, "--file", FILE)?;
            let text = if whole { String::from_utf8(bytes).ok() } else { None };
            let text = text.filter(|text| !text.contains('\0'));
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            Ok(Attachment { path, text })
        })
        .collect()
}

/// Pictures to hand over.
pub(super) fn images(paths: &[PathBuf]) -> Result<Vec<Image>, Failure> {
    paths
        .iter()
        .map(|path| {
            let (bytes, whole) = read_file(path, "--image", IMAGE)?;
            if !whole {
                return Err(Failure::usage(format!("--image {}: over 20 MiB", path.display()))
                    .with_help("make it smaller"));
            }
            let media_type = media_type(&bytes).ok_or_else(|| {
                Failure::usage(format!(
                    "--image {}: neither PNG, JPEG, GIF nor WebP",
                    path.display()
                ))
            })?;
            Ok(Image {
                media_type: media_type.to_owned(),
                data: base64::engine::general_purpose::STANDARD.encode(&bytes),
                name: Some(path.display().to_string()),
            })
        })
        .collect()
}

/// At most `limit` bytes of a file, and whether that was all of it.
fn read_file(path: &Path, flag: &str, limit: u64) -> Result<(Vec<u8>, bool), Failure> {
    let failed = |problem: String| Failure::usage(format!("{flag} {}: {problem}", path.display()));
    let metadata = path.metadata().map_err(|error| failed(error.to_string()))?;
    // A pipe or a device may never end.
    if !metadata.is_file() {
        return Err(failed("it is not a file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(limit + 1).read_to_end(&mut bytes))
        .map_err(|error| failed(error.to_string()))?;
    let whole = bytes.len() as u64 <= limit;
    Ok((bytes, whole))
}

/// What kind of picture it is, by its first bytes.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
