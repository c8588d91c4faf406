//! How a policy's answers are drawn.

use std::collections::BTreeMap;

use crate::constraint::Constraint;
use crate::error::PolicyError;
use troupe_core::config::RolloutConfig;

/// How answers are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// Logits are divided by it; 0 takes the likeliest token (greedy).
    pub temperature: f64,
    /// Nucleus: the smallest set of tokens with at least this probability; 1 keeps all.
    pub top_p: f64,
    /// The likeliest tokens that are kept; 0 keeps all.
    pub top_k: usize,
    /// Tokens with less than this share of the likeliest token's probability
    /// are left out; 0 keeps all.
    pub min_p: f64,
    /// Logits of tokens that the prompt or the answer had before are divided
    /// by it if positive and multiplied by it if negative (arXiv 1909.05858,
    /// section 4.1); 1 changes nothing.
    pub repetition_penalty: f64,
    /// Texts that end an answer; they are not part of its text.
    pub stop: Vec<String>,
    /// What answers may be, if not anything; after a thought, if there is one.
    pub constraint: Option<Constraint>,
    /// Tokens per answer, the end-of-text token included.
    pub max_completion_tokens: usize,
    /// Tokens of thinking in an answer, after which the thought is ended; 0 sets no bound.
    pub thinking_budget: usize,
}

/// How the answers of each role are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct SamplingByRole {
    /// Each way once, the common one first.
    ways: Vec<Sampling>,
    /// The roles that have one of the others.
    of_role: BTreeMap<String, usize>,
}

impl SamplingByRole {
    /// The common way, and that of roles which may have their own.
    pub fn new(common: Sampling, roles: impl IntoIterator<Item = (String, Sampling)>) -> Self {
        let mut by_role = SamplingByRole::from(common);
        for (role, sampling) in roles {
            let known = by_role.ways.iter().position(|way| *way == sampling);
            let way = known.unwrap_or_else(|| {
                by_role.ways.push(sampling);
                by_role.ways.len() - 1
            });
            by_role.of_role.insert(role, way);
        }
        by_role
    }

    /// Each way once; the common one is the first.
    pub fn ways(&self) -> &[Sampling] {
        &self.ways
    }

    /// Which of the ways a role's answers are drawn in.
    pub fn way_of(&self, role: &str) -> usize {
        self.of_role.get(role).copied().unwrap_or(0)
    }

    /// How a role's answers are drawn.
    pub fn of(&self, role: &str) -> &Sampling {
        &self.ways[self.way_of(role)]
    }
}

impl From<Sampling> for SamplingByRole {
    fn from(common: Sampling) -> Self {
        SamplingByRole { ways: vec![common], of_role: BTreeMap::new() }
    }
}

impl Sampling {
    /// The likeliest token every time.
    pub fn greedy(max_completion_tokens: usize) -> Self {
        Sampling { temperature: 0.0, ..Sampling::plain(max_completion_tokens) }
    }

    /// Draws from the policy's own distribution, unchanged.
    pub fn plain(max_completion_tokens: usize) -> Self {
        Sampling {
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            stop: Vec::new(),
            constraint: None,
            max_completion_tokens,
            thinking_budget: 0,
        }
    }

    /// Whether what was said before changes what is said next.
    pub fn penalizes(&self) -> bool {
        self.repetition_penalty != 1.0
    }

    /// Whether what may be said next depends on every token so far.
    pub(super) fn heeds_every_token(&self) -> bool {
        self.thinking_budget > 0 || self.constraint.is_some()
    }

    /// Whether tokens are cut off from a vocabulary of this size.
    pub fn truncates(&self, vocabulary: i64) -> bool {
        self.top_p < 1.0 || self.min_p > 0.0 || self.top_k > 0 && (self.top_k as i64) < vocabulary
    }

    /// Refuse settings that no distribution corresponds to.
    pub fn check(&self) -> Result<(), PolicyError> {
        let refuse = |setting, value, range| Err(PolicyError::Sampling { setting, value, range });
        if !(self.temperature >= 0.0 && self.temperature.is_finite()) {
            return refuse("temperature", self.temperature, "0 or more");
        }
        if !(self.top_p > 0.0 && self.top_p <= 1.0) {
            return refuse("top_p", self.top_p, "more than 0 and at most 1");
        }
        if !(0.0..=1.0).contains(&self.min_p) {
            return refuse("min_p", self.min_p, "between 0 and 1");
        }
        if !(self.repetition_penalty > 0.0 && self.repetition_penalty.is_finite()) {
            return refuse("repetition_penalty", self.repetition_penalty, "more than 0");
        }
        if self.max_completion_tokens == 0 {
            return refuse("max_completion_tokens", 0.0, "1 or more");
        }
        Ok(())
    }
}

impl From<&RolloutConfig> for Sampling {
    /// All but the constraint, which takes the plugins' words.
    fn from(config: &RolloutConfig) -> Self {
        Sampling {
            temperature: config.temperature,
            top_p: config.top_p,
            top_k: config.top_k,
            min_p: config.min_p,
            repetition_penalty: config.repetition_penalty,
            stop: config.stop.clone(),
            constraint: None,
            max_completion_tokens: config.max_completion_tokens,
            thinking_budget: config.thinking_budget,
        }
    }
}
