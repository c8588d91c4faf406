//! Which policy plays which role.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::ensemble::{ChosenBy, Ensemble};
use super::remote::Remote;
use troupe_core::config::{
    Allowed, CreditStep, RoleConfig, Roles, RolloutConfig, ValidationConfig,
};
use troupe_core::error::{Coded, ExitCode, suggestion};
use troupe_core::seed::Seed;
use troupe_core::trajectory::Sample;
use troupe_guests::scenario::Due;
use troupe_model::{Constraint, Policy, Sampling, SamplingByRole};

/// Why the roles cannot be filled.
#[derive(Debug, thiserror::Error)]
pub enum RoleMapError {
    /// A role that no policy plays.
    #[error("no policy plays the role `{role}`; add `roles.{role} = \"<policy>\"`")]
    Vacant {
        /// The role.
        role: String,
    },
    /// A policy that does not exist.
    #[error(
        "roles.{role} names the policy `{policy}`, which has no table [policies.{policy}]{suggestion}"
    )]
    UnknownPolicy {
        /// The role.
        role: String,
        /// The policy that was named.
        policy: String,
        /// The nearest right one.
        suggestion: String,
    },
    /// A critic that would play.
    #[error(
        "the policy `{policy}` is a critic (policies.{policy}.learns), which plays no role, and \
         `roles` gives it `{role}`; call the critic otherwise, or name another policy for the role"
    )]
    Critic {
        /// The critic.
        policy: String,
        /// The role.
        role: String,
    },
    /// A snapshot of a policy that plays no role and so never trains.
    #[error(
        "the policy `{policy}` is a snapshot of `{of}`, which plays no role and so never changes; \
         give `{of}` a role, or take a snapshot of one that has one"
    )]
    IdleSource {
        /// The snapshot.
        policy: String,
        /// What it is a snapshot of.
        of: String,
    },
    /// An entry for a role that the workflow does not have.
    #[error("the workflow has no role `{role}`{suggestion}")]
    UnknownRole {
        /// The role that was named.
        role: String,
        /// The nearest right one.
        suggestion: String,
    },
    /// A step of `advantage.then` that would mask nothing.
    #[error(
        "`advantage.then` has \"mask:role={role}\", and the workflow has no role `{role}`{suggestion}"
    )]
    UnknownMasked {
        /// The role that was named.
        role: String,
        /// The nearest right one.
        suggestion: String,
    },
}

impl Coded for RoleMapError {
    fn code(&self) -> Option<ExitCode> {
        Some(ExitCode::Usage)
    }
}

/// Role → policy name, complete for a workflow, how each role is asked, and the
/// policies among them that play from elsewhere.
#[derive(Clone, Debug)]
pub struct RoleMap {
    roles: BTreeMap<String, String>,
    settings: BTreeMap<String, RoleConfig>,
    /// The snapshots of a policy that may be asked in its place.
    stand_ins: BTreeMap<String, Vec<String>>,
    /// The policies that are several others.
    ensembles: BTreeMap<String, Ensemble>,
    remotes: BTreeMap<String, Arc<dyn Remote>>,
    /// Policies that nothing changes.
    frozen: BTreeSet<String>,
    /// Roles that the environment's expert plays, as far as it can.
    experts: BTreeSet<String>,
    /// Words that the plugins declare.
    words: Arc<[String]>,
}

impl RoleMap {
    /// Fill the workflow's roles. With `roles = "shared"` or `"per-role"` the
    /// policies need no table of their own; policies named role by role do.
    ///
    /// # Errors
    /// If a role or policy that is named does not exist, or a role has no policy.
    pub fn new(roles: &Roles, names: &[String], policies: &[String]) -> Result<Self, RoleMapError> {
        for (role, entry) in roles.entries() {
            check_entry(role, entry.policy.as_deref(), names, policies)?;
        }
        let fill = |name: &String| match roles.policy_of(name) {
            Some(policy) => Ok((name.clone(), policy.to_owned())),
            None => Err(RoleMapError::Vacant { role: name.clone() }),
        };
        let settings = roles.entries().map(|(role, entry)| (role.clone(), entry.clone())).collect();
        let roles = names.iter().map(fill).collect::<Result<_, _>>()?;
        let (stand_ins, ensembles) = (BTreeMap::new(), BTreeMap::new());
        let (remotes, frozen, words) = (BTreeMap::new(), BTreeSet::new(), Arc::default());
        let experts = BTreeSet::new();
        Ok(RoleMap { roles, settings, stand_ins, ensembles, remotes, frozen, experts, words })
    }

    /// Refuse the name of a role that nobody plays.
    ///
    /// # Errors
    /// If nobody plays it.
    pub fn check_role(&self, role: &str) -> Result<(), RoleMapError> {
        let names: Vec<String> = self.roles.keys().cloned().collect();
        check_entry(role, None, &names, &[])
    }

