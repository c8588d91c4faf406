//! Several policies that answer together: each gives its likeliest answer, and one of these plays.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::remote::Remote;
use crate::metrics::Totals;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Completion;
use troupe_model::{
    ChatRequest, Completions, Engine, Policy, PolicyError, Question, RemoteFailure,
    RemoteFailureKind, Request, Sampling,
};

/// Policies that answer together.
#[derive(Debug)]
pub struct Council {
    names: Vec<String>,
    /// Handles on their weights: a policy is not shared between threads.
    members: Mutex<Vec<Policy>>,
    verdict: Verdict,
    cache_bytes: usize,
    /// What was drawn and read for answers that were not given.
    unseen: Mutex<Totals>,
}

/// Which of the members' answers plays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// The one whose text most of them give.
    Vote,
    /// The one with the largest Σ exp(log π(answer) / τ) over the members.
    Boltzmann(f64),
}

/// Members' prompts and answers, in their order.
struct Said {
    prompts: Vec<Arc<[u32]>>,
    answers: Vec<Completion>,
}

/// Prompts of one request, or that they leave no room for an answer.
type Prompts = Result<Vec<Arc<[u32]>>, RemoteFailure>;

impl Council {
    /// Of policies by name, in the order that decides between equals; keys and values take at most
    /// `cache_bytes`.
    pub fn new(members: Vec<(String, Policy)>, verdict: Verdict, cache_bytes: usize) -> Self {
        let (names, members) = members.into_iter().unzip();
        let (members, unseen) = (Mutex::new(members), Mutex::default());
        Council { names, members, verdict, cache_bytes, unseen }
    }

    fn ask(
        &self,
        members: &[Policy],
        requests: &[ChatRequest],
        sampling: &Sampling,
    ) -> Result<Vec<Result<Completions, RemoteFailure>>, PolicyError> {
        let greedy = Sampling { temperature: 0.0, ..sampling.clone() };
        let members: Vec<&Policy> = members.iter().collect();
        let mut engine = Engine::new(&members, greedy, self.cache_bytes)?;
        let prompts = requests.iter().map(|request| prompts(&engine, &members, request));
        let prompts: Vec<Prompts> = prompts.collect::<Result<_, _>>()?;
        let questions: Vec<Question> = (prompts.iter().flatten())
            .flat_map(|prompts| prompts.iter().enumerate())
            .map(|(member, prompt)| (member, question(prompt.clone())))
            .collect();
        let mut answers = engine.generate(&questions)?.into_iter().flatten();
        let said = |(request, prompts): (&ChatRequest, Prompts)| match prompts {
            Err(failure) => Ok(Err(failure)),
            Ok(prompts) => {
                let answers = answers.by_ref().take(members.len()).collect();
                let said = Said { prompts, answers };
                self.give(&members, said, (sampling, request.seeds.len())).map(Ok)
            }
        };
        requests.iter().zip(prompts).map(said).collect()
    }

    /// The answer that plays, as often as it is wanted.
    fn give(
        &self,
        members: &[&Policy],
        said: Said,
        (sampling, times): (&Sampling, usize),
    ) -> Result<Completions, PolicyError> {
        let mut totals = said.totals();
        let place = match self.verdict {
            Verdict::Vote => most(said.answers.iter().map(|answer| answer.text.trim())),
            Verdict::Boltzmann(temperature) => {
                let (places, logprobs) = said.score(members, sampling, &mut totals)?;
                places[likeliest(&logprobs, temperature)]
            }
        };
        let Said { mut prompts, mut answers } = said;
        let (prompt, answer) = (prompts.swap_remove(place), answers.swap_remove(place));
        totals.samples -= 1;
        totals.prompt_tokens -= prompt.len() as u64;
        totals.completion_tokens -= answer.length() as u64;
        *self.unseen.lock().unwrap_or_else(PoisonError::into_inner) += totals;
        Ok(Completions { prompt, completions: vec![answer; times] })
    }
}

impl Remote for Council {
    fn identity(&self) -> String {
        format!("{:?} of {}", self.verdict, self.names.join(", "))
    }

