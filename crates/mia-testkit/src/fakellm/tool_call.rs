//! Calls of tools that this server knows only by what the client offers.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool's name, as offered.
    pub name: String,
    /// Its input: an object, or a string where a line of the script was no JSON.
    pub input: Value,
}

type Tools = BTreeMap<String, Value>;

const SHELLS: [&str; 8] = [
    "Bash",
    "bash",
    "run_shell_command",
    "exec_command",
    "shell_command",
    "shell",
    "execute_command",
    "run_command",
];
const WRITERS: [&str; 5] = ["Write", "write", "write_file", "create", "create_file"];
const READERS: [&str; 5] = ["Read", "read", "read_file", "view", "view_file"];

/// Makes a call from the argument of a `TOOL` directive.
pub(super) fn tool_call(tools: &Tools, argument: &str) -> ToolCall {
    let (kind, rest) = argument.split_once(' ').unwrap_or((argument, ""));
    let rest = rest.trim();
    let by_kind = |names: &[&str], known: &[(&[&str], Value)]| {
        let name = offered(tools, names);
        let input = fill(tools.get(&name).unwrap_or(&Value::Null), known);
        ToolCall { name, input }
    };
    match kind {
        "bash" => by_kind(
            &SHELLS,
            &[(&["command", "cmd"], json!(rest)), (&["description"], json!("fake shell call"))],
        ),
        "write" => {
            let (path, content) = rest.split_once(' ').unwrap_or((rest, ""));
            let paths: &[&str] = &["file_path", "filePath", "path", "absolute_path"];
            by_kind(
                &WRITERS,
                &[
                    (paths, json!(path)),
                    (&["content", "file_text", "text", "contents"], json!(content)),
                ],
            )
        }
        "read" => {
            by_kind(&READERS, &[(&["file_path", "filePath", "absolute_path", "path"], json!(rest))])
        }
        _ => {
            let input = if rest.is_empty() {
                json!({})
            } else {
                serde_json::from_str(rest).unwrap_or_else(|_| json!({ "input": rest }))
            };
            ToolCall { name: kind.to_owned(), input }
        }
    }
}

/// The first of these that the client offers, exactly or at the end of a longer name; else the first.
fn offered(tools: &Tools, names: &[&str]) -> String {
    let exact = names.iter().find(|name| tools.contains_key(**name)).map(|name| (*name).to_owned());
    let ending = || {
        names.iter().find_map(|name| {
            tools.keys().find(|tool| tool.to_lowercase().ends_with(&name.to_lowercase())).cloned()
        })
    };
    exact.or_else(ending).unwrap_or_else(|| names[0].to_owned())
}

/// An input by the tool's schema: what is known under whichever name it has there, and a sample of what else is required.
fn fill(schema: &Value, known: &[(&[&str], Value)]) -> Value {
    let mut input = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        // A tool that isn't on offer: the client shall say so.
        let first = known.first().map(|(names, value)| (names[0].to_owned(), value.clone()));
        let second = known
            .get(1)
            .filter(|(names, _)| names[0] != "description")
            .map(|(names, value)| (names[0].to_owned(), value.clone()));
        return Value::Object(first.into_iter().chain(second).collect());
    };
    for (names, value) in known {
        if let Some(name) = names.iter().find(|name| properties.contains_key(**name)) {
            input.insert((*name).to_owned(), value.clone());
        }
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !input.contains_key(name) {
            let value = properties.get(name).map_or_else(|| json!("fake"), sample);
            input.insert(name.to_owned(), value);
        }
    }
    Value::Object(input)
}

/// A smallest instance of a JSON schema.
pub(super) fn sample(schema: &Value) -> Value {
    let get = |key: &str| schema.get(key);
    if let Some(value) = get("const").or_else(|| get("default")).or_else(|| get("enum")?.get(0)) {
        return value.clone();
    }
    if let Some(inner) = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| get(key)?.get(0)) {
        return sample(inner);
    }
    let named = get("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    let kind = named.unwrap_or(if get("properties").is_some() { "object" } else { "string" });
    match kind {
        "object" => {
            let required = get("required").and_then(Value::as_array);
            let wanted =
                |name: &str| required.is_none_or(|names| names.iter().any(|one| one == name));
            let properties = get("properties").and_then(Value::as_object).into_iter().flatten();
            properties
                .filter(|(name, _)| wanted(name))
                .map(|(name, inner)| (name.clone(), sample(inner)))
                .collect()
        }
        "array" => json!([]),
        "integer" | "number" => get("minimum").cloned().unwrap_or_else(|| json!(1)),
        "boolean" => json!(false),
        "null" => Value::Null,
        _ => json!("fake"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn offers(name: &str, schema: Value) -> Tools {
        BTreeMap::from([(name.to_owned(), schema)])
    }

    #[test]
    fn finds_the_clients_own_names() {
        let schema = json!({ "properties": { "cmd": {}, "workdir": { "type": "string" }, "loud": {} }, "required": ["cmd", "workdir"] });
        let call = tool_call(&offers("Terminal__run_shell_command", schema), "bash ls -l | wc");
        assert_eq!(
            call,
            ToolCall {
                name: "Terminal__run_shell_command".to_owned(),
                input: json!({ "cmd": "ls -l | wc", "workdir": "fake" })
            }
        );
        let call = tool_call(&Tools::new(), "write /a b c");
        assert_eq!(
            call,
            ToolCall {
                name: "Write".to_owned(),
                input: json!({ "file_path": "/a", "content": "b c" })
            }
        );
        let call = tool_call(&Tools::new(), "Agent {\"prompt\": \"x\"}");
        assert_eq!(call, ToolCall { name: "Agent".to_owned(), input: json!({ "prompt": "x" }) });
    }

    #[test]
    fn samples_follow_the_schema() {
        let schema = json!({
            "type": "object", "required": ["a", "b", "c", "d"],
            "properties": { "a": { "enum": ["x", "y"] }, "b": { "type": ["integer", "null"], "minimum": 5 },
                "c": { "anyOf": [{ "type": "boolean" }] }, "d": { "type": "array" }, "e": {} }
        });
        assert_eq!(sample(&schema), json!({ "a": "x", "b": 5, "c": false, "d": [] }));
    }
}
