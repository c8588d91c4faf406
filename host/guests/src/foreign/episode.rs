//! An episode on a server: alive in a session, or a saved value to continue from.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::environment::ForeignEnvironment;
use super::observation::Observation;
use super::room::{Slot, taken_out};
use super::session::Session;
use super::trouble::Trouble;
use crate::plugin::{
    Award, Effect, Move, Outcome, Part, PluginFailure, Recipient, Seat, Status, Task,
};
use troupe_core::seed::Seed;

/// An episode between calls: its task and moves, what they showed, and the session
/// that stands there, until it is taken.
#[derive(Clone, Debug)]
pub struct ForeignState {
    past: Past,
    slot: Arc<Slot>,
}

/// The history of an episode.
#[derive(Clone, Debug)]
struct Past {
    task: Arc<Task>,
    moves: Vec<Arc<[Move]>>,
    /// What the beginning and every move showed.
    digests: Vec<u64>,
    rules: Arc<Observation>,
    last: Arc<Observation>,
    /// Rewards so far, of all together.
    earned: f64,
    is_over: bool,
}

/// An episode in a session.
#[derive(Debug)]
pub struct ForeignEpisode {
    environment: ForeignEnvironment,
    past: Past,
    slot: Arc<Slot>,
}

/// The award of a single move, as one of the move at `place` among several.
fn with_mover(award: Award, place: u32) -> Award {
    match award.to {
        Recipient::Mover(_) => Award { to: Recipient::Mover(place), ..award },
        Recipient::Team | Recipient::Seat(_) => award,
    }
}

impl ForeignState {
    /// A number for the state: the same task and moves give the same number.
    pub fn digest(&self) -> u64 {
        let Past { task, moves, .. } = &self.past;
        let start = Seed::new(u64::from(task.seed)).named(task.split.name());
        let mix = |seed: Seed, Move { seat, action }: &Move| {
            seed.named(&seat.role).at(seat.instance.into()).named(&action.kind).named(&action.text)
        };
        moves.iter().fold(start, |seed, moves| moves.iter().fold(seed.named("act"), mix)).value()
    }

    /// The same state without its session: it continues by replaying the moves.
    #[must_use]
    pub fn as_replay(&self) -> Self {
        ForeignState { past: self.past.clone(), slot: Arc::default() }
    }
}

impl ForeignEpisode {
    pub(super) fn start(
        environment: &ForeignEnvironment,
        task: &Task,
    ) -> Result<Self, PluginFailure> {
        ForeignEpisode::begin(environment, task)
            .map_err(|trouble| environment.failure("start", trouble))
    }

    fn begin(environment: &ForeignEnvironment, task: &Task) -> Result<Self, Trouble> {
        let gives_way = environment.is_forkable();
        let (session, first) = environment.server().begin(task, gives_way)?;
        let first = Arc::new(first);
        let past = Past {
            task: Arc::new(task.clone()),
            moves: Vec::new(),
            digests: vec![first.digest()],
            rules: first.clone(),
            is_over: first.is_last(),
            last: first,
            earned: 0.0,
        };
        let slot = Arc::new(Mutex::new(Some(session)));
        Ok(ForeignEpisode { environment: environment.clone(), past, slot })
    }

    /// Goes on in the session that stands there, or else replays the moves in another.
    pub(super) fn resume(
        environment: &ForeignEnvironment,
        state: &ForeignState,
    ) -> Result<Self, PluginFailure> {
        if let Some(session) = taken_out(&state.slot) {
            let slot = Arc::new(Mutex::new(Some(session)));
            let (environment, past) = (environment.clone(), state.past.clone());
            return Ok(ForeignEpisode { environment, past, slot });
        }
        let replayed = ForeignEpisode::replay(environment, &state.past);
        replayed.map_err(|trouble| environment.failure("resume", trouble))
    }

    /// Plays a past again, in a session of its own.
    fn replay(environment: &ForeignEnvironment, past: &Past) -> Result<Self, Trouble> {
        if let Some(reason) = environment.unforkable() {
            return Err(Trouble::NotReplayed(format!(
                "it cannot be gone back to a state of it ({reason}); set rollout.scheme = \
                 \"trajectory\""
            )));
        }
        let Past { task, moves, digests, .. } = past;
        let mut episode = ForeignEpisode::begin(environment, task)?;
        let mut moves = moves.iter();
        loop {
            let at = episode.past.digests.len() - 1;
            if episode.past.digests.last() != digests.get(at) {
                let shown = episode.past.last.shown();
                return Err(Trouble::NotReplayed(format!(
                    "replaying its moves led elsewhere after {at} (to {shown}), so it does not \
                     repeat itself; set rollout.scheme = \"trajectory\""
                )));
            }
            match moves.next() {
                Some(moves) => drop(episode.carry_out(moves.to_vec())?),
                None => return Ok(episode),
            }
        }
    }

