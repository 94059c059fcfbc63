//! From a pair of symbols to its rank.

use std::hash::BuildHasher;
use std::hint::select_unpredictable;

use hashbrown::{DefaultHashBuilder, HashMap};

use super::NO_RANK;
use crate::packed::fold;
use crate::prefetch::prefetch;

/// Bits of an id and of a rank that share a word: enough for two million tokens.
const ID_BITS: u32 = 21;
const RANK_BITS: u32 = 22;

/// The greatest slot.
const EMPTY: u64 = u64::MAX;

/// Pairs of larger ids do not fit.
const MAX_ID: u32 = (1 << ID_BITS) - 2;

/// Stands for a neighbour that is not there: a pair of it has no rank. (The number above it is
/// left out, because a pair of that could look like an empty slot.)
pub(crate) const NO_SYMBOL: u32 = MAX_ID;

/// Slots that are looked at together.
const BUCKET: usize = 2;

/// Pairs of ids below this, where most tokenizers have their bytes, are looked up directly.
const DIRECT: usize = 288;

/// Tables with fewer pairs get no direct table: they are small enough without.
const MIN_FOR_DIRECT: usize = 1000;

/// Where a pair is looked for: see [`PairRanks::prefetch`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairSlot {
    /// The pair, packed, and its bucket.
    pair: u64,
    at: u32,
}

impl PairSlot {
    /// Of no pair.
    pub const NOWHERE: PairSlot = PairSlot {
        pair: (MAX_ID as u64) << ID_BITS | MAX_ID as u64,
        at: 0,
    };
}

/// The first rank of each pair. Most look-ups are of pairs that have none, so a pair and its
/// rank share one word, and a look at one place, which has two of them, mostly says it: no
/// jump depends on which of the two it is, or whether it is one at all.
#[derive(Debug, Clone)]
pub(super) struct PairRanks {
    /// Open addressing; a power of two, in buckets that are filled from their start. The greater
    /// slot of a bucket stands first if a pair that had no room in it lies behind it.
    slots: Vec<u64>,
    entries: usize,
    /// Random, so that no model can be made of colliding pairs.
    seeds: [u64; 2],
    /// Pairs and ranks that are too large for one word.
    large: HashMap<(u32, u32), u32>,
    direct: Option<Box<[u32]>>,
}

impl Default for PairRanks {
    fn default() -> Self {
        let hasher = DefaultHashBuilder::default();
        PairRanks {
            slots: vec![EMPTY; 2],
            entries: 0,
            seeds: [hasher.hash_one(0), hasher.hash_one(1) | 1],
            large: HashMap::new(),
            direct: None,
        }
    }
}

/// Both ids in one number, if they fit.
#[inline(always)]
fn packed(left: u32, right: u32) -> Option<u64> {
    (left < MAX_ID && right < MAX_ID).then_some(pair(left, right))
}

#[inline(always)]
fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << ID_BITS | u64::from(right)
}

/// Left, right and rank of a slot.
#[inline(always)]
fn unpacked(slot: u64) -> (u32, u32, u32) {
    let id = |bits: u64| bits as u32 & ((1 << ID_BITS) - 1);
    let pair = slot >> RANK_BITS;
    let rank = slot as u32 & ((1 << RANK_BITS) - 1);
    (id(pair >> ID_BITS), id(pair), rank)
}

/// The rank of a slot, if it is that of the pair.
#[inline(always)]
fn rank(slot: u64, pair: u64) -> u32 {
    match slot >> RANK_BITS == pair {
        true => slot as u32 & ((1 << RANK_BITS) - 1),
        false => NO_RANK,
    }
}

impl PairRanks {
    pub fn reserve(&mut self, pairs: usize) {
        let wanted = (pairs * 2).next_power_of_two();
        if wanted > self.slots.len() {
            let old = std::mem::replace(&mut self.slots, vec![EMPTY; wanted]);
            for slot in old.into_iter().filter(|&slot| slot != EMPTY) {
                self.put(slot);
            }
        }
    }

    /// The start of the bucket of a pair.
    #[inline(always)]
    fn bucket(&self, pair: u64) -> usize {
        let mask = self.slots.len() - BUCKET;
        fold(pair ^ self.seeds[0], self.seeds[1]) as usize & mask
    }

    /// Puts in a pair that is not there.
    fn put(&mut self, slot: u64) {
        let mut at = self.bucket(slot >> RANK_BITS);
        // One slot in two is empty at least.
        loop {
            let (first, second) = (self.slots[at], self.slots[at + 1]);
            if second == EMPTY {
                (self.slots[at], self.slots[at + 1]) = (first.min(slot), first.max(slot));
                return;
            }
            (self.slots[at], self.slots[at + 1]) = (first.max(second), first.min(second));
            at = (at + BUCKET) & (self.slots.len() - 1);
        }
    }

    /// The rank of a pair that is in its bucket, or behind it.
    #[inline(always)]
    fn rank_in(&self, pair: u64, at: usize) -> u32 {
        // The index is in range, and the compiler can see it.
        let mask = self.slots.len() - 1;
        let (first, second) = (self.slots[at & mask], self.slots[(at | 1) & mask]);
        let found = rank(first, pair).min(rank(second, pair));
        if found == NO_RANK && first > second {
            return self.rank_behind(pair, at);
        }
        found
    }

    /// The same where others lie behind its bucket.
    #[cold]
    fn rank_behind(&self, pair: u64, mut at: usize) -> u32 {
        loop {
            at = (at + BUCKET) & (self.slots.len() - 1);
            let (first, second) = (self.slots[at], self.slots[at + 1]);
            let found = rank(first, pair).min(rank(second, pair));
            if found != NO_RANK || first <= second {
                return found;
            }
        }
    }

