//! Merges and the look-up from a pair of symbols to its rank.

use hashbrown::HashMap;

use super::pair_ranks::{PairRanks, PairSlot, NO_SYMBOL};
use super::NO_ID;
use crate::lock_free::Once;

/// Stands where a pair has no merge.
pub const NO_RANK: u32 = u32::MAX;

/// One step of a training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    pub left: u32,
    pub right: u32,
    pub token: u32,
    /// Weighted occurrences of the pair before the merge.
    pub count: u64,
    /// Weighted occurrences of the left symbol before the merge; 0 where unknown.
    pub left_count: u64,
    /// The same of the right symbol.
    pub right_count: u64,
}

/// Ranks of pairs. A pair can stand in the list more than once, when a merge made a
/// token that existed already; then `later` leads from a rank to the next one.
#[derive(Debug, Clone, Default)]
pub struct Merges {
    first: PairRanks,
    /// By rank; [`NO_ID`] where several tokens share the rank.
    tokens: Vec<u32>,
    /// What is added to a rank to get its token, where that is the same for all: no look-up.
    offset: Option<u32>,
    /// See [`Self::can_prefetch`].
    prefetchable: bool,
    /// The tokens of pairs of such a rank.
    shared: HashMap<u64, u32>,
    later: HashMap<u32, u32>,
    /// See [`Self::come_later`].
    come_later: Once<bool>,
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

impl Merges {
    /// From (left, right, token) in rank order.
    pub fn new(triples: impl Iterator<Item = (u32, u32, u32)>) -> Self {
        let mut merges = Merges::default();
        merges.first.reserve(triples.size_hint().0);
        // The last rank of each pair that stands in the list more than once.
        let mut last_of: HashMap<u64, u32> = HashMap::new();
        for (rank, (left, right, token)) in (0u32..).zip(triples) {
            merges.tokens.push(token);
            let first = merges.first.insert(left, right, rank);
            if first != NO_RANK {
                let earlier = last_of.insert(key(left, right), rank).unwrap_or(first);
                merges.later.insert(earlier, rank);
            }
        }
        merges.finish();
        merges
    }

    /// Any two tokens that spell a token may merge, with the rank of *that* token, so
    /// that all ways to make a token are equal: the rule of tiktoken (its rank) and of
    /// SentencePiece's BPE (the higher its score, the lower its rank here; equal scores
    /// are equal ranks). `tokens` are (text, id, rank).
    ///
    /// The ranks that come out are numbers from 0 in the order of those given, of the
    /// tokens that are made of two.
    pub fn by_vocabulary(tokens: &[(&[u8], u32, u32)]) -> Self {
        let starts = Prefixes::of(tokens.iter().map(|&(text, id, _)| (text, id)));
        let reversed: Vec<Vec<u8>> = tokens
            .iter()
            .map(|(text, ..)| text.iter().rev().copied().collect())
            .collect();
        let ends = reversed.iter().zip(tokens);
        let ends = Prefixes::of(ends.map(|(text, &(_, id, _))| (text.as_slice(), id)));
        let mut by_rank: Vec<usize> = (0..tokens.len()).collect();
        by_rank.sort_by_key(|&number| tokens[number].2);
        let mut pairs: Vec<(u32, u64, u32)> = Vec::with_capacity(4 * tokens.len());
        for number in by_rank {
            let (text, id, rank) = tokens[number];
            // Both lists know where the cut is: the one from the start, the other from the end.
            let mut rights = ends.of_text(number).iter().rev().peekable();
            for &(cut, left) in starts.of_text(number) {
                let length = text.len() - cut;
                while rights.next_if(|&&(other, _)| other > length).is_some() {}
                if let Some(&(_, right)) = rights.next_if(|&&(other, _)| other == length) {
                    pairs.push((rank, key(left, right), id));
                }
            }
        }
        Merges::ranked(pairs)
    }

