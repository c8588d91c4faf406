//! The messages in protobuf (proto3), field by field.

use std::collections::HashMap;

use prost::Message;

use super::{Drawn, MOST_DATA, Record, Samples, Scored};

/// Kinds of numbers in a tensor.
const FLOAT32: i32 = 1;
const INT64: i32 = 2;

/// `ForwardBackwardRequest`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct GradientRequest {
    #[prost(string, tag = "1")]
    pub(crate) model_id: String,
    #[prost(int32, tag = "2")]
    pub(crate) seq_id: i32,
    #[prost(message, repeated, tag = "3")]
    pub(crate) data: Vec<Datum>,
    #[prost(string, tag = "4")]
    pub(crate) loss_fn: String,
    #[prost(map = "string, double", tag = "5")]
    pub(crate) loss_fn_config: HashMap<String, f64>,
    #[prost(bool, tag = "6")]
    pub(crate) forward_only: bool,
}

/// `Datum`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Datum {
    #[prost(message, repeated, tag = "1")]
    pub(crate) model_input: Vec<Chunk>,
    #[prost(map = "string, message", tag = "2")]
    pub(crate) loss_fn_inputs: HashMap<String, Tensor>,
}

/// `ModelInputChunk`; only text is sent.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Chunk {
    #[prost(message, optional, tag = "1")]
    pub(crate) encoded_text: Option<EncodedText>,
}

/// `EncodedTextChunk`: tokens as 32-bit integers.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct EncodedText {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) tokens: Vec<u8>,
}

/// `TensorData`; only dense ones are sent.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Tensor {
    #[prost(bytes = "vec", tag = "1")]
    pub(crate) dense: Vec<u8>,
    #[prost(int32, tag = "3")]
    pub(crate) dtype: i32,
    #[prost(int64, repeated, tag = "4")]
    pub(crate) shape: Vec<i64>,
}

/// `ForwardBackwardOutput`.
#[derive(Clone, PartialEq, Message)]
struct GradientOutput {
    #[prost(string, tag = "1")]
    loss_fn_output_type: String,
    #[prost(message, repeated, tag = "2")]
    loss_fn_outputs: Vec<ArrayRecord>,
    #[prost(map = "string, double", tag = "3")]
    metrics: HashMap<String, f64>,
}

/// `ArrayRecord`: the tensors of several answers back to back.
#[derive(Clone, PartialEq, Message)]
struct ArrayRecord {
    #[prost(string, tag = "1")]
    type_tag: String,
    #[prost(map = "string, message", tag = "2")]
    fields: HashMap<String, BatchedTensor>,
    #[prost(int64, tag = "3")]
    num_datums: i64,
}

/// `BatchedTensor`; `offsets` are bytes, one more than there are tensors.
#[derive(Clone, PartialEq, Message)]
struct BatchedTensor {
    #[prost(bytes = "vec", tag = "1")]
    data: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    offsets: Vec<u8>,
    #[prost(int32, tag = "3")]
    dtype: i32,
}

/// `SampleResponse`.
#[derive(Clone, PartialEq, Message)]
struct SampleResponse {
    #[prost(message, repeated, tag = "1")]
    sequences: Vec<SampledSequence>,
    #[prost(bytes = "vec", optional, tag = "2")]
    prompt_logprobs: Option<Vec<u8>>,
}

/// `SampledSequence`; `stop_reason` 0 is a stop, 1 the length.
#[derive(Clone, PartialEq, Message)]
struct SampledSequence {
    #[prost(int32, tag = "1")]
    stop_reason: i32,
    #[prost(bytes = "vec", tag = "2")]
    tokens: Vec<u8>,
    #[prost(bytes = "vec", optional, tag = "3")]
    logprobs: Option<Vec<u8>>,
}

/// Text as a chunk.
pub(crate) fn text(tokens: &[u32]) -> Chunk {
    let tokens = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
    Chunk { encoded_text: Some(EncodedText { tokens }) }
}

