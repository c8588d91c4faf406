//! Eight queens, or as many as there are rows: place queens that do not attack
//! each other beside those that are given.
//!
//! A filler places queens (`fill`), a checker takes them away (`erase`); or one
//! player does both, or states the whole board (`grid`).

pub mod board;
pub mod picture;
pub mod puzzle;
pub mod view;

use std::convert::identity;

use plugin_sdk::environment::{
    Action, Configuration, Configured, Description, Environment, Outcome, Problem, Seat, Task,
};
use plugin_sdk::rendering::Rendering;
use plugin_sdk::spelling::listed;
use plugin_sdk::{Format, Proposals, Rendered, Rewards, Setting, Settings, Unreadable};
use serde::{Deserialize, Serialize};

use board::{Board, Cell, name};
use view::View;

/// For words that are no edits, or too many of them.
const UNREADABLE: f64 = -0.3;
/// For passing although a queen could be placed.
const IDLE: f64 = -0.3;
/// For an edit that queens or the task forbid.
const ILLEGAL: f64 = -0.1;
/// What a board is worth that can no longer be completed.
const LOST: f64 = -0.25;
/// For the solution.
const SOLVED: f64 = 0.5;
/// What a plan is worth that would place every queen rightly.
const PLAN: f64 = 0.25;
/// Turns that are advised at least.
const TURNS: usize = 10;
/// Characters of somebody's words that they are told of again.
const QUOTED: usize = 24;
/// The word for changing nothing.
const PASS: &str = "pass";

/// One change: a queen placed on a cell, or taken away.
type Edit = (Cell, bool);

/// One board being filled.
#[derive(Serialize, Deserialize)]
pub struct EightQueens {
    given: Board,
    board: Board,
    edits_per_turn: usize,
    view: View,
    format: Format,
    rewards: Rewards,
    proposals: Proposals,
    /// Why the last edits were not made, or not all of them.
    refused: String,
}

impl Environment for EightQueens {
    fn describe() -> Description {
        Description::new(
            "eight-queens",
            env!("CARGO_PKG_VERSION"),
            "Place queens that do not attack each other, beside those that are given.",
        )
        .reusable()
        .setting(Setting::integer("size", "Rows, columns and queens.", 4..=12, 8))
        .setting(Setting::integer("given", "Queens that are given.", 1..=11, 3))
        .setting(Setting::integer("edits_per_turn", "Edits in one action at most.", 1..=24, 2))
        .seen_as("What a role sees of the board.", &["list", "map", "text"])
        .rewards(Rewards::UNPUBLISHED)
        .action("fill", "edits such as `rXcY=Q` (place) and `rXcY-` (take away), or `pass`")
        .action("erase", "edits such as `rXcY-`, or `pass`")
        .action("grid", "the whole board, row by row, with `Q` and `_`")
        .action("plan", "the edits to be made, such as `rXcY=Q`")
        .formats(&["fill", "erase", "grid", "plan"])
        .workflows(&["filler-checker", "solo"])
        .preset(
            "paper",
            "Eight queens, the whole board in one answer if one likes, for language models.",
            &[("edits_per_turn", 8.into()), ("observation", "text".into())],
        )
        .preset("easy", "Six queens, of which three are given.", &[("size", 6.into())])
        .preset(
            "hard",
            "Twelve queens, of which two are given, for language models.",
            &[
                ("size", 12.into()),
                ("given", 2.into()),
                ("edits_per_turn", 12.into()),
                ("observation", "text".into()),
            ],
        )
    }

    fn configure(settings: &[Configured]) -> Result<Configuration, Problem> {
        let (size, given) = puzzle::wanted(settings)?;
        let view: View = settings.choice("observation")?;
        let turns = TURNS.max(size - given) as u32;
        let configuration = Configuration::default().takes_records().max_turns(turns);
        Ok(configuration.vocabulary(Format::of(settings)?.words(view.vocabulary(size))))
    }

    fn start(task: &Task) -> Result<Self, Problem> {
        let given = match &task.entry {
            Some(entry) => puzzle::of_record(entry)?,
            None => puzzle::draw(task)?,
        };
        let (size, rows): (usize, _) = (task.settings.integer("size")?, given.size());
        let view: View = task.settings.choice("observation")?;
        let format = Format::of(&task.settings)?;
        // A vocabulary was promised, and a record may not break it.
        if rows > size && view != View::Text && format == Format::Any {
            return Err(Problem::settings(format!(
                "the record has {rows} rows, but the words are those of `size = {size}`: set \
                 `size = {rows}`, or `observation = \"text\"`"
            )));
        }
        Ok(EightQueens {
            board: given.clone(),
            given,
            edits_per_turn: task.settings.integer("edits_per_turn")?,
            view,
            format,
            rewards: Rewards::of(&task.settings)?,
            proposals: Proposals::default(),
            refused: String::new(),
        })
    }

