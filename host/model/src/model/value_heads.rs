//! What a state and an answer to it are worth, read off hidden states: two heads for the value of
//! a state and two for that of an answer (ArCHer, arXiv 2402.19446, section 4; twins as in arXiv
//! 1802.09477). Of each two the lesser counts, so that what one of them overrates by chance is
//! not sought out.

use std::path::Path;

use tch::{Kind, Tensor};

use super::device::Device;
use super::parameters::{Layout, Parameters};
use super::preset::normals;
use super::weights::{read_tensors, write_tensors};
use crate::error::PolicyError;
use troupe_core::seed::Seed;
use troupe_core::storage::create_folder;

/// The file of a folder of heads.
const FILE: &str = "heads.safetensors";
/// The heads: of answers, then of states.
const HEADS: [&str; 4] = ["answer.0", "answer.1", "state.0", "state.1"];
/// How many of them are of answers.
const OF_ANSWERS: usize = 2;
/// Linear maps of a head, with a rectifier between each two.
const MAPS: usize = 3;

/// The weights of the heads, in 32 bits.
#[derive(Debug)]
pub struct ValueHeads {
    parameters: Parameters,
    device: Device,
}

/// Handles on the weights of heads, which may record gradients.
pub struct TrackedHeads {
    /// Weight and bias of every map of every head.
    blocks: Vec<Tensor>,
}

/// What heads make of some states and answers, in units of reward.
pub struct Values {
    /// Both estimates of what answers are worth: `[answers]` each.
    pub answers: [Tensor; 2],
    /// Both estimates of what states are worth: `[states]` each.
    pub states: [Tensor; 2],
}

impl ValueHeads {
    /// Heads over hidden states of this width; biases 0, and the last maps, so that at first all
    /// is worth 0.
    ///
    /// # Errors
    /// If the device has no memory for them.
    pub fn new(hidden: i64, seed: Seed, device: Device) -> Result<Self, PolicyError> {
        let parameters = Parameters::zeros(layout(hidden), Kind::Float, device)?;
        let last = format!(".{}.weight", MAPS - 1);
        for (slot, mut target) in parameters.tensors() {
            let [_, inputs] = slot.shape() else { continue };
            if slot.name().ends_with(&last) {
                continue;
            }
            // He, arXiv 1502.01852: what a rectifier lets through keeps its size.
            let spread = (2.0 / *inputs as f64).sqrt();
            let values = normals(seed.named(slot.name()), target.numel(), spread);
            target.f_copy_(&Tensor::f_from_slice(&values)?.f_view(slot.shape())?)?;
        }
        Ok(ValueHeads { parameters, device })
    }

    /// Bytes of heads over hidden states of this width.
    pub fn bytes(hidden: i64) -> u64 {
        layout(hidden).length() * Kind::Float.elt_size_in_bytes() as u64
    }

    /// All weights.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// All weights, to be changed.
    pub fn parameters_mut(&mut self) -> &mut Parameters {
        &mut self.parameters
    }

    /// A copy that goes on independently.
    ///
    /// # Errors
    /// If the device has no memory for it.
    pub fn duplicate(&self) -> Result<Self, PolicyError> {
        Ok(ValueHeads { parameters: self.parameters.duplicate()?, device: self.device })
    }

    /// Handles on the weights.
    pub fn plain(&self) -> TrackedHeads {
        TrackedHeads { blocks: self.parameters.blocks(self.parameters.buffer()) }
    }

    /// Handles on the weights that record gradients, and the leaves to take them for, in the
    /// layout's order.
    pub fn tracked(&self) -> (TrackedHeads, Vec<Tensor>) {
        let blocks = self.parameters.blocks(self.parameters.buffer());
        let leaves: Vec<Tensor> =
            blocks.iter().map(|block| block.detach().set_requires_grad(true)).collect();
        let blocks = leaves.iter().map(Tensor::shallow_clone).collect();
        (TrackedHeads { blocks }, leaves)
    }

