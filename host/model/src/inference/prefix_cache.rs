//! Keys and values of prompts that were read, for prompts that begin alike.
//!
//! A role's next prompt often repeats its last one and goes on; prompts of
//! one role share its instructions. What was read of such a beginning is not
//! read again, nor kept again. Keys and values depend on the weights, so a cache lives no
//! longer than the engine, which borrows them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use tch::Tensor;

use super::kv_cache::Layer;

/// Common tokens from which on it pays to look up instead of to read again.
pub(super) const SHORTEST: usize = 16;

/// Tokens of a whole prompt from which on it is kept for the next that begins alike.
pub(super) const WORTH_KEEPING: usize = 64;

/// Keys and values of some tokens by layer, `[key_value_heads, tokens, head_dim]`.
pub(super) type Piece = Vec<Layer>;

/// The beginning of a prompt that was read before.
#[derive(Debug)]
pub(super) struct Prefix {
    pub(super) tokens: usize,
    /// What is kept of it, in order.
    pub(super) pieces: Vec<Piece>,
    /// The prompt it is a beginning of, by which the cache knows it.
    pub(super) of: Arc<[u32]>,
}

/// A prompt that was read: what is kept of it.
#[derive(Debug)]
pub(super) struct ReadPrompt {
    pub(super) member: usize,
    pub(super) prompt: Arc<[u32]>,
    /// The part known before: how many tokens, and from which prompt.
    pub(super) after: Option<(usize, Arc<[u32]>)>,
    /// Keys and values of the tokens that were not known.
    pub(super) layers: Vec<Layer>,
}

/// What a member read: the key of an entry. The order puts prompts that begin
/// alike side by side.
type Key = (usize, Arc<[u32]>);

/// What was read of a prompt beyond its beginning in an earlier one.
#[derive(Debug)]
struct Kept {
    /// The earlier one, and how many of its tokens this one begins with.
    before: Option<(Rc<Kept>, usize)>,
    layers: Vec<Layer>,
    own: usize,
    /// Tokens of all that is kept.
    held: Rc<Cell<usize>>,
}

impl Kept {
    /// The link of the chain that holds token `tokens - 1`; a continuation from there needs none
    /// behind.
    fn holding(mut kept: Rc<Kept>, tokens: usize) -> Rc<Kept> {
        while let Some((before, _)) = kept.before.as_ref().filter(|(_, start)| tokens <= *start) {
            kept = before.clone();
        }
        kept
    }

    /// Its first so many tokens: views of what the chain holds.
    fn beginning(&self, tokens: usize) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let (mut kept, mut end) = (self, tokens);
        loop {
            let start = kept.before.as_ref().map_or(0, |(_, start)| *start);
            if end > start {
                let first = |tensor: &Tensor| tensor.narrow(1, 0, (end - start) as i64);
                pieces.push(kept.layers.iter().map(|layer| layer.map(first)).collect());
                end = start;
            }
            let Some((before, _)) = &kept.before else { break };
            kept = before;
        }
        pieces.reverse();
        pieces
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.held.set(self.held.get() - self.own);
    }
}

/// An entry, and when it was used last.
#[derive(Debug)]
struct CachedPrefix {
    age: u64,
    kept: Rc<Kept>,
}

/// Entries by member and tokens; those that were not used for longest go first. What others
/// begin with stays as long as they do.
#[derive(Debug)]
pub(super) struct PrefixCache {
    entries: BTreeMap<Key, CachedPrefix>,
    ages: BTreeMap<u64, Key>,
    clock: u64,
    held: Rc<Cell<usize>>,
    limit: usize,
}

impl PrefixCache {
    /// Holds at most `limit` tokens; what prompts have in common counts once.
    pub(super) fn new(limit: usize) -> Self {
        let held = Rc::new(Cell::new(0));
        PrefixCache { entries: BTreeMap::new(), ages: BTreeMap::new(), clock: 0, held, limit }
    }

    /// The longest beginning of `prompt` that was read, short of its last
    /// token, which must be read again for what follows it.
    pub(super) fn find(&self, member: usize, prompt: &Arc<[u32]>) -> Option<Prefix> {
        let key = (member, prompt.clone());
        // The longest common beginning is with a neighbor in the order.
        let before = self.entries.range(..&key).next_back();
        let after = self.entries.range(&key..).next();
        let (tokens, (_, of), entry) = [before, after]
            .into_iter()
            .flatten()
            .filter(|((owner, _), _)| *owner == member)
            .map(|(key, entry)| (common(&key.1, prompt), key, entry))
            .max_by_key(|(tokens, ..)| *tokens)?;
        let tokens = tokens.min(prompt.len().saturating_sub(1));
        (tokens >= SHORTEST).then(|| Prefix {
            tokens,
            pieces: entry.kept.beginning(tokens),
            of: of.clone(),
        })
    }

