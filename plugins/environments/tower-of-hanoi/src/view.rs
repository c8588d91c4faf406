//! What a player sees, and every word it may contain.

use serde::{Deserialize, Serialize};

use crate::notation;
use crate::pegs::{Move, Peg, Pegs};

/// The form of an observation, by its word in the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// A word a disc, and one for the target.
    List,
    /// The pegs in lines, and the task in a sentence.
    Text,
}

impl View {
    /// What the pegs look like; `refused` says what was wrong with the last moves.
    pub fn show(self, pegs: &Pegs, target: Peg, refused: &str) -> String {
        match self {
            View::List => list(pegs, target),
            View::Text => text(pegs, target, refused),
        }
    }

    /// How to read an observation.
    pub fn legend(self) -> &'static str {
        match self {
            View::List => {
                "You see `goal:3`, the peg that all disks must get to, and a word for each disk, \
                 the largest first: `2@1` says that disk 2 is on peg 1."
            }
            View::Text => "You see the disks on each peg from the bottom up.",
        }
    }

    /// Every word of an observation of so many discs and pegs, and the moves;
    /// none for sentences, whose words are not counted.
    pub fn vocabulary(self, discs: usize, pegs: Peg) -> Vec<String> {
        if self == View::Text {
            return Vec::new();
        }
        let places = (1..=discs).flat_map(|disc| (0..pegs).map(move |peg| place(disc, peg)));
        let pairs = (0..pegs).flat_map(|from| (0..pegs).map(move |to| (from, to)));
        let moves = pairs.filter(|(from, to)| from != to);
        let moves = moves.map(|(from, to)| notation::word(Move { disc: None, from, to }));
        (0..pegs).map(goal).chain(places).chain(moves).collect()
    }
}

fn list(pegs: &Pegs, target: Peg) -> String {
    let discs = pegs.of_disc().iter().enumerate().rev();
    let words = discs.map(|(index, peg)| place(index + 1, *peg));
    std::iter::once(goal(target)).chain(words).collect::<Vec<_>>().join(" ")
}

fn text(pegs: &Pegs, target: Peg, refused: &str) -> String {
    let refused = match refused {
        "" => String::new(),
        why => format!("Your last answer was not carried out: {why}\n\n"),
    };
    format!(
        "{refused}{}\n\nGet all disks to peg {}. Answer with moves such as `x>y`, numbers of pegs \
         in place of letters, or `Move disk d from Peg x to Peg y`, one a line.",
        drawing(pegs),
        target + 1
    )
}

/// The discs on each peg, a line a peg.
pub fn drawing(pegs: &Pegs) -> String {
    let line = |peg| {
        let discs: Vec<String> = pegs.on(peg).iter().map(usize::to_string).collect();
        let discs = if discs.is_empty() { "empty".to_owned() } else { discs.join(" ") };
        format!("Peg {}: {discs}", peg + 1)
    };
    (0..pegs.count()).map(line).collect::<Vec<_>>().join("\n")
}

fn goal(target: Peg) -> String {
    format!("goal:{}", target + 1)
}

fn place(disc: usize, peg: Peg) -> String {
    format!("{disc}@{}", peg + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discs_are_shown_where_they_are() {
        let pegs = Pegs::new(3, vec![0, 2, 0]);
        assert_eq!(View::List.show(&pegs, 1, ""), "goal:2 3@1 2@3 1@1");
        let shown = View::Text.show(&pegs, 1, "Peg 2 is empty.");
        assert!(
            shown.starts_with(
                "Your last answer was not carried out: Peg 2 is empty.\n\n\
                 Peg 1: 3 1\nPeg 2: empty\nPeg 3: 2\n\nGet all disks to peg 2."
            ),
            "{shown}"
        );
        assert_eq!(View::List.vocabulary(3, 3).len(), 3 + 9 + 6);
    }
}
