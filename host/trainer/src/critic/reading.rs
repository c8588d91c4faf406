//! A critic's network over states and answers to them, and back.

use tch::{Kind, Tensor};

use crate::bundle::{Answer, Bundle, bundle};
use crate::error::TrainerError;
use crate::pack::{MicroBatch, Pack, micro_batches};
use crate::tree_attention::TreeAttention;
use troupe_core::parallel;
use troupe_model::{Input, Policy, SharedBase, TrackedHeads, ValueHeads, Values};

/// Behind every answer one more token is predicted, which says nothing: what predicts it has read
/// the whole answer.
const BEHIND: u32 = 0;

/// States and answers to them, by their token ids.
pub(super) struct Texts<'a> {
    prompts: Vec<&'a [u32]>,
    /// Each with a token behind it.
    answers: Vec<Vec<u32>>,
}

/// What an answer and its state should be found worth, by each of two heads; nothing if that is
/// not known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aim {
    pub(super) answer: Option<[f32; 2]>,
    pub(super) state: Option<[f32; 2]>,
}

/// Gradients laid out as the parameters of the encoder and of the heads, and what the mini-batch
/// came to.
pub(super) struct Slopes {
    pub(super) encoder: Tensor,
    pub(super) heads: Tensor,
    pub(super) loss: f64,
}

impl<'a> Texts<'a> {
    pub(super) fn of(texts: impl Iterator<Item = (&'a [u32], &'a [u32])>) -> Self {
        let behind = |answer: &[u32]| [answer, &[BEHIND]].concat();
        let (prompts, answers) = texts.map(|(prompt, answer)| (prompt, behind(answer))).unzip();
        Texts { prompts, answers }
    }

    fn bundles(&self) -> Vec<Bundle<'_>> {
        bundle(self.prompts.iter().zip(&self.answers).enumerate().map(|(row, (prompt, tokens))| {
            (*prompt, Answer { row, tokens, way: 0, automaton: None })
        }))
    }
}

/// What encoder and heads make of each text: four numbers, of both heads for answers and of both
/// for states.
pub(super) fn read(
    (encoder, heads): (&Policy, &ValueHeads),
    texts: &Texts,
    microbatch_tokens: usize,
) -> Result<Vec<[f32; 4]>, TrainerError> {
    let bundles = texts.bundles();
    let numbered: Vec<(usize, &Bundle)> = bundles.iter().map(|bundle| (0, bundle)).collect();
    let batches = micro_batches(&numbered, microbatch_tokens, encoder);
    let workers = workers(encoder, batches.len())
        .map(|_| (Policy::shared_base(&[encoder]), heads.plain()))
        .collect();
    let read = parallel::try_with(workers, batches, |(base, heads), batch| {
        let _guard = tch::no_grad_guard();
        let (rows, values) = values(base, heads, &batch);
        let numbers = stacked(&values);
        Ok::<_, TrainerError>((rows, Vec::<f32>::try_from(numbers.f_reshape([-1])?)?))
    })?;
    let mut all = vec![[0.0; 4]; texts.prompts.len()];
    for (rows, numbers) in read {
        for (place, &row) in rows.iter().enumerate() {
            all[row] = std::array::from_fn(|head| numbers[head * rows.len() + place]);
        }
    }
    Ok(all)
}

/// The gradient of Σ (estimate − aim)² over all heads, divided by the number of aims of each kind.
pub(super) fn slopes(
    (encoder, heads): (&Policy, &ValueHeads),
    texts: &Texts,
    aims: &[Aim],
    microbatch_tokens: usize,
) -> Result<Slopes, TrainerError> {
    let bundles = texts.bundles();
    let numbered: Vec<(usize, &Bundle)> = bundles.iter().map(|bundle| (0, bundle)).collect();
    let batches = micro_batches(&numbered, microbatch_tokens, encoder);
    let shares = [
        share(aims.iter().filter(|aim| aim.answer.is_some()).count()),
        share(aims.iter().filter(|aim| aim.state.is_some()).count()),
    ];
    let workers = workers(encoder, batches.len())
        .map(|_| {
            let (base, leaves) = Policy::tracked(&[encoder]);
            let (heads, of_heads) = heads.tracked();
            (base, leaves.into_iter().flatten().collect::<Vec<_>>(), heads, of_heads)
        })
        .collect();
    let parts = parallel::try_with(workers, batches, |(base, leaves, heads, of_heads), batch| {
        let (rows, values) = values(base, heads, &batch);
        let loss = loss(&values, rows.iter().map(|&row| aims[row]), shares);
        let all: Vec<&Tensor> = leaves.iter().chain(of_heads.iter()).collect();
        let mut gradients = Tensor::f_run_backward(&[&loss], &all, false, false)?;
        let of_heads = gradients.split_off(leaves.len());
        Ok::<_, TrainerError>((gradients, of_heads, loss.double_value(&[])))
    })?;
    let encoder_buffer = encoder.trainable();
    let mut slopes = Slopes {
        encoder: encoder_buffer.buffer().f_zeros_like()?.f_to_kind(Kind::Float)?,
        heads: heads.parameters().buffer().f_zeros_like()?,
        loss: 0.0,
    };
    let blocks = encoder_buffer.blocks(&slopes.encoder);
    let of_heads = heads.parameters().blocks(&slopes.heads);
    for (gradients, head_gradients, loss) in parts {
        add(&blocks, gradients)?;
        add(&of_heads, head_gradients)?;
        slopes.loss += loss;
    }
    Ok(slopes)
}

