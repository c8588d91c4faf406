//! Many episodes side by side.
//!
//! Lock-step: all episodes wait for their answers together, so that policies
//! answer in one large batch; then all answers are played on all cores. The
//! other way is in `scheduler`. A policy's K completions of one prompt share
//! its prefill.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::attempt::Attempt;
use super::error::RolloutError;
use super::line::join;
use super::role_map::{Policies, RoleMap};
use super::sampler::Sampler;
use super::scheduler::overlapped;
use super::setting::Setting;
use super::task::{Start, TaskSeed};
use super::weighing::{Answered, Drawn};
use crate::metrics::Totals;
use troupe_core::config::{AdvantageConfig, RolloutConfig, SamplingScheme, Scheduling};
use troupe_core::trajectory::{Completion, Episode, Sample};
use troupe_estimators::band::SolvedShares;
use troupe_guests::plugin::{Meter, Work};

/// What a rollout brought.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Rollout {
    /// The sample table; void episodes have no rows in it.
    pub samples: Vec<Sample>,
    /// The episodes; of trees, the kept branches.
    pub episodes: Vec<Episode>,
    /// Time spent generating.
    pub generation: Duration,
    /// Time spent waiting for plugins.
    pub plugins: Duration,
    /// What was drawn and done, in void episodes and in branches that led nowhere, too.
    pub totals: Totals,
    /// Fuel of the plugins.
    pub fuel: u64,
    /// The rung of its curriculum that each family was played on.
    #[serde(default)]
    pub rungs: BTreeMap<String, usize>,
}

impl Rollout {
    /// Add the episodes of further tasks, after so many earlier ones.
    pub fn append(&mut self, further: Rollout, tasks: usize) {
        let rows = self.samples.len();
        let behind = |index: Option<usize>| index.map(|index| index + rows);
        self.samples.extend(further.samples.into_iter().map(|sample| Sample {
            task: sample.task + tasks,
            parent: behind(sample.parent),
            caller: behind(sample.caller),
            ..sample
        }));
        let episodes = further.episodes.into_iter();
        self.episodes
            .extend(episodes.map(|episode| Episode { task: episode.task + tasks, ..episode }));
        self.generation += further.generation;
        self.plugins += further.plugins;
        self.totals += further.totals;
        self.fuel += further.fuel;
    }

    /// Whether an answer is one that a policy learns from: its own policy learns, and its task lies
    /// in the band.
    pub fn teaches(
        &self,
        role_map: &RoleMap,
        config: &AdvantageConfig,
    ) -> impl Fn(&Sample) -> bool {
        let in_band = self.in_band(config);
        move |sample: &Sample| role_map.learns_from(sample) && in_band(sample)
    }

    /// Whether the task of an answer lies in the band that `config` has for the answer's role.
    pub fn in_band(&self, config: &AdvantageConfig) -> impl Fn(&Sample) -> bool {
        let episodes = self.episodes.iter().filter(|episode| !episode.is_void());
        let shares = SolvedShares::of(episodes.map(|e| ((e.task, e.episode), e.solved())));
        move |sample: &Sample| shares.are_within(sample, config)
    }

    /// Leave out the rows of tasks one of whose episodes is void: a group without some of its
    /// members is not a sample of the same distribution, as what made an episode void may be what
    /// was said in it. The episodes stay, and are counted as what they are.
    pub fn leave_out_broken_groups(&mut self) {
        let broken = self.episodes.iter().filter(|episode| episode.is_void());
        let broken: BTreeSet<usize> = broken.map(|episode| episode.task).collect();
        let mut left = 0;
        let now: Vec<usize> = (self.samples.iter())
            .map(|sample| {
                left += usize::from(!broken.contains(&sample.task));
                left.saturating_sub(1)
            })
            .collect();
        self.samples.retain(|sample| !broken.contains(&sample.task));
        // Rows hang on rows of their own task.
        for sample in &mut self.samples {
            sample.parent = sample.parent.map(|row| now[row]);
            sample.caller = sample.caller.map(|row| now[row]);
        }
    }

    /// Count what was drawn.
    pub(super) fn count_answers(&mut self, answers: &Answered) {
        self.totals += spent_on(answers);
    }
}

/// What was read and drawn for an answer, or several to one prompt.
pub(super) fn spent_on(answers: &Answered) -> Totals {
    let Ok(Drawn { prompt, completions, .. }) = answers else { return Totals::default() };
    Totals {
        samples: completions.len() as u64,
        completion_tokens: completions.iter().map(|completion| completion.length() as u64).sum(),
        prompt_tokens: prompt.len() as u64,
        acts: 0,
    }
}

