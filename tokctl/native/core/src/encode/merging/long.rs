//! Merging by rank for a pre-token of many symbols.
//!
//! Symbols are nodes of a linked list, each with the rank of the pair that begins at the node. The
//! next merge comes out of a queue. The queue may hold outdated entries: an entry counts only if
//! its rank equals the rank of its node.
//!
//! A heap takes O(log n) per merge and jumps about in memory. If the merges that a merge makes
//! possible all have higher ranks ([`Merges::come_later`]), all merges of one rank can be made at
//! once, from left to right. Then the queue is a list per rank, with a bit set to find the next
//! rank.
//!
//! A text that repeats one symbol becomes a few runs of repeated tokens, and these runs are merged
//! as a whole. Their number is about the number of bits of the symbol count.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::encode::Segment;
use crate::error::{Error, Result};
use crate::model::{Merges, NO_RANK};
use crate::Interrupt;

/// Index that stands for no node or entry.
const NONE: u32 = u32::MAX;

/// A list per rank pays if a pre-token has at least one symbol per this many ranks.
const RANKS_PER_SYMBOL: usize = 32;

/// Merges between two polls of the interrupt.
const POLL_EVERY: usize = 1 << 16;

/// A symbol in a linked list.
struct RankedNode {
    id: u32,
    /// Rank of the pair that begins at this node; also [`NO_RANK`] if the symbol was merged away.
    rank: u32,
    before: u32,
    after: u32,
}

/// The last pair looked up and its rank, for when the next pair is equal: long pre-tokens repeat
/// themselves.
struct LastRank<'m> {
    merges: &'m Merges,
    pair: (u32, u32),
    rank: u32,
}

impl<'m> LastRank<'m> {
    fn of(merges: &'m Merges) -> Self {
        LastRank {
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

/// The linked list of symbols.
struct Nodes<'m> {
    merges: &'m Merges,
    nodes: Vec<RankedNode>,
    /// Last rank of a pair of a merged symbol with the symbol before it.
    before: LastRank<'m>,
    /// Last rank of a pair of a merged symbol with the symbol after it.
    after: LastRank<'m>,
}

/// A token, and the number of symbols it was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MergedToken {
    pub segment: Segment,
    pub symbols: u32,
}

/// Merge the symbols from index `first` on, all at once.
fn merge_at_once(
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

/// Return the tokens that merging makes of `symbols`.
fn tokens(merges: &Merges, symbols: &[Segment], interrupt: Interrupt) -> Result<Vec<MergedToken>> {
    let nodes = merged(merges, symbols, interrupt)?;
    let mut tokens = Vec::new();
    nodes.each(|id, range| {
        let count = range.len() as u32;
        let length = symbols[range].iter().map(|one| one.length).sum();
        tokens.push(MergedToken {
            segment: Segment { id, length },
            symbols: count,
        });
    });
    Ok(tokens)
}

/// Merge `symbols` and return the list of nodes.
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
    /// Make the list of `symbols`, fewer than 2^32: [`crate::encode::Segmenter::segment`] checks
    /// the length.
    fn of(merges: &'m Merges, symbols: &[Segment]) -> Self {
        let mut ranks = LastRank::of(merges);
        let mut nodes: Vec<RankedNode> = (0u32..)
            .zip(symbols.windows(2))
            .map(|(at, two)| RankedNode {
                id: two[0].id,
                rank: ranks.rank(two[0].id, two[1].id),
                before: at.wrapping_sub(1),
                after: at + 1,
            })
            .collect();
        nodes.extend(symbols.last().map(|last| RankedNode {
            id: last.id,
            rank: NO_RANK,
            before: (symbols.len() as u32 - 1).wrapping_sub(1),
            after: NONE,
        }));
        Nodes {
            merges,
            nodes,
            before: LastRank::of(merges),
            after: LastRank::of(merges),
        }
    }

    /// Make the merge at node `at`, if the node's pair still has this rank.
    ///
    /// Calls `push(rank, node)` for the pairs that the merge creates.
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

    /// Merge with a heap of candidates.
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
            if steps.is_multiple_of(POLL_EVERY) {
                check()?;
            }
            let (rank, at) = ((candidate >> 32) as u32, candidate as u32);
            self.merge_at(rank, at, |rank, at| heap.push(entry(rank, at)));
        }
        Ok(())
    }

    /// Merge all pairs of one rank at once, rank by rank.
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
                if steps % POLL_EVERY == 0 {
                    check()?;
                }
                self.merge_at(rank, at, |rank, at| queue.push(rank, at));
            }
        }
        Ok(())
    }

    /// Call `token` with the id of each token and the range of its symbols.
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

