//! How the child is started: its program, its prompt, its environment.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use mia_api::{Cause, ErrorCode, NoticeKind};
use mia_plugin::{CodingPlugin, Inherit};
use mia_testkit::proc;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::toy::{DONE, Toy, text};
use crate::world::{World, nowhere};

const ANSWER: &str = "read-stdin in\ndump-argv argv\nout {\"t\":\"done\"}\n";

#[tokio::test]
async fn m_010_whatever_stands_in_the_way_is_a_spawn_failure_with_a_hint() {
    let place = tempfile::tempdir().unwrap();
    let program = |name: &str, text: &[u8], mode| {
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    };
    let folder = place.path().join("folder");
    fs::create_dir(&folder).unwrap();
    for (binary, cause) in [
        (nowhere(), Cause::NotInstalled),
        ("no-such-program-anywhere".into(), Cause::NotInstalled),
        (program("plain", b"#!/bin/sh\n", 0o644), Cause::NotExecutable),
        (program("empty", b"", 0o755), Cause::NotExecutable),
        (folder, Cause::NotExecutable),
        (program("torn", b"\x7fELF and no more", 0o755), Cause::NotExecutable),
        (program("script", b"#!/nonexistent/node\n", 0o755), Cause::NotInstalled),
    ] {
        let name = binary.display().to_string();
        let world = World::with(Toy::default(), "", |config| config.binary = Some(binary)).await;
        let ran = world.run(world.dispatch("x")).await;
        let error = ran.error();
        assert_eq!((error.code, error.cause), (ErrorCode::SpawnFailure, Some(cause)), "{name}");
        assert!(error.message.contains(&name), "{}", error.message);
        assert!(error.hint.as_ref().is_some_and(|hint| !hint.is_empty()), "{error:?}");
        assert_eq!(world.plugin.running_task_count(), 0);
    }
}

#[tokio::test]
async fn m_010_a_program_without_a_path_is_installed_as_the_hint_says() {
    let world = World::with(Toy::default(), "", |config| config.binary = None).await;
    let mut dispatch = world.dispatch("x");
    dispatch.environment = [("PATH", "/nonexistent/bin")].into_iter().collect();
    let ran = world.run(dispatch).await;
    assert_eq!(ran.error().hint.as_deref(), Some("install it with: npm i toy"));
    assert_eq!(ran.error().detail.as_deref(), Some("searched: /nonexistent/bin"));
}

#[tokio::test]
async fn m_010_the_program_is_found_on_the_path_of_the_caller() {
    let world = World::with(Toy::default(), DONE, |config| {
        config.binary = Some("fakecli".into());
    })
    .await;
    let mut dispatch = world.dispatch("x");
    let folder = world.dir.path().as_os_str().to_owned();
    dispatch.environment = [("PATH", folder)].into_iter().collect();
    assert_eq!(world.run(dispatch).await.content(), "");
}

#[tokio::test]
async fn m_010_a_working_directory_that_is_not_there_is_told() {
    let world = World::new(DONE).await;
    let file = world.cli.beside("file");
    fs::write(&file, "").unwrap();
    for cwd in [nowhere(), file] {
        let mut dispatch = world.dispatch("x");
        dispatch.options.working_directory = cwd.clone();
        let ran = world.run(dispatch).await;
        let error = ran.error();
        assert_eq!(error.code, ErrorCode::SpawnFailure);
        assert_eq!(error.cause, Some(Cause::WorkingDirectory));
        assert!(error.message.contains(&cwd.display().to_string()), "{}", error.message);
        assert!(error.hint.is_some());
    }
}

#[tokio::test]
async fn m_010_an_argument_that_the_system_cannot_pass_is_told() {
    let world =
        World::with(Toy::default(), DONE, |config| config.args = vec!["a\0b".to_owned()]).await;
    let ran = world.run(world.dispatch("x")).await;
    assert_eq!(ran.code(), Some(ErrorCode::SpawnFailure));
    assert!(ran.error().message.contains("NUL"), "{}", ran.error().message);
    assert!(ran.error().hint.is_some());
}

#[tokio::test]
async fn m_011_a_prompt_of_a_million_bytes_arrives_by_stdin() {
    let world = World::new(ANSWER).await;
    let prompt = format!("-v{}", "ü".repeat(499_999));
    assert_eq!(prompt.len(), 1_000_000);
    world.run(world.dispatch(&prompt)).await.outcome.unwrap();
    assert!(world.file("in") == prompt, "it arrives byte for byte");
}

#[tokio::test]
async fn m_011_a_prompt_is_never_an_argument() {
    let canary = format!("canary-{}", mia_api::TaskId::generate());
    let world = World::new(
        "read-stdin in\ndump-argv argv\ntouch read\nwait-file go\nout {\"t\":\"done\"}\n",
    )
    .await;
    let running = world.start(world.dispatch(&canary));
    world.made("read").await;
    assert_eq!(world.file("in"), canary);
    assert_eq!(proc::with_argument(&canary), []);
    world.open_gate("go");
    running.end().await.outcome.unwrap();
}

