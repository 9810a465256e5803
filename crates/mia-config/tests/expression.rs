//! `${{ … }}`: what it comes to, where it is wrong, and that nothing makes it panic.
#![expect(clippy::unwrap_used, reason = "a test")]

use mia_config::Template;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

fn contexts() -> Value {
    json!({
        "setup": {"tree": {"outputs": {"path": "/w", "list": [1, {"x": true}], "zero": 0}}},
        "session": {"id": "s-1"},
        "vars": {"odd name": "yes", "big": 12345678901234567890_u64},
    })
}

fn value(text: &str) -> Value {
    Template::parse(text).unwrap().evaluate(&contexts())
}

#[test]
fn p_033_one_expression_keeps_its_type_and_embedded_ones_are_text() {
    assert_eq!(value("${{ setup.tree.outputs.list }}"), json!([1, {"x": true}]));
    assert_eq!(value("${{setup.tree.outputs.zero}}"), json!(0));
    assert_eq!(value("${{ vars.big }}"), json!(12345678901234567890_u64));
    assert_eq!(value("agent/${{ session.id }}-${{ 1 }}"), json!("agent/s-1-1"));
    assert_eq!(value(" ${{ 1 }}"), json!(" 1"));
    assert_eq!(value("<${{ null }}|${{ setup.tree.outputs.list }}>"), json!("<|[1,{\"x\":true}]>"));
    assert_eq!(value("plain $ {{ }}"), json!("plain $ {{ }}"));
    assert_eq!(value("$${{ session.id }} is ${{ session.id }}"), json!("${{ session.id }} is s-1"));
    assert_eq!(value(""), json!(""));
    assert!(Template::parse("$${{ x }}").unwrap().is_plain());
}

#[test]
fn p_034_p_037_paths_find_what_is_there_and_null() {
    assert_eq!(value("${{ setup.tree.outputs['path'] }}"), json!("/w"));
    assert_eq!(value("${{ setup . tree.outputs.list[1].x }}"), json!(true));
    assert_eq!(value("${{ vars['odd name'] }}"), json!("yes"));
    for nothing in ["setup.tree.outputs.nope", "nope.a.b", "session.id.more", "session[0]"] {
        assert_eq!(value(&format!("${{{{ {nothing} }}}}")), Value::Null, "{nothing}");
    }
    assert_eq!(value("${{ setup.tree.outputs.list[7] }}"), Value::Null);
}

#[test]
fn operators_choose_and_compare() {
    for (text, expected) in [
        ("vars.none || 'x'", json!("x")),
        ("'' || 0 || false", json!(false)),
        ("session.id && 7", json!(7)),
        ("0 && 7", json!(0)),
        ("1 == 1 && 'a' != 'b'", json!(true)),
        ("1 == '1'", json!(false)),
        ("!session.none == true", json!(true)),
        ("!!(false || 'it''s')", json!(true)),
        ("'it''s }} here'", json!("it's }} here")),
        ("-1.5e2", json!(-150.0)),
        ("false || true && false", json!(false)),
    ] {
        assert_eq!(value(&format!("${{{{ {text} }}}}")), expected, "{text}");
    }
}

#[test]
fn a_mistake_is_told_with_its_place() {
    for (text, at, says) in [
        ("ab${{ }}", 6, "expected a value, and found '}'"),
        ("${{ a", 5, "close it with }}"),
        ("${{ a b }}", 6, "expected an operator or }}"),
        ("${{ a. }}", 7, "expected a name"),
        ("${{ a[ }}", 7, "is no number"),
        ("${{ a[-1] }}", 6, "whole number"),
        ("${{ 'a }}", 4, "a ' is missing"),
        ("${{ \"a\" }}", 4, "single quotation marks"),
        ("${{ (a }}", 7, "expected a )"),
        ("${{ 1x }}", 4, "\"1x\" is no number"),
        ("${{ a = b }}", 6, "expected an operator"),
    ] {
        let error = Template::parse(text).unwrap_err();
        assert!(error.message.contains(says), "{text}: {error}");
        assert_eq!(error.at, at, "{text}: {error}");
    }
    let deep = format!("${{{{ {}a }}}}", "(".repeat(100_000));
    assert!(Template::parse(&deep).unwrap_err().message.contains("bytes"));
    let deep = format!("${{{{ {}a }}}}", "!".repeat(10_000));
    assert!(Template::parse(&deep).unwrap_err().message.contains("more than 32 deep"));
}

#[test]
fn p_036_what_it_refers_to_is_known_before_it_is_evaluated() {
    let text = "${{ setup.a.outputs.x || (!env.B == vars['c d'][0].e) }} ${{ 'setup.z' }}";
    let paths = Template::parse(text).unwrap().paths();
    let expected = [vec!["setup", "a", "outputs", "x"], vec!["env", "B"], vec!["vars", "c d"]];
    assert_eq!(paths, expected);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "([$a-z'.!&|=()\\[\\] 0-9{}-]|\\$\\{\\{|\\}\\}){0,40}") {
        if let Ok(template) = Template::parse(&text) {
            let _ = template.evaluate(&contexts());
            let _ = template.paths();
        }
    }

    #[test]
    fn any_text_can_be_said(text in "\\PC*") {
        let quoted = format!("${{{{ '{}' }}}}", text.replace('\'', "''"));
        prop_assert_eq!(value(&quoted), Value::String(text));
    }
}
