//! Blocksworld: rebuild stacks of blocks, one block at a time.
//!
//! Progress is the exact number of moves that are left, so every way back costs
//! what the way there paid. A plan can be scored without moving (`plan`).

pub mod distance;
pub mod notation;
pub mod picture;
pub mod problem;
pub mod stacks;
pub mod view;

use std::convert::identity;

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Task,
};
use plugin_sdk::rendering::Rendering;
use plugin_sdk::{Format, Proposals, Rendered, Rewards, Setting, Settings, Unreadable};
use serde::{Deserialize, Serialize};

use distance::{distance, shortest_way};
use stacks::{MOST_BLOCKS, Move, Stacks};
use view::View;

/// For words that are no moves, or too many of them.
const UNREADABLE: f64 = -0.3;
/// For an action that changes nothing.
const IDLE: f64 = -0.3;
/// For a move that cannot be made.
const ILLEGAL: f64 = -0.1;
/// For the goal: as much as the best plan of a turn, so that no plan that is
/// not carried out is worth it.
const SOLVED: f64 = 1.0;

/// One set of blocks being rebuilt.
#[derive(Serialize, Deserialize)]
pub struct Blocksworld {
    stacks: Stacks,
    goal: Stacks,
    rewards: Rewards,
    proposals: Proposals,
    moves_per_turn: usize,
    view: View,
    format: Format,
    /// What was wrong with the last moves.
    refused: String,
}

/// What becomes of moves.
struct Attempt {
    stacks: Stacks,
    made: usize,
    illegal: Option<String>,
}

impl Environment for Blocksworld {
    fn describe() -> Description {
        let most = MOST_BLOCKS as i32;
        Description::new(
            "blocksworld",
            env!("CARGO_PKG_VERSION"),
            "Rebuild stacks of blocks, one block at a time.",
        )
        .reusable()
        .setting(Setting::integer("blocks", "Blocks on the table.", 3..=most, 5))
        .setting(Setting::integer("min_distance", "Moves to the goal at least.", 1..=14, 1))
        .setting(Setting::integer("max_distance", "Moves to the goal at most.", 1..=14, 13))
        .setting(Setting::integer("moves_per_turn", "Moves in one action at most.", 1..=16, 1))
        .seen_as("What a role sees.", &["list", "text"])
        .rewards(Rewards::UNPUBLISHED)
        .action("moves", "moves such as `X>Y` (put X on Y) or `X>table`, separated by spaces")
        .action("plan", "the moves to be made, such as `X>Y` or `X>table`, separated by spaces")
        .formats(&["moves", "plan"])
        .workflows(&["solo", "planner-executor"])
        .preset(
            "paper",
            "Whole plans by language models, a few turns.",
            &[("blocks", 5.into()), ("moves_per_turn", 10.into()), ("observation", "text".into())],
        )
        .preset(
            "easy",
            "Three blocks, a few moves.",
            &[("blocks", 3.into()), ("max_distance", 3.into())],
        )
        .preset(
            "hard",
            "Eight blocks, at least eight moves.",
            &[("blocks", 8.into()), ("min_distance", 8.into()), ("max_distance", 14.into())],
        )
    }

    fn configure(settings: &[Configured]) -> Result<Configuration, Problem> {
        problem::check(settings)?;
        let blocks: u32 = settings.integer("blocks")?;
        let moves: u32 = settings.integer("moves_per_turn")?;
        let view: View = settings.choice("observation")?;
        let turns = (2 * blocks).div_ceil(moves) + 3;
        Ok(Configuration::default()
            .vocabulary(Format::of(settings)?.words(view.vocabulary(blocks as usize)))
            .max_turns(turns))
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let (stacks, goal) = problem::draw(task)?;
        Ok(Blocksworld {
            stacks,
            goal,
            rewards: Rewards::of(&task.settings)?,
            proposals: Proposals::default(),
            moves_per_turn: task.settings.integer("moves_per_turn")?,
            view: task.settings.choice("observation")?,
            format: Format::of(&task.settings)?,
            refused: String::new(),
        })
    }

