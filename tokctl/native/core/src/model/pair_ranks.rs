//! From a pair of symbols to its rank.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashMap};

use super::NO_RANK;

/// Bits of an id and of a rank that share a word: enough for two million tokens.
const ID_BITS: u32 = 21;
const RANK_BITS: u32 = 22;

const EMPTY: u64 = u64::MAX;

/// Pairs of ids below this, where most tokenizers have their bytes, are looked up directly.
const DIRECT: usize = 288;

/// A table that has fewer pairs than this is small enough as it is.
const WORTH_DIRECT: usize = 1000;

/// The first rank of each pair. Most look-ups are of pairs that have none, so a pair and its
/// rank share one word, and a look at one place mostly says it.
#[derive(Debug, Clone)]
pub(super) struct PairRanks {
    /// Open addressing; a power of two.
    slots: Vec<u64>,
    entries: usize,
    /// Nobody can prepare pairs that collide.
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

/// Both ids in one number, if they fit. (The largest that would is left out: it could look
/// like an empty slot.)
#[inline(always)]
fn packed(left: u32, right: u32) -> Option<u64> {
    let most = (1 << ID_BITS) - 1;
    (left < most && right < most).then_some(u64::from(left) << ID_BITS | u64::from(right))
}

impl PairRanks {
    pub fn reserve(&mut self, pairs: usize) {
        let wanted = (pairs * 2).next_power_of_two();
        if wanted > self.slots.len() {
            let old = std::mem::replace(&mut self.slots, vec![EMPTY; wanted]);
            for slot in old.into_iter().filter(|&slot| slot != EMPTY) {
                let at = self.place(slot >> RANK_BITS);
                self.slots[at] = slot;
            }
        }
    }

    /// The slot of a pair, or the one that it would have.
    #[inline(always)]
    fn place(&self, pair: u64) -> usize {
        let mask = self.slots.len() - 1;
        let product = u128::from(pair ^ self.seeds[0]) * u128::from(self.seeds[1]);
        let mut at = (product as u64 ^ (product >> 64) as u64) as usize & mask;
        // One slot in two is empty at least.
        while self.slots[at] != EMPTY && self.slots[at] >> RANK_BITS != pair {
            at = (at + 1) & mask;
        }
        at
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
            let slot = self.slots[self.place(pair)];
            if slot != EMPTY {
                return slot as u32 & ((1 << RANK_BITS) - 1);
            }
            if self.large.is_empty() {
                return NO_RANK;
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
                let at = self.place(pair);
                self.slots[at] = pair << RANK_BITS | u64::from(rank);
            }
            _ => {
                self.large.insert((left, right), rank);
            }
        }
        NO_RANK
    }

    /// All pairs are in.
    pub fn finish(&mut self) {
        if self.entries < WORTH_DIRECT {
            return;
        }
        let mut direct = vec![NO_RANK; DIRECT * DIRECT];
        for (left, right, rank) in self.iter() {
            let (left, right) = (left as usize, right as usize);
            if left < DIRECT && right < DIRECT {
                direct[left * DIRECT + right] = rank;
            }
        }
        self.direct = Some(direct.into());
    }

    /// Left, right, rank, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let id = |bits: u64| bits as u32 & ((1 << ID_BITS) - 1);
        let slots = self.slots.iter().filter(|&&slot| slot != EMPTY);
        let small = slots.map(move |&slot| {
            let pair = slot >> RANK_BITS;
            let rank = slot as u32 & ((1 << RANK_BITS) - 1);
            (id(pair >> ID_BITS), id(pair), rank)
        });
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
