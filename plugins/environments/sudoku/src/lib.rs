//! Sudoku: fill in digits, and correct what was filled in wrongly.
//!
//! A filler writes digits (`fill`), a checker erases mistakes (`erase`); or one
//! player does both, or states the whole board (`grid`). Nothing ends an episode
//! but the solution, which keeps the clues by construction.

pub mod board;
pub mod game;
pub mod notes;
mod paper;
pub mod picture;
pub mod puzzle;
pub mod solver;
pub mod view;

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Task,
};
use plugin_sdk::rendering::Rendering;
use plugin_sdk::{Format, Proposals, Rendered, Rewards, Setting, Settings, Unreadable};
use serde::{Deserialize, Serialize};

use board::{Board, Digit, Sight};
use game::Game;
use notes::Edit;
use puzzle::Puzzle;
use view::View;

/// For words that are no edits, or too many of them.
const UNREADABLE: f64 = -0.3;
/// For passing although something could be filled in. It must cost more than
/// an illegal edit: else to pass is the safe answer wherever a policy is
/// unsure, all answers to a state are the same, and nothing is learned there
/// any more.
const IDLE: f64 = -0.3;
/// For an edit that the board or the clues forbid.
const ILLEGAL: f64 = -0.1;
/// For the solution.
const SOLVED: f64 = 0.5;
/// What a plan is worth that would fill in everything rightly.
const PLAN: f64 = 0.25;
/// Turns that are advised at least; more if more is to be filled in, as some
/// cells follow only from others.
const TURNS: usize = 10;

/// One puzzle being solved.
#[derive(Serialize, Deserialize)]
pub struct Sudoku {
    game: Game,
    edits_per_turn: usize,
    view: View,
    format: Format,
    /// Whether a filler sees rows and columns only, and a checker boxes only.
    is_sight_split: bool,
    rewards: Rewards,
    /// How much has been right at best: what the paper's table has paid for.
    best: f64,
    proposals: Proposals,
    /// Why the last edits were not made, or not all of them.
    refused: String,
}

impl Environment for Sudoku {
    fn describe() -> Description {
        Description::new(
            "sudoku",
            env!("CARGO_PKG_VERSION"),
            "Fill a sudoku with one solution, a few digits at a time.",
        )
        .reusable()
        .setting(Setting::integer("size", "Rows, columns and digits: 4, 6, 8 or 9.", 4..=9, 4))
        .setting(Setting::integer("blanks", "Cells to fill in; 0 is half of them.", 0..=40, 0))
        .setting(Setting::integer("edits_per_turn", "Edits in one action at most.", 1..=81, 2))
        .seen_as("What a role sees of the board.", &["marks", "grid", "text"])
        .setting(Setting::choice(
            "sight",
            "Whether all see the same, or a filler rows and columns only and a checker boxes only.",
            ["same", "split"],
        ))
        .rewards(Rewards::ALL)
        .action("fill", "edits such as `rXcY=D` (write D) and `rXcY-` (erase), or `pass`")
        .action("erase", "erasures such as `rXcY-`, or `pass`")
        .action("grid", "all digits of the board, row by row, in one line")
        .action("plan", "the edits to be made, such as `rXcY=D`, or all digits of the board")
        .formats(&["fill", "erase", "grid", "plan"])
        .workflows(&["filler-checker", "solo"])
        .preset(
            "paper",
            "4×4, the whole board in one answer if one likes, for language models.",
            &[("edits_per_turn", 16.into()), ("observation", "text".into())],
        )
        .preset("easy", "4×4 with six blanks.", &[("blanks", 6.into())])
        .preset(
            "hard",
            "9×9 with 40 blanks, for language models.",
            &[
                ("size", 9.into()),
                ("blanks", 40.into()),
                ("edits_per_turn", 40.into()),
                ("observation", "text".into()),
            ],
        )
    }

