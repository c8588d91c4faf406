//! A critic of values: what states and answers to them are worth (ArCHer, arXiv 2402.19446).
//!
//! Its encoder is a policy's network, of which the answers' probabilities are not used; four heads
//! read its hidden states, see [`ValueHeads`]. With Q of an answer a to a state s, V of the state,
//! r what the answer brought until its seat was asked again, in s′, and a bar over what the moving
//! copy says, it minimizes
//!
//! - (Qᵢ(s, a) − r − γ·V̄ᵢ(s′))², where V̄(s′) is 0 if there is no s′ (equation 1), and
//! - (Vᵢ(s) − Q̄ᵢ(s, ã))², where the policy as it is has drawn ã (equation 2),
//!
//! each a mean over a mini-batch, summed over i = 1, 2. After every step the copy follows by
//! `mixing`: θ̄ ← (1 − τ)·θ̄ + τ·θ. Of an encoder in 16 bits θ̄ is kept in 32, and the copy is what
//! that rounds to: what a step adds is often less than a number's last bit in 16.

mod reading;

use std::path::Path;

use serde::{Deserialize, Serialize};
use tch::{Kind, Tensor};

use crate::error::TrainerError;
use crate::optimizer::{AdamW, Step};
use crate::ranks::Ranks;
use crate::rate::suitable_rate;
use reading::{Aim, Slopes, Texts, read, slopes};
use troupe_core::config::{TrainConfig, ValueCriticConfig};
use troupe_core::seed::Seed;
use troupe_core::storage::{create_folder, read_json, write_json};
use troupe_model::{Policy, ValueHeads, attempt, read_tensors, write_tensors};

/// An answer to a state, by its token ids.
#[derive(Clone, Copy, Debug)]
pub struct Answered<'a> {
    /// What the seat was asked, after the hint if the critic reads it.
    pub prompt: &'a [u32],
    /// What it said.
    pub answer: &'a [u32],
}

/// What came of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// The answer.
    pub answered: Answered<'a>,
    /// What it brought until its seat was asked again, in the unit of the reward.
    pub reward: f64,
    /// What its seat was asked next; nothing after its last answer.
    pub next: Option<&'a [u32]>,
}

/// An answer of which it is known what it and its state are worth.
#[derive(Clone, Copy, Debug)]
pub struct Appraised<'a> {
    /// The answer.
    pub answered: Answered<'a>,
    /// Its worth, in the unit of the reward.
    pub answer: f64,
    /// That of the state, whatever is answered.
    pub state: f64,
}

/// What a critic finds something worth, in the unit of the reward: of two estimates the lesser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The answer.
    pub answer: f64,
    /// Its state.
    pub state: f64,
}

/// Figures of one [`ValueCritic::learn`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueMetrics {
    /// Mean over the optimizer steps of what was minimized, in squared units of reward.
    pub loss: f64,
    /// Mean L2 norm of the encoder's gradients before clipping.
    pub gradient_norm: f64,
    /// Optimizer steps made.
    pub optimizer_steps: usize,
    /// Optimizer steps skipped because a gradient was not finite.
    pub skipped_steps: usize,
    /// Answers that could be learned from.
    pub answers: usize,
    /// Learning rate.
    pub learning_rate: f64,
}

/// What a critic of values has beside its encoder.
#[derive(Debug)]
pub struct ValueCritic {
    config: ValueCriticConfig,
    microbatch_tokens: usize,
    learning_rate: f64,
    heads: ValueHeads,
    /// The copy that follows.
    moving: (Policy, ValueHeads),
    /// The numbers of the copy's encoder in 32 bits, if it has them in fewer.
    exact: Option<Tensor>,
    of_encoder: AdamW,
    of_heads: AdamW,
    /// Training steps in which it has learned.
    step: usize,
}

#[derive(Serialize, Deserialize)]
struct CriticCounts {
    step: usize,
    optimizer_steps: u64,
    heads_optimizer_steps: u64,
}

impl ValueCritic {
    /// Fresh heads over `encoder`, which the seed decides. A learning rate of 0 is the one that
    /// suits the encoder; it is the same in all steps.
    ///
    /// # Errors
    /// If the device has no memory for the copy and the optimizers' state.
    pub fn new(
        encoder: &Policy,
        config: &ValueCriticConfig,
        train: &TrainConfig,
        seed: Seed,
    ) -> Result<Self, TrainerError> {
        let heads = ValueHeads::new(encoder.config().hidden_size, seed, encoder.device())?;
        let ranks = Ranks::alone();
        Ok(ValueCritic {
            config: config.clone(),
            microbatch_tokens: train.microbatch_tokens,
            learning_rate: match train.learning_rate {
                0.0 => suitable_rate(encoder),
                rate => rate,
            },
            moving: (encoder.duplicate()?, heads.duplicate()?),
            exact: match encoder.trainable().buffer().kind() {
                Kind::Float => None,
                _ => Some(encoder.trainable().buffer().f_to_kind(Kind::Float)?),
            },
            of_encoder: AdamW::new(encoder.trainable(), train, &ranks)?,
            of_heads: AdamW::new(heads.parameters(), train, &ranks)?,
            heads,
            step: 0,
        })
    }

