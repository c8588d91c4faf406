//! Episodes played while others' answers are generated.
//!
//! One thread generates; every other core plays what was answered. An attempt
//! moves to and fro: it is lent to a player with its answers, and comes back
//! with its next requests, which join the running batch at once. So neither
//! a GPU waits for graders nor a slow episode holds up the others.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use rayon::Scope;

use super::attempt::{Answers, Attempt, Setting};
use super::collect::{Rollout, RolloutError};
use super::players::{Due, Players};

/// Run attempts to their ends; they come back in the same order.
pub(super) fn overlapped(
    setting: &Setting,
    players: &mut Players,
    attempts: Vec<Attempt>,
    rollout: &mut Rollout,
) -> Result<Vec<Attempt>, RolloutError> {
    let count = attempts.len();
    let ended = rayon::in_place_scope(|scope| {
        let (played, arrivals) = channel();
        let mut desk = Desk {
            setting,
            played,
            arrivals,
            playing: 0,
            asked: BTreeMap::new(),
            open: BTreeMap::new(),
            ended: BTreeMap::new(),
        };
        for (index, attempt) in attempts.into_iter().enumerate() {
            desk.play(scope, index, attempt, None);
        }
        desk.run(scope, players, rollout)?;
        Ok::<_, RolloutError>(desk.ended)
    })?;
    debug_assert_eq!(ended.len(), count);
    Ok(ended.into_values().collect())
}

/// Where attempts are between generation and play.
struct Desk<'s> {
    setting: &'s Setting<'s>,
    played: Sender<(usize, Attempt)>,
    arrivals: Receiver<(usize, Attempt)>,
    /// Attempts that are being played.
    playing: usize,
    /// Attempts whose answers are being generated, with those that are there
    /// already, and how many are still to come.
    asked: BTreeMap<usize, Asked>,
    /// What was asked, by ticket: the attempt, the place among its requests.
    open: BTreeMap<usize, (Due, usize)>,
    ended: BTreeMap<usize, Attempt>,
}

struct Asked {
    attempt: Attempt,
    answers: Vec<Option<Answers>>,
}

impl<'s> Desk<'s> {
    fn run<'scope>(
        &mut self,
        scope: &Scope<'scope>,
        players: &mut Players,
        rollout: &mut Rollout,
    ) -> Result<(), RolloutError>
    where
        's: 'scope,
    {
        while self.playing > 0 || !self.asked.is_empty() {
            let started = Instant::now();
            self.take_back(players)?;
            rollout.plugins += started.elapsed();
            let started = Instant::now();
            for (ticket, completions) in players.engine.advance()? {
                rollout.count_tokens(&completions);
                let Some((due, place)) = self.open.remove(&ticket) else { continue };
                let index = due.attempt;
                let Some(asked) = self.asked.get_mut(&index) else { continue };
                asked.answers[place] = Some(due.answered(completions));
                if asked.answers.iter().all(Option::is_some)
                    && let Some(Asked { attempt, answers }) = self.asked.remove(&index)
                {
                    let answers = answers.into_iter().flatten().collect();
                    self.play(scope, index, attempt, Some(answers));
                }
            }
            rollout.generation += started.elapsed();
        }
        Ok(())
    }

    /// Take back what was played and ask what is due; waits if nothing else
    /// is to be done.
    fn take_back(&mut self, players: &mut Players) -> Result<(), RolloutError> {
        let mut first = match players.engine.is_idle() {
            true => self.arrivals.recv().ok(),
            false => None,
        };
        let mut questions = Vec::new();
        let mut asked = Vec::new();
        while let Some((index, mut attempt)) =
            first.take().or_else(|| self.arrivals.try_recv().ok())
        {
            self.playing -= 1;
            let due = players.due_in(index, &mut attempt)?;
            if due.is_empty() {
                self.ended.insert(index, attempt);
                continue;
            }
            let answers = due.iter().map(|_| None).collect();
            self.asked.insert(index, Asked { attempt, answers });
            for (place, due) in due.into_iter().enumerate() {
                questions.push(due.question().clone());
                asked.push((due, place));
            }
        }
        let tickets = players.engine.submit(&questions)?;
        self.open.extend(tickets.into_iter().zip(asked));
        Ok(())
    }

    /// Lend an attempt to a player: with answers, or to begin.
    fn play<'scope>(
        &mut self,
        scope: &Scope<'scope>,
        index: usize,
        mut attempt: Attempt,
        answers: Option<Vec<Answers>>,
    ) where
        's: 'scope,
    {
        self.playing += 1;
        let (setting, played) = (self.setting, self.played.clone());
        scope.spawn(move |_| {
            match answers {
                Some(answers) => attempt.play(answers, setting),
                None => attempt.begin(setting),
            }
            // Nobody listens any more only if the rollout has failed.
            let _ = played.send((index, attempt));
        });
    }
}
