//! Episodes played while others' answers are generated.
//!
//! One thread generates; every other core plays what was answered. An attempt
//! moves back and forth: it is lent to a player with its answers, and comes back
//! with its next requests, which join the running batch at once. So neither
//! a GPU waits for graders nor a slow episode holds up the others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use rayon::Scope;

use super::attempt::Attempt;
use super::collect::Rollout;
use super::error::RolloutError;
use super::sampler::{Ask, Asked, Sampler};
use super::setting::Setting;
use super::weighing::Answered;
use troupe_model::{Completions, Engine, Question, RemoteFailure};

/// Run attempts to their ends; they come back in the same order.
pub(super) fn overlapped(
    setting: &Setting,
    sampler: &mut Sampler,
    attempts: Vec<Attempt>,
    rollout: &mut Rollout,
) -> Result<Vec<Attempt>, RolloutError> {
    let ended = rayon::in_place_scope(|scope| {
        let (sender, done) = channel();
        let mut scheduler = Scheduler {
            setting,
            sender,
            done,
            playing: 0,
            attempts: attempts.len(),
            asked: BTreeMap::new(),
            open: BTreeMap::new(),
            ended: BTreeMap::new(),
        };
        for (index, attempt) in attempts.into_iter().enumerate() {
            scheduler.play(scope, index, attempt, None);
        }
        scheduler.run(scope, sampler, rollout)?;
        Ok::<_, RolloutError>(scheduler.ended)
    })?;
    Ok(ended.into_values().collect())
}

/// What arrives at the scheduler.
enum Done {
    /// An attempt was played as far as its answers went.
    Played { index: usize, attempt: Attempt, forks: Vec<Attempt> },
    /// A remote answered.
    Heard(Slot, Result<Completions, RemoteFailure>),
}

/// A request of an attempt, and its place among those due.
struct Slot {
    asked: Asked,
    place: usize,
}

/// A request that an engine was asked, and its prompt.
type Open = (Slot, Arc<[u32]>);

/// An attempt whose answers are being generated, with those that are there.
struct AskedAttempt {
    attempt: Attempt,
    answers: Vec<Option<Answered>>,
}

/// Where attempts are between generation and play.
struct Scheduler<'s> {
    setting: &'s Setting<'s>,
    sender: Sender<Done>,
    done: Receiver<Done>,
    /// Attempts that are being played.
    playing: usize,
    /// All there are so far; the next one is given this index.
    attempts: usize,
    /// Attempts whose answers are being generated.
    asked: BTreeMap<usize, AskedAttempt>,
    /// What the engines were asked, by engine and ticket.
    open: BTreeMap<(usize, usize), Open>,
    ended: BTreeMap<usize, Attempt>,
}

