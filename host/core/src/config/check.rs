//! What must hold between settings; the range of each alone is in its table.

use super::table::{self, Kind};
use super::{
    AdvantageConfig, Allocation, AnchorChoice, Comparison, Config, ConfigError, PolicyConfig, Same,
    SamplingScheme, Scale, Unit, Worth,
};
use crate::error::suggestion;

impl Config {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.check_ranges("")?;
        require(
            self.run.name.as_deref().is_none_or(is_folder_name),
            "run.name",
            "it must be the plain name of a folder, without `/` and not beginning with a dot; \
             `run.dir` says where that folder is made",
        )?;
        self.check_rollout()?;
        self.check_families()?;
        require(
            !self.train.importance.weighs() || self.train.anchor != AnchorChoice::Sampled,
            "train.importance",
            "what the trainer makes of the tokens is known only if it scores them; set \
             train.anchor = \"rescored\"",
        )?;
        self.check_dual_clip()?;
        self.check_ensembles()?;
        self.check_critics()?;
        require(
            self.imitation.ceiling > self.imitation.success,
            "imitation.ceiling",
            "it must be above imitation.success",
        )?;
        for (name, policy) in &self.policies {
            self.check_adapter(name, policy)?;
            self.check_snapshot(name, policy)?;
            self.check_sampler(name, policy)?;
            self.check_tinker(name, policy)?;
            require(
                policy.head_size % 2 == 0,
                &format!("policies.{name}.head_size"),
                "it must be even",
            )?;
            require(
                policy.heads % policy.key_value_heads == 0,
                &format!("policies.{name}.key_value_heads"),
                "it must divide `heads`",
            )?;
            self.check_remote(name, policy)?;
        }
        Ok(())
    }

    fn check_remote(&self, name: &str, policy: &PolicyConfig) -> Result<(), ConfigError> {
        let Some(remote) = &policy.remote else { return Ok(()) };
        let weights = policy.path.is_some() || policy.base.is_some() || self.is_base(name);
        require(
            !weights,
            &format!("policies.{name}"),
            "a remote policy has no weights here, so no `path` and no `base`, and is the base \
             of none; it is loaded here or asked there, not both",
        )?;
        remote.check(&format!("policies.{name}.remote"))
    }

    fn check_adapter(&self, name: &str, policy: &PolicyConfig) -> Result<(), ConfigError> {
        let Some(base) = &policy.base else {
            return require(
                policy.lora.is_none(),
                &format!("policies.{name}.lora"),
                "an adapter needs a base; name another policy in `base`",
            );
        };
        let key = format!("policies.{name}.base");
        let suggestion = suggestion(base, self.policies.keys().map(String::as_str));
        let known = self.policies.get(base);
        require(
            known.is_some(),
            &key,
            &format!("there is no table [policies.{base}]{suggestion}"),
        )?;
        require(
            known.is_none_or(|base| base.base.is_none()),
            &key,
            &format!("`{base}` is an adapter itself; name the policy it is an adapter over"),
        )?;
        require(
            policy.path.is_none(),
            &format!("policies.{name}.path"),
            "an adapter's weights are named in `lora.path`, its base's in the base's table",
        )
    }

    fn check_snapshot(&self, name: &str, policy: &PolicyConfig) -> Result<(), ConfigError> {
        let Some(source) = &policy.snapshot_of else { return Ok(()) };
        let key = format!("policies.{name}.snapshot_of");
        let suggestion = suggestion(source, self.policies.keys().map(String::as_str));
        let known = self.policies.contains_key(source) || self.roles.may_imply(source);
        require(known, &key, &format!("there is no table [policies.{source}]{suggestion}"))?;
        require(
            self.trains(source),
            &key,
            &format!("`{source}` is not trained, so it has no earlier states; name one that is"),
        )?;
        let snapshot = PolicyConfig {
            snapshot_of: policy.snapshot_of.clone(),
            every: policy.every,
            ..PolicyConfig::default()
        };
        require(
            *policy == snapshot,
            &format!("policies.{name}"),
            &format!(
                "a snapshot is what `{source}` was; leave out all but snapshot_of and `every`"
            ),
        )
    }

    fn check_sampler(&self, name: &str, policy: &PolicyConfig) -> Result<(), ConfigError> {
        let Some(sampler) = &policy.sampler else { return Ok(()) };
        let base = policy.base.as_ref().and_then(|base| self.policies.get(base));
        let is_adapter = base.is_some_and(|base| base.path.is_some()) && self.trains(name);
        sampler.check(&format!("policies.{name}.sampler"), is_adapter)
    }

    fn check_rollout(&self) -> Result<(), ConfigError> {
        let rollout = &self.rollout;
        self.check_comparison()?;
        self.check_tables()?;
        self.check_roles()?;
        self.check_allowed()?;
        require(
            rollout.stop.iter().all(|stop| !stop.is_empty()),
            "rollout.stop",
            "an empty text would end every answer at once",
        )
    }

    /// Refuse a run that would never end: stored answers count in the run that drew them.
    ///
    /// # Errors
    /// If no answers are drawn, and a number of them is to end the run.
    pub fn check_end(&self) -> Result<(), ConfigError> {
        let budget = &self.train.budget;
        for (limit, key) in
            [(budget.completion_tokens, "completion_tokens"), (budget.samples, "samples")]
        {
            require(
                limit.is_none() || self.rollout.tables.is_empty(),
                &format!("train.budget.{key}"),
                "stored answers count in the run that drew them, so that nothing of it would ever \
                 be spent; leave it out, and set train.steps or train.budget.seconds",
            )?;
        }
        Ok(())
    }

    /// What must hold where stored answers are learned from.
    fn check_tables(&self) -> Result<(), ConfigError> {
        let rollout = &self.rollout;
        if rollout.tables.is_empty() {
            return Ok(());
        }
        require(
            rollout.refill == 0,
            "rollout.refill",
            "stored answers are as they are, and no further ones are drawn; set it to 0",
        )?;
        require(
            rollout.staleness == 0,
            "rollout.staleness",
            "stored answers are there already; set it to 0",
        )?;
        require(
            self.curriculum.settings.is_empty(),
            "curriculum",
            "which tasks were played is stored; leave the curriculum out",
        )
    }

    fn check_dual_clip(&self) -> Result<(), ConfigError> {
        let (dual, key) = (self.train.clip_dual, "train.clip_dual");
        let objective = self.train.objective;
        require(
            dual == 0.0 || objective.clips(),
            key,
            &format!(
                "it bounds what ratios count for, and with train.objective = {} nothing is clipped \
                 like that; leave it out, or train with \"surrogate\", \"gspo\" or \"m-grpo\"",
                table::choice(&objective)
            ),
        )?;
        require(
            dual == 0.0 || dual > 1.0 + self.train.clip_high,
            key,
            "it must be above 1 + train.clip_high; 3 is usual, 0 sets no bound",
        )
    }

    fn check_roles(&self) -> Result<(), ConfigError> {
        let scheme = self.rollout.scheme;
        let elsewhere = "servers have no budget of thinking; leave it out, or set it for the roles \
                         whose policies are loaded here (roles.<role>.thinking_budget)";
        let budget = self.rollout.thinking_budget;
        let bounded = budget > 0 && self.policies.values().any(PolicyConfig::is_served);
        require(!bounded, "rollout.thinking_budget", elsewhere)?;
        for (role, entry) in self.roles.entries() {
            let policy = self.policy_for(role);
            require(
                entry.thinking_budget.is_none() || !policy.is_some_and(PolicyConfig::is_served),
                &format!("roles.{role}.thinking_budget"),
                elsewhere,
            )?;
            require(
                entry.branches.is_none() || !scheme.repeats_tasks(),
                &format!("roles.{role}.branches"),
                &format!(
                    "with rollout.scheme = {} every state is answered once, and \
                     rollout.branches is the number of episodes of a task",
                    table::choice(&scheme)
                ),
            )?;
        }
        let has_snapshot = |policy: &PolicyConfig| policy.snapshot_of.is_some();
        require(
            scheme != SamplingScheme::CrossPolicy || self.policies.values().any(has_snapshot),
            "rollout.scheme",
            "\"cross-policy\" needs an earlier state of a policy to draw from; add one, such as \
             policies.old = { snapshot_of = \"shared\", every = 5 }",
        )
    }

    fn check_comparison(&self) -> Result<(), ConfigError> {
        self.check_estimator(&self.advantage, "advantage")?;
        for role in self.advantage.roles.keys() {
            let table = format!("advantage.roles.{role}");
            self.check_estimator(&self.advantage.of_role(role), &table)?;
        }
        Ok(())
    }

    /// What must hold of the estimator that stands in `table`.
    fn check_estimator(&self, advantage: &AdvantageConfig, table: &str) -> Result<(), ConfigError> {
        let Comparison { unit, worth, same, scale } = advantage.comparison();
        let name = table::choice(&advantage.estimator);
        let name = name.trim_matches('"');
        let has = |what| same.contains(&what);
        let key = &format!("{table}.estimator");
        require(
            self.rollout.branches > 1 || same == [Same::Task] || scale == Scale::Running,
            "rollout.branches",
            "a group of one has no advantage, so nothing would be learned; use 2 or more",
        )?;
        require(
            unit == Unit::Completion || worth == Worth::Whole,
            &format!("{table}.worth"),
            "several answers are worth something together only as a \"whole\"",
        )?;
        let scheme = self.rollout.scheme;
        let word = table::choice(&scheme);
        require(
            worth == Worth::Now || scheme.plays_whole_episodes(),
            key,
            &format!(
                "`{name}` compares what whole episodes are worth, and with rollout.scheme = {word} \
                 most answers have no future; set rollout.scheme = \"trajectory\""
            ),
        )?;
        // A panel gives several answers to a state, however few are drawn of each seat.
        let of_one_role = table != "advantage";
        require(
            !has(Same::State) || scheme.branches_everywhere() || of_one_role,
            key,
            &format!(
                "`{name}` compares answers to one state, and with rollout.scheme = {word} few \
                 states have several; set rollout.scheme = \"tree\", or the estimator to `grpo` \
                 or `drmas`"
            ),
        )?;
        let goes_on_from_one = matches!(scheme, SamplingScheme::Tree | SamplingScheme::Independent);
        let compares_states = unit == Unit::Completion && has(Same::State);
        require(
            self.rollout.allocation == Allocation::Even || (compares_states && goes_on_from_one),
            "rollout.branches",
            &format!(
                "\"adaptive\" deals answers out among states and compares those to each; `{name}` \
                 with rollout.scheme = {word} does not; use \"at-grpo\" or \"rloo\", and \"tree\" \
                 or \"independent\""
            ),
        )?;
        require(
            unit == Unit::Completion || scheme.keeps_episodes_apart(),
            key,
            &format!(
                "`{name}` compares whole episodes with each other, and with rollout.scheme = \
                 {word} they have answers in common; set rollout.scheme = \"trajectory\""
            ),
        )?;
        require(
            has(Same::Task) || has(Same::State) || has(Same::Situation) || scale == Scale::Running,
            &format!("{table}.same"),
            "answers to different tasks are worth different amounts; add \"task\"",
        )?;
        require(
            scale != Scale::Parts || worth == Worth::Now,
            &format!("{table}.scale"),
            "the shares of a reward are known of what an answer earns \"now\"; set worth = \"now\"",
        )?;
        self.check_band(advantage, table)
    }

    /// What must hold of the share of a task's episodes that has to be solved.
    fn check_band(&self, advantage: &AdvantageConfig, table: &str) -> Result<(), ConfigError> {
        let (least, most) = (advantage.least_solved, advantage.most_solved);
        require(
            least <= most,
            &format!("{table}.least_solved"),
            "it must not be above `most_solved`, or no task would teach anything",
        )?;
        let scheme = self.rollout.scheme;
        require(
            (least == 0.0 && most == 1.0) || scheme.plays_whole_episodes(),
            &format!("{table}.least_solved"),
            &format!(
                "with rollout.scheme = {} one episode of a task is played to its end, so that none \
                 or all of them are solved; set rollout.scheme = \"trajectory\"",
                table::choice(&scheme)
            ),
        )
    }
}

pub(super) fn require(holds: bool, key: &str, reason: &str) -> Result<(), ConfigError> {
    if holds {
        return Ok(());
    }
    Err(ConfigError::Invalid { key: key.to_owned(), reason: reason.to_owned() })
}

fn is_folder_name(name: &str) -> bool {
    let fits = |c: char| !c.is_control() && !"/\\".contains(c);
    (1..=200).contains(&name.len()) && !name.starts_with('.') && name.chars().all(fits)
}
