//! `mia config`.

use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::person::Person;

#[test]
fn a_value_is_set_got_and_taken_out() {
    let person = Person::new();
    let get = || person.run(&["config", "get", "plugins.claude-code.model"]).code(0).out;
    person.run(&["config", "set", "plugins.claude-code.model", "opus"]).code(0);
    assert_eq!(get(), "opus\n");
    let again = person.run(&["config", "set", "plugins.claude-code.model", "opus"]).code(0);
    assert!(again.out.contains("is so already"), "{again:?}");
    person.run(&["config", "set", "plugins.claude-code.model", "--unset"]).code(0);
    assert_eq!(get(), "(not set)\n");
    person.run(&["config", "set", "plugins.claude-code.model"]).code(2);
}

#[test]
fn a_section_is_listed() {
    let ran = Person::new().run(&["config", "get", "limits"]).code(0);
    assert_eq!(ran.out, "limits.concurrent  8\nlimits.queue       10\n");
}

#[test]
fn explain_tells_where_a_value_comes_from() {
    let person = Person::new();
    person.configure("limits:\n  concurrent: 3\n");
    let ran = person.run(&["config", "explain", "limits"]).code(0);
    let text = ran.out.replace(person.folder().to_str().unwrap(), "/w");
    insta::assert_snapshot!(text);
    let ran = person.run(&["config", "explain", "limits", "--json"]).code(0);
    insta::assert_snapshot!(ran.out.replace(person.folder().to_str().unwrap(), "/w"));
    let all = person.run(&["config", "explain"]).code(0).out;
    assert!(all.contains("plugins.claude-code.model:"), "{all}");
}

#[test]
fn get_as_json() {
    let person = Person::new();
    let one = person.run(&["config", "get", "limits.queue", "--json"]).code(0);
    let one: Value = serde_json::from_str(&one.out).unwrap();
    assert_eq!((&one["key"], &one["value"]), (&"limits.queue".into(), &10.into()));
    let section = person.run(&["config", "get", "limits", "--json"]).code(0);
    let section: Value = serde_json::from_str(&section.out).unwrap();
    assert_eq!(section.as_array().unwrap().len(), 2);
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest() {
    let person = Person::new();
    person
        .run(&["config", "get", "limits.concurent"])
        .code(2)
        .says(&["did you mean \"concurrent\"?"]);
}
