//! Sokoban: push every box onto a goal.
//!
//! A planner may have its moves scored before anybody moves (`plan`), an
//! executor moves (`moves`). Progress is how much of the way to the solution is
//! left, so no walk that comes back has earned anything. Nothing but boxes on
//! goals solves a level; one that can no longer be solved is over.

pub mod deadlock;
pub mod distance;
pub mod draw;
pub mod level;
pub mod notation;
mod paper;
pub mod picture;
pub mod progress;
pub mod solver;
pub mod view;

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Task,
};
use plugin_sdk::rendering::Rendering;
use plugin_sdk::spelling::{Word, spelled};
use plugin_sdk::{Format, Proposals, Rendered, Rewards, Setting, Settings, Unreadable};
use serde::{Deserialize, Serialize};

use draw::Wanted;
use level::{Cell, Level, Move, Position, Walk};
use progress::{Left, Measure};
use solver::{OPTIMAL, Solver, Verdict};
use view::View;

/// For a word that is no move, or too many of them.
const UNREADABLE: f64 = -0.3;
/// For an action that changes nothing.
const IDLE: f64 = -0.3;
/// For moves that a wall or a box is in the way of.
const BLOCKED: f64 = -0.1;
/// For all boxes on goals, together, besides the progress.
const HOME: f64 = 0.25;
/// For the solution.
const SOLVED: f64 = 1.0;
/// What a plan is worth that leaves the level solvable, what the progress in it
/// may add to that, and what one is worth that does not leave it so.
const SAFE_PLAN: f64 = 0.1;
const PLANNED_PROGRESS: f64 = 0.2;
const LOSING_PLAN: f64 = -0.3;
/// Characters of somebody's words that they are told of again.
const QUOTED: usize = 24;

/// How moves are written.
const MOVES: [Word<'static, Move>; 4] = [
    ('u', "up", Move::Up),
    ('d', "down", Move::Down),
    ('l', "left", Move::Left),
    ('r', "right", Move::Right),
];

/// One level being played.
#[derive(Serialize, Deserialize)]
pub struct Sokoban {
    level: Level,
    here: Position,
    measure: Measure,
    /// What is left of the way from here.
    left: Left,
    rewards: Rewards,
    proposals: Proposals,
    /// Why the last moves were not made, or not all of them.
    refused: String,
    /// Where the player stood before the last turns in which no box was moved.
    been: Vec<Cell>,
    moves_per_turn: usize,
    /// How far boxes and goals are told apart in a list.
    far: i32,
    view: View,
    format: Format,
}

impl Environment for Sokoban {
    fn describe() -> Description {
        Description::new(
            "sokoban",
            env!("CARGO_PKG_VERSION"),
            "Push every box onto a goal, a few moves at a time.",
        )
        .reusable()
        .setting(Setting::integer("size", "Rows and columns, with the outer walls.", 6..=10, 6))
        .setting(Setting::integer("boxes", "Boxes, and as many goals.", 1..=4, 1))
        .setting(Setting::integer("walls", "Inner walls, at random places.", 0..=30, 2))
        .setting(Setting::integer("min_pushes", "Pushes to the solution at least.", 1..=40, 2))
        .setting(Setting::integer("max_pushes", "Pushes to the solution at most.", 1..=80, 12))
        .setting(Setting::integer("moves_per_turn", "Moves in one action at most.", 1..=200, 3))
        .seen_as("What a role sees of the board.", &["list", "map", "text"])
        .rewards(Rewards::ALL)
        .action("moves", "moves out of `U`, `D`, `L` and `R`, such as `U D L R`")
        .action("plan", "the moves to be made, such as `U D L R`")
        .formats(&["moves", "plan"])
        .workflows(&["planner-executor", "solo"])
        .preset(
            "paper",
            "Rooms of 6×6 with one box, whole plans in one answer, for language models.",
            &[("moves_per_turn", 30.into()), ("observation", "text".into())],
        )
        .preset(
            "easy",
            "One box, no inner walls, four pushes at most.",
            &[("walls", 0.into()), ("min_pushes", 1.into()), ("max_pushes", 4.into())],
        )
        .preset(
            "hard",
            "10×10 with four boxes, for language models.",
            &[
                ("size", 10.into()),
                ("boxes", 4.into()),
                ("walls", 10.into()),
                ("min_pushes", 8.into()),
                ("max_pushes", 60.into()),
                ("moves_per_turn", 20.into()),
                ("observation", "text".into()),
            ],
        )
    }

