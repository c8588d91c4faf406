//! No task is in two splits: neither as the same state, nor under another
//! number that changes nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::Examination;
use super::examination::patience;
use super::words::{Mask, Place, pieces};
use crate::Random;
use crate::environment::{Outcome, Split, Status, Task};
use crate::random::hash;
use crate::testing::report::{Checked, Objection, Reproducer, Seen, fail, skip};
use crate::testing::walk::{Deed, Moment, Walk};

/// Tasks per split that are begun, and whose looks are compared word by word,
/// each for every task per split of the scope.
const STARTS_PER_TASK: u32 = 64;
const LOOKS_PER_TASK: u32 = 8;
/// Tasks per split that are compared by how they are played, at least.
const PLAYED: u32 = 12;
/// Steps of the walk that is taken in tasks to compare them.
const STEPS: usize = 20;
/// Groups of look-alikes that are played, and about how many tasks of a split
/// in all of them.
const GROUPS: usize = 24;
const MEMBERS: usize = 32;
/// Tasks that are begun behind every number that may be added to seeds.
const FAR_TASKS: u32 = 3;
/// Words in a hundred that must differ in a place that numbers tasks.
const SERIAL_PERCENT: usize = 95;
/// How much more often tasks of different splits must be played alike than those of one.
const MORE_OFTEN: f64 = 3.0;
/// The chance below which tasks that are played alike are no chance.
const CHANCE: f64 = 1e-6;

/// The beginning of a task.
struct Start {
    task: Task,
    observation: String,
}

/// How a task is played: by the expert, and by a player who does the same in
/// every task. What is said on the way may name the task; what is done and
/// what it is worth may not depend on its number.
#[derive(Clone, PartialEq)]
struct Play(Vec<(Deed, bool, Vec<f64>, Status)>);

/// How a task is played that begins so.
type Played<'s> = (Split, &'s Start, Play);

/// Compare the splits' tasks.
pub fn check(examination: &Examination) -> Checked {
    if !examination.scope.entries.is_empty() {
        return skip("the records of a dataset are split by the dataset");
    }
    let tasks = examination.scope.tasks;
    let seeds = STARTS_PER_TASK * tasks;
    let looks = check_states(examination, seeds, LOOKS_PER_TASK * tasks)?;
    check_same_seeds(examination)?;
    check_look_alikes(examination, &looks)?;
    Ok(format!("{seeds} tasks of each split differ from those of the others"))
}

/// No state is the beginning of tasks of two splits. The first starts are kept.
fn check_states(examination: &Examination, seeds: u32, kept: u32) -> Result<Vec<Start>, Objection> {
    let mut starts = Vec::new();
    let from = examination.scope.from;
    for seed in examination.pace.of(from..from.saturating_add(seeds)) {
        for split in Split::ALL {
            let task = examination.task(split, seed);
            let observation = new_start(examination, &task)?;
            if seed - examination.scope.from < kept {
                starts.push(Start { task, observation });
            }
        }
    }
    for seed in examination.pace.of(far_seeds()) {
        for split in Split::ALL {
            new_start(examination, &examination.task(split, seed))?;
        }
    }
    Ok(starts)
}

/// Seeds at which the tasks of a split begin that are told apart by adding a
/// number to their seeds.
fn far_seeds() -> impl Iterator<Item = u32> {
    let tens = (3..=9).flat_map(|power| [1, 2, 3, 5].map(|digit| digit * 10_u64.pow(power)));
    let twos = (8..=31).map(|power| 1_u64 << power);
    let bases = tens.chain(twos).filter_map(|base| u32::try_from(base).ok());
    bases.flat_map(|base| (0..FAR_TASKS).map(move |task| base.saturating_add(task)))
}

/// What a task looks like that begins in no state in which one of another split
/// begins.
fn new_start(examination: &Examination, task: &Task) -> Result<String, Objection> {
    let (observation, saved) = begin(examination, task).seen(|| Reproducer::of(task))?;
    if let Some(saved) = saved {
        let settings = format!("{:?}", task.settings);
        let parts = [observation.as_bytes(), &[0xFF], &saved, settings.as_bytes()];
        let state = hash(&parts.concat());
        let (split, seed) = examination.scope.starts.owner(state, task.split, task.seed);
        if split != task.split {
            let owner = examination.task(split, seed);
            return in_common(&owner, task, "begins in the same state as");
        }
    }
    Ok(observation)
}

