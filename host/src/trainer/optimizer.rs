//! AdamW (arXiv 1711.05101, algorithm 2) on one flat buffer.
//!
//! Our own because libtorch's optimizers do not hand out their state through
//! `tch`, and a run could not be resumed exactly without it. Weight decay
//! applies to matrices (embeddings included), not to the norms' weights.

use std::collections::HashMap;

use tch::{Kind, Tensor};

use super::TrainerError;
use crate::config::TrainConfig;
use crate::policy::{Parameters, Slot};

/// State of the optimizer: everything is laid out as the parameters are.
#[derive(Debug)]
pub(super) struct AdamW {
    slots: Vec<Slot>,
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

impl AdamW {
    /// For weights laid out as `parameters`.
    pub(super) fn new(parameters: &Parameters, config: &TrainConfig) -> Result<Self, TrainerError> {
        let buffer = parameters.buffer();
        let zeros = || Tensor::f_zeros(buffer.size(), (Kind::Float, buffer.device()));
        let master = match buffer.kind() {
            Kind::Float => None,
            _ => Some(buffer.f_to_kind(Kind::Float)?),
        };
        Ok(AdamW {
            slots: parameters.slots().to_vec(),
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
        mut gradient: Tensor,
        learning_rate: f64,
    ) -> Result<Step, TrainerError> {
        let gradient_norm = gradient.f_norm()?.f_double_value(&[])?;
        if !gradient_norm.is_finite() {
            return Ok(Step::Skipped);
        }
        if gradient_norm > self.max_norm {
            let _ = gradient.f_mul_scalar_(self.max_norm / gradient_norm)?;
        }
        self.steps += 1;
        let mut buffer = parameters.buffer().shallow_clone();
        let mut weights = self.master.as_ref().unwrap_or(&buffer).shallow_clone();
        self.decay(&weights, learning_rate)?;
        let descent = self.descent(gradient, learning_rate)?;
        let _ = weights.f_sub_(&descent)?;
        if self.master.is_some() {
            buffer.f_copy_(&weights)?;
        }
        Ok(Step::Made { gradient_norm })
    }

    fn decay(&self, weights: &Tensor, learning_rate: f64) -> Result<(), TrainerError> {
        if self.weight_decay != 0.0 {
            for slot in self.slots.iter().filter(|slot| slot.shape().len() > 1) {
                let _ =
                    slot.view(weights).f_mul_scalar_(1.0 - learning_rate * self.weight_decay)?;
            }
        }
        Ok(())
    }

    /// η·m̂ / (√v̂ + ε). The gradient's memory is reused on the way.
    fn descent(
        &mut self,
        mut gradient: Tensor,
        learning_rate: f64,
    ) -> Result<Tensor, TrainerError> {
        let corrected = |beta: f64| 1.0 - beta.powf(self.steps as f64);
        let (first, second) = (corrected(self.beta1), corrected(self.beta2));
        let _ = self.first.f_lerp_(&gradient, 1.0 - self.beta1)?;
        let _ = gradient.f_square_()?;
        let _ = self.second.f_lerp_(&gradient, 1.0 - self.beta2)?;
        gradient.f_copy_(&self.second)?;
        let _ = gradient.f_sqrt_()?.f_div_scalar_(second.sqrt())?.f_add_scalar_(self.epsilon)?;
        let mut descent = self.first.f_div(&gradient)?;
        let _ = descent.f_mul_scalar_(learning_rate / first)?;
        Ok(descent)
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
            optimizer.step(policy.trainable_mut(), full, 0.01).unwrap();
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
        optimizer.step(policy.trainable_mut(), none, 0.1).unwrap();
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
        let made = optimizer.step(policy.trainable_mut(), full, 0.0).unwrap();
        assert_eq!(made, Step::Made { gradient_norm: norm });
        let clipped = optimizer.first.norm().double_value(&[]) / 0.1;
        assert!((clipped - 1.0).abs() < 1e-5, "{clipped}");
        let before = policy.digest().unwrap();
        let broken = policy.trainable().buffer().full_like(f64::NAN);
        assert_eq!(optimizer.step(policy.trainable_mut(), broken, 0.1).unwrap(), Step::Skipped);
        assert_eq!((policy.digest().unwrap(), optimizer.steps()), (before, 1));
    }
}
