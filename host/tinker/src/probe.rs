//! What a server does with what it is sent: found out, not believed.
//!
//! On models of their own, which are unloaded afterwards. What a gradient comes to is read off the
//! norm that a step of rate 0 reports, and what a step really does off the log-probabilities after
//! it, so that something silently dropped shows by having no effect.

use std::sync::Arc;

use crate::client::Client;
use crate::conduct::{Conduct, Snapshots};
use crate::drawing::{Drawing, Source};
use crate::failure::TinkerFailure;
use crate::lesson::Lesson;
use crate::lora::{Lora, Loss, Purpose, STILL, remove};
use crate::reduction::Reduction;
use crate::session::Session;
use troupe_core::config::UNBOUNDED_NORM;
use troupe_core::seed::Seed;
use troupe_model::{Sampling, Speaker};
use troupe_trainer::DistantStep;

/// Tokens of the text that is learned from: a prompt of three, and an answer.
const TEXT: usize = 9;
const PROMPT: usize = 3;
/// Which of the answer's tokens pull.
const PULLED: [usize; 2] = [1, 5];
/// How far two norms may be apart that should be equal: 16 bits lose a hundredth.
const NEAR: f64 = 0.06;
/// By what a measured step may differ from the predicted one.
const ROUGHLY: std::ops::Range<f64> = 0.4..2.5;
/// How much the tokens pull whose step is measured: so little that no part of the gradient is near
/// the ε of 1.
const PULL: f32 = 0.02;
/// By how much the measured step is to move the answer's log-probability, in nats.
const NATS: f64 = 0.2;
/// A step that is bounded to this share of its norm shows by moving that much less.
const BOUND: f64 = 0.01;
/// Rate and decay of a neighbor's steps.
const NEIGHBOR: f64 = 1e-2;

/// What is asked on what.
pub(crate) struct Probe<'a> {
    pub(crate) session: &'a Arc<Session>,
    pub(crate) speaker: &'a Speaker,
    pub(crate) base: &'a str,
    pub(crate) rank: i64,
    /// What it makes of several losses, if the configuration says so.
    pub(crate) said: Option<Reduction>,
}