    fn rules(&self, _seat: &Seat) -> String {
        let rules = format!(
            "On a board of {size} rows and {size} columns there are to be {size} queens, none of \
             which attacks another: no two in the same row, column or diagonal. Some are given and \
             stay. `rXcY=Q` places a queen in row X, column Y, `rXcY-` takes it away again. A \
             queen cannot be placed where another one attacks; such an edit is illegal and ends \
             the turn. At most {edits} edits fit into a turn, separated by spaces. `pass` changes \
             nothing. {legend}",
            size = self.board.size(),
            edits = self.edits_per_turn,
            legend = self.view.legend(),
        );
        self.format.asked_for(rules)
    }

    fn observe(&self, _seat: &Seat) -> String {
        let shown = self.view.show(&self.board, &self.given);
        match self.view {
            View::Text if !self.refused.is_empty() => {
                format!("{shown}\nThe last answer: {}", self.refused)
            }
            _ => shown,
        }
    }

    fn act(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        Ok(self.rewards.pay(self.carry_out(seat, action)?, identity))
    }

    fn demonstrate(&self, _seat: &Seat) -> Option<Action> {
        let size = self.board.size();
        if let Some(missing) = self.missing(self.edits_per_turn) {
            return Some(self.format.written(Action::new("fill", missing)));
        }
        let last = self.board.queens().filter(|&cell| !self.given.has(cell)).last()?;
        let word = format!("{}-", name(last, size));
        Some(self.format.written(Action::new("erase", word)))
    }

    fn reveal(&self) -> Option<String> {
        self.missing(usize::MAX).filter(|missing| !missing.is_empty())
    }
}

impl EightQueens {
    fn carry_out(&mut self, seat: &Seat, action: &Action) -> Result<Outcome, Problem> {
        let before = self.board.clone();
        let worth = self.worth();
        let outcome = match action.kind.as_str() {
            "fill" | "plan" => self.edit(action, true),
            "erase" => self.edit(action, false),
            "grid" => self.replace(action),
            _ => return Err(Problem::unknown_kind(action)),
        };
        let progress = self.worth() - worth;
        if action.kind == "plan" {
            self.board = before;
            return Ok(outcome.local("plan", self.proposals.pay(seat, PLAN * progress)));
        }
        self.refused = outcome.told().to_owned();
        let outcome = outcome.team("progress", progress);
        Ok(if self.board.is_solved() { outcome.team("solved", SOLVED).solved() } else { outcome })
    }

    /// At most so many of the queens that complete the board, if it can be completed.
    fn missing(&self, limit: usize) -> Option<String> {
        let full = self.board.completed(&mut |_| {})?;
        let missing = full.queens().filter(|&cell| !self.board.has(cell)).take(limit);
        let words = missing.map(|cell| format!("{}=Q", name(cell, self.board.size())));
        Some(words.collect::<Vec<_>>().join(" "))
    }

    /// The share of the queens to be placed that are there, if the others can
    /// still be: a function of the board alone, so that no way back earns.
    fn worth(&self) -> f64 {
        if self.board.completed(&mut |_| {}).is_none() {
            return LOST;
        }
        let [size, given, count] =
            [self.board.size(), self.given.count(), self.board.count()].map(|n| n as f64);
        (count - given) / (size - given)
    }

    /// Make edits until one is illegal; without `may_place`, erasures only.
    fn edit(&mut self, action: &Action, may_place: bool) -> Outcome {
        let edits = match self.read(action) {
            Ok(edits) => edits,
            Err(why) => return unreadable(why),
        };
        if !may_place && edits.iter().any(|&(_, queen)| queen) {
            return unreadable(Unreadable::well_written(
                "Queens can be taken away here, not placed.",
            ));
        }
        // To pass is right only while something has to be taken away.
        if edits.is_empty() && may_place && self.worth() > LOST {
            return Outcome::accepted()
                .feedback("There are queens to be placed.")
                .local("idle", IDLE);
        }
        for (cell, queen) in edits {
            if let Some(why) = self.objection(cell, queen) {
                let why = format!("`{}` {why}.", name(cell, self.board.size()));
                return Outcome::rejected(why).local("illegal", ILLEGAL);
            }
            self.board.set(cell, queen);
        }
        Outcome::accepted()
    }

