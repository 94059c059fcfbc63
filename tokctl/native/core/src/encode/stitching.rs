//! Pre-tokens of many words, for models of merges by rank whose tokens reach over words: SuperBPE's
//! (Liu and others 2025), and any that splits text at lines, at numbers, or not at all.
//!
//! Such pre-tokens seldom come twice, but their words do. The text is cut at words, these are looked up
//! as pre-tokens are, and their tokens are stitched together: **a row of tokens is what merging makes of
//! its symbols if each two neighbours in it are what merging makes of theirs** (the proof is at
//! `merging::long::merge`). Inside a word that is so. Where merging makes something else of two tokens
//! that meet, these take their place, and meet those around them in turn. Wherever the text is cut, only
//! the row that merging makes comes through.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::cache::{CacheMemory, CacheStats};
use super::encoder::{Call, Encoder};
use super::lookup::PreTokenLookup;
use super::merging::{Meeting, Meetings, MergeOrder, Merging};
use super::segmenter::{Segment, Segmenter};
use crate::error::Result;
use crate::memory;
use crate::model::NO_ID;
use crate::packed::fold;
use crate::pretokenize::{PreTokenizer, Scanner};
use crate::Interrupt;

/// Bytes that are looked up and stitched at a time, so that their words and ids stay in the cache.
const STITCHED: usize = 1 << 15;

/// Bytes of text for each merge that pay for finding out how tokens are made.
const BYTES_PER_MERGE: usize = 1;

/// Pairs that are replaced for each byte of a text, at most; usually it is one for two words. That
/// replacing always ends is not proven.
const MOST_REPLACED: usize = 8;

/// So many tokens ahead, what is known of one is prefetched.
const AHEAD: usize = 8;

/// What stitching needs to know of a model.
#[derive(Debug)]
pub(super) struct Stitching {
    meetings: Meetings,
    /// Finds words.
    words: PreTokenizer,
}

impl Stitching {
    /// None where pre-tokens are words, or where merging is not all that the model does.
    fn of(pre_tokenizer: &PreTokenizer, merging: &Merging) -> Option<Self> {
        let mut one = false;
        let split = pre_tokenizer.split(b"a b", |start, end| one = (start, end) == (0, 3));
        let plain = merging.order == MergeOrder::ByRank && merging.whole.is_none();
        if split.is_err() || !one || !plain {
            return None;
        }
        Some(Stitching {
            meetings: Meetings::of(&merging.merges, &merging.alphabet)?,
            words: Scanner::Gpt2.into(),
        })
    }
}

/// What merging makes of two tokens.
#[derive(Debug, Clone, Copy)]
struct Junction {
    left: u32,
    right: u32,
    /// None: the two stay. One or two, [`NO_ID`] behind them. [`MANY`] and a place in `many`.
    made: [u32; 2],
}

/// In place of the first of more than two.
const MANY: u32 = NO_ID - 1;

/// What is remembered of pairs of tokens. Each has one place, where the last one stays.
#[derive(Debug)]
pub(crate) struct Junctions {
    /// A power of two.
    slots: Vec<Junction>,
    /// Of more than two tokens that were made, how many they are, and these.
    many: Vec<u32>,
    /// Pairs that were new since the table had its size.
    new: usize,
    /// Slots at most.
    most: usize,
}

/// Slots at first.
const FEW: usize = 1 << 10;

impl Junctions {
    const NONE: Junction = Junction {
        left: NO_ID,
        right: NO_ID,
        made: [NO_ID; 2],
    };

    /// For so many bytes.
    pub fn new(memory: usize) -> Self {
        Junctions {
            slots: vec![Junctions::NONE; FEW],
            many: Vec::new(),
            new: 0,
            most: 1 << (memory / size_of::<Junction>()).max(FEW).ilog2(),
        }
    }

