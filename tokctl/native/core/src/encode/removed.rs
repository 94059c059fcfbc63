//! Segmenting by models that tokens were taken away from, in training or after it.
//!
//! [`EventReplay`] makes merges and removals in the order in which a training of PickyBPE, or of
//! BoundlessBPE with a threshold, made them. [`Demolition`] makes the merges of Scaffold-BPE, then
//! takes each token without an id apart; with the residues of LiteToken it merges again after that.
//! Both know tokens by numbers: ids, and those of removed tokens from there on.

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

/// What a training has merged and removed.
#[derive(Debug, Clone, Default)]
pub struct RemovalEvents {
    /// How many tokens have an id.
    pub size: u32,
    /// How many have none any more.
    pub removed: u32,
    /// (left, right, token), in the order learned.
    pub merges: Vec<(u32, u32, u32)>,
    /// (merges before it, token), in order.
    pub removals: Vec<(u32, u32)>,
}

impl RemovalEvents {
    /// The initial symbols of each merged token; an error where an event names what is not there.
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
            // What is merged later is no initial symbol: a token is never a part of itself.
            let width = |id| match widths.get(&id) {
                Some(&width) => Ok(width),
                None if known(id) && !made.contains(&id) => Ok(1),
                None => Err(invalid("a merge names a token that is not there")),
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

/// Merges and removals in the order of the training.
///
/// An event has a time: twice its rank that of a merge, and one more that of the removals after
/// it. A symbol takes as many slots as it has initial symbols, as in training, so that a removed
/// token can be split where it is; slots wait in a queue for the time of their next event. A pre-token
/// of n symbols takes O(n log n) for each time that its tokens are made and removed again.
pub struct EventReplay {
    /// What a pre-token starts as, and which are whole. Its merges are those of the events.
    merging: Merging,
    merges: Vec<(u32, u32, u32)>,
    /// A removed token falls into its initial symbols (BoundlessBPE), not into its sides.
    to_symbols: bool,
    /// Of tokens that are removed at some time.
    histories: HashMap<u32, TokenPast>,
    /// Initial symbols of each merged token.
    widths: HashMap<u32, u32>,
}

/// When a token is made and removed.
#[derive(Default)]
struct TokenPast {
    /// What it was merged of first.
    sides: (u32, u32),
    /// Times, ascending: even ones of merges, odd ones of removals.
    times: Vec<u32>,
}

impl TokenPast {
    /// The first removal at this time or later.
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

/// Stands in a slot that begins no symbol.
const INSIDE: u32 = u32::MAX - 1;

#[derive(Clone, Copy)]
struct SymbolSlot {
    id: u32,
    /// The initial symbol here.
    initial: u32,
    /// How many slots the symbol takes.
    width: u32,
    /// The first slot of the symbol before.
    before: u32,
    /// Bytes of the initial symbol.
    length: u32,
}

/// Where events are due, by their time and from left to right. What is added comes later than what
/// was taken last.
enum EventQueue {
    Heap(BinaryHeap<Reverse<(u32, u32)>>),
    /// Slots by time; the list of the present one is sorted, and taken up to a place.
    Lists {
        slots: Vec<Vec<u32>>,
        time: usize,
        taken: usize,
    },
}

/// From so many symbols on, a list for each time costs less than a heap.
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
                    return Err(invalid("a token is removed that is not there"));
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

    /// Merges across pre-tokens, after the events.
    pub(crate) fn superwords(&self) -> Option<&Superwords> {
        self.merging.superwords.as_deref()
    }

    pub(crate) fn kept_symbols(&self, pre_token: &[u8]) -> Option<Vec<Range<usize>>> {
        self.merging.kept_symbols(pre_token)
    }

    /// After how many merges a pre-token is one token for good; None where it ends as several.
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

    /// The segments after the first `steps` merges and the removals among these, unknown symbols
    /// left as they are.
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

    /// Makes the events before the time `limit` among initial symbols; the time of the last one.
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

    /// Merges the pair at a slot, if it is the one of this time: was it?
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

    /// Splits the token at a slot, if it is removed at this time: is it?
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

    /// What a token falls into that is removed at a time, with the widths: its sides, and those of
    /// a side that is not there theirs.
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

    /// Notes when the pair at a slot merges next.
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

    /// Notes when the token at a slot is removed next.
    fn enqueue_removal(&self, token: u32, at: u32, time: u32, queue: &mut EventQueue) {
        let past = self.histories.get(&token);
        if let Some(removal) = past.and_then(|past| past.removal_from(time + 1)) {
            queue.push(removal, at);
        }
    }
}

// -- Scaffold-BPE and LiteToken ---------------------------------------------------------

/// Merges as in BPE; then each token that has no id becomes the fewest tokens that it was merged of.
pub struct Demolition {
    merging: Merging,
    /// What merges the tokens again where one was taken apart: the merges that make tokens with an
    /// id. None in Scaffold-BPE.
    again: Option<Box<Merging>>,
    size: u32,
    /// Of each token from the number `size` on: the merge that is undone.
    sides: Vec<(u32, u32)>,
    /// Bytes of text, by id.
    lengths: HashMap<u32, u32>,
}

impl Demolition {
    /// `lengths` says how many bytes of text a token covers, where its text says it. `merges_again`:
    /// what was taken apart and its neighbours merge once more.
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

    /// The segments after the first `steps` merges, with tokens that have no id.
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

    /// The bytes `a` to `d` are 0 to 3.
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

    /// `abc` (4) is merged of `ab` (5), which is removed after it, made again and removed again.
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
        // `abcd` (4) is merged of `abc` (6), that of `ab` (5), and `abc` is removed.
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
        // `abcd` (8) is merged of `abc` (7) and `d`, then of `ab` (4) and `cd` (5).
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
        // `bc` (6) is taken apart; `ab` (4) and `cd` (5) would have been merged later than it.
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
