//! The way to solve a level: A* over where the boxes are and where the player
//! can go, which bounded work may end before anything is known.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::deadlock::is_stuck;
use crate::distance::{Distances, NO_WAY};
use crate::level::{Cell, Level, Move, Position};

/// What a search found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict<W = Vec<Move>> {
    /// It can be solved, by these moves or so many.
    Solved(W),
    /// It cannot be solved.
    Hopeless,
    /// The bound was met before anything was known.
    Unknown,
}

/// How a search is made.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How much the estimate of the pushes to come counts: with 1 the solution
    /// has the fewest pushes, with more it is found sooner.
    pub haste: u32,
    /// Positions to look at.
    pub positions: usize,
}

impl Effort {
    /// The same work with more boxes, which make it more work to look at a position.
    fn with(self, boxes: usize) -> Effort {
        let positions = self.positions * USUAL_BOXES.pow(3) / boxes.max(USUAL_BOXES).pow(3);
        Effort { positions, ..self }
    }
}

/// Boxes up to which positions cost about the same.
const USUAL_BOXES: usize = 4;

/// A search for the fewest pushes, and of those for the fewest moves where
/// there is one box.
pub const OPTIMAL: Effort = Effort { haste: 1, positions: 3_000 };
/// A search for any solution.
pub const HASTY: Effort = Effort { haste: 4, positions: 12_000 };

/// A level with what is known of it from the start.
pub struct Solver<'a> {
    level: &'a Level,
    distances: Distances,
}

/// A position that was reached, by a push from another one.
struct Node {
    position: Position,
    pushes: u32,
    moves: u32,
    /// The node before it, where the player went to, and the push.
    came_by: Option<(usize, Cell, Move)>,
}

impl<'a> Solver<'a> {
    /// Measure a level.
    pub fn new(level: &'a Level) -> Self {
        Solver { level, distances: Distances::of(level) }
    }

    /// How far boxes are from goals.
    pub fn distances(&self) -> &Distances {
        &self.distances
    }

    /// A solution from here on.
    pub fn solve(&self, start: &Position, effort: Effort) -> Verdict {
        self.judge(start, effort, |search, last| search.way(last))
    }

    /// How many moves a solution from here on takes.
    pub fn count(&self, start: &Position, effort: Effort) -> Verdict<u32> {
        self.judge(start, effort, |search, last| search.nodes[last].moves)
    }

    fn judge<W>(
        &self,
        start: &Position,
        effort: Effort,
        solved: impl Fn(&Search<'_>, usize) -> W,
    ) -> Verdict<W> {
        let mut search = Search::new(self, start, effort);
        match search.run() {
            Some(last) => Verdict::Solved(solved(&search, last)),
            None if search.nodes.len() < search.effort.positions => Verdict::Hopeless,
            None => Verdict::Unknown,
        }
    }

    /// A solution from here on: the best one or, if that takes too long to
    /// find, any.
    pub fn solve_somehow(&self, start: &Position) -> Verdict {
        match self.solve(start, OPTIMAL) {
            Verdict::Unknown => self.solve(start, HASTY),
            known => known,
        }
    }

    /// Steps from the player to every cell that it can reach without a push.
    pub fn reach(&self, position: &Position) -> Vec<Option<u32>> {
        let mut steps = vec![None; self.level.cells().len()];
        steps[usize::from(position.player)] = Some(0);
        let mut reached = Vec::with_capacity(steps.len());
        reached.push((position.player, 0));
        let mut done = 0;
        while let Some(&(cell, count)) = reached.get(done) {
            done += 1;
            for next in Move::ALL.iter().filter_map(|&step| self.level.after(cell, step)) {
                if steps[usize::from(next)].is_none() && !position.has_box(next) {
                    steps[usize::from(next)] = Some(count + 1);
                    reached.push((next, count + 1));
                }
            }
        }
        steps
    }

    /// The shortest way of the player to a cell that it can reach.
    fn stroll(&self, position: &Position, to: Cell) -> Vec<Move> {
        let from_there = self.reach(&Position { player: to, boxes: position.boxes.clone() });
        let far = |cell: Cell| from_there[usize::from(cell)];
        let (mut here, mut way) = (position.player, Vec::new());
        while here != to {
            let nearer = |step: &Move| {
                let next = self.level.after(here, *step).and_then(far);
                next.is_some_and(|steps| far(here).is_some_and(|now| steps < now))
            };
            let Some(step) = Move::ALL.into_iter().find(nearer) else { break };
            way.push(step);
            here = self.level.after(here, step).unwrap_or(to);
        }
        way
    }
}

/// One search.
struct Search<'a> {
    solver: &'a Solver<'a>,
    effort: Effort,
    nodes: Vec<Node>,
    /// The fewest pushes and moves to a position that are known.
    best: BTreeMap<Position, (u32, u32)>,
    /// Nodes to look at: estimated pushes, moves, and which.
    open: BinaryHeap<Reverse<(u32, u32, usize)>>,
}

impl<'a> Search<'a> {
    fn new(solver: &'a Solver<'a>, start: &Position, effort: Effort) -> Self {
        let effort = effort.with(start.boxes.len());
        let (nodes, best, open) = (Vec::new(), BTreeMap::new(), BinaryHeap::new());
        let mut search = Search { solver, effort, nodes, best, open };
        search.meet(Node { position: start.clone(), pushes: 0, moves: 0, came_by: None });
        search
    }

