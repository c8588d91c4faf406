//! Texts: nothing in what roles are told that a terminal would obey.

use super::{Examination, Exchange};
use crate::printing::{is_hidden, visible};
use crate::testing::report::{Checked, Objection, fail};
use crate::workflow::{Description, Directive, Message};

/// What is said about the workflow.
pub fn check_description(description: &Description) -> Result<(), Objection> {
    let settings = description.settings.iter().map(|setting| &setting.summary);
    std::iter::once(&description.summary)
        .chain(settings)
        .try_for_each(|text| harmless("the description", text))
}

/// What is said about roles and told to them.
pub fn check(examination: &Examination, rehearsals: &[Vec<Exchange>]) -> Checked {
    for role in &examination.configuration.roles {
        harmless("what is said about a role", &role.summary)?;
    }
    let directives = rehearsals.iter().flatten().map(|exchange| &exchange.step.directive);
    let mut messages = 0;
    for directive in directives {
        let Directive::Ask(requests) = directive else { continue };
        for text in requests.iter().flat_map(|request| &request.messages).map(Message::text) {
            harmless("a message", &text)?;
            messages += 1;
        }
    }
    Ok(format!("nothing in {messages} messages moves a cursor or hides"))
}

fn harmless(what: &str, text: &str) -> Result<(), Objection> {
    match text.chars().find(|&letter| is_hidden(letter)) {
        Some(letter) => {
            let shown = visible(&letter.to_string()).into_owned();
            fail(format!("{what} holds the character {shown}, which a terminal obeys or hides"))
        }
        None => Ok(()),
    }
}
