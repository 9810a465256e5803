//! The questions of codex.

use std::path::Path;

use mia_api::{NoticeKind, OptionKind, PermissionOption, PermissionPolicy, PermissionRequest};
use mia_plugin::Out;
use serde_json::{Value, json};

use super::adapter::Codex;
use super::item::{REMEMBERED, script};
use super::line::text;
use super::policy::is_edit;

/// How much of a command or of a tool's input a question shows, in characters.
pub(super) const SHOWN: usize = 8000;

/// A question that waits for its answer.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// The id of its request.
    id: Value,
    /// The results that mean yes, and, where there is one, yes to the same from now on, and no.
    yes: Value,
    always: Option<Value>,
    no: Value,
}

impl Codex {
    /// A request of codex. It is answered in any case: one without an answer waits for ever.
    pub(super) fn server_request(
        &mut self,
        method: &str,
        id: Value,
        params: &Value,
        out: &mut Out,
    ) {
        let decision = |word: &str| json!({"decision": word});
        let item = text(params, "itemId").to_owned();
        let (title, asked) = match method {
            "item/commandExecution/requestApproval" => {
                // "Always" is for the same command in the same place, until this process ends: not
                // the offered amendment, which is written into a file of the user and allows all
                // commands that begin alike. Input to a command that runs is another each time.
                let same = matches!(text(params, "kind"), "" | "command")
                    && params.get("networkApprovalContext").is_none_or(Value::is_null);
                let always = same.then(|| decision("acceptForSession"));
                let asked = Asked { id, yes: decision("accept"), always, no: decision("decline") };
                (self.command_title(params), asked)
            }
            "item/fileChange/requestApproval" => {
                let known = self.items.known.get(&item).cloned().unwrap_or_default();
                let edit = !known.paths.is_empty()
                    && known.paths.iter().all(|path| is_edit(path, &self.cwd));
                let asked =
                    Asked { id, yes: decision("accept"), always: None, no: decision("decline") };
                if edit && self.policy == Some(PermissionPolicy::Edit) {
                    respond(out, &asked.id, &asked.yes);
                    return;
                }
                let title = match known.changes.as_str() {
                    "" => "Change files",
                    changes => changes,
                };
                (with_reason(title, params), asked)
            }
            "item/permissions/requestApproval" => {
                let wanted = params.get("permissions").cloned().unwrap_or_default();
                let title = format!("Give codex for this turn: {wanted}");
                let yes = json!({"permissions": wanted, "scope": "turn"});
                let no = json!({"permissions": {}, "scope": "turn"});
                (with_reason(&title, params), Asked { id, yes, always: None, no })
            }
            "mcpServer/elicitation/request" => {
                let no = json!({"action": "decline", "content": null, "_meta": null});
                let meta = params.get("_meta").unwrap_or(&Value::Null);
                if text(meta, "codex_approval_kind") != "mcp_tool_call" {
                    let server = text(params, "serverName");
                    let message = format!("the MCP server {server} asked for input; mia has none");
                    out.notice(NoticeKind::Denied, message);
                    respond(out, &id, &no);
                    return;
                }
                // "Persist" would allow the tool with any input.
                let yes = json!({"action": "accept", "content": {}, "_meta": null});
                let (server, tool) = (text(params, "serverName"), text(meta, "tool_name"));
                let input = meta.get("tool_params").unwrap_or(&Value::Null);
                let title = one_line(&format!("{server}.{tool} {input}"));
                (title, Asked { id, yes, always: None, no })
            }
            unknown => {
                let message = format!("mia does not answer {unknown}");
                out.write_json_line(
                    &json!({"id": id, "error": {"code": -32601, "message": message}}),
                );
                return;
            }
        };
        match self.policy {
            Some(PermissionPolicy::Full) => respond(out, &asked.id, &asked.yes),
            Some(PermissionPolicy::ReadOnly) => respond(out, &asked.id, &asked.no),
            _ => self.ask(title, &self.call_of(&item, params), asked, out),
        }
    }

