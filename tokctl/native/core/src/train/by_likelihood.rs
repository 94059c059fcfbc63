//! Selector of the pair with the highest `count(ab) / (count(a) * count(b))`.
//!
//! A merge lowers the counts of its two symbols, which raises the score of every pair that contains
//! one of them: there can be thousands. Two levels keep the update cheap. Each pair is *owned* by
//! one of its symbols, the one with more neighbours when the pair first appears. An owner ranks its
//! pairs by `count(ab) / count(other)`, an order that does not depend on the owner's count. A
//! global heap ranks the owners by their best pair. When the count of a symbol falls, only two
//! things are pushed again: the symbol itself, and the pairs that contain the symbol but have
//! another owner. These pairs are few, because the symbol with more neighbours is the owner.
//!
//! On both levels an entry may be too high, in which case it is corrected when it surfaces, but
//! never too low. Whatever raises a score pushes a new entry, which invalidates older entries of
//! the pair or owner. Tie keys in entries are bounds, too: an exact key is computed only for the
//! best pair, and only if another pair may tie with it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::corpus::Corpus;
use super::pairs::{PairId, Pairs};
use super::ties::TieKey;
use super::Selector;
use crate::model::Merge;

/// The fraction `count / product`, compared exactly and never converted to a float.
#[derive(Debug, Clone, Copy)]
pub struct Fraction {
    pub count: u64,
    /// Product of two 64-bit counts, which always fits 128 bits. Not 0.
    pub product: u128,
}

impl Fraction {
    pub fn new(count: u64, left: u64, right: u64) -> Self {
        Fraction {
            count,
            product: u128::from(left) * u128::from(right),
        }
    }
}

