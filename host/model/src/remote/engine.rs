//! An engine on a server, vLLM or SGLang, that draws answers for a policy trained here.
//!
//! The server has the policy's base and is given its adapter, under another name each time,
//! by the path of a folder. Prompts and answers cross as token ids with log-probabilities,
//! so nothing is tokenized twice. `dialect` says what differs from engine to engine, `draw` what
//! must be true of an answer, `survey` what a server tells of itself.

mod dialect;
mod draw;
mod sglang;
mod survey;
mod vllm;

use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use serde_json::json;

use super::ChatRequest;
use super::api_key::ApiKey;
use super::failure::{RemoteFailure, RemoteFailureKind};
use super::link::Reply;
use super::quoted_list;
use super::server::Server;
use crate::completions::Completions;
use crate::error::PolicyError;
use crate::language_model::Policy;
use crate::prompt::{TokenCodec, Wording};
use crate::sampling::Sampling;
use dialect::Dialect;
pub use dialect::EngineAdvice;
use draw::Drawing;
use survey::Survey;
use troupe_core::config::SamplerConfig;
use troupe_core::parallel;
use troupe_core::seed::Seed;
use troupe_core::trajectory::Completion;

/// An engine on a server that draws a policy's answers. It can be asked from several threads.
#[derive(Debug)]
pub struct RemoteEngine {
    server: Server,
    dialect: &'static dyn Dialect,
    /// The base, as the server calls it.
    base: String,
    wording: Wording,
    codec: TokenCodec,
    vocabulary: usize,
    /// Tokens that a prompt and its answer may have, there and here.
    positions: usize,
    concurrency: usize,
    /// What answers, as the server calls it; the base until an adapter is chosen.
    adapter: RwLock<String>,
}

impl RemoteEngine {
    /// Find the server, and the base of `policy` on it. `adapters` are as many as it will be
    /// given at a time, of this rank at most.
    ///
    /// # Errors
    /// If the key is missing, the server does not answer, does not have the base, or says of
    /// itself that it cannot hold the adapters.
    pub fn connect(
        config: &SamplerConfig,
        policy: &Policy,
        (adapters, rank): (usize, i64),
    ) -> Result<RemoteEngine, PolicyError> {
        let failed = |reason| PolicyError::Remote { url: config.url.clone(), reason };
        let key = ApiKey::from_variable(config.api_key_env.as_deref()).map_err(failed)?;
        let server = Server::new(&config.server(), key);
        let dialect = dialect::dialect(config.engine);
        let told = |failure: RemoteFailure| {
            let message = server.shown(failure).message;
            failed(format!("{message}; start it with {}", dialect.start(adapters, rank)))
        };
        let survey = Survey::of(&server, dialect, config.model.as_deref()).map_err(told)?;
        survey.check_slots(dialect, (adapters, rank)).map_err(failed)?;
        let own = usize::try_from(policy.config().max_position_embeddings).unwrap_or(usize::MAX);
        let positions = survey.positions.map_or(own, |there| there.min(own));
        Ok(RemoteEngine {
            base: survey.base.clone(),
            wording: policy.wording().clone(),
            codec: policy.codec(),
            vocabulary: usize::try_from(policy.config().vocab_size).unwrap_or(usize::MAX),
            positions,
            concurrency: config.concurrency.max(1),
            adapter: RwLock::new(survey.base),
            server,
            dialect,
        })
    }

    /// The server's address.
    pub fn url(&self) -> &str {
        self.server.url()
    }

    /// Tokens of prompts that the policy knows.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Tokens that a prompt and its answer may have.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// Have the server load the adapter in `folder`, which it must see under the same path.
    ///
    /// # Errors
    /// If it does not load it.
    pub fn load(&self, name: &str, folder: &Path) -> Result<(), RemoteFailure> {
        let path = folder.display().to_string();
        let body = json!({"lora_name": name, "lora_path": path});
        let reply = self.post(self.dialect.load(), &body).map_err(|failure| {
            failure.kind.because(format!(
                "it did not load the adapter `{name}`: {}; if it speaks of rank, start it with a \
                 larger `--max-lora-rank`",
                failure.message
            ))
        })?;
        // Names are used once, so a loaded one is this one, asked for again after a lost answer.
        if reply.is_success() || self.has(name, &path)? {
            return Ok(());
        }
        let advice = self.dialect.when_not_loaded(&reply, name, &path);
        let message =
            format!("it did not load the adapter `{name}`: {}; {advice}", reply.refusal());
        Err(self.server.shown(RemoteFailureKind::Refused.because(message)))
    }

    fn has(&self, name: &str, path: &str) -> Result<bool, RemoteFailure> {
        let adapters = Survey::adapters(&self.server)?;
        Ok(adapters.iter().any(|(known, root)| known == name && root.as_deref() == Some(path)))
    }

