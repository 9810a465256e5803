//! The requests that come before the turn.

use mia_api::{Cause, ErrorCode, PermissionPolicy, PluginError};
use mia_plugin::Out;
use serde_json::{Map, Value, json};

use super::adapter::{Codex, UPDATE};
use super::ending::of_request;
use super::line::text;
use super::policy;

/// The ids of our requests.
pub(super) const INITIALIZE: u64 = 1;
const CONFIG: u64 = 2;
const ACCOUNT: u64 = 3;
const DEFAULTS: u64 = 4;
const THREAD: u64 = 5;
const TURN: u64 = 6;
pub(super) const INTERRUPT: u64 = 7;

/// The name of OpenAI's provider with the key from CODEX_API_KEY; see [`Codex::provider`].
const WITH_KEY: &str = "openai-with-key";
const OPENAI: &str = "openai";

/// What is known before the turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Start {
    /// The prompt and the pictures.
    pub(super) input: Vec<Value>,
    /// The session to go on with.
    pub(super) session: Option<String>,
    /// Where to work, for a thread that began elsewhere.
    pub(super) cwd: String,
    pub(super) model: Option<String>,
    /// The last turn of the session had a policy of its own, which codex goes on with.
    pub(super) had_policy: bool,
    /// The key is to come from CODEX_API_KEY.
    pub(super) with_key: bool,
    /// The user's configuration. Null until it is known, and where codex does not tell it.
    config: Value,
    /// Why it does not.
    no_config: Value,
    /// How the user is logged in, likewise.
    account: Value,
    /// How many of these two were answered.
    answers: u8,
    /// What codex may do by its own rules, as members of `turn/start`.
    own_policy: Map<String, Value>,
}

impl Start {
    /// What is written before anything was read. Requests are answered in any order.
    pub(super) fn first_lines(&self) -> Vec<u8> {
        let version = env!("CARGO_PKG_VERSION");
        let initialize = json!({
            "clientInfo": {"name": "mia", "title": "Mia", "version": version},
            // For `granular`, in `policy`.
            "capabilities": {"experimentalApi": true},
        });
        let lines = [
            request(INITIALIZE, "initialize", &initialize),
            json!({"method": "initialized"}),
            request(CONFIG, "config/read", &json!({"includeLayers": false, "cwd": self.cwd})),
            request(ACCOUNT, "account/read", &json!({})),
        ];
        lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
    }
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"id": id, "method": method, "params": params})
}

impl Codex {
    /// A request of ours is answered.
    pub(super) fn response(&mut self, id: u64, result: &Value, error: &Value, out: &mut Out) {
        match id {
            INITIALIZE | DEFAULTS if !error.is_null() => out.fail(of_request(error, out)),
            CONFIG | ACCOUNT => {
                if id == CONFIG {
                    self.start.config = result.get("config").cloned().unwrap_or_default();
                    self.start.no_config = error.clone();
                } else {
                    self.start.account = result.clone();
                }
                self.start.answers += 1;
                if self.start.answers == 2 {
                    self.begin(out);
                }
            }
            DEFAULTS => self.own_policy(result, out),
            THREAD if !error.is_null() => self.no_thread(error, out),
            THREAD if self.thread.is_empty() => self.thread_opened(result, out),
            TURN if !error.is_null() => out.fail(of_request(error, out)),
            TURN => {
                text(result.get("turn").unwrap_or(&Value::Null), "id").clone_into(&mut self.turn)
            }
            _ => {}
        }
    }

    fn begin(&mut self, out: &mut Out) {
        // A resumed thread keeps what its last turn was allowed: without this a turn with
        // `--permissions full` would open all later ones. What codex would do by itself is told only
        // for a fresh thread; this one is never written down, and starts no servers.
        if self.start.session.is_some() && self.policy.is_none() && self.start.had_policy {
            match self.no_servers(out) {
                Ok(config) => {
                    let params = json!({"ephemeral": true, "config": config});
                    out.write_json_line(&request(DEFAULTS, "thread/start", &params));
                }
                Err(error) => out.fail(error),
            }
        } else {
            self.open_thread(out);
        }
    }

    /// What codex may do by its own rules.
    fn own_policy(&mut self, result: &Value, out: &mut Out) {
        for (from, to, needed) in [
            ("approvalPolicy", "approvalPolicy", true),
            ("sandbox", "sandboxPolicy", true),
            ("approvalsReviewer", "approvalsReviewer", false),
        ] {
            match result.get(from).filter(|value| !value.is_null()) {
                Some(value) => drop(self.start.own_policy.insert(to.to_owned(), value.clone())),
                None if needed => {
                    // Rather nothing than all that the last turn was allowed.
                    let message = "codex does not tell what it may do by its own rules";
                    let error = out.error(ErrorCode::Unknown, Cause::NoResult, message);
                    out.fail(error.with_hint("say it with --permissions"));
                    return;
                }
                None => {}
            }
        }
        self.open_thread(out);
    }

    /// Settings that switch all of the user's MCP servers off. An empty table would not: tables are
    /// merged, so each has to be known by its name.
    fn no_servers(&self, out: &Out) -> Result<Map<String, Value>, PluginError> {
        let none = Map::new();
        let servers = match &self.start.config {
            Value::Object(config) => match config.get("mcp_servers") {
                None | Some(Value::Null) => &none,
                Some(Value::Object(servers)) => servers,
                Some(_) => return Err(self.unknown_servers(out)),
            },
            _ => return Err(self.unknown_servers(out)),
        };
        let off = servers.keys().map(|name| (name.clone(), json!({"enabled": false})));
        let off = Value::Object(off.collect());
        Ok(Map::from_iter([("mcp_servers".to_owned(), off)]))
    }

