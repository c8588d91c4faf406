//! Keys and values of prompts and of the answers that grow from them.
//!
//! A *lane* is one prompt with `width` answers. Its cache is one stretch of
//! positions: first the prompt, kept once for all its answers, then the
//! answers' tokens step by step, `width` at a time. A mask keeps the answers
//! of a lane from seeing each other. So a decoding step is one attention with
//! `width` queries per lane, however many answers share the prompt.

use tch::{Kind, Tensor};

use super::attention::{Attention, attend, bias_of, by_head};

/// Answer tokens for which room is made at once; doubled when used up.
const FIRST_STEPS: i64 = 16;

/// The keys and values of one layer: `[lanes, key_value_heads, positions, head_dim]`.
struct Layer {
    keys: Tensor,
    values: Tensor,
}

/// Takes keys and values of prompts while they are read for the first time.
pub(super) struct PromptReader<A> {
    attention: A,
    batch: i64,
    layers: Vec<Layer>,
}

impl<A: Attention> PromptReader<A> {
    /// Reads `batch` prompts with the given attention among their tokens.
    pub(super) fn new(batch: i64, attention: A) -> Self {
        PromptReader { attention, batch, layers: Vec::new() }
    }
}

impl<A: Attention> Attention for PromptReader<A> {
    fn attend(&mut self, layer: usize, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        self.layers
            .push(Layer { keys: by_head(&keys, self.batch), values: by_head(&values, self.batch) });
        self.attention.attend(layer, queries, keys, values)
    }
}

/// The cache of a batch while its answers grow.
pub(super) struct KvCache {
    layers: Vec<Layer>,
    lengths: Tensor, // [lanes], tokens of each lane's prompt
    prompt: i64,     // positions of the longest prompt
    width: i64,
    group: i64,
    steps: i64,
    room: i64,    // steps for which there is room
    bias: Tensor, // [lanes, 1, width · group, prompt + room · width]
}

impl KvCache {
    /// Lane i continues prompt `lanes[i]` of what was read; `lengths` `[prompts]`
    /// are the prompts' lengths, `group` query heads share a key head.
    pub(super) fn new<A>(
        read: PromptReader<A>,
        lanes: &Tensor,
        lengths: &Tensor,
        width: i64,
        group: i64,
    ) -> Self {
        let prompt = read.layers[0].keys.size()[2];
        let mut cache = KvCache {
            layers: read.layers,
            lengths: lengths.index_select(0, lanes),
            prompt,
            width,
            group,
            steps: 0,
            room: 0,
            bias: Tensor::new(),
        };
        cache.keep(lanes);
        cache
    }

    /// Go on with these lanes only.
    pub(super) fn select(&mut self, lanes: &Tensor) {
        self.lengths = self.lengths.index_select(0, lanes);
        self.keep(lanes);
    }

    fn keep(&mut self, lanes: &Tensor) {
        for layer in &mut self.layers {
            layer.keys = layer.keys.index_select(0, lanes);
            layer.values = layer.values.index_select(0, lanes);
        }
        self.make_bias();
    }

    /// Positions `[lanes · width]` of the tokens of the next step.
    pub(super) fn positions(&self) -> Tensor {
        (&self.lengths + self.steps).repeat_interleave_self_int(self.width, 0, None)
    }

    /// Make room for one more step.
    pub(super) fn advance(&mut self) {
        self.steps += 1;
        if self.steps <= self.room {
            return;
        }
        let more = self.room.max(FIRST_STEPS);
        self.room += more;
        for layer in &mut self.layers {
            for tensor in [&mut layer.keys, &mut layer.values] {
                let mut size = tensor.size();
                size[2] = more * self.width;
                *tensor = Tensor::cat(
                    &[&*tensor, &tensor.new_empty(size, (tensor.kind(), tensor.device()))],
                    2,
                );
            }
        }
        self.make_bias();
    }

    /// A query sees its prompt, without padding, and the tokens of its own answer.
    fn make_bias(&mut self) {
        let like = &self.layers[0].keys;
        let (kind, device) = (like.kind(), like.device());
        let range = |end: i64| Tensor::arange(end, (Kind::Int64, device));
        let (lanes, queries) = (self.lengths.size()[0], self.width * self.group);
        let prompt = range(self.prompt).unsqueeze(0).lt_tensor(&self.lengths.unsqueeze(1)); // [lanes, prompt]
        let prompt =
            prompt.view([lanes, 1, 1, self.prompt]).expand([lanes, 1, queries, self.prompt], false);
        let owners = range(self.room * self.width).remainder(self.width); // whose token a position holds
        let askers = range(queries).divide_scalar_mode(self.group, "floor");
        let own = owners.unsqueeze(0).eq_tensor(&askers.unsqueeze(1)); // [queries, room · width]
        let own = own
            .view([1, 1, queries, -1])
            .expand([lanes, 1, queries, self.room * self.width], false);
        self.bias = bias_of(&Tensor::cat(&[prompt, own], 3), kind);
    }
}

impl Attention for KvCache {
    fn attend(&mut self, layer: usize, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        let lanes = self.lengths.size()[0];
        let layer = &self.layers[layer];
        let (from, used) =
            (self.prompt + (self.steps - 1) * self.width, self.prompt + self.steps * self.width);
        layer.keys.narrow(2, from, self.width).copy_(&by_head(&keys, lanes));
        layer.values.narrow(2, from, self.width).copy_(&by_head(&values, lanes));
        attend(
            &queries,
            &layer.keys.narrow(2, 0, used),
            &layer.values.narrow(2, 0, used),
            &self.bias.narrow(3, 0, used),
        )
    }
}
