//! Many episodes side by side.
//!
//! Lock-step: all episodes wait for their answers together, so that each
//! policy answers in one large batch; then all answers are played on all
//! cores. A policy's K completions of one prompt share its prefill.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::branch::choose_branch;
use super::cast::{Cast, Policies};
use super::stage::{Consequence, Progress, Scene, Stage};
use crate::config::{RolloutConfig, SamplingScheme};
use crate::plugin::{PluginFailure, Request, Split};
use crate::policy::{PolicyError, Request as Prompt, Sampling};
use crate::seed::Seed;
use crate::trajectory::{Completion, Ending, Episode, Event, Sample};

/// A task of a step, and the seed for what is drawn at random in it.
#[derive(Clone, Copy, Debug)]
pub struct TaskSeed {
    /// The part of the tasks.
    pub split: Split,
    /// Which task of the split.
    pub task: u32,
    /// Root of the randomness of its episodes.
    pub seed: Seed,
}

/// What a rollout brought.
#[derive(Debug, Default)]
pub struct Rollout {
    /// The sample table; void episodes have no rows in it.
    pub samples: Vec<Sample>,
    /// The episodes; of trees, the kept branches.
    pub episodes: Vec<Episode>,
    /// Time spent generating.
    pub generation: Duration,
    /// Time spent in plugins.
    pub plugins: Duration,
    /// Completion tokens generated, those of void episodes included.
    pub generated_tokens: usize,
}

/// Why no rollout could be made. A failing plugin is no reason: its episode is void.
#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    /// A policy could not answer.
    #[error("the policy `{policy}` cannot answer: {reason}")]
    Policy {
        /// Its name.
        policy: String,
        /// Why.
        reason: PolicyError,
    },
    /// The cast names a policy that was not loaded.
    #[error("the policy `{policy}` was not loaded")]
    Missing {
        /// Its name.
        policy: String,
    },
}

/// Run the tasks' episodes to their ends.
pub fn collect(
    stage: &Stage,
    cast: &Cast,
    policies: &Policies,
    tasks: &[TaskSeed],
    config: &RolloutConfig,
    alpha: f64,
) -> Result<Rollout, RolloutError> {
    let mut rollout = Rollout::default();
    let started = Instant::now();
    let mut runs = begin(stage, tasks, config);
    rollout.plugins += started.elapsed();
    while runs.iter().any(Run::is_waiting) {
        let started = Instant::now();
        let answers = generate(cast, policies, &runs, config)?;
        rollout.generation += started.elapsed();
        let completions = answers.iter().flat_map(|answers| &answers.completions);
        rollout.generated_tokens += completions.map(|answer| answer.tokens.len()).sum::<usize>();
        let started = Instant::now();
        play(stage, cast, &mut runs, answers, config, alpha);
        rollout.plugins += started.elapsed();
    }
    for run in runs {
        let (samples, episode) = run.into_record();
        rollout.samples.extend(samples);
        rollout.episodes.push(episode);
    }
    Ok(rollout)
}

/// One episode on its way.
struct Run {
    index: usize,
    episode: usize,
    task: TaskSeed,
    /// How many completions are drawn in each state.
    branches: usize,
    progress: Progress,
    events: Vec<Event>,
    samples: Vec<Sample>,
}

impl Run {
    fn scene(&self) -> Option<&Scene> {
        match &self.progress {
            Progress::Asked(scene) => Some(scene),
            Progress::Ended(_) => None,
        }
    }

    fn is_waiting(&self) -> bool {
        self.scene().is_some()
    }

    /// Seed of everything drawn for `role` at `turn`.
    fn seed(&self, role: &str, turn: usize) -> Seed {
        self.task.seed.at(self.episode as u64).named(role).at(turn as u64)
    }

    fn fail(&mut self, failure: &PluginFailure) {
        let cause = failure.cause.word().to_owned();
        self.progress = Progress::Ended(Ending::Void { cause, message: failure.to_string() });
    }

    fn into_record(self) -> (Vec<Sample>, Episode) {
        let ending = match self.progress {
            Progress::Ended(ending) => ending,
            Progress::Asked(_) => Ending::Truncated,
        };
        let episode = Episode {
            task: self.index,
            split: self.task.split.name().to_owned(),
            seed: self.task.task,
            episode: self.episode,
            events: self.events,
            ending,
        };
        let samples = if episode.is_void() { Vec::new() } else { self.samples };
        (samples, episode)
    }
}

/// A request with its completions.
struct Answers {
    run: usize,
    request: Arc<Request>,
    prompt: Arc<[u32]>,
    completions: Vec<Completion>,
}

fn begin(stage: &Stage, tasks: &[TaskSeed], config: &RolloutConfig) -> Vec<Run> {
    let (episodes, branches) = match config.sampling {
        SamplingScheme::Tree => (1, config.branches),
        SamplingScheme::Trajectory => (config.branches, 1),
    };
    let starts: Vec<(usize, usize)> = (0..tasks.len())
        .flat_map(|task| (0..episodes).map(move |episode| (task, episode)))
        .collect();
    let begin_one = |(index, episode): (usize, usize)| {
        let task = tasks[index];
        let progress = Progress::Ended(Ending::Truncated);
        let mut run = Run {
            index,
            episode,
            task,
            branches,
            progress,
            events: Vec::new(),
            samples: Vec::new(),
        };
        match stage.begin(task.split, task.task) {
            Ok(consequence) => {
                run.events = consequence.events;
                run.progress = consequence.progress;
            }
            Err(failure) => run.fail(&failure),
        }
        run
    };
    starts.into_par_iter().map(begin_one).collect()
}

