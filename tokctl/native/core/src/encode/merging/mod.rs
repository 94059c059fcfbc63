//! Segmentation by merges: lowest rank first, leftmost first.
//!
//! Short pre-tokens are scanned for the best pair. Longer ones keep a heap over a linked list, so
//! that no step is quadratic: a pre-token of n symbols takes O(n log n).

mod deferred;
mod long;
mod meeting;
mod short;
mod superwords;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use super::borders::Borders;
use super::segmenter::{check_length, Segment};
use super::Words;
use crate::error::{Error, Result};
use crate::memory;
use crate::model::{Alphabet, Merges, NO_ID, NO_RANK};
use crate::Interrupt;
pub(crate) use deferred::{DeferredMerges, StitchedIds};
pub(crate) use meeting::{Meeting, Meetings};
pub use superwords::Superwords;

/// Number of symbols up to which the scan beats the heap.
const SHORT: usize = 24;

/// Index that stands for no node.
const NONE: u32 = u32::MAX;

/// The rule for a pair that becomes mergeable only after its rank has passed.
///
/// The rule matters only if a merge makes a token that another merge, or the alphabet, also makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeOrder {
    /// The pair is merged at once: the usual rule of BPE encoders.
    ByRank,
    /// The pair stays: the merges are replayed in the order learned.
    Replay,
}

/// A merging model: alphabet, merges, and the treatment of unknown symbols.
pub struct Merging {
    pub alphabet: Alphabet,
    pub merges: Merges,
    pub order: MergeOrder,
    /// The token that replaces a symbol without an id; `None` leaves [`NO_ID`] in the output.
    pub unknown: Option<u32>,
    /// Whether symbols without an id are dropped before the merges, so that their neighbours may
    /// merge.
    ///
    /// The bytes of a dropped symbol are added to the symbol before it, or to the first symbol.
    pub drop_unknown: bool,
    /// Whether a run of unknown symbols becomes one token.
    pub fuse_unknown: bool,
    /// Ids of the tokens of the 256 bytes, which replace a symbol without an id; [`NO_ID`] for a
    /// byte without a token.
    pub byte_ids: Option<Box<[u32; 256]>>,
    /// Pre-tokens that stay one token, whatever the merges would make (`ignore_merges` of Hugging
    /// Face, the rule of tiktoken).
    pub whole: Option<Words>,
    /// Cut points inside words, if long pre-tokens can be segmented word by word (see
    /// [`super::can_cut`]).
    pub by_words: Option<Borders>,
    /// Merges across pre-tokens.
    pub superwords: Option<Box<Superwords>>,
    /// First id of the stand-ins for characters that have no token but occur in longer tokens.
    ///
    /// A stand-in that no merge consumes loses its id in the end.
    pub first_stand_in: Option<u32>,
}

/// Length in bytes: a longer pre-token is turned into symbols part by part.
const PART: usize = 1 << 16;

/// Fail if memory does not suffice to merge `symbols` symbols at once.
///
/// Each symbol takes a segment (two if some are unknown), a node, and entries in a growing queue.
fn check_memory(symbols: usize) -> Result<()> {
    memory::check(symbols.saturating_mul(64))
}

/// A symbol in a linked list.
///
/// A node that was merged into its left neighbour has [`NONE`] as `after`.
struct SymbolNode {
    id: u32,
    length: u32,
    before: u32,
    after: u32,
}

impl Merging {
    /// Make a model that merges by rank, with no unknown token and no exceptions.
    pub fn new(alphabet: Alphabet, merges: Merges) -> Self {
        Merging {
            alphabet,
            merges,
            order: MergeOrder::ByRank,
            unknown: None,
            drop_unknown: false,
            fuse_unknown: false,
            byte_ids: None,
            whole: None,
            by_words: None,
            superwords: None,
            first_stand_in: None,
        }
    }

