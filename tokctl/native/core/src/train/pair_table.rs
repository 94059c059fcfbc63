//! From two symbols to their pair: open addressing with linear probing.
//!
//! An entry is a part of the hash and the pair's number, 8 bytes; the symbols stand with the
//! pair, which whoever asks is going to look at anyway.

use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use super::pairs::PairId;

/// No pair has this number.
const FREE: PairId = PairId::MAX;

const LEAST: usize = 64;

pub struct PairTable {
    /// (part of the hash, pair); a power of two of them.
    slots: Vec<(u32, PairId)>,
    used: usize,
    /// Its seed differs from table to table: no text is slow on purpose.
    hasher: DefaultHashBuilder,
}

impl Default for PairTable {
    fn default() -> Self {
        PairTable {
            slots: vec![(0, FREE); LEAST],
            used: 0,
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl PairTable {
    fn hash(&self, left: u32, right: u32) -> u32 {
        self.hasher
            .hash_one(u64::from(left) << 32 | u64::from(right)) as u32
    }

    /// The slot of a pair that `symbols` tells the symbols of, or the one where it belongs.
    #[inline]
    fn find(&self, left: u32, right: u32, symbols: impl Fn(PairId) -> (u32, u32)) -> (usize, u32) {
        let (hash, mask) = (self.hash(left, right), self.slots.len() - 1);
        let mut at = hash as usize & mask;
        loop {
            let (part, pair) = self.slots[at];
            if pair == FREE || (part == hash && symbols(pair) == (left, right)) {
                return (at, hash);
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    pub fn get(
        &self,
        left: u32,
        right: u32,
        symbols: impl Fn(PairId) -> (u32, u32),
    ) -> Option<PairId> {
        let pair = self.slots[self.find(left, right, symbols).0].1;
        (pair != FREE).then_some(pair)
    }

    /// The pair of two symbols; where there is none it is `new` from now on.
    #[inline]
    pub fn get_or_insert(
        &mut self,
        left: u32,
        right: u32,
        new: PairId,
        symbols: impl Fn(PairId) -> (u32, u32),
    ) -> PairId {
        let (at, hash) = self.find(left, right, symbols);
        let pair = self.slots[at].1;
        if pair != FREE {
            return pair;
        }
        self.slots[at] = (hash, new);
        self.used += 1;
        if self.used * 2 > self.slots.len() {
            self.grow();
        }
        new
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![(0, FREE); size]);
        for (hash, pair) in old.into_iter().filter(|&(_, pair)| pair != FREE) {
            let mut at = hash as usize & (size - 1);
            while self.slots[at].1 != FREE {
                at = (at + 1) & (size - 1);
            }
            self.slots[at] = (hash, pair);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_is_found_again() {
        let symbols = |pair: PairId| (pair / 50, pair % 50);
        let mut table = PairTable::default();
        for pair in 0..2500 {
            let (left, right) = symbols(pair);
            assert_eq!(table.get(left, right, symbols), None);
            assert_eq!(table.get_or_insert(left, right, pair, symbols), pair);
            assert_eq!(table.get_or_insert(left, right, 9999, symbols), pair);
        }
        for pair in 0..2500 {
            let (left, right) = symbols(pair);
            assert_eq!(table.get(left, right, symbols), Some(pair));
        }
    }
}