fn begin(examination: &Examination, task: &Task) -> Result<(String, Option<Vec<u8>>), Objection> {
    let team = &examination.team;
    let mut episode = team.environment.start(task)?;
    let seen = Moment::seen(team.viewers(), &mut *episode)?;
    Ok((seen.join("\n"), episode.save()?))
}

fn in_common<T>(one: &Task, other: &Task, how: &str) -> Result<T, Objection> {
    let [first, second] =
        [one, other].map(|task| format!("{} task {}", task.split.name(), task.seed));
    fail(format!(
        "{} and {} have a task in common: {second} {how} {first}",
        one.split.name(),
        other.split.name()
    ))
    .seen(|| Reproducer { from: one.seed.min(other.seed), ..Reproducer::of(other) })
}

/// The same seed must not give tasks of two splits that are played alike, more
/// often than tasks of other seeds are.
fn check_same_seeds(examination: &Examination) -> Result<(), Objection> {
    let from = examination.scope.from;
    let seeds = from..from.saturating_add(examination.scope.tasks.max(PLAYED));
    let mut plays: [Vec<Play>; Split::ALL.len()] = Default::default();
    for seed in examination.pace.of(seeds) {
        for (split, plays) in Split::ALL.into_iter().zip(&mut plays) {
            plays.push(Play::of(examination, &examination.task(split, seed))?);
        }
    }
    for (one, other) in [(0, 1), (0, 2), (1, 2)] {
        let (first, second) = (&plays[one], &plays[other]);
        let alike: Vec<usize> =
            (0..first.len()).filter(|&seed| first[seed] == second[seed]).collect();
        if chance(alike.len(), first, second) < CHANCE {
            let seed = from + alike.first().map_or(0, |&seed| seed as u32);
            let [one, other] = [one, other].map(|split| examination.task(Split::ALL[split], seed));
            return in_common(&one, &other, "is played move for move like");
        }
    }
    Ok(())
}

/// The chance that so many tasks of the same seed are played alike by accident:
/// at most what it is by the tasks of different seeds that are.
fn chance(alike: usize, first: &[Play], second: &[Play]) -> f64 {
    let count = first.len();
    let of_others = |seed: usize| {
        (0..count).filter(|&other| other != seed && first[seed] == second[other]).count()
    };
    let within = |plays: &[Play]| -> usize {
        (0..count).map(|one| (0..one).filter(|&other| plays[one] == plays[other]).count()).sum()
    };
    let across: usize = (0..count).map(of_others).sum();
    let pairs = (2 * count * count.saturating_sub(1)).max(1);
    // One more than were seen, since few pairs say little.
    let share = (across + within(first) + within(second) + 1) as f64 / pairs as f64;
    let ways = (0..alike).map(|k| (count - k) as f64 / (k + 1) as f64).product::<f64>();
    if alike == 0 { 1.0 } else { ways * share.min(1.0).powi(alike as i32) }
}

/// Tasks that look alike but for words that are never the same twice, or that
/// name the split: if all who look alike are played alike, those words are
/// nothing but a number on the same task.
fn check_look_alikes(examination: &Examination, starts: &[Start]) -> Result<(), Objection> {
    let mask = serials(starts);
    let mut groups: BTreeMap<String, Vec<&Start>> = BTreeMap::new();
    for start in starts {
        groups.entry(mask.apply(&start.observation)).or_default().push(start);
    }
    let mixed =
        |members: &[&Start]| members.iter().any(|start| start.task.split != members[0].task.split);
    groups.retain(|_, members| mixed(members));
    let groups: Vec<Vec<&Start>> = groups.into_values().take(GROUPS).collect();
    if groups.is_empty() {
        return Ok(());
    }
    let members = (MEMBERS / groups.len()).max(2);
    let mut understood = false;
    let mut families: Vec<Vec<Played>> = Vec::new();
    for group in examination.pace.of(groups.iter()) {
        let mut played: Vec<Played> = Vec::new();
        for split in Split::ALL {
            for start in group.iter().filter(|start| start.task.split == split).take(members) {
                let play = Play::of(examination, &start.task)?;
                understood |= play.is_understood();
                played.push((split, start, play));
            }
        }
        families.push(played);
    }
    // Where the numbers say what is asked, tasks that look alike have different solutions.
    let asked = !mask.0.is_empty() && are_told_apart(&families);
    let found = families.iter().find_map(|played| twins(played));
    if let Some((one, other)) = found.filter(|_| !asked) {
        let how = match mask.0.is_empty() {
            true => "looks and is played like",
            false => "looks and is played, but for a number or a name, like",
        };
        return in_common(&one.task, &other.task, how);
    }
    match understood {
        true => Ok(()),
        false => skip("tasks look alike at their start, and nothing tells them apart"),
    }
}