    /// Refuse steps that mask the answers of a role that nobody plays.
    ///
    /// # Errors
    /// If there is one.
    pub fn check_steps(&self, steps: &[CreditStep]) -> Result<(), RoleMapError> {
        for step in steps {
            let CreditStep::MaskRole(role) = step else { continue };
            if !self.roles.contains_key(role) {
                let suggestion = suggestion(role, self.roles.keys().map(String::as_str));
                return Err(RoleMapError::UnknownMasked { role: role.clone(), suggestion });
            }
        }
        Ok(())
    }

    /// Have another policy play a role.
    pub fn recast(&mut self, role: &str, policy: &str) {
        self.roles.insert(role.to_owned(), policy.to_owned());
    }

    /// Have the environment's expert play a role; where it says nothing, the role's policy does.
    pub fn leave_to_expert(&mut self, role: &str) {
        self.experts.insert(role.to_owned());
    }

    /// Whether the environment's expert plays a role.
    pub fn is_experts(&self, role: &str) -> bool {
        self.experts.contains(role)
    }

    /// Have a snapshot of a policy be asked in its place as often as itself.
    pub fn add_stand_in(&mut self, policy: &str, snapshot: &str) {
        self.stand_ins.entry(policy.to_owned()).or_default().push(snapshot.to_owned());
    }

    /// What answers a request to the role: its policy or one of its stand-ins,
    /// each with the same probability.
    pub fn draw_policy(&self, role: &str, seed: Seed) -> &str {
        let policy = self.policy_of(role);
        let stand_ins = self.stand_ins.get(policy).map_or(&[][..], Vec::as_slice);
        let drawn = seed.index(stand_ins.len() + 1).checked_sub(1);
        drawn.and_then(|index| stand_ins.get(index)).map_or(policy, String::as_str)
    }

    /// Have several policies play in the place of one, none of which learns.
    pub fn gather(&mut self, policy: &str, ensemble: Ensemble) {
        self.freeze(policy);
        self.ensembles.insert(policy.to_owned(), ensemble);
    }

    /// Have another of a policy's members answer, or have them be chosen otherwise.
    pub fn choose_by(&mut self, policy: &str, by: ChosenBy) {
        if let Some(ensemble) = self.ensembles.get_mut(policy) {
            ensemble.by = by;
        }
    }

    /// The policies that are several others, by name.
    pub fn ensembles(&self) -> &BTreeMap<String, Ensemble> {
        &self.ensembles
    }

    /// Who answers a request to the policy: one of its members, if it is several, or itself.
    pub fn answerer<'a>(&'a self, policy: &'a str, due: &Due, seed: Seed) -> &'a str {
        let situation = due.request.situation.as_deref();
        let of = |ensemble: &'a Ensemble| ensemble.choose(due.role(), situation, seed);
        self.ensembles.get(policy).and_then(of).unwrap_or(policy)
    }

    /// The policies whose weights answer in the place of this one: its members, or itself.
    pub fn members<'a>(&'a self, policy: &'a str) -> Vec<&'a str> {
        match self.ensembles.get(policy) {
            Some(ensemble) => ensemble.members.iter().map(String::as_str).collect(),
            None => vec![policy],
        }
    }

    /// Completions of a role per state, if it has a number of its own.
    pub fn branches(&self, role: &str) -> Option<usize> {
        self.settings.get(role)?.branches
    }

    /// Whether a role thinks before it answers, if that is not left to its policy.
    pub fn thinking(&self, role: &str) -> Option<bool> {
        self.settings.get(role)?.enable_thinking
    }

    /// How the answers of each role are drawn.
    pub fn sampling(&self, config: &RolloutConfig) -> SamplingByRole {
        let constraint = |allowed: &Allowed| Constraint::new(allowed, &self.words);
        let constraint_of = |allowed: &Option<Allowed>| allowed.as_ref().map(constraint);
        let common =
            Sampling { constraint: constraint_of(&config.allowed), ..Sampling::from(config) };
        let by_role = self.settings.iter().map(|(role, settings)| {
            let default = common.clone();
            let temperature = settings.temperature.unwrap_or(common.temperature);
            let sampling = Sampling {
                // A policy that is greedy in one role is greedy in all.
                temperature: if common.temperature == 0.0 { 0.0 } else { temperature },
                top_p: settings.top_p.unwrap_or(common.top_p),
                max_completion_tokens: settings
                    .max_completion_tokens
                    .unwrap_or(common.max_completion_tokens),
                thinking_budget: settings.thinking_budget.unwrap_or(common.thinking_budget),
                constraint: constraint_of(&settings.allowed).or(default.constraint.clone()),
                ..default
            };
            (role.clone(), sampling)
        });
        let by_role: Vec<(String, Sampling)> = by_role.collect();
        SamplingByRole::new(common, by_role)
    }

    /// The same roles where they are examined, with the validation's own way to draw.
    #[must_use]
    pub fn examined(&self, validation: &ValidationConfig) -> RoleMap {
        let mut examined = self.clone();
        for settings in examined.settings.values_mut() {
            settings.temperature = validation.temperature.or(settings.temperature);
            settings.top_p = validation.top_p.or(settings.top_p);
        }
        examined
    }

