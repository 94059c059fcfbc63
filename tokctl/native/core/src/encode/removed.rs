//! Segmentation by models from which tokens were removed, in training or after it.
//!
//! [`EventReplay`] makes merges and removals in the order in which the training of PickyBPE, or of
//! BoundlessBPE with a threshold, made them. [`Demolition`] makes the merges of Scaffold-BPE, then
//! splits each token without an id; for LiteToken's residues, it then merges again. Both number
//! tokens by id, and removed tokens from the number of ids on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::{HashMap, HashSet};

use super::segmenter::Segment;
use super::{Merging, Superwords};
use crate::error::{Error, Result};
use crate::memory;
use crate::model::{Alphabet, Merges, NO_RANK};
use crate::Interrupt;
use std::ops::Range;

/// The merges and removals of a training.
#[derive(Debug, Clone, Default)]
pub struct RemovalEvents {
    /// Number of tokens that have an id.
    pub size: u32,
    /// Number of removed tokens, which have no id any more.
    pub removed: u32,
    /// (left, right, token), in the order learned.
    pub merges: Vec<(u32, u32, u32)>,
    /// (number of merges before the removal, token), in order.
    pub removals: Vec<(u32, u32)>,
}

impl RemovalEvents {
    /// Return the number of initial symbols of each merged token.
    ///
    /// Fails if an event names an unknown token.
    fn widths(&self) -> Result<HashMap<u32, u32>> {
        let end = u64::from(self.size) + u64::from(self.removed);
        let known = |id: u32| u64::from(id) < end;
        let steps = 1..=self.merges.len() as u32;
        let is_whole = |&(step, token): &(u32, u32)| steps.contains(&step) && known(token);
        if !self.removals.iter().all(is_whole) {
            return Err(invalid("a removal names no token, or no merge"));
        }
        let made: HashSet<u32> = self.merges.iter().map(|merge| merge.2).collect();
        let mut widths: HashMap<u32, u32> = HashMap::with_capacity(made.len());
        for &(left, right, token) in &self.merges {
            // A token that is merged later is not an initial symbol: no token is part of itself.
            let width = |id| match widths.get(&id) {
                Some(&width) => Ok(width),
                None if known(id) && !made.contains(&id) => Ok(1),
                None => Err(invalid("a merge names an unknown token")),
            };
            let (left, right) = (width(left)?, width(right)?);
            let joined = left.checked_add(right).filter(|_| known(token));
            let joined = joined.ok_or_else(|| invalid("a merge makes no token"))?;
            if *widths.entry(token).or_insert(joined) != joined {
                return Err(invalid("a token is merged in two lengths"));
            }
        }
        Ok(widths)
    }
}

fn invalid(message: &str) -> Error {
    Error::Invalid(message.into())
}

// -- PickyBPE and BoundlessBPE ------------------------------------------------------------

/// Replays merges and removals in the order of the training.
///
/// An event has a time: twice the rank for a merge, and one more for the removals after the merge.
/// A symbol takes as many slots as it has initial symbols, as in training, so that a removed token
/// can be split in place. Slots wait in a queue for the time of their next event. A pre-token of n
/// symbols takes O(n log n) for each time that its tokens are made and removed again.
pub struct EventReplay {
    /// Gives the initial symbols and the whole words.
    ///
    /// Its merges are the merges of the events.
    merging: Merging,
    merges: Vec<(u32, u32, u32)>,
    /// Whether a removed token splits into its initial symbols (BoundlessBPE), not into its two
    /// sides.
    to_symbols: bool,
    /// When each token that is ever removed is made and removed.
    histories: HashMap<u32, TokenPast>,
    /// Number of initial symbols of each merged token.
    widths: HashMap<u32, u32>,
}

/// When a token is made and removed.
#[derive(Default)]
struct TokenPast {
    /// The pair that it was first merged from.
    sides: (u32, u32),
    /// Times in ascending order: even times are merges, odd times are removals.
    times: Vec<u32>,
}

impl TokenPast {
    /// Return the time of the first removal at `time` or later.
    fn removal_from(&self, time: u32) -> Option<u32> {
        let from = self.times.partition_point(|&other| other < time);
        self.times[from..]
            .iter()
            .copied()
            .find(|time| time % 2 == 1)
    }

    fn is_present(&self, time: u32) -> bool {
        let behind = self.times.partition_point(|&other| other <= time);
        behind > 0 && self.times[behind - 1].is_multiple_of(2)
    }
}

