//! How a policy comes to be on a server: made, brought back, checked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::{Kept, State, TinkerPolicy, checkpoint, compare};
use crate::canary::{self, Canary};
use crate::client::Client;
use crate::conduct::Conduct;
use crate::drawing::{Drawing, Source};
use crate::failure::{TinkerFailure, TinkerFailureKind as Kind};
use crate::lora::{self, Lora};
use crate::offer::Offer;
use crate::probe::Probe;
use crate::reduction::Reduction;
use crate::session::Session;
use troupe_core::config::{TinkerConfig, TrainConfig};
use troupe_core::error::suggestion;
use troupe_core::seed::Seed;
use troupe_model::Speaker;

/// What servers were found to do, by address and base: each is asked once.
pub type Conducts = BTreeMap<(String, String), Conduct>;

impl TinkerPolicy {
    /// Find the server and make a fresh LoRA there. If it is to learn, as so many do there, it is
    /// found out what the server does, unless that is known.
    ///
    /// # Errors
    /// If the server does not answer, does not have the base, or cannot be right for the
    /// configuration.
    pub fn open(
        config: &TinkerConfig,
        speaker: Speaker,
        learning: Option<(&TrainConfig, usize)>,
        conducts: &mut Conducts,
        seed: Seed,
    ) -> Result<TinkerPolicy, TinkerFailure> {
        let client = Arc::new(Client::new(config)?);
        let (base, positions) = base(&Offer::of(&client)?, config, &speaker)?;
        let config = &TinkerConfig { base, ..config.clone() };
        let session = Arc::new(Session::open(client.clone())?);
        let training = match learning {
            Some((train, policies)) => {
                let conduct = find_out(&session, config, &speaker, conducts)?;
                let reduction = conduct.check(config, train, policies)?;
                Some((conduct, reduction))
            }
            None => None,
        };
        let seed = seed.value_u32() >> 1;
        let mut lora = fresh(&session, config, &speaker, seed)?;
        let canary = first_canary(&client, config, &speaker, &mut lora)?;
        if training.is_some() {
            checkpoint::compare(&canary.base, config, &speaker)?;
        }
        let present = match training {
            Some(_) => Some(lora.save(lora::Purpose::Training, "state-0")?),
            None => None,
        };
        let state = State {
            session,
            lora: Some(lora),
            present,
            next: None,
            needed: Vec::new(),
            snapshot: None,
            retired: Vec::new(),
            canary,
            difference: 0.0,
            saves: 0,
        };
        let (config, state) = (config.clone(), Mutex::new(state));
        Ok(TinkerPolicy { config, client, speaker, positions, training, seed, state })
    }

    /// Go on from what a checkpoint says.
    ///
    /// # Errors
    /// If the server does not have that state any more, or it is not what it was.
    pub fn restore(&self, kept: &Kept) -> Result<(), TinkerFailure> {
        let (base, rank) = (&kept.base, kept.rank);
        if (base, rank) != (&self.config.base, self.config.rank) {
            let message = format!("the checkpoint is of a LoRA of rank {rank} over `{base}`");
            return Err(Kind::Unfit.because(message));
        }
        if let (Some(then), Some(now)) = (&kept.conduct, self.conduct())
            && (then.reduction, then.clips) != (now.reduction, now.clips)
        {
            let (then, now) = (then.words(), now.words());
            let message = format!("the server {now}, and when the run was trained there it {then}");
            return Err(Kind::Unfit.because(message));
        }
        let mut state = self.state();
        let gap = canary::difference(&kept.canary.base, &state.canary.base);
        if gap > self.config.tolerance {
            return Err(Kind::Unfit.because(format!(
                "what it calls `{base}` is another base than the run was trained over: on a fixed \
                 text their log-probabilities are {gap:.2e} nats per token apart"
            )));
        }
        state.needed.push(kept.path.clone());
        self.turn_to(&mut state, kept.path.clone());
        let loaded = self.load_kept(&mut state);
        let same = loaded.and_then(|now| compare(&kept.canary, &now, self.config.tolerance));
        same.map_err(|failure| failure.during(&format!("loading `{}`", kept.path)))?;
        state.canary = kept.canary.clone();
        Ok(())
    }

    /// Begin where a checkpoint of another run stands. The state is that run's: where there is more
    /// to learn a copy is kept, so that no checkpoint of this run names it and nothing removes it.
    ///
    /// # Errors
    /// If the server does not have that state any more, or it is not what it was.
    pub fn begin_at(&self, kept: &Kept) -> Result<(), TinkerFailure> {
        self.restore(kept)?;
        if self.training.is_some() {
            let mut state = self.state();
            let own = state.save()?;
            state.present = Some(own);
            state.needed.clear();
        }
        Ok(())
    }