impl<'s> Scheduler<'s> {
    fn run<'scope>(
        &mut self,
        scope: &Scope<'scope>,
        sampler: &mut Sampler,
        rollout: &mut Rollout,
    ) -> Result<(), RolloutError>
    where
        's: 'scope,
    {
        while self.playing > 0 || !self.asked.is_empty() {
            let (started, awaits_players) = (Instant::now(), self.playing > 0);
            self.take_done(scope, sampler, rollout)?;
            // Where nothing is played, it is answers from elsewhere that are waited for.
            match awaits_players {
                true => rollout.plugins += started.elapsed(),
                false => rollout.generation += started.elapsed(),
            }
            let started = Instant::now();
            for way in 0..sampler.engines.len() {
                for (ticket, completions) in sampler.engines[way].advance()? {
                    if let Some((slot, prompt)) = self.open.remove(&(way, ticket)) {
                        let answers = Completions { prompt, completions };
                        self.hear(scope, slot, Ok(answers), rollout)?;
                    }
                }
            }
            rollout.generation += started.elapsed();
        }
        Ok(())
    }

    /// Take what arrived and ask what is due; waits if nothing else is to be done.
    fn take_done<'scope>(
        &mut self,
        scope: &Scope<'scope>,
        sampler: &mut Sampler,
        rollout: &mut Rollout,
    ) -> Result<(), RolloutError>
    where
        's: 'scope,
    {
        let mut first = match sampler.engines.iter().all(Engine::is_idle) {
            true => self.done.recv().ok(),
            false => None,
        };
        let mut due = Vec::new();
        while let Some(arrival) = first.take().or_else(|| self.done.try_recv().ok()) {
            match arrival {
                Done::Heard(slot, answered) => self.hear(scope, slot, answered, rollout)?,
                Done::Played { index, attempt, forks } => {
                    self.playing -= 1;
                    let numbers = self.attempts..self.attempts + forks.len();
                    self.attempts += forks.len();
                    let forks = numbers.zip(forks);
                    for (index, attempt) in std::iter::once((index, attempt)).chain(forks) {
                        due.extend(self.take_in(sampler, index, attempt)?.into_iter().enumerate());
                    }
                }
            }
        }
        self.ask(sampler, due)
    }

    /// Keep an attempt until it is answered; returns what is due in it.
    fn take_in(
        &mut self,
        sampler: &Sampler,
        index: usize,
        mut attempt: Attempt,
    ) -> Result<Vec<(Asked, Ask)>, RolloutError> {
        let due = sampler.due(index, &mut attempt)?;
        if due.is_empty() {
            self.ended.insert(index, attempt);
        } else {
            let answers = due.iter().map(|_| None).collect();
            self.asked.insert(index, AskedAttempt { attempt, answers });
        }
        Ok(due)
    }

    fn ask(
        &mut self,
        sampler: &mut Sampler,
        due: Vec<(usize, (Asked, Ask))>,
    ) -> Result<(), RolloutError> {
        let mut batches: Vec<(Vec<Question>, Vec<_>)> = Vec::new();
        batches.resize_with(sampler.engines.len(), Default::default);
        for (place, (asked, ask)) in due {
            let slot = Slot { asked, place };
            match ask {
                Ask::Engine(way, question) => {
                    batches[way].1.push((slot, question.1.prompt.clone()));
                    batches[way].0.push(question);
                }
                Ask::Known(answers) => {
                    // It waits for nobody, but is heard like the others.
                    let _ = self.sender.send(Done::Heard(slot, Ok(answers)));
                }
                Ask::Remote(question) => {
                    let sender = self.sender.clone();
                    // It mostly waits, for a server say, so it takes no core.
                    std::thread::spawn(move || {
                        if let Some(answered) = question.ask() {
                            // The receiver is gone only if the rollout has failed.
                            let _ = sender.send(Done::Heard(slot, answered));
                        }
                    });
                }
            }
        }
        for (way, (questions, slots)) in batches.into_iter().enumerate() {
            let tickets = sampler.engines[way].submit(&questions)?;
            self.open.extend(tickets.into_iter().map(|ticket| (way, ticket)).zip(slots));
        }
        Ok(())
    }

    /// Take an answer; with the last one due, the attempt is played.
    fn hear<'scope>(
        &mut self,
        scope: &Scope<'scope>,
        Slot { asked, place }: Slot,
        answered: Result<Completions, RemoteFailure>,
        rollout: &mut Rollout,
    ) -> Result<(), RolloutError>
    where
        's: 'scope,
    {
        let index = asked.attempt;
        let Some(waiting) = self.asked.get_mut(&index) else { return Ok(()) };
        let answered = asked.answered(answered, self.setting.role_map)?;
        rollout.count_answers(&answered);
        waiting.answers[place] = Some(answered);
        if waiting.answers.iter().all(Option::is_some)
            && let Some(AskedAttempt { attempt, answers }) = self.asked.remove(&index)
        {
            self.play(scope, index, attempt, Some(answers.into_iter().flatten().collect()));
        }
        Ok(())
    }

    /// Lend an attempt to a player: with answers, or to begin.
    fn play<'scope>(
        &mut self,
        scope: &Scope<'scope>,
        index: usize,
        mut attempt: Attempt,
        answers: Option<Vec<Answered>>,
    ) where
        's: 'scope,
    {
        self.playing += 1;
        let (setting, sender) = (self.setting, self.sender.clone());
        scope.spawn(move |_| {
            let forks = match answers {
                Some(answers) => attempt.play(answers, setting),
                None => {
                    attempt.begin(setting);
                    Vec::new()
                }
            };
            // The receiver is gone only if the rollout has failed.
            let _ = sender.send(Done::Played { index, attempt, forks });
        });
    }
}
