//! What a run notices about itself: roles that learn nothing, policies that
//! stand still, and policies that run away.
//!
//! Such a run would go on to its last step and end well, having trained nothing
//! or destroyed what it was given.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use troupe_core::error::{Coded, ExitCode};
use troupe_trainer::UpdateMetrics;

/// Steps in a row without anything learned before a warning.
pub const IDLE_STEPS: usize = 10;

/// Steps in a row that are given up for moving a policy too far after which a run ends.
pub const TOO_FAR: usize = 5;

/// A share of solved episodes at which a role that has learned may well be done.
const MOSTLY_SOLVED: f64 = 0.5;

/// A negligible share of solved episodes.
const NEXT_TO_NOTHING: f64 = 0.01;

/// What happened to a role in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lesson {
    /// It was not asked, or all its episodes were void.
    Silent,
    /// None of its answers was worth more or less than those it was compared with.
    Flat,
    /// Some of them were.
    Taught,
}

/// How long nothing was learned; part of a run's progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// By role, the steps in a row in which it learned nothing.
    idle: BTreeMap<String, usize>,
    /// Roles that have learned something at some time.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    learned: BTreeSet<String>,
    /// Roles already reported.
    told: BTreeSet<String>,
    /// The steps in a row in which no role learned and next to nothing was solved.
    hopeless: usize,
    /// By policy, the steps in a row that moved it too far and were given up.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    given_up: BTreeMap<String, usize>,
    /// The roles that learned in the last step.
    #[serde(skip)]
    taught: BTreeSet<String>,
}

/// Why a run does not go on. Its checkpoints stay.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum Alarm {
    /// Answers were worth different amounts, and the policy is what it was.
    #[error(
        "step {step} changed no weight of the policy `{policy}`, though {compared} of its answers \
         were better or worse than others ({made} optimizer steps were made, {skipped} left out \
         because the gradient was not finite); {advice}"
    )]
    StandsStill {
        /// The step.
        step: usize,
        /// The policy.
        policy: String,
        /// Answers with an advantage.
        compared: usize,
        /// Optimizer steps made.
        made: usize,
        /// Optimizer steps skipped.
        skipped: usize,
        /// What to do.
        advice: &'static str,
    },
    /// The policy would no longer be what it was.
    #[error(
        "{TOO_FAR} steps in a row, up to step {step}, moved the policy `{policy}` further than \
         train.max_movement = {limit} allows, the last one by {movement:.2} nats per token, however \
         small their learning rates were made, so they were taken back and nothing is learned any \
         more; go on with a train.learning_rate of {rate:e} or less, or raise train.max_movement"
    )]
    RunsAway {
        /// The last of the steps.
        step: usize,
        /// The policy.
        policy: String,
        /// How far it moved.
        movement: f64,
        /// How far it may.
        limit: f64,
        /// The learning rate of the next attempt.
        rate: f64,
    },
    /// There is nothing to learn from.
    #[error(
        "in the last {steps} steps no role learned anything and next to no task was solved: all \
         answers to a state were worth the same; use easier tasks, rewards for coming nearer, or a \
         policy that solves some (a warm start), and see that its answers can be read at all: \
         `host play` shows them"
    )]
    Hopeless {
        /// Steps in a row.
        steps: usize,
    },
}

impl Coded for Alarm {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Run)
    }
}

impl Guard {
    /// Take in a step: what each role that trains went through, and the share
    /// of episodes that were solved. Returns the warnings.
    pub fn take_in(&mut self, lessons: &BTreeMap<String, Lesson>, solved: f64) -> Vec<String> {
        let taught = lessons.iter().filter(|(_, lesson)| **lesson == Lesson::Taught);
        self.taught = taught.map(|(role, _)| role.clone()).collect();
        let hopeless = self.taught.is_empty() && solved <= NEXT_TO_NOTHING && !lessons.is_empty();
        self.hopeless = if hopeless { self.hopeless + 1 } else { 0 };
        self.learned.extend(self.taught.iter().cloned());
        lessons.iter().filter_map(|(role, lesson)| self.warn(role, *lesson, solved)).collect()
    }

