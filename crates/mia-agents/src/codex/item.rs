//! The tools of codex: their calls and results; its sub-agents.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use mia_api::{Location, NoticeKind, PlanEntry, ToolCallInfo, ToolKind};
use mia_plugin::Out;
use serde_json::{Value, json};

use super::adapter::Codex;
use super::asking::SHOWN;
use super::line::{list, text};

/// How many items, and sub-agents, are remembered, and how many questions wait.
pub(super) const REMEMBERED: usize = 1000;
/// The longest title of a call, in characters, but for a few words at its end.
const TITLE: usize = 200;

/// What is remembered of the items of this turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Items {
    /// Items of tools that were begun and not completed, in the order of their ids.
    open: BTreeSet<String>,
    /// What a question about an item is asked with, by the item's id.
    pub(super) known: HashMap<String, Known>,
    /// The call that began a sub-agent, by the sub-agent's thread.
    pub(super) sub_agents: HashMap<String, String>,
}

/// What the questions about an item do not repeat.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) title: String,
    /// What becomes of which files, all of them; empty for what is no change of files.
    pub(super) changes: String,
    /// Files that it changes.
    pub(super) paths: Vec<String>,
    /// The MCP server and its tool.
    pub(super) server: Option<(String, String)>,
}

impl Codex {
    pub(super) fn item_started(&mut self, item: &Value, parent: Option<&str>, out: &mut Out) {
        match text(item, "type") {
            "agentMessage" if parent.is_none() => self.message_started(item, out),
            "collabAgentToolCall" | "subAgentActivity" => {
                self.sub_agents_of(item);
                self.tool_started(item, parent, out);
            }
            _ => self.tool_started(item, parent, out),
        }
    }

    pub(super) fn item_completed(&mut self, item: &Value, parent: Option<&str>, out: &mut Out) {
        match text(item, "type") {
            "agentMessage" => self.message_completed(item, parent, out),
            "reasoning" => self.thought_completed(item, parent, out),
            "contextCompaction" => {
                let message = "codex has made a summary of what was said before, to have room";
                out.notice(NoticeKind::Warning, message);
            }
            "collabAgentToolCall" | "subAgentActivity" => {
                self.sub_agents_of(item);
                self.tool_completed(item, parent, out);
            }
            _ => self.tool_completed(item, parent, out),
        }
    }

    /// The threads of sub-agents that a call has begun.
    fn sub_agents_of(&mut self, item: &Value) {
        let receivers = list(item, "receiverThreadIds").iter().filter_map(Value::as_str);
        let threads = receivers.chain([text(item, "agentThreadId")]);
        for thread in threads.filter(|thread| !thread.is_empty() && *thread != self.thread) {
            if self.items.sub_agents.len() < REMEMBERED {
                let call = || text(item, "id").to_owned();
                self.items.sub_agents.entry(thread.to_owned()).or_insert_with(call);
            }
        }
    }

    fn tool_started(&mut self, item: &Value, parent: Option<&str>, out: &mut Out) {
        let Some(call) = call(item, parent, &self.cwd) else { return };
        if self.items.known.len() < REMEMBERED {
            let paths = call.locations.iter().map(|location| location.path.clone()).collect();
            let server = (text(item, "type") == "mcpToolCall")
                .then(|| (text(item, "server").to_owned(), text(item, "tool").to_owned()));
            let changes = change_title(list(item, "changes"), &self.cwd, SHOWN);
            let known = Known { title: call.title.clone(), changes, paths, server };
            self.items.known.insert(call.id.clone(), known);
            self.items.open.insert(call.id.clone());
        }
        out.tool_call(call);
    }

    fn tool_completed(&mut self, item: &Value, parent: Option<&str>, out: &mut Out) {
        let id = text(item, "id");
        if !out.is_open(id) {
            // Some come only when they are done.
            self.tool_started(item, parent, out);
            if !out.is_open(id) {
                return;
            }
        }
        let (output, error) = result(item);
        let known = self.items.known.remove(id).unwrap_or_default();
        self.items.open.remove(id);
        if was_denied(item) {
            out.warn(format!("not allowed: {}", known.title));
        }
        out.tool_result(id, &output, error);
    }

    /// The turn is over. Commands that codex had put into the background are ended with it.
    pub(super) fn end_items(&mut self, out: &mut Out) {
        for id in std::mem::take(&mut self.items.open) {
            out.tool_result(&id, "it was still running when the turn ended, and was ended", true);
        }
    }
}

fn was_denied(item: &Value) -> bool {
    let said = text(item.get("error").unwrap_or(&Value::Null), "message");
    text(item, "status") == "declined"
        || said.contains("rejected MCP tool call")
        || said.contains("requires approval")
}

