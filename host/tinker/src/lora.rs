//! A model in a session: a LoRA over the base, and the numbered log of requests that made it.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Client, Repeat};
use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use crate::lesson::Lesson;
use crate::reduction::Reduction;
use crate::session::Session;
use crate::wire::MOST_DATA;
use crate::wire::protobuf::GradientRequest;
use troupe_core::config::UNBOUNDED_NORM;
use troupe_trainer::DistantStep;

/// Bytes of a request.
const MOST_BYTES: usize = 5_000_000;
/// How often it is looked whether a checkpoint is there by now.
const LOOK: Duration = Duration::from_millis(500);

/// A step that changes nothing and clears the gradient.
pub(crate) const STILL: DistantStep = DistantStep {
    rate: 0.0,
    betas: (0.9, 0.95),
    epsilon: 1.0,
    weight_decay: 0.0,
    norm: UNBOUNDED_NORM,
};

/// A loss by its name there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Loss {
    /// −w·log π.
    CrossEntropy,
    /// −(π / q)·A.
    ImportanceSampling,
    /// −min(rA, clip(r)A), with these bounds of r.
    Ppo { low: f64, high: f64 },
}

/// What checkpoints are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To go on from.
    Training,
    /// To draw from.
    Sampler,
}

/// A model. Its requests go one after the other: that is what all servers do alike.
#[derive(Debug)]
pub(crate) struct Lora {
    session: Arc<Session>,
    id: String,
    number: i32,
    vocabulary: usize,
}

impl Loss {
    fn name(self) -> &'static str {
        match self {
            Loss::CrossEntropy => "cross_entropy",
            Loss::ImportanceSampling => "importance_sampling",
            Loss::Ppo { .. } => "ppo",
        }
    }

    fn settings(self) -> HashMap<String, f64> {
        match self {
            Loss::Ppo { low, high } => HashMap::from([
                ("clip_low_threshold".to_owned(), low),
                ("clip_high_threshold".to_owned(), high),
            ]),
            _ => HashMap::new(),
        }
    }
}

impl Lora {
    pub(crate) fn make(
        session: &Arc<Session>,
        (base, rank, seed): (&str, i64, u32),
        vocabulary: usize,
    ) -> Result<Lora, TinkerFailure> {
        let id = session.make(base, rank, seed)?;
        Ok(Lora { session: session.clone(), id, number: 0, vocabulary })
    }