/// A list of node indices per rank, and a bit set of the lists that are not empty.
struct RankQueue {
    /// By rank: index of the last entry of its list.
    last: Vec<u32>,
    /// (node, index of the entry before)
    entries: Vec<(u32, u32)>,
    /// Index of the first free entry; a free entry holds the index of the next one.
    free: u32,
    /// Bit sets: a bit per rank, then a bit per word of the level below, up to a level of one word.
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

    /// Remove the lowest rank and return it, with its nodes in `places`.
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

/// A run of `count` equal tokens.
#[derive(Clone, Copy)]
struct Run {
    token: Segment,
    count: usize,
}

/// Limit of the number of runs.
///
/// If tokens are made of two halves, one run never becomes more, whatever its length.
const RUNS: usize = 128;

/// Return the symbols as a run, if they are all equal.
fn repeated(symbols: &[Segment]) -> Option<Run> {
    let (&token, rest) = symbols.split_first()?;
    rest.iter().all(|symbol| *symbol == token).then_some(Run {
        token,
        count: symbols.len(),
    })
}

/// Return the runs that merging makes of a run, rank by rank.
///
/// Returns `None` if the merges of a rank can't be made all at once, or if the runs become too many
/// to pay.
fn merged_run(merges: &Merges, run: Run) -> Option<Vec<Run>> {
    if !merges.come_later() {
        return None;
    }
    let rank_of = |left: Segment, right: Segment| merges.rank(left.id, right.id);
    let mut runs = vec![run];
    while runs.len() <= RUNS {
        let inside = runs.iter().filter(|run| run.count > 1);
        let inside = inside.map(|run| rank_of(run.token, run.token));
        let between = runs
            .windows(2)
            .map(|two| rank_of(two[0].token, two[1].token));
        let rank = inside.chain(between).min().unwrap_or(NO_RANK);
        if rank == NO_RANK {
            return Some(runs);
        }
        let merged = |left: Segment, right: Segment| Segment {
            id: merges.token(rank, left.id, right.id),
            length: left.length + right.length,
        };
        let mut next = Vec::with_capacity(runs.len() + 2);
        for Run { token, mut count } in runs {
            if let Some(left) = next.pop_if(|left: &mut Run| rank_of(left.token, token) == rank) {
                append(&mut next, left.token, left.count - 1)?;
                append(&mut next, merged(left.token, token), 1)?;
                count -= 1;
            }
            if count > 1 && rank_of(token, token) == rank {
                append(&mut next, merged(token, token), count / 2)?;
                count %= 2;
            }
            append(&mut next, token, count)?;
        }
        runs = next;
    }
    None
}

/// Append a run, or extend the last one if it has the same token.
///
/// Returns `None` if the last run has the same id but another length: pairs of the two runs would
/// also have to be merged from the left.
fn append(runs: &mut Vec<Run>, token: Segment, count: usize) -> Option<()> {
    match runs.last_mut() {
        _ if count == 0 => {}
        Some(last) if last.token == token => last.count += count,
        Some(last) if last.token.id == token.id => return None,
        _ => runs.push(Run { token, count }),
    }
    Some(())
}

/// Symbols per window: their nodes and the queue fit the nearest cache.
const WINDOW: usize = 4096;

/// Tokens on each side of a border that are merged again, at most.
const BORDER: usize = 64;

/// Merge the symbols from index `first` on, window by window if there are very many.
///
/// The lowest rank comes first wherever it is, so merging all symbols at once jumps about in
/// memory. But distant symbols don't affect each other: **a row of tokens is the result of merging
/// its symbols if every two neighbours are the result of merging the symbols of the two.**
///
/// Proof: suppose that merging makes something else of the row. Look at the first merge that
/// crosses a border between two of its tokens. Before it, all merges were inside tokens. Inside
/// these two tokens, they were the merges that the two alone would see, in the same order: the
/// leftmost pair of the lowest rank of all is also the leftmost of the lowest rank among fewer. So
/// the two alone would see the crossing merge, too, and would not stay as they are.
///
/// Windows are therefore merged one after another. If the tokens at a border don't fit, the part
/// around it is merged again, twice as wide each time. If that does not soon succeed, as with one
/// letter repeated, all symbols are merged at once.
pub(crate) fn merge(
    merges: &Merges,
    out: &mut Vec<Segment>,
    first: usize,
    interrupt: Interrupt,
) -> Result<()> {
    if interrupt() {
        return Err(Error::Interrupted);
    }
    merge_windows(merges, out, first, (WINDOW, BORDER), interrupt)
}

fn merge_windows(
    merges: &Merges,
    out: &mut Vec<Segment>,
    first: usize,
    (window, around): (usize, usize),
    interrupt: Interrupt,
) -> Result<()> {
    if let Some(runs) = repeated(&out[first..]).and_then(|run| merged_run(merges, run)) {
        out.truncate(first);
        for run in runs {
            out.extend(std::iter::repeat_n(run.token, run.count));
        }
        return Ok(());
    }
    if out.len() - first < 2 * window {
        return merge_at_once(merges, out, first, interrupt);
    }
    let mut row = MergedRow::new(merges, interrupt);
    row.symbols = out.split_off(first);
    if row.merge((window, around))? {
        out.extend(row.tokens.iter().map(|token| token.segment));
        return Ok(());
    }
    out.append(&mut row.symbols);
    merge_at_once(merges, out, first, interrupt)
}

/// Like [`merge`], for symbols that come in parts: `next` appends some, and returns whether there
/// are more.
///
/// Gives `take` the tokens as soon as they are final. Returns false if windows don't work for these
/// symbols; the tokens that `take` got are then invalid.
pub(super) fn merge_parts(
    merges: &Merges,
    next: impl FnMut(&mut Vec<Segment>) -> bool,
    take: impl FnMut(&[Segment]) -> Result<()>,
    interrupt: Interrupt,
) -> Result<bool> {
    merge_parts_in(merges, next, take, (WINDOW, BORDER), interrupt)
}

fn merge_parts_in(
    merges: &Merges,
    mut next: impl FnMut(&mut Vec<Segment>) -> bool,
    mut take: impl FnMut(&[Segment]) -> Result<()>,
    how: (usize, usize),
    interrupt: Interrupt,
) -> Result<bool> {
    let mut row = MergedRow::new(merges, interrupt);
    let mut settled: Vec<Segment> = Vec::new();
    loop {
        if interrupt() {
            return Err(Error::Interrupted);
        }
        let more = next(&mut row.symbols);
        if !row.merge(how)? {
            return Ok(false);
        }
        // Tokens that may be merged again, and one more beside them.
        let kept = match more {
            true => row.tokens.len().min(how.1 + 1),
            false => 0,
        };
        let settle = row.tokens.len() - kept;
        settled.clear();
        settled.extend(row.tokens.drain(..settle).map(|token| token.segment));
        take(&settled)?;
        if !more {
            return Ok(true);
        }
        row.settled |= settle > 0;
        row.end = count(&row.tokens);
        row.symbols.drain(..row.symbols.len() - row.end);
    }
}

/// Give `take` the tokens that merging makes of `count` equal symbols.
///
/// Returns false, and gives nothing, if that can't be done by runs.
pub(super) fn merge_run(
    merges: &Merges,
    (token, count): (Segment, usize),
    mut take: impl FnMut(&[Segment]) -> Result<()>,
    interrupt: Interrupt,
) -> Result<bool> {
    let Some(runs) = merged_run(merges, Run { token, count }) else {
        return Ok(false);
    };
    for Run { token, mut count } in runs {
        let some = vec![token; count.min(WINDOW)];
        while count > 0 {
            if interrupt() {
                return Err(Error::Interrupted);
            }
            let taken = count.min(some.len());
            take(&some[..taken])?;
            count -= taken;
        }
    }
    Ok(true)
}

/// The tokens that merging makes of the symbols before `end`.
struct MergedRow<'r> {
    merges: &'r Merges,
    symbols: Vec<Segment>,
    tokens: Vec<MergedToken>,
    end: usize,
    /// Whether tokens before `tokens` were given away.
    settled: bool,
    interrupt: Interrupt<'r>,
}

