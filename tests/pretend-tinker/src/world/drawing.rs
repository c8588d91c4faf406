//! Answers, and the log-probabilities of prompts.

use serde_json::Value;

use super::{PROTOBUF, Work, World, refuse};
use crate::bigram::{Weights, log_softmax};
use crate::http::Response;
use crate::protobuf::write_samples;
use crate::traps::Older;

impl World {
    /// The weights that draw.
    fn drawing(&mut self, body: &Value) -> Result<Weights, Response> {
        let fresh = Weights::fresh(self.base.len());
        let Some(path) = body["model_path"].as_str() else {
            let name = body["base_model"].as_str().unwrap_or_default();
            let known = self.bases.iter().any(|base| base == name);
            return if known { Ok(fresh) } else { Err(refuse(404, "no such base")) };
        };
        let kept = self.checkpoints.get(path).cloned();
        let kept = kept.ok_or_else(|| refuse(404, "no such checkpoint"))?;
        let older = self.traps.older;
        let stale = self.traps.stale;
        // A model that is gone takes what draws with it.
        let model = self.model(&kept.model)?;
        match older {
            Older::Stay => {}
            Older::Follow if stale => {}
            Older::Follow => return Ok(model.weights.clone()),
            Older::SetBack => model.weights = kept.weights.clone(),
        }
        Ok(if stale { fresh } else { kept.weights })
    }

    pub(super) fn sample(&mut self, body: &Value) -> Work {
        let weights = self.drawing(body)?;
        let prompt: Vec<i64> = body["prompt"]["chunks"][0]["tokens"]
            .as_array()
            .map(|tokens| tokens.iter().filter_map(Value::as_i64).collect())
            .unwrap_or_default();
        let known = |token: &i64| (0..self.base.len() as i64).contains(token);
        if prompt.is_empty() || !prompt.iter().all(known) {
            self.harms.push("a prompt that is empty or beyond the vocabulary".to_owned());
            return Err(refuse(500, "index out of range"));
        }
        let count = body["num_samples"].as_u64().unwrap_or(0);
        if count == 0 {
            self.harms.push("a call for no samples".to_owned());
        }
        let params = &body["sampling_params"];
        let seed = params["seed"].as_u64().unwrap_or(0);
        let draw = |branch: u64| {
            self.draw(&weights, prompt[prompt.len() - 1] as usize, params, seed + branch)
        };
        let mut drawn: Vec<_> = (0..count).map(draw).collect();
        if self.traps.lies.first() == Some(&"asample") {
            self.traps.lies.remove(0);
            drawn.extend(drawn.first().cloned());
        }
        let scored = body["prompt_logprobs"].as_bool() == Some(true);
        let scores = scored.then(|| {
            let pairs = prompt.windows(2);
            let of = |pair: &[i64]| weights.after(&self.base, pair[0] as usize)[pair[1] as usize];
            let scores: Vec<f64> = pairs.map(of).collect();
            if self.traps.short_prompts { scores } else { [vec![f64::NAN], scores].concat() }
        });
        let body = write_samples(&drawn, scores.as_deref());
        Ok(Response { status: 200, kind: PROTOBUF, location: None, body })
    }

    fn draw(
        &self,
        weights: &Weights,
        mut last: usize,
        params: &Value,
        seed: u64,
    ) -> (bool, Vec<i64>, Vec<f64>) {
        let most = params["max_tokens"].as_u64().unwrap_or(1);
        let temperature = params["temperature"].as_f64().unwrap_or(1.0);
        let stops: Vec<u64> = params["stop"]
            .as_array()
            .map(|stops| stops.iter().filter_map(Value::as_u64).collect())
            .unwrap_or_default();
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635;
        let (mut tokens, mut logprobs) = (Vec::new(), Vec::new());
        for _ in 0..most {
            // A fixed generator (SplitMix64), so that an equal seed draws the same.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = state;
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let unit = ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
            let plain = weights.after(&self.base, last);
            let token = pick(&plain, temperature, unit);
            if stops.contains(&(token as u64)) {
                if !self.traps.strips_ends {
                    tokens.push(token as i64);
                    logprobs.push(plain[token]);
                }
                return (true, tokens, logprobs);
            }
            tokens.push(token as i64);
            logprobs.push(plain[token]);
            last = token;
        }
        (false, tokens, logprobs)
    }
}

fn pick(plain: &[f64], temperature: f64, unit: f64) -> usize {
    if temperature == 0.0 {
        let best = (0..plain.len()).max_by(|one, other| plain[*one].total_cmp(&plain[*other]));
        return best.unwrap_or(0);
    }
    let scaled: Vec<f64> = plain.iter().map(|logprob| logprob / temperature).collect();
    let mut left = unit;
    for (token, logprob) in log_softmax(&scaled).iter().enumerate() {
        left -= logprob.exp();
        if left < 0.0 {
            return token;
        }
    }
    plain.len() - 1
}
