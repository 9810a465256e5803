//! `mia plugin`.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::claude::answer;
use crate::person::Person;

/// A `claude` that says its version first and then answers each time.
fn with_version(person: &Person) -> mia_testkit::fakecli::FakeCli {
    let claude = person.claude(&answer("ok"));
    claude.next_script("out 2.1.332 (Claude Code)\n");
    claude
}

#[test]
fn a_list_marks_the_one_that_is_asked() {
    let person = Person::new();
    with_version(&person);
    let ran = person.run(&["plugin", "list"]).code(0);
    insta::assert_snapshot!(ran.out);
}

#[test]
fn a_list_without_agents_tells_how_to_install_them() {
    let ran = Person::new().run(&["plugin", "list"]).code(0);
    insta::assert_snapshot!(ran.out);
}

#[test]
fn a_list_as_json_is_one_array() {
    let person = Person::new();
    with_version(&person);
    let ran = person.run(&["plugin", "list", "--json"]).code(0);
    insta::assert_snapshot!(ran.out.replace(person.folder().to_str().unwrap(), "/w"));
}

#[test]
fn info_tells_all_of_one() {
    let person = Person::new();
    with_version(&person);
    let ran = person.run(&["plugin", "info", "claude-code"]).code(0);
    insta::assert_snapshot!(ran.out.replace(person.folder().to_str().unwrap(), "/w"));
    with_version_again(&person);
    let json = person.run(&["plugin", "info", "claude-code", "--json"]).code(0);
    let json: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&json["name"], &json["available"]), (&"claude-code".into(), &true.into()));
    person.run(&["plugin", "info", "claude"]).code(2).says(&["did you mean \"claude-code\"?"]);
}

fn with_version_again(person: &Person) {
    let script = person.folder().join("bin/fakecli.script.000000");
    std::fs::write(script, "out 2.1.332 (Claude Code)\n").unwrap();
}

#[test]
fn switch_changes_the_configuration_and_who_is_asked() {
    let person = Person::new();
    let ran = person.run(&["plugin", "switch", "guide"]).code(0);
    assert!(ran.out.starts_with("guide is asked from now on ("), "{ran:?}");
    assert_eq!(person.run(&["config", "get", "active_plugin"]).code(0).out, "guide\n");
    person.run(&["ask", "help"]).code(0);
    person.run(&["plugin", "switch", "giude"]).code(2).says(&["did you mean \"guide\"?"]);
    person.configure("plugins:\n  guide:\n    enabled: false\n");
    person
        .run(&["plugin", "switch", "guide"])
        .code(2)
        .says(&["is disabled", "\n    mia config set plugins.guide.enabled true\n"]);
}

#[test]
fn a_test_asks_in_a_folder_of_its_own() {
    let person = Person::new();
    let claude = person.claude(&format!("dump-cwd cwd\ndump-argv argv\n{}", answer("ok")));
    let ran = person.run(&["plugin", "test"]).code(0);
    assert!(
        ran.out.starts_with("claude-code works: it answered \"ok\" with fake-model in "),
        "{ran:?}"
    );
    let cwd = std::fs::read_to_string(claude.beside("cwd")).unwrap();
    assert!(!cwd.starts_with(person.project().to_str().unwrap()), "{cwd}");
    assert!(!std::path::Path::new(&cwd).exists(), "and takes it away");
    let argv = std::fs::read_to_string(claude.beside("argv")).unwrap();
    assert!(argv.contains("--tools=Read,Grep,Glob"), "{argv}");
}

#[test]
fn a_test_that_fails_tells_why() {
    let person = Person::new();
    let claude = person.claude("err please log in\nexit 1\n");
    person
        .run(&["plugin", "test", "claude-code"])
        .code(1)
        .says(&["error: claude-code: ", "log in"]);
    claude.script("err please log in\nexit 1\n");
    let ran = person.run(&["plugin", "test", "--json"]).code(1);
    let json: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["plugin_name"], "claude-code");
    Person::new().run(&["plugin", "test", "claude-code"]).code(3).says(&["mia plugin install"]);
}

#[test]
fn an_interrupted_test_leaves_nothing() {
    let person = Person::new();
    let claude = person.claude(&(crate::claude::begin() + "touch asked\nread-line\n"));
    let child = person.start(&["plugin", "test"]);
    mia_testkit::proc::block_until("the agent", std::time::Duration::from_secs(10), || {
        claude.beside("asked").exists().then_some(())
    });
    mia_testkit::proc::Process::of(child.id()).unwrap().signal(2);
    crate::person::Ran::from(child.wait_with_output().unwrap()).code(130);
    assert_eq!(std::fs::read_dir(person.mia_home().join("runs")).unwrap().count(), 0);
}