    /// Its name there.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    fn client(&self) -> &Client {
        self.session.client()
    }

    fn next(&mut self) -> i32 {
        self.number += 1;
        self.number
    }

    /// Log-probabilities of the answers' tokens.
    pub(crate) fn score(&mut self, data: Vec<Lesson>) -> Result<Vec<Vec<f32>>, TinkerFailure> {
        let weigh = |lesson: Lesson| {
            let ones = vec![1.0; lesson.answer()];
            lesson.with("weights", ones)
        };
        let data: Vec<Lesson> = data.into_iter().map(weigh).collect();
        self.send(&data, Loss::CrossEntropy, None)
    }

    /// Add the gradient of all answers of a step, summed; returns the log-probabilities of their
    /// tokens.
    pub(crate) fn add(
        &mut self,
        data: &[Lesson],
        loss: Loss,
        reduction: Reduction,
    ) -> Result<Vec<Vec<f32>>, TinkerFailure> {
        self.send(data, loss, Some(reduction))
    }

    /// Score, or add a gradient if it is said how the server reduces.
    fn send(
        &mut self,
        data: &[Lesson],
        loss: Loss,
        reduction: Option<Reduction>,
    ) -> Result<Vec<Vec<f32>>, TinkerFailure> {
        let mut logprobs = Vec::with_capacity(data.len());
        for part in parts(data) {
            let factors = match reduction {
                Some(reduction) => reduction.factors(part, data.len()),
                None => vec![1.0; part.len()],
            };
            let scaled = part.iter().zip(factors);
            let scaled: Vec<Lesson> =
                scaled.map(|(lesson, factor)| lesson.clone().scaled(factor)).collect();
            scaled.iter().try_for_each(|lesson| lesson.check(self.vocabulary))?;
            let request = GradientRequest {
                model_id: self.id.clone(),
                seq_id: self.next(),
                data: scaled.iter().map(Lesson::message).collect(),
                loss_fn: loss.name().to_owned(),
                loss_fn_config: loss.settings(),
                forward_only: reduction.is_none(),
            };
            let scored = self.client().gradient(&request)?;
            logprobs.extend(read(&scored.records, part)?);
        }
        Ok(logprobs)
    }

    /// Apply what was added, and clear it. Gives the norm of the gradient, if the server says it.
    pub(crate) fn step(&mut self, step: DistantStep) -> Result<Option<f64>, TinkerFailure> {
        let DistantStep { rate, betas: (beta1, beta2), epsilon, weight_decay, norm } = step;
        let body = json!({
            "model_id": self.id, "seq_id": self.next(), "type": "optim_step",
            "adam_params": {
                "learning_rate": rate, "beta1": beta1, "beta2": beta2, "eps": epsilon,
                "weight_decay": weight_decay,
                // There, 0 sets no bound.
                "grad_clip_norm": if norm < UNBOUNDED_NORM { norm } else { 0.0 },
            },
        });
        let again = || self.client().promise("optim_step", &body, Repeat::Freely);
        let done = match self.client().value(&again()?) {
            Err(failure) if failure.kind == Kind::Expired => self.client().value(&again()?)?,
            done => done?,
        };
        let metrics = done["metrics"].as_object();
        let norm = metrics.and_then(|it| it.iter().find(|(name, _)| name.contains("grad_norm")));
        match norm.map(|(_, norm)| norm.as_f64()) {
            Some(Some(norm)) if norm.is_finite() => Ok(Some(norm)),
            Some(_) => Err(Kind::Ruined.because(format!(
                "the gradient of the model `{}` is not a number there; its weights are no longer \
                 any, and those of its neighbors may not be",
                self.id
            ))),
            None => Ok(None),
        }
    }

    /// Keep the present weights under a name that was never used for this model; gives the path
    /// that they are named by.
    pub(crate) fn save(&mut self, purpose: Purpose, name: &str) -> Result<String, TinkerFailure> {
        let route = match purpose {
            Purpose::Training => "save_weights",
            Purpose::Sampler => "save_weights_for_sampler",
        };
        let number = self.next();
        let body = json!({ "model_id": self.id, "path": name, "seq_id": number, "type": route });
        let save = || {
            let promise = self.client().promise(route, &body, Repeat::Freely)?;
            self.client().value(&promise)
        };
        let saved = match save() {
            Err(failure) if failure.kind == Kind::Expired => save(),
            saved => saved,
        };
        let path = match saved {
            Ok(saved) => saved["path"].as_str().map(str::to_owned),
            // It was asked for before, and the answer was lost or thrown away.
            Err(failure) if failure.kind == Kind::Taken => Some(self.find(name)?),
            Err(failure) => return Err(failure),
        };
        path.ok_or_else(|| {
            Kind::Malformed.because(format!("its answer to `{route}` has no `path`"))
        })
    }

    /// The path of a checkpoint that is being written or there.
    fn find(&self, name: &str) -> Result<String, TinkerFailure> {
        let begun = Instant::now();
        loop {
            let checkpoints =
                self.client().get(&format!("training_runs/{}/checkpoints", self.id))?;
            let paths = checkpoints["checkpoints"].as_array().cloned().unwrap_or_default();
            let is_named = |path: &&str| path.rsplit('/').next() == Some(name);
            let paths = paths.iter().filter_map(|entry| entry["tinker_path"].as_str());
            if let Some(path) = paths.clone().find(is_named) {
                return Ok(path.to_owned());
            }
            if begun.elapsed() > self.client().patience {
                let message = format!("the checkpoint `{name}` was taken and is not listed");
                return Err(Kind::Late.because(message));
            }
            thread::sleep(LOOK);
        }
    }

    /// Begin where a checkpoint stands, with the optimizer's moments: a model's first request.
    pub(crate) fn load(&mut self, path: &str) -> Result<(), TinkerFailure> {
        let body = json!({
            "model_id": self.id, "seq_id": self.next(), "path": path, "optimizer": true,
            "type": "load_weights",
        });
        let promise = self.client().promise("load_weights", &body, Repeat::Never)?;
        self.client().value(&promise).map(drop)
    }

    /// Have the server forget it.
    pub(crate) fn unload(self) -> Result<(), TinkerFailure> {
        self.session.unload(&self.id)
    }

    /// Take note that the server has lost it by itself.
    pub(crate) fn forget(self) {
        self.session.forget(&self.id);
    }
}

