//! Keys and values of prompts that were read, for prompts that begin alike.
//!
//! A role's next prompt often repeats its last one and goes on; prompts of
//! one role share its instructions. What was read of such a beginning is not
//! read again. Keys and values depend on the weights, so a cache lives no
//! longer than the engine, which borrows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tch::Tensor;

use super::kv_cache::Layer;

/// Common tokens from which on it pays to look up instead of to read again.
pub(super) const SHORTEST: usize = 16;

/// Tokens of a whole prompt from which on it is kept for the next that begins alike.
pub(super) const WORTH_KEEPING: usize = 64;

/// The beginning of a prompt that was read before.
#[derive(Debug)]
pub(super) struct Prefix {
    pub(super) tokens: usize,
    /// Keys and values by layer, `[key_value_heads, tokens, head_dim]`.
    pub(super) layers: Vec<Layer>,
}

/// What a member read: the key of an entry. The order puts prompts that begin
/// alike side by side.
type Key = (usize, Arc<[u32]>);

/// What was read, and when.
#[derive(Debug)]
struct Entry {
    age: u64,
    layers: Vec<Layer>,
}

/// Entries by member and tokens; the oldest go first.
#[derive(Debug)]
pub(super) struct PrefixCache {
    entries: BTreeMap<Key, Entry>,
    ages: BTreeMap<u64, Key>,
    clock: u64,
    tokens: usize,
    limit: usize,
}

impl PrefixCache {
    /// Holds at most `limit` tokens.
    pub(super) fn new(limit: usize) -> Self {
        PrefixCache { entries: BTreeMap::new(), ages: BTreeMap::new(), clock: 0, tokens: 0, limit }
    }

    /// The longest beginning of `prompt` that was read, short of its last
    /// token, which must be read again for what follows it.
    pub(super) fn find(&self, member: usize, prompt: &Arc<[u32]>) -> Option<Prefix> {
        let key = (member, prompt.clone());
        // The longest common beginning is with a neighbor in the order.
        let before = self.entries.range(..&key).next_back();
        let after = self.entries.range(&key..).next();
        let (tokens, entry) = [before, after]
            .into_iter()
            .flatten()
            .filter(|((owner, _), _)| *owner == member)
            .map(|((_, read), entry)| (common(read, prompt), entry))
            .max_by_key(|(tokens, _)| *tokens)?;
        let tokens = tokens.min(prompt.len().saturating_sub(1));
        let beginning = |tensor: &Tensor| tensor.narrow(1, 0, tokens as i64);
        (tokens >= SHORTEST).then(|| Prefix {
            tokens,
            layers: entry.layers.iter().map(|layer| layer.map(beginning)).collect(),
        })
    }

    /// Keep what a member read.
    pub(super) fn insert(&mut self, member: usize, prompt: Arc<[u32]>, layers: Vec<Layer>) {
        if prompt.len() > self.limit {
            return;
        }
        self.clock += 1;
        let key = (member, prompt);
        self.tokens += key.1.len();
        let entry = Entry { age: self.clock, layers };
        if let Some(former) = self.entries.insert(key.clone(), entry) {
            self.ages.remove(&former.age);
            self.tokens -= key.1.len();
        }
        self.ages.insert(self.clock, key);
        while self.tokens > self.limit {
            let Some((_, oldest)) = self.ages.pop_first() else { break };
            self.entries.remove(&oldest);
            self.tokens -= oldest.1.len();
        }
    }
}

/// Tokens that two prompts begin with alike.
pub(super) fn common(left: &[u32], right: &[u32]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(parts: &[(u32, usize)]) -> Arc<[u32]> {
        parts.iter().flat_map(|&(token, count)| std::iter::repeat_n(token, count)).collect()
    }

    fn found(cache: &PrefixCache, member: usize, parts: &[(u32, usize)]) -> Option<usize> {
        cache.find(member, &prompt(parts)).map(|prefix| prefix.tokens)
    }

    #[test]
    fn the_longest_common_beginning_is_found_short_of_the_last_token() {
        let mut cache = PrefixCache::new(10_000);
        cache.insert(0, prompt(&[(1, 100), (2, 50)]), Vec::new());
        cache.insert(0, prompt(&[(1, 100), (3, 50), (4, 9)]), Vec::new());
        assert_eq!(found(&cache, 0, &[(1, 100), (2, 20), (9, 9)]), Some(120));
        assert_eq!(found(&cache, 0, &[(1, 100), (3, 50), (5, 9)]), Some(150));
        assert_eq!(found(&cache, 0, &[(1, 100), (2, 50)]), Some(149));
        assert_eq!(found(&cache, 0, &[(1, 80)]), Some(79));
        assert_eq!(found(&cache, 0, &[(1, 16), (7, 80)]), Some(16));
        assert_eq!(found(&cache, 0, &[(1, 15), (7, 80)]), None);
        assert_eq!(found(&cache, 1, &[(1, 100), (2, 50)]), None);
    }

    #[test]
    fn the_oldest_go_when_the_room_is_used_up() {
        let mut cache = PrefixCache::new(250);
        cache.insert(0, prompt(&[(1, 100)]), Vec::new());
        cache.insert(0, prompt(&[(2, 100)]), Vec::new());
        cache.insert(0, prompt(&[(1, 100)]), Vec::new());
        cache.insert(0, prompt(&[(3, 100)]), Vec::new());
        cache.insert(0, prompt(&[(4, 1000)]), Vec::new());
        let held = [1, 2, 3, 4].map(|token| found(&cache, 0, &[(token, 100)]).is_some());
        assert_eq!(held, [true, false, true, false]);
    }
}