/// Id of a slot that is inside a symbol, not at its start.
const INSIDE: u32 = u32::MAX - 1;

/// A slot of a symbol: one of its initial symbols.
#[derive(Clone, Copy)]
struct SymbolSlot {
    id: u32,
    /// The initial symbol at this slot.
    initial: u32,
    /// Number of slots of the symbol that begins here.
    width: u32,
    /// The first slot of the previous symbol.
    before: u32,
    /// Length of the initial symbol in bytes.
    length: u32,
}

/// Slots where events are due, in order of time, then from left to right.
///
/// A new event is never earlier than the event taken last.
enum EventQueue {
    Heap(BinaryHeap<Reverse<(u32, u32)>>),
    /// Slots by time.
    ///
    /// The list of the current time is sorted, and `taken` entries of it are done.
    Lists {
        slots: Vec<Vec<u32>>,
        time: usize,
        taken: usize,
    },
}

/// Number of symbols from which a list per time costs less than a heap.
const LONG: usize = 1 << 12;

impl EventQueue {
    fn new(symbols: usize, times: usize) -> Self {
        if symbols < LONG {
            return EventQueue::Heap(BinaryHeap::with_capacity(symbols));
        }
        EventQueue::Lists {
            slots: vec![Vec::new(); times],
            time: 0,
            taken: 0,
        }
    }

    fn push(&mut self, time: u32, slot: u32) {
        match self {
            EventQueue::Heap(heap) => heap.push(Reverse((time, slot))),
            EventQueue::Lists { slots, .. } => slots[time as usize].push(slot),
        }
    }

    fn pop(&mut self) -> Option<(u32, u32)> {
        match self {
            EventQueue::Heap(heap) => heap.pop().map(|Reverse(entry)| entry),
            EventQueue::Lists { slots, time, taken } => loop {
                if let Some(&slot) = slots[*time].get(*taken) {
                    *taken += 1;
                    return Some((*time as u32, slot));
                }
                slots[*time] = Vec::new();
                (*time, *taken) = (*time + 1, 0);
                slots.get_mut(*time)?.sort_unstable();
            },
        }
    }
}

impl EventReplay {
    /// Make a replay.
    ///
    /// `merging` gives the initial symbols.
    pub fn new(merging: Merging, events: RemovalEvents, to_symbols: bool) -> Result<Self> {
        let widths = events.widths()?;
        if events.merges.len() >= INSIDE as usize / 2 {
            return Err(Error::TooLarge("over two billion merges".into()));
        }
        let mut histories: HashMap<u32, TokenPast> = HashMap::new();
        for &(_, token) in &events.removals {
            histories.entry(token).or_default();
        }
        let mut removals = events.removals.iter().peekable();
        for (rank, &(left, right, token)) in (0u32..).zip(&events.merges) {
            if let Some(past) = histories.get_mut(&token) {
                if past.times.is_empty() {
                    past.sides = (left, right);
                }
                past.times.push(2 * rank);
            }
            while let Some(&(_, token)) = removals.next_if(|removal| removal.0 == rank + 1) {
                let past = histories.get_mut(&token).expect("it is among the removals");
                if !past.is_present(2 * rank + 1) {
                    return Err(invalid("a removal names an unknown token"));
                }
                past.times.push(2 * rank + 1);
            }
        }
        if removals.next().is_some() {
            return Err(invalid("the removals are not in order"));
        }
        Ok(EventReplay {
            merging: Merging {
                merges: Merges::new(events.merges.iter().copied()),
                ..merging
            },
            merges: events.merges,
            to_symbols,
            histories,
            widths,
        })
    }

    /// Return the merges across pre-tokens, which come after the events.
    pub(crate) fn superwords(&self) -> Option<&Superwords> {
        self.merging.superwords.as_deref()
    }

    pub(crate) fn kept_symbols(&self, pre_token: &[u8]) -> Option<Vec<Range<usize>>> {
        self.merging.kept_symbols(pre_token)
    }

    /// Return after how many merges a pre-token is one token for good, or `None` if it ends as
    /// several tokens.
    pub fn one_token_after(&self, pre_token: &[u8], interrupt: Interrupt) -> Result<Option<u32>> {
        memory::check(pre_token.len().saturating_mul(64))?;
        let mut symbols = Vec::new();
        (self.merging).symbols(pre_token, 0..pre_token.len(), &mut symbols);
        let last = self.replay(&mut symbols, u32::MAX, interrupt)?;
        let after = last.map_or(0, |time| time / 2 + 1);
        Ok((symbols.len() == 1).then_some(after))
    }

