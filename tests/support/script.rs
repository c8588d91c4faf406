//! A scripted stand-in for a policy: it says what the test has it say, and
//! remembers what it was asked. It plays in `relay-workflow`, where an answer
//! says what is done, over `ledger-environment`, which pays what it is told.

use std::collections::BTreeSet;
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use troupe_core::config::{Config, Roles};
use troupe_core::seed::Seed;
use troupe_core::trajectory::{Completion, StopReason};
use troupe_guests::plugin::Split;
use troupe_model::{ChatRequest, Completions, Device, RemoteFailure, Sampling};
use troupe_training::rollout::{Remote, Rollout, Setting, TaskSeed, collect};
use troupe_training::run::RunFolder;
use troupe_training::team::Team;
use troupe_training::training::Training;

use crate::support::fixture;

/// The seats of `relay-workflow`.
pub const SEATS: [&str; 2] = ["first", "second"];

/// One answer that was asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// What the player was told, message by message.
    pub told: Vec<String>,
    /// The names of the tools it was told of.
    pub tools: Vec<String>,
    /// Which of the state's answers it is.
    pub branch: usize,
    /// Where its chance comes from.
    pub seed: Seed,
    /// 0 if the likeliest answer is wanted.
    pub temperature: f64,
    /// Nucleus, and the likeliest tokens that are kept.
    pub cuts: (f64, usize),
    /// Whether it is to think first, if somebody says so.
    pub thinking: Option<bool>,
}

impl Asked {
    /// Split and seed of the task, which only the first seat is shown.
    pub fn task(&self) -> (&str, u32) {
        let task = self.told[1].split(' ').next().unwrap();
        let (split, seed) = task.split_once('-').unwrap();
        (split, seed.parse().unwrap())
    }

    /// The environment's setting, which is shown behind the task.
    pub fn level(&self) -> u32 {
        let level = self.told[1].split("level-").nth(1).unwrap();
        level.split_whitespace().next().unwrap().parse().unwrap()
    }
}

/// A player that says what a function makes of what it is asked.
pub struct Script {
    line: Box<dyn Fn(&Asked) -> String + Send + Sync>,
    asked: Mutex<Vec<Asked>>,
}

impl Script {
    pub fn new<T: fmt::Display>(line: impl Fn(&Asked) -> T + Send + Sync + 'static) -> Arc<Script> {
        let line = Box::new(move |asked: &Asked| line(asked).to_string());
        Arc::new(Script { line, asked: Mutex::default() })
    }

    /// What it was asked since the last time.
    pub fn take_asked(&self) -> Vec<Asked> {
        mem::take(&mut self.asked.lock().unwrap())
    }

    fn answer(&self, asked: Asked) -> Completion {
        let text = (self.line)(&asked);
        self.asked.lock().unwrap().push(asked);
        let (tokens, logprobs, forced) = (Vec::new(), Vec::new(), Vec::new());
        Completion { tokens, logprobs, text, stop: StopReason::EndOfText, forced, usage: None }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

impl Remote for Script {
    fn identity(&self) -> String {
        "a script".to_owned()
    }

    fn complete(
        &self,
        requests: &[ChatRequest],
        sampling: &Sampling,
    ) -> Vec<Result<Completions, RemoteFailure>> {
        let answers = |request: &ChatRequest| {
            let told: Vec<String> = request.messages.iter().map(|m| m.text.clone()).collect();
            let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
            let tools: Vec<String> = request.tools.iter().map(name).collect();
            let asked = |(branch, &seed)| Asked {
                told: told.clone(),
                tools: tools.clone(),
                branch,
                seed,
                temperature: sampling.temperature,
                cuts: (sampling.top_p, sampling.top_k),
                thinking: request.thinking,
            };
            let completions = request.seeds.iter().enumerate().map(|at| self.answer(asked(at)));
            Ok(Completions { prompt: Arc::default(), completions: completions.collect() })
        };
        requests.iter().map(answers).collect()
    }
}

/// A small configuration of the two plugins, a policy for each seat.
pub fn config() -> Config {
    let mut config = Config::default();
    config.plugins.files = ["ledger-environment", "relay-workflow"].map(fixture).to_vec();
    config.roles = Roles::PerRole;
    config.rollout.max_turns = 2;
    config.rollout.tasks_per_step = 4;
    config.train.learning_rate = 1e-3;
    config
}

/// The team of a configuration, with scripted players in some seats.
pub fn team(config: &Config, players: &[(&str, &Arc<Script>)]) -> Team {
    let mut team = Team::assemble(config, Device::cpu()).unwrap();
    for (seat, script) in players {
        team.role_map.connect(seat, (*script).clone());
        team.policies.remove(*seat);
    }
    team
}

/// A run of a configuration, at its first step.
pub fn begin(config: &Config) -> Training {
    let team = Team::assemble(config, Device::cpu()).unwrap();
    let config = team.resolve(config);
    let folder = RunFolder::create(&config, "run").unwrap();
    Training::begin(config, team, folder).unwrap()
}

/// The first training tasks of a team's only family.
pub fn training_tasks(team: &Team, count: u32, seed: Seed) -> Vec<TaskSeed> {
    let task = |task: u32| TaskSeed {
        scenario: team.families[0].scenario.clone(),
        split: Split::Train,
        task,
        seed: seed.at(task.into()),
    };
    (0..count).map(task).collect()
}

/// Some training tasks with scripted players in both seats.
pub fn play(config: &Config, first: &Arc<Script>, second: &Arc<Script>) -> Rollout {
    let team = team(config, &[(SEATS[0], first), (SEATS[1], second)]);
    let tasks = training_tasks(&team, config.rollout.tasks_per_step as u32, Seed::new(5));
    collect(&Setting::of(&team.role_map, config), &team.policies, &tasks).unwrap()
}

/// The tasks a first seat was asked about, split and seed.
pub fn tasks<'a>(asked: impl IntoIterator<Item = &'a Asked>) -> BTreeSet<(&'a str, u32)> {
    asked.into_iter().map(Asked::task).collect()
}
