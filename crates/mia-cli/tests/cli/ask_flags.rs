//! The flags of `mia ask`, by what they do to the agent.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use mia_testkit::fakecli::FakeCli;
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::claude::answer;
use crate::person::Person;

fn person_with_claude() -> (Person, FakeCli) {
    let person = Person::new();
    let claude = person.claude(&format!("dump-argv argv\ndump-cwd cwd\n{}", answer("yes")));
    (person, claude)
}

fn argv(claude: &FakeCli) -> Vec<String> {
    serde_json::from_str(&fs::read_to_string(claude.beside("argv")).unwrap()).unwrap()
}

/// The content that the agent was given, and forgets it.
fn content(claude: &FakeCli) -> Value {
    let line = fs::read_to_string(claude.beside("prompt")).unwrap();
    fs::remove_file(claude.beside("prompt")).unwrap();
    let mut line: Value = serde_json::from_str(&line).unwrap();
    line["message"]["content"].take()
}

fn text(claude: &FakeCli) -> String {
    content(claude)[0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn permissions_reach_the_agent() {
    let (person, claude) = person_with_claude();
    person.run(&["ask", "x"]).code(0);
    let plain = argv(&claude);
    let more = |policy: &str| {
        person.run(&["ask", "--permissions", policy, "x"]).code(0);
        argv(&claude).into_iter().filter(|arg| !plain.contains(arg)).collect::<Vec<_>>()
    };
    assert_eq!(
        more("read-only"),
        ["--tools=Read,Grep,Glob", "--strict-mcp-config", "--setting-sources=user"]
    );
    assert_eq!(more("edit"), ["--permission-mode=acceptEdits"]);
    assert_eq!(more("full"), [""; 0], "full answers every question with yes");
    person.run(&["ask", "--permissions", "all", "x"]).code(2).says(&["read-only", "edit", "full"]);
}

#[test]
fn the_model_reaches_the_agent() {
    let (person, claude) = person_with_claude();
    person.run(&["ask", "--model", "opus", "x"]).code(0);
    assert!(argv(&claude).contains(&"--model=opus".to_owned()));
}

#[test]
fn a_named_conversation_is_made_and_continued() {
    let (person, claude) = person_with_claude();
    let resumes = |claude: &FakeCli| argv(claude).contains(&"--resume=s-1".to_owned());
    person.run(&["ask", "--conversation", "my-talk", "x"]).code(0);
    assert!(!resumes(&claude));
    person.run(&["ask", "--conversation", "my-talk", "y"]).code(0);
    assert!(resumes(&claude));
    person.run(&["ask", "--conversation", "another", "y"]).code(0);
    assert!(!resumes(&claude));
    person.run(&["ask", "y"]).code(0);
    assert!(!resumes(&claude), "each is new when none is named");
    person.run(&["ask", "--conversation", "", "y"]).code(2);
    person.run(&["ask", "--conversation", "a", "--continue", "y"]).code(2);
}

#[test]
fn continue_goes_on_with_the_last_one_of_the_folder() {
    let (person, _claude) = person_with_claude();
    let other = person.folder().join("home");
    let other = other.to_str().unwrap();
    let ran = person.run(&["ask", "--continue", "x"]).code(2);
    ran.says(&["there is no conversation in", "leave --continue out"]);
    person.run(&["ask", "--conversation", "here", "x"]).code(0);
    person.run(&["ask", "--conversation", "there", "--cwd", other, "x"]).code(0);
    person.run(&["plugin", "test"]).code(0);
    person.run(&["ask", "--continue", "y"]).code(0);
    person.run(&["ask", "-c", "-C", other, "y"]).code(0);
    let log = person.log();
    let conversations: Vec<_> =
        [0, 1].iter().map(|place| log[place]["conversation_id"].as_str().unwrap()).collect();
    assert_eq!(conversations, ["there", "here"], "newest first");
}

#[test]
fn files_are_handed_over() {
    let (person, claude) = person_with_claude();
    person.write("notes.txt", "line one\n");
    person.write("data.bin", b"\xff\x00\x01");
    person.write("huge.txt", "x".repeat(2_000_000));
    person.run(&["ask", "--file", "notes.txt", "x"]).code(0);
    let told = text(&claude);
    let path = person.project().join("notes.txt");
    assert!(told.contains("line one\n") && told.contains(path.to_str().unwrap()), "{told}");
    for file in ["data.bin", "huge.txt"] {
        person.run(&["ask", "-f", file, "x"]).code(0);
        let told = text(&claude);
        assert!(told.contains(person.project().join(file).to_str().unwrap()), "{told}");
        assert!(told.len() < 2000, "only its path");
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let (person, claude) = person_with_claude();
    let fifo = person.project().join("fifo");
    let made = std::process::Command::new("/usr/bin/mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    fs::create_dir(person.project().join("folder")).unwrap();
    for flag in ["--file", "--image"] {
        person.run(&["ask", flag, "missing", "x"]).code(2).says(&[flag, "missing", "No such file"]);
        person.run(&["ask", flag, "fifo", "x"]).code(2).says(&["fifo: it is not a file"]);
        person.run(&["ask", flag, "folder", "x"]).code(2).says(&["folder: it is not a file"]);
    }
    assert!(!claude.beside("argv").exists(), "nobody was asked");
}

#[test]
fn pictures_are_handed_over_and_nothing_else_as_one() {
    let (person, claude) = person_with_claude();
    person.write("dot.png", b"\x89PNG\r\n\x1a\nrest");
    person.write("text.png", "no picture");
    person.run(&["ask", "--image", "dot.png", "x"]).code(0);
    let source = &content(&claude)[1]["source"];
    assert_eq!(source["media_type"], "image/png");
    assert_eq!(source["data"], "iVBORw0KGgpyZXN0");
    let ran = person.run(&["ask", "--image", "text.png", "x"]).code(2);
    ran.says(&["text.png: neither PNG, JPEG, GIF nor WebP"]);
}

#[test]
fn cwd_is_where_the_agent_works() {
    let (person, claude) = person_with_claude();
    let odd = person.project().join("ein Ördner 漢");
    fs::create_dir(&odd).unwrap();
    person.run(&["ask", "--cwd", "ein Ördner 漢", "x"]).code(0);
    let cwd = fs::read_to_string(claude.beside("cwd")).unwrap();
    assert_eq!(fs::canonicalize(cwd).unwrap(), fs::canonicalize(&odd).unwrap());
}

#[test]
fn a_cwd_that_cannot_be_used_is_refused() {
    let (person, claude) = person_with_claude();
    person.write("file", "");
    let refused = |cwd: &str, problem: &str| {
        person.run(&["ask", "--cwd", cwd, "x"]).code(2).says(&["can't work in", cwd, problem]);
    };
    refused("missing", "there is no such folder");
    refused("file", "it is not a folder");
    assert!(!claude.beside("argv").exists(), "nobody was asked");
    assert_eq!(person.log(), serde_json::json!([]), "nothing is on record");
}

#[test]
fn a_cwd_that_may_not_be_read_is_refused() {
    let (person, claude) = person_with_claude();
    let closed = person.project().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let args = ["--no-daemon", "ask", "--cwd", "closed", "x"];
    let mut mia = person.mia(&args);
    if rustix::process::geteuid().is_root() {
        for folder in [person.folder().to_owned(), person.mia_home()] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        }
        mia = std::process::Command::new("/usr/bin/setpriv");
        mia.args(["--reuid=65534", "--regid=65534", "--clear-groups", env!("CARGO_BIN_EXE_mia")]);
        person.surround(mia.args(args));
    }
    let ran: crate::person::Ran = match mia.output() {
        Ok(output) if output.status.code() != Some(127) => output.into(),
        other => return println!("skipped: somebody else may not run the binary: {other:?}"),
    };
    ran.code(2).says(&["can't work in", "closed: you may not read it"]);
    assert!(!claude.beside("argv").exists(), "nobody was asked");
}

#[test]
fn a_deleted_working_directory_is_told() {
    let (person, _claude) = person_with_claude();
    let gone = person.project().join("gone");
    let script = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" ask x";
    let mut shell = std::process::Command::new("/bin/sh");
    person.surround(shell.args(["-c", script, env!("CARGO_BIN_EXE_mia")]));
    shell.env("PATH", format!("/usr/bin:/bin:{}", person.folder().join("bin").display()));
    let ran: crate::person::Ran = shell.output().unwrap().into();
    ran.code(2).says(&["the working directory can't be found", "--cwd"]);
    assert!(!Path::new(&gone).exists());
}

#[test]
fn no_daemon_is_accepted() {
    let (person, _claude) = person_with_claude();
    person.run(&["ask", "--no-daemon", "x"]).code(0);
}

#[test]
fn m_034_an_agent_that_is_not_there_is_passed_over_unless_it_was_named() {
    let person = Person::new();
    person.configure(
        "active_plugin: claude-code\nfallback: { plugins: [guide] }\nplugins: { claude-code: { binary: /no/claude } }\n",
    );
    let ran = person.run(&["ask", "help"]).code(0);
    assert!(ran.out.contains("guide"), "{ran:?}");
    assert!(
        ran.err.contains("claude-code failed") && ran.err.contains("guide is asked"),
        "{ran:?}"
    );
    for alone in [&["ask", "-p", "claude-code", "help"][..], &["ask", "--no-fallback", "help"]] {
        let ran = person.run(alone).code(3);
        assert_eq!(ran.out, "");
        assert!(ran.err.contains("/no/claude does not exist"), "{ran:?}");
    }
    let ran = person.run(&["ask", "-p", "claude-code", "--fallback", "help"]).code(0);
    assert!(ran.out.contains("guide"), "{ran:?}");
}
