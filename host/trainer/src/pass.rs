//! One micro-batch through the model and back.
//!
//! The layers are differentiated one by one, from the last to the first: each
//! began from a leaf of its own, and from the gradient of what it returned
//! comes that of what it was given. So a layer's graph can be dropped as soon
//! as it was used or, with *checkpointing*, not be kept at all: only what a
//! layer was given is, and the layer is computed again when its turn comes.

use tch::Tensor;

use crate::error::TrainerError;
use crate::learner::Learner;
use crate::logprobs::{LogProbs, chunk_targets};
use crate::objective::{Measured, Measures, Objective};
use crate::pack::{Chunk, MicroBatch, Pack};
use crate::sum::Sum;
use crate::tree_attention::TreeAttention;
use troupe_model::{AdapterRows, Input, Policy, Rotation, Sampling, SharedBase};

/// The learners' weights as one thread sees them.
pub(super) struct Weights {
    /// Records gradients.
    tracked: SharedBase,
    /// What gradients are taken for: per learner, in the layout's order.
    leaves: Vec<Tensor>,
    reference: Option<SharedBase>,
}

impl Weights {
    pub(super) fn of(learners: &[Learner]) -> Self {
        let policies: Vec<_> = learners.iter().map(|learner| learner.policy).collect();
        let references: Option<Vec<_>> = learners.iter().map(|learner| learner.reference).collect();
        let (tracked, leaves) = Policy::tracked(&policies);
        let leaves = leaves.into_iter().flatten().collect();
        let reference = references.map(|references| Policy::shared_base(&references));
        Weights { tracked, leaves, reference }
    }
}

/// What is minimized: one objective per learner.
pub(super) type Objectives<'a> = [&'a (dyn Objective + Sync)];

/// Add the gradients of a micro-batch to `sum` when it is its `turn`; returns
/// what was measured of each learner.
pub(super) fn run(
    weights: &Weights,
    batch: &MicroBatch,
    objectives: &Objectives,
    checkpointing: bool,
    sum: &Sum,
    turn: usize,
) -> Result<Vec<Measured>, TrainerError> {
    let (pack, mut attention) = batch.pack(weights.tracked.decoder());
    let ways = objectives[0].ways();
    let reference = weights.reference.as_ref();
    let reference = reference.map(|reference| {
        scored(reference, &pack, &mut attention, ways, |logprobs| logprobs.chosen)
    });
    let reference = reference.transpose()?;
    let mut body = Body::forward(weights, &pack, attention, checkpointing);
    let head = Head { weights, pack: &pack, objectives, reference };
    let (gradient, mut head_gradients, measured) = head.backward(&body.states)?;
    if !weights.tracked.decoder().config().tie_word_embeddings {
        sum.add(turn, body.layers.len() + 1, &std::mem::take(&mut head_gradients))?;
    }
    body.backward(gradient, head_gradients, sum, turn)?;
    Ok(measured)
}

/// What `read` takes of the scores of all targets, chunk by chunk.
///
/// # Errors
/// If one of them could not have been drawn.
pub(super) fn scored(
    shared_base: &SharedBase,
    pack: &Pack,
    attention: &mut TreeAttention,
    ways: &[Sampling],
    read: impl Fn(LogProbs) -> Tensor,
) -> Result<Vec<Tensor>, TrainerError> {
    let _guard = tch::no_grad_guard();
    let decoder = shared_base.decoder();
    let adapter_rows = shared_base.adapter_rows(&pack.segments());
    let rotation = decoder.rotation(&pack.positions);
    let mut states = decoder.embed(&pack.tokens);
    for index in 0..decoder.depth() {
        states = decoder.layer(index, &states, &rotation, &input(pack, &adapter_rows), attention);
    }
    let score =
        |chunk: Chunk| Ok(read(LogProbs::of(decoder, &chunk.states(&states), &chunk, ways)?));
    chunks(pack, shared_base).into_iter().map(score).collect()
}

fn input<'a>(pack: &'a Pack, adapter_rows: &'a AdapterRows<'a>) -> Input<'a> {
    let (tokens, positions) = (&pack.tokens, &pack.positions);
    Input { tokens, positions, keep: Some(&pack.predictors), adapter_rows }
}

/// The pack's targets as the head takes them.
pub(super) fn chunks<'p, 'a>(pack: &'p Pack<'a>, shared_base: &SharedBase) -> Vec<Chunk<'p, 'a>> {
    let decoder = shared_base.decoder();
    let vocabulary = decoder.config().vocab_size as usize;
    pack.chunks(chunk_targets(vocabulary, decoder.device().is_gpu()))
}

/// The gradient of a chunk's or a layer's inputs.
fn pull_back(
    root: &Tensor,
    leaf: &Tensor,
    weights: &[Tensor],
) -> Result<(Tensor, Vec<Tensor>), TrainerError> {
    if !root.requires_grad() {
        return Ok((Tensor::new(), Vec::new()));
    }
    let trained = weights.iter().chain(leaf.requires_grad().then_some(leaf));
    let leaves: Vec<&Tensor> = trained.collect();
    let mut gradients = Tensor::f_run_backward(&[root], &leaves, false, false)?;
    let of_leaf = if leaf.requires_grad() { gradients.pop() } else { None };
    Ok((of_leaf.unwrap_or_default(), gradients))
}