    /// Append the segments of one pre-token.
    pub fn segment(
        &self,
        pre_token: &[u8],
        out: &mut Vec<Segment>,
        interrupt: Interrupt,
    ) -> Result<()> {
        if let Some(id) = self.whole.as_ref().and_then(|whole| whole.id(pre_token)) {
            let length = pre_token.len() as u32;
            out.push(Segment { id, length });
            return Ok(());
        }
        let first = out.len();
        let append = |tokens: &[Segment]| {
            memory::reserve(out, tokens.len())?;
            out.extend_from_slice(tokens);
            Ok(())
        };
        if self.in_windows(pre_token, PART, append, interrupt)? {
            return Ok(());
        }
        out.truncate(first);
        check_memory(pre_token.len())?;
        memory::reserve(out, pre_token.len())?;
        if let Some(stand_in) = self.first_stand_in {
            // Which symbols are unknown is known only after the merges.
            self.initial(pre_token, 0..pre_token.len(), Resolve::Nothing, out);
            self.merge_all(first, out, interrupt)?;
            without_stand_ins(stand_in, &mut out[first..]);
            self.resolve_unknown((pre_token, 0), self.unknown, out, first);
            return Ok(());
        }
        self.symbols(pre_token, 0..pre_token.len(), out);
        self.merge_all(first, out, interrupt)
    }

    /// Make all merges among the symbols from index `first` on.
    pub(super) fn merge_all(
        &self,
        first: usize,
        out: &mut Vec<Segment>,
        interrupt: Interrupt,
    ) -> Result<()> {
        match self.order {
            MergeOrder::ByRank if out.len() - first > SHORT => {
                long::merge(&self.merges, out, first, interrupt)
            }
            _ => self.merge(first, NO_RANK, out, |_, _, _| {}, interrupt),
        }
    }

    /// Append the ids of a long pre-token window by window.
    ///
    /// Returns false, and appends nothing, if the pre-token is short or the model does not allow
    /// windows.
    pub(crate) fn long_ids(
        &self,
        pre_token: &[u8],
        out: &mut Vec<u32>,
        interrupt: Interrupt,
    ) -> Result<bool> {
        let first = out.len();
        let append = |tokens: &[Segment]| {
            memory::reserve(out, tokens.len())?;
            out.extend(tokens.iter().map(|token| token.id));
            Ok(())
        };
        let done = self.in_windows(pre_token, PART, append, interrupt)?;
        if !done {
            out.truncate(first);
        }
        Ok(done)
    }

    /// Segment a pre-token of over `size` bytes window by window, so that its symbols are never all
    /// in memory.
    ///
    /// Gives `take` some segments at a time. Returns false if windows don't work for the pre-token;
    /// the segments that `take` got are then invalid.
    fn in_windows(
        &self,
        pre_token: &[u8],
        size: usize,
        mut take: impl FnMut(&[Segment]) -> Result<()>,
        interrupt: Interrupt,
    ) -> Result<bool> {
        let is_whole = |whole: &Words| whole.id(pre_token).is_some();
        if pre_token.len() <= size
            || self.order != MergeOrder::ByRank
            || self.first_stand_in.is_some()
            || self.whole.as_ref().is_some_and(is_whole)
        {
            return Ok(false);
        }
        if let Some((token, count)) = self.repeated(pre_token) {
            if long::merge_run(&self.merges, (token, count), &mut take, interrupt)? {
                return Ok(true);
            }
        }
        let mut at = 0;
        let symbols = |out: &mut Vec<Segment>| {
            let part = self.whole_part(pre_token, at, size);
            at = part.end;
            self.symbols(pre_token, part, out);
            at < pre_token.len()
        };
        long::merge_parts(&self.merges, symbols, take, interrupt)
    }

