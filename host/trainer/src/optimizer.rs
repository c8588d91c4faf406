//! AdamW (arXiv 1711.05101, algorithm 2) on one flat buffer.
//!
//! The state is our own because libtorch's optimizers do not hand out theirs
//! through `tch`, and a run could not be resumed exactly without it. Weight
//! decay applies to matrices (embeddings included), not to the norms' weights.
//!
//! Weights that a policy keeps in 16 bits have a *master* copy in 32: what a
//! step adds to a weight is often less than its last bit in 16, and would be
//! lost. Rounding up by chance would keep it on average, but then a run would
//! depend on one more stream of random numbers, and its checkpoint would not
//! hold what the optimizer works on.
//!
//! With several processes each keeps the state of its share of the numbers only, steps these,
//! and tells the others what they have become (ZeRO's first stage, arXiv 1910.02054). The
//! arithmetic of a number does not depend on who steps it.

use std::collections::HashMap;

use tch::{Kind, Tensor};

use crate::error::TrainerError;
use crate::fingerprint::sum_of_bits;
use crate::fused::{self, AdamWSettings, Part};
use crate::part::{Piece, Stretch, pieces, shares};
use crate::ranks::Ranks;
use crate::shares::take_over;
use troupe_core::config::{Choice, TrainConfig};
use troupe_core::parallel;
use troupe_model::{Parameters, Slot};

/// State of the optimizer: laid out as the part of the parameters that is this process's.
#[derive(Debug)]
pub(super) struct AdamW {
    slots: Vec<Slot>,
    /// Of the whole buffer.
    pieces: Vec<Piece>,
    /// What of the buffer each process steps.
    shares: Vec<Stretch>,
    ranks: Ranks,
    first: Tensor,  // mean of gradients
    second: Tensor, // mean of squared gradients
    /// The weights in 32 bits, where the policy keeps them in fewer.
    master: Option<Tensor>,
    steps: u64,
    beta1: f64,
    beta2: f64,
    epsilon: f64,
    weight_decay: f64,
    max_norm: f64,
}

/// A copy of a process's part of an optimizer's state.
pub(super) struct OptimizerState {
    tensors: Vec<Tensor>,
    steps: u64,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// The weights changed.
    Made {
        /// L2 norm before clipping.
        gradient_norm: f64,
    },
    /// The gradient held infinities or NaN; nothing changed.
    Skipped,
}

impl AdamW {
    /// For weights laid out as `parameters`, which these processes step together.
    pub(super) fn new(
        parameters: &Parameters,
        config: &TrainConfig,
        ranks: &Ranks,
    ) -> Result<Self, TrainerError> {
        let buffer = parameters.buffer();
        let shares = shares(buffer.size()[0], ranks.world());
        let share = shares[ranks.rank()].of(buffer);
        let device = match config.offload_optimizer {
            Choice::On => tch::Device::Cpu,
            Choice::Auto | Choice::Off => buffer.device(),
        };
        let zeros = || Tensor::f_zeros(share.size(), (Kind::Float, device));
        let master = match buffer.kind() {
            Kind::Float => None,
            _ => Some(share.f_to_device(device)?.f_to_kind(Kind::Float)?),
        };
        Ok(AdamW {
            slots: parameters.slots().to_vec(),
            pieces: pieces(parameters.slots(), buffer.size()[0]),
            shares,
            ranks: ranks.clone(),
            first: zeros()?,
            second: zeros()?,
            master,
            steps: 0,
            beta1: config.beta1,
            beta2: config.beta2,
            epsilon: config.epsilon,
            weight_decay: config.weight_decay,
            max_norm: config.max_gradient_norm,
        })
    }