/// The layers, done forwards.
struct Body<'a> {
    weights: &'a Weights,
    pack: &'a Pack<'a>,
    adapter_rows: AdapterRows<'a>,
    rotation: Rotation,
    attention: TreeAttention,
    embedded: Tensor,
    layers: Vec<Layer>,
    /// Of the predictors, after the last layer: `[predictors, hidden]`.
    states: Tensor,
}

/// A layer between its two passes.
struct Layer {
    given: Tensor,
    /// With its graph; nothing if it is to be computed again.
    returned: Option<Tensor>,
}

impl<'a> Body<'a> {
    fn forward(
        weights: &'a Weights,
        pack: &'a Pack<'a>,
        attention: TreeAttention,
        checkpointing: bool,
    ) -> Self {
        let decoder = weights.tracked.decoder();
        let embedded = decoder.embed(&pack.tokens);
        let mut body = Body {
            weights,
            pack,
            adapter_rows: weights.tracked.adapter_rows(&pack.segments()),
            rotation: decoder.rotation(&pack.positions),
            attention,
            states: embedded.detach(),
            embedded,
            layers: Vec::with_capacity(decoder.depth()),
        };
        for index in 0..decoder.depth() {
            // Nothing trained lies before the first layer of a frozen base.
            let differentiable = index > 0 || body.embedded.requires_grad();
            let given = body.states.detach().set_requires_grad(differentiable);
            let returned = if checkpointing {
                tch::no_grad(|| body.layer(index, &given))
            } else {
                body.layer(index, &given)
            };
            body.states = returned.detach();
            let returned = (!checkpointing).then_some(returned);
            body.layers.push(Layer { given, returned });
        }
        body
    }

    fn layer(&mut self, index: usize, given: &Tensor) -> Tensor {
        let input = input(self.pack, &self.adapter_rows);
        let decoder = self.weights.tracked.decoder();
        decoder.layer(index, given, &self.rotation, &input, &mut self.attention)
    }

    /// From the `gradient` of the predictors' states to that of the embedding.
    /// `rest` is added with the embedding's gradient, as a head that is tied
    /// to it is the same weights.
    fn backward(
        &mut self,
        mut gradient: Tensor,
        mut rest: Vec<Tensor>,
        sum: &Sum,
        turn: usize,
    ) -> Result<(), TrainerError> {
        while let Some(Layer { given, returned }) = self.layers.pop() {
            let index = self.layers.len();
            let returned = returned.unwrap_or_else(|| self.layer(index, &given));
            // Its derivative by what the layer returned is `gradient`.
            let root = returned * gradient;
            let (before, gradients) = pull_back(&root, &given, &self.weights.leaves)?;
            sum.add(turn, index + 1, &gradients)?;
            gradient = before;
        }
        if self.embedded.requires_grad() {
            let root = &self.embedded * gradient;
            let (_, gradients) = pull_back(&root, &Tensor::new(), &self.weights.leaves)?;
            accumulate(&mut rest, gradients)?;
        }
        sum.add(turn, 0, &rest)
    }
}

/// From the predictors' states to the loss and back.
struct Head<'a> {
    weights: &'a Weights,
    pack: &'a Pack<'a>,
    objectives: &'a Objectives<'a>,
    /// The targets' log-probabilities under the reference, chunk by chunk.
    reference: Option<Vec<Tensor>>,
}

impl Head<'_> {
    /// The gradient of `states` `[predictors, hidden]`, those of the weights,
    /// and what was measured of each learner.
    fn backward(
        &self,
        states: &Tensor,
    ) -> Result<(Tensor, Vec<Tensor>, Vec<Measured>), TrainerError> {
        let (mut parts, mut measures, mut total) = (Vec::new(), Vec::new(), Vec::new());
        for (index, chunk) in chunks(self.pack, &self.weights.tracked).into_iter().enumerate() {
            let reference = self.reference.as_ref().map(|chunks| &chunks[index]);
            let (gradient, gradients, measure) = self.chunk(states, chunk, reference)?;
            parts.push(gradient);
            measures.push((chunk.learner, measure));
            accumulate(&mut total, gradients)?;
        }
        let mut measured = vec![Measured::default(); self.objectives.len()];
        for (learner, measure) in measures {
            measured[learner].add(&measure.read()?);
        }
        Ok((Tensor::f_cat(&parts, 0)?, total, measured))
    }

    fn chunk(
        &self,
        states: &Tensor,
        chunk: Chunk,
        reference: Option<&Tensor>,
    ) -> Result<(Tensor, Vec<Tensor>, Measures), TrainerError> {
        let objective = self.objectives[chunk.learner];
        let states = chunk.states(states).detach().set_requires_grad(true);
        let decoder = self.weights.tracked.decoder();
        let logprobs = LogProbs::of(decoder, &states, &chunk, objective.ways())?;
        let (loss, measures) = objective.loss(chunk.targets, &logprobs, reference);
        let (gradient, gradients) = pull_back(&loss, &states, &self.weights.leaves)?;
        Ok((gradient, gradients, measures))
    }
}

/// Add gradients; some may be missing.
fn accumulate(total: &mut Vec<Tensor>, gradients: Vec<Tensor>) -> Result<(), TrainerError> {
    if total.is_empty() {
        *total = gradients;
        return Ok(());
    }
    for (sum, gradient) in total.iter_mut().zip(gradients) {
        match (sum.defined(), gradient.defined()) {
            (_, false) => {}
            (false, true) => *sum = gradient,
            (true, true) => *sum = sum.f_add_(&gradient)?,
        }
    }
    Ok(())
}
