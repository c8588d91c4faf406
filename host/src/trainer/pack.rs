//! Answers to tensors.
//!
//! The answers to one prompt are packed into one sequence: the prompt once,
//! then the answers as a tree in which equal beginnings are one. Every token
//! sees the tokens on its path to the root and no others, and its position is
//! its depth, so that what the model computes is what it would compute for
//! each answer alone.
//!
//! The tree lies in the order of a depth-first walk. There, token j is on the
//! path of token i exactly if j ≤ i < end(j), where end(j) is where the
//! subtree of j ends: one number per token describes the whole mask.

use std::collections::HashMap;

use tch::{Kind, Tensor};

use crate::policy::{
    Decoder, Device, Ensemble, Input, Sampling, Segment, SelfAttention, cut_evenly,
    log_probabilities,
};

/// A bundle is split when its answers are this many times longer than its
/// prompt (and some), as attention grows with the square of its length.
const MAX_ANSWERS_PER_PROMPT: usize = 4;
/// Tokens that a CPU handles at once: more no longer fit its cache.
const CPU_MICRO_BATCH_TOKENS: usize = 2048;

/// An answer and which row it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer<'a> {
    pub(super) row: usize,
    pub(super) tokens: &'a [u32],
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

impl<'a> Bundle<'a> {
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

    fn tree(&self) -> Tree {
        let length = self.prompt.len();
        let mut tree = Tree {
            tokens: self.prompt.to_vec(),
            positions: (0..length).collect(),
            ends: vec![0; length],
            targets: Vec::new(),
        };
        let mut path: Vec<usize> = (0..length).collect();
        let mut previous: &[u32] = &[];
        for answer in &self.answers {
            // The last token of an answer is predicted, but never read.
            let read = &answer.tokens[..answer.tokens.len() - 1];
            let common = previous.iter().zip(read).take_while(|(a, b)| a == b).count();
            tree.close(&mut path, length + common);
            for (depth, &token) in read.iter().enumerate().skip(common) {
                path.push(tree.tokens.len());
                tree.tokens.push(token);
                tree.positions.push(length + depth);
                tree.ends.push(0);
            }
            tree.targets.extend(
                path[length - 1..].iter().zip(answer.tokens).map(|(&at, &token)| (at, token)),
            );
            previous = read;
        }
        tree.close(&mut path, 0);
        tree
    }
}

/// A bundle laid out as a depth-first walk.
struct Tree {
    tokens: Vec<u32>,
    positions: Vec<usize>,
    ends: Vec<usize>,
    /// For every token of every answer: where it is predicted, and what it is.
    targets: Vec<(usize, u32)>,
}

impl Tree {
    /// Shorten the path; what leaves it has its subtree complete.
    fn close(&mut self, path: &mut Vec<usize>, depth: usize) {
        let end = self.tokens.len();
        for node in path.drain(depth.min(path.len())..) {
            self.ends[node] = end;
        }
    }
}

/// Bundles that go through the model together.
pub(super) struct MicroBatch<'b, 'a> {
    bundles: Vec<&'b Bundle<'a>>,
}

/// Where a token of a batch belongs.
pub(super) struct Place {
    pub(super) row: usize,
    pub(super) token: usize,
}

/// Cut into batches of at most `limit` tokens, padding included, sorted by
/// length; a longer bundle is a batch of its own.
pub(super) fn micro_batches<'b, 'a>(
    bundles: &[&'b Bundle<'a>],
    limit: usize,
    device: Device,
) -> Vec<MicroBatch<'b, 'a>> {
    let limit = if device.is_gpu() { limit } else { limit.min(CPU_MICRO_BATCH_TOKENS) };
    let mut sorted = bundles.to_vec();
    sorted.sort_by_key(|bundle| std::cmp::Reverse(bundle.tokens()));
    let sizes: Vec<usize> = sorted.iter().map(|bundle| bundle.tokens()).collect();
    let runs = cut_evenly(&sizes, limit).into_iter();
    runs.map(|run| MicroBatch { bundles: sorted[run].to_vec() }).collect()
}

