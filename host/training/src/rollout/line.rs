//! The answers of one episode, and where they hang: on earlier ones, perhaps of
//! an episode that it was forked from.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::weighing::RowOf;
use troupe_core::trajectory::{Episode, Reward, Sample};
use troupe_estimators::lineage::Lineage;
use troupe_guests::plugin::{Credit, Seat};

/// An answer of this or another episode of the task.
#[derive(Clone, PartialEq)]
struct Place {
    line: Arc<[u32]>,
    row: usize,
    /// Whether it is worth what becomes known of it later, too. Of an answer whose branch was looked
    /// ahead in that is known already.
    books_later: bool,
}

/// An answer of this episode.
struct Row {
    sample: Sample,
    parent: Option<Place>,
    caller: Option<Place>,
}

/// The answers of one episode.
pub(super) struct Line {
    /// Tells it from the task's other episodes, and orders them: which repetition
    /// it is, and in which rounds it left the others by which branch.
    id: Arc<[u32]>,
    rows: Vec<Row>,
    /// The last answer that the episode went on from.
    last: Option<Place>,
    /// The answers by their number in the episode.
    numbers: BTreeMap<u32, Place>,
    /// The last answer of every seat.
    last_of: BTreeMap<(String, u32), Place>,
    /// What became known of earlier answers.
    later: Vec<(Place, Reward)>,
}

impl Line {
    /// An episode without answers.
    pub(super) fn new(repetition: usize) -> Self {
        Line {
            id: Arc::new([repetition as u32]),
            rows: Vec::new(),
            last: None,
            numbers: BTreeMap::new(),
            last_of: BTreeMap::new(),
            later: Vec::new(),
        }
    }

    /// Another one that has all of its answers before it, but none of its own.
    pub(super) fn fork(&self, round: usize, branch: usize) -> Self {
        Line {
            id: [&self.id[..], &[round as u32, branch as u32]].concat().into(),
            rows: Vec::new(),
            last: None,
            numbers: self.numbers.clone(),
            last_of: self.last_of.clone(),
            later: Vec::new(),
        }
    }

    /// Book what an answer was said to be worth later.
    pub(super) fn credit(&mut self, credit: &Credit) {
        let place = self.numbers.get(&credit.answer).filter(|place| place.books_later);
        let Some(place) = place.cloned() else { return };
        let mut reward = Reward::default();
        reward.credit(&credit.name, credit.value);
        self.later.push((place, reward));
    }

    /// Book what a seat earned without having been asked.
    pub(super) fn award(&mut self, seat: &Seat, reward: &Reward) {
        let last = self.last_of.get(&(seat.role.clone(), seat.instance));
        if let Some(place) = last.filter(|place| place.books_later) {
            self.later.push((place.clone(), reward.clone()));
        }
    }

    /// Take an answer into account; `before` is the last one before this round.
    fn note(&mut self, number: u32, sample: &Sample, place: &Place, before: Option<&Place>) {
        // A fork hangs on what is its own: that says which episode it came from.
        let is_ours = |place: &Place| place.line == self.id;
        let has_own = self.last.as_ref().is_some_and(|last| is_ours(last) && Some(last) != before);
        if is_ours(place) || !has_own {
            self.last = Some(place.clone());
        }
        self.numbers.insert(number, place.clone());
        self.last_of.insert((sample.role.clone(), sample.instance), place.clone());
    }
}

/// Hang the answers of a round on the episodes that continue with them: `kept` are
/// their branches, in the order of `lines`. An answer that several continue with
/// is a row of the first of these; an answer left behind, of the first of all.
/// `books_later` says whether what becomes known of them later is booked.
pub(super) fn hang(lines: &mut [&mut Line], kept: &[usize], rows: Vec<RowOf>, books_later: bool) {
    let before = lines[0].last.clone();
    for RowOf { number, caller, branches, sample } in rows {
        let line_places: Vec<usize> =
            (0..kept.len()).filter(|&line| branches.contains(&kept[line])).collect();
        let first = line_places.first().copied().unwrap_or(0);
        let (line, row) = (lines[first].id.clone(), lines[first].rows.len());
        let place = Place { line, row, books_later };
        for line in line_places {
            lines[line].note(number, &sample, &place, before.as_ref());
        }
        let caller = caller.and_then(|caller| lines[first].numbers.get(&caller).cloned());
        lines[first].rows.push(Row { sample, parent: before.clone(), caller });
    }
}

/// The table of many episodes, in the order of their tasks and repetitions. If
/// an episode is void, so are those that were forked from it or it from them: a
/// group without some of its members is not a sample of the same distribution.
pub(super) fn join(mut lines: Vec<(Line, Episode)>) -> (Vec<Sample>, Vec<Episode>) {
    lines.sort_by(|(a, line), (b, other)| (line.task, &a.id).cmp(&(other.task, &b.id)));
    spread_void(&mut lines);
    let mut starts = BTreeMap::new();
    let mut count = 0;
    for of_task in lines.chunk_by_mut(|(_, line), (_, other)| line.task == other.task) {
        for (number, (line, episode)) in of_task.iter_mut().enumerate() {
            episode.episode = number;
            starts.insert((episode.task, line.id.clone()), count);
            count += if episode.is_void() { 0 } else { line.rows.len() };
        }
    }
    let at = |task: usize, place: &Place| starts[&(task, place.line.clone())] + place.row;
    let (mut samples, mut later, mut episodes) =
        (Vec::with_capacity(count), Vec::new(), Vec::new());
    for (line, episode) in lines {
        if !episode.is_void() {
            let task = episode.task;
            samples.extend(line.rows.into_iter().map(|Row { sample, parent, caller }| Sample {
                task,
                family: episode.family.clone(),
                episode: episode.episode,
                parent: parent.map(|place| at(task, &place)),
                caller: caller.map(|place| at(task, &place)),
                ..sample
            }));
            let of_line = line.later.into_iter();
            later.extend(of_line.map(|(place, reward)| Later {
                row: at(task, &place),
                episode: episode.episode,
                reward,
            }));
        }
        episodes.push(episode);
    }
    book(&mut samples, later);
    (samples, episodes)
}

fn spread_void(lines: &mut [(Line, Episode)]) {
    let of = |(line, episode): &(Line, Episode)| (episode.task, line.id[0]);
    for family in lines.chunk_by_mut(|a, b| of(a) == of(b)) {
        let void = family.iter().find(|(_, episode)| episode.is_void());
        if let Some(void) = void.map(|(_, episode)| episode.ending.clone()) {
            family.iter_mut().for_each(|(_, episode)| episode.ending = void.clone());
        }
    }
}

/// What became known of a row in an episode that it is part of.
struct Later {
    row: usize,
    episode: usize,
    reward: Reward,
}

/// What became known later in one of several episodes that an answer is part of
/// counts for as much of it as the episode does.
fn book(samples: &mut [Sample], later: Vec<Later>) {
    let lineage = Lineage::of(samples);
    for Later { row, episode, reward } in later {
        let sample = &mut samples[row];
        let through = lineage.through((sample.task, sample.episode), sample.round);
        let weight = through.iter().find(|(number, _)| *number == episode);
        sample.reward.add(&reward.scaled(weight.map_or(0.0, |(_, weight)| *weight)));
    }
}
