//! Rotary positions: what a file says of them, in the words of `config.json`.

use std::f64::consts::TAU;

use serde_json::{Value, json};

use super::options;
use super::shape::{ArchitectureKeys, shortest};
use super::tensor::Tensors;

/// By what each pair turns slower, where a model of the Llama 3 family was stretched.
pub(super) const FACTORS: &str = "rope_freqs.weight";
/// The settings of all models of that family; only the factor differs.
const LOW: f64 = 1.0;
const HIGH: f64 = 4.0;
const CONTEXT: f64 = 8192.0;

/// Rotary positions of a model.
#[derive(Debug, PartialEq)]
pub(super) struct Rope {
    pub(super) base: f64,
    /// `rope_scaling`.
    pub(super) scaling: Option<Value>,
}

impl Rope {
    pub(super) fn read(
        entries: &ArchitectureKeys,
        head_width: usize,
        tensors: &Tensors,
    ) -> Result<Self, String> {
        let base = entries.number_by(&["rope.freq_base", options::GLOBAL_BASE])?;
        let base = base.map_or(entries.architecture.rope_base(), |(_, base)| shortest(base));
        let linear = linear(entries)?;
        let scaling = linear.map(|(_, factor)| json!({ "rope_type": "linear", "factor": factor }));
        let Some(factors) = tensors.get(FACTORS) else { return Ok(Rope { base, scaling }) };
        if let Some((key, factor)) = linear {
            return Err(format!(
                "`{}` is {factor}, and tensor `{FACTORS}` slows positions, too; only one of both \
                 is supported",
                entries.name(key)
            ));
        }
        let found = match factors.shape == [head_width / 2] {
            true => factors.encoding.decode(factors.bytes),
            false => Vec::new(),
        };
        match llama3(base, head_width, &found) {
            Some(factor) => Ok(Rope { base, scaling: Some(factor) }),
            None => Err(format!(
                "tensor `{FACTORS}` slows positions in a way that is not that of Llama 3, which \
                 alone is supported"
            )),
        }
    }
}

/// By what positions are divided, if they are, and the entry that says so.
fn linear(entries: &ArchitectureKeys) -> Result<Option<(&'static str, f64)>, String> {
    let factor = entries.number_by(&["rope.scaling.factor", "rope.scale_linear"])?;
    match entries.text("rope.scaling.type")? {
        Some("none") => return Ok(None),
        // As llama.cpp has it, a factor of no type is that of `linear`.
        None | Some("linear") => {}
        Some(other) => {
            let name = entries.name("rope.scaling.type");
            return Err(format!("`{name}` is `{other}`; only `none` and `linear` are supported"));
        }
    }
    match factor {
        // 0 stands for none.
        None | Some((_, 0.0 | 1.0)) => Ok(None),
        Some((key, factor)) if factor > 1.0 && factor.is_finite() => {
            Ok(Some((key, shortest(factor))))
        }
        Some((key, factor)) => {
            Err(format!("`{}` is {factor}, but must be 1 or more", entries.name(key)))
        }
    }
}

/// The `rope_scaling` that slows pairs by these factors.
fn llama3(base: f64, head_width: usize, found: &[f32]) -> Option<Value> {
    let factor = shortest(found.iter().copied().fold(1.0, f32::max).into());
    let expected = |pair: usize| {
        let turns = CONTEXT * base.powf(-2.0 * pair as f64 / head_width as f64) / TAU;
        let kept = ((turns - LOW) / (HIGH - LOW)).clamp(0.0, 1.0);
        1.0 / (kept + (1.0 - kept) / factor)
    };
    let near =
        |(pair, found): (usize, &f32)| (expected(pair) / f64::from(*found) - 1.0).abs() < 1e-4;
    let is_right = found.len() == head_width / 2 && found.iter().enumerate().all(near);
    is_right.then(|| {
        json!({
            "rope_type": "llama3", "factor": factor, "low_freq_factor": LOW,
            "high_freq_factor": HIGH, "original_max_position_embeddings": CONTEXT as u64,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factors_of_llama_3_are_recognized_and_others_are_not() {
        // The first and the last pair of a head of 64, and one between (arithmetic by hand:
        // pair 16 of base 5e5 turns 8192 / (2π · √5e5) = 1.8438 times; 0.28128 of it is kept).
        let base = 500_000.0_f64;
        let factors: Vec<f32> = (0..32)
            .map(|pair| {
                let turns = 8192.0 / (TAU * base.powf(f64::from(pair) / 32.0));
                let smooth = (turns - 1.0) / 3.0;
                let kept = 1.0 / ((1.0 - smooth) / 32.0 + smooth);
                if turns > 4.0 {
                    1.0
                } else if turns < 1.0 {
                    32.0
                } else {
                    kept as f32
                }
            })
            .collect();
        assert!((f64::from(factors[16]) - 3.2923).abs() < 1e-3, "{}", factors[16]);
        let scaling = llama3(base, 64, &factors).expect("they are those of Llama 3.2");
        assert_eq!(
            (scaling["factor"].as_f64(), scaling["rope_type"].as_str()),
            (Some(32.0), Some("llama3"))
        );
        let mut other = factors.clone();
        other[16] *= 1.01;
        assert_eq!(llama3(base, 64, &other), None);
        assert_eq!(llama3(base, 64, &factors[1..]), None);
        assert_eq!(llama3(base, 64, &[f32::NAN; 32]), None);
    }
}
