//! Calls of tools that this server knows only by what the client offers.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// A tool on offer.
#[derive(Debug, Clone, PartialEq)]
pub enum Tool {
    /// It takes an object that follows this schema.
    Function(Value),
    /// It takes text.
    Freeform,
    /// The shell that the Responses API knows of itself; it takes a command in words.
    LocalShell,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool's name, as offered.
    pub name: String,
    /// Its input: an object, or a string for a [`Tool::Freeform`].
    pub input: Value,
}

type Tools = BTreeMap<String, Tool>;

const SHELLS: [&str; 9] = [
    "Bash",
    "bash",
    "run_shell_command",
    "exec_command",
    "shell_command",
    "shell",
    "local_shell",
    "execute_command",
    "run_command",
];
const WRITERS: [&str; 6] = ["Write", "write", "write_file", "create", "create_file", "apply_patch"];
const READERS: [&str; 5] = ["Read", "read", "read_file", "view", "view_file"];
const PATHS: &[&str] = &["file_path", "filePath", "absolute_path", "path"];

/// Makes a call from the argument of a `TOOL` directive.
pub(super) fn tool_call(tools: &Tools, argument: &str) -> ToolCall {
    let (kind, rest) = argument.split_once(' ').unwrap_or((argument, ""));
    let rest = rest.trim();
    // An agent's own tool may be called `bash`: an object is its input as it stands.
    let literal = rest.starts_with('{') && serde_json::from_str::<Value>(rest).is_ok();
    match kind {
        "bash" if !literal => shell(tools, rest),
        "write" if !literal => {
            let (path, content) = rest.split_once(' ').unwrap_or((rest, ""));
            write(tools, path, content)
        }
        "read" if !literal => match offered(tools, &READERS) {
            // Codex has no tool that reads: it does so in its shell.
            None if offered(tools, &SHELLS).is_some() => {
                shell(tools, &format!("cat {}", quoted(rest)))
            }
            name => call(tools, name.unwrap_or(READERS[0]), &[(PATHS, json!(rest))]),
        },
        _ => {
            let name = match kind {
                "bash" => offered(tools, &SHELLS),
                "write" => offered(tools, &WRITERS),
                "read" => offered(tools, &READERS),
                _ => None,
            };
            let name = name.unwrap_or(kind);
            let input = match tools.get(name) {
                Some(Tool::Freeform) => json!(rest),
                _ if rest.is_empty() => json!({}),
                _ => serde_json::from_str(rest).unwrap_or_else(|_| json!({ "input": rest })),
            };
            ToolCall { name: name.to_owned(), input }
        }
    }
}

/// The call with its path below that folder, for a tool that refuses any other.
pub(super) fn below(folder: Option<&str>, tools: &Tools, mut call: ToolCall) -> ToolCall {
    let (Some(folder), Some(Tool::Function(schema))) = (folder, tools.get(&call.name)) else {
        return call;
    };
    for name in PATHS {
        let said = schema.pointer(&format!("/properties/{name}/description"));
        let refuses = said
            .and_then(Value::as_str)
            .is_some_and(|said| said.contains("Relative paths are not supported"));
        if let Some(Value::String(path)) = call.input.get_mut(name).filter(|_| refuses) {
            *path = std::path::Path::new(folder).join(&*path).to_string_lossy().into_owned();
        }
    }
    call
}

fn shell(tools: &Tools, command: &str) -> ToolCall {
    let known: [Known<'_>; 2] =
        [(&["command", "cmd"], json!(command)), (&["description"], json!("fake shell call"))];
    call(tools, offered(tools, &SHELLS).unwrap_or(SHELLS[0]), &known)
}

fn write(tools: &Tools, path: &str, content: &str) -> ToolCall {
    let name = offered(tools, &WRITERS).unwrap_or(WRITERS[0]);
    if name.ends_with("apply_patch") {
        let patch = format!("*** Begin Patch\n*** Add File: {path}\n+{content}\n*** End Patch\n");
        return call(tools, name, &[(&["input", "patch", "patchText"], json!(patch))]);
    }
    let contents: &[&str] = &["content", "file_text", "text", "contents"];
    call(tools, name, &[(PATHS, json!(path)), (contents, json!(content))])
}

/// A word for the shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The first of these that the client offers, exactly or as the last part of a longer name.
fn offered<'a>(tools: &'a Tools, names: &[&str]) -> Option<&'a str> {
    let exact = names.iter().find_map(|name| tools.get_key_value(*name));
    let ends = |tool: &str, name: &str| {
        let tool = tool.to_lowercase();
        // `todowrite` is no `write`.
        let before = tool.strip_suffix(&name.to_lowercase());
        before.is_some_and(|before| !before.ends_with(char::is_alphanumeric))
    };
    let ending = || names.iter().find_map(|name| tools.iter().find(|(tool, _)| ends(tool, name)));
    exact.or_else(ending).map(|(name, _)| name.as_str())
}

