//! Which of two attempts was better: a critic that is a language model learns to tell.
//!
//! For a pair of a better and a worse trajectory, −log σ(β·(m⁺ − m⁻)) is minimized, m being the mean
//! over all drawn tokens of a trajectory's answers of log(π / π_ref) (SWEET-RL, arXiv 2503.15478,
//! equation 3): DPO of whole trajectories, normalized by their lengths, so that the longer one
//! is not the surer one.

use serde::{Deserialize, Serialize};

use crate::allowed::automata;
use crate::bundle::{self, Bundle, rows_of};
use crate::error::TrainerError;
use crate::gradient::Gradient;
use crate::learner::Learner;
use crate::metrics::Tally;
use crate::objective::{Pull, Weighted};
use crate::rescoring::rescore;
use crate::sample::CreditedSample;
use crate::trainer::Trainer;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_model::{Policy, SamplingByRole, attempt};

/// Two trajectories, by the places of their answers among some samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contest {
    /// The answers of the better one.
    pub better: Vec<usize>,
    /// Those of the worse one.
    pub worse: Vec<usize>,
}

/// Figures of one [`Trainer::prefer`]; those that are measured on contests are of the critic as it
/// met each of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContestMetrics {
    /// Mean over the mini-batches of what was minimized; log 2 for a critic that knows nothing.
    pub loss: f64,
    /// Share of contests in which the better trajectory had the larger margin; ties count half.
    pub right: f64,
    /// Contests, each counted once for every epoch.
    pub contests: usize,
    /// Mean L2 norm of the gradients before clipping.
    pub gradient_norm: f64,
    /// Learning rate.
    pub learning_rate: f64,
}

impl Trainer {
    /// Learn from contests, `minibatch` at a time, in an order that the seed decides, `epochs`
    /// times over. The reference is the critic as it was when the trainer was made. Without
    /// contests it stays as it is.
    ///
    /// # Errors
    /// If the trainer has no reference (`train.objective` is not `preference`), or libtorch fails.
    pub fn prefer(
        &mut self,
        critic: &mut Policy,
        (samples, contests): (&[&Sample], &[Contest]),
        minibatch: usize,
        sampling: &SamplingByRole,
        seed: Seed,
    ) -> Result<ContestMetrics, TrainerError> {
        attempt(|| self.prefer_all(critic, (samples, contests), minibatch, sampling, seed))
    }

    fn prefer_all(
        &mut self,
        critic: &mut Policy,
        (samples, contests): (&[&Sample], &[Contest]),
        minibatch: usize,
        sampling: &SamplingByRole,
        seed: Seed,
    ) -> Result<ContestMetrics, TrainerError> {
        let mut metrics =
            ContestMetrics { learning_rate: self.learning_rate(), ..ContestMetrics::default() };
        let mut tally = Tally::new(self.learning_rate());
        let mut right = 0.0;
        for epoch in 0..self.config.epochs {
            let mut order: Vec<&Contest> = contests.iter().collect();
            seed.at(epoch as u64).shuffle(&mut order);
            for batch in order.chunks(minibatch.max(1)) {
                let taken = Taken::of(samples, batch);
                right += self.step_on(critic, &taken, sampling, &mut tally)?;
                metrics.contests += batch.len();
            }
        }
        tally.add_up(&self.ranks)?;
        if !contests.is_empty() {
            self.step += 1;
        }
        let learned = tally.update_metrics(&[]);
        (metrics.loss, metrics.gradient_norm) = (learned.loss, learned.gradient_norm);
        metrics.right = right / metrics.contests.max(1) as f64;
        Ok(metrics)
    }

    /// One optimizer step; returns how many contests were told right.
    fn step_on(
        &mut self,
        critic: &mut Policy,
        taken: &Taken,
        sampling: &SamplingByRole,
        tally: &mut Tally,
    ) -> Result<f64, TrainerError> {
        let automata = automata(critic, sampling)?;
        let bundles = bundle::of_samples(taken.samples().into_iter(), sampling, &automata);
        let bundles: Vec<&Bundle> = bundles.iter().collect();
        let (gradients, right) = self.gradients_of(critic, taken, &bundles, sampling)?;
        for gradient in gradients {
            tally.add(&gradient.measured, &bundles);
            self.apply(critic, gradient, tally)?;
        }
        Ok(right)
    }

