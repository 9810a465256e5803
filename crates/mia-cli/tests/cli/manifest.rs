//! Manifests: `mia plugin check`, and plugins that are one file.

use std::fs;
use std::path::{Path, PathBuf};

use mia_testkit::fakecli::FakeCli;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::person::{Person, Ran};

const JOT: &str = r#"install: put examples/custom-plugin/bin on your PATH
args: ["--resume={session}", "--model={model}"]
permissions: {read-only: [--look]}
events:
  - when: {t: say}
    session: id
    text: part.text
  - when: {t: tool}
    tool_call: {name: n}
    tool_result: {output: o}
  - when: {t: end}
    usage: {input: in, output: out}
    complete: end_turn
"#;

const SAID: &str = r#"{"t":"say","id":"s-1","part":{"text":"hello"}}
{"t":"new","x":1}
{"t":"end","in":5,"out":2}
"#;

/// Puts a manifest into the person's folder.
fn manifest(person: &Person, name: &str, text: &str) -> PathBuf {
    let folder = person.mia_home().join("plugins");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    file
}

/// Installs a `jot` that does this each time.
fn jot(person: &Person, script: &str) -> FakeCli {
    let cli = FakeCli::named(&person.folder().join("bin"), "jot");
    cli.script(script);
    cli
}

fn says() -> String {
    SAID.lines().map(|line| format!("out {line}\n")).collect()
}

fn neutral(person: &Person, text: &str) -> String {
    text.replace(person.folder().to_str().unwrap(), "/w")
}

fn check(person: &Person, file: &Path, more: &[&str]) -> Ran {
    person.run(&[&["plugin", "check", file.to_str().unwrap()], more].concat())
}

#[test]
fn m_025_a_manifest_is_a_plugin() {
    let person = Person::new();
    manifest(&person, "jot.yaml", JOT);
    let cli = jot(&person, &format!("read-stdin prompt\ndump-argv argv\n{}", says()));
    let ask = |more: &[&str]| {
        let begin = ["ask", "--plugin", "jot", "--conversation", "c", "-m", "opus"];
        person.run(&[&begin[..], more, &["--", "-v \"x\""]].concat())
    };
    assert_eq!(ask(&["--permissions", "read-only"]).code(0).out, "hello\n");
    assert_eq!(fs::read_to_string(cli.beside("prompt")).unwrap(), "-v \"x\"");
    let argv = || -> Value {
        serde_json::from_str(&fs::read_to_string(cli.beside("argv")).unwrap()).unwrap()
    };
    assert_eq!(argv().as_array().unwrap()[1..], [json!("--model=opus"), json!("--look")]);
    ask(&[]).code(0);
    assert_eq!(argv().as_array().unwrap()[1..], [json!("--resume=s-1"), json!("--model=opus")]);
    ask(&["--permissions", "full"])
        .code(2)
        .says(&["jot can't be told to be full", "choose read-only"]);
    person.run(&["plugin", "switch", "jot"]).code(0);
    assert_eq!(person.run(&["ask", "hi"]).code(0).out, "hello\n");
}

#[test]
fn m_017_a_session_that_can_be_no_argument_ends_no_conversation() {
    let person = Person::new();
    let text = JOT.replace("\"--resume={session}\"", "[--resume, \"{session}\"]");
    manifest(&person, "jot.yaml", &text);
    let says = says().replace("s-1", "--evil");
    let cli = jot(&person, &format!("read-stdin prompt\ndump-argv argv\n{says}"));
    for prompt in ["one", "two"] {
        let ask = ["ask", "--plugin", "jot", "--conversation", "c", "-m", "", prompt];
        let ran = person.run(&ask).code(0);
        assert_eq!(ran.out, "hello\n");
        assert!(ran.err.contains("can't be resumed"), "{ran:?}");
    }
    let argv: Value =
        serde_json::from_str(&fs::read_to_string(cli.beside("argv")).unwrap()).unwrap();
    assert_eq!(argv.as_array().unwrap().len(), 1, "neither a session nor an empty model: {argv}");
    let prompt = fs::read_to_string(cli.beside("prompt")).unwrap();
    assert!(prompt.contains("one") && prompt.contains("two"), "it is told what was said: {prompt}");
}

#[test]
fn m_006_counts_of_a_session_are_not_told_twice_after_a_failed_turn() {
    let person = Person::new();
    let text = JOT.replace("output: out}", "output: out, cost: usd, per: session}");
    manifest(&person, "jot.yaml", &text);
    let cli = jot(&person, "");
    let turn = |script: &str| {
        cli.script(&format!("read-stdin prompt\n{script}"));
        let ask = ["ask", "--plugin", "jot", "--conversation", "c", "--json", "x"];
        person.run(&ask)
    };
    let end =
        |n: u64, usd: f64| format!("out {{\"t\":\"end\",\"in\":{n},\"out\":1,\"usd\":{usd}}}\n");
    let say = "out {\"t\":\"say\",\"id\":\"s-1\",\"part\":{\"text\":\"hello\"}}\n";
    let used = |ran: &Ran| -> (Value, Value) {
        let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
        (last["result"]["usage"]["input_tokens"].clone(), last["result"]["cost_usd"].clone())
    };
    let first = turn(&format!("{say}{}", end(1000, 1.0))).code(0);
    assert_eq!(used(&first), (json!(1000), json!(1.0)));
    // It counts, and is not done.
    let failing =
        text.replace("    complete: end_turn\n", "  - when: {t: bye}\n    complete: end_turn\n");
    manifest(&person, "jot.yaml", &failing);
    // Once with its id, once without.
    for (said, n, usd) in [(say, 1500, 1.5), ("", 1600, 1.75)] {
        let ran = turn(&format!("{said}{}exit 3\n", end(n, usd)));
        assert_ne!(ran.code, Some(0), "{ran:?}");
    }
    manifest(&person, "jot.yaml", &text);
    let last = turn(&format!("{say}{}", end(1800, 2.25))).code(0);
    assert_eq!(used(&last), (json!(200), json!(0.5)));
}

