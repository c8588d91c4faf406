//! All weights of a model in one buffer.
//!
//! A *slot* is a tensor of the checkpoint (`….q_proj.weight`); a *block* is
//! what one operation of the model reads: one slot, or several that lie next
//! to each other and are multiplied at once (query, key and value). Both are
//! views of the buffer, so the optimizer works on one flat tensor with a
//! handful of operations and the model reads fused blocks, while files keep
//! the names that everyone uses.

use tch::{Kind, Tensor};

use super::device::Device;
use crate::error::PolicyError;

/// Every block begins at a multiple of this many numbers, so that vector
/// instructions find it aligned however the blocks before it are shaped.
const ALIGNMENT: i64 = 64;

/// Where a tensor of the checkpoint lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    name: String,
    shape: Vec<i64>,
    offset: i64,
}

impl Slot {
    /// Its key in the checkpoint.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its shape in the checkpoint.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Where it begins in the buffer, in numbers.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// The tensor's part of a buffer with this layout.
    pub fn view(&self, buffer: &Tensor) -> Tensor {
        let length: i64 = self.shape.iter().product();
        buffer.narrow(0, self.offset, length).view(self.shape.as_slice())
    }
}

/// Where a fused block lies.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    shape: Vec<i64>,
    offset: i64,
}

/// The layout of a model's weights, built block by block.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    slots: Vec<Slot>,
    blocks: Vec<Block>,
    length: i64,
}

impl Layout {
    /// Numbers in a buffer of this layout, the gaps between blocks included.
    pub fn length(&self) -> u64 {
        self.length as u64
    }

    /// Append a block of slots of one shape.
    pub fn push_all(&mut self, prefix: &str, names: &[&str], shape: &[i64]) {
        let named = |name: &&str| (format!("{prefix}{name}"), shape.to_vec());
        self.push(&names.iter().map(named).collect::<Vec<_>>());
    }

    /// Append a block of slots that agree in all but their first dimension.
    pub fn push(&mut self, slots: &[(String, Vec<i64>)]) {
        let offset = self.length;
        let mut shape = slots[0].1.clone();
        shape[0] = slots.iter().map(|(_, shape)| shape[0]).sum();
        for (name, shape) in slots {
            self.slots.push(Slot { name: name.clone(), shape: shape.clone(), offset: self.length });
            // A shape that no machine has room for is refused where memory is taken.
            let numbers = shape.iter().fold(1_i64, |product, &size| product.saturating_mul(size));
            self.length = self.length.saturating_add(numbers);
        }
        self.blocks.push(Block { shape, offset });
        self.length = self.length.saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
}

/// Named weights in one buffer.
#[derive(Debug)]
pub struct Parameters {
    buffer: Tensor, // [all weights and the gaps between blocks]
    layout: Layout,
}

impl Parameters {
    /// Zeros in the given layout, if there is room for them.
    pub fn zeros(layout: Layout, kind: Kind, device: Device) -> Result<Self, PolicyError> {
        let needed = (layout.length as u64).saturating_mul(kind.elt_size_in_bytes() as u64);
        if let Some(free) = device.free_memory().filter(|free| *free < needed) {
            return Err(PolicyError::TooLarge { needed, free });
        }
        let buffer = Tensor::f_zeros([layout.length], (kind, device.torch()))?;
        Ok(Parameters { buffer, layout })
    }

    /// The buffer itself. Gaps between blocks are zero.
    pub fn buffer(&self) -> &Tensor {
        &self.buffer
    }

    /// The tensors of the checkpoint, as views, in the order of the layout.
    pub fn tensors(&self) -> impl Iterator<Item = (&Slot, Tensor)> {
        self.slots().iter().map(|slot| (slot, slot.view(&self.buffer)))
    }

    /// Where the tensors of the checkpoint lie.
    pub fn slots(&self) -> &[Slot] {
        &self.layout.slots
    }

    /// The fused blocks, as views of `buffer`, in the order of the layout.
    pub fn blocks(&self, buffer: &Tensor) -> Vec<Tensor> {
        let view = |block: &Block| {
            let length: i64 = block.shape.iter().product();
            buffer.narrow(0, block.offset, length).view(block.shape.as_slice())
        };
        self.layout.blocks.iter().map(view).collect()
    }

    /// Numbers in all tensors, gaps left out.
    pub fn count(&self) -> usize {
        let numbers = |slot: &Slot| slot.shape.iter().product::<i64>() as usize;
        self.slots().iter().map(numbers).sum()
    }

    /// Another handle on the same weights, for another thread.
    pub fn share(&self) -> Self {
        Parameters { buffer: self.buffer.shallow_clone(), layout: self.layout.clone() }
    }

    /// A copy of the weights.
    pub fn duplicate(&self) -> Result<Self, PolicyError> {
        let mut buffer = self.buffer.f_empty_like()?;
        buffer.f_copy_(&self.buffer)?;
        Ok(Parameters { buffer, layout: self.layout.clone() })
    }
}