    /// Write them into a folder; the file is replaced as a whole.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, folder: &Path) -> Result<(), PolicyError> {
        create_folder(folder)?;
        let tensors = self.parameters.tensors();
        let tensors = tensors.map(|(slot, tensor)| (slot.name().to_owned(), tensor));
        write_tensors(&folder.join(FILE), tensors)
    }

    /// Become what was saved in a folder.
    ///
    /// # Errors
    /// If it cannot be read, or is of other heads.
    pub fn load(&mut self, folder: &Path) -> Result<(), PolicyError> {
        let path = folder.join(FILE);
        let saved = read_tensors(&path)?;
        for (slot, mut target) in self.parameters.tensors() {
            let fits = saved.get(slot.name()).filter(|tensor| tensor.size() == slot.shape());
            let Some(tensor) = fits else {
                let reason = format!("it has no tensor `{}` of that shape", slot.name());
                return Err(PolicyError::Weights { path, reason });
            };
            target.f_copy_(tensor)?;
        }
        Ok(())
    }
}

fn layout(hidden: i64) -> Layout {
    let mut layout = Layout::default();
    for (index, head) in HEADS.iter().enumerate() {
        let width = if index < OF_ANSWERS { 2 * hidden } else { hidden };
        for map in 0..MAPS {
            let outputs = if map + 1 == MAPS { 1 } else { width };
            layout.push(&[(format!("critic.{head}.{map}.weight"), vec![outputs, width])]);
            layout.push(&[(format!("critic.{head}.{map}.bias"), vec![outputs])]);
        }
    }
    layout
}

impl TrackedHeads {
    /// Of hidden states after the prompts and after the answers: `[answers, hidden]` each, those of
    /// a prompt as often as it has answers.
    pub fn apply(&self, prompts: &Tensor, answers: &Tensor) -> Values {
        let (prompts, answers) = (prompts.to_kind(Kind::Float), answers.to_kind(Kind::Float));
        let both = Tensor::cat(&[&prompts, &answers], 1);
        Values {
            answers: [self.head(0, &both), self.head(1, &both)],
            states: [self.head(2, &prompts), self.head(3, &prompts)],
        }
    }

    /// One head: `[rows, width]` to `[rows]`.
    fn head(&self, head: usize, states: &Tensor) -> Tensor {
        let mut states = states.shallow_clone();
        for map in 0..MAPS {
            let at = 2 * (head * MAPS + map);
            let (weight, bias) = (&self.blocks[at], &self.blocks[at + 1]);
            states = states.linear(weight, Some(bias));
            if map + 1 < MAPS {
                states = states.relu();
            }
        }
        states.squeeze_dim(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads(seed: u64) -> ValueHeads {
        ValueHeads::new(8, Seed::new(seed), Device::cpu()).unwrap()
    }

    fn ones(rows: i64) -> Tensor {
        Tensor::ones([rows, 8], (Kind::Float, tch::Device::Cpu))
    }

    #[test]
    fn at_first_all_is_worth_nothing_and_what_is_loaded_is_what_was_saved() {
        let mut first = heads(1);
        let values = first.plain().apply(&ones(3), &ones(3));
        for estimates in values.answers.iter().chain(&values.states) {
            assert_eq!(Vec::<f32>::try_from(estimates).unwrap(), [0.0; 3]);
        }
        let _ = first.parameters_mut().buffer().shallow_clone().fill_(0.5);
        let folder = tempfile::tempdir().unwrap();
        first.save(folder.path()).unwrap();
        let mut second = heads(2);
        second.load(folder.path()).unwrap();
        let worth = |heads: &ValueHeads| {
            heads.plain().apply(&ones(1), &ones(1)).answers[1].double_value(&[0])
        };
        assert!(worth(&second) > 1.0);
        assert_eq!(worth(&second), worth(&first));
        let mut other = ValueHeads::new(4, Seed::new(1), Device::cpu()).unwrap();
        let error = other.load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("critic.answer.0.0.weight"), "{error}");
    }

    #[test]
    fn every_head_has_weights_of_its_own_and_only_answers_see_answers() {
        let heads = heads(3);
        for (slot, mut target) in heads.parameters().tensors() {
            let number = if slot.name().ends_with("2.weight") { 0.1 } else { continue };
            let _ = target.fill_(number);
        }
        let tracked = heads.plain();
        let values = tracked.apply(&ones(1), &ones(1));
        let other = tracked.apply(&ones(1), &(ones(1) * 2.0));
        let number = |tensor: &Tensor| tensor.double_value(&[0]);
        let numbers: Vec<f64> = values.answers.iter().chain(&values.states).map(number).collect();
        let mut different = numbers.clone();
        different.dedup();
        assert_eq!(different.len(), 4, "{numbers:?}");
        for index in 0..2 {
            assert_ne!(number(&values.answers[index]), number(&other.answers[index]));
            assert_eq!(number(&values.states[index]), number(&other.states[index]));
        }
    }
}
