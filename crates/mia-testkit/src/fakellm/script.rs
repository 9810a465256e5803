//! The plan that a prompt's directives make for a request. Pure: the only state is [`Attempts`].

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;

use super::conversation::{Conversation, Role};
use super::plan::{Answer, Beat, Failure, Plan, Usage};
use super::steps::{Lead, Step, options, steps};
use super::tool_call::{Tool, ToolCall, below, sample, tool_call};

/// How often each failing step was asked for, for `times=K`.
#[derive(Debug, Default)]
pub struct Attempts(HashMap<(String, usize), u32>);

/// For how long `STALL` and `HANG` are silent if they don't say.
const SILENCE: Duration = Duration::from_secs(600);

/// What to answer to a request.
#[must_use]
pub fn plan(conversation: &Conversation, attempts: &mut Attempts) -> Plan {
    let scripted = conversation
        .messages
        .iter()
        .rposition(|message| message.role == Role::User && !steps(&message.text).is_empty());
    let prompt = scripted.map_or("", |index| conversation.messages[index].text.as_str());
    if let Some(call) = schema_call(conversation) {
        return Plan { auxiliary: true, ..said("AUX", vec![Beat::Call(call)]) };
    }
    if is_side_work(conversation, prompt) {
        let text = conversation
            .schema
            .as_ref()
            .map_or_else(|| "Fake title".to_owned(), |schema| sample(schema).to_string());
        return Plan { auxiliary: true, ..said("AUX", vec![Beat::Text(text)]) };
    }
    let Some(index) = scripted else {
        let text = last_words(conversation);
        let tail =
            text.chars().rev().take(400).collect::<Vec<_>>().into_iter().rev().collect::<String>();
        return said("NONE", words(&format!("You said: {tail}")));
    };
    let later = &conversation.messages[index + 1..];
    let number = later.iter().filter(|message| message.role == Role::Assistant).count();
    match next_step(prompt, number, attempts) {
        Some(step) => perform(&step, conversation, index),
        None => {
            let results =
                conversation.messages.iter().rev().find(|message| !message.results.is_empty());
            let results = results.map(|message| message.results.join(" | ")).unwrap_or_default();
            let shown: String = results.chars().take(1500).collect();
            said("DONE", words(&format!("DONE {shown}")))
        }
    }
}

fn said(verb: &str, beats: Vec<Beat>) -> Plan {
    Plan {
        verb: verb.to_owned(),
        auxiliary: false,
        delay: Duration::ZERO,
        answer: Answer::Say(beats),
        usage: Usage::default(),
    }
}

/// Titles, summaries and classifiers, which clients ask for without offering tools; and qwen's memory: after a turn agents of
/// its own get the conversation and some tools, and would follow the user's directives once more.
fn is_side_work(conversation: &Conversation, prompt: &str) -> bool {
    let system = &conversation.system;
    if system.chars().take(200).collect::<String>().contains("managed memory") {
        return true;
    }
    let texts = [(system.as_str(), 4000), (prompt, 400), (last_words(conversation), 400)];
    let about: String = texts.iter().flat_map(|(text, part)| text.chars().take(*part)).collect();
    let about = about.to_lowercase();
    conversation.tools.is_empty()
        && (conversation.schema.is_some()
            || ["title", "summar", "topic", "branch name", "compact"]
                .iter()
                .any(|word| about.contains(word)))
}

/// The newest words of the user's own.
fn last_words(conversation: &Conversation) -> &str {
    let newest = |own: bool| {
        let mut messages = conversation.messages.iter().rev();
        messages.find(|message| message.role == Role::User && !(own && message.is_context()))
    };
    newest(true).or_else(|| newest(false)).map_or("", |message| message.text.trim())
}

/// The call that answers a side request of qwen's: it asks for an answer by a schema by offering just this tool.
fn schema_call(conversation: &Conversation) -> Option<ToolCall> {
    let (name, Tool::Function(schema)) = conversation.tools.first_key_value()? else {
        return None;
    };
    let alone = conversation.tools.len() == 1 && name == "respond_in_schema";
    alone.then(|| ToolCall { name: name.clone(), input: sample(schema) })
}

