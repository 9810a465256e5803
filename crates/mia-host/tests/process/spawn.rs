//! What a child is started with, and what stands in the way (M-10).

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;

use mia_host::{SpawnError, SpawnSpec, Stdin};
use pretty_assertions::assert_eq;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::world::{shell, supervisor};

async fn output(spec: SpawnSpec) -> Vec<u8> {
    let mut child = supervisor().spawn(spec).await.unwrap();
    let mut bytes = Vec::new();
    child.stdout.read_to_end(&mut bytes).await.unwrap();
    bytes
}

#[tokio::test]
async fn arguments_are_any_bytes() {
    let odd = [&b""[..], b"-x", b"\xff\xfe\n\t\"'$(id)", "ä 😀".as_bytes(), b"--"];
    let mut spec = shell("printf '%s\\0' \"$@\"");
    spec.args.push("sh".into());
    spec.args.extend(odd.iter().map(|bytes| OsString::from_vec(bytes.to_vec())));
    assert_eq!(output(spec).await, [odd.join(&0), vec![0]].concat());
}

#[tokio::test]
async fn the_environment_is_what_was_asked_for_and_the_marker() {
    let mut spec = shell("");
    spec.program = "/usr/bin/env".into();
    spec.args.clear();
    spec.env = vec![("A".into(), OsString::from_vec(b"1\xff=\n".to_vec()))];
    let bytes = output(spec).await;
    assert!(bytes.starts_with(b"A=1\xff=\n\nMIA_SUPERVISED="), "{}", bytes.escape_ascii());
}

#[tokio::test]
async fn an_environment_beyond_any_socket_buffer_arrives() {
    let mut spec = shell("echo ${#V7} ${#V14}");
    spec.env.extend((0..15).map(|n| (format!("V{n}").into(), "x".repeat(100_000).into())));
    assert_eq!(output(spec).await, b"100000 100000\n");
}

#[tokio::test]
async fn stdin_is_a_pipe_or_at_its_end() {
    let spec = SpawnSpec { stdin: Stdin::Piped, ..shell("cat; pwd") };
    let spec = SpawnSpec { cwd: "/usr".into(), ..spec };
    let mut child = supervisor().spawn(spec).await.unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"hello\n").await.unwrap();
    drop(stdin);
    let mut text = String::new();
    child.stdout.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "hello\n/usr\n");
    assert_eq!(output(shell("cat; echo end")).await, b"end\n");
}

#[tokio::test]
async fn m_010_what_stands_in_the_way_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str, mode: u32| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let program = |program: std::path::PathBuf| SpawnSpec { program, ..shell("") };
    let cwd = |cwd: std::path::PathBuf| SpawnSpec { cwd, ..shell("exit 0") };
    let with_arg = |arg: String| {
        let mut spec = shell("exit 0");
        spec.args.push(arg.into());
        spec
    };
    let with_env = |name: &str, value: String| {
        let mut spec = shell("exit 0");
        spec.env.push((name.into(), value.into()));
        spec
    };
    let many = || {
        let mut spec = shell("exit 0");
        spec.args.extend((0..70).map(|_| OsString::from("x".repeat(100_000))));
        spec
    };
    let plain = file("plain", "#!/bin/sh\n", 0o644);
    let table = [
        (program(folder.path().join("none")), "NotFound"),
        (program(plain.join("below")), "NotFound"),
        (program("".into()), "IsDirectory"),
        (program(plain.clone()), "PermissionDenied"),
        (program(folder.path().into()), "IsDirectory"),
        (program(file("empty", "", 0o755)), "NotExecutableFormat, empty"),
        (program(file("text", "some text\n", 0o755)), "NotExecutableFormat"),
        (program(file("script", "#!/nowhere/sh\n", 0o755)), "InterpreterNotFound"),
        (program("a\0b".into()), "NulByte in the program's path"),
        (cwd(folder.path().join("none")), "CwdNotFound"),
        (cwd(plain.clone()), "CwdNotADirectory"),
        (cwd("a\0b".into()), "NulByte in the working folder"),
        (with_arg("a\0b".into()), "NulByte in argument 3"),
        (with_env("N", "a\0b".into()), "NulByte in the variable N"),
        (with_env("", String::new()), "InvalidVariableName"),
        (with_env("A=B", String::new()), "InvalidVariableName"),
        (with_arg("x".repeat(200_000)), "ArgumentListTooLong"),
        (many(), "ArgumentListTooLong"),
        (with_env("N", "x".repeat(17 << 20)), "ArgumentListTooLong"),
    ];
    let supervisor = supervisor();
    for (spec, expected) in table {
        let error = supervisor.spawn(spec).await.unwrap_err();
        let found = match &error {
            SpawnError::NotFound { .. } => "NotFound".into(),
            SpawnError::InterpreterNotFound { .. } => "InterpreterNotFound".into(),
            SpawnError::PermissionDenied { .. } => "PermissionDenied".into(),
            SpawnError::IsDirectory { .. } => "IsDirectory".into(),
            SpawnError::NotExecutableFormat { empty: true, .. } => {
                "NotExecutableFormat, empty".into()
            }
            SpawnError::NotExecutableFormat { .. } => "NotExecutableFormat".into(),
            SpawnError::CwdNotFound { .. } => "CwdNotFound".into(),
            SpawnError::CwdNotADirectory { .. } => "CwdNotADirectory".into(),
            SpawnError::NulByte { what } => format!("NulByte in {what}"),
            SpawnError::InvalidVariableName { .. } => "InvalidVariableName".into(),
            SpawnError::ArgumentListTooLong { .. } => "ArgumentListTooLong".into(),
            other => format!("{other:?}"),
        };
        assert_eq!(found, expected, "{error}");
    }
    // And none of these did any harm.
    assert_eq!(output(shell("echo fine")).await, b"fine\n");
}

#[tokio::test]
async fn m_010_a_relative_program_starts_at_the_working_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tool");
    std::fs::write(&path, "#!/bin/sh\necho tool\n").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let spec = SpawnSpec { program: "tool".into(), cwd: folder.path().into(), ..shell("") };
    assert_eq!(output(spec).await, b"tool\n");
}
