//! What a step is told about in `metrics.jsonl`: one record per step, made
//! from the sample table by pure functions.
//!
//! Everything that depends on the machine's speed lies under `timing`, so that
//! two runs of one seed differ there and nowhere else. Each figure is
//! explained in `docs/metrics.md`.

mod held_out;
mod several;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use troupe_core::statistics::mean;
use troupe_core::trajectory::{Ending, Episode, Event, Sample, StopReason};
use troupe_estimators::group::Group;
use troupe_trainer::{ContestMetrics, Information, UpdateMetrics, ValueMetrics};

pub use held_out::{HeldOut, Success};
pub use several::{Several, TaskMean, several_by_family, shares_of_tasks};
pub use troupe_core::outcome::{Answers, Outcome};
pub use troupe_core::totals::{Spent, Totals};

/// What became of a family's training tasks in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FamilyMetrics {
    /// Episodes sampled.
    pub episodes: usize,
    /// Share of them that was solved; of a tree, its kept branch.
    pub solved: f64,
    /// Answers that an episode took, on average.
    #[serde(default)]
    pub turns: f64,
    /// The same of those that were solved; nothing if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_solved: Option<f64>,
    /// Which rung of its curriculum they were played on, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rung: Option<usize>,
}

/// Mean and standard deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation, n in the denominator.
    pub std: f64,
}

impl Spread {
    /// Of some numbers; zeros if there are none.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = values.clone().count().max(1) as f64;
        let mean = values.clone().sum::<f64>() / count;
        let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        Spread { mean, std: variance.sqrt() }
    }
}

/// What one role did in a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleMetrics {
    /// Completions.
    pub samples: usize,
    /// r = α·team + local.
    pub reward: Spread,
    /// Mean of each named share of the reward, before α.
    pub parts: BTreeMap<String, f64>,
    /// Mean reward by turn.
    pub reward_by_turn: Vec<f64>,
    /// Share of completions whose actions were carried out in full.
    pub accepted: f64,
    /// Share of completions that were not, by what the environment charged them for, such as
    /// `unreadable` or `illegal`; `other` where it charged nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, f64>,
    /// Tokens per completion.
    pub completion_tokens: Spread,
    /// Share of completions cut by the token limit.
    pub cut: f64,
    /// Share of completions of some length that stand in their prompt, word by word.
    #[serde(default)]
    pub echo: f64,
    /// The role's groups; nothing of a role that does not train.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<GroupMetrics>,
    /// How much larger its squared advantages would be if all roles of a task
    /// were standardized together; 1 is neutral.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inflation: Option<f64>,
}

/// What the groups looked like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupMetrics {
    /// Groups formed.
    pub groups: usize,
    /// Share of them the filter left out.
    pub dropped: f64,
    /// Mean standard deviation of what is compared within a group.
    pub spread: f64,
}

/// Seconds and rates: the part of a record that no seed determines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// When the step was over, in seconds since 1970.
    #[serde(default)]
    pub unix: f64,
    /// Seconds by phase: `generation`, `plugins`, `update`, `validation`, `test`, `publication`.
    pub seconds: BTreeMap<String, f64>,
    /// What all steps so far have taken.
    #[serde(default)]
    pub totals: Spent,
    /// Completion tokens per second of generation.
    pub generated_tokens_per_second: f64,
    /// Completion and prompt tokens per second of the update, a group's prompt counted once.
    pub trained_tokens_per_second: f64,
}

/// What a critic has learned in a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CriticMetrics {
    /// From pairs of episodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contests: Option<ContestMetrics>,
    /// From what came of answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<ValueMetrics>,
}