/// The step with that number. A failing step leaves no assistant message behind, so once it has failed often enough it
/// is skipped.
fn next_step(prompt: &str, number: usize, attempts: &mut Attempts) -> Option<Step> {
    let mut steps = steps(prompt).into_iter().skip(number).enumerate();
    steps.find_map(|(skipped, step)| {
        let fails = ["ERROR", "CUT", "STREAMERROR", "HANG", "STALL"].contains(&step.verb.as_str());
        let times = fails.then(|| options(&step.arguments[0]).get("times")?.parse::<u32>().ok());
        if let Some(Some(times)) = times {
            let failed = attempts.0.entry((prompt.to_owned(), number + skipped)).or_default();
            *failed += 1;
            if *failed > times {
                return None;
            }
        }
        Some(step)
    })
}

/// Turns a step into a plan.
fn perform(step: &Step, conversation: &Conversation, index: usize) -> Plan {
    let argument = step.arguments[0].as_str();
    let (first, rest) = argument.split_once([' ', '\t']).unwrap_or((argument, ""));
    let mut beats: Vec<Beat> =
        step.lead.iter().flat_map(|(kind, text)| lead(*kind, text)).collect();
    match step.verb.as_str() {
        "LONG" => {
            let count: usize = first.parse().unwrap_or(100);
            beats.extend((0..count).map(|number| Beat::Text(format!("word{number} "))));
        }
        "SLOW" => {
            // Qwen takes `@` for the start of a file's name and puts a blank before it.
            let (head, rest) = match rest.strip_prefix('@') {
                Some(rest) => {
                    let (gap, rest) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
                    (format!("{first}@{gap}"), rest)
                }
                None => (first.to_owned(), rest),
            };
            let (count, gap) = head.split_once('@').unwrap_or((&head, "1"));
            let word = if rest.is_empty() { "tick" } else { rest };
            for number in 0..count.parse().unwrap_or(10_u32) {
                beats.push(Beat::Wait(seconds(gap).unwrap_or(Duration::from_secs(1))));
                beats.push(Beat::Text(format!("{word}{number} ")));
            }
        }
        "STALL" => {
            beats.push(Beat::Text("stalling ".to_owned()));
            beats.push(Beat::Wait(seconds(first).unwrap_or(SILENCE)));
            beats.push(Beat::Cut);
        }
        "CUT" => {
            let text: Vec<&str> =
                argument.split(' ').filter(|word| !word.starts_with("times=")).collect();
            let text = text.join(" ");
            beats.extend(words(if text.is_empty() { "cut here " } else { &text }));
            beats.push(Beat::Cut);
        }
        "STREAMERROR" => {
            beats.extend(words("about to fail "));
            beats.push(Beat::Fail(options(argument).get("type").cloned()));
        }
        "TOOL" => {
            let tools = &conversation.tools;
            let call =
                |words: &String| below(conversation.folder(), tools, tool_call(tools, words));
            beats.extend(step.arguments.iter().map(|words| Beat::Call(call(words))));
        }
        "REMEMBER" => beats.extend(words(&format!("OK, remembered {argument}"))),
        "RECALL" => beats.extend(words(&recall(conversation, index))),
        "COUNT" => beats.push(Beat::Text(format!("counts {}", json!(conversation.counts())))),
        "ECHO" => beats.extend(words(&conversation.messages[index].text)),
        _ => beats.extend(words(argument)),
    }
    beats.extend(step.tail.iter().cloned().map(Beat::Gate));
    let answer = match step.verb.as_str() {
        "HANG" => Answer::Hang(seconds(first).unwrap_or(SILENCE)),
        "ERROR" => Answer::Fail(failure(argument)),
        _ => Answer::Say(beats),
    };
    Plan {
        delay: seconds(&step.delay).unwrap_or_default(),
        usage: usage(&step.usage),
        answer,
        ..said(&step.verb, Vec::new())
    }
}

fn lead(kind: Lead, text: &str) -> Vec<Beat> {
    match kind {
        Lead::Text => words(text),
        Lead::Thinking => split(text).map(Beat::Thinking).collect(),
        Lead::Gate => vec![Beat::Gate(text.to_owned())],
    }
}

fn recall(conversation: &Conversation, index: usize) -> String {
    let earlier =
        conversation.messages[..index].iter().filter(|message| message.role == Role::User);
    let word = earlier
        .flat_map(|message| message.text.lines())
        .filter_map(|line| line.trim().strip_prefix("REMEMBER ")?.split_whitespace().next())
        .next_back();
    word.map_or_else(|| "I do not know any word".to_owned(), |word| format!("The word is {word}"))
}

fn failure(argument: &str) -> Failure {
    let options = options(argument);
    let status =
        argument.split_whitespace().next().and_then(|code| code.parse().ok()).unwrap_or(500);
    Failure {
        status,
        kind: options.get("type").cloned(),
        message: options.get("msg").cloned().unwrap_or_else(|| format!("fake error {status}")),
        retry_after: options.get("retry-after").cloned(),
    }
}

