//! Attention within trees of answers.
//!
//! A dense mask over a tree computes a score for every pair of its tokens,
//! though answers do not see each other. Where that is most of the work, each
//! branch is compared with the trunk and itself alone.

use std::ops::Range;

use tch::{Kind, Tensor};

use super::bundle::Tree;
use crate::policy::{Attention, SelfAttention, attend, bias_of, by_head};

/// A tree joins a bucket of longer ones if it has this share of their length,
/// in eighths: it is padded to them.
const LEAST_EIGHTHS: usize = 6;
/// Scores in whose time a branch's own operations are started.
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
                    self.buckets.push(Bucket { length, ends: Vec::new(), branches });
                    let last = self.buckets.len() - 1;
                    &mut self.buckets[last]
                }
            };
            first = false;
            bucket.ends.extend(tree.ends.iter().map(|&end| end as i64));
            bucket.ends.extend((length..bucket.length).map(|padding| padding as i64 + 1)); // sees itself
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
        let own = |branch: &Range<usize>| branch.len() * (trunk + branch.len());
        let apart = trunk * trunk + branches.iter().map(own).sum::<usize>();
        let cheaper = apart + branches.len() * self.scores_per_branch < length * length;
        if cheaper { branches } else { Vec::new() }
    }
}

/// See the module's documentation.
pub(super) struct TreeAttention {
    parts: Vec<Part>,
    rows: Vec<i64>,
}

enum Part {
    Dense(SelfAttention),
    Branching(Branching),
}

impl TreeAttention {
    /// For weights like `like`, where `group` query heads share a key head.
    pub(super) fn new(trees: &Trees, group: i64, like: &Tensor) -> Self {
        let count = |bucket: &Bucket| bucket.ends.len() as i64;
        TreeAttention {
            parts: trees.buckets.iter().map(|bucket| Part::of(bucket, group, like)).collect(),
            rows: trees.buckets.iter().map(count).collect(),
        }
    }
}

impl Part {
    fn of(bucket: &Bucket, group: i64, like: &Tensor) -> Self {
        let length = bucket.length as i64;
        let at = Tensor::arange(length, (Kind::Int64, like.device()));
        let ends = Tensor::from_slice(&bucket.ends).to_device(like.device()).view([-1, 1, length]);
        let seen = |asking: Range<i64>, asked: Range<i64>| {
            let part = |range: &Range<i64>| at.narrow(0, range.start, range.end - range.start);
            let ends = ends.narrow(2, asked.start, asked.end - asked.start);
            let (asking, asked) = (part(&asking).view([1, -1, 1]), part(&asked).view([1, 1, -1]));
            asking.ge_tensor(&asked).logical_and(&asking.lt_tensor(&ends)) // [trees, asking, asked]
        };
        let Some(first) = bucket.branches.first() else {
            let count = ends.size()[0];
            let seen = seen(0..length, 0..length);
            return Part::Dense(SelfAttention::among(count, &seen, group, like.kind()));
        };
        let trunk = first.start as i64;
        let biases = bucket.branches.iter().map(|branch| {
            let branch = branch.start as i64..branch.end as i64;
            let own = seen(branch.clone(), branch.clone());
            let above = own.new_ones([1, own.size()[1], trunk], (Kind::Bool, own.device()));
            let bias = bias_of(&Tensor::cat(&[above, own], 2), like.kind());
            bias.repeat_interleave_self_int(group, 1, None).unsqueeze(1)
        });
        let lengths = bucket.branches.iter().map(|branch| branch.len() as i64);
        Part::Branching(Branching {
            trunk: SelfAttention::among(1, &seen(0..trunk, 0..trunk), group, like.kind()),
            biases: biases.collect(),
            rows: std::iter::once(trunk).chain(lengths).collect(),
        })
    }

    fn attend(&mut self, layer: usize, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        match self {
            Part::Dense(attention) => attention.attend(layer, queries, keys, values),
            Part::Branching(attention) => attention.attend(layer, queries, keys, values),
        }
    }
}

impl Attention for TreeAttention {
    fn attend(&mut self, layer: usize, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        if let [part] = &mut self.parts[..] {
            return part.attend(layer, queries, keys, values);
        }
        let cut = |states: Tensor| states.split_with_sizes(self.rows.as_slice(), 0).into_iter();
        let states = cut(queries).zip(cut(keys)).zip(cut(values));
        let attended: Vec<Tensor> = (self.parts.iter_mut().zip(states))
            .map(|(part, ((queries, keys), values))| part.attend(layer, queries, keys, values))
            .collect();
        Tensor::cat(&attended, 0)
    }
}

/// One tree whose branches are attended one by one.
struct Branching {
    trunk: SelfAttention,
    biases: Vec<Tensor>, // [1, 1, length · group, trunk + length] each
    rows: Vec<i64>,      // of the trunk and of each branch
}

impl Attention for Branching {
    fn attend(&mut self, layer: usize, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        let cut = |states: &Tensor| states.split_with_sizes(self.rows.as_slice(), 0);
        let (queries, keys, values) = (cut(&queries), cut(&keys), cut(&values));
        let own = |parts: &[Tensor]| parts[0].shallow_clone();
        let mut attended = vec![self.trunk.attend(layer, own(&queries), own(&keys), own(&values))];
        for (branch, bias) in (1..).zip(&self.biases) {
            let path = |parts: &[Tensor]| Tensor::cat(&[&parts[0], &parts[branch]], 0);
            let (keys, values) = (by_head(&path(&keys), 1), by_head(&path(&values), 1));
            attended.push(attend(&queries[branch], &keys, &values, bias));
        }
        Tensor::cat(&attended, 0)
    }
}
