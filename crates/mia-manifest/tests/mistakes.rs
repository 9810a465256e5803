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
        r#"[run, {if: model, then: ["--", "{prompt}"], else: ["-p{prompt}"]}]"#,
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

const SAY: &str = "events: [{when: {t: x}, session: id, text: x, complete: end_turn}]\n";

fn with(start: &str) -> Result<(), String> {
    Manifest::parse(Path::new("jot.yaml"), &format!("{start}\n{SAY}"))
        .map(|_| ())
        .map_err(|mistakes| mistakes.to_string())
}

#[test]
fn m_025_a_prompt_that_only_sometimes_arrives_is_a_mistake() {
    for (start, says) in [
        (
            r#"args: [{if: session, then: ["--r={session}", --, "{prompt}"]}]"#,
            "args: the prompt goes nowhere when there is no session",
        ),
        (
            r#"args: [{if: session, then: ["--r={session}"], else: [--, "{prompt}"]}]"#,
            "args: the prompt goes nowhere when there is a session",
        ),
        (
            r#"args: [[--model, "{model}", "--prompt={prompt}"]]"#,
            "args: the prompt goes nowhere when there is no model",
        ),
        (
            r#"stdin: "{session}: {prompt}""#,
            "stdin: the prompt goes nowhere when there is no session",
        ),
        (
            r#"stdin: {content: ["{model}: {prompt}"]}"#,
            "stdin: the prompt goes nowhere when there is no model",
        ),
        (
            r#"args: ["--m={model}{prompt}", "--s={session}{prompt}"]"#,
            "args: the prompt goes nowhere when there is neither a session nor a model",
        ),
        (
            r#"args: [run]
stdin: "hello""#,
            "the prompt goes nowhere (put {prompt}",
        ),
    ] {
        let found = with(start).unwrap_err();
        assert!(found.contains(says), "{start}: {found}");
    }
    for good in [
        r#"args: [{if: session, then: ["--r={session}", --, "{prompt}"], else: [--, "{prompt}"]}]"#,
        r#"args: [{if: model, then: ["--m={model}{prompt}"], else: ["--prompt={prompt}"]}]"#,
        r#"stdin: {content: ["{prompt}", "{model}"], session: "{session}"}"#,
        "args: [\"--cwd={cwd}\", [\"--dir\", \"{cwd}\", \"--prompt={prompt}\"]]",
    ] {
        assert_eq!(with(good), Ok(()), "{good}");
    }
}

#[test]
fn m_025_an_option_must_not_stay_without_its_value() {
    for (start, says) in [
        (
            r#"args: [--json, --model, "{model}"]"#,
            r#"1:16: args: "--model" stays alone when there is no model (write [--model, "{model}"] or "--model={model}""#,
        ),
        (r#"args: [{if: model, then: [-r, "{session}"]}]"#, "when there is no session"),
        (r#"args: [{if: model, else: [-m, "{model}"]}]"#, "when there is no model"),
        (r#"permissions: {full: [-m, "{model}"]}"#, "when there is no model"),
        (r#"permissions: {full: {args: [-m, "{model}"]}}"#, "when there is no model"),
    ] {
        let found = with(start).unwrap_err();
        assert!(found.contains(says), "{start}: {found}");
    }
    for good in [
        r#"args: [[--model, "{model}"], "--model={model}"]"#,
        r#"args: [--json, ["{model}"]]"#,
        r#"args: [{if: model, then: [--model, "{model}"]}]"#,
        r#"args: [{if: session, then: [{if: model, then: [-r, "{session}", -m, "{model}"]}]}]"#,
        r#"args: [--, "{model}"]"#,
        r#"args: [--dir, "{cwd}", --x=y, "{model}", run, "{session}"]"#,
    ] {
        assert_eq!(with(good), Ok(()), "{good}");
    }
}

#[test]
fn m_025_statuses_paths_and_lists_that_say_nothing() {
    for (start, says) in [
        ("exit: {\"00\": complete, 0: complete}", "\"00\" is no usual way to write 0 (write 0)"),
        ("exit: {256: complete}", "no exit status from 0 to 255"),
        ("session: {id: [null]}", "found nothing"),
        ("errors: []", "errors is empty"),
        ("errors: [{text: x, cause: server, hint: \"\"}]", "hint: expected text"),
    ] {
        let found = with(start).unwrap_err();
        assert!(found.contains(says), "{start}: {found}");
    }
}

#[test]
fn m_025_a_misspelt_key_is_one_mistake_and_an_empty_element_is_told_in_its_line() {
    let text = "events:\n  - when: {t: x}\n    though: x\n  -\n  - when: {t: e}\n    usage: {inputs: x}\n  - {when: {t: y}, text: x, complete: end_turn}\nexit: {3: {mesage: x}}\n";
    let found = Manifest::parse(Path::new("jot.yaml"), text).unwrap_err();
    let all: Vec<_> = found.list().iter().map(ToString::to_string).collect();
    assert_eq!(all.len(), 4, "{all:#?}");
    assert!(all[0].contains("3:5: unknown key \"though\""), "{all:#?}");
    assert!(all[1].contains("4:3: an event: expected"), "{all:#?}");
    assert!(all[2].contains("6:13: unknown key \"inputs\""), "{all:#?}");
    assert!(all[3].contains("8:12: unknown key \"mesage\""), "{all:#?}");
}

#[test]
fn m_025_of_several_elements_another_may_have_it() {
    let text = "events: [{when: {\"c.*\": stop}, text: \"c.*.x\", complete: end_turn}]\n";
    Manifest::parse(Path::new("jot.yaml"), text).unwrap();
}

#[test]
fn m_025_a_name_that_is_no_text_in_a_configuration_is_refused() {
    for name in ["true", "false", "null", "yes", "no", "on", "off", "Off", "y", "n"] {
        let found = Manifest::parse(Path::new(&format!("{name}.yaml")), SAY).unwrap_err();
        let found = found.to_string();
        assert!(found.contains("could not be chosen there (rename the file)"), "{found}");
    }
    assert!(Manifest::parse(Path::new("nope.yaml"), SAY).is_ok());
}