    /// Training steps in which it has learned.
    pub fn steps(&self) -> usize {
        self.step
    }

    /// Learn from what came of answers, and from fresh answers of the policies as they are, whose
    /// states' worth is learned from them. Which of them are in a mini-batch, `seed` decides: each
    /// is drawn with replacement.
    ///
    /// # Errors
    /// If libtorch fails.
    pub fn learn(
        &mut self,
        encoder: &mut Policy,
        outcomes: &[Outcome],
        fresh: &[Answered],
        seed: Seed,
    ) -> Result<ValueMetrics, TrainerError> {
        let mut metrics = ValueMetrics {
            answers: outcomes.len(),
            learning_rate: self.learning_rate,
            ..ValueMetrics::default()
        };
        if outcomes.is_empty() || fresh.is_empty() {
            return Ok(metrics);
        }
        for update in 0..self.config.updates {
            let seed = seed.at(update as u64);
            let draw = |name: &str, count: usize| -> Vec<usize> {
                let seed = seed.named(name);
                let places = 0..self.config.minibatch_samples as u64;
                places.map(|place| seed.at(place).index(count)).collect()
            };
            let outcomes: Vec<Outcome> =
                draw("outcomes", outcomes.len()).into_iter().map(|at| outcomes[at]).collect();
            let fresh: Vec<Answered> =
                draw("fresh", fresh.len()).into_iter().map(|at| fresh[at]).collect();
            attempt(|| self.update(encoder, &outcomes, &fresh, &mut metrics))?;
        }
        self.step += 1;
        let made = metrics.optimizer_steps.max(1) as f64;
        metrics.loss /= made;
        metrics.gradient_norm /= made;
        Ok(metrics)
    }

    /// One optimizer step.
    fn update(
        &mut self,
        encoder: &mut Policy,
        outcomes: &[Outcome],
        fresh: &[Answered],
        metrics: &mut ValueMetrics,
    ) -> Result<(), TrainerError> {
        let (moving, heads) = &self.moving;
        let copy = (moving, heads);
        // What comes next: nothing has been answered there yet.
        let nothing: &[u32] = &[];
        let next: Vec<(&[u32], &[u32])> =
            outcomes.iter().filter_map(|outcome| Some((outcome.next?, nothing))).collect();
        let mut later =
            read(copy, &Texts::of(next.into_iter()), self.microbatch_tokens)?.into_iter();
        let of_fresh = read(copy, &Texts::of(fresh.iter().map(texts_of)), self.microbatch_tokens)?;
        let discount = self.config.discount as f32;
        let mut aims: Vec<Aim> = Vec::with_capacity(outcomes.len() + fresh.len());
        for outcome in outcomes {
            let later = outcome.next.and_then(|_| later.next()).unwrap_or_default();
            let aim = |head: usize| outcome.reward as f32 + discount * later[2 + head];
            aims.push(Aim { answer: Some([aim(0), aim(1)]), state: None });
        }
        aims.extend(
            of_fresh.iter().map(|worth| Aim { answer: None, state: Some([worth[0], worth[1]]) }),
        );
        let all = outcomes.iter().map(|outcome| &outcome.answered).chain(fresh);
        self.descend(encoder, &Texts::of(all.map(texts_of)), &aims, metrics)
    }

    /// One optimizer step towards aims, after which the copy follows.
    fn descend(
        &mut self,
        encoder: &mut Policy,
        texts: &Texts,
        aims: &[Aim],
        metrics: &mut ValueMetrics,
    ) -> Result<(), TrainerError> {
        let Slopes { encoder: of_encoder, heads: of_heads, loss } =
            slopes((encoder, &self.heads), texts, aims, self.microbatch_tokens)?;
        let (rate, threads) = (self.learning_rate, encoder.threads());
        let finite = |gradient: &Tensor| gradient.isfinite().all().int64_value(&[]) == 1;
        if !finite(&of_encoder) || !finite(&of_heads) {
            metrics.skipped_steps += 1;
            return Ok(());
        }
        let step = self.of_encoder.step(encoder.trainable_mut(), of_encoder, rate, threads)?;
        self.of_heads.step(self.heads.parameters_mut(), of_heads, rate, threads)?;
        if let Step::Made { gradient_norm } = step {
            metrics.gradient_norm += gradient_norm;
        }
        metrics.optimizer_steps += 1;
        metrics.loss += loss;
        self.follow(encoder)
    }

    /// θ̄ ← (1 − τ)·θ̄ + τ·θ.
    fn follow(&mut self, encoder: &Policy) -> Result<(), TrainerError> {
        let _guard = tch::no_grad_guard();
        let (policy, heads) = &self.moving;
        let online = encoder.trainable().buffer();
        let online = match &self.exact {
            Some(_) => online.f_to_kind(Kind::Float)?,
            None => online.shallow_clone(),
        };
        let pairs = [
            (self.numbers(), &online),
            (heads.parameters().buffer(), self.heads.parameters().buffer()),
        ];
        for (copy, online) in pairs {
            let _ = copy.shallow_clone().f_lerp_(online, self.config.mixing)?;
        }
        if let Some(exact) = &self.exact {
            policy.trainable().buffer().shallow_clone().f_copy_(exact)?;
        }
        Ok(())
    }

