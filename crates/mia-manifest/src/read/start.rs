//! Reading how a CLI is started: arguments, stdin, policies.

use mia_config::nearest;
use mia_config::yaml::{Body, Node};

use super::reader::{Field, Fields, Reader, scalar, shown};
use crate::model::{Arg, JsonTemplate, Mode, Modes, Stdin};
use crate::table::{IF, Kind, MODE, PERMISSIONS};
use crate::template::{Given, Template};

/// What stands for a list of arguments of its own.
const LISTS: [&str; 2] = ["args", "permissions"];

/// Which places arguments may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    /// In `args`.
    Main,
    /// In a policy: the prompt has its place already.
    Policy,
}

impl Reader<'_> {
    pub(crate) fn args(&mut self, field: Field<'_>) -> Vec<Arg> {
        let args = self.arg_list(field, Where::Main);
        self.check_prompts(field, &args);
        self.check_flags(field.node, &args, &[]);
        for list in LISTS {
            let is = |arg: &&Arg| match arg {
                Arg::Configured => list == "args",
                Arg::Permissions => list == "permissions",
                _ => false,
            };
            if args.iter().filter(is).count() > 1 {
                self.mistake(&field.node.span, format!("args: {{{list}}} is in it twice"), None);
            }
        }
        args
    }

    fn arg_list(&mut self, field: Field<'_>, place: Where) -> Vec<Arg> {
        let Body::List { items, .. } = &field.node.body else {
            self.words(field);
            return Vec::new();
        };
        let mut args = Vec::new();
        for item in items {
            let field = field.item(item, Kind::Args);
            match &item.body {
                // What can't be read leaves its place empty, so that the others keep theirs.
                Body::Scalar { .. } => {
                    args.push(self.arg(field, place).unwrap_or(Arg::Group(Vec::new())));
                }
                Body::List { items, .. } => {
                    let templates = items.iter().filter_map(|item| {
                        self.given_template(field.item(item, Kind::Text), place)
                    });
                    args.push(Arg::Group(templates.collect()));
                }
                Body::Map { .. } => {
                    args.push(self.if_given(field, place).unwrap_or(Arg::Group(Vec::new())));
                }
            }
        }
        args
    }

    fn arg(&mut self, field: Field<'_>, place: Where) -> Option<Arg> {
        if let Body::Scalar { text, .. } = &field.node.body
            && place == Where::Main
        {
            match text.as_str() {
                "{args}" => return Some(Arg::Configured),
                "{permissions}" => return Some(Arg::Permissions),
                _ => {}
            }
        }
        // An empty argument is one, too.
        if matches!(&field.node.body, Body::Scalar { text, plain: false } if text.is_empty()) {
            return Some(Arg::One(Template(Vec::new())));
        }
        self.given_template(field.with(field.node, Kind::Text), place).map(Arg::One)
    }

    fn if_given(&mut self, field: Field<'_>, place: Where) -> Option<Arg> {
        let fields = self.section(field, &IF)?;
        let mut list = |name| fields.get(name).map(|f| self.arg_list(f, place)).unwrap_or_default();
        let (then, otherwise) = (list("then"), list("else"));
        let given = fields.get("if")?;
        let word = self.choice(given, &["session", "model"])?;
        if then.is_empty() && otherwise.is_empty() {
            let help = "give it then, else, or both".to_owned();
            self.mistake(given.key_span, "the arguments that depend on this are missing", help);
        }
        Some(Arg::If { given: Given::named(word)?, then, otherwise })
    }

    fn given_template(&mut self, field: Field<'_>, place: Where) -> Option<Template<Given>> {
        let text = self.text(field)?;
        let template = Template::parse(&text, |name| match Given::named(name) {
            Some(Given::Prompt) if place == Where::Policy => {
                Err("has the prompt in it, whose place is in args or stdin".to_owned())
            }
            Some(given) => Ok(given),
            None if LISTS.contains(&name) && place == Where::Main => Err(format!(
                "has {{{name}}} in it, which stands for several arguments and has to be one by itself"
            )),
            None => Err(unknown_place(name)),
        });
        template.map_err(|wrong| self.template_mistake(field, &text, &wrong)).ok()
    }

    pub(super) fn template_mistake(&mut self, field: Field<'_>, text: &str, wrong: &str) {
        let message = format!("{}: {:?} {wrong}", field.key, shown(text));
        self.mistake(&field.node.span, message, None);
    }

    fn policy_args(&mut self, field: Field<'_>) -> Vec<Arg> {
        let args = self.arg_list(field, Where::Policy);
        self.check_flags(field.node, &args, &[]);
        args
    }

    /// An option must not stay when its value is left out: it would take the argument after it.
    /// `sure` has a value here.
    fn check_flags(&mut self, list: &Node, args: &[Arg], sure: &[Given]) {
        let Body::List { items, .. } = &list.body else { return };
        let all: Vec<_> = items.iter().zip(args).collect();
        for pair in all.windows(2) {
            let [(item, option), (_, value)] = pair else { continue };
            if is_dashes(option) {
                return;
            }
            if let (Some(option), Some(given)) = (is_option(option), may_be_left_out(value, sure)) {
                let option = shown(option);
                let message = format!("args: {option:?} stays alone when there is no {given}");
                let help = format!(
                    "write [{option}, \"{{{given}}}\"] or \"{option}={{{given}}}\"; if {option} takes no value, write [\"{{{given}}}\"] after it"
                );
                self.mistake(&item.span, message, help);
            }
        }
        for (item, arg) in all {
            let (Body::Map { entries, .. }, Arg::If { given, then, otherwise }) = (&item.body, arg)
            else {
                continue;
            };
            let more = [sure, &[*given]].concat();
            for (key, args, sure) in [("then", then, &*more), ("else", otherwise, sure)] {
                if let Some(entry) = entries.iter().find(|entry| entry.key == key) {
                    self.check_flags(&entry.value, args, sure);
                }
            }
        }
    }

    /// A prompt that begins with a dash must not be read as an option.
    fn check_prompts(&mut self, field: Field<'_>, args: &[Arg]) {
        let Body::List { items, .. } = &field.node.body else { return };
        let mut after_dashes = false;
        for (item, arg) in items.iter().zip(args) {
            if !is_safe(arg, after_dashes) {
                let message =
                    "args: a prompt that begins with a dash would be read as an option here";
                let help = "put \"--\" before it, or join it to its option: \"--prompt={prompt}\"";
                self.mistake(&item.span, message, help.to_owned());
            }
            after_dashes |= is_dashes(arg);
        }
    }

    /// `args` says whether the prompt is an argument.
    pub(crate) fn stdin(&mut self, field: Option<Field<'_>>, args: &[Arg]) -> Stdin {
        let Some(field) = field else {
            return match args.iter().any(|arg| arg.takes(Given::Prompt)) {
                true => Stdin::Nothing,
                false => Stdin::Text(Template(vec![crate::template::Part::Place(Given::Prompt)])),
            };
        };
        match &field.node.body {
            Body::Scalar { .. } => self
                .given_template(field.with(field.node, Kind::Stdin), Where::Main)
                .map_or(Stdin::Nothing, Stdin::Text),
            _ => self.json(field.with(field.node, Kind::Stdin)).map_or(Stdin::Nothing, Stdin::Line),
        }
    }

    fn json(&mut self, field: Field<'_>) -> Option<JsonTemplate> {
        Some(match &field.node.body {
            Body::List { items, .. } => {
                let items = items.iter().filter_map(|item| self.json(field.with(item, field.kind)));
                JsonTemplate::List(items.collect())
            }
            Body::Map { entries, .. } => {
                let members = entries.iter().filter_map(|entry| {
                    Some((entry.key.clone(), self.json(field.with(&entry.value, field.kind))?))
                });
                JsonTemplate::Object(members.collect())
            }
            Body::Scalar { text, .. } => match scalar(field.node)? {
                serde_json::Value::String(_) if !text.is_empty() => {
                    JsonTemplate::Text(self.given_template(field, Where::Main)?)
                }
                value => JsonTemplate::Value(value),
            },
        })
    }

    pub(crate) fn modes(&mut self, field: Field<'_>) -> Modes {
        let Some(fields) = self.section(field, &PERMISSIONS) else { return Modes::default() };
        let mut mode = |name| fields.get(name).and_then(|field| self.mode(field));
        Modes {
            unasked: mode("default").unwrap_or_default(),
            read_only: mode("read-only"),
            edit: mode("edit"),
            full: mode("full"),
        }
    }

    fn mode(&mut self, field: Field<'_>) -> Option<Mode> {
        if matches!(field.node.body, Body::List { .. }) {
            return Some(Mode { args: self.policy_args(field), env: Vec::new() });
        }
        let fields: Fields<'_> = self.section(field, &MODE)?;
        Some(Mode {
            args: fields.get("args").map(|f| self.policy_args(f)).unwrap_or_default(),
            env: fields.get("env").map(|f| self.settings(f)).unwrap_or_default(),
        })
    }
}

