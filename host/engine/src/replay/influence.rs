//! Which groups of a step did harm: those without which success would be higher afterwards.
//!
//! Of two halves of the groups, the one is looked into without which the run goes on better, then
//! its halves, down to a single group. That one is left out, and the search begins anew until no
//! harm is left: until success is lower than without any of the step's groups by no more than the
//! margin.

use std::collections::BTreeSet;

use super::{Crossroads, table_of};
use crate::again::config_of;
use crate::report;
use troupe_cli::args::ReplayArgs;
use troupe_core::error::ExitCode;
use troupe_core::storage::StorageError;
use troupe_core::table::read_table;
use troupe_core::trajectory::Sample;
use troupe_estimators::advantage::{Memory, compare};
use troupe_training::rollout::Rollout;
use troupe_training::training::Meddling;

/// Find and print them.
pub fn find(
    crossroads: &Crossroads,
    args: &ReplayArgs,
    meddling: Meddling,
) -> anyhow::Result<ExitCode> {
    let all: Vec<usize> = (0..groups_of(args)?).collect();
    let answers = crossroads.draw(&args.set)?;
    let mut search = Search { crossroads, args, meddling, answers, all: all.clone(), ways: 0 };
    let with_all = search.success_without(&BTreeSet::new())?;
    let without = search.success_as_if_not_drawn(&all)?;
    let found = search.all_that_do_harm(with_all, without)?;
    if args.json {
        let told = serde_json::json!({
            "with_all": with_all, "without_any": without, "groups": found, "ways": search.ways
        });
        report::line(&told.to_string());
        return Ok(ExitCode::Success);
    }
    report::line(&format!(
        "  {} with all {} groups of step {}, {} without any of them",
        report::percent(with_all),
        all.len(),
        args.at,
        report::percent(without)
    ));
    report::line(&match found.is_empty() {
        true => format!(
            "  no group does harm: success is not lower by more than {}",
            report::percent(args.harm)
        ),
        false => {
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            format!("  harm comes from the groups {}", found.join(", "))
        }
    });
    report::line(&format!("  {} ways to go on were tried", search.ways));
    Ok(ExitCode::Success)
}

/// How many groups the step formed.
fn groups_of(args: &ReplayArgs) -> anyhow::Result<usize> {
    let path = table_of(&args.run, args.at as usize);
    if !path.is_file() {
        let reason = format!("the run has no table of step {} (rollout.store)", args.at);
        return Err(StorageError::Unfit { path: args.run.clone(), reason }.into());
    }
    let config = config_of(&args.run, &args.run)?;
    let samples: Vec<Sample> = read_table(&path)?.into_iter().map(|row| row.sample).collect();
    let learns = |sample: &Sample| config.trains(&sample.policy);
    Ok(compare(&samples, &config.advantage, &mut Memory::default(), learns).formed.len())
}

struct Search<'s> {
    crossroads: &'s Crossroads<'s>,
    args: &'s ReplayArgs,
    meddling: Meddling,
    answers: Rollout,
    all: Vec<usize>,
    /// How often the run went on.
    ways: usize,
}

impl Search<'_> {
    /// Success afterwards if these groups teach nothing. They keep their places in the update, so
    /// that nothing else changes.
    fn success_without(&mut self, groups: &BTreeSet<usize>) -> anyhow::Result<f64> {
        let mut meddling = self.meddling.clone();
        meddling.factors.extend(groups.iter().map(|group| (*group, 0.0)));
        self.ways += 1;
        let future = self.crossroads.go_on(&self.args.set, meddling, Some(self.answers.clone()))?;
        Ok(future.success.success)
    }

    /// Success afterwards if the step had drawn none of these groups.
    fn success_as_if_not_drawn(&mut self, groups: &[usize]) -> anyhow::Result<f64> {
        let dropped = groups.iter().copied().collect();
        let meddling = Meddling { dropped, ..self.meddling.clone() };
        self.ways += 1;
        let future = self.crossroads.go_on(&self.args.set, meddling, Some(self.answers.clone()))?;
        Ok(future.success.success)
    }

    /// One after the other, the groups without which most is gained, until no more harm is left.
    fn all_that_do_harm(&mut self, with_all: f64, without: f64) -> anyhow::Result<BTreeSet<usize>> {
        let (mut found, mut success) = (BTreeSet::new(), with_all);
        while without - success > self.args.harm && found.len() < self.all.len() {
            let worst = self.worst(&found)?;
            found.insert(worst);
            let now = self.success_without(&found)?;
            if now <= success {
                // Without it nothing is gained: it is none of those that did it.
                found.remove(&worst);
                break;
            }
            success = now;
        }
        Ok(found)
    }

    /// Of two halves the one without which success is higher, and so on down to a single group.
    fn worst(&mut self, found: &BTreeSet<usize>) -> anyhow::Result<usize> {
        let suspects = self.all.iter().filter(|group| !found.contains(group));
        let mut suspects: Vec<usize> = suspects.copied().collect();
        while suspects.len() > 1 {
            let (one, other) = suspects.split_at(suspects.len() / 2);
            let mut without =
                |half: &[usize]| self.success_without(&found.iter().chain(half).copied().collect());
            suspects = if without(one)? >= without(other)? { one } else { other }.to_vec();
        }
        // There is one left: the loop began with one at least.
        Ok(suspects[0])
    }
}