    /// Return the symbol that the whole pre-token repeats, and how often.
    fn repeated(&self, pre_token: &[u8]) -> Option<(Segment, usize)> {
        let mut first = None;
        let end = self.alphabet.symbols_of(pre_token, 0..1, |id, length| {
            first = Some(Segment { id, length });
        });
        let first = first.filter(|first| first.id != NO_ID && self.alphabet.is_unmarked())?;
        let repeats = pre_token.len().is_multiple_of(end)
            && pre_token[end..] == pre_token[..pre_token.len() - end];
        repeats.then(|| (first, pre_token.len() / end))
    }

    /// Return about `size` bytes from offset `from` on, ending before a symbol with an id.
    ///
    /// Runs of symbols without an id are thus not split: their treatment depends on the whole run.
    fn whole_part(&self, pre_token: &[u8], from: usize, mut size: usize) -> Range<usize> {
        let (mut to, mut known) = (from, false);
        loop {
            let part = to..pre_token.len().min(to + size);
            let is_known = |id, known: &mut bool| *known |= id != NO_ID;
            to = (self.alphabet).symbols_of(pre_token, part, |id, _| is_known(id, &mut known));
            if to == pre_token.len() {
                return from..to;
            }
            let mut known_next = false;
            (self.alphabet).symbols_of(pre_token, to..to + 1, |id, _| {
                is_known(id, &mut known_next);
            });
            if known && known_next {
                return from..to;
            }
            // Try again, one byte further.
            size = 1;
        }
    }

    /// Append the symbols of a part of a pre-token; unknown symbols are replaced or dropped as the
    /// model says.
    pub(super) fn symbols(&self, pre_token: &[u8], part: Range<usize>, out: &mut Vec<Segment>) {
        let first = out.len();
        self.initial(pre_token, part, Resolve::To(self.unknown), out);
        if self.drop_unknown {
            leave_out_unknown(out, first);
        }
    }

    /// Return the byte ranges of the symbols that are kept, or `None` if no symbol can be dropped.
    pub(crate) fn kept_symbols(&self, pre_token: &[u8]) -> Option<Vec<Range<usize>>> {
        let is_whole = |whole: &Words| whole.id(pre_token).is_some();
        if !self.drop_unknown || self.whole.as_ref().is_some_and(is_whole) {
            return None;
        }
        let mut symbols = Vec::new();
        self.initial(
            pre_token,
            0..pre_token.len(),
            Resolve::To(self.unknown),
            &mut symbols,
        );
        let mut end = 0;
        let ranges = symbols.iter().map(|symbol| {
            let start = end;
            end += symbol.length as usize;
            (symbol.id, start..end)
        });
        let kept = ranges.filter(|(id, _)| *id != NO_ID);
        Some(kept.map(|(_, range)| range).collect())
    }

    /// Merge symbols by rank, given only their ids.
    pub(crate) fn merge_ids(&self, ids: &mut Vec<u32>, interrupt: Interrupt) -> Result<()> {
        if self.merge_symbols(0, ids) {
            return Ok(());
        }
        let symbol = |id| Segment { id, length: 1 };
        let mut segments = ids.drain(..).map(symbol).collect();
        long::merge(&self.merges, &mut segments, 0, interrupt)?;
        ids.extend(segments.iter().map(|segment| segment.id));
        Ok(())
    }

    /// Return the segments after the first `steps` merges, and the ranks of the merges made, in
    /// order.
    ///
    /// Unknown symbols stay [`NO_ID`].
    pub fn replay(
        &self,
        pre_token: &[u8],
        steps: u32,
        interrupt: Interrupt,
    ) -> Result<(Vec<Segment>, Vec<u32>)> {
        let (mut segments, mut ranks) = (Vec::new(), Vec::new());
        check_memory(pre_token.len())?;
        let resolve = self.bytes_first();
        self.initial(pre_token, 0..pre_token.len(), resolve, &mut segments);
        self.merge(
            0,
            steps,
            &mut segments,
            |rank, _, _| ranks.push(rank),
            interrupt,
        )?;
        if let Some(stand_in) = self.first_stand_in {
            without_stand_ins(stand_in, &mut segments);
            if segments.iter().any(|symbol| symbol.id == NO_ID) {
                self.resolve_unknown((pre_token, 0), None, &mut segments, 0);
            }
        }
        Ok((segments, ranks))
    }