    /// Have the server forget an adapter; one that it does not know is forgotten already.
    ///
    /// # Errors
    /// If the server does not answer.
    pub fn unload(&self, name: &str) -> Result<(), RemoteFailure> {
        let reply = self.post(self.dialect.unload(), &json!({"lora_name": name}))?;
        let knows = |(known, _): &(String, Option<String>)| known == name;
        match reply.is_success() || !Survey::adapters(&self.server)?.iter().any(knows) {
            true => Ok(()),
            false => Err(self.server.shown(reply.refusal())),
        }
    }

    /// The names of adapters on the server whose folders lie within this one.
    ///
    /// # Errors
    /// If the server does not answer.
    pub fn loaded_from(&self, folder: &Path) -> Result<Vec<String>, RemoteFailure> {
        let is_within = |root: &Option<String>| {
            root.as_deref().is_some_and(|root| Path::new(root).starts_with(folder))
        };
        let adapters = Survey::adapters(&self.server)?;
        Ok(adapters.into_iter().filter(|(_, root)| is_within(root)).map(|(name, _)| name).collect())
    }

    /// Have this adapter answer from now on.
    pub fn choose(&self, adapter: &str) {
        // A name is whole at any moment.
        *self.adapter.write().unwrap_or_else(PoisonError::into_inner) = adapter.to_owned();
    }

    fn post(&self, path: &str, body: &serde_json::Value) -> Result<Reply, RemoteFailure> {
        let seed = Seed::new(0).named(path);
        let reply = self.server.ask(path, Some(body.to_string().as_bytes()), seed);
        reply.map_err(|failure| self.server.shown(failure))
    }

    /// Ask for answers, as [`super::RemotePolicy::complete`] does.
    pub fn complete(
        &self,
        requests: &[ChatRequest],
        sampling: &Sampling,
    ) -> Vec<Result<Completions, RemoteFailure>> {
        let answer = sampling.max_completion_tokens;
        let prompts: Vec<Result<Arc<[u32]>, RemoteFailure>> = requests
            .iter()
            .map(|request| request.encode(&self.wording, answer, self.positions))
            .collect();
        let jobs: Vec<(&[u32], Seed)> = requests
            .iter()
            .zip(&prompts)
            .filter_map(|(request, prompt)| Some((request, prompt.as_deref().ok()?)))
            .flat_map(|(request, prompt)| request.seeds.iter().map(move |seed| (prompt, *seed)))
            .collect();
        let adapter = self.adapter.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut answers = self.draw_all(&adapter, &jobs, sampling).into_iter();
        let gather = |(request, prompt): (&ChatRequest, Result<Arc<[u32]>, RemoteFailure>)| {
            let prompt = prompt?;
            let own: Vec<_> = answers.by_ref().take(request.seeds.len()).collect();
            let completions = own.into_iter().collect::<Result<_, _>>()?;
            Ok(Completions { prompt, completions })
        };
        requests.iter().zip(prompts).map(gather).collect()
    }

    /// Answers of an adapter to one prompt, one for each seed.
    ///
    /// # Errors
    /// If one of them fails.
    pub fn draw(
        &self,
        adapter: &str,
        prompt: &[u32],
        seeds: &[Seed],
        sampling: &Sampling,
    ) -> Result<Vec<Completion>, RemoteFailure> {
        let jobs: Vec<(&[u32], Seed)> = seeds.iter().map(|seed| (prompt, *seed)).collect();
        self.draw_all(adapter, &jobs, sampling).into_iter().collect()
    }

    /// Answers in the order of the jobs, or none: without one of them nothing can go on, so after
    /// the first failure no more are asked for.
    fn draw_all(
        &self,
        adapter: &str,
        jobs: &[(&[u32], Seed)],
        sampling: &Sampling,
    ) -> Vec<Result<Completion, RemoteFailure>> {
        let failure: OnceLock<RemoteFailure> = OnceLock::new();
        let draw = |(prompt, seed): &(&[u32], Seed)| {
            if failure.get().is_some() {
                return None;
            }
            let drawing = Drawing { adapter, prompt, seed: *seed, sampling, codec: &self.codec };
            let answer = drawing.ask((&self.server, self.dialect), self.vocabulary);
            answer.map_err(|told| failure.set(self.server.shown(told))).ok()
        };
        let answers = parallel::in_order(self.concurrency, jobs, draw);
        match failure.into_inner() {
            None => answers.into_iter().flatten().map(Ok).collect(),
            Some(failure) => answers.iter().map(|_| Err(failure.clone())).collect(),
        }
    }

    /// What the server calls the base.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// What to do if it answers otherwise than the policy does.
    pub fn advice(&self) -> &'static EngineAdvice {
        self.dialect.advice()
    }
}