    /// Keep what was read, unless it is kept already or its prefix is gone.
    pub(super) fn insert(&mut self, read: ReadPrompt) {
        let ReadPrompt { member, prompt, after, layers } = read;
        let key = (member, prompt.clone());
        if self.touch(&key).is_some() {
            return;
        }
        let start = after.as_ref().map_or(0, |(start, _)| *start);
        let own = prompt.len() - start;
        if own > self.limit {
            return;
        }
        let before = match after {
            None => None,
            Some((start, of)) => match self.touch(&(member, of)) {
                None => return,
                Some(kept) => Some((Kept::holding(kept, start), start)),
            },
        };
        self.held.set(self.held.get() + own);
        let kept = Rc::new(Kept { before, layers, own, held: self.held.clone() });
        self.clock += 1;
        self.entries.insert(key.clone(), CachedPrefix { age: self.clock, kept });
        self.ages.insert(self.clock, key);
        while self.held.get() > self.limit {
            let Some((_, oldest)) = self.ages.pop_first() else { break };
            self.entries.remove(&oldest);
        }
    }

    /// What is kept under this key; it counts as just used.
    fn touch(&mut self, key: &Key) -> Option<Rc<Kept>> {
        let entry = self.entries.get_mut(key)?;
        self.ages.remove(&entry.age);
        self.clock += 1;
        entry.age = self.clock;
        self.ages.insert(self.clock, key.clone());
        Some(entry.kept.clone())
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
        let prompt = prompt(parts);
        let Prefix { tokens, pieces, .. } = cache.find(member, &prompt)?;
        let expected = layers(&prompt[..tokens]);
        let joined = |of: fn(&Layer) -> &Tensor| {
            Tensor::cat(&pieces.iter().map(|piece| of(&piece[0])).collect::<Vec<_>>(), 1)
        };
        assert_eq!(joined(|layer| &layer.keys), expected[0].keys);
        assert_eq!(joined(|layer| &layer.values), expected[0].values);
        Some(tokens)
    }

    /// Keys of one head of width 1 are the tokens themselves, so what is found can be read.
    fn layers(tokens: &[u32]) -> Vec<Layer> {
        let numbers: Vec<f32> = tokens.iter().map(|&token| token as f32).collect();
        let keys = Tensor::from_slice(&numbers).view([1, -1, 1]);
        vec![Layer { values: -&keys, keys }]
    }

    /// Read a prompt as an engine does: what is known of it is not read again.
    fn read(cache: &mut PrefixCache, member: usize, parts: &[(u32, usize)]) {
        let prompt = prompt(parts);
        let after = cache.find(member, &prompt).map(|prefix| (prefix.tokens, prefix.of));
        let start = after.as_ref().map_or(0, |(start, _)| *start);
        let layers = layers(&prompt[start..]);
        cache.insert(ReadPrompt { member, prompt, after, layers });
    }

    #[test]
    fn the_longest_common_beginning_is_found_short_of_the_last_token() {
        let mut cache = PrefixCache::new(10_000);
        read(&mut cache, 0, &[(1, 100), (2, 50)]);
        read(&mut cache, 0, &[(1, 100), (3, 50), (4, 9)]);
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
        read(&mut cache, 0, &[(1, 100)]);
        read(&mut cache, 0, &[(2, 100)]);
        read(&mut cache, 0, &[(1, 100)]);
        read(&mut cache, 0, &[(3, 100)]);
        read(&mut cache, 0, &[(4, 1000)]);
        let held = [1, 2, 3, 4].map(|token| found(&cache, 0, &[(token, 100)]).is_some());
        assert_eq!(held, [true, false, true, false]);
    }
    #[test]
    fn what_prompts_have_in_common_is_kept_once_however_long_the_chain() {
        let mut cache = PrefixCache::new(200);
        read(&mut cache, 0, &[(1, 100)]);
        for turn in 2..7 {
            let grown: Vec<(u32, usize)> =
                std::iter::once((1, 100)).chain((2..=turn).map(|token| (token, 10))).collect();
            read(&mut cache, 0, &grown);
        }
        assert_eq!(cache.held.get(), 150);
        let all = [(1, 100), (2, 10), (3, 10), (4, 10), (5, 10), (6, 10), (7, 1)];
        assert_eq!(found(&cache, 0, &all), Some(150));
        // Others take the room, the beginning goes with the last that needs it.
        read(&mut cache, 0, &[(8, 150)]);
        assert_eq!(cache.held.get(), 150);
        assert_eq!(found(&cache, 0, &all), None);
    }

    #[test]
    fn prompts_with_one_beginning_do_not_hold_each_other() {
        let mut cache = PrefixCache::new(400);
        read(&mut cache, 0, &[(1, 100)]);
        for token in 2..50 {
            read(&mut cache, 0, &[(1, 100), (token, 50)]);
            read(&mut cache, 0, &[(1, 100), (token, 50)]);
            assert!(cache.held.get() <= 400);
        }
        assert_eq!((cache.held.get(), cache.entries.len()), (400, 6));
        assert_eq!(found(&cache, 0, &[(1, 100), (49, 50)]), Some(149));
        assert_eq!(found(&cache, 0, &[(1, 100), (2, 50)]), Some(100));
    }

    #[test]
    fn what_goes_on_from_what_is_gone_is_not_kept() {
        let mut cache = PrefixCache::new(200);
        read(&mut cache, 0, &[(1, 100)]);
        let next = prompt(&[(1, 100), (2, 20)]);
        let after = cache.find(0, &next).map(|prefix| (prefix.tokens, prefix.of));
        read(&mut cache, 0, &[(3, 180)]);
        let layers = layers(&next[100..]);
        cache.insert(ReadPrompt { member: 0, prompt: next, after, layers });
        assert_eq!((cache.held.get(), cache.entries.len()), (180, 1));
    }
}
