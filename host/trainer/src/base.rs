//! What a base and what is trained of it need of memory.

use crate::logprobs::chunk_targets;
use crate::pack::micro_batch_tokens;
use troupe_model::{ModelConfig, Policy, ValueHeads, most_at_once};

/// Bytes of the tensors of logits that exist at once, for each logit. On a GPU they were counted: in
/// 16 bits and in 32, log-probabilities, and in an update two gradients, in drawing probabilities
/// and their sums.
const LOGITS: u64 = 6 * 4;
const LOGITS_OF_A_GPU: u64 = 2 + 4 * 4;
/// What the products of matrices take that oneDNN keeps compiled, 64 of them: every number of
/// rows needs its own, and a run soon has more than 64.
const COMPILED: u64 = 200_000_000;

/// Policies over one base.
#[derive(Clone, Debug)]
pub struct Base {
    /// Its shape.
    pub shape: ModelConfig,
    /// Bytes of a number in its weights.
    pub number: u64,
    /// Numbers in its weights.
    pub parameters: u64,
    /// Whether these are trained.
    pub trained: bool,
    /// Numbers in each adapter over it, and whether they are trained.
    pub adapters: Vec<(u64, bool)>,
}

/// What a step holds, at most.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Tokens of a prompt.
    pub prompt: u64,
    /// Prompts with their answers that an update learns from at once.
    pub groups: u64,
    /// Prompts that are answered at the same time.
    pub asked: u64,
    /// Held-out tasks, each with an answer to its prompt, that are played at the same time.
    pub examined: u64,
    /// Roles, each with prompts of its own.
    pub roles: u64,
    /// Bytes of what critics have beside their policies, see [`critic_bytes`].
    pub critics: u64,
}

/// Where a run takes place.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Whether policies are on a GPU.
    pub gpu: bool,
    /// Threads over which micro-batches are split.
    pub threads: usize,
    /// Bytes for everything the plan names, weights included; nothing if unknown.
    pub memory: Option<u64>,
    /// Bytes of the CPU's memory for what is offloaded; nothing if unknown.
    pub host_memory: Option<u64>,
    /// Bytes of the first kind that the program has taken for all else.
    pub program: u64,
    /// Processes that share the optimizer's state.
    pub world: u64,
}

/// Bytes of what a critic has beside its policy and that one's optimizer: the policy that it is
/// compared with, or the copy that follows it, in 32 bits besides if it is in fewer, and its heads,
/// with their gradients and optimizer.
pub fn critic_bytes(policy: &Policy, has_heads: bool) -> u64 {
    let trained = policy.trainable();
    let number = trained.buffer().kind().elt_size_in_bytes();
    let exact = if has_heads && number < 4 { 4 } else { 0 };
    let copy = (trained.count() * (number + exact)) as u64;
    let heads = if has_heads { ValueHeads::bytes(policy.config().hidden_size) } else { 0 };
    // Weights, a copy of them, gradients and two means.
    copy + 5 * heads
}

/// The settings that decide what is needed.
#[derive(Clone, Copy)]
pub(super) struct PlanSettings {
    pub(super) checkpointing: bool,
    pub(super) offload: bool,
    /// Tokens of a pass, as they were asked for.
    pub(super) limit: usize,
    /// Tokens of a prompt and its answers.
    pub(super) group: u64,
    pub(super) groups: u64,
    pub(super) threads: u64,
    pub(super) cache: Option<u64>,
}

impl Base {
    /// What policies are over one base, in their order, and which are trained.
    pub fn of_policies(policies: &[(&Policy, bool)]) -> Vec<Base> {
        let mut bases: Vec<(&Policy, Base)> = Vec::new();
        for &(policy, trained) in policies {
            let trainable = policy.trainable().count() as u64;
            if let Some((_, base)) = bases.iter_mut().find(|(first, _)| policy.shares_base(first)) {
                base.adapters.push((trainable, trained));
                continue;
            }
            let all = policy.parameter_count() as u64;
            let adapters = if trainable < all { vec![(trainable, trained)] } else { Vec::new() };
            let parameters = if adapters.is_empty() { all } else { all - trainable };
            let trained = trained && adapters.is_empty();
            let shape = policy.config().clone();
            let number = policy.decoder().parameters().buffer().kind().elt_size_in_bytes() as u64;
            bases.push((policy, Base { shape, number, parameters, trained, adapters }));
        }
        bases.into_iter().map(|(_, base)| base).collect()
    }