    fn rules(&self, _seat: &Seat) -> String {
        let last = self.stacks.blocks().last().map_or('A', |block| block.name());
        let rules = format!(
            "Blocks named A to {last} stand on a table, one on the other. Rebuild the stacks so \
             that everything stands as in the goal. A move takes one block that has nothing on it \
             and puts it on the table or on another block that has nothing on it: `X>Y` puts X on \
             Y, `X>table` puts X on the table. At most {moves} fit into a turn, separated by \
             spaces; a move that cannot be made ends the turn. {legend}",
            moves = self.moves_per_turn,
            legend = self.view.legend(),
        );
        self.format.asked_for(rules)
    }

    fn observe(&self, _seat: &Seat) -> String {
        self.view.show(&self.stacks, &self.goal, &self.refused)
    }

    fn act(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        let outcome = match action.kind.as_str() {
            "moves" => self.carry_out(action),
            "plan" => self.consider(seat, action),
            _ => return Err(Problem::unknown_kind(action)),
        };
        Ok(self.rewards.pay(outcome, identity))
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        Some(self.format.written(Action::new("moves", self.way(self.moves_per_turn))))
    }

    fn reveal(&self) -> Option<String> {
        Some(self.way(usize::MAX)).filter(|way| !way.is_empty())
    }
}

impl Rendered for Blocksworld {
    fn render(&self) -> Rendering {
        Rendering {
            text: view::both(&self.stacks, &self.goal),
            svg: picture::svg(&self.stacks, &self.goal),
        }
    }
}

impl Blocksworld {
    /// At most so many moves of a shortest way to the goal.
    fn way(&self, limit: usize) -> String {
        let way = shortest_way(&self.stacks, &self.goal, limit);
        way.into_iter().map(notation::word).collect::<Vec<_>>().join(" ")
    }

    fn carry_out(&mut self, action: &Action) -> Outcome {
        let outcome = match self.read(action) {
            Ok(moves) => {
                let attempt = self.attempt(&moves);
                let outcome = judge(&attempt).team("progress", self.progress(&attempt));
                self.stacks = attempt.stacks;
                outcome
            }
            Err(why) => unreadable(why),
        };
        outcome.told().clone_into(&mut self.refused);
        match self.stacks == self.goal {
            true => outcome.team("solved", SOLVED).solved(),
            false => outcome,
        }
    }

    /// Score a plan without moving.
    fn consider(&mut self, seat: &Seat, action: &Action) -> Outcome {
        let (worth, outcome) = match self.read(action) {
            Ok(moves) => {
                let attempt = self.attempt(&moves);
                (self.progress(&attempt), judge(&attempt))
            }
            Err(why) => (0.0, unreadable(why)),
        };
        outcome.local("plan", self.proposals.pay(seat, worth))
    }

    /// Make moves until one cannot be made or the goal is reached.
    fn attempt(&self, moves: &[Move]) -> Attempt {
        let mut attempt = Attempt { stacks: self.stacks.clone(), made: 0, illegal: None };
        for &step in moves {
            if let Err(why) = attempt.stacks.carry_out(step) {
                attempt.illegal =
                    Some(format!("`{}` is not possible: {why}", notation::word(step)));
                break;
            }
            attempt.made += 1;
            if attempt.stacks == self.goal {
                break;
            }
        }
        attempt
    }

    /// How much nearer the goal is, as a share of a turn's moves.
    fn progress(&self, attempt: &Attempt) -> f64 {
        let left = |stacks| distance(stacks, &self.goal) as f64;
        (left(&self.stacks) - left(&attempt.stacks)) / self.moves_per_turn as f64
    }

    fn read(&self, action: &Action) -> Result<Vec<Move>, Unreadable> {
        let known = |text: &str| {
            let moves = notation::read(text)?;
            match moves.iter().find(|step| !self.knows(step)) {
                Some(&step) => {
                    let why = format!("`{}` names no block here.", notation::word(step));
                    Err(Unreadable::well_written(why))
                }
                None => Ok(moves),
            }
        };
        let moves = self.format.read(&action.kind, &action.text, known)?;
        if moves.len() > self.moves_per_turn {
            let why = format!("{} moves are more than {}.", moves.len(), self.moves_per_turn);
            return Err(Unreadable::well_written(why));
        }
        Ok(moves)
    }

