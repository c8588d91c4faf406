//! A run's way through its loop, with what it heeds and what it tells.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::outset::Outset;
use super::telling::{conclude, describe, milestones};
use crate::forecast::{Measurement, Prospect};
use crate::report;
use crate::stop::StopSignal;
use troupe_core::error::ExitCode;
use troupe_core::forecast::MEASURED;
use troupe_core::storage::StorageError;
use troupe_tinker::TinkerPolicy;
use troupe_trainer::ranks::Ranks;
use troupe_training::team::Team;
use troupe_training::training::Training;

/// What accompanies a run.
pub(super) struct Escort {
    stop: StopSignal,
    /// What its forecast is made of, if it has none yet.
    prospect: Option<Prospect>,
    /// Of a run that is only measured.
    measurement: Option<Measurement>,
}

impl Escort {
    /// Of a run that is about to start; signals are listened to from now on.
    ///
    /// # Errors
    /// If that fails.
    pub(super) fn of(
        outset: &Outset,
        team: &Team,
        measurement: Option<Measurement>,
    ) -> io::Result<Self> {
        let Outset { folder, settled, .. } = outset;
        let farewell = format!("stopped; go on with {}", resume_command(folder.path()));
        let stop = StopSignal::listen(farewell)?;
        Ok(Escort { stop, prospect: Prospect::of(folder, settled, team), measurement })
    }

    /// Train until it is done or asked to stop. Returns the exit code.
    ///
    /// # Errors
    /// If a step fails, or another process is lost.
    pub(super) fn see_through(&self, training: Training, ranks: &Ranks) -> anyhow::Result<u8> {
        let distant = training.distant();
        let trained = self.train(training, ranks);
        leave(&distant);
        let code = trained?;
        // To the others, a rank that leaves early is lost.
        ranks.gather(())?;
        Ok(code)
    }

    /// The loop, with a bar.
    fn train(&self, mut training: Training, ranks: &Ranks) -> anyhow::Result<u8> {
        let (done, whole, unit) = training.reached();
        let bar = report::Bar::new("AT-GRPO", done, whole, unit);
        bar.milestone(&format!(
            "test tasks solved before training: {}",
            report::success(&training.progress().before.greedy)
        ));
        self.stop.heed();
        while !training.is_done() {
            // Whichever of them was asked, all stop after the same step.
            if let Some(code) = ranks.gather(self.stop.asked())?.into_iter().flatten().max() {
                bar.finish();
                let step = training.progress().step;
                let folder = training.stop()?;
                let resume = resume_command(folder.path());
                report::note(&format!("stopped and saved after step {step}; go on with {resume}"));
                return Ok(code);
            }
            let record = training.step()?;
            let described = describe(&record);
            bar.log(&format!("step {:4}: {described}", record.step));
            bar.step_to(training.reached().0, described);
            milestones(&bar, &record);
            if record.step == MEASURED {
                self.prospect.as_ref().map_or(Ok(()), Prospect::keep)?;
            }
        }
        bar.finish();
        let (summary, folder) = training.finish()?;
        if self.measurement.is_none() {
            conclude(&summary, folder.path());
        }
        Ok(ExitCode::Success as u8)
    }

    /// Say what a run would come to that was only measured.
    ///
    /// # Errors
    /// If what was measured cannot be read.
    pub(super) fn tell_forecast(&self) -> Result<(), StorageError> {
        match (&self.measurement, &self.prospect) {
            (Some(measurement), Some(prospect)) => measurement.tell(prospect),
            _ => Ok(()),
        }
    }
}

/// Unload what is on servers, however the run ended; what cannot be is named.
fn leave(distant: &BTreeMap<String, Arc<TinkerPolicy>>) {
    for (name, policy) in distant {
        if let Err(failure) = policy.close() {
            report::note(&format!("note: the policy `{name}`: {failure}"));
        }
    }
}

fn resume_command(folder: &Path) -> String {
    format!("`host train --resume {}`", folder.display())
}
