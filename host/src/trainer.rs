//! Updates of one policy from scored answers or from demonstrations.
//!
//! Knows neither plugins nor episodes: it takes answers with advantages and
//! changes weights. The steps of an update are in [`Trainer::update`]; how
//! answers become tensors is in `pack`, what is minimized in `loss`, how
//! weights follow in `optimizer`.

mod gradient;
mod loss;
mod metrics;
mod optimizer;
mod pack;
mod schedule;

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::config::TrainConfig;
use crate::policy::{Ensemble, Policy, PolicyError, Sampling, read_tensors, write_tensors};
use crate::seed::Seed;
use crate::storage::{StorageError, create_folder, read_json, write_json};
use crate::trajectory::Sample;

pub use metrics::{ImitationMetrics, UpdateMetrics};

use gradient::Gradient;
use loss::{Imitation, Surrogate};
use metrics::Tally;
use optimizer::AdamW;
use pack::{Answer, Bundle, bundle, micro_batches};

/// Why a policy cannot be trained.
#[derive(Debug, thiserror::Error)]
pub enum TrainerError {
    /// The policy or its device failed.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// Optimizer state cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Optimizer state is not that of this policy.
    #[error("the optimizer state in `{folder}` does not fit: {reason}")]
    State {
        /// Where it was read from.
        folder: String,
        /// What is different.
        reason: String,
    },
    /// A sample cannot be learned from.
    #[error("sample {index} cannot be learned from: {reason}")]
    Sample {
        /// Its place among the rows given.
        index: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Greedy answers carry no probability to raise or lower.
    #[error("answers drawn at `temperature = 0` cannot be trained on; sample above 0")]
    Greedy,
    /// libtorch reported an error.
    #[error("libtorch: {}", .0.to_string().lines().next().unwrap_or_default())]
    Torch(#[from] tch::TchError),
}

/// A sampled answer and what it was worth beyond its group's average.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The answer with its log-probabilities as sampled.
    pub sample: &'a Sample,
    /// Positive if it should become likelier.
    pub advantage: f32,
}

/// An answer to be imitated.
#[derive(Clone, Debug)]
pub struct Example {
    /// Token ids of the prompt.
    pub prompt: Arc<[u32]>,
    /// Token ids of the answer, the end-of-text token included.
    pub answer: Vec<u32>,
}

/// The optimizer of one policy and what it remembers.
#[derive(Debug)]
pub struct Trainer {
    config: TrainConfig,
    optimizer: AdamW,
    /// Updates made; the learning rate depends on it.
    step: usize,
    /// Factor on the learning rate, see [`Trainer::halve_learning_rate`].
    rate_scale: f64,
    /// The policy as it was at the start, if the KL penalty is on.
    reference: Option<Policy>,
}

/// What `trainer.json` says beside the tensors.
#[derive(Serialize, Deserialize)]
struct Progress {
    step: usize,
    optimizer_steps: u64,
    rate_scale: f64,
}

impl Trainer {
    /// A fresh optimizer for `policy`. With a KL penalty, the policy as it is
    /// now becomes the reference.
    ///
    /// # Errors
    /// If the device has no memory for the optimizer's state.
    pub fn new(policy: &Policy, config: &TrainConfig) -> Result<Self, TrainerError> {
        let reference = match config.kl_coefficient {
            0.0 => None,
            _ => Some(policy.duplicate()?),
        };
        let optimizer = AdamW::new(policy.trainable(), config)?;
        Ok(Trainer { config: config.clone(), optimizer, step: 0, rate_scale: 1.0, reference })
    }

