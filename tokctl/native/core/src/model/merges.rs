//! Merges and the look-up from a pair of symbols to its rank.

use hashbrown::HashMap;

use super::{Trie, NO_ID};
use crate::error::Result;

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
    first: HashMap<u64, Ranked>,
    /// By rank; [`NO_ID`] where several tokens share the rank.
    tokens: Vec<u32>,
    later: HashMap<u32, u32>,
}

/// As large in the table as the rank alone would be.
#[derive(Debug, Clone, Copy)]
struct Ranked {
    rank: u32,
    token: u32,
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

impl Merges {
    /// From (left, right, token) in rank order.
    pub fn new(triples: impl Iterator<Item = (u32, u32, u32)>) -> Self {
        let mut merges = Merges::default();
        let mut last_of: HashMap<u64, u32> = HashMap::new();
        for (rank, (left, right, token)) in (0u32..).zip(triples) {
            merges.tokens.push(token);
            let pair = key(left, right);
            if let Some(earlier) = last_of.insert(pair, rank) {
                merges.later.insert(earlier, rank);
            } else {
                merges.first.insert(pair, Ranked { rank, token });
            }
        }
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
        let mut last = None;
        for (given, pair, token) in pairs {
            if last != Some(given) {
                last = Some(given);
                merges.tokens.push(token);
            }
            let rank = merges.tokens.len() - 1;
            if merges.tokens[rank] != token {
                merges.tokens[rank] = NO_ID;
            }
            let rank = rank as u32;
            merges.first.entry(pair).or_insert(Ranked { rank, token });
        }
        merges
    }

    /// The rank that makes each token: the lowest, where several do.
    pub fn ranks_of_tokens(&self) -> HashMap<u32, u32> {
        let mut ranks = HashMap::with_capacity(self.tokens.len());
        for ranked in self.first.values() {
            let rank = ranks.entry(ranked.token).or_insert(ranked.rank);
            *rank = (*rank).min(ranked.rank);
        }
        ranks
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
        match self.tokens[rank as usize] {
            NO_ID => self
                .first
                .get(&key(left, right))
                .map_or(NO_ID, |ranked| ranked.token),
            token => token,
        }
    }

    /// The first rank of the pair, or [`NO_RANK`].
    #[inline]
    pub fn rank(&self, left: u32, right: u32) -> u32 {
        self.first
            .get(&key(left, right))
            .map_or(NO_RANK, |ranked| ranked.rank)
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
