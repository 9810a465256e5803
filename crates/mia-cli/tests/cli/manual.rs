//! Help, version, completions and manual pages.

use std::path::Path;
use std::process::Command;

use pretty_assertions::assert_eq;

use crate::person::{Person, Ran};

#[test]
fn the_version_needs_no_files() {
    let person = Person::new();
    std::fs::remove_dir(person.mia_home()).unwrap();
    let ran = person.run(&["--version"]).code(0);
    assert_eq!(ran.out, format!("mia {}\n", env!("CARGO_PKG_VERSION")));
    let mut bare = Command::new(env!("CARGO_BIN_EXE_mia"));
    let ran: Ran = bare.env_clear().current_dir("/").arg("--version").output().unwrap().into();
    ran.code(0);
    assert!(!person.mia_home().exists());
    assert_eq!(std::fs::read_dir(person.folder().join("home")).unwrap().count(), 0);
}

#[test]
fn help_names_every_command() {
    let person = Person::new();
    for args in [&["help"][..], &["--help"]] {
        let ran = person.run(args).code(0);
        for command in ["ask", "plugin", "config", "log", "completions", "man", "Exit status"] {
            assert!(ran.out.contains(command), "{command}: {}", ran.out);
        }
    }
    assert!(person.run(&["help", "ask"]).code(0).out.contains("--continue"));
    person.run(&[]).code(2).says(&["Usage: mia"]);
}

#[test]
fn help_calls_the_program_by_its_name() {
    let help = |name| {
        let mut command = mia_cli::command(name);
        command.find_subcommand_mut("ask").unwrap().render_long_help().to_string()
    };
    assert!(help("mia").contains("git diff | mia ask review this: -"));
    let own = help("acme");
    assert!(
        own.contains("git diff | acme ask review this: -") && own.contains("`acme plugin list`")
    );
    assert!(!own.contains("mia "), "{own}");
}

#[test]
fn completions_for_each_shell() {
    let person = Person::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = person.run(&["completions", shell]).code(0);
        assert!(ran.out.contains("mia") && ran.out.contains("permissions"), "{shell}");
    }
    person.run(&["completions", "dos"]).code(2).says(&["bash"]);
}

#[test]
fn a_manual_page_for_each_command() {
    let person = Person::new();
    let page = |of: &[&str]| person.run(&[&["man"], of].concat()).code(0).out;
    assert!(page(&[]).contains(".TH mia 1"));
    for command in ["ask", "plugin", "config", "log", "completions", "man"] {
        let page = page(&[command]);
        assert!(page.contains(&format!(".TH mia-{command} 1")), "{page}");
    }
    let install = page(&["plugin", "install"]);
    assert!(install.contains(".TH mia-plugin-install 1"), "{install}");
    assert!(install.contains("mia plugin install"), "{install}");
    // Every page that one names is there.
    let plugin = page(&["plugin"]);
    let named: Vec<_> =
        plugin.lines().filter_map(|line| line.split_once("mia\\-plugin\\-")).collect();
    assert!(named.len() > 5, "{plugin}");
    for (_, rest) in named {
        let command = rest.split(['(', '\\']).next().unwrap();
        if command != "help" {
            page(&["plugin", command]);
        }
    }
    person
        .run(&["man", "plugin", "instal"])
        .code(2)
        .says(&["mia plugin has no command \"instal\"; there are: list, info"]);
    person.run(&["man", "ask", "x"]).code(2).says(&["mia ask has no command \"x\""]);
    person.run(&["man", "aks"]).code(2).says(&["there is no command \"aks\"", "ask"]);
}

#[test]
fn the_readme_shows_what_the_guide_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // A packed crate has neither.
    if !root.join(".git").exists() {
        return;
    }
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let shown = readme.split_once("```text\n").unwrap().1.split_once("\n```").unwrap().0;
    let person = Person::new();
    let ask = ["ask", "-q", "--plugin", "guide", "what is this repository?"];
    let ran: Ran = person.mia(&ask).current_dir(root).output().unwrap().into();
    let ran = ran.code(0);
    let ends = |text: &str| {
        let mut lines = text.lines().map(str::to_owned);
        (lines.next().unwrap(), lines.next_back().unwrap())
    };
    assert_eq!(ends(shown), ends(&ran.out));
}