fn usage(argument: &str) -> Usage {
    let options = options(argument);
    let count = |key: &str| options.get(key)?.parse().ok();
    Usage { input: count("in"), output: count("out"), cached: count("cached") }
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

/// A text word by word, each with the blanks after it: joined they are the text.
fn words(text: &str) -> Vec<Beat> {
    split(text).map(Beat::Text).collect()
}

fn split(text: &str) -> impl Iterator<Item = String> + use<> {
    let mut words: Vec<String> = Vec::new();
    let mut after_blank = false;
    for letter in text.chars() {
        let blank = letter.is_whitespace();
        match words.last_mut() {
            Some(word) if blank || !after_blank => word.push(letter),
            _ => words.push(letter.to_string()),
        }
        after_blank = blank;
    }
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn asked(prompts: &[&str]) -> Conversation {
        let mut conversation = Conversation::default();
        conversation.tools.insert(
            "Bash".to_owned(),
            Tool::Function(json!({ "properties": { "command": {} }, "required": ["command"] })),
        );
        for (index, prompt) in prompts.iter().enumerate() {
            if index > 0 {
                conversation.assistant("an answer");
            }
            conversation.user(vec![(*prompt).to_owned()], Vec::new());
        }
        conversation
    }

    fn planned(prompt: &str) -> Plan {
        plan(&asked(&[prompt]), &mut Attempts::default())
    }

    fn text(plan: &Plan) -> String {
        let Answer::Say(beats) = &plan.answer else {
            return format!("{:?}", plan.answer);
        };
        let text = beats.iter().map(|beat| match beat {
            Beat::Text(text) => text.clone(),
            other => format!("[{other:?}]"),
        });
        text.collect()
    }

    #[test]
    fn a_prompt_without_directives_is_told_back() {
        let plan = planned("  What  is this?\nSAYING nothing");
        assert_eq!(
            (plan.verb.as_str(), text(&plan).as_str()),
            ("NONE", "You said: What  is this?\nSAYING nothing")
        );
    }

    #[test]
    fn words_joined_are_the_text() {
        let Answer::Say(beats) = planned("SAY one  two three").answer else { panic!("an answer") };
        let words: Vec<Beat> =
            ["one  ", "two ", "three"].map(|word| Beat::Text(word.to_owned())).to_vec();
        assert_eq!(beats, words);
    }

    #[test]
    fn the_steps_answer_one_request_after_the_other() {
        let mut conversation = asked(&["TOOL bash ls\nTHINK hm\nSAY done"]);
        let call =
            Beat::Call(ToolCall { name: "Bash".to_owned(), input: json!({ "command": "ls" }) });
        assert_eq!(plan(&conversation, &mut Attempts::default()).answer, Answer::Say(vec![call]));
        conversation.assistant("");
        conversation.user(Vec::new(), vec!["a file".to_owned()]);
        let second = plan(&conversation, &mut Attempts::default());
        assert_eq!(text(&second), "[Thinking(\"hm\")]done");
        conversation.assistant("done");
        conversation.user(vec!["go on".to_owned()], Vec::new());
        assert_eq!(text(&plan(&conversation, &mut Attempts::default())), "DONE a file");
    }

    #[test]
    fn neighbouring_parallel_tools_are_one_answer() {
        let Answer::Say(beats) = planned("PTOOL bash a\nPTOOL bash b\nSAY x").answer else {
            panic!("an answer")
        };
        assert_eq!(beats.len(), 2);
    }

    #[test]
    fn gates_stand_where_they_are_written() {
        assert_eq!(
            text(&planned("PRE a\nGATE one\nSAY b\nGATE two")),
            "a[Gate(\"one\")]b[Gate(\"two\")]"
        );
        assert_eq!(text(&planned("PRE a\nGATE one")), "a[Gate(\"one\")]");
    }

    #[test]
    fn errors_carry_what_the_line_says_and_end_after_so_many_times() {
        let conversation =
            asked(&["ERROR 429 times=2 retry-after=7 type=t msg=slow down\nSAY fine"]);
        let mut attempts = Attempts::default();
        let failure = Failure {
            status: 429,
            kind: Some("t".to_owned()),
            message: "slow down".to_owned(),
            retry_after: Some("7".to_owned()),
        };
        assert_eq!(plan(&conversation, &mut attempts).answer, Answer::Fail(failure.clone()));
        assert_eq!(plan(&conversation, &mut attempts).answer, Answer::Fail(failure));
        assert_eq!(text(&plan(&conversation, &mut attempts)), "fine");
        let always = planned("ERROR 500").answer;
        let failure = Failure {
            status: 500,
            kind: None,
            message: "fake error 500".to_owned(),
            retry_after: None,
        };
        assert_eq!(always, Answer::Fail(failure));
    }

    #[test]
    fn any_failing_step_can_fail_only_so_often() {
        for step in
            ["CUT times=1 a few words", "STREAMERROR times=1", "HANG times=1", "STALL times=1"]
        {
            let conversation = asked(&[&format!("{step}\nSAY fine")]);
            let mut attempts = Attempts::default();
            assert_ne!(text(&plan(&conversation, &mut attempts)), "fine");
            assert_eq!(text(&plan(&conversation, &mut attempts)), "fine");
        }
        assert_eq!(text(&planned("CUT times=1 a few words")), "a few words[Cut]");
    }

    #[test]
    fn recall_finds_the_word_of_an_earlier_message_only() {
        let recalled = |prompts: &[&str]| text(&plan(&asked(prompts), &mut Attempts::default()));
        assert_eq!(recalled(&["REMEMBER zebra", "RECALL"]), "The word is zebra");
        assert_eq!(recalled(&["RECALL"]), "I do not know any word");
        assert_eq!(recalled(&["REMEMBER zebra", "COUNT"]), r#"counts {"assistant":1,"user":2}"#);
    }

    #[test]
    fn slow_hang_stall_and_usage_say_how_much() {
        let beats = |prompt| planned(prompt).answer;
        let wait = Beat::Wait(Duration::from_millis(250));
        let word = |text: &str| Beat::Text(text.to_owned());
        assert_eq!(
            beats("SLOW 2@0.25 w"),
            Answer::Say(vec![wait.clone(), word("w0 "), wait, word("w1 ")])
        );
        assert_eq!(beats("SLOW 2 @0.25 w"), beats("SLOW 2@0.25 w"));
        assert_eq!(beats("HANG 3"), Answer::Hang(Duration::from_secs(3)));
        assert_eq!(
            beats("STALL"),
            Answer::Say(vec![word("stalling "), Beat::Wait(SILENCE), Beat::Cut])
        );
        let plan = planned("DELAY 0.5\nUSAGE in=3 out=4 cached=5\nLONG 2");
        assert_eq!(plan.usage, Usage { input: Some(3), output: Some(4), cached: Some(5) });
        assert_eq!(
            (plan.delay, text(&plan).as_str()),
            (Duration::from_millis(500), "word0 word1 ")
        );
    }

    #[test]
    fn side_work_gets_a_harmless_answer() {
        let mut conversation = asked(&["SAY x"]);
        conversation.tools.clear();
        conversation.schema =
            Some(json!({ "type": "object", "properties": { "title": { "type": "string" } } }));
        let plan = plan(&conversation, &mut Attempts::default());
        assert_eq!((plan.auxiliary, text(&plan).as_str()), (true, r#"{"title":"fake"}"#));
    }

    #[test]
    fn an_agents_own_work_with_tools_is_known_by_what_it_says_it_is() {
        let mut conversation = asked(&["TOOL bash rm -r /"]);
        conversation.system = "You are performing a managed memory dream".to_owned();
        let dream = plan(&conversation, &mut Attempts::default());
        assert_eq!((dream.auxiliary, text(&dream).as_str()), (true, "Fake title"));

        let schema = json!({ "properties": { "title": { "type": "string" } } });
        let mut conversation = asked(&["SAY x"]);
        conversation.tools =
            [("respond_in_schema".to_owned(), Tool::Function(schema))].into_iter().collect();
        let asked_by_tool = plan(&conversation, &mut Attempts::default());
        let name = "respond_in_schema".to_owned();
        let call = Beat::Call(ToolCall { name, input: json!({ "title": "fake" }) });
        assert_eq!(
            (asked_by_tool.auxiliary, asked_by_tool.answer),
            (true, Answer::Say(vec![call]))
        );
    }

    #[test]
    fn what_a_client_adds_on_its_own_is_not_told_back() {
        let mut conversation = Conversation::default();
        let context = "<environment_context>\n<cwd>/</cwd>\n</environment_context>";
        conversation.user(vec!["hello <b>you</b>".to_owned(), context.to_owned()], Vec::new());
        let told = plan(&conversation, &mut Attempts::default());
        assert_eq!(text(&told), "You said: hello <b>you</b>");
    }
}
