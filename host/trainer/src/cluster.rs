//! Bundles whose prompts begin alike, which are trained as one tree.
//!
//! The prompts of a role begin with its instructions, and those of a later turn with what was
//! said before. What several prompts have in common is computed once for all of them, forwards
//! and backwards, as a prompt is for its answers.

use crate::bundle::Bundle;

/// Tokens that two prompts have in common at least, and that are at least one in so many of a
/// bundle's: for fewer, attention to a larger tree costs more than they save.
const SHORTEST: usize = 16;
const WORTH_A_SHARE: usize = 8;

/// Bundles of one learner, sorted by prompt.
#[derive(Debug)]
pub(super) struct Cluster<'b, 'a> {
    pub(super) learner: usize,
    pub(super) bundles: Vec<&'b Bundle<'a>>,
    /// Tokens of all, with what neighbours have in common counted once.
    pub(super) tokens: usize,
}

/// Put together what begins alike, as long as no cluster has more than `limit` tokens; a bundle
/// of more is alone. Bundles come with the index of their learner.
pub(super) fn clusters<'b, 'a>(
    bundles: &[(usize, &'b Bundle<'a>)],
    limit: usize,
) -> Vec<Cluster<'b, 'a>> {
    let mut sorted = bundles.to_vec();
    sorted.sort_by_key(|(learner, bundle)| (*learner, bundle.prompt()));
    let alike = sorted
        .chunk_by(|(learner, left), (other, right)| learner == other && shared(left, right) > 0);
    alike.flat_map(|run| cut(run, limit)).collect()
}

/// Cut bundles that begin alike into clusters of about the same size.
fn cut<'b, 'a>(run: &[(usize, &'b Bundle<'a>)], limit: usize) -> Vec<Cluster<'b, 'a>> {
    let empty = || Cluster { learner: run[0].0, bundles: Vec::new(), tokens: 0 };
    let mut whole = empty();
    run.iter().for_each(|(_, bundle)| whole.push(bundle));
    if whole.tokens <= limit || run.len() == 1 {
        return vec![whole];
    }
    // Every cluster begins with what all have in common.
    let trunk = run.windows(2).map(|pair| shared(pair[0].1, pair[1].1)).min().unwrap_or(0);
    let rest = whole.tokens - trunk;
    let even = rest.div_ceil(limit.saturating_sub(trunk).max(1)).next_multiple_of(2);
    let share = trunk + rest.div_ceil(even);
    let mut clusters = vec![empty()];
    for (_, bundle) in run {
        let has_room = |last: &&mut Cluster| {
            let fits = last.tokens < share && last.tokens + last.added(bundle) <= limit;
            fits || last.bundles.is_empty()
        };
        match clusters.last_mut().filter(has_room) {
            Some(last) => last.push(bundle),
            None => {
                let mut next = empty();
                next.push(bundle);
                clusters.push(next);
            }
        }
    }
    clusters
}

impl<'b, 'a> Cluster<'b, 'a> {
    /// Tokens that a bundle would add.
    fn added(&self, bundle: &Bundle) -> usize {
        bundle.tokens() - self.bundles.last().map_or(0, |last| shared(last, bundle))
    }

    fn push(&mut self, bundle: &'b Bundle<'a>) {
        self.tokens += self.added(bundle);
        self.bundles.push(bundle);
    }
}

