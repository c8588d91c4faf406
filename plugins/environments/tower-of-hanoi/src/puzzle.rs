//! A puzzle: where the discs are and where they should be, drawn for a task or
//! read from a record.

use plugin_sdk::environment::{Configured, Problem, Split, Task};
use plugin_sdk::{Random, SettingError, Settings};
use serde::Deserialize;

use crate::pegs::{Peg, Pegs};
use crate::route::Route;

/// Puzzles to draw before the settings are called impossible.
const ATTEMPTS: usize = 4000;
/// Discs and pegs of a record.
const MOST_DISCS: usize = 16;
const MOST_PEGS: usize = 9;

/// A record: a tower on one peg that is wanted on another, or such a one among
/// what else is known of it, as reasoning-gym has it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Record {
    Whole { metadata: Tower },
    Bare(Tower),
}

#[derive(Deserialize)]
struct Tower {
    num_disks: usize,
    num_pegs: usize,
    start_peg: usize,
    target_peg: usize,
}

/// What the settings ask of a puzzle.
struct Wanted {
    discs: usize,
    pegs: Peg,
    fewest: u64,
}

/// Say which settings no puzzle could meet.
pub fn check(settings: &[Configured]) -> Result<(), Problem> {
    let Wanted { discs, pegs, fewest } = Wanted::read(settings)?;
    let tower = Pegs::new(pegs, vec![0; discs]);
    let most = Route::new(&tower, 1).distance(&tower);
    if fewest > most {
        return Err(Problem::settings(format!(
            "{discs} discs on {pegs} pegs are never {fewest} moves from the target; {most} are \
             what a tower takes"
        )));
    }
    Ok(())
}

/// The puzzle of a task: its record, if it has one, or one that is drawn.
pub fn of(task: &Task) -> Result<(Pegs, Peg), Problem> {
    match &task.entry {
        Some(entry) => from_record(entry),
        None => draw(task),
    }
}

fn from_record(entry: &str) -> Result<(Pegs, Peg), Problem> {
    let form = r#"`{"num_disks": 3, "num_pegs": 3, "start_peg": 1, "target_peg": 3}`"#;
    let record = serde_json::from_str(entry);
    let Ok(Record::Whole { metadata: tower } | Record::Bare(tower)) = record else {
        return Err(Problem::task(format!("the record is not one like {form}")));
    };
    let Tower { num_disks, num_pegs, start_peg, target_peg } = tower;
    let sound = (1..=MOST_DISCS).contains(&num_disks)
        && (3..=MOST_PEGS).contains(&num_pegs)
        && [start_peg, target_peg].iter().all(|peg| (1..=num_pegs).contains(peg))
        && start_peg != target_peg;
    if !sound {
        return Err(Problem::task(format!(
            "the record is not of 1 to {MOST_DISCS} discs and 3 to {MOST_PEGS} pegs, two of which \
             are named"
        )));
    }
    let peg = |number: usize| (number - 1) as Peg;
    Ok((Pegs::new(num_pegs as Peg, vec![peg(start_peg); num_disks]), peg(target_peg)))
}

/// Draw where every disc is, and the target. A puzzle belongs to the split that
/// both decide, so none is in two splits.
fn draw(task: &Task) -> Result<(Pegs, Peg), Problem> {
    let wanted = Wanted::read(&task.settings)?;
    let mut random = Random::new(task.split, task.seed, "discs");
    let target = random.below(usize::from(wanted.pegs)) as Peg;
    let route = Route::new(&Pegs::new(wanted.pegs, vec![0; wanted.discs]), target);
    let mut peg = || random.below(usize::from(wanted.pegs)) as Peg;
    (0..ATTEMPTS)
        .map(|_| Pegs::new(wanted.pegs, (0..wanted.discs).map(|_| peg()).collect()))
        .filter(|pegs| owner(pegs, target) == task.split && !pegs.all_on(target))
        .find(|pegs| route.distance(pegs) >= wanted.fewest)
        .map(|pegs| (pegs, target))
        .ok_or_else(|| {
            let Wanted { discs, pegs, fewest } = wanted;
            Problem::settings(format!(
                "no puzzle of {discs} discs on {pegs} pegs and {fewest} moves or more turned up in \
                 {ATTEMPTS} attempts"
            ))
        })
}

impl Wanted {
    fn read(settings: &[Configured]) -> Result<Self, SettingError> {
        Ok(Wanted {
            discs: settings.integer("disks")?,
            pegs: settings.integer("pegs")?,
            fewest: settings.integer("min_distance")?,
        })
    }
}

/// The split a puzzle belongs to.
fn owner(pegs: &Pegs, target: Peg) -> Split {
    Split::owning(&[pegs.of_disc(), &[target, pegs.count()]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TowerOfHanoi;

    #[test]
    fn settings_that_cannot_be_met_are_named() {
        let task = Task::of::<TowerOfHanoi>(Split::Train, 0).with("min_distance", 40);
        let fault = check(&task.settings).expect_err("impossible settings").sentence();
        assert!(fault.contains("4 discs on 3 pegs are never 40 moves"), "{fault}");
    }

    #[test]
    fn records_are_read_in_both_forms_and_refused_in_a_sentence() {
        let tower = (Pegs::new(4, vec![1; 3]), 3);
        for entry in [
            r#"{"num_disks": 3, "num_pegs": 4, "start_peg": 2, "target_peg": 4}"#,
            r#"{"metadata": {"num_disks": 3, "num_pegs": 4, "start_peg": 2, "target_peg": 4, "x": 1}}"#,
        ] {
            assert_eq!(from_record(entry).expect("a record"), tower, "{entry}");
        }
        for entry in [
            "",
            r#"{"num_disks": 3}"#,
            r#"{"num_disks": 99, "num_pegs": 4, "start_peg": 2, "target_peg": 4}"#,
            r#"{"num_disks": 3, "num_pegs": 2, "start_peg": 1, "target_peg": 2}"#,
            r#"{"num_disks": 3, "num_pegs": 4, "start_peg": 0, "target_peg": 4}"#,
            r#"{"num_disks": 3, "num_pegs": 4, "start_peg": 2, "target_peg": 2}"#,
        ] {
            let problem = from_record(entry).expect_err(entry).sentence();
            assert!(problem.starts_with("invalid task: the record is not"), "{problem}");
        }
    }

    #[test]
    fn puzzles_meet_the_settings_and_belong_to_their_split() {
        for split in Split::ALL {
            for seed in 0..60 {
                let task = Task::of::<TowerOfHanoi>(split, seed).with("pegs", 3 + seed as i32 % 2);
                let (pegs, target) = draw(&task).expect("possible settings");
                assert_eq!((pegs.of_disc().len(), owner(&pegs, target)), (4, split));
                assert!(!pegs.all_on(target));
            }
        }
    }
}
