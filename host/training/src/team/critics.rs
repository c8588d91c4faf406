//! Whether critics can do what they are there for.

use super::TeamError;
use crate::family::Family;
use crate::rollout::Policies;
use troupe_core::config::Config;
use troupe_guests::plugin::Split;
use troupe_guests::scenario::Next;

/// Training tasks that are looked through for a hint.
const TASKS_FOR_HINTS: u32 = 16;

/// Refuse critics that cannot read what they judge, or what only they may see.
pub(super) fn check_critics(
    config: &Config,
    families: &[Family],
    policies: &Policies,
) -> Result<(), TeamError> {
    for (name, settings) in config.critics() {
        let Some(critic) = policies.get(name) else { continue };
        let players = policies.iter().filter(|(other, _)| !config.is_critic(other));
        let unlike = players.into_iter().find(|(_, policy)| !critic.reads_like(policy));
        if let Some((policy, _)) = unlike {
            let (critic, policy) = (name.clone(), policy.clone());
            return Err(TeamError::OtherTokens { critic, policy });
        }
        if !settings.reads_hints() {
            continue;
        }
        if let Some(family) = families.iter().find(|family| !reveals(family)) {
            let environment = family.scenario.environment.name().to_owned();
            let learns = if config.is_value_critic(name) { "value" } else { "preference" };
            return Err(TeamError::NoHint { critic: name.clone(), environment, learns });
        }
    }
    Ok(())
}

/// Whether the first request of some task comes with something that only critics may see.
fn reveals(family: &Family) -> bool {
    let scenario = &family.scenario;
    (0..TASKS_FOR_HINTS).filter_map(|task| scenario.begin(Split::Train, task).ok()).any(|start| {
        match start.next {
            Next::Asked(position) => position.due.iter().any(|due| due.hint.is_some()),
            Next::Ended(_) => false,
        }
    })
}
