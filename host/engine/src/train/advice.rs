//! What is said before training of settings that are allowed and seldom meant.

use crate::report;
use troupe_core::config::{Config, Estimator, IdleSetting, KnockOut, LossAggregation};
use troupe_training::family::Family;
use troupe_training::team::Team;
use troupe_training::training::slow_dtype;

/// What is allowed and seldom meant.
pub(super) fn advise(config: &Config, team: &Team, overrides: &[String]) {
    for Family { scenario, passed_over, .. } in &team.families {
        let Some((over, flag)) = passed_over.as_ref().and_then(|it| Some((it, it.grant_flag()?)))
        else {
            continue;
        };
        let (environment, played) = (scenario.environment.name(), scenario.workflow.name());
        report::note(&format!(
            "note: `{played}` is played; `{}`, which `{environment}` names first, was not granted \
             what it calls (`{flag}`)",
            over.name(),
        ));
    }
    for name in team.idle(config) {
        report::note(&format!(
            "note: policy `{name}` answers for no role; what is set for it has no effect"
        ));
    }
    for IdleSetting { key, why } in config.idle_settings() {
        report::note(&format!("note: {key} does nothing here: {why}"));
    }
    let has_budget = config.train.budget.share_spent(0, 0, 0.0).is_some();
    let sets_steps =
        |set: &String| set.split('=').next().is_some_and(|key| key.trim() == "train.steps");
    if has_budget && overrides.iter().any(sets_steps) {
        report::note(
            "note: train.steps has no effect, because train.budget says when the run ends: set \
             that instead",
        );
    }
    let by_tokens = config.train.loss_aggregation == LossAggregation::TokenMean;
    if config.advantage.estimator == Estimator::DrGrpo && by_tokens {
        report::note(
            "note: `dr-grpo` without train.loss_aggregation = \"sample-mean-token-sum\" is half of \
             Dr. GRPO: advantages are not divided by their spread, but losses still by lengths",
        );
    }
    if let Some(note) = unmeasured(config, team.ranks.world()) {
        report::note(note);
    }
    if let Some(note) = slow_dtype(team) {
        report::note(&note);
    }
}

/// What is said where the run of so many processes does not end with what was asked for.
fn unmeasured(config: &Config, processes: usize) -> Option<&'static str> {
    let is_left_out = config.validation.knock_out == KnockOut::Always && processes > 1;
    is_left_out.then_some(
        "note: a run of several processes does not end with what each role is good for \
         (validation.knock_out = \"always\"); afterwards `host blame RUN --roles` tells it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_to_be_told_of_roles_by_several_processes_is_told_how_to_ask() {
        let config = |set: &str| Config::load(None, &[set.to_owned()]).unwrap();
        let always = config("validation.knock_out=always");
        let note = unmeasured(&always, 2).unwrap();
        assert!(note.contains("`host blame RUN --roles`"), "{note}");
        assert_eq!(unmeasured(&always, 1), None);
        assert_eq!(unmeasured(&config("validation.knock_out=auto"), 2), None);
    }
}