    /// Return the merges that are ever made, as (left, right, token) in rank order.
    ///
    /// A token's merge is the last one made when the token's own text is merged. Tokens that their
    /// own text does not become are not listed: no text becomes them by merging.
    ///
    /// Wherever a token is made, no earlier merge has crossed its ends. Each merge inside the token
    /// was the best available, so these are the merges that the token's text alone would see. The
    /// last of them is always of the same pair. If no two tokens share a rank, these merges alone
    /// do the work of all merges, or of all ranks.
    ///
    /// A side that is not a token stands for a character without a token.
    pub fn made(
        &self,
        tokens: &[(Vec<u8>, u32)],
        interrupt: Interrupt,
    ) -> Result<Vec<(u32, u32, u32)>> {
        let mut found: Vec<(u32, (u32, u32, u32))> = Vec::new();
        let mut parts = Vec::new();
        for (text, id) in tokens {
            parts.clear();
            check_length(text)?;
            let mut last = None;
            let done = |rank, left, right| last = Some((rank, (left, right, *id)));
            self.initial(text, 0..text.len(), self.bytes_first(), &mut parts);
            self.merge(0, NO_RANK, &mut parts, done, interrupt)?;
            if let ([whole], Some(merge)) = (&parts[..], last) {
                if whole.id == *id {
                    found.push(merge);
                }
            }
        }
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, merge)| merge).collect())
    }

    /// Return the treatment of symbols without an id before the merges, if no unknown token is
    /// wanted.
    fn bytes_first(&self) -> Resolve {
        match self.first_stand_in {
            Some(_) => Resolve::Nothing,
            None => Resolve::To(None),
        }
    }

    /// Append the initial symbols of a part of a pre-token.
    fn initial(
        &self,
        pre_token: &[u8],
        part: Range<usize>,
        resolve: Resolve,
        out: &mut Vec<Segment>,
    ) {
        let (first, start) = (out.len(), part.start);
        self.alphabet.symbols_of(pre_token, part, |id, length| {
            out.push(Segment { id, length });
        });
        let Resolve::To(unknown) = resolve else {
            return;
        };
        // Before the merges, because the tokens of bytes and the unknown token may merge.
        if (unknown.is_some() || self.byte_ids.is_some())
            && out[first..].iter().any(|symbol| symbol.id == NO_ID)
        {
            self.resolve_unknown((pre_token, start), unknown, out, first);
        }
    }

    /// Make the merges of rank below `limit` among the symbols from index `first` on.
    ///
    /// Calls `done(rank, left, right)` for each merge.
    fn merge(
        &self,
        first: usize,
        limit: u32,
        out: &mut Vec<Segment>,
        done: impl FnMut(u32, u32, u32),
        interrupt: Interrupt,
    ) -> Result<()> {
        let merges = &self.merges;
        match self.order {
            MergeOrder::ByRank => {
                let rank_after = |left, right, _| merges.rank(left, right);
                self.merge_lowest(first, limit, out, rank_after, done, interrupt)
            }
            MergeOrder::Replay => {
                let rank_after = |left, right, passed| merges.rank_after(left, right, passed);
                self.merge_lowest(first, limit, out, rank_after, done, interrupt)
            }
        }
    }

    /// Make the merge of the lowest rank, the leftmost of equal ones, until none is left.
    ///
    /// `rank_after(left, right, rank)` returns the rank of a pair that becomes adjacent by a merge
    /// of rank `rank`.
    fn merge_lowest(
        &self,
        first: usize,
        limit: u32,
        out: &mut Vec<Segment>,
        rank_after: impl Fn(u32, u32, u32) -> u32,
        done: impl FnMut(u32, u32, u32),
        interrupt: Interrupt,
    ) -> Result<()> {
        if out.len() - first <= SHORT {
            self.merge_by_scan(out, first, limit, rank_after, done);
            Ok(())
        } else {
            self.merge_by_heap(out, first, limit, rank_after, done, interrupt)
        }
    }

    /// Merge by repeated scans for the best pair.
    fn merge_by_scan(
        &self,
        out: &mut Vec<Segment>,
        first: usize,
        limit: u32,
        rank_after: impl Fn(u32, u32, u32) -> u32,
        mut done: impl FnMut(u32, u32, u32),
    ) {
        let mut all_ranks = [NO_RANK; SHORT];
        let mut pairs = (out.len() - first).saturating_sub(1);
        for (rank, two) in all_ranks.iter_mut().zip(out[first..].windows(2)) {
            *rank = self.merges.rank(two[0].id, two[1].id);
        }
        loop {
            let ranks = &mut all_ranks[..pairs];
            let best = ranks.iter().enumerate().min_by_key(|(_, &rank)| rank);
            let Some((at, &rank)) = best.filter(|(_, &rank)| rank < limit) else {
                return;
            };
            let left = first + at;
            let right = out.remove(left + 1);
            done(rank, out[left].id, right.id);
            out[left].id = self.merges.token(rank, out[left].id, right.id);
            out[left].length += right.length;
            ranks.copy_within(at + 1.., at);
            pairs -= 1;
            if at > 0 {
                ranks[at - 1] = rank_after(out[left - 1].id, out[left].id, rank);
            }
            if at < pairs {
                ranks[at] = rank_after(out[left].id, out[left + 1].id, rank);
            }
        }
    }

    /// Merge with a heap of candidates over a linked list.
    fn merge_by_heap(
        &self,
        out: &mut Vec<Segment>,
        first: usize,
        limit: u32,
        rank_after: impl Fn(u32, u32, u32) -> u32,
        mut done: impl FnMut(u32, u32, u32),
        interrupt: Interrupt,
    ) -> Result<()> {
        let check = || match interrupt() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        };
        check()?;
        let mut nodes = linked(out.drain(first..));
        check()?;
        let candidates: Vec<Reverse<(u32, u32)>> = (0u32..)
            .zip(nodes.windows(2))
            .map(|(at, two)| Reverse((self.merges.rank(two[0].id, two[1].id), at)))
            .filter(|Reverse((rank, _))| *rank < limit)
            .collect();
        check()?;
        let mut heap: BinaryHeap<_> = candidates.into();
        let mut steps = 0usize;
        while let Some(Reverse((rank, at))) = heap.pop() {
            steps += 1;
            if steps.is_multiple_of(1 << 16) && interrupt() {
                return Err(Error::Interrupted);
            }
            let node = &nodes[at as usize];
            if node.after == NONE {
                continue;
            }
            let right = &nodes[node.after as usize];
            // Skip an outdated entry: the pair is gone, and the pair now at this node has an entry
            // of its own. If a pair has several ranks, the next one counts.
            let present = match self.merges.rank(node.id, right.id) {
                passed if passed < rank => rank_after(node.id, right.id, rank - 1),
                present => present,
            };
            if present != rank {
                continue;
            }
            done(rank, node.id, right.id);
            let (before, gone, after) = (node.before, node.after, right.after);
            let length = right.length;
            let token = self.merges.token(rank, node.id, right.id);
            let node = &mut nodes[at as usize];
            node.id = token;
            node.length += length;
            node.after = after;
            nodes[gone as usize].after = NONE;
            if after != NONE {
                nodes[after as usize].before = at;
            }
            for (left, right) in [(before, at), (at, after)] {
                if left != NONE && right != NONE {
                    let (l, r) = (nodes[left as usize].id, nodes[right as usize].id);
                    let next = rank_after(l, r, rank);
                    if next < limit {
                        heap.push(Reverse((next, left)));
                    }
                }
            }
        }
        check()?;
        let mut at = 0;
        while at != NONE {
            let node = &nodes[at as usize];
            out.push(Segment {
                id: node.id,
                length: node.length,
            });
            at = node.after;
        }
        Ok(())
    }
}

