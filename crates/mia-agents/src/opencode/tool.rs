//! The tools of opencode: calls, plans, files, questions.

use std::path::Path;

use mia_api::{Location, NoticeKind, OptionKind, PlanEntry, ToolKind, ToolStatus};
use mia_plugin::Out;
use serde_json::{Map, Value};

use super::adapter::OpenCode;
use crate::acp_dialogue::{Request, Told, question, title};
use crate::edits::is_edit;

/// How many questions may wait for the input of their calls.
const HELD: usize = 1000;
/// How a call ends that a rule forbids.
const FORBIDDEN: &str = "The user has specified a rule which prevents you from using this";

impl OpenCode {
    /// `tool_call` and `tool_call_update`.
    pub(super) fn tool(&mut self, update: Map<String, Value>, out: &mut Out) {
        for told in self.tools.update(update) {
            match told {
                Told::Announced(id) => out.tool_announced(&id),
                Told::Called(mut call) => {
                    self.account.called(&call.name);
                    if call.name == "todowrite" {
                        out.plan(plan(&call.input));
                    }
                    call.title = title(&call.name, &call.input);
                    match call.kind {
                        // The working directory, which is no file that it works on.
                        ToolKind::Execute => call.locations.clear(),
                        ToolKind::Edit if call.locations.is_empty() => {
                            call.locations = patched(&call.input);
                        }
                        _ => {}
                    }
                    out.tool_call(call);
                }
                Told::Output(id, content) => out.tool_update(&id, ToolStatus::InProgress, content),
                Told::Ended { id, name, input, output, failed } => {
                    if failed && output.starts_with(FORBIDDEN) {
                        let title = title(&name, &input);
                        out.notice(NoticeKind::Denied, format!("opencode's rules forbid: {title}"));
                        out.warn(format!("not allowed: {title}"));
                    }
                    out.tool_result(&id, &output, failed);
                }
            }
        }
        let (ready, held) =
            std::mem::take(&mut self.held).into_iter().partition(|request| self.is_known(request));
        self.held = held;
        for request in ready {
            self.request(request, out);
        }
    }

    /// `session/request_permission`. It says only a part of what it is about, or nothing; so it
    /// waits until its call says all, which comes at about the same time.
    pub(super) fn request(&mut self, request: Request, out: &mut Out) {
        if !self.is_known(&request) {
            if self.held.len() < HELD {
                self.held.push(request);
            } else {
                // Nobody should have to allow what they can't see.
                request.send(OptionKind::RejectOnce, out);
            }
            return;
        }
        let name = self.tools.name(request.call_id()).unwrap_or_default();
        let input = self.tools.input(request.call_id());
        if self.edits && is_answered(&request.call, name, Path::new(&self.cwd)) {
            request.send(OptionKind::AllowOnce, out);
            return;
        }
        let asked = Asked::of(&request.call, name, input, &self.cwd);
        self.questions.ask(request, asked.title, asked.likeness, out);
    }

    fn is_known(&self, request: &Request) -> bool {
        let id = request.call_id();
        self.tools.name(id).is_none() || self.tools.input(id).is_some()
    }
}

/// What a question is about.
#[derive(Debug, PartialEq)]
struct Asked {
    title: String,
    /// The same for calls like this one, and only for those; none where the same again would be
    /// another matter.
    likeness: Option<String>,
}

impl Asked {
    /// From the call as the question describes it, the tool's name, the input of the call, and
    /// where opencode works.
    fn of(call: &Value, tool: &str, input: Option<&Value>, cwd: &str) -> Self {
        let nothing = Value::Null;
        let is_told =
            |input: &&Value| !input.is_null() && input.as_object().is_none_or(|i| !i.is_empty());
        let said = call.get("rawInput").filter(is_told).unwrap_or(&nothing);
        let input = input.filter(is_told).unwrap_or(said);
        let titled = call.get("title").and_then(Value::as_str).unwrap_or_default();
        let tool = if tool.is_empty() { titled } else { tool };
        let mut subject = match brief(tool, said, input, cwd) {
            Some(subject) => subject.to_owned(),
            None if input.is_null() => String::new(),
            None => input.to_string(),
        };
        let folders: Vec<&str> = match (said.get("directories"), said.get("parentDir")) {
            (Some(Value::Array(folders)), _) => folders.iter().filter_map(Value::as_str).collect(),
            (_, Some(Value::String(folder))) => vec![folder],
            _ => Vec::new(),
        };
        if !folders.is_empty() {
            subject.push_str(&format!(" (outside the folder: {})", folders.join(", ")));
        }
        // The same command is asked for once for its folder and once for itself, which `said` tells
        // apart.
        let likeness =
            || format!("{tool} {} {}", without_purpose(tool, said), without_purpose(tool, input));
        let edits = EDITING.contains(&tool) || said.get("diff").is_some();
        Self { title: question(tool, &subject), likeness: (!edits).then(likeness) }
    }
}

