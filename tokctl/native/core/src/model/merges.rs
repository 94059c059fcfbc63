//! Merges and the look-up from a pair of symbols to its rank.

use std::cmp::Ordering;

use hashbrown::HashMap;

use super::pair_ranks::{PairRanks, PairSlot, NO_SYMBOL};
use super::NO_ID;
use crate::lock_free::Once;
use crate::prefetch::prefetch;

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
    pub fn new(triples: impl Iterator<Item = (u32, u32, u32)> + Clone) -> Self {
        let mut merges = Merges::default();
        merges.first.reserve(triples.size_hint().0);
        // The last rank of each pair that stands in the list more than once.
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

    /// Any two tokens that spell a token may merge, with the rank of *that* token, so
    /// that all ways to make a token are equal: the rule of tiktoken (its rank) and of
    /// SentencePiece's BPE (the higher its score, the lower its rank here; equal scores
    /// are equal ranks). `tokens` are (text, id, rank).
    ///
    /// The ranks that come out are numbers from 0 in the order of those given, of the
    /// tokens that are made of two.
    pub fn by_vocabulary(tokens: &[(&[u8], u32, u32)]) -> Self {
        // Of each token the longest of the others that it ends with. That one's is the next shorter.
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
            // The shortest left goes with the longest right.
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

    /// Of pairs in the order of their ranks.
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

    /// Every pair that has a rank: left, right and the first of its ranks, in no order.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        self.first.iter()
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

    /// Prefetches the cache line of a pair's rank, for [`Self::rank_at`]: see
    /// [`PairRanks::prefetch`].
    #[inline(always)]
    pub(crate) fn prefetch(&self, left: u32, right: u32, both: bool) -> PairSlot {
        self.first.prefetch(left, right, both)
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

/// A pair that spells a token: rank, left, right and token in one number, which sorts quickly.
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

/// So many steps before a place is needed it is asked for.
const AHEAD: usize = 12;

/// A token by its number, and how long it is.
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

/// The end that tokens are compared from.
trait Side {
    /// The first eight bytes from there as a number, the first one highest, zeros behind them; and
    /// what is left.
    fn split(text: &[u8]) -> (u64, &[u8]);

    /// Both as they are compared, byte by byte.
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

    /// How many bytes they have in common.
    fn common(mut a: &[u8], mut b: &[u8]) -> usize {
        let mut common = 0;
        loop {
            let ((first, a_rest), (other, b_rest)) = (Self::split(a), Self::split(b));
            // Where one ends, the other goes on or has a zero.
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

/// The tokens by their bytes from one end; of equal ones the last one stands last.
struct Sorted<'t> {
    tokens: &'t [(&'t [u8], u32, u32)],
    /// First eight bytes, length and number of each in one number, so that sorting compares
    /// without jumps.
    order: Vec<u128>,
    /// By number, the eight bytes behind these: nearly always the text itself is not needed.
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
            // Of those that end here, the longer one has zeros more, and stands right. The longest
            // is the last one.
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

    /// Two tokens whose first eight bytes are alike.
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

    /// How many bytes two tokens have in common.
    fn common<S: Side>(&self, a: u128, b: u128) -> u32 {
        let (a_place, b_place) = (place(a), place(b));
        let shorter = a_place.length.min(b_place.length);
        // Where one ends, the other goes on or has a zero.
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

    /// Calls `each` with each place in the order, the token, and the others that it starts with (or
    /// ends with), the shortest first. Of equal tokens the last one counts; an empty one is none.
    fn with_shorter<S: Side>(&self, mut each: impl FnMut(usize, Place, &[Place])) {
        // A token stands behind all that it starts with: those are on a stack when it comes.
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
            // One that is equal gives way.
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
                    let length = below(if round % 2 == 0 { 12 } else { 40 });
                    (0..length)
                        .map(|_| [0, b'a', b'b'][below(letters)])
                        .collect()
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
