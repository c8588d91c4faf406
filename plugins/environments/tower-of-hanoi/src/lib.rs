//! Tower of Hanoi: get all discs to one peg, never a larger one onto a smaller
//! one.
//!
//! Progress is the number of moves that are left, so every way back costs what
//! the way there paid. A turn is carried out as a whole or not at all.

pub mod notation;
pub mod pegs;
pub mod picture;
pub mod puzzle;
pub mod route;
pub mod view;

use std::convert::identity;

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Task,
};
use plugin_sdk::rendering::Rendering;
use plugin_sdk::{Format, Proposals, Rendered, Rewards, Setting, Settings, Unreadable};
use serde::{Deserialize, Serialize};

use pegs::{Move, Peg, Pegs};
use route::Route;
use view::View;

/// For words that are no moves, or too many of them.
const UNREADABLE: f64 = -0.3;
/// For an action that changes nothing.
const IDLE: f64 = -0.3;
/// For a move that cannot be made.
const ILLEGAL: f64 = -0.1;
/// For the target: as much as the best plan of a turn, so that no plan that is
/// not carried out is worth it.
const SOLVED: f64 = 1.0;
/// Moves that are revealed at most: the whole way of eight disks.
const REVEALED: usize = 255;

/// A tower being moved.
#[derive(Serialize, Deserialize)]
pub struct TowerOfHanoi {
    pegs: Pegs,
    target: Peg,
    rewards: Rewards,
    proposals: Proposals,
    moves_per_turn: usize,
    view: View,
    format: Format,
    /// What was wrong with the last moves.
    refused: String,
}

impl Environment for TowerOfHanoi {
    fn describe() -> Description {
        Description::new(
            "tower-of-hanoi",
            env!("CARGO_PKG_VERSION"),
            "Get all disks to one peg, never a larger one onto a smaller one.",
        )
        .reusable()
        .setting(Setting::integer("disks", "Disks of a generated puzzle.", 3..=8, 4))
        .setting(Setting::integer("pegs", "Pegs of a generated puzzle.", 3..=5, 3))
        .setting(Setting::integer("min_distance", "Moves to the target at least.", 1..=255, 1))
        .setting(Setting::integer("moves_per_turn", "Moves in one action at most.", 1..=1000, 1))
        .seen_as("What a role sees.", &["list", "text"])
        .rewards(Rewards::UNPUBLISHED)
        .action("moves", "moves such as `x>y` (peg x to peg y), separated by spaces or lines")
        .action("plan", "the moves to be made, such as `x>y`, separated by spaces or lines")
        .formats(&["moves", "plan"])
        .workflows(&["solo", "planner-executor"])
        .preset(
            "paper",
            "The whole way in one answer by language models, a few turns.",
            &[("moves_per_turn", 300.into()), ("observation", "text".into())],
        )
        .preset("easy", "Three disks.", &[("disks", 3.into())])
        .preset(
            "hard",
            "Six disks, far from the target.",
            &[("disks", 6.into()), ("min_distance", 40.into()), ("moves_per_turn", 4.into())],
        )
    }

    fn configure(settings: &[Configured]) -> Result<Configuration, Problem> {
        puzzle::check(settings)?;
        let (discs, pegs): (u32, Peg) = (settings.integer("disks")?, settings.integer("pegs")?);
        let moves: u32 = settings.integer("moves_per_turn")?;
        let words = settings.choice::<View>("observation")?.vocabulary(discs as usize, pegs);
        let turns = (1_u32 << discs).div_ceil(moves) + 3;
        Ok(Configuration::default()
            .vocabulary(Format::of(settings)?.words(words))
            .max_turns(turns)
            .takes_records())
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let (pegs, target) = puzzle::of(task)?;
        let view: View = task.settings.choice("observation")?;
        let (discs, count): (usize, Peg) =
            (task.settings.integer("disks")?, task.settings.integer("pegs")?);
        // A vocabulary was promised, and a record may not break it.
        if view == View::List && (pegs.of_disc().len() > discs || pegs.count() > count) {
            let message = "the record has more disks or pegs than `disks` and `pegs` say";
            return Err(Problem::settings(message));
        }
        Ok(TowerOfHanoi {
            pegs,
            target,
            rewards: Rewards::of(&task.settings)?,
            proposals: Proposals::default(),
            moves_per_turn: task.settings.integer("moves_per_turn")?,
            view,
            format: Format::of(&task.settings)?,
            refused: String::new(),
        })
    }

    fn rules(&self, _seat: &Seat) -> String {
        let rules = format!(
            "There are {pegs} pegs with {discs} disks, numbered by size from 1, the smallest. Get \
             all of them to one peg. A move takes the top disk of a peg and puts it on another peg \
             that is empty or has a larger disk on top: `x>y` takes the top disk of peg x to peg y, \
             which are numbers. \
             At most {moves} moves fit into a turn, separated by spaces or lines; if one cannot be \
             made, none of the turn is. {legend}",
            pegs = self.pegs.count(),
            discs = self.pegs.of_disc().len(),
            moves = self.moves_per_turn,
            legend = self.view.legend(),
        );
        self.format.asked_for(rules)
    }