/// Whether a question of a tool that changes files needs no asking: where all of them are the
/// project's. opencode resolves their paths itself, so what it says counts and not the model's
/// words. Before an edit outside it asks for the folder as well; the question about the edit itself
/// comes after that in any case, and names the file.
fn is_answered(call: &Value, tool: &str, cwd: &Path) -> bool {
    if !EDITING.contains(&tool) {
        return false;
    }
    let Some(said) = call.get("rawInput") else { return false };
    let is_text = |name: &str| said.get(name).is_some_and(Value::is_string);
    if !is_text("diff") {
        return is_text("parentDir");
    }
    let is_ours = |path: &Value| {
        let path = path.as_str().map(Path::new);
        path.is_some_and(|path| path.is_absolute() && is_edit(path, cwd))
    };
    match said.get("files") {
        Some(Value::Array(files)) => {
            !files.is_empty()
                && files.iter().all(|file| {
                    file.get("filePath").is_some_and(is_ours)
                        && file.get("movePath").is_none_or(is_ours)
                })
        }
        Some(_) => false,
        None => said.get("filepath").is_some_and(is_ours),
    }
}

/// The tools that change files. The same edit twice would be another edit.
const EDITING: [&str; 5] = ["apply_patch", "edit", "multiedit", "patch", "write"];

/// What a call works on, where that is all that a person has to know of it.
fn brief<'a>(tool: &str, said: &'a Value, input: &'a Value, cwd: &str) -> Option<&'a str> {
    let text = |of: &'a Value, name: &str| of.get(name).and_then(Value::as_str);
    if tool == "read" || EDITING.contains(&tool) {
        return text(said, "filepath").or_else(|| text(input, "filePath"));
    }
    if tool != "bash" {
        return None;
    }
    let members = input.as_object()?;
    let harmless = |(name, value): (&String, &Value)| match name.as_str() {
        "command" | "description" | "timeout" => true,
        // Of a question that tells its call itself.
        "directories" | "patterns" | "parentDir" => std::ptr::eq(input, said),
        "cwd" | "workdir" => value == cwd,
        _ => false,
    };
    let command = text(input, "command").filter(|_| members.iter().all(harmless))?;
    // A question that tells another command than its call is not understood.
    text(said, "command").is_none_or(|said| said == command).then_some(command)
}

/// An input without what the model says that it is for.
fn without_purpose(tool: &str, input: &Value) -> Value {
    let mut input = input.clone();
    if let Some(members) = input.as_object_mut().filter(|_| tool == "bash") {
        members.remove("description");
    }
    input
}

