//! Texts: nothing in them that a terminal would obey.

use super::Examination;
use crate::environment::Description;
use crate::printing::{is_hidden, visible};
use crate::testing::report::{Checked, Objection, Seen, fail};
use crate::testing::walk::Walk;

/// What is said about the environment.
pub fn check_description(description: &Description) -> Result<(), Objection> {
    let Description { summary, settings, actions, .. } = description;
    let actions = actions.iter().map(|kind| &kind.summary);
    let settings = settings.iter().map(|setting| &setting.summary);
    std::iter::once(summary)
        .chain(actions)
        .chain(settings)
        .try_for_each(|text| harmless("the description", text, ""))
}

/// What is told in rules, observations, feedback and demonstrations.
pub fn check(examination: &Examination) -> Checked {
    for task in &examination.tasks {
        let mut episode = examination.team.environment.start(task)?;
        for seat in examination.team.viewers() {
            harmless("the rules", &episode.rules(seat)?, "")?;
        }
    }
    let words = &examination.configuration.vocabulary;
    words.iter().try_for_each(|word| harmless("the vocabulary", word, ""))?;
    let mut walks = 0;
    for walk in examination.pace.of(examination.all_walks()) {
        is_harmless(examination, walk).seen(|| walk.reproducer())?;
        walks += 1;
    }
    Ok(format!("nothing that was told in {walks} episodes moves a cursor or hides"))
}

/// Nothing in the walk's texts is hidden, but for what players said themselves.
pub fn is_harmless(_: &Examination, walk: &Walk) -> Result<(), Objection> {
    let mut said = String::new();
    for (index, moment) in walk.moments().enumerate() {
        let step = index.checked_sub(1).map(|before| &walk.steps[before]);
        if let Some(step) = step {
            said += &step.deed.words();
            for effect in &step.outcome.effects {
                harmless("the feedback", &effect.feedback, &said)?;
            }
            for award in &step.outcome.awards {
                harmless("the name of an award", &award.name, &said)?;
            }
        }
        for text in &moment.seen {
            harmless("the observation", text, &said)?;
        }
        for action in moment.advices() {
            harmless("the expert's answer", &action.text, &said)?;
        }
    }
    Ok(())
}

fn harmless(what: &str, text: &str, said: &str) -> Result<(), Objection> {
    match text.chars().find(|&letter| is_hidden(letter) && !said.contains(letter)) {
        Some(letter) => {
            let shown = visible(&letter.to_string()).into_owned();
            fail(format!("{what} holds the character {shown}, which a terminal obeys or hides"))
        }
        None => Ok(()),
    }
}