/// A request that is due: the `position`-th of its run's.
struct Due {
    run: usize,
    position: usize,
    request: Arc<Request>,
}

/// Completions for every request that is due, in the order of runs and requests.
fn generate(
    cast: &Cast,
    policies: &Policies,
    runs: &[Run],
    config: &RolloutConfig,
) -> Result<Vec<Answers>, RolloutError> {
    let mut due: BTreeMap<&str, Vec<Due>> = BTreeMap::new();
    for (run, scene) in runs.iter().enumerate().filter_map(|(i, run)| Some((i, run.scene()?))) {
        for (position, request) in scene.due.iter().enumerate() {
            let policy = cast.policy_of(&request.role);
            due.entry(policy).or_default().push(Due { run, position, request: request.clone() });
        }
    }
    let mut answers: Vec<(usize, Answers)> = Vec::new();
    for (policy, due) in due {
        answers.extend(ask_policy(policy, policies, due, runs, config)?);
    }
    answers.sort_by_key(|(position, answers)| (answers.run, *position));
    Ok(answers.into_iter().map(|(_, answers)| answers).collect())
}

/// One policy's completions, each list with the position of its request.
fn ask_policy(
    name: &str,
    policies: &Policies,
    due: Vec<Due>,
    runs: &[Run],
    config: &RolloutConfig,
) -> Result<Vec<(usize, Answers)>, RolloutError> {
    let failed = |reason| RolloutError::Policy { policy: name.to_owned(), reason };
    let Some(policy) = policies.get(name) else {
        return Err(RolloutError::Missing { policy: name.to_owned() });
    };
    let mut prompts = Vec::with_capacity(due.len());
    for Due { run, request, .. } in &due {
        let run = &runs[*run];
        let turn = run.scene().map_or(0, |scene| scene.turn_of(&request.role));
        let seed = run.seed(&request.role, turn);
        let seeds = (0..run.branches).map(|branch| seed.at(branch as u64)).collect();
        let prompt = policy.encode_prompt(&request.messages).map_err(failed)?;
        prompts.push(Prompt { prompt, seeds });
    }
    let completions = policy.generate(&prompts, &Sampling::from(config)).map_err(failed)?;
    let answers = due.into_iter().zip(prompts).zip(completions);
    Ok(answers
        .map(|((Due { run, position, request }, Prompt { prompt, .. }), completions)| {
            (position, Answers { run, request, prompt, completions })
        })
        .collect())
}

/// Play all answers. Requests of one list are played one after the other, each
/// on the branch kept of the one before.
fn play(
    stage: &Stage,
    cast: &Cast,
    runs: &mut [Run],
    answers: Vec<Answers>,
    config: &RolloutConfig,
    alpha: f64,
) {
    let mut by_run: Vec<Vec<Answers>> = runs.iter().map(|_| Vec::new()).collect();
    for answer in answers {
        by_run[answer.run].push(answer);
    }
    runs.par_iter_mut().zip(by_run).for_each(|(run, answers)| {
        for answers in answers {
            if let Err(failure) = play_group(stage, cast, run, answers, config, alpha) {
                run.fail(&failure);
            }
            if !run.is_waiting() {
                break;
            }
        }
    });
}

/// Try each completion in its own fork and go on from one of them. If a fork
/// fails, the group is not comparable and the whole episode is void.
fn play_group(
    stage: &Stage,
    cast: &Cast,
    run: &mut Run,
    answers: Answers,
    config: &RolloutConfig,
    alpha: f64,
) -> Result<(), PluginFailure> {
    let Some(scene) = run.scene().cloned() else { return Ok(()) };
    let role = answers.request.role.clone();
    let turn = scene.turn_of(&role);
    let forks: Vec<Result<Consequence, PluginFailure>> = answers
        .completions
        .par_iter()
        .map(|completion| stage.answer(&scene, completion.into()))
        .collect();
    // Of several failures the first is named, whichever happened first.
    let forks: Vec<Consequence> = forks.into_iter().collect::<Result<_, _>>()?;
    let rewards: Vec<f64> = forks.iter().map(|fork| fork.reward.total(alpha)).collect();
    let kept = choose_branch(&rewards, config, run.seed(&role, turn).named("branch"));
    run.events.push(Event::Replied {
        role: role.clone(),
        turn,
        prompt: answers.request.messages.clone(),
        text: answers.completions[kept].text.clone(),
    });
    run.events.extend(forks[kept].events.iter().cloned());
    run.progress = forks[kept].progress.clone();
    let state = scene.digest();
    let rows = answers.completions.into_iter().zip(forks).enumerate();
    run.samples.extend(rows.map(|(branch, (completion, fork))| Sample {
        task: run.index,
        episode: run.episode,
        turn,
        role: role.clone(),
        policy: cast.policy_of(&role).to_owned(),
        branch,
        kept: branch == kept,
        state,
        prompt: answers.prompt.clone(),
        completion,
        reward: fork.reward,
        accepted: fork.accepted,
    }));
    Ok(())
}
