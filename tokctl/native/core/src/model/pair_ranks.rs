//! Hash table from a pair of symbols to its rank.

use std::hash::BuildHasher;
use std::hint::select_unpredictable;

use hashbrown::{DefaultHashBuilder, HashMap};

use super::NO_RANK;
use crate::packed::fold;
use crate::prefetch::prefetch;

/// Bits of an id and of a rank in a packed slot: enough for two million tokens.
const ID_BITS: u32 = 21;
const RANK_BITS: u32 = 22;

/// Value of an empty slot, which is the greatest value.
const EMPTY: u64 = u64::MAX;

/// Exclusive upper bound of ids that can be packed.
const MAX_ID: u32 = (1 << ID_BITS) - 2;

/// Id that stands for a missing neighbour: a pair with this id has no rank. (The next greater id is
/// not used, because a pair of it could look like an empty slot.)
pub(crate) const NO_SYMBOL: u32 = MAX_ID;

/// Number of slots in a bucket, which are probed together.
const BUCKET: usize = 2;

/// Exclusive upper bound of ids with a direct table. Most tokenizers have their bytes below this
/// id.
const DIRECT: usize = 288;

/// Minimum number of pairs for a direct table; smaller hash tables are fast enough.
const MIN_FOR_DIRECT: usize = 1000;

/// Location of a pair in the hash table: see [`PairRanks::prefetch`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairSlot {
    /// The packed pair, and its bucket.
    pair: u64,
    at: u32,
}

impl PairSlot {
    /// Location of a pair that is never in the table.
    pub const NOWHERE: PairSlot = PairSlot {
        pair: (MAX_ID as u64) << ID_BITS | MAX_ID as u64,
        at: 0,
    };
}

/// First rank of each pair.
///
/// Most looked-up pairs have no rank. So a pair and its rank share one 64-bit word, and probing one
/// bucket of two slots usually decides. No branch depends on which slot matches, or whether one
/// does.
#[derive(Debug, Clone)]
pub(super) struct PairRanks {
    /// Slots of an open-addressing table, in buckets that are filled from their start. Their number
    /// is a power of two. In a full bucket, the greater slot comes first if a pair of this bucket
    /// overflowed into a later one.
    slots: Vec<u64>,
    entries: usize,
    /// Random, so that no model can be crafted from colliding pairs.
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

/// Pack both ids into one number, if they fit.
#[inline(always)]
fn packed(left: u32, right: u32) -> Option<u64> {
    (left < MAX_ID && right < MAX_ID).then_some(pair(left, right))
}

#[inline(always)]
fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << ID_BITS | u64::from(right)
}

/// Return left id, right id and rank of a slot.
#[inline(always)]
fn unpacked(slot: u64) -> (u32, u32, u32) {
    let id = |bits: u64| bits as u32 & ((1 << ID_BITS) - 1);
    let pair = slot >> RANK_BITS;
    let rank = slot as u32 & ((1 << RANK_BITS) - 1);
    (id(pair >> ID_BITS), id(pair), rank)
}

/// Return the rank of a slot if the slot holds the pair, else [`NO_RANK`].
#[inline(always)]
fn rank(slot: u64, pair: u64) -> u32 {
    match slot >> RANK_BITS == pair {
        true => slot as u32 & ((1 << RANK_BITS) - 1),
        false => NO_RANK,
    }
}

impl PairRanks {
    /// Grow the table for `pairs` pairs, so that at least half of the slots stay empty.
    pub fn reserve(&mut self, pairs: usize) {
        let wanted = (pairs * 2).next_power_of_two();
        if wanted > self.slots.len() {
            let old = std::mem::replace(&mut self.slots, vec![EMPTY; wanted]);
            for slot in old.into_iter().filter(|&slot| slot != EMPTY) {
                self.put(slot);
            }
        }
    }

    /// Return the index of the first slot of a pair's bucket.
    #[inline(always)]
    fn bucket(&self, pair: u64) -> usize {
        let mask = self.slots.len() - BUCKET;
        fold(pair ^ self.seeds[0], self.seeds[1]) as usize & mask
    }

    /// Insert a slot whose pair is not in the table.
    fn put(&mut self, slot: u64) {
        let mut at = self.bucket(slot >> RANK_BITS);
        // Ends, because at least half of the slots are empty.
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

    /// Return the rank of a pair whose bucket starts at `at`, also if the pair overflowed the
    /// bucket.
    #[inline(always)]
    fn rank_in(&self, pair: u64, at: usize) -> u32 {
        // The index is in range, and with the mask the compiler can see it.
        let mask = self.slots.len() - 1;
        let (first, second) = (self.slots[at & mask], self.slots[(at | 1) & mask]);
        let found = rank(first, pair).min(rank(second, pair));
        if found == NO_RANK && first > second {
            return self.rank_behind(pair, at);
        }
        found
    }

    /// Return the rank of a pair that may have overflowed its bucket.
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

    /// Return whether all pairs and ranks fit one word.
    pub fn all_small(&self) -> bool {
        self.large.is_empty()
    }

    /// Return the location of a pair for [`Self::rank_at`], and prefetch its cache line.
    ///
    /// Neither id may exceed [`NO_SYMBOL`]. If `both` is false, return [`PairSlot::NOWHERE`].
    #[inline(always)]
    pub fn prefetch(&self, left: u32, right: u32, both: bool) -> PairSlot {
        // The line of no pair is always cached. A branch would be mispredicted.
        let none = PairSlot::NOWHERE.pair;
        let pair = select_unpredictable(both, pair(left, right), none);
        let at = self.bucket(pair);
        prefetch(&self.slots[at & (self.slots.len() - 1)]);
        PairSlot {
            pair,
            at: at as u32,
        }
    }

    /// Prefetch the cache line of a pair that will be inserted.
    #[inline(always)]
    pub fn approach(&self, left: u32, right: u32) {
        if let Some(pair) = packed(left, right) {
            prefetch(&self.slots[self.bucket(pair)]);
        }
    }

    /// Return the rank of the pair whose location [`Self::prefetch`] returned. Only valid if
    /// [`Self::all_small`].
    #[inline(always)]
    pub fn rank_at(&self, slot: PairSlot) -> u32 {
        self.rank_in(slot.pair, slot.at as usize)
    }

    /// Return the rank of a pair, or [`NO_RANK`].
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

    /// Insert a pair. Return its existing rank and change nothing if it has one, else [`NO_RANK`].
    ///
    /// Must not be called after [`Self::finish`].
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

    /// Build the direct table after all pairs were inserted.
    pub fn finish(&mut self) {
        if self.entries < MIN_FOR_DIRECT {
            return;
        }
        let mut direct = vec![NO_RANK; DIRECT * DIRECT];
        // The ids of an empty slot are above the limit, so that no branch tests for empty slots.
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

    /// Iterate over (left, right, rank), in no particular order.
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
        // Enough pairs for the direct table.
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