    /// Learn from `rows`: `epochs` passes in mini-batches of whole groups
    /// (answers to one prompt stay together), in an order that `seed` decides.
    /// `sampling` must be what the answers were drawn with.
    ///
    /// Rows without a single token, or none at all, leave the policy as it is.
    ///
    /// # Errors
    /// If a row's tokens and log-probabilities disagree in number, sampling
    /// was greedy, or libtorch fails.
    pub fn update(
        &mut self,
        policy: &mut Policy,
        rows: &[Row],
        sampling: &Sampling,
        seed: Seed,
    ) -> Result<UpdateMetrics, TrainerError> {
        check(rows, sampling)?;
        let mut tally = Tally::new(rows.len(), self.learning_rate());
        let groups = bundle(rows.iter().enumerate().map(|(row, Row { sample, .. })| {
            (&sample.prompt[..], Answer { row, tokens: &sample.completion.tokens })
        }));
        for epoch in 0..self.config.epochs {
            let order = shuffled(&groups, seed.at(epoch as u64));
            for batch in mini_batches(&order, self.config.minibatch_samples) {
                let surrogate = Surrogate::new(&self.config, sampling, rows, batch);
                let gradient = self.gradient(policy, batch, &surrogate)?;
                tally.add(&gradient, batch);
                self.apply(policy, gradient, &mut tally)?;
            }
        }
        self.step += 1;
        Ok(tally.update_metrics())
    }

    /// One optimizer step that makes demonstrated answers likelier:
    /// cross-entropy, averaged over the answers' tokens.
    ///
    /// # Errors
    /// If an example is empty or libtorch fails.
    pub fn imitate(
        &mut self,
        policy: &mut Policy,
        examples: &[Example],
    ) -> Result<ImitationMetrics, TrainerError> {
        let empty = |example: &Example| example.prompt.is_empty() || example.answer.is_empty();
        if let Some(index) = examples.iter().position(empty) {
            return Err(TrainerError::Sample { index, reason: "it has no tokens".to_owned() });
        }
        let mut tally = Tally::new(examples.len(), self.learning_rate());
        let bundles =
            bundle(examples.iter().enumerate().map(|(row, example)| {
                (&example.prompt[..], Answer { row, tokens: &example.answer })
            }));
        let bundles: Vec<&Bundle> = bundles.iter().collect();
        if !bundles.is_empty() {
            let imitation = Imitation::new(&bundles);
            let gradient = self.gradient(policy, &bundles, &imitation)?;
            tally.add(&gradient, &bundles);
            self.apply(policy, gradient, &mut tally)?;
        }
        self.step += 1;
        Ok(tally.imitation_metrics())
    }

    /// Log-probabilities of the samples' tokens as the training graph has
    /// them, in the order of the samples: what `--verify-logprobs` compares.
    ///
    /// # Errors
    /// If libtorch fails.
    pub fn rescore(
        &self,
        policy: &Policy,
        samples: &[&Sample],
        sampling: &Sampling,
    ) -> Result<Vec<Vec<f32>>, TrainerError> {
        let mut scores: Vec<Vec<f32>> =
            samples.iter().map(|sample| vec![0.0; sample.completion.tokens.len()]).collect();
        if sampling.temperature == 0.0 {
            return Ok(scores);
        }
        let bundles = bundle(samples.iter().enumerate().map(|(row, sample)| {
            (&sample.prompt[..], Answer { row, tokens: &sample.completion.tokens })
        }));
        let bundles: Vec<&Bundle> = bundles.iter().collect();
        let _guard = tch::no_grad_guard();
        let ensemble = Ensemble::of(&[policy]);
        for batch in micro_batches(&bundles, self.config.microbatch_tokens, policy.device()) {
            let pack = batch.pack(policy.decoder());
            let scored = Vec::<f32>::try_from(pack.score(&ensemble, sampling).chosen)?;
            for (place, score) in batch.places().zip(scored) {
                scores[place.row][place.token] = score;
            }
        }
        Ok(scores)
    }

    /// The learning rate of the next update.
    pub fn learning_rate(&self) -> f64 {
        self.rate_scale * schedule::learning_rate(&self.config, self.step)
    }

    /// Go on with half the learning rate.
    pub fn halve_learning_rate(&mut self) {
        self.rate_scale *= 0.5;
    }

    /// A copy that goes on independently.
    ///
    /// # Errors
    /// If the device has no memory for it.
    pub fn duplicate(&self) -> Result<Self, TrainerError> {
        Ok(Trainer {
            config: self.config.clone(),
            optimizer: self.optimizer.duplicate()?,
            step: self.step,
            rate_scale: self.rate_scale,
            reference: self.reference.as_ref().map(Policy::duplicate).transpose()?,
        })
    }