    fn configure(settings: &[Configured]) -> Result<Configuration, Problem> {
        let wanted = Wanted::of(settings)?;
        let view: View = settings.choice("observation")?;
        let moves: usize = settings.integer("moves_per_turn")?;
        let turns = wanted.most_moves().div_ceil(moves).max(4);
        let configuration = Configuration::default().takes_records().max_turns(turns as u32);
        Ok(configuration
            .vocabulary(Format::of(settings)?.words(view.vocabulary(i32::from(wanted.size()) - 1))))
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let wanted = Wanted::of(&task.settings)?;
        let (level, here) = match &task.entry {
            Some(entry) => notation::of_record(entry)?,
            None => wanted.draw(task)?,
        };
        let (measure, left) = Measure::of(&level, &here);
        // Else it would be solved by saying nothing, or lost whatever is said.
        if task.entry.is_some() && (here.is_solved(&level) || left == Left::Never) {
            let fault = if left == Left::Never { "cannot be solved" } else { "is solved already" };
            return Err(Problem::task(format!("the level {fault}")));
        }
        Ok(Sokoban {
            level,
            here,
            measure,
            left,
            rewards: Rewards::of(&task.settings)?,
            proposals: Proposals::default(),
            refused: String::new(),
            been: Vec::new(),
            moves_per_turn: task.settings.integer("moves_per_turn")?,
            far: i32::from(wanted.size()) - 1,
            view: task.settings.choice("observation")?,
            format: Format::of(&task.settings)?,
        })
    }

    fn rules(&self, _seat: &Seat) -> String {
        let rules = format!(
            "You are on a board with boxes and want every box to be on a goal. The moves are `U` \
             (up), `D` (down), `L` (left) and `R` (right), at most {moves} in a turn. Who moves \
             against a box pushes it one cell on, if there is neither a wall nor another box \
             behind it; boxes cannot be pulled. A move that a wall or a box is in the way of does \
             nothing. A box in a corner stays there, and the level is lost unless that is a goal. \
             Moves are written with spaces between them: `U D L R` goes up, down, left and right. \
             {legend}",
            moves = self.moves_per_turn,
            legend = self.view.legend(),
        );
        self.format.asked_for(rules)
    }

    fn observe(&self, _seat: &Seat) -> String {
        let shown = self.view.show(&self.level, &self.here, &self.been, self.far);
        match self.view {
            View::Text if !self.refused.is_empty() => {
                format!("{shown}\nThe last answer: {}", self.refused)
            }
            _ => shown,
        }
    }

    fn act(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        let read = self.read(action);
        let outcome = match action.kind.as_str() {
            "moves" => self.carry_out(read),
            "plan" => self.consider(seat, read),
            _ => return Err(Problem::unknown_kind(action)),
        };
        Ok(self.rewards.pay(outcome, paper::by_the_paper))
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        let solver = Solver::new(&self.level);
        let Verdict::Solved(way) = solver.solve_somehow(&self.here) else { return None };
        let moves = words(way.into_iter().take(self.moves_per_turn));
        Some(self.format.written(Action::new("moves", moves)))
    }

    /// Every act asks for it: nothing, where the solver is too slow to measure progress.
    fn reveal(&self) -> Option<String> {
        if !self.measure.is_by_solution() {
            return None;
        }
        match Solver::new(&self.level).solve(&self.here, OPTIMAL) {
            Verdict::Solved(way) if !way.is_empty() => Some(words(way.into_iter())),
            _ => None,
        }
    }
}