    fn observe(&self, _seat: &Seat) -> String {
        self.view.show(&self.pegs, self.target, &self.refused)
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

    /// Every act asks for it: nothing on more pegs, where it takes a search.
    fn reveal(&self) -> Option<String> {
        let way = (self.pegs.count() == 3).then(|| self.way(REVEALED))?;
        (!way.is_empty()).then_some(way)
    }
}

impl Rendered for TowerOfHanoi {
    fn render(&self) -> Rendering {
        let text = format!("{}\nGoal: peg {}", view::drawing(&self.pegs), self.target + 1);
        Rendering { text, svg: picture::svg(&self.pegs, self.target) }
    }
}

impl TowerOfHanoi {
    /// At most so many moves of a way to the target.
    fn way(&self, limit: usize) -> String {
        let way = Route::new(&self.pegs, self.target).way(&self.pegs, limit);
        way.into_iter().map(notation::word).collect::<Vec<_>>().join(" ")
    }

    fn carry_out(&mut self, action: &Action) -> Outcome {
        let (after, outcome) = self.attempt(action);
        let outcome = outcome.team("progress", self.progress(&after));
        self.pegs = after;
        outcome.told().clone_into(&mut self.refused);
        match self.pegs.all_on(self.target) {
            true => outcome.team("solved", SOLVED).solved(),
            false => outcome,
        }
    }

    /// Score a plan without moving.
    fn consider(&mut self, seat: &Seat, action: &Action) -> Outcome {
        let (after, outcome) = self.attempt(action);
        let worth = self.progress(&after);
        outcome.local("plan", self.proposals.pay(seat, worth))
    }

    /// Where all discs are after the moves of the action, and the penalties. A move
    /// that cannot be made leaves everything as it is.
    fn attempt(&self, action: &Action) -> (Pegs, Outcome) {
        let moves = match self.read(action) {
            Ok(moves) => moves,
            Err(why) => {
                let outcome = Outcome::unreadable(why, UNREADABLE);
                return (self.pegs.clone(), outcome.local("idle", IDLE));
            }
        };
        let mut after = self.pegs.clone();
        let fault = moves.iter().find_map(|&step| {
            let why = after.carry_out(step).err()?;
            Some(format!("`{}` is not possible: {why}", notation::word(step)))
        });
        match fault {
            Some(why) => {
                let outcome = Outcome::rejected(why).local("illegal", ILLEGAL);
                (self.pegs.clone(), outcome.local("idle", IDLE))
            }
            None if after == self.pegs => {
                (after, Outcome::rejected("Nothing was moved.").local("idle", IDLE))
            }
            None => (after, Outcome::accepted()),
        }
    }

    /// How much nearer the target is, as a share of a turn's moves.
    fn progress(&self, after: &Pegs) -> f64 {
        if *after == self.pegs {
            return 0.0;
        }
        let route = Route::new(&self.pegs, self.target);
        let left = |pegs| route.distance(pegs) as f64;
        (left(&self.pegs) - left(after)) / self.moves_per_turn as f64
    }

    fn read(&self, action: &Action) -> Result<Vec<Move>, Unreadable> {
        let moves = self.format.read(&action.kind, &action.text, notation::read)?;
        if moves.len() > self.moves_per_turn {
            let why = format!("{} moves are more than {}.", moves.len(), self.moves_per_turn);
            return Err(Unreadable::well_written(why));
        }
        Ok(moves)
    }
}

plugin_sdk::export!(environment: TowerOfHanoi, rendering: TowerOfHanoi);

#[cfg(test)]
mod tests {
    use super::*;
    use plugin_sdk::Random;
    use plugin_sdk::environment::{Split, Status};

    fn tower(moves_per_turn: i32) -> TowerOfHanoi {
        let record = r#"{"num_disks": 2, "num_pegs": 3, "start_peg": 1, "target_peg": 3}"#;
        let task = Task::of::<TowerOfHanoi>(Split::Train, 0).with("observation", "text");
        let task = task.with("moves_per_turn", moves_per_turn);
        TowerOfHanoi::start(&Task { entry: Some(record.to_owned()), ..task }).expect("a record")
    }

    fn act(game: &mut TowerOfHanoi, kind: &str, text: &str) -> Outcome {
        game.act(&Seat::new("player"), &Action::new(kind, text)).expect("a known kind")
    }

    fn worth(outcome: &Outcome) -> f64 {
        (100.0 * (outcome.for_team() + outcome.for_mover(0))).round() / 100.0
    }

    #[test]
    fn progress_is_paid_and_the_target_ends_the_episode() {
        let mut game = tower(2);
        let outcome = act(&mut game, "moves", "1>2");
        assert_eq!((worth(&outcome), outcome.status), (0.5, Status::Ongoing));
        let text = "Now:\nMove disk 2 from Peg 1 to Peg 3\nMove disk 1 from Peg 2 to Peg 3";
        let outcome = act(&mut game, "moves", text);
        assert_eq!((worth(&outcome), outcome.status), (2.0, Status::Solved));
    }