    pub fn stats(&self) -> CacheStats {
        let entries = self.slots.iter().filter(|slot| slot.left != NO_ID);
        CacheStats {
            entries: entries.count(),
            bytes: size_of_val(&self.slots[..]) + size_of_val(&self.many[..]),
        }
    }

    #[inline(always)]
    fn place(&self, left: u32, right: u32) -> usize {
        let pair = u64::from(left) << 32 | u64::from(right);
        fold(pair, 0x9E37_79B9_7F4A_7C15) as usize & (self.slots.len() - 1)
    }

    #[inline(always)]
    fn get(&self, left: u32, right: u32) -> Option<[u32; 2]> {
        let slot = &self.slots[self.place(left, right)];
        ((slot.left, slot.right) == (left, right)).then_some(slot.made)
    }

    fn insert(&mut self, left: u32, right: u32, made: [u32; 2]) {
        self.new += 1;
        if self.new > self.slots.len() && self.slots.len() < self.most {
            let twice = vec![Junctions::NONE; 2 * self.slots.len()];
            for slot in std::mem::replace(&mut self.slots, twice) {
                let place = self.place(slot.left, slot.right);
                self.slots[place] = slot;
            }
            self.new = 0;
        }
        let place = self.place(left, right);
        self.slots[place] = Junction { left, right, made };
    }

    /// Where so many tokens are kept.
    fn keep(&mut self, made: &[u32]) -> u32 {
        if self.many.len() + made.len() >= self.most {
            self.many.clear();
            self.slots.fill(Junctions::NONE);
        }
        let place = self.many.len() as u32;
        self.many.push(made.len() as u32);
        self.many.extend_from_slice(made);
        place
    }

    fn kept(&self, place: u32) -> &[u32] {
        let (count, made) = self.many[place as usize..].split_at(1);
        &made[..count[0] as usize]
    }
}

/// What stays from part to part of a text, and from text to text.
#[derive(Debug)]
pub(crate) struct StitchingState {
    pub junctions: Junctions,
    /// Where each word ends.
    words: Vec<usize>,
    ids: Vec<u32>,
}

impl StitchingState {
    pub fn new(memory: CacheMemory) -> Self {
        StitchingState {
            junctions: Junctions::new(memory.junctions()),
            words: Vec::new(),
            ids: Vec::new(),
        }
    }
}

/// The row of tokens of a pre-token, and then that of the next one.
struct Stitcher<'s> {
    merging: &'s Merging,
    meetings: &'s Meetings,
    junctions: &'s mut Junctions,
    text: &'s [u8],
    out: &'s mut Vec<u32>,
    /// Where the row begins in `out`.
    first: usize,
    /// Tokens that come next, the last one first, each with the one that it stays apart from.
    pending: Vec<(u32, u32)>,
    made: Vec<u32>,
    scratch: Vec<Segment>,
    /// How many pairs may be replaced yet.
    left: usize,
    interrupt: Interrupt<'s>,
}

