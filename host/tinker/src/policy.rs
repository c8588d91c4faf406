//! A policy on a server: what a run wants of it.

mod checkpoint;
mod opening;
mod training;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use troupe_trainer::Caution;

use crate::archive::Adapter;
use crate::canary::{self, Canary};
use crate::client::Client;
use crate::conduct::Conduct;
use crate::drawing::{Drawing, Source};
use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use crate::lora::{self, Lora, archive, remove};
use crate::reduction::Reduction;
use crate::session::Session;
pub use opening::Conducts;
use troupe_core::config::TinkerConfig;
use troupe_core::parallel;
use troupe_core::seed::Seed;
use troupe_model::{
    ChatRequest, Completions, PolicyError, RemoteFailure, RemoteFailureKind, Sampling, Speaker,
};

/// How often what a server has lost is brought back before that is given up.
const STANDING_UP: usize = 3;

/// A policy whose weights are on a server: a LoRA over a base that is there. It can be asked from
/// several threads; its training goes one request after the other.
#[derive(Debug)]
pub struct TinkerPolicy {
    config: TinkerConfig,
    client: Arc<Client>,
    speaker: Speaker,
    /// Tokens that a prompt and its answer may have.
    positions: usize,
    /// What the server does, where that was found out because it is to train.
    training: Option<(Conduct, Reduction)>,
    seed: u32,
    state: Mutex<State>,
}

/// What is on the server.
#[derive(Debug)]
struct State {
    session: Arc<Session>,
    lora: Option<Lora>,
    /// The state to go back to and to go on from, if there is one.
    present: Option<String>,
    /// The one that takes its place once the step is done everywhere.
    next: Option<String>,
    /// Those that checkpoints name.
    needed: Vec<String>,
    /// What draws; nothing once the weights are others.
    snapshot: Option<String>,
    /// What drew before.
    retired: Vec<String>,
    canary: Canary,
    /// The canary's difference for what draws.
    difference: f64,
    /// Checkpoints made, for their names.
    saves: u64,
}

impl State {
    /// The weights are others than those that draw.
    fn retire(&mut self) {
        self.retired.extend(self.snapshot.take());
    }

    /// Keep the weights as they are, to go on from; gives their path.
    fn save(&mut self) -> Result<String, TinkerFailure> {
        self.saves += 1;
        let name = format!("state-{}", self.saves);
        let lora = self.lora.as_mut().ok_or_else(gone)?;
        lora.save(lora::Purpose::Training, &name)
    }
}

/// What a checkpoint says of such a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The state's path on the server.
    pub path: String,
    /// The base's name there.
    pub base: String,
    /// Inner width of the LoRA.
    pub rank: i64,
    /// Updates made.
    pub updates: usize,
    /// How carefully the next one is made.
    #[serde(default)]
    pub caution: Caution,
    /// What the server was found to do.
    pub conduct: Option<Conduct>,
    canary: Canary,
}

impl TinkerPolicy {
    /// What it is, for the record of a run, wherever that is.
    pub fn identity(&self) -> String {
        let TinkerConfig { base, rank, .. } = &self.config;
        format!("LoRA of rank {rank} over {base}")
    }

    /// Where its server is.
    pub fn url(&self) -> &str {
        self.client.url()
    }

    /// What its server was found to do.
    pub fn conduct(&self) -> Option<&Conduct> {
        self.training.as_ref().map(|(conduct, _)| conduct)
    }

    /// What it is and where, what its server was found to do, and what that had to say.
    pub fn introduction(&self) -> String {
        let does = self.conduct().map_or_else(String::new, Conduct::words);
        let state = self.state();
        let said = state.session.said().iter().map(|text| format!("; the server says: {text}"));
        format!("{} at {}, which {does}{}", self.identity(), self.url(), said.collect::<String>())
    }

    /// Ask for answers: one list per request, one answer per seed. A server that has lost the
    /// model is given it again.
    pub fn complete(
        &self,
        requests: &[ChatRequest],
        sampling: &Sampling,
    ) -> Vec<Result<Completions, RemoteFailure>> {
        let answer = |request: &ChatRequest| self.answer(request, sampling);
        parallel::in_order(self.config.concurrency, requests, answer)
    }

    fn answer(
        &self,
        request: &ChatRequest,
        sampling: &Sampling,
    ) -> Result<Completions, RemoteFailure> {
        let prompt = self.encode(request, sampling)?;
        let seed = request.seeds.first().copied().unwrap_or(Seed::new(0));
        let completions = self.standing(|| {
            let path = self.snapshot()?;
            let source = Source::Snapshot(path.clone());
            let drawn = self.drawing(&source).draw(&prompt, request.seeds.len(), sampling, seed);
            drawn.map_err(|failure| (failure, path))
        })?;
        Ok(Completions { prompt, completions })
    }

    /// Ask for something; where the server has lost what it had, which a failure names, it is given
    /// it and asked again.
    fn standing<T>(
        &self,
        ask: impl Fn() -> Result<T, (TinkerFailure, String)>,
    ) -> Result<T, TinkerFailure> {
        for _ in 1..STANDING_UP {
            match ask() {
                Err((failure, path)) if is_gone(&failure) => self.stand_up_from(&path)?,
                answered => return answered.map_err(|(failure, _)| failure),
            }
        }
        ask().map_err(|(failure, _)| failure)
    }