/// How symbols without an id are treated before the merges.
#[derive(Debug, Clone, Copy)]
/// Leave the symbols without an id.
enum Resolve {
    Nothing,
    /// Replace a symbol by the tokens of its bytes, or else by this token.
    To(Option<u32>),
}

/// Set the ids of stand-ins that are left to [`NO_ID`].
fn without_stand_ins(first: u32, symbols: &mut [Segment]) {
    for symbol in symbols.iter_mut().filter(|symbol| symbol.id >= first) {
        symbol.id = NO_ID;
    }
}

/// Drop the symbols without an id from index `first` on, and add their bytes to a neighbour.
fn leave_out_unknown(out: &mut Vec<Segment>, first: usize) {
    let (mut kept, mut lost) = (first, 0);
    for at in first..out.len() {
        let symbol = out[at];
        if symbol.id != NO_ID {
            out[kept] = Segment {
                length: symbol.length + std::mem::take(&mut lost),
                ..symbol
            };
            kept += 1;
        } else if kept > first {
            out[kept - 1].length += symbol.length;
        } else {
            lost += symbol.length;
        }
    }
    out.truncate(kept);
}

/// Make linked nodes of a row of segments.
///
/// The row has fewer than 2^32 segments: [`super::Segmenter::segment`] checks the length.
fn linked(segments: impl ExactSizeIterator<Item = Segment>) -> Vec<SymbolNode> {
    let last = segments.len() as u32 - 1;
    (0u32..)
        .zip(segments)
        .map(|(at, segment)| SymbolNode {
            id: segment.id,
            length: segment.length,
            before: at.checked_sub(1).unwrap_or(NONE),
            after: if at == last { NONE } else { at + 1 },
        })
        .collect()
}