    /// The gradient of a mini-batch, whose answers are laid out in `bundles`, and how many
    /// contests were told right.
    fn gradients_of(
        &self,
        critic: &Policy,
        taken: &Taken,
        bundles: &[&Bundle],
        sampling: &SamplingByRole,
    ) -> Result<(Vec<Gradient>, f64), TrainerError> {
        let score = |policy: &Policy| {
            let tokens = self.config.microbatch_tokens;
            let scored = rescore(&self.ranks, &[(policy, taken.samples())], sampling, tokens)?;
            Ok::<_, TrainerError>(scored.into_iter().next().unwrap_or_default())
        };
        let Some(reference) = &self.reference else {
            let reason = "the critic is compared with nothing".to_owned();
            return Err(TrainerError::Sample { index: 0, reason });
        };
        let (now, before) = (score(critic)?, score(reference)?);
        let margins: Vec<f64> =
            taken.attempts().map(|rows| taken.margin(rows, &now, &before)).collect();
        let (pulls, right) = taken.pulls(&margins, self.config.temper());
        let pulls = rows_of(bundles).into_iter().map(|row| (row, pulls[row].clone()));
        let objective = Weighted::new(&self.config, sampling, &taken.rows, bundles).pulled(pulls);
        let learner = Learner { policy: critic, reference: None, objective: &objective };
        let numbered: Vec<(usize, &Bundle)> = bundles.iter().map(|bundle| (0, *bundle)).collect();
        Ok((self.gradients(&[learner], &numbered)?, right))
    }
}

/// The contests of a mini-batch and the answers in them, each of which is there once.
struct Taken<'a> {
    rows: Vec<CreditedSample<'a>>,
    contests: Vec<Contest>,
}

impl<'a> Taken<'a> {
    fn of(samples: &[&'a Sample], batch: &[&Contest]) -> Self {
        let named = batch.iter().flat_map(|contest| contest.better.iter().chain(&contest.worse));
        let mut places: Vec<usize> = named.copied().collect();
        places.sort_unstable();
        places.dedup();
        let moved = |rows: &[usize]| -> Vec<usize> {
            rows.iter().filter_map(|row| places.binary_search(row).ok()).collect()
        };
        let contests = batch.iter().map(|contest| Contest {
            better: moved(&contest.better),
            worse: moved(&contest.worse),
        });
        let contests = contests.collect();
        let credited = |&place: &usize| CreditedSample {
            sample: samples[place],
            advantage: None,
            weight: 1.0,
        };
        Taken { rows: places.iter().map(credited).collect(), contests }
    }

    fn samples(&self) -> Vec<&'a Sample> {
        self.rows.iter().map(|row| row.sample).collect()
    }

    /// The better and the worse trajectory of every contest in turn.
    fn attempts(&self) -> impl Iterator<Item = &[usize]> {
        self.contests.iter().flat_map(|contest| [&contest.better[..], &contest.worse[..]])
    }

    /// Drawn tokens of a trajectory.
    fn length(&self, rows: &[usize]) -> f64 {
        let tokens = rows.iter().map(|&row| self.rows[row].sample.completion.drawn());
        tokens.sum::<usize>().max(1) as f64
    }

    /// The mean of log(π / π_ref) over a trajectory's drawn tokens.
    fn margin(&self, rows: &[usize], now: &[Vec<f32>], before: &[Vec<f32>]) -> f64 {
        let of_row = |&row: &usize| -> f64 {
            let completion = &self.rows[row].sample.completion;
            let tokens = now[row].iter().zip(&before[row]).enumerate();
            let drawn = tokens.filter(|(place, _)| completion.is_drawn(*place));
            drawn.map(|(_, (now, before))| f64::from(now - before)).sum()
        };
        rows.iter().map(of_row).sum::<f64>() / self.length(rows)
    }

