//! What crosses: gradients and samples in protobuf, or in JSON, and the names of both.
//!
//! Field numbers are those of the public SDK. Arrays are little-endian bytes.

pub(crate) mod json;
pub(crate) mod protobuf;

use std::collections::BTreeMap;

/// Answers of a request, and so of what comes of it.
pub(crate) const MOST_DATA: usize = 1024;

/// Numbers of one answer, by what they are.
pub(crate) type Record = BTreeMap<String, Vec<f32>>;

/// What came of a gradient, or of scoring alone: a record for each answer, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scored {
    pub(crate) records: Vec<Record>,
}

/// One answer that was drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Drawn {
    /// Whether a token ended it, and not its length.
    pub(crate) stopped: bool,
    pub(crate) tokens: Vec<i64>,
    pub(crate) logprobs: Option<Vec<f32>>,
}

/// What came of drawing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Samples {
    pub(crate) sequences: Vec<Drawn>,
    /// Of the prompt's tokens, the first one's perhaps left out; what is not known is not a number.
    pub(crate) prompt_logprobs: Option<Vec<f32>>,
}
