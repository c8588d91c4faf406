//! Walks: episodes played by the expert or by chance, and written down.

use std::collections::{BTreeMap, BTreeSet};

use super::environment::{EpisodeUnderTest, ROUNDING};
use super::report::{Objection, Reproducer, Seen};
use super::team::Team;
use crate::environment::{Award, Move, Outcome, Recipient, Task};
use crate::types::{Action, Problem, Seat, Status, text_of};

/// A member of the team that does nothing, and shares in its rewards.
pub(super) const BYSTANDER: &str = "a bystander";

/// Everything that can be seen of a moment in an episode.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moment {
    /// What each viewer of the team sees.
    pub seen: Vec<String>,
    /// What the expert would do, for each player of the team.
    pub advice: Vec<Option<Action>>,
    /// What a critic would see.
    pub revealed: Option<String>,
    pub saved: Option<Vec<u8>>,
}

impl Moment {
    pub fn of(team: &Team, episode: &mut dyn EpisodeUnderTest) -> Result<Self, Problem> {
        let seen = Moment::seen(team.viewers(), episode)?;
        let players = team.players().iter();
        let advice = players.map(|seat| episode.demonstrate(seat)).collect::<Result<_, _>>()?;
        Ok(Moment { seen, advice, revealed: episode.reveal()?, saved: episode.save()? })
    }

    /// What these seats see.
    pub fn seen(
        seats: &[Seat],
        episode: &mut dyn EpisodeUnderTest,
    ) -> Result<Vec<String>, Problem> {
        seats.iter().map(|seat| Ok(text_of(&episode.observe(seat)?))).collect()
    }

    /// What all see together.
    pub fn look(&self) -> String {
        self.seen.join("\n")
    }

    /// What a player sees.
    pub fn seen_by(&self, player: usize) -> &str {
        self.seen.get(player).or(self.seen.first()).map_or("", String::as_str)
    }

    /// Whatever the expert says.
    pub fn advices(&self) -> impl Iterator<Item = &Action> {
        self.advice.iter().flatten()
    }
}

/// What is done at the same time, by one seat or by several.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deed(pub Vec<Move>);

impl Deed {
    pub fn of(moves: impl IntoIterator<Item = (Seat, Action)>) -> Self {
        Deed(moves.into_iter().map(|(seat, action)| Move { seat, action }).collect())
    }

    /// All of them say this.
    pub fn saying(voices: &[(Seat, &str)], text: &str) -> Self {
        Deed::of(voices.iter().map(|(seat, kind)| (seat.clone(), Action::new(*kind, text))))
    }

    /// Do it.
    pub fn carry_out(&self, episode: &mut dyn EpisodeUnderTest) -> Result<Outcome, Problem> {
        episode.act(&self.0)
    }

    /// What is said in it.
    pub fn words(&self) -> String {
        self.0.iter().map(|one| one.action.text.as_str()).collect::<Vec<_>>().join("` and `")
    }

    /// What the seat does in it.
    pub fn by(&self, seat: &Seat) -> Option<&Action> {
        self.0.iter().find(|one| one.seat == *seat).map(|one| &one.action)
    }

    /// What its outcome is worth to a seat, contests aside.
    pub fn income(&self, outcome: &Outcome, seat: &Seat, contests: &Contests) -> f64 {
        outcome.for_team() + self.own_income(outcome, seat, contests)
    }

    /// What its outcome is worth to a seat beside what all get, contests aside.
    pub fn own_income(&self, outcome: &Outcome, seat: &Seat, contests: &Contests) -> f64 {
        let is_mover = |index: u32| self.0.get(index as usize).is_some_and(|one| one.seat == *seat);
        let for_seat = |award: &&Award| match &award.to {
            Recipient::Team => false,
            Recipient::Mover(index) => is_mover(*index) && !contests.0.contains(&award.name),
            Recipient::Seat(other) => other == seat && !contests.0.contains(&award.name),
        };
        let awards = outcome.awards.iter().filter(for_seat);
        awards.map(|award| award.value).sum()
    }
}

/// Names of awards to single seats that come to nothing in every outcome: what
/// one wins others lose, so that it is not an income.
#[derive(Debug, Default)]
pub(super) struct Contests(BTreeSet<String>);

impl Contests {
    /// Those that show in these walks.
    pub fn in_walks<'w>(walks: impl Iterator<Item = &'w Walk>) -> Self {
        let (mut names, mut others) = (BTreeSet::new(), BTreeSet::new());
        for step in walks.flat_map(|walk| &walk.steps) {
            let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
            for award in step.outcome.awards.iter().filter(|one| one.to != Recipient::Team) {
                *sums.entry(&award.name).or_default() += award.value;
            }
            for (name, sum) in sums {
                let set = if sum.abs() <= ROUNDING { &mut names } else { &mut others };
                set.insert(name.to_owned());
            }
        }
        Contests(&names - &others)
    }
}

/// What was done, what it led to, and the moment after it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub deed: Deed,
    pub outcome: Outcome,
    pub after: Moment,
}

