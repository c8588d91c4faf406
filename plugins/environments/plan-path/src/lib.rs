//! Plan-Path: find the way across a board of walls.
//!
//! A planner may have its route scored before anybody moves (`plan`), an
//! executor moves (`moves`). Progress is the length of the shortest way, so no
//! walk that comes back has earned anything.

pub mod board;
pub mod maze;
mod paper;
pub mod picture;
pub mod view;

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Task,
};
use plugin_sdk::rendering::Rendering;
use plugin_sdk::spelling::{Word, spelled};
use plugin_sdk::{Format, Proposals, Rendered, Rewards, Setting, Settings, Unreadable};
use serde::{Deserialize, Serialize};

use board::{Board, Cell, Move, Walk};
use view::View;

/// For a word that is no move, or too many of them.
const UNREADABLE: f64 = -0.3;
/// For an action that changes nothing.
const IDLE: f64 = -0.3;
/// For a move into a wall or off the board.
const ILLEGAL: f64 = -0.1;
/// For ending in a cell that one has been in.
const REVISIT: f64 = -0.1;
/// For the goal.
const REACHED: f64 = 0.5;

/// The role whose view `executor_view` is about.
const EXECUTOR: &str = "executor";
/// Turns that are advised at least.
const TURNS: usize = 10;
/// Characters of somebody's words that they are told of again.
const QUOTED: usize = 24;

/// How moves are written.
const MOVES: [Word<'static, Move>; 4] = [
    ('u', "up", Move::Up),
    ('d', "down", Move::Down),
    ('l', "left", Move::Left),
    ('r', "right", Move::Right),
];

/// One walk to the goal.
#[derive(Serialize, Deserialize)]
pub struct PlanPath {
    board: Board,
    here: Cell,
    /// Every cell the player has been in, the latest last.
    visited: Vec<Cell>,
    rewards: Rewards,
    /// How near the goal has been: what the paper's table has paid for.
    nearest: u16,
    proposals: Proposals,
    /// Why the last moves were not made, or not all of them.
    refused: String,
    moves_per_turn: usize,
    view: View,
    format: Format,
    /// Whether an executor sees only what is next to the player.
    is_executor_near: bool,
}

impl Environment for PlanPath {
    fn describe() -> Description {
        Description::new(
            "plan-path",
            env!("CARGO_PKG_VERSION"),
            "Find the way across a board of walls, a few moves at a time.",
        )
        .reusable()
        .setting(Setting::integer("size", "Rows and columns of the board.", 4..=20, 10))
        .setting(Setting::integer("walls", "Cells with a wall, at random places.", 0..=200, 12))
        .setting(Setting::integer("min_distance", "Moves to the goal at least.", 1..=100, 3))
        .setting(Setting::integer("max_distance", "Moves to the goal at most.", 1..=100, 14))
        .setting(Setting::integer("moves_per_turn", "Moves in one action at most.", 1..=20, 3))
        .seen_as("What a role sees of the board.", &["list", "map", "text"])
        .setting(Setting::choice(
            "executor_view",
            "What an executor sees of it: the same, or only walls next to the player.",
            ["same", "near"],
        ))
        .rewards(Rewards::ALL)
        .action("moves", "moves out of `U`, `D`, `L` and `R`, such as `U D`")
        .action("plan", "the moves to be made, such as `U D`")
        .formats(&["moves", "plan"])
        .workflows(&["planner-executor", "solo"])
        .preset(
            "paper",
            "10×10 with 22 walls, whole plans in one answer, for language models.",
            &[
                ("walls", 22.into()),
                ("min_distance", 1.into()),
                ("max_distance", 26.into()),
                ("moves_per_turn", 20.into()),
                ("observation", "text".into()),
            ],
        )
        .preset(
            "easy",
            "6×6 with four walls, six moves at most.",
            &[("size", 6.into()), ("walls", 4.into()), ("max_distance", 6.into())],
        )
        .preset(
            "hard",
            "20×20 with 100 walls, at least 15 moves, for language models.",
            &[
                ("size", 20.into()),
                ("walls", 100.into()),
                ("min_distance", 15.into()),
                ("max_distance", 60.into()),
                ("moves_per_turn", 10.into()),
                ("observation", "text".into()),
            ],
        )
    }

