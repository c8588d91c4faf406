//! No task is in two splits: neither as the same state, nor under another
//! number that changes nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::words::{Mask, Place, pieces};
use super::{Examination, patience};
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
/// Words in a hundred that must differ in a place that numbers tasks.
const SERIAL_PERCENT: usize = 95;
/// The chance below which tasks that are played alike are no chance.
const CHANCE: f64 = 1e-6;

/// The beginning of a task.
struct Start {
    task: Task,
    observation: String,
}

/// How a task is played: by the expert, and by somebody who does the same in
/// every task. What is said on the way may name the task; what is done and
/// what it is worth may not depend on its number.
#[derive(Clone, PartialEq)]
struct Play(Vec<(Deed, bool, Vec<f64>, Status)>);

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
    let mut owners: HashMap<u64, Task> = HashMap::new();
    let mut starts = Vec::new();
    for seed in 0..seeds {
        for split in Split::ALL {
            let task = examination.task(split, seed);
            let begun = begin(examination, &task).seen(|| Reproducer::of(&task));
            let (observation, saved) = begun?;
            if let Some(saved) = saved {
                let state = hash(&[observation.as_bytes(), &[0xFF], &saved].concat());
                let owner = owners.entry(state).or_insert_with(|| task.clone());
                if owner.split != split {
                    return in_common(owner, &task, "begins in the same state as");
                }
            }
            if seed < kept {
                starts.push(Start { task, observation });
            }
        }
    }
    Ok(starts)
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
    .seen(|| Reproducer::of(other))
}

/// The same seed must not give tasks of two splits that are played alike.
fn check_same_seeds(examination: &Examination) -> Result<(), Objection> {
    let seeds = 0..examination.scope.tasks.max(PLAYED);
    let plays = |split| -> Result<Vec<Play>, Objection> {
        seeds.clone().map(|seed| Play::of(examination, &examination.task(split, seed))).collect()
    };
    let mut known: Vec<(Split, Vec<Play>)> = Vec::new();
    for split in Split::ALL {
        let plays = plays(split)?;
        let twin = known.iter().find(|(_, others)| *others == plays);
        if let Some((other, _)) = twin.filter(|_| chance(&plays) < CHANCE) {
            let [one, other] = [*other, split].map(|split| examination.task(split, 0));
            return in_common(&one, &other, "is played move for move like");
        }
        known.push((split, plays));
    }
    Ok(())
}

/// The chance that as many tasks are all played like others by accident.
fn chance(plays: &[Play]) -> f64 {
    let count = plays.len() as f64;
    let alike = |one: &Play| plays.iter().filter(|other| *other == one).count() as f64;
    let of_two = plays.iter().map(alike).sum::<f64>() / (count * count);
    of_two.powf(count)
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
    let looks = groups.len();
    let mixed =
        |members: &[&Start]| members.iter().any(|start| start.task.split != members[0].task.split);
    groups.retain(|_, members| mixed(members));
    // Where no word numbers the tasks, a few that look alike may well differ in what is hidden.
    if mask.0.is_empty() && 2 * groups.len() < looks {
        return Ok(());
    }
    let groups: Vec<Vec<&Start>> = groups.into_values().take(GROUPS).collect();
    let Some(example) = groups.first() else { return Ok(()) };
    let members = (MEMBERS / groups.len()).max(2);
    let mut understood = false;
    for group in &groups {
        let mut first: Option<Play> = None;
        for split in Split::ALL {
            for start in group.iter().filter(|start| start.task.split == split).take(members) {
                let play = Play::of(examination, &start.task)?;
                understood |= play.is_understood();
                if first.get_or_insert_with(|| play.clone()) != &play {
                    return Ok(());
                }
            }
        }
    }
    if !understood {
        return skip("tasks look alike at their start, and nothing tells them apart");
    }
    let other = example.iter().find(|start| start.task.split != example[0].task.split);
    let other = other.map_or(&example[0].task, |start| &start.task);
    let how = match mask.0.is_empty() {
        true => "looks and is played like",
        false => "looks and is played, but for a number or a name, like",
    };
    in_common(&example[0].task, other, how)
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
        let stroll = Walk::take(team, task, STEPS, |_| {
            examination.phrasebook.deed(team, true, &mut random)
        })?;
        let steps = expert.steps.into_iter().chain(stroll.steps);
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
