//! What an environment paid when it was tried.

use std::collections::BTreeMap;

use super::Close;
use super::example::task;
use troupe_core::trajectory::Ending;
use troupe_guests::plugin::{Action, Move, Outcome, PluginFailure, Recipient, Status};
use troupe_guests::scenario::Alone;

/// What nobody can read.
const NONSENSE: &str = "@@ what? @@";

/// What was paid.
#[derive(Clone, Debug, Default)]
pub struct Earnings {
    /// By the award's name and whom it is for.
    pub awards: BTreeMap<(String, &'static str), Earning>,
    /// Episodes that the expert played.
    pub episodes: usize,
    /// Those that it solved.
    pub solved: usize,
    /// The least and the most that a solved episode paid, all awards together.
    pub of_solved: Option<(f64, f64)>,
    /// What an action that says nothing is told, and what it costs, if that was tried.
    pub unreadable: Option<(String, f64)>,
    /// What the episode has paid so far.
    sum: f64,
}

/// An award.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Earning {
    /// How often it was paid.
    pub times: usize,
    /// The least of it.
    pub least: f64,
    /// The most of it.
    pub most: f64,
    /// Whether it was paid for nothing but the solution.
    pub for_solution: bool,
}

impl Earnings {
    /// Takes in what an act paid.
    pub(super) fn take(&mut self, outcome: &Outcome) {
        let solved = outcome.status == Status::Solved;
        for award in outcome.awards.iter().filter(|award| award.value != 0.0) {
            let to = match &award.to {
                Recipient::Team => "everybody",
                Recipient::Mover(_) => "who acts",
                Recipient::Seat(_) => "one seat",
            };
            let earning = self.awards.entry((award.name.clone(), to)).or_insert(Earning {
                times: 0,
                least: f64::INFINITY,
                most: f64::NEG_INFINITY,
                for_solution: true,
            });
            earning.times += 1;
            earning.least = earning.least.min(award.value);
            earning.most = earning.most.max(award.value);
            earning.for_solution &= solved;
            self.sum += award.value;
        }
    }

    /// An episode is over.
    pub(super) fn close(&mut self, close: &Close) {
        self.episodes += 1;
        let sum = std::mem::take(&mut self.sum);
        if *close == Close::Ended(Ending::Solved) {
            self.solved += 1;
            let (least, most) = self.of_solved.unwrap_or((sum, sum));
            self.of_solved = Some((least.min(sum), most.max(sum)));
        }
    }

    /// Tries what becomes of an action that says nothing.
    pub(super) fn try_nonsense(&mut self, alone: &Alone) -> Result<(), PluginFailure> {
        let Ok(task) = task(alone, 0) else { return Ok(()) };
        let mut episode = alone.environment.start(&task)?;
        let kind = alone.environment.description().actions[0].name.clone();
        let action = Action { kind, text: NONSENSE.to_owned() };
        let outcome = episode.act(vec![Move { seat: task.seats[0].clone(), action }])?;
        let told = outcome.effects.first().map_or("", |effect| &effect.feedback);
        let paid = outcome.awards.iter().map(|award| award.value).sum();
        self.unreadable = Some((told.to_owned(), paid));
        Ok(())
    }
}