    /// From (rank, pair, token), in the order of the ranks.
    fn ranked(mut pairs: Vec<(u32, u64, u32)>) -> Self {
        let mut merges = Merges::default();
        merges.first.reserve(pairs.len());
        for (rank, same) in (0u32..).zip(pairs.chunk_by_mut(|a, b| a.0 == b.0)) {
            same.sort_unstable();
            let token = same[0].2;
            let is_shared = same.iter().any(|&(_, _, other)| other != token);
            merges.tokens.push(if is_shared { NO_ID } else { token });
            for &mut (_, pair, token) in same {
                let known = merges.first.insert((pair >> 32) as u32, pair as u32, rank);
                if is_shared && known == NO_RANK {
                    merges.shared.insert(pair, token);
                }
            }
        }
        merges.finish();
        merges
    }

    /// All merges are in.
    fn finish(&mut self) {
        self.first.finish();
        let offset = self.tokens.first().copied().unwrap_or_default();
        let mut all = (0u32..).zip(&self.tokens);
        let all = all.all(|(rank, &token)| token == rank.wrapping_add(offset));
        self.offset = (all && self.shared.is_empty()).then_some(offset);
        let mut tokens = self.tokens.iter().chain(self.shared.values());
        self.prefetchable =
            self.first.all_small() && tokens.all(|&token| token < NO_SYMBOL || token == NO_ID);
    }

    /// Does every pair of a token that was merged have a rank after those that make the token?
    /// So it is in what a training learns; what a user puts together may be otherwise.
    pub(crate) fn come_later(&self) -> bool {
        // Where ids are far apart, a list of them would be too long, and is not needed.
        self.prefetchable
            && *self.come_later.get_or_init(|| {
                let most = self.tokens.iter().chain(self.shared.values());
                let most = most.copied().filter(|&token| token != NO_ID).max();
                let most = most.unwrap_or_default() as usize;
                // Of each token, one more than the last rank that makes it.
                let mut made = vec![0u32; most + 1];
                for (left, right, rank) in self.first.iter() {
                    if let Some(made) = made.get_mut(self.token(rank, left, right) as usize) {
                        *made = (*made).max(rank + 1);
                    }
                }
                let later =
                    |id: u32, rank: u32| made.get(id as usize).is_none_or(|&made| made <= rank);
                let mut all = self.first.iter();
                all.all(|(left, right, rank)| later(left, rank) && later(right, rank))
            })
    }

    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The token that the merge of `rank` makes of a pair that has this rank.
    #[inline]
    pub fn token(&self, rank: u32, left: u32, right: u32) -> u32 {
        if let Some(offset) = self.offset {
            return rank.wrapping_add(offset);
        }
        match self.tokens[rank as usize] {
            NO_ID => self.shared.get(&key(left, right)).copied().unwrap_or(NO_ID),
            token => token,
        }
    }

    /// The first rank of the pair, or [`NO_RANK`].
    #[inline]
    pub fn rank(&self, left: u32, right: u32) -> u32 {
        self.first.get(left, right)
    }

    /// May pairs be looked up by [`Self::prefetch`] and [`Self::rank_at`]? Every token of a merge is
    /// then less than [`NO_SYMBOL`].
    pub(crate) fn can_prefetch(&self) -> bool {
        self.prefetchable
    }

    /// Prefetches the cache line of a pair's rank, for [`Self::rank_at`].
    #[inline(always)]
    pub(crate) fn prefetch(&self, left: u32, right: u32) -> PairSlot {
        self.first.prefetch(left, right)
    }

    /// The rank of the pair whose slot [`Self::prefetch`] returned; as [`Self::rank`].
    #[inline(always)]
    pub(crate) fn rank_at(&self, slot: PairSlot) -> u32 {
        self.first.rank_at(slot)
    }

