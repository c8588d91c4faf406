//! Which samples an optimizer step learns from.

use std::collections::HashMap;

use crate::bundle::Bundle;
use troupe_core::seed::Seed;

/// The bundles in an order that the seed decides.
pub(super) fn shuffled<'b, 'a>(bundles: &'b [Bundle<'a>], seed: Seed) -> Vec<&'b Bundle<'a>> {
    let mut order: Vec<&Bundle> = bundles.iter().collect();
    seed.shuffle(&mut order);
    order
}

/// The same, but with the mini-batches of one prompt (several if its answers are long) side
/// by side: for what compares answers to one prompt with each other.
pub(super) fn shuffled_by_prompt<'b, 'a>(
    bundles: &'b [Bundle<'a>],
    seed: Seed,
) -> Vec<&'b Bundle<'a>> {
    let mut places: HashMap<&[u32], usize> = HashMap::new();
    let mut prompts: Vec<Vec<&Bundle>> = Vec::new();
    for bundle in bundles {
        let place = *places.entry(bundle.prompt()).or_insert(prompts.len());
        match prompts.get_mut(place) {
            Some(bundles) => bundles.push(bundle),
            None => prompts.push(vec![bundle]),
        }
    }
    seed.shuffle(&mut prompts);
    prompts.into_iter().flatten().collect()
}

/// Cut into mini-batches of about `samples` answers each, as even as whole
/// bundles allow; 0 makes one of all. Where bundles `stick`, those of one prompt
/// that lie side by side are not parted.
pub(super) fn mini_batches<'o, 'b, 'a>(
    order: &'o [&'b Bundle<'a>],
    samples: usize,
    stick: bool,
) -> impl Iterator<Item = &'o [&'b Bundle<'a>]> {
    let total: usize = order.iter().map(|bundle| bundle.answers().len()).sum();
    let count = (total + samples / 2).checked_div(samples).unwrap_or(1).max(1);
    let (mut from, mut taken) = (0, 0);
    (1..=count).filter_map(move |batch| {
        let start = from;
        let goes_on =
            |from: usize| stick && from > start && order[from].prompt() == order[from - 1].prompt();
        while from < order.len()
            && (batch == count || taken * count < batch * total || goes_on(from))
        {
            taken += order[from].answers().len();
            from += 1;
        }
        (start < from).then(|| &order[start..from])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::{Answer, bundle};

    #[test]
    fn mini_batches_are_even_and_keep_groups_whole() {
        let tokens: Vec<u32> = (0..100).collect();
        let groups = bundle((0..100).map(|row| {
            (
                &tokens[row / 4..row / 4 + 1],
                Answer { row, tokens: &tokens[..1], way: 0, automaton: None },
            )
        }));
        let order = shuffled(&groups, Seed::new(1));
        let sizes = |samples| -> Vec<usize> {
            mini_batches(&order, samples, false)
                .map(|batch| batch.iter().map(|group| group.answers().len()).sum())
                .collect()
        };
        assert_eq!(sizes(0), [100]);
        assert_eq!(sizes(512), [100]);
        assert_eq!(sizes(30), [36, 32, 32]);
        assert_eq!(sizes(1).iter().sum::<usize>(), 100);
    }

    #[test]
    fn long_answers_to_one_prompt_are_several_bundles_and_one_mini_batch() {
        let long: Vec<u32> = (0..60).collect();
        let prompts: Vec<u32> = (0..6).collect();
        // The answers to a prompt come back after those to others.
        let rows = (0..24).map(|row| {
            let at = row % 6;
            (&prompts[at..at + 1], Answer { row, tokens: &long, way: 0, automaton: None })
        });
        let bundles = bundle(rows);
        assert_eq!(bundles.len(), 24);
        let order = shuffled_by_prompt(&bundles, Seed::new(3));
        for batch in mini_batches(&order, 5, true) {
            for bundle in batch {
                let alike = batch.iter().filter(|other| other.prompt() == bundle.prompt());
                assert_eq!(alike.count(), 4, "answers to one prompt are parted");
            }
        }
    }
}
