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

use std::collections::HashMap;

use tch::{Kind, Tensor};

use super::TrainerError;
use super::fused::{self, Part, Settings};
use crate::config::{Choice, TrainConfig};
use crate::parallel;
use crate::policy::{Parameters, Slot};

/// Numbers that a thread handles at once. The cuts between pieces do not
/// depend on the threads, so the results do not, either.
const PIECE: i64 = 1 << 22;

/// State of the optimizer: everything is laid out as the parameters are.
#[derive(Debug)]
pub(super) struct AdamW {
    slots: Vec<Slot>,
    pieces: Vec<Piece>,
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

/// A part of the buffer that is decayed as a whole or not at all.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    offset: i64,
    length: i64,
    decays: bool,
}

impl Piece {
    fn of(&self, buffer: &Tensor) -> Tensor {
        buffer.narrow(0, self.offset, self.length)
    }
}

/// Cut a buffer of `length` numbers. What lies between blocks is zero and
/// stays so, so it may go with either neighbour.
fn pieces(slots: &[Slot], length: i64) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (index, slot) in slots.iter().enumerate() {
        let end = slots.get(index + 1).map_or(length, Slot::offset);
        let decays = slot.shape().len() > 1;
        let mut offset = slot.offset();
        while offset < end {
            let room = |last: &Piece| (last.decays == decays).then_some(PIECE - last.length);
            let room = pieces.last().and_then(room).unwrap_or(0);
            let taken = (end - offset).min(if room > 0 { room } else { PIECE });
            match pieces.last_mut() {
                Some(last) if room > 0 => last.length += taken,
                _ => pieces.push(Piece { offset, length: taken, decays }),
            }
            offset += taken;
        }
    }
    pieces
}