    /// Say which words the plugins declare, for roles that are `allowed` no others.
    pub fn declare(&mut self, words: Vec<String>) {
        self.words = words.into();
    }

    /// Have a policy of the role map answered for by a remote, such as a server.
    pub fn connect(&mut self, policy: &str, remote: Arc<dyn Remote>) {
        self.remotes.insert(policy.to_owned(), remote);
    }

    /// Have a policy of the role map play without learning.
    pub fn freeze(&mut self, policy: &str) {
        self.frozen.insert(policy.to_owned());
    }

    /// Whether the policy that plays `role` learns from its answers.
    pub fn learns(&self, role: &str) -> bool {
        !self.frozen.contains(self.policy_of(role))
    }

    /// Whether the policy that gave an answer learns from it.
    pub fn learns_from(&self, sample: &Sample) -> bool {
        !self.frozen.contains(&sample.policy)
    }

    /// The roles whose policies learn, in order.
    pub fn trained_roles(&self) -> Vec<String> {
        self.roles.keys().filter(|role| self.learns(role)).cloned().collect()
    }

    /// The policies that remotes answer for, by name.
    pub fn remotes(&self) -> &BTreeMap<String, Arc<dyn Remote>> {
        &self.remotes
    }

    /// Name of the policy that plays `role`; every role of the workflow has one.
    pub fn policy_of(&self, role: &str) -> &str {
        self.roles.get(role).map_or("", String::as_str)
    }

    /// The policies with the roles that each plays or may stand in for; several that play in the
    /// place of one, each for itself.
    pub fn policies(&self) -> BTreeMap<String, Vec<String>> {
        let mut policies: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (role, policy) in &self.roles {
            let stand_ins = self.stand_ins.get(policy).into_iter().flatten();
            for name in self.members(policy).into_iter().chain(stand_ins.map(String::as_str)) {
                policies.entry(name.to_owned()).or_default().push(role.clone());
            }
        }
        policies
    }
}

fn check_entry(
    role: &str,
    policy: Option<&str>,
    names: &[String],
    policies: &[String],
) -> Result<(), RoleMapError> {
    if !names.iter().any(|name| name == role) {
        let suggestion = suggestion(role, names.iter().map(String::as_str));
        return Err(RoleMapError::UnknownRole { role: role.to_owned(), suggestion });
    }
    if let Some(policy) = policy.filter(|policy| !policies.iter().any(|name| name == policy)) {
        return Err(RoleMapError::UnknownPolicy {
            role: role.to_owned(),
            policy: policy.to_owned(),
            suggestion: suggestion(policy, policies.iter().map(String::as_str)),
        });
    }
    Ok(())
}

/// The policies of a run that are in this process, by name.
pub type Policies = BTreeMap<String, Policy>;

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    fn table(entries: &[(&str, &str)]) -> Roles {
        let entry =
            |policy: &str| RoleConfig { policy: Some(policy.to_owned()), ..RoleConfig::default() };
        Roles::Table(entries.iter().map(|(r, p)| (r.to_string(), entry(p))).collect())
    }

    #[test]
    fn one_word_fills_all_roles() {
        let both = names(&["planner", "executor"]);
        let shared = RoleMap::new(&Roles::Shared, &both, &[]).unwrap();
        assert_eq!(
            shared.policies(),
            BTreeMap::from([("shared".into(), names(&["executor", "planner"]))])
        );
        let per_role = RoleMap::new(&Roles::PerRole, &both, &[]).unwrap();
        assert_eq!(per_role.policy_of("planner"), "planner");
    }

    #[test]
    fn a_role_without_a_policy_and_a_policy_that_is_not_there_are_named() {
        let both = names(&["planner", "executor"]);
        let message =
            |roles| RoleMap::new(&roles, &both, &names(&["big"])).unwrap_err().to_string();
        assert!(message(table(&[("planner", "big")])).contains("role `executor`"));
        assert!(message(table(&[("planner", "bog")])).contains("did you mean `big`?"));
        assert!(message(table(&[("planer", "big")])).contains("did you mean `planner`?"));
    }

    #[test]
    fn a_step_that_masks_a_role_that_nobody_plays_is_named_with_the_nearest_one() {
        let both = names(&["planner", "executor"]);
        let shared = RoleMap::new(&Roles::Shared, &both, &[]).unwrap();
        let step = |word: &str| word.parse::<CreditStep>().unwrap();
        let right = ["mask:truncated", "mask:role=executor", "judge:planer"].map(step);
        assert!(shared.check_steps(&right).is_ok());
        let wrong = ["mask:role=planner", "mask:role=planer"].map(step);
        assert_eq!(
            shared.check_steps(&wrong).unwrap_err().to_string(),
            "`advantage.then` has \"mask:role=planer\", and the workflow has no role `planer`; did \
             you mean `planner`?"
        );
    }
}
