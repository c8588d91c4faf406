//! What a policy was before an update, so that the update can be taken back.

use tch::{Device, Tensor};

use super::TrainerError;
use super::optimizer::OptimizerState;
use super::update::Member;

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

/// A copy in the CPU's memory.
pub(super) fn copy(tensor: &Tensor) -> Result<Tensor, tch::TchError> {
    let _guard = tch::no_grad_guard();
    let mut copy = Tensor::f_empty(tensor.size(), (tensor.kind(), Device::Cpu))?;
    copy.f_copy_(tensor)?;
    Ok(copy)
}
