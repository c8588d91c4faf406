//! What a player sees, and every word it may contain.

use serde::{Deserialize, Serialize};

use crate::notation;
use crate::stacks::{Block, Move, Place, Stacks};

/// The form of an observation, by its word in the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// Three words a block: what it stands on, what it goes to, how it is.
    List,
    /// The stacks drawn, and the goal in sentences.
    Text,
}

impl View {
    /// What the stacks look like to a player who wants the goal; `refused` says
    /// what was wrong with the last moves.
    pub fn show(self, stacks: &Stacks, goal: &Stacks, refused: &str) -> String {
        match self {
            View::List => list(stacks, goal),
            View::Text => text(stacks, goal, refused),
        }
    }

    /// How to read an observation.
    pub fn legend(self) -> &'static str {
        match self {
            View::List => {
                "You see three words for each block. `A-on-B`: block A stands on block B. \
                 `A-to-C`: in the goal it stands on C. `A-clear-right`: nothing stands on A \
                 (otherwise `under`), and A and all that is below it stand as in the goal \
                 (otherwise `wrong`)."
            }
            View::Text => {
                "You see the stacks drawn side by side, the table below them, and what stands on \
                 what in the goal."
            }
        }
    }

    /// Every word of an observation of so many blocks, and the moves; none for
    /// sentences, whose words are not counted.
    pub fn vocabulary(self, blocks: usize) -> Vec<String> {
        if self == View::Text {
            return Vec::new();
        }
        let blocks = || (0..blocks).map(|index| Block(index as u8));
        let places = |block| {
            let others = blocks().filter(move |&other| other != block).map(Place::On);
            std::iter::once(Place::Table).chain(others)
        };
        let mut words = Vec::new();
        for block in blocks() {
            for place in places(block) {
                words.extend([stands(block, place), goes(block, place)]);
                words.push(notation::word(Move { block, to: place }));
            }
            words.extend(
                [(true, true), (true, false), (false, true), (false, false)]
                    .map(|(is_clear, is_right)| status(block, is_clear, is_right)),
            );
        }
        words
    }
}

fn list(stacks: &Stacks, goal: &Stacks) -> String {
    let words = stacks.blocks().map(|block| {
        let status = status(block, stacks.is_clear(block), stacks.is_right(goal, block));
        let place = stands(block, stacks.below(block));
        format!("{place} {} {status}", goes(block, goal.below(block)))
    });
    words.collect::<Vec<_>>().join(" ")
}

fn text(stacks: &Stacks, goal: &Stacks, refused: &str) -> String {
    let refused = match refused {
        "" => String::new(),
        why => format!("Your last answer was not carried out in full: {why}\n\n"),
    };
    format!(
        "{refused}{}\n\nAnswer with moves such as `X>Y` (put block X on block Y) or `X>table`.",
        both(stacks, goal)
    )
}

/// What stands now and in the goal, drawn, and the goal in sentences.
pub fn both(stacks: &Stacks, goal: &Stacks) -> String {
    let relations: Vec<String> = goal.towers().iter().map(|tower| relation(tower)).collect();
    format!("Now:\n{}\nGoal:\n{}\n{}", drawing(stacks), drawing(goal), relations.join("\n"))
}

/// The stacks side by side, the table below them.
fn drawing(stacks: &Stacks) -> String {
    let towers = stacks.towers();
    let height = towers.iter().map(Vec::len).max().unwrap_or(0);
    let mut lines: Vec<String> = Vec::new();
    for level in (0..height).rev() {
        let cell = |tower: &Vec<Block>| match tower.get(level) {
            Some(block) => format!(" [{}]", block.name()),
            None => "    ".to_owned(),
        };
        lines.push(towers.iter().map(cell).collect::<String>().trim_end().to_owned());
    }
    lines.push(format!("{}-", "----".repeat(towers.len())));
    lines.join("\n")
}

/// A stack of the goal in a sentence, from the top down.
fn relation(tower: &[Block]) -> String {
    let mut names = tower.iter().rev().map(|block| block.name().to_string());
    let top = names.next().unwrap_or_default();
    let below: String = names.map(|name| format!(" on {name}")).collect();
    format!("{top}{below} on the table.")
}

fn stands(block: Block, place: Place) -> String {
    format!("{}-on-{}", block.name(), name(place))
}

fn goes(block: Block, place: Place) -> String {
    format!("{}-to-{}", block.name(), name(place))
}

fn status(block: Block, is_clear: bool, is_right: bool) -> String {
    let clear = if is_clear { "clear" } else { "under" };
    let right = if is_right { "right" } else { "wrong" };
    format!("{}-{clear}-{right}", block.name())
}

fn name(place: Place) -> String {
    match place {
        Place::Table => "table".to_owned(),
        Place::On(under) => under.name().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::tests::stacks;

    #[test]
    fn the_list_has_three_words_a_block() {
        let shown = View::List.show(&stacks("AB C"), &stacks("AC B"), "no");
        assert_eq!(
            shown,
            "A-on-table A-to-table A-under-right B-on-A B-to-table B-clear-wrong \
             C-on-table C-to-A C-clear-wrong"
        );
        let words = View::List.vocabulary(3);
        assert!(shown.split(' ').all(|word| words.iter().any(|known| known == word)));
    }

    #[test]
    fn the_text_draws_both_and_says_what_was_refused() {
        let shown = View::Text.show(&stacks("AB C"), &stacks("ACB"), "B has a block on it.");
        assert!(
            shown.starts_with(
                "Your last answer was not carried out in full: B has a block on it.\n\n\
                 Now:\n [B]\n [A] [C]\n---------\nGoal:\n [B]\n [C]\n [A]\n-----\n\
                 B on C on A on the table.\n\nAnswer with"
            ),
            "{shown}"
        );
    }
}