/// Remove a checkpoint; what is gone already is gone.
pub(crate) fn remove(client: &Client, path: &str) -> Result<(), TinkerFailure> {
    let (model, name) = parse(path)?;
    client.delete(&format!("training_runs/{model}/checkpoints/{name}"))
}

/// The archive of a checkpoint to draw from.
pub(crate) fn archive(client: &Client, path: &str) -> Result<Vec<u8>, TinkerFailure> {
    let (model, name) = parse(path)?;
    let name = name.rsplit('/').next().unwrap_or_default();
    client.fetch(&format!("training_runs/{model}/checkpoints/{name}/archive"))
}

/// A path's model and name: `tinker://MODEL/weights/NAME`; some servers leave the middle out for
/// what is drawn from.
fn parse(path: &str) -> Result<(String, String), TinkerFailure> {
    let rest = path.strip_prefix("tinker://").and_then(|rest| rest.split_once('/'));
    let plain = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:/".contains(c))
    };
    match rest.filter(|(model, name)| plain(model) && plain(name) && !name.contains("..")) {
        Some((model, name)) if name.contains('/') => Ok((model.to_owned(), name.to_owned())),
        Some((model, name)) => Ok((model.to_owned(), format!("sampler_weights/{name}"))),
        None => Err(Kind::Malformed.because(format!("`{path}` is no path of a checkpoint"))),
    }
}

/// Cut a call into requests.
fn parts(data: &[Lesson]) -> Vec<&[Lesson]> {
    let (mut parts, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (place, lesson) in data.iter().enumerate() {
        if place > start && (place - start == MOST_DATA || bytes + lesson.bytes() > MOST_BYTES) {
            parts.push(&data[start..place]);
            (start, bytes) = (place, 0);
        }
        bytes += lesson.bytes();
    }
    if start < data.len() {
        parts.push(&data[start..]);
    }
    parts
}

fn read(records: &[crate::wire::Record], data: &[Lesson]) -> Result<Vec<Vec<f32>>, TinkerFailure> {
    if records.len() != data.len() {
        let message = format!("{} answers were sent, {} came back", data.len(), records.len());
        return Err(Kind::Malformed.because(message));
    }
    let of_answer = |(record, lesson): (&crate::wire::Record, &Lesson)| {
        let of_targets = record.get("logprobs").filter(|it| it.len() == lesson.targets());
        let of_answer = of_targets.and_then(|numbers| lesson.answers(numbers));
        let numbers = of_answer.ok_or_else(|| {
            let count = record.get("logprobs").map_or(0, Vec::len);
            Kind::Malformed.because(format!(
                "{count} log-probabilities came back for {} tokens",
                lesson.targets()
            ))
        })?;
        // A bad number anywhere is a bad gradient.
        match record.values().flatten().all(|number| number.is_finite()) {
            true => Ok(numbers.to_vec()),
            false => Err(Kind::Ruined.because(
                "a number that came back for an answer is none: weights there have diverged",
            )),
        }
    };
    records.iter().zip(data).map(of_answer).collect()
}