/// Multiply a 64-bit by a 128-bit number; return (high 128 bits, low 64 bits).
fn wide_product(a: u64, b: u128) -> (u128, u64) {
    let low = u128::from(a) * u128::from(b as u64);
    let high = u128::from(a) * (b >> 64);
    (high + (low >> 64), low as u64)
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.product >> 64 == 0 && other.product >> 64 == 0 {
            let ours = u128::from(self.count) * other.product;
            let theirs = u128::from(other.count) * self.product;
            return ours.cmp(&theirs);
        }
        wide_product(self.count, other.product).cmp(&wide_product(other.count, self.product))
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Fraction {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Fraction {}

/// Heap entry of a pair in the heap of its owner.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
struct Owned {
    /// `count(ab) / count(other)`
    ratio: Fraction,
    key: Reverse<TieKey>,
    pair: PairId,
    version: u32,
}

/// Heap entry of an owner, ranked by the owner's best pair.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
struct RankedOwner {
    /// `count(ab) / (count(a) * count(b))`
    score: Fraction,
    key: Reverse<TieKey>,
    pair: PairId,
    owner: u32,
    version: u32,
}

#[derive(Clone, Copy, Default)]
struct PairState {
    owner: u32,
    other: u32,
    version: u32,
    known: bool,
}

#[derive(Default)]
struct SymbolState {
    owned: BinaryHeap<Owned>,
    /// Pairs that contain this symbol and have another owner.
    elsewhere: Vec<PairId>,
    /// Number of pairs that have contained this symbol so far.
    degree: u32,
    version: u32,
}

/// Selector by likelihood: see the module.
pub struct ByLikelihood {
    pairs: Vec<PairState>,
    symbols: Vec<SymbolState>,
    best: BinaryHeap<RankedOwner>,
}

impl ByLikelihood {
    pub fn new(pairs: &mut Pairs, corpus: &Corpus) -> Self {
        let mut selector = ByLikelihood {
            pairs: Vec::new(),
            symbols: Vec::new(),
            best: BinaryHeap::new(),
        };
        let all: Vec<PairId> = (0..pairs.len() as PairId).collect();
        for &pair in &all {
            let (left, right) = pairs.symbols(pair);
            selector.symbol(left).degree += 1;
            selector.symbol(right).degree += 1;
        }
        for &pair in &all {
            if pairs.is_candidate(pair) {
                selector.enter(pair, pairs, corpus);
            }
        }
        for owner in 0..selector.symbols.len() as u32 {
            selector.rank(owner, pairs, corpus);
        }
        selector
    }

    fn symbol(&mut self, symbol: u32) -> &mut SymbolState {
        let least = symbol as usize + 1;
        if self.symbols.len() < least {
            self.symbols.resize_with(least, SymbolState::default);
        }
        &mut self.symbols[symbol as usize]
    }

    /// Choose an owner for the pair if it has none, and push the pair's entry.
    fn enter(&mut self, pair: PairId, pairs: &mut Pairs, corpus: &Corpus) {
        let least = pair as usize + 1;
        if self.pairs.len() < least {
            self.pairs.resize(least, PairState::default());
        }
        if !self.pairs[pair as usize].known {
            let (left, right) = pairs.symbols(pair);
            let (owner, other) = if self.symbol(left).degree > self.symbol(right).degree {
                (left, right)
            } else {
                (right, left)
            };
            self.symbol(other).elsewhere.push(pair);
            let state = &mut self.pairs[pair as usize];
            // The version keeps counting, so that entries of an earlier owner stay invalid.
            (state.owner, state.other, state.known) = (owner, other, true);
        }
        // The first occurrence of a pair that gained may now come earlier in the scan.
        pairs.tie_key(pair, corpus);
        self.push(pair, pairs, corpus);
    }

    /// Push an entry with the pair's current values, which invalidates its earlier entries.
    fn push(&mut self, pair: PairId, pairs: &Pairs, corpus: &Corpus) {
        let state = &mut self.pairs[pair as usize];
        state.version += 1;
        let entry = Owned {
            ratio: Fraction::new(pairs.count(pair), corpus.symbol_count(state.other), 1),
            key: Reverse(pairs.tie_bound(pair)),
            pair,
            version: state.version,
        };
        self.symbols[state.owner as usize].owned.push(entry);
    }

    /// Return the owner's best pair of the current state, with a bound as its tie key. Outdated
    /// entries above it are corrected.
    fn top(&mut self, owner: u32, pairs: &Pairs, corpus: &Corpus) -> Option<Owned> {
        loop {
            let entry = *self.symbols[owner as usize].owned.peek()?;
            let state = self.pairs[entry.pair as usize];
            let void = entry.version != state.version || !pairs.is_candidate(entry.pair);
            if !void {
                let count = pairs.count(entry.pair);
                let ratio = Fraction::new(count, corpus.symbol_count(state.other), 1);
                if ratio == entry.ratio {
                    return Some(entry);
                }
            }
            self.symbols[owner as usize].owned.pop();
            if !void {
                self.push(entry.pair, pairs, corpus);
            }
        }
    }

    /// Return the owner's current entry for the global heap, or None if the owner has no pair left.
    fn best_of(&mut self, owner: u32, pairs: &Pairs, corpus: &Corpus) -> Option<RankedOwner> {
        let top = self.top(owner, pairs, corpus)?;
        let other = self.pairs[top.pair as usize].other;
        Some(RankedOwner {
            score: Fraction::new(
                pairs.count(top.pair),
                corpus.symbol_count(owner),
                corpus.symbol_count(other),
            ),
            key: top.key,
            pair: top.pair,
            owner,
            version: self.symbols[owner as usize].version,
        })
    }

    /// Push the owner's current entry to the global heap, which invalidates its earlier entries.
    fn rank(&mut self, owner: u32, pairs: &Pairs, corpus: &Corpus) {
        self.symbols[owner as usize].version += 1;
        if let Some(best) = self.best_of(owner, pairs, corpus) {
            self.best.push(best);
        }
    }

    /// Return whether another pair may have the score of `best`, which is no longer in the global
    /// heap.
    fn may_tie(&self, best: &RankedOwner) -> bool {
        let of_another_owner = self
            .best
            .peek()
            .is_some_and(|next| next.score == best.score);
        let owned = self.symbols[best.owner as usize].owned.as_slice();
        // The second best entry of a binary heap is one of the two children of its top.
        of_another_owner
            || owned
                .iter()
                .skip(1)
                .take(2)
                .any(|next| next.ratio == owned[0].ratio)
    }
}

impl Selector for ByLikelihood {
    fn next(&mut self, pairs: &mut Pairs, corpus: &Corpus) -> Option<PairId> {
        while let Some(entry) = self.best.pop() {
            if entry.version != self.symbols[entry.owner as usize].version {
                continue;
            }
            let Some(best) = self.best_of(entry.owner, pairs, corpus) else {
                continue;
            };
            if best != entry {
                self.best.push(best);
                continue;
            }
            if !self.may_tie(&best) || pairs.tie_key(best.pair, corpus) == best.key.0 {
                return Some(best.pair);
            }
            // The key has grown, so the entry is too high on both levels.
            self.push(best.pair, pairs, corpus);
            self.rank(best.owner, pairs, corpus);
        }
        None
    }

    fn refused(&mut self, pair: PairId, pairs: &Pairs, corpus: &Corpus) {
        self.rank(self.pairs[pair as usize].owner, pairs, corpus);
    }

    fn merged(&mut self, merge: &Merge, gained: &[PairId], pairs: &mut Pairs, corpus: &Corpus) {
        let mut owners = vec![merge.left, merge.right];
        self.symbol(merge.token);
        for &pair in gained {
            let (left, right) = pairs.symbols(pair);
            self.symbol(left).degree += 1;
            self.symbol(right).degree += 1;
            self.enter(pair, pairs, corpus);
            owners.push(self.pairs[pair as usize].owner);
        }
        for symbol in [merge.left, merge.right] {
            let mut elsewhere = std::mem::take(&mut self.symbol(symbol).elsewhere);
            elsewhere.retain(|&pair| {
                let alive = pairs.is_candidate(pair);
                // A pair that is dropped now can only come back in `gained`.
                self.pairs[pair as usize].known = alive;
                alive
            });
            for &pair in &elsewhere {
                self.push(pair, pairs, corpus);
                owners.push(self.pairs[pair as usize].owner);
            }
            self.symbol(symbol).elsewhere = elsewhere;
        }
        owners.sort_unstable();
        owners.dedup();
        for owner in owners {
            self.rank(owner, pairs, corpus);
        }
    }
}

#[cfg(test)]
mod fraction_tests {
    use super::*;

    #[test]
    fn compares_beyond_128_bits() {
        let max = u64::MAX;
        assert!(Fraction::new(max, max, max) < Fraction::new(max, max, max - 1));
        assert!(Fraction::new(max - 1, max, max) < Fraction::new(max, max, max));
        assert_eq!(Fraction::new(2, max, 2), Fraction::new(1, max, 1));
        assert_eq!(Fraction::new(3, 6, 5), Fraction::new(1, 2, 5));
        // The two fractions are equal as floats.
        let near = 1 << 62;
        assert!(Fraction::new(near + 1, near, 3) > Fraction::new(near, near, 3));
        assert!(Fraction::new(1, 10, 10) > Fraction::new(1, max, max));
    }
}