    /// One step down the gradient, which is the same for all processes and is used up.
    pub(super) fn step(
        &mut self,
        parameters: &mut Parameters,
        gradient: Tensor,
        learning_rate: f64,
        threads: usize,
    ) -> Result<Step, TrainerError> {
        let device = self.first.device();
        let threads = if device.is_cuda() { 1 } else { threads };
        let gradient = gradient.f_to_device(device)?;
        let gradient_norm = self.norm(&gradient, threads)?;
        if !gradient_norm.is_finite() {
            return Ok(Step::Skipped);
        }
        self.steps += 1;
        let mut share = self.share().of(parameters.buffer());
        // A part of the buffer itself, unless it is of other bits or on another device.
        let weights = match &self.master {
            Some(master) => master.shallow_clone(),
            None => share.f_to_device(device)?,
        };
        let settings = AdamWSettings {
            steps: self.steps as f64,
            learning_rate,
            beta1: self.beta1,
            beta2: self.beta2,
            weight_decay: self.weight_decay,
            epsilon: self.epsilon,
            gradient_scale: (gradient_norm / self.max_norm).max(1.0),
        };
        self.descend(&weights, &gradient, &settings, threads)?;
        if weights.data_ptr() != share.data_ptr() {
            share.f_copy_(&weights)?;
        }
        for (rank, share) in self.shares.iter().enumerate() {
            take_over(&self.ranks, &mut share.of(parameters.buffer()), rank)?;
        }
        Ok(Step::Made { gradient_norm })
    }

    /// The numbers of the buffer that this process steps.
    fn share(&self) -> &Stretch {
        &self.shares[self.ranks.rank()]
    }

    /// A number that changes when any of the weights that are stepped does: the sum of
    /// their bits, at all processes.
    pub(super) fn fingerprint(&self, parameters: &Parameters) -> Result<i64, TrainerError> {
        match &self.master {
            None => sum_of_bits(parameters.buffer()),
            Some(master) => {
                let parts = self.ranks.gather(sum_of_bits(master)?)?;
                Ok(parts.into_iter().fold(0, i64::wrapping_add))
            }
        }
    }

    /// L2 norm of the whole, piece by piece.
    fn norm(&self, gradient: &Tensor, threads: usize) -> Result<f64, TrainerError> {
        let parts = self.pieces.iter().map(|piece| piece.stretch.of(gradient)).collect();
        let norms = over_threads(parts, threads, |parts: &mut [Tensor]| {
            let norms: Result<Vec<_>, _> = parts.iter().map(Tensor::f_norm).collect();
            Vec::<f32>::try_from(Tensor::f_stack(&norms?, 0)?)
        })?;
        Ok(norms.into_iter().flatten().map(|norm| f64::from(norm).powi(2)).sum::<f64>().sqrt())
    }

    fn descend(
        &self,
        weights: &Tensor,
        gradient: &Tensor,
        settings: &AdamWSettings,
        threads: usize,
    ) -> Result<(), TrainerError> {
        let part = |piece: &Piece| {
            let stretch = piece.stretch.common(self.share())?;
            let local = stretch.within(self.share());
            Some(Part {
                weights: local.of(weights),
                gradient: stretch.of(gradient),
                first: local.of(&self.first),
                second: local.of(&self.second),
            })
        };
        for decays in [true, false] {
            let pieces = self.pieces.iter().filter(|piece| piece.decays == decays);
            let weight_decay = if decays { settings.weight_decay } else { 0.0 };
            let settings = AdamWSettings { weight_decay, ..*settings };
            over_threads(pieces.filter_map(part).collect(), threads, |parts: &mut [Part]| {
                fused::step(parts, &settings)
            })?;
        }
        Ok(())
    }

    /// A copy of this process's part of the state, in the CPU's memory.
    pub(super) fn keep(&self) -> Result<OptimizerState, tch::TchError> {
        let tensors = self.kinds().map(|(_, state)| copy(state)).collect::<Result<_, _>>()?;
        Ok(OptimizerState { tensors, steps: self.steps })
    }

    /// Become what was kept.
    pub(super) fn take_back(
        &mut self,
        OptimizerState { tensors, steps }: &OptimizerState,
    ) -> Result<(), tch::TchError> {
        for ((_, state), kept) in self.kinds().zip(tensors) {
            state.shallow_clone().f_copy_(kept)?;
        }
        self.steps = *steps;
        Ok(())
    }

    /// Steps made.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// A copy that goes on independently.
    pub(super) fn duplicate(&self) -> Result<Self, TrainerError> {
        let twin = |tensor: &Tensor| -> Result<Tensor, tch::TchError> {
            let mut twin = tensor.f_empty_like()?;
            twin.f_copy_(tensor)?;
            Ok(twin)
        };
        Ok(AdamW {
            slots: self.slots.clone(),
            pieces: self.pieces.clone(),
            shares: self.shares.clone(),
            ranks: self.ranks.clone(),
            first: twin(&self.first)?,
            second: twin(&self.second)?,
            master: self.master.as_ref().map(twin).transpose()?,
            ..*self
        })
    }

