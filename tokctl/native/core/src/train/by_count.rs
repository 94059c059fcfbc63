//! The highest count next: a heap whose entries are corrected when they surface.
//!
//! A pair's count only falls and its tie key only grows while nothing adds to it, so
//! an outdated entry stands too high, never too low. When a merge, or the splitting of a
//! removed token, adds to a pair, the pair is pushed again.
//!
//! Most pairs are rare and never get their turn. So the heap holds only those whose counts
//! begin with the same bits as the highest ones ([`level`]); the others wait in lists, one for
//! each level, until the heap is empty.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::corpus::Corpus;
use super::pairs::{PairId, Pairs};
use super::ties::TieKey;
use super::Selector;
use crate::model::Merge;

type QueueEntry = (u64, Reverse<TieKey>, PairId);

pub struct ByCount {
    heap: BinaryHeap<QueueEntry>,
    /// The least level of a count in the heap.
    level: usize,
    /// By level: pairs with smaller counts. One whose count has fallen since
    /// is moved to its list when the one where it stands has its turn.
    waiting: Vec<Vec<PairId>>,
}

/// Counts of one level have the same first bits.
const SAME: u32 = 5;

/// One more than the highest level.
const LEVELS: usize = ((u64::BITS - SAME) as usize + 2) << (SAME - 1);

/// The number of bits and the first of them: higher counts have the same level or a higher one, and
/// low counts one for each.
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

    /// Takes in the pair as things stand.
    fn push(&mut self, pair: PairId, pairs: &mut Pairs, corpus: &Corpus) {
        let count = pairs.count(pair);
        if level(count) < self.level {
            self.waiting[level(count)].push(pair);
        } else {
            let key = pairs.tie_key(pair, corpus);
            self.heap.push((count, Reverse(key), pair));
        }
    }

    /// Takes in pairs that are new, or have won occurrences.
    pub fn push_all(&mut self, gained: &[PairId], pairs: &mut Pairs, corpus: &Corpus) {
        for &pair in gained {
            self.push(pair, pairs, corpus);
        }
    }

    /// Fills the heap with the highest counts of those that wait. False: none is left.
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
            // The key is worked out only where another pair may tie.
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
