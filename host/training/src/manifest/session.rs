//! What held from which step of a run on, of that which may change while it is stopped and makes
//! steps come out otherwise.

use serde::{Deserialize, Serialize};

use super::{Manifest, processor};
use troupe_core::config::{Budget, Config, Store};

/// What held from a step on, until the next of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The last step before it; 0 of the first.
    pub after: usize,
    /// Processes that played and learned together.
    pub processes: usize,
    /// What the last digits of a sum depend on: the processor's instructions.
    pub processor: String,
    /// `train.steps`.
    pub steps: usize,
    /// `train.budget`.
    pub budget: Budget,
    /// `rollout.store`.
    pub store: Store,
    /// `rollout.store_mib`.
    pub store_mib: usize,
    /// SHA-256 of what the run is made of since, if it was accepted to be something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub became: Option<String>,
}

impl Session {
    /// What holds where so many processes go on here with a configuration.
    pub fn of(config: &Config, after: usize, processes: usize) -> Self {
        Session {
            after,
            processes,
            processor: processor(),
            steps: config.train.steps,
            budget: config.train.budget.clone(),
            store: config.rollout.store,
            store_mib: config.rollout.store_mib,
            became: None,
        }
    }

    /// Whether a run for which it held came so far. One with a budget goes on until that is spent.
    fn reaches(&self, step: usize) -> bool {
        step <= self.steps || self.budget != Budget::default()
    }

    /// Whether the same holds as before.
    fn is_like(&self, before: &Session) -> bool {
        let (after, became) = (before.after, before.became.clone());
        self.became.is_none() && Session { after, became, ..self.clone() } == *before
    }
}

impl Manifest {
    /// What held of the step after this one, if the run recorded it.
    pub fn session_after(&self, step: usize) -> Option<&Session> {
        self.sessions.iter().rev().find(|session| session.after <= step)
    }

    /// Whether something else held of the step after this one than of this one.
    pub fn turns_at(&self, step: usize) -> bool {
        self.sessions.iter().any(|session| session.after == step)
    }

    /// The last step before the run became what it is, if it was accepted to be something else.
    pub fn changed_after(&self) -> Option<usize> {
        let changed = self.sessions.iter().rev().find(|session| session.became.is_some());
        changed.map(|session| session.after)
    }

    /// What held since the run became what it is, which it was from the first step on unless it was
    /// accepted to be something else.
    pub fn sessions_since_change(&self) -> impl Iterator<Item = &Session> {
        let since = self.changed_after().unwrap_or(0);
        self.sessions.iter().filter(move |session| session.after >= since)
    }

    /// What the run was made of from the step after this one on, if it was accepted to be
    /// something else from there on.
    pub(crate) fn became_after(&self, step: usize) -> Option<String> {
        let session = self.sessions.iter().find(|session| session.after == step)?;
        let became = session.became.clone()?;
        // What it is made of now is here to be looked at.
        Some(if self.changed_after() == Some(step) { self.made_of() } else { became })
    }

    /// The sessions, now that `now` goes on with the run, as something else if that was accepted.
    /// Those that left nothing are gone. A run that recorded none had one, as its configuration
    /// says, unless it has come further than that goes: how far it was to go was changed, and
    /// nobody knows after which step.
    pub(crate) fn sessions_with(&self, now: &Manifest, is_changed: bool) -> Vec<Session> {
        let mut sessions = self.sessions.clone();
        if sessions.is_empty() {
            let reached = now.sessions.first().map_or(0, |session| session.after);
            sessions.extend(self.unrecorded().filter(|session| session.reaches(reached)));
        }
        for session in &now.sessions {
            let (left, gone): (Vec<Session>, Vec<Session>) =
                sessions.into_iter().partition(|earlier| earlier.after < session.after);
            sessions = left;
            let is_other = is_changed || gone.iter().any(|gone| gone.became.is_some());
            let made_of = if is_changed { now.made_of() } else { self.made_of() };
            let session = Session { became: is_other.then_some(made_of), ..session.clone() };
            if !sessions.last().is_some_and(|before| session.is_like(before)) {
                sessions.push(session);
            }
        }
        sessions
    }

