//! What a plugin says about itself: names, settings, kinds of action.

use std::collections::HashSet;

use super::report::{Checked, Objection, require};
use crate::environment::Description;
use crate::types::Setting;

/// The description of an environment.
pub(super) fn check(description: &Description) -> Checked {
    let Description { name, version, settings, actions, workflows, .. } = description;
    check_name(name)?;
    require(!version.is_empty(), || "there is no version".to_owned())?;
    check_settings(settings)?;
    require(!actions.is_empty(), || "no kind of action is described".to_owned())?;
    check_unique("kind of action", actions.iter().map(|kind| kind.name.as_str()))?;
    require(!workflows.is_empty(), || "no workflow is recommended".to_owned())?;
    Ok(format!("{} settings, {} kinds of action", settings.len(), actions.len()))
}

/// Names of plugins are words of lower-case letters and digits joined by `-`.
pub(super) fn check_name(name: &str) -> Result<(), Objection> {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|letter| matches!(letter, 'a'..='z' | '0'..='9'))
    };
    require(name.split('-').all(is_word), || format!("the name `{name}` is not in kebab-case"))
}

/// Settings have distinct names in snake_case and defaults that they accept.
pub(super) fn check_settings(settings: &[Setting]) -> Result<(), Objection> {
    check_unique("setting", settings.iter().map(|setting| setting.name.as_str()))?;
    for Setting { name, domain, default, .. } in settings {
        let is_snake = name.chars().all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '_'));
        require(is_snake && !name.is_empty(), || format!("setting `{name}` is not in snake_case"))?;
        require(domain.contains(default), || {
            format!("setting `{name}` does not accept its own default")
        })?;
    }
    Ok(())
}

/// No two things of a kind have the same name.
pub(super) fn check_unique<'n>(
    what: &str,
    names: impl Iterator<Item = &'n str>,
) -> Result<(), Objection> {
    let mut seen = HashSet::new();
    for name in names {
        require(seen.insert(name), || format!("there are two {what}s `{name}`"))?;
    }
    Ok(())
}
