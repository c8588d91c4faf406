//! What can be said and what is said: unreadable text, and the vocabulary.

use std::collections::HashSet;

use super::{Examination, ROUNDING};
use crate::testing::garbage::{Garbage, shortest_text};
use crate::testing::report::{Checked, Objection, Seen, require, skip};
use crate::testing::walk::{BYSTANDER, Deed, Moment, Walk};
use crate::types::{Seat, Split, Status};

/// So often the same garbage is said in a row: an income may come with some of it only.
const IN_A_ROW: usize = 7;
/// Bytes of what is said so often.
const SHORT: usize = 200;

/// Text that cannot be read is an outcome, and worth nothing, at the start of a
/// task and on the expert's way, once and over and over.
pub fn check_unreadable(examination: &Examination) -> Checked {
    let mut said = 0;
    let known = examination.phrasebook.known();
    let (all, kinds) = (Garbage::all(), &examination.description.actions);
    for expert in examination.pace.of(examination.experts.iter().take(Split::ALL.len())) {
        let moments = [0, expert.steps.len() / 2, expert.steps.len().saturating_sub(1)];
        for (steps, kind) in
            moments.iter().flat_map(|steps| kinds.iter().map(move |it| (*steps, it)))
        {
            let seats = &examination.team.seats;
            for (garbage, seat) in all.iter().flat_map(|it| seats.iter().map(move |s| (it, s))) {
                let is_foreign = garbage.is_foreign(&known);
                // What is long is said once: it takes time to read.
                let is_repeated = steps == 0 && garbage.text.len() < SHORT;
                let rounds = if is_repeated { IN_A_ROW } else { 1 };
                let place = Place { examination, expert, steps, is_foreign, rounds };
                let voice = (seat.clone(), kind.name.as_str());
                place.say(&voice, garbage)?;
                said += 1;
            }
        }
    }
    match said {
        0 => skip("there is no task"),
        _ => Ok(format!(
            "{} texts that cannot be read are outcomes, not problems, and pay nobody",
            all.len()
        )),
    }
}

/// A moment at which something is said.
struct Place<'e> {
    examination: &'e Examination<'e>,
    expert: &'e Walk,
    steps: usize,
    /// Whether nothing can be read out of what is said.
    is_foreign: bool,
    /// How often it is said.
    rounds: usize,
}

impl Place<'_> {
    /// Says it, and if that is a fault, as little of it as is still one.
    fn say(&self, voice: &(Seat, &str), garbage: &Garbage) -> Result<(), Objection> {
        let deed = |text: &str| Deed::saying(std::slice::from_ref(voice), text);
        let Err(found) = self.carry_out(&deed(&garbage.text)) else { return Ok(()) };
        if !found.1.is_fault() {
            return Err(found.1);
        }
        let shows_it =
            |text: &str| self.carry_out(&deed(text)).is_err_and(|found| found.1.is_fault());
        let text = shortest_text(&garbage.text, shows_it);
        let (rounds, least) = self.carry_out(&deed(&text)).err().unwrap_or(found);
        let seen = self.expert.reproducer_to(self.steps);
        let acts = [seen.acts.clone(), vec![deed(&text).0; rounds]].concat();
        Err(least.placed(&format!("{} (tried: {})", self.expert.place(), garbage.what)))
            .seen(|| seen.with(acts))
    }

    /// Or what is wrong with it, and how often it had to be said.
    fn carry_out(&self, deed: &Deed) -> Result<(), (usize, Objection)> {
        let mut said = 0;
        self.repeat(deed, &mut said).map_err(|objection| (said, objection))
    }

    fn repeat(&self, deed: &Deed, said: &mut usize) -> Result<(), Objection> {
        let Place { examination, expert, steps, is_foreign, rounds } = *self;
        let team = &examination.team;
        let mut episode = expert.episode_at(team, steps)?;
        let kind = deed.0.first().map_or("", |one| &one.action.kind);
        let text = deed.words();
        let text = text.escape_debug();
        let bystander = Seat::new(BYSTANDER);
        let speaker = deed.0.first().map(|one| &one.seat);
        let seats: Vec<&Seat> = team.seats.iter().chain([&bystander]).collect();
        let mut earned = vec![0.0; seats.len()];
        for round in 0..rounds {
            *said = round + 1;
            let outcome = deed.carry_out(&mut *episode)?;
            if round == 0 {
                // What was said must not break what is asked afterwards.
                Moment::of(team, &mut *episode)?;
            }
            if !is_foreign {
                return Ok(());
            }
            // An open-ended language may well accept anything.
            let is_open = examination.configuration.vocabulary.is_empty();
            require(!outcome.is_accepted() || is_open, || format!("`{kind}` accepted \"{text}\""))?;
            // A seat that wins in the end by others' nonsense has not earned by its own.
            let counts = |seat: &Seat| round == 0 || *seat == bystander || Some(seat) == speaker;
            for (seat, earned) in seats.iter().zip(&mut earned).filter(|(seat, _)| counts(seat)) {
                *earned += deed.income(&outcome, seat, &examination.contests);
            }
            require(earned.iter().all(|earned| *earned <= ROUNDING), || {
                format!("`{kind}` paid for \"{text}\", which nobody can read")
            })?;
            if outcome.status != Status::Ongoing {
                break;
            }
        }
        Ok(())
    }
}

/// The vocabulary covers what was seen, shown and revealed.
pub fn check_vocabulary(examination: &Examination) -> Checked {
    if examination.configuration.vocabulary.is_empty() {
        return Ok("the language is open-ended: any word may stand in it".to_owned());
    }
    let words = words_of(&examination.configuration.vocabulary)?;
    for walk in examination.pace.of(examination.all_walks()) {
        check_covered(&words, walk)?;
    }
    Ok(format!("{} words cover everything that was seen, shown and revealed", words.len()))
}

/// The vocabulary as a set; no word may be listed twice.
pub fn words_of(vocabulary: &[String]) -> Result<HashSet<&str>, Objection> {
    let words: HashSet<&str> = vocabulary.iter().map(String::as_str).collect();
    require(words.len() == vocabulary.len(), || "a word is listed twice".to_owned())?;
    Ok(words)
}

/// Every word of the walk's observations, of its expert and of what a critic sees is in
/// the vocabulary.
pub fn check_covered(words: &HashSet<&str>, walk: &Walk) -> Result<(), Objection> {
    for (index, moment) in walk.moments().enumerate() {
        let said = moment.advices().map(|action| action.text.as_str());
        let told = moment.seen.iter().chain(&moment.revealed).map(String::as_str);
        let said = told.chain(said);
        for word in said.flat_map(str::split_whitespace) {
            require(words.contains(word), || format!("`{word}` is not in the vocabulary"))
                .seen(|| walk.reproducer_to(index))?;
        }
    }
    Ok(())
}
