//! One update: score, weigh, descend.

use super::{Distant, DistantMember, DistantStep, Pulls};
use crate::anchor::Anchor;
use crate::bundle::{self, Bundle, rows_of};
use crate::caution::ATTEMPTS;
use crate::error::TrainerError;
use crate::gauge::{Reading, choose};
use crate::member::{check, passes};
use crate::metrics::{Tally, UpdateMetrics};
use crate::objective::{Measured, Pull, Weighted, weigh};
use crate::optimizer::Step;
use crate::sample::CreditedSample;
use troupe_core::config::{AnchorChoice, TrainConfig};
use troupe_core::trajectory::Sample;
use troupe_model::SamplingByRole;

/// Let a distant policy learn from its rows, as [`crate::update_together`] does one that is here.
/// What it becomes is kept, and what was kept of it before is what it goes back to until the step
/// is settled.
///
/// # Errors
/// If a sample cannot be learned from, or the server fails and cannot be brought back.
pub fn update_distant(
    member: &mut DistantMember,
    sampling: &SamplingByRole,
) -> Result<UpdateMetrics, TrainerError> {
    check(member.rows, member.samples, sampling)?;
    for _ in 1..ATTEMPTS {
        match Update::of(member, sampling).make(member) {
            Err(TrainerError::Distant(error)) if member.policy.recovers(&error)? => {}
            made => return made,
        }
    }
    Update::of(member, sampling).make(member)
}

/// An update as it is planned.
struct Update<'a> {
    rows: &'a [CreditedSample<'a>],
    bundles: Vec<Bundle<'a>>,
    sampling: &'a SamplingByRole,
    /// The answers that are measured.
    gauged: Vec<&'a Sample>,
}

/// What is known of the rows before anything is learned.
struct Known {
    anchor: Anchor,
    /// log π now, if one mini-batch learns from all rows and they were scored.
    now: Option<Vec<Vec<f32>>>,
    reference: Option<Vec<Vec<f32>>>,
}

impl<'a> Update<'a> {
    fn of(member: &DistantMember<'a>, sampling: &'a SamplingByRole) -> Self {
        let gauged = choose(member.samples, member.seed.named("gauge"));
        let samples = member.rows.iter().map(|row| row.sample);
        let bundles = bundle::of_samples(samples, sampling, &[]);
        Update { rows: member.rows, bundles, sampling, gauged }
    }

    fn make(&self, member: &mut DistantMember) -> Result<UpdateMetrics, TrainerError> {
        let DistantMember { policy, seed, .. } = *member;
        let config = member.trainer.config.clone();
        let batches = passes(&config, seed, &self.bundles);
        let (known, before) = self.known(policy, &config, batches.len())?;
        let (mut tally, mut after, mut caution, mut overshoot, mut taken_back) =
            (Tally::new(0.0), before.clone(), member.trainer.caution, None, 0);
        while !batches.is_empty() && taken_back < ATTEMPTS {
            let step = member.trainer.optimizer_step(caution);
            tally = Tally::new(step.rate);
            for batch in &batches {
                self.learn(member, batch, &known, step, &mut tally)?;
            }
            after = self.read(policy.score(&self.gauged)?);
            let moved = after.movement_from(&before);
            if config.max_movement == 0.0 {
                break;
            }
            if moved <= config.max_movement {
                caution.stood(moved, config.max_movement);
                break;
            }
            policy.go_back()?;
            (after, overshoot) = (before.clone(), Some(moved));
            taken_back += 1;
            caution.went_too_far();
            tally = Tally::new(member.trainer.optimizer_step(caution).rate);
        }
        let sampled = Reading::of(&self.gauged, self.drawn_with());
        let distance = |scores: Vec<Vec<f32>>| self.read(scores).distance_from(&before);
        let kl = match config.needs_reference() {
            true => distance(policy.score_at_first(&self.gauged)?),
            false => 0.0,
        };
        policy.keep()?;
        // Last: an update that fails is made anew, as carefully, and counts once.
        (member.trainer.step, member.trainer.caution) = (member.trainer.step + 1, caution);
        let learned = tally.update_metrics(self.rows);
        Ok(UpdateMetrics {
            entropy: before.surprise(),
            kl,
            mismatch: before.distance_from(&sampled),
            mean_logprob_difference: before.mean_difference(&sampled),
            largest_logprob_difference: before.largest_difference(&sampled),
            capped_share: known.anchor.capped_share(&config).unwrap_or(0.0),
            movement: after.movement_from(&before),
            moved: after.largest_difference(&before) > 0.0,
            taken_back,
            overshoot,
            ..learned
        })
    }

