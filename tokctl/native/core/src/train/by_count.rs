//! The highest count next: a heap whose entries are corrected when they surface.
//!
//! A pair's count only falls and its tie key only grows while no merge adds to it, so
//! an outdated entry stands too high, never too low. When a merge adds to a pair, the
//! pair is pushed again.
//!
//! Most pairs are rare and never get their turn. So the heap holds only those whose counts
//! have as many bits as the highest ones; the others wait in lists, one for each number of
//! bits, until the heap is empty.

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
    /// Counts in the heap have at least so many bits.
    bits: usize,
    /// By the number of bits: pairs with smaller counts. One whose count has fallen since
    /// is moved to its list when the one where it stands has its turn.
    waiting: Vec<Vec<PairId>>,
}

fn bits(count: u64) -> usize {
    (u64::BITS - count.leading_zeros()) as usize
}

impl ByCount {
    pub fn new(pairs: &mut Pairs, corpus: &Corpus) -> Self {
        let most = u64::BITS as usize + 1;
        let mut selector = ByCount {
            heap: BinaryHeap::new(),
            bits: most,
            waiting: vec![Vec::new(); most],
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
        if bits(count) < self.bits {
            self.waiting[bits(count)].push(pair);
        } else {
            let key = pairs.tie_key(pair, corpus);
            self.heap.push((count, Reverse(key), pair));
        }
    }

    /// Fills the heap with the highest counts of those that wait. False: none is left.
    fn descend(&mut self, pairs: &mut Pairs, corpus: &Corpus) -> bool {
        while self.heap.is_empty() {
            let Some(bits) = self.bits.checked_sub(1) else {
                return false;
            };
            self.bits = bits;
            for pair in std::mem::take(&mut self.waiting[bits]) {
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
                match bits(now) < self.bits {
                    true => self.waiting[bits(now)].push(pair),
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
        for &pair in gained {
            self.push(pair, pairs, corpus);
        }
    }
}
