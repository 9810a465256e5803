//! Every key of a manifest: one table that checks files, suggests the nearest key for a misspelt
//! one, and writes the schema and the reference.

/// A map with known keys.
#[derive(Debug)]
pub(crate) struct Section {
    /// Its name in the reference and the schema.
    pub(crate) name: &'static str,
    /// What it is, for the reference.
    pub(crate) about: &'static str,
    pub(crate) keys: &'static [Key],
}

/// One key.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    /// What it does, in a sentence or two.
    pub(crate) about: &'static str,
}

/// What a key takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Text,
    /// A program's name or path.
    Program,
    Flag,
    /// One text, or a list of texts.
    Texts,
    /// A list of words.
    Words,
    /// Names of variables, or beginnings that end in `*`.
    Names,
    /// Variables with their values.
    Variables,
    /// Arguments with places.
    Args,
    /// What goes to stdin.
    Stdin,
    /// Arguments, or a section of them and variables.
    Mode,
    /// A place of what a call gives: `session`.
    Given,
    /// A path, or a list of paths.
    Path,
    /// A text with paths in braces.
    Template,
    /// Conditions by path, or a list of such maps.
    When,
    /// Anything that JSON has but objects; or a list of such.
    Literals,
    Choice(&'static [&'static str]),
    /// Tools with their kinds.
    Tools,
    /// Exit statuses with what they mean.
    Exits,
    /// A choice, or a section.
    ChoiceOr(&'static [&'static str], &'static Section),
    Section(&'static Section),
    List(&'static Section),
}

impl Kind {
    /// What is expected, with an example.
    pub(crate) fn expected(self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Program => "a program, such as jot or /usr/local/bin/jot".into(),
            Self::Flag => "true or false".into(),
            Self::Texts => "text, or a list of texts".into(),
            Self::Words => "a list of words, such as [\"--version\"]".into(),
            Self::Names => "a list of variables, such as [JOT_API_KEY, \"JOT_*\"]".into(),
            Self::Variables => "a map of variables, such as {JOT_COLOR: \"0\"}".into(),
            Self::Args => "a list of arguments, such as [run, \"--model={model}\"]".into(),
            Self::Stdin => "text such as \"{prompt}\", or a map that becomes a line of JSON".into(),
            Self::Mode => "a list of arguments, or a map with args and env".into(),
            Self::Given => "session or model".into(),
            Self::Path => "a path, such as part.text, or a list of paths".into(),
            Self::Template => "text with paths in braces, such as \"{tool} was refused\"".into(),
            Self::When => {
                "a map of conditions, such as {type: text}, or a list of such maps".into()
            }
            Self::Literals => "a text, number, true, false or null, or a list of them".into(),
            Self::Choice(choices) => one_of(choices),
            Self::Tools => "a map of tools, such as {bash: execute}".into(),
            Self::Exits => "a map of exit statuses, such as {0: complete}".into(),
            Self::ChoiceOr(choices, section) => {
                format!("{}, or a map with {}", one_of(choices), names(section))
            }
            Self::Section(section) => format!("a map with {}", names(section)),
            Self::List(section) => format!("a list of maps with {}", names(section)),
        }
    }
}

fn one_of(choices: &[&str]) -> String {
    match choices.len() {
        ..=2 => choices.join(" or "),
        _ => format!("one of {}", choices.join(", ")),
    }
}

/// The keys of a section in words, the first few of a large one.
pub(crate) fn names(section: &Section) -> String {
    let names: Vec<_> = section.keys.iter().map(|key| key.name).collect();
    match names.as_slice() {
        all if all.len() <= 8 => all.join(", "),
        many => format!("{} …", many.iter().take(7).copied().collect::<Vec<_>>().join(", ")),
    }
}

const fn key(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, required: false, about }
}

const fn required(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, kind, required: true, about }
}

pub(crate) const TOOL_KINDS: &[&str] = &[
    "read",
    "edit",
    "delete",
    "move",
    "search",
    "execute",
    "think",
    "fetch",
    "switch_mode",
    "other",
];
pub(crate) const STOP_REASONS: &[&str] =
    &["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"];