    fn configure(settings: &[Configured]) -> Result<Configuration, Problem> {
        let (size, blanks) = puzzle::wanted(settings)?;
        let view: View = settings.choice("observation")?;
        let words = if view == View::Text { Vec::new() } else { view::vocabulary(size) };
        let configuration =
            Configuration::default().takes_records().vocabulary(Format::of(settings)?.words(words));
        let configuration = configuration.max_turns(TURNS.max(blanks) as u32);
        match settings.text("sight")? {
            "split" if view != View::Marks => {
                Err(Problem::settings("`sight = \"split\"` needs `observation = \"marks\"`"))
            }
            "split" => Ok(configuration.private()),
            _ => Ok(configuration),
        }
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let puzzle = match &task.entry {
            Some(entry) => Puzzle::of_record(entry)?,
            None => Puzzle::draw(task)?,
        };
        let (size, rows): (usize, _) = (task.settings.integer("size")?, puzzle.clues.size());
        let view: View = task.settings.choice("observation")?;
        let format = Format::of(&task.settings)?;
        // A vocabulary was promised, and a record may not break it.
        if rows != size && view != View::Text && format == Format::Any {
            return Err(Problem::settings(format!(
                "the record has {rows} rows, but the words are those of `size = {size}`: set \
                 `size = {rows}`, or `observation = \"text\"`"
            )));
        }
        Ok(Sudoku {
            game: Game::new(puzzle),
            edits_per_turn: task.settings.integer("edits_per_turn")?,
            view,
            format,
            is_sight_split: task.settings.text("sight")? == "split",
            rewards: Rewards::of(&task.settings)?,
            best: 0.0,
            proposals: Proposals::default(),
            refused: String::new(),
        })
    }

    fn rules(&self, seat: &Seat) -> String {
        let rules = format!(
            "Fill a sudoku of {size} rows and {size} columns with the digits 1 to {size}, so that \
             every row, column and box has each digit once. A digit that its row, column or box \
             already has cannot be written, and clues cannot be erased; such an edit is illegal \
             and ends the turn. At most {edits} edits fit into a turn, separated by spaces. `pass` \
             changes nothing. {legend}",
            size = self.game.board().size(),
            edits = self.edits_per_turn,
            legend = self.view.legend(self.sight_of(seat)),
        );
        self.format.asked_for(rules)
    }

    fn observe(&self, seat: &Seat) -> String {
        let shown = self.view.show(&self.game, self.sight_of(seat));
        match self.view {
            View::Text if !self.refused.is_empty() => {
                format!("{shown}\nThe last answer: {}", self.refused)
            }
            _ => shown,
        }
    }

    fn act(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        let outcome = match action.kind.as_str() {
            "fill" => self.carried_out(action, Sudoku::fill),
            "erase" => self.carried_out(action, Sudoku::erase),
            "grid" => self.carried_out(action, Sudoku::replace),
            "plan" => self.consider(seat, action),
            _ => return Err(Problem::unknown_kind(action)),
        };
        Ok(self.rewards.pay(outcome, |dense| self.by_the_paper(dense)))
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        let edits = self.game.expert(self.edits_per_turn);
        let erases = matches!(edits.first(), Some(Edit::Erase(_)));
        let kind = if erases { "erase" } else { "fill" };
        Some(self.format.written(Action::new(kind, self.words(edits))))
    }

    fn reveal(&self) -> Option<String> {
        Some(self.words(self.game.missing())).filter(|words| !words.is_empty())
    }
}

impl Sudoku {
    fn sight_of(&self, seat: &Seat) -> Sight {
        match seat.role.as_str() {
            "filler" if self.is_sight_split => Sight::Lines,
            "checker" if self.is_sight_split => Sight::Boxes,
            _ => Sight::All,
        }
    }

    fn words(&self, edits: Vec<Edit>) -> String {
        let size = self.game.board().size();
        edits.into_iter().map(|edit| edit.word(size)).collect::<Vec<_>>().join(" ")
    }

    /// Change the board, and pay for what that brings.
    fn carried_out(
        &mut self,
        action: &Action,
        change: fn(&mut Sudoku, &Action) -> Outcome,
    ) -> Outcome {
        let before = self.game.score();
        let outcome = change(self, action);
        self.refused = outcome.told().to_owned();
        let outcome = outcome.team("progress", self.game.score() - before);
        if self.game.is_solved() { outcome.team("solved", SOLVED).solved() } else { outcome }
    }

    /// Score edits, or a whole board, without making them.
    fn consider(&mut self, seat: &Seat, action: &Action) -> Outcome {
        let before = self.game.clone();
        let outcome = match self.digits(action) {
            Some(_) => self.replace(action),
            None => self.fill(action),
        };
        let worth = PLAN * (self.game.score() - before.score());
        self.game = before;
        outcome.local("plan", self.proposals.pay(seat, worth))
    }

    /// Edits of both kinds. To pass is right only while something is wrong.
    fn fill(&mut self, action: &Action) -> Outcome {
        let may_pass = self.game.wrong_cells().next().is_some();
        match self.read(action) {
            Ok(edits) if edits.is_empty() && may_pass => Outcome::accepted(),
            Ok(edits) if edits.is_empty() => {
                Outcome::accepted().feedback("There are cells to fill in.").local("idle", IDLE)
            }
            Ok(edits) => self.carry_out(&edits),
            Err(why) => unreadable(why),
        }
    }

