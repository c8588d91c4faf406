//! One fork being played from one round of answers to the next.

use std::sync::Arc;

use super::environment::Episode;
use super::request::{Due, conversation};
use super::tool;
use super::{Answer, Counts, Next, Position, Scenario, Transition};
use crate::plugin::{
    self, Call, Credit, Directive, Event as SessionEvent, LiveSession, Move, Outcome,
    PluginFailure, Reply, Request, ResultOfMove, Seat, Step, action_of, seat_reward, team_reward,
    text_of,
};
use troupe_core::trajectory::{Ending, Event, Reward, Status};

/// Lines of a plugin's log that are kept of a round, and bytes of a line.
const LOG_LINES: usize = 8;
const LOG_BYTES: usize = 256;

/// One fork being played from one round of answers to the next.
pub(super) struct Play<'a> {
    scenario: &'a Scenario,
    episode: Box<dyn Episode>,
    session: LiveSession,
    counts: Counts,
    /// The seats that answered, in the order of the answers.
    seats: Vec<Seat>,
    team: Reward,
    rewards: Vec<Reward>,
    others: Vec<(Seat, Reward)>,
    credits: Vec<Credit>,
    accepted: Vec<bool>,
    events: Vec<Event>,
    /// What has been asked in this round.
    next: Vec<Due>,
}

/// Where a session stands after an event.
enum SessionStatus {
    /// It waits for answers.
    Waits,
    /// The episode is over.
    Ended(Ending),
}

