//! Cohorts that go through the model side by side: the linear maps see all rows at once, and each
//! cohort attends to its own cache.

use tch::Tensor;

use crate::model::{Attention, Input, LayerSight, Segment, SharedBase};

/// A cohort's part of a pass.
pub(super) struct Part<A> {
    /// Tokens drawn last, and their positions: `[rows]` each.
    pub(super) tokens: Tensor,
    pub(super) positions: Tensor,
    /// Whose rows they are.
    pub(super) segments: Vec<Segment>,
    pub(super) attention: A,
}

/// Logits of what follows, part by part: `[rows, vocabulary]` each.
pub(super) fn logits<A: Attention>(base: &SharedBase, parts: Vec<Part<A>>) -> Vec<Tensor> {
    let (mut tokens, mut positions) = (Vec::new(), Vec::new());
    let (mut segments, mut attentions, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        rows.push(part.tokens.size()[0]);
        tokens.push(part.tokens);
        positions.push(part.positions);
        segments.extend(part.segments);
        attentions.push(part.attention);
    }
    let input = Input {
        tokens: &joined(&tokens),
        positions: &joined(&positions),
        keep: None,
        adapter_rows: &base.adapter_rows(&segments),
    };
    let states = base.forward(&input, &mut EachItsOwn { rows: &rows, attentions });
    base.logits(&states).split_with_sizes(&rows, 0)
}

/// Tensors one after the other.
pub(super) fn joined(parts: &[Tensor]) -> Tensor {
    match parts {
        [one] => one.shallow_clone(),
        several => Tensor::cat(several, 0),
    }
}

/// Attention of every cohort to its own cache.
struct EachItsOwn<'a, A> {
    rows: &'a [i64],
    attentions: Vec<A>,
}

impl<A: Attention> Attention for EachItsOwn<'_, A> {
    fn attend(&mut self, at: LayerSight, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor {
        if let [one] = &mut *self.attentions {
            return one.attend(at, queries, keys, values);
        }
        let mut from = 0;
        let attended: Vec<Tensor> = (self.attentions.iter_mut().zip(self.rows))
            .map(|(attention, &rows)| {
                let own = |tensor: &Tensor| tensor.narrow(0, from, rows);
                let (queries, keys, values) = (own(&queries), own(&keys), own(&values));
                from += rows;
                attention.attend(at, queries, keys, values)
            })
            .collect();
        joined(&attended)
    }
}