#[tokio::test]
async fn m_011_prompts_that_look_like_options_or_hold_anything_arrive_as_they_are() {
    let world = World::new(ANSWER).await;
    for prompt in ["-v", "--help", "--", "", "a\0b", " \n", "\u{feff}x"] {
        world.run(world.dispatch(prompt)).await.outcome.unwrap();
        assert_eq!(world.file("in"), prompt);
        let argv: Value = serde_json::from_str(&world.file("argv")).unwrap();
        assert_eq!(argv.as_array().unwrap()[1..], ["run"]);
    }
}

#[tokio::test]
async fn m_013_canaries_stay_out_and_what_is_declared_or_passed_arrives() {
    let change = |config: &mut mia_plugin::PluginConfig| {
        config.pass_env = vec!["NPM_TOKEN".to_owned()];
        config.env = [("SET_TOKEN".to_owned(), "by-configuration".to_owned())].into();
    };
    let script = [&text("x"), "dump-env env\ndump-cwd cwd\n", DONE].concat();
    let world = World::with(Toy::default(), &script, change).await;
    let mut dispatch = world.dispatch("x");
    dispatch.environment = [
        ("CLAUDECODE", "canary"),
        ("CLAUDE_CODE_ENTRYPOINT", "canary"),
        ("EDITOR", "vi"),
        ("GITHUB_TOKEN", "canary"),
        ("MIA_HOME", "canary"),
        ("MY_API_KEY", "canary"),
        ("NO_COLOR", "0"),
        ("NPM_TOKEN", "passed"),
        ("PATH", "/usr/bin:/bin"),
        ("TOY_API_KEY", "declared"),
    ]
    .into_iter()
    .collect();
    dispatch.options.env = [("OF_THIS_CALL".to_owned(), "1".to_owned())].into();
    let ran = world.run(dispatch).await;
    let mut env: Value = serde_json::from_str(&world.file("env")).unwrap();
    // The supervisor's own mark, which is no secret.
    assert!(env.as_object_mut().unwrap().remove("MIA_SUPERVISED").is_some());
    let expected = serde_json::json!({
        "EDITOR": "vi",
        "NO_COLOR": "1",
        "NPM_TOKEN": "passed",
        "OF_THIS_CALL": "1",
        "PATH": "/usr/bin:/bin",
        "SET_TOKEN": "by-configuration",
        "TOY_API_KEY": "declared",
    });
    assert_eq!(env, expected);
    let notices = ran.notices(NoticeKind::WithheldEnv);
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains("GITHUB_TOKEN, MY_API_KEY (plugins.toy.pass_env"), "{notices:?}");
    assert!(!format!("{ran:?}").contains("canary"), "no value is told");
}

#[tokio::test]
async fn m_013_withheld_names_are_told_once_a_conversation() {
    let world = World::new(DONE).await;
    let mut dispatch = world.dispatch("x");
    dispatch.environment = [("GITHUB_TOKEN", "canary")].into_iter().collect();
    dispatch.earlier_turns = 1;
    assert!(world.run(dispatch).await.notices(NoticeKind::WithheldEnv).is_empty());
}

#[tokio::test]
async fn m_013_minimal_inherits_only_what_every_program_needs() {
    let world = World::with(Toy::default(), &["dump-env env\n", DONE].concat(), |config| {
        config.inherit = Inherit::Minimal;
    })
    .await;
    let mut dispatch = world.dispatch("x");
    let caller = [("EDITOR", "vi"), ("LC_ALL", "C"), ("PATH", "/bin"), ("TOY_API_KEY", "k")];
    dispatch.environment = caller.into_iter().collect();
    world.run(dispatch).await.outcome.unwrap();
    let env: Value = serde_json::from_str(&world.file("env")).unwrap();
    let names: Vec<_> = env.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["LC_ALL", "MIA_SUPERVISED", "NO_COLOR", "PATH", "TOY_API_KEY"]);
}

#[tokio::test]
async fn m_010_a_probe_tells_the_version_or_what_is_wrong() {
    let world = World::new("errfill 1000000\nout toy 1.2.3\nout more\n").await;
    let probe = world.plugin.probe(&crate::world::environment()).await;
    assert_eq!(probe.version.as_deref(), Some("toy 1.2.3"));
    assert_eq!((probe.found_by, probe.problem), (Some("configured"), None));
    assert!(world.plugin.is_available().await);

    // A helper that it leaves behind holds nobody up, and does not stay.
    world.cli.script("fork-sleeper pid setsid hold-stdout\nout toy 1.2.4\n");
    assert_eq!(
        world.plugin.probe(&crate::world::environment()).await.version.as_deref(),
        Some("toy 1.2.4")
    );
    world.all_gone().await;

    world.cli.script("exit 3\n");
    let problem = world.plugin.probe(&crate::world::environment()).await.problem.unwrap();
    assert!(problem.ends_with("--version failed: it ended with exit code 3"), "{problem}");
    assert!(!world.plugin.is_available().await);
}
