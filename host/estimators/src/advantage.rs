//! Advantages: how much better or worse an answer did than those it is compared with.
//!
//! Pure: numbers in, numbers out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::forks::Forks;
use crate::credit::{Credits, counts};
use crate::group::{
    Group, Weighted, filter_groups, form_groups, is_flat, leave_out_frozen, mean, spread,
};
use troupe_core::config::{AdvantageConfig, Comparison, GroupFilter, Same, Scale};
use troupe_core::trajectory::Sample;

/// Keeps a nearly flat group from being blown up; as in TRL.
const EPSILON: f64 = 1e-4;

/// What an estimator remembers from step to step; part of the checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Running means of what trajectories were worth, by the roles that took part and, where
    /// these are compared within families, the family.
    #[serde(default)]
    pub means: BTreeMap<String, f64>,
    /// How much answers to states differed.
    #[serde(default, skip_serializing_if = "Forks::is_empty")]
    pub forks: Forks,
}

/// The samples of a step, compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// All groups of roles that learn.
    pub formed: Vec<Group>,
    /// Those that the filter kept.
    pub kept: Vec<Group>,
    /// Advantage and weight of each sample; those of groups that are left out have no
    /// advantage.
    pub credits: Credits,
    /// Which samples were worth more or less than those they were compared with.
    pub taught: Vec<bool>,
}

/// The whole way from the sample table to the input of the update: counts, groups, filter,
/// advantages, credit steps, as `config` says. `memory` is changed by [`Scale::Running`] alone;
/// groups none of whose answers `learns` are left out.
pub fn compare(
    samples: &[Sample],
    config: &AdvantageConfig,
    memory: &mut Memory,
    learns: impl Fn(&Sample) -> bool,
) -> Compared {
    let weights = counts(samples, config);
    let mut all = Compared {
        formed: Vec::new(),
        kept: Vec::new(),
        credits: Credits { advantages: vec![None; samples.len()], weights },
        taught: vec![false; samples.len()],
    };
    let apart = |sample: &Sample| config.roles.contains_key(&sample.role);
    all.compare_those(samples, config, memory, &learns, |sample| !apart(sample));
    for role in config.roles.keys() {
        let own = config.of_role(role);
        all.compare_those(samples, &own, memory, &learns, |sample| sample.role == *role);
    }
    all.credits = all.credits.after(samples, config, learns);
    all
}

impl Compared {
    /// Compares the answers `of` a part of the roles with each other, as `config` says.
    fn compare_those(
        &mut self,
        samples: &[Sample],
        config: &AdvantageConfig,
        memory: &mut Memory,
        learns: impl Fn(&Sample) -> bool,
        of: impl Fn(&Sample) -> bool,
    ) {
        let weights = &self.credits.weights;
        let mut judge = |comparison: &Comparison| {
            let formed = form_groups(samples, weights, config, comparison, &of);
            let formed = leave_out_frozen(formed, samples, &learns);
            let kept = match (comparison.scale, config.filter) {
                // What all in a group are worth is compared with earlier steps, or with one half:
                // where it is the same, it is worth more or less than that still.
                (Scale::Running, _) | (Scale::Half, GroupFilter::ZeroVariance) => formed.clone(),
                _ => filter_groups(formed.clone(), config),
            };
            let advantages = match comparison.scale {
                Scale::Running => {
                    let by_family = comparison.same.contains(&Same::Family);
                    running(&kept, (config.decay, by_family), memory, samples)
                }
                scale => advantages(&kept, (scale, config.least_spread), samples.len()),
            };
            (formed, kept, advantages)
        };
        let (formed, kept, mut advantages) = judge(&config.comparison());
        if let Some((weight, comparison)) = config.besides() {
            let (_, _, besides) = judge(&comparison);
            add(&mut advantages, &besides, weight);
        }
        for (index, advantage) in advantages.into_iter().enumerate().filter(|(_, a)| a.is_some()) {
            self.taught[index] = advantage != Some(0.0);
            self.credits.advantages[index] = advantage;
        }
        // Beyond these, answers that are all worth the same say something.
        if !matches!(config.comparison().scale, Scale::Half | Scale::Running) {
            repel(&mut self.credits.advantages, &formed, samples, config);
        }
        self.formed.extend(formed);
        self.kept.extend(kept);
    }
}

/// Adds the advantages of a second comparison (GiGPO, arXiv 2505.10978). A sample that only
/// one of them compared keeps that one's advantage.
fn add(advantages: &mut [Option<f32>], besides: &[Option<f32>], weight: f64) {
    for (advantage, besides) in advantages.iter_mut().zip(besides) {
        if let Some(besides) = besides {
            let sum = f64::from(advantage.unwrap_or(0.0)) + weight * f64::from(*besides);
            *advantage = Some(sum as f32);
        }
    }
}

/// A = r − b, and then b ← decay·b + (1 − decay)·r, for one unit after the other;
/// every role, of every family if they are told apart, has its own b, which begins at 0 (SPIRAL,
/// arXiv 2506.24119).
fn running(
    groups: &[Group],
    (decay, by_family): (f64, bool),
    memory: &mut Memory,
    samples: &[Sample],
) -> Vec<Option<f32>> {
    let mut table = vec![None; samples.len()];
    for group in groups {
        let roles: Vec<&str> = group.roles.iter().map(String::as_str).collect();
        let roles = roles.join("+");
        let first = group.units.first().and_then(|unit| unit.members.first());
        let family = first.filter(|_| by_family).map(|&member| &samples[member].family);
        let key = family.map_or(roles.clone(), |family| format!("{family}/{roles}"));
        let mean = memory.means.entry(key).or_default();
        for unit in &group.units {
            let advantage = (unit.worth - *mean) as f32;
            unit.members.iter().for_each(|&member| table[member] = Some(advantage));
            *mean = decay * *mean + (1.0 - decay) * unit.worth;
        }
    }
    table
}

