//! What could be said in an environment's language, as far as its expert and
//! its vocabulary show.

use std::collections::{BTreeSet, HashSet};

use super::garbage::words;
use super::team::Team;
use super::walk::{Deed, Moment, Walk};
use crate::Random;
use crate::environment::Action;

/// Texts that no language with a vocabulary contains.
pub(super) const GARBAGE: [&str; 6] =
    ["", " ", "\u{0}", "⊥ \u{1F9E8} ¬", "lorem ipsum dolor sit amet", "-1e999 [[[ {\"a\": NaN}"];

/// Texts that a search tries: so many of the shortest, and so many others.
const SHORT_TEXTS: usize = 10;
const OTHER_TEXTS: usize = 4;

/// Texts for actions.
pub(super) struct Phrasebook {
    phrases: Vec<String>,
    /// Words that the expert uses.
    usual: Vec<String>,
    /// All words.
    words: Vec<String>,
}

impl Phrasebook {
    pub fn new(vocabulary: &[String], walks: &[Walk]) -> Self {
        let moments = walks.iter().flat_map(Walk::moments);
        let experts = moments.flat_map(Moment::advices);
        let phrases: BTreeSet<String> = experts.map(|action| action.text.clone()).collect();
        let usual: BTreeSet<&str> =
            phrases.iter().flat_map(|phrase| phrase.split_whitespace()).collect();
        Phrasebook {
            usual: usual.into_iter().map(str::to_owned).collect(),
            phrases: phrases.into_iter().collect(),
            words: vocabulary.to_vec(),
        }
    }

    /// Words that mean something: the vocabulary's, and those that the expert says.
    pub fn known(&self) -> HashSet<String> {
        let said = self.phrases.iter().chain(&self.words).chain(&self.usual);
        said.flat_map(|text| words(text)).collect()
    }

    /// What the expert says.
    pub fn phrases(&self) -> &[String] {
        &self.phrases
    }

    /// Words that the expert uses.
    pub fn usual(&self) -> &[String] {
        &self.usual
    }

    /// All words of the language.
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// What a player may do: words of the language in any order, sometimes
    /// garbage. A tame one prefers what the expert says, and sometimes several
    /// act at the same time.
    pub fn deed(&self, team: &Team, tame: bool, random: &mut Random) -> Option<Deed> {
        let voices = match tame && team.is_joint && random.below(3) == 0 {
            true => team.several(random),
            false if tame => vec![random.choose(&team.voices())?.clone()],
            false => random.choose(&team.choices())?.clone(),
        };
        let mut say = |(seat, kind)| Some((seat, Action::new(kind, self.text(tame, random)?)));
        Some(Deed::of(voices.into_iter().filter_map(&mut say)))
    }

    fn text(&self, tame: bool, random: &mut Random) -> Option<String> {
        Some(match random.below(10) {
            0 => random.choose(&GARBAGE)?.to_string(),
            1..=3 if tame => random.choose(&self.phrases).cloned().unwrap_or_default(),
            4..=9 if tame || self.words.is_empty() => jumble(&self.usual, random),
            _ => jumble(&self.words, random),
        })
    }

    /// A few texts to search with: the shortest, and some of the others; the
    /// vocabulary's words where there is no expert.
    pub fn short_texts(&self) -> Vec<String> {
        let said = if self.phrases.is_empty() { &self.words } else { &self.phrases };
        let by_length = |text: &String| (text.split_whitespace().count(), text.clone());
        let texts: BTreeSet<_> = self.usual.iter().chain(said).map(by_length).collect();
        let texts: Vec<String> = texts.into_iter().map(|(_, text)| text).collect();
        let (shortest, others) = texts.split_at(texts.len().min(SHORT_TEXTS));
        let spread = others.iter().step_by(others.len().div_ceil(OTHER_TEXTS).max(1));
        shortest.iter().chain(spread).cloned().collect()
    }
}

/// Up to three words in any order.
fn jumble(words: &[String], random: &mut Random) -> String {
    let count = 1 + random.below(3);
    let chosen = (0..count).filter_map(|_| random.choose(words));
    chosen.map(String::as_str).collect::<Vec<_>>().join(" ")
}