/// One line of `metrics.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The step, from 1; 0 is the state training began from.
    pub step: usize,
    /// Episodes sampled.
    pub episodes: usize,
    /// How they ended, by ending; void ones under `void`.
    pub endings: BTreeMap<String, usize>,
    /// Void episodes by cause.
    pub void: BTreeMap<String, usize>,
    /// By family.
    pub families: BTreeMap<String, FamilyMetrics>,
    /// By role.
    pub roles: BTreeMap<String, RoleMetrics>,
    /// Those of all roles that train, before the filter.
    pub groups: GroupMetrics,
    /// By policy.
    pub updates: BTreeMap<String, UpdateMetrics>,
    /// By role, what its answers say of its prompts, on the steps that measure it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub information: BTreeMap<String, Information>,
    /// By critic.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub critics: BTreeMap<String, CriticMetrics>,
    /// With `--verify-logprobs`: the largest difference between a sampled
    /// token's log-probability and the training graph's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_logprob_difference: Option<f64>,
    /// By role whose answers a server draws: how far its log-probabilities of a canary are from
    /// those here, in nats per token.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub canaries: BTreeMap<String, f64>,
    /// How many updates behind the policies those were that gave this step's answers.
    #[serde(default, skip_serializing_if = "troupe_core::totals::is_zero")]
    pub staleness: usize,
    /// What was drawn and done in training since the run began.
    #[serde(default)]
    pub totals: Totals,
    /// Success on validation tasks, on the steps that measure it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<HeldOut>,
    /// Success on test tasks, before the first step and after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<HeldOut>,
    /// Warnings, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What no seed determines.
    pub timing: Timing,
}

/// How often each ending occurred, and why episodes were void.
pub fn count_endings(episodes: &[Episode]) -> (BTreeMap<String, usize>, BTreeMap<String, usize>) {
    let (mut endings, mut void) = (BTreeMap::new(), BTreeMap::new());
    for episode in episodes {
        if let Ending::Void { cause, .. } = &episode.ending {
            *void.entry(cause.clone()).or_default() += 1;
        }
        *endings.entry(episode.ending.word().to_owned()).or_default() += 1;
    }
    (endings, void)
}

/// What became of each family's training tasks.
pub fn measure_families(episodes: &[Episode]) -> BTreeMap<String, FamilyMetrics> {
    let names: BTreeSet<&String> = episodes.iter().map(|episode| &episode.family).collect();
    let measure = |name: &String| {
        let own: Vec<&Episode> =
            episodes.iter().filter(|episode| episode.family == *name).collect();
        let success = Success::of(own.iter().copied());
        let turns = |solved: bool| {
            let counted = own.iter().filter(|episode| !solved || episode.solved());
            let turns: Vec<f64> = counted.map(|episode| turns_of(episode) as f64).collect();
            (!turns.is_empty()).then(|| mean(&turns))
        };
        FamilyMetrics {
            episodes: success.tasks,
            solved: success.success,
            turns: turns(false).unwrap_or_default(),
            turns_solved: turns(true),
            rung: None,
        }
    };
    names.into_iter().map(|name| (name.clone(), measure(name))).collect()
}

/// Answers that were given in an episode.
fn turns_of(episode: &Episode) -> usize {
    let is_reply = |event: &&Event| matches!(event, Event::Replied { .. });
    episode.events.iter().filter(is_reply).count()
}

/// What each role did.
pub fn measure_roles(samples: &[Sample], alpha: f64) -> BTreeMap<String, RoleMetrics> {
    let mut by_role: BTreeMap<String, Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        by_role.entry(sample.role.clone()).or_default().push(sample);
    }
    by_role.into_iter().map(|(role, samples)| (role, measure_role(&samples, alpha))).collect()
}

