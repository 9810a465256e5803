//! Becoming the fake CLI: is it asked for, and with which script?

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::exit;

use super::play::play;
use super::program::{NAME, SCRIPT};
use super::script::parse;
use super::sleeper;

/// Exit code for a script that can't be found or parsed.
const BAD_SCRIPT: i32 = 99;
/// Exit code for a step that failed.
const FAILED_STEP: i32 = 98;

/// Runs the fake CLI and ends the process, if this process was started as one; else returns at once.
pub(crate) fn run_if_asked() {
    let Some(program) = env::args_os().next().map(PathBuf::from) else {
        return;
    };
    let named = program.file_name() == Some(OsStr::new(NAME));
    if named || located(&program).is_some_and(|path| path.with_file_name(SCRIPT).exists()) {
        main();
    }
}

/// The fake CLI as a program. Ends the process.
pub fn main() -> ! {
    let arguments: Vec<_> = env::args_os().collect();
    if arguments.get(1).is_some_and(|first| first == sleeper::ARGUMENT) {
        sleeper::sleep(arguments.get(2).expect("the sleeper's file"), &arguments[3..]);
    }
    let program = arguments.first().map(PathBuf::from).unwrap_or_default();
    let beside = located(&program).and_then(|path| path.parent().map(Path::to_path_buf));
    let folder = beside.clone().or_else(|| env::current_dir().ok()).unwrap_or_default();
    let text = match find_script(beside.as_deref(), arguments.get(1..3)) {
        Ok(text) => text,
        Err(error) => fail(BAD_SCRIPT, &format!("no script: {error}")),
    };
    let steps = match parse(&text) {
        Ok(steps) => steps,
        Err(error) => fail(BAD_SCRIPT, &error),
    };
    match play(&steps, &folder) {
        Ok(code) => exit(code),
        Err(error) => fail(FAILED_STEP, &error),
    }
}

fn fail(code: i32, what: &str) -> ! {
    eprintln!("fakecli: {what}");
    exit(code)
}

/// Where the program lies that was started as `argv0`, without following the link.
fn located(argv0: &Path) -> Option<PathBuf> {
    if argv0.components().count() > 1 {
        return Some(argv0.to_path_buf());
    }
    env::split_paths(&env::var_os("PATH")?)
        .map(|folder| folder.join(argv0))
        .find(|path| path.exists())
}

fn find_script(
    beside: Option<&Path>,
    arguments: Option<&[std::ffi::OsString]>,
) -> io::Result<String> {
    if let Ok(text) = env::var("FAKECLI_SCRIPT") {
        return Ok(text);
    }
    if let Some(path) = env::var_os("FAKECLI_SCRIPT_FILE") {
        return fs::read_to_string(path);
    }
    if let Some(folder) = beside {
        if let Some(path) = take_queued(folder)? {
            return fs::read_to_string(path);
        }
        let path = folder.join(SCRIPT);
        if path.exists() {
            return fs::read_to_string(path);
        }
    }
    match arguments {
        Some([flag, path]) if flag == "--script" && path == "-" => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text)?;
            Ok(text)
        }
        Some([flag, path]) if flag == "--script" => fs::read_to_string(path),
        _ => Err(io::Error::other(
            "give FAKECLI_SCRIPT, a file fakecli.script beside the program, or --script PATH",
        )),
    }
}

/// Takes the first queued script: of several runs at once each gets another one.
fn take_queued(folder: &Path) -> io::Result<Option<PathBuf>> {
    let prefix = format!("{SCRIPT}.");
    let mut queued: Vec<PathBuf> = fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .and_then(OsStr::to_str)
                .and_then(|name| name.strip_prefix(&prefix))
                .is_some_and(|number| {
                    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
                })
        })
        .collect();
    queued.sort();
    for path in queued {
        let taken = path.with_extension(format!("taken-{}", std::process::id()));
        // Whoever renames it has it.
        if fs::rename(&path, &taken).is_ok() {
            return Ok(Some(taken));
        }
    }
    Ok(None)
}