impl Sokoban {
    fn carry_out(&mut self, read: Result<Vec<Move>, Unreadable>) -> Outcome {
        let outcome = match read {
            Ok(moves) => self.walk(&self.here.walk(&self.level, &moves)),
            Err(why) => unreadable(why),
        };
        self.refused = outcome.told().to_owned();
        outcome
    }

    fn walk(&mut self, walk: &Walk) -> Outcome {
        if walk.end.boxes == self.here.boxes {
            self.been.retain(|&cell| cell != self.here.player);
            self.been.push(self.here.player);
        } else {
            self.been.clear();
        }
        let outcome = judge(walk, &self.here);
        let home = |position: &Position| {
            position.boxes_home(&self.level) as f64 / position.boxes.len() as f64
        };
        let gained = HOME * (home(&walk.end) - home(&self.here));
        let left = self.measure.left(&self.level, &walk.end);
        let progress = self.measure.worth(left) - self.measure.worth(self.left);
        self.left = left;
        self.here = walk.end.clone();
        let outcome = outcome.team("progress", progress).team("home", gained);
        if self.here.is_solved(&self.level) {
            return outcome.team("solved", SOLVED).solved();
        }
        if left == Left::Never { outcome.failed() } else { outcome }
    }

    /// Score a plan without moving.
    fn consider(&mut self, seat: &Seat, read: Result<Vec<Move>, Unreadable>) -> Outcome {
        let (planned, outcome) = match read {
            Ok(moves) => {
                let walk = self.here.walk(&self.level, &moves);
                (self.worth_of_plan(&walk), judge(&walk, &self.here))
            }
            Err(why) => (0.0, unreadable(why)),
        };
        outcome.local("plan", self.proposals.pay(seat, planned))
    }

    fn worth_of_plan(&self, walk: &Walk) -> f64 {
        if walk.end == self.here {
            return 0.0;
        }
        let left = self.measure.left(&self.level, &walk.end);
        if left == Left::Never {
            return LOSING_PLAN;
        }
        let progress = self.measure.worth(left) - self.measure.worth(self.left);
        SAFE_PLAN + PLANNED_PROGRESS * progress.clamp(-1.0, 1.0)
    }

    fn read(&self, action: &Action) -> Result<Vec<Move>, Unreadable> {
        let quoted = |word: String| {
            let word: String = word.chars().take(QUOTED).collect();
            format!("`{word}` is not a move.")
        };
        let moves = spelled(self.format, &action.kind, &action.text, &MOVES);
        let moves = moves.map_err(|unknown| unknown.saying(quoted))?;
        if moves.len() > self.moves_per_turn {
            let why = format!("{} moves are more than {}.", moves.len(), self.moves_per_turn);
            return Err(Unreadable::well_written(why));
        }
        Ok(moves)
    }
}

fn words(moves: impl Iterator<Item = Move>) -> String {
    moves.map(Move::word).collect::<Vec<_>>().join(" ")
}

/// The penalties on a walk: for blocked moves and for changing nothing.
fn judge(walk: &Walk, start: &Position) -> Outcome {
    let outcome = match walk.blocked {
        Some(step) => Outcome::rejected(format!("Something was in the way of `{}`.", step.word()))
            .local("blocked", BLOCKED),
        None if walk.end == *start => Outcome::rejected("That changed nothing."),
        None => Outcome::accepted(),
    };
    outcome.local("idle", if walk.end == *start { IDLE } else { 0.0 })
}

fn unreadable(why: Unreadable) -> Outcome {
    Outcome::unreadable(why, UNREADABLE).local("idle", IDLE)
}

impl Rendered for Sokoban {
    fn render(&self) -> Rendering {
        Rendering {
            text: notation::drawn(&self.level, &self.here, ""),
            svg: picture::svg(&self.level, &self.here),
        }
    }
}

plugin_sdk::export!(environment: Sokoban, rendering: Sokoban);