    /// Erasures only. To pass is free, so that there is no pressure to erase.
    fn erase(&mut self, action: &Action) -> Outcome {
        match self.read(action) {
            Ok(edits) if edits.iter().any(|edit| matches!(edit, Edit::Write(..))) => {
                unreadable(Unreadable::well_written("Digits can be erased here, not written."))
            }
            Ok(edits) => self.carry_out(&edits),
            Err(why) => unreadable(why),
        }
    }

    /// Make edits until one is illegal.
    fn carry_out(&mut self, edits: &[Edit]) -> Outcome {
        for &edit in edits {
            if let Err(why) = self.game.edit(edit) {
                return Outcome::rejected(why).local("illegal", ILLEGAL);
            }
        }
        Outcome::accepted()
    }

    fn replace(&mut self, action: &Action) -> Outcome {
        let size = self.game.board().size();
        let Some(digits) = self.digits(action) else {
            return unreadable(format!("This is not a board of {} digits.", size * size));
        };
        match self.game.replace(Board::new(size, digits)) {
            Ok(()) => Outcome::accepted(),
            Err(why) => Outcome::rejected(why).local("illegal", ILLEGAL),
        }
    }

    /// All digits of a board, whatever stands between them.
    fn digits(&self, action: &Action) -> Option<Vec<Digit>> {
        let size = self.game.board().size();
        let between = |letter: &char| letter.is_whitespace() || ",;[]|+-".contains(*letter);
        let digit = |letter: char| letter.to_digit(10).map(|digit| digit as Digit);
        let board = |passage: &str| {
            let letters = passage.chars().filter(|letter| !between(letter));
            let digits: Option<Vec<Digit>> = letters.take(size * size + 1).map(digit).collect();
            let digits = digits.filter(|digits| digits.len() == size * size);
            let valid = |digit: &Digit| (1..=size as Digit).contains(digit);
            digits.filter(|digits| digits.iter().all(valid)).ok_or_else(|| Unreadable::new(""))
        };
        self.format.read(&action.kind, &action.text, board).ok()
    }

    fn read(&self, action: &Action) -> Result<Vec<Edit>, Unreadable> {
        let size = self.game.board().size();
        let edits =
            self.format.read(&action.kind, &action.text, |text| notes::edits(text, size))?;
        if edits.len() > self.edits_per_turn {
            let why = format!("{} edits are more than {}.", edits.len(), self.edits_per_turn);
            return Err(Unreadable::well_written(why));
        }
        Ok(edits)
    }
}

fn unreadable(why: impl Into<Unreadable>) -> Outcome {
    Outcome::unreadable(why, UNREADABLE)
}

impl Rendered for Sudoku {
    fn render(&self) -> Rendering {
        let board = self.game.board();
        Rendering { text: view::drawn(board), svg: picture::svg(&self.game) }
    }
}