impl MicroBatch<'_, '_> {
    /// Rows and tokens in the order of a pack's targets.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        let answers = self.bundles.iter().flat_map(|bundle| &bundle.answers);
        answers.flat_map(|answer| {
            let row = answer.row;
            (0..answer.tokens.len()).map(move |token| Place { row, token })
        })
    }

    /// Lay the batch out for `decoder`.
    pub(super) fn pack(&self, decoder: &Decoder) -> Pack {
        let trees: Vec<Tree> = self.bundles.iter().map(|bundle| bundle.tree()).collect();
        let length = trees.iter().map(|tree| tree.tokens.len()).max().unwrap_or_default();
        let mut columns = Columns::default();
        for (index, tree) in trees.iter().enumerate() {
            columns.push(tree, index * length, length);
        }
        let group = decoder.group();
        let like = decoder.parameters().buffer();
        let upload = |numbers: &[i64]| Tensor::from_slice(numbers).to_device(like.device());
        let (count, length) = (trees.len() as i64, length as i64);
        let at = Tensor::arange(length, (Kind::Int64, like.device()));
        let (asking, asked) = (at.view([1, length, 1]), at.view([1, 1, length]));
        let ends = upload(&columns.ends).view([count, 1, length]);
        let seen = asking.ge_tensor(&asked).logical_and(&asking.lt_tensor(&ends)); // [count, length, length]
        Pack {
            tokens: upload(&columns.tokens),
            positions: upload(&columns.positions),
            attention: SelfAttention::among(count, &seen, group, like.kind()),
            predictors: upload(&columns.predictors),
            sources: upload(&columns.sources),
            targets: upload(&columns.targets),
        }
    }
}

/// The numbers of a pack before they become tensors.
#[derive(Default)]
struct Columns {
    tokens: Vec<i64>,
    positions: Vec<i64>,
    ends: Vec<i64>,
    predictors: Vec<i64>,
    sources: Vec<i64>,
    targets: Vec<i64>,
}

impl Columns {
    /// Append a tree whose first token is row `offset`, padded to `length`.
    fn push(&mut self, tree: &Tree, offset: usize, length: usize) {
        let padded = |numbers: &mut dyn Iterator<Item = i64>| -> Vec<i64> {
            numbers.chain(std::iter::repeat(0)).take(length).collect()
        };
        self.tokens.extend(padded(&mut tree.tokens.iter().map(|&token| token.into())));
        self.positions.extend(padded(&mut tree.positions.iter().map(|&position| position as i64)));
        self.ends.extend(tree.ends.iter().map(|&end| end as i64));
        self.ends.extend((tree.ends.len()..length).map(|padding| padding as i64 + 1)); // sees itself
        let mut source: HashMap<usize, i64> = HashMap::new();
        for &(at, token) in &tree.targets {
            let next = self.predictors.len() as i64;
            let source = *source.entry(at).or_insert_with(|| {
                self.predictors.push((offset + at) as i64);
                next
            });
            self.sources.push(source);
            self.targets.push(token.into());
        }
    }
}

/// A batch as tensors. A *predictor* is a row whose logits are needed; several
/// targets may come from one, as answers that share a beginning do.
pub(super) struct Pack {
    tokens: Tensor,    // [batch · length]
    positions: Tensor, // [batch · length]
    attention: SelfAttention,
    predictors: Tensor, // [predictors], rows of the batch
    sources: Tensor,    // [targets], which predictor a target comes from
    targets: Tensor,    // [targets]
}

/// What the model makes of a batch.
pub(super) struct Scores {
    /// Log-probabilities of the targets: `[targets]`.
    pub(super) chosen: Tensor,
    /// Log-probabilities of all tokens: `[distributions, vocabulary]`.
    pub(super) all: Tensor,
    /// Which distribution a target comes from: `[targets]`.
    pub(super) sources: Tensor,
}

