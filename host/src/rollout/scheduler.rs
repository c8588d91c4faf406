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

use super::attempt::{Attempt, Setting};
use super::collect::{Rollout, RolloutError};
use super::sampler::{Answered, Ask, Due, Sampler};
use crate::policy::{RemoteAnswers, RemoteFailure};

/// Run attempts to their ends; they come back in the same order.
pub(super) fn overlapped(
    setting: &Setting,
    sampler: &mut Sampler,
    attempts: Vec<Attempt>,
    rollout: &mut Rollout,
) -> Result<Vec<Attempt>, RolloutError> {
    let count = attempts.len();
    let ended = rayon::in_place_scope(|scope| {
        let (sender, done) = channel();
        let mut scheduler = Scheduler {
            setting,
            sender,
            done,
            playing: 0,
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
    debug_assert_eq!(ended.len(), count);
    Ok(ended.into_values().collect())
}

/// What arrives at the scheduler.
enum Done {
    /// An attempt was played as far as its answers went.
    Played(usize, Attempt),
    /// A remote answered.
    Heard(Slot, Result<RemoteAnswers, RemoteFailure>),
}

/// A request of an attempt, and its place among those due.
struct Slot {
    due: Due,
    place: usize,
}

/// An attempt whose answers are being generated, with those that are there.
struct Asked {
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
    /// Attempts whose answers are being generated.
    asked: BTreeMap<usize, Asked>,
    /// What the engine was asked, by ticket.
    open: BTreeMap<usize, (Slot, Arc<[u32]>)>,
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
            let started = Instant::now();
            self.take_done(scope, sampler, rollout)?;
            rollout.plugins += started.elapsed();
            let started = Instant::now();
            for (ticket, completions) in sampler.engine.advance()? {
                if let Some((slot, prompt)) = self.open.remove(&ticket) {
                    self.hear(scope, slot, Ok(RemoteAnswers { prompt, completions }), rollout);
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
        let mut first = match sampler.engine.is_idle() {
            true => self.done.recv().ok(),
            false => None,
        };
        let mut due = Vec::new();
        while let Some(arrival) = first.take().or_else(|| self.done.try_recv().ok()) {
            match arrival {
                Done::Heard(slot, heard) => self.hear(scope, slot, heard, rollout),
                Done::Played(index, mut attempt) => {
                    self.playing -= 1;
                    let own = sampler.due(index, &mut attempt)?;
                    if own.is_empty() {
                        self.ended.insert(index, attempt);
                        continue;
                    }
                    let answers = own.iter().map(|_| None).collect();
                    self.asked.insert(index, Asked { attempt, answers });
                    due.extend(own.into_iter().enumerate());
                }
            }
        }
        self.ask(sampler, due)
    }

    fn ask(
        &mut self,
        sampler: &mut Sampler,
        due: Vec<(usize, (Due, Ask))>,
    ) -> Result<(), RolloutError> {
        let (mut questions, mut slots) = (Vec::new(), Vec::new());
        for (place, (due, ask)) in due {
            let slot = Slot { due, place };
            match ask {
                Ask::Engine(question) => {
                    slots.push((slot, question.1.prompt.clone()));
                    questions.push(question);
                }
                Ask::Remote(remote, request) => {
                    let (sender, sampling) = (self.sender.clone(), sampler.sampling.clone());
                    // It mostly waits, for a server say, so it takes no core.
                    std::thread::spawn(move || {
                        if let Some(heard) = remote.complete(&[request], &sampling).pop() {
                            // Nobody listens any more only if the rollout has failed.
                            let _ = sender.send(Done::Heard(slot, heard));
                        }
                    });
                }
            }
        }
        let tickets = sampler.engine.submit(&questions)?;
        self.open.extend(tickets.into_iter().zip(slots));
        Ok(())
    }

    /// Take an answer; with the last one due, the attempt is played.
    fn hear<'scope>(
        &mut self,
        scope: &Scope<'scope>,
        Slot { due, place }: Slot,
        heard: Result<RemoteAnswers, RemoteFailure>,
        rollout: &mut Rollout,
    ) where
        's: 'scope,
    {
        let index = due.attempt;
        let Some(asked) = self.asked.get_mut(&index) else { return };
        let answered = due.answered(heard);
        rollout.count_tokens(&answered);
        asked.answers[place] = Some(answered);
        if asked.answers.iter().all(Option::is_some)
            && let Some(Asked { attempt, answers }) = self.asked.remove(&index)
        {
            self.play(scope, index, attempt, Some(answers.into_iter().flatten().collect()));
        }
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
            match answers {
                Some(answers) => attempt.play(answers, setting),
                None => attempt.begin(),
            }
            // Nobody listens any more only if the rollout has failed.
            let _ = sender.send(Done::Played(index, attempt));
        });
    }
}
