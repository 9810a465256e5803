//! The directives in a text, as they are written.

use std::collections::HashMap;

/// One directive with what stands before it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Step {
    pub(super) verb: String,
    /// The argument; several for parallel tools.
    pub(super) arguments: Vec<String>,
    pub(super) lead: Vec<(Lead, String)>,
    /// Gates before the end of the answer.
    pub(super) tail: Vec<String>,
    pub(super) delay: String,
    pub(super) usage: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    Text,
    Thinking,
    Gate,
}

const VERBS: [&str; 14] = [
    "SAY",
    "LONG",
    "SLOW",
    "STALL",
    "HANG",
    "CUT",
    "ERROR",
    "STREAMERROR",
    "TOOL",
    "PTOOL",
    "REMEMBER",
    "RECALL",
    "COUNT",
    "ECHO",
];
const MODIFIERS: [&str; 5] = ["THINK", "PRE", "GATE", "DELAY", "USAGE"];

/// The steps in a text.
pub(super) fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut open = Step::default();
    let mut parallel = false;
    for line in text.lines().map(str::trim) {
        let verb = line.split([' ', '\t']).next().unwrap_or_default();
        let argument = line.strip_prefix(verb).unwrap_or_default().trim();
        if MODIFIERS.contains(&verb) {
            let lead = |kind| (kind, argument.to_owned());
            match verb {
                "THINK" => open.lead.push(lead(Lead::Thinking)),
                "PRE" => open.lead.push(lead(Lead::Text)),
                "GATE" => open.lead.push(lead(Lead::Gate)),
                "DELAY" => argument.clone_into(&mut open.delay),
                _ => argument.clone_into(&mut open.usage),
            }
            parallel = false;
        } else if VERBS.contains(&verb) {
            let joins = verb == "PTOOL" && parallel && open == Step::default();
            match steps.last_mut() {
                Some(last) if joins => last.arguments.push(argument.to_owned()),
                _ => {
                    let mut step = std::mem::take(&mut open);
                    step.verb = if verb == "PTOOL" { "TOOL" } else { verb }.to_owned();
                    step.arguments = vec![argument.to_owned()];
                    steps.push(step);
                }
            }
            parallel = verb == "PTOOL";
        }
    }
    finish(steps, open)
}

/// Modifiers with no step after them: gates hold the end of the last step; alone they are an answer.
fn finish(mut steps: Vec<Step>, open: Step) -> Vec<Step> {
    match steps.last_mut() {
        Some(last) => {
            let gates = open.lead.into_iter().filter(|(kind, _)| *kind == Lead::Gate);
            last.tail.extend(gates.map(|(_, name)| name));
        }
        None if open != Step::default() => {
            steps.push(Step { verb: "SAY".to_owned(), arguments: vec![String::new()], ..open });
        }
        None => {}
    }
    steps
}

/// `key=value` words; `msg=` takes the rest of the line.
pub(super) fn options(argument: &str) -> HashMap<String, String> {
    let (argument, message) = argument.split_once("msg=").unwrap_or((argument, ""));
    let pairs = argument.split_whitespace().filter_map(|word| word.split_once('='));
    let mut options: HashMap<String, String> =
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    if !message.is_empty() {
        options.insert("msg".to_owned(), message.to_owned());
    }
    options
}