    fn knows(&self, step: &Move) -> bool {
        let under = match step.to {
            stacks::Place::Table => None,
            stacks::Place::On(under) => Some(under),
        };
        [Some(step.block), under].into_iter().flatten().all(|block| self.stacks.has(block))
    }
}

/// The penalties on moves: for those that cannot be made and for none at all.
fn judge(attempt: &Attempt) -> Outcome {
    let outcome = match &attempt.illegal {
        Some(why) => Outcome::rejected(why).local("illegal", ILLEGAL),
        None if attempt.made == 0 => Outcome::rejected("No moves were given."),
        None => Outcome::accepted(),
    };
    outcome.local("idle", if attempt.made == 0 { IDLE } else { 0.0 })
}

fn unreadable(why: Unreadable) -> Outcome {
    Outcome::unreadable(why, UNREADABLE).local("idle", IDLE)
}

plugin_sdk::export!(environment: Blocksworld, rendering: Blocksworld);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::tests::stacks;
    use plugin_sdk::Random;
    use plugin_sdk::environment::{Split, Status};

    fn game(now: &str, goal: &str, moves_per_turn: usize) -> Blocksworld {
        Blocksworld {
            stacks: stacks(now),
            goal: stacks(goal),
            rewards: Rewards::Dense,
            proposals: Proposals::default(),
            moves_per_turn,
            view: View::Text,
            format: Format::Any,
            refused: String::new(),
        }
    }

    fn act(game: &mut Blocksworld, kind: &str, text: &str) -> Outcome {
        game.act(&Seat::new("player"), &Action::new(kind, text)).expect("a known kind")
    }

    fn worth(outcome: &Outcome) -> f64 {
        (100.0 * (outcome.for_team() + outcome.for_mover(0))).round() / 100.0
    }

    #[test]
    fn progress_is_paid_and_the_goal_ends_the_episode() {
        let mut game = game("ABC", "CBA", 2);
        let outcome = act(&mut game, "moves", "C>table B>C");
        assert_eq!((worth(&outcome), outcome.status), (1.0, Status::Ongoing));
        let outcome = act(&mut game, "moves", "I see.\nmove A to B");
        assert_eq!((worth(&outcome), outcome.status), (1.5, Status::Solved));
    }

    #[test]
    fn mistakes_cost_and_say_why() {
        for (text, worth_of_it, feedback) in [
            ("A>table", -0.4, "`A>table` is not possible: A has a block on it."),
            ("C>table A>B", 0.4, "`A>B` is not possible: A has a block on it."),
            ("", -0.3, "No moves were given."),
            ("lift C", -0.68, "`lift c` is not a move."),
            ("D>A", -0.6, "`D>A` names no block here."),
            ("C>table B>C A>B", -0.6, "3 moves are more than 2."),
        ] {
            let mut game = game("ABC", "CBA", 2);
            let outcome = act(&mut game, "moves", text);
            assert_eq!((worth(&outcome), outcome.told()), (worth_of_it, feedback), "{text}");
            assert!(!outcome.is_accepted());
            assert!(game.observe(&Seat::new("player")).contains(feedback));
        }
    }

    #[test]
    fn plans_are_paid_for_what_they_add_to_the_last_one() {
        let mut game = game("ABC", "CBA", 2);
        let worths = ["C>table", "C>table B>C", "C>table B>C", "", "C>table"]
            .map(|plan| worth(&act(&mut game, "plan", plan)));
        assert_eq!(worths, [0.5, 0.5, 0.0, -1.3, 0.5]);
        assert_eq!(game.stacks, stacks("ABC"));
    }

    fn task(split: Split, seed: u32, blocks: i32) -> Task {
        Task::of::<Blocksworld>(split, seed).with("blocks", blocks)
    }

    /// What the team and the player have earned, and whether the goal was reached.
    fn play(
        task: &Task,
        mut say: impl FnMut(&Blocksworld, u32) -> (&'static str, String),
    ) -> (f64, bool) {
        let mut game = Blocksworld::start(task).expect("a task");
        let turns = Blocksworld::configure(&task.settings).expect("settings").max_turns;
        let mut total = 0.0;
        for turn in 0..turns {
            let (kind, text) = say(&game, turn);
            let outcome = act(&mut game, kind, &text);
            total += outcome.for_team() + outcome.for_mover(0);
            if outcome.status == Status::Solved {
                return (total, true);
            }
        }
        (total, false)
    }

    fn expert(game: &Blocksworld, _: u32) -> (&'static str, String) {
        (
            "moves",
            game.demonstrate(&Seat::new("player")).map_or(String::new(), |action| action.text),
        )
    }

    #[test]
    fn the_expert_solves_a_thousand_tasks_in_time() {
        for seed in 0..1000 {
            let task = task(Split::Train, seed, 3 + seed as i32 % 6);
            assert!(play(&task, expert).1, "{seed}");
        }
    }

    #[test]
    fn nobody_earns_by_anything_but_a_solution_what_the_worst_solution_pays() {
        let mut random = Random::new(Split::Train, 0, "aimless");
        for seed in 0..120 {
            let task = task(Split::Test, seed, 3 + seed as i32 % 6);
            let (solved, _) = play(&task, expert);
            let words = View::List.vocabulary(3 + seed as usize % 6);
            let moves: Vec<&String> = words.iter().filter(|word| word.contains('>')).collect();
            let lazy = ["", "A>B", "A>table", "X>Y", "A", "B>table A>B"];
            for text in lazy {
                for kind in ["moves", "plan"] {
                    let (earned, done) = play(&task, |_, _| (kind, text.to_owned()));
                    assert!(done || earned < solved, "{seed} {text}");
                }
            }
            let (earned, done) = play(&task, |_, _| {
                let step = random.choose(&moves).map_or(String::new(), |step| step.to_string());
                (if random.below(2) == 0 { "plan" } else { "moves" }, step)
            });
            assert!(done || earned < solved, "{seed}");
            let (loitered, done) = play(&task, |game, turn| match turn % 2 {
                0 => ("plan", expert(game, turn).1),
                _ => ("moves", String::new()),
            });
            assert!(!done && loitered < solved, "{seed}");
        }
    }

    #[test]
    fn a_way_back_earns_nobody_anything() {
        let mut game = game("ABC", "CBA", 2);
        for _ in 0..3 {
            let there = act(&mut game, "moves", "C>table");
            let back = act(&mut game, "moves", "C>B");
            assert_eq!(worth(&there) + worth(&back), 0.0);
        }
    }

    /// Tasks stay what they are for ever.
    #[test]
    fn the_first_tasks_of_every_split_are_these() {
        let looks = Split::ALL.map(|split| {
            let game = Blocksworld::start(&task(split, 0, 5)).expect("a task");
            let towers = |stacks: &Stacks| -> String {
                let names = stacks
                    .towers()
                    .into_iter()
                    .map(|tower| tower.into_iter().map(stacks::Block::name).collect::<String>());
                names.collect::<Vec<_>>().join(" ")
            };
            format!("{} -> {}", towers(&game.stacks), towers(&game.goal))
        });
        assert_eq!(looks, ["B C EAD -> ABC DE", "A BD CE -> AC BE D", "BDEA C -> ADB EC"]);
    }

    #[test]
    fn the_first_fifty_tasks_of_every_split_have_these_digests() {
        let digests = Split::ALL.map(|split| {
            let start =
                |seed| Blocksworld::start(&Task::of::<Blocksworld>(split, seed)).expect("a task");
            let looks: Vec<String> =
                (0..50).map(|seed| start(seed).observe(&Seat::new("player"))).collect();
            // Chance that is seeded by a text is a digest of it.
            format!("{:016x}", Random::new(split, 0, &looks.join("\n")).bits())
        });
        assert_eq!(digests, ["4186667e306dd1d8", "e95f17f59e6d2b28", "ce40e8f57316092e"]);
    }
}
