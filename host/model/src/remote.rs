//! A policy that a server answers for, through OpenAI's chat interface.
//!
//! The server has the weights, the tokenizer and the chat template; here are
//! only messages and answers. `link` speaks HTTP, `server` tries again, `question`
//! and `answer` know the interface's fields. `engine` is another way to be helped by a server: it
//! only draws answers, for a policy that is trained here. Only `link` names `ureq`.

mod answer;
mod api_key;
mod engine;
mod failure;
mod link;
mod question;
mod server;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use crate::completions::Completions;
use crate::constraint::Constraint;
use crate::error::PolicyError;
use crate::prompt::Wording;
use crate::sampling::Sampling;
use answer::{Answer, Models};
use api_key::ApiKey;
pub use engine::{EngineAdvice, RemoteEngine};
pub use failure::{RemoteFailure, RemoteFailureKind};
pub use link::{Exchange, Link, Reply};
use question::RequestBody;
use server::Server;
use troupe_core::config::RemoteConfig;
use troupe_core::parallel;
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, Message};

/// One prompt to answer.
#[derive(Clone, Debug)]
pub struct ChatRequest {
    /// What the policy is told.
    pub messages: Vec<Message>,
    /// The tools that it is told of, as JSON schemas.
    pub tools: Vec<Value>,
    /// Whether it is to think first; none leaves it to the policy's own settings.
    pub thinking: Option<bool>,
    /// One seed per answer wanted: K = `seeds.len()`.
    pub seeds: Vec<Seed>,
}

impl ChatRequest {
    /// Token ids of the prompt, if it and an answer of so many tokens fit into these positions.
    ///
    /// # Errors
    /// If they do not, or the template refuses the messages.
    pub fn encode(
        &self,
        wording: &Wording,
        answer: usize,
        positions: usize,
    ) -> Result<Arc<[u32]>, RemoteFailure> {
        let prompt = wording.encode_prompt(&self.messages, &self.tools, self.thinking);
        let prompt =
            prompt.map_err(|error| RemoteFailureKind::Refused.because(error.to_string()))?;
        if prompt.len() + answer > positions {
            let (prompt, positions) = (prompt.len(), i64::try_from(positions).unwrap_or(i64::MAX));
            let error = PolicyError::PromptTooLong { prompt, answer, positions };
            return Err(RemoteFailureKind::TooLong.because(error.to_string()));
        }
        Ok(prompt)
    }
}

/// A policy on a server. It can be asked from several threads, and cannot be
/// trained.
#[derive(Debug)]
pub struct RemotePolicy {
    server: Server,
    model: String,
    concurrency: usize,
    /// For the chat template.
    template: Map<String, Value>,
    /// Fields of a request that the server was found to refuse, such as `seed` or `logprobs`; it
    /// is asked without them since.
    refused: Mutex<BTreeSet<&'static str>>,
}

impl RemotePolicy {
    /// Find the server and the model on it. `name` is the policy's.
    ///
    /// # Errors
    /// If the key is missing, the server does not answer, or it does not have
    /// the model; then the models are named that it has.
    pub fn connect(name: &str, config: &RemoteConfig) -> Result<RemotePolicy, PolicyError> {
        let failed = |reason| PolicyError::Remote { url: config.url.clone(), reason };
        let key = ApiKey::from_variable(config.api_key_env.as_deref()).map_err(failed)?;
        RemotePolicy::with_key(name, config, key)
    }

    fn with_key(
        name: &str,
        config: &RemoteConfig,
        key: ApiKey,
    ) -> Result<RemotePolicy, PolicyError> {
        let server = Server::new(config, key);
        let failed = |failure: RemoteFailure| PolicyError::Remote {
            url: config.url.clone(),
            reason: server.shown(failure).message,
        };
        let template = template_settings(config).map_err(failed)?;
        let model = find_model(&server, config, Seed::new(0).named(name)).map_err(failed)?;
        let (concurrency, refused) = (config.concurrency.max(1), Mutex::default());
        Ok(RemotePolicy { server, model, concurrency, template, refused })
    }