    /// The first rank of the pair that comes after `done`, or [`NO_RANK`].
    #[inline]
    pub fn rank_after(&self, left: u32, right: u32, done: u32) -> u32 {
        let mut rank = self.rank(left, right);
        while rank != NO_RANK && rank <= done {
            rank = self.later.get(&rank).copied().unwrap_or(NO_RANK);
        }
        rank
    }
}

/// Of each text of a list, those of the others that it starts with: length and id, the shortest
/// first. Of equal texts the last one's id counts; an empty one starts nothing.
struct Prefixes {
    /// Where those of each text end in `found`, and where they start.
    places: Vec<(usize, usize)>,
    found: Vec<(usize, u32)>,
}

impl Prefixes {
    /// Sorted, a text stands behind all that it starts with: those are on a stack when it comes.
    fn of<'t>(texts: impl Iterator<Item = (&'t [u8], u32)>) -> Self {
        let texts: Vec<(&[u8], u32)> = texts.collect();
        // The first eight bytes as a number are compared first: nearly always they say it.
        let first_bytes = |text: &[u8]| {
            let mut first = [0; 8];
            let length = text.len().min(8);
            first[..length].copy_from_slice(&text[..length]);
            u64::from_be_bytes(first)
        };
        let mut order: Vec<(u64, usize)> = (0..)
            .zip(&texts)
            .map(|(number, (text, _))| (first_bytes(text), number))
            .collect();
        order.sort_unstable_by(|a, b| {
            let texts = || texts[a.1].0.cmp(texts[b.1].0);
            a.0.cmp(&b.0).then_with(texts).then(a.1.cmp(&b.1))
        });
        let mut places = vec![(0, 0); texts.len()];
        let mut found = Vec::with_capacity(4 * texts.len());
        let mut stack: Vec<(usize, u32)> = Vec::new();
        let mut last: &[u8] = b"";
        for (_, number) in order {
            let (text, id) = texts[number];
            let common = text.iter().zip(last).take_while(|(a, b)| a == b).count();
            while stack.last().is_some_and(|&(length, _)| length > common) {
                stack.pop();
            }
            // One that is equal gives way.
            stack.pop_if(|&mut (length, _)| length == text.len());
            let first = found.len();
            found.extend_from_slice(&stack);
            places[number] = (first, found.len());
            if !text.is_empty() {
                stack.push((text.len(), id));
            }
            last = text;
        }
        Prefixes { places, found }
    }

    fn of_text(&self, number: usize) -> &[(usize, u32)] {
        let (first, last) = self.places[number];
        &self.found[first..last]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random_below;

    /// Every pair of tokens is tried.
    fn slowly(tokens: &[(&[u8], u32, u32)]) -> HashMap<(u32, u32), (u32, u32)> {
        let id_of: HashMap<&[u8], u32> = tokens.iter().map(|&(text, id, _)| (text, id)).collect();
        let mut orders: Vec<u32> = Vec::new();
        let mut best: HashMap<(u32, u32), (u32, u32)> = HashMap::new();
        for &(text, id, rank) in tokens {
            for cut in 1..text.len().max(1) {
                let (left, right) = text.split_at(cut);
                if let (Some(&left), Some(&right)) = (id_of.get(left), id_of.get(right)) {
                    orders.push(rank);
                    let best = best.entry((left, right)).or_insert((rank, id));
                    *best = (*best).min((rank, id));
                }
            }
        }
        orders.sort_unstable();
        orders.dedup();
        for (rank, _) in best.values_mut() {
            *rank = orders.binary_search(rank).unwrap() as u32;
        }
        best
    }

    #[test]
    fn by_vocabulary_finds_all_pairs_that_spell_a_token() {
        let mut below = random_below(3);
        for round in 0..300 {
            let letters = 1 + below(3);
            let texts: Vec<Vec<u8>> = (0..below(60))
                .map(|_| {
                    let length = below(12);
                    (0..length).map(|_| b'a' + below(letters) as u8).collect()
                })
                .collect();
            // Ranks that several tokens share, in no order.
            let ranks: Vec<u32> = texts.iter().map(|_| below(40) as u32 * 7).collect();
            let tokens: Vec<(&[u8], u32, u32)> = (100..)
                .zip(texts.iter().zip(&ranks))
                .map(|(id, (text, &rank))| (text.as_slice(), id, rank))
                .collect();
            let merges = Merges::by_vocabulary(&tokens);
            let expected = slowly(&tokens);
            for left in 100..100 + tokens.len() as u32 {
                for right in 100..100 + tokens.len() as u32 {
                    let rank = merges.rank(left, right);
                    let found = (rank != NO_RANK).then(|| (rank, merges.token(rank, left, right)));
                    assert_eq!(
                        found,
                        expected.get(&(left, right)).copied(),
                        "round {round}"
                    );
                }
            }
        }
    }
}