    /// The state by name: `first.<parameter>`, `second.<parameter>` and, for
    /// policies kept in fewer than 32 bits, `master.<parameter>`. All processes have to ask for
    /// it; rank 0 gets the state of all of them, the others nothing.
    pub(super) fn state(&self) -> Result<Vec<(String, Tensor)>, TrainerError> {
        let mut state = Vec::new();
        for (kind, part) in self.kinds() {
            let Some(whole) = self.whole(part)? else { continue };
            let named = |slot: &Slot| (format!("{kind}.{}", slot.name()), slot.view(&whole));
            state.extend(self.slots.iter().map(named));
        }
        Ok(state)
    }

    /// All processes' parts of something, at rank 0.
    fn whole(&self, own_part: &Tensor) -> Result<Option<Tensor>, TrainerError> {
        if self.ranks.is_alone() {
            return Ok(Some(own_part.shallow_clone()));
        }
        let zeros = |length| Tensor::f_zeros([length], (own_part.kind(), tch::Device::Cpu));
        let length = self.shares.iter().map(|share| share.length).sum();
        let whole = self.ranks.leads().then(|| zeros(length)).transpose()?;
        for (rank, share) in self.shares.iter().enumerate() {
            let mut part = match &whole {
                Some(whole) => share.of(whole),
                None => zeros(share.length)?,
            };
            if rank == self.ranks.rank() {
                part.f_copy_(own_part)?;
            }
            take_over(&self.ranks, &mut part, rank)?;
        }
        Ok(whole)
    }

    /// Take over this process's part of a state, which any number of processes may have left.
    pub(super) fn restore(
        &mut self,
        state: &HashMap<String, Tensor>,
        steps: u64,
    ) -> Result<(), String> {
        let mut known = 0;
        for (kind, part) in self.kinds() {
            for slot in &self.slots {
                let name = format!("{kind}.{}", slot.name());
                let saved = tensor(state, &name, slot.shape())?;
                self.restore_slot(slot, saved, part).map_err(|error| error.to_string())?;
                known += 1;
            }
        }
        if state.len() != known {
            return Err("it has tensors this policy does not have".to_owned());
        }
        self.steps = steps;
        Ok(())
    }

    /// Restore the part of a slot in this process's share.
    fn restore_slot(
        &self,
        slot: &Slot,
        saved: &Tensor,
        state: &Tensor,
    ) -> Result<(), tch::TchError> {
        let whole = Stretch { offset: slot.offset(), length: slot.shape().iter().product() };
        let Some(common) = whole.common(self.share()) else { return Ok(()) };
        let part = common.within(&whole).of(&saved.f_reshape([-1])?);
        common.within(self.share()).of(state).f_copy_(&part)
    }

    fn kinds(&self) -> impl Iterator<Item = (&'static str, &Tensor)> {
        let kinds = [
            ("first", Some(&self.first)),
            ("second", Some(&self.second)),
            ("master", self.master.as_ref()),
        ];
        kinds.into_iter().filter_map(|(kind, state)| Some((kind, state?)))
    }
}

/// Work on shares of about as many parts each, in the order of the parts.
fn over_threads<P: Send, R: Send>(
    mut parts: Vec<P>,
    threads: usize,
    work: impl Fn(&mut [P]) -> Result<R, tch::TchError> + Sync,
) -> Result<Vec<R>, TrainerError> {
    let share = parts.len().div_ceil(threads).max(1);
    Ok(parallel::try_in_order(threads, parts.chunks_mut(share), work)?)
}

/// The tensor called `name`, which has to be of this shape.
pub(super) fn tensor<'s>(
    state: &'s HashMap<String, Tensor>,
    name: &str,
    shape: &[i64],
) -> Result<&'s Tensor, String> {
    let tensor = state.get(name).ok_or_else(|| format!("tensor `{name}` is missing"))?;
    match tensor.size() == shape {
        true => Ok(tensor),
        false => Err(format!("tensor `{name}` has shape {:?} instead of {shape:?}", tensor.size())),
    }
}

/// A copy in the CPU's memory.
pub(super) fn copy(tensor: &Tensor) -> Result<Tensor, tch::TchError> {
    let _guard = tch::no_grad_guard();
    let mut copy = Tensor::f_empty(tensor.size(), (tensor.kind(), tch::Device::Cpu))?;
    copy.f_copy_(tensor)?;
    Ok(copy)
}

#[cfg(test)]
mod tests;
