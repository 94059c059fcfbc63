//! Merges, and the look-up from a pair of symbols to its rank.

use std::cmp::Ordering;

use hashbrown::HashMap;

use super::pair_ranks::{PairRanks, PairSlot, NO_SYMBOL};
use super::NO_ID;
use crate::lock_free::Once;
use crate::prefetch::prefetch;

/// Rank of a pair that has no merge.
pub const NO_RANK: u32 = u32::MAX;

/// A merge of a training, with its counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge {
    pub left: u32,
    pub right: u32,
    pub token: u32,
    /// Weighted occurrences of the pair before the merge.
    pub count: u64,
    /// Weighted occurrences of the left symbol before the merge; 0 if unknown.
    pub left_count: u64,
    /// Weighted occurrences of the right symbol before the merge; 0 if unknown.
    pub right_count: u64,
}

/// Ranks of pairs, and the tokens that they make.
///
/// A pair can be in the list more than once, if a merge made an existing token; `later` then maps a
/// rank of the pair to its next rank.
#[derive(Debug, Clone, Default)]
pub struct Merges {
    first: PairRanks,
    /// Tokens by rank; [`NO_ID`] if several tokens share the rank.
    tokens: Vec<u32>,
    /// Difference between token and rank, if it is equal for all ranks: saves a look-up.
    offset: Option<u32>,
    /// See [`Self::can_prefetch`].
    prefetchable: bool,
    /// Tokens of pairs whose rank is shared by several tokens.
    shared: HashMap<u64, u32>,
    later: HashMap<u32, u32>,
    /// See [`Self::come_later`].
    come_later: Once<bool>,
}

fn key(left: u32, right: u32) -> u64 {
    u64::from(left) << 32 | u64::from(right)
}

