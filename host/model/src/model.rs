//! The network: what its checkpoint says it is, its weights in memory and in
//! files, adapters over weights that several policies share, and the device.
//!
//! Read `decoder` first (the one model code of all families), then
//! `shared_base` (policies over one base).

mod adapter;
mod adapter_config;
mod architecture;
mod attention;
mod config_keys;
mod decoder;
mod device;
mod entries;
mod experts;
mod family;
mod feed_forward;
mod linear;
mod memory;
mod message;
#[cfg(target_arch = "x86_64")]
mod mkl;
mod norm;
mod packed;
mod parameters;
pub(super) mod preset;
mod recording;
mod residual;
mod rotary;
mod shared_base;
mod special_tokens;
mod value_heads;
pub(super) mod weights;

pub(super) use adapter::Adapter;
pub(super) use adapter_config::AdapterConfig;
pub use architecture::ModelConfig;
pub use attention::Attention;
pub use attention::LayerSight;
pub use attention::Mask;
pub use attention::Masking;
pub use attention::SelfAttention;
pub use attention::Sight;
pub use attention::attend;
pub use attention::by_head;
pub use attention::{bias_of, causal};
pub use decoder::Decoder;
pub use decoder::Input;
pub use decoder::Rotation;
pub use device::Device;
pub(super) use device::default_threads;
pub(super) use entries::Entries;
pub use family::ModelFamily;
pub use memory::{give_back_memory, resident_memory};
pub use message::done;
pub use packed::Rounding;
#[cfg(test)]
pub(super) use packed::{has_avx2, has_instructions};
pub use parameters::Parameters;
pub use parameters::Slot;
pub(super) use recording::Recording;
pub use shared_base::AdapterRows;
pub use shared_base::Segment;
pub use shared_base::SharedBase;
pub(super) use special_tokens::SpecialTokens;
pub use value_heads::TrackedHeads;
pub use value_heads::ValueHeads;
pub use value_heads::Values;
pub use weights::read_tensors;
pub use weights::write_tensors;