impl Stitcher<'_> {
    /// The last token of the row, or [`NO_ID`].
    #[inline(always)]
    fn last(&self) -> u32 {
        match self.out.len() > self.first {
            true => self.out[self.out.len() - 1],
            false => NO_ID,
        }
    }

    #[inline(always)]
    fn may_merge(&self, last: u32, id: u32) -> bool {
        last != NO_ID && self.meetings.may_merge(last, id)
    }

    /// Appends a token whose text starts at a place; false where too many pairs were replaced.
    #[inline(never)]
    fn append(&mut self, mut id: u32, mut at: usize) -> Result<bool> {
        self.pending.clear();
        loop {
            let last = self.last();
            let made = match self.may_merge(last, id) {
                true => self.junction(last, id, at)?,
                false => [NO_ID; 2],
            };
            if made[0] != NO_ID {
                self.left -= 1;
                if self.left == 0 {
                    return Ok(false);
                }
                self.out.pop();
                at -= self.meetings.length(last);
                id = self.first_of(made);
                continue;
            }
            self.out.push(id);
            at += self.meetings.length(id);
            loop {
                let Some((before, next)) = self.pending.pop() else {
                    return Ok(true);
                };
                if self.last() != before {
                    id = next;
                    break;
                }
                self.out.push(next);
                at += self.meetings.length(next);
            }
        }
    }

    /// The first of those that were made; the others come next.
    #[inline(always)]
    fn first_of(&mut self, made: [u32; 2]) -> u32 {
        match made {
            [MANY, place] => {
                let made = self.junctions.kept(place);
                let pairs = made.windows(2).rev();
                self.pending.extend(pairs.map(|two| (two[0], two[1])));
                made[0]
            }
            [one, NO_ID] => one,
            [one, other] => {
                self.pending.push((one, other));
                one
            }
        }
    }

    /// What merging makes of the last token and the next one, which starts at a place.
    #[inline(always)]
    fn junction(&mut self, last: u32, id: u32, at: usize) -> Result<[u32; 2]> {
        if let Some(made) = self.junctions.get(last, id) {
            return Ok(made);
        }
        let made = self.made_of(last, id, at)?;
        self.junctions.insert(last, id, made);
        Ok(made)
    }

    /// The same where it is not remembered.
    #[inline(never)]
    fn made_of(&mut self, last: u32, id: u32, at: usize) -> Result<[u32; 2]> {
        match self.meetings.meeting(&self.merging.merges, last, id) {
            Meeting::Apart => return Ok([NO_ID; 2]),
            Meeting::One(one) => return Ok([one, NO_ID]),
            Meeting::Others => {}
        }
        let (before, after) = (self.meetings.length(last), self.meetings.length(id));
        let both = &self.text[at - before..at + after];
        self.made.clear();
        if !self.merging.short_ids(both, &mut self.made) {
            self.scratch.clear();
            (self.merging).segment(both, &mut self.scratch, self.interrupt)?;
            (self.made).extend(self.scratch.iter().map(|segment| segment.id));
        }
        if let [one, other] = self.made[..] {
            return Ok([one, other]);
        }
        Ok([MANY, self.junctions.keep(&self.made)])
    }
}

impl Encoder {
    /// What stitching needs, where it serves, once there has been enough text.
    pub(super) fn stitching(&self, bytes: usize) -> Option<&Stitching> {
        let Segmenter::Merges(merging) = &self.segmenter else {
            return None;
        };
        let before = self.bytes_seen.load(Ordering::Relaxed);
        let enough = BYTES_PER_MERGE * merging.merges.len();
        if before < enough {
            let seen = before.saturating_add(bytes);
            self.bytes_seen.store(seen, Ordering::Relaxed);
            if seen < enough {
                return None;
            }
        }
        let make = || Stitching::of(&self.pre_tokenizer, merging).map(Box::new);
        self.stitching.get_or_init(make).as_deref()
    }

    /// Appends the ids of a text.
    pub(super) fn stitched_ids(
        &self,
        stitching: &Stitching,
        text: &[u8],
        call: &mut Call,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        // Pre-tokens that wait: where the first one starts, and where each ends.
        let (mut start, mut ends) = (0, Vec::new());
        let mut result = Ok(());
        self.pre_tokenizer.split(text, |from, to| {
            let end = ends.last().copied().unwrap_or(start);
            if result.is_ok() && (from != end || end - start >= STITCHED) {
                result = self.stitched_part(stitching, text, (start, &ends), call, out);
                ends.clear();
                start = from;
            }
            ends.push(to);
        })?;
        result?;
        self.stitched_part(stitching, text, (start, &ends), call, out)
    }

