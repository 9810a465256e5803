//! Who may do what: its rules, our questions, and its own TCP port.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use mia_api::{EventBody, OptionKind, PermissionPolicy};
use mia_testkit::proc;
use pretty_assertions::assert_eq;

use super::World;
use crate::world::{Ran, SOON, Somebody};

async fn ask(
    world: &World,
    prompt: &str,
    policy: Option<PermissionPolicy>,
    who: &Arc<Somebody>,
) -> Ran {
    let mut dispatch = world.dispatch(prompt);
    dispatch.options.permissions = policy;
    dispatch.permissions = Arc::clone(who) as _;
    world.run(dispatch).await
}

#[tokio::test]
async fn m_026_always_is_for_the_same_call_only() {
    let Some(world) = World::new().await else { return };
    let somebody = Somebody::who_says(OptionKind::AllowAlways);
    let prompt = "TOOL bash touch one\nTOOL bash touch one\nTOOL bash touch two\nSAY done";
    let ran = ask(&world, prompt, Some(PermissionPolicy::Edit), &somebody).await;
    assert_eq!(ran.answer(), "done");
    let asked: Vec<_> = somebody.asked().into_iter().map(|question| question.title).collect();
    // opencode itself would take it for all of `touch`.
    assert_eq!(asked, ["bash touch one", "bash touch two"]);
}

#[tokio::test]
async fn m_026_a_question_names_the_file_and_what_is_outside() {
    let Some(world) = World::new().await else { return };
    std::fs::write(world.home.work().join("x.env"), "A=1").unwrap();
    let somebody = Somebody::who_says(OptionKind::AllowOnce);
    let ran = ask(&world, "TOOL read x.env\nTOOL read /etc/hosts\nSAY done", None, &somebody).await;
    assert_eq!(ran.answer(), "done");
    let asked: Vec<_> = somebody.asked().into_iter().map(|question| question.title).collect();
    assert_eq!(asked, ["read x.env", "read /etc/hosts (outside the folder: /etc)"]);
    assert!(ran.results().iter().all(|result| !result.is_error), "{:?}", ran.results());
}

#[tokio::test]
async fn m_026_always_for_a_call_outside_is_for_no_other_call_there() {
    let Some(world) = World::new().await else { return };
    // Not below the home, which is in the repository that opencode works in.
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().canonicalize().unwrap();
    let file = folder.join("readable.txt");
    std::fs::write(&file, "x").unwrap();
    let (file, made) = (file.display(), folder.join("made.txt"));
    let prompt = format!(
        "TOOL read {file}\nTOOL read {file}\nTOOL bash touch {}\nTOOL write {} x\nSAY done",
        made.display(),
        made.display()
    );
    let somebody = Somebody::who_says(OptionKind::AllowAlways);
    let ran = ask(&world, &prompt, None, &somebody).await;
    assert_eq!(ran.answer(), "done");
    let asked: Vec<_> = somebody.asked().into_iter().map(|question| question.title).collect();
    let folder = folder.display();
    let place = format!("(outside the folder: {folder})");
    assert_eq!(
        asked,
        [
            format!("read {file} {place}"),
            format!("bash touch {} {place}", made.display()),
            format!("write {} {place}", made.display()),
        ]
    );
}

#[tokio::test]
async fn m_026_read_only_offers_nothing_that_writes() {
    let Some(world) = World::new().await else { return };
    std::fs::write(world.home.work().join("AGENTS.md"), "Instructions of the project.").unwrap();
    let somebody = Somebody::who_says(OptionKind::AllowOnce);
    let prompt = "TOOL write made.txt x\nTOOL bash touch made.txt\nSAY done";
    let ran = ask(&world, prompt, Some(PermissionPolicy::ReadOnly), &somebody).await;
    assert_eq!((ran.answer(), world.file("made.txt")), ("done", None));
    assert_eq!(somebody.asked(), []);
    let log = world.llm.log();
    let body = log.turns().last().unwrap().body.as_ref().unwrap();
    let offered: Vec<_> =
        body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(offered, ["glob", "grep", "read", "todowrite"]);
    assert!(body.to_string().contains("Instructions of the project."), "{body}");
}

