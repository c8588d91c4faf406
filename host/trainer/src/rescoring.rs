//! Samples scored again, as the training graph scores them.

use tch::Tensor;

use crate::allowed::automata;
use crate::bundle::{self, Bundle};
use crate::error::TrainerError;
use crate::logprobs::LogProbs;
use crate::pack::{MicroBatch, Target, micro_batches};
use crate::pass::{chunks, scored};
use crate::ranks::Ranks;
use crate::shares;
use troupe_core::parallel;
use troupe_core::trajectory::Sample;
use troupe_model::{Policy, SamplingByRole, SharedBase, attempt};

/// Log-probabilities of the tokens of each policy's samples, in the order of
/// the samples: what `--verify-logprobs` compares. Policies over one base go
/// through it together, `microbatch_tokens` at a time.
///
/// All ranks share the work and know what came of it.
///
/// # Errors
/// If libtorch fails, or a rank is lost.
pub fn rescore(
    ranks: &Ranks,
    policies: &[(&Policy, Vec<&Sample>)],
    sampling: &SamplingByRole,
    microbatch_tokens: usize,
) -> Result<Vec<Vec<Vec<f32>>>, TrainerError> {
    let zeros = |sample: &&Sample| vec![0.0; sample.completion.tokens.len()];
    let mut logprobs: Vec<Vec<Vec<f32>>> =
        policies.iter().map(|(_, samples)| samples.iter().map(zeros).collect()).collect();
    if sampling.ways().iter().any(|way| way.temperature == 0.0) {
        return Ok(logprobs);
    }
    let chosen = |logprobs: LogProbs| logprobs.chosen;
    read_logprobs(
        ranks,
        policies,
        sampling,
        microbatch_tokens,
        chosen,
        |policy, target, score| {
            logprobs[policy][target.row][target.token] = score[0];
        },
    )?;
    shares::fill_in(ranks, logprobs.iter_mut().flatten().map(|list| &mut list[..]))?;
    Ok(logprobs)
}

/// Have every policy score its samples; `read` makes rows of numbers of the
/// scores, one row for each target, and `visit` is shown each row with the
/// index of its policy. A target's `row` is the sample's place among the policy's.
/// Each rank reads its share.
pub(super) fn read_logprobs(
    ranks: &Ranks,
    policies: &[(&Policy, Vec<&Sample>)],
    sampling: &SamplingByRole,
    microbatch_tokens: usize,
    read: impl Fn(LogProbs) -> Tensor + Sync,
    mut visit: impl FnMut(usize, &Target, &[f32]),
) -> Result<(), TrainerError> {
    let automata = policies.iter().map(|(policy, _)| automata(policy, sampling));
    let automata = automata.collect::<Result<Vec<_>, _>>()?;
    let bundles: Vec<Vec<Bundle>> = (policies.iter().zip(&automata))
        .map(|((_, samples), automata)| {
            bundle::of_samples(samples.iter().copied(), sampling, automata)
        })
        .collect();
    for group in groups(policies) {
        let members: Vec<&Policy> = group.iter().map(|&index| policies[index].0).collect();
        let numbered: Vec<(usize, &Bundle)> = (group.iter().enumerate())
            .flat_map(|(member, &index)| bundles[index].iter().map(move |bundle| (member, bundle)))
            .collect();
        let share = shares::share_of(ranks, &numbered);
        let batches = micro_batches(&share, microbatch_tokens, members[0]);
        let threads = if members[0].device().is_gpu() { 1 } else { members[0].threads() };
        let workers: Vec<SharedBase> = (0..threads.clamp(1, batches.len().max(1)))
            .map(|_| Policy::shared_base(&members))
            .collect();
        let rows = parallel::try_with(workers, batches, |shared_base, batch| {
            attempt(|| rows(shared_base, &batch, sampling, &read))
        })?;
        for Rows { learner, targets, numbers } in rows.iter().flatten() {
            let width = numbers.len() / targets.len().max(1);
            for (target, row) in targets.iter().zip(numbers.chunks(width.max(1))) {
                visit(group[*learner], target, row);
            }
        }
    }
    Ok(())
}

/// What was read of the scores of a learner's targets, a row of as many numbers for each.
struct Rows<'a> {
    learner: usize,
    targets: Vec<Target<'a>>,
    numbers: Vec<f32>,
}

/// Score a micro-batch.
fn rows<'a>(
    shared_base: &SharedBase,
    batch: &MicroBatch<'_, 'a>,
    sampling: &SamplingByRole,
    read: impl Fn(LogProbs) -> Tensor,
) -> Result<Vec<Rows<'a>>, TrainerError> {
    let _guard = tch::no_grad_guard();
    let (pack, mut attention) = batch.pack(shared_base.decoder());
    let numbers = scored(shared_base, &pack, &mut attention, sampling.ways(), read)?;
    let chunks = chunks(&pack, shared_base).into_iter().zip(numbers);
    let rows = chunks.map(|(chunk, numbers)| {
        let (learner, targets) = (chunk.learner, chunk.targets.to_vec());
        Ok(Rows { learner, targets, numbers: Vec::<f32>::try_from(numbers.f_view([-1])?)? })
    });
    rows.collect()
}

/// Indices of policies that share a base, together.
fn groups(policies: &[(&Policy, Vec<&Sample>)]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, (policy, _)) in policies.iter().enumerate() {
        match groups.iter_mut().find(|group| policies[group[0]].0.shares_base(policy)) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}
