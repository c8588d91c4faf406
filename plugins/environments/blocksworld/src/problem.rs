//! Drawing the stacks and the goal of a task.

use plugin_sdk::environment::{Configured, Problem, Split, Task};
use plugin_sdk::{Random, SettingError, Settings};

use crate::distance::distance;
use crate::stacks::{Block, Place, Stacks};

/// Problems to draw before the settings are called impossible.
const ATTEMPTS: usize = 2000;

/// What the settings ask of a problem.
struct Wanted {
    blocks: usize,
    fewest: usize,
    most: usize,
}

/// Say which settings no problem could meet.
pub fn check(settings: &[Configured]) -> Result<(), Problem> {
    Wanted::read(settings)?.check()
}

/// Draw what stands where at first and in the goal. A problem belongs to the
/// split that both decide, so none is in two splits.
pub fn draw(task: &Task) -> Result<(Stacks, Stacks), Problem> {
    let wanted = Wanted::read(&task.settings)?;
    wanted.check()?;
    let mut random = Random::new(task.split, task.seed, "stacks");
    let mut pair = || (pile(wanted.blocks, &mut random), pile(wanted.blocks, &mut random));
    (0..ATTEMPTS)
        .map(|_| pair())
        .filter(|(start, goal)| owner(start, goal) == task.split)
        .find(|(start, goal)| (wanted.fewest..=wanted.most).contains(&distance(start, goal)))
        .ok_or_else(|| {
            let Wanted { blocks, fewest, most } = wanted;
            Problem::settings(format!(
                "no problem of {blocks} blocks with {fewest} to {most} moves turned up in \
                 {ATTEMPTS} attempts"
            ))
        })
}

impl Wanted {
    fn read(settings: &[Configured]) -> Result<Self, SettingError> {
        Ok(Wanted {
            blocks: settings.integer("blocks")?,
            fewest: settings.integer("min_distance")?,
            most: settings.integer("max_distance")?,
        })
    }

    fn check(&self) -> Result<(), Problem> {
        if self.fewest > self.most {
            let message = "`min_distance` is greater than `max_distance`";
            return Err(Problem::settings(message));
        }
        // The goal needs two moves for all blocks but one, at most.
        let possible = 2 * (self.blocks - 1);
        if self.fewest > possible {
            return Err(Problem::settings(format!(
                "{} blocks are never {} moves from a goal; {possible} is the most",
                self.blocks, self.fewest
            )));
        }
        Ok(())
    }
}

/// Blocks in any order, each put on the table or on one of the stacks so far.
fn pile(blocks: usize, random: &mut Random) -> Stacks {
    let mut order: Vec<u8> = (0..blocks as u8).collect();
    random.shuffle(&mut order);
    let mut places = vec![Place::Table; blocks];
    let mut tops: Vec<Block> = Vec::new();
    for index in order {
        let stack = random.below(tops.len() + 1);
        match tops.get_mut(stack) {
            Some(top) => {
                places[usize::from(index)] = Place::On(*top);
                *top = Block(index);
            }
            None => tops.push(Block(index)),
        }
    }
    Stacks::new(places)
}

/// The split a problem belongs to.
fn owner(start: &Stacks, goal: &Stacks) -> Split {
    let places = [start, goal].into_iter().flat_map(|stacks| {
        stacks.blocks().map(|block| match stacks.below(block) {
            Place::Table => u8::MAX,
            Place::On(under) => under.0,
        })
    });
    Split::owning(&places.collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Blocksworld;

    #[test]
    fn settings_that_cannot_be_met_are_named() {
        let fault = |name, value: i32| {
            let task = Task::of::<Blocksworld>(Split::Train, 0).with(name, value);
            draw(&task).expect_err("impossible settings").sentence()
        };
        assert!(fault("min_distance", 14).contains("`min_distance` is greater"));
        let few =
            Task::of::<Blocksworld>(Split::Train, 0).with("blocks", 3).with("min_distance", 6);
        let fault = draw(&few).expect_err("impossible settings").sentence();
        assert!(fault.contains("3 blocks are never 6 moves"), "{fault}");
    }

    #[test]
    fn problems_meet_the_settings_and_belong_to_their_split() {
        for split in Split::ALL {
            for seed in 0..100 {
                let blocks = 3 + seed as i32 % 6;
                let task = Task::of::<Blocksworld>(split, seed).with("blocks", blocks);
                let (start, goal) = draw(&task).expect("possible settings");
                assert_eq!(start.blocks().count(), blocks as usize);
                assert_eq!(owner(&start, &goal), split);
                assert!(distance(&start, &goal) >= 1);
            }
        }
    }
}
