//! Merging by rank for a pre-token of many symbols.
//!
//! Symbols are nodes of a linked list, each with the rank of the pair that begins there, and
//! the next merge comes out of a queue. The queue holds outdated entries as well: one counts
//! if its rank is that of its node.
//!
//! A heap takes O(log n) per merge and jumps about. Where the merges that a merge makes
//! possible all come later ([`Merges::come_later`]), whole ranks can be done at once, each from
//! the left to the right: a list per rank, and a set of bits to find the next one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::segmenter::Segment;
use super::Interrupt;
use crate::error::{Error, Result};
use crate::model::{Merges, NO_RANK};

const NONE: u32 = u32::MAX;

/// A list per rank pays where a pre-token has one symbol in so many ranks.
const RANKS_PER_SYMBOL: usize = 32;

/// Merges between two looks at the interrupt.
const LOOK_EVERY: usize = 1 << 16;

struct Node {
    id: u32,
    /// Of the pair that begins here; [`NO_RANK`] also where the symbol is gone.
    rank: u32,
    before: u32,
    after: u32,
}

/// The rank of a pair, kept for when the next one is the same: long pre-tokens repeat themselves.
struct Ranks<'m> {
    merges: &'m Merges,
    pair: (u32, u32),
    rank: u32,
}

impl<'m> Ranks<'m> {
    fn of(merges: &'m Merges) -> Self {
        Ranks {
            merges,
            pair: (NONE, NONE),
            rank: NO_RANK,
        }
    }

    #[inline(always)]
    fn rank(&mut self, left: u32, right: u32) -> u32 {
        if self.pair != (left, right) {
            self.pair = (left, right);
            self.rank = self.merges.rank(left, right);
        }
        self.rank
    }
}

struct Nodes<'m> {
    merges: &'m Merges,
    nodes: Vec<Node>,
    /// Of pairs with what stands before a merged symbol, and behind it.
    before: Ranks<'m>,
    after: Ranks<'m>,
}

/// A token, and how many symbols it was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub segment: Segment,
    pub symbols: u32,
}

/// Merges the symbols from the place `first` on.
pub(super) fn merge(
    merges: &Merges,
    out: &mut Vec<Segment>,
    first: usize,
    interrupt: Interrupt,
) -> Result<()> {
    let nodes = merged(merges, &out[first..], interrupt)?;
    let mut to = first;
    nodes.each(|id, symbols| {
        let length = out[first..][symbols].iter().map(|one| one.length).sum();
        out[to] = Segment { id, length };
        to += 1;
    });
    out.truncate(to);
    Ok(())
}

/// What merging makes of symbols.
pub(super) fn tokens(
    merges: &Merges,
    symbols: &[Segment],
    interrupt: Interrupt,
) -> Result<Vec<Token>> {
    let nodes = merged(merges, symbols, interrupt)?;
    let mut tokens = Vec::new();
    nodes.each(|id, range| {
        let count = range.len() as u32;
        let length = symbols[range].iter().map(|one| one.length).sum();
        tokens.push(Token {
            segment: Segment { id, length },
            symbols: count,
        });
    });
    Ok(tokens)
}

fn merged<'m>(merges: &'m Merges, symbols: &[Segment], interrupt: Interrupt) -> Result<Nodes<'m>> {
    let check = || match interrupt() {
        true => Err(Error::Interrupted),
        false => Ok(()),
    };
    check()?;
    let mut nodes = Nodes::of(merges, symbols);
    check()?;
    let pays = nodes.nodes.len() >= merges.len() / RANKS_PER_SYMBOL;
    match pays && merges.come_later() {
        true => nodes.merge_ranks(check)?,
        false => nodes.merge_heap(check)?,
    }
    check()?;
    Ok(nodes)
}

impl<'m> Nodes<'m> {
    /// There are fewer than 2^32: [`super::Segmenter::segment`] sees to that.
    fn of(merges: &'m Merges, symbols: &[Segment]) -> Self {
        let mut ranks = Ranks::of(merges);
        let mut nodes: Vec<Node> = (0u32..)
            .zip(symbols.windows(2))
            .map(|(at, two)| Node {
                id: two[0].id,
                rank: ranks.rank(two[0].id, two[1].id),
                before: at.wrapping_sub(1),
                after: at + 1,
            })
            .collect();
        nodes.extend(symbols.last().map(|last| Node {
            id: last.id,
            rank: NO_RANK,
            before: (symbols.len() as u32 - 1).wrapping_sub(1),
            after: NONE,
        }));
        Nodes {
            merges,
            nodes,
            before: Ranks::of(merges),
            after: Ranks::of(merges),
        }
    }

