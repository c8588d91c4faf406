//! `host advantage --truth`: what a run's answers were really worth.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::advantage::{STORED, learning};
use super::eval::use_policies;
use super::report;
use troupe_cli::args::AdvantageArgs;
use troupe_core::config::{AdvantageConfig, Config, CreditStep, Scale};
use troupe_core::storage::StorageError;
use troupe_core::table::Row;
use troupe_estimators::advantage::Compared;
use troupe_model::Device;
use troupe_training::checkpoint::load_step;
use troupe_training::team::Team;
use troupe_training::truth::{Distance, Search, Truth, find};

/// What is known of the steps whose weights are still there.
pub struct Truths {
    run: PathBuf,
    config: Config,
    device: Device,
    search: Search,
    /// Which of the estimators say whether answers are worth more than one half.
    labels: Vec<bool>,
    /// Of every estimator, by role.
    known: Vec<BTreeMap<String, Known>>,
    /// Why a step could not be looked into.
    passed_over: Option<StorageError>,
}

/// Whether advantages are stored as what is above or below one half. A critic's verdicts, which
/// take their place, are not.
fn are_labels(advantage: &AdvantageConfig) -> bool {
    let judged = advantage.then.iter().any(CreditStep::is_judged);
    advantage.scale == Some(Scale::Half) && !judged
}

/// Truths and advantages, side by side.
type Known = (Vec<Truth>, Vec<Option<f32>>);

impl Truths {
    pub fn new(args: &AdvantageArgs, episodes: usize, config: &Config, device: Device) -> Self {
        Truths {
            run: args.run.clone(),
            config: config.clone(),
            device,
            search: Search { states: args.states, episodes, team_only: args.team_only },
            labels: args
                .compare
                .iter()
                .map(|name| name == STORED && are_labels(&config.advantage))
                .collect(),
            known: vec![BTreeMap::new(); args.compare.len()],
            passed_over: None,
        }
    }

    /// Look into a step, if the weights that drew its answers were kept.
    pub fn take_in(
        &mut self,
        step: usize,
        rows: &[Row],
        compared: &[Compared],
    ) -> anyhow::Result<()> {
        let found = match load_step(&self.run.join("checkpoints"), step - 1) {
            Ok(found) => found,
            Err(error) => {
                self.passed_over.get_or_insert(error);
                return Ok(());
            }
        };
        let mut config = self.config.clone();
        use_policies(&mut config, &found.path, &[]);
        let mut team = Team::assemble(&config, self.device)?;
        team.open_distant(&config, false)?;
        let truths = find(&team, &self.config, rows, self.search, learning(&self.config, rows))?;
        for (known, compared) in self.known.iter_mut().zip(compared) {
            for truth in &truths {
                let role = &rows[truth.row].sample.role;
                let (truths, advantages) = known.entry(role.clone()).or_default();
                truths.push(Truth { row: advantages.len(), ..*truth });
                advantages.push(compared.credits.advantages[truth.row]);
            }
        }
        Ok(())
    }

    /// How far each estimator is from the truth, by role.
    pub fn distances(self) -> Result<Vec<BTreeMap<String, Distance>>, StorageError> {
        let nothing = self.known.iter().all(BTreeMap::is_empty);
        match self.passed_over {
            Some(StorageError::Unfit { path, reason }) if nothing => {
                let reason = format!(
                    "the weights that drew the answers were not kept ({reason}); a step's are those \
                     of the step before: choose steps with --first and --last, or run with more of \
                     checkpoint.keep and a smaller checkpoint.every"
                );
                return Err(StorageError::Unfit { path, reason });
            }
            Some(error) if nothing => return Err(error),
            Some(error) => report::note(&format!("note: not all steps were looked into: {error}")),
            None => {}
        }
        let of_estimator = |(known, are_labels): (BTreeMap<String, Known>, bool)| {
            let distance = if are_labels { Distance::of_labels } else { Distance::of };
            let distance = |(role, (truths, advantages)): (String, Known)| {
                (role, distance(&truths, &advantages))
            };
            known.into_iter().map(distance).collect()
        };
        Ok(self.known.into_iter().zip(self.labels).map(of_estimator).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_critics_verdicts_are_no_labels() {
        let of = |scale, then: &[CreditStep]| {
            are_labels(&AdvantageConfig {
                scale,
                then: then.to_vec(),
                ..AdvantageConfig::default()
            })
        };
        let judge = CreditStep::Judge("critic".to_owned());
        assert!(of(Some(Scale::Half), &[]) && of(Some(Scale::Half), &[CreditStep::Whiten]));
        assert!(!of(Some(Scale::Half), &[judge]) && !of(None, &[]));
    }
}
