//! Settings of a workflow at their ends: what it accepts must work.

use super::{Examination, Exchange};
use crate::settings;
use crate::testing::environment::{beyond, combination, ends};
use crate::testing::report::{Checked, Objection, require};
use crate::types::{Configured, Domain, Fault, Setting};

/// Combinations that are drawn, and rehearsals under each setting.
const DRAWS: u32 = 12;
const REHEARSALS: u32 = 2;

/// Every setting at its ends, the others as they are, and some combinations;
/// what is outside of its domain is refused.
pub fn check(examination: &Examination, _: &[Vec<Exchange>]) -> Checked {
    let declared = &examination.declared;
    if declared.is_empty() {
        return Ok("there are no settings".to_owned());
    }
    let (mut worked, mut refused) = (0, 0);
    let mut count = |works: bool| if works { worked += 1 } else { refused += 1 };
    for Setting { name, domain, .. } in declared {
        for value in beyond(domain) {
            let with = settings::with(examination.settings.clone(), name, value.clone());
            let configured = examination.workflow.configure(&with, &examination.kinds);
            require(configured.is_err_and(|problem| problem.fault == Fault::Settings), || {
                format!("`{name}` must be {domain}, but {value} was not refused as a setting")
            })?;
        }
        for value in ends(domain) {
            count(works(examination, settings::with(examination.settings.clone(), name, value))?);
        }
    }
    for draw in 0..DRAWS {
        let draw = examination.scope.from.wrapping_mul(DRAWS).wrapping_add(draw);
        let drawn = combination(declared, draw);
        // Texts stay as they are: most of any would be refused.
        let texts = declared.iter().filter(|setting| setting.domain == Domain::Text);
        let drawn =
            texts.fold(drawn, |all, text| settings::with(all, &text.name, text.default.clone()));
        count(works(examination, drawn)?);
    }
    // What was configured last is what a host knows of the roles.
    examination.workflow.configure(&examination.settings, &examination.kinds)?;
    Ok(format!("{worked} settings at their ends and combinations work, {refused} are refused"))
}

/// Rehearse under these settings; whether they were not refused.
fn works(examination: &Examination, settings: Vec<Configured>) -> Result<bool, Objection> {
    let told = |objection: Objection| {
        let told = settings.iter().map(|Configured { name, value }| format!("{name}={value}"));
        objection.placed(&told.collect::<Vec<_>>().join(", "))
    };
    let configuration = match examination.workflow.configure(&settings, &examination.kinds) {
        Err(problem) if problem.fault == Fault::Settings => return Ok(false),
        other => other.map_err(Objection::from).map_err(told)?,
    };
    configuration.check().map_err(Objection::from).map_err(told)?;
    let (kinds, declared) = (examination.kinds.clone(), examination.declared.clone());
    let other =
        Examination { settings: settings.clone(), configuration, kinds, declared, ..*examination };
    for seed in 0..REHEARSALS {
        other.rehearse(seed).map_err(told)?;
    }
    Ok(true)
}
