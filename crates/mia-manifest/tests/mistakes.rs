//! Every mistake is told in its place, with what to do.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::path::Path;

use mia_manifest::{Manifest, load};
use tempfile::TempDir;

fn mistakes(text: &str) -> String {
    Manifest::parse(Path::new("jot.yaml"), text).unwrap_err().to_string()
}

#[test]
fn m_025_every_mistake_at_once_in_its_place() {
    let text = r#"binry: jot
version: --version
pass_env: {JOT_KEY: x}
env: [JOT_KEY]
args:
  - run
  - "{prompt}"
  - "--model={modle}"
  - "{args} and more"
  - {if: sesion, then: [a]}
  - {if: model}
  - [--a, "{b"]
permissions:
  readonly: []
  full: ["{prompt}"]
session:
  needs_cwd: yes
tools: {bash: exec}
interrupt: SIGTERM
events:
  - when: type == "text"
    text: part.text
  - when: {type: tool, "a b": c}
    tool_call: {id: id}
  - when: {type: {is: x}}
    text: "a..b"
  - when: {kind: {exists: true, not: 5}}
    text: x
  - when: {type: result}
    usage: {}
    complete: done
    error: {cause: timeout}
  - when: {type: a}
  - when: {type: b}
    ignore: true
    text: t
  - when: {type: c}
    each: list
  - when: {type: d}
    text: t
    text_whole: w
  - when: {part: x}
    text: part.text
  - when: {type: [e, f]}
    text: t
  - when: {type: e, more: 1}
    text: t
  - notice: {text: "{a b}"}
errors:
  - {text: x}
exit:
  zero: complete
  1: complet
  2: {}
"#;
    let mistakes = Manifest::parse(Path::new("jot.yaml"), text).unwrap_err();
    let all: Vec<_> = mistakes.list().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(all.join("\n").replace("jot.yaml:", ""));
}

#[test]
fn m_025_what_is_wrong_as_a_whole() {
    let say = "events:\n  - when: {type: text}\n    text: text\n";
    let end = "  - when: {type: end}\n    complete: end_turn\n";
    for (text, says) in [
        ("", "the file has no \"events\""),
        ("- a\n", "expected a map"),
        ("events: []\n", "events is empty"),
        ("events: {when: {type: text}}\n", "put `- ` before its first key"),
        (say, "nothing says when it has answered"),
        (
            "events:\n  - when: {type: end}\n    complete: end_turn\n",
            "no rule says where the answer's text is",
        ),
        (
            &format!("args: [\"--resume={{session}}\"]\n{say}{end}"),
            "nothing says where its id is told",
        ),
        (&format!("stdin: hello\n{say}{end}"), "the prompt goes nowhere"),
        (
            &format!("{say}{end}  - when: {{type: end, x: 1}}\n    ignore: true\n"),
            "the one on line 4",
        ),
        ("a: b: c\n", "is not YAML"),
        ("events: *x\n", "jot.yaml:1:9"),
    ] {
        let found = mistakes(text);
        assert!(found.contains(says), "{text}: {found}");
    }
}

#[test]
fn m_011_the_prompt_is_never_where_a_dash_would_make_it_an_option() {
    let with = |args: &str| {
        let text =
            format!("args: {args}\nevents: [{{when: {{t: x}}, text: x, complete: end_turn}}]\n");
        Manifest::parse(Path::new("jot.yaml"), &text).map(|_| ())
    };
    for good in [
        r#"["--", "{prompt}"]"#,
        r#"["--prompt={prompt}"]"#,
        r#"["-p{prompt}"]"#,
        r#"[run, {if: model, then: ["--", "{prompt}"]}]"#,
        r#"["--", [a, "{prompt}"]]"#,
    ] {
        assert_eq!(with(good), Ok(()), "{good}");
    }
    for bad in [
        r#"["{prompt}"]"#,
        r#"[-p, "{prompt}"]"#,
        r#"[[-p, "{prompt}"]]"#,
        r#"["--{prompt}"]"#,
        r#"["{model}{prompt}"]"#,
        r#"["{prompt}", "--"]"#,
        r#"[{if: model, then: ["{prompt}"]}]"#,
    ] {
        let found = with(bad).unwrap_err().to_string();
        assert!(found.contains("put \"--\" before it"), "{bad}: {found}");
    }
}

#[test]
fn m_025_a_broken_manifest_spoils_no_other() {
    let folder = TempDir::new().unwrap();
    let good = "events: [{when: {t: x}, text: x, complete: end_turn}]\n";
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("good.yaml", good);
    write("bad.yaml", "events: 5\n");
    write("other.yml", good);
    write(".good.yaml.swp", "x");
    write(".hidden.yaml", good);
    write("README.md", "x");
    std::fs::create_dir(folder.path().join("folder.yaml")).unwrap();
    let found: Vec<_> = load(folder.path())
        .into_iter()
        .map(|found| {
            (found.name, found.manifest.map(|m| m.name().to_owned()).map_err(|e| e.to_string()))
        })
        .map(|(name, manifest)| match manifest {
            Ok(_) => format!("{name}: good"),
            Err(wrong) => format!("{name}: {}", wrong.replace(folder.path().to_str().unwrap(), "")),
        })
        .collect();
    assert_eq!(
        found,
        [
            "bad: /bad.yaml:1:9: events: expected a list of maps with when, ignore, message, parent, session, model, thought …, found \"5\"",
            "folder: /folder.yaml: cannot be read: it is not a regular file",
            "good: good",
            "other: /other.yml: is not read under this name (rename it to other.yaml)",
        ]
    );
    assert!(load(&folder.path().join("none")).is_empty());
    assert_eq!(
        load(&folder.path().join("good.yaml")).len(),
        1,
        "a file in the place of the folder"
    );
}
