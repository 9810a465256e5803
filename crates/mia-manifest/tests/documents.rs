//! What the documents say of manifests is so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mia_manifest::{Manifest, schema};
use serde_json::Value;

fn docs(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs")).join(name)
}

#[test]
fn m_025_the_example_that_teaches_is_right() {
    let text = std::fs::read_to_string(docs("manifest.md")).unwrap();
    let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let whole: Vec<_> =
        blocks.map(|(block, _)| block).filter(|b| b.contains("\nevents:")).collect();
    assert_eq!(whole.len(), 1);
    for block in whole {
        let manifest = Manifest::parse(Path::new("jot.yaml"), block);
        let manifest = manifest.unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert!(manifest.resumes() && manifest.takes_model());
        assert!(
            !manifest.lacks().iter().any(|lack| lack.ability == mia_plugin::Ability::OpenTools),
            "they are shown"
        );
    }
}

/// All that the schema refers to.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if let ("$ref", Some(to)) = (name.as_str(), member.as_str()) {
                    found.insert(to.to_owned());
                }
                references(member, found);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|e| references(e, found)),
        _ => {}
    }
}

#[test]
fn m_025_the_schema_is_whole() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let mut found = BTreeSet::new();
    references(&schema, &mut found);
    let defined: BTreeSet<_> =
        schema["$defs"].as_object().unwrap().keys().map(|name| format!("#/$defs/{name}")).collect();
    assert_eq!(found, defined);
    assert_eq!(schema["required"], serde_json::json!(["events"]));
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn m_025_the_schema_says_what_a_check_says() {
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let part = |pointer: &str| schema.pointer(pointer).unwrap_or(&Value::Null).clone();
    let takes = |pointer: &str| part(&format!("{pointer}/type")).to_string();
    assert!(takes("/properties/binary").contains("number"), "7 is a name, too");
    assert_eq!(part("/properties/errors/minItems"), 1);
    assert_eq!(part("/$defs/error/properties/hint/pattern"), r"\S");
    assert_eq!(part("/$defs/if/anyOf/1/required/0"), "else");
    assert_eq!(part("/$defs/event/dependentRequired/each/0"), "events");
    assert_eq!(part("/$defs/usage/anyOf").as_array().unwrap().len(), 5);
    let statuses = part("/properties/exit/patternProperties");
    let pattern = statuses.as_object().unwrap().keys().next().unwrap().clone();
    assert_eq!(pattern, "^(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$");
}