impl Step {
    /// What the step is worth to a seat, contests aside.
    pub fn income(&self, seat: &Seat, contests: &Contests) -> f64 {
        self.deed.income(&self.outcome, seat, contests)
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
        team: &Team,
        task: &Task,
        limit: usize,
        mut choose: impl FnMut(&Walk) -> Option<Deed>,
    ) -> Result<Self, Objection> {
        let alone = || Reproducer::of(task);
        let mut episode = team.environment.start(task).map_err(Objection::from).seen(alone)?;
        let start = Moment::of(team, &mut *episode).map_err(Objection::from).seen(alone)?;
        let mut walk = Walk { task: task.clone(), start, steps: Vec::new() };
        while walk.steps.len() < limit && walk.status() == Status::Ongoing {
            let Some(deed) = choose(&walk) else { break };
            let step = step(team, &mut *episode, deed.clone()).map_err(Objection::from);
            let step = step.seen(|| walk.reproducer_with(Some(&deed)))?;
            walk.steps.push(step);
        }
        Ok(walk)
    }

    /// Let the expert play: all who have something to do at the same time or,
    /// if that does not solve the task, by turns.
    pub fn of_expert(team: &Team, task: &Task, limit: usize) -> Result<Self, Objection> {
        if team.is_joint && team.players().len() > 1 {
            let walk = Walk::take(team, task, limit, |walk| walk.advised(team, true))?;
            if walk.status() == Status::Solved {
                return Ok(walk);
            }
        }
        Walk::take(team, task, limit, |walk| walk.advised(team, false))
    }

    /// What the expert advises now: to all who have something to do, or to one of them in turn.
    pub fn advised(&self, team: &Team, at_once: bool) -> Option<Deed> {
        let advice = team.players().iter().cloned().zip(self.now().advice.iter().cloned());
        let advised = advice.filter_map(|(seat, action)| Some((seat, action?)));
        let advised: Vec<(Seat, Action)> = advised.collect();
        if at_once {
            return (!advised.is_empty()).then(|| Deed::of(advised));
        }
        let turn = self.steps.len() % advised.len().max(1);
        advised.into_iter().nth(turn).map(|one| Deed::of([one]))
    }

    /// The latest moment.
    pub fn now(&self) -> &Moment {
        self.steps.last().map_or(&self.start, |step| &step.after)
    }

    /// Every moment, the start first.
    pub fn moments(&self) -> impl Iterator<Item = &Moment> {
        std::iter::once(&self.start).chain(self.steps.iter().map(|step| &step.after))
    }

    /// An episode as it was after so many steps: from what was saved then or,
    /// if nothing was, by doing the same again.
    pub fn episode_at<'t>(
        &self,
        team: &Team<'t>,
        steps: usize,
    ) -> Result<Box<dyn EpisodeUnderTest + 't>, Problem> {
        let moment = self.moments().nth(steps).unwrap_or(self.now());
        if let Some(saved) = &moment.saved {
            return team.environment.resume(saved);
        }
        let mut episode = team.environment.start(&self.task)?;
        for step in self.steps.iter().take(steps) {
            step.deed.carry_out(&mut *episode)?;
        }
        Ok(episode)
    }

    /// Where the episode stands.
    pub fn status(&self) -> Status {
        self.steps.last().map_or(Status::Ongoing, |step| step.outcome.status)
    }

    /// The seats that acted or were paid, and one that was not: it shares in the team's rewards.
    pub fn seats(&self) -> Vec<Seat> {
        let acted = self.steps.iter().flat_map(|step| &step.deed.0).map(|one| &one.seat);
        let awards = self.steps.iter().flat_map(|step| &step.outcome.awards);
        let named = awards.filter_map(|award| match &award.to {
            Recipient::Seat(seat) => Some(seat),
            Recipient::Team | Recipient::Mover(_) => None,
        });
        let mut seats = vec![Seat::new(BYSTANDER)];
        for seat in acted.chain(named) {
            if !seats.contains(seat) {
                seats.push(seat.clone());
            }
        }
        seats
    }

    /// What the seat did, in order.
    pub fn deeds_of(&self, seat: &Seat) -> impl Iterator<Item = &Action> {
        self.steps.iter().filter_map(move |step| step.deed.by(seat))
    }

    /// All that a seat had earned at each moment, the start first.
    pub fn earnings(&self, seat: &Seat, contests: &Contests) -> Vec<f64> {
        let earn = |sum: &mut f64, step: &Step| {
            *sum += step.income(seat, contests);
            Some(*sum)
        };
        std::iter::once(0.0).chain(self.steps.iter().scan(0.0, earn)).collect()
    }

    /// All that a seat earned.
    pub fn total(&self, seat: &Seat, contests: &Contests) -> f64 {
        self.steps.iter().map(|step| step.income(seat, contests)).sum()
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
        let deeds = self.steps.iter().take(steps).map(|step| step.deed.0.clone());
        Reproducer::of(&self.task).with(deeds.collect())
    }

    fn reproducer_with(&self, last: Option<&Deed>) -> Reproducer {
        let mut reproducer = self.reproducer_to(self.steps.len());
        reproducer.acts.extend(last.map(|deed| deed.0.clone()));
        reproducer
    }
}

fn step(team: &Team, episode: &mut dyn EpisodeUnderTest, deed: Deed) -> Result<Step, Problem> {
    let outcome = deed.carry_out(episode)?;
    let after = Moment::of(team, episode)?;
    Ok(Step { deed, outcome, after })
}