/// Tokens with which both prompts begin, if they are worth a tree.
fn shared(left: &Bundle, right: &Bundle) -> usize {
    let pairs = left.prompt().iter().zip(right.prompt());
    let common = pairs.take_while(|(left, right)| left == right).count();
    let worth_it = |bundle: &Bundle| common * WORTH_A_SHARE >= bundle.tokens();
    if common >= SHORTEST && worth_it(left) && worth_it(right) { common } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bundle::{Answer, Tree, bundle};

    /// Prompts of a beginning that is common to each of `kinds` and an end of its own.
    fn prompts(kinds: u32, of_each: u32, common: u32, end: u32) -> Vec<Vec<u32>> {
        let prompt = |kind: u32, number: u32| {
            let beginning = (0..common).map(move |at| 1000 * (kind + 1) + at);
            beginning.chain((0..end).map(move |at| 7 + number * 100 + at)).collect()
        };
        (0..kinds).flat_map(|kind| (0..of_each).map(move |number| prompt(kind, number))).collect()
    }

    fn bundles(prompts: &[Vec<u32>]) -> Vec<Bundle<'_>> {
        let answer = |row| Answer { row, tokens: &[5, 6, 2], way: 0, automaton: None };
        bundle(prompts.iter().enumerate().map(|(row, prompt)| (&prompt[..], answer(row))))
    }

    fn numbered<'b, 'a>(bundles: &'b [Bundle<'a>]) -> Vec<(usize, &'b Bundle<'a>)> {
        bundles.iter().map(|bundle| (0, bundle)).collect()
    }

    #[test]
    fn what_begins_alike_is_one_tree_in_which_the_beginning_lies_once() {
        let prompts = prompts(2, 3, 20, 4);
        let bundles = bundles(&prompts);
        let clusters = clusters(&numbered(&bundles), 1000);
        assert_eq!(
            clusters.iter().map(|cluster| cluster.bundles.len()).collect::<Vec<_>>(),
            [3, 3]
        );
        assert_eq!(clusters[0].tokens, 20 + 3 * (4 + 3));
        let tree = Tree::of(&clusters[0].bundles);
        // The last token of an answer is predicted, but never read.
        assert_eq!(tree.tokens.len(), 20 + 3 * (4 + 2));
        assert_eq!(tree.positions[20..32], [20, 21, 22, 23, 24, 25, 20, 21, 22, 23, 24, 25]);
        assert_eq!(tree.ends[19..27], [38, 26, 26, 26, 26, 26, 26, 32]);
        assert_eq!(tree.predictors, [23, 24, 25, 29, 30, 31, 35, 36, 37]);
    }

    #[test]
    fn learners_short_beginnings_and_long_bundles_are_kept_apart() {
        let count =
            |prompts: &[Vec<u32>], limit| clusters(&numbered(&bundles(prompts)), limit).len();
        assert_eq!(count(&prompts(1, 4, SHORTEST as u32, 4), 1000), 1);
        assert_eq!(count(&prompts(1, 4, SHORTEST as u32 - 1, 4), 1000), 4);
        assert_eq!(count(&prompts(1, 4, 20, 90), 1000), 1);
        assert_eq!(count(&prompts(1, 4, 20, 180), 1000), 4);
        assert_eq!(count(&prompts(1, 4, 40, 4), 60), 2);
        assert_eq!(count(&prompts(1, 4, 40, 4), 30), 4);
        let prompts = prompts(1, 4, 20, 4);
        let bundles = bundles(&prompts);
        let learners: Vec<(usize, &Bundle)> =
            bundles.iter().enumerate().map(|(index, bundle)| (index % 2, bundle)).collect();
        assert_eq!(clusters(&learners, 1000).len(), 2);
    }

    proptest! {
        #[test]
        fn every_bundle_is_in_one_cluster_and_none_is_too_large(
            kinds in 1_u32..4,
            of_each in 1_u32..9,
            common in 0_u32..60,
            end in 1_u32..30,
            limit in 1_usize..300,
        ) {
            let prompts = prompts(kinds, of_each, common, end);
            let bundles = bundles(&prompts);
            let clusters = clusters(&numbered(&bundles), limit);
            let mut rows: Vec<usize> = clusters
                .iter()
                .flat_map(|cluster| &cluster.bundles)
                .flat_map(|bundle| bundle.answers())
                .map(|answer| answer.row)
                .collect();
            rows.sort_unstable();
            prop_assert_eq!(rows, (0..prompts.len()).collect::<Vec<_>>());
            for cluster in &clusters {
                prop_assert!(cluster.tokens <= limit || cluster.bundles.len() == 1);
                prop_assert!(Tree::of(&cluster.bundles).tokens.len() <= cluster.tokens);
            }
        }

        #[test]
        fn every_token_of_a_tree_sees_its_own_prompt_and_answer_and_nothing_else(
            of_each in 1_u32..6,
            common in 0_u32..40,
            end in 1_u32..6,
        ) {
            let prompts = prompts(2, of_each, common, end);
            let bundles = bundles(&prompts);
            for cluster in clusters(&numbered(&bundles), 1000) {
                let tree = Tree::of(&cluster.bundles);
                let path = |at: usize| -> Vec<u32> {
                    (0..=at).filter(|&up| at < tree.ends[up]).map(|up| tree.tokens[up]).collect()
                };
                let mut predictors = tree.predictors.iter();
                for bundle in &cluster.bundles {
                    for answer in bundle.answers() {
                        for read in 0..answer.tokens.len() {
                            let said = [bundle.prompt(), &answer.tokens[..read]].concat();
                            prop_assert_eq!(path(*predictors.next().unwrap()), said);
                        }
                    }
                }
                prop_assert!(predictors.next().is_none());
            }
        }
    }
}
