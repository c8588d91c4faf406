//! One episode on its way.

use std::sync::Arc;

use rayon::prelude::*;

use super::branch::choose_branch;
use super::cast::Cast;
use super::collect::TaskSeed;
use super::players::Answered;
use super::stage::{Consequence, Progress, Scene, Stage};
use crate::config::{RolloutConfig, SamplingScheme};
use crate::plugin::{PluginFailure, Request};
use crate::seed::Seed;
use crate::trajectory::{Completion, Ending, Episode, Event, Sample};

/// Bytes of text that the record of one episode may hold; a run has hundreds
/// of episodes in memory at once.
const EPISODE_TEXT_BYTES: usize = 16 << 20;

/// What all attempts of a rollout have in common.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) stage: &'a Stage,
    pub(super) cast: &'a Cast,
    pub(super) config: &'a RolloutConfig,
    /// Weight of the team reward.
    pub(super) alpha: f64,
}

/// One episode on its way.
pub(super) struct Attempt {
    index: usize,
    episode: usize,
    task: TaskSeed,
    /// How many completions of a role that learns are drawn in each state.
    branches: usize,
    progress: Progress,
    events: Vec<Event>,
    samples: Vec<Sample>,
}

/// A request with its completions.
pub(super) struct Answers {
    pub(super) request: Arc<Request>,
    pub(super) prompt: Arc<[u32]>,
    pub(super) completions: Vec<Completion>,
}

impl Attempt {
    /// The attempts at a list of tasks, none of them begun.
    pub(super) fn list(tasks: &[TaskSeed], config: &RolloutConfig) -> Vec<Attempt> {
        let (episodes, branches) = match config.sampling {
            SamplingScheme::Tree => (1, config.branches),
            SamplingScheme::Trajectory => (config.branches, 1),
        };
        let attempt = |index: usize, episode: usize| Attempt {
            index,
            episode,
            task: tasks[index],
            branches,
            progress: Progress::Ended(Ending::Truncated),
            events: Vec::new(),
            samples: Vec::new(),
        };
        (0..tasks.len())
            .flat_map(|index| (0..episodes).map(move |episode| attempt(index, episode)))
            .collect()
    }

    /// Play up to the first answer that is due.
    pub(super) fn begin(&mut self, setting: &Setting) {
        match setting.stage.begin(self.task.split, self.task.task) {
            Ok(consequence) => {
                self.events = consequence.events;
                self.progress = consequence.progress;
            }
            Err(failure) => self.fail(&failure),
        }
    }

    pub(super) fn scene(&self) -> Option<&Scene> {
        match &self.progress {
            Progress::Asked(scene) => Some(scene),
            Progress::Ended(_) => None,
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.scene().is_some()
    }

    /// One seed for every completion that `role` gives at `turn`. A role that
    /// does not learn is asked once: there is nothing to compare its answers for.
    pub(super) fn seeds(&self, role: &str, turn: usize, learns: bool) -> Vec<Seed> {
        let seed = self.seed(role, turn);
        let count = if learns { self.branches } else { 1 };
        (0..count).map(|branch| seed.at(branch as u64)).collect()
    }

    /// Seed of everything drawn for `role` at `turn`.
    fn seed(&self, role: &str, turn: usize) -> Seed {
        self.task.seed.at(self.episode as u64).named(role).at(turn as u64)
    }

    fn fail(&mut self, failure: &PluginFailure) {
        self.make_void(failure.cause.word(), failure.to_string());
    }

    /// End without counting for anything.
    pub(super) fn make_void(&mut self, cause: &str, message: String) {
        self.progress = Progress::Ended(Ending::Void { cause: cause.to_owned(), message });
    }

    /// Play the answers to all requests that were due, one after the other,
    /// each on the branch kept of the one before.
    /// An answer that could not be had makes the episode void.
    pub(super) fn play(&mut self, answers: Vec<Answered>, setting: &Setting) {
        for answers in answers {
            match answers.map(|answers| self.play_group(answers, setting)) {
                Ok(Ok(())) => {}
                Ok(Err(failure)) => self.fail(&failure),
                Err(failure) => self.make_void(failure.kind.word(), failure.message),
            }
            if !self.is_waiting() {
                break;
            }
        }
    }

    /// Try each completion in its own fork and go on from one of them. If a
    /// fork fails, the group is not comparable and the whole episode is void.
    fn play_group(&mut self, answers: Answers, setting: &Setting) -> Result<(), PluginFailure> {
        let Setting { stage, cast, config, alpha } = *setting;
        let Some(scene) = self.scene().cloned() else { return Ok(()) };
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
        let kept = choose_branch(&rewards, config, self.seed(&role, turn).named("branch"));
        self.events.push(Event::Replied {
            role: role.clone(),
            turn,
            prompt: answers.request.messages.clone(),
            text: answers.completions[kept].text.clone(),
        });
        self.events.extend(forks[kept].events.iter().cloned());
        if self.events.iter().map(Event::text_bytes).sum::<usize>() > EPISODE_TEXT_BYTES {
            let mib = EPISODE_TEXT_BYTES >> 20;
            let message = format!("the texts of its episode come to more than {mib} MiB");
            return Err(stage.workflow.failure("advance", message));
        }
        self.progress = forks[kept].progress.clone();
        let state = scene.digest();
        let rows = answers.completions.into_iter().zip(forks).enumerate();
        self.samples.extend(rows.map(|(branch, (completion, fork))| Sample {
            task: self.index,
            episode: self.episode,
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

    /// The record of it.
    pub(super) fn into_record(self) -> (Vec<Sample>, Episode) {
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