    /// Save everything the next update depends on, save the policy itself.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), TrainerError> {
        create_folder(folder)?;
        write_tensors(&folder.join("optimizer.safetensors"), self.optimizer.state())?;
        if let Some(reference) = &self.reference {
            let tensors = reference.trainable().tensors();
            let tensors = tensors.map(|(slot, tensor)| (slot.name().to_owned(), tensor));
            write_tensors(&folder.join("reference.safetensors"), tensors)?;
        }
        let progress = Progress {
            step: self.step,
            optimizer_steps: self.optimizer.steps(),
            rate_scale: self.rate_scale,
        };
        Ok(write_json(&folder.join("trainer.json"), &progress)?)
    }

    /// Take up what [`Trainer::save`] saved; on the CPU, training then goes
    /// on as if it had never stopped, bit by bit.
    ///
    /// # Errors
    /// If a file cannot be read or is of another policy.
    pub fn load(&mut self, folder: &Path) -> Result<(), TrainerError> {
        let unfit = |reason| TrainerError::State { folder: folder.display().to_string(), reason };
        let progress: Progress = read_json(&folder.join("trainer.json"))?;
        let state = read_tensors(&folder.join("optimizer.safetensors"))?;
        self.optimizer.restore(&state, progress.optimizer_steps).map_err(unfit)?;
        if let Some(reference) = &self.reference {
            let state = read_tensors(&folder.join("reference.safetensors"))?;
            for (slot, target) in reference.trainable().tensors() {
                optimizer::restore_tensor(&state, slot.name(), target).map_err(unfit)?;
            }
        }
        (self.step, self.rate_scale) = (progress.step, progress.rate_scale);
        Ok(())
    }

    fn gradient(
        &self,
        policy: &Policy,
        bundles: &[&Bundle],
        objective: &(impl loss::Objective + Sync),
    ) -> Result<Gradient, TrainerError> {
        let batches = micro_batches(bundles, self.config.microbatch_tokens, policy.device());
        gradient::gradient(policy, self.reference.as_ref(), &batches, objective)
    }

    /// Change the weights, unless the gradient is not a number.
    fn apply(
        &mut self,
        policy: &mut Policy,
        gradient: Gradient,
        tally: &mut Tally,
    ) -> Result<(), TrainerError> {
        let rate = self.learning_rate();
        let applied = self.optimizer.step(policy.trainable_mut(), gradient.buffer, rate)?;
        tally.stepped(applied);
        Ok(())
    }
}

fn check(rows: &[Row], sampling: &Sampling) -> Result<(), TrainerError> {
    if sampling.temperature == 0.0 && !rows.is_empty() {
        return Err(TrainerError::Greedy);
    }
    for (index, Row { sample, advantage }) in rows.iter().enumerate() {
        let completion = &sample.completion;
        let (tokens, logprobs) = (completion.tokens.len(), completion.logprobs.len());
        let reason = if tokens != logprobs {
            format!("it has {tokens} tokens, but {logprobs} log-probabilities")
        } else if tokens == 0 || sample.prompt.is_empty() {
            "its prompt or its answer has no tokens".to_owned()
        } else if !advantage.is_finite() {
            format!("its advantage is {advantage}")
        } else {
            continue;
        };
        return Err(TrainerError::Sample { index, reason });
    }
    Ok(())
}

/// The bundles in an order that the seed decides (Fisher and Yates).
fn shuffled<'a>(bundles: &'a [Bundle<'a>], seed: Seed) -> Vec<&'a Bundle<'a>> {
    let mut order: Vec<&Bundle> = bundles.iter().collect();
    for last in (1..order.len()).rev() {
        order.swap(last, seed.at(last as u64).index(last + 1));
    }
    order
}

