//! Walks: episodes played by the expert or by chance, and written down.

use std::collections::BTreeSet;

use super::environment::{EnvironmentUnderTest, EpisodeUnderTest};
use crate::Random;
use crate::environment::{Action, Outcome, Problem, Status, Task};

/// The role that acts in walks.
const ROLE: &str = "tester";

/// Texts that no language with a vocabulary contains.
pub(super) const GARBAGE: [&str; 6] =
    ["", " ", "\u{0}", "⊥ \u{1F9E8} ¬", "lorem ipsum dolor sit amet", "-1e999 [[[ {\"a\": NaN}"];

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
            observation: episode.observe()?,
            expert: episode.demonstrate()?,
            saved: episode.save()?,
        })
    }
}

/// One action, what it led to, and the moment after it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub action: Action,
    pub outcome: Outcome,
    pub after: Moment,
}

/// A task and all that was done in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Walk {
    pub task: Task,
    pub start: Moment,
    pub steps: Vec<Step>,
}

impl Walk {
    /// Take at most `limit` steps, each chosen from the moment before it; stop
    /// at the end of the episode or when nothing is chosen.
    pub fn take(
        environment: &dyn EnvironmentUnderTest,
        task: &Task,
        limit: usize,
        mut choose: impl FnMut(&Moment) -> Option<Action>,
    ) -> Result<Self, Problem> {
        let mut episode = environment.start(task)?;
        let start = Moment::of(&mut *episode)?;
        let mut walk = Walk { task: task.clone(), start, steps: Vec::new() };
        while walk.steps.len() < limit && walk.status() == Status::Ongoing {
            let Some(action) = choose(walk.now()) else { break };
            let outcome = episode.act(ROLE, &action)?;
            let after = Moment::of(&mut *episode)?;
            walk.steps.push(Step { action, outcome, after });
        }
        Ok(walk)
    }

    /// Let the expert play.
    pub fn of_expert(
        environment: &dyn EnvironmentUnderTest,
        task: &Task,
        limit: usize,
    ) -> Result<Self, Problem> {
        Walk::take(environment, task, limit, |moment| moment.expert.clone())
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

    /// All that was earned after each moment, the start first.
    pub fn earnings(&self) -> Vec<f64> {
        let earn = |sum: &mut f64, step: &Step| {
            *sum += step.outcome.team + step.outcome.local;
            Some(*sum)
        };
        std::iter::once(0.0).chain(self.steps.iter().scan(0.0, earn)).collect()
    }

    /// How a reader can find the walk.
    pub fn place(&self) -> String {
        format!("{:?} task {}", self.task.split, self.task.seed).to_lowercase()
    }
}

/// Act again as somebody did before; used to go on from saved states.
pub(super) fn act(episode: &mut dyn EpisodeUnderTest, action: &Action) -> Result<Outcome, Problem> {
    episode.act(ROLE, action)
}

/// What could be said in an environment's language, as far as its expert and
/// its vocabulary show.
pub(super) struct Phrasebook {
    kinds: Vec<String>,
    phrases: Vec<String>,
    /// Words that the expert uses.
    usual: Vec<String>,
    /// All words.
    words: Vec<String>,
}

impl Phrasebook {
    pub fn new(kinds: Vec<String>, vocabulary: &[String], walks: &[Walk]) -> Self {
        let moments = walks.iter().flat_map(Walk::moments);
        let experts = moments.filter_map(|moment| moment.expert.as_ref());
        let phrases: BTreeSet<String> = experts.map(|action| action.text.clone()).collect();
        let usual: BTreeSet<&str> =
            phrases.iter().flat_map(|phrase| phrase.split_whitespace()).collect();
        Phrasebook {
            kinds,
            usual: usual.into_iter().map(str::to_owned).collect(),
            phrases: phrases.into_iter().collect(),
            words: vocabulary.to_vec(),
        }
    }

    /// Any action: words of the language in any order, sometimes garbage. A
    /// tame one prefers what the expert says.
    pub fn action(&self, tame: bool, random: &mut Random) -> Option<Action> {
        let kind = random.choose(&self.kinds)?;
        let text = match random.below(10) {
            0 => random.choose(&GARBAGE)?.to_string(),
            1..=3 if tame => random.choose(&self.phrases).cloned().unwrap_or_default(),
            4..=9 if tame || self.words.is_empty() => jumble(&self.usual, random),
            _ => jumble(&self.words, random),
        };
        Some(Action::new(kind, text))
    }
}

/// Up to three words in any order.
fn jumble(words: &[String], random: &mut Random) -> String {
    let count = 1 + random.below(3);
    let chosen = (0..count).filter_map(|_| random.choose(words));
    chosen.map(String::as_str).collect::<Vec<_>>().join(" ")
}
