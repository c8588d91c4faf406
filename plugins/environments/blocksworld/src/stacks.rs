//! Stacks of blocks: what stands on what, which moves can be made. Knows
//! nothing of turns, rewards or how things are shown.

use serde::{Deserialize, Serialize};

/// Blocks there may be.
pub const MOST_BLOCKS: usize = 8;

/// A block, by its number; its name is a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Block(pub u8);

impl Block {
    /// Its name, from `A` on.
    pub fn name(self) -> char {
        char::from(b'A' + self.0)
    }

    /// The block with this name, in either case.
    pub fn from_name(name: &str) -> Option<Block> {
        match name.as_bytes() {
            [letter] => {
                let index = letter.to_ascii_uppercase().checked_sub(b'A')?;
                (usize::from(index) < MOST_BLOCKS).then_some(Block(index))
            }
            _ => None,
        }
    }

    fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What a block stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// The table, which has room for all.
    Table,
    /// Another block.
    On(Block),
}

/// One block is taken to another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// What is taken.
    pub block: Block,
    /// Where it goes.
    pub to: Place,
}

/// Where every block stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stacks(Vec<Place>);

impl Stacks {
    /// The blocks stand on these places; a block stands on one that was put
    /// down before it, in some order, and no two on the same.
    pub fn new(places: Vec<Place>) -> Self {
        debug_assert!(places.len() <= MOST_BLOCKS);
        Stacks(places)
    }

    /// All blocks.
    pub fn blocks(&self) -> impl Iterator<Item = Block> + use<> {
        (0..self.0.len()).map(|index| Block(index as u8))
    }

    /// Whether there is such a block.
    pub fn has(&self, block: Block) -> bool {
        block.index() < self.0.len()
    }

    /// What the block stands on.
    pub fn below(&self, block: Block) -> Place {
        self.0[block.index()]
    }

    /// Whether nothing stands on the block.
    pub fn is_clear(&self, block: Block) -> bool {
        !self.0.contains(&Place::On(block))
    }

    /// The blocks from the table to the top, stack by stack.
    pub fn towers(&self) -> Vec<Vec<Block>> {
        let bottoms = self.blocks().filter(|&block| self.below(block) == Place::Table);
        bottoms.map(|bottom| self.tower(bottom)).collect()
    }

    fn tower(&self, bottom: Block) -> Vec<Block> {
        let above = |&block: &Block| self.blocks().find(|&one| self.below(one) == Place::On(block));
        std::iter::successors(Some(bottom), above).collect()
    }

    /// Whether the block and all below it stand as in `goal`.
    pub fn is_right(&self, goal: &Stacks, block: Block) -> bool {
        let mut here = block;
        loop {
            match (self.below(here), goal.below(here)) {
                (Place::Table, Place::Table) => return true,
                (Place::On(one), Place::On(other)) if one == other => here = one,
                _ => return false,
            }
        }
    }

    /// Make a move, or say why it cannot be made.
    pub fn carry_out(&mut self, Move { block, to }: Move) -> Result<(), String> {
        let name = block.name();
        if !self.is_clear(block) {
            return Err(format!("{name} has a block on it."));
        }
        if self.below(block) == to {
            return Err(format!("{name} stands there already."));
        }
        match to {
            Place::On(under) if under == block => {
                return Err(format!("{name} cannot stand on itself."));
            }
            Place::On(under) if !self.is_clear(under) => {
                return Err(format!("{} has a block on it.", under.name()));
            }
            _ => self.0[block.index()] = to,
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Towers, each from the table up, such as `AB C`.
    pub fn stacks(towers: &str) -> Stacks {
        let count = towers.chars().filter(|letter| letter.is_alphabetic()).count();
        let mut places = vec![Place::Table; count];
        for tower in towers.split_whitespace() {
            let blocks: Vec<Block> = tower.split("").filter_map(Block::from_name).collect();
            for pair in blocks.windows(2) {
                places[pair[1].index()] = Place::On(pair[0]);
            }
        }
        Stacks::new(places)
    }

    pub fn step(text: &str) -> Move {
        let (block, to) = text.split_once('>').expect("a move");
        let to = Block::from_name(to).map_or(Place::Table, Place::On);
        Move { block: Block::from_name(block).expect("a block"), to }
    }

    #[test]
    fn a_block_goes_where_nothing_stands_if_nothing_stands_on_it() {
        let start = stacks("AB C");
        for (text, fault) in [
            ("A>C", "A has a block on it."),
            ("C>A", "A has a block on it."),
            ("C>table", "C stands there already."),
            ("B>A", "B stands there already."),
            ("C>C", "C cannot stand on itself."),
        ] {
            assert_eq!(start.clone().carry_out(step(text)), Err(fault.to_owned()), "{text}");
        }
        let mut moved = start.clone();
        moved.carry_out(step("B>C")).expect("a lawful move");
        assert_eq!(moved, stacks("A CB"));
        assert_eq!(moved.towers().len(), 2);
    }

    #[test]
    fn a_block_is_right_when_all_below_it_are() {
        let (now, goal) = (stacks("ABC D"), stacks("DBC A"));
        let right: Vec<bool> = now.blocks().map(|block| now.is_right(&goal, block)).collect();
        assert_eq!(right, [true, false, false, true]);
    }
}