impl AdamW {
    /// For weights laid out as `parameters`.
    pub(super) fn new(parameters: &Parameters, config: &TrainConfig) -> Result<Self, TrainerError> {
        let buffer = parameters.buffer();
        let device = match config.offload_optimizer {
            Choice::On => tch::Device::Cpu,
            Choice::Auto | Choice::Off => buffer.device(),
        };
        let zeros = || Tensor::f_zeros(buffer.size(), (Kind::Float, device));
        let master = match buffer.kind() {
            Kind::Float => None,
            _ => Some(buffer.f_to_device(device)?.f_to_kind(Kind::Float)?),
        };
        Ok(AdamW {
            slots: parameters.slots().to_vec(),
            pieces: pieces(parameters.slots(), buffer.size()[0]),
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

    /// One step down the gradient, which is used up.
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
        let mut buffer = parameters.buffer().shallow_clone();
        // The buffer itself, unless it is of other bits or on another device.
        let weights = match &self.master {
            Some(master) => master.shallow_clone(),
            None => buffer.f_to_device(device)?,
        };
        let settings = Settings {
            steps: self.steps as f64,
            learning_rate,
            beta1: self.beta1,
            beta2: self.beta2,
            weight_decay: self.weight_decay,
            epsilon: self.epsilon,
            gradient_scale: (gradient_norm / self.max_norm).max(1.0),
        };
        self.descend(&weights, &gradient, &settings, threads)?;
        if weights.data_ptr() != buffer.data_ptr() {
            buffer.f_copy_(&weights)?;
        }
        Ok(Step::Made { gradient_norm })
    }

    /// A number that changes when any of the weights does: the sum of their bits.
    pub(super) fn fingerprint(&self, parameters: &Parameters) -> Result<i64, TrainerError> {
        let weights = self.master.as_ref().unwrap_or(parameters.buffer());
        let bits = weights.f_view_dtype(Kind::Int)?;
        Ok(bits.f_sum(Kind::Int64)?.f_int64_value(&[])?)
    }

    /// L2 norm, piece by piece.
    fn norm(&self, gradient: &Tensor, threads: usize) -> Result<f64, TrainerError> {
        let parts = self.pieces.iter().map(|piece| piece.of(gradient)).collect();
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
        settings: &Settings,
        threads: usize,
    ) -> Result<(), TrainerError> {
        let part = |piece: &Piece| Part {
            weights: piece.of(weights),
            gradient: piece.of(gradient),
            first: piece.of(&self.first),
            second: piece.of(&self.second),
        };
        for decays in [true, false] {
            let pieces = self.pieces.iter().filter(|piece| piece.decays == decays);
            let weight_decay = if decays { settings.weight_decay } else { 0.0 };
            let settings = Settings { weight_decay, ..*settings };
            over_threads(pieces.map(part).collect(), threads, |parts: &mut [Part]| {
                fused::step(parts, &settings)
            })?;
        }
        Ok(())
    }

    /// Steps made.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// A copy that goes on independently.
    pub(super) fn duplicate(&self) -> Result<Self, TrainerError> {
        let copy = |tensor: &Tensor| -> Result<Tensor, tch::TchError> {
            let mut copy = tensor.f_empty_like()?;
            copy.f_copy_(tensor)?;
            Ok(copy)
        };
        Ok(AdamW {
            slots: self.slots.clone(),
            pieces: self.pieces.clone(),
            first: copy(&self.first)?,
            second: copy(&self.second)?,
            master: self.master.as_ref().map(copy).transpose()?,
            ..*self
        })
    }

    /// The state by name: `first.<parameter>`, `second.<parameter>` and, for
    /// policies kept in fewer than 32 bits, `master.<parameter>`.
    pub(super) fn state(&self) -> Vec<(String, Tensor)> {
        self.named().map(|(name, view)| (name, view.shallow_clone())).collect()
    }

    /// Take over a state.
    pub(super) fn restore(
        &mut self,
        state: &HashMap<String, Tensor>,
        steps: u64,
    ) -> Result<(), String> {
        for (name, view) in self.named() {
            restore_tensor(state, &name, view)?;
        }
        if state.len() != self.named().count() {
            return Err("it has tensors this policy does not have".to_owned());
        }
        self.steps = steps;
        Ok(())
    }

    fn named(&self) -> impl Iterator<Item = (String, Tensor)> {
        let buffers = [
            ("first", Some(&self.first)),
            ("second", Some(&self.second)),
            ("master", self.master.as_ref()),
        ];
        let buffers = buffers.into_iter().filter_map(|(kind, buffer)| Some((kind, buffer?)));
        buffers.flat_map(|(kind, buffer)| {
            self.slots
                .iter()
                .map(move |slot| (format!("{kind}.{}", slot.name()), slot.view(buffer)))
        })
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

/// Copy the tensor called `name` into `target`.
pub(super) fn restore_tensor(
    state: &HashMap<String, Tensor>,
    name: &str,
    mut target: Tensor,
) -> Result<(), String> {
    let found = state.get(name).ok_or_else(|| format!("tensor `{name}` is missing"))?;
    if found.size() != target.size() {
        return Err(format!(
            "tensor `{name}` has shape {:?} instead of {:?}",
            found.size(),
            target.size()
        ));
    }
    target.f_copy_(found).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PolicyConfig;
    use crate::policy::{Device, Policy};
    use crate::seed::Seed;

    fn policy() -> Policy {
        Policy::random(&PolicyConfig::default(), &[], Seed::new(1), Device::cpu()).unwrap()
    }

    fn config() -> TrainConfig {
        TrainConfig {
            beta1: 0.9,
            beta2: 0.98,
            epsilon: 1e-8,
            max_gradient_norm: 1e9,
            ..TrainConfig::default()
        }
    }

    #[test]
    fn two_steps_are_those_worked_out_by_hand() {
        let mut policy = policy();
        let _ = policy.trainable().buffer().shallow_clone().fill_(1.0);
        let mut optimizer =
            AdamW::new(policy.trainable(), &TrainConfig { weight_decay: 0.1, ..config() }).unwrap();
        let (mut weight, mut first, mut second) = (1.0_f64, 0.0, 0.0);
        for (step, gradient) in [(1, 0.5_f64), (2, -2.0)] {
            let full = policy.trainable().buffer().full_like(gradient);
            optimizer.step(policy.trainable_mut(), full, 0.01, 2).unwrap();
            first = 0.9 * first + 0.1 * gradient;
            second = 0.98 * second + 0.02 * gradient * gradient;
            let (m, v) = (first / (1.0 - 0.9_f64.powi(step)), second / (1.0 - 0.98_f64.powi(step)));
            weight = weight * (1.0 - 0.01 * 0.1) - 0.01 * m / (v.sqrt() + 1e-8);
            let found = policy.trainable().buffer().get(0).double_value(&[]);
            assert!((found - weight).abs() < 1e-6, "{found} {weight}");
        }
        assert_eq!(optimizer.steps(), 2);
    }

    #[test]
    fn decay_leaves_norms_alone() {
        let mut policy = policy();
        let _ = policy.trainable().buffer().shallow_clone().fill_(1.0);
        let mut optimizer =
            AdamW::new(policy.trainable(), &TrainConfig { weight_decay: 0.5, ..config() }).unwrap();
        let none = policy.trainable().buffer().zeros_like();
        optimizer.step(policy.trainable_mut(), none, 0.1, 1).unwrap();
        for (slot, tensor) in policy.trainable().tensors() {
            let expected = if slot.name().contains("norm") { 1.0 } else { 0.95 };
            assert!((tensor.min().double_value(&[]) - expected).abs() < 1e-6, "{}", slot.name());
        }
    }

    #[test]
    fn gradients_are_clipped_and_broken_ones_skipped() {
        let mut policy = policy();
        let mut optimizer =
            AdamW::new(policy.trainable(), &TrainConfig { max_gradient_norm: 1.0, ..config() })
                .unwrap();
        let full = policy.trainable().buffer().full_like(0.3);
        let norm = full.norm().double_value(&[]);
        let made = optimizer.step(policy.trainable_mut(), full, 0.0, 1).unwrap();
        let Step::Made { gradient_norm } = made else { panic!("{made:?}") };
        assert!((gradient_norm / norm - 1.0).abs() < 1e-3, "{gradient_norm} {norm}");
        let clipped = optimizer.first.norm().double_value(&[]) / 0.1;
        assert!((clipped - 1.0).abs() < 1e-3, "{clipped}");
        let before = policy.digest().unwrap();
        let broken = policy.trainable().buffer().full_like(f64::NAN);
        assert_eq!(optimizer.step(policy.trainable_mut(), broken, 0.1, 1).unwrap(), Step::Skipped);
        assert_eq!((policy.digest().unwrap(), optimizer.steps()), (before, 1));
    }
}