impl Pack {
    /// Score the targets under the distribution they were drawn from.
    pub(super) fn score(&self, ensemble: &Ensemble, sampling: &Sampling) -> Scores {
        let mut attention = self.attention.shallow_clone();
        let (rows, kept) = (self.tokens.size()[0], self.predictors.size()[0]);
        let mixture = ensemble.mixture(&[Segment { member: 0, rows, kept }]);
        let input = Input {
            tokens: &self.tokens,
            positions: &self.positions,
            keep: Some(&self.predictors),
            mixture: &mixture,
        };
        let states = ensemble.forward(&input, &mut attention);
        let mut logits = ensemble.logits(&states); // [predictors, vocabulary]
        let vocabulary = logits.size()[1];
        let mut sources = self.sources.shallow_clone();
        let mut kept = None;
        if sampling.truncates(vocabulary) {
            // What is cut off depends on the target, so each has its own distribution.
            logits = logits.index_select(0, &sources);
            sources = Tensor::arange(sources.size()[0], (Kind::Int64, sources.device()));
            kept = Some(&self.targets);
        }
        let all = log_probabilities(&logits, sampling, kept);
        let chosen = all.view([-1]).index_select(0, &(&sources * vocabulary + &self.targets));
        Scores { chosen, all, sources }
    }
}

impl Scores {
    /// Entropy of each target's distribution in nats: `[targets]`.
    pub(super) fn entropy(&self) -> Tensor {
        let entropy = -(self.all.exp() * &self.all).sum_dim_intlist(-1, false, Kind::Float);
        entropy.index_select(0, &self.sources)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers<'a>(answers: &[&'a [u32]]) -> Vec<Answer<'a>> {
        answers.iter().enumerate().map(|(row, tokens)| Answer { row, tokens }).collect()
    }

    #[test]
    fn equal_beginnings_are_one() {
        let rows = answers(&[&[7, 8, 2], &[7, 9, 2], &[7, 8, 5, 2], &[6]]);
        let bundles = bundle(rows.into_iter().map(|answer| (&[1, 2][..], answer)));
        let tree = bundles[0].tree();
        //                        prompt  7  8  5  9
        assert_eq!(tree.tokens, [1, 2, 7, 8, 5, 9]);
        assert_eq!(tree.positions, [0, 1, 2, 3, 4, 3]);
        assert_eq!(tree.ends, [6, 6, 6, 5, 5, 6]);
        let targets = [
            (1, 6),
            (1, 7),
            (2, 8),
            (3, 2),
            (1, 7),
            (2, 8),
            (3, 5),
            (4, 2),
            (1, 7),
            (2, 9),
            (5, 2),
        ];
        assert_eq!(tree.targets, targets);
    }

    #[test]
    fn rows_follow_their_prompt_and_long_bundles_are_split() {
        let long: Vec<u32> = (0..60).collect();
        let rows = answers(&[&long, &[5], &long]);
        let prompts: [&[u32]; 3] = [&[1], &[2], &[1]];
        let bundles = bundle(prompts.into_iter().zip(rows));
        let found: Vec<Vec<usize>> = bundles
            .iter()
            .map(|bundle| bundle.answers.iter().map(|answer| answer.row).collect())
            .collect();
        assert_eq!(found, [vec![0], vec![1], vec![2]]);
    }

    #[test]
    fn micro_batches_keep_to_their_limit() {
        let tokens: Vec<u32> = (0..50).collect();
        let bundles =
            bundle((1..50).map(|row| (&tokens[..row], Answer { row, tokens: &tokens[..1] })));
        let batches = micro_batches(&bundles.iter().collect::<Vec<_>>(), 120, Device::cpu());
        let mut rows: Vec<usize> =
            batches.iter().flat_map(MicroBatch::places).map(|place| place.row).collect();
        for batch in &batches {
            assert!(batch.bundles[0].tokens() * batch.bundles.len() <= 120);
        }
        rows.sort();
        assert_eq!(rows, (1..50).collect::<Vec<_>>());
    }
}