    /// The ids of pre-tokens side by side.
    fn stitched_part(
        &self,
        stitching: &Stitching,
        text: &[u8],
        (start, ends): (usize, &[usize]),
        call: &mut Call,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let first = out.len();
        let mut state = call.state.lookup.stitching.take();
        let kept = state.get_or_insert_with(|| Box::new(StitchingState::new(self.cache_memory())));
        let done = self.stitch(stitching, text, (start, ends), call, kept, out);
        call.state.lookup.stitching = state;
        if done? {
            return Ok(());
        }
        out.truncate(first);
        self.look_up(text, (start, ends), call, out)
    }

    /// Looks up pre-tokens side by side.
    fn look_up(
        &self,
        text: &[u8],
        (mut start, ends): (usize, &[usize]),
        call: &mut Call,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let (state, interrupt) = (&mut call.state.lookup, call.interrupt);
        let mut lookup = PreTokenLookup::new(self, text, None, state, out, interrupt);
        let mut places = lookup.places();
        for &end in ends {
            places.push(start, end);
            start = end;
        }
        drop(places);
        lookup.finish()
    }

    /// False where a byte has no token, or too many pairs were replaced.
    fn stitch(
        &self,
        stitching: &Stitching,
        text: &[u8],
        (start, ends): (usize, &[usize]),
        call: &mut Call,
        state: &mut StitchingState,
        out: &mut Vec<u32>,
    ) -> Result<bool> {
        let meetings = &stitching.meetings;
        let (Segmenter::Merges(merging), Some(&end)) = (&self.segmenter, ends.last()) else {
            return Ok(true);
        };
        if !meetings.knows(&text[start..end]) {
            return Ok(false);
        }
        let mut row = Stitcher {
            merging,
            meetings,
            junctions: &mut state.junctions,
            text,
            first: out.len(),
            out,
            pending: Vec::new(),
            made: Vec::new(),
            scratch: Vec::new(),
            left: MOST_REPLACED.saturating_mul(end - start),
            interrupt: call.interrupt,
        };
        let mut ends = ends.iter().copied().peekable();
        let mut from = start;
        while from < end {
            let to = end.min(from + STITCHED);
            stitching.find_words(text, from..to, ends.clone(), &mut state.words)?;
            state.ids.clear();
            self.look_up(text, (from, &state.words), call, &mut state.ids)?;
            // As many as are put in place of others: no more than there are bytes.
            memory::reserve(row.out, to - from)?;
            let (mut at, mut word_end, mut before) = (from, from, NO_ID);
            let mut words = state.words.iter();
            for (number, &id) in state.ids.iter().enumerate() {
                if let Some(&ahead) = state.ids.get(number + AHEAD) {
                    meetings.prefetch(ahead);
                }
                if at == word_end {
                    before = NO_ID;
                    word_end = words.next().copied().unwrap_or(to);
                    if ends.next_if_eq(&at).is_some() {
                        row.first = row.out.len();
                    }
                }
                let last = row.last();
                if last == before || !row.may_merge(last, id) {
                    row.out.push(id);
                } else if !row.append(id, at)? {
                    return Ok(false);
                }
                before = id;
                at += meetings.length(id);
            }
            from = to;
        }
        Ok(true)
    }
}

impl Stitching {
    /// Where the words of a part of a text end; they end where pre-tokens do, too.
    fn find_words(
        &self,
        text: &[u8],
        part: Range<usize>,
        pre_tokens: impl Iterator<Item = usize>,
        words: &mut Vec<usize>,
    ) -> Result<()> {
        let (from, block) = (part.start, &text[part]);
        let mut pre_tokens = pre_tokens.peekable();
        let shifts = self.meetings.spaces_end_words();
        words.clear();
        self.words.split(block, |_, mut end| {
            // The word takes the space that the next one starts with.
            end += usize::from(shifts && block.get(end) == Some(&b' '));
            end += from;
            while let Some(inside) = pre_tokens.next_if(|&inside| inside <= end) {
                if words.last() != Some(&inside) {
                    words.push(inside);
                }
            }
            if words.last() != Some(&end) {
                words.push(end);
            }
        })
    }
}