    fn ask(&mut self, title: String, call: &str, asked: Asked, out: &mut Out) {
        let question = asked.id.to_string();
        if self.asked.len() >= REMEMBERED && !self.asked.contains_key(&question) {
            out.warn(format!("not allowed: {title}, for too many questions wait"));
            respond(out, &asked.id, &asked.no);
            return;
        }
        let mut options = vec![option("allow_once", "Allow", OptionKind::AllowOnce)];
        if asked.always.is_some() {
            let name = "Allow this same command for the rest of this turn";
            options.push(option("allow_always", name, OptionKind::AllowAlways));
        }
        options.push(option("reject_once", "Deny", OptionKind::RejectOnce));
        let tool_call_id = call.to_owned();
        out.ask(PermissionRequest { id: question.clone(), tool_call_id, title, options });
        self.asked.insert(question, asked);
    }

    /// The call that a question is about. One about an MCP tool does not say it.
    fn call_of(&self, item: &str, params: &Value) -> String {
        if !item.is_empty() {
            return item.to_owned();
        }
        let meta = params.get("_meta").unwrap_or(&Value::Null);
        let server =
            Some((text(params, "serverName").to_owned(), text(meta, "tool_name").to_owned()));
        let call = self.items.known.iter().find(|(_, known)| known.server == server);
        call.map(|(id, _)| id.clone()).unwrap_or_default()
    }

    /// A question has its answer.
    pub(super) fn answered(&mut self, question: &str, option: Option<&str>, out: &mut Out) {
        let Some(asked) = self.asked.remove(question) else { return };
        let answer = match (option, &asked.always) {
            (Some("allow_always"), Some(always)) => always,
            (Some("allow_once"), _) => &asked.yes,
            _ => &asked.no,
        };
        respond(out, &asked.id, answer);
    }

    /// Codex waits no longer for that answer.
    pub(super) fn resolved(&mut self, params: &Value, out: &mut Out) {
        let question = params.get("requestId").unwrap_or(&Value::Null).to_string();
        if self.asked.remove(&question).is_some() {
            out.withdraw(&question);
        }
    }

    /// All that would run, on one line: nobody should have to allow what they can't see.
    fn command_title(&self, params: &Value) -> String {
        let network = params.get("networkApprovalContext").unwrap_or(&Value::Null);
        let (command, host) = (script(text(params, "command")), text(network, "host"));
        let what = if text(params, "kind") == "writeStdin" { "Type into" } else { "Run" };
        let mut title = match (command.is_empty(), host.is_empty()) {
            (false, true) => format!("{what} {}", one_line(&command)),
            (false, false) => format!("Connect to {host} for {}", one_line(&command)),
            (true, false) => format!("Connect to {host}"),
            (true, true) => "Run a command that codex does not show".to_owned(),
        };
        let cwd = text(params, "cwd");
        if !cwd.is_empty() && Path::new(cwd) != self.cwd {
            title.push_str(&format!(" in {}", one_line(cwd)));
        }
        if let Some(more) = params.get("additionalPermissions").filter(|more| !more.is_null()) {
            title.push_str(&format!(" with the permissions {}", one_line(&more.to_string())));
        }
        with_reason(&title, params)
    }
}

/// A title with what codex says is the reason, which is last: it is the model's word.
fn with_reason(title: &str, params: &Value) -> String {
    match text(params, "reason") {
        "" => one_line(title),
        reason => {
            let short: String = reason.chars().take(300).collect();
            format!("{} ({})", one_line(title), one_line(&short))
        }
    }
}

/// A text on one line. What does not fit is counted.
fn one_line(text: &str) -> String {
    let text = text.trim().replace("\r\n", "\n").replace('\n', " ⏎ ");
    // With a little room for the count of files that stands at the end.
    let longest = SHOWN + 50;
    let mut shown: String = text.chars().take(longest).collect();
    let hidden = text.chars().count().saturating_sub(longest);
    if hidden > 0 {
        shown.push_str(&format!(" … and {hidden} characters more"));
    }
    shown
}

fn respond(out: &mut Out, id: &Value, result: &Value) {
    out.write_json_line(&json!({"id": id, "result": result}));
}

fn option(id: &str, name: &str, kind: OptionKind) -> PermissionOption {
    PermissionOption { id: id.to_owned(), name: name.to_owned(), kind }
}
