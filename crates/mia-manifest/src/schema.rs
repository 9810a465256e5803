//! The JSON Schema of a manifest, for editors.

use serde_json::{Map, Value, json};

use crate::table::{IF, Kind, MANIFEST, MODE, SECTIONS, Section, TEST, TOOL_KINDS};

/// The JSON Schema of a manifest, as readable text.
#[must_use]
pub fn schema() -> String {
    let mut definitions = Map::new();
    for section in SECTIONS.iter().filter(|section| section.name != MANIFEST.name) {
        definitions.insert(section.name.to_owned(), object(section));
    }
    let mut whole = Map::new();
    whole.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    whole.insert("title".to_owned(), json!("A plugin manifest of Mia: plugins/NAME.yaml"));
    if let Value::Object(members) = object(&MANIFEST) {
        whole.extend(members);
    }
    whole.insert("$defs".to_owned(), Value::Object(definitions));
    format!("{:#}\n", Value::Object(whole))
}

fn object(section: &Section) -> Value {
    let mut properties = Map::new();
    for key in section.keys {
        let mut property = of(key.kind);
        if let Value::Object(members) = &mut property {
            members.insert("description".to_owned(), json!(key.about));
        }
        properties.insert(key.name.to_owned(), property);
    }
    let needed: Vec<_> =
        section.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    let mut object = json!({
        "type": "object",
        "description": section.about,
        "additionalProperties": false,
        "properties": properties,
    });
    if let (false, Value::Object(members)) = (needed.is_empty(), &mut object) {
        members.insert("required".to_owned(), json!(needed));
    }
    if let Value::Object(members) = &mut object {
        members.extend(rules(section));
    }
    object
}

/// What has to be so of a section besides its keys.
fn rules(section: &Section) -> Map<String, Value> {
    let one_of = |keys: &[&str]| {
        let all: Vec<_> = keys.iter().map(|key| json!({"required": [key]})).collect();
        json!({"anyOf": all})
    };
    let rules = match section.name {
        "if" => one_of(&["then", "else"]),
        "usage" => one_of(&["input", "output", "cache_read", "cache_creation", "cost"]),
        "event" => json!({"dependentRequired": {"each": ["events"], "events": ["each"]}}),
        "exit_status" => json!({"minProperties": 1}),
        "test" => json!({"minProperties": 1, "maxProperties": 1}),
        _ => Value::Null,
    };
    match rules {
        Value::Object(rules) => rules,
        _ => Map::new(),
    }
}

fn reference(section: &Section) -> Value {
    json!({"$ref": format!("#/$defs/{}", section.name)})
}

fn of(kind: Kind) -> Value {
    // What is written without quotes is text all the same.
    let any_text = json!({"type": ["string", "number", "boolean"]});
    let text = json!({"type": ["string", "number", "boolean"], "pattern": "\\S"});
    let texts = json!({"type": "array", "items": text, "minItems": 1});
    match kind {
        Kind::Text | Kind::Template => text,
        Kind::Program => {
            json!({"type": ["string", "number", "boolean"], "pattern": "^(/\\S*|[^/\\s]+)$"})
        }
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Given => json!({"enum": ["session", "model"]}),
        Kind::Texts | Kind::Path => json!({"anyOf": [text, texts]}),
        Kind::Words => json!({"type": "array", "items": text}),
        Kind::Names => {
            let name =
                json!({"type": ["string", "number", "boolean"], "pattern": "^[^=*\\s]+\\*?$"});
            json!({"type": "array", "items": name})
        }
        Kind::Variables => json!({"type": "object", "additionalProperties": any_text}),
        Kind::Args => {
            let group = json!({"type": "array", "items": text});
            json!({"type": "array", "items": {"anyOf": [any_text, group, reference(&IF)]}})
        }
        Kind::Stdin => json!({"type": ["string", "object", "array"], "pattern": "\\S"}),
        Kind::Mode => json!({"anyOf": [of(Kind::Args), reference(&MODE)]}),
        Kind::Literals => {
            let literal = json!({"type": ["string", "number", "boolean", "null"]});
            json!({"anyOf": [literal, {"type": "array", "items": literal, "minItems": 1}]})
        }
        Kind::When => {
            let test = json!({"anyOf": [of(Kind::Literals), reference(&TEST)]});
            let all = json!({"type": "object", "minProperties": 1, "additionalProperties": test});
            json!({"anyOf": [all, {"type": "array", "minItems": 1, "items": all}]})
        }
        Kind::Choice(choices) => json!({"enum": choices}),
        Kind::Tools => json!({"type": "object", "additionalProperties": {"enum": TOOL_KINDS}}),
        Kind::Exits => json!({
            "type": "object",
            "additionalProperties": false,
            "patternProperties": {
                "^(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$": {"anyOf": [{"enum": ["complete"]}, reference(&crate::table::EXIT)]},
            },
        }),
        Kind::ChoiceOr(choices, section) => {
            json!({"anyOf": [{"enum": choices}, reference(section)]})
        }
        Kind::Section(section) => reference(section),
        Kind::List(section) => {
            json!({"type": "array", "minItems": 1, "items": reference(section)})
        }
    }
}
