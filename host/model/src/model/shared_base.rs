//! Policies that share one base, as they decode and train together.
//!
//! The base's maps are applied to the rows of all of them at once; each row
//! then gets what its own policy's adapter adds. Rows of one policy lie side
//! by side, so that costs one small product per policy and not one per row.

use tch::Tensor;

use super::adapter::{AdapterBlocks, Site};
use super::attention::Attention;
use super::decoder::{Decoder, Input};

/// A base and, for each member, its adapter.
#[derive(Debug)]
pub struct SharedBase {
    decoder: Decoder,
    members: Vec<Option<AdapterBlocks>>,
}

/// How many rows in a row are a member's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Index of the member.
    pub member: usize,
    /// Its rows.
    pub rows: i64,
    /// Those of them that are kept, see [`Input::keep`].
    pub kept: i64,
}

impl SharedBase {
    /// Members in the given order, all over this base.
    pub fn new(decoder: Decoder, members: Vec<Option<AdapterBlocks>>) -> Self {
        SharedBase { decoder, members }
    }

    /// With another handle on the base's weights.
    pub fn over(self, decoder: Decoder) -> Self {
        SharedBase { decoder, ..self }
    }

    /// The base.
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Say whose the rows of a pass are.
    pub fn adapter_rows(&self, segments: &[Segment]) -> AdapterRows<'_> {
        let adapted = segments.iter().any(|segment| self.members[segment.member].is_some());
        let parts = segments.iter().map(|&Segment { member, rows, kept }| MemberPart {
            adapter: self.members[member].as_ref(),
            rows,
            kept,
        });
        AdapterRows { parts: if adapted { parts.collect() } else { Vec::new() } }
    }

    /// See [`Decoder::forward`].
    pub fn forward(&self, input: &Input, attention: &mut dyn Attention) -> Tensor {
        self.decoder.forward(input, attention)
    }

    /// See [`Decoder::logits`].
    pub fn logits(&self, states: &Tensor) -> Tensor {
        self.decoder.logits(states)
    }
}

/// Which rows of a layer get which adapter.
pub(super) struct LayerRows<'a> {
    pub(super) rows: &'a AdapterRows<'a>,
    pub(super) layer: usize,
    /// Whether they are only those that are kept.
    pub(super) kept: bool,
}

impl LayerRows<'_> {
    /// See [`AdapterRows::add`].
    pub(super) fn add(&self, outputs: Tensor, inputs: &Tensor, site: Site) -> Tensor {
        self.rows.add(outputs, inputs, self.layer, site, self.kept)
    }
}

/// Which rows of a pass get which adapter.
pub struct AdapterRows<'a> {
    /// None if no row has an adapter.
    parts: Vec<MemberPart<'a>>,
}

struct MemberPart<'a> {
    adapter: Option<&'a AdapterBlocks>,
    rows: i64,
    kept: i64,
}

impl AdapterRows<'_> {
    /// Add to `outputs` `[rows, outputs]`, what a site makes of `inputs`
    /// `[rows, inputs]`, what the adapters make of it. With `kept`, the rows
    /// are only those that are kept.
    fn add(
        &self,
        outputs: Tensor,
        inputs: &Tensor,
        layer: usize,
        site: Site,
        kept: bool,
    ) -> Tensor {
        if self.parts.is_empty() {
            return outputs;
        }
        let mut from = 0;
        let mut deltas = Vec::with_capacity(self.parts.len());
        let mut changed = false;
        for part in &self.parts {
            let rows = if kept { part.kept } else { part.rows };
            let own = inputs.narrow(0, from, rows);
            from += rows;
            let delta = part.adapter.and_then(|adapter| adapter.delta(&own, layer, site));
            changed |= delta.is_some();
            deltas.push(delta.unwrap_or_else(|| {
                outputs.new_zeros([rows, outputs.size()[1]], (outputs.kind(), outputs.device()))
            }));
        }
        match deltas.as_slice() {
            _ if !changed => outputs,
            [one] => outputs + one,
            several => outputs + Tensor::cat(several, 0),
        }
    }
}