    fn encode(
        &self,
        request: &ChatRequest,
        sampling: &Sampling,
    ) -> Result<Arc<[u32]>, RemoteFailure> {
        let plain = Sampling::plain(sampling.max_completion_tokens);
        for (setting, differs) in [
            ("min_p", sampling.min_p != plain.min_p),
            ("repetition_penalty", sampling.penalizes()),
            ("stop", !sampling.stop.is_empty()),
            ("allowed", sampling.constraint.is_some()),
            ("thinking_budget", sampling.thinking_budget > 0),
        ] {
            if differs {
                let message = format!("Tinker's protocol has no rollout.{setting}; leave it out");
                return Err(RemoteFailureKind::Refused.because(message));
            }
        }
        let answer = sampling.max_completion_tokens;
        request.encode(self.speaker.wording(), answer, self.positions)
    }

    /// Have the policy as it is now draw, if it does not already, and compare what draws with what
    /// is trained. Gives the difference in nats per token.
    ///
    /// # Errors
    /// If the server fails or something else draws.
    pub fn publish(&self) -> Result<f64, TinkerFailure> {
        self.standing(|| self.snapshot())?;
        Ok(self.state().difference)
    }

    /// The path of what draws: the weights as they are. A failure comes with what it was about.
    fn snapshot(&self) -> Result<String, (TinkerFailure, String)> {
        let mut state = self.state();
        if let Some(path) = &state.snapshot {
            return Ok(path.clone());
        }
        let about = state.present.clone().unwrap_or_default();
        self.take_snapshot(&mut state).map_err(|failure| (failure, about))
    }

    fn take_snapshot(&self, state: &mut State) -> Result<String, TinkerFailure> {
        state.saves += 1;
        let name = format!("draw-{}", state.saves);
        let State { lora, canary, snapshot, .. } = state;
        let lora = lora.as_mut().ok_or_else(gone)?;
        let path = lora.save(lora::Purpose::Sampler, &name)?;
        let source = Source::Snapshot(path.clone());
        let asked = canary.ask(&self.drawing(&source), lora, self.config.tolerance);
        *snapshot = Some(path.clone());
        if asked.is_err() {
            state.retire();
        }
        state.difference = asked?;
        self.remove_retired(state);
        Ok(path)
    }

    fn drawing<'a>(&'a self, source: &'a Source) -> Drawing<'a> {
        Drawing { client: &self.client, speaker: &self.speaker, source }
    }

    /// What a checkpoint is to say of the policy as it is.
    pub fn kept(&self, updates: usize, caution: Caution) -> Kept {
        let state = self.state();
        Kept {
            path: state.present.clone().unwrap_or_default(),
            base: self.config.base.clone(),
            rank: self.config.rank,
            updates,
            caution,
            conduct: self.conduct().cloned(),
            canary: state.canary.clone(),
        }
    }

    /// Go back to what was kept last, and go on from it, from now on.
    pub fn settle(&self) {
        let mut state = self.state();
        if let Some(next) = state.next.take() {
            self.turn_to(&mut state, next);
        }
    }

    /// From now on checkpoints name these states, which may be of an earlier session of the run;
    /// those that they named before are removed.
    pub fn forget_all_but(&self, needed: &[String]) {
        let mut state = self.state();
        let named = std::mem::replace(&mut state.needed, needed.to_vec());
        for path in named {
            self.remove_needless(&state, &path);
        }
    }

    /// Have another state be the present one; the one before it is removed, unless a checkpoint
    /// names it.
    fn turn_to(&self, state: &mut State, path: String) {
        if let Some(before) = state.present.replace(path) {
            self.remove_needless(state, &before);
        }
    }

    fn remove_needless(&self, state: &State, path: &String) {
        if state.present.as_ref() != Some(path) && !state.needed.contains(path) {
            // It takes room there and does no harm; the next run's states have other names.
            let _ = remove(&self.client, path);
        }
    }

    fn remove_retired(&self, state: &mut State) {
        for path in state.retired.drain(..) {
            // As above.
            let _ = remove(&self.client, &path);
        }
    }

    /// Write the adapter as a folder that `peft` reads.
    ///
    /// # Errors
    /// If the server does not give it, or the folder cannot be written.
    pub fn export(&self, folder: &Path) -> Result<(), PolicyError> {
        let refused = |failure: TinkerFailure| PolicyError::Remote {
            url: self.client.url().to_owned(),
            reason: failure.message,
        };
        let path = self.standing(|| self.snapshot()).map_err(refused)?;
        let adapter = archive(&self.client, &path).and_then(|bytes| Adapter::read(&bytes));
        Ok(adapter.map_err(refused)?.write(folder)?)
    }

    /// Unload what is on the server, and remove what was kept and no checkpoint names.
    ///
    /// # Errors
    /// Names what is still loaded.
    pub fn close(&self) -> Result<(), TinkerFailure> {
        let mut state = self.state();
        state.retire();
        self.remove_retired(&mut state);
        let left = state.present.take().into_iter().chain(state.next.take());
        for path in left.collect::<Vec<_>>() {
            self.remove_needless(&state, &path);
        }
        state.lora = None;
        state.session.close()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What is written is written last, when all that can fail has not.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TinkerPolicy {
    fn drop(&mut self) {
        // Said by whoever closes it; here there is nobody to tell.
        let _ = self.close();
    }
}

/// Whether the server has lost what it had.
fn is_gone(failure: &TinkerFailure) -> bool {
    matches!(failure.kind, Kind::NotLoaded | Kind::Unknown)
}

fn gone() -> TinkerFailure {
    Kind::NotLoaded.because("the model is not loaded any more")
}

/// Compare a state that was loaded with what it was when it was kept.
fn compare(kept: &Canary, now: &[f32], tolerance: f64) -> Result<(), TinkerFailure> {
    let gap = canary::difference(&kept.last, now);
    if gap <= tolerance {
        return Ok(());
    }
    Err(Kind::Unfit.because(format!(
        "the state that it has kept is not what it was: on a fixed text its log-probabilities are \
         {gap:.2e} nats per token from those of then"
    )))
}