    fn configure(settings: &[Configured]) -> Result<Configuration, Problem> {
        maze::check(settings)?;
        let view: View = settings.choice("observation")?;
        let is_near = settings.text("executor_view")? == "near";
        let words = view.vocabulary(settings.integer("size")?, is_near);
        let [distance, moves] =
            [settings.integer("max_distance")?, settings.integer("moves_per_turn")?];
        let turns = usize::div_ceil(distance, moves).max(TURNS);
        let configuration = Configuration::default()
            .vocabulary(Format::of(settings)?.words(words))
            .max_turns(turns as u32);
        Ok(if is_near { configuration.private() } else { configuration })
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let (board, start) = maze::draw(task)?;
        Ok(PlanPath {
            rewards: Rewards::of(&task.settings)?,
            nearest: board.distances().from(start).unwrap_or(0),
            board,
            here: start,
            visited: vec![start],
            proposals: Proposals::default(),
            refused: String::new(),
            moves_per_turn: task.settings.integer("moves_per_turn")?,
            view: task.settings.choice("observation")?,
            format: Format::of(&task.settings)?,
            is_executor_near: task.settings.text("executor_view")? == "near",
        })
    }

    fn rules(&self, seat: &Seat) -> String {
        let rules = format!(
            "You are on a board of {size} rows and {size} columns and want to reach the goal. The \
             moves are `U` (up), `D` (down), `L` (left) and `R` (right), at most {moves} in a \
             turn. A move into a wall or off the board is illegal and ends the turn. {legend}",
            size = self.board.size(),
            moves = self.moves_per_turn,
            legend = self.view_of(seat).legend(),
        );
        self.format.asked_for(rules)
    }

    fn observe(&self, seat: &Seat) -> String {
        let shown = self.view_of(seat).show(&self.board, self.here, &self.visited);
        match self.view {
            View::Text if !self.refused.is_empty() => {
                format!("{shown}\nThe last answer: {}", self.refused)
            }
            _ => shown,
        }
    }

    fn act(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        let outcome = match action.kind.as_str() {
            "moves" => self.carry_out(action),
            "plan" => self.consider(seat, action),
            _ => return Err(Problem::unknown_kind(action)),
        };
        Ok(self.rewards.pay(outcome, |dense| self.by_the_paper(dense)))
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        let way = self.way(self.moves_per_turn);
        Some(self.format.written(Action::new("moves", way)))
    }

    fn reveal(&self) -> Option<String> {
        Some(self.way(usize::MAX)).filter(|way| !way.is_empty())
    }
}

impl PlanPath {
    fn view_of(&self, seat: &Seat) -> View {
        if self.is_executor_near && seat.role == EXECUTOR { self.view.nearby() } else { self.view }
    }

    /// At most so many moves of a shortest way to the goal.
    fn way(&self, limit: usize) -> String {
        let path = self.board.shortest_path(self.here, limit);
        path.into_iter().map(Move::word).collect::<Vec<_>>().join(" ")
    }

    fn carry_out(&mut self, action: &Action) -> Outcome {
        let outcome = match self.read(action) {
            Ok(moves) => self.walk(&self.board.walk(self.here, &moves)),
            Err(why) => unreadable(why),
        };
        self.refused = outcome.told().to_owned();
        outcome
    }

    fn walk(&mut self, walk: &Walk) -> Outcome {
        let progress = self.progress(walk);
        let revisits = walk.entered.last().is_some_and(|end| self.visited.contains(end));
        for &cell in &walk.entered {
            self.visited.retain(|&other| other != cell);
            self.visited.push(cell);
            self.here = cell;
        }
        let outcome = judge(walk).team("progress", progress);
        let outcome = outcome.local("revisit", if revisits { REVISIT } else { 0.0 });
        if self.here == self.board.goal() {
            outcome.team("reached", REACHED).solved()
        } else {
            outcome
        }
    }

    /// Score a plan without moving: 1 for as many moves as fit into a turn, all
    /// of them on a shortest path.
    fn consider(&mut self, seat: &Seat, action: &Action) -> Outcome {
        let (planned, outcome) = match self.read(action) {
            Ok(moves) => {
                let walk = self.board.walk(self.here, &moves);
                (self.progress(&walk), judge(&walk))
            }
            Err(why) => (0.0, unreadable(why)),
        };
        outcome.local("plan", self.proposals.pay(seat, planned))
    }

