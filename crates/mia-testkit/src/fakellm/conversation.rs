//! A request in one shape, whichever API it came by.

use std::collections::BTreeMap;

use serde_json::Value;

use super::tool_call::Tool;

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The person, or the client on its own.
    User,
    /// The model.
    Assistant,
    /// A message with tool results.
    Tool,
    /// An instruction amid the messages.
    System,
}

impl Role {
    /// Its name in logs and counts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::System => "system",
        }
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What it says.
    pub text: String,
    /// What tools returned, in a message of the role [`Role::Tool`].
    pub results: Vec<String>,
}

impl Message {
    /// Whether it is what a client tells the model on its own, such as where it works, rather than the
    /// person's words. Clients put such text into an element: `<environment_context>`, `<session_context>`, `<system-reminder>`.
    #[must_use]
    pub fn is_context(&self) -> bool {
        let text = self.text.trim();
        let name = text.strip_prefix('<').and_then(|rest| rest.split(['>', ' ', '\n']).next());
        name.is_some_and(|name| !name.is_empty() && text.ends_with(&format!("</{name}>")))
    }
}

/// A whole request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// The model that was asked for.
    pub model: String,
    /// Whether the answer shall be streamed.
    pub stream: bool,
    /// Whether a stream shall report the token usage, for an API where the client chooses.
    pub streams_usage: bool,
    /// The system prompt.
    pub system: String,
    /// The tools on offer.
    pub tools: BTreeMap<String, Tool>,
    /// The schema that the answer has to follow.
    pub schema: Option<Value>,
    /// All messages, oldest first.
    pub messages: Vec<Message>,
}

impl Conversation {
    /// Adds what the assistant said; neighbouring pieces are one message.
    pub fn assistant(&mut self, text: &str) {
        match self.messages.last_mut() {
            Some(last) if last.role == Role::Assistant => last.text.push_str(text),
            _ => self.add(Role::Assistant, text, Vec::new()),
        }
    }

    /// Where the client says that it works, in the words of Gemini CLI and of those that came of it.
    #[must_use]
    pub fn folder(&self) -> Option<&str> {
        let users = self.messages.iter().rev().filter(|message| message.role == Role::User);
        users
            .flat_map(|message| message.text.lines())
            .find_map(|line| line.strip_prefix("I'm currently working in the directory: "))
    }

    /// Adds an instruction amid the messages.
    pub fn instruction(&mut self, text: &str) {
        self.add(Role::System, text, Vec::new());
    }

    /// Adds a user's message. Clients merge the prompt of a failed turn and the next one into one
    /// message, so each block of text counts as a message; the results come first.
    pub fn user(&mut self, texts: Vec<String>, results: Vec<String>) {
        let nothing = texts.is_empty() && results.is_empty();
        if !results.is_empty() {
            self.add(Role::Tool, "", results);
        }
        for text in texts {
            self.add(Role::User, &text, Vec::new());
        }
        if nothing {
            self.add(Role::User, "", Vec::new());
        }
    }

    /// Adds what one tool returned; neighbouring results are one message.
    pub fn result(&mut self, result: String) {
        match self.messages.last_mut() {
            Some(last) if last.role == Role::Tool => last.results.push(result),
            _ => self.add(Role::Tool, "", vec![result]),
        }
    }

    fn add(&mut self, role: Role, text: &str, results: Vec<String>) {
        self.messages.push(Message { role, text: text.to_owned(), results });
    }

    /// How many messages each role has.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for message in &self.messages {
            *counts.entry(message.role.name()).or_default() += 1;
        }
        counts
    }
}

/// The text in a value of any shape: strings, blocks, lists of them.
pub(super) fn flat(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let parts: Vec<String> =
                items.iter().map(flat).filter(|part| !part.is_empty()).collect();
            parts.join("\n")
        }
        Value::Object(members) => ["text", "content", "output", "result", "error"]
            .iter()
            .find_map(|key| members.get(*key))
            .map_or_else(|| value.to_string(), flat),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn every_block_of_a_user_counts_and_results_come_first() {
        let mut conversation = Conversation::default();
        conversation.user(vec!["a".to_owned(), "b".to_owned()], vec!["r".to_owned()]);
        conversation.assistant("one ");
        conversation.assistant("two");
        conversation.user(Vec::new(), Vec::new());
        let shape: Vec<(Role, &str)> = conversation
            .messages
            .iter()
            .map(|message| (message.role, message.text.as_str()))
            .collect();
        assert_eq!(
            shape,
            [
                (Role::Tool, ""),
                (Role::User, "a"),
                (Role::User, "b"),
                (Role::Assistant, "one two"),
                (Role::User, "")
            ]
        );
        assert_eq!(
            conversation.counts().into_iter().collect::<Vec<_>>(),
            [("assistant", 1), ("tool", 1), ("user", 3)]
        );
    }

    #[test]
    fn text_is_found_in_any_shape() {
        let value =
            json!([{ "type": "text", "text": "a" }, { "content": [{ "text": "b" }, ""] }, 3]);
        assert_eq!(flat(&value), "a\nb\n3");
        assert_eq!(flat(&json!({ "x": 1 })), "{\"x\":1}");
    }
}