pub(crate) const NOTICES: &[&str] = &["warning", "retry", "denied"];
pub(crate) const PER: &[&str] = &["step", "run", "session"];
/// What is said of every `cause`.
const CAUSE: &str = "What lies behind it; `requested` is an end that somebody asked for.";
pub(crate) const CAUSES: &[&str] = &[
    "authentication",
    "rate_limited",
    "overloaded",
    "server",
    "invalid_request",
    "too_long",
    "connection",
    "session_busy",
    "requested",
];

/// The file.
pub(crate) static MANIFEST: Section = Section {
    name: "manifest",
    about: "The whole file.",
    keys: &[
        key("binary", Kind::Program, "The program. Without it the file's name, less `.yaml`."),
        key(
            "version",
            Kind::Words,
            "Arguments that make it tell its version. Without it `[\"--version\"]`.",
        ),
        key("install", Kind::Text, "How a person installs it; told where it is missing."),
        key(
            "pass_env",
            Kind::Names,
            "Variables that it is given though their names look like secrets, such as its provider's key. `*` at the end stands for any end.",
        ),
        key("env", Kind::Variables, "Variables that are set for it."),
        key("args", Kind::Args, "Its arguments. See [arguments](#arguments)."),
        key(
            "stdin",
            Kind::Stdin,
            "What goes to its stdin. Without it the prompt, unless `args` has it. A text is sent as it is; a map or list becomes one line of JSON, with the places in its texts filled in.",
        ),
        key(
            "permissions",
            Kind::Section(&PERMISSIONS),
            "What each `--permissions` adds. One that is not here is refused.",
        ),
        key("session", Kind::Section(&SESSION), "What is so of its sessions."),
        key(
            "tools",
            Kind::Tools,
            "What its tools do, by their names: one of `read`, `edit`, `delete`, `move`, `search`, `execute`, `think`, `fetch`, `switch_mode`, `other`.",
        ),
        required(
            "events",
            Kind::List(&RULE),
            "What its lines mean. The first rule that a line fits is used.",
        ),
        key(
            "errors",
            Kind::List(&KNOWN),
            "What texts in its errors mean, in an event or on stderr.",
        ),
        key(
            "exit",
            Kind::Exits,
            "What an exit status means where no event was the last word: `complete`, which counts only once something was said, or a map with `cause`, `message`, `hint`.",
        ),
        key(
            "interrupt",
            Kind::Choice(&["sigint"]),
            "How it is asked to stop before it is made to: `sigint`, where it saves its session on it.",
        ),
    ],
};

/// What each policy adds.
pub(crate) static PERMISSIONS: Section = Section {
    name: "permissions",
    about: "Each takes a list of arguments, or a map with `args` and `env`; `[]` where nothing has to be added.",
    keys: &[
        key("default", Kind::Mode, "Without `--permissions`."),
        key("read-only", Kind::Mode, "It may read and search, and nothing else."),
        key("edit", Kind::Mode, "It may also change files."),
        key("full", Kind::Mode, "It may do anything."),
    ],
};

/// What a policy adds, written long.
pub(crate) static MODE: Section = Section {
    name: "mode",
    about: "What one policy adds, where arguments are not enough.",
    keys: &[key("args", Kind::Args, "Arguments."), key("env", Kind::Variables, "Variables.")],
};

/// Arguments that depend.
pub(crate) static IF: Section = Section {
    name: "if",
    about: "Arguments that depend on whether something is given.",
    keys: &[
        required("if", Kind::Given, "What has to be given: `session` (one is resumed) or `model`."),
        key("then", Kind::Args, "Arguments where it is."),
        key("else", Kind::Args, "Arguments where it is not."),
    ],
};

/// Sessions.
pub(crate) static SESSION: Section = Section {
    name: "session",
    about: "Sessions are resumed where `args` or `stdin` have `{session}`.",
    keys: &[
        key(
            "id",
            Kind::Path,
            "Where any line may tell the session's id. Where only some lines do, use `session` in their rule.",
        ),
        key(
            "needs_cwd",
            Kind::Flag,
            "`true`: a session is resumed only in the folder where it began. Without it `false`.",
        ),
        key(
            "keeps_id",
            Kind::Flag,
            "`true`: a resumed session keeps its id, so that another id means that it was lost. Without it `true`.",
        ),
        key(
            "lost",
            Kind::Texts,
            "Texts in an error or on stderr, upper and lower case alike, that mean that it does not know the session; a fresh one is then begun, once.",
        ),
    ],
};

