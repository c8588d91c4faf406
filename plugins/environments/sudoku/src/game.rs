//! A puzzle being solved: what may be changed, what follows from what, and how
//! far the solution is. Knows nothing of words and rewards.

use serde::{Deserialize, Serialize};

use crate::board::{Board, Cell, Digit, Digits, Sight};
use crate::notes::{Edit, name};
use crate::puzzle::Puzzle;

/// Erased digits that are remembered.
const REMEMBERED: usize = 3;

/// A puzzle and what has been written into it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Game {
    puzzle: Puzzle,
    board: Board,
    /// What was erased last, the latest last.
    erased: Vec<(Cell, Digit)>,
}

impl Game {
    /// Begin with the clues alone.
    pub fn new(puzzle: Puzzle) -> Self {
        Game { board: puzzle.clues.clone(), puzzle, erased: Vec::new() }
    }

    /// Clues and written digits.
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// What was erased last and not written since, the latest last.
    pub fn erased(&self) -> &[(Cell, Digit)] {
        &self.erased
    }

    /// Empty cells with their candidates, fewest candidates first.
    pub fn open_cells(&self) -> Vec<(Cell, Digits)> {
        self.open_cells_seen(Sight::All)
    }

    /// The same for a seat that does not see everything.
    pub fn open_cells_seen(&self, sight: Sight) -> Vec<(Cell, Digits)> {
        let with_candidates = |cell| (cell, self.board.candidates_seen(cell, sight));
        let mut open: Vec<_> = self.board.blanks().map(with_candidates).collect();
        open.sort_by_key(|(_, candidates)| candidates.len());
        open
    }

    /// Written digits, each with whether it is forced: whether it follows, one
    /// only candidate after the other, from the clues and other forced digits.
    /// A wrong digit never is. Digits that are not forced come first.
    pub fn written(&self) -> Vec<(Cell, Digit, bool)> {
        let mut known = self.puzzle.clues.clone();
        let mut doubtful: Vec<Cell> = self.written_cells().collect();
        let mut forced = Vec::new();
        loop {
            let follows =
                |cell: &Cell| known.candidates(*cell).single() == Some(self.board.get(*cell));
            let (new, rest): (Vec<_>, Vec<_>) = doubtful.iter().partition(|cell| follows(cell));
            if new.is_empty() {
                break;
            }
            new.iter().for_each(|&cell| known.set(cell, self.board.get(cell)));
            forced.extend(new);
            doubtful = rest;
        }
        forced.sort_unstable();
        let doubtful = doubtful.into_iter().map(|cell| (cell, self.board.get(cell), false));
        doubtful.chain(forced.into_iter().map(|cell| (cell, self.board.get(cell), true))).collect()
    }

    /// Cells with a digit that the solution has not.
    pub fn wrong_cells(&self) -> impl Iterator<Item = Cell> {
        self.written_cells().filter(|&cell| self.board.get(cell) != self.puzzle.solution.get(cell))
    }

    /// How much of the puzzle is right, less what is wrong, as a share of the
    /// digits to be found: 1 is the solution.
    pub fn score(&self) -> f64 {
        let written = self.written_cells().count() as f64;
        let wrong = self.wrong_cells().count() as f64;
        (written - 2.0 * wrong) / self.puzzle.blanks() as f64
    }

    /// Whether this is the solution.
    pub fn is_solved(&self) -> bool {
        self.board == self.puzzle.solution
    }

    /// Make one change, or say why it is illegal.
    pub fn edit(&mut self, edit: Edit) -> Result<(), String> {
        match edit {
            Edit::Write(cell, digit) => self.write(cell, digit),
            Edit::Erase(cell) => self.erase(cell),
        }
    }

    fn write(&mut self, cell: Cell, digit: Digit) -> Result<(), String> {
        let name = name(cell, self.board.size());
        if self.board.get(cell) != 0 {
            return Err(format!("`{name}` is not empty."));
        }
        if !self.board.candidates(cell).contains(digit) {
            return Err(format!("{digit} is no candidate of `{name}`."));
        }
        self.board.set(cell, digit);
        self.erased.retain(|&(other, _)| other != cell);
        Ok(())
    }

    fn erase(&mut self, cell: Cell) -> Result<(), String> {
        let name = name(cell, self.board.size());
        if self.puzzle.is_clue(cell) {
            return Err(format!("`{name}` is a clue."));
        }
        if self.board.get(cell) == 0 {
            return Err(format!("`{name}` is empty."));
        }
        self.erased.retain(|&(other, _)| other != cell);
        self.erased.push((cell, self.board.get(cell)));
        self.erased.drain(..self.erased.len().saturating_sub(REMEMBERED));
        self.board.set(cell, 0);
        Ok(())
    }

