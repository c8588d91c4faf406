//! The cache as a recorded step sees it: what depends on how many steps were made before is a
//! number on the device, and no shape does.

use tch::{Kind, Tensor};

use super::{KvCache, Layer};
use crate::model::{Attention, LayerSight, Sight, bias_of};

/// Stands for −∞ in biases. A row that sees nothing of its prompt then has a mean of it, with no
/// weight; of −∞ alone a kernel may make what is not a number.
const UNSEEN: f64 = -1e9;
/// A GPU's kernel reads biases by so many at a time.
const ALIGNED: i64 = 8;

/// The cache in a step that has room.
#[derive(Debug)]
pub(in crate::inference) struct AtStep<'a> {
    cache: &'a KvCache,
    step: Tensor, // [1], tokens of every answer in the cache
    all: Seen,
    /// None if no layer has a window that answers outgrow.
    window: Option<Seen>,
}

/// What is added to a row's scores.
#[derive(Debug)]
struct Seen {
    told: Option<Tensor>, // [lanes, 1, 1, prompt positions]; none if it sees all of its prompt
    own: Tensor,          // [1, 1, 1, room]
}

impl KvCache {
    /// Make room for so many steps more.
    pub(in crate::inference) fn reserve(&mut self, steps: usize) {
        let before = self.room;
        self.make_room(steps as i64);
        for Layer { keys, values } in &self.answers {
            // They are masked, but 0 times NaN would not be 0.
            for tensor in [keys, values] {
                let _ = tensor.narrow(2, before, self.room - before).zero_();
            }
        }
    }

    /// Steps that may still be made.
    pub(in crate::inference) fn left(&self) -> usize {
        // The token drawn last needs no room.
        (self.limit - 1 - self.steps).max(0) as usize
    }

    /// So many steps were made that were recorded.
    pub(in crate::inference) fn made(&mut self, steps: usize) {
        self.steps += steps as i64;
    }

    /// Steps made so far.
    pub(in crate::inference) fn steps(&self) -> i64 {
        self.steps
    }

    /// Steps for which there is room.
    pub(in crate::inference) fn room(&self) -> i64 {
        self.room
    }

    /// Where everything lies that a recorded step reads or writes.
    #[cfg(test)]
    pub(in crate::inference) fn addresses(&self) -> Vec<usize> {
        let layers = self.prompts.iter().chain(&self.answers);
        let near = self.near.as_ref().map(|near| &near.positions);
        (layers.flat_map(|layer| [&layer.keys, &layer.values]))
            .chain(self.bias.as_ref())
            .chain(near)
            .chain([&self.lengths])
            .map(|tensor| tensor.data_ptr() as usize)
            .chain(self.grid.addresses())
            .collect()
    }

    /// Positions `[rows]` of tokens before which answers have `step` `[1]` in the cache.
    pub(in crate::inference) fn positions_at(&self, step: &Tensor) -> Tensor {
        self.lengths.index_select(0, self.grid.lane_of()) + step
    }

    /// The cache where answers have `step` `[1]` tokens in it.
    pub(in crate::inference) fn at_step(&self, step: Tensor) -> AtStep<'_> {
        let kind = self.prompts[0].keys.kind();
        let back = &step - Tensor::arange(self.room, (Kind::Int64, step.device()));
        let own = |seen: &Tensor| aligned(&bias_of(seen, kind).view([1, 1, 1, -1]));
        let written = back.ge(0);
        let window = self.near.as_ref().map(|near| Seen {
            told: Some(aligned(&near.seen_from(
                &(&self.lengths + &step),
                self.bias.as_ref(),
                kind,
            ))),
            own: own(&written.logical_and(&back.lt(near.window))),
        });
        let all = Seen { told: self.bias.as_ref().map(aligned), own: own(&written) };
        AtStep { cache: self, step, all, window }
    }
}

impl Attention for AtStep<'_> {
    fn attend(&mut self, at: LayerSight, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        let (prompt, answer) = (&self.cache.prompts[at.layer], &self.cache.answers[at.layer]);
        let seen = match (at.sight, &self.window) {
            (Sight::Window, Some(window)) => window,
            _ => &self.all,
        };
        for (room, new) in [(&answer.keys, &keys), (&answer.values, &values)] {
            let _ = room.shallow_clone().index_copy_(2, &self.step, &new.unsqueeze(2));
        }
        let (rows, heads, width) = (queries.size()[0], queries.size()[1], queries.size()[2]);
        let key_heads = keys.size()[1];
        let group = heads / key_heads;
        let queries = queries.view([rows, key_heads, group, width]);
        let grid = &self.cache.grid;
        let (own, own_sums) = weighed(&queries, answer, Some(&seen.own));
        let (told, told_sums) = weighed(&grid.spread(&queries), prompt, seen.told.as_ref());
        // Weights over both parts are those within each, times the part's share of the sum.
        let share = (grid.gather(&told_sums, group) - own_sums).sigmoid();
        let (own, told) = (own.to_kind(Kind::Float), grid.gather(&told, group));
        let attended = own.lerp_tensor(&told.to_kind(Kind::Float), &share);
        attended.to_kind(values.kind()).reshape([rows, heads * width])
    }
}

