//! Which samples an optimizer step learns from.

use super::bundle::Bundle;
use crate::seed::Seed;

/// The bundles in an order that the seed decides.
pub(super) fn shuffled<'b, 'a>(bundles: &'b [Bundle<'a>], seed: Seed) -> Vec<&'b Bundle<'a>> {
    let mut order: Vec<&Bundle> = bundles.iter().collect();
    seed.shuffle(&mut order);
    order
}

/// Cut into mini-batches of about `samples` answers each, as even as whole
/// bundles allow; 0 makes one of all.
pub(super) fn mini_batches<'o, 'b, 'a>(
    order: &'o [&'b Bundle<'a>],
    samples: usize,
) -> impl Iterator<Item = &'o [&'b Bundle<'a>]> {
    let total: usize = order.iter().map(|bundle| bundle.answers().len()).sum();
    let count = (total + samples / 2).checked_div(samples).unwrap_or(1).max(1);
    let (mut from, mut taken) = (0, 0);
    (1..=count).filter_map(move |batch| {
        let start = from;
        while from < order.len() && (batch == count || taken * count < batch * total) {
            taken += order[from].answers().len();
            from += 1;
        }
        (start < from).then(|| &order[start..from])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trainer::bundle::{Answer, bundle};

    #[test]
    fn mini_batches_are_even_and_keep_groups_whole() {
        let tokens: Vec<u32> = (0..100).collect();
        let groups = bundle((0..100).map(|row| {
            (&tokens[row / 4..row / 4 + 1], Answer { row, tokens: &tokens[..1], way: 0 })
        }));
        let order = shuffled(&groups, Seed::new(1));
        let sizes = |samples| -> Vec<usize> {
            mini_batches(&order, samples)
                .map(|batch| batch.iter().map(|group| group.answers().len()).sum())
                .collect()
        };
        assert_eq!(sizes(0), [100]);
        assert_eq!(sizes(512), [100]);
        assert_eq!(sizes(30), [36, 32, 32]);
        assert_eq!(sizes(1).iter().sum::<usize>(), 100);
    }
}