    fn complete(
        &self,
        requests: &[ChatRequest],
        sampling: &Sampling,
    ) -> Vec<Result<Completions, RemoteFailure>> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        self.ask(&members, requests, sampling).unwrap_or_else(|error| {
            let failure = RemoteFailureKind::Broken.because(error.to_string());
            vec![Err(failure); requests.len()]
        })
    }

    fn unseen(&self) -> Totals {
        *self.unseen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Said {
    /// What was drawn and read for it.
    fn totals(&self) -> Totals {
        let tokens = self.answers.iter().map(|answer| answer.length() as u64);
        Totals {
            samples: self.answers.len() as u64,
            completion_tokens: tokens.sum(),
            prompt_tokens: self.prompts.iter().map(|prompt| prompt.len() as u64).sum(),
            acts: 0,
        }
    }

    /// The places of the answers that differ, and how likely each member finds each of these: the
    /// natural log-probability of all its tokens, at temperature 1.
    fn score(
        &self,
        members: &[&Policy],
        sampling: &Sampling,
        totals: &mut Totals,
    ) -> Result<(Vec<usize>, Vec<Vec<f64>>), PolicyError> {
        let mut seen = BTreeSet::new();
        let places: Vec<usize> =
            (0..self.answers.len()).filter(|&at| seen.insert(&self.answers[at].tokens)).collect();
        if places.len() == 1 {
            return Ok((places, vec![Vec::new()]));
        }
        let mut scores = Vec::new();
        for &place in &places {
            let answer = &self.answers[place].tokens;
            let mut of_answer = Vec::new();
            for (member, prompt) in members.iter().zip(&self.prompts) {
                totals.prompt_tokens += (prompt.len() + answer.len()) as u64;
                let own = member.score_answer(prompt, answer, sampling)?;
                of_answer.push(own.iter().map(|&logprob| f64::from(logprob)).sum());
            }
            scores.push(of_answer);
        }
        Ok((places, scores))
    }
}

/// The request as each member reads it.
fn prompts(
    engine: &Engine,
    members: &[&Policy],
    request: &ChatRequest,
) -> Result<Prompts, PolicyError> {
    let mut prompts = Vec::new();
    for (place, member) in members.iter().enumerate() {
        let prompt = member.encode_prompt(&request.messages, &request.tools, request.thinking)?;
        match engine.check(&(place, question(prompt.clone()))) {
            Ok(()) => prompts.push(prompt),
            Err(long @ PolicyError::PromptTooLong { .. }) => {
                return Ok(Err(RemoteFailureKind::TooLong.because(long.to_string())));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(Ok(prompts))
}

/// The likeliest answer needs no chance.
fn question(prompt: Arc<[u32]>) -> Request {
    Request { prompt, seeds: vec![Seed::new(0)] }
}

/// The place of the text that is there most often: where it is first, and of those as frequent as
/// each other, the first.
fn most<'t>(texts: impl Iterator<Item = &'t str>) -> usize {
    let texts: Vec<&str> = texts.collect();
    let votes = |place: usize| texts.iter().filter(|text| **text == texts[place]).count();
    first_largest((0..texts.len()).map(|place| votes(place) as f64))
}

/// The place of the answer with the largest Σ exp(logprob / temperature) over the members, the
/// first of equals.
fn likeliest(answers: &[Vec<f64>], temperature: f64) -> usize {
    let log_sum = |logprobs: &Vec<f64>| {
        let scaled = || logprobs.iter().map(|logprob| logprob / temperature);
        // Answers of many tokens are so unlikely that only logarithms tell them apart.
        let largest = scaled().fold(f64::NEG_INFINITY, f64::max);
        if largest.is_finite() {
            largest + scaled().map(|it| (it - largest).exp()).sum::<f64>().ln()
        } else {
            largest
        }
    };
    first_largest(answers.iter().map(log_sum))
}

fn first_largest(numbers: impl Iterator<Item = f64>) -> usize {
    let mut best = (0, f64::NEG_INFINITY);
    for (place, number) in numbers.enumerate() {
        if number > best.1 {
            best = (place, number);
        }
    }
    best.0
}

#[cfg(test)]
mod tests;