fn measure_role(samples: &[&Sample], alpha: f64) -> RoleMetrics {
    let count = samples.len() as f64;
    let share = |holds: fn(&Sample) -> bool| {
        samples.iter().filter(|sample| holds(sample)).count() as f64 / count
    };
    let mut parts: BTreeMap<String, f64> = BTreeMap::new();
    let mut turns: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for sample in samples {
        turns.entry(sample.turn).or_default().push(sample.reward.total(alpha));
        for (name, value) in &sample.reward.parts {
            *parts.entry(name.clone()).or_default() += value / count;
        }
    }
    RoleMetrics {
        samples: samples.len(),
        reward: Spread::of(samples.iter().map(|sample| sample.reward.total(alpha))),
        parts,
        reward_by_turn: turns
            .into_values()
            .map(|rewards| rewards.iter().sum::<f64>() / rewards.len() as f64)
            .collect(),
        accepted: share(|sample| sample.accepted),
        refused: causes_of_refusal(samples),
        completion_tokens: Spread::of(
            samples.iter().map(|sample| sample.completion.length() as f64),
        ),
        cut: share(|sample| sample.completion.stop == StopReason::Length),
        echo: share(repeats_its_prompt),
        groups: None,
        inflation: None,
    }
}

/// The share of a reward that says that an answer could not be read, whatever it is charged.
const UNREADABLE: &str = "unreadable";

/// Why answers are refused that the limit of tokens cut.
const CUT: &str = "cut";

/// The share of completions that were refused, by why: the limit cut them, they could not be
/// read, or else the largest charge.
fn causes_of_refusal(samples: &[&Sample]) -> BTreeMap<String, f64> {
    let mut causes: BTreeMap<String, f64> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| !sample.accepted) {
        let parts = &sample.reward.parts;
        let charges = parts.iter().filter(|(_, value)| **value < 0.0);
        let largest = charges.min_by(|(_, first), (_, second)| first.total_cmp(second));
        let cause = match sample.completion.stop {
            StopReason::Length => CUT,
            _ if parts.contains_key(UNREADABLE) => UNREADABLE,
            _ => largest.map_or("other", |(name, _)| name),
        };
        *causes.entry(cause.to_owned()).or_default() += 1.0 / samples.len() as f64;
    }
    causes
}

/// Tokens of an answer that stand in its prompt by no accident.
const ECHO_TOKENS: usize = 12;

/// Whether all of an answer but its last token, which may end it, stands in its prompt.
fn repeats_its_prompt(sample: &Sample) -> bool {
    let tokens = &sample.completion.tokens;
    let said = &tokens[..tokens.len().saturating_sub(1)];
    said.len() >= ECHO_TOKENS && sample.prompt.windows(said.len()).any(|window| window == said)
}