    /// Rather nothing than servers that were not to run.
    fn unknown_servers(&self, out: &Out) -> PluginError {
        if !text(&self.start.no_config, "message").is_empty() {
            return of_request(&self.start.no_config, out);
        }
        let message = "codex does not tell which MCP servers it has, so mia can't switch them off";
        let error = out.error(ErrorCode::SpawnFailure, Cause::NotExecutable, message);
        error.with_hint(UPDATE)
    }

    /// OpenAI's provider under a name of ours, where the user has no other, and whether it is to be
    /// used.
    ///
    /// The app server knows only a login, not the key in CODEX_API_KEY that `codex exec` takes. A
    /// provider of our own takes it: codex itself reads the variable, and says so at once where
    /// there is none. A thread can't change its provider later, so for what was begun with that key
    /// the same name stands for the login, once there is one.
    fn provider(&self) -> Option<(Value, bool)> {
        let (config, account) = (&self.start.config, &self.start.account);
        if config.is_null() || !["", OPENAI].contains(&text(config, "model_provider")) {
            return None;
        }
        let needs_key = account.get("requiresOpenaiAuth").and_then(Value::as_bool) == Some(true)
            && account.get("account").is_none_or(Value::is_null);
        // By this name codex knows what the provider can do, and its address.
        let mut provider = json!({"name": "OpenAI", "wire_api": "responses"});
        let (member, value) = if needs_key {
            ("env_key", json!("CODEX_API_KEY"))
        } else {
            ("requires_openai_auth", json!(true))
        };
        let base = config.get("openai_base_url").filter(|base| base.is_string()).cloned();
        if let Some(provider) = provider.as_object_mut() {
            provider.insert(member.to_owned(), value);
            provider.extend(base.map(|base| ("base_url".to_owned(), base)));
        }
        Some((provider, needs_key))
    }

    fn open_thread(&mut self, out: &mut Out) {
        let mut params = policy::members(self.policy);
        let mut config = Map::new();
        if self.policy == Some(PermissionPolicy::ReadOnly) {
            // They run outside of its sandbox, and may be allowed to write unasked.
            match self.no_servers(out) {
                Ok(servers) => config.extend(servers),
                Err(error) => return out.fail(error),
            }
        }
        if let Some((provider, needs_key)) = self.provider() {
            self.start.with_key = needs_key;
            let resumes = self.start.session.is_some();
            if needs_key && !resumes {
                params.insert("modelProvider".to_owned(), json!(WITH_KEY));
            }
            if needs_key || resumes {
                config.insert("model_providers".to_owned(), json!({WITH_KEY: provider}));
            }
        }
        if !config.is_empty() {
            params.insert("config".to_owned(), Value::Object(config));
        }
        if let Some(model) = &self.start.model {
            params.insert("model".to_owned(), json!(model));
        }
        let method = match &self.start.session {
            Some(session) => {
                params.insert("threadId".to_owned(), json!(session));
                // Else it works where it began.
                params.insert("cwd".to_owned(), json!(self.start.cwd));
                // Else all that was ever said comes back.
                params.insert("excludeTurns".to_owned(), json!(true));
                "thread/resume"
            }
            // Without `cwd`, which is where it runs anyway: with it codex writes into the user's
            // configuration that a project is trusted, as soon as it may write there, and from then
            // on runs commands from that project's own configuration.
            None => "thread/start",
        };
        out.write_json_line(&request(THREAD, method, &Value::Object(params)));
    }

    fn no_thread(&mut self, error: &Value, out: &mut Out) {
        let message = text(error, "message");
        let provider_is_gone =
            text(error.get("data").unwrap_or(&Value::Null), "type") == "modelProviderNotConfigured";
        let stale = [
            "no rollout found",
            "invalid session id",
            "thread not found",
            // Its file is empty or damaged.
            "failed to read thread",
            "failed to read session metadata",
        ];
        if self.start.session.is_none() {
            out.fail(of_request(error, out));
        } else if message.contains("already has an active writer") {
            let message = "the session is in use by another codex";
            let busy = out.error(ErrorCode::SessionError, Cause::SessionBusy, message);
            out.fail(busy.with_hint("wait until that has ended, or begin a new conversation"));
        } else if provider_is_gone || stale.iter().any(|words| message.contains(words)) {
            out.stale_session(message);
        } else {
            out.fail(of_request(error, out));
        }
    }

    fn thread_opened(&mut self, result: &Value, out: &mut Out) {
        text(result.get("thread").unwrap_or(&Value::Null), "id").clone_into(&mut self.thread);
        if self.thread.is_empty() {
            let message = "codex opened a thread without an id";
            let error = out.error(ErrorCode::Unknown, Cause::NoResult, message);
            out.fail(error);
            return;
        }
        out.session_state(json!({"policy": policy::name(self.policy)}));
        out.session(&self.thread);
        if out.terminal().is_some() {
            return;
        }
        if self.start.with_key && text(result, "modelProvider") == OPENAI {
            // It was begun with a login. Without one codex would ask in vain, several times.
            let message = "codex is not logged in any more, as it was when this conversation began";
            let error = out.error(ErrorCode::ProviderError, Cause::Authentication, message);
            out.fail(error.with_hint("run `codex login`, or begin a new conversation"));
            return;
        }
        let model = text(result, "model");
        if !model.is_empty() {
            out.model(model);
        }
        let mut params = std::mem::take(&mut self.start.own_policy);
        params.insert("threadId".to_owned(), json!(self.thread));
        let input = std::mem::take(&mut self.start.input);
        params.insert("input".to_owned(), Value::Array(input));
        out.write_json_line(&request(TURN, "turn/start", &Value::Object(params)));
    }
}