    /// The rules, in the words for this seat.
    pub fn rules(&self, seat: &Seat) -> String {
        let server = self.environment.server();
        let rules = server.options.rules.clone().or_else(|| self.past.rules.rules_for(seat));
        rules.unwrap_or_else(|| server.summary.clone())
    }

    /// Whether a limit of the server's has ended it, and it is not solved.
    pub fn is_cut_off(&self) -> bool {
        let solved_from = self.environment.server().options.solved_from;
        self.past.last.is_cut_off(self.past.earned, solved_from)
    }

    /// The observation of a seat.
    pub fn observe(&self, seat: &Seat) -> Vec<Part> {
        vec![Part::Text(self.past.last.seen_by(seat))]
    }

    /// Carries out moves, one after the other, until one ends the episode.
    ///
    /// # Errors
    /// If the server fails; the episode is void.
    pub fn act(&mut self, moves: Vec<Move>) -> Result<Outcome, PluginFailure> {
        self.carry_out(moves).map_err(|trouble| self.environment.failure("act", trouble))
    }

    fn carry_out(&mut self, moves: Vec<Move>) -> Result<Outcome, Trouble> {
        self.environment.count_act();
        let mut all = Outcome { effects: Vec::new(), awards: Vec::new(), status: Status::Ongoing };
        for seat_move in &moves {
            if self.past.is_over {
                let feedback = "it came too late".to_owned();
                all.effects.push(Effect { accepted: false, feedback });
                continue;
            }
            let outcome = self.step(seat_move)?;
            let place = u32::try_from(all.effects.len()).unwrap_or(u32::MAX);
            all.effects.extend(outcome.effects);
            all.status = outcome.status;
            all.awards.extend(outcome.awards.into_iter().map(|award| with_mover(award, place)));
        }
        all.check(moves.len()).map_err(Trouble::Invalid)?;
        let last = self.past.last.digest();
        let effects = all.effects.iter().map(|effect| (&effect.feedback, effect.accepted));
        let mix = |seed: Seed, (feedback, accepted): (&String, bool)| {
            seed.named(feedback).at(accepted.into())
        };
        self.past.digests.push(effects.fold(Seed::new(last), mix).value());
        self.past.moves.push(moves.into());
        Ok(all)
    }

    /// Carries out one move. An error in its form is the fault of the answer that made it.
    fn step(&mut self, seat_move: &Move) -> Result<Outcome, Trouble> {
        let server = self.environment.server();
        let rejected = |feedback: String| {
            let effects = vec![Effect { accepted: false, feedback }];
            Ok(Outcome { effects, awards: Vec::new(), status: Status::Ongoing })
        };
        let action = match server.form.action(seat_move) {
            Ok(action) => action,
            Err(wrong) => return rejected(wrong),
        };
        let mut observation = match self.ask(&action) {
            Err(Trouble::Refused(reason)) => return rejected(reason),
            other => other?,
        };
        let seats = &server.form.seats;
        if !seats.contains(&seat_move.seat.to_string())
            && let Some(seat) = seats.first()
        {
            observation.pay_to_mover(seat);
        }
        self.past.earned += observation.earned();
        self.past.is_over = observation.is_last();
        let outcome = observation.outcome(self.past.earned, server.options.solved_from);
        self.past.last = Arc::new(observation);
        Ok(outcome)
    }

    /// Asks for a step in the session, which is gone if that fails. One that has waited may have
    /// been closed by its server meanwhile; then another one takes its place, once.
    fn ask(&self, action: &Value) -> Result<Observation, Trouble> {
        let mut session = taken_out(&self.slot)
            .ok_or_else(|| Trouble::Connection("its session has ended".to_owned()))?;
        let mut result = session.step(action);
        let is_closed = session.has_waited && matches!(result, Err(Trouble::Connection(_)));
        if is_closed && self.environment.is_forkable() {
            // Its place is needed.
            drop(session);
            session = self.replayed()?;
            result = session.step(action);
        }
        if matches!(result, Ok(_) | Err(Trouble::Refused(_))) {
            session.has_waited = false;
            *self.slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
        }
        result
    }

    /// A new session in which everything so far has been replayed.
    fn replayed(&self) -> Result<Session, Trouble> {
        let episode = ForeignEpisode::replay(&self.environment, &self.past)?;
        taken_out(&episode.slot)
            .ok_or_else(|| Trouble::Connection("its session has ended".to_owned()))
    }

    /// The episode as a value. It keeps the session for the first to continue.
    pub fn save(&self) -> ForeignState {
        self.environment.server().room().park(&self.slot);
        ForeignState { past: self.past.clone(), slot: self.slot.clone() }
    }
}
