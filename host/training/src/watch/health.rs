//! What a run notices while it goes on: signs that something is wrong, each said once, in words,
//! with what to try. What makes a run stop is in `guard`.
//!
//! A sign must show in several steps in a row, as many as its `patience` says: single steps are
//! noise. The list for readers is in `docs/metrics.md`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::metrics::{Record, RoleMetrics, Success};
use troupe_core::statistics::wilson;
use troupe_trainer::{Information, UpdateMetrics};

/// Steps in a row that a sign must show.
pub const SIGN_STEPS: usize = 5;
/// Entropy below which a policy says one thing only, in nats per token.
const NO_ENTROPY: f64 = 0.005;
/// Share of solved episodes above which one thing may well be the right one.
const WELL_SOLVED: f64 = 0.9;
/// Share of answers cut by the limit of tokens.
const MANY_CUT: f64 = 0.3;
/// Share of answers whose actions were carried out that is few; it is where most runs begin, so
/// that it must last this many times as long as other signs before it is said, unless there were
/// more before.
const FEW_ACCEPTED: f64 = 0.3;
const MANY_TIMES: usize = 8;
/// Share of answers that repeat their prompt.
const MANY_ECHOES: f64 = 0.5;
/// Share of void episodes that is much, and how much more than before.
const MANY_VOID: f64 = 0.05;
const MORE_VOID: f64 = 2.0;
/// Nats per token that good answers lose in an update, which is much; a healthy run has a few
/// hundredths, now up, now down.
const DISPLACED: f64 = 0.1;
const DISPLACED_STEPS: usize = 3;
/// How often its own prompt has to make an answer likeliest, in units of chance, and the share of
/// the most information that answers have had about their prompts, below which they ignore these;
/// and how often that is measured before it is said.
const FOUND_BY_CHANCE: f64 = 1.5;
const FORGOTTEN: f64 = 0.5;
const MEASURED: usize = 2;
/// Divergence between sampler and trainer, in nats per token: the capped weights of
/// `train.importance` begin to cut there.
const APART: f64 = 0.02;

/// What was seen so far; part of a run's progress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Health {
    /// Signs, by name and by what they are of, and for how many steps in a row they showed.
    signs: BTreeMap<String, usize>,
    /// Those already reported.
    told: BTreeSet<String>,
    /// Mean share of void episodes, and of how many steps.
    void: (f64, usize),
    /// By role, the lower end of the interval of the largest share of answers that was carried out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    accepted: BTreeMap<String, f64>,
    /// By role, the most that its answers have said of its prompts, in nats.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    informed: BTreeMap<String, f64>,
    /// Rewards of training since the last validation, added up, and their steps.
    reward: (f64, usize),
    /// Their spread and the episodes that they come from.
    #[serde(default, skip_serializing_if = "Rewards::is_empty")]
    rewards: Rewards,
    /// The best validation so far.
    best: Option<Validated>,
}

/// Of the rewards since the last validation: squares of them, added up over steps as their means
/// are, and episodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Rewards {
    squares: f64,
    episodes: usize,
}

impl Rewards {
    fn is_empty(&self) -> bool {
        *self == Rewards::default()
    }

    /// The standard error of a mean of so many steps. Answers of an episode are not independent,
    /// so it is the episodes that count.
    fn error(&self, mean: f64, steps: usize) -> f64 {
        let variance = (self.squares / steps.max(1) as f64 - mean * mean).max(0.0);
        (variance / self.episodes.max(1) as f64).sqrt()
    }
}

/// A validation, and what was earned in training before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Validated {
    success: f64,
    /// Lower end of its interval.
    low: f64,
    reward: f64,
    /// Standard error of the reward.
    #[serde(default)]
    error: f64,
}

/// Something that may be wrong.
struct Sign {
    /// What it is, and which role or policy it concerns.
    name: String,
    shows: bool,
    /// Steps in a row after which it is said.
    patience: usize,
    words: String,
}

