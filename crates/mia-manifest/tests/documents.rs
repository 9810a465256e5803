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