/// Cut into mini-batches of about `samples` answers each, as even as whole
/// bundles allow; 0 makes one of all.
fn mini_batches<'b, 'a>(
    order: &'b [&'a Bundle<'a>],
    samples: usize,
) -> impl Iterator<Item = &'b [&'a Bundle<'a>]> {
    let total: usize = order.iter().map(|bundle| bundle.answers().len()).sum();
    let count = (total + samples / 2).checked_div(samples).unwrap_or(1).max(1);
    let (mut from, mut taken) = (0, 0);
    (1..=count).filter_map(move |batch| {
        let start = from;
        while from < order.len() && (batch == count || taken * count < batch * total) {
            taken += order[from].answers().len();
            from += 1;
        }
        (start < from).then(|| &order[start..from])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{LossAggregation, PolicyConfig};
    use crate::policy::{Device, Request};
    use crate::trajectory::{Completion, Reward, StopReason};

    fn policy(seed: u64) -> Policy {
        let words: Vec<String> = (0..30).map(|word| format!("w{word}")).collect();
        Policy::random(&PolicyConfig::default(), &words, Seed::new(seed), Device::cpu()).unwrap()
    }

    fn sampling() -> Sampling {
        Sampling::plain(6)
    }

    fn prompt(seed: Seed, length: usize) -> Arc<[u32]> {
        (0..length as u64).map(|i| 4 + seed.at(i).index(30) as u32).collect()
    }

    /// `groups` prompts of different lengths with four answers each.
    fn samples(policy: &Policy, groups: u64, sampling: &Sampling) -> Vec<Sample> {
        let requests: Vec<Request> = (0..groups)
            .map(|group| {
                let seed = Seed::new(group);
                let seeds = (0..4).map(|branch| seed.named("branch").at(branch)).collect();
                Request { prompt: prompt(seed, 5 + seed.index(9)), seeds }
            })
            .collect();
        let answers = policy.generate(&requests, sampling).unwrap();
        let sample = |(task, branch, prompt, completion)| Sample {
            task,
            episode: 0,
            turn: 0,
            role: "solver".to_owned(),
            policy: "solo".to_owned(),
            branch,
            kept: branch == 0,
            state: 0,
            prompt,
            completion,
            reward: Reward::default(),
            accepted: true,
        };
        let grouped = requests.iter().zip(answers).enumerate();
        grouped
            .flat_map(|(task, (request, answers))| {
                let prompt = request.prompt.clone();
                answers
                    .into_iter()
                    .enumerate()
                    .map(move |(branch, answer)| (task, branch, prompt.clone(), answer))
            })
            .map(sample)
            .collect()
    }

    fn rows(samples: &[Sample]) -> Vec<Row<'_>> {
        let advantage = |sample: &Sample| sample.branch as f32 - 1.5;
        samples.iter().map(|sample| Row { sample, advantage: advantage(sample) }).collect()
    }

    fn config() -> TrainConfig {
        TrainConfig { warmup_steps: 0, ..TrainConfig::default() }
    }

    fn weights(policy: &Policy) -> Vec<f32> {
        Vec::try_from(policy.trainable().buffer()).unwrap()
    }

    /// Largest difference relative to the largest weight.
    fn distance(left: &Policy, right: &Policy) -> f32 {
        weights(left).iter().zip(weights(right)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    }

    #[test]
    fn the_training_graph_scores_as_the_sampler_did() {
        let policy = policy(1);
        for (temperature, top_k, top_p) in
            [(1.0, 0, 1.0), (0.6, 4, 1.0), (1.4, 0, 0.7), (1.0, 12, 0.9)]
        {
            let sampling = Sampling { temperature, top_k, top_p, ..sampling() };
            let samples = samples(&policy, 30, &sampling);
            let trainer = Trainer::new(&policy, &config()).unwrap();
            let samples: Vec<&Sample> = samples.iter().collect();
            let scores = trainer.rescore(&policy, &samples, &sampling).unwrap();
            for (sample, scores) in samples.iter().zip(scores) {
                assert_eq!(sample.completion.logprobs.len(), scores.len());
                let pairs = sample.completion.logprobs.iter().zip(&scores);
                let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                assert!(worst < 1e-4, "{worst} at {sampling:?}");
            }
        }
    }

    #[test]
    fn packed_answers_score_as_each_alone() {
        let policy = policy(2);
        let mut samples = samples(&policy, 6, &sampling());
        // Equal beginnings, one answer within another, and the same answer twice.
        for (index, tokens) in
            [&[5, 6, 7, 2][..], &[5, 6, 2], &[5, 6], &[5, 6, 7, 2]].into_iter().enumerate()
        {
            samples[index].completion.tokens = tokens.to_vec();
            samples[index].completion.logprobs = vec![0.0; tokens.len()];
        }
        let trainer = Trainer::new(&policy, &config()).unwrap();
        let together =
            trainer.rescore(&policy, &samples.iter().collect::<Vec<_>>(), &sampling()).unwrap();
        for (sample, together) in samples.iter().zip(&together) {
            let alone = trainer.rescore(&policy, &[sample], &sampling()).unwrap().remove(0);
            assert!(
                alone.iter().zip(together).all(|(a, b)| (a - b).abs() < 1e-5),
                "{alone:?} {together:?}"
            );
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_bits_on_any_number_of_threads() {
        let run = |threads| {
            let mut policy = policy(3);
            policy.set_threads(threads);
            let samples = samples(&policy, 120, &sampling());
            let mut trainer =
                Trainer::new(&policy, &TrainConfig { minibatch_samples: 100, ..config() }).unwrap();
            let metrics =
                trainer.update(&mut policy, &rows(&samples), &sampling(), Seed::new(1)).unwrap();
            (policy.digest().unwrap(), metrics)
        };
        assert_eq!(run(1), run(1));
        assert_eq!(run(1), run(3));
    }

    #[test]
    fn the_size_of_micro_batches_changes_nothing() {
        for loss_aggregation in [
            LossAggregation::TokenMean,
            LossAggregation::SampleMeanTokenMean,
            LossAggregation::SampleMeanTokenSum,
        ] {
            let run = |microbatch_tokens| {
                let mut policy = policy(4);
                let samples = samples(&policy, 20, &sampling());
                let config = TrainConfig {
                    microbatch_tokens,
                    loss_aggregation,
                    kl_coefficient: 0.1,
                    ..config()
                };
                let mut trainer = Trainer::new(&policy, &config).unwrap();
                for step in 0..3 {
                    trainer
                        .update(&mut policy, &rows(&samples), &sampling(), Seed::new(step))
                        .unwrap();
                }
                policy
            };
            let (whole, cut) = (run(16_384), run(40));
            assert!(distance(&whole, &cut) < 1e-4, "{}", distance(&whole, &cut));
            assert!(distance(&whole, &policy(4)) > 1e-3);
        }
    }

    #[test]
    fn answers_with_positive_advantage_become_likelier() {
        let mut policy = policy(5);
        let samples = samples(&policy, 16, &sampling());
        let all: Vec<&Sample> = samples.iter().collect();
        let config = TrainConfig { entropy_coefficient: 0.0, kl_coefficient: 0.01, ..config() };
        let mut trainer = Trainer::new(&policy, &config).unwrap();
        let before = trainer.rescore(&policy, &all, &sampling()).unwrap();
        let mut metrics = UpdateMetrics::default();
        for step in 0..4 {
            metrics =
                trainer.update(&mut policy, &rows(&samples), &sampling(), Seed::new(step)).unwrap();
        }
        let after = trainer.rescore(&policy, &all, &sampling()).unwrap();
        let gain: f32 = rows(&samples)
            .iter()
            .zip(before.iter().zip(&after))
            .map(|(row, (before, after))| {
                row.advantage * (after.iter().sum::<f32>() - before.iter().sum::<f32>())
            })
            .sum();
        assert!(gain > 1.0, "{gain}");
        assert!(
            metrics.kl > 0.0 && metrics.movement > 0.0 && metrics.clip_high_share > 0.0,
            "{metrics:?}"
        );
        assert_eq!((metrics.samples, metrics.optimizer_steps, metrics.skipped_steps), (64, 1, 0));
    }

    #[test]
    fn the_first_update_reports_no_mismatch() {
        let mut policy = policy(6);
        let sampling = Sampling { temperature: 0.8, top_p: 0.9, ..sampling() };
        let samples = samples(&policy, 10, &sampling);
        let mut trainer = Trainer::new(&policy, &config()).unwrap();
        let metrics =
            trainer.update(&mut policy, &rows(&samples), &sampling, Seed::new(1)).unwrap();
        assert!(
            metrics.largest_logprob_difference < 1e-4 && metrics.mismatch < 1e-6,
            "{metrics:?}"
        );
        assert_eq!((metrics.clip_low_share, metrics.clip_high_share), (0.0, 0.0));
        let answers: usize = samples.iter().map(|sample| sample.completion.tokens.len()).sum();
        let prompts: usize = samples.iter().step_by(4).map(|sample| sample.prompt.len()).sum();
        assert_eq!(metrics.tokens, answers + prompts);
    }

    #[test]
    fn the_entropy_bonus_raises_entropy() {
        let run = |entropy_coefficient| {
            let mut policy = policy(7);
            let samples = samples(&policy, 10, &sampling());
            let flat: Vec<Row> =
                samples.iter().map(|sample| Row { sample, advantage: 0.0 }).collect();
            let mut trainer =
                Trainer::new(&policy, &TrainConfig { entropy_coefficient, ..config() }).unwrap();
            let entropies: Vec<f64> = (0..3)
                .map(|step| {
                    trainer
                        .update(&mut policy, &flat, &sampling(), Seed::new(step))
                        .unwrap()
                        .entropy
                })
                .collect();
            entropies[2] - entropies[0]
        };
        assert!(run(0.0).abs() < 1e-5);
        assert!(run(0.1) > 0.0);
    }

    #[test]
    fn a_small_policy_learns_answers_by_heart() {
        let mut policy = policy(8);
        let examples: Vec<Example> = (0..4)
            .map(|index| Example {
                prompt: prompt(Seed::new(index), 6),
                answer: vec![5 + index as u32, 9, 5 + index as u32, 2],
            })
            .collect();
        let config = TrainConfig {
            learning_rate: 1e-2,
            weight_decay: 0.01,
            decay: crate::config::Decay::Constant,
            ..config()
        };
        let mut trainer = Trainer::new(&policy, &config).unwrap();
        let losses: Vec<f64> =
            (0..60).map(|_| trainer.imitate(&mut policy, &examples).unwrap().loss).collect();
        assert!(losses[0] > 2.5 && losses[59] < 0.05, "{losses:?}");
        let requests: Vec<Request> = examples
            .iter()
            .map(|example| Request { prompt: example.prompt.clone(), seeds: vec![Seed::new(0)] })
            .collect();
        let answers = policy.generate(&requests, &Sampling::greedy(8)).unwrap();
        for (example, answers) in examples.iter().zip(answers) {
            assert_eq!(example.answer, answers[0].tokens);
        }
    }

    #[test]
    fn weights_of_16_bits_learn_through_their_copy_in_32() {
        let folder = tempfile::tempdir().unwrap();
        policy(8).save(folder.path()).unwrap();
        let path = folder.path().join("config.json");
        let config_json = std::fs::read_to_string(&path).unwrap().replace("float32", "bfloat16");
        std::fs::write(path, config_json).unwrap();
        let mut policy = Policy::load(folder.path(), Device::cpu()).unwrap();
        let example = Example { prompt: prompt(Seed::new(1), 6), answer: vec![5, 9, 7, 2] };
        let mut trainer = Trainer::new(&policy, &config()).unwrap();
        let before = trainer.imitate(&mut policy, std::slice::from_ref(&example)).unwrap().loss;
        for _ in 0..30 {
            trainer.imitate(&mut policy, std::slice::from_ref(&example)).unwrap();
        }
        trainer.save(folder.path()).unwrap();
        policy.save(folder.path()).unwrap();
        let mut resumed = Policy::load(folder.path(), Device::cpu()).unwrap();
        let mut copy = Trainer::new(&resumed, &config()).unwrap();
        copy.load(folder.path()).unwrap();
        let after = trainer.imitate(&mut policy, std::slice::from_ref(&example)).unwrap();
        assert!(before > 2.5 && after.loss < 0.5, "{before} {after:?}");
        assert_eq!(copy.imitate(&mut resumed, &[example]).unwrap(), after);
        assert_eq!(policy.digest().unwrap(), resumed.digest().unwrap());
    }

    #[test]
    fn saved_and_loaded_it_goes_on_bit_by_bit() {
        let config = TrainConfig { kl_coefficient: 0.05, weight_decay: 0.1, ..config() };
        let mut policy = policy(9);
        let samples = samples(&policy, 12, &sampling());
        let mut trainer = Trainer::new(&policy, &config).unwrap();
        let learn = |trainer: &mut Trainer, policy: &mut Policy, step| {
            trainer.update(policy, &rows(&samples), &sampling(), Seed::new(step)).unwrap()
        };
        learn(&mut trainer, &mut policy, 0);
        trainer.halve_learning_rate();
        let folder = tempfile::tempdir().unwrap();
        trainer.save(&folder.path().join("optimizer")).unwrap();
        policy.save(&folder.path().join("policy")).unwrap();
        let mut copy = (trainer.duplicate().unwrap(), policy.duplicate().unwrap());
        let expected = learn(&mut trainer, &mut policy, 1);

        assert_eq!(learn(&mut copy.0, &mut copy.1, 1), expected);
        let mut resumed = Policy::load(&folder.path().join("policy"), Device::cpu()).unwrap();
        let mut trainer = Trainer::new(&resumed, &config).unwrap();
        trainer.load(&folder.path().join("optimizer")).unwrap();
        assert_eq!(learn(&mut trainer, &mut resumed, 1), expected);
        assert_eq!(resumed.digest().unwrap(), policy.digest().unwrap());
        assert_eq!(copy.1.digest().unwrap(), policy.digest().unwrap());
    }

    #[test]
    fn state_of_another_policy_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        Trainer::new(&policy(1), &config()).unwrap().save(folder.path()).unwrap();
        let words = vec!["other".to_owned()];
        let other =
            Policy::random(&PolicyConfig::default(), &words, Seed::new(1), Device::cpu()).unwrap();
        let error =
            Trainer::new(&other, &config()).unwrap().load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("`first.model.embed_tokens.weight` has shape"), "{error}");
    }

    #[test]
    fn rows_that_cannot_be_learned_from_are_refused() {
        let mut policy = policy(1);
        let samples = samples(&policy, 1, &sampling());
        let mut trainer = Trainer::new(&policy, &config()).unwrap();
        let mut refuse = |change: &dyn Fn(&mut Sample, &mut f32, &mut Sampling)| {
            let (mut sample, mut advantage, mut sampling) = (samples[0].clone(), 1.0, sampling());
            change(&mut sample, &mut advantage, &mut sampling);
            let rows = [Row { sample: &sample, advantage }];
            trainer.update(&mut policy, &rows, &sampling, Seed::new(0)).unwrap_err().to_string()
        };
        assert!(
            refuse(&|sample, _, _| sample.completion.logprobs.push(0.0))
                .contains("log-probabilities")
        );
        assert!(refuse(&|_, advantage, _| *advantage = f32::NAN).contains("advantage is NaN"));
        assert!(refuse(&|_, _, sampling| sampling.temperature = 0.0).contains("sample above 0"));
        let empty = Completion {
            tokens: vec![],
            logprobs: vec![],
            text: String::new(),
            stop: StopReason::Length,
        };
        assert!(refuse(&|sample, _, _| sample.completion = empty.clone()).contains("no tokens"));
        let none = trainer.update(&mut policy, &[], &sampling(), Seed::new(0)).unwrap();
        assert_eq!((none.samples, none.optimizer_steps), (0, 0));
    }

    #[test]
    fn mini_batches_are_even_and_keep_groups_whole() {
        let tokens: Vec<u32> = (0..100).collect();
        let groups = bundle(
            (0..100)
                .map(|row| (&tokens[row / 4..row / 4 + 1], Answer { row, tokens: &tokens[..1] })),
        );
        let order = shuffled(&groups, Seed::new(1));
        let sizes = |samples| -> Vec<usize> {
            mini_batches(&order, samples)
                .map(|batch| batch.iter().map(|group| group.answers().len()).sum())
                .collect()
        };
        assert_eq!(sizes(0), [100]);
        assert_eq!(sizes(512), [100]);
        assert_eq!(sizes(30), [36, 32, 32]);
        assert_eq!(sizes(1).iter().sum::<usize>(), 100);
    }
}