    /// Score the rows, where something is made of that before the first step, and what is measured;
    /// what is both is scored once.
    fn known(
        &self,
        policy: &dyn Distant,
        config: &TrainConfig,
        mini_batches: usize,
    ) -> Result<(Known, Reading), TrainerError> {
        let samples: Vec<&Sample> = self.rows.iter().map(|row| row.sample).collect();
        let reference = config.needs_reference() && !samples.is_empty();
        let reference = reference.then(|| policy.score_at_first(&samples)).transpose()?;
        if config.anchor != AnchorChoice::Rescored || samples.is_empty() {
            let before = self.read(policy.score(&self.gauged)?);
            return Ok((Known { anchor: Anchor::Sampled, now: None, reference }, before));
        }
        let place = |sample: &Sample| samples.iter().position(|row| std::ptr::eq(*row, sample));
        let places: Vec<Option<usize>> = self.gauged.iter().map(|it| place(it)).collect();
        let others = self.gauged.iter().zip(&places).filter(|(_, place)| place.is_none());
        let all = samples.iter().copied().chain(others.map(|(sample, _)| *sample));
        let mut scores = policy.score(&all.collect::<Vec<_>>())?;
        let mut others = scores.split_off(samples.len()).into_iter();
        let of = |place: Option<usize>| match place {
            Some(place) => scores[place].clone(),
            None => others.next().unwrap_or_default(),
        };
        let before = self.read(places.into_iter().map(of).collect());
        let anchor = Anchor::at(config, &samples, scores.clone());
        let now = (mini_batches == 1).then_some(scores);
        Ok((Known { anchor, now, reference }, before))
    }

    /// One mini-batch.
    fn learn(
        &self,
        member: &DistantMember,
        batch: &[&Bundle],
        known: &Known,
        step: DistantStep,
        tally: &mut Tally,
    ) -> Result<(), TrainerError> {
        let (config, policy) = (&member.trainer.config, member.policy);
        let numbers = rows_of(batch);
        let samples: Vec<&Sample> = numbers.iter().map(|row| self.rows[*row].sample).collect();
        let shares = Weighted::new(config, self.sampling, self.rows, batch);
        let weighed = |now: &[Vec<f32>]| {
            let reference = known.reference.as_ref();
            let reference =
                reference.map(|all| numbers.iter().map(|&row| all[row].clone()).collect());
            let scored = shares.scored(&numbers, &known.anchor, now.to_vec(), reference);
            let mut pulls = weigh(config, &scored);
            scored.iter().zip(&mut pulls).for_each(|(row, pulls)| row.penalize(config, pulls));
            pulls
        };
        let (descended, pulls) = if member.trainer.is_native() {
            let clipped = self.clipped(config, &numbers, &shares, &known.anchor);
            let descended = policy.descend(&samples, &clipped, step)?;
            let pulls = weighed(&descended.logprobs);
            (descended, pulls)
        } else {
            let now = match &known.now {
                Some(now) => numbers.iter().map(|row| now[*row].clone()).collect(),
                None => policy.score(&samples)?,
            };
            let pulls = weighed(&now);
            let slope = |pulls: &Vec<Pull>| pulls.iter().map(|pull| pull.slope as f32).collect();
            let slopes = pulls.iter().map(slope).collect();
            (policy.descend(&samples, &Pulls::Slopes { now, slopes }, step)?, pulls)
        };
        tally.add(&measured(&pulls), batch);
        tally.stepped(Step::Made { gradient_norm: descended.norm.unwrap_or(0.0) });
        Ok(())
    }

    fn clipped(
        &self,
        config: &TrainConfig,
        numbers: &[usize],
        shares: &Weighted,
        anchor: &Anchor,
    ) -> Pulls {
        let (mut anchors, mut gains) = (Vec::new(), Vec::new());
        for &index in numbers {
            let row = &self.rows[index];
            let completion = &row.sample.completion;
            let share = shares.shares(index).0;
            let token = |place: usize| {
                let (old, correction) = anchor.token(row, index, place);
                let counts = if completion.is_drawn(place) { share * correction } else { 0.0 };
                (old, counts * row.advantage.unwrap_or(0.0))
            };
            let (old, gain) = (0..completion.tokens.len()).map(token).unzip();
            anchors.push(old);
            gains.push(gain);
        }
        let bounds = (1.0 - config.clip_low, 1.0 + config.clip_high);
        Pulls::Clipped { anchor: anchors, gains, bounds }
    }

    fn drawn_with(&self) -> Vec<Vec<f32>> {
        self.gauged.iter().map(|sample| sample.completion.logprobs.clone()).collect()
    }

    fn read(&self, scores: Vec<Vec<f32>>) -> Reading {
        Reading::of(&self.gauged, scores)
    }
}

/// What of a mini-batch is reported.
fn measured(pulls: &[Vec<Pull>]) -> Measured {
    let all = || pulls.iter().flatten();
    let count = |side: usize| all().filter(|pull| pull.clipped[side]).count() as f64;
    Measured {
        loss: -all().map(|pull| pull.gain).sum::<f64>(),
        clipped_low: count(0),
        clipped_high: count(1),
        capped: 0.0,
        tokens: all().count() as f64,
    }
}