    pub fn segment(
        &self,
        pre_token: &[u8],
        out: &mut Vec<Segment>,
        interrupt: Interrupt,
    ) -> Result<()> {
        let whole = self.merging.whole.as_ref();
        if let Some(id) = whole.and_then(|whole| whole.id(pre_token)) {
            let length = pre_token.len() as u32;
            out.push(Segment { id, length });
            return Ok(());
        }
        memory::check(pre_token.len().saturating_mul(64))?;
        let mut symbols = Vec::new();
        (self.merging).symbols(pre_token, 0..pre_token.len(), &mut symbols);
        self.replay(&mut symbols, u32::MAX, interrupt)?;
        memory::reserve(out, symbols.len())?;
        out.append(&mut symbols);
        Ok(())
    }

    /// Return the segments after the first `steps` merges and the removals among them.
    ///
    /// Unknown symbols stay as they are.
    pub fn state(
        &self,
        pre_token: &[u8],
        steps: u32,
        interrupt: Interrupt,
    ) -> Result<Vec<Segment>> {
        memory::check(pre_token.len().saturating_mul(64))?;
        let (mut symbols, _) = self.merging.replay(pre_token, 0, interrupt)?;
        self.replay(&mut symbols, steps.saturating_mul(2), interrupt)?;
        Ok(symbols)
    }

    /// Make the events before the time `limit` among initial symbols.
    ///
    /// Returns the time of the last event.
    fn replay(
        &self,
        symbols: &mut Vec<Segment>,
        limit: u32,
        interrupt: Interrupt,
    ) -> Result<Option<u32>> {
        let slots = (0u32..).zip(symbols.iter());
        let mut slots: Vec<SymbolSlot> = slots
            .map(|(at, symbol)| SymbolSlot {
                id: symbol.id,
                initial: symbol.id,
                width: 1,
                before: at.wrapping_sub(1),
                length: symbol.length,
            })
            .collect();
        let last = self.run(&mut slots, limit, interrupt)?;
        symbols.clear();
        let mut at = 0;
        while at < slots.len() {
            let end = at + slots[at].width as usize;
            let length = slots[at..end].iter().map(|slot| slot.length).sum();
            symbols.push(Segment {
                id: slots[at].id,
                length,
            });
            at = end;
        }
        Ok(last)
    }

    fn run(
        &self,
        slots: &mut [SymbolSlot],
        limit: u32,
        interrupt: Interrupt,
    ) -> Result<Option<u32>> {
        let mut queue = EventQueue::new(slots.len(), 2 * self.merges.len() + 1);
        for (at, two) in (0u32..).zip(slots.windows(2)) {
            let rank = self.merging.merges.rank(two[0].id, two[1].id);
            if rank != NO_RANK {
                queue.push(2 * rank, at);
            }
        }
        let (mut steps, mut last) = (0usize, None);
        while let Some((time, at)) = queue.pop() {
            if time >= limit {
                break;
            }
            steps += 1;
            if steps.is_multiple_of(1 << 16) && interrupt() {
                return Err(Error::Interrupted);
            }
            let done = match time % 2 {
                0 => self.merge(slots, time, at, &mut queue),
                _ => self.remove(slots, time, at, &mut queue),
            };
            last = if done { Some(time) } else { last };
        }
        Ok(last)
    }

    /// Merge the pair at slot `at`, if it is the pair of this time.
    ///
    /// Returns whether it was.
    fn merge(&self, slots: &mut [SymbolSlot], time: u32, at: u32, queue: &mut EventQueue) -> bool {
        let (left, right, token) = self.merges[time as usize / 2];
        let here = slots[at as usize];
        let next = at.wrapping_add(here.width) as usize;
        if here.id != left || slots.get(next).is_none_or(|slot| slot.id != right) {
            return false;
        }
        let width = here.width + slots[next].width;
        slots[at as usize].id = token;
        slots[at as usize].width = width;
        slots[next].id = INSIDE;
        if let Some(after) = slots.get_mut((at + width) as usize) {
            after.before = at;
        }
        self.enqueue_pair(slots, here.before, time, queue);
        self.enqueue_pair(slots, at, time, queue);
        self.enqueue_removal(token, at, time, queue);
        true
    }

