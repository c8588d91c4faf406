//! The gradient of a mini-batch, micro-batch by micro-batch.
//!
//! Micro-batches may run on several threads; their gradients are added up in
//! the order of the micro-batches, so the sum does not depend on the threads.

use tch::{Kind, Tensor};

use super::TrainerError;
use super::loss::{Measured, Objective};
use super::pack::MicroBatch;
use crate::policy::{Ensemble, Policy};

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
    reference: Option<&Policy>,
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
    reference: Option<&Policy>,
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
                let recording = Ensemble::recording(&[policy]);
                let reference = reference.map(|reference| Ensemble::of(&[reference]));
                scope.spawn(move || share(recording, reference, batch, objective))
            })
            .collect();
        let recording = Ensemble::recording(&[policy]);
        let reference = reference.map(|reference| Ensemble::of(&[reference]));
        let mut shares = vec![share(recording, reference, first, objective)?];
        for other in others {
            shares.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(shares)
    })
}

fn share(
    (recording, leaves): (Ensemble, Vec<Vec<Tensor>>),
    reference: Option<Ensemble>,
    batch: &MicroBatch,
    objective: &impl Objective,
) -> Result<Share, TrainerError> {
    let pack = batch.pack(recording.decoder());
    let reference = reference
        .map(|reference| tch::no_grad(|| pack.score(&reference, objective.sampling()).chosen));
    let scores = pack.score(&recording, objective.sampling());
    let (loss, measures) = objective.loss(batch, &scores, reference.as_ref());
    let gradients = Tensor::f_run_backward(&[loss], &leaves[0], false, false)?;
    Ok((gradients, measures.read()?))
}