impl Health {
    /// Take in a step; returns the warnings it gives rise to.
    pub fn take_in(&mut self, record: &Record) -> Vec<String> {
        let mut signs: Vec<Sign> = Vec::new();
        for (role, metrics) in &record.roles {
            let before = self.accepted.entry(role.clone()).or_default();
            let (low, high) = wilson(metrics.accepted, metrics.samples);
            let fell = *before >= FEW_ACCEPTED && high < *before;
            signs.extend(of_role(role, metrics, fell));
            *before = before.max(low);
        }
        let solved = record.families.values().map(|family| family.solved * family.episodes as f64);
        let solved = solved.sum::<f64>() / record.episodes.max(1) as f64;
        for (policy, update) in &record.updates {
            signs.extend(of_entropy(policy, update, solved));
            signs.extend(of_policy(policy, update));
        }
        for (role, found) in &record.information {
            let most = self.informed.entry(role.clone()).or_default();
            signs.push(of_information(role, found, *most));
            *most = most.max(found.information);
        }
        signs.extend(self.of_void(record));
        signs.extend(self.of_validation(record));
        signs.into_iter().filter_map(|sign| self.weigh(sign)).collect()
    }

    /// The words of a sign that has shown long enough, once.
    fn weigh(&mut self, sign: Sign) -> Option<String> {
        let streak = self.signs.entry(sign.name.clone()).or_default();
        *streak = if sign.shows { *streak + 1 } else { 0 };
        (*streak >= sign.patience && self.told.insert(sign.name)).then_some(sign.words)
    }

    /// Plugins that fail more often than they did.
    fn of_void(&mut self, record: &Record) -> Option<Sign> {
        if record.episodes == 0 {
            return None;
        }
        let void = record.endings.get("void").copied().unwrap_or_default() as f64;
        let share = void / record.episodes as f64;
        let (usual, steps) = self.void;
        let (least, _) = wilson(share, record.episodes);
        let shows = steps >= SIGN_STEPS && least > MANY_VOID && least > MORE_VOID * usual;
        if !shows {
            self.void = ((usual * steps as f64 + share) / (steps + 1) as f64, steps + 1);
        }
        let most = record.void.iter().max_by_key(|(_, count)| **count);
        Some(Sign {
            name: "void".to_owned(),
            shows,
            patience: SIGN_STEPS,
            words: format!(
                "{:.0} % of the episodes are void, and {:.0} % were before: what the policies have \
                 learned to say makes a plugin or a server fail (mostly `{}`); look at `void` in \
                 metrics.jsonl and at those episodes, and raise the limit that is met or mend the \
                 plugin",
                100.0 * share,
                100.0 * usual,
                most.map_or("", |(cause, _)| cause)
            ),
        })
    }

    /// More reward in training and less success on held-out tasks.
    fn of_validation(&mut self, record: &Record) -> Option<Sign> {
        if record.episodes > 0 {
            let earned = record.roles.values().map(|role| role.reward.mean * role.samples as f64);
            let samples = record.roles.values().map(|role| role.samples).sum::<usize>();
            let squared = record.roles.values().map(|role| {
                (role.reward.mean.powi(2) + role.reward.std.powi(2)) * role.samples as f64
            });
            self.rewards.squares += squared.sum::<f64>() / samples.max(1) as f64;
            self.rewards.episodes += record.episodes;
            self.reward.0 += earned.sum::<f64>() / samples.max(1) as f64;
            self.reward.1 += 1;
        }
        let validation = record.validation.as_ref()?;
        let (sum, steps) = std::mem::take(&mut self.reward);
        let rewards = std::mem::take(&mut self.rewards);
        if steps == 0 {
            return None;
        }
        let Success { success, low, high, .. } = validation.greedy;
        let reward = sum / steps as f64;
        let now = Validated { success, low, reward, error: rewards.error(reward, steps) };
        let Some(best) = self.best.filter(|best| best.success > now.success) else {
            self.best = Some(now);
            return None;
        };
        Some(Sign {
            name: "validation".to_owned(),
            // Both have to be beyond what chance does: intervals that do not meet, and twice the
            // standard error of a difference.
            shows: high < best.low && now.reward - best.reward > 2.0 * now.error.hypot(best.error),
            patience: 1,
            words: format!(
                "training earns more ({:+.3} a sample, {:+.3} before) while success on validation \
                 tasks fell from {:.1} to {:.1} %: the policies have found what is paid and does \
                 not solve tasks; see which part of the reward grew (roles.<role>.parts) and go \
                 back to the best checkpoint",
                now.reward,
                best.reward,
                100.0 * best.success,
                100.0 * now.success
            ),
        })
    }
}