/// Run the tasks' episodes to their ends.
///
/// # Errors
/// If a policy is missing or cannot answer.
pub fn collect(
    setting: &Setting,
    policies: &Policies,
    tasks: &[TaskSeed],
) -> Result<Rollout, RolloutError> {
    run(setting, &mut Sampler::new(setting, policies)?, Attempt::list(tasks, setting))
}

/// Tasks, and how they are played: along one line each, so that no answer has to be the best.
pub struct Play {
    /// The tasks.
    pub tasks: Vec<TaskSeed>,
    /// How often, and how answers are drawn.
    pub config: RolloutConfig,
}

/// Play several times, each to its end, and `take` what it brought before the next begins; what
/// policies read in one need not be read in the next.
pub(super) fn in_turn<E: From<RolloutError>>(
    role_map: &RoleMap,
    policies: &Policies,
    plays: &[Play],
    mut take: impl FnMut(Rollout) -> Result<(), E>,
) -> Result<(), E> {
    let mut former: Option<Sampler> = None;
    for Play { tasks, config } in plays {
        let setting = Setting { role_map, config, alpha: 1.0, dealing: None };
        let mut sampler = match &former {
            None => Sampler::new(&setting, policies)?,
            Some(former) => former.beside(&setting)?,
        };
        take(run(&setting, &mut sampler, Attempt::list(tasks, &setting))?)?;
        former = Some(sampler);
    }
    Ok(())
}

/// Play on from moments of episodes to the ends, each once. A start's index is that
/// of its task in the table.
///
/// # Errors
/// As [`collect`].
pub fn collect_from(
    setting: &Setting,
    policies: &Policies,
    starts: Vec<Start>,
) -> Result<Rollout, RolloutError> {
    let config = &in_lines(setting.config);
    let setting = Setting { config, ..*setting };
    run(&setting, &mut Sampler::new(&setting, policies)?, Attempt::list_from(starts, &setting))
}

/// The answers to what is due at moments of episodes, as those would be played on from with: none
/// where an answer cannot be had.
pub struct FirstAnswers {
    /// By start, the answers in the order of the requests.
    pub given: Vec<Option<Vec<Completion>>>,
    /// What was drawn and read.
    pub totals: Totals,
}

/// Draw the answers that [`collect_from`] would begin with, and no others.
///
/// # Errors
/// As [`collect`].
pub fn answer_from(
    setting: &Setting,
    policies: &Policies,
    starts: Vec<Start>,
) -> Result<FirstAnswers, RolloutError> {
    let config = &in_lines(setting.config);
    let setting = Setting { config, ..*setting };
    let mut sampler = Sampler::new(&setting, policies)?;
    let mut due = Vec::new();
    let count = starts.len();
    for (index, mut attempt) in Attempt::list_from(starts, &setting).into_iter().enumerate() {
        attempt.begin(&setting);
        due.extend(sampler.due(index, &mut attempt)?);
    }
    let mut answered = sampler.answer(due)?;
    let mut totals = Totals::default();
    let first = |drawn: Drawn| drawn.completions.into_iter().next();
    let given = (0..count).map(|index| {
        let answers = answered.remove(&index)?;
        answers.iter().for_each(|answer| totals += spent_on(answer));
        answers.into_iter().map(|answer| answer.ok().and_then(first)).collect()
    });
    Ok(FirstAnswers { given: given.collect(), totals })
}

/// Along one line each.
fn in_lines(config: &RolloutConfig) -> RolloutConfig {
    RolloutConfig { scheme: SamplingScheme::Trajectory, branches: 1, ..config.clone() }
}

fn run(
    setting: &Setting,
    sampler: &mut Sampler,
    attempts: Vec<Attempt>,
) -> Result<Rollout, RolloutError> {
    let mut rollout = Rollout::default();
    let meters = meters_of(&attempts);
    let before: Vec<Work> = meters.iter().map(|meter| meter.read()).collect();
    let unseen = unseen_in(setting.role_map);
    let overlaps = match setting.config.scheduling {
        Scheduling::LockStep => false,
        Scheduling::Overlapped => true,
        Scheduling::Auto => sampler.has_gpu(),
    };
    let attempts = match overlaps {
        true => overlapped(setting, sampler, attempts, &mut rollout)?,
        false => in_lock_step(setting, sampler, attempts, &mut rollout)?,
    };
    (rollout.samples, rollout.episodes) =
        join(attempts.into_iter().map(Attempt::into_record).collect());
    for (meter, before) in meters.iter().zip(before) {
        let Work { acts, fuel } = meter.read();
        rollout.totals.acts += acts - before.acts;
        rollout.fuel += fuel - before.fuel;
    }
    rollout.totals += unseen_in(setting.role_map) - unseen;
    Ok(rollout)
}