#[tokio::test]
async fn m_026_a_policy_that_can_not_be_given_fails_the_turn() {
    let Some(world) = World::new().await else { return };
    let mut dispatch = world.dispatch("TOOL bash touch made.txt\nSAY done");
    dispatch.options.permissions = Some(PermissionPolicy::ReadOnly);
    let own = [("OPENCODE_CONFIG_CONTENT".to_owned(), r#"{"share":"disabled"}"#.to_owned())];
    dispatch.environment = world.environment().into_iter().chain(own).collect();
    let ran = world.run(dispatch).await;
    let hint = ran.error().hint.as_deref().unwrap_or_default();
    assert!(hint.contains("OPENCODE_CONFIG_CONTENT"), "{:?}", ran.error());
    assert_eq!((world.file("made.txt"), world.llm.log().total), (None, 0));
}

#[tokio::test]
async fn m_013_its_port_on_loopback_is_closed_to_others() {
    let Some(world) = World::new().await else { return };
    let mut running = world.start(world.dispatch("PRE here\nGATE open\nSAY !"));
    running.until_said("here").await;
    let ports = proc::wait_for("its port", SOON, || {
        let ports: Vec<u16> = world.alive().iter().flat_map(|p| listening(p.pid())).collect();
        (!ports.is_empty()).then_some(ports)
    })
    .await;
    for port in ports {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(b"GET /session HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(std::str::from_utf8(&answer), Ok("HTTP/1.1 401"));
    }
    world.llm.open("open");
    assert_eq!(running.end().await.answer(), "here!");
}

/// The TCP ports on which that process listens.
fn listening(pid: u32) -> Vec<u16> {
    let sockets: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok())
        .filter_map(|to| {
            Some(to.to_str()?.strip_prefix("socket:[")?.trim_end_matches(']').to_owned())
        })
        .collect();
    let table = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default();
    let port = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let listens = fields.get(3) == Some(&"0A")
            && sockets.iter().any(|s| Some(&s.as_str()) == fields.get(9));
        let (_, port) = fields.get(1)?.split_once(':')?;
        listens.then(|| u16::from_str_radix(port, 16).ok()).flatten()
    };
    table.lines().filter_map(port).collect()
}

#[tokio::test]
async fn m_006_a_rule_of_the_users_that_forbids_is_a_warning() {
    let Some(world) = World::new().await else { return };
    let config = r#"{"permission":{"bash":{"*":"allow","touch *":"deny"}}}"#;
    std::fs::write(world.home.work().join("opencode.json"), config).unwrap();
    let ran = world.run(world.dispatch("TOOL bash touch made.txt\nSAY done")).await;
    assert_eq!((ran.answer(), world.file("made.txt")), ("done", None));
    assert_eq!(ran.result().warnings, ["not allowed: bash touch made.txt"]);
    assert!(!ran.events.iter().any(|event| matches!(event, EventBody::Permission(_))));
}

#[tokio::test]
async fn m_026_a_folder_that_brings_settings_along_is_refused_under_a_policy() {
    let Some(world) = World::new().await else { return };
    let work = world.home.work();
    let made = work.join("made.txt");
    let plugin = format!(
        "require('fs').writeFileSync({made:?}, 'x');\nexport const P = async () => ({{}});\n"
    );
    std::fs::write(work.join("q.js"), &plugin).unwrap();
    for (name, text) in [
        ("opencode.json", r#"{"plugin":["./q.js"]}"#),
        ("opencode.jsonc", r#"{"plugin":["./q.js"]}"#),
        (".opencode/plugin/q.js", plugin.as_str()),
    ] {
        let file = work.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        for policy in [PermissionPolicy::ReadOnly, PermissionPolicy::Edit] {
            let nobody = Somebody::who_says(OptionKind::RejectOnce);
            let ran = ask(&world, "SAY done", Some(policy), &nobody).await;
            let named = work.join(name.split('/').next().unwrap());
            let error = ran.error();
            assert!(error.message.ends_with(named.to_str().unwrap()), "{error:?}");
            assert!(error.hint.is_some());
        }
        std::fs::remove_file(file).unwrap();
    }
    assert_eq!((world.file("made.txt"), world.llm.log().total), (None, 0));
}

#[tokio::test]
async fn m_026_edits_that_lead_out_of_the_folder_are_asked_for() {
    let Some(world) = World::new().await else { return };
    let outside = tempfile::tempdir().unwrap();
    let (work, outside) = (world.home.work().to_owned(), outside.path().canonicalize().unwrap());
    std::os::unix::fs::symlink(&outside, work.join("link")).unwrap();
    std::os::unix::fs::symlink(outside.join("new.txt"), work.join("dangling.txt")).unwrap();
    let away = outside.join("away.txt");
    let prompt = format!(
        "TOOL write inside.txt x\nTOOL write link/a.txt x\nTOOL write dangling.txt x\n\
         TOOL write {} x\nTOOL write opencode.json {{}}\nSAY done",
        away.display()
    );
    for (answer, there) in [(OptionKind::RejectOnce, 0), (OptionKind::AllowOnce, 3)] {
        let somebody = Somebody::who_says(answer);
        let ran = ask(&world, &prompt, Some(PermissionPolicy::Edit), &somebody).await;
        assert_eq!(ran.answer(), "done");
        let asked: Vec<_> = somebody.asked().into_iter().map(|question| question.title).collect();
        assert_eq!(
            asked,
            ["link/a.txt", "dangling.txt", away.to_str().unwrap(), "opencode.json"]
                .map(|path| format!("write {}", work.join(path).display()))
        );
        assert_eq!(world.file("inside.txt").as_deref(), Some("x"));
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), there);
        assert_eq!(world.file("opencode.json").is_some(), there > 0);
    }
}