    /// Put a full board in place of what has been written, or say which clue
    /// it contradicts.
    pub fn replace(&mut self, board: Board) -> Result<(), String> {
        let kept =
            |cell: &Cell| !self.puzzle.is_clue(*cell) || board.get(*cell) == self.board.get(*cell);
        if let Some(cell) = board.cells().find(|cell| !kept(cell)) {
            let clue = self.board.get(cell);
            return Err(format!("`{}` is given as {clue}.", name(cell, board.size())));
        }
        self.board = board;
        self.erased.clear();
        Ok(())
    }

    /// What the expert would do: erase what is wrong; otherwise fill in the
    /// cells with one candidate, in the order in which they are shown; if there
    /// is none, the first cell.
    pub fn expert(&self, limit: usize) -> Vec<Edit> {
        let erasures: Vec<Edit> = self.wrong_cells().map(Edit::Erase).take(limit).collect();
        if !erasures.is_empty() {
            return erasures;
        }
        let open = self.open_cells();
        let singles = open.iter().filter(|(_, candidates)| candidates.len() == 1).count();
        let write = |&(cell, _): &(Cell, Digits)| Edit::Write(cell, self.puzzle.solution.get(cell));
        open.iter().take(singles.clamp(1, limit)).map(write).collect()
    }

    /// The edits that are left to the solution: what is wrong is erased first.
    pub fn missing(&self) -> Vec<Edit> {
        let erasures = self.wrong_cells().map(Edit::Erase);
        let is_right = |&cell: &Cell| self.board.get(cell) == self.puzzle.solution.get(cell);
        let open = self.board.cells().filter(|cell| !is_right(cell));
        erasures.chain(open.map(|cell| Edit::Write(cell, self.puzzle.solution.get(cell)))).collect()
    }

    fn written_cells(&self) -> impl Iterator<Item = Cell> {
        self.board.cells().filter(|&cell| self.board.get(cell) != 0 && !self.puzzle.is_clue(cell))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// `12.. / 34.. / 2.43 / 43.1`, which lacks 34, 12, 1 and 2.
    pub fn game() -> Game {
        let solution = Board::new(4, vec![1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1]);
        let mut clues = solution.clone();
        for cell in [2, 3, 6, 7, 9, 14] {
            clues.set(cell, 0);
        }
        Game::new(Puzzle { clues, solution })
    }

    fn shown(game: &Game) -> Vec<String> {
        let written = |(cell, digit, forced)| crate::notes::written(cell, digit, forced, 4);
        game.written().into_iter().map(written).collect()
    }

    #[test]
    fn cells_with_few_candidates_come_first() {
        let open: Vec<_> = game().open_cells();
        let lengths: Vec<usize> = open.iter().map(|(_, candidates)| candidates.len()).collect();
        assert!(lengths.is_sorted());
        assert_eq!(open[0].1.len(), 1);
    }

    #[test]
    fn illegal_changes_are_named_and_change_nothing() {
        let mut game = game();
        let before = game.board().clone();
        for (edit, why) in [
            (Edit::Write(0, 3), "`r1c1` is not empty."),
            (Edit::Write(2, 1), "1 is no candidate of `r1c3`."),
            (Edit::Erase(0), "`r1c1` is a clue."),
            (Edit::Erase(2), "`r1c3` is empty."),
        ] {
            assert_eq!(game.edit(edit), Err(why.to_owned()));
        }
        assert_eq!(game.board(), &before);
        let mut other = before.clone();
        other.set(0, 4);
        assert_eq!(game.replace(other), Err("`r1c1` is given as 1.".to_owned()));
    }

    #[test]
    fn a_guess_stays_doubtful_until_something_forces_it() {
        let mut game = game();
        // r1c4 may be 4 only; r2c3 may be 1 only, once r4c3 is 2.
        let doubtful = game.open_cells().into_iter().find(|(_, candidates)| candidates.len() == 2);
        let (cell, candidates) = doubtful.expect("a cell with two candidates");
        let wrong = candidates.iter().find(|&digit| digit != game.puzzle.solution.get(cell));
        game.edit(Edit::Write(cell, wrong.expect("a wrong candidate"))).expect("a candidate");
        assert!(shown(&game)[0].ends_with('?'));
        assert_eq!(game.wrong_cells().collect::<Vec<_>>(), [cell]);
        assert_eq!(game.expert(2), [Edit::Erase(cell)]);
        game.edit(Edit::Erase(cell)).expect("a written digit");
        assert_eq!(game.erased().len(), 1);
        while !game.is_solved() {
            for edit in game.expert(2) {
                game.edit(edit).expect("the expert is right");
            }
            assert!(shown(&game).iter().all(|word| !word.ends_with('?')));
        }
        assert_eq!(game.score(), 1.0);
    }
}
