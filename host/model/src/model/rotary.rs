//! Rotary positions: how fast each pair of a head's numbers turns.
//!
//! Pair i turns by θᵢ = base^(−2i / head_dim) per position (arXiv 2104.09864,
//! equation 15). Models that were stretched to longer contexts turn slower;
//! each way to do so is a [`Scaling`].

use std::f64::consts::TAU;

use super::config_keys::ROPE;
use super::entries::Entries;

/// What the decoder needs to turn queries and keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Rotary {
    /// Radians per position, one per pair: `[head_dim / 2]`.
    pub inverse_frequencies: Vec<f32>,
    /// Multiplies cosine and sine.
    pub magnitude: f64,
}

/// What `config.json` says about rotary positions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RotaryEmbedding {
    base: f64,
    scaling: Scaling,
}

#[derive(Clone, Debug, PartialEq)]
enum Scaling {
    /// As the model was first trained.
    None,
    /// All pairs slower by a factor (arXiv 2306.15595).
    Linear { factor: f64 },
    /// Pairs with few turns in the original context slower, the others as they were.
    Llama3 { factor: f64, low: f64, high: f64, context: f64 },
    /// The same idea with a linear ramp over pairs (arXiv 2309.00071).
    Yarn(Yarn),
}

#[derive(Clone, Debug, PartialEq)]
struct Yarn {
    factor: f64,
    magnitude: f64,
    /// Turns in the original context above which a pair stays as it was.
    fast: f64,
    /// Turns below which it is slowed by the whole factor.
    slow: f64,
    context: f64,
    truncate: bool,
}

impl RotaryEmbedding {
    /// Read `rope_theta` and `rope_scaling`, or the newer `rope_parameters`.
    /// `positions` is the length that stands in for an original one left out, `base` the base.
    pub(super) fn read(config: &Entries, positions: i64, base: f64) -> Result<Self, String> {
        let newer = config.object("rope_parameters", "rope_parameters.")?;
        let rope = match (scaling(config)?, newer) {
            (Some(older), Some(newer)) if !newer.repeats(&older) => {
                return Err(
                    "`rope_scaling` and `rope_parameters` say different things; keep one of \
                            them"
                        .to_owned(),
                );
            }
            (older, newer) => newer.or(older),
        };
        RotaryEmbedding::of(rope, config, ("rope_theta", base), positions)
    }

    /// The same as `rope` says it. Where it has no `rope_theta`, the file's entry under a key
    /// of its own counts; without that, the number given with the key.
    pub(super) fn of(
        rope: Option<Entries>,
        config: &Entries,
        (key, base): (&str, f64),
        positions: i64,
    ) -> Result<Self, String> {
        rope.map_or(Ok(()), |rope| rope.check(&ROPE))?;
        let partial = config.number("partial_rotary_factor")?;
        let own = rope.map_or(Ok(None), |rope| rope.number("rope_theta"))?;
        let base = own.or(config.number(key)?).unwrap_or(base);
        if !(base > 1.0 && base.is_finite()) {
            return Err(format!("`{key}` is {base}, but must be a number above 1"));
        }
        let nested = rope.map_or(Ok(None), |rope| rope.number("partial_rotary_factor"))?;
        if let Some(share) = nested.or(partial).filter(|&share| share != 1.0) {
            return Err(format!(
                "`partial_rotary_factor` is {share}; only whole heads can be turned, which is 1"
            ));
        }
        let context = config.number("original_max_position_embeddings")?;
        let scaling = match rope {
            Some(rope) => Scaling::read(&rope, context, positions as f64)?,
            None => Scaling::None,
        };
        Ok(RotaryEmbedding { base, scaling })
    }

    /// The base of the frequencies.
    pub(super) fn base(&self) -> f64 {
        self.base
    }

