//! Bundles to tensors.
//!
//! Trees lie one after the other, those of one learner side by side. What is
//! applied to every token by itself sees nothing of them; only attention does,
//! see `tree_attention`.

use std::sync::Arc;

use tch::{Kind, Tensor};

use crate::batching::cut_evenly;
use crate::bundle::{Bundle, Tree};
use crate::cluster::{Cluster, clusters};
use crate::tree_attention::{TreeAttention, Trees};
use troupe_model::{Automaton, Decoder, Policy, Segment, Walk};

/// Numbers of a layer's states that a CPU handles at once: more no longer fit its caches, and
/// batches of fewer keep all cores busy.
const CPU_STATES: usize = 1 << 18;

/// Tokens that go through a model of this width together at most.
pub(super) fn micro_batch_tokens(limit: usize, hidden: i64, gpu: bool) -> usize {
    let fitting = (CPU_STATES / hidden.max(1) as usize).clamp(512, 2048);
    if gpu { limit } else { limit.min(fitting) }
}

/// Bundles that go through the model together, learner by learner.
pub(super) struct MicroBatch<'b, 'a> {
    parts: Vec<(usize, Vec<Cluster<'b, 'a>>)>,
}

/// A token whose probability is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    /// Which of the learner's rows it is from.
    pub(super) row: usize,
    /// Its place in the answer.
    pub(super) token: usize,
    /// Which of the ways of drawing answers the answer was drawn in.
    pub(super) way: usize,
    answer: &'a [u32],
    prompt: &'a [u32],
    automaton: Option<&'a Arc<Automaton>>,
    /// Which of the predictors it comes from.
    source: i64,
}

impl<'a> Target<'a> {
    /// The token itself.
    pub(super) fn id(&self) -> u32 {
        self.answer[self.token]
    }

    /// Whether its answer ends with it.
    pub(super) fn is_last(&self) -> bool {
        self.token + 1 == self.answer.len()
    }

    /// Which of the pack's predictors it comes from.
    pub(super) fn source(&self) -> i64 {
        self.source
    }

    /// What its answer may be before its first token, if not anything.
    pub(super) fn begin(&self) -> Option<Walk> {
        self.automaton.map(|automaton| automaton.begin(self.prompt))
    }

    /// The tokens of its answer before it, from one of them on.
    pub(super) fn answer_from(&self, first: usize) -> &'a [u32] {
        &self.answer[first..self.token]
    }

    /// The tokens before it, the prompt's included.
    pub(super) fn earlier(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.prompt.iter().chain(&self.answer[..self.token]).copied()
    }
}

/// Cut into batches of at most `limit` tokens, sorted by length; a longer
/// bundle is a batch of its own. Bundles come with the index of their learner;
/// `policy` is one of them.
pub(super) fn micro_batches<'b, 'a>(
    bundles: &[(usize, &'b Bundle<'a>)],
    limit: usize,
    policy: &Policy,
) -> Vec<MicroBatch<'b, 'a>> {
    let hidden = policy.config().hidden_size;
    let limit = micro_batch_tokens(limit, hidden, policy.device().is_gpu());
    let mut sorted = clusters(bundles, limit);
    sorted.sort_by_key(|cluster| std::cmp::Reverse(cluster.tokens));
    let sizes: Vec<usize> = sorted.iter().map(|cluster| cluster.tokens).collect();
    let mut rest = sorted.into_iter();
    let runs = cut_evenly(&sizes, limit).into_iter();
    runs.map(|run| MicroBatch::of(rest.by_ref().take(run.len()).collect())).collect()
}

impl<'b, 'a> MicroBatch<'b, 'a> {
    fn of(mut clusters: Vec<Cluster<'b, 'a>>) -> Self {
        clusters.sort_by_key(|cluster| cluster.learner);
        let mut parts: Vec<(usize, Vec<Cluster>)> = Vec::new();
        for cluster in clusters {
            match parts.last_mut() {
                Some((learner, of_learner)) if *learner == cluster.learner => {
                    of_learner.push(cluster)
                }
                _ => parts.push((cluster.learner, vec![cluster])),
            }
        }
        MicroBatch { parts }
    }