/// The call that an item is; none for items that are no tool.
fn call(item: &Value, parent: Option<&str>, cwd: &Path) -> Option<ToolCallInfo> {
    let (kind, of) = (text(item, "type"), |member: &str| text(item, member));
    let mut call = ToolCallInfo {
        id: of("id").to_owned(),
        parent_id: parent.map(str::to_owned),
        name: kind.to_owned(),
        ..ToolCallInfo::default()
    };
    match kind {
        "commandExecution" => {
            call.kind = ToolKind::Execute;
            call.title = first_line("Run", &script(of("command")));
            call.input = json!({"command": of("command"), "cwd": of("cwd")});
        }
        "fileChange" => {
            let changes = list(item, "changes");
            call.kind = change_kind(changes);
            let paths = changes.iter().map(|change| text(change, "path").to_owned());
            let moved = changes.iter().filter_map(|change| change.pointer("/kind/move_path"));
            let moved = moved.filter_map(Value::as_str).map(str::to_owned);
            let locations = paths.chain(moved).map(|path| Location { path, line: None });
            call.locations = locations.collect();
            call.title = change_title(changes, cwd, TITLE);
            call.input = json!({"changes": changes});
        }
        "mcpToolCall" => {
            call.name = format!("{}.{}", of("server"), of("tool"));
            call.input = item.get("arguments").cloned().unwrap_or_default();
            call.title = first_line(&call.name, &call.input.to_string());
        }
        "dynamicToolCall" => {
            of("tool").clone_into(&mut call.name);
            call.input = item.get("arguments").cloned().unwrap_or_default();
            call.title = first_line(&call.name, &call.input.to_string());
        }
        "collabAgentToolCall" => {
            call.kind = ToolKind::Think;
            of("tool").clone_into(&mut call.name);
            call.title = first_line(&call.name, of("prompt"));
            call.input = json!({"prompt": of("prompt"), "agents": item.get("receiverThreadIds")});
        }
        // Said again for each message to a sub-agent that runs.
        "subAgentActivity" if of("kind") == "started" => {
            call.kind = ToolKind::Think;
            call.title = first_line("Sub-agent", of("agentPath"));
            call.input = json!({"agent": of("agentPath")});
        }
        "webSearch" => {
            call.kind = ToolKind::Fetch;
            call.title = first_line("Search the web for", of("query"));
            call.input = json!({"query": of("query"), "action": item.get("action")});
        }
        "imageView" => {
            call.kind = ToolKind::Read;
            call.title = first_line("Look at", of("path"));
            call.input = json!({"path": of("path")});
            call.locations = vec![Location { path: of("path").to_owned(), line: None }];
        }
        "imageGeneration" | "sleep" => {
            call.title = if kind == "sleep" { "Wait" } else { "Make a picture" }.to_owned();
        }
        _ => return None,
    }
    (!call.id.is_empty()).then_some(call)
}

fn change_kind(changes: &[Value]) -> ToolKind {
    let all = |kind: &str| {
        changes.iter().all(|change| change.pointer("/kind/type") == Some(&json!(kind)))
    };
    let moved = |change: &Value| change.pointer("/kind/move_path").is_some_and(Value::is_string);
    if changes.is_empty() || !all("delete") {
        if !changes.is_empty() && changes.iter().all(moved) {
            ToolKind::Move
        } else {
            ToolKind::Edit
        }
    } else {
        ToolKind::Delete
    }
}