    /// Are there no pairs or ranks that are too large for one word?
    pub fn all_small(&self) -> bool {
        self.large.is_empty()
    }

    /// Where the rank of a pair is looked up; its cache line is prefetched. Neither id may be more
    /// than [`NO_SYMBOL`]. If not `both` are there, it is the slot of no pair.
    #[inline(always)]
    pub fn prefetch(&self, left: u32, right: u32, both: bool) -> PairSlot {
        // Of no pair the line is always cached. Without a branch, which would be mispredicted.
        let none = PairSlot::NOWHERE.pair;
        let pair = select_unpredictable(both, pair(left, right), none);
        let at = self.bucket(pair);
        prefetch(&self.slots[at & (self.slots.len() - 1)]);
        PairSlot {
            pair,
            at: at as u32,
        }
    }

    /// Prefetches the cache line of a pair that is going to be inserted.
    #[inline(always)]
    pub fn approach(&self, left: u32, right: u32) {
        if let Some(pair) = packed(left, right) {
            prefetch(&self.slots[self.bucket(pair)]);
        }
    }

    /// The rank of the pair whose slot [`Self::prefetch`] returned, if [`Self::all_small`].
    #[inline(always)]
    pub fn rank_at(&self, slot: PairSlot) -> u32 {
        self.rank_in(slot.pair, slot.at as usize)
    }

    /// The rank of a pair, or [`NO_RANK`].
    #[inline(always)]
    pub fn get(&self, left: u32, right: u32) -> u32 {
        if let Some(direct) = &self.direct {
            if (left as usize) < DIRECT && (right as usize) < DIRECT {
                return direct[left as usize * DIRECT + right as usize];
            }
        }
        self.find(left, right)
    }

    #[inline(always)]
    fn find(&self, left: u32, right: u32) -> u32 {
        if let Some(pair) = packed(left, right) {
            let found = self.rank_in(pair, self.bucket(pair));
            if found != NO_RANK || self.large.is_empty() {
                return found;
            }
        }
        self.find_large(left, right)
    }

    #[cold]
    fn find_large(&self, left: u32, right: u32) -> u32 {
        self.large.get(&(left, right)).copied().unwrap_or(NO_RANK)
    }

    /// The rank that the pair has already, or [`NO_RANK`] where it now has this one. Not
    /// after [`Self::finish`].
    pub fn insert(&mut self, left: u32, right: u32, rank: u32) -> u32 {
        let known = self.find(left, right);
        if known != NO_RANK {
            return known;
        }
        match packed(left, right) {
            Some(pair) if rank < 1 << RANK_BITS => {
                self.entries += 1;
                self.reserve(self.entries);
                self.put(pair << RANK_BITS | u64::from(rank));
            }
            _ => {
                self.large.insert((left, right), rank);
            }
        }
        NO_RANK
    }

    /// All pairs are in.
    pub fn finish(&mut self) {
        if self.entries < MIN_FOR_DIRECT {
            return;
        }
        let mut direct = vec![NO_RANK; DIRECT * DIRECT];
        // An empty slot has the largest ids of all: no jump depends on which slots are taken.
        for &slot in &self.slots {
            let (left, right, rank) = unpacked(slot);
            if left < DIRECT as u32 && right < DIRECT as u32 {
                direct[left as usize * DIRECT + right as usize] = rank;
            }
        }
        for (&(left, right), &rank) in &self.large {
            if left < DIRECT as u32 && right < DIRECT as u32 {
                direct[left as usize * DIRECT + right as usize] = rank;
            }
        }
        self.direct = Some(direct.into());
    }

    /// Left, right, rank, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let slots = self.slots.iter().filter(|&&slot| slot != EMPTY);
        let small = slots.map(|&slot| unpacked(slot));
        let large = self.large.iter();
        small.chain(large.map(|(&(left, right), &rank)| (left, right, rank)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_small_and_large_are_found_again() {
        let most = 1 << ID_BITS;
        let ids = [
            0,
            1,
            2,
            100,
            287,
            288,
            50_000,
            most - 2,
            most - 1,
            most,
            u32::MAX,
        ];
        let mut ranks = PairRanks::default();
        let mut expected = HashMap::new();
        for (number, &left) in (0..).zip(&ids) {
            for (other, &right) in (0..).zip(&ids) {
                // Every third pair has no rank; some ranks are too large for a word.
                let rank = (number * 16 + other) << (number * 2);
                if (number + other) % 3 > 0 {
                    assert_eq!(ranks.insert(left, right, rank), NO_RANK);
                    assert_eq!(ranks.insert(left, right, rank + 1), rank);
                    expected.insert((left, right), rank);
                }
            }
        }
        // Enough for the direct table.
        for number in 0..2000 {
            ranks.insert(300 + number, 7, number);
            expected.insert((300 + number, 7), number);
        }
        for finished in [false, true] {
            if finished {
                ranks.finish();
                assert!(ranks.direct.is_some());
            }
            for left in ids.into_iter().chain(300..320) {
                for right in ids.into_iter().chain([7]) {
                    let rank = expected.get(&(left, right)).copied();
                    assert_eq!(ranks.get(left, right), rank.unwrap_or(NO_RANK));
                }
            }
        }
        let all: HashMap<_, _> = ranks.iter().map(|(l, r, rank)| ((l, r), rank)).collect();
        assert_eq!(all, expected);
    }
}
