//! How a document is written.

use serde_json::{Map, Value};
use utoipa::openapi::OpenApi;

/// The document as JSON, the same each time: descriptions without links of rustdoc, and integers
/// with the bounds of their format.
///
/// # Errors
/// When the document holds something that is no JSON; none that is made of types does.
pub fn to_json(document: &OpenApi) -> serde_json::Result<Value> {
    let mut json = serde_json::to_value(document)?;
    mend(&mut json);
    Ok(json)
}

/// The document as a text file.
///
/// # Errors
/// As [`to_json`].
pub fn to_text(document: &OpenApi) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(&to_json(document)?)? + "\n")
}

fn mend(value: &mut Value) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(text)) = members.get_mut("description") {
                *text = text.replace("[`", "`").replace("`]", "`");
            }
            // A summary is one line; in the source it may be two.
            if let Some(Value::String(text)) = members.get_mut("summary") {
                *text = text.replace('\n', " ");
            }
            bound(members);
            lift_description(members);
            members.values_mut().for_each(mend);
        }
        Value::Array(items) => items.iter_mut().for_each(mend),
        _ => {}
    }
}

/// Gives an integer the bounds of its format, which is only a word for those who check, and the
/// format the name that the registry of OpenAPI has for it.
fn bound(schema: &mut Map<String, Value>) {
    let integer = match schema.get("type") {
        Some(Value::String(name)) => name == "integer",
        Some(Value::Array(names)) => names.iter().any(|name| name == "integer"),
        _ => false,
    };
    let Some(Value::String(format)) = schema.get_mut("format").filter(|_| integer) else {
        return;
    };
    *format = format.replace("u-int", "uint");
    let (minimum, maximum): (i64, u64) = match format.as_str() {
        "uint8" => (0, u8::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "uint64" => (0, u64::MAX),
        "int32" => (i32::MIN.into(), i32::MAX.unsigned_abs().into()),
        "int64" => (i64::MIN, i64::MAX.unsigned_abs()),
        _ => return,
    };
    schema.entry("minimum").or_insert_with(|| minimum.into());
    schema.entry("maximum").or_insert_with(|| maximum.into());
}

/// What a member is about stands beside its choices, not in one of them, where it would be lost on
/// the way to other languages.
fn lift_description(schema: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = schema.get_mut("oneOf") else {
        return;
    };
    let [Value::Object(one), Value::Object(other)] = choices.as_mut_slice() else {
        return;
    };
    let is_nothing = |choice: &Map<String, Value>| choice.get("type").is_some_and(|k| k == "null");
    let something = match (is_nothing(one), is_nothing(other)) {
        (true, false) => other,
        (false, true) => one,
        _ => return,
    };
    if let Some(description) = something.remove("description") {
        schema.entry("description").or_insert(description);
    }
}