/// Values `[batch, key_heads, n, head_dim]` weighed by softmax(q·kᵀ + bias), and the logarithm of
/// the sum that softmax divides by: `[batch, key_heads, n, 1]`.
fn weighed(queries: &Tensor, layer: &Layer, bias: Option<&Tensor>) -> (Tensor, Tensor) {
    let Layer { keys, values } = layer;
    let size = queries.size();
    let full = |bias: &Tensor| bias.expand([size[0], size[1], size[2], keys.size()[2]], false);
    let bias = bias.map(full);
    let (weighed, sums) = if queries.device().is_cuda() {
        let (weighed, sums, ..) = Tensor::internal_scaled_dot_product_efficient_attention(
            queries, keys, values, bias, true, 0.0, false, 1.0,
        );
        // It has them for a multiple of 32 queries.
        (weighed, sums.narrow(2, 0, size[2]))
    } else {
        Tensor::internal_scaled_dot_product_flash_attention_for_cpu(
            queries, keys, values, 0.0, false, bias, 1.0,
        )
    };
    (weighed, sums.unsqueeze(3))
}

/// A bias without −∞, whose rows begin at multiples of what kernels read at a time.
fn aligned(bias: &Tensor) -> Tensor {
    let length = bias.size()[3];
    let padding = (-length).rem_euclid(ALIGNED);
    bias.clamp_min(UNSEEN).constant_pad_nd([0, padding]).narrow(3, 0, length)
}

#[cfg(test)]
mod tests {
    use super::super::Prompts;
    use super::*;

    const GROUP: i64 = 3;
    const KEY_HEADS: i64 = 2;
    const WIDTH: i64 = 8;

    fn wave(shape: &[i64], seed: f64, kind: Kind) -> Tensor {
        let count: i64 = shape.iter().product();
        let wave = (Tensor::arange(count, tch::kind::FLOAT_CPU) * 0.7 + seed).sin();
        wave.view(shape).to_kind(kind)
    }

    /// Three prompts of at most nine tokens, the first with two answers and the last with three.
    fn cache(window: Option<i64>, kind: Kind) -> KvCache {
        let shape = [3, KEY_HEADS, 9, WIDTH];
        let layer =
            |seed| Layer { keys: wave(&shape, seed, kind), values: wave(&shape, seed + 5.0, kind) };
        let lengths = Tensor::from_slice(&[9_i64, 4, 7]);
        let seen = Tensor::arange(9, tch::kind::INT64_CPU).lt_tensor(&lengths.unsqueeze(1));
        let prompts = Prompts { layers: vec![layer(1.0), layer(2.0)], seen: Some(seen), lengths };
        KvCache::new(prompts, &[0, 0, 1, 2, 2, 2], 40, window)
    }

    /// The largest difference between both caches over `steps` steps, where one of them
    /// makes `stretch` at a time.
    fn apart(window: Option<i64>, stretch: usize, steps: usize, kind: Kind) -> f64 {
        let _guard = tch::no_grad_guard();
        let (mut plain, mut recorded) = (cache(window, kind), cache(window, kind));
        let mut worst = 0.0_f64;
        for step in 0..steps {
            if step % stretch == 0 {
                recorded.reserve(stretch);
            }
            let mut at_step = recorded.at_step(Tensor::from_slice(&[step as i64]));
            assert_eq!(plain.positions(), recorded.positions_at(&at_step.step));
            plain.advance();
            for (layer, sight) in [(0, Sight::All), (1, Sight::Window)] {
                let new = |heads, seed| wave(&[6, heads, WIDTH], seed + step as f64, kind);
                let (queries, keys) = (new(GROUP * KEY_HEADS, 0.3), new(KEY_HEADS, 0.6));
                let values = new(KEY_HEADS, 0.9);
                let at = LayerSight { layer, sight };
                let say = |cache: &mut dyn Attention| {
                    let copy = Tensor::shallow_clone;
                    cache.attend(at, copy(&queries), copy(&keys), copy(&values))
                };
                let difference = say(&mut plain) - say(&mut at_step);
                worst = worst.max(difference.abs().max().double_value(&[]));
            }
            if (step + 1) % stretch == 0 {
                recorded.made(stretch);
            }
        }
        worst
    }

    #[test]
    fn a_recorded_step_attends_to_what_a_step_attends_to() {
        for stretch in [1, 5, 8, 20] {
            let worst = apart(None, stretch, 40, Kind::Float);
            assert!(worst < 1e-6, "{stretch}: {worst}");
        }
        let worst = apart(None, 8, 40, Kind::BFloat16);
        assert!(worst < 0.02, "{worst}");
    }

    #[test]
    fn a_recorded_step_sees_no_further_back_than_the_window() {
        // The longest prompt is out of sight of some; then all prompts are.
        for window in [1, 3, 8, 16, 30] {
            let worst = apart(Some(window), 8, 40, Kind::Float);
            assert!(worst < 1e-6, "{window}: {worst}");
        }
    }

    #[test]
    fn the_last_token_needs_no_step_of_its_own() {
        let mut recorded = cache(None, Kind::Float);
        assert_eq!(recorded.left(), 39);
        recorded.made(39);
        assert_eq!(recorded.left(), 0);
    }

    #[test]
    fn room_that_no_token_has_taken_is_not_seen_and_holds_zeros() {
        let _guard = tch::no_grad_guard();
        let mut recorded = cache(None, Kind::Float);
        recorded.reserve(8);
        let answers = &recorded.answers[0];
        assert_eq!(answers.keys.abs().max().double_value(&[]), 0.0);
        assert_eq!(answers.values.abs().max().double_value(&[]), 0.0);
        let biases = recorded.at_step(Tensor::from_slice(&[0_i64])).all.own;
        assert_eq!(biases.size(), [1, 1, 1, 16]);
        let seen = Vec::<f32>::try_from(biases.view([-1])).unwrap();
        assert_eq!(seen.iter().filter(|&&bias| bias == 0.0).count(), 1);
    }
}