    /// The server's address.
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// The model's name on the server.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Ask for answers: one list per request, one answer per seed, in the
    /// order of the requests. Every answer is asked for by itself, as many at
    /// a time as `concurrency` says, so that none depends on its neighbors as
    /// far as it is up to us. Takes no more answers for a request than all of
    /// them or none: with one missing, the rest could not be compared.
    pub fn complete(
        &self,
        requests: &[ChatRequest],
        sampling: &Sampling,
    ) -> Vec<Result<Completions, RemoteFailure>> {
        let jobs: Vec<(&ChatRequest, Seed)> = requests
            .iter()
            .flat_map(|request| request.seeds.iter().map(move |seed| (request, *seed)))
            .collect();
        let mut answers = self.ask_all(&jobs, sampling).into_iter();
        let gather = |request: &ChatRequest| {
            // All of them are taken, so that the next request finds its own.
            let own: Vec<_> = answers.by_ref().take(request.seeds.len()).collect();
            let mut prompt: Arc<[u32]> = Arc::default();
            let mut completions = Vec::with_capacity(own.len());
            for answer in own {
                let (told, completion) = answer?;
                if prompt.is_empty() {
                    prompt = told.into();
                }
                completions.push(completion);
            }
            Ok(Completions { prompt, completions })
        };
        requests.iter().map(gather).collect()
    }

    /// Answers in the order of the jobs, not in that of their arrival.
    fn ask_all(
        &self,
        jobs: &[(&ChatRequest, Seed)],
        sampling: &Sampling,
    ) -> Vec<Result<(Vec<u32>, Completion), RemoteFailure>> {
        parallel::in_order(self.concurrency, jobs, |(request, seed)| {
            let answer = self.ask(request, *seed, sampling);
            answer.map_err(|failure| self.server.shown(failure))
        })
    }

    /// One answer. A server that refuses a field which is not needed is asked
    /// again without it, and from then on.
    fn ask(
        &self,
        request: &ChatRequest,
        seed: Seed,
        sampling: &Sampling,
    ) -> Result<(Vec<u32>, Completion), RemoteFailure> {
        if matches!(sampling.constraint, Some(Constraint::Words(_) | Constraint::Choices(_))) {
            let message = "the server can be told of a JSON schema alone, and `allowed` is none";
            return Err(RemoteFailureKind::Refused.because(message));
        }
        let mut refused = self.refused().clone();
        loop {
            let body =
                RequestBody::new(&self.model, request, sampling, seed, &self.template, &refused);
            let reply = self.server.ask("chat/completions", Some(&body.json()), seed)?;
            if reply.is_success() {
                self.refused().extend(refused);
                return Answer::read(&reply.body)?.into_completion();
            }
            let named = match reply.status {
                400 | 422 => body.named_in(&reply.text()),
                _ => Vec::new(),
            };
            if named.is_empty() {
                return Err(reply.refusal());
            }
            refused.extend(named);
        }
    }

    fn refused(&self) -> MutexGuard<'_, BTreeSet<&'static str>> {
        // A set of names is whole at any moment.
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The model wanted, or the only one there is. Not every server lists all that
/// it serves, so a model that is not listed is tried before it is refused.
fn find_model(server: &Server, config: &RemoteConfig, draw: Seed) -> Result<String, RemoteFailure> {
    let doubt = match list_models(server, draw) {
        Ok(models) => match models.choose(config.model.as_deref()) {
            Ok(model) => return Ok(model),
            Err(reason) => RemoteFailureKind::Refused.because(reason),
        },
        Err(failure) => failure,
    };
    let Some(model) = config.model.as_ref().filter(|_| doubt.kind != RemoteFailureKind::Timeout)
    else {
        return Err(doubt);
    };
    match server.ask("chat/completions", Some(&question::trial(model)), draw) {
        Ok(reply) if reply.is_success() => Ok(model.clone()),
        Ok(reply) => {
            let (message, kind) = (doubt.message, doubt.kind);
            Err(kind.because(format!("{message}; asked for it all the same: {}", reply.refusal())))
        }
        Err(_) => Err(doubt),
    }
}

/// Names as a message lists them.
fn quoted_list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let listed: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if listed.is_empty() { "none".to_owned() } else { listed.join(", ") }
}

fn list_models(server: &Server, draw: Seed) -> Result<Models, RemoteFailure> {
    let reply = server.ask("models", None, draw)?;
    if !reply.is_success() {
        return Err(reply.refusal());
    }
    serde_json::from_slice(&reply.body).map_err(|error| {
        RemoteFailureKind::Malformed.because(format!(
            "its list of models cannot be read ({error}); check that `url` is where the interface \
             begins, usually at `/v1`"
        ))
    })
}

fn template_settings(config: &RemoteConfig) -> Result<Map<String, Value>, RemoteFailure> {
    let settings = serde_json::to_value(&config.chat_template_kwargs);
    match settings {
        Ok(Value::Object(settings)) => Ok(settings),
        // TOML has numbers that JSON has not.
        _ => Err(RemoteFailureKind::Refused
            .because("`chat_template_kwargs` holds a value that JSON cannot carry")),
    }
}