    /// Lay the batch out for `decoder`.
    pub(super) fn pack(&self, decoder: &Decoder) -> (Pack<'a>, TreeAttention) {
        let like = decoder.parameters().buffer();
        let mut columns = Columns::new(decoder.device().is_gpu());
        let mut parts = Vec::with_capacity(self.parts.len());
        for (learner, clusters) in &self.parts {
            parts.push(columns.push_learner(*learner, clusters));
        }
        let upload = |numbers: &[i64]| Tensor::from_slice(numbers).to_device(like.device());
        let attention = TreeAttention::new(&columns.trees, &decoder.masking());
        let pack = Pack {
            tokens: upload(&columns.tokens),
            positions: upload(&columns.positions),
            predictors: upload(&columns.predictors),
            parts,
        };
        (pack, attention)
    }
}

/// The numbers of a pack before they become tensors.
struct Columns {
    tokens: Vec<i64>,
    positions: Vec<i64>,
    predictors: Vec<i64>,
    trees: Trees,
}

impl Columns {
    fn new(gpu: bool) -> Self {
        Columns {
            tokens: Vec::new(),
            positions: Vec::new(),
            predictors: Vec::new(),
            trees: Trees::new(gpu),
        }
    }

    fn push_learner<'a>(&mut self, learner: usize, clusters: &[Cluster<'_, 'a>]) -> PackPart<'a> {
        let (rows, kept) = (self.tokens.len(), self.predictors.len());
        let trees: Vec<Tree> = clusters.iter().map(|cluster| Tree::of(&cluster.bundles)).collect();
        let lengths = self.trees.push_all(&trees);
        let mut targets = Vec::new();
        for ((cluster, tree), length) in clusters.iter().zip(&trees).zip(lengths) {
            self.push_targets(&cluster.bundles, tree, &mut targets);
            self.push_rows(tree, length);
        }
        // Targets of one predictor side by side, and predictors in order.
        targets.sort_by_key(|target| target.source);
        let segment = Segment {
            member: learner,
            rows: (self.tokens.len() - rows) as i64,
            kept: (self.predictors.len() - kept) as i64,
        };
        PackPart { segment, targets }
    }

    fn push_targets<'t, 'a>(
        &mut self,
        bundles: &[&'t Bundle<'a>],
        tree: &Tree,
        targets: &mut Vec<Target<'a>>,
    ) {
        let offset = self.tokens.len();
        let mut source_of = vec![-1; tree.tokens.len()];
        let mut predictors = tree.predictors.iter();
        let answers = |bundle: &&'t Bundle<'a>| {
            let prompt = bundle.prompt();
            bundle.answers().iter().map(move |answer| (prompt, answer))
        };
        for (prompt, answer) in bundles.iter().flat_map(answers) {
            for (token, &at) in (0..answer.tokens.len()).zip(&mut predictors) {
                if source_of[at] < 0 {
                    source_of[at] = self.predictors.len() as i64;
                    self.predictors.push((offset + at) as i64);
                }
                let source = source_of[at];
                targets.push(Target {
                    row: answer.row,
                    token,
                    way: answer.way,
                    answer: answer.tokens,
                    prompt,
                    automaton: answer.automaton,
                    source,
                });
            }
        }
    }

    /// Append the tokens, padded to `length`.
    fn push_rows(&mut self, tree: &Tree, length: usize) {
        let end = self.tokens.len() + length;
        self.tokens.extend(tree.tokens.iter().map(|&token| i64::from(token)));
        self.positions.extend(tree.positions.iter().map(|&position| position as i64));
        self.tokens.resize(end, 0);
        self.positions.resize(end, 0);
    }
}

/// A batch as tensors. A *predictor* is a row whose logits are needed; several
/// targets may come from one, as answers that share a beginning do.
pub(super) struct Pack<'a> {
    pub(super) tokens: Tensor,     // [rows]
    pub(super) positions: Tensor,  // [rows]
    pub(super) predictors: Tensor, // [predictors], rows of the batch
    parts: Vec<PackPart<'a>>,
}