    /// Said once for each role. One that has learned, in a team that solves most of its tasks, may
    /// have nothing more to learn.
    fn warn(&mut self, role: &str, lesson: Lesson, solved: f64) -> Option<String> {
        let idle = self.idle.entry(role.to_owned()).or_default();
        *idle = if lesson == Lesson::Taught { 0 } else { *idle + 1 };
        let is_done = self.learned.contains(role) && solved >= MOSTLY_SOLVED;
        if *idle < IDLE_STEPS || is_done || !self.told.insert(role.to_owned()) {
            return None;
        }
        let why = match lesson {
            Lesson::Silent => "it was not asked",
            Lesson::Flat | Lesson::Taught => {
                "all answers to a state were worth the same, and what one is worth is settled when \
                 the next answer is due; where only the end of an episode is paid, compare whole \
                 episodes (rollout.scheme = \"trajectory\", advantage.estimator = \"grpo\"); \
                 docs/metrics.md says what else to look at"
            }
        };
        Some(format!("the role `{role}` has learned nothing for {IDLE_STEPS} steps: {why}"))
    }

    /// Whether the run should go on after the updates of `step`. `players` are the roles that
    /// each policy plays.
    ///
    /// # Errors
    /// If it should not, with what is wrong.
    pub fn check(
        &mut self,
        step: usize,
        updates: &BTreeMap<String, UpdateMetrics>,
        players: &BTreeMap<String, Vec<String>>,
        limit: f64,
    ) -> Result<(), Alarm> {
        for (policy, update) in updates {
            let roles = players.get(policy).into_iter().flatten();
            let taught = roles.into_iter().any(|role| self.taught.contains(role));
            self.check_movement(step, policy, update, limit)?;
            if taught && !update.is_given_up() {
                check_effect(step, policy, update)?;
            }
        }
        match self.hopeless {
            steps if steps >= IDLE_STEPS => Err(Alarm::Hopeless { steps }),
            _ => Ok(()),
        }
    }

    /// Whether the policy can still be moved by steps that leave it what it is.
    fn check_movement(
        &mut self,
        step: usize,
        policy: &str,
        update: &UpdateMetrics,
        limit: f64,
    ) -> Result<(), Alarm> {
        if !update.is_given_up() {
            self.given_up.remove(policy);
            return Ok(());
        }
        let steps = self.given_up.entry(policy.to_owned()).or_default();
        *steps += 1;
        if *steps < TOO_FAR {
            return Ok(());
        }
        let (movement, rate) = (update.overshoot.unwrap_or(f64::NAN), update.learning_rate);
        Err(Alarm::RunsAway { step, policy: policy.to_owned(), movement, limit, rate })
    }
}

