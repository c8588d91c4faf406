//! An episode as its expert plays it, with what can be seen of it.

use super::Earnings;
use troupe_core::trajectory::{Ending, Event, Status};
use troupe_guests::plugin::{
    self, EnvironmentState, LiveEpisode, Move, Outcome, PluginFailure, Rendering, Seat, Split,
    Task, action_of, seat_reward, team_reward, text_of,
};
use troupe_guests::records::RecordError;
use troupe_guests::scenario::{Alone, Answer, Next, Position, Scenario, Transition};

/// Moments that are shown of an episode.
const MOMENTS: usize = 40;
/// Acts of an episode that nobody ends.
const ACTS: usize = 400;

/// An episode.
#[derive(Clone, Debug)]
pub struct Example {
    /// What it was played in or with.
    pub beside: String,
    /// The task, of those to learn from.
    pub seed: u32,
    /// What was seen and done, from the beginning.
    pub scenes: Vec<Scene>,
    /// How it ended.
    pub close: Close,
}

/// What could be seen at a moment, and what happened then.
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// How it looks, if the environment draws.
    pub drawing: Option<Rendering>,
    /// What happened, in order.
    pub events: Vec<Event>,
}

/// How an example ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Close {
    /// As episodes do.
    Ended(Ending),
    /// The expert had nothing to say as this seat.
    Silent(String),
    /// More of it is not shown.
    Long,
    /// A plugin failed, as these words say.
    Failed(String),
}