/// Whether tasks that look alike are played differently, and those of different splits are not
/// played alike more often than those of one: then what was taken for a number on the same task
/// is part of the task.
fn are_told_apart(families: &[Vec<Played>]) -> bool {
    let (mut within, mut across) = ((0_usize, 0_usize), (0_usize, 0_usize));
    for played in families {
        for (index, (split, _, play)) in played.iter().enumerate() {
            for (other_split, _, other) in &played[index + 1..] {
                let (alike, pairs) = if split == other_split { &mut within } else { &mut across };
                *alike += usize::from(play == other);
                *pairs += 1;
            }
        }
    }
    // One more than were seen, since few pairs say little.
    let by_accident = (within.0 + 1) as f64 / (within.1 + 1) as f64;
    within.0 < within.1 && across.0 as f64 <= MORE_OFTEN * by_accident * across.1 as f64
}

/// Two tasks of different splits that are played alike, if those that look like
/// them are not told apart by something that has not been seen yet.
fn twins<'s>(played: &[Played<'s>]) -> Option<(&'s Start, &'s Start)> {
    played.iter().enumerate().find_map(|(index, (split, one, play))| {
        let others = played[index + 1..].iter().filter(|(other, ..)| other != split);
        let twin = others.into_iter().find(|(_, _, other)| play.is_understood() && other == play);
        twin.map(|(_, other, _)| (*one, *other))
    })
}

/// Places of words that number the tasks or name the split.
fn serials(starts: &[Start]) -> Mask {
    let texts: Vec<(Split, Vec<&str>)> =
        starts.iter().map(|start| (start.task.split, pieces(&start.observation))).collect();
    let shortest = texts.iter().map(|(_, pieces)| pieces.len()).min().unwrap_or(0);
    Mask(Place::all(shortest).filter(|place| is_serial(*place, &texts)).collect())
}

fn is_serial(place: Place, texts: &[(Split, Vec<&str>)]) -> bool {
    let words = |split| -> Vec<&str> {
        let of_split = texts.iter().filter(|(other, _)| *other == split);
        of_split.filter_map(|(_, pieces)| place.of(pieces)).collect()
    };
    let splits = Split::ALL.map(words);
    let different = splits.each_ref().map(|words| words.iter().collect::<BTreeSet<_>>());
    let is_word = |word: &&str| word.chars().all(char::is_alphanumeric);
    let numbers = splits.iter().zip(&different).all(|(words, different)| {
        words.iter().all(is_word) && 100 * different.len() >= SERIAL_PERCENT * words.len()
    });
    let names = different.iter().all(|words| words.len() == 1)
        && different.iter().flatten().collect::<BTreeSet<_>>().len() == Split::ALL.len();
    numbers || names
}

impl Play {
    fn of(examination: &Examination, task: &Task) -> Result<Self, Objection> {
        let team = &examination.team;
        let expert = Walk::of_expert(team, task, patience(&examination.configuration))?;
        // The same chance in every task, whatever its split and seed.
        let mut random = Random::new(Split::Train, 0, "play");
        let mut stroll = || {
            Walk::take(team, task, STEPS, |_| examination.phrasebook.deed(team, true, &mut random))
        };
        let strolls = [stroll()?, stroll()?];
        let steps = expert.steps.into_iter().chain(strolls.into_iter().flat_map(|walk| walk.steps));
        Ok(Play(steps.map(|step| told(step.deed, &step.outcome)).collect()))
    }

    /// Whether anything was done in it.
    fn is_understood(&self) -> bool {
        self.0.iter().any(|(_, accepted, ..)| *accepted)
    }
}

fn told(deed: Deed, outcome: &Outcome) -> (Deed, bool, Vec<f64>, Status) {
    let worth = outcome.awards.iter().map(|award| award.value).collect();
    (deed, outcome.is_accepted(), worth, outcome.status)
}
