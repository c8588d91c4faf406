//! Keys and values of prompts and of the answers that grow from them.
//!
//! A *lane* is a prompt, kept once for all answers that continue it; a *row*
//! is one of those answers, with keys and values of its own. A decoding step
//! compares every row's query with its lane's prompt and with its own answer
//! so far. Rows leave when they stop; a lane leaves with its last row.

mod at_step;

pub(super) use at_step::AtStep;

use tch::{Kind, Tensor};

use super::grid::Grid;
use crate::model::{Attention, LayerSight, Sight, bias_of};

/// Answer tokens for which room is made at once; doubled when used up.
const FIRST_STEPS: i64 = 16;

/// The keys and values of one layer: `[…, key_value_heads, positions, head_dim]`.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) keys: Tensor,
    pub(super) values: Tensor,
}

impl Layer {
    /// The same change for keys and values.
    pub(super) fn map(&self, change: impl Fn(&Tensor) -> Tensor) -> Layer {
        Layer { keys: change(&self.keys), values: change(&self.values) }
    }
}

/// The cache of answers that grow in step with each other.
#[derive(Debug)]
pub(super) struct KvCache {
    prompts: Vec<Layer>,  // [lanes, key_value_heads, prompt positions, head_dim]
    bias: Option<Tensor>, // [lanes, 1, 1, prompt positions]; none if there is no padding
    lengths: Tensor,      // [lanes], tokens of each lane's prompt
    near: Option<Near>,   // none if no layer has a window that answers outgrow
    answers: Vec<Layer>,  // [rows, key_value_heads, room, head_dim]
    grid: Grid,
    steps: i64,
    room: i64,
    limit: i64,
}

/// What layers with a window see in a step.
#[derive(Debug)]
struct Near {
    window: i64,
    positions: Tensor, // [lanes, prompt positions], of the tokens there
    bias: Tensor,      // [lanes, 1, 1, prompt positions]
}

impl Near {
    /// Where the tokens are that `seen` `[lanes, positions]` says there are; all, if none.
    fn of(window: i64, like: &Tensor, seen: Option<&Tensor>) -> Self {
        let (lanes, positions) = (like.size()[0], like.size()[2]);
        let positions = match seen {
            Some(seen) => seen.cumsum(1, Kind::Int64) - 1,
            None => Tensor::arange(positions, (Kind::Int64, like.device()))
                .unsqueeze(0)
                .expand([lanes, positions], false),
        };
        Near { window, positions, bias: Tensor::new() }
    }

    /// What is seen from `asking` `[lanes]`, of what `all` lets one see.
    fn seen_from(&self, asking: &Tensor, all: Option<&Tensor>, kind: Kind) -> Tensor {
        let near = (asking.unsqueeze(1) - &self.positions).lt(self.window);
        let bias = bias_of(&near, kind).unsqueeze(1).unsqueeze(1);
        match all {
            Some(all) => bias + all,
            None => bias,
        }
    }
}

/// Prompts as they were read.
pub(super) struct Prompts {
    /// By layer: `[lanes, key_value_heads, positions, head_dim]`.
    pub(super) layers: Vec<Layer>,
    /// Which positions hold a token: `[lanes, positions]`; all, if none.
    pub(super) seen: Option<Tensor>,
    /// Tokens of each: `[lanes]`.
    pub(super) lengths: Tensor,
}

impl KvCache {
    /// Row i continues prompt `lane_of[i]`, by at most `limit` tokens. Some layers see only the
    /// last tokens, as many as the `window` says.
    pub(super) fn new(
        prompts: Prompts,
        lane_of: &[usize],
        limit: usize,
        window: Option<i64>,
    ) -> Self {
        let like = &prompts.layers[0].keys;
        let outgrown = window.filter(|window| *window < like.size()[2] + limit as i64);
        let near = outgrown.map(|window| Near::of(window, like, prompts.seen.as_ref()));
        let (lanes, device) = (like.size()[0], like.device());
        let grid = Grid::new(lane_of, lanes as usize, device);
        let bias = prompts.seen.map(|seen| bias_of(&seen, like.kind()).view([lanes, 1, 1, -1]));
        let empty = |tensor: &Tensor| {
            let size = tensor.size();
            let shape = [lane_of.len() as i64, size[1], 0, size[3]];
            tensor.new_empty(shape, (tensor.kind(), device))
        };
        KvCache {
            bias,
            near,
            lengths: prompts.lengths,
            answers: prompts.layers.iter().map(|layer| layer.map(empty)).collect(),
            prompts: prompts.layers,
            grid,
            steps: 0,
            room: 0,
            limit: limit as i64,
        }
    }

