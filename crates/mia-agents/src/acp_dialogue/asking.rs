//! Permission requests, and who answers them.

use std::collections::{HashMap, HashSet};

use mia_api::{OptionKind, PermissionOption, PermissionRequest, PermissionResolution};
use mia_plugin::Out;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::line::answer;

/// A `session/request_permission`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// The JSON-RPC id.
    id: Value,
    /// The call that it is about, as far as the agent describes it here.
    pub(crate) call: Value,
    options: Vec<(OptionKind, String)>,
}

impl Request {
    /// Reads the parameters of one.
    pub(crate) fn read(id: &RawValue, params: Option<&RawValue>) -> Self {
        let mut params: Value =
            params.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        let options = params.get("options").and_then(Value::as_array);
        let options = options.into_iter().flatten().filter_map(|option| {
            let kind = OptionKind::deserialize(option.get("kind")?).ok()?;
            Some((kind, option.get("optionId")?.as_str()?.to_owned()))
        });
        Self {
            id: serde_json::from_str(id.get()).unwrap_or_default(),
            options: options.collect(),
            call: params.get_mut("toolCall").map(Value::take).unwrap_or_default(),
        }
    }

    /// The id of the call.
    pub(crate) fn call_id(&self) -> &str {
        self.call.get("toolCallId").and_then(Value::as_str).unwrap_or_default()
    }

    fn option(&self, kind: OptionKind) -> Option<&str> {
        self.options.iter().find(|(k, _)| *k == kind).map(|(_, id)| id.as_str())
    }

    /// Sends the answer of that kind; a kind that the agent does not offer is no.
    pub(crate) fn send(&self, kind: OptionKind, out: &mut Out) {
        let outcome = match self.option(kind) {
            Some(id) => json!({"outcome": "selected", "optionId": id}),
            None => json!({"outcome": "cancelled"}),
        };
        answer(&self.id, json!({"outcome": outcome}), out);
    }
}

/// The questions that wait for their answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Questions {
    open: HashMap<String, (Request, String, Option<String>)>,
    /// What needs no asking any more.
    always: HashSet<String>,
    /// True answers every question with yes.
    pub(crate) allow_all: bool,
}

impl Questions {
    /// Asks. Calls whose `likeness` is the same are alike: "always" is for them only, and only for
    /// this turn; without one it is not offered. The agent is never told "always": it would not say
    /// what else it then allows.
    pub(crate) fn ask(
        &mut self,
        request: Request,
        title: String,
        likeness: Option<String>,
        out: &mut Out,
    ) {
        if self.allow_all || likeness.as_ref().is_some_and(|alike| self.always.contains(alike)) {
            request.send(OptionKind::AllowOnce, out);
            return;
        }
        let id = request.id.to_string();
        let option = |id: &str, name: &str, kind| PermissionOption {
            id: id.to_owned(),
            name: name.to_owned(),
            kind,
        };
        let mut options = Vec::new();
        if request.option(OptionKind::AllowOnce).is_some() {
            options.push(option("allow_once", "Allow", OptionKind::AllowOnce));
            if likeness.is_some() {
                let name = "Allow this very call for this turn";
                options.push(option("allow_always", name, OptionKind::AllowAlways));
            }
        }
        options.push(option("reject_once", "Deny", OptionKind::RejectOnce));
        out.ask(PermissionRequest {
            id: id.clone(),
            tool_call_id: request.call_id().to_owned(),
            title: title.clone(),
            options,
        });
        self.open.insert(id, (request, title, likeness));
    }

    /// Passes an answer on to the agent; what was not allowed is in the result.
    pub(crate) fn answered(&mut self, resolution: &PermissionResolution, out: &mut Out) {
        let Some((request, title, likeness)) = self.open.remove(&resolution.id) else {
            return;
        };
        match resolution.option_id.as_deref() {
            Some("allow_once") => request.send(OptionKind::AllowOnce, out),
            Some("allow_always") => {
                self.always.extend(likeness);
                request.send(OptionKind::AllowOnce, out);
            }
            _ => {
                out.warn(format!("not allowed: {title}"));
                request.send(OptionKind::RejectOnce, out);
            }
        }
    }
}