    #[test]
    fn a_turn_with_a_mistake_is_not_carried_out_and_says_why() {
        for (text, worth_of_it, feedback) in [
            ("1>2 1>2", -0.4, "`1>2` is not possible: Disk 2 cannot lie on disk 1."),
            ("Move disk 2 from Peg 1 to Peg 3", -0.4, "Disk 2 is not on top of peg 1."),
            ("1>1", -0.3, "Nothing was moved."),
            ("1>2 2>1", -0.3, "Nothing was moved."),
            ("", -0.3, "Nothing was moved."),
            ("move it", -0.68, "`move it` is not a move."),
            ("1>2 1>3 2>3", -0.6, "3 moves are more than 2."),
        ] {
            let mut game = tower(2);
            let outcome = act(&mut game, "moves", text);
            assert_eq!(worth(&outcome), worth_of_it, "{text}");
            assert!(outcome.told().contains(feedback), "{}", outcome.told());
            assert!(game.observe(&Seat::new("player")).contains(feedback));
            assert_eq!(game.pegs, tower(2).pegs);
        }
    }

    #[test]
    fn plans_are_paid_for_what_they_add_to_the_last_one() {
        let mut game = tower(2);
        let worths = ["1>2", "1>2 1>3", "1>2 1>3", "", "1>2"]
            .map(|plan| worth(&act(&mut game, "plan", plan)));
        assert_eq!(worths, [0.5, 0.5, 0.0, -1.3, 0.5]);
        assert_eq!(game.pegs, tower(2).pegs);
    }

    fn task(split: Split, seed: u32) -> Task {
        let task = Task::of::<TowerOfHanoi>(split, seed).with("disks", 3 + (seed / 2) as i32 % 4);
        task.with("pegs", 3 + seed as i32 % 2)
    }

    /// What was earned, and whether the target was reached.
    fn play(
        task: &Task,
        mut say: impl FnMut(&TowerOfHanoi, u32) -> (&'static str, String),
    ) -> (f64, bool) {
        let mut game = TowerOfHanoi::start(task).expect("a task");
        let turns = TowerOfHanoi::configure(&task.settings).expect("settings").max_turns;
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

    fn expert(game: &TowerOfHanoi, _: u32) -> (&'static str, String) {
        let advice = game.demonstrate(&Seat::new("player"));
        ("moves", advice.map_or(String::new(), |action| action.text))
    }

    #[test]
    fn the_expert_solves_every_task_in_time() {
        for seed in 0..1000 {
            let task = task(Split::Train, seed).with("moves_per_turn", 1 + seed as i32 % 40);
            // On four pegs, the searches of many disks are long in a test.
            let task = if seed % 2 == 1 { task.with("disks", 4) } else { task };
            assert!(play(&task, expert).1, "{seed}");
        }
    }

    #[test]
    fn nobody_earns_by_anything_but_a_solution_what_the_worst_solution_pays() {
        let mut random = Random::new(Split::Train, 0, "aimless");
        for seed in 0..120 {
            let task = task(Split::Test, 2 * seed);
            let (solved, _) = play(&task, expert);
            for text in ["", "1>3", "x>y", "Move disk d from Peg x to Peg y", "1>2 2>1"] {
                for kind in ["moves", "plan"] {
                    let (earned, done) = play(&task, |_, _| (kind, text.to_owned()));
                    assert!(done || earned < solved, "{seed} {text}");
                }
            }
            let (earned, done) = play(&task, |_, _| {
                let peg = |random: &mut Random| 1 + random.below(3);
                let step = format!("{}>{}", peg(&mut random), peg(&mut random));
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
        let mut game = tower(2);
        for _ in 0..3 {
            let there = act(&mut game, "moves", "1>2 1>3");
            let back = act(&mut game, "moves", "3>1 2>1");
            assert_eq!(worth(&there) + worth(&back), 0.0);
        }
    }

    /// Tasks stay what they are for ever.
    #[test]
    fn the_first_tasks_of_every_split_are_these() {
        let looks = Split::ALL.map(|split| {
            let task = Task::of::<TowerOfHanoi>(split, 0);
            TowerOfHanoi::start(&task).expect("a task").observe(&Seat::new("player"))
        });
        assert_eq!(
            looks,
            ["goal:3 4@1 3@3 2@1 1@3", "goal:2 4@3 3@2 2@3 1@1", "goal:2 4@1 3@2 2@3 1@3"]
        );
    }

    #[test]
    fn the_first_fifty_tasks_of_every_split_have_these_digests() {
        let digests = Split::ALL.map(|split| {
            let start =
                |seed| TowerOfHanoi::start(&Task::of::<TowerOfHanoi>(split, seed)).expect("a task");
            let looks: Vec<String> =
                (0..50).map(|seed| start(seed).observe(&Seat::new("player"))).collect();
            // Chance that is seeded by a text is a digest of it.
            format!("{:016x}", Random::new(split, 0, &looks.join("\n")).bits())
        });
        assert_eq!(digests, ["d0ba68e467f0a823", "b4c3b715fdeacc3b", "7665ffe73270cf46"]);
    }
}