/// What becomes of which files. Those in the working directory by their path in it; those that do
/// not fit into so many characters are counted.
fn change_title(changes: &[Value], cwd: &Path, longest: usize) -> String {
    let short = |path: &str| {
        let inside = Path::new(path).strip_prefix(cwd).unwrap_or(Path::new(path));
        inside.to_string_lossy().replace('\n', " ⏎ ")
    };
    let words = changes.iter().map(|change| {
        let path = short(text(change, "path"));
        match change.pointer("/kind/type").and_then(Value::as_str) {
            Some("add") => format!("write {path}"),
            Some("delete") => format!("delete {path}"),
            _ => match change.pointer("/kind/move_path").and_then(Value::as_str) {
                Some(to) => format!("change {path} and move it to {}", short(to)),
                None => format!("change {path}"),
            },
        }
    });
    let (mut title, mut length) = (String::new(), 0);
    for (at, words) in words.enumerate() {
        let more = words.chars().count();
        if at > 0 && length + 2 + more > longest {
            title.push_str(&format!(" and {} more", changes.len() - at));
            break;
        }
        if at > 0 {
            title.push_str(", ");
        }
        // One that is too long for itself.
        title.extend(words.chars().take(longest));
        if more > longest {
            title.push('…');
        }
        length += 2 + more;
    }
    let mut letters = title.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// What a tool gave, and whether it failed.
fn result(item: &Value) -> (Cow<'_, str>, bool) {
    let failed = matches!(text(item, "status"), "failed" | "declined");
    let output: Cow<'_, str> = match text(item, "type") {
        "commandExecution" => {
            let output = text(item, "aggregatedOutput");
            match item.get("exitCode").and_then(Value::as_i64) {
                Some(code) if output.is_empty() && code != 0 => {
                    format!("exit status {code}").into()
                }
                _ => output.into(),
            }
        }
        "mcpToolCall" => {
            let said = text(item.get("error").unwrap_or(&Value::Null), "message");
            let content = list(item.get("result").unwrap_or(&Value::Null), "content");
            if said.is_empty() { texts(content).into() } else { said.into() }
        }
        "dynamicToolCall" => texts(list(item, "contentItems")).into(),
        "collabAgentToolCall" => {
            let states = item.get("agentsStates").and_then(Value::as_object);
            let said = states.into_iter().flatten().map(|(_, state)| {
                let message = text(state, "message");
                if message.is_empty() { text(state, "status") } else { message }
            });
            said.collect::<Vec<_>>().join("\n").into()
        }
        _ => "".into(),
    };
    let output = if output.is_empty() && text(item, "status") == "declined" {
        "this was not allowed".into()
    } else {
        output
    };
    let unsuccessful = item.get("success").and_then(Value::as_bool) == Some(false);
    (output, failed || unsuccessful)
}

/// The text of content blocks; of others their kind.
fn texts(blocks: &[Value]) -> String {
    let text_of = |block: &Value| match text(block, "text") {
        "" => format!("[{}]", text(block, "type")),
        text => text.to_owned(),
    };
    blocks.iter().map(text_of).collect::<Vec<_>>().join("\n")
}

/// The script in the shell's command line that codex prints; the whole line where it is another.
pub(super) fn script(command: &str) -> Cow<'_, str> {
    if let Some(words) = shlex::split(command)
        && let [_shell, flag, script] = words.as_slice()
        && matches!(flag.as_str(), "-c" | "-lc")
    {
        return script.clone().into();
    }
    command.into()
}

/// One line for people: what is done, and the beginning of what it is done with.
fn first_line(what: &str, subject: &str) -> String {
    let line = subject.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let what: String = what.chars().take(TITLE).collect();
    let mut short: String = line.trim().chars().take(160).collect();
    if short != subject.trim() {
        short.push('…');
    }
    format!("{what} {short}").trim_end().to_owned()
}

/// The steps of a plan.
pub(super) fn plan(params: &Value) -> Vec<PlanEntry> {
    let step = |entry: &Value| PlanEntry {
        content: text(entry, "step").to_owned(),
        priority: "medium".to_owned(),
        status: match text(entry, "status") {
            "inProgress" => "in_progress".to_owned(),
            status => status.to_owned(),
        },
    };
    list(params, "plan").iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_without_the_shell_around_it() {
        for (command, shown) in [
            ("/bin/bash -lc 'touch a'", "touch a"),
            (r#"/bin/bash -lc "echo 'a b' | wc""#, "echo 'a b' | wc"),
            ("/bin/bash -lc ls", "ls"),
            ("python3 -c 'x' y", "python3 -c 'x' y"),
            ("/bin/bash -lc 'not closed", "/bin/bash -lc 'not closed"),
        ] {
            assert_eq!(script(command), shown);
        }
    }

    #[test]
    fn what_becomes_of_which_files() {
        let change = |path: &str, kind: Value| json!({"path": path, "kind": kind, "diff": ""});
        let changes = [
            change("/w/a.txt", json!({"type": "add"})),
            change("/etc/x", json!({"type": "delete"})),
            change("/w/b", json!({"type": "update", "move_path": "/w/c\nd"})),
            change("/w/e", json!({"type": "update", "move_path": null})),
        ];
        assert_eq!(
            change_title(&changes, Path::new("/w"), TITLE),
            "Write a.txt, delete /etc/x, change b and move it to c ⏎ d, change e"
        );
        assert_eq!(change_kind(&changes), ToolKind::Edit);
        assert_eq!(change_kind(&changes[1..2]), ToolKind::Delete);
        assert_eq!(change_kind(&changes[2..3]), ToolKind::Move);
        assert_eq!(change_kind(&[]), ToolKind::Edit);
    }
}
