//! Pegs with discs on them. Knows nothing of turns, rewards or how things are
//! shown.

use serde::{Deserialize, Serialize};

/// A peg, counted from 0; people count from 1.
pub type Peg = u8;

/// The largest disc of `from` goes to `to`; who names the disc must name the
/// one that lies on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The disc that is meant, counted from 1, the smallest; if one was named.
    pub disc: Option<usize>,
    /// Where it is taken.
    pub from: Peg,
    /// Where it goes.
    pub to: Peg,
}

/// On which peg every disc is. Discs on a peg always lie in order, so this says
/// everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pegs {
    count: Peg,
    /// By disc, the smallest first.
    of_disc: Vec<Peg>,
}

impl Pegs {
    /// So many pegs, and where every disc is, the smallest first.
    pub fn new(count: Peg, of_disc: Vec<Peg>) -> Self {
        debug_assert!(of_disc.iter().all(|peg| *peg < count));
        Pegs { count, of_disc }
    }

    /// How many pegs there are.
    pub fn count(&self) -> Peg {
        self.count
    }

    /// Where the discs are, the smallest first.
    pub fn of_disc(&self) -> &[Peg] {
        &self.of_disc
    }

    /// Whether all discs are on this peg.
    pub fn all_on(&self, peg: Peg) -> bool {
        self.of_disc.iter().all(|other| *other == peg)
    }

    /// The discs on a peg, counted from 1, from the bottom up.
    pub fn on(&self, peg: Peg) -> Vec<usize> {
        (1..=self.of_disc.len()).rev().filter(|disc| self.of_disc[disc - 1] == peg).collect()
    }

    /// The disc on top of a peg, counted from 1.
    fn top(&self, peg: Peg) -> Option<usize> {
        self.of_disc.iter().position(|other| *other == peg).map(|index| index + 1)
    }

    /// Make a move, or say why it cannot be made. To put a disc back where it
    /// was is a move.
    pub fn carry_out(&mut self, step: Move) -> Result<(), String> {
        for peg in [step.from, step.to] {
            if peg >= self.count {
                return Err("There is no such peg.".to_owned());
            }
        }
        let Some(disc) = self.top(step.from) else {
            return Err(format!("Peg {} is empty.", step.from + 1));
        };
        if let Some(named) = step.disc.filter(|named| *named != disc) {
            return Err(format!("Disk {named} is not on top of peg {}.", step.from + 1));
        }
        if let Some(under) = self.top(step.to).filter(|under| *under < disc) {
            return Err(format!("Disk {disc} cannot lie on disk {under}."));
        }
        self.of_disc[disc - 1] = step.to;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_disc_moves_and_never_onto_a_smaller_one() {
        let mut pegs = Pegs::new(3, vec![1, 0, 0]);
        let step = |disc, from, to| Move { disc, from, to };
        for (step, fault) in [
            (step(None, 0, 1), "Disk 2 cannot lie on disk 1."),
            (step(None, 2, 0), "Peg 3 is empty."),
            (step(Some(1), 0, 2), "Disk 1 is not on top of peg 1."),
            (step(None, 0, 3), "There is no such peg."),
        ] {
            assert_eq!(pegs.carry_out(step), Err(fault.to_owned()));
        }
        assert_eq!(pegs.carry_out(step(Some(2), 0, 2)), Ok(()));
        assert_eq!(pegs.carry_out(step(Some(1), 1, 1)), Ok(()));
        assert_eq!(pegs, Pegs::new(3, vec![1, 2, 0]));
        assert_eq!(pegs.on(0), [3]);
    }
}