    /// The session of a run that recorded none, as far as its configuration says it.
    fn unrecorded(&self) -> Option<Session> {
        let (train, rollout) = (&self.config["train"], &self.config["rollout"]);
        Some(Session {
            after: 0,
            processes: 1,
            processor: self.processor.clone(),
            steps: train["steps"].as_u64()? as usize,
            budget: serde_json::from_value(train["budget"].clone()).ok()?,
            store: serde_json::from_value(rollout["store"].clone()).ok()?,
            store_mib: rollout["store_mib"].as_u64()? as usize,
            became: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::tests::manifest;

    /// The run as so many processes go on with it after a step.
    fn now(after: usize, processes: usize, overrides: &[&str]) -> Manifest {
        let mut now = manifest(overrides);
        (now.sessions[0].after, now.sessions[0].processes) = (after, processes);
        now
    }

    /// The run with a further session.
    fn resumed(run: &Manifest, now: &Manifest, is_changed: bool) -> Manifest {
        let sessions = run.sessions_with(now, is_changed);
        let kept = if is_changed { now } else { run };
        Manifest { sessions, ..kept.clone() }
    }

    /// The steps that a run was to have, by the last step before.
    fn steps(run: &Manifest) -> Vec<(usize, usize)> {
        run.sessions.iter().map(|session| (session.after, session.steps)).collect()
    }

    #[test]
    fn of_every_step_it_is_known_what_held_and_of_what_left_nothing_it_is_forgotten() {
        let first = manifest(&["train.steps=60"]);
        let same = resumed(&first, &now(40, 1, &["train.steps=60"]), false);
        assert_eq!(steps(&same), [(0, 60)]);
        let longer = resumed(&same, &now(60, 1, &["train.steps=100"]), false);
        assert_eq!(steps(&longer), [(0, 60), (60, 100)]);
        let held = |step| longer.session_after(step).unwrap().steps;
        assert_eq!([held(0), held(59), held(60), held(99)], [60, 60, 100, 100]);
        assert!(longer.turns_at(60) && !longer.turns_at(59));
        let again = resumed(&longer, &now(60, 1, &["train.steps=80"]), false);
        assert_eq!(steps(&again), [(0, 60), (60, 80)]);
        let back = resumed(&again, &now(50, 1, &["train.steps=60"]), false);
        assert_eq!(steps(&back), [(0, 60)]);
        let several = resumed(&back, &now(55, 2, &["train.steps=60"]), false);
        assert_eq!(several.session_after(55).unwrap().processes, 2);
    }

    #[test]
    fn a_run_that_recorded_no_session_had_the_one_that_it_was_begun_with() {
        let begun = Manifest { sessions: Vec::new(), ..manifest(&["train.steps=60"]) };
        assert_eq!((begun.session_after(3), begun.turns_at(0)), (None, false));
        let longer = resumed(&begun, &now(60, 1, &["train.steps=100"]), false);
        assert_eq!(steps(&longer), [(0, 60), (60, 100)]);
        assert_eq!(longer.sessions[0], manifest(&["train.steps=60"]).sessions[0]);
    }

    #[test]
    fn of_a_run_that_was_extended_before_sessions_were_recorded_it_is_not_known_what_held() {
        let extended = Manifest { sessions: Vec::new(), ..manifest(&["train.steps=60"]) };
        let longer = resumed(&extended, &now(100, 1, &["train.steps=150"]), false);
        assert_eq!(steps(&longer), [(100, 150)]);
        assert_eq!(longer.session_after(70), None);
        let budget = &["train.steps=60", "train.budget.samples=9000"];
        let begun = Manifest { sessions: Vec::new(), ..manifest(budget) };
        assert_eq!(steps(&resumed(&begun, &now(100, 1, budget), false)), [(0, 60)]);
    }

    #[test]
    fn a_run_that_became_something_else_says_after_which_step_and_what() {
        let first = manifest(&[]);
        assert_eq!((first.changed_after(), first.became_after(0)), (None, None));
        let second = resumed(&first, &now(5, 1, &["train.clip_high=0.3"]), true);
        let third = resumed(&second, &now(9, 1, &["train.clip_high=0.4"]), true);
        assert_eq!((second.changed_after(), third.changed_after()), (Some(5), Some(9)));
        let since = |run: &Manifest| -> Vec<usize> {
            run.sessions_since_change().map(|session| session.after).collect()
        };
        assert_eq!([since(&first), since(&second), since(&third)], [[0], [5], [9]]);
        assert_eq!(second.became_after(5), Some(second.made_of()));
        assert_eq!(third.became_after(5), Some(second.made_of()));
        assert_eq!(third.became_after(9), Some(third.made_of()));
        let forged = Manifest { seed: 7, ..third.clone() };
        assert_ne!(forged.became_after(9), third.became_after(9));
        // Going back to before the change does not undo it.
        let back = resumed(&third, &now(3, 1, &["train.clip_high=0.4"]), false);
        assert_eq!((back.changed_after(), back.became_after(3)), (Some(3), Some(third.made_of())));
    }
}
