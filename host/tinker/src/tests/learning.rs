//! What a server is sent is what is to be learned, whatever it makes of several losses.

use super::*;
use pretend_tinker::{Table, base, log_softmax};
use std::sync::Mutex;
use troupe_core::config::{AnchorChoice, Importance, Objective};
use troupe_trainer::{Descended, DistantError, DistantStep, Pulls};

/// The same model here, in closed form and double precision: it keeps the gradient of each step
/// and stays what it is.
#[derive(Debug)]
struct Here {
    base: Table,
    steps: Mutex<Vec<Table>>,
}

impl Here {
    fn scores(&self, answers: &[&Sample]) -> Vec<Vec<f64>> {
        let score = |answer: &&Sample| {
            let text = [&answer.prompt[..], &answer.completion.tokens].concat();
            let pairs = text.windows(2).skip(answer.prompt.len() - 1);
            pairs.map(|pair| log_softmax(&self.base[pair[0] as usize])[pair[1] as usize]).collect()
        };
        answers.iter().map(score).collect()
    }
}

fn single(scores: Vec<Vec<f64>>) -> Vec<Vec<f32>> {
    let narrow = |scores: Vec<f64>| scores.into_iter().map(|score| score as f32).collect();
    scores.into_iter().map(narrow).collect()
}

impl Distant for Here {
    fn score(&self, answers: &[&Sample]) -> Result<Vec<Vec<f32>>, DistantError> {
        Ok(single(self.scores(answers)))
    }

    fn score_at_first(&self, answers: &[&Sample]) -> Result<Vec<Vec<f32>>, DistantError> {
        self.score(answers)
    }

    fn descend(
        &self,
        answers: &[&Sample],
        pulls: &Pulls,
        _: DistantStep,
    ) -> Result<Descended, DistantError> {
        let scores = self.scores(answers);
        let mut gradient = vec![vec![0.0; self.base.len()]; self.base.len()];
        for (row, answer) in answers.iter().enumerate() {
            let text = [&answer.prompt[..], &answer.completion.tokens].concat();
            for place in 0..answer.completion.tokens.len() {
                let now = scores[row][place];
                let slope = match pulls {
                    Pulls::Slopes { slopes, .. } => f64::from(slopes[row][place]),
                    Pulls::Clipped { anchor, gains, bounds: (low, high) } => {
                        let gain = f64::from(gains[row][place]);
                        let ratio = (now - f64::from(anchor[row][place])).exp();
                        let held = ratio.clamp(*low, *high) * gain < ratio * gain;
                        if held { 0.0 } else { ratio * gain }
                    }
                };
                let at = answer.prompt.len() + place;
                let (from, to) = (text[at - 1] as usize, text[at] as usize);
                for (token, logprob) in log_softmax(&self.base[from]).iter().enumerate() {
                    let own = f64::from(u8::from(token == to));
                    gradient[from][token] -= slope * (own - logprob.exp());
                }
            }
        }
        self.steps.lock().unwrap().push(gradient);
        Ok(Descended { logprobs: single(scores), norm: None })
    }

    fn keep(&self) -> Result<(), DistantError> {
        Ok(())
    }

    fn go_back(&self) -> Result<(), DistantError> {
        Ok(())
    }

    fn recovers(&self, _: &DistantError) -> Result<bool, DistantError> {
        Ok(false)
    }
}

fn update(policy: &dyn Distant, samples: &[Sample], train: &TrainConfig) -> UpdateMetrics {
    learn(policy, samples, train, |row| [1.0, -0.5, 0.25, -1.5][row % 4]).unwrap()
}

/// Answers of unequal length whose drawn log-probabilities are a little off.
fn drawn_elsewhere(policy: &TinkerPolicy) -> Vec<Sample> {
    let mut samples = samples(&ask(policy, 8).unwrap());
    for (row, sample) in samples.iter_mut().enumerate() {
        let length = 1 + row % sample.completion.tokens.len();
        sample.completion.tokens.truncate(length);
        sample.completion.logprobs.truncate(length);
        let off =
            |(place, logprob): (usize, &mut f32)| *logprob += 0.3 * (place as f32 + 1.0).sin();
        sample.completion.logprobs.iter_mut().enumerate().for_each(off);
    }
    samples
}

