//! Whatever lies in a folder.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use mia_api::{Cause, ErrorCode};
use pretty_assertions::assert_eq;

use super::fixture::Fixture;

#[tokio::test]
async fn odd_files_are_named_for_what_they_are() {
    let fixture = Fixture::empty().await;
    rustix::fs::mkfifoat(rustix::fs::CWD, fixture.cwd.join("pipe"), 0o600.into()).unwrap();
    fixture.write("picture.png", b"\x89PNG\0\0");
    fixture.write("empty.txt", "");
    fixture.write("line.txt", "x".repeat(5_000_000));
    fixture.write("latin.txt", b"caf\xe9\n");
    fixture.write("escape.txt", "a\x1b]0;owned\x07b\n");
    fixture.write("short.txt", "one\ntwo\n");
    symlink("loop", fixture.cwd.join("loop")).unwrap();
    for (prompt, answer) in [
        ("show pipe", "is a pipe, a socket or a device"),
        ("show picture.png", "is no text: 6 bytes"),
        ("show empty.txt", "is empty"),
        ("show line.txt", "xxx"),
        ("show latin.txt", "caf\u{FFFD}"),
        ("show escape.txt", "a\u{FFFD}]0;owned\u{FFFD}b"),
        ("show short.txt 7-9", "has only 2 lines"),
        ("show short.txt 2-1", "2  two"),
        ("show loop", "I can't read `loop`"),
        ("show \0", "I can't read"),
        ("show missing", "There is no `missing` here"),
    ] {
        let said = fixture.ask(prompt).await;
        assert!(said.text().contains(answer), "{prompt}: {}", said.text());
        assert!(said.text().len() < 10_000, "{prompt}");
    }
}

#[tokio::test]
async fn odd_folders_are_walked_to_their_end() {
    let fixture = Fixture::empty().await;
    fixture.write("good.rs", "fn needle() {}\n");
    fixture.write("closed/hidden.rs", "fn needle() {}\n");
    symlink("..", fixture.cwd.join("up")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, fixture.cwd.join("pipe.rs"), 0o600.into()).unwrap();
    std::fs::write(fixture.cwd.join(OsStr::from_bytes(b"b\xff\x1b[31m.rs")), "fn needle() {}\n")
        .unwrap();
    let closed = fixture.cwd.join("closed");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
    let readable = std::fs::read_dir(&closed).is_ok();
    for prompt in ["overview", "find needle", "show ."] {
        let said = fixture.ask(prompt).await;
        assert!(said.text().contains("good.rs") || prompt == "overview", "{}", said.text());
    }
    let overview = fixture.ask("overview").await;
    let expected = if readable { "3 files" } else { "2 files" };
    assert!(overview.text().contains(expected), "{}", overview.text());
    // A superuser reads everything.
    assert!(readable || overview.text().contains("1 place could not be read"));
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
}

#[tokio::test]
async fn a_working_directory_that_is_gone_is_an_error() {
    let fixture = Fixture::empty().await;
    std::fs::remove_dir(&fixture.cwd).unwrap();
    let error = fixture.ask("overview").await.outcome.unwrap_err();
    let expected = (ErrorCode::SpawnFailure, Some(Cause::WorkingDirectory));
    assert_eq!((error.code, error.cause), expected);
}

/// A repository must not run code by being there.
#[tokio::test]
async fn programs_that_a_repository_names_are_not_run() {
    let fixture = Fixture::project().await;
    let trap = fixture.home.join("trap");
    std::fs::write(&trap, format!("#!/bin/sh\ntouch {}\n", fixture.home.join("sprung").display()))
        .unwrap();
    std::fs::set_permissions(&trap, std::fs::Permissions::from_mode(0o755)).unwrap();
    let trap = trap.to_str().unwrap();
    for setting in
        ["core.fsmonitor", "core.pager", "diff.external", "core.editor", "diff.x.textconv"]
    {
        fixture.git(&["config", setting, trap]);
    }
    fixture.write(".gitattributes", "*.rs diff=x\n");
    fixture.write("src/lib.rs", "changed\n");
    for prompt in ["status", "diff", "log", "overview"] {
        fixture.ask(prompt).await.outcome.unwrap();
    }
    assert!(!fixture.home.join("sprung").exists());
}
