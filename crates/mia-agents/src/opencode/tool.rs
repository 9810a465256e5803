//! The tools of opencode: calls, plans, files, questions.

use mia_api::{Location, NoticeKind, PlanEntry, ToolKind, ToolStatus};
use mia_plugin::Out;
use serde_json::{Map, Value};

use super::adapter::OpenCode;
use crate::acp_dialogue::{Request, Told, question, title};

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

    /// `session/request_permission`. One that does not say what it is about waits until its call
    /// does, which comes at about the same time.
    pub(super) fn request(&mut self, request: Request, out: &mut Out) {
        if !self.is_known(&request) {
            self.held.push(request);
            return;
        }
        let name = self.tools.name(request.call_id()).unwrap_or_default();
        let asked = Asked::of(&request.call, name, self.tools.input(request.call_id()));
        self.questions.ask(request, asked.title, asked.likeness, out);
    }

    fn is_known(&self, request: &Request) -> bool {
        let says = request.call.get("rawInput").and_then(Value::as_object);
        let id = request.call_id();
        let comes = self.tools.name(id).is_some() && self.tools.input(id).is_none();
        says.is_some_and(|input| !input.is_empty()) || !comes
    }
}

/// What a question is about.
#[derive(Debug, PartialEq)]
struct Asked {
    title: String,
    /// The same for calls like this one, and only for those.
    likeness: String,
}

impl Asked {
    /// From the call as the question describes it, the tool's name, and its input where the
    /// question has none.
    fn of(call: &Value, tool: &str, input: Option<&Value>) -> Self {
        let member = |name: &str| call.get("rawInput").and_then(|input| input.get(name));
        let text = |name: &str| member(name).and_then(Value::as_str);
        let titled = call.get("title").and_then(Value::as_str).unwrap_or_default();
        let tool = if tool.is_empty() { titled } else { tool };
        let subject = text("command").or_else(|| text("filepath"));
        let folders: Vec<&str> = match (member("directories"), text("parentDir")) {
            (Some(Value::Array(folders)), _) => folders.iter().filter_map(Value::as_str).collect(),
            (_, Some(folder)) => vec![folder],
            _ => Vec::new(),
        };
        let (subject, likeness) = match (subject, &folders[..]) {
            (Some(subject), [_, ..]) => {
                let subject = format!("{subject} (outside the folder: {})", folders.join(", "));
                // Whatever the command: it is asked for by itself.
                (subject, format!("outside {folders:?}"))
            }
            (Some(subject), []) => (subject.to_owned(), format!("{tool} {subject:?}")),
            (None, _) => {
                let said =
                    call.get("rawInput").filter(|i| i.as_object().is_some_and(|i| !i.is_empty()));
                let input = said.or(input).cloned().unwrap_or_default();
                let subject = match input.get("filePath").and_then(Value::as_str) {
                    Some(path) => path.to_owned(),
                    None if input.is_null() => String::new(),
                    None => input.to_string(),
                };
                (subject, format!("{tool} {titled} {input}"))
            }
        };
        Self { title: question(tool, &subject), likeness }
    }
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

    fn asked(title: &str, likeness: &str) -> Asked {
        Asked { title: title.to_owned(), likeness: likeness.to_owned() }
    }

    #[test]
    fn a_question_says_all_of_what_it_is_about() {
        let bash = json!({"title": "ls", "rawInput": {"command": "ls\nrm -rf x"}});
        assert_eq!(
            Asked::of(&bash, "bash", None),
            asked("bash ls ⏎ rm -rf x", r#"bash "ls\nrm -rf x""#)
        );
        let outside = json!({"title": "cat /etc/x", "rawInput": {"command": "cat /etc/x", "directories": ["/etc"]}});
        assert_eq!(
            Asked::of(&outside, "bash", None),
            asked("bash cat /etc/x (outside the folder: /etc)", r#"outside ["/etc"]"#)
        );
        let edit = json!({"title": "/w/a", "rawInput": {"filepath": "/w/a", "diff": "+x"}});
        assert_eq!(Asked::of(&edit, "write", None), asked("write /w/a", r#"write "/w/a""#));
        let env = json!({"title": "read", "rawInput": {}});
        let input = json!({"filePath": "/w/.env"});
        assert_eq!(
            Asked::of(&env, "read", Some(&input)),
            asked("read /w/.env", r#"read read {"filePath":"/w/.env"}"#)
        );
        let mcp = json!({"title": "db_query", "rawInput": {}});
        let input = json!({"sql": "drop table x"});
        assert_eq!(
            Asked::of(&mcp, "db_query", Some(&input)).title,
            r#"db_query {"sql":"drop table x"}"#
        );
        assert_eq!(Asked::of(&Value::Null, "", None).title, "");
    }

    #[test]
    fn m_006_the_files_of_a_patch() {
        let patch = "*** Begin Patch\n*** Add File: a b.txt\n+x\n*** Update File: c\n*** Move to: d\n*** Delete File: e\n*** End Patch";
        let paths: Vec<_> =
            patched(&json!({"patchText": patch})).into_iter().map(|l| l.path).collect();
        assert_eq!(paths, ["a b.txt", "c", "d", "e"]);
    }
}
