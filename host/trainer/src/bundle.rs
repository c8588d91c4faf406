//! Prompts with their answers, and the trees they make.
//!
//! The answers to one prompt are trained in one sequence: the prompt once,
//! then the answers as a tree in which equal beginnings are one; prompts that
//! begin alike may share a tree, see `cluster`. Every token
//! sees the tokens on its path to the root and no others, and its position is
//! its depth, so that what the model computes is what it would compute for
//! each answer alone.
//!
//! The tree lies in the order of a depth-first walk. There, token j is on the
//! path of token i exactly if j ≤ i < end(j), where end(j) is where the
//! subtree of j ends: one number per token describes the whole mask.

use std::collections::HashMap;
use std::sync::Arc;

use troupe_core::trajectory::Sample;
use troupe_model::{Automaton, SamplingByRole};

/// A bundle is split when its answers are this many times longer than its
/// prompt (and some), as a prompt that is read twice then costs little.
const MAX_ANSWERS_PER_PROMPT: usize = 4;

/// An answer and which row it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer<'a> {
    pub(super) row: usize,
    pub(super) tokens: &'a [u32],
    /// Which of the ways of drawing answers it was drawn in.
    pub(super) way: usize,
    /// What it may be, if not anything.
    pub(super) automaton: Option<&'a Arc<Automaton>>,
}

/// A prompt with its answers: what is trained in one sequence.
#[derive(Debug)]
pub(super) struct Bundle<'a> {
    prompt: &'a [u32],
    /// Sorted, so that equal beginnings lie side by side.
    answers: Vec<Answer<'a>>,
}

/// Gather answers to equal prompts, in the order in which prompts first occur.
pub(super) fn bundle<'a>(rows: impl Iterator<Item = (&'a [u32], Answer<'a>)>) -> Vec<Bundle<'a>> {
    let mut known: HashMap<&[u32], (usize, usize)> = HashMap::new();
    let mut bundles: Vec<Bundle> = Vec::new();
    for (prompt, answer) in rows {
        let limit = MAX_ANSWERS_PER_PROMPT * prompt.len() + 64;
        let length = answer.tokens.len();
        let place = known.entry(prompt).or_insert((usize::MAX, 0));
        if place.0 == usize::MAX || place.1 + length > limit {
            bundles.push(Bundle { prompt, answers: Vec::new() });
            *place = (bundles.len() - 1, 0);
        }
        place.1 += length;
        bundles[place.0].answers.push(answer);
    }
    for bundle in &mut bundles {
        bundle.answers.sort_by_key(|answer| answer.tokens);
    }
    bundles
}

/// The answers of samples. Where another scores them, there are no `automata`.
pub(super) fn of_samples<'a>(
    samples: impl Iterator<Item = &'a Sample>,
    sampling: &SamplingByRole,
    automata: &'a [Option<Arc<Automaton>>],
) -> Vec<Bundle<'a>> {
    bundle(samples.enumerate().map(|(row, sample)| {
        let (tokens, way) = (&sample.completion.tokens[..], sampling.way_of(&sample.role));
        let automaton = automata.get(way).and_then(Option::as_ref);
        (&sample.prompt[..], Answer { row, tokens, way, automaton })
    }))
}

/// The rows of some bundles' answers, in their order.
pub(super) fn rows_of(bundles: &[&Bundle]) -> Vec<usize> {
    bundles.iter().flat_map(|bundle| bundle.answers()).map(|answer| answer.row).collect()
}

impl<'a> Bundle<'a> {
    pub(super) fn prompt(&self) -> &'a [u32] {
        self.prompt
    }

    pub(super) fn answers(&self) -> &[Answer<'a>] {
        &self.answers
    }

    /// Tokens of the prompt and of all answers.
    pub(super) fn tokens(&self) -> usize {
        self.prompt.len() + self.answer_tokens()
    }

    /// Tokens of all answers.
    pub(super) fn answer_tokens(&self) -> usize {
        self.answers.iter().map(|answer| answer.tokens.len()).sum()
    }
}

/// Bundles laid out as a depth-first walk.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) tokens: Vec<u32>,
    pub(super) positions: Vec<usize>,
    pub(super) ends: Vec<usize>,
    /// For every token of every answer in turn, where it is predicted.
    pub(super) predictors: Vec<usize>,
}

impl Tree {
    /// Lay out bundles, sorted by prompt, so that equal beginnings are one.
    pub(super) fn of(bundles: &[&Bundle]) -> Self {
        let mut tree = Tree::default();
        let mut path = Vec::new();
        for bundle in bundles {
            let length = bundle.prompt.len();
            for answer in &bundle.answers {
                // The last token of an answer is predicted, but never read.
                let read = &answer.tokens[..answer.tokens.len() - 1];
                tree.walk(&mut path, bundle.prompt.iter().chain(read));
                tree.predictors.extend(&path[length - 1..]);
            }
        }
        tree.close(&mut path, 0);
        tree
    }

    /// Go from the path that was walked last to where `tokens` lead.
    fn walk<'t>(&mut self, path: &mut Vec<usize>, tokens: impl Iterator<Item = &'t u32> + Clone) {
        let pairs = path.iter().zip(tokens.clone());
        let common = pairs.take_while(|(node, token)| self.tokens[**node] == **token).count();
        self.close(path, common);
        for (depth, &token) in tokens.enumerate().skip(common) {
            path.push(self.tokens.len());
            self.tokens.push(token);
            self.positions.push(depth);
            self.ends.push(0);
        }
    }

    /// Shorten the path; what leaves it has its subtree complete.
    fn close(&mut self, path: &mut Vec<usize>, depth: usize) {
        let end = self.tokens.len();
        for node in path.drain(depth.min(path.len())..) {
            self.ends[node] = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers<'a>(answers: &[&'a [u32]]) -> Vec<Answer<'a>> {
        answers
            .iter()
            .enumerate()
            .map(|(row, tokens)| Answer { row, tokens, way: 0, automaton: None })
            .collect()
    }

    #[test]
    fn equal_beginnings_are_one() {
        let rows = answers(&[&[7, 8, 2], &[7, 9, 2], &[7, 8, 5, 2], &[6]]);
        let bundles = bundle(rows.into_iter().map(|answer| (&[1, 2][..], answer)));
        let tree = Tree::of(&[&bundles[0]]);
        //                        prompt  7  8  5  9
        assert_eq!(tree.tokens, [1, 2, 7, 8, 5, 9]);
        assert_eq!(tree.positions, [0, 1, 2, 3, 4, 3]);
        assert_eq!(tree.ends, [6, 6, 6, 5, 5, 6]);
        let sorted: Vec<usize> = bundles[0].answers().iter().map(|answer| answer.row).collect();
        assert_eq!(sorted, [3, 0, 2, 1]);
        assert_eq!(tree.predictors, [1, 1, 2, 3, 1, 2, 3, 4, 1, 2, 5]);
    }

    #[test]
    fn rows_follow_their_prompt_and_long_bundles_are_split() {
        let long: Vec<u32> = (0..60).collect();
        let rows = answers(&[&long, &[5], &long]);
        let prompts: [&[u32]; 3] = [&[1], &[2], &[1]];
        let bundles = bundle(prompts.into_iter().zip(rows));
        let rows_of_bundles: Vec<Vec<usize>> = bundles
            .iter()
            .map(|bundle| bundle.answers.iter().map(|answer| answer.row).collect())
            .collect();
        assert_eq!(rows_of_bundles, [vec![0], vec![1], vec![2]]);
    }
}
