//! From logits to tokens.
//!
//! The trainer scores answers under [`log_probabilities`] too, so sampler
//! and trainer mean the same distribution.

use tch::{Kind, Tensor};

use crate::sampling::Sampling;

/// Stands for −∞ among logits: its probability is exactly 0, yet products
/// with it are numbers.
const EXCLUDED: f64 = -1e9;

/// Natural log-probabilities after temperature, top-k, top-p and min-p, in this
/// order: `[rows, vocabulary]` to the same.
///
/// `chosen` `[rows]` are tokens that are never cut off. A scorer passes the
/// tokens that were drawn, as one at the edge of the nucleus may fall out of
/// it when the policy has changed or sums are rounded differently.
pub fn log_probabilities(logits: &Tensor, sampling: &Sampling, chosen: Option<&Tensor>) -> Tensor {
    let logits = match sampling.temperature {
        0.0 | 1.0 => logits.shallow_clone(),
        temperature => logits / temperature,
    };
    let logits = match tch::no_grad(|| cut_off(&logits, sampling, chosen)) {
        Some(cut) => logits.masked_fill(&cut, EXCLUDED),
        None => logits,
    };
    logits.log_softmax(-1, Kind::Float)
}

/// Which tokens top-k, top-p and min-p leave out: `[rows, vocabulary]` of truth values.
fn cut_off(logits: &Tensor, sampling: &Sampling, chosen: Option<&Tensor>) -> Option<Tensor> {
    let vocabulary = logits.size()[1];
    if !sampling.truncates(vocabulary) {
        return None;
    }
    let limited = sampling.top_k > 0 && (sampling.top_k as i64) < vocabulary;
    let (ranked, order) = if limited {
        logits.topk(sampling.top_k as i64, -1, true, true)
    } else {
        logits.sort_stable(true, -1, true)
    };
    // A token stays while those before it have less than `top_p` together.
    let probabilities = ranked.softmax(-1, Kind::Float);
    let before = probabilities.cumsum(-1, Kind::Float) - &probabilities;
    let likeliest = probabilities.narrow(-1, 0, 1);
    let cut = before
        .ge(sampling.top_p)
        .logical_or(&probabilities.lt_tensor(&(likeliest * sampling.min_p)));
    let mut cut = logits.ones_like().to_kind(Kind::Bool).scatter(1, &order, &cut);
    if let Some(chosen) = chosen {
        let _ = cut.scatter_value_(1, &chosen.unsqueeze(1), 0);
    }
    Some(cut)
}

/// Make tokens less likely that were said before: where `seen` `[rows,
/// vocabulary]` is true, logits `[rows, vocabulary]` are divided by `penalty`
/// if positive and multiplied by it if negative.
pub fn penalize(logits: &Tensor, seen: &Tensor, penalty: f64) -> Tensor {
    let penalized = logits.clamp_min(0.0) / penalty + logits.clamp_max(0.0) * penalty;
    penalized.where_self(seen, logits)
}

/// Leave out tokens that may not come: `allowed` has, for each row of `logits` `[rows,
/// vocabulary]`, a bit for every token, 32 in a number, the first the lowest.
pub fn confine(logits: &Tensor, allowed: &[u32]) -> Tensor {
    let (rows, vocabulary) = (logits.size()[0], logits.size()[1]);
    let bytes: Vec<u8> = allowed.iter().flat_map(|bits| bits.to_le_bytes()).collect();
    let places: [u8; 8] = std::array::from_fn(|place| 1 << place);
    let upload = |bytes: &[u8]| Tensor::from_slice(bytes).to_device(logits.device());
    let bits = upload(&bytes).view([rows, -1, 1]).bitwise_and_tensor(&upload(&places));
    let is_out = bits.eq(0).view([rows, -1]).narrow(1, 0, vocabulary);
    logits.masked_fill(&is_out, EXCLUDED)
}

