//! The opponent, where one seat plays alone.

use plugin_sdk::Random;
use serde::{Deserialize, Serialize};

use crate::board::Board;
use crate::search;

/// Plies that the expert looks ahead.
pub const EXPERT_PLIES: u32 = 6;

/// How the built-in opponent plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Opponent {
    /// Anywhere.
    Random,
    /// Takes a win, blocks one, otherwise anywhere.
    Greedy,
    /// Looks ahead.
    Expert,
}

impl Opponent {
    /// The opponent that a word of the setting stands for.
    pub fn from_word(word: &str) -> Self {
        match word {
            "greedy" => Opponent::Greedy,
            "expert" => Opponent::Expert,
            _ => Opponent::Random,
        }
    }

    /// Its column; nothing if the board is full.
    pub fn choose(self, board: &Board, random: &mut Random) -> Option<usize> {
        let open: Vec<usize> = board.open().collect();
        let anywhere = random.choose(&open).copied();
        match self {
            Opponent::Random => anywhere,
            Opponent::Greedy => threat(board).or(anywhere),
            Opponent::Expert => search::best(board, EXPERT_PLIES),
        }
    }
}

/// The column that wins at once, or that would win for the other side.
pub fn threat(board: &Board) -> Option<usize> {
    let turn = board.turn();
    let wins = |side| board.open().find(|&column| board.would_win(column, side));
    wins(turn).or_else(|| wins(turn.other()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::board::tests::after;
    use plugin_sdk::environment::Split;

    #[test]
    fn the_greedy_one_takes_and_blocks_wins() {
        let mut random = Random::new(Split::Train, 0, "opponent");
        assert_eq!(Opponent::Greedy.choose(&after("112233"), &mut random), Some(3));
        assert_eq!(Opponent::Greedy.choose(&after("11223"), &mut random), Some(3));
    }
}
