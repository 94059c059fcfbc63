//! Selector of the pair with the highest count: a heap whose entries are corrected when they
//! surface.
//!
//! While a pair gains no occurrence, its count only falls and its tie key only grows. An outdated
//! entry is thus too high in the heap, never too low. When a merge, or the splitting of a removed
//! token, adds occurrences to a pair, the pair is pushed again.
//!
//! Most pairs are rare and are never merged. So the heap holds only the pairs whose counts are in
//! the highest levels ([`level`]). The other pairs wait in lists, one per level, until the heap is
//! empty.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::corpus::Corpus;
use super::pairs::{PairId, Pairs};
use super::ties::TieKey;
use super::Selector;
use crate::model::Merge;

type QueueEntry = (u64, Reverse<TieKey>, PairId);

/// Selector by count: see the module.
pub struct ByCount {
    heap: BinaryHeap<QueueEntry>,
    /// Lowest level whose pairs are in the heap.
    level: usize,
    /// Pairs with smaller counts, by level. A pair whose count has fallen since is moved to the
    /// list of its new level when its old list is emptied.
    waiting: Vec<Vec<PairId>>,
}

/// Number of leading bits that the counts of one level share.
const SAME: u32 = 5;

/// Number of levels.
const LEVELS: usize = ((u64::BITS - SAME) as usize + 2) << (SAME - 1);

/// Return the level of a count: the count's bit length and its leading [`SAME`] bits as one number.
/// The level never falls as the count grows, and each count below 32 has a level of its own.
fn level(count: u64) -> usize {
    let dropped = (u64::BITS - SAME).saturating_sub(count.leading_zeros());
    ((dropped as usize) << (SAME - 1)) + (count >> dropped) as usize
}

impl ByCount {
    pub fn new(pairs: &mut Pairs, corpus: &Corpus) -> Self {
        let mut selector = ByCount {
            heap: BinaryHeap::new(),
            level: LEVELS,
            waiting: vec![Vec::new(); LEVELS],
        };
        for pair in 0..pairs.len() as PairId {
            if pairs.is_candidate(pair) {
                selector.push(pair, pairs, corpus);
            }
        }
        selector
    }

    /// Insert the pair with its current count and tie key.
    fn push(&mut self, pair: PairId, pairs: &mut Pairs, corpus: &Corpus) {
        let count = pairs.count(pair);
        if level(count) < self.level {
            self.waiting[level(count)].push(pair);
        } else {
            let key = pairs.tie_key(pair, corpus);
            self.heap.push((count, Reverse(key), pair));
        }
    }

    /// Insert pairs that are new or won occurrences.
    pub fn push_all(&mut self, gained: &[PairId], pairs: &mut Pairs, corpus: &Corpus) {
        for &pair in gained {
            self.push(pair, pairs, corpus);
        }
    }

    /// Fill the empty heap from the highest level that has pairs. Return false if no pair is left.
    fn descend(&mut self, pairs: &mut Pairs, corpus: &Corpus) -> bool {
        while self.heap.is_empty() {
            let Some(level) = self.level.checked_sub(1) else {
                return false;
            };
            self.level = level;
            for pair in std::mem::take(&mut self.waiting[level]) {
                if pairs.is_candidate(pair) {
                    self.push(pair, pairs, corpus);
                }
            }
        }
        true
    }
}

impl Selector for ByCount {
    fn next(&mut self, pairs: &mut Pairs, corpus: &Corpus) -> Option<PairId> {
        while self.descend(pairs, corpus) {
            let old @ (count, _, pair) = self.heap.pop()?;
            if !pairs.is_candidate(pair) {
                continue;
            }
            let now = pairs.count(pair);
            if now < count {
                match level(now) < self.level {
                    true => self.waiting[level(now)].push(pair),
                    false => self.heap.push((now, Reverse(pairs.tie_bound(pair)), pair)),
                }
                continue;
            }
            // The exact key is computed only if another pair may tie.
            let alone = self.heap.peek().is_none_or(|next| next.0 < count);
            if alone {
                return Some(pair);
            }
            let new = (now, Reverse(pairs.tie_key(pair, corpus)), pair);
            if new == old {
                return Some(pair);
            }
            self.heap.push(new);
        }
        None
    }

    fn refused(&mut self, _: PairId, _: &Pairs, _: &Corpus) {}

    fn merged(&mut self, _: &Merge, gained: &[PairId], pairs: &mut Pairs, corpus: &Corpus) {
        self.push_all(gained, pairs, corpus);
    }
}

#[cfg(test)]
mod level_tests {
    use super::*;

    #[test]
    fn levels_ascend_without_a_gap() {
        let mut last = 0;
        for count in 0..100_000 {
            assert!((last..=last + 1).contains(&level(count)), "{count}");
            assert!(count >= 32 || level(count) == count as usize);
            last = level(count);
        }
        for bits in 1..u64::BITS {
            assert_eq!(level(1 << bits), level((1 << bits) - 1) + 1);
        }
        assert_eq!(level(u64::MAX) + 1, LEVELS);
    }
}
