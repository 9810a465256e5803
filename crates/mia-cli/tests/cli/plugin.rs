//! `mia plugin`.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::claude::answer;
use crate::person::Person;
use crate::terminal::Terminal;

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
fn switch_to_an_agent_that_is_not_there_tells_how_to_install_it() {
    let person = Person::new();
    let ran = person.run(&["plugin", "switch", "codex"]).code(0);
    assert!(ran.out.starts_with("codex is asked from now on ("), "{ran:?}");
    let hint = "the program codex is not installed; install it with: mia plugin install codex\n";
    assert_eq!(ran.err, format!("it can't answer yet: {hint}"));
    assert_eq!(person.run(&["-q", "plugin", "switch", "codex"]).code(0).err, "");
    assert_eq!(person.run(&["plugin", "switch", "guide"]).code(0).err, "");
}

/// Puts a manifest there whose program is missing.
fn manifest(person: &Person, name: &str, install: &str) {
    let folder = person.mia_home().join("plugins");
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "install: {install}\nexit: {{0: complete}}\nevents:\n  - when: {{t: say}}\n    text: x\n"
    );
    std::fs::write(folder.join(format!("{name}.yaml")), text).unwrap();
}

#[test]
fn a_manifest_can_not_take_the_terminal_over() {
    let person = Person::new();
    manifest(&person, "jot", r#""x\e]0;title\a\e[31m""#);
    for args in [&["list"][..], &["info", "jot"]] {
        let ran = person.run(&[&["plugin"], args].concat()).code(0);
        assert!(ran.out.contains("]0;title"), "{ran:?}");
        assert!(!ran.out.contains(['\x1b', '\x07']), "{ran:?}");
    }
    let ran = person.run(&["plugin", "switch", "jot"]).code(0);
    assert!(ran.err.contains("]0;title") && !ran.err.contains('\x1b'), "{ran:?}");
}

#[test]
fn a_terminal_has_80_columns() {
    let person = Person::new();
    let words = "a word after a word, ".repeat(12);
    manifest(&person, "jot", &words);
    for (args, indent) in [(&["info", "jot"][..], 18), (&["list"], 24)] {
        let terminal = Terminal::start(&person, &[&["plugin"], args].concat());
        let (code, screen) = terminal.end();
        assert_eq!(code, Some(0), "{screen}");
        let lines: Vec<_> = screen.lines().filter(|line| line.contains("a word")).collect();
        assert!(lines.len() > 3, "{screen}");
        for line in &lines[1..] {
            let text = line.trim_start();
            assert_eq!(line.len() - text.len(), indent, "{screen}");
            let begins = ["a ", "word ", "word, ", "after "].iter().any(|b| text.starts_with(b));
            assert!(begins && line.len() <= 80, "{screen}");
        }
    }
    let ran = person.run(&["plugin", "info", "jot"]).code(0);
    assert!(ran.out.contains(words.trim()), "no terminal, nothing is cut: {ran:?}");
}

#[test]
fn agents_are_asked_for_their_versions_a_few_at_a_time() {
    let person = Person::new();
    let (running, seen) = (person.mark("running"), person.mark("seen"));
    std::fs::create_dir(&running).unwrap();
    let script = format!(
        "PATH=/usr/bin:/bin\ntouch {0}/$$\nls {0} | wc -l >> {1}\nsleep 0.1\nrm {0}/$$\necho 1.0.0\n",
        running.display(),
        seen.display()
    );
    for number in 0..30 {
        let name = format!("jot-{number}");
        manifest(&person, &name, "x");
        person.program(&name, &script);
    }
    for args in [&["plugin", "list"][..], &["doctor"]] {
        let ran = person.run(args);
        for number in 0..30 {
            let line = ran.out.lines().find(|line| line.contains(&format!("jot-{number}")));
            assert!(line.is_some_and(|line| line.contains("1.0.0")), "{number} in {ran:?}");
        }
        let most = std::fs::read_to_string(&seen).unwrap();
        let most = most.lines().map(|line| line.trim().parse::<u32>().unwrap()).max();
        assert!(most.is_some_and(|most| (2..=8).contains(&most)), "{most:?}");
        std::fs::remove_file(&seen).unwrap();
    }
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
    // The daemon notices it a moment later.
    let runs = person.mia_home().join("runs");
    mia_testkit::proc::block_until("an empty folder", std::time::Duration::from_secs(10), || {
        (std::fs::read_dir(&runs).unwrap().count() == 0).then_some(())
    });
}