/// Draw a token for every row of `logits` `[rows, vocabulary]` by inverting
/// the cumulative distribution at one of `units` `[rows]`, numbers in
/// `[0, 1)`. Returns tokens and their log-probabilities, `[rows]` each.
///
/// At temperature 0 the distribution is a point, so log-probabilities are 0.
pub(super) fn draw(logits: &Tensor, sampling: &Sampling, units: &Tensor) -> (Tensor, Tensor) {
    if sampling.temperature == 0.0 {
        return (logits.argmax(-1, false), units.zeros_like());
    }
    let logprobs = log_probabilities(logits, sampling, None);
    let cumulative = logprobs.exp().cumsum(-1, Kind::Float);
    let last = cumulative.size()[1] - 1;
    // The sum may miss 1 by rounding; its own last value takes the place of 1.
    let thresholds = units.unsqueeze(1) * cumulative.narrow(1, last, 1);
    let tokens =
        thresholds.searchsorted(&cumulative, false, true, "right", None::<&Tensor>).clamp_max(last);
    let chosen = logprobs.gather(1, &tokens, false);
    (tokens.squeeze_dim(1), chosen.squeeze_dim(1))
}

/// Put tokens where they are due, row by row, in the place of those that were `drawn`. Their
/// log-probabilities are what they would have been drawn with, had nothing cut them off.
pub(super) fn put(
    due: &[(usize, u32)],
    logits: &Tensor,
    sampling: &Sampling,
    (tokens, logprobs): (Tensor, Tensor),
) -> (Tensor, Tensor) {
    let device = logits.device();
    let (rows, ids): (Vec<i64>, Vec<i64>) =
        due.iter().map(|&(row, id)| (row as i64, i64::from(id))).unzip();
    let (rows, ids) = (&Tensor::from_slice(&rows).to_device(device), Tensor::from_slice(&ids));
    let ids = &ids.to_device(device);
    let own = match sampling.temperature {
        0.0 => logprobs.index_select(0, rows),
        _ => log_probabilities(&logits.index_select(0, rows), sampling, Some(ids))
            .gather(1, &ids.unsqueeze(1), false)
            .squeeze_dim(1),
    };
    (tokens.index_copy(0, rows, ids), logprobs.index_copy(0, rows, &own))
}

