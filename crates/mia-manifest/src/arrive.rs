//! Whether the prompt arrives, whatever else is given.

use crate::model::{Arg, JsonTemplate, Manifest, Stdin};
use crate::template::{Given, Template};

/// What a call gives besides its prompt.
#[derive(Clone, Copy)]
struct Call {
    session: bool,
    model: bool,
}

impl Call {
    fn has(self, given: Given) -> bool {
        match given {
            Given::Session => self.session,
            Given::Model => self.model,
            Given::Prompt | Given::Cwd => true,
        }
    }

    fn fills(self, template: &Template<Given>) -> bool {
        template.places().all(|place| self.has(place))
    }

    fn in_args(self, args: &[Arg]) -> bool {
        args.iter().any(|arg| match arg {
            Arg::One(template) => is_prompt(template) && self.fills(template),
            Arg::Group(all) => {
                all.iter().any(is_prompt) && all.iter().all(|template| self.fills(template))
            }
            Arg::If { given, then, otherwise } => {
                self.in_args(if self.has(*given) { then } else { otherwise })
            }
            Arg::Configured | Arg::Permissions => false,
        })
    }

    fn in_json(self, json: &JsonTemplate) -> bool {
        match json {
            JsonTemplate::Value(_) => false,
            JsonTemplate::Text(template) => is_prompt(template) && self.fills(template),
            JsonTemplate::List(list) => list.iter().any(|item| self.in_json(item)),
            JsonTemplate::Object(members) => members.iter().any(|(_, member)| self.in_json(member)),
        }
    }

    fn arrives(self, manifest: &Manifest) -> bool {
        self.in_args(&manifest.args)
            || match &manifest.stdin {
                Stdin::Nothing => false,
                Stdin::Text(template) => is_prompt(template) && self.fills(template),
                Stdin::Line(json) => self.in_json(json),
            }
    }
}

fn is_prompt(template: &Template<Given>) -> bool {
    template.places().any(|place| place == Given::Prompt)
}

impl Manifest {
    /// When the prompt goes nowhere, in words that follow those; empty where it always does. None
    /// where it always arrives.
    pub(crate) fn loses_prompt(&self) -> Option<&'static str> {
        let arrives = |session, model| Call { session, model }.arrives(self);
        let (neither, model) = (arrives(false, false), arrives(false, true));
        // Without its place no session is ever given.
        let (session, both) = match self.resumes() {
            true => (arrives(true, false), arrives(true, true)),
            false => (neither, model),
        };
        Some(match (neither, model, session, both) {
            (true, true, true, true) => return None,
            (false, false, false, false) => "",
            (false, false, _, _) => " when there is no session to go on with, as in a first turn",
            (false, _, false, _) => " when there is no model, as without --model",
            (_, _, false, false) => " when there is a session to go on with",
            (_, false, _, false) => " when there is a model",
            (false, ..) => " when there is neither a session nor a model",
            (_, false, ..) => " when there is a model and no session",
            (_, _, false, _) => " when there is a session and no model",
            (_, _, _, false) => " when there are a session and a model",
        })
    }
}