    /// Bring back what the server has lost, unless that was done since `path` drew or was kept.
    pub(super) fn stand_up_from(&self, path: &str) -> Result<(), TinkerFailure> {
        let mut state = self.state();
        let is_present = state.snapshot.as_deref() == Some(path)
            || state.snapshot.is_none() && state.present.as_deref() == Some(path);
        if !is_present {
            return Ok(());
        }
        self.stand_up(&mut state)
    }

    /// The state that was kept last, in a new session of a server that has lost what it had.
    pub(super) fn stand_up(&self, state: &mut State) -> Result<(), TinkerFailure> {
        if let Some(lora) = state.lora.take() {
            // It may still be there, in the way.
            let _ = state.session.unload(lora.id());
            lora.forget();
        }
        state.session = Arc::new(Session::open(self.client.clone())?);
        self.load_kept(state).map(drop)
    }

    /// Make a model that is what was kept last; gives the canary's score.
    pub(super) fn load_kept(&self, state: &mut State) -> Result<Vec<f32>, TinkerFailure> {
        if let Some(lora) = state.lora.take() {
            lora.unload()?;
        }
        state.retire();
        let mut lora = fresh(&state.session, &self.config, &self.speaker, self.seed)?;
        if let Some(path) = &state.present {
            lora.load(path)?;
        }
        let now = canary::score(&self.speaker, &mut lora)?;
        state.lora = Some(lora);
        Ok(now)
    }
}

/// What the server does, if that is not known yet.
fn find_out(
    session: &Arc<Session>,
    config: &TinkerConfig,
    speaker: &Speaker,
    conducts: &mut Conducts,
) -> Result<Conduct, TinkerFailure> {
    let server = (session.client().url().to_owned(), config.base.clone());
    if let Some(conduct) = conducts.get(&server) {
        return Ok(conduct.clone());
    }
    let (base, rank, said) = (&*config.base, config.rank, Reduction::of(config.reduction));
    let probe = Probe { session, speaker, base, rank, said };
    let conduct = probe.ask().map_err(|failure| failure.during("trying out what it does"))?;
    conducts.insert(server, conduct.clone());
    Ok(conduct)
}

/// A fresh model in a place that was made clean: on some servers a gradient that was never applied
/// goes to the next model there.
fn fresh(
    session: &Arc<Session>,
    config: &TinkerConfig,
    speaker: &Speaker,
    seed: u32,
) -> Result<Lora, TinkerFailure> {
    let make = || {
        let lora = (&*config.base, config.rank, seed);
        let made = Lora::make(session, lora, speaker.vocabulary());
        made.map_err(|failure| failure.during("making a model"))
    };
    let mut broom = make()?;
    // What was left there may be no number: then it is gone with this model.
    let swept = broom.step(lora::STILL);
    broom.unload()?;
    swept.map(drop).or_else(|failure| match failure.kind {
        Kind::Ruined => Ok(()),
        _ => Err(failure),
    })?;
    make()
}

/// What the fixed text is to the base, which a fresh model is, too.
fn first_canary(
    client: &Client,
    config: &TinkerConfig,
    speaker: &Speaker,
    lora: &mut Lora,
) -> Result<Canary, TinkerFailure> {
    let source = &Source::Base(config.base.clone());
    let base = Drawing { client, speaker, source }.score(&canary::text(speaker))?;
    let fresh = canary::score(speaker, lora)?;
    let gap = canary::difference(&base, &fresh);
    if gap > config.tolerance {
        return Err(Kind::Unfit.because(format!(
            "what draws as `{}` and what a fresh model is trained over differ by {gap:.2e} nats per \
             token on a fixed text, and `tolerance` is {}",
            config.base, config.tolerance
        )));
    }
    Ok(Canary { base: base.clone(), last: fresh })
}

/// The base as the server calls it, which for some is the path of its folder, and the tokens that a
/// prompt and its answer may have.
fn base(
    offer: &Offer,
    config: &TinkerConfig,
    speaker: &Speaker,
) -> Result<(String, usize), TinkerFailure> {
    let names = || offer.bases.iter().map(|(name, _)| name.as_str());
    let path = std::path::absolute(&config.base).ok().map(|path| path.display().to_string());
    let is_meant = |name: &str| name == config.base || path.as_deref() == Some(name);
    let known = offer.bases.iter().find(|(name, _)| is_meant(name));
    let Some((name, there)) = known else {
        let hint = suggestion(&config.base, names().collect::<Vec<_>>());
        let message = format!("it has no base `{}`{hint}", config.base);
        return Err(Kind::Unfit.because(message));
    };
    let here = speaker.positions().unwrap_or(usize::MAX);
    Ok((name.clone(), there.map_or(here, |there| there.min(here))))
}