#[test]
fn m_025_what_is_broken_is_shown_and_everything_else_goes_on() {
    let person = Person::new();
    manifest(&person, "jot.yaml", JOT);
    manifest(&person, "bad.yaml", "events:\n  - whn: {t: say}\n    text: a..b\n");
    manifest(&person, "guide.yaml", JOT);
    manifest(&person, "Loud.yaml", JOT);
    let list = person.run(&["plugin", "list"]).code(0);
    insta::assert_snapshot!(neutral(&person, &list.out));
    assert!(person.ask_guide(&["help"]).code(0).out.contains("mia"));
    person.run(&["ask", "-p", "bad", "x"]).code(2).says(&[
        "the plugin \"bad\" can't be used: ",
        "bad.yaml:2:5: unknown key \"whn\" (did you mean \"when\"?); and 1 more mistake",
        "mia plugin check ",
    ]);
    person.run(&["plugin", "switch", "bad"]).code(2).says(&["can't be used"]);
    let info = person.run(&["plugin", "info", "bad", "--json"]).code(0);
    let info: Value = serde_json::from_str(&info.out).unwrap();
    assert_eq!((&info["name"], &info["available"]), (&json!("bad"), &json!(false)));
}

#[test]
fn m_025_a_projects_folder_is_not_read_for_manifests() {
    let person = Person::new();
    for folder in ["plugins", ".mia/plugins"] {
        let folder = person.project().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("jot.yaml"), JOT).unwrap();
    }
    jot(&person, &says());
    person.run(&["ask", "-p", "jot", "x"]).code(2).says(&["there is no plugin \"jot\""]);
}

#[test]
fn m_025_a_check_tells_every_mistake_in_its_line() {
    let person = Person::new();
    let text = JOT.replace("permissions", "premissions").replace("end_turn", "enough");
    let file = manifest(&person, "jot.yaml", &text);
    let ran = check(&person, &file, &[]).code(1);
    insta::assert_snapshot!(neutral(&person, &ran.err));
    let ran = check(&person, &file, &["--json"]).code(1);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(report["ok"], false);
    let places: Vec<_> =
        report["mistakes"].as_array().unwrap().iter().map(|m| (&m["line"], &m["column"])).collect();
    assert_eq!(places, [(&json!(3), &json!(1)), (&json!(13), &json!(15))]);
    let taken = manifest(&person, "guide.yaml", JOT);
    check(&person, &taken, &[])
        .code(1)
        .says(&["another plugin named \"guide\"", "rename the file"]);
    let odd = manifest(&person, "jot.yml", JOT);
    check(&person, &odd, &[]).code(1).says(&["name it jot.yaml"]);
    person.run(&["plugin", "check", "none.yaml"]).code(2).says(&["there is no manifest none.yaml"]);
}

#[test]
fn m_025_a_check_tells_what_the_plugin_can_do() {
    let person = Person::new();
    let file = manifest(&person, "jot.yaml", JOT);
    let ran = check(&person, &file, &[]).code(0);
    assert!(
        ran.out.contains(
            "jot is not installed (install it with: put examples/custom-plugin/bin on your PATH)"
        ),
        "{ran:?}"
    );
    jot(&person, "out jot 2.0\n");
    let ran = check(&person, &file, &[]).code(0);
    insta::assert_snapshot!(neutral(&person, &ran.out));
    let ran = check(&person, &file, &["--json"]).code(0);
    insta::assert_snapshot!(neutral(&person, &ran.out));
}

#[test]
fn m_025_a_replay_counts_what_is_too_long() {
    let person = Person::new();
    let file = manifest(&person, "jot.yaml", JOT);
    let long = format!("{}\n", "x".repeat(33 * 1024 * 1024));
    let recording = person.write("long.ndjson", &long);
    let ran = check(&person, &file, &["--replay", recording.to_str().unwrap()]).code(0);
    assert!(ran.err.starts_with("1 lines: 0 understood, 1 not\n"), "{}", ran.err);
}

#[test]
fn m_025_a_replay_prints_the_events_and_what_was_not_understood() {
    let person = Person::new();
    let file = manifest(&person, "jot.yaml", JOT);
    let recording = person.write("said.ndjson", SAID);
    let recording = recording.to_str().unwrap();
    let ran = check(&person, &file, &["--replay", recording]).code(0);
    insta::assert_snapshot!(neutral(&person, &format!("{}---\n{}", ran.out, ran.err)));
    let ran = check(&person, &file, &["--replay", recording, "--json", "--quiet"]).code(0);
    assert_eq!(ran.err, "");
    let events: Vec<Value> = ran.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let kinds: Vec<_> = events.iter().map(|e| e["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["token", "usage", "complete"]);
    assert_eq!(
        events[0],
        json!({"type": "token", "text": "hello", "task_id": "replay", "seq": 1, "offset": 0})
    );
    assert_eq!(events[2]["result"]["session_id"], "s-1");
    let piped =
        person.pipe(SAID, &["plugin", "check", file.to_str().unwrap(), "--replay", "-", "--json"]);
    assert_eq!(piped.code(0).out, ran.out);
    check(&person, &file, &["--replay", "none"]).code(2).says(&["can't read the recording none"]);
}
