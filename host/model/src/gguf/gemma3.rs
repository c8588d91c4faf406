//! What only Gemma 3 has: layers that see a window, and queries scaled in a way of their own. Files
//! leave most of it to who runs them; what is left out is as llama.cpp has it.

use serde_json::{Map, Value, json};

use super::options;
use super::shape::{ArchitectureKeys, shortest};

/// One layer of so many sees everything, the last of them.
const PATTERN: u64 = 6;
/// Base of the positions of layers that see a window.
const LOCAL_BASE: f64 = 10_000.0;
/// Layers of the largest model, which scales queries by its width and not by that of a head.
const LAYERS_OF_27B: usize = 62;

/// What only Gemma 3 has.
#[derive(Debug, PartialEq)]
pub(super) struct Gemma3 {
    /// Tokens that a layer of those with a window sees.
    window: usize,
    /// One layer of so many has none; 1 if none has one, 0 if all have.
    pattern: u64,
    local_base: f64,
    /// Queries are divided by its root.
    query_scalar: usize,
}

impl Gemma3 {
    pub(super) fn read(
        entries: &ArchitectureKeys,
        width: usize,
        heads: usize,
        head_width: usize,
        layers: usize,
    ) -> Result<Self, String> {
        let local_base = entries.number_by(&["rope.freq_base_swa", options::LOCAL_BASE])?;
        Ok(Gemma3 {
            window: entries.size("attention.sliding_window")?,
            pattern: entries.whole("attention.sliding_window_pattern")?.unwrap_or(PATTERN),
            local_base: local_base.map_or(LOCAL_BASE, |(_, base)| shortest(base)),
            query_scalar: match layers {
                LAYERS_OF_27B => width / heads,
                _ => head_width,
            },
        })
    }

    /// What `config.json` says of it.
    pub(super) fn config(&self, layers: usize) -> Map<String, Value> {
        let kind = |layer: u64| match self.pattern > 0 && layer % self.pattern == self.pattern - 1 {
            true => "full_attention",
            false => "sliding_attention",
        };
        let kinds: Vec<_> = (0..layers as u64).map(kind).collect();
        let said = [
            ("sliding_window", json!(self.window)),
            ("layer_types", json!(kinds)),
            ("rope_local_base_freq", json!(self.local_base)),
            ("query_pre_attn_scalar", json!(self.query_scalar)),
        ];
        said.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_layer_of_each_pattern_sees_everything() {
        let full = |pattern| {
            let gemma3 = Gemma3 { window: 4, pattern, local_base: LOCAL_BASE, query_scalar: 8 };
            let kinds = gemma3.config(13)["layer_types"].clone();
            let is_full = |(_, kind): &(usize, &Value)| **kind == "full_attention";
            let kinds = kinds.as_array().unwrap().iter().enumerate();
            kinds.filter(is_full).map(|(layer, _)| layer).collect::<Vec<_>>()
        };
        assert_eq!(full(6), [5, 11]);
        assert_eq!(full(4), [3, 7, 11]);
        assert_eq!((full(1).len(), full(0).len()), (13, 0));
    }
}