/// `fell`: fewer of its answers are carried out than in an earlier step.
fn of_role(role: &str, metrics: &RoleMetrics, fell: bool) -> [Sign; 3] {
    let sign = |name: &str, share: f64, shows: bool, rest: &str| Sign {
        name: format!("{name} {role}"),
        shows: shows && metrics.samples > 0,
        patience: SIGN_STEPS,
        words: format!("{:.0} % of the answers of the role `{role}` {rest}", 100.0 * share),
    };
    let refused = 1.0 - metrics.accepted;
    let few = sign(
        "refused",
        refused,
        metrics.accepted < FEW_ACCEPTED,
        "were not carried out in full; `host play` shows what it is told and what is made of \
         its answers: the form that is asked for must be clear, and a warm start helps",
    );
    let patience = if fell { SIGN_STEPS } else { MANY_TIMES * SIGN_STEPS };
    [
        sign(
            "cut",
            metrics.cut,
            metrics.cut > MANY_CUT,
            "are cut by the limit of tokens, so nothing of them counts; raise \
             rollout.max_completion_tokens or roles.<role>.max_completion_tokens, or ask for less",
        ),
        Sign { patience, ..few },
        sign(
            "echo",
            metrics.echo,
            metrics.echo > MANY_ECHOES,
            "repeat their prompt word by word; a lower rollout.temperature, a warm start, or a \
             prompt that does not end in an example it can copy, helps",
        ),
    ]
}

/// Answers that no longer depend on what is asked, in which the entropy of each alone does not
/// show (RAGEN-2, arXiv 2604.06268).
fn of_information(role: &str, found: &Information, most: f64) -> Sign {
    let chance = 1.0 / found.prompts as f64;
    Sign {
        name: format!("information {role}"),
        shows: found.information < FORGOTTEN * most && found.found_again < FOUND_BY_CHANCE * chance,
        patience: MEASURED,
        words: format!(
            "the answers of the role `{role}` say {:.2} nats of their prompts, and said {most:.2}: \
             they have come to be the same whatever is asked; lower train.learning_rate or \
             train.entropy_coefficient, or go back to an earlier checkpoint",
            found.information
        ),
    }
}

/// Entropy is measured on all answers, also in a step that learned from none; only where there
/// was no answer it is exactly 0, and such a step says nothing either way.
fn of_entropy(policy: &str, update: &UpdateMetrics, solved: f64) -> Option<Sign> {
    let is_measured = update.samples > 0 || update.entropy > 0.0;
    is_measured.then(|| Sign {
        name: format!("entropy {policy}"),
        shows: update.entropy < NO_ENTROPY && solved < WELL_SOLVED,
        patience: SIGN_STEPS,
        words: format!(
            "the policy `{policy}` has stopped trying: its entropy is {:.4} nats per token, and \
             {:.0} % of the episodes are solved; raise train.entropy_coefficient, lower \
             train.learning_rate, or go back to an earlier checkpoint",
            update.entropy,
            100.0 * solved
        ),
    })
}

fn of_policy(policy: &str, update: &UpdateMetrics) -> [Sign; 4] {
    let sign = |name: &str, shows: bool, patience: usize, words: String| Sign {
        name: format!("{name} {policy}"),
        shows,
        patience,
        words,
    };
    [
        sign(
            "displacement",
            update.displacement.is_some_and(|lost| lost > DISPLACED),
            DISPLACED_STEPS,
            format!(
                "updates make the good answers of the policy `{policy}` less likely, too: by {:.2} \
                 nats per token in the last one; lower train.learning_rate or \
                 train.entropy_coefficient",
                update.displacement.unwrap_or_default()
            ),
        ),
        sign(
            "skipped",
            update.skipped_steps > 0,
            1,
            format!(
                "{} optimizer steps of the policy `{policy}` were left out because the gradient \
                 was not finite; lower train.learning_rate, or use float32",
                update.skipped_steps
            ),
        ),
        sign(
            "given up",
            update.is_given_up(),
            1,
            format!(
                "a step moved the policy `{policy}` by more than train.max_movement at smaller \
                 learning rates, too, and was given up; the next ones begin at {:.1e}",
                update.learning_rate
            ),
        ),
        sign(
            "apart",
            update.mismatch > APART,
            SIGN_STEPS,
            format!(
                "sampler and trainer disagree about the policy `{policy}` by {:.3} nats per token; \
                 set train.anchor = \"rescored\" and train.importance = \"truncate\", or use \
                 float32",
                update.mismatch
            ),
        ),
    ]
}

#[cfg(test)]
mod tests;