/// What of a batch is one learner's.
struct PackPart<'a> {
    segment: Segment,
    targets: Vec<Target<'a>>,
}

impl<'a> Pack<'a> {
    /// Whose the rows are.
    pub(super) fn segments(&self) -> Vec<Segment> {
        self.parts.iter().map(|part| part.segment).collect()
    }

    /// The targets cut into runs of about `limit` of one learner each.
    pub(super) fn chunks(&self, limit: usize) -> Vec<Chunk<'_, 'a>> {
        let mut chunks = Vec::new();
        for part in &self.parts {
            let mut left = &part.targets[..];
            while !left.is_empty() {
                let mut end = limit.clamp(1, left.len());
                while end < left.len() && left[end].source == left[end - 1].source {
                    end += 1;
                }
                chunks.push(Chunk { learner: part.segment.member, targets: &left[..end] });
                left = &left[end..];
            }
        }
        chunks
    }
}

/// A run of targets, with all those of their predictors.
#[derive(Clone, Copy)]
pub(super) struct Chunk<'p, 'a> {
    pub(super) learner: usize,
    pub(super) targets: &'p [Target<'a>],
}

impl Chunk<'_, '_> {
    /// The predictors' states among all predictors' `states` `[predictors, hidden]`.
    pub(super) fn states(&self, states: &Tensor) -> Tensor {
        let (first, last) = (self.targets[0].source, self.targets[self.targets.len() - 1].source);
        states.narrow(0, first, last + 1 - first)
    }

    /// Which of these states each target comes from, and which token it is.
    pub(super) fn sources_and_ids(&self, device: tch::Device) -> (Tensor, Tensor) {
        let first = self.targets[0].source;
        let mut columns: Vec<i64> =
            self.targets.iter().map(|target| target.source - first).collect();
        columns.extend(self.targets.iter().map(|target| i64::from(target.id())));
        let columns = Tensor::from_slice(&columns).view([2, -1]).to_device(device);
        (columns.get(0), columns.get(1))
    }

    /// Which tokens of the vocabulary come before each target:
    /// `[targets, vocabulary]` of truth values.
    pub(super) fn seen(&self, vocabulary: i64, device: tch::Device) -> Tensor {
        let earlier = |(row, target): (i64, &Target)| {
            let ids: Vec<i64> =
                target.earlier().map(|id| row * vocabulary + i64::from(id)).collect();
            ids
        };
        let places: Vec<i64> = (0..).zip(self.targets).flat_map(earlier).collect();
        let count = self.targets.len() as i64;
        let mut seen = Tensor::zeros([count * vocabulary], (Kind::Bool, device));
        let _ = seen.index_fill_(0, &Tensor::from_slice(&places).to_device(device), 1);
        seen.view([count, vocabulary])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::{Answer, bundle};
    use troupe_core::config::PolicyConfig;
    use troupe_core::seed::Seed;
    use troupe_model::Device;

    #[test]
    fn micro_batches_keep_to_their_limit() {
        let tokens: Vec<u32> = (0..50).collect();
        let bundles = bundle((1..50).map(|row| {
            (&tokens[..row], Answer { row, tokens: &tokens[..1], way: 0, automaton: None })
        }));
        let numbered: Vec<(usize, &Bundle)> =
            bundles.iter().enumerate().map(|(i, bundle)| (i % 2, bundle)).collect();
        let policy = Policy::random(&PolicyConfig::default(), &[], Seed::new(1), Device::cpu());
        let batches = micro_batches(&numbered, 120, &policy.unwrap());
        let mut rows = Vec::new();
        for batch in &batches {
            let clusters = batch.parts.iter().flat_map(|(_, clusters)| clusters);
            assert!(clusters.clone().map(|cluster| cluster.tokens).sum::<usize>() <= 120);
            let bundles = clusters.flat_map(|cluster| &cluster.bundles);
            rows.extend(bundles.flat_map(|bundle| bundle.answers()).map(|answer| answer.row));
            assert!(batch.parts.iter().map(|(learner, _)| *learner).is_sorted());
        }
        rows.sort();
        assert_eq!(rows, (1..50).collect::<Vec<_>>());
    }
}
