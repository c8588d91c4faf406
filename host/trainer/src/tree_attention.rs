//! Attention within trees of answers.
//!
//! A dense mask over a tree computes a score for every pair of its tokens,
//! though answers do not see each other. Where that is most of the work, each
//! branch is compared with the trunk and itself alone.

use std::ops::Range;

use tch::{Kind, Tensor};

use crate::bundle::Tree;
use troupe_model::{Attention, LayerSight, Mask, Masking, SelfAttention, attend, by_head};

/// A tree joins a bucket of longer ones if it has this share of their length,
/// in eighths: it is padded to them.
const LEAST_EIGHTHS: usize = 6;
/// LogProbs in whose time a branch's own operations are started.
const CPU_SCORES_PER_BRANCH: usize = 1 << 14;
const GPU_SCORES_PER_BRANCH: usize = 1 << 24;

/// How the trees of a batch are attended, as numbers.
pub(super) struct Trees {
    scores_per_branch: usize,
    buckets: Vec<Bucket>,
}

/// Trees that are attended in one operation, padded to one length.
struct Bucket {
    length: usize,
    ends: Vec<i64>,
    positions: Vec<i64>,
    /// What has branches is alone in its bucket.
    branches: Vec<Range<usize>>,
}

impl Trees {
    pub(super) fn new(gpu: bool) -> Self {
        let scores_per_branch = if gpu { GPU_SCORES_PER_BRANCH } else { CPU_SCORES_PER_BRANCH };
        Trees { scores_per_branch, buckets: Vec::new() }
    }

    /// Take in trees, sorted from long to short; returns the length to which
    /// each is padded.
    pub(super) fn push_all(&mut self, trees: &[Tree]) -> Vec<usize> {
        let mut first = true;
        let push = |tree: &Tree| {
            let branches = self.branches(tree);
            let length = tree.tokens.len();
            let joins = |bucket: &&mut Bucket| {
                let fits = length <= bucket.length && length * 8 >= bucket.length * LEAST_EIGHTHS;
                !first && branches.is_empty() && bucket.branches.is_empty() && fits
            };
            let bucket = match self.buckets.last_mut().filter(joins) {
                Some(bucket) => bucket,
                None => {
                    let (ends, positions) = (Vec::new(), Vec::new());
                    self.buckets.push(Bucket { length, ends, positions, branches });
                    let last = self.buckets.len() - 1;
                    &mut self.buckets[last]
                }
            };
            first = false;
            bucket.ends.extend(tree.ends.iter().map(|&end| end as i64));
            bucket.ends.extend((length..bucket.length).map(|padding| padding as i64 + 1)); // sees itself
            bucket.positions.extend(tree.positions.iter().map(|&position| position as i64));
            bucket.positions.resize(bucket.ends.len(), 0);
            bucket.length
        };
        trees.iter().map(push).collect()
    }

    /// The branches that hang from the trunk; none if one mask over the whole
    /// tree is cheaper.
    fn branches(&self, tree: &Tree) -> Vec<Range<usize>> {
        let length = tree.tokens.len();
        let trunk = tree.ends.iter().take_while(|&&end| end == length).count();
        let mut branches = Vec::new();
        let mut start = trunk;
        while start < length {
            branches.push(start..tree.ends[start]);
            start = tree.ends[start];
        }
        let scores = |branch: &Range<usize>| branch.len() * (trunk + branch.len());
        let apart = trunk * trunk + branches.iter().map(scores).sum::<usize>();
        let cheaper = apart + branches.len() * self.scores_per_branch < length * length;
        if cheaper { branches } else { Vec::new() }
    }
}

/// See the module's documentation.
pub(super) struct TreeAttention {
    parts: Vec<TreePart>,
    rows: Vec<i64>,
}

/// Where the tokens of a bucket's trees are: `[trees, length]` each.
struct Paths {
    ends: Tensor,
    positions: Tensor,
    at: Tensor, // [1, length]
}

