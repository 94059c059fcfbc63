//! The highest count next: a heap whose entries are corrected when they surface.
//!
//! A pair's count only falls and its tie key only grows while no merge adds to it, so
//! an outdated entry stands too high, never too low. When a merge adds to a pair, the
//! pair is pushed again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::corpus::Corpus;
use super::pairs::{PairId, Pairs};
use super::ties::TieKey;
use super::Selector;
use crate::model::Merge;

type Entry = (u64, Reverse<TieKey>, PairId);

pub struct ByCount {
    heap: BinaryHeap<Entry>,
}

/// The pair's entry as things stand.
fn entry(pair: PairId, pairs: &mut Pairs, corpus: &Corpus) -> Entry {
    let key = pairs.tie_key(pair, corpus);
    (pairs.count(pair), Reverse(key), pair)
}

impl ByCount {
    pub fn new(pairs: &mut Pairs, corpus: &Corpus) -> Self {
        let candidates: Vec<PairId> = (0..pairs.len() as PairId)
            .filter(|&pair| pairs.is_candidate(pair))
            .collect();
        let entries: Vec<Entry> = candidates
            .into_iter()
            .map(|pair| entry(pair, pairs, corpus))
            .collect();
        ByCount {
            heap: entries.into(),
        }
    }
}

impl Selector for ByCount {
    fn next(&mut self, pairs: &mut Pairs, corpus: &Corpus) -> Option<PairId> {
        while let Some(old @ (count, _, pair)) = self.heap.pop() {
            if !pairs.is_candidate(pair) {
                continue;
            }
            if pairs.count(pair) < count {
                let key = Reverse(pairs.tie_bound(pair));
                self.heap.push((pairs.count(pair), key, pair));
                continue;
            }
            // The key is worked out only where another pair may tie.
            let alone = self.heap.peek().is_none_or(|next| next.0 < count);
            if alone {
                return Some(pair);
            }
            let new = entry(pair, pairs, corpus);
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
            self.heap.push(entry(pair, pairs, corpus));
        }
    }
}