impl Merging {
    /// Replace the symbols without an id in `out[first..]` by byte tokens or the unknown token.
    ///
    /// `out[first..]` are the symbols of `pre_token` from byte `start` on.
    ///
    /// This follows Hugging Face's `models/bpe` exactly. A symbol whose bytes all have tokens
    /// becomes these tokens; otherwise the symbol is unknown. An unknown symbol is held back until
    /// the next symbol with an id of its own, or the next unknown symbol that it is not fused with.
    /// So if only some symbols fall back to bytes, an unknown symbol comes out after the byte
    /// tokens in between.
    fn resolve_unknown(
        &self,
        (pre_token, start): (&[u8], usize),
        unknown: Option<u32>,
        out: &mut Vec<Segment>,
        first: usize,
    ) {
        let symbols = out.split_off(first);
        let mut held: Option<Segment> = None;
        let mut at = start;
        for symbol in symbols {
            let end = at + symbol.length as usize;
            if symbol.id != NO_ID {
                out.extend(held.take());
                out.push(symbol);
            } else if !self.fall_back_to_bytes(pre_token, at..end, |id, length| {
                out.push(Segment { id, length });
            }) {
                match (&mut held, unknown) {
                    (Some(held), _) if self.fuse_unknown => held.length += symbol.length,
                    (_, Some(id)) => out.extend(held.replace(Segment { id, ..symbol })),
                    (_, None) => out.push(symbol),
                }
            }
            at = end;
        }
        out.extend(held);
    }

