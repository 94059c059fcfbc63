//! Merges and the look-up from a pair of symbols to its rank.

use hashbrown::HashMap;

use super::pair_ranks::{PairRanks, PairSlot, NO_SYMBOL};
use super::{Trie, NO_ID};
use crate::error::Result;
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
    pub fn by_vocabulary(tokens: &[(&[u8], u32, u32)]) -> Result<Self> {
        // Each token's start and end are looked up in one walk, however long it is.
        let reversed: Vec<Vec<u8>> = tokens
            .iter()
            .map(|(text, ..)| text.iter().rev().copied().collect())
            .collect();
        let starts = Trie::build(tokens.iter().map(|&(text, id, _)| (text, id)))?;
        let ends = reversed.iter().zip(tokens);
        let ends = Trie::build(ends.map(|(text, &(_, id, _))| (text.as_slice(), id)))?;
        let mut pairs: Vec<(u32, u64, u32)> = Vec::new();
        let (mut lefts, mut rights) = (Vec::new(), Vec::new());
        for (&(text, id, rank), reversed) in tokens.iter().zip(&reversed) {
            lefts.clear();
            rights.clear();
            starts.prefixes(text, |length, left| lefts.push((length, left)));
            ends.prefixes(reversed, |length, right| {
                rights.push((text.len() - length, right))
            });
            // Both lists know where the cut is; `rights` from the end to the start.
            let mut rights = rights.iter().rev().peekable();
            for &(cut, left) in &lefts {
                while rights.next_if(|&&(at, _)| at < cut).is_some() {}
                if let Some(&(_, right)) = rights.next_if(|&&(at, _)| at == cut) {
                    pairs.push((rank, key(left, right), id));
                }
            }
        }
        Ok(Merges::ranked(pairs))
    }

    /// From (rank, pair, token).
    fn ranked(mut pairs: Vec<(u32, u64, u32)>) -> Self {
        pairs.sort_unstable();
        let mut merges = Merges::default();
        merges.first.reserve(pairs.len());
        // Of each rank; then of each pair.
        let mut last = None;
        for &(order, _, token) in &pairs {
            if last != Some(order) {
                last = Some(order);
                merges.tokens.push(token);
            } else if merges.tokens.last() != Some(&token) {
                merges.tokens.pop();
                merges.tokens.push(NO_ID);
            }
        }
        let (mut last, mut next) = (None, 0);
        for (order, pair, token) in pairs {
            if last != Some(order) {
                last = Some(order);
                next += 1;
            }
            let rank = next - 1;
            let new = merges.first.insert((pair >> 32) as u32, pair as u32, rank) == NO_RANK;
            if new && merges.tokens[rank as usize] == NO_ID {
                merges.shared.insert(pair, token);
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
