//! The gradient of a mini-batch, micro-batch by micro-batch.
//!
//! Micro-batches may run on several threads; their gradients are added up in
//! the order of the micro-batches, so the sum does not depend on the threads.

use tch::{Kind, Tensor};

use super::TrainerError;
use super::loss::{Measured, Objective};
use super::pack::MicroBatch;
use crate::policy::{Decoder, Policy};

/// The sum over a mini-batch.
pub(super) struct Gradient {
    /// Laid out as the policy's parameters, in 32 bits.
    pub(super) buffer: Tensor,
    pub(super) measured: Measured,
}

/// What one micro-batch adds.
type Share = (Vec<Tensor>, Measured);

/// Gradient of `objective` with respect to what of `policy` is trained.
pub(super) fn gradient(
    policy: &Policy,
    reference: Option<&Decoder>,
    batches: &[MicroBatch],
    objective: &(impl Objective + Sync),
) -> Result<Gradient, TrainerError> {
    let parameters = policy.trainable();
    let buffer = parameters.buffer().zeros_like().to_kind(Kind::Float);
    let blocks = parameters.blocks(&buffer);
    let mut measured = Measured::default();
    let threads = if policy.device().is_gpu() { 1 } else { policy.threads() };
    for round in batches.chunks(threads) {
        for (gradients, more) in shares(policy, reference, round, objective)? {
            for (block, gradient) in blocks.iter().zip(gradients) {
                let _ = block.shallow_clone().f_add_(&gradient)?;
            }
            measured.add(&more);
        }
    }
    Ok(Gradient { buffer, measured })
}

/// One micro-batch per thread.
fn shares(
    policy: &Policy,
    reference: Option<&Decoder>,
    batches: &[MicroBatch],
    objective: &(impl Objective + Sync),
) -> Result<Vec<Share>, TrainerError> {
    std::thread::scope(|scope| {
        let (first, others) = match batches {
            [first, others @ ..] => (first, others),
            [] => return Ok(Vec::new()),
        };
        let others: Vec<_> = others
            .iter()
            .map(|batch| {
                let (decoder, reference) =
                    (policy.decoder().share(), reference.map(Decoder::share));
                scope.spawn(move || share(&decoder, reference.as_ref(), batch, objective))
            })
            .collect();
        let mut shares = vec![share(policy.decoder(), reference, first, objective)?];
        for other in others {
            shares.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(shares)
    })
}

fn share(
    decoder: &Decoder,
    reference: Option<&Decoder>,
    batch: &MicroBatch,
    objective: &impl Objective,
) -> Result<Share, TrainerError> {
    let (recording, leaves) = decoder.recording();
    let pack = batch.pack(decoder);
    let reference =
        reference.map(|decoder| tch::no_grad(|| pack.score(decoder, objective.sampling()).chosen));
    let scores = pack.score(&recording, objective.sampling());
    let (loss, measures) = objective.loss(batch, &scores, reference.as_ref());
    let gradients = Tensor::f_run_backward(&[loss], &leaves, false, false)?;
    Ok((gradients, measures.read()?))
}
