//! Several policies that play in the place of one, examined in turn: how good each is in which
//! situation.
//!
//! A member that plays alone gets to other states than the others, and what it earns after a
//! situation depends on how it got there. From forks, all members go on from the same states.

use std::collections::{BTreeMap, BTreeSet};

use crate::evaluation::{HeldOutTasks, evaluate, play};
use crate::metrics::Totals;
use crate::rollout::{
    ChosenBy, Play, Rollout, RolloutError, Setting, Start, TaskSeed, collect_from,
};
use crate::situations::{Cell, Played, SituationTable};
use crate::states::{State, StateError, reach};
use crate::team::{Team, TeamError};
use troupe_core::config::{AdvantageConfig, Config, Unit, Worth};
use troupe_core::error::{Coded, ExitCode};
use troupe_core::trajectory::Sample;
use troupe_estimators::worth::Earnings;

/// Why members cannot be examined.
#[derive(Debug, thiserror::Error)]
pub enum ExaminationError {
    /// No policy is several.
    #[error(
        "no policy that plays a role is several others, so there is nobody to compare; name them in \
         policies.<name>.ensemble"
    )]
    Nobody,
    /// Several policies are several.
    #[error(
        "`{0}` and `{1}` are several policies each, and a table is of one; give the roles of one of \
         them to a single policy"
    )]
    Two(String, String),
    /// The policies cannot answer.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// A state cannot be reached again.
    #[error(transparent)]
    State(#[from] StateError),
    /// The members' weights cannot be read.
    #[error(transparent)]
    Team(#[from] TeamError),
}

impl Coded for ExaminationError {
    fn code(&self) -> Option<ExitCode> {
        match self {
            ExaminationError::Nobody | ExaminationError::Two(..) => Some(ExitCode::Usage),
            ExaminationError::Rollout(error) => error.code(),
            ExaminationError::State(error) => error.code(),
            ExaminationError::Team(error) => error.code(),
        }
    }
}

/// A role, and a situation of it or all that it is asked.
type Met = (String, Option<String>);

/// Let every member of the only policy that is several play the tasks, or `forks` times each from
/// the states that a play of members drawn at random meets situations in.
///
/// # Errors
/// If there is no such policy, or the policies cannot answer.
pub fn examine(
    team: &mut Team,
    config: &Config,
    held_out: HeldOutTasks,
    forks: Option<usize>,
) -> Result<SituationTable, ExaminationError> {
    let (name, members) = only_ensemble(team)?;
    let roles: BTreeSet<String> =
        (team.roles().into_iter()).filter(|role| team.role_map.policy_of(role) == name).collect();
    let mut examiner = Examiner {
        team,
        config,
        held_out,
        name,
        roles,
        counts: vec![BTreeMap::new(); members.len()],
        spent: Totals::default(),
    };
    match forks {
        None => examiner.play_alone()?,
        Some(times) => examiner.play_on(times)?,
    }
    let Examiner { counts, spent, .. } = examiner;
    Ok(SituationTable {
        split: held_out.split.name().to_owned(),
        tasks: held_out.tasks,
        answers: held_out.answers,
        samples: held_out.samples,
        forks,
        seed: config.run.seed,
        played: Played::of(&team.families),
        cells: cells(&members, &counts),
        members: team.digests_of(&members)?,
        spent,
    })
}

fn only_ensemble(team: &Team) -> Result<(String, Vec<String>), ExaminationError> {
    let mut ensembles = team.role_map.ensembles().iter();
    let (name, ensemble) = ensembles.next().ok_or(ExaminationError::Nobody)?;
    match ensembles.next() {
        None => Ok((name.clone(), ensemble.members.clone())),
        Some((other, _)) => Err(ExaminationError::Two(name.clone(), other.clone())),
    }
}

/// What one member did in one situation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Count {
    episodes: usize,
    solved: usize,
    sum: f64,
}

struct Examiner<'t> {
    team: &'t mut Team,
    config: &'t Config,
    held_out: HeldOutTasks,
    /// The policy that is several, and the roles that it plays.
    name: String,
    roles: BTreeSet<String>,
    /// By member.
    counts: Vec<BTreeMap<Met, Count>>,
    spent: Totals,
}