    /// The frequencies of heads of this width.
    pub(super) fn rotary(&self, head_dim: i64) -> Rotary {
        let frequency = |pair: usize| {
            let plain = self.base.powf(-2.0 * pair as f64 / head_dim as f64);
            match &self.scaling {
                Scaling::None => plain,
                Scaling::Linear { factor } => plain / factor,
                Scaling::Llama3 { factor, low, high, context } => {
                    let turns = context * plain / TAU;
                    let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
                    plain * (kept + (1.0 - kept) / factor)
                }
                Scaling::Yarn(yarn) => {
                    let kept = yarn.kept(pair as f64, self.base, head_dim as f64);
                    plain * (kept + (1.0 - kept) / yarn.factor)
                }
            }
        };
        let magnitude = match &self.scaling {
            Scaling::Yarn(yarn) => yarn.magnitude,
            _ => 1.0,
        };
        let pairs = 0..(head_dim / 2) as usize;
        Rotary {
            inverse_frequencies: pairs.map(|pair| frequency(pair) as f32).collect(),
            magnitude,
        }
    }
}

/// `rope_scaling`, unless it is empty.
pub(super) fn scaling<'a>(config: &Entries<'a>) -> Result<Option<Entries<'a>>, String> {
    let scaling = config.object("rope_scaling", "rope_scaling.")?;
    Ok(scaling.filter(|scaling| scaling.keys().next().is_some()))
}

impl Scaling {
    fn read(rope: &Entries, context: Option<f64>, positions: f64) -> Result<Self, String> {
        if let Some(key) = rope.keys().find(|key| key.ends_with("_attention")) {
            return Err(format!(
                "{} is set: layers with rotary positions of their own are not supported",
                rope.name(key)
            ));
        }
        let named = rope.text("rope_type")?.or(rope.text("type")?);
        let context = match context {
            Some(context) => context,
            None => rope.number("original_max_position_embeddings")?.unwrap_or(positions),
        };
        match named.unwrap_or("default") {
            "default" => Ok(Scaling::None),
            "linear" => Ok(Scaling::Linear { factor: factor(rope)? }),
            "llama3" => Scaling::llama3(rope, context),
            "yarn" => Ok(Scaling::Yarn(Yarn::read(rope, context, positions)?)),
            other => Err(format!(
                "{} is `{other}`; supported are `default`, `linear`, `llama3` and `yarn`",
                rope.name(if rope.mentions("rope_type") { "rope_type" } else { "type" })
            )),
        }
    }

    fn llama3(rope: &Entries, context: f64) -> Result<Self, String> {
        let number = |key| rope.required(key, rope.number(key)?);
        let (low, high) = (number("low_freq_factor")?, number("high_freq_factor")?);
        if !(low > 0.0 && high > low && high.is_finite()) {
            return Err(format!(
                "{} is {low} and {} is {high}, but the latter must be the larger one",
                rope.name("low_freq_factor"),
                rope.name("high_freq_factor")
            ));
        }
        Ok(Scaling::Llama3 { factor: factor(rope)?, low, high, context })
    }
}

impl Yarn {
    fn read(rope: &Entries, context: f64, positions: f64) -> Result<Self, String> {
        let by_ratio = rope.mentions("factor") && rope.value("factor").is_none();
        let factor = if by_ratio { positions / context } else { factor(rope)? };
        let scales = (rope.number("mscale")?, rope.number("mscale_all_dim")?);
        let magnitude = match (rope.number("attention_factor")?, scales) {
            (Some(magnitude), _) => magnitude,
            (None, (Some(scale), Some(all))) if scale != 0.0 && all != 0.0 => {
                temperature(factor, scale) / temperature(factor, all)
            }
            (None, _) => temperature(factor, 1.0),
        };
        let turns = |key, default| {
            Ok::<f64, String>(rope.number(key)?.filter(|&turns| turns != 0.0).unwrap_or(default))
        };
        Ok(Yarn {
            factor,
            magnitude,
            fast: turns("beta_fast", 32.0)?,
            slow: turns("beta_slow", 1.0)?,
            context,
            truncate: rope.flag("truncate")?.unwrap_or(true),
        })
    }

    /// How much of a pair's own speed is kept: 1 all, 0 it is slowed by the factor.
    fn kept(&self, pair: f64, base: f64, head_dim: f64) -> f64 {
        // The pair, as a fraction, that turns this often in the original context.
        let pair_of =
            |turns: f64| head_dim * (self.context / (turns * TAU)).ln() / (2.0 * base.ln());
        let (mut first, mut last) = (pair_of(self.fast), pair_of(self.slow));
        if self.truncate {
            (first, last) = (first.floor(), last.ceil());
        }
        (first, last) = (first.max(0.0), last.min(head_dim - 1.0));
        // The ramp of `transformers` has this width where there would be none.
        let width = if first == last { 0.001 } else { last - first };
        1.0 - ((pair - first) / width).clamp(0.0, 1.0)
    }
}