    /// Makes the merge at a place, if it is still of this rank, and calls `push(rank, place)`
    /// for the pairs that come of it.
    #[inline(always)]
    fn merge_at(&mut self, rank: u32, at: u32, mut push: impl FnMut(u32, u32)) {
        let node = &self.nodes[at as usize];
        if node.rank != rank {
            return;
        }
        let (before, left, gone) = (node.before, node.id, node.after);
        let right = &mut self.nodes[gone as usize];
        right.rank = NO_RANK;
        let (after, right) = (right.after, right.id);
        let id = self.merges.token(rank, left, right);
        let mut next = NO_RANK;
        if after != NONE {
            let node = &mut self.nodes[after as usize];
            node.before = at;
            next = self.after.rank(id, node.id);
        }
        let node = &mut self.nodes[at as usize];
        (node.id, node.rank, node.after) = (id, next, after);
        if before != NONE {
            let node = &mut self.nodes[before as usize];
            node.rank = self.before.rank(node.id, id);
            if node.rank != NO_RANK {
                push(node.rank, before);
            }
        }
        if next != NO_RANK {
            push(next, at);
        }
    }

    fn merge_heap(&mut self, check: impl Fn() -> Result<()>) -> Result<()> {
        let entry = |rank: u32, at: u32| Reverse(u64::from(rank) << 32 | u64::from(at));
        let candidates: Vec<_> = (0u32..)
            .zip(&self.nodes)
            .filter(|(_, node)| node.rank != NO_RANK)
            .map(|(at, node)| entry(node.rank, at))
            .collect();
        let mut heap: BinaryHeap<_> = candidates.into();
        let mut steps = 0usize;
        while let Some(Reverse(candidate)) = heap.pop() {
            steps += 1;
            if steps.is_multiple_of(LOOK_EVERY) {
                check()?;
            }
            let (rank, at) = ((candidate >> 32) as u32, candidate as u32);
            self.merge_at(rank, at, |rank, at| heap.push(entry(rank, at)));
        }
        Ok(())
    }

    /// Whole ranks at once.
    fn merge_ranks(&mut self, check: impl Fn() -> Result<()>) -> Result<()> {
        let mut queue = RankQueue::new(self.merges.len(), self.nodes.len());
        for (at, node) in self.nodes.iter().enumerate().rev() {
            if node.rank != NO_RANK {
                queue.push(node.rank, at as u32);
            }
        }
        let (mut places, mut steps) = (Vec::new(), 0);
        while let Some(rank) = queue.pop(&mut places) {
            if !places.is_sorted() {
                places.sort_unstable();
            }
            for &at in &places {
                steps += 1;
                if steps % LOOK_EVERY == 0 {
                    check()?;
                }
                self.merge_at(rank, at, |rank, at| queue.push(rank, at));
            }
        }
        Ok(())
    }

    /// Calls `token` with the id of each token and the range of its symbols.
    fn each(&self, mut token: impl FnMut(u32, Range<usize>)) {
        let mut at = 0;
        while let Some(node) = self.nodes.get(at) {
            let end = match node.after {
                NONE => self.nodes.len(),
                after => after as usize,
            };
            token(node.id, at..end);
            at = end;
        }
    }
}

/// A list of places per rank, and which of the lists are not empty.
struct RankQueue {
    /// By rank: its last entry.
    last: Vec<u32>,
    /// (place, the entry before)
    entries: Vec<(u32, u32)>,
    /// An entry that is free leads to another one.
    free: u32,
    /// A bit per rank, then a bit per word of these, and so on up to one word.
    levels: Vec<Vec<u64>>,
}

impl RankQueue {
    fn new(ranks: usize, places: usize) -> Self {
        let mut levels = Vec::new();
        let mut words = ranks;
        while words > 1 || levels.is_empty() {
            words = words.div_ceil(64).max(1);
            levels.push(vec![0; words]);
        }
        RankQueue {
            last: vec![NONE; ranks],
            entries: Vec::with_capacity(places),
            free: NONE,
            levels,
        }
    }

    #[inline(always)]
    fn push(&mut self, rank: u32, place: u32) {
        let last = &mut self.last[rank as usize];
        if *last == NONE {
            let mut number = rank as usize;
            for level in &mut self.levels {
                let word = &mut level[number / 64];
                let known = *word != 0;
                *word |= 1 << (number % 64);
                if known {
                    break;
                }
                number /= 64;
            }
        }
        let entry = (place, *last);
        match self.free {
            NONE => {
                *last = self.entries.len() as u32;
                self.entries.push(entry);
            }
            free => {
                *last = free;
                self.free = self.entries[free as usize].1;
                self.entries[free as usize] = entry;
            }
        }
    }

    /// The lowest rank, and its places.
    fn pop(&mut self, places: &mut Vec<u32>) -> Option<u32> {
        if self.levels.last()?[0] == 0 {
            return None;
        }
        let mut rank = 0;
        for level in self.levels.iter().rev() {
            rank = rank * 64 + level[rank].trailing_zeros() as usize;
        }
        let mut number = rank;
        for level in &mut self.levels {
            let word = &mut level[number / 64];
            *word &= !(1 << (number % 64));
            if *word != 0 {
                break;
            }
            number /= 64;
        }
        places.clear();
        let mut at = std::mem::replace(&mut self.last[rank], NONE);
        while at != NONE {
            let (place, before) = self.entries[at as usize];
            places.push(place);
            self.entries[at as usize].1 = self.free;
            self.free = at;
            at = before;
        }
        Some(rank as u32)
    }
}