impl Probe<'_> {
    /// Ask everything.
    pub(crate) fn ask(&self) -> Result<Conduct, TinkerFailure> {
        let mut lora = self.make(1)?;
        let reduction = self.reduction(&mut lora)?;
        let mut conduct = Conduct {
            reduction,
            clips: None,
            snapshots: None,
            plain_logprobs: Some(self.plain_logprobs(&mut lora)?),
            steps_spread: None,
            decay_spreads: None,
            protobuf: !self.client().takes_json(),
        };
        if let Some(reduction) = reduction {
            let steps = self.steps(&mut lora, reduction)?;
            conduct.clips = steps.clips;
            conduct.reduction = conduct.reduction.filter(|_| steps.is_right);
        }
        if let Some(reduction) = conduct.reduction.or(self.said) {
            conduct.snapshots = Some(self.snapshots(&mut lora, reduction)?);
            match self.make(2) {
                Ok(mut neighbor) => {
                    let spread = self.spread(&mut lora, &mut neighbor)?;
                    (conduct.steps_spread, conduct.decay_spreads) =
                        (Some(spread.0), Some(spread.1));
                    neighbor.unload()?;
                }
                Err(failure) if failure.kind.is_lost() => return Err(failure),
                // There is one place.
                Err(_) => {}
            }
        }
        lora.unload()?;
        Ok(conduct)
    }

    fn client(&self) -> &Client {
        self.session.client()
    }

    fn make(&self, seed: u32) -> Result<Lora, TinkerFailure> {
        Lora::make(self.session, (self.base, self.rank, seed), self.speaker.vocabulary())
    }

    /// Ids without a meaning, the same every time, none of which ends an answer.
    fn text(&self) -> Vec<u32> {
        let vocabulary = self.speaker.vocabulary() as u64;
        let token = |place: u64| ((place * 7919 + 13) % vocabulary) as u32;
        let plain = (0..).map(token).filter(|token| !self.speaker.ends().contains(token));
        plain.take(TEXT).collect()
    }

    /// The text's answer, of which some tokens pull this much.
    fn lesson(&self, now: &[f32], length: usize, pulled: &[usize], pull: f32) -> Lesson {
        let text = self.text();
        let mut advantages = vec![0.0; length - PROMPT];
        pulled.iter().for_each(|place| advantages[*place] = pull);
        Lesson::new(&text[..PROMPT], &text[PROMPT..length])
            .with("logprobs", now[..length - PROMPT].to_vec())
            .with("advantages", advantages)
    }

    fn now(&self, lora: &mut Lora) -> Result<Vec<f32>, TinkerFailure> {
        let text = self.text();
        let scores = lora.score(vec![Lesson::new(&text[..PROMPT], &text[PROMPT..])])?;
        Ok(scores.into_iter().next().unwrap_or_default())
    }

    /// The norm of what these calls come to.
    fn norm(
        &self,
        lora: &mut Lora,
        calls: &[Vec<Lesson>],
        reduction: Reduction,
    ) -> Result<Option<f64>, TinkerFailure> {
        for call in calls {
            lora.add(call, Loss::ImportanceSampling, reduction)?;
        }
        lora.step(STILL)
    }

    /// What several losses come to: an answer once, twice with half its weight in one call, the
    /// same in two, and what then should be equal, in one answer and in two of unequal length.
    fn reduction(&self, lora: &mut Lora) -> Result<Option<Reduction>, TinkerFailure> {
        let now = self.now(lora)?;
        let whole = |pull| self.lesson(&now, TEXT, &PULLED, pull);
        let plain = Reduction::Sum;
        let Some(once) = self.norm(lora, &[vec![whole(1.0)]], plain)? else { return Ok(None) };
        let twice = self.norm(lora, &[vec![whole(0.5), whole(0.5)]], plain)?;
        let apart = self.norm(lora, &[vec![whole(0.5)], vec![whole(0.5)]], plain)?;
        let near = |norm: Option<f64>, to: f64| norm.is_some_and(|it| is_near(it / once, to));
        let likely = match (near(twice, 1.0), near(twice, 0.5), near(apart, 1.0), near(apart, 0.5))
        {
            (true, _, true, _) => Reduction::Sum,
            (_, true, _, true) => Reduction::SequenceMean,
            (_, true, true, _) => Reduction::TokenMean,
            _ => return Ok(None),
        };
        let in_one = self.norm(lora, &[vec![whole(1.0)]], likely)?;
        // The first of the pulled tokens ends a shorter answer.
        let short = self.lesson(&now, PROMPT + PULLED[0] + 1, &PULLED[..1], 1.0);
        let long = self.lesson(&now, TEXT, &PULLED[1..], 1.0);
        let in_two = self.norm(lora, &[vec![short, long]], likely)?;
        let fits = in_one.zip(in_two).is_some_and(|(one, two)| is_near(two / one, 1.0));
        Ok(fits.then_some(likely))
    }

    /// What steps do: with ε at 1 and nothing remembered a step is its gradient times the rate, so
    /// that it moves the answer by the rate times the square of the gradient's norm, over what each
    /// token pulls.
    fn steps(&self, lora: &mut Lora, reduction: Reduction) -> Result<Steps, TinkerFailure> {
        let now = self.now(lora)?;
        let whole = self.lesson(&now, TEXT, &PULLED, PULL);
        let Some(norm) = self.norm(lora, &[vec![whole]], reduction)?.filter(|norm| *norm > 0.0)
        else {
            return Ok(Steps { is_right: false, clips: None });
        };
        let rate = NATS * f64::from(PULL) / (norm * norm);
        let mut moved = |bound: f64| {
            let before = self.now(lora)?;
            let whole = self.lesson(&before, TEXT, &PULLED, PULL);
            lora.add(&[whole], Loss::ImportanceSampling, reduction)?;
            let still = DistantStep { betas: (0.0, 0.95), ..STILL };
            lora.step(DistantStep { rate, norm: bound, ..still })?;
            let after = self.now(lora)?;
            let sum = |scores: &[f32]| PULLED.iter().map(|at| f64::from(scores[*at])).sum::<f64>();
            Ok::<_, TinkerFailure>((sum(&after) - sum(&before)) / NATS)
        };
        let bounded = moved(BOUND * norm)?;
        let free = moved(UNBOUNDED_NORM)?;
        let is_right = ROUGHLY.contains(&free);
        let clips = is_right.then_some(bounded < free / 3.0);
        Ok(Steps { is_right, clips })
    }

    /// What becomes of older states that were kept to draw from.
    fn snapshots(&self, lora: &mut Lora, reduction: Reduction) -> Result<Snapshots, TinkerFailure> {
        let text = self.text();
        let score = |path: &str| {
            let source = &Source::Snapshot(path.to_owned());
            Drawing { client: self.client(), speaker: self.speaker, source }.score(&text)
        };
        let early = lora.save(Purpose::Sampler, "probe-1")?;
        let at_first = score(&early)?;
        let now = self.now(lora)?;
        lora.add(&[self.lesson(&now, TEXT, &PULLED, 1.0)], Loss::ImportanceSampling, reduction)?;
        lora.step(DistantStep { rate: NEIGHBOR, epsilon: 1e-8, ..STILL })?;
        let late = lora.save(Purpose::Sampler, "probe-2")?;
        let (present, model) = (score(&late)?, self.now(lora)?);
        let again = score(&early)?;
        let unmoved = distance(&self.now(lora)?, &model) < distance(&present, &at_first) / 4.0;
        let stays = distance(&again, &at_first) < distance(&again, &present);
        for path in [early, late] {
            remove(self.client(), &path)?;
        }
        Ok(match (unmoved, stays) {
            (true, true) => Snapshots::Stay,
            (true, false) => Snapshots::Follow,
            (false, _) => Snapshots::SetBack,
        })
    }

    /// Whether log-probabilities of what is drawn at temperature ½ are those at 1.
    fn plain_logprobs(&self, lora: &mut Lora) -> Result<bool, TinkerFailure> {
        let text = self.text();
        let source = &Source::Base(self.base.to_owned());
        let drawing = Drawing { client: self.client(), speaker: self.speaker, source };
        let sampling = Sampling { temperature: 0.5, ..Sampling::plain(TEXT - PROMPT) };
        let drawn = drawing.draw(&text[..PROMPT], 1, &sampling, Seed::new(1))?;
        let answer = &drawn[0];
        // The model has learned nothing yet: it is the base.
        let scores = lora.score(vec![Lesson::new(&text[..PROMPT], &answer.tokens)])?;
        Ok(distance(&scores[0], &answer.logprobs) < 0.05)
    }

    /// Whether a neighbor's steps, and its decay, move a model that has learned.
    fn spread(&self, lora: &mut Lora, neighbor: &mut Lora) -> Result<(bool, bool), TinkerFailure> {
        let before = self.now(lora)?;
        let noise = distance(&self.now(lora)?, &before);
        let now = self.now(neighbor)?;
        let mut moved = |weight_decay: f64| {
            let lesson = self.lesson(&now, TEXT, &PULLED, 1.0);
            neighbor.add(&[lesson], Loss::ImportanceSampling, Reduction::Sum)?;
            let still = DistantStep { epsilon: 1e-8, ..STILL };
            neighbor.step(DistantStep { rate: NEIGHBOR, weight_decay, ..still })?;
            let moved = distance(&self.now(lora)?, &before);
            Ok::<_, TinkerFailure>(moved > 1e-6 + 4.0 * noise)
        };
        let by_steps = moved(0.0)?;
        Ok((by_steps, by_steps || moved(1.0)?))
    }
}

/// What steps were found to do.
struct Steps {
    /// Whether one is as long as its gradient says.
    is_right: bool,
    clips: Option<bool>,
}

fn is_near(ratio: f64, to: f64) -> bool {
    (ratio / to - 1.0).abs() < NEAR
}

/// The largest difference.
fn distance(one: &[f32], other: &[f32]) -> f64 {
    let pairs = one.iter().zip(other);
    pairs.map(|(one, other)| f64::from((one - other).abs())).fold(0.0, f64::max)
}