impl<'r> MergedRow<'r> {
    fn new(merges: &'r Merges, interrupt: Interrupt<'r>) -> Self {
        MergedRow {
            merges,
            symbols: Vec::new(),
            tokens: Vec::new(),
            end: 0,
            settled: false,
            interrupt,
        }
    }

    /// Merge all available symbols, window by window.
    ///
    /// Returns false if the tokens at a border fit nowhere near it.
    fn merge(&mut self, (window, around): (usize, usize)) -> Result<bool> {
        while self.end < self.symbols.len() {
            let to = self.symbols.len().min(self.end + window);
            let next = self.merged(self.end, to)?;
            if !self.append(&next, around)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Return the tokens that merging makes of the symbols `from..to` alone.
    fn merged(&self, from: usize, to: usize) -> Result<Vec<MergedToken>> {
        match from < to {
            true => tokens(self.merges, &self.symbols[from..to], self.interrupt),
            false => Ok(Vec::new()),
        }
    }

    /// Return whether merging leaves two tokens as they are that meet at index `place` of the
    /// symbols.
    fn fit(
        &self,
        place: usize,
        left: Option<&MergedToken>,
        right: Option<&MergedToken>,
    ) -> Result<bool> {
        let (Some(left), Some(right)) = (left, right) else {
            return Ok(true);
        };
        let two = self.merged(place - count([left]), place + count([right]))?;
        Ok(two == [*left, *right])
    }

    /// Append the tokens of the next symbols.
    ///
    /// Returns false if they fit nowhere near the border.
    fn append(&mut self, next: &[MergedToken], most: usize) -> Result<bool> {
        let mut around = 0;
        while around <= most {
            let kept = self.tokens.len() - around.min(self.tokens.len());
            if kept == 0 && self.settled {
                return Ok(false);
            }
            let taken = around.min(next.len());
            let from = self.end - count(&self.tokens[kept..]);
            let to = self.end + count(&next[..taken]);
            let between = self.merged(from, to)?;
            let left = self.tokens[..kept].last();
            let right = next.get(taken);
            let fits = match (between.first(), between.last()) {
                (Some(first), Some(last)) => {
                    self.fit(from, left, Some(first))? && self.fit(to, Some(last), right)?
                }
                _ => self.fit(from, left, right)?,
            };
            if fits {
                self.end += count(next);
                self.tokens.truncate(kept);
                self.tokens.extend(between);
                self.tokens.extend(&next[taken..]);
                return Ok(true);
            }
            around = (2 * around).max(1);
        }
        Ok(false)
    }
}

/// Return the number of symbols of `tokens`.
fn count<'t>(tokens: impl IntoIterator<Item = &'t MergedToken>) -> usize {
    tokens.into_iter().map(|token| token.symbols as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random_below;

    /// Make random merges of earlier symbols: letters from 97 on, and tokens from 256 on.
    fn merges(below: &mut impl FnMut(u32) -> u32, letters: u32, some_exist: bool) -> Merges {
        let mut merges = Vec::new();
        for step in 0..below(40) {
            let mut symbol = || match below(letters + step) {
                letter if letter < letters => letter + 97,
                token => token - letters + 256,
            };
            let (left, right, known) = (symbol(), symbol(), symbol());
            let token = match some_exist && step % 5 == 4 {
                true => known,
                false => 256 + step,
            };
            merges.push((left, right, token));
        }
        Merges::new(merges.into_iter())
    }

    #[test]
    fn a_repeated_symbol_merges_as_any_other() {
        let mut numbers = random_below(12);
        let mut below = |most: u32| numbers(most as usize) as u32;
        let (mut many, mut refused) = (0, 0);
        for round in 0..3000 {
            let merges = merges(&mut below, 1, round % 3 == 0);
            let token = Segment {
                id: 97,
                length: 1 + below(3),
            };
            let mut out = vec![token; 1 + below(400) as usize];
            let run = repeated(&out).unwrap();
            assert_eq!(run.count, out.len());
            let Some(runs) = merged_run(&merges, run) else {
                refused += 1;
                continue;
            };
            many += u32::from(runs.len() > 2);
            let made = runs.iter();
            let made = made.flat_map(|run| std::iter::repeat_n(run.token, run.count));
            let made: Vec<_> = made.collect();
            merge_at_once(&merges, &mut out, 0, &|| false).unwrap();
            assert!(made == out, "{round}");
        }
        assert!(many > 100 && refused > 100, "{many} {refused}");
        let two = [97, 98].map(|id| Segment { id, length: 1 });
        assert!(repeated(&two).is_none() && repeated(&[]).is_none());
    }

    #[test]
    fn windows_leave_no_trace() {
        let mut numbers = random_below(11);
        let mut below = |most: u32| numbers(most as usize) as u32;
        let mut in_parts = 0;
        for round in 0..600 {
            let merges = merges(&mut below, 3, round % 2 == 0);
            let letters = 1 + round % 3;
            let length = 1 + below(300);
            let symbols: Vec<Segment> = (0..length)
                .map(|_| Segment {
                    id: 97 + below(letters),
                    length: 1 + below(3),
                })
                .collect();
            let mut expected = symbols.clone();
            merge_at_once(&merges, &mut expected, 1, &|| false).unwrap();
            for window in [1, 2, 7, 16, 64] {
                for around in [0, 1, 4, 64] {
                    let (mut out, how) = (symbols.clone(), (window, around));
                    merge_windows(&merges, &mut out, 1, how, &|| false).unwrap();
                    assert!(out == expected, "{round} {window} {around}");

                    let (mut parts, mut out) = (symbols[1..].chunks(50), vec![symbols[0]]);
                    let next = |symbols: &mut Vec<Segment>| {
                        symbols.extend(parts.next().unwrap_or_default());
                        parts.len() > 0
                    };
                    let take = |tokens: &[Segment]| {
                        out.extend(tokens);
                        Ok(())
                    };
                    let done = merge_parts_in(&merges, next, take, how, &|| false).unwrap();
                    assert!(!done || out == expected, "{round} {window} {around}");
                    in_parts += u32::from(done && symbols.len() > 150);
                }
            }
        }
        assert!(in_parts > 1000, "{in_parts}");
    }
}