/// 0.1 · scale · ln(factor) + 1, equation 22 of arXiv 2309.00071.
fn temperature(factor: f64, scale: f64) -> f64 {
    if factor <= 1.0 { 1.0 } else { 0.1 * scale * factor.ln() + 1.0 }
}

/// How much longer than the original the context is.
fn factor(rope: &Entries) -> Result<f64, String> {
    let factor = rope.required("factor", rope.number("factor")?)?;
    if factor >= 1.0 && factor.is_finite() {
        return Ok(factor);
    }
    Err(format!("{} is {factor}, but must be 1 or more", rope.name("factor")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use serde_json::{Map, Value, json};

    use super::*;

    fn read(file: &Map<String, Value>) -> Result<RotaryEmbedding, String> {
        let file = Entries::of(file);
        let positions = file.integer("max_position_embeddings").unwrap().unwrap_or(9);
        RotaryEmbedding::read(&file, positions, 10_000.0)
    }

    /// What `transformers` made of a configuration.
    #[derive(serde::Deserialize)]
    struct Golden {
        config: Map<String, Value>,
        inverse_frequencies: Vec<f32>,
        magnitude: f64,
    }

    #[test]
    fn frequencies_are_those_of_transformers() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/parity/golden/rotary.json");
        let golden: BTreeMap<String, Golden> = troupe_core::storage::read_json(&path).unwrap();
        assert_eq!(golden.len(), 7);
        for (name, golden) in golden {
            let rotary = read(&golden.config).unwrap().rotary(64);
            assert_eq!(rotary.inverse_frequencies.len(), golden.inverse_frequencies.len());
            for (found, expected) in
                rotary.inverse_frequencies.iter().zip(&golden.inverse_frequencies)
            {
                assert!((found / expected - 1.0).abs() < 2e-6, "{name}: {found} {expected}");
            }
            assert!((rotary.magnitude / golden.magnitude - 1.0).abs() < 1e-6, "{name}");
        }
    }

    #[test]
    fn what_cannot_be_honored_is_refused_by_name() {
        for (file, expected) in [
            (json!({ "rope_theta": 1.0 }), "`rope_theta` is 1, but must be a number above 1"),
            (json!({ "rope_theta": "big" }), "`rope_theta` is `\"big\"`"),
            (json!({ "partial_rotary_factor": 0.5 }), "`partial_rotary_factor` is 0.5"),
            (
                json!({ "rope_scaling": "yarn" }),
                "`rope_scaling` is `\"yarn\"`, but must be an object",
            ),
            (
                json!({ "rope_scaling": { "type": "dynamic", "factor": 2.0 } }),
                "`rope_scaling.type` is `dynamic`; supported are",
            ),
            (
                json!({ "rope_parameters": { "rope_type": "longrope" } }),
                "`rope_parameters.rope_type` is `longrope`",
            ),
            (json!({ "rope_scaling": { "type": "linear" } }), "`rope_scaling.factor` is missing"),
            (
                json!({ "rope_scaling": { "type": "linear", "factor": 0.5 } }),
                "`rope_scaling.factor` is 0.5, but must be 1 or more",
            ),
            (
                json!({ "rope_scaling": { "rope_type": "llama3", "factor": 8.0 } }),
                "`rope_scaling.low_freq_factor` is missing",
            ),
            (
                json!({ "rope_scaling": { "rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1 } }),
                "must be the larger one",
            ),
            (
                json!({ "rope_parameters": { "full_attention": { "rope_type": "default" } } }),
                "`rope_parameters.full_attention` is set",
            ),
        ] {
            let error = read(file.as_object().unwrap()).unwrap_err();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }

    #[test]
    fn an_empty_scaling_changes_nothing() {
        let plain = read(&Map::new()).unwrap();
        for file in [json!({ "rope_scaling": null }), json!({ "rope_scaling": {} })] {
            assert_eq!(read(file.as_object().unwrap()).unwrap(), plain);
        }
        assert_eq!(plain.rotary(4).inverse_frequencies, [1.0, 0.01]);
    }
}
