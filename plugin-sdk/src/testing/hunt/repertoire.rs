//! What may be tried in a hunt.

use std::collections::BTreeSet;
use std::slice;

use super::tricks;
use crate::Random;
use crate::testing::environment::{Examination, pieces};
use crate::testing::walk::Deed;
use crate::types::{Seat, Split};

/// Texts of each source that are taken.
const PHRASES: usize = 60;
const WORDS: usize = 200;
const SEEN: usize = 40;
/// Deeds that are tried in one situation.
pub const BREADTH: usize = 160;

/// Texts, and who may say them as what.
pub struct Repertoire<'h> {
    pub voices: Vec<(Seat, &'h str)>,
    /// What was said already, most likely first.
    texts: Vec<String>,
    /// Pieces from which longer texts are made.
    pub words: Vec<String>,
    pub deeds: Vec<Deed>,
}

impl<'h> Repertoire<'h> {
    pub fn of(examination: &'h Examination<'h>) -> Self {
        let mut random = Random::new(Split::Train, 0, "repertoire");
        let mut some = |texts: &[String], count: usize| {
            let mut texts = texts.to_vec();
            random.shuffle(&mut texts);
            texts.truncate(count);
            texts
        };
        let book = &examination.phrasebook;
        let phrases = some(book.phrases(), PHRASES);
        let words = some(book.words(), WORDS);
        let usual = some(book.usual(), WORDS);
        let is_open = examination.configuration.vocabulary.is_empty();
        let seen = if is_open { some(&seen(examination), SEEN) } else { Vec::new() };
        let named = some(&named(examination), SEEN);
        let tricks = tricks::WORDS.iter().chain(&tricks::ANSWERS).map(|text| (*text).to_owned());
        let tricks: Vec<String> = tricks.filter(|_| is_open).collect();
        let pieces = [&usual, &words, &named, &seen].into_iter().flatten().cloned();
        let pieces: BTreeSet<String> = pieces.chain(tricks.iter().cloned()).collect();
        let voices = examination.team.voices();
        let (texts, words_of_texts) = (Vec::new(), pieces.into_iter().collect());
        let mut repertoire = Repertoire { voices, texts, words: words_of_texts, deeds: Vec::new() };
        let sources = [vec![String::new()], usual, phrases, named, words, tricks, seen];
        sources.into_iter().flatten().for_each(|text| repertoire.learn(text));
        repertoire
    }

    /// One more text that everybody may say, unless it is known.
    pub fn learn(&mut self, text: String) {
        if !self.texts.contains(&text) {
            self.deeds.extend(
                self.voices.iter().map(|voice| Deed::saying(slice::from_ref(voice), &text)),
            );
            self.texts.push(text);
        }
    }

    /// What is tried in one situation: all, or as many as there is room for.
    pub fn some(&self, random: &mut Random) -> Vec<&Deed> {
        let mut deeds: Vec<&Deed> = self.deeds.iter().collect();
        if deeds.len() > BREADTH {
            random.shuffle(&mut deeds);
            deeds.truncate(BREADTH);
        }
        deeds
    }
}

/// Words that are seen at the starts of tasks, and those of the rules.
fn seen(examination: &Examination) -> Vec<String> {
    let looks = examination.experts.iter().map(|walk| walk.start.look());
    words(looks.chain(examination.rules()))
}

/// Words of what is said of the kinds of action: many name all that can be done.
fn named(examination: &Examination) -> Vec<String> {
    words(examination.description.actions.iter().map(|kind| kind.summary.clone()))
}

fn words(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut words = BTreeSet::new();
    for text in texts {
        let all =
            pieces(&text).into_iter().filter(|piece| piece.chars().all(char::is_alphanumeric));
        words.extend(all.map(str::to_owned));
    }
    words.into_iter().collect()
}
