//! Episodes played by the environment's expert, for policies to imitate.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde_json::Value;

use troupe_core::seed::Seed;
use troupe_core::statistics::mean;
use troupe_core::trajectory::{Ending, Message};
use troupe_guests::plugin::{PluginFailure, Split};
use troupe_guests::scenario::{Answer, Next, Scenario};

/// Episodes played for one helping of demonstrations.
const EPISODES: usize = 64;

/// Episodes by which it is told how many answers the expert's take.
const EPISODES_FOR_TURNS: usize = 32;

/// What a role was told and what the expert would have answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demonstration {
    /// The role.
    pub role: String,
    /// What it was told.
    pub prompt: Vec<Message>,
    /// The tools it was told of, as JSON schemas.
    pub tools: Vec<Value>,
    /// The expert's answer.
    pub text: String,
}

/// An endless, seeded supply of demonstrations from the training tasks.
///
/// The expert's answer is always the one to learn, but with probability
/// `exploration` the episode goes on from another answer the role has given
/// before, so that the states after a mistake are seen, too (the idea of
/// DAgger, arXiv 1011.0686, with random mistakes in place of the learner's).
pub struct Demonstrator<'a> {
    scenario: &'a Scenario,
    seed: Seed,
    exploration: f64,
    helpings: u64,
    /// Demonstrations in store, by role.
    store: BTreeMap<String, Vec<Demonstration>>,
    /// Texts of the answers so far, by role.
    texts: BTreeMap<String, Vec<String>>,
}

/// Why there is nothing to imitate.
#[derive(Debug, thiserror::Error)]
pub enum DemonstrationError {
    /// A plugin failed on every task.
    #[error(transparent)]
    Plugin(#[from] PluginFailure),
    /// There is no expert, or none for this role.
    #[error(
        "no demonstration for the role `{role}`: the environment `{environment}` has no expert \
         whose action the workflow `{workflow}` can phrase; set imitation.enabled = false"
    )]
    NoExpert {
        /// The role.
        role: String,
        /// The environment's name.
        environment: String,
        /// The workflow's name.
        workflow: String,
    },
}

/// Answers that the expert's episodes take, on average over some training tasks that it solves;
/// nothing if it solves none.
pub fn turns_of_expert(scenario: &Scenario, seed: Seed) -> Option<f64> {
    let expert = Demonstrator::new(scenario, seed, 0.0);
    let turns = |episode: usize| match expert.play(seed.at(episode as u64)) {
        Ok((demonstrations, true)) => Some(demonstrations.len() as f64),
        // Whoever cannot show the way is no measure of it.
        Ok((_, false)) | Err(_) => None,
    };
    let turns: Vec<f64> = (0..EPISODES_FOR_TURNS).into_par_iter().filter_map(turns).collect();
    (!turns.is_empty()).then(|| mean(&turns))
}

impl<'a> Demonstrator<'a> {
    /// A supply for `scenario`; the same seed gives the same demonstrations.
    pub fn new(scenario: &'a Scenario, seed: Seed, exploration: f64) -> Self {
        let (store, texts) = (BTreeMap::new(), BTreeMap::new());
        Demonstrator { scenario, seed, exploration, helpings: 0, store, texts }
    }

    /// The family that its demonstrations are of.
    pub fn family(&self) -> &str {
        &self.scenario.family
    }

    /// The next `count` demonstrations for every role of the workflow.
    ///
    /// # Errors
    /// If a plugin fails in every episode, or a role has nothing to imitate.
    pub fn take(&mut self, count: usize) -> Result<Vec<Demonstration>, DemonstrationError> {
        let roles = self.scenario.roles().to_vec();
        let mut taken = Vec::new();
        for role in roles {
            while self.store.get(&role.name).map_or(0, Vec::len) < count {
                let before = self.store.get(&role.name).map_or(0, Vec::len);
                self.gather()?;
                if self.store.get(&role.name).map_or(0, Vec::len) == before {
                    return Err(self.no_expert(&role.name));
                }
            }
            if let Some(store) = self.store.get_mut(&role.name) {
                taken.extend(store.drain(..count));
            }
        }
        Ok(taken)
    }

    /// Play one more helping of episodes into the store.
    fn gather(&mut self) -> Result<(), DemonstrationError> {
        let seed = self.seed.at(self.helpings);
        self.helpings += 1;
        let play = |episode: usize| self.play(seed.at(episode as u64)).map(|(played, _)| played);
        let played: Vec<Result<Vec<Demonstration>, PluginFailure>> =
            (0..EPISODES).into_par_iter().map(play).collect();
        // A failing episode is left out, unless all fail.
        let failed = played.iter().all(Result::is_err);
        let mut shuffled: Vec<(u64, Demonstration)> = Vec::new();
        for (index, demonstrations) in played.into_iter().enumerate() {
            match demonstrations {
                Err(failure) if failed => return Err(failure.into()),
                Err(_) => {}
                Ok(demonstrations) => {
                    let order = seed.named("order").at(index as u64);
                    let keyed = demonstrations.into_iter().enumerate();
                    shuffled.extend(keyed.map(|(turn, d)| (order.at(turn as u64).value(), d)));
                }
            }
        }
        shuffled.sort_by_key(|(key, _)| *key);
        for (_, demonstration) in shuffled {
            let role = demonstration.role.clone();
            self.texts.entry(role.clone()).or_default().push(demonstration.text.clone());
            self.store.entry(role).or_default().push(demonstration);
        }
        // Enough to draw mistakes from, without growing for ever.
        self.texts
            .values_mut()
            .for_each(|texts| drop(texts.drain(..texts.len().saturating_sub(512))));
        Ok(())
    }

    /// One episode, and whether it was solved.
    fn play(&self, seed: Seed) -> Result<(Vec<Demonstration>, bool), PluginFailure> {
        let mut demonstrations = Vec::new();
        let mut next = self.scenario.begin(Split::Train, seed.value_u32())?.next;
        let mut draw = seed.named("exploration");
        'rounds: while let Next::Asked(position) = next {
            let mut answers = Vec::new();
            for due in &position.due {
                let Some(text) = self.scenario.demonstrate(&position, due)? else { break 'rounds };
                draw = draw.at(0);
                answers.push(self.explore(due.role(), draw).unwrap_or(&text).to_owned());
                let (role, prompt) = (due.role().to_owned(), due.messages.to_vec());
                let tools = due.tools.to_vec();
                demonstrations.push(Demonstration { role, prompt, tools, text });
            }
            let given: Vec<Answer> =
                answers.iter().map(|text| Answer { text, complete: true, forced: false }).collect();
            next = match self.scenario.answer(&position, &given)?.next {
                Next::Ended(ending) => return Ok((demonstrations, ending == Ending::Solved)),
                asked @ Next::Asked(_) => asked,
            };
        }
        Ok((demonstrations, false))
    }

    fn explore(&self, role: &str, draw: Seed) -> Option<&str> {
        let texts = self.texts.get(role)?;
        let explores = draw.named("whether").unit() < self.exploration;
        explores.then(|| texts[draw.named("which").index(texts.len())].as_str())
    }

    fn no_expert(&self, role: &str) -> DemonstrationError {
        DemonstrationError::NoExpert {
            role: role.to_owned(),
            environment: self.scenario.environment.description().name.clone(),
            workflow: self.scenario.workflow.description().name.clone(),
        }
    }
}
