//! The same messages in JSON, for servers that take nothing else.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::protobuf::GradientRequest;
use super::{Drawn, Record, Samples, Scored};

/// A gradient's request: the fields of [`GradientRequest`], which holds them as bytes.
pub(crate) fn gradient(request: &GradientRequest) -> Value {
    let data: Vec<Value> = request.data.iter().map(datum).collect();
    let input = json!({
        "data": data,
        "loss_fn": request.loss_fn,
        "loss_fn_config": request.loss_fn_config,
    });
    let key = if request.forward_only { "forward_input" } else { "forward_backward_input" };
    json!({ "model_id": request.model_id, "seq_id": request.seq_id, key: input })
}

fn datum(datum: &super::protobuf::Datum) -> Value {
    let chunks: Vec<Value> = datum
        .model_input
        .iter()
        .filter_map(|chunk| chunk.encoded_text.as_ref())
        .map(|text| {
            let (tokens, _) = text.tokens.as_chunks::<4>();
            let tokens: Vec<i32> = tokens.iter().map(|token| i32::from_le_bytes(*token)).collect();
            json!({ "type": "encoded_text", "tokens": tokens })
        })
        .collect();
    let inputs: Map<String, Value> = datum
        .loss_fn_inputs
        .iter()
        .map(|(name, tensor)| (name.clone(), tensor_value(tensor)))
        .collect();
    json!({ "model_input": { "chunks": chunks }, "loss_fn_inputs": inputs })
}

fn tensor_value(tensor: &super::protobuf::Tensor) -> Value {
    let (eights, _) = tensor.dense.as_chunks::<8>();
    let (fours, _) = tensor.dense.as_chunks::<4>();
    let integers = || eights.iter().map(|number| i64::from_le_bytes(*number)).collect::<Vec<_>>();
    let floats = || fours.iter().map(|number| f32::from_le_bytes(*number)).collect::<Vec<_>>();
    match tensor.dense.len() == 8 * tensor.shape.iter().product::<i64>() as usize {
        true => json!({ "data": integers(), "dtype": "int64", "shape": tensor.shape }),
        false => json!({ "data": floats(), "dtype": "float32", "shape": tensor.shape }),
    }
}

#[derive(Deserialize)]
struct Output {
    loss_fn_outputs: Vec<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Numbers {
    data: Vec<Option<f32>>,
}

/// What came of a gradient.
pub(crate) fn read_scored(body: &[u8]) -> Result<Scored, String> {
    let output: Output = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let record = |fields: Map<String, Value>| -> Record {
        let numbers = fields.into_iter().filter_map(|(name, value)| {
            let numbers: Numbers = serde_json::from_value(value).ok()?;
            Some((name, known(numbers.data)))
        });
        numbers.collect()
    };
    Ok(Scored { records: output.loss_fn_outputs.into_iter().map(record).collect() })
}

#[derive(Deserialize)]
struct SampleAnswer {
    sequences: Vec<SequenceAnswer>,
    prompt_logprobs: Option<Vec<Option<f32>>>,
}

#[derive(Deserialize)]
struct SequenceAnswer {
    stop_reason: String,
    tokens: Vec<i64>,
    logprobs: Option<Vec<Option<f32>>>,
}

/// What came of drawing.
pub(crate) fn read_samples(body: &[u8]) -> Result<Samples, String> {
    let answer: SampleAnswer = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let sequence = |sequence: SequenceAnswer| Drawn {
        stopped: sequence.stop_reason == "stop",
        tokens: sequence.tokens,
        logprobs: sequence.logprobs.map(known),
    };
    Ok(Samples {
        sequences: answer.sequences.into_iter().map(sequence).collect(),
        prompt_logprobs: answer.prompt_logprobs.map(known),
    })
}

/// What JSON cannot say is not a number.
fn known(numbers: Vec<Option<f32>>) -> Vec<f32> {
    numbers.into_iter().map(|number| number.unwrap_or(f32::NAN)).collect()
}
