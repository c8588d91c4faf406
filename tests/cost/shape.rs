//! Shapes of models, and small ones that cost the same for each layer.

use troupe_core::config::{DtypeChoice, PolicyConfig};
use troupe_core::seed::Seed;
use troupe_model::{Device, Policy};

/// The shape of a model of Qwen3's architecture.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub name: &'static str,
    pub layers: i64,
    pub hidden: i64,
    pub intermediate: i64,
    pub heads: i64,
    pub key_heads: i64,
    pub width: i64,
    pub vocabulary: i64,
}

/// Published ones, as their `config.json` says, one that is small enough for every
/// test, and one with the proportions of Qwen3-1.7B.
pub const SHAPES: [Shape; 5] = [
    Shape {
        name: "tiny",
        layers: 4,
        hidden: 128,
        intermediate: 384,
        heads: 8,
        key_heads: 4,
        width: 32,
        vocabulary: 512,
    },
    Shape {
        name: "small",
        layers: 7,
        hidden: 128,
        intermediate: 384,
        heads: 4,
        key_heads: 2,
        width: 32,
        vocabulary: 9_496,
    },
    Shape {
        name: "qwen3-0.6b",
        layers: 28,
        hidden: 1024,
        intermediate: 3072,
        heads: 16,
        key_heads: 8,
        width: 128,
        vocabulary: 151_936,
    },
    Shape {
        name: "qwen3-1.7b",
        layers: 28,
        hidden: 2048,
        intermediate: 6144,
        heads: 16,
        key_heads: 8,
        width: 128,
        vocabulary: 151_936,
    },
    Shape {
        name: "qwen3-8b",
        layers: 36,
        hidden: 4096,
        intermediate: 12_288,
        heads: 32,
        key_heads: 8,
        width: 128,
        vocabulary: 151_936,
    },
];

impl Shape {
    /// The shape of this name.
    pub fn named(name: &str) -> Option<Shape> {
        SHAPES.into_iter().find(|shape| shape.name == name)
    }

    /// A random model of the first `layers` of it, in 16 bits.
    pub fn policy(&self, layers: i64, device: Device) -> Policy {
        let config = PolicyConfig {
            layers,
            hidden_size: self.hidden,
            intermediate_size: self.intermediate,
            heads: self.heads,
            key_value_heads: self.key_heads,
            head_size: self.width,
            dtype: Some(DtypeChoice::Bfloat16),
            ..PolicyConfig::default()
        };
        let words: Vec<String> = (0..self.vocabulary).map(|word| format!("w{word}")).collect();
        Policy::random(&config, &words, Seed::new(1), device).unwrap()
    }

    /// Weights of the products of a layer.
    pub fn layer_weights(&self) -> u64 {
        let attention = self.hidden * (2 * self.heads + 2 * self.key_heads) * self.width;
        (attention + 3 * self.hidden * self.intermediate) as u64
    }

    /// Weights of the last product.
    pub fn head_weights(&self) -> u64 {
        (self.hidden * self.vocabulary) as u64
    }

    /// Bytes of a token's keys and values in a layer, in 16 bits.
    pub fn cached(&self) -> u64 {
        (2 * 2 * self.key_heads * self.width) as u64
    }
}