    /// How much nearer a walk brings the goal, as a share of a turn's moves.
    fn progress(&self, walk: &Walk) -> f64 {
        let Some(&end) = walk.entered.last() else { return 0.0 };
        let distances = self.board.distances();
        let distance = |cell| distances.from(cell).map_or(0.0, f64::from);
        (distance(self.here) - distance(end)) / self.moves_per_turn as f64
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

/// The penalties on a walk: for illegal moves and for none at all.
fn judge(walk: &Walk) -> Outcome {
    let outcome = match walk.illegal {
        Some(step) => Outcome::rejected(format!("`{}` is not possible there.", step.word()))
            .local("illegal", ILLEGAL),
        None if walk.entered.is_empty() => Outcome::rejected("No moves were given."),
        None => Outcome::accepted(),
    };
    outcome.local("idle", if walk.entered.is_empty() { IDLE } else { 0.0 })
}

fn unreadable(why: Unreadable) -> Outcome {
    Outcome::unreadable(why, UNREADABLE).local("idle", IDLE)
}

impl Rendered for PlanPath {
    fn render(&self) -> Rendering {
        Rendering {
            text: view::drawn(&self.board, self.here),
            svg: picture::svg(&self.board, self.here, &self.visited),
        }
    }
}

plugin_sdk::export!(environment: PlanPath, rendering: PlanPath);

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use board::tests::board;
    use plugin_sdk::environment::Status;

    /// The player starts in the upper left corner.
    pub fn game(rows: &[&str]) -> PlanPath {
        let here = Cell { row: 0, column: 0 };
        let (board, visited) = (board(rows), vec![here]);
        PlanPath {
            rewards: Rewards::Dense,
            nearest: board.distances().from(here).expect("a way"),
            board,
            here,
            visited,
            proposals: Proposals::default(),
            refused: String::new(),
            moves_per_turn: 3,
            view: View::List,
            format: Format::Any,
            is_executor_near: false,
        }
    }

    pub fn act(game: &mut PlanPath, kind: &str, text: &str) -> Outcome {
        game.act(&Seat::new("player"), &Action::new(kind, text)).expect("a known kind")
    }

    fn worth(outcome: &Outcome) -> f64 {
        (100.0 * (outcome.for_team() + outcome.for_mover(0))).round() / 100.0
    }

    #[test]
    fn progress_is_paid_and_the_goal_ends_the_episode() {
        let mut game = game(&["....", ".#..", "....", "...G"]);
        let outcome = act(&mut game, "moves", "D D R");
        assert_eq!((worth(&outcome), outcome.status), (1.0, Status::Ongoing));
        let outcome = act(&mut game, "moves", "R R D");
        assert_eq!((worth(&outcome), outcome.status), (1.5, Status::Solved));
    }

    #[test]
    fn what_is_revealed_is_the_whole_way_from_here() {
        let mut game = game(&["....", ".#..", "....", "...G"]);
        assert_eq!(game.reveal().as_deref(), Some("D D R R D R"));
        act(&mut game, "moves", "R R");
        assert_eq!(game.reveal().as_deref(), Some("D D D R"));
        act(&mut game, "moves", "D D D");
        act(&mut game, "moves", "R");
        assert_eq!(game.reveal(), None, "there is nowhere to go");
    }

    #[test]
    fn mistakes_cost_and_say_why() {
        let mut game = game(&["....", ".#..", "....", "...G"]);
        for (text, worth_of_it, feedback) in [
            ("R D R", 0.23, "`D` is not possible there."),
            ("L", -0.43, ""),
            ("U", -0.4, "`U` is not possible there."),
            ("", -0.3, "No moves were given."),
            ("go right", -0.64, "`go` is not a move."),
            ("D D R R", -0.6, "4 moves are more than 3."),
        ] {
            let outcome = act(&mut game, "moves", text);
            assert_eq!((worth(&outcome), outcome.told()), (worth_of_it, feedback), "{text}");
            assert_eq!(outcome.is_accepted(), feedback.is_empty());
        }
    }

    #[test]
    fn however_moves_are_written_they_are_the_same() {
        for text in ["D D R", "DDR", "down, down, right", "First down.\n```\nD D R\n```"] {
            let outcome = act(&mut game(&["....", ".#..", "....", "...G"]), "moves", text);
            assert_eq!(worth(&outcome), 1.0, "{text}");
        }
    }

    #[test]
    fn an_executor_may_be_shown_less_than_the_planner() {
        let mut game = game(&["....", ".#..", "....", "...G"]);
        let [planner, executor] = ["planner", "executor"].map(Seat::new);
        assert_eq!(game.observe(&planner), game.observe(&executor));
        game.is_executor_near = true;
        assert!(game.observe(&planner).starts_with("row+3 col+3 "));
        assert_eq!(game.observe(&executor), "W(-1,+0) W(+0,-1)");
        assert_ne!(game.rules(&planner), game.rules(&executor));
        game.view = View::Text;
        assert!(game.observe(&planner).contains("the goal is in row 4, column 4"));
        assert_eq!(game.observe(&executor), "You cannot go U or L: there is a wall.");
        assert!(game.rules(&executor).contains("walls or beyond the edge"));
    }

    #[test]
    fn a_reader_of_text_is_told_what_was_refused() {
        let mut game = game(&["....", ".#..", "....", "...G"]);
        game.view = View::Text;
        assert!(!game.observe(&Seat::new("player")).contains("last answer"));
        act(&mut game, "moves", &format!("go {}", "x".repeat(99)));
        assert!(
            game.observe(&Seat::new("player")).ends_with("The last answer: `go` is not a move.")
        );
        act(&mut game, "moves", "D");
        assert!(!game.observe(&Seat::new("player")).contains("last answer"));
    }

    #[test]
    fn plans_are_paid_for_what_they_add_to_the_last_one() {
        let mut game = game(&["....", ".#..", "....", "...G"]);
        let worths = ["D", "D D R", "D D R", "D D", "R R R"]
            .map(|plan| worth(&act(&mut game, "plan", plan)));
        assert_eq!(worths, [0.33, 0.67, 0.0, -0.33, 0.33]);
        assert_eq!(game.here, Cell { row: 0, column: 0 });
        assert_eq!(worth(&act(&mut game, "moves", "D D R")), 1.0);
        assert_eq!(worth(&act(&mut game, "plan", "R R D")), 0.0);
        assert_eq!(worth(&act(&mut game, "moves", "R R D")), 1.5);
    }

    /// What a planner and an executor have earned when they said this in every
    /// turn: the team's reward and each one's own.
    fn earnings(game: &mut PlanPath, turns: &[(&str, &str)]) -> [f64; 3] {
        let [mut team, mut planner, mut executor] = [0.0; 3];
        for (plan, moves) in turns {
            let (planned, moved) = (act(game, "plan", plan), act(game, "moves", moves));
            team += planned.for_team() + moved.for_team();
            planner += planned.for_mover(0);
            executor += moved.for_mover(0);
        }
        [team, planner, executor].map(|sum| (100.0 * sum).round() / 100.0)
    }

    #[test]
    fn of_several_planners_each_is_paid_and_charged_for_its_own_plans() {
        let mut game = game(&["....", ".#..", "....", "...G"]);
        let mut plan = |instance, text| {
            let seat = Seat::numbered("planner", instance);
            worth(&game.act(&seat, &Action::new("plan", text)).expect("a known kind"))
        };
        let worths =
            [(0, "D D R"), (1, "D"), (0, "D D"), (1, "D")].map(|(seat, text)| plan(seat, text));
        assert_eq!(worths, [1.0, 0.33, -0.33, 0.0]);
    }

    #[test]
    fn whoever_plans_for_an_idle_executor_earns_one_plan_and_the_executor_pays_for_idling_alone() {
        let board = ["....", "....", "....", "...G"];
        let [team, planner, executor] = earnings(&mut game(&board), &[("D D R", ""); 10]);
        assert_eq!([team, planner, executor], [0.0, 1.0, 10.0 * IDLE]);
        // The worst that a solution pays: the goal is three moves away.
        let solved = earnings(&mut game(&["...G", "....", "....", "...."]), &[("", "R R R")]);
        assert_eq!(solved, [1.5, IDLE, 0.0]);
        assert!(team + planner < solved[0] + solved[1] && team + executor < solved[0] + solved[2]);
    }

    #[test]
    fn a_way_back_to_where_one_was_earns_nobody_anything() {
        let mut game = game(&["....", "....", "....", "...G"]);
        earnings(&mut game, &[("D", "D"), ("U", "U")]);
        for _ in 0..3 {
            let loops = earnings(&mut game, &[("D D R", "D D"), ("R R", "R"), ("U", "L U U")]);
            assert!(loops[0] == 0.0 && loops[1] <= 0.0 && loops[2] < 0.0, "{loops:?}");
        }
    }
}