/// A number in `[0, 1)` cut to the 24 bits that 32-bit floats hold, so that
/// rounding never makes it 1.
pub(super) fn unit(seed: troupe_core::seed::Seed) -> f32 {
    const STEPS: f64 = (1_u32 << 24) as f64;
    ((seed.unit() * STEPS).floor() / STEPS) as f32
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::seed::Seed;

    fn sampling(temperature: f64, top_k: usize, top_p: f64) -> Sampling {
        Sampling { temperature, top_p, top_k, ..Sampling::plain(1) }
    }

    fn logits() -> Tensor {
        Tensor::from_slice(&[0.1_f32, 0.5, 0.2, 0.2]).log().view([1, 4])
    }

    fn probabilities(sampling: Sampling) -> Vec<f32> {
        let rows = log_probabilities(&logits(), &sampling, None).exp();
        Vec::<f32>::try_from(rows.view([-1])).unwrap()
    }

    fn near(found: &[f32], expected: &[f32]) {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?}");
    }

    #[test]
    fn temperature_sharpens_and_the_rest_is_cut_off() {
        near(&probabilities(sampling(1.0, 0, 1.0)), &[0.1, 0.5, 0.2, 0.2]);
        near(
            &probabilities(sampling(0.5, 0, 1.0)),
            &[0.01 / 0.34, 0.25 / 0.34, 0.04 / 0.34, 0.04 / 0.34],
        );
        near(&probabilities(sampling(1.0, 1, 1.0)), &[0.0, 1.0, 0.0, 0.0]);
        near(&probabilities(sampling(1.0, 3, 1.0)), &[0.0, 0.5 / 0.9, 0.2 / 0.9, 0.2 / 0.9]);
        near(&probabilities(sampling(1.0, 0, 0.6)), &[0.0, 0.5 / 0.7, 0.2 / 0.7, 0.0]);
        near(&probabilities(sampling(1.0, 0, 0.01)), &[0.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn min_p_leaves_out_what_is_much_less_likely_than_the_likeliest() {
        let least = |min_p| probabilities(Sampling { min_p, ..Sampling::plain(1) });
        near(&least(0.3), &[0.0, 0.5 / 0.9, 0.2 / 0.9, 0.2 / 0.9]);
        near(&least(0.5), &[0.0, 1.0, 0.0, 0.0]);
        near(&least(0.1), &[0.1, 0.5, 0.2, 0.2]);
    }

    #[test]
    fn what_was_said_before_is_less_likely() {
        let logits = Tensor::from_slice(&[2.0_f32, -2.0, 2.0, -2.0]).view([1, 4]);
        let seen = Tensor::from_slice(&[true, true, false, false]).view([1, 4]);
        let found = Vec::<f32>::try_from(penalize(&logits, &seen, 1.25).view([-1])).unwrap();
        near(&found, &[1.6, -2.5, 2.0, -2.0]);
    }

    #[test]
    fn a_chosen_token_is_never_cut_off() {
        let chosen = Tensor::from_slice(&[0_i64]);
        let rows = log_probabilities(&logits(), &sampling(1.0, 1, 1.0), Some(&chosen)).exp();
        near(&Vec::<f32>::try_from(rows.view([-1])).unwrap(), &[0.1 / 0.6, 0.5 / 0.6, 0.0, 0.0]);
    }

    #[test]
    fn what_is_not_allowed_has_no_probability_and_the_rest_has_all() {
        let logits = logits().repeat([2, 20]).narrow(1, 0, 70);
        let mut allowed = [0_u32; 6];
        (allowed[0], allowed[2], allowed[4]) = (0b11, 1 << 5, u32::MAX);
        let rows = log_probabilities(&confine(&logits, &allowed), &sampling(1.0, 0, 1.0), None);
        let rows = Vec::<f32>::try_from(rows.exp().view([-1])).unwrap();
        let inside = |row: usize| -> Vec<usize> {
            (0..70).filter(|token| rows[70 * row + token] > 0.0).collect()
        };
        assert_eq!(inside(0), [0, 1, 69]);
        assert_eq!(inside(1), (32..64).collect::<Vec<_>>());
        near(&[rows[0], rows[1], rows[69]], &[0.1 / 1.1, 0.5 / 1.1, 0.5 / 1.1]);
    }

    #[test]
    fn frequencies_match_probabilities() {
        let setting = sampling(0.8, 3, 0.95);
        let units: Vec<f32> = (0..40_000).map(|i| unit(Seed::new(3).at(i))).collect();
        let rows = logits().expand([units.len() as i64, 4], false);
        let (tokens, _) = draw(&rows, &setting, &Tensor::from_slice(&units));
        let tokens = Vec::<i64>::try_from(tokens).unwrap();
        let mut shares = [0.0_f32; 4];
        tokens.iter().for_each(|&token| shares[token as usize] += 1.0 / 40_000.0);
        let expected = probabilities(setting);
        assert!(
            shares.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 0.01),
            "{shares:?} {expected:?}"
        );
        assert_eq!(shares[0], 0.0);
    }

    #[test]
    fn the_ends_of_the_unit_interval_stay_in_the_support() {
        let logits = Tensor::from_slice(&[-1e9_f32, 0.0, 0.0, -1e9]).expand([2, 4], false);
        let units = Tensor::from_slice(&[0.0_f32, 1.0 - f32::EPSILON / 2.0]);
        let (tokens, _) = draw(&logits, &sampling(1.0, 0, 1.0), &units);
        assert_eq!(Vec::<i64>::try_from(tokens).unwrap(), [1, 2]);
    }

    #[test]
    fn temperature_zero_is_greedy() {
        let units = Tensor::from_slice(&[0.0_f32, 0.9]);
        let rows = logits().expand([2, 4], false);
        let (tokens, logprobs) = draw(&rows, &Sampling::greedy(1), &units);
        assert_eq!(Vec::<i64>::try_from(tokens).unwrap(), [1, 1]);
        assert_eq!(Vec::<f32>::try_from(logprobs).unwrap(), [0.0, 0.0]);
    }
}