    fn objection(&self, cell: Cell, queen: bool) -> Option<&'static str> {
        match (queen, self.board.has(cell)) {
            (true, true) => Some("has a queen already"),
            (true, false) => self.board.is_attacked(cell).then_some("is attacked by a queen"),
            (false, false) => Some("has no queen"),
            (false, true) => self.given.has(cell).then_some("is given"),
        }
    }

    /// Put a whole board in place of what was placed.
    fn replace(&mut self, action: &Action) -> Outcome {
        let size = self.board.size();
        let between = |letter: &char| letter.is_whitespace() || ",[]\"'|".contains(*letter);
        let board = |passage: &str| {
            let letters = passage.chars().filter(|letter| !between(letter));
            let letters: Vec<char> = letters.take(size * size + 1).collect();
            let known = letters.iter().all(|letter| "Q_".contains(*letter));
            let why = || format!("This is not a board of {size} rows with `Q` and `_`.");
            (known && letters.len() == size * size).then_some(letters).ok_or_else(|| why().into())
        };
        let letters = match self.format.read(&action.kind, &action.text, board) {
            Ok(letters) => letters,
            Err(why) => return unreadable(why),
        };
        let mut next = Board::empty(size);
        (0..size * size).for_each(|cell| next.set(cell, letters[cell] == 'Q'));
        if let Some(cell) = self.given.queens().find(|&cell| !next.has(cell)) {
            let why = format!("The queen on `{}` is given.", name(cell, size));
            return Outcome::rejected(why).local("illegal", ILLEGAL);
        }
        if let Some(cell) = next.queens().find(|&cell| next.is_attacked(cell)) {
            let why = format!("The queen on `{}` is attacked.", name(cell, size));
            return Outcome::rejected(why).local("illegal", ILLEGAL);
        }
        self.board = next;
        Outcome::accepted()
    }

    fn read(&self, action: &Action) -> Result<Vec<Edit>, Unreadable> {
        let size = self.board.size();
        let edits = self.format.read(&action.kind, &action.text, |text| edits_in(text, size))?;
        if edits.len() > self.edits_per_turn {
            let why = format!("{} edits are more than {}.", edits.len(), self.edits_per_turn);
            return Err(Unreadable::well_written(why));
        }
        Ok(edits)
    }
}

/// The edits of a text that holds nothing else; none, where it says so.
fn edits_in(text: &str, size: usize) -> Result<Vec<Edit>, Unreadable> {
    let words = listed(text);
    match words.as_slice() {
        [] => return Err(format!("No edits were given, not even `{PASS}`.").into()),
        [word] if word == PASS => return Ok(Vec::new()),
        _ => {}
    }
    let read = |word: &String| {
        edit_of(word, size).ok_or_else(|| {
            let quoted: String = word.chars().take(QUOTED).collect();
            let why = Unreadable::new(format!("`{quoted}` is not an edit."));
            let known = |word: &str| edit_of(word, size).is_some();
            why.among(words.iter().map(String::as_str), known)
        })
    };
    words.iter().map(read).collect()
}

/// The edit that a word stands for on a board of this size.
fn edit_of(word: &str, size: usize) -> Option<Edit> {
    let (place, queen) = match word.strip_suffix("=q") {
        Some(place) => (place, true),
        None => (word.strip_suffix('-')?, false),
    };
    let (row, column) = place.strip_prefix('r')?.split_once('c')?;
    let number = |text: &str| {
        let plain = text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        let number: usize = if plain { text.parse().ok()? } else { return None };
        (1..=size).contains(&number).then(|| number - 1)
    };
    Some((number(row)? * size + number(column)?, queen))
}

fn unreadable(why: impl Into<Unreadable>) -> Outcome {
    Outcome::unreadable(why, UNREADABLE)
}

impl Rendered for EightQueens {
    fn render(&self) -> Rendering {
        Rendering {
            text: view::rows(&self.board, false),
            svg: picture::svg(&self.board, &self.given),
        }
    }
}

plugin_sdk::export!(environment: EightQueens, rendering: EightQueens);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_read_however_they_are_usually_written() {
        let both = Ok(vec![(1, true), (8, false)]);
        for text in [
            "r1c2=Q r2c1-",
            "R1C2=Q, R2C1-",
            "r1c2 = q; r2c1-.",
            "`r1c2=Q`, `r2c1-`",
            "[\"r1c2=Q\", \"r2c1-\"]",
            "- r1c2=Q\n- r2c1-",
            "1. **r1c2 = Q**\n2. **r2c1-**",
        ] {
            assert_eq!(edits_in(text, 8), both, "{text}");
        }
        for text in ["pass", "Pass.", "`pass`"] {
            assert_eq!(edits_in(text, 8), Ok(Vec::new()), "{text}");
        }
        for text in ["", "pass pass", "r1c2 Q", "r1c9=Q", "r0c1=Q", "queen r1c2=Q", "r1c2=K"] {
            assert!(edits_in(text, 8).is_err(), "{text}");
        }
        let charge = |text| edits_in(text, 8).expect_err("no edits").charge(-1.0);
        assert!(charge("r1c2=Q maybe") > charge("I say maybe"));
    }
}