fn distance(one: &Table, other: &Table) -> (f64, f64) {
    let pairs = || one.iter().flatten().zip(other.iter().flatten());
    let apart = pairs().map(|(one, other)| (one - other).abs()).fold(0.0, f64::max);
    (apart, pairs().map(|(one, _)| one * one).sum::<f64>().sqrt())
}

#[test]
fn the_gradient_of_every_objective_is_ours_on_every_server() {
    for sums in [Sums::Sum, Sums::SequenceMean, Sums::TokenMean] {
        for json in [false, true] {
            let (server, folder) = start(Traps { sums, json, ..Traps::default() });
            let policy = open(&server, folder.path());
            let samples = drawn_elsewhere(&policy);
            let vocabulary = speaker(folder.path()).vocabulary();
            let here = Here { base: base(vocabulary), steps: Mutex::default() };
            let surrogate = |importance| TrainConfig {
                anchor: AnchorChoice::Rescored,
                importance,
                importance_cap: 1.2,
                ..train()
            };
            let objectives = Objective::ALL.map(|objective| TrainConfig { objective, ..train() });
            let others = [
                surrogate(Importance::Truncate),
                surrogate(Importance::MaskAnswer),
                TrainConfig { kl_coefficient: 0.5, ..train() },
                TrainConfig { clip_dual: 1.5, ..train() },
            ];
            for config in objectives.into_iter().chain(others) {
                // A rate so small that the policy stays what it is.
                let config = TrainConfig { learning_rate: 1e-12, ..config };
                let there = update(&policy, &samples, &config);
                update(&here, &samples, &config);
                let (mine, theirs) =
                    (here.steps.lock().unwrap().pop().unwrap(), server.steps().pop().unwrap());
                let (apart, norm) = distance(&mine, &theirs);
                let objective = config.objective;
                assert!(norm > 1e-2, "{objective:?}");
                assert!(apart < 1e-6, "{sums:?} {objective:?}: {apart:.1e} of {norm:.1e}");
                let error = (there.gradient_norm / norm - 1.0).abs();
                assert!(error < 1e-4, "{objective:?}: the norm that is reported");
            }
            assert_eq!(server.harmed(), Vec::<String>::new());
        }
    }
}

#[test]
fn the_optimizer_is_told_all_it_needs_with_every_step() {
    let (server, folder) = start(Traps::default());
    let config = TrainConfig { max_gradient_norm: 0.7, beta1: 0.8, epsilon: 1e-3, ..train() };
    let policy = open_with(&super::config(&server, folder.path()), &config).unwrap();
    let samples = drawn_elsewhere(&policy);
    update(&policy, &samples, &config);
    let told = server.optimizer_settings().pop().unwrap();
    let expected = serde_json::json!({
        "learning_rate": 0.05, "beta1": 0.8, "beta2": 0.98, "eps": 1e-3, "weight_decay": 0.0,
        "grad_clip_norm": 0.7,
    });
    assert_eq!(told, expected);
    // Without a bound that anybody asked for none is sent.
    update(&policy, &samples, &train());
    assert_eq!(server.optimizer_settings().pop().unwrap()["grad_clip_norm"], 0.0);
}

#[test]
fn what_raises_an_answer_there_makes_it_likelier_there() {
    let (server, folder) = start(Traps::skyrl());
    let policy = open(&server, folder.path());
    let drawn = samples(&ask(&policy, 8).unwrap());
    let better = &drawn[0].completion.tokens.clone();
    let share = |policy: &TinkerPolicy| {
        let drawn = ask(policy, 64).unwrap().completions;
        drawn.iter().filter(|it| it.tokens[0] == better[0]).count()
    };
    let before = share(&policy);
    for _ in 0..20 {
        let drawn = samples(&ask(&policy, 16).unwrap());
        let advantage = |row: usize| match drawn[row].completion.tokens[0] == better[0] {
            true => 1.0,
            false => -0.2,
        };
        let train = TrainConfig { learning_rate: 0.2, ..train() };
        learn(&policy, &drawn, &train, advantage).unwrap();
    }
    let after = share(&policy);
    assert!(after > before + 16, "{before} and then {after} of 64");
}