impl Examiner<'_> {
    /// Let every member play the tasks alone.
    fn play_alone(&mut self) -> Result<(), ExaminationError> {
        for member in 0..self.counts.len() {
            let rollout = self.play_as(ChosenBy::Always(member))?;
            let met = first_met(&rollout.samples, &self.roles);
            self.count(member, &rollout, met);
        }
        Ok(())
    }

    /// Let every member play on, so many times, from the states in which situations are first met.
    fn play_on(&mut self, times: usize) -> Result<(), ExaminationError> {
        let rollout = self.play_as(ChosenBy::Random)?;
        let Play { tasks, config } = play(self.team, self.held_out, self.config);
        let task_of = |index: usize| tasks.get(rollout.samples[index].task).cloned();
        let states = reach(&rollout.samples, task_of)?;
        let met = met_in(&states, &rollout.samples, &self.roles);
        for member in 0..self.counts.len() {
            self.team.role_map.choose_by(&self.name, ChosenBy::Always(member));
            let starts = met.keys().flat_map(|&state| starts(&states[state], times));
            let role_map = self.team.role_map.examined(&self.config.validation);
            let setting = Setting {
                role_map: &role_map,
                config: &config,
                alpha: self.config.advantage.alpha,
                dealing: None,
            };
            let forks = collect_from(&setting, &self.team.policies, starts.collect())?;
            self.spent += forks.totals;
            let wanted: Vec<&Vec<Met>> = met.values().collect();
            let answers = forks.samples.iter().enumerate().filter(|(_, sample)| sample.round == 0);
            let of = |(index, sample): (usize, &Sample)| {
                let of_role = wanted[sample.task / times].iter();
                let of_role = of_role.filter(|(role, _)| *role == sample.role && is_first(sample));
                of_role.map(|met| (index, met.clone())).collect::<Vec<_>>()
            };
            let counted: Vec<(usize, Met)> = answers.flat_map(of).collect();
            self.count(member, &forks, counted);
        }
        Ok(())
    }

    /// Play the tasks.
    fn play_as(&mut self, by: ChosenBy) -> Result<Rollout, ExaminationError> {
        self.team.role_map.choose_by(&self.name, by);
        let rollout = evaluate(self.team, self.held_out, self.config)?.rollout;
        self.spent += rollout.totals;
        Ok(rollout)
    }

    /// Take in what came after some answers of a member.
    fn count(
        &mut self,
        member: usize,
        rollout: &Rollout,
        met: impl IntoIterator<Item = (usize, Met)>,
    ) {
        let returns = Sequel::of(rollout, &self.config.advantage);
        for (index, met) in met {
            let (worth, solved) = returns.after(index);
            let count = self.counts[member].entry(met).or_default();
            count.episodes += 1;
            count.solved += usize::from(solved);
            count.sum += worth;
        }
    }
}

/// What came after answers.
struct Sequel<'r> {
    samples: &'r [Sample],
    earnings: Earnings<'r>,
    solved: BTreeSet<(usize, usize)>,
}

impl<'r> Sequel<'r> {
    fn of(rollout: &'r Rollout, config: &AdvantageConfig) -> Self {
        let solved = rollout.episodes.iter().filter(|episode| episode.solved());
        Sequel {
            samples: &rollout.samples,
            earnings: Earnings::of(&rollout.samples, config, Worth::ToGo),
            solved: solved.map(|episode| (episode.task, episode.episode)).collect(),
        }
    }

    /// What the seat earned from this answer on, and whether its episode was solved.
    fn after(&self, index: usize) -> (f64, bool) {
        let Sample { task, episode, .. } = self.samples[index];
        let worth = self.earnings.worth(Unit::Completion, &[index]);
        (worth, self.solved.contains(&(task, episode)))
    }
}

/// Where each role first meets each situation in each episode, and where it is first asked: the
/// answer, and what is met. Of a role with several seats, the first counts.
fn first_met(samples: &[Sample], roles: &BTreeSet<String>) -> Vec<(usize, Met)> {
    let mut known = BTreeSet::new();
    let mut met = Vec::new();
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_by_key(|&index| (samples[index].task, samples[index].episode, samples[index].round));
    for index in order {
        let sample = &samples[index];
        if !roles.contains(&sample.role) || !is_first(sample) {
            continue;
        }
        let situation = sample.situation.clone().map(Some);
        for situation in std::iter::once(None).chain(situation) {
            let this = (sample.role.clone(), situation);
            if known.insert((sample.task, sample.episode, this.clone())) {
                met.push((index, this));
            }
        }
    }
    met
}

fn is_first(sample: &Sample) -> bool {
    sample.instance == 0
}

/// The states in which something is first met, and what.
fn met_in(
    states: &[State],
    samples: &[Sample],
    roles: &BTreeSet<String>,
) -> BTreeMap<usize, Vec<Met>> {
    let mut of_answer: BTreeMap<usize, Vec<Met>> = BTreeMap::new();
    for (index, met) in first_met(samples, roles) {
        of_answer.entry(index).or_default().push(met);
    }
    let met = |state: &State| -> Vec<Met> {
        state.rows.iter().filter_map(|row| of_answer.get(row)).flatten().cloned().collect()
    };
    let all = states.iter().enumerate().map(|(place, state)| (place, met(state)));
    all.filter(|(_, met)| !met.is_empty()).collect()
}

/// From one state so many times, alike for all members.
fn starts(state: &State, times: usize) -> impl Iterator<Item = Start> {
    (0..times).map(move |time| {
        let seed = state.task.seed.named("fork").at(time as u64);
        let task = TaskSeed { seed, ..state.task.clone() };
        Start { task, position: state.position.clone(), answers: Vec::new() }
    })
}

fn cells(members: &[String], counts: &[BTreeMap<Met, Count>]) -> Vec<Cell> {
    let met: BTreeSet<&Met> = counts.iter().flat_map(BTreeMap::keys).collect();
    let of = |met: &Met| {
        let counts = members.iter().zip(counts);
        let cell = |(member, counts): (&String, &BTreeMap<Met, Count>)| {
            let Count { episodes, solved, sum } = *counts.get(met)?;
            let (role, situation) = met.clone();
            let mean = sum / episodes as f64;
            Some(Cell { role, situation, member: member.clone(), episodes, solved, mean })
        };
        counts.filter_map(cell).collect::<Vec<_>>()
    };
    met.into_iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests;
