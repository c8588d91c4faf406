//! What a policy was before an update, so that the update can be taken back.

use tch::Tensor;

use crate::error::TrainerError;
use crate::member::Member;
use crate::optimizer::{OptimizerState, copy};

/// A member's weights and its optimizer's state, in the CPU's memory.
pub(super) struct Kept {
    weights: Tensor,
    optimizer: OptimizerState,
}

impl Kept {
    /// A copy of what a member is now.
    pub(super) fn of(member: &Member) -> Result<Self, TrainerError> {
        Ok(Kept {
            weights: copy(member.policy.trainable().buffer())?,
            optimizer: member.trainer.optimizer.keep()?,
        })
    }

    /// Make the member what it was.
    pub(super) fn restore(&self, member: &mut Member) -> Result<(), TrainerError> {
        member.policy.trainable_mut().buffer().shallow_clone().f_copy_(&self.weights)?;
        Ok(member.trainer.optimizer.take_back(&self.optimizer)?)
    }
}