    /// The numbers of the copy's encoder, in as many bits as they are kept in.
    fn numbers(&self) -> &Tensor {
        self.exact.as_ref().unwrap_or_else(|| self.moving.0.trainable().buffer())
    }

    /// Learn what is known, `epochs` times over, in mini-batches in an order that the seed decides.
    ///
    /// # Errors
    /// If libtorch fails.
    pub fn fit(
        &mut self,
        encoder: &mut Policy,
        known: &[Appraised],
        epochs: usize,
        seed: Seed,
    ) -> Result<ValueMetrics, TrainerError> {
        let mut metrics = ValueMetrics { answers: known.len(), ..ValueMetrics::default() };
        for epoch in 0..epochs {
            let mut order: Vec<&Appraised> = known.iter().collect();
            seed.at(epoch as u64).shuffle(&mut order);
            for batch in order.chunks(self.config.minibatch_samples) {
                let texts = Texts::of(batch.iter().map(|known| texts_of(&known.answered)));
                let aim = |known: &&Appraised| Aim {
                    answer: Some([known.answer as f32; 2]),
                    state: Some([known.state as f32; 2]),
                };
                let aims: Vec<Aim> = batch.iter().map(aim).collect();
                attempt(|| self.descend(encoder, &texts, &aims, &mut metrics))?;
            }
        }
        metrics.loss /= metrics.optimizer_steps.max(1) as f64;
        metrics.gradient_norm /= metrics.optimizer_steps.max(1) as f64;
        metrics.learning_rate = self.learning_rate;
        Ok(metrics)
    }

    /// What answers and their states are worth, in their order.
    ///
    /// # Errors
    /// If libtorch fails.
    pub fn judge(
        &self,
        encoder: &Policy,
        answers: &[Answered],
    ) -> Result<Vec<Estimate>, TrainerError> {
        let texts = Texts::of(answers.iter().map(texts_of));
        let read = attempt(|| read((encoder, &self.heads), &texts, self.microbatch_tokens))?;
        let lesser = |a: f32, b: f32| f64::from(a.min(b));
        let estimates = read.into_iter();
        Ok(estimates
            .map(|[q, other_q, v, other_v]| Estimate {
                answer: lesser(q, other_q),
                state: lesser(v, other_v),
            })
            .collect())
    }

    /// Save everything the next update depends on, except the encoder itself.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), TrainerError> {
        create_folder(folder)?;
        self.heads.save(folder)?;
        let (policy, heads) = &self.moving;
        heads.save(&folder.join("moving"))?;
        let slots = policy.trainable().slots().iter();
        let tensors = slots.map(|slot| (slot.name().to_owned(), slot.view(self.numbers())));
        write_tensors(&folder.join("moving").join("encoder.safetensors"), tensors)?;
        write_tensors(&folder.join("encoder-optimizer.safetensors"), self.of_encoder.state()?)?;
        write_tensors(&folder.join("heads-optimizer.safetensors"), self.of_heads.state()?)?;
        let counts = CriticCounts {
            step: self.step,
            optimizer_steps: self.of_encoder.steps(),
            heads_optimizer_steps: self.of_heads.steps(),
        };
        Ok(write_json(&folder.join("critic.json"), &counts)?)
    }

    /// Take up what [`ValueCritic::save`] saved; on the CPU, learning then goes on as if it had
    /// never stopped, bit by bit.
    ///
    /// # Errors
    /// If a file cannot be read or is of another critic.
    pub fn load(&mut self, folder: &Path) -> Result<(), TrainerError> {
        let unfit = |reason| TrainerError::State { folder: folder.display().to_string(), reason };
        let counts: CriticCounts = read_json(&folder.join("critic.json"))?;
        self.heads.load(folder)?;
        self.moving.1.load(&folder.join("moving"))?;
        let saved = read_tensors(&folder.join("moving").join("encoder.safetensors"))?;
        let copy = self.moving.0.trainable();
        for slot in copy.slots() {
            let tensor = crate::optimizer::tensor(&saved, slot.name(), slot.shape());
            slot.view(self.numbers()).f_copy_(tensor.map_err(unfit)?)?;
        }
        if let Some(exact) = &self.exact {
            copy.buffer().shallow_clone().f_copy_(exact)?;
        }
        for (optimizer, name, steps) in [
            (&mut self.of_encoder, "encoder-optimizer.safetensors", counts.optimizer_steps),
            (&mut self.of_heads, "heads-optimizer.safetensors", counts.heads_optimizer_steps),
        ] {
            let state = read_tensors(&folder.join(name))?;
            optimizer.restore(&state, steps).map_err(unfit)?;
        }
        self.step = counts.step;
        Ok(())
    }
}

fn texts_of<'a>(answered: &Answered<'a>) -> (&'a [u32], &'a [u32]) {
    (answered.prompt, answered.answer)
}

#[cfg(test)]
mod tests;
