//! From a question to its answer.

use super::question::Question;
use super::session::{Last, Memory};
use super::stop::Ended;
use super::talk::Talk;
use super::{changes, find, help, overview, show};

/// Answers a prompt and says what is to be remembered of it, beside the prompt.
pub(super) async fn answer(talk: &mut Talk<'_>, memory: &Memory) -> Result<Option<Last>, Ended> {
    let asked = Question::of(&talk.dispatch.prompt);
    let (question, from) = match (&asked, &memory.last) {
        (Question::More, Some(Last { question, next: Some(next) })) => {
            (question.clone(), Some(*next))
        }
        (Question::Again, Some(last)) => (last.question.clone(), None),
        (Question::More, Some(_)) => {
            talk.say("That was all. Ask `again` to see it once more.\n").await?;
            return Ok(None);
        }
        (Question::More | Question::Again, None) => {
            talk.say("There is nothing to go on with: ask me something first, or `help`.\n")
                .await?;
            return Ok(None);
        }
        _ => (asked, None),
    };
    let next = match &question {
        Question::Help => {
            talk.say(help::help()).await?;
            return Ok(None);
        }
        Question::Recall => {
            talk.say(help::recall(memory)).await?;
            return Ok(None);
        }
        Question::Unknown | Question::More | Question::Again => {
            talk.say(help::unknown()).await?;
            return Ok(None);
        }
        Question::Overview => {
            overview::overview(talk).await?;
            None
        }
        Question::Changed => {
            changes::changed(talk).await?;
            None
        }
        Question::Diff => changes::diff(talk, from.unwrap_or(0)).await?,
        Question::Log => changes::log(talk, from.unwrap_or(0)).await?,
        Question::Find { text, within } => {
            find::find(talk, text, within.as_deref(), from.unwrap_or(0)).await?
        }
        Question::Show { path, first, last } => {
            let (first, last) = match from {
                Some(from) => (Some(from), None),
                None => (*first, *last),
            };
            show::show(talk, path, first, last).await?
        }
    };
    if next.is_some() {
        talk.say("\nThere is more: ask `more`.\n").await?;
    }
    Ok(Some(Last { question, next }))
}