/// Whether something came of answers that were better or worse than others. What is refused alike
/// is only pushed away from, and nothing may come of that.
fn check_effect(step: usize, policy: &str, update: &UpdateMetrics) -> Result<(), Alarm> {
    if update.compared == 0 || update.moved {
        return Ok(());
    }
    let advice = match update.optimizer_steps {
        0 => "go on from an earlier checkpoint with a smaller train.learning_rate",
        _ => "raise train.learning_rate or train.max_gradient_norm",
    };
    Err(Alarm::StandsStill {
        step,
        policy: policy.to_owned(),
        compared: update.compared,
        made: update.optimizer_steps,
        skipped: update.skipped_steps,
        advice,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lessons(singer: Lesson, speaker: Lesson) -> BTreeMap<String, Lesson> {
        BTreeMap::from([("singer".to_owned(), singer), ("speaker".to_owned(), speaker)])
    }

    /// A policy, and the role that it plays.
    fn players(policy: &str, role: &str) -> BTreeMap<String, Vec<String>> {
        BTreeMap::from([(policy.to_owned(), vec![role.to_owned()])])
    }

    #[test]
    fn a_role_that_learns_nothing_is_named_once() {
        let mut guard = Guard::default();
        let mut told = Vec::new();
        for _ in 0..3 * IDLE_STEPS {
            told.extend(guard.take_in(&lessons(Lesson::Flat, Lesson::Taught), 0.0));
        }
        assert_eq!(told.len(), 1);
        assert!(told[0].contains("`singer` has learned nothing for 10 steps"), "{told:?}");
        assert_eq!(
            guard.check(1, &BTreeMap::new(), &BTreeMap::new(), 1.0),
            Ok(()),
            "the speaker learns"
        );
    }

    #[test]
    fn a_lesson_between_starts_the_count_anew() {
        let mut guard = Guard::default();
        let mut told = Vec::new();
        for step in 0..2 * IDLE_STEPS - 1 {
            let lesson = if step == IDLE_STEPS - 1 { Lesson::Taught } else { Lesson::Silent };
            told.extend(guard.take_in(&lessons(lesson, Lesson::Taught), 0.0));
        }
        assert!(told.is_empty(), "{told:?}");
        let told = guard.take_in(&lessons(Lesson::Silent, Lesson::Taught), 0.0);
        assert!(told[0].ends_with("it was not asked"), "{told:?}");
    }

    #[test]
    fn a_role_that_has_learned_its_task_is_not_blamed_for_learning_no_more() {
        for (learned, solved, told) in [(true, 0.6, 0), (true, 0.4, 1), (false, 0.95, 1)] {
            let mut guard = Guard::default();
            let first = if learned { Lesson::Taught } else { Lesson::Flat };
            guard.take_in(&lessons(first, Lesson::Taught), solved);
            let said = (0..2 * IDLE_STEPS)
                .flat_map(|_| guard.take_in(&lessons(Lesson::Flat, Lesson::Taught), solved));
            assert_eq!(said.count(), told, "{learned} {solved}");
        }
    }

    #[test]
    fn nobody_learning_and_nothing_solved_ends_the_run_and_a_solved_task_does_not() {
        for (solved, ends) in [(0.0, true), (1.0, false)] {
            let mut guard = Guard::default();
            for _ in 0..IDLE_STEPS {
                assert_eq!(guard.check(1, &BTreeMap::new(), &BTreeMap::new(), 1.0), Ok(()));
                guard.take_in(&lessons(Lesson::Flat, Lesson::Flat), solved);
            }
            let found = guard.check(1, &BTreeMap::new(), &BTreeMap::new(), 1.0);
            assert_eq!(
                found,
                if ends { Err(Alarm::Hopeless { steps: IDLE_STEPS }) } else { Ok(()) }
            );
        }
    }

    #[test]
    fn policies_that_stand_still_or_run_away_are_named() {
        let well = UpdateMetrics {
            compared: 3,
            moved: true,
            movement: 0.2,
            optimizer_steps: 1,
            ..UpdateMetrics::default()
        };
        let message = |update| {
            let updates = BTreeMap::from([("shared".to_owned(), update)]);
            let mut guard = Guard::default();
            guard.take_in(&lessons(Lesson::Taught, Lesson::Flat), 0.0);
            let found = guard.check(7, &updates, &players("shared", "singer"), 0.5);
            found.err().map(|alarm| alarm.to_string()).unwrap_or_default()
        };
        assert_eq!(message(well.clone()), "");
        let still = UpdateMetrics { moved: false, ..well.clone() };
        assert!(message(still.clone()).contains("`shared`, though 3 of its answers"));
        let skipped = UpdateMetrics { optimizer_steps: 0, skipped_steps: 2, ..still.clone() };
        assert!(message(skipped).contains("2 left out because the gradient was not finite"));
        assert_eq!(message(UpdateMetrics { compared: 0, ..still }), "", "nothing to learn from");
        let given_up = UpdateMetrics { taken_back: 4, overshoot: Some(2.0), ..still };
        assert_eq!(message(given_up), "", "it was taken back, and stands still for that");
    }

    #[test]
    fn five_steps_in_a_row_that_had_to_be_given_up_end_a_run_and_four_do_not() {
        let update = |taken_back| UpdateMetrics {
            taken_back,
            overshoot: Some(f64::NAN),
            learning_rate: 1e-4,
            ..UpdateMetrics::default()
        };
        let mut guard = Guard::default();
        let mut check = |step, taken_back| {
            let updates = BTreeMap::from([("shared".to_owned(), update(taken_back))]);
            guard.check(step, &updates, &players("shared", "singer"), 0.5)
        };
        for step in 1..5 {
            assert_eq!(check(step, 4), Ok(()), "{step}");
        }
        assert_eq!(check(5, 3), Ok(()), "one that was made at an eighth of its rate");
        for step in 6..10 {
            assert_eq!(check(step, 4), Ok(()), "{step}");
        }
        let message = check(10, 4).unwrap_err().to_string();
        assert!(message.starts_with("5 steps in a row, up to step 10, moved the policy `shared`"));
        assert!(message.contains("train.learning_rate of 1e-4 or less"), "{message}");
    }

    #[test]
    fn a_policy_may_stand_still_while_only_others_are_taught() {
        let still = UpdateMetrics { compared: 3, optimizer_steps: 1, ..UpdateMetrics::default() };
        let updates = BTreeMap::from([("own".to_owned(), still)]);
        let mut guard = Guard::default();
        guard.take_in(&lessons(Lesson::Taught, Lesson::Flat), 0.0);
        let mut check = |role| guard.check(1, &updates, &players("own", role), 0.5);
        assert_eq!(check("speaker"), Ok(()));
        assert!(matches!(check("singer"), Err(Alarm::StandsStill { .. })));
    }
}
