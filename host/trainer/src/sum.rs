//! The sum of gradients over a mini-batch.
//!
//! Micro-batches may run on several threads, but what they contribute to a
//! weight's gradient is added in the order of the micro-batches: a thread
//! waits for its turn, layer by layer. So the sum does not depend on the
//! threads, and there is one gradient in memory and not one per thread.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tch::{Kind, Tensor};

use crate::error::TrainerError;
use crate::learner::Learner;

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
    pub(super) fn new(learners: &[Learner], stages: usize) -> Result<Self, TrainerError> {
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

    pub(super) fn into_buffers(self) -> Vec<Tensor> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).buffers
    }
}

/// Dropped when a thread fails or panics: the others must not wait for its turns.
pub(super) struct Alarm<'a>(pub(super) &'a Sum);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.lock().broken = true;
        self.0.moved.notify_all();
    }
}
