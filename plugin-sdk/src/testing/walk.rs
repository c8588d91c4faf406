//! Walks: episodes played by the expert or by chance, and written down.

use super::environment::{EnvironmentUnderTest, EpisodeUnderTest};
use super::report::{Objection, Reproducer, Seen};
use crate::environment::{Move, Outcome, Recipient, Task};
use crate::types::{Action, Problem, Seat, Status, text_of};

/// The role that acts where one role does everything.
pub(super) const TESTER: &str = "tester";

/// Somebody of the team who does nothing, and shares in its rewards.
pub(super) const BYSTANDER: &str = "a bystander";

/// The seat of the tester.
pub(super) fn tester() -> Seat {
    Seat::new(TESTER)
}

/// Everything that can be seen of a moment in an episode.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moment {
    pub observation: String,
    pub expert: Option<Action>,
    pub saved: Option<Vec<u8>>,
}

impl Moment {
    pub fn of(episode: &mut dyn EpisodeUnderTest) -> Result<Self, Problem> {
        Ok(Moment {
            observation: text_of(&episode.observe(&tester())?),
            expert: episode.demonstrate(&tester())?,
            saved: episode.save()?,
        })
    }
}

/// What somebody does.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deed {
    pub role: String,
    pub action: Action,
}

impl Deed {
    /// The only role does it.
    pub fn of_tester(action: Action) -> Self {
        Deed { role: TESTER.to_owned(), action }
    }

    /// Every kind of action has a role of its own, as in a team.
    pub fn of_kind(kind: &str, text: &str) -> Self {
        Deed { role: kind.to_owned(), action: Action::new(kind, text) }
    }

    /// Do it.
    pub fn carry_out(&self, episode: &mut dyn EpisodeUnderTest) -> Result<Outcome, Problem> {
        episode.act(&[Move { seat: Seat::new(&self.role), action: self.action.clone() }])
    }
}

/// One action, what it led to, and the moment after it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub deed: Deed,
    pub outcome: Outcome,
    pub after: Moment,
}

impl Step {
    /// What the step is worth to a role.
    pub fn worth(&self, role: &str) -> f64 {
        let for_role = |to: &Recipient| match to {
            Recipient::Team => true,
            Recipient::Mover(_) => self.deed.role == role,
            Recipient::Seat(seat) => seat.role == role,
        };
        let awards = self.outcome.awards.iter().filter(|award| for_role(&award.to));
        awards.map(|award| award.value).sum()
    }
}

/// A task and all that was done in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Walk {
    pub task: Task,
    pub start: Moment,
    pub steps: Vec<Step>,
}

impl Walk {
    /// Take at most `limit` steps, each chosen from the walk so far; stop at
    /// the end of the episode or when nothing is chosen.
    pub fn take(
        environment: &dyn EnvironmentUnderTest,
        task: &Task,
        limit: usize,
        mut choose: impl FnMut(&Walk) -> Option<Deed>,
    ) -> Result<Self, Objection> {
        let alone = || Reproducer::of(task);
        let mut episode = environment.start(task).map_err(Objection::from).seen(alone)?;
        let start = Moment::of(&mut *episode).map_err(Objection::from).seen(alone)?;
        let mut walk = Walk { task: task.clone(), start, steps: Vec::new() };
        while walk.steps.len() < limit && walk.status() == Status::Ongoing {
            let Some(deed) = choose(&walk) else { break };
            let step = walk.step(&mut *episode, deed.clone()).map_err(Objection::from);
            let step = step.seen(|| walk.reproducer_with(Some(&deed)))?;
            walk.steps.push(step);
        }
        Ok(walk)
    }

    /// Let the expert play, as the only role.
    pub fn of_expert(
        environment: &dyn EnvironmentUnderTest,
        task: &Task,
        limit: usize,
    ) -> Result<Self, Objection> {
        Walk::take(environment, task, limit, |walk| walk.now().expert.clone().map(Deed::of_tester))
    }

    /// Do the same things in another task, or in the same once more.
    pub fn retrace(
        &self,
        environment: &dyn EnvironmentUnderTest,
        task: &Task,
    ) -> Result<Self, Objection> {
        let mut deeds = self.steps.iter().map(|step| step.deed.clone());
        Walk::take(environment, task, self.steps.len(), |_| deeds.next())
    }

    fn step(&self, episode: &mut dyn EpisodeUnderTest, deed: Deed) -> Result<Step, Problem> {
        let outcome = deed.carry_out(episode)?;
        let after = Moment::of(episode)?;
        Ok(Step { deed, outcome, after })
    }

    /// The latest moment.
    pub fn now(&self) -> &Moment {
        self.steps.last().map_or(&self.start, |step| &step.after)
    }

    /// Every moment, the start first.
    pub fn moments(&self) -> impl Iterator<Item = &Moment> {
        std::iter::once(&self.start).chain(self.steps.iter().map(|step| &step.after))
    }

    /// Where the episode stands.
    pub fn status(&self) -> Status {
        self.steps.last().map_or(Status::Ongoing, |step| step.outcome.status)
    }

    /// Who acted or was rewarded, and a role that was not: it shares in the team's rewards.
    pub fn roles(&self) -> Vec<&str> {
        let acted = self.steps.iter().map(|step| step.deed.role.as_str());
        let awards = self.steps.iter().flat_map(|step| &step.outcome.awards);
        let named = awards.filter_map(|award| match &award.to {
            Recipient::Seat(seat) => Some(seat.role.as_str()),
            Recipient::Team | Recipient::Mover(_) => None,
        });
        let mut roles: Vec<&str> = acted.chain(named).collect();
        roles.push(BYSTANDER);
        roles.sort_unstable();
        roles.dedup();
        roles
    }

    /// All that a role had earned at each moment, the start first.
    pub fn earnings(&self, role: &str) -> Vec<f64> {
        let earn = |sum: &mut f64, step: &Step| {
            *sum += step.worth(role);
            Some(*sum)
        };
        std::iter::once(0.0).chain(self.steps.iter().scan(0.0, earn)).collect()
    }

    /// All that a role earned.
    pub fn total(&self, role: &str) -> f64 {
        self.steps.iter().map(|step| step.worth(role)).sum()
    }

    /// How a reader can find the walk.
    pub fn place(&self) -> String {
        format!("{} task {}", self.task.split.name(), self.task.seed)
    }

    /// How to walk it again.
    pub fn reproducer(&self) -> Reproducer {
        self.reproducer_with(None)
    }

    /// How to walk its first steps again.
    pub fn reproducer_to(&self, steps: usize) -> Reproducer {
        let deeds = self.steps.iter().take(steps).map(|step| step.deed.clone());
        let actions = deeds.map(|deed| (deed.role, deed.action)).collect();
        Reproducer::of(&self.task).with(actions)
    }

    fn reproducer_with(&self, last: Option<&Deed>) -> Reproducer {
        let mut reproducer = self.reproducer_to(self.steps.len());
        reproducer.actions.extend(last.map(|deed| (deed.role.clone(), deed.action.clone())));
        reproducer
    }
}
