//! The words of a team: what its policies are told and should say.

use std::collections::BTreeSet;

use super::TeamError;
use crate::family::Family;
use crate::rollout::Demonstrator;
use troupe_core::config::Config;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Author, Message};
use troupe_guests::plugin::Split;
use troupe_guests::scenario::Next;

/// Tasks whose texts are looked through for words.
const TASKS_FOR_WORDS: u32 = 64;
/// Demonstrations per role that are looked through for words.
const DEMONSTRATIONS_FOR_WORDS: usize = 256;

/// Every word that policies are told or should say: those the plugins declare,
/// and those found in the texts of some training tasks.
pub fn vocabulary(families: &[Family], config: &Config) -> Vec<String> {
    let mut words = words_of_tasks(families);
    let seed = Seed::new(config.run.seed).named("vocabulary");
    for Family { scenario, .. } in families {
        let demonstrations = Demonstrator::new(scenario, seed, config.imitation.exploration)
            .take(DEMONSTRATIONS_FOR_WORDS)
            .unwrap_or_default();
        for demonstration in demonstrations {
            add_words(&mut words, &demonstration.text);
            add_prompts(&mut words, &demonstration.prompt);
        }
    }
    words.into_iter().collect()
}

/// The same without what experts are told and say on their way.
pub(super) fn words_of_tasks(families: &[Family]) -> BTreeSet<String> {
    let mut words: BTreeSet<String> = BTreeSet::new();
    for family in families {
        words.extend(family.scenario.workflow_configuration.vocabulary.iter().cloned());
        for scenario in family.rungs.iter().chain([&family.scenario]) {
            words.extend(scenario.environment_configuration.vocabulary.iter().cloned());
        }
        for task in 0..TASKS_FOR_WORDS {
            // A task that fails will be void in the run, too; here it only has no words.
            let Ok(start) = family.scenario.begin(Split::Train, task) else { continue };
            let Next::Asked(position) = start.next else { continue };
            position.due.iter().for_each(|due| add_prompts(&mut words, &due.messages));
        }
    }
    words
}

/// What a policy is told, but for its own answers.
fn add_prompts(words: &mut BTreeSet<String>, messages: &[Message]) {
    let told = messages.iter().filter(|message| message.author == Author::User);
    told.for_each(|message| add_words(words, &message.text));
}

fn add_words(words: &mut BTreeSet<String>, text: &str) {
    words.extend(text.split_whitespace().map(str::to_owned));
}

/// The words that the plugins declare; none if the language of one of them is open.
pub(super) fn declared(families: &[Family]) -> Vec<String> {
    let mut words: BTreeSet<String> = BTreeSet::new();
    for family in families {
        words.extend(family.scenario.workflow_configuration.vocabulary.iter().cloned());
        for scenario in family.rungs.iter().chain([&family.scenario]) {
            let own = &scenario.environment_configuration.vocabulary;
            if own.is_empty() {
                return Vec::new();
            }
            words.extend(own.iter().cloned());
        }
    }
    words.into_iter().collect()
}

/// Refuse a policy that does not know the words.
pub(super) fn check_tokenizer(
    name: &str,
    unknown: &[String],
    families: &[Family],
    words: &[String],
) -> Result<(), TeamError> {
    if unknown.is_empty() {
        return Ok(());
    }
    let examples: Vec<String> = unknown.iter().take(3).map(|word| format!("`{word}`")).collect();
    let names: Vec<&str> =
        families.iter().map(|family| family.scenario.environment.name()).collect();
    Err(TeamError::Tokenizer {
        name: name.to_owned(),
        environment: names.join("`, `"),
        unknown: unknown.len(),
        words: words.len(),
        examples: examples.join(", "),
    })
}