    /// Go on with these rows only; they continue the lanes `lane_of`, counted
    /// among `lanes`, which are those that stay.
    pub(super) fn select(&mut self, rows: &[i64], lanes: &[i64], lane_of: &[usize]) {
        let device = self.lengths.device();
        let upload = |numbers: &[i64]| Tensor::from_slice(numbers).to_device(device);
        let kept = upload(rows);
        // Positions that no token has taken yet need not be copied.
        let used = self.steps;
        for layer in &mut self.answers {
            *layer = layer.map(|tensor| tensor.narrow(2, 0, used).index_select(0, &kept));
        }
        self.room = used;
        if lanes.len() as i64 != self.lengths.size()[0] {
            let kept = upload(lanes);
            for layer in &mut self.prompts {
                *layer = layer.map(|tensor| tensor.index_select(0, &kept));
            }
            self.lengths = self.lengths.index_select(0, &kept);
            self.bias = self.bias.as_ref().map(|bias| bias.index_select(0, &kept));
            if let Some(near) = &mut self.near {
                near.positions = near.positions.index_select(0, &kept);
            }
        }
        self.grid = Grid::new(lane_of, lanes.len(), device);
    }

    /// Positions `[rows]` of the tokens of the next step.
    pub(super) fn positions(&self) -> Tensor {
        self.lengths.index_select(0, self.grid.lane_of()) + self.steps
    }

    /// Begin one more step.
    pub(super) fn advance(&mut self) {
        if let Some(near) = &mut self.near {
            let kind = self.prompts[0].keys.kind();
            let asking = &self.lengths + self.steps;
            near.bias = near.seen_from(&asking, self.bias.as_ref(), kind);
        }
        self.make_room(1);
        self.steps += 1;
    }

    /// Make room for so many steps more, and for others to come.
    fn make_room(&mut self, steps: i64) {
        let needed = self.steps + steps;
        if needed <= self.room {
            return;
        }
        let more = self.room.max(FIRST_STEPS).max(needed - self.room);
        let more = more.min(self.limit.max(needed) - self.room);
        self.room += more;
        let extend = |tensor: &Tensor| {
            let mut size = tensor.size();
            size[2] = more;
            let empty = tensor.new_empty(size, (tensor.kind(), tensor.device()));
            Tensor::cat(&[tensor, &empty], 2)
        };
        for layer in &mut self.answers {
            *layer = layer.map(extend);
        }
    }

    /// Tokens for which there is room in prompts, and in answers at their longest.
    #[cfg(test)]
    pub(super) fn tokens(&self) -> usize {
        let (prompts, answers) = (self.prompts[0].keys.size(), self.answers[0].keys.size());
        (prompts[0] * prompts[2] + answers[0] * self.limit) as usize
    }

    /// Keys and values of a lane's prompt from token `start` on, by layer, without padding:
    /// `[key_value_heads, tokens, head_dim]`, copied.
    pub(super) fn prompt(&self, lane: usize, start: usize) -> Vec<Layer> {
        let (lane, start) = (lane as i64, start as i64);
        let seen = self.bias.as_ref().map(|bias| {
            let seen = bias.get(lane).view([-1]).eq(0.0).nonzero().view([-1]);
            seen.narrow(0, start, seen.size()[0] - start)
        });
        let copy = |tensor: &Tensor| match &seen {
            Some(seen) => tensor.get(lane).index_select(1, seen),
            None => tensor.get(lane).narrow(1, start, tensor.size()[2] - start).copy(),
        };
        self.prompts.iter().map(|layer| layer.map(copy)).collect()
    }
}

impl Attention for KvCache {
    fn attend(&mut self, at: LayerSight, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        let (prompt, answer) = (&self.prompts[at.layer], &self.answers[at.layer]);
        let (grid, steps) = (&self.grid, self.steps);
        let (first, bias) = match (at.sight, &self.near) {
            (Sight::Window, Some(near)) => ((steps - near.window).max(0), Some(&near.bias)),
            _ => (0, self.bias.as_ref()),
        };
        let own_keys = answer.keys.narrow(2, first, steps - first);
        let own_values = answer.values.narrow(2, first, steps - first);
        answer.keys.narrow(2, steps - 1, 1).copy_(&keys.unsqueeze(2));
        answer.values.narrow(2, steps - 1, 1).copy_(&values.unsqueeze(2));
        let (rows, heads, width) = (queries.size()[0], queries.size()[1], queries.size()[2]);
        let key_heads = keys.size()[1];
        let group = heads / key_heads;
        let queries = queries.view([rows, key_heads, group, width]);
        let own = queries.matmul(&own_keys.transpose(2, 3)); // [rows, key_heads, group, steps seen]
        let told = grid.spread(&queries).matmul(&prompt.keys.transpose(2, 3)); // [lanes, key_heads, width · group, prompt]
        let told = match bias {
            Some(bias) => told + bias,
            None => told,
        };
        let length = told.size()[3];
        let weights = Tensor::cat(&[told, grid.spread(&own)], 3).softmax(-1, Kind::Float);
        let weights = weights.to_kind(values.kind());
        let own = grid.gather(&weights.narrow(3, length, steps - first), group);
        let told = weights.narrow(3, 0, length).matmul(&prompt.values);
        let attended = own.matmul(&own_values) + grid.gather(&told, group);
        attended.reshape([rows, heads * width])
    }
}
