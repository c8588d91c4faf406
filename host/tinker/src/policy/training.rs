//! How a policy on a server learns.

use std::error::Error;

use super::{State, TinkerPolicy, gone, is_gone};
use crate::drawing::Source;
use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use crate::lesson::Lesson;
use crate::lora::Loss;
use troupe_core::parallel;
use troupe_core::trajectory::Sample;
use troupe_trainer::{Descended, Distant, DistantError, DistantStep, Pulls};

impl TinkerPolicy {
    fn learn(
        &self,
        state: &mut State,
        answers: &[&Sample],
        pulls: &Pulls,
        step: DistantStep,
    ) -> Result<Descended, TinkerFailure> {
        state.retire();
        let lora = state.lora.as_mut().ok_or_else(gone)?;
        let (loss, before, gains) = match pulls {
            Pulls::Slopes { now, slopes } => (Loss::ImportanceSampling, now, slopes),
            Pulls::Clipped { anchor, gains, bounds: (low, high) } => {
                (Loss::Ppo { low: *low, high: *high }, anchor, gains)
            }
        };
        let data: Vec<Lesson> = (answers.iter().zip(before).zip(gains))
            .map(|((answer, before), gains)| {
                lesson(answer).with("logprobs", before.clone()).with("advantages", gains.clone())
            })
            .collect();
        let reduction = self.training.as_ref().map(|(_, reduction)| *reduction);
        let reduction = reduction.ok_or_else(|| {
            Kind::Unfit.because("it was not found out what the server does with gradients")
        })?;
        let logprobs = lora.add(&data, loss, reduction)?;
        let norm = lora.step(step)?;
        Ok(Descended { logprobs, norm })
    }
}

impl Distant for TinkerPolicy {
    fn score(&self, answers: &[&Sample]) -> Result<Vec<Vec<f32>>, DistantError> {
        if answers.is_empty() {
            return Ok(Vec::new());
        }
        let mut state = self.state();
        let scored = state.lora.as_mut().ok_or_else(gone);
        let data = answers.iter().map(|answer| lesson(answer)).collect();
        Ok(scored.and_then(|lora| lora.score(data))?)
    }

    fn score_at_first(&self, answers: &[&Sample]) -> Result<Vec<Vec<f32>>, DistantError> {
        let source = Source::Base(self.config.base.clone());
        let score = |answer: &&Sample| {
            let text = [&answer.prompt[..], &answer.completion.tokens].concat();
            let scores = self.drawing(&source).score(&text)?;
            Ok::<_, TinkerFailure>(scores[answer.prompt.len() - 1..].to_vec())
        };
        Ok(parallel::try_in_order(self.config.concurrency, answers, score)?)
    }

    fn descend(
        &self,
        answers: &[&Sample],
        pulls: &Pulls,
        step: DistantStep,
    ) -> Result<Descended, DistantError> {
        Ok(self.learn(&mut self.state(), answers, pulls, step)?)
    }

    fn keep(&self) -> Result<(), DistantError> {
        let mut state = self.state();
        let path = state.save()?;
        state.next = Some(path);
        Ok(())
    }

    fn go_back(&self) -> Result<(), DistantError> {
        Ok(self.load_kept(&mut self.state()).map(drop)?)
    }

    fn recovers(&self, error: &DistantError) -> Result<bool, DistantError> {
        let cause: &(dyn Error + 'static) = &*error.0;
        match cause.downcast_ref::<TinkerFailure>().is_some_and(is_gone) {
            true => Ok(self.stand_up(&mut self.state()).map(|()| true)?),
            false => Ok(false),
        }
    }
}

impl From<TinkerFailure> for DistantError {
    fn from(failure: TinkerFailure) -> Self {
        DistantError(Box::new(failure))
    }
}

fn lesson(answer: &Sample) -> Lesson {
    Lesson::new(&answer.prompt, &answer.completion.tokens)
}