/// Why an episode could not be begun.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unbegun {
    #[error(transparent)]
    Failure(#[from] PluginFailure),
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl Example {
    /// The expert alone in an environment; what was earned is told.
    pub(super) fn alone(alone: &Alone, seed: u32, earned: &mut Earnings) -> Result<Self, Unbegun> {
        let mut episode = alone.environment.start(&task(alone, seed)?)?;
        let mut example = Example::of(alone.environment.name(), seed);
        example.close = example.act_out(alone, &mut episode, earned);
        earned.close(&example.close);
        example.cut();
        Ok(example)
    }

    /// The expert as every role of a team.
    pub(super) fn team(scenario: &Scenario, seed: u32) -> Result<Self, PluginFailure> {
        let begun = scenario.begin(Split::Train, seed)?;
        let mut example = Example::of(scenario.environment.name(), seed);
        example.close = example.talk(scenario, begun);
        example.cut();
        Ok(example)
    }

    fn of(beside: &str, seed: u32) -> Self {
        Example { beside: beside.to_owned(), seed, scenes: Vec::new(), close: Close::Long }
    }

    fn act_out(
        &mut self,
        alone: &Alone,
        episode: &mut LiveEpisode,
        earned: &mut Earnings,
    ) -> Close {
        for _ in 0..ACTS {
            let (moves, outcome) = match self.turn(alone, episode) {
                Ok(Some(moved)) => moved,
                Ok(None) => return Close::Silent(alone.seats()[0].to_string()),
                Err(failure) => return Close::Failed(failure.to_string()),
            };
            earned.take(&outcome);
            self.note(&moves, &outcome);
            let ending = match outcome.status {
                plugin::Status::Ongoing => continue,
                plugin::Status::Solved => Ending::Solved,
                plugin::Status::Failed => Ending::Failed,
            };
            // What it has come to; an environment need not draw that.
            let drawn = episode.save().and_then(|state| alone.environment.render(&state));
            if let Ok(drawing @ Some(_)) = drawn {
                self.scenes.push(Scene { drawing, events: Vec::new() });
            }
            return Close::Ended(ending);
        }
        Close::Long
    }

    /// What can be seen, and what the expert does then, if anything.
    fn turn(
        &mut self,
        alone: &Alone,
        episode: &mut LiveEpisode,
    ) -> Result<Option<(Vec<Move>, Outcome)>, PluginFailure> {
        let state = episode.save()?;
        let mut scene = Scene { drawing: alone.environment.render(&state)?, events: Vec::new() };
        let seats = alone.seats();
        let viewers = if alone.configuration.is_private { &seats[..] } else { &seats[..1] };
        for seat in viewers {
            let text = text_of(&episode.observe(seat)?);
            let text = if viewers.len() > 1 { format!("[{seat}] {text}") } else { text };
            scene.events.push(Event::Observed { text });
        }
        self.scenes.push(scene);
        act(alone, episode, &state)
    }

    fn talk(&mut self, scenario: &Scenario, begun: Transition) -> Close {
        let mut now = begun;
        while self.scenes.len() <= MOMENTS {
            let position = match now.next.clone() {
                Next::Asked(position) => position,
                Next::Ended(ending) => {
                    self.tell(now, None);
                    return Close::Ended(ending);
                }
            };
            let answers = answers(scenario, &position);
            match scenario.render(&position) {
                Ok(drawing) => self.tell(now, drawing),
                Err(failure) => return Close::Failed(failure.to_string()),
            }
            let answers = match answers {
                Ok(Ok(answers)) => answers,
                Ok(Err(seat)) => return Close::Silent(seat.to_string()),
                Err(failure) => return Close::Failed(failure.to_string()),
            };
            let said = answers.iter().map(|text| Answer { text, complete: true, forced: false });
            now = match scenario.answer(&position, &said.collect::<Vec<_>>()) {
                Ok(next) => next,
                Err(failure) => return Close::Failed(failure.to_string()),
            };
        }
        Close::Long
    }

    /// What was drawn first.
    pub fn picture(&self) -> Option<&Rendering> {
        self.scenes.iter().find_map(|scene| scene.drawing.as_ref())
    }

    fn note(&mut self, moves: &[Move], outcome: &Outcome) {
        let Some(scene) = self.scenes.last_mut() else { return };
        for (index, (act, effect)) in moves.iter().zip(&outcome.effects).enumerate() {
            let mut reward = seat_reward(outcome, &act.seat, &[index]);
            if index == 0 {
                reward.add(&team_reward(outcome));
            }
            scene.events.push(Event::Acted {
                action: action_of(act),
                accepted: effect.accepted,
                feedback: effect.feedback.clone(),
                reward,
                status: Status::Ongoing,
            });
        }
    }

    /// Take in what happened on the way to a position that looks so.
    fn tell(&mut self, now: Transition, mut drawing: Option<Rendering>) {
        let last = now.events.iter().rposition(|event| matches!(event, Event::Observed { .. }));
        for (index, event) in now.events.into_iter().enumerate() {
            let is_seen = matches!(event, Event::Observed { .. });
            let goes_on = self.scenes.last().is_some_and(|scene| {
                let seen = |event: &Event| matches!(event, Event::Observed { .. });
                is_seen && !scene.events.is_empty() && scene.events.iter().all(seen)
            });
            if self.scenes.is_empty() || (is_seen && !goes_on) {
                self.scenes.push(Scene::default());
            }
            // There is one: the line above put it there.
            let Some(scene) = self.scenes.last_mut() else { return };
            if last == Some(index) {
                scene.drawing = drawing.take();
            }
            scene.events.push(event);
        }
    }

    fn cut(&mut self) {
        if self.scenes.len() > MOMENTS {
            self.scenes.truncate(MOMENTS);
            self.close = Close::Long;
        }
    }
}

/// What the expert says as everybody who is asked, or who it is that it has nothing to say as.
fn answers(
    scenario: &Scenario,
    position: &Position,
) -> Result<Result<Vec<String>, Seat>, PluginFailure> {
    let mut texts = Vec::new();
    for due in &position.due {
        match scenario.demonstrate(position, due)? {
            Some(text) => texts.push(text),
            None => return Ok(Err(due.request.seat.clone())),
        }
    }
    Ok(Ok(texts))
}

/// A task to learn from.
///
/// # Errors
/// If its record cannot be read.
pub fn task(alone: &Alone, seed: u32) -> Result<Task, RecordError> {
    let record = alone.records.as_ref().map(|records| records.read(Split::Train, seed));
    let entry = record.transpose()?.map(|record| record.text);
    let settings = alone.settings.configured().to_vec();
    Ok(Task { split: Split::Train, seed, settings, seats: alone.seats(), entry })
}

/// Has the expert act: the first seat that it has something to do as, or, where that is refused
/// because moves are made together, all that it has something to do as.
fn act(
    alone: &Alone,
    episode: &mut LiveEpisode,
    state: &EnvironmentState,
) -> Result<Option<(Vec<Move>, Outcome)>, PluginFailure> {
    let mut moves = Vec::new();
    for seat in alone.seats() {
        let action = episode.demonstrate(&seat)?;
        moves.extend(action.map(|action| Move { seat, action }));
    }
    let Some(first) = moves.first().cloned() else { return Ok(None) };
    match episode.act(vec![first.clone()]) {
        Ok(outcome) => Ok(Some((vec![first], outcome))),
        Err(failure) if moves.len() == 1 => Err(failure),
        Err(_) => {
            *episode = alone.environment.resume(state)?;
            let outcome = episode.act(moves.clone())?;
            Ok(Some((moves, outcome)))
        }
    }
}