    /// Split the token at slot `at`, if the token is removed at this time.
    ///
    /// Returns whether it was.
    fn remove(&self, slots: &mut [SymbolSlot], time: u32, at: u32, queue: &mut EventQueue) -> bool {
        let here = slots[at as usize];
        let past = self.histories.get(&here.id);
        if past.is_none_or(|past| past.removal_from(time) != Some(time)) {
            return false;
        }
        let end = at + here.width;
        let parts: Vec<(u32, u32)> = match self.to_symbols {
            true => (slots[at as usize..end as usize].iter())
                .map(|slot| (slot.initial, 1))
                .collect(),
            false => self.parts(here.id, time),
        };
        let (mut part_at, mut before) = (at, here.before);
        for (id, width) in parts {
            let slot = &mut slots[part_at as usize];
            (slot.id, slot.width, slot.before) = (id, width, before);
            before = part_at;
            part_at += width;
        }
        if let Some(after) = slots.get_mut(end as usize) {
            after.before = before;
        }
        self.enqueue_pair(slots, here.before, time, queue);
        let mut part_at = at;
        while part_at < end {
            let part = slots[part_at as usize];
            self.enqueue_pair(slots, part_at, time, queue);
            self.enqueue_removal(part.id, part_at, time, queue);
            part_at += part.width;
        }
        true
    }

    /// Return the parts, with widths, of a token that is removed at time `time`.
    ///
    /// The parts are its two sides; a side that is not present at that time is split into its own
    /// sides.
    fn parts(&self, token: u32, time: u32) -> Vec<(u32, u32)> {
        let (mut waiting, mut parts) = (vec![token], Vec::new());
        while let Some(id) = waiting.pop() {
            match self.histories.get(&id) {
                Some(past) if !past.is_present(time) => {
                    waiting.extend([past.sides.1, past.sides.0]);
                }
                _ => parts.push((id, self.widths.get(&id).copied().unwrap_or(1))),
            }
        }
        parts
    }

    /// Queue the next merge of the pair at slot `at`.
    fn enqueue_pair(&self, slots: &[SymbolSlot], at: u32, time: u32, queue: &mut EventQueue) {
        let Some(left) = slots.get(at as usize) else {
            return;
        };
        let Some(right) = slots.get((at + left.width) as usize) else {
            return;
        };
        let rank = (self.merging.merges).rank_after(left.id, right.id, time / 2);
        if rank != NO_RANK {
            queue.push(2 * rank, at);
        }
    }

    /// Queue the next removal of the token at slot `at`.
    fn enqueue_removal(&self, token: u32, at: u32, time: u32, queue: &mut EventQueue) {
        let past = self.histories.get(&token);
        if let Some(removal) = past.and_then(|past| past.removal_from(time + 1)) {
            queue.push(removal, at);
        }
    }
}

// -- Scaffold-BPE and LiteToken ---------------------------------------------------------

/// Merges as in BPE, then splits each token without an id into the fewest tokens that it can be
/// merged from.
pub struct Demolition {
    merging: Merging,
    /// Merges again after a split, with only the merges that make tokens with an id.
    ///
    /// `None` for Scaffold-BPE.
    again: Option<Box<Merging>>,
    size: u32,
    /// For each token from the number `size` on: the pair of the merge that is undone.
    sides: Vec<(u32, u32)>,
    /// Length of text in bytes, by id.
    lengths: HashMap<u32, u32>,
}

impl Demolition {
    /// Make a model.
    ///
    /// `lengths` has the bytes of text that each token covers, if its text tells.
    ///
    /// With `merges_again`, the parts of a split token and their neighbours merge once more.
    pub fn new(
        merging: Merging,
        events: &RemovalEvents,
        lengths: HashMap<u32, u32>,
        merges_again: bool,
    ) -> Result<Self> {
        let widths = events.widths()?;
        let size = events.size;
        let again = merges_again.then(|| {
            let kept = events.merges.iter().copied();
            let kept = Merges::new(kept.filter(|merge| merge.2 < size));
            Box::new(Merging::new(Alphabet::bytes(|_| None), kept))
        });
        // Shorter tokens first: they are parts of the longer ones.
        let mut merges: Vec<_> = (0..)
            .zip(&events.merges)
            .filter(|(_, merge)| merge.2 >= size)
            .map(|(rank, merge): (usize, _)| (widths[&merge.2], rank, merge))
            .collect();
        merges.sort_unstable();
        let mut sides = vec![(0, 0); events.removed as usize];
        let mut fewest = vec![u64::MAX; events.removed as usize];
        for (.., &(left, right, token)) in merges {
            let parts = |id: u32| match id.checked_sub(size) {
                Some(number) => fewest[number as usize],
                None => 1,
            };
            let (parts, number) = (parts(left).saturating_add(parts(right)), token - size);
            if parts < fewest[number as usize] {
                fewest[number as usize] = parts;
                sides[number as usize] = (left, right);
            }
        }
        match fewest.contains(&u64::MAX) {
            true => Err(invalid("no merge makes a removed token")),
            false => Ok(Demolition {
                merging,
                again,
                size,
                sides,
                lengths,
            }),
        }
    }

