//! The gradient of a mini-batch, micro-batch by micro-batch, on several threads: see `sum`.

use tch::Tensor;

use crate::error::TrainerError;
use crate::learner::Learner;
use crate::objective::Measured;
use crate::pack::MicroBatch;
use crate::pass::{self, Weights};
use crate::sum::{Alarm, Sum};
use troupe_core::parallel;

/// The sum over a mini-batch.
pub(super) struct Gradient {
    /// Laid out as the policy's parameters, in 32 bits.
    pub(super) buffer: Tensor,
    pub(super) measured: Measured,
}

/// Gradients of the learners' objectives with respect to what of each is
/// trained. The learners share a base, or there is one.
pub(super) fn gradients(
    learners: &[Learner],
    batches: &[MicroBatch],
    checkpointing: bool,
) -> Result<Vec<Gradient>, TrainerError> {
    let policy = learners[0].policy;
    let threads = if policy.device().is_gpu() { 1 } else { policy.threads() };
    let sum = Sum::new(learners, policy.decoder().depth() + 2)?;
    let measured = measure(learners, batches, checkpointing, threads.min(batches.len()), &sum)?;
    let mut totals = vec![Measured::default(); learners.len()];
    for batch in &measured {
        totals.iter_mut().zip(batch).for_each(|(total, part)| total.add(part));
    }
    let gradients = sum.into_buffers().into_iter().zip(totals);
    Ok(gradients.map(|(buffer, measured)| Gradient { buffer, measured }).collect())
}

/// Run all micro-batches; returns what was measured in each.
fn measure(
    learners: &[Learner],
    batches: &[MicroBatch],
    checkpointing: bool,
    threads: usize,
    sum: &Sum,
) -> Result<Vec<Vec<Measured>>, TrainerError> {
    // Policies stay on this thread; only their objectives are shared.
    let objectives: Vec<_> = learners.iter().map(|learner| learner.objective).collect();
    let workers = (0..threads.max(1)).map(|_| Weights::of(learners)).collect();
    parallel::try_with(workers, batches.iter().enumerate(), |weights, (turn, batch)| {
        let alarm = Alarm(sum);
        let measured = pass::run(weights, batch, &objectives, checkpointing, sum, turn)?;
        std::mem::forget(alarm);
        Ok(measured)
    })
}
