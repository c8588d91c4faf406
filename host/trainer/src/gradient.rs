//! The gradient of a mini-batch, micro-batch by micro-batch.
//!
//! Micro-batches may run on several threads, but what they contribute to a
//! weight's gradient is added in the order of the micro-batches: a thread
//! waits for its turn, layer by layer. So the sum does not depend on the
//! threads, and there is one gradient in memory and not one per thread.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tch::{Kind, Tensor};

use super::TrainerError;
use super::objective::{Measured, Objective};
use super::pack::MicroBatch;
use super::pass::{self, Weights};
use troupe_core::parallel;
use troupe_model::Policy;

/// A policy that learns, and from what.
#[derive(Clone, Copy)]
pub(super) struct Learner<'a> {
    pub(super) policy: &'a Policy,
    /// For the KL penalty; all learners have one or none has.
    pub(super) reference: Option<&'a Policy>,
    pub(super) objective: &'a (dyn Objective + Sync),
}

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

/// Gradients that micro-batches add to, in their order.
pub(super) struct Sum {
    state: Mutex<SumState>,
    moved: Condvar,
}

struct SumState {
    buffers: Vec<Tensor>,
    /// The blocks of all learners, views of the buffers.
    blocks: Vec<Tensor>,
    /// Which micro-batch's turn it is at each stage of the model.
    turns: Vec<usize>,
    /// A thread gave up, so turns no longer come.
    broken: bool,
}

impl Sum {
    fn new(learners: &[Learner], stages: usize) -> Result<Self, TrainerError> {
        let (mut buffers, mut blocks) = (Vec::new(), Vec::new());
        for learner in learners {
            let parameters = learner.policy.trainable();
            let like = parameters.buffer();
            let buffer = Tensor::f_zeros(like.size(), (Kind::Float, like.device()))?;
            blocks.extend(parameters.blocks(&buffer));
            buffers.push(buffer);
        }
        let state = SumState { buffers, blocks, turns: vec![0; stages], broken: false };
        Ok(Sum { state: Mutex::new(state), moved: Condvar::new() })
    }

    /// Add a stage's gradients once all earlier turns have added theirs. Weights
    /// that the stage does not read have undefined ones.
    pub(super) fn add(
        &self,
        turn: usize,
        stage: usize,
        gradients: &[Tensor],
    ) -> Result<(), TrainerError> {
        let early = |state: &mut SumState| !state.broken && state.turns[stage] != turn;
        let waited = self.moved.wait_while(self.lock(), early);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if state.broken {
            return Ok(());
        }
        for (block, gradient) in state.blocks.iter_mut().zip(gradients) {
            if gradient.defined() {
                let _ = block.f_add_(gradient)?;
            }
        }
        state.turns[stage] += 1;
        drop(state);
        self.moved.notify_all();
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, SumState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn into_buffers(self) -> Vec<Tensor> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).buffers
    }
}

/// Dropped when a thread fails or panics: the others must not wait for its turns.
struct Alarm<'a>(&'a Sum);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.lock().broken = true;
        self.0.moved.notify_all();
    }
}