impl Merges {
    /// Build from (left, right, token) in rank order.
    pub fn new(triples: impl Iterator<Item = (u32, u32, u32)> + Clone) -> Self {
        let mut merges = Merges::default();
        merges.first.reserve(triples.size_hint().0);
        // Last rank so far of each pair that is in the list more than once.
        let mut last_of: HashMap<u64, u32> = HashMap::new();
        let mut ahead = triples.clone().skip(AHEAD);
        for (rank, (left, right, token)) in (0u32..).zip(triples) {
            if let Some((left, right, _)) = ahead.next() {
                merges.first.approach(left, right);
            }
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

    /// Build merges from a vocabulary of (text, id, rank): any two tokens whose texts join to a
    /// token's text may merge, with the rank of the *joined* token, so that all ways to make a
    /// token are equal.
    ///
    /// This is the rule of tiktoken (with its ranks) and of SentencePiece's BPE (the higher a
    /// token's score, the lower its rank must be; equal scores are equal ranks). The resulting
    /// ranks are numbered from 0 in the order of the given ranks, without tokens that no two tokens
    /// make.
    pub fn by_vocabulary(tokens: &[(&[u8], u32, u32)]) -> Self {
        // For each token: the longest other token that is its suffix. Following the chain gives the
        // shorter ones.
        let mut endings = vec![Place::NONE; tokens.len()];
        let by_end = Sorted::by::<End>(tokens);
        by_end.with_shorter::<End>(|at, token, shorter| {
            endings[token.number as usize] = shorter.last().copied().unwrap_or(Place::NONE);
            if let Some(ahead) = by_end.number(at + AHEAD) {
                prefetch(&endings[ahead]);
            }
        });
        let id = |place: Place| tokens[place.number as usize].1;
        let mut pairs: Vec<RankedPair> = Vec::with_capacity(3 * tokens.len());
        let by_start = Sorted::by::<Start>(tokens);
        by_start.with_shorter::<Start>(|at, token, shorter| {
            if let Some(ahead) = by_start.number(at + 2 * AHEAD) {
                prefetch(&endings[ahead]);
            }
            if let Some(ahead) = by_start.number(at + AHEAD) {
                prefetch(&tokens[ahead]);
                if let Some(next) = endings.get(endings[ahead].number as usize) {
                    prefetch(next);
                }
            }
            // The shortest left side goes with the longest right side.
            let mut right = token;
            for &left in shorter {
                let length = token.length - left.length;
                while right.length > length {
                    right = endings[right.number as usize];
                }
                if right.length == length {
                    let (_, token, rank) = tokens[token.number as usize];
                    pairs.push(RankedPair::new(rank, (id(left), id(right)), token));
                }
            }
        });
        pairs.sort_unstable();
        Merges::ranked(&pairs)
    }

    /// Build from pairs in the order of their ranks.
    fn ranked(pairs: &[RankedPair]) -> Self {
        let mut merges = Merges::default();
        merges.first.reserve(pairs.len());
        let mut ahead = pairs.iter().skip(AHEAD);
        for (rank, same) in (0u32..).zip(pairs.chunk_by(|a, b| a.rank() == b.rank())) {
            let token = same[0].token();
            let is_shared = same.iter().any(|pair| pair.token() != token);
            merges.tokens.push(if is_shared { NO_ID } else { token });
            for pair in same {
                if let Some(ahead) = ahead.next() {
                    let (left, right) = ahead.sides();
                    merges.first.approach(left, right);
                }
                let (left, right) = pair.sides();
                let known = merges.first.insert(left, right, rank);
                if is_shared && known == NO_RANK {
                    merges.shared.insert(key(left, right), pair.token());
                }
            }
        }
        merges.finish();
        merges
    }

    /// Compute the derived fields after all merges were added.
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

    /// Return whether every pair that contains a merged token ranks after all pairs that make this
    /// token (the ranks are topological). Training learns such merges; hand-made lists can differ.
    ///
    /// Return false if ids are too large to be packed.
    pub(crate) fn come_later(&self) -> bool {
        // A list indexed by such ids would be too long, and false only selects a slower path.
        self.prefetchable
            && *self.come_later.get_or_init(|| {
                let most = self.tokens.iter().chain(self.shared.values());
                let most = most.copied().filter(|&token| token != NO_ID).max();
                let most = most.unwrap_or_default() as usize;
                // For each token: one more than the last rank that makes it.
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

    /// Return the token that a pair of rank `rank` is merged into.
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

    /// Iterate over (left, right, first rank) of all pairs with a rank, in no particular order.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        self.first.iter()
    }

    /// Return the first rank of the pair, or [`NO_RANK`].
    #[inline]
    pub fn rank(&self, left: u32, right: u32) -> u32 {
        self.first.get(left, right)
    }

    /// Return whether pairs may be looked up by [`Self::prefetch`] and [`Self::rank_at`]. If so,
    /// every token of a merge is less than [`NO_SYMBOL`].
    pub(crate) fn can_prefetch(&self) -> bool {
        self.prefetchable
    }

    /// Prefetch the cache line of a pair's rank, for [`Self::rank_at`]: see
    /// [`PairRanks::prefetch`].
    #[inline(always)]
    pub(crate) fn prefetch(&self, left: u32, right: u32, both: bool) -> PairSlot {
        self.first.prefetch(left, right, both)
    }

    /// Like [`Self::rank`], for the pair whose slot [`Self::prefetch`] returned.
    #[inline(always)]
    pub(crate) fn rank_at(&self, slot: PairSlot) -> u32 {
        self.first.rank_at(slot)
    }

    /// Return the first rank of the pair after `done`, or [`NO_RANK`].
    #[inline]
    pub fn rank_after(&self, left: u32, right: u32, done: u32) -> u32 {
        let mut rank = self.rank(left, right);
        while rank != NO_RANK && rank <= done {
            rank = self.later.get(&rank).copied().unwrap_or(NO_RANK);
        }
        rank
    }
}

/// Pair that spells a token: rank, left, right and token in one number, which sorts fast.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RankedPair(u128);

impl RankedPair {
    fn new(rank: u32, (left, right): (u32, u32), token: u32) -> Self {
        let sides = u128::from(key(left, right));
        RankedPair(u128::from(rank) << 96 | sides << 32 | u128::from(token))
    }

    fn rank(self) -> u32 {
        (self.0 >> 96) as u32
    }

    fn sides(self) -> (u32, u32) {
        ((self.0 >> 64) as u32, (self.0 >> 32) as u32)
    }

    fn token(self) -> u32 {
        self.0 as u32
    }
}

/// Number of steps by which data is prefetched before its use.
const AHEAD: usize = 12;

/// Token, by its number, and its length in bytes.
#[derive(Clone, Copy)]
struct Place {
    number: u32,
    length: u32,
}

impl Place {
    const NONE: Place = Place {
        number: NO_ID,
        length: 0,
    };
}

/// End of the text from which tokens are compared.
trait Side {
    /// Return the first eight bytes from this end as a number (the first byte highest, padded with
    /// zeros), and the rest of the text.
    fn split(text: &[u8]) -> (u64, &[u8]);

    /// Compare two texts byte by byte from this end.
    fn order(mut a: &[u8], mut b: &[u8]) -> Ordering {
        loop {
            let ((first, a_rest), (other, b_rest)) = (Self::split(a), Self::split(b));
            if first != other {
                return first.cmp(&other);
            }
            if a_rest.is_empty() || b_rest.is_empty() {
                return a.len().cmp(&b.len());
            }
            (a, b) = (a_rest, b_rest);
        }
    }

    /// Return the number of bytes that two texts have in common, from this end.
    fn common(mut a: &[u8], mut b: &[u8]) -> usize {
        let mut common = 0;
        loop {
            let ((first, a_rest), (other, b_rest)) = (Self::split(a), Self::split(b));
            // After the end of the shorter text, the other text has more bytes, or a zero.
            let equal = (first ^ other).leading_zeros() as usize / 8;
            common += equal.min(a.len()).min(b.len());
            if equal < 8 || a_rest.is_empty() || b_rest.is_empty() {
                return common;
            }
            (a, b) = (a_rest, b_rest);
        }
    }
}

struct Start;

impl Side for Start {
    #[inline]
    fn split(text: &[u8]) -> (u64, &[u8]) {
        match text.split_first_chunk() {
            Some((first, rest)) => (u64::from_be_bytes(*first), rest),
            None => {
                let bytes = text.iter().rev();
                (
                    bytes.fold(0, |all, &byte| all >> 8 | u64::from(byte) << 56),
                    b"",
                )
            }
        }
    }
}

struct End;

impl Side for End {
    #[inline]
    fn split(text: &[u8]) -> (u64, &[u8]) {
        match text.split_last_chunk() {
            Some((rest, last)) => (u64::from_le_bytes(*last), rest),
            None => {
                let bytes = text.iter();
                (
                    bytes.fold(0, |all, &byte| all >> 8 | u64::from(byte) << 56),
                    b"",
                )
            }
        }
    }
}

/// Tokens sorted by their bytes from one end; equal tokens keep their order.
struct Sorted<'t> {
    tokens: &'t [(&'t [u8], u32, u32)],
    /// First eight bytes, length and number of each token in one number, so that sorting needs no
    /// indirection.
    order: Vec<u128>,
    /// Next eight bytes of each token. With them, the text itself is hardly ever read.
    second: Vec<u64>,
}

fn first(entry: u128) -> u64 {
    (entry >> 64) as u64
}

fn place(entry: u128) -> Place {
    Place {
        number: entry as u32,
        length: (entry >> 32) as u32,
    }
}

impl<'t> Sorted<'t> {
    fn by<S: Side>(tokens: &'t [(&'t [u8], u32, u32)]) -> Self {
        let mut order = Vec::with_capacity(tokens.len());
        let mut second = Vec::with_capacity(tokens.len());
        for (number, (text, ..)) in (0u32..).zip(tokens) {
            let (first, rest) = S::split(text);
            second.push(S::split(rest).0);
            let place = (text.len() as u64) << 32 | u64::from(number);
            order.push(u128::from(first) << 64 | u128::from(place));
        }
        order.sort_unstable();
        let mut sorted = Sorted {
            tokens,
            order: Vec::new(),
            second,
        };
        for same in order.chunk_by_mut(|&a, &b| first(a) == first(b)) {
            // Texts of at most eight bytes are sorted already: of two that differ in trailing
            // zeros, the longer one comes last. The last entry of the group is the longest.
            if same.len() > 1 && same.last().is_some_and(|&last| place(last).length > 8) {
                same.sort_unstable_by(|&a, &b| sorted.compare::<S>(place(a), place(b)));
            }
        }
        sorted.order = order;
        sorted
    }

    fn number(&self, at: usize) -> Option<usize> {
        self.order
            .get(at)
            .map(|&entry| place(entry).number as usize)
    }

    fn text(&self, token: Place) -> &'t [u8] {
        self.tokens[token.number as usize].0
    }

    /// Compare two tokens whose first eight bytes are equal.
    fn compare<S: Side>(&self, a: Place, b: Place) -> Ordering {
        let second = |token: Place| self.second[token.number as usize];
        let order = second(a)
            .cmp(&second(b))
            .then_with(|| match a.length.min(b.length) > 16 {
                true => S::order(self.text(a), self.text(b)),
                false => a.length.cmp(&b.length),
            });
        order.then(a.number.cmp(&b.number))
    }

    /// Return the number of bytes that two tokens have in common.
    fn common<S: Side>(&self, a: u128, b: u128) -> u32 {
        let (a_place, b_place) = (place(a), place(b));
        let shorter = a_place.length.min(b_place.length);
        // After the end of the shorter text, the other text has more bytes, or a zero.
        let equal = (first(a) ^ first(b)).leading_zeros() / 8;
        if equal < 8 || shorter <= 8 {
            return equal.min(shorter);
        }
        let second = |token: Place| self.second[token.number as usize];
        let equal = 8 + (second(a_place) ^ second(b_place)).leading_zeros() / 8;
        if equal < 16 || shorter <= 16 {
            return equal.min(shorter);
        }
        S::common(self.text(a_place), self.text(b_place)) as u32
    }

    /// Call `each` with each index in the order, its token, and all other tokens that are prefixes
    /// (or suffixes) of it, shortest first. Of equal tokens only the last counts; empty tokens are
    /// ignored.
    fn with_shorter<S: Side>(&self, mut each: impl FnMut(usize, Place, &[Place])) {
        // A token comes after all its prefixes in the order, so they are on the stack when it is
        // reached.
        let mut stack: Vec<Place> = Vec::new();
        let mut last: u128 = 0;
        for (at, &entry) in self.order.iter().enumerate() {
            if let Some(ahead) = self.number(at + AHEAD) {
                prefetch(&self.second[ahead]);
            }
            let token = place(entry);
            let common = match at {
                0 => 0,
                _ => self.common::<S>(entry, last),
            };
            while stack.pop_if(|on_it| on_it.length > common).is_some() {}
            // An equal earlier token is replaced.
            stack.pop_if(|on_it| on_it.length == token.length);
            each(at, token, &stack);
            if token.length > 0 {
                stack.push(token);
            }
            last = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random_below;

    /// Compute the expected result by trying every pair of tokens.
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
                    let length = below(if round % 2 == 0 { 12 } else { 40 });
                    (0..length)
                        .map(|_| [0, b'a', b'b'][below(letters)])
                        .collect()
                })
                .collect();
            // Ranks shared by several tokens, in no order.
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