/// One advantage per sample of a table of `samples` rows, none for samples without a group.
/// Every member of a unit has the unit's advantage, in the unit of the reward where the scale
/// is `none` or `leave-one-out`, and otherwise a bare number:
/// - `spread`: A = (r − mean) / (std + ε), std over n − 1 (arXiv 2402.03300,
///   section 4.1);
/// - `none`: A = r − mean (arXiv 2503.20783, section 3.2);
/// - `mean`: A = (r − mean) / (|mean| + ε);
/// - `leave-one-out`: A = r − mean of the others = n / (n − 1) · (r − mean)
///   (arXiv 2402.14740, equation 8);
/// - `half`: A = r − ½ (MALT, arXiv 2412.01928, section 3.2);
/// - `parts`: the sum of (p − mean) / (std + ε) over the named shares p of r,
///   divided by the standard deviation of these sums in the whole step (GDPO).
///
/// ε is 10⁻⁴. A group of one has advantage 0, except with `half`: there is nothing to compare it
/// with. A standard
/// deviation below `least`, in the unit of the reward, counts as `least`.
pub fn advantages(
    groups: &[Group],
    (scale, least): (Scale, f64),
    samples: usize,
) -> Vec<Option<f32>> {
    let mut relative: Vec<Vec<f64>> =
        groups.iter().map(|group| in_group(group, scale, least)).collect();
    if scale == Scale::Parts {
        whiten(&mut relative);
    }
    let mut table = vec![None; samples];
    for (group, relative) in groups.iter().zip(relative) {
        for (unit, advantage) in group.units.iter().zip(relative) {
            for &member in &unit.members {
                table[member] = Some(advantage as f32);
            }
        }
    }
    table
}

/// Divides all numbers by their standard deviation; their mean is 0 already.
fn whiten(relative: &mut [Vec<f64>]) {
    let count = relative.iter().map(Vec::len).sum::<usize>().max(1) as f64;
    let squares: f64 = relative.iter().flatten().map(|number| number * number).sum();
    let scale = 1.0 / ((squares / count).sqrt() + EPSILON);
    relative.iter_mut().flatten().for_each(|number| *number *= scale);
}

/// Gives every answer of a group of two or more that were all worth the same the advantage
/// `refused`, if none was carried out in full, or `losing`, if that is less than nothing; the
/// lower one, if both. Such a group has no advantages, yet its answers were wrong. Without this a
/// policy that all but never says a word would not leave the states in which only that word is
/// right. What a second comparison found of an answer stays.
fn repel(
    table: &mut [Option<f32>],
    groups: &[Group],
    samples: &[Sample],
    config: &AdvantageConfig,
) {
    for group in groups.iter().filter(|group| group.units.len() > 1 && group.is_flat()) {
        let members = || group.units.iter().flat_map(|unit| unit.members.iter().copied());
        let refused = members().all(|member| !samples[member].accepted);
        let losing = group.units.iter().all(|unit| unit.worth < 0.0);
        let away = [(refused, config.refused), (losing, config.losing)];
        let away = away.into_iter().map(|(holds, away)| if holds { away } else { 0.0 });
        let away = away.fold(0.0, f64::min);
        if away < 0.0 {
            for member in members() {
                if table[member].unwrap_or(0.0) == 0.0 {
                    table[member] = Some(away as f32);
                }
            }
        }
    }
}

/// The advantage of each unit of a group, in order.
fn in_group(group: &Group, scale: Scale, least: f64) -> Vec<f64> {
    let worths = group.worths();
    match scale {
        Scale::None | Scale::Running => centered(&worths),
        Scale::Half => worths.iter().map(|worth| worth.value - 0.5).collect(),
        Scale::Mean => {
            let scale = 1.0 / (mean(&worths).abs() + EPSILON);
            centered(&worths).into_iter().map(|difference| difference * scale).collect()
        }
        Scale::Spread => standardized(&worths, least),
        Scale::LeaveOneOut => {
            let count: f64 = worths.iter().map(|worth| worth.weight).sum();
            let factor = count / (count - 1.0).max(1.0);
            centered(&worths).into_iter().map(|difference| difference * factor).collect()
        }
        Scale::Parts => {
            let names = group.part_names().into_iter();
            let parts = names.map(|name| standardized(&group.part(name), least));
            parts.fold(vec![0.0; worths.len()], |sums, part| {
                sums.iter().zip(part).map(|(sum, part)| sum + part).collect()
            })
        }
    }
}

/// Differences from the mean; zeros if all numbers are the same.
fn centered(numbers: &[Weighted]) -> Vec<f64> {
    if is_flat(numbers) {
        return vec![0.0; numbers.len()];
    }
    let mean = mean(numbers);
    numbers.iter().map(|number| number.value - mean).collect()
}

/// Differences from the mean in units of the standard deviation, which is `least` at least.
fn standardized(numbers: &[Weighted], least: f64) -> Vec<f64> {
    let scale = 1.0 / (spread(numbers).max(least) + EPSILON);
    centered(numbers).into_iter().map(|difference| difference * scale).collect()
}

#[cfg(test)]
mod tests;