/// What is to be said, under all the names that it has with one client or another.
type Known<'a> = (&'a [&'a str], Value);

/// A call with what is known, as the tool takes it.
fn call(tools: &Tools, name: &str, known: &[Known<'_>]) -> ToolCall {
    let first = known.first().map(|(_, value)| value.clone()).unwrap_or_default();
    let input = match tools.get(name) {
        Some(Tool::Freeform) => first,
        Some(Tool::LocalShell) => json!({ "type": "exec", "command": words(&first), "env": {} }),
        Some(Tool::Function(schema)) => fill(schema, known),
        None => fill(&Value::Null, known),
    };
    ToolCall { name: name.to_owned(), input }
}

/// A command as the words of a process that runs it.
fn words(command: &Value) -> Value {
    json!(["bash", "-lc", command])
}

/// An input by the tool's schema: what is known under whichever name it has there, and a sample of what else is required.
fn fill(schema: &Value, known: &[Known<'_>]) -> Value {
    let mut input = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        // A tool that isn't on offer: the client shall say so.
        let named = known.iter().filter(|(names, _)| names[0] != "description");
        return named.map(|(names, value)| (names[0].to_owned(), value.clone())).collect();
    };
    for (names, value) in known {
        let found = names.iter().find_map(|name| properties.get_key_value(*name));
        if let Some((name, schema)) = found {
            let value = if kind(schema) == "array" { words(value) } else { value.clone() };
            input.insert(name.clone(), value);
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

/// The type that a schema names, in small letters: Gemini has them in capitals.
fn kind(schema: &Value) -> String {
    let named = schema.get("type");
    let named = named.and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    let unnamed = if schema.get("properties").is_some() { "object" } else { "string" };
    named.unwrap_or(unnamed).to_lowercase()
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
    match kind(schema).as_str() {
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
        BTreeMap::from([(name.to_owned(), Tool::Function(schema))])
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
    fn a_tool_that_takes_no_relative_path_gets_none() {
        let path = json!({ "type": "string", "description": "The file. Relative paths are not supported." });
        let schema = json!({ "properties": { "file_path": path, "content": {} } });
        let tools = offers("write_file", schema);
        for (written, expected) in [("a", "/w d/a"), ("/b/a", "/b/a")] {
            let call = tool_call(&tools, &format!("write {written} x"));
            let call = below(Some("/w d"), &tools, call);
            assert_eq!(call.input, json!({ "file_path": expected, "content": "x" }));
        }
        let call = tool_call(&tools, "write a x");
        assert_eq!(below(None, &tools, call.clone()), call);
    }

    #[test]
    fn an_object_is_the_input_as_it_stands() {
        let schema = json!({ "properties": { "cmd": {} } });
        let raw = r#"{"cmd":"id","sandbox_permissions":"require_escalated"}"#;
        for kind in ["bash", "exec_command"] {
            let call = tool_call(&offers("exec_command", schema.clone()), &format!("{kind} {raw}"));
            assert_eq!(
                (call.name.as_str(), call.input.to_string().as_str()),
                ("exec_command", raw)
            );
        }
        let group = tool_call(&offers("exec_command", schema), "bash { id; }");
        assert_eq!(group.input, json!({ "cmd": "{ id; }" }));
    }

    #[test]
    fn codexs_tools_take_patches_and_words() {
        let tools = Tools::from([
            ("apply_patch".to_owned(), Tool::Freeform),
            ("local_shell".to_owned(), Tool::LocalShell),
        ]);
        let patch = "*** Begin Patch\n*** Add File: /a\n+b c\n*** End Patch\n";
        let named = |name: &str, input: Value| ToolCall { name: name.to_owned(), input };
        assert_eq!(tool_call(&tools, "write /a b c"), named("apply_patch", json!(patch)));
        assert_eq!(tool_call(&tools, "apply_patch {x"), named("apply_patch", json!("{x")));
        let runs = |command: &str| json!({ "type": "exec", "command": ["bash", "-lc", command], "env": {} });
        assert_eq!(tool_call(&tools, "bash ls"), named("local_shell", runs("ls")));
        assert_eq!(tool_call(&tools, "read it's"), named("local_shell", runs(r"cat 'it'\''s'")));
        let shell = offers("shell", json!({ "properties": { "command": { "type": "ARRAY" } } }));
        assert_eq!(
            tool_call(&shell, "bash ls"),
            named("shell", json!({ "command": ["bash", "-lc", "ls"] }))
        );
    }

    #[test]
    fn a_name_that_only_ends_alike_is_another_tool() {
        let call = tool_call(&offers("todowrite", json!({})), "write /a b");
        assert_eq!(call.name, "Write");
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
