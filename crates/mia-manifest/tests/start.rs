//! How a CLI is started: arguments, stdin, policies.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use mia_api::{Cause, ErrorCode, Image, PermissionPolicy, PluginError};
use mia_manifest::{Manifest, ManifestAdapter};
use mia_plugin::{Call, CliAdapter as _, Launch, SessionRecord};
use pretty_assertions::assert_eq;
use serde_json::Value;

const EVENTS: &str = "events: [{when: {t: x}, session: id, text: x, complete: end_turn}]\n";

fn start(text: &str, change: impl FnOnce(&mut Call<'_>)) -> Result<Launch, PluginError> {
    asked(text, "-v\n\"{model}\"", change)
}

fn asked(
    text: &str,
    prompt: &str,
    change: impl FnOnce(&mut Call<'_>),
) -> Result<Launch, PluginError> {
    let manifest = Manifest::parse(Path::new("jot.yaml"), &format!("{text}\n{EVENTS}")).unwrap();
    let session = SessionRecord { session_id: "s-1".to_owned(), state: Value::Null };
    let extra = ["--extra".to_owned()];
    let mut call = Call::new(prompt, Path::new("/w"));
    call.session = Some(&session);
    call.model = Some("opus");
    call.extra_args = &extra;
    change(&mut call);
    ManifestAdapter::new(manifest).build_args(&call)
}

fn args(text: &str, change: impl FnOnce(&mut Call<'_>)) -> Vec<String> {
    let launch = start(text, change).unwrap();
    launch.args.into_iter().map(|arg| arg.into_string().unwrap()).collect()
}

#[test]
fn m_025_an_argument_without_its_value_is_left_out() {
    let text = r#"args: [run, [--session, "{session}"], "--model={model}", {if: session, then: [again], else: [anew]}, "{cwd}"]"#;
    let all = ["run", "--session", "s-1", "--model=opus", "again", "/w", "--extra"];
    assert_eq!(args(text, |_| {}), all);
    let fresh = |call: &mut Call<'_>| {
        call.session = None;
        call.model = None;
        call.extra_args = &[];
    };
    assert_eq!(args(text, fresh), ["run", "anew", "/w"]);
}

#[test]
fn m_025_added_arguments_stand_in_their_places_or_before_the_dashes() {
    let full = |call: &mut Call<'_>| call.permissions = Some(PermissionPolicy::Full);
    let with = |args: &str| format!("args: {args}\npermissions: {{full: [--yolo]}}");
    let prompt = "-v\n\"{model}\"";
    assert_eq!(
        args(&with(r#"[run, "--", "{prompt}"]"#), full),
        ["run", "--yolo", "--extra", "--", prompt]
    );
    assert_eq!(args(&with("[run]"), full), ["run", "--yolo", "--extra"]);
    let placed = with(r#"["{permissions}", run, "{args}", "--", "{prompt}"]"#);
    assert_eq!(args(&placed, full), ["--yolo", "run", "--extra", "--", prompt]);
}

#[test]
fn m_025_stdin_is_text_or_a_line_of_json() {
    let stdin = |text: &str| String::from_utf8(start(text, |_| {}).unwrap().stdin).unwrap();
    assert_eq!(stdin(""), "-v\n\"{model}\"");
    assert_eq!(stdin("stdin: \"# {cwd}\\n{prompt}\\n\""), "# /w\n-v\n\"{model}\"\n");
    let json = "stdin: {type: user, n: 1, yes: true, none: null, list: [\"{prompt}\", \"x{{}}\"], session: \"{session}\"}";
    assert_eq!(
        stdin(json),
        "{\"type\":\"user\",\"n\":1,\"yes\":true,\"none\":null,\"list\":[\"-v\\n\\\"{model}\\\"\",\"x{}\"],\"session\":\"s-1\"}\n"
    );
    let launch = start("args: [\"--\", \"{prompt}\"]", |_| {}).unwrap();
    assert!(launch.stdin.is_empty(), "the prompt is an argument");
}

#[test]
fn m_025_a_policy_sets_variables_and_one_that_is_not_there_is_refused() {
    let text = "env: {A: \"1\"}\npermissions: {default: [--ask], read-only: {args: [--plan], env: {B: \"2\"}}}";
    let only = |call: &mut Call<'_>| call.permissions = Some(PermissionPolicy::ReadOnly);
    let launch = start(text, only).unwrap();
    assert_eq!(launch.args, ["--plan", "--extra"]);
    assert_eq!(launch.env, [("A".into(), "1".into()), ("B".into(), "2".into())]);
    assert_eq!(args(text, |_| {}), ["--ask", "--extra"]);
    let error = start(text, |call| call.permissions = Some(PermissionPolicy::Full)).unwrap_err();
    assert_eq!(error.message, "jot can't be told to be full: its manifest has no permissions.full");
    assert!(error.hint.unwrap().contains("choose read-only"));
}

#[test]
fn m_011_what_can_be_no_argument_is_told_before_the_start() {
    let text = "args: [\"--resume={session}\", \"--\", \"{prompt}\"]";
    let long = "x".repeat(128 * 1024);
    let error = asked(text, &long, |_| {}).unwrap_err();
    assert_eq!((error.code, error.cause), (ErrorCode::ProviderError, Some(Cause::TooLong)));
    assert!(error.message.contains("131072 bytes"), "{}", error.message);
    assert!(
        asked(text, &"x".repeat(128 * 1024 - 1), |_| {}).is_ok(),
        "the longest that Linux takes"
    );
    assert!(asked("", &long, |_| {}).is_ok(), "stdin has no such limit");
    let error = asked(text, "a\0b", |_| {}).unwrap_err();
    assert!(error.message.contains("zero byte"), "{}", error.message);
    let dashed = SessionRecord { session_id: "--evil".to_owned(), state: Value::Null };
    let odd = "args: [[--resume, \"{session}\"]]";
    let launch = |text: &str| {
        let manifest =
            Manifest::parse(Path::new("jot.yaml"), &format!("{text}\n{EVENTS}")).unwrap();
        let mut call = Call::new("x", Path::new("/w"));
        call.session = Some(&dashed);
        ManifestAdapter::new(manifest).build_args(&call)
    };
    let error = launch(odd).unwrap_err();
    assert!(error.message.contains("begins with a dash"), "{}", error.message);
    assert_eq!(launch("args: [\"--resume={session}\"]").unwrap().args, ["--resume=--evil"]);
}

#[test]
fn m_025_an_empty_model_is_none() {
    let text = "args: [\"--model={model}\", {if: model, then: [chosen], else: [usual]}]";
    for model in ["", " "] {
        let empty = |call: &mut Call<'_>| call.model = Some(model);
        assert_eq!(args(text, empty), ["usual", "--extra"]);
    }
}

#[test]
fn m_010_a_folder_whose_name_is_no_text_is_refused_where_it_has_to_be_told() {
    let folder = PathBuf::from(OsString::from_vec(b"/w/\xff".to_vec()));
    let there = |text: &str| {
        let manifest =
            Manifest::parse(Path::new("jot.yaml"), &format!("{text}\n{EVENTS}")).unwrap();
        ManifestAdapter::new(manifest).build_args(&Call::new("x", &folder))
    };
    for told in ["args: [\"--cwd={cwd}\"]", "stdin: {prompt: \"{prompt}\", in: \"{cwd}\"}"] {
        let error = there(told).unwrap_err();
        assert_eq!(error.code, ErrorCode::SpawnFailure);
        assert_eq!(error.cause, Some(Cause::WorkingDirectory));
        assert!(error.message.contains("is not UTF-8"), "{}", error.message);
    }
    assert!(there("args: [run]").is_ok(), "it is only started there");
}

#[test]
fn m_017_what_is_wrong_with_a_session_in_an_argument_is_said_of_the_session() {
    let text = "args: [\"--resume={session}\"]";
    for (id, says) in
        [("x".repeat(200_000), "the session has 200009 bytes"), ("a\0b".to_owned(), "zero byte")]
    {
        let session = SessionRecord { session_id: id, state: Value::Null };
        let manifest =
            Manifest::parse(Path::new("jot.yaml"), &format!("{text}\n{EVENTS}")).unwrap();
        let mut call = Call::new("x", Path::new("/w"));
        call.session = Some(&session);
        let error = ManifestAdapter::new(manifest).build_args(&call).unwrap_err();
        assert_eq!(error.code, ErrorCode::SessionError);
        assert!(error.message.contains(says), "{}", error.message);
    }
}

#[test]
fn m_025_pictures_are_refused() {
    let image = Image { media_type: "image/png".to_owned(), data: String::new(), name: None };
    let images = [image];
    let manifest = Manifest::parse(Path::new("jot.yaml"), EVENTS).unwrap();
    let mut call = Call::new("x", Path::new("/w"));
    call.images = &images;
    let error = ManifestAdapter::new(manifest).build_args(&call).unwrap_err();
    assert!(error.message.contains("takes no pictures"), "{}", error.message);
}