fn workers(encoder: &Policy, batches: usize) -> std::ops::Range<usize> {
    let threads = if encoder.device().is_gpu() { 1 } else { encoder.threads() };
    0..threads.clamp(1, batches.max(1))
}

fn share(count: usize) -> f32 {
    1.0 / count.max(1) as f32
}

/// Weights that a pass does not read have undefined gradients.
fn add(blocks: &[Tensor], gradients: Vec<Tensor>) -> Result<(), TrainerError> {
    for (block, gradient) in blocks.iter().zip(gradients) {
        if gradient.defined() {
            let _ = block.shallow_clone().f_add_(&gradient)?;
        }
    }
    Ok(())
}

/// The rows of a micro-batch, and what is made of them, in that order.
fn values(base: &SharedBase, heads: &TrackedHeads, batch: &MicroBatch) -> (Vec<usize>, Values) {
    let (pack, mut attention) = batch.pack(base.decoder());
    let states = base.decoder().finish(&states(base, &pack, &mut attention));
    let Ends { rows, prompts, answers } = Ends::of(&pack);
    let at = |places: &[i64]| {
        let places = Tensor::from_slice(places).to_device(states.device());
        states.index_select(0, &places)
    };
    let values = heads.apply(&at(&prompts), &at(&answers));
    (rows, values)
}

/// Hidden states of the predictors after the last layer: `[predictors, hidden]`.
fn states(base: &SharedBase, pack: &Pack, attention: &mut TreeAttention) -> Tensor {
    let decoder = base.decoder();
    let adapter_rows = base.adapter_rows(&pack.segments());
    let rotation = decoder.rotation(&pack.positions);
    let input = Input {
        tokens: &pack.tokens,
        positions: &pack.positions,
        keep: Some(&pack.predictors),
        adapter_rows: &adapter_rows,
    };
    let mut states = decoder.embed(&pack.tokens);
    for index in 0..decoder.depth() {
        states = decoder.layer(index, &states, &rotation, &input, attention);
    }
    states
}

/// Which predictors have read all of a prompt, and which all of an answer.
struct Ends {
    rows: Vec<usize>,
    prompts: Vec<i64>,
    answers: Vec<i64>,
}

impl Ends {
    fn of(pack: &Pack) -> Self {
        let mut ends = Ends { rows: Vec::new(), prompts: Vec::new(), answers: Vec::new() };
        let chunks = pack.chunks(usize::MAX);
        let targets = || chunks.iter().flat_map(|chunk| chunk.targets);
        let mut begun: Vec<(usize, i64)> = targets()
            .filter(|target| target.token == 0)
            .map(|target| (target.row, target.source()))
            .collect();
        let mut read: Vec<(usize, i64)> = targets()
            .filter(|target| target.is_last())
            .map(|target| (target.row, target.source()))
            .collect();
        begun.sort_unstable();
        read.sort_unstable();
        for ((row, prompt), (_, answer)) in begun.into_iter().zip(read) {
            ends.rows.push(row);
            ends.prompts.push(prompt);
            ends.answers.push(answer);
        }
        ends
    }
}

fn stacked(values: &Values) -> Tensor {
    let [first, second] = &values.answers;
    let [third, fourth] = &values.states;
    Tensor::stack(&[first, second, third, fourth], 0)
}

fn loss(values: &Values, aims: impl Iterator<Item = Aim>, shares: [f32; 2]) -> Tensor {
    let mut columns: [Vec<f32>; 8] = Default::default();
    for aim in aims {
        let kinds = [(aim.answer, shares[0]), (aim.state, shares[1])];
        for (kind, (numbers, share)) in kinds.into_iter().enumerate() {
            for head in 0..2 {
                columns[2 * kind + head].push(numbers.map_or(0.0, |numbers| numbers[head]));
                columns[4 + 2 * kind + head].push(if numbers.is_some() { share } else { 0.0 });
            }
        }
    }
    let estimates = stacked(values); // [4, rows]
    let numbers = Tensor::from_slice(&columns.concat()).view([2, 4, -1]);
    let numbers = numbers.to_device(estimates.device());
    let differences = estimates - numbers.get(0);
    (differences.square() * numbers.get(1)).sum(Kind::Float)
}
