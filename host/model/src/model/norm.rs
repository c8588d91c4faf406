//! RMSNorm (arXiv 1910.07467, equation 4), over states and over heads.

use tch::{Kind, Tensor};

use super::architecture::ModelConfig;

/// How a checkpoint writes down by what a normed column is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gain {
    /// By the weight.
    Weight,
    /// By one more than the weight, in 32 bits.
    OnePlusWeight,
}

impl Gain {
    /// The factors that these weights stand for.
    fn factors(self, weight: &Tensor) -> Tensor {
        match self {
            Gain::Weight => weight.shallow_clone(),
            Gain::OnePlusWeight => weight.to_kind(Kind::Float) + 1.0,
        }
    }
}

/// A norm with a weight per column.
#[derive(Debug)]
pub(super) struct Norm {
    weight: Tensor, // [columns]
    gain: Gain,
    epsilon: f64,
}

impl Norm {
    pub(super) fn of(config: &ModelConfig, weight: Tensor) -> Self {
        Norm { weight, gain: config.gain(), epsilon: config.rms_norm_eps }
    }

    /// `[…, columns]` to the same.
    pub(super) fn apply(&self, states: &Tensor) -> Tensor {
        let factors = self.gain.factors(&self.weight);
        let wide = states.to_kind(factors.kind());
        let normed = wide.rms_norm(factors.size(), Some(&factors), self.epsilon);
        normed.to_kind(states.kind())
    }
}

/// The norms of queries and keys, head by head. What a query is divided by
/// before it is compared with keys is part of its norm.
#[derive(Debug)]
pub(super) struct HeadNorm {
    weight: Tensor, // [2, head_dim], of queries and of keys
    gain: Gain,
    epsilon: f64,
    heads: [i64; 2],
    divisor: f64,
    /// What [`HeadNorm::factors`] makes of the weights, if they stay as they are.
    prepared: Option<Tensor>,
}

impl HeadNorm {
    pub(super) fn of(config: &ModelConfig, weight: &Tensor) -> Self {
        HeadNorm {
            weight: weight.view([2, config.head_dim]),
            gain: config.gain(),
            epsilon: config.rms_norm_eps,
            heads: [config.num_attention_heads, config.num_key_value_heads],
            divisor: config.query_divisor(),
            prepared: None,
        }
    }

    /// Take the weights as they are from here on.
    pub(super) fn prepare(&mut self) {
        self.prepared = Some(tch::no_grad(|| self.factors()));
    }

    /// Queries and keys `[rows, heads + key_value_heads, head_dim]` to the same.
    pub(super) fn apply(&self, queries_keys: &Tensor) -> Tensor {
        let factors = self.factors();
        let width = self.weight.size()[1];
        let wide = queries_keys.to_kind(factors.kind());
        let normed = wide.rms_norm([width], None::<&Tensor>, self.epsilon) * factors;
        normed.to_kind(queries_keys.kind())
    }

    /// By what each head is multiplied: `[heads + key_value_heads, head_dim]`.
    fn factors(&self) -> Tensor {
        if let Some(prepared) = &self.prepared {
            return prepared.shallow_clone();
        }
        let factors = self.gain.factors(&self.weight);
        let width = factors.size()[1];
        let queries = factors.narrow(0, 0, 1) / self.divisor;
        let keys = factors.narrow(0, 1, 1);
        let [heads, key_heads] = self.heads;
        Tensor::cat(
            &[queries.expand([heads, width], false), keys.expand([key_heads, width], false)],
            0,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_of_one_more_than_the_weight_is_not_rounded_with_it() {
        let weight = Tensor::from_slice(&[0.001_f32, -0.5]).to_kind(Kind::BFloat16);
        assert_eq!(Gain::Weight.factors(&weight), weight);
        let factors = Gain::OnePlusWeight.factors(&weight);
        assert_eq!(factors.kind(), Kind::Float);
        assert!((factors.double_value(&[0]) - 1.001).abs() < 1e-5);
        assert_eq!(factors.double_value(&[1]), 0.5);
    }
}