/// What has been drawn and read for answers that nobody was given.
fn unseen_in(role_map: &RoleMap) -> Totals {
    let mut totals = Totals::default();
    role_map.remotes().values().for_each(|remote| totals += remote.unseen());
    totals
}

/// Those of all environments and workflows that are played with, each once.
fn meters_of(attempts: &[Attempt]) -> Vec<Arc<Meter>> {
    let mut meters: Vec<Arc<Meter>> = Vec::new();
    for meter in attempts.iter().flat_map(|attempt| attempt.scenario().meters()) {
        if !meters.iter().any(|known| Arc::ptr_eq(known, meter)) {
            meters.push(meter.clone());
        }
    }
    meters
}

fn in_lock_step(
    setting: &Setting,
    sampler: &mut Sampler,
    mut attempts: Vec<Attempt>,
    rollout: &mut Rollout,
) -> Result<Vec<Attempt>, RolloutError> {
    let started = Instant::now();
    attempts.par_iter_mut().for_each(|attempt| attempt.begin(setting));
    rollout.plugins += started.elapsed();
    while attempts.iter().any(Attempt::is_waiting) {
        let started = Instant::now();
        let mut due = Vec::new();
        for (index, attempt) in attempts.iter_mut().enumerate() {
            due.extend(sampler.due(index, attempt)?);
        }
        let mut answers = sampler.answer(due)?;
        rollout.generation += started.elapsed();
        answers.values().flatten().for_each(|answers| rollout.count_answers(answers));
        let started = Instant::now();
        let mut answered: Vec<_> = (attempts.iter_mut().enumerate())
            .filter_map(|(index, attempt)| Some((attempt, answers.remove(&index)?)))
            .collect();
        let play = |(attempt, answers): (&mut Attempt, _)| attempt.play(answers, setting);
        let forks: Vec<Vec<Attempt>> = answered.par_drain(..).map(play).collect();
        attempts.extend(forks.into_iter().flatten());
        rollout.plugins += started.elapsed();
    }
    Ok(attempts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::example::forked;
    use troupe_core::trajectory::Ending;

    #[test]
    fn a_void_repetition_takes_the_rows_of_its_task_with_it_and_no_others() {
        let mut rollout = Rollout { samples: forked(), ..Rollout::default() };
        for task in 1..3 {
            rollout.append(Rollout { samples: forked(), ..Rollout::default() }, task);
        }
        let episode = |task: usize, ending| Episode {
            task,
            family: "maze".to_owned(),
            split: "train".to_owned(),
            seed: 0,
            episode: 0,
            events: Vec::new(),
            ending,
        };
        let void = Ending::Void { cause: "trap".to_owned(), message: String::new() };
        let endings = [Ending::Solved, void, Ending::Solved, Ending::Failed];
        rollout.episodes =
            [0, 1, 1, 2].into_iter().zip(endings).map(|(t, e)| episode(t, e)).collect();
        rollout.leave_out_broken_groups();
        let tasks: Vec<usize> = rollout.samples.iter().map(|sample| sample.task).collect();
        assert_eq!(tasks, [0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2]);
        for (behind, original) in rollout.samples[6..].iter().zip(forked()) {
            assert_eq!(behind.parent, original.parent.map(|parent| parent + 6));
        }
        assert_eq!(rollout.episodes.len(), 4, "what happened is still told");
    }

    #[test]
    fn what_is_added_hangs_on_its_own_answers_and_is_of_other_tasks() {
        let rollout = || Rollout { samples: forked(), fuel: 5, ..Rollout::default() };
        let mut both = rollout();
        both.append(rollout(), 3);
        assert_eq!((both.samples.len(), both.fuel), (12, 10));
        for (added, original) in both.samples[6..].iter().zip(&both.samples) {
            assert_eq!((original.task, added.task), (0, 3));
            assert_eq!(added.parent, original.parent.map(|parent| parent + 6));
        }
    }
}