/// What the groups of `role`, or of all roles, looked like before and after
/// the filter.
pub fn measure_groups(formed: &[Group], kept: &[Group], role: Option<&str>) -> GroupMetrics {
    let counts = |group: &&Group| role.is_none_or(|role| group.roles.contains(role));
    let formed: Vec<&Group> = formed.iter().filter(counts).collect();
    let kept = kept.iter().filter(counts).count();
    let count = formed.len().max(1) as f64;
    GroupMetrics {
        groups: formed.len(),
        dropped: (formed.len() - kept) as f64 / count,
        spread: formed.iter().map(|group| group.spread()).sum::<f64>() / count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::example::tree_of;
    use troupe_estimators::group::GroupUnit;

    #[test]
    fn roles_are_measured_apart_and_turn_by_turn() {
        let mut samples = tree_of(2, 3, &["planner", "executor"], 4);
        for sample in &mut samples {
            sample.reward.team = sample.turn as f64;
            sample.reward.parts.insert("progress".to_owned(), 2.0);
        }
        let roles = measure_roles(&samples, 0.5);
        assert_eq!(roles.keys().collect::<Vec<_>>(), ["executor", "planner"]);
        let planner = &roles["planner"];
        assert_eq!(planner.samples, 24);
        assert_eq!(planner.reward_by_turn, [0.0, 0.5, 1.0]);
        assert!((planner.parts["progress"] - 2.0).abs() < 1e-12);
        assert_eq!((planner.accepted, planner.cut), (1.0, 0.0));
    }

    #[test]
    fn refused_answers_are_counted_by_what_they_were_charged_for() {
        let mut samples = tree_of(1, 1, &["planner"], 4);
        let charges: [&[(&str, f64)]; 4] = [
            &[("unreadable", -0.1), ("idle", -0.1), ("move", -0.02)],
            &[("illegal", -0.2)],
            &[],
            &[("step", -1.0)],
        ];
        for (sample, charged) in samples.iter_mut().zip(charges) {
            let parts = charged.iter().map(|(name, value)| ((*name).to_owned(), *value));
            (sample.accepted, sample.reward.parts) = (false, parts.collect());
        }
        samples[3].accepted = true;
        let refused = &measure_roles(&samples, 1.0)["planner"].refused;
        let expected = [("illegal", 0.25), ("other", 0.25), ("unreadable", 0.25)];
        assert_eq!(*refused, expected.map(|(name, share)| (name.to_owned(), share)).into());
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_counted_as_that_even_where_it_costs_nothing() {
        let mut sample = tree_of(1, 1, &["solver"], 1).remove(0);
        let parts = [("unreadable", 0.0), ("idle", -0.3)];
        sample.reward.parts = parts.map(|(name, value)| (name.to_owned(), value)).into();
        sample.accepted = false;
        let cause = |sample: &Sample| {
            measure_roles(std::slice::from_ref(sample), 1.0)["solver"].refused.clone()
        };
        assert_eq!(cause(&sample), BTreeMap::from([("unreadable".to_owned(), 1.0)]));
        sample.completion.stop = StopReason::Length;
        assert_eq!(cause(&sample), BTreeMap::from([("cut".to_owned(), 1.0)]));
    }

    #[test]
    fn an_echo_is_a_long_answer_that_stands_in_its_own_prompt() {
        let prompt: Vec<u32> = (0..40).collect();
        let echo = |tokens: Vec<u32>| {
            let mut sample = tree_of(1, 1, &["planner"], 1).remove(0);
            sample.prompt = prompt.clone().into();
            sample.completion.tokens = tokens;
            measure_roles(&[sample], 1.0)["planner"].echo
        };
        let ended = |tokens: std::ops::Range<u32>| tokens.chain([99]).collect::<Vec<u32>>();
        assert_eq!(echo(ended(5..20)), 1.0);
        assert_eq!((echo(ended(5..10)), echo(ended(30..45)), echo(Vec::new())), (0.0, 0.0, 0.0));
    }

    #[test]
    fn groups_are_measured_role_by_role() {
        let group = |role: &str, worths: [f64; 2]| Group {
            roles: BTreeSet::from([role.to_owned()]),
            units: worths
                .map(|worth| GroupUnit {
                    members: vec![0],
                    worth,
                    weight: 1.0,
                    parts: BTreeMap::new(),
                })
                .to_vec(),
        };
        let formed = [
            group("planner", [1.0, 1.0]),
            group("planner", [1.0, 1.0]),
            group("executor", [0.0, 2.0]),
            group("executor", [0.0, 0.0]),
        ];
        let measure = |role| measure_groups(&formed, &formed[2..3], role);
        let metrics = |groups, dropped, spread| GroupMetrics { groups, dropped, spread };
        assert_eq!(measure(Some("planner")), metrics(2, 1.0, 0.0));
        assert_eq!(measure(Some("executor")), metrics(2, 0.5, 2.0_f64.sqrt() / 2.0));
        assert_eq!(measure(None), metrics(4, 0.75, 2.0_f64.sqrt() / 4.0));
    }

    fn episode(ending: Ending) -> Episode {
        let split = "train".to_owned();
        Episode {
            task: 0,
            family: "maze".to_owned(),
            split,
            seed: 0,
            episode: 0,
            events: Vec::new(),
            ending,
        }
    }

    #[test]
    fn void_episodes_are_counted_by_cause() {
        let void = |cause: &str| Ending::Void { cause: cause.to_owned(), message: String::new() };
        let episodes = [episode(Ending::Solved), episode(void("trap")), episode(void("trap"))];
        let (endings, causes) = count_endings(&episodes);
        assert_eq!(endings, BTreeMap::from([("solved".into(), 1), ("void".into(), 2)]));
        assert_eq!(causes, BTreeMap::from([("trap".into(), 2)]));
    }
}