    /// Return the segments after the first `steps` merges, including tokens without an id.
    pub fn state(
        &self,
        pre_token: &[u8],
        steps: u32,
        interrupt: Interrupt,
    ) -> Result<Vec<Segment>> {
        Ok(self.merging.replay(pre_token, steps, interrupt)?.0)
    }

    pub fn segment(
        &self,
        pre_token: &[u8],
        out: &mut Vec<Segment>,
        interrupt: Interrupt,
    ) -> Result<()> {
        let (mut merged, mut waiting) = (Vec::new(), Vec::new());
        self.merging.segment(pre_token, &mut merged, interrupt)?;
        memory::reserve(out, merged.len())?;
        let (first, whole) = (out.len(), merged.len());
        for segment in merged {
            let mut left = segment.length;
            waiting.push(segment.id);
            while let Some(id) = waiting.pop() {
                let number = id.checked_sub(self.size);
                if let Some(sides) = number.and_then(|number| self.sides.get(number as usize)) {
                    waiting.extend([sides.1, sides.0]);
                    continue;
                }
                let length = match waiting.is_empty() {
                    true => left,
                    false => left.min(self.lengths.get(&id).copied().unwrap_or_default()),
                };
                left -= length;
                out.push(Segment { id, length });
            }
        }
        match &self.again {
            Some(again) if out.len() - first > whole => again.merge_all(first, out, interrupt),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Make a model whose bytes `a` to `d` have the ids 0 to 3.
    fn letters() -> Merging {
        let id = |byte: &[u8]| byte[0].checked_sub(b'a').filter(|&id| id < 4);
        Merging::new(
            Alphabet::bytes(|byte| id(byte).map(u32::from)),
            Merges::default(),
        )
    }

    fn ids(segments: &[Segment]) -> Vec<u32> {
        segments.iter().map(|segment| segment.id).collect()
    }

    /// Events in which `abc` (4) is merged from `ab` (5) and `c`, and `ab` is removed, made again
    /// and removed again.
    fn events() -> RemovalEvents {
        RemovalEvents {
            size: 5,
            removed: 1,
            merges: vec![(0, 1, 5), (5, 2, 4), (0, 1, 5), (5, 2, 4)],
            removals: vec![(2, 5), (4, 5)],
        }
    }

    #[test]
    fn events_are_replayed_in_their_order() {
        let replay = EventReplay::new(letters(), events(), false).unwrap();
        let text = b"abcabdabababc".repeat(700);
        let expected = [4, 0, 1, 3, 0, 1, 0, 1, 4].repeat(700);
        for (text, expected) in [(&text[..13], &expected[..9]), (&text[..], &expected[..])] {
            let mut out = Vec::new();
            replay.segment(text, &mut out, &|| false).unwrap();
            assert_eq!(ids(&out), expected);
            assert_eq!(
                out.iter().map(|one| one.length as usize).sum::<usize>(),
                text.len()
            );
        }
        let states = [
            (0, vec![0, 1, 2, 0, 1, 3]),
            (1, vec![5, 2, 5, 3]),
            (2, vec![4, 0, 1, 3]),
            (3, vec![4, 5, 3]),
            (4, vec![4, 0, 1, 3]),
        ];
        for (steps, expected) in states {
            let state = replay.state(b"abcabd", steps, &|| false).unwrap();
            assert_eq!(ids(&state), expected, "{steps}");
        }
    }

    #[test]
    fn a_removed_token_falls_into_its_symbols() {
        // `abcd` (4) is merged from `abc` (6), which is merged from `ab` (5); `abc` is removed.
        let events = RemovalEvents {
            size: 6,
            removed: 1,
            merges: vec![(0, 1, 5), (5, 2, 6), (6, 3, 4), (2, 0, 7), (1, 7, 8)],
            removals: vec![(3, 6)],
        };
        let events = RemovalEvents { size: 9, ..events };
        let ends = |to_symbols, text: &[u8]| {
            let events = events.clone();
            let replay = EventReplay::new(letters(), events, to_symbols).unwrap();
            let mut out = Vec::new();
            replay.segment(text, &mut out, &|| false).unwrap();
            (ids(&out), replay.one_token_after(text, &|| false).unwrap())
        };
        assert_eq!(ends(false, b"abca"), (vec![5, 7], None));
        assert_eq!(ends(true, b"abca"), (vec![0, 8], None));
        assert_eq!(ends(true, b"abcd"), (vec![4], Some(3)));
        assert_eq!(ends(true, b"bca"), (vec![8], Some(5)));
        assert_eq!(ends(true, b"abc"), (vec![0, 1, 2], None));
        assert_eq!(ends(true, b"d"), (vec![3], Some(0)));
    }

    #[test]
    fn scaffolds_become_the_fewest_tokens() {
        // `abcd` (8) is merged from `abc` (7) and `d`, then from `ab` (4) and `cd` (5).
        let events = RemovalEvents {
            size: 6,
            removed: 3,
            merges: vec![
                (0, 1, 4),
                (2, 3, 5),
                (4, 2, 7),
                (7, 3, 8),
                (4, 5, 8),
                (1, 2, 6),
            ],
            removals: Vec::new(),
        };
        let lengths = (0..6).map(|id| (id, if id < 4 { 1 } else { 2 })).collect();
        let merging = Merging {
            merges: Merges::new(events.merges.iter().copied()),
            ..letters()
        };
        let demolition = Demolition::new(merging, &events, lengths, false).unwrap();
        let mut out = Vec::new();
        demolition.segment(b"abcdbc", &mut out, &|| false).unwrap();
        let found: Vec<_> = out.iter().map(|one| (one.id, one.length)).collect();
        assert_eq!(found, [(4, 2), (5, 2), (1, 1), (2, 1)]);
    }

    #[test]
    fn what_falls_apart_merges_with_its_neighbours() {
        // `bc` (6) is split; `ab` (4) and `cd` (5) have higher ranks.
        let events = RemovalEvents {
            size: 6,
            removed: 1,
            merges: vec![(1, 2, 6), (0, 1, 4), (2, 3, 5)],
            removals: vec![(3, 6)],
        };
        let lengths: HashMap<_, _> = (0..6).map(|id| (id, if id < 4 { 1 } else { 2 })).collect();
        for (merges_again, word) in [
            (true, [(4, 2), (5, 2)].to_vec()),
            (false, (0..4).map(|id| (id, 1)).collect()),
        ] {
            let merging = Merging {
                merges: Merges::new(events.merges.iter().copied()),
                ..letters()
            };
            let demolition =
                Demolition::new(merging, &events, lengths.clone(), merges_again).unwrap();
            for times in [1, 1000] {
                let mut out = vec![Segment { id: 3, length: 1 }];
                let text = b"abcd".repeat(times);
                demolition.segment(&text, &mut out, &|| false).unwrap();
                let found: Vec<_> = out[1..].iter().map(|one| (one.id, one.length)).collect();
                assert_eq!(found, word.repeat(times));
            }
        }
    }

    #[test]
    fn damaged_events_are_errors() {
        type Damage = fn(&mut RemovalEvents);
        let damages: [Damage; 8] = [
            |events| events.merges[0].0 = 6,
            |events| events.merges[0].2 = 6,
            |events| events.merges[0] = (4, 1, 5),
            |events| events.merges[1] = (5, 5, 5),
            |events| events.removals[0] = (2, 6),
            |events| events.removals[0] = (5, 5),
            |events| events.removals.swap(0, 1),
            |events| events.removals.push((4, 5)),
        ];
        assert!(EventReplay::new(letters(), events(), false).is_ok());
        for (number, damage) in damages.iter().enumerate() {
            let mut events = events();
            damage(&mut events);
            assert!(
                EventReplay::new(letters(), events, false).is_err(),
                "{number}"
            );
        }
        let nothing_makes_it = RemovalEvents {
            size: 4,
            removed: 1,
            ..RemovalEvents::default()
        };
        assert!(Demolition::new(letters(), &nothing_makes_it, HashMap::new(), false).is_err());
    }
}