    /// Call `push(id, length)` with the tokens of the bytes of one symbol, and return whether all
    /// bytes have one.
    ///
    /// The bytes of a marker fused to the symbol have tokens too, of length 0.
    fn fall_back_to_bytes(
        &self,
        pre_token: &[u8],
        place: std::ops::Range<usize>,
        mut push: impl FnMut(u32, u32),
    ) -> bool {
        let Some(ids) = &self.byte_ids else {
            return false;
        };
        if place.is_empty() {
            return false;
        }
        let (before, after) = self.alphabet.fused(&place, pre_token.len());
        let parts = [(before, 0), (&pre_token[place], 1), (after, 0)];
        let symbols = parts.into_iter().flat_map(|(bytes, length)| {
            let id = |&byte: &u8| ids[usize::from(byte)];
            bytes.iter().map(move |byte| (id(byte), length))
        });
        let complete = symbols.clone().all(|(id, _)| id != NO_ID);
        if complete {
            symbols.for_each(|(id, length)| push(id, length));
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Marker;
    use crate::random::random_below;

    const MARKERS: [fn() -> Marker; 4] = [
        || Marker::None,
        || Marker::Continuation("#".into()),
        || Marker::EndFused("$".into()),
        || Marker::Start("^".into()),
    ];

    /// Make a model in which some letters have no id, some no byte token, and some occur in no
    /// merge.
    fn model(below: &mut impl FnMut(usize) -> usize, round: usize) -> Merging {
        let marker = MARKERS[round % 4]();
        let symbols = "ab#a#b#da$b$^\u{e9}".as_bytes();
        let symbols: [&[u8]; 8] = [
            &symbols[..1],
            &symbols[1..2],
            &symbols[2..4],
            &symbols[4..6],
            &symbols[8..10],
            &symbols[10..12],
            &symbols[12..13],
            &symbols[13..],
        ];
        let ids = symbols.into_iter().zip(0u32..);
        let merges: Vec<_> = (0..12u32)
            .map(|step| {
                let mut any = || below(8 + step as usize) as u32;
                (any(), any(), 8 + step)
            })
            .collect();
        let mut bytes = [NO_ID; 256];
        bytes[usize::from(b'c')] = 90;
        bytes[usize::from(b'#')] = 91;
        Merging {
            unknown: (!round.is_multiple_of(3)).then_some(99),
            drop_unknown: round.is_multiple_of(5),
            fuse_unknown: round.is_multiple_of(2),
            byte_ids: (round % 7 < 3).then(|| Box::new(bytes)),
            ..Merging::new(
                Alphabet::characters(&marker, ids),
                Merges::new(merges.into_iter()),
            )
        }
    }

    #[test]
    fn parts_leave_no_trace() {
        let mut below = random_below(31);
        let (mut done, mut all) = (0, 0);
        for round in 0..3000 {
            let merging = model(&mut below, round);
            let letters = ["a", "b", "c", "d", "\u{e9}", "\u{20ac}"];
            let kinds = 1 + below(letters.len());
            let text: String = (0..1 + below(200)).map(|_| letters[below(kinds)]).collect();
            let text = text.as_bytes();
            let mut expected = Vec::new();
            merging.symbols(text, 0..text.len(), &mut expected);
            let expected = tokens(&merging, expected);
            for size in [1, 2, 9, 40] {
                let mut out = Vec::new();
                let take = |tokens: &[Segment]| {
                    out.extend_from_slice(tokens);
                    Ok(())
                };
                let found = merging.in_windows(text, size, take, &|| false).unwrap();
                assert!(!found || out == expected, "{round} {size}");
                (done, all) = (done + u32::from(found), all + 1);
            }
        }
        assert!(done > all / 2, "{done} of {all}");
    }

    fn tokens(merging: &Merging, mut symbols: Vec<Segment>) -> Vec<Segment> {
        let rank_after = |left, right, _| merging.merges.rank(left, right);
        let done = |_, _, _| {};
        let all = (NO_RANK, &mut symbols);
        (merging.merge_lowest(0, all.0, all.1, rank_after, done, &|| false)).unwrap();
        symbols
    }
}
