//! From hidden states to the log-probabilities of targets.
//!
//! The head makes a number for every token of the vocabulary, which for large
//! vocabularies is far more than anything else in the model. So it works on a
//! *chunk* of targets at a time, and no more than a chunk's logits exist.

use std::collections::BTreeSet;

use tch::{Kind, Tensor};

use crate::allowed::allowed;
use crate::error::TrainerError;
use crate::pack::Chunk;
use troupe_model::{Decoder, Sampling, confine, log_probabilities, penalize};

/// Bytes of a chunk's logits: enough for products to run at full speed, and on
/// a CPU so few that the allocator keeps the memory from chunk to chunk.
const CPU_LOGITS: usize = 28 << 20;
const GPU_LOGITS: usize = 512 << 20;

/// Targets whose logits are computed at once.
pub(super) fn chunk_targets(vocabulary: usize, gpu: bool) -> usize {
    let bytes = if gpu { GPU_LOGITS } else { CPU_LOGITS };
    (bytes / (4 * vocabulary)).max(1)
}

/// What the model makes of a chunk.
pub(super) struct LogProbs {
    /// Log-probabilities of the targets: `[targets]`.
    pub(super) chosen: Tensor,
    /// Log-probabilities of all tokens: `[distributions, vocabulary]`.
    pub(super) all: Tensor,
    /// Which distribution a target comes from: `[targets]`.
    pub(super) sources: Tensor,
}

impl LogProbs {
    /// Score the targets under the distributions they were drawn from: each in
    /// one of the `ways`. `states` `[chunk's predictors, hidden]` are what the
    /// last layer makes of them.
    ///
    /// # Errors
    /// If one of them could not have been drawn in its way.
    pub(super) fn of(
        decoder: &Decoder,
        states: &Tensor,
        chunk: &Chunk,
        ways: &[Sampling],
    ) -> Result<LogProbs, TrainerError> {
        let logits = decoder.logits(&decoder.finish(states)); // [predictors, vocabulary]
        let used: BTreeSet<usize> = chunk.targets.iter().map(|target| target.way).collect();
        let in_way = |way| LogProbs::in_one_way(&logits, chunk, (way, &ways[way]));
        let mut used = used.into_iter();
        let mut all = in_way(used.next().unwrap_or(0))?;
        for way in used {
            all = all.or(&in_way(way)?, chunk, way);
        }
        Ok(all)
    }

    /// These, and `of_way` for the targets that were drawn in its way.
    fn or(self, of_way: &LogProbs, chunk: &Chunk, way: usize) -> LogProbs {
        let in_way: Vec<bool> = chunk.targets.iter().map(|target| target.way == way).collect();
        let in_way = Tensor::from_slice(&in_way).to_device(self.chosen.device());
        let behind = &of_way.sources + self.all.size()[0];
        LogProbs {
            chosen: of_way.chosen.where_self(&in_way, &self.chosen),
            all: Tensor::cat(&[&self.all, &of_way.all], 0),
            sources: behind.where_self(&in_way, &self.sources),
        }
    }

    fn in_one_way(
        logits: &Tensor,
        chunk: &Chunk,
        (way, sampling): (usize, &Sampling),
    ) -> Result<LogProbs, TrainerError> {
        let mut logits = logits.shallow_clone();
        let vocabulary = logits.size()[1];
        let (mut sources, ids) = chunk.sources_and_ids(logits.device());
        let mut kept = None;
        let is_confined = sampling.constraint.is_some();
        if sampling.truncates(vocabulary) || sampling.penalizes() || is_confined {
            // What is cut off depends on the target, and what was said before and
            // what may be said too: each has its own distribution.
            logits = logits.index_select(0, &sources);
            sources = Tensor::arange(sources.size()[0], (Kind::Int64, sources.device()));
            kept = Some(&ids);
        }
        if sampling.penalizes() {
            let seen = chunk.seen(vocabulary, logits.device());
            logits = penalize(&logits, &seen, sampling.repetition_penalty);
        }
        if is_confined {
            let gpu = logits.device().is_cuda();
            logits = confine(&logits, &allowed(chunk, way, vocabulary, gpu)?);
        }
        let all = log_probabilities(&logits, sampling, kept);
        let chosen = all.view([-1]).index_select(0, &(&sources * vocabulary + &ids));
        Ok(LogProbs { chosen, all, sources })
    }

    /// Entropy of each target's distribution in nats: `[targets]`.
    pub(super) fn entropy(&self) -> Tensor {
        let entropy = -(self.all.exp() * &self.all).sum_dim_intlist(-1, false, Kind::Float);
        entropy.index_select(0, &self.sources)
    }
}
