//! A trainer on disk.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::caution::Caution;
use crate::error::TrainerError;
use crate::optimizer::tensor;
use crate::trainer::Trainer;
use troupe_core::storage::{create_folder, read_json, write_json};
use troupe_model::{read_tensors, write_tensors};

/// What `trainer.json` says beside the tensors.
#[derive(Serialize, Deserialize)]
struct Counts {
    step: usize,
    optimizer_steps: u64,
    rate_scale: f64,
    /// Absent where an earlier version wrote it, which began every update at its learning rate.
    #[serde(default)]
    caution: Caution,
}

impl Trainer {
    /// Save everything the next update depends on, except the policy itself. With several
    /// processes rank 0 saves, while the others [hand in](Trainer::hand_in).
    ///
    /// # Errors
    /// If a file cannot be written, or another process is lost.
    pub fn save(&self, folder: &Path) -> Result<(), TrainerError> {
        create_folder(folder)?;
        write_tensors(&folder.join("optimizer.safetensors"), self.optimizer.state()?)?;
        if let Some(reference) = &self.reference {
            let tensors = reference.trainable().tensors();
            let tensors = tensors.map(|(slot, tensor)| (slot.name().to_owned(), tensor));
            write_tensors(&folder.join("reference.safetensors"), tensors)?;
        }
        let counts = Counts {
            step: self.step,
            optimizer_steps: self.optimizer.steps(),
            rate_scale: self.rate_scale,
            caution: self.caution,
        };
        Ok(write_json(&folder.join("trainer.json"), &counts)?)
    }

    /// Give rank 0 what it [saves](Trainer::save) of what this process alone has.
    ///
    /// # Errors
    /// If a process is lost.
    pub fn hand_in(&self) -> Result<(), TrainerError> {
        self.optimizer.state().map(drop)
    }

    /// Take up what [`Trainer::save`] saved, with any number of processes; on the CPU, training then goes
    /// on as if it had never stopped, bit by bit.
    ///
    /// # Errors
    /// If a file cannot be read or is of another policy.
    pub fn load(&mut self, folder: &Path) -> Result<(), TrainerError> {
        let unfit = |reason| TrainerError::State { folder: folder.display().to_string(), reason };
        let counts: Counts = read_json(&folder.join("trainer.json"))?;
        let state = read_tensors(&folder.join("optimizer.safetensors"))?;
        self.optimizer.restore(&state, counts.optimizer_steps).map_err(unfit)?;
        if let Some(reference) = &self.reference {
            let state = read_tensors(&folder.join("reference.safetensors"))?;
            for (slot, mut target) in reference.trainable().tensors() {
                target.f_copy_(tensor(&state, slot.name(), slot.shape()).map_err(unfit)?)?;
            }
        }
        (self.step, self.rate_scale, self.caution) =
            (counts.step, counts.rate_scale, counts.caution);
        Ok(())
    }
}