impl<'a> Play<'a> {
    pub(super) fn new(
        scenario: &'a Scenario,
        episode: Box<dyn Episode>,
        session: LiveSession,
        counts: Counts,
    ) -> Self {
        Play {
            scenario,
            episode,
            session,
            counts,
            seats: Vec::new(),
            team: Reward::default(),
            rewards: Vec::new(),
            others: Vec::new(),
            credits: Vec::new(),
            accepted: Vec::new(),
            events: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Play up to the first answers that are due.
    pub(super) fn begin(mut self) -> Result<Transition, PluginFailure> {
        let views = self.scenario.views(&mut *self.episode)?;
        self.record_views(&views);
        let status = self.tell(SessionEvent::Begun(views))?;
        self.end(status)
    }

    /// Report answers to what was due, one after the other.
    pub(super) fn round(
        mut self,
        due: &[Due],
        answers: &[Answer],
    ) -> Result<Transition, PluginFailure> {
        self.seats = due.iter().map(|due| due.request.seat.clone()).collect();
        self.rewards = vec![Reward::default(); due.len()];
        self.accepted = vec![true; due.len()];
        let mut status = SessionStatus::Waits;
        for (due, answer) in due.iter().zip(answers) {
            self.events.push(Event::Replied {
                role: due.role().to_owned(),
                instance: due.request.seat.instance,
                thread: due.request.thread.clone(),
                turn: due.turn,
                prompt: due.messages.to_vec(),
                tools: due.tools.to_vec(),
                text: answer.text.to_owned(),
                cut: !answer.complete,
                forced: answer.forced,
            });
            status = self.tell(SessionEvent::Replied(Reply {
                seat: due.request.seat.clone(),
                answer: due.number,
                thread: due.request.thread.clone(),
                text: answer.text.to_owned(),
                complete: answer.complete,
            }))?;
            if matches!(status, SessionStatus::Ended(_)) {
                break;
            }
        }
        self.end(status)
    }

    /// Report an event and carry out directives until answers are awaited.
    fn tell(&mut self, event: SessionEvent) -> Result<SessionStatus, PluginFailure> {
        let mut event = event;
        for _ in 0..=self.scenario.actions_per_answer {
            let Step { credits, directive } = self.session.advance(event)?;
            self.take_credits(credits)?;
            event = match directive {
                Directive::Finish => {
                    return Ok(SessionStatus::Ended(
                        self.counts.over.clone().unwrap_or(Ending::Finished),
                    ));
                }
                Directive::Wait => return Ok(SessionStatus::Waits),
                Directive::Ask(requests) => return self.ask(requests),
                Directive::Act(moves) => self.act(moves)?,
                Directive::Call(calls) => self.call(calls)?,
            };
        }
        Err(self.failure(format!(
            "it took more than {} actions after one answer (plugins.limits.actions_per_answer)",
            self.scenario.actions_per_answer
        )))
    }

    fn failure(&self, message: impl Into<String>) -> PluginFailure {
        self.scenario.workflow.failure("advance", message)
    }

    fn take_credits(&mut self, credits: Vec<Credit>) -> Result<(), PluginFailure> {
        for credit in credits {
            if !self.counts.open.contains(&credit.answer) {
                let answer = credit.answer;
                return Err(self.failure(format!(
                    "it credits answer {answer}, which it did not ask for as open, or has closed"
                )));
            }
            if credit.is_last {
                self.counts.open.remove(&credit.answer);
            }
            let Credit { answer, name, value, .. } = credit.clone();
            self.events.push(Event::Credited { answer, name, value });
            self.credits.push(credit);
        }
        Ok(())
    }

    /// Put requests behind those that are due.
    fn ask(&mut self, requests: Vec<Request>) -> Result<SessionStatus, PluginFailure> {
        for request in requests {
            let tools = tool::schemas(&self.scenario.workflow, &self.scenario.tools, &request)?;
            let turns =
                self.counts.turns.entry(conversation(&request.seat, &request.thread)).or_default();
            if *turns >= self.scenario.max_turns_of(&request.seat.role) {
                return Ok(SessionStatus::Ended(
                    self.counts.over.clone().unwrap_or(Ending::Truncated),
                ));
            }
            let number = self.counts.asked;
            if request.is_open {
                self.counts.open.insert(number);
            }
            self.next.push(Due::new(request, tools, *turns, number));
            *turns += 1;
            self.counts.asked += 1;
        }
        Ok(SessionStatus::Waits)
    }

    /// Carry out moves: the event they lead to.
    fn act(&mut self, moves: Vec<Move>) -> Result<SessionEvent, PluginFailure> {
        if self.counts.over.is_some() {
            return Err(self.failure("it acts after the end of the episode"));
        }
        let outcome = self.episode.act(moves.clone())?;
        self.book(&moves, &outcome);
        let status = match outcome.status {
            plugin::Status::Ongoing => Status::Ongoing,
            plugin::Status::Solved => Status::Solved,
            plugin::Status::Failed => Status::Failed,
        };
        self.counts.over = match status {
            Status::Ongoing => None,
            Status::Solved => Some(Ending::Solved),
            Status::Failed if self.episode.is_cut_off() => Some(Ending::Truncated),
            Status::Failed => Some(Ending::Failed),
        };
        let mut results = Vec::new();
        for (index, (act, effect)) in moves.iter().zip(outcome.effects.iter()).enumerate() {
            self.events.push(Event::Acted {
                action: action_of(act),
                accepted: effect.accepted,
                feedback: effect.feedback.clone(),
                reward: {
                    let mut reward = team_reward(&outcome);
                    reward.add(&seat_reward(&outcome, &act.seat, &[index]));
                    reward
                },
                status,
            });
            results.push(ResultOfMove {
                seat: act.seat.clone(),
                accepted: effect.accepted,
                feedback: effect.feedback.clone(),
            });
        }
        let views = self.scenario.views(&mut *self.episode)?;
        if status == Status::Ongoing {
            self.record_views(&views);
        }
        let revealed = self.episode.reveal()?;
        let status = outcome.status;
        Ok(SessionEvent::Acted(plugin::Consequence { results, views, revealed, status }))
    }

    /// Adds the rewards of moves: to the seats that answered in this round,
    /// and to others.
    fn book(&mut self, moves: &[Move], outcome: &Outcome) {
        let places_of = |seat: &Seat| -> Vec<usize> {
            let places = moves.iter().enumerate().filter(|(_, seat_move)| seat_move.seat == *seat);
            places.map(|(index, _)| index).collect()
        };
        let team = team_reward(outcome);
        self.team.add(&team);
        for (index, seat) in self.seats.iter().enumerate() {
            let places = places_of(seat);
            self.rewards[index].add(&team);
            self.rewards[index].add(&seat_reward(outcome, seat, &places));
            self.accepted[index] &= places.iter().all(|&place| outcome.effects[place].accepted);
        }
        for seat in self.scenario.seats() {
            if self.seats.contains(&seat) {
                continue;
            }
            let reward = seat_reward(outcome, &seat, &places_of(&seat));
            if reward == Reward::default() {
                continue;
            }
            match self.others.iter_mut().find(|(known, _)| *known == seat) {
                Some((_, sum)) => sum.add(&reward),
                None => self.others.push((seat, reward)),
            }
        }
    }

    fn call(&mut self, calls: Vec<Call>) -> Result<SessionEvent, PluginFailure> {
        let mut returned = Vec::new();
        for call in calls {
            let answer = tool::call(&self.scenario.workflow, &call)?;
            self.events.push(Event::Called {
                role: call.seat.role,
                tool: call.tool,
                arguments: call.arguments,
                succeeded: answer.succeeded,
                answer: answer.answer.clone(),
            });
            returned.push(answer);
        }
        Ok(SessionEvent::Returned(returned))
    }

    /// Records what was seen: each view that differs.
    fn record_views(&mut self, views: &[plugin::View]) {
        for view in views {
            let text = text_of(&view.parts);
            let text = match &view.seat {
                None => text,
                Some(seat) => format!("[{seat}] {text}"),
            };
            self.events.push(Event::Observed { text });
        }
    }

    /// Save both states, if answers are due.
    fn end(mut self, status: SessionStatus) -> Result<Transition, PluginFailure> {
        if self.scenario.keeps_hints && !self.next.is_empty() {
            let hint: Option<Arc<str>> = self.episode.reveal()?.map(Arc::from);
            self.next.iter_mut().for_each(|due| due.hint.clone_from(&hint));
        }
        let next = match status {
            SessionStatus::Ended(ending) => Next::Ended(ending),
            SessionStatus::Waits if self.next.is_empty() => match self.counts.over.take() {
                Some(ending) => Next::Ended(ending),
                None => return Err(self.failure("it waits although no answer is due")),
            },
            SessionStatus::Waits => Next::Asked(Position {
                environment: self.episode.save()?,
                session: self.session.save()?,
                counts: self.counts.clone(),
                due: std::mem::take(&mut self.next),
            }),
        };
        self.keep_logs();
        let Play { team, rewards, others, credits, accepted, events, .. } = self;
        Ok(Transition { team, rewards, others, credits, accepted, events, next })
    }

    /// The first lines that each plugin logged become part of what happened.
    fn keep_logs(&mut self) {
        let scenario = self.scenario;
        let logs = [
            (scenario.environment.name(), self.episode.take_log()),
            (scenario.workflow.name(), self.session.take_log()),
        ];
        for (plugin, lines) in logs {
            self.events.extend(lines.into_iter().take(LOG_LINES).map(|line| Event::Logged {
                plugin: plugin.to_owned(),
                level: line.level.word().to_owned(),
                text: line.text[..line.text.floor_char_boundary(LOG_BYTES)].to_owned(),
            }));
        }
    }
}