    /// Bytes of its weights and its adapters'.
    pub fn loaded(&self) -> u64 {
        self.number * self.parameters()
    }

    pub(super) fn parameters(&self) -> u64 {
        self.parameters + self.adapters.iter().map(|(count, _)| count).sum::<u64>()
    }

    pub(super) fn trained(&self) -> u64 {
        let adapters = self.adapters.iter().filter(|(_, trained)| *trained);
        let base = if self.trained { self.parameters } else { 0 };
        base + adapters.map(|(count, _)| count).sum::<u64>()
    }

    /// Two means, and a master copy of what is kept in fewer bits.
    pub(super) fn optimizer(&self) -> u64 {
        let master = if self.number == 4 { 0 } else { 4 };
        (8 + master) * self.trained()
    }

    /// Keys and values of that many tokens.
    pub(super) fn cache(&self, tokens: u64) -> u64 {
        let shape = &self.shape;
        let width = (shape.num_key_value_heads * shape.head_dim) as u64;
        2 * shape.num_hidden_layers as u64 * width * self.number * tokens
    }

    /// Copies of the weights in which a CPU decodes 16-bit ones.
    pub(super) fn packed(&self, gpu: bool) -> u64 {
        if gpu || self.number != 2 { 0 } else { self.number * self.parameters }
    }

    /// Products of 16-bit matrices that a CPU keeps compiled.
    pub(super) fn compiled(&self, gpu: bool) -> u64 {
        if gpu || self.number != 2 { 0 } else { COMPILED }
    }

    /// What answering so many `prompts` of `length` tokens with `rows` answers takes beside keys
    /// and values.
    pub(super) fn working(
        &self,
        (prompts, length): (u64, u64),
        rows: u64,
        machine: &Machine,
    ) -> u64 {
        let threads = machine.threads as u64;
        let (most_rows, most_tokens) = most_at_once(machine.gpu);
        let rows = rows.min(threads * most_rows as u64);
        let tokens = prompts.saturating_mul(length).min(threads * most_tokens as u64);
        let bytes = if machine.gpu { LOGITS_OF_A_GPU } else { LOGITS };
        let logits = bytes * rows * self.shape.vocab_size as u64;
        logits + tokens * self.largest_layer(machine.gpu) * self.number
    }

    /// What a thread has of gradients before they are added to the others':
    /// those of the head, twice, and of a layer.
    pub(super) fn passing_gradients(&self) -> u64 {
        if !self.trained {
            return 0;
        }
        let head = (self.shape.vocab_size * self.shape.hidden_size) as u64;
        let layers = self.shape.num_hidden_layers as u64;
        self.number * (2 * head + self.parameters.saturating_sub(head) / layers.max(1))
    }

    /// Tokens of a forward and backward pass, and how many there are at once: an even number of
    /// passes, which shorter answers and shared beginnings fill up to the limit.
    fn passes(&self, settings: &PlanSettings, gpu: bool) -> (u64, u64) {
        let limit = micro_batch_tokens(settings.limit, self.shape.hidden_size, gpu) as u64;
        let group = settings.group.max(1);
        let full = limit.max(group);
        let passes = match settings.groups.saturating_mul(group).div_ceil(full) {
            0 | 1 => 1,
            more => more.saturating_add(1) & !1,
        };
        let even = settings.groups.div_ceil(passes).saturating_mul(group);
        (even.min(full), settings.threads.min(passes))
    }

    /// What is kept of forward passes, by all threads.
    pub(super) fn activations(&self, settings: &PlanSettings, gpu: bool) -> u64 {
        if self.trained() == 0 {
            return 0;
        }
        let (tokens, at_once) = self.passes(settings, gpu);
        at_once * self.activations_of_pass(tokens, settings.checkpointing, gpu)
    }

