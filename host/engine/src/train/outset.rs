//! A run in its folder, where it begins or goes on.

use super::warm_start;
use crate::inventory;
use crate::report;
use troupe_core::config::Config;
use troupe_model::Device;
use troupe_trainer::ranks::Ranks;
use troupe_training::checkpoint::{FoundCheckpoint, load_latest};
use troupe_training::manifest::Settled;
use troupe_training::rehearsal::beginners;
use troupe_training::run::RunFolder;
use troupe_training::team::Team;
use troupe_training::training::Training;

/// What training starts from, beside the team.
pub(super) struct Outset {
    pub(super) folder: RunFolder,
    /// The configuration with nothing left to the machine.
    pub(super) settled: Config,
    /// Where the run goes on; nothing if it begins.
    checkpoint: Option<FoundCheckpoint>,
}

impl Outset {
    /// What rank 0 has, for all ranks. Each brings the configuration with what it has `chosen`.
    ///
    /// # Errors
    /// If there are checkpoints and none of them is whole, or another process is lost.
    pub(super) fn agreed(folder: RunFolder, chosen: Config, ranks: &Ranks) -> anyhow::Result<Self> {
        // How much memory is free is not the same for all.
        let settled = ranks.agree(|| anyhow::Ok(chosen))?;
        let checkpoint =
            ranks.agree(|| load_latest(&folder.checkpoints()).map_err(anyhow::Error::from))?;
        Ok(Outset { folder, settled, checkpoint })
    }

    /// Write down what the run is made of, or compare it with what it was made of, and make sure
    /// that all ranks have the same.
    ///
    /// # Errors
    /// If something is different that was not `accepted`, or the folder cannot be written.
    pub(super) fn settle_manifest(
        &self,
        config: &Config,
        team: &Team,
        device: Device,
        accepted: bool,
    ) -> anyhow::Result<()> {
        let after = self.checkpoint.as_ref().map_or(0, |found| found.progress.step);
        let settled = Settled::of(&self.settled);
        let manifest = inventory::manifest(config, settled, after, team, device)?;
        if self.folder.is_written_here() {
            for difference in self.folder.settle_manifest(&manifest, accepted)? {
                report::note(&format!("note: {difference}"));
            }
            if accepted {
                // What was granted anew is not asked about again.
                self.folder.write_config(config)?;
            }
        }
        team.ranks.check("plugins or policies", (&manifest.plugins, &manifest.policies))?;
        Ok(())
    }

    /// Go on from the checkpoint, or begin.
    ///
    /// # Errors
    /// If the checkpoint does not fit the team, a policy cannot be warm-started or tested, or the
    /// folder cannot be written.
    pub(super) fn start(self, team: Team) -> anyhow::Result<Training> {
        let Outset { folder, settled, checkpoint } = self;
        match checkpoint {
            Some(checkpoint) => go_on(settled, team, folder, checkpoint),
            None => begin(settled, team, folder),
        }
    }
}

/// Go on from a checkpoint, and say what is amiss in the folder.
fn go_on(
    config: Config,
    team: Team,
    folder: RunFolder,
    checkpoint: FoundCheckpoint,
) -> anyhow::Result<Training> {
    for damage in &checkpoint.passed_over {
        report::note(&format!("note: {damage}; going back to step {}", checkpoint.progress.step));
    }
    if folder.is_written_here() {
        for damage in folder.metrics().check(checkpoint.progress.step)? {
            report::note(&format!("note: {damage}"));
        }
    }
    Ok(Training::resume(config, team, folder, checkpoint)?)
}

/// Warm-start the policies that ask for it and begin.
fn begin(config: Config, mut team: Team, folder: RunFolder) -> anyhow::Result<Training> {
    let beginners = beginners(&config, &team);
    if !beginners.is_empty() {
        warm_start(&config, &mut team, &beginners)?;
    } else if let Some(note) = passed_over(&config).filter(|_| folder.is_written_here()) {
        report::note(note);
    }
    let tested = config.validation.tasks;
    let wait = report::Wait::new(format!("{tested} test tasks before training"));
    let begun = Training::begin(config, team, folder);
    wait.finish();
    Ok(begun?)
}

/// What is said where no policy begins with the warm start, and something was set for it.
fn passed_over(config: &Config) -> Option<&'static str> {
    let imitation = &config.imitation;
    (imitation.enabled && !imitation.pretrained && config.sets_imitation()).then_some(
        "note: [imitation] does nothing here: no policy that is trained here and plays begins as \
         random weights; imitation.pretrained = true has those of a `path` imitate, too",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_sets_a_warm_start_that_nobody_begins_with_is_told_so() {
        let note = |sets: &[&str]| {
            let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
            passed_over(&Config::load(None, &sets).unwrap())
        };
        assert!(note(&["imitation.tasks=64"]).unwrap().contains("imitation.pretrained = true"));
        assert_eq!(note(&[]), None);
        assert_eq!(note(&["imitation.tasks=64", "imitation.enabled=false"]), None);
    }
}
