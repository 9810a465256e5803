//! The schemas say what serde does.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod samples;

use std::collections::BTreeSet;

use jsonschema::Validator;
use mia_api::schema::{TYPES, components, document, to_json, to_text};
use mia_api::{Ability, ErrorCode, Event, EventBody, ResumePoint};
use pretty_assertions::assert_eq;
use samples::{Direction, SAMPLES, Sample};
use serde_json::{Value, json};

/// What a schema makes of a value.
struct Schemas {
    document: Value,
}

impl Schemas {
    fn read() -> Self {
        Self { document: to_json(&document()).unwrap() }
    }

    fn of(&self, name: &str) -> &Value {
        &self.document["components"]["schemas"][name]
    }

    fn validator(&self, name: &str) -> Validator {
        jsonschema::draft202012::new(&json!({
            "$ref": format!("#/components/schemas/{name}"),
            "components": self.document["components"],
        }))
        .unwrap()
    }
}

/// The members that an object's schema names, and those of them that it requires.
fn members(schema: &Value) -> (BTreeSet<String>, BTreeSet<String>) {
    let all = schema["properties"].as_object().unwrap().keys().cloned().collect();
    let required = schema["required"].as_array().into_iter().flatten();
    (all, required.map(|name| name.as_str().unwrap().to_owned()).collect())
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

/// Every type that this crate gives out is in the document, or is known not to cross the API.
#[test]
fn every_type_of_the_api_is_in_the_document() {
    let inside = [
        "BadId",
        "BadResumePoint",
        "DispatchOptions",
        "PluginContext",
        "UnknownPolicy",
        "json_weight",
    ];
    let source = include_str!("../src/lib.rs");
    let uses: String = source
        .split("pub use ")
        .skip(1)
        .map(|rest| rest.split(';').next().unwrap())
        .fold(String::new(), |all, this| all + this.split_once("::").unwrap().1 + ",");
    let given: BTreeSet<&str> = uses
        .split(['{', '}', ','])
        .map(str::trim)
        .filter(|name| !name.is_empty() && !inside.contains(name))
        .collect();
    assert!(given.len() > 50, "{given:?}");
    let listed: BTreeSet<&str> = TYPES.iter().copied().collect();
    assert_eq!(listed, given);
    let written: BTreeSet<String> = components().schemas.into_keys().collect();
    assert_eq!(written, given.iter().map(|name| (*name).to_owned()).collect());
}

#[test]
fn the_document_is_whole_and_the_same_each_time() {
    let text = to_text(&document()).unwrap();
    assert_eq!(text, to_text(&document()).unwrap());
    assert!(text.starts_with("{\n  \"openapi\": \"3.1.0\""), "{text:.80}");
    for part in text.split("\"#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(TYPES.contains(&name), "{name} is referred to and is not there");
    }
    assert!(!text.contains("[`") && !text.contains("u-int"));
}

/// A value of each type, with all its members and with as few as it can have.
#[test]
fn samples_of_every_type_are_valid() {
    let schemas = Schemas::read();
    let sampled: Vec<_> = SAMPLES.iter().map(|sample| sample.name).collect();
    // A resume point is part of a URL, and no JSON.
    let json: Vec<_> = TYPES.iter().copied().filter(|name| *name != "ResumePoint").collect();
    assert_eq!(sampled, json);
    for Sample { name, full, bare, again, .. } in SAMPLES.iter() {
        let validator = schemas.validator(name);
        for (what, text) in [("full", full), ("bare", bare)] {
            let value: Value = serde_json::from_str(text).unwrap();
            let written = again(value.clone()).unwrap_or_else(|e| panic!("{what} {name}: {e}"));
            let problem = validator.validate(&written).err().map(|e| e.to_string());
            assert_eq!(problem, None, "{what} {name}: {written}");
            // The sample itself is what is written: no member of it is a slip of the pen.
            assert_eq!(written, value, "{what} {name}");
        }
    }
}

/// Of what Mia sends, those members are required that are always there, and a member that is left
/// out when it is nothing is never null.
#[test]
fn what_is_sent_is_described_to_the_member() {
    let schemas = Schemas::read();
    for Sample { name, full, bare, direction, .. } in SAMPLES.iter() {
        let full: Value = serde_json::from_str(full).unwrap();
        let bare: Value = serde_json::from_str(bare).unwrap();
        if *direction != Direction::Sent || schemas.of(name)["properties"].is_null() {
            continue;
        }
        let (all, required) = members(schemas.of(name));
        assert_eq!(keys(&full), all, "the members of {name}");
        assert_eq!(keys(&bare), required, "the members that {name} always has");
        let validator = schemas.validator(name);
        for member in &all {
            let mut odd = full.clone();
            odd[member] = Value::Null;
            let any = schemas.of(name)["properties"][member].get("type").is_none()
                && schemas.of(name)["properties"][member].get("oneOf").is_none()
                && schemas.of(name)["properties"][member].get("$ref").is_none();
            let may = any || (required.contains(member) && bare[member].is_null());
            assert_eq!(validator.is_valid(&odd), may, "null for {member} of {name}");
            odd.as_object_mut().unwrap().remove(member);
            let may = !required.contains(member);
            assert_eq!(validator.is_valid(&odd), may, "{member} of {name} left out");
            odd[member] = json!([[["odd"]]]);
            assert_eq!(validator.is_valid(&odd), any, "nonsense for {member} of {name}");
        }
    }
}

/// What Mia is sent is valid exactly when serde reads it.
#[test]
fn what_is_taken_is_described_as_it_is_read() {
    let schemas = Schemas::read();
    let mut tried = 0;
    for Sample { name, full, direction, again, .. } in SAMPLES.iter() {
        let full: Value = serde_json::from_str(full).unwrap();
        if *direction != Direction::Taken || !full.is_object() {
            continue;
        }
        let validator = schemas.validator(name);
        let mut agree = |what: &str, value: Value| {
            let read = again(value.clone()).map(|_| ());
            assert_eq!(validator.is_valid(&value), read.is_ok(), "{what} in {name}: {read:?}");
            tried += 1;
        };
        for member in keys(&full) {
            let odds = [json!(null), json!([[["odd"]]]), json!("é"), json!({"odd": 1})];
            let numbers = [json!(-1), json!(5.0), json!(0.5), json!(1.8446744073709552e19)];
            for odd in odds.into_iter().chain(numbers) {
                let mut changed = full.clone();
                changed[&member] = odd.clone();
                agree(&format!("{odd} for {member}"), changed);
            }
            let mut without = full.clone();
            without.as_object_mut().unwrap().remove(&member);
            agree(&format!("no {member}"), without);
        }
        let mut more = full.clone();
        more["unheard_of"] = json!(1);
        agree("another member", more);
        // What is derived would read the members from a list, too.
        let values = full.as_object().unwrap().values().cloned().collect();
        agree("its values alone", Value::Array(values));
        agree("nothing", Value::Null);
    }
    assert!(tried > 150, "{tried}");
}

/// Each word of an enumeration is read and written as that word, and no other is.
#[test]
fn words_are_those_that_are_read() {
    let schemas = Schemas::read();
    let mut enumerations = 0;
    for Sample { name, direction, again, .. } in SAMPLES.iter() {
        let Some(words) = schemas.of(name)["enum"].as_array() else {
            continue;
        };
        enumerations += 1;
        for word in words {
            assert_eq!(&again(word.clone()).unwrap(), word, "{name}");
        }
        assert!(again(json!("zzz")).is_err(), "{name}");
        assert!(!schemas.validator(name).is_valid(&json!("zzz")), "{name}");
        if *direction == Direction::Taken {
            let wrapped = json!({ words[0].as_str().unwrap(): null });
            assert!(again(wrapped).is_err(), "{name}");
        }
    }
    assert_eq!(enumerations, 13);
    assert_eq!(schemas.of("Ability")["enum"].as_array().unwrap().len(), Ability::ALL.len());
    assert_eq!(schemas.of("ErrorCode")["enum"].as_array().unwrap().len(), ErrorCode::ALL.len());
}

#[test]
fn every_kind_of_event_is_valid_and_broken_ones_are_not() {
    let schemas = Schemas::read();
    let validator = schemas.validator("Event");
    let mut kinds = BTreeSet::new();
    for line in samples::EVENTS {
        let value: Value = serde_json::from_str(line).unwrap();
        let event: Event = serde_json::from_str(line).unwrap();
        assert_eq!(serde_json::to_value(&event).unwrap(), value);
        let problem = validator.validate(&value).err().map(|e| e.to_string());
        assert_eq!(problem, None, "{line}");
        kinds.insert(event.body.kind());
        for member in ["type", "task_id", "seq"] {
            let mut odd = value.clone();
            odd.as_object_mut().unwrap().remove(member);
            assert!(!validator.is_valid(&odd), "{odd}");
            odd[member] = json!(-1);
            assert!(!validator.is_valid(&odd), "{odd}");
        }
        let mut odd = value;
        odd["type"] = json!("zzz");
        assert!(!validator.is_valid(&odd), "{odd}");
    }
    // Told from the schema, so that a kind without a sample is noticed.
    assert_eq!(schemas.of("EventBody")["oneOf"].as_array().unwrap().len(), kinds.len());
    assert!(kinds.contains(EventBody::token("x").kind()));
}

/// The examples that people read.
#[test]
fn m_009_the_examples_of_the_documentation_are_valid() {
    let schemas = Schemas::read();
    let validator = schemas.validator("Event");
    let text = include_str!("../../../docs/events.md");
    let examples: Vec<&str> = text.lines().filter(|line| line.starts_with("{\"type\"")).collect();
    assert!(examples.len() >= 15, "{examples:?}");
    for example in examples {
        let value: Value = serde_json::from_str(example).unwrap();
        let problem = validator.validate(&value).err();
        assert_eq!(problem.map(|e| e.to_string()), None, "{example}");
    }
}

#[test]
fn texts_with_a_pattern_are_valid_when_they_are_read() {
    let schemas = Schemas::read();
    let id = schemas.validator("TaskId");
    for text in
        ["a", "../x", "", "-v", ".h", "a b", "ü", "me@host:5+1", &"a".repeat(128), &"a".repeat(129)]
    {
        assert_eq!(id.is_valid(&json!(text)), text.parse::<mia_api::TaskId>().is_ok(), "{text:?}");
    }
    let point = schemas.validator("ResumePoint");
    for text in
        ["0", "7:12", "", ":", "1:", ":1", "-1", "+1", "1:2:3", " 1", "1844674407370955161:0"]
    {
        assert_eq!(point.is_valid(&json!(text)), text.parse::<ResumePoint>().is_ok(), "{text:?}");
    }
    let system = schemas.validator("OsText");
    for value in [
        json!("/a"),
        json!({"base64": "L/8="}),
        json!({"base64": "L/9="}),
        json!({"base64": "Lw=="}),
        json!({"base64": "Lx=="}),
        json!({"base64": "L"}),
        json!({"base64": "L/8"}),
        json!({"base64": ""}),
        json!({"base64": 1}),
        json!(["L/8="]),
        json!({}),
        json!(1),
        json!(null),
    ] {
        let read = serde_json::from_value::<mia_api::OsText>(value.clone());
        assert_eq!(system.is_valid(&value), read.is_ok(), "{value}");
    }
}