impl Paths {
    fn of(bucket: &Bucket, device: tch::Device) -> Self {
        let length = bucket.length as i64;
        let upload =
            |numbers: &[i64]| Tensor::from_slice(numbers).to_device(device).view([-1, length]);
        Paths {
            ends: upload(&bucket.ends),
            positions: upload(&bucket.positions),
            at: Tensor::arange(length, (Kind::Int64, device)).unsqueeze(0),
        }
    }

    /// Whether the one token is on the path of the other: `[trees, asking, asked]`.
    fn seen(&self, asking: Range<usize>, asked: Range<usize>) -> Tensor {
        let (rows, columns) = (part(&self.at, &asking, 2), part(&self.at, &asked, 1));
        rows.ge_tensor(&columns).logical_and(&rows.lt_tensor(&part(&self.ends, &asked, 1)))
    }

    /// By how many tokens it is further up there.
    fn back(&self, asking: Range<usize>, asked: Range<usize>) -> Tensor {
        part(&self.positions, &asking, 2) - part(&self.positions, &asked, 1)
    }
}

/// Some columns of `[trees, length]`, with a dimension of one added at `dimension`.
fn part(numbers: &Tensor, range: &Range<usize>, dimension: i64) -> Tensor {
    numbers.narrow(1, range.start as i64, range.len() as i64).unsqueeze(dimension)
}

enum TreePart {
    Dense(SelfAttention),
    Branching(Branching),
}

impl TreeAttention {
    pub(super) fn new(trees: &Trees, masking: &Masking) -> Self {
        let count = |bucket: &Bucket| bucket.ends.len() as i64;
        TreeAttention {
            parts: trees.buckets.iter().map(|bucket| TreePart::of(bucket, masking)).collect(),
            rows: trees.buckets.iter().map(count).collect(),
        }
    }
}

impl TreePart {
    fn of(bucket: &Bucket, masking: &Masking) -> Self {
        let length = bucket.length;
        let paths = Paths::of(bucket, masking.device);
        let Some(first) = bucket.branches.first() else {
            let count = (bucket.ends.len() / length) as i64;
            let whole = || 0..length;
            let mask =
                Mask::new(&paths.seen(whole(), whole()), || paths.back(whole(), whole()), masking);
            return TreePart::Dense(SelfAttention::among(count, mask));
        };
        let trunk = || 0..first.start;
        let masks = bucket.branches.iter().map(|branch| {
            let branch = || branch.clone();
            let branch_mask = paths.seen(branch(), branch());
            let above = branch_mask.new_ones(
                [1, branch_mask.size()[1], first.start as i64],
                (Kind::Bool, masking.device),
            );
            let back =
                || Tensor::cat(&[paths.back(branch(), trunk()), paths.back(branch(), branch())], 2);
            Mask::new(&Tensor::cat(&[above, branch_mask], 2), back, masking)
        });
        let trunk_mask =
            Mask::new(&paths.seen(trunk(), trunk()), || paths.back(trunk(), trunk()), masking);
        let lengths = bucket.branches.iter().map(|branch| branch.len() as i64);
        TreePart::Branching(Branching {
            masks: masks.collect(),
            trunk: SelfAttention::among(1, trunk_mask),
            rows: std::iter::once(first.start as i64).chain(lengths).collect(),
        })
    }

    fn attend(&mut self, at: LayerSight, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        match self {
            TreePart::Dense(attention) => attention.attend(at, queries, keys, values),
            TreePart::Branching(attention) => attention.attend(at, queries, keys, values),
        }
    }
}

impl Attention for TreeAttention {
    fn attend(&mut self, at: LayerSight, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        if let [part] = &mut self.parts[..] {
            return part.attend(at, queries, keys, values);
        }
        let cut = |states: Tensor| states.split_with_sizes(self.rows.as_slice(), 0).into_iter();
        let states = cut(queries).zip(cut(keys)).zip(cut(values));
        let attended: Vec<Tensor> = (self.parts.iter_mut().zip(states))
            .map(|(part, ((queries, keys), values))| part.attend(at, queries, keys, values))
            .collect();
        Tensor::cat(&attended, 0)
    }
}