/// Numbers as a tensor.
pub(crate) fn floats(numbers: &[f32]) -> Tensor {
    let dense = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    Tensor { dense, dtype: FLOAT32, shape: vec![numbers.len() as i64] }
}

/// Token ids as a tensor.
pub(crate) fn integers(tokens: &[u32]) -> Tensor {
    let dense = tokens.iter().flat_map(|token| i64::from(*token).to_le_bytes()).collect();
    Tensor { dense, dtype: INT64, shape: vec![tokens.len() as i64] }
}

/// What came of a gradient.
pub(crate) fn read_scored(body: &[u8]) -> Result<Scored, String> {
    let output = GradientOutput::decode(body).map_err(|error| error.to_string())?;
    let mut records = Vec::new();
    for array in &output.loss_fn_outputs {
        let count = usize::try_from(array.num_datums).unwrap_or(0);
        let start = records.len();
        // Nothing is held for what was never asked for.
        if count > MOST_DATA - start {
            let claimed = array.num_datums;
            return Err(format!(
                "it claims {claimed} answers, and a request has {MOST_DATA} at most"
            ));
        }
        records.resize_with(start + count, Record::new);
        for (name, tensor) in &array.fields {
            // Others are not read: only numbers of single precision are known here.
            if tensor.dtype != FLOAT32 {
                continue;
            }
            for (record, numbers) in records[start..].iter_mut().zip(tensor.cut(count)?) {
                record.insert(name.clone(), numbers);
            }
        }
    }
    Ok(Scored { records })
}

impl BatchedTensor {
    fn cut(&self, count: usize) -> Result<Vec<Vec<f32>>, String> {
        let (offsets, rest) = self.offsets.as_chunks::<8>();
        let offsets: Vec<usize> =
            offsets.iter().map(|at| i64::from_le_bytes(*at) as usize).collect();
        if !rest.is_empty() || offsets.len() != count + 1 {
            return Err(format!("{} offsets for {count} tensors", offsets.len()));
        }
        let cut = |pair: &[usize]| {
            let bytes = self.data.get(pair[0]..pair[1]);
            read_floats(bytes.ok_or("an offset lies outside of its data")?)
        };
        offsets.windows(2).map(cut).collect()
    }
}

/// What came of drawing.
pub(crate) fn read_samples(body: &[u8]) -> Result<Samples, String> {
    let response = SampleResponse::decode(body).map_err(|error| error.to_string())?;
    let sequence = |sequence: &SampledSequence| {
        let (tokens, rest) = sequence.tokens.as_chunks::<4>();
        if !rest.is_empty() {
            return Err("its tokens are no 32-bit integers".to_owned());
        }
        Ok(Drawn {
            stopped: sequence.stop_reason == 0,
            tokens: tokens.iter().map(|token| i64::from(i32::from_le_bytes(*token))).collect(),
            logprobs: sequence.logprobs.as_deref().map(read_floats).transpose()?,
        })
    };
    Ok(Samples {
        sequences: response.sequences.iter().map(sequence).collect::<Result<_, _>>()?,
        prompt_logprobs: response.prompt_logprobs.as_deref().map(read_floats).transpose()?,
    })
}

fn read_floats(bytes: &[u8]) -> Result<Vec<f32>, String> {
    let (numbers, rest) = bytes.as_chunks::<4>();
    match rest {
        [] => Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect()),
        _ => Err("its bytes are no numbers of single precision".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_of_more_answers_than_were_ever_sent_is_refused_before_anything_is_held_for_them() {
        let claimed = |counts: &[i64]| {
            let of = |count: &i64| ArrayRecord { num_datums: *count, ..ArrayRecord::default() };
            let loss_fn_outputs = counts.iter().map(of).collect();
            let output = GradientOutput { loss_fn_outputs, ..GradientOutput::default() };
            read_scored(&output.encode_to_vec())
        };
        assert_eq!(claimed(&[1024]).unwrap().records.len(), 1024);
        for counts in [&[i64::MAX][..], &[1 << 40], &[1024, 1]] {
            assert!(claimed(counts).unwrap_err().contains("1024 at most"), "{counts:?}");
        }
    }
}