/// What a line means.
pub(crate) static RULE: Section = Section {
    name: "event",
    about: "What a line means, or an element of one. What a rule tells is told in the order of this table.",
    keys: &[
        key(
            "when",
            Kind::When,
            "Which lines it is for. See [conditions](#conditions). Without it all that come so far.",
        ),
        key(
            "ignore",
            Kind::Flag,
            "`true`: the line is known and says nothing. Others that fit no rule are counted and shown as noise.",
        ),
        key(
            "message",
            Kind::Path,
            "The id of the message that the text belongs to. Another id begins another message; the texts of two are two paragraphs.",
        ),
        key(
            "parent",
            Kind::Path,
            "The tool call of the sub-agent that speaks, where one does: its text is shown and not part of the answer.",
        ),
        key("session", Kind::Path, "The session's id."),
        key("model", Kind::Path, "The model that answers."),
        key("thought", Kind::Path, "A piece of the model's thinking."),
        key(
            "thought_so_far",
            Kind::Path,
            "All of its thinking so far; only what is new is shown. Thinking that is told differently is shown again, on a line of its own.",
        ),
        key(
            "thought_whole",
            Kind::Path,
            "A whole thought; what came of it in pieces is not shown again.",
        ),
        key("text", Kind::Path, "A piece of the answer."),
        key(
            "text_so_far",
            Kind::Path,
            "All of the message's text so far; only what is new is shown. Within one `message`, a text that is told differently takes the place of what was told before.",
        ),
        key(
            "text_whole",
            Kind::Path,
            "A whole text; what came of it in pieces is not shown again.",
        ),
        key("tool_call", Kind::Section(&TOOL_CALL), "A tool is called."),
        key("tool_update", Kind::Section(&TOOL_UPDATE), "A tool that was called goes on."),
        key("tool_result", Kind::Section(&TOOL_RESULT), "A tool has ended."),
        key("usage", Kind::Section(&USAGE), "Tokens and money."),
        key("notice", Kind::Section(&NOTICE), "Something that a person should know at once."),
        key(
            "warning",
            Kind::Template,
            "Something that went not quite right and stands in the result.",
        ),
        key(
            "sign_of_work",
            Kind::Flag,
            "`true`: the provider works, though nothing can be shown. A lost session is not retried from here on.",
        ),
        key(
            "each",
            Kind::Path,
            "A list whose elements mean something each; `events` tells what. Paths in there begin at the element, and with `$.` at the line.",
        ),
        key("events", Kind::List(&RULE), "What the elements of `each` mean."),
        key("error", Kind::Section(&ERROR), "The last word: it has failed."),
        key(
            "complete",
            Kind::ChoiceOr(STOP_REASONS, &COMPLETE),
            "The last word: it has answered. `end_turn`, or another reason for which it stopped, or a map with where that is told. What comes after it is not listened to.",
        ),
    ],
};

/// A tool is called.
pub(crate) static TOOL_CALL: Section = Section {
    name: "tool_call",
    about: "A tool is called.",
    keys: &[
        key(
            "id",
            Kind::Path,
            "The id of the call. Without it calls are numbered, and a result belongs to the last one that is open.",
        ),
        required("name", Kind::Path, "The tool's name."),
        key("input", Kind::Path, "Its arguments. A text that is a JSON object is read as one."),
        key(
            "title",
            Kind::Path,
            "One line for people. Without it the name, and what the input is about.",
        ),
        key("files", Kind::Path, "Files that it works on."),
    ],
};

/// A tool goes on.
pub(crate) static TOOL_UPDATE: Section = Section {
    name: "tool_update",
    about: "A tool that was called goes on.",
    keys: &[
        required("id", Kind::Path, "The id of the call; one that is not open is passed over."),
        key("output", Kind::Path, "What it gave so far."),
    ],
};

/// A tool has ended.
pub(crate) static TOOL_RESULT: Section = Section {
    name: "tool_result",
    about: "A tool has ended.",
    keys: &[
        key("id", Kind::Path, "The id of the call."),
        key("output", Kind::Path, "What it gave; an object or list is shown as JSON."),
        key("failed", Kind::When, "When it has failed."),
    ],
};