    /// The pull of every token of every row, and how many contests are told right by `margins`,
    /// which come in the order of [`Taken::attempts`].
    fn pulls(&self, margins: &[f64], beta: f64) -> (Vec<Vec<Pull>>, f64) {
        let mut pulls: Vec<Vec<Pull>> = (self.rows.iter())
            .map(|row| vec![Pull::default(); row.sample.completion.tokens.len()])
            .collect();
        let (mut right, share) = (0.0, 1.0 / self.contests.len().max(1) as f64);
        for (contest, margins) in self.contests.iter().zip(margins.chunks(2)) {
            let ahead = margins[0] - margins[1];
            right += if ahead == 0.0 { 0.5 } else { f64::from(u8::from(ahead > 0.0)) };
            let margin = beta * ahead;
            // log σ(m) = −log(1 + e^−m), without overflow.
            let gain = -((-margin.abs()).exp().ln_1p() + (-margin).max(0.0)) * share;
            let slope = beta / (1.0 + margin.exp()) * share;
            for (rows, sign) in [(&contest.better, 1.0), (&contest.worse, -1.0)] {
                let length = self.length(rows);
                // The contest's part of the whole is told by the better one's tokens.
                let gain = if sign > 0.0 { gain / length } else { 0.0 };
                for &row in rows {
                    let completion = &self.rows[row].sample.completion;
                    let drawn = (0..completion.tokens.len()).filter(|&at| completion.is_drawn(at));
                    drawn.for_each(|at| {
                        pulls[row][at].slope += sign * slope / length;
                        pulls[row][at].gain += gain;
                    });
                }
            }
        }
        (pulls, right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{by_role, config, logprobs, policy, samples, sampling};
    use tch::Tensor;
    use troupe_core::config::{Objective, TrainConfig};

    fn preferring() -> TrainConfig {
        TrainConfig {
            objective: Objective::Preference,
            beta: 0.7,
            entropy_coefficient: 0.0,
            ..config()
        }
    }

    fn contests() -> Vec<Contest> {
        vec![
            Contest { better: vec![0, 5, 2], worse: vec![1, 4] },
            Contest { better: vec![0, 5, 2], worse: vec![7] },
            Contest { better: vec![9], worse: vec![10, 11, 8] },
        ]
    }

    /// −log σ(β·(m⁺ − m⁻)), a mean over the contests, by its formula.
    fn loss(critic: &Policy, reference: &Policy, samples: &[Sample], contests: &[Contest]) -> f64 {
        let all: Vec<&Sample> = samples.iter().collect();
        let (now, start) =
            (logprobs(critic, &all, &sampling()), logprobs(reference, &all, &sampling()));
        let mean = |rows: &[usize]| {
            let (mut sum, mut count) = (0.0, 0.0);
            for &row in rows {
                for at in (0..now[row].len()).filter(|&at| all[row].completion.is_drawn(at)) {
                    sum += f64::from(now[row][at] - start[row][at]);
                    count += 1.0;
                }
            }
            sum / count
        };
        let of = |contest: &Contest| {
            let margin = 0.7 * (mean(&contest.better) - mean(&contest.worse));
            -(1.0 / (1.0 + (-margin).exp())).ln()
        };
        contests.iter().map(of).sum::<f64>() / contests.len() as f64
    }

    /// Answers with one token that was put there, by which nothing is learned.
    fn answers(policy: &Policy) -> Vec<Sample> {
        let mut samples = samples(policy, 3, &sampling());
        let long = samples.iter_mut().find(|sample| sample.completion.tokens.len() > 1).unwrap();
        long.completion.forced = vec![1];
        samples
    }

    #[test]
    fn the_gradient_is_that_of_what_is_minimized() {
        let (reference, mut critic) = (policy(1), policy(1));
        let trainer = Trainer::new(&reference, &preferring()).unwrap();
        // A little off from the reference, so that margins are not 0.
        let mut buffer = critic.trainable_mut().buffer().shallow_clone();
        tch::no_grad(|| buffer.copy_(&(&buffer + buffer.sin() * 0.05)));
        let samples = answers(&reference);
        let all: Vec<&Sample> = samples.iter().collect();
        let contests = contests();
        let taken = Taken::of(&all, &contests.iter().collect::<Vec<_>>());
        let by_role = by_role();
        let of_rows = bundle::of_samples(taken.samples().into_iter(), &by_role, &[]);
        let of_rows: Vec<&Bundle> = of_rows.iter().collect();
        let (gradients, right) = trainer.gradients_of(&critic, &taken, &of_rows, &by_role).unwrap();
        assert!((0.0..=3.0).contains(&right));
        let gradient = &gradients[0].buffer;
        let value = loss(&critic, &reference, &samples, &contests);
        assert!((gradients[0].measured.loss - value).abs() < 1e-5);
        let direction = gradient / gradient.norm();
        let slope = gradient.dot(&direction).double_value(&[]);
        let moved = |by: f64| {
            let moved = critic.duplicate().unwrap();
            let mut buffer = moved.trainable().buffer().shallow_clone();
            tch::no_grad(|| buffer.copy_(&(critic.trainable().buffer() + &direction * by)));
            loss(&moved, &reference, &samples, &contests)
        };
        let difference = (moved(0.01) - moved(-0.01)) / 0.02;
        assert!((difference / slope - 1.0).abs() < 0.02, "{difference} for {slope}");
        let other = Tensor::ones_like(gradient) / (gradient.numel() as f64).sqrt();
        assert!(gradient.dot(&other).double_value(&[]).abs() < slope);
    }

    #[test]
    fn a_critic_comes_to_tell_which_trajectory_was_better() {
        let mut critic = policy(2);
        let config = TrainConfig { epochs: 12, ..preferring() };
        let mut trainer = Trainer::new(&critic, &config).unwrap();
        let samples = answers(&critic);
        let all: Vec<&Sample> = samples.iter().collect();
        let mut prefer = |contests: &[Contest], critic: &mut Policy| {
            trainer.prefer(critic, (&all, contests), 2, &by_role(), Seed::new(3)).unwrap()
        };
        let first = prefer(&contests(), &mut critic);
        let second = prefer(&contests(), &mut critic);
        assert!(second.right > 0.9 && second.loss < first.loss, "{first:?} {second:?}");
        assert_eq!(second.contests, 36);
        let before = critic.digest().unwrap();
        let none = prefer(&[], &mut critic);
        assert_eq!((none.contests, critic.digest().unwrap()), (0, before));
    }

    #[test]
    fn without_a_reference_there_is_nothing_to_compare_with() {
        let mut critic = policy(2);
        let mut trainer = Trainer::new(&critic, &config()).unwrap();
        let samples = answers(&critic);
        let all: Vec<&Sample> = samples.iter().collect();
        let tried = trainer.prefer(&mut critic, (&all, &contests()), 2, &by_role(), Seed::new(3));
        assert!(tried.unwrap_err().to_string().contains("compared with nothing"));
    }
}