/// One tree whose branches are attended one by one.
struct Branching {
    trunk: SelfAttention,
    masks: Vec<Mask>, // [1, 1, length · group, trunk + length] each
    rows: Vec<i64>,   // of the trunk and of each branch
}

impl Attention for Branching {
    fn attend(&mut self, at: LayerSight, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        let cut = |states: &Tensor| states.split_with_sizes(self.rows.as_slice(), 0);
        let (queries, keys, values) = (cut(&queries), cut(&keys), cut(&values));
        let trunk = |parts: &[Tensor]| parts[0].shallow_clone();
        let mut attended =
            vec![self.trunk.attend(at, trunk(&queries), trunk(&keys), trunk(&values))];
        for (branch, mask) in (1..).zip(&self.masks) {
            let path = |parts: &[Tensor]| Tensor::cat(&[&parts[0], &parts[branch]], 0);
            let (keys, values) = (by_head(&path(&keys), 1), by_head(&path(&values), 1));
            attended.push(attend(&queries[branch], &keys, &values, mask.bias(at.sight)));
        }
        Tensor::cat(&attended, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_model::Sight;

    /// A prompt of 6 tokens and three answers, the last two of which begin alike.
    fn tree() -> Tree {
        Tree {
            tokens: vec![0; 16],
            positions: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 6, 7, 8, 9, 8, 9].to_vec(),
            ends: [vec![16; 6], vec![10; 4], vec![16; 2], vec![14; 2], vec![16; 2]].concat(),
            predictors: Vec::new(),
        }
    }

    /// What a batch of this tree attends to; with whole trees, or branch by branch.
    fn attended(scores_per_branch: usize, sight: Sight, states: &[Tensor; 3]) -> Tensor {
        let mut trees = Trees { scores_per_branch, buckets: Vec::new() };
        trees.push_all(&[tree()]);
        assert_eq!(trees.buckets[0].branches.is_empty(), scores_per_branch > 0);
        let (kind, device) = (Kind::Float, tch::Device::Cpu);
        let masking = Masking { group: 2, window: Some(3), kind, device };
        let [queries, keys, values] = states.each_ref().map(Tensor::shallow_clone);
        TreeAttention::new(&trees, &masking).attend(
            LayerSight { layer: 0, sight },
            queries,
            keys,
            values,
        )
    }

    /// The same, path by path: the values of the tokens seen, weighed by hand.
    fn by_hand(window: usize, [queries, keys, values]: &[Tensor; 3]) -> Tensor {
        let tree = tree();
        let row = |at: usize| {
            let on_path = |&up: &usize| at < tree.ends[up];
            let near = |&up: &usize| tree.positions[at] - tree.positions[up] < window;
            let seen = (0..=at).filter(on_path).filter(near).map(|up| up as i64);
            let seen = Tensor::from_slice(&seen.collect::<Vec<_>>());
            let of = |states: &Tensor| states.index_select(0, &seen).squeeze_dim(1); // one head
            let logprobs = queries.get(at as i64).matmul(&of(keys).tr());
            logprobs.softmax(-1, Kind::Float).matmul(&of(values)).view([-1])
        };
        Tensor::stack(&(0..tree.tokens.len()).map(row).collect::<Vec<_>>(), 0)
    }

    #[test]
    fn a_window_is_counted_along_the_path_of_a_token_in_whole_trees_and_branch_by_branch() {
        let states = [2, 1, 1].map(|heads| {
            let wave = Tensor::arange(16 * heads * 4, tch::kind::FLOAT_CPU) * 0.7;
            (wave + heads).sin().view([16, heads, 4])
        });
        for (sight, window) in [(Sight::All, 16), (Sight::Window, 3)] {
            let expected = by_hand(window, &states);
            for scores_per_branch in [0, 1 << 20] {
                let output = attended(scores_per_branch, sight, &states);
                let apart = (output - &expected).abs().max().double_value(&[]);
                assert!(apart < 1e-6, "{sight:?} {scores_per_branch}: {apart}");
            }
        }
    }
}