    /// Look at positions until one is solved; which.
    fn run(&mut self) -> Option<usize> {
        while let Some(Reverse((_, _, index))) = self.open.pop() {
            if self.nodes[index].position.is_solved(self.solver.level) {
                return Some(index);
            }
            if self.nodes.len() >= self.effort.positions {
                return None;
            }
            self.expand(index);
        }
        None
    }

    /// Make every push that is possible from a node and not in vain.
    fn expand(&mut self, index: usize) {
        let Node { position, pushes, moves, .. } = &self.nodes[index];
        let (position, pushes, moves) = (position.clone(), *pushes, *moves);
        let reach = self.solver.reach(&position);
        let key = self.key(&position, &reach);
        // Ways of different boxes with as many pushes are as good.
        let ties = if position.boxes.len() == 1 { moves } else { 0 };
        if self.best.get(&key).is_some_and(|&known| known <= (pushes, ties)) {
            return;
        }
        self.best.insert(key, (pushes, ties));
        let level = self.solver.level;
        for &cell in &position.boxes {
            for step in Move::ALL {
                let Some(behind) = level.after(cell, step.reversed()) else { continue };
                let Some(ahead) = level.after(cell, step) else { continue };
                let Some(walked) = reach[usize::from(behind)] else { continue };
                if position.has_box(ahead) {
                    continue;
                }
                let mut next = Position { player: cell, boxes: position.boxes.clone() };
                next.shift(cell, ahead);
                if is_stuck(level, &self.solver.distances, &next) {
                    continue;
                }
                let came_by = Some((index, behind, step));
                let moves = moves + walked + 1;
                self.meet(Node { position: next, pushes: pushes + 1, moves, came_by });
            }
        }
    }

    /// Keep a node that may lead on.
    fn meet(&mut self, node: Node) {
        let left = self.solver.distances.at_least(&node.position);
        if left >= NO_WAY {
            return;
        }
        let estimate = node.pushes + self.effort.haste * left;
        self.open.push(Reverse((estimate, node.moves, self.nodes.len())));
        self.nodes.push(node);
    }

    /// What positions are one for the search: with one box it is told apart
    /// where the player stands, because that decides how far it has to walk;
    /// with several, only where it can go.
    fn key(&self, position: &Position, reach: &[Option<u32>]) -> Position {
        let first = reach.iter().position(Option::is_some).map_or(0, |cell| cell as Cell);
        let player = if position.boxes.len() == 1 { position.player } else { first };
        Position { player, boxes: position.boxes.clone() }
    }

    /// The moves to a node.
    fn way(&self, last: usize) -> Vec<Move> {
        let mut pushes = Vec::new();
        let mut index = last;
        while let Some((before, behind, step)) = self.nodes[index].came_by {
            pushes.push((before, behind, step));
            index = before;
        }
        let mut way = Vec::new();
        for (before, behind, step) in pushes.into_iter().rev() {
            way.extend(self.solver.stroll(&self.nodes[before].position, behind));
            way.push(step);
        }
        way
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::notation::tests::read;

    /// The fewest pushes to a solution, by trying every move from every position.
    fn fewest_pushes(level: &Level, start: &Position) -> Option<usize> {
        let mut known = BTreeMap::from([(start.clone(), 0)]);
        let mut open = VecDeque::from([(start.clone(), 0)]);
        let mut best = None;
        while let Some((position, pushes)) = open.pop_front() {
            if position.is_solved(level) {
                best = Some(best.unwrap_or(usize::MAX).min(pushes));
            }
            for step in Move::ALL {
                let walk = position.walk(level, &[step]);
                let pushes = pushes + walk.pushes;
                if known.get(&walk.end).is_none_or(|&known| pushes < known) {
                    known.insert(walk.end.clone(), pushes);
                    open.push_back((walk.end, pushes));
                }
            }
        }
        best
    }

    fn check(text: &str) {
        let (level, start) = read(text);
        let solver = Solver::new(&level);
        let fewest = fewest_pushes(&level, &start);
        match solver.solve(&start, OPTIMAL) {
            Verdict::Solved(way) => {
                assert_eq!(
                    solver.count(&start, OPTIMAL),
                    Verdict::Solved(way.len() as u32),
                    "{text}"
                );
                let walk = start.walk(&level, &way);
                assert!(walk.end.is_solved(&level) && walk.blocked.is_none(), "{text}");
                assert_eq!(Some(walk.pushes), fewest, "{text}");
            }
            Verdict::Hopeless => assert_eq!(fewest, None, "{text}"),
            Verdict::Unknown => panic!("small levels are searched to the end: {text}"),
        }
    }

    #[test]
    fn solutions_have_the_fewest_pushes_and_hopeless_levels_are_named() {
        for text in [
            "#####\n#@$.#\n#####",
            "######\n#    #\n# $$ #\n#.@ .#\n######",
            "########\n#  #   #\n# $ $ .#\n#  @  .#\n########",
            "######\n#    #\n#$@ .#\n######",
            "#######\n#.    #\n# # # #\n#  $@ #\n#     #\n#######",
            "######\n#.$ @#\n#  #$#\n#    #\n#.   #\n######",
        ] {
            check(text);
        }
    }

    #[test]
    fn a_search_that_meets_its_bound_claims_nothing() {
        let (level, start) = read("########\n#      #\n# $ $  #\n# @ $. #\n#  ..  #\n########");
        let solver = Solver::new(&level);
        assert_eq!(solver.solve(&start, Effort { haste: 1, positions: 2 }), Verdict::Unknown);
        assert!(matches!(solver.solve_somehow(&start), Verdict::Solved(_)));
    }
}