plugin_sdk::export!(environment: Sudoku, rendering: Sudoku);

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use plugin_sdk::environment::Status;

    pub fn start() -> Sudoku {
        Sudoku {
            game: game::tests::game(),
            edits_per_turn: 2,
            view: View::Marks,
            format: Format::Any,
            is_sight_split: false,
            rewards: Rewards::Dense,
            best: 0.0,
            proposals: Proposals::default(),
            refused: String::new(),
        }
    }

    pub fn act(sudoku: &mut Sudoku, kind: &str, text: &str) -> Outcome {
        sudoku.act(&Seat::new("player"), &Action::new(kind, text)).expect("a known kind")
    }

    fn worth(outcome: &Outcome) -> f64 {
        (100.0 * (outcome.for_team() + outcome.for_mover(0))).round() / 100.0
    }

    #[test]
    fn the_whole_way_is_worth_one_and_the_solution_a_bonus() {
        let mut sudoku = start();
        let worths = ["r1c3=3 r1c4=4", "r2c4=2 r3c2=1", "r4c3=2 r2c3=1"].map(|edits| {
            let outcome = act(&mut sudoku, "fill", edits);
            (worth(&outcome), outcome.status)
        });
        let (going_on, solved) = (Status::Ongoing, Status::Solved);
        assert_eq!(worths, [(0.33, going_on), (0.33, going_on), (0.83, solved)]);
    }

    #[test]
    fn a_wrong_digit_costs_what_erasing_it_pays() {
        let mut sudoku = start();
        assert_eq!(worth(&act(&mut sudoku, "fill", "pass")), -0.3);
        assert_eq!(worth(&act(&mut sudoku, "fill", "r2c3=2")), -0.17);
        assert_eq!(worth(&act(&mut sudoku, "fill", "pass")), 0.0);
        assert_eq!(sudoku.demonstrate(&Seat::new("player")), Some(Action::new("erase", "r2c3-")));
        assert_eq!(worth(&act(&mut sudoku, "erase", "pass")), 0.0);
        assert_eq!(worth(&act(&mut sudoku, "erase", "r2c3-")), 0.17);
        assert_eq!(worth(&act(&mut sudoku, "erase", "pass")), 0.0);
        assert_eq!(
            sudoku.demonstrate(&Seat::new("player")),
            Some(Action::new("fill", "r1c3=3 r1c4=4"))
        );
    }

    #[test]
    fn what_is_revealed_are_the_edits_that_are_left() {
        let mut sudoku = start();
        let all = "r1c3=3 r1c4=4 r2c3=1 r2c4=2 r3c2=1 r4c3=2";
        assert_eq!(sudoku.reveal().as_deref(), Some(all));
        act(&mut sudoku, "fill", "r1c3=3 r2c3=2");
        let left = sudoku.reveal().expect("something is left");
        assert_eq!(left, "r2c3- r1c4=4 r2c3=1 r2c4=2 r3c2=1 r4c3=2");
        sudoku.edits_per_turn = 6;
        assert_eq!(act(&mut sudoku, "fill", &left).status, Status::Solved);
        assert_eq!(sudoku.reveal(), None);
    }

    #[test]
    fn mistakes_cost_and_say_why() {
        for (kind, text, worth_of_it, feedback) in [
            ("fill", "r1c3=3 r1c4=3", 0.07, "3 is no candidate of `r1c4`."),
            ("fill", "r1c1=2", -0.1, "`r1c1` is not empty."),
            ("fill", "r1c1=7", -0.38, "`r1c1=7` is not an edit."),
            ("fill", "", -0.38, "No edits were given, not even `pass`."),
            ("fill", "r1c3=3 r1c4=4 r2c4=2", -0.3, "3 edits are more than 2."),
            ("erase", "r1c1-", -0.1, "`r1c1` is a clue."),
            ("erase", "r1c3=3", -0.3, "Digits can be erased here, not written."),
            ("grid", "1 2 3 4", -0.38, "This is not a board of 16 digits."),
            ("grid", "2234 3412 2143 4321", -0.1, "`r1c1` is given as 1."),
        ] {
            let outcome = act(&mut start(), kind, text);
            assert_eq!((worth(&outcome), outcome.told()), (worth_of_it, feedback));
            assert!(!outcome.is_accepted());
        }
    }

    #[test]
    fn plans_are_paid_for_what_they_add_and_change_nothing() {
        let mut sudoku = start();
        let board = sudoku.game.board().clone();
        let worths = ["r1c3=3", "r1c3=3 r1c4=4", "r1c3=3 r1c4=4", "r2c3=2", "1243 3412 2143 4321"]
            .map(|plan| worth(&act(&mut sudoku, "plan", plan)));
        assert_eq!(worths, [0.04, 0.04, 0.0, -0.13, 0.13]);
        assert_eq!(sudoku.game.board(), &board);
    }

    #[test]
    fn however_edits_are_written_they_are_the_same() {
        for text in ["r1c3=3 r1c4=4", "r1c3=3, r1c4=4", "Sure:\n```\nr1c3=3\nr1c4=4\n```\nDone."] {
            assert_eq!(worth(&act(&mut start(), "fill", text)), 0.33, "{text}");
        }
        let board = "[[1,2,3,4],[3,4,1,2],\n[2,1,4,3],[4,3,2,1]]";
        assert_eq!(act(&mut start(), "grid", board).status, Status::Solved);
    }

    #[test]
    fn a_whole_board_is_worth_what_is_right_of_it() {
        let mut sudoku = start();
        assert_eq!(worth(&act(&mut sudoku, "grid", "1243 3412 2143 4321")), 0.33);
        assert_eq!(worth(&act(&mut sudoku, "grid", "1243 3412 2143 4321")), 0.0);
        let outcome = act(&mut sudoku, "grid", "1 2 3 4 3 4 1 2 2 1 4 3 4 3 2 1");
        assert_eq!((worth(&outcome), outcome.status), (1.17, Status::Solved));
    }
}