/// Tokens and money.
pub(crate) static USAGE: Section = Section {
    name: "usage",
    about: "Tokens and money. Numbers of several places are added.",
    keys: &[
        key("input", Kind::Path, "Tokens read by the model."),
        key("output", Kind::Path, "Tokens written by the model."),
        key("cache_read", Kind::Path, "Tokens read from the provider's cache."),
        key("cache_creation", Kind::Path, "Tokens written to the provider's cache."),
        key("cost", Kind::Path, "Money, in US dollars."),
        key(
            "per",
            Kind::Choice(PER),
            "What is counted: `step`, what came since the last count, so counts are added up; `run`, all of this run; `session`, all of the session, so what earlier runs used is taken off. Without it `run`.",
        ),
        key(
            "input_has_cache",
            Kind::Flag,
            "`true`: `input` counts what came from the cache, too. Without it `false`.",
        ),
    ],
};

/// A notice.
pub(crate) static NOTICE: Section = Section {
    name: "notice",
    about: "Something that a person should know at once.",
    keys: &[
        required("text", Kind::Template, "What."),
        key(
            "kind",
            Kind::Choice(NOTICES),
            "`warning`, `retry` (it tries again by itself) or `denied` (something was not allowed). Without it `warning`.",
        ),
    ],
};

/// It has failed.
pub(crate) static ERROR: Section = Section {
    name: "error",
    about: "It has failed. What the error is, is told by `errors`, else by `cause`, else by `status`.",
    keys: &[
        key("message", Kind::Path, "What happened."),
        key(
            "text",
            Kind::Template,
            "What happened, in words of your own, where `message` has none.",
        ),
        key("status", Kind::Path, "The HTTP status of the provider."),
        key("cause", Kind::Choice(CAUSES), CAUSE),
        key("hint", Kind::Text, "What a person can do."),
    ],
};

/// It has answered.
pub(crate) static COMPLETE: Section = Section {
    name: "complete",
    about: "It has answered.",
    keys: &[
        key("text", Kind::Path, "The answer, shown where nothing of it came before."),
        key(
            "stop_reason",
            Kind::Path,
            "Why it stopped: `max_tokens`, `length`, `max_turn_requests`, `max_turns`, `refusal`, `content_filter`, `cancelled`; anything else is the end of its turn.",
        ),
    ],
};

/// A known text.
pub(crate) static KNOWN: Section = Section {
    name: "error_text",
    about: "What a text in an error's message or on stderr means.",
    keys: &[
        required(
            "text",
            Kind::Texts,
            "The text, upper and lower case alike; of several one is enough.",
        ),
        required("cause", Kind::Choice(CAUSES), CAUSE),
        key("hint", Kind::Text, "What a person can do."),
    ],
};

/// What an exit status means.
pub(crate) static EXIT: Section = Section {
    name: "exit_status",
    about: "What an exit status means, where it is a failure.",
    keys: &[
        key("cause", Kind::Choice(CAUSES), CAUSE),
        key("message", Kind::Text, "What happened."),
        key("hint", Kind::Text, "What a person can do."),
    ],
};

/// Other tests than "is one of these".
pub(crate) static TEST: Section = Section {
    name: "test",
    about: "Other tests than \"is one of these\".",
    keys: &[
        key("exists", Kind::Flag, "`true`: it is there and not null. `false`: it is not."),
        key("not", Kind::Literals, "It is none of these."),
        key("starts_with", Kind::Texts, "It is a text that begins with one of these."),
        key("contains", Kind::Texts, "It is a text that has one of these in it."),
    ],
};

/// All of them, in the order of the reference.
pub(crate) static SECTIONS: [&Section; 16] = [
    &MANIFEST,
    &IF,
    &PERMISSIONS,
    &MODE,
    &SESSION,
    &RULE,
    &TEST,
    &TOOL_CALL,
    &TOOL_UPDATE,
    &TOOL_RESULT,
    &USAGE,
    &NOTICE,
    &ERROR,
    &COMPLETE,
    &KNOWN,
    &EXIT,
];