    fn activations_of_pass(&self, tokens: u64, checkpointing: bool, gpu: bool) -> u64 {
        let shape = &self.shape;
        let (hidden, layers) = (shape.hidden_size as u64, shape.num_hidden_layers as u64);
        let (queries, keys) = self.heads();
        let layer = self.layer(gpu);
        let feed_forwards = (0..shape.num_hidden_layers as usize).map(|at| feed_forward(shape, at));
        let whole_layers = match checkpointing {
            true => self.largest_layer(gpu),
            false => layers * layer + feed_forwards.sum::<u64>(),
        };
        let rotation = 2 * (queries + keys) * shape.rotaries().count() as u64;
        let inputs = if checkpointing { layers * hidden } else { 0 };
        let per_token = whole_layers + inputs + rotation + 3 * hidden;
        let vocabulary = shape.vocab_size as u64;
        let targets = tokens.min(chunk_targets(vocabulary as usize, gpu) as u64);
        let bytes = if gpu { LOGITS_OF_A_GPU } else { LOGITS };
        tokens * per_token * self.number + bytes * targets * vocabulary
    }

    /// Numbers in the queries of a token, and in its keys.
    fn heads(&self) -> (u64, u64) {
        let ModelConfig { num_attention_heads, num_key_value_heads, head_dim, .. } = self.shape;
        ((num_attention_heads * head_dim) as u64, (num_key_value_heads * head_dim) as u64)
    }

    /// Numbers that a layer keeps of a token, but for its feed-forward block.
    fn layer(&self, gpu: bool) -> u64 {
        let (shape, hidden) = (&self.shape, self.shape.hidden_size as u64);
        let (queries, keys) = self.heads();
        // Residual stream and what is normed of it, in 32 bits on the way, but on a GPU, which norms
        // in one kernel; projections and rotations, keys and values of trunk and branches.
        let norms = if self.number == 2 && !gpu { 14 * hidden } else { 4 * hidden };
        let norms = if shape.normed_blocks() { 2 * norms } else { norms };
        let head_norms = if shape.query_key_norm() { 2 * (queries + keys) } else { 0 };
        norms + head_norms + 3 * queries + 4 * keys
    }

    /// Numbers that the layer which keeps most keeps of a token.
    fn largest_layer(&self, gpu: bool) -> u64 {
        let layers = 0..self.shape.num_hidden_layers as usize;
        let feed_forwards = layers.map(|at| feed_forward(&self.shape, at));
        self.layer(gpu) + feed_forwards.max().unwrap_or_default()
    }
}

/// Numbers that a layer's feed-forward block keeps of a token: of each expert it takes, as of
/// a single gated map, and what it is given and answers, twice, as rows are sorted.
fn feed_forward(shape: &ModelConfig, layer: usize) -> u64 {
    match shape.experts(layer) {
        None => 4 * shape.intermediate_size as u64,
        Some(experts) => {
            let width = 4 * (experts.width + shape.hidden_size) as u64;
            experts.taken as u64 * width + 2 * experts.number as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use troupe_core::config::{DtypeChoice, LoraConfig, PolicyConfig};
    use troupe_core::seed::Seed;
    use troupe_model::Device;

    #[test]
    fn policies_over_one_base_are_counted_once() {
        let base = Policy::random(&PolicyConfig::default(), &[], Seed::new(1), Device::cpu());
        let base = base.unwrap();
        let config = LoraConfig { rank: 2, ..LoraConfig::default() };
        let adapters = [1, 2].map(|seed| base.adapt(&config, Seed::new(seed)).unwrap());
        let bases =
            Base::of_policies(&[(&adapters[0], true), (&adapters[1], false), (&base, true)]);
        assert_eq!(bases.len(), 2);
        assert_eq!(bases[0].adapters.len(), 2);
        assert_eq!(bases[0].parameters, base.parameter_count() as u64);
        assert_eq!(bases[0].trained(), bases[0].adapters[0].0);
        assert_eq!(bases[1].trained(), bases[1].parameters());
    }

    #[test]
    fn a_critic_in_16_bits_has_the_copy_that_follows_it_in_32_besides() {
        for (dtype, compared, following) in
            [(DtypeChoice::Float32, 4, 4), (DtypeChoice::Bfloat16, 2, 6)]
        {
            let config = PolicyConfig { dtype: Some(dtype), ..PolicyConfig::default() };
            let policy = Policy::random(&config, &[], Seed::new(1), Device::cpu()).unwrap();
            let count = policy.trainable().count() as u64;
            let heads = ValueHeads::bytes(policy.config().hidden_size);
            assert_eq!(critic_bytes(&policy, false), compared * count);
            assert_eq!(critic_bytes(&policy, true), following * count + 5 * heads);
        }
    }
}