/// An option that its value is to follow, for all that can be told: `--model`, not `--model=x`.
fn is_option(arg: &Arg) -> Option<&str> {
    let Arg::One(template) = arg else { return None };
    let option = template.start();
    (template.is(option) && option.len() > 1 && option.starts_with('-') && !option.contains('='))
        .then_some(option)
}

/// The first place of an argument that may have no value, if it begins with a place.
fn may_be_left_out(arg: &Arg, sure: &[Given]) -> Option<Given> {
    let Arg::One(template) = arg else { return None };
    let mut may = template
        .places()
        .filter(|g| matches!(g, Given::Session | Given::Model) && !sure.contains(g));
    may.next().filter(|_| template.start().is_empty())
}

fn is_dashes(arg: &Arg) -> bool {
    matches!(arg, Arg::One(template) if template.is("--"))
}

/// True for an argument without a prompt, for one that can't begin with what a prompt begins with,
/// and after `--`. `-{prompt}` begins with a dash whatever it is.
fn is_safe(arg: &Arg, after_dashes: bool) -> bool {
    let safe = |template: &Template<Given>| {
        let takes = template.places().any(|place| place == Given::Prompt);
        !takes || !template.start().trim_start_matches('-').is_empty()
    };
    let all_safe = |args: &[Arg]| {
        let mut after = false;
        args.iter().all(|arg| {
            let is = is_safe(arg, after);
            after |= is_dashes(arg);
            is
        })
    };
    after_dashes
        || match arg {
            Arg::One(template) => safe(template),
            Arg::Group(templates) => templates.iter().all(safe),
            Arg::If { then, otherwise, .. } => all_safe(then) && all_safe(otherwise),
            Arg::Configured | Arg::Permissions => true,
        }
}

fn unknown_place(name: &str) -> String {
    let known = Given::ALL.map(Given::name).into_iter().chain(LISTS);
    match nearest(name, known.clone()) {
        Some(near) => {
            format!("has an unknown place {{{}}} (did you mean {{{near}}}?)", shown(name))
        }
        None => {
            let known: Vec<_> = known.map(|name| format!("{{{name}}}")).collect();
            format!("has an unknown place {{{}}}; there are {}", shown(name), known.join(", "))
        }
    }
}