fn plan(input: &Value) -> Vec<PlanEntry> {
    let text = |todo: &Value, key: &str| {
        todo.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let todos = input.get("todos").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let entry = |todo| PlanEntry {
        content: text(todo, "content"),
        priority: text(todo, "priority"),
        status: text(todo, "status"),
    };
    todos.iter().map(entry).collect()
}

/// The files of an `apply_patch`, which has them only in its text.
fn patched(input: &Value) -> Vec<Location> {
    let patch = input.get("patchText").and_then(Value::as_str).unwrap_or_default();
    let heads = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let paths = patch.lines().filter_map(|line| heads.iter().find_map(|h| line.strip_prefix(h)));
    paths.map(|path| Location { path: path.trim().to_owned(), line: None }).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn title(call: &Value, tool: &str, input: Option<&Value>) -> String {
        Asked::of(call, tool, input, "/w").title
    }

    #[test]
    fn m_026_a_question_says_all_of_what_it_is_about() {
        let bash = json!({"title": "ls", "rawInput": {"command": "ls\nrm -rf x"}});
        assert_eq!(title(&bash, "bash", None), "bash ls ⏎ rm -rf x");
        let input =
            json!({"command": "ls\nrm -rf x", "description": "d", "timeout": 5, "cwd": "/w"});
        assert_eq!(title(&bash, "bash", Some(&input)), "bash ls ⏎ rm -rf x");
        for (name, value) in [("cwd", "/etc"), ("workdir", "/etc"), ("env", "A=1")] {
            let mut input = input.clone();
            input[name] = value.into();
            assert_eq!(title(&bash, "bash", Some(&input)), format!("bash {input}"));
        }
        let part = json!({"rawInput": {"command": "ls"}});
        assert_eq!(title(&part, "bash", Some(&input)), format!("bash {input}"));
        let outside = json!({"title": "cat /etc/x", "rawInput": {"command": "cat /etc/x", "directories": ["/etc"]}});
        assert_eq!(title(&outside, "bash", None), "bash cat /etc/x (outside the folder: /etc)");
        let edit = json!({"title": "/w/a", "rawInput": {"filepath": "/w/a", "diff": "+x"}});
        assert_eq!(title(&edit, "write", None), "write /w/a");
        let nothing = json!({"title": "read", "rawInput": {}});
        let input = json!({"filePath": "/w/.env"});
        assert_eq!(title(&nothing, "read", Some(&input)), "read /w/.env");
        // Tools of MCP servers have members of their own.
        for input in [
            json!({"sql": "drop table x"}),
            json!({"command": "restart", "target": "production"}),
            json!({"command": "restart", "description": "production"}),
            json!({"filePath": "/w/a", "mode": 511}),
        ] {
            assert_eq!(title(&nothing, "db_query", Some(&input)), format!("db_query {input}"));
        }
        assert_eq!(title(&Value::Null, "", None), "");
    }

    #[test]
    fn m_026_always_is_for_the_same_tool_with_the_same_input() {
        let outside = |path: &str| json!({"title": "/etc", "rawInput": {"filepath": path, "parentDir": "/etc"}});
        let runs =
            json!({"title": "x", "rawInput": {"command": "cat /etc/x", "directories": ["/etc"]}});
        let input = |path: &str| json!({"filePath": path});
        let likeness = |call: &Value, tool: &str, input: &Value| {
            Asked::of(call, tool, Some(input), "/w").likeness
        };
        let read = likeness(&outside("/etc/x"), "read", &input("/etc/x"));
        assert_eq!(read, likeness(&outside("/etc/x"), "read", &input("/etc/x")));
        let command = json!({"command": "cat /etc/x", "description": "one"});
        let ran = likeness(&runs, "bash", &command);
        let again = json!({"command": "cat /etc/x", "description": "two"});
        assert_eq!(ran, likeness(&runs, "bash", &again));
        let by_itself = json!({"title": "x", "rawInput": {"command": "cat /etc/x"}});
        let elsewhere = json!({"command": "cat /etc/x", "workdir": "/etc"});
        let others = [
            read,
            ran,
            likeness(&outside("/etc/y"), "read", &input("/etc/y")),
            likeness(&outside("/etc/x"), "glob", &input("/etc/x")),
            likeness(&outside("/etc/x"), "read", &json!({"filePath": "/etc/x", "offset": 9})),
            likeness(&by_itself, "bash", &command),
            likeness(&runs, "bash", &elsewhere),
        ];
        let different: std::collections::HashSet<_> = others.iter().flatten().collect();
        assert_eq!(different.len(), others.len());
        let edit = json!({"rawInput": {"filepath": "/w/a", "diff": "+x"}});
        for (call, tool) in [(&edit, "write"), (&edit, "other"), (&outside("/etc/x"), "edit")] {
            assert_eq!(likeness(call, tool, &input("/etc/x")), None);
        }
    }

    #[test]
    fn m_006_the_files_of_a_patch() {
        let patch = "*** Begin Patch\n*** Add File: a b.txt\n+x\n*** Update File: c\n*** Move to: d\n*** Delete File: e\n*** End Patch";
        let paths: Vec<_> =
            patched(&json!({"patchText": patch})).into_iter().map(|l| l.path).collect();
        assert_eq!(paths, ["a b.txt", "c", "d", "e"]);
    }
}
