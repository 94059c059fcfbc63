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

use super::cache::{CacheMemory, CacheStats, IdsCache};
use super::encoder::{Call, Encoder};
use super::lookup::{PreTokenLookup, CACHED};
use super::merging::{Meeting, Meetings, MergeOrder, Merging};
use super::segmenter::{Segment, Segmenter};
use crate::error::{Error, Result};
use crate::large_pages::reserve_projected;
use crate::model::NO_ID;
use crate::packed::{fold, LONGEST};
use crate::prefetch::prefetch;
use crate::pretokenize::{PreTokenizer, Scanner};
use crate::Interrupt;

/// Bytes that are looked up and stitched at a time, so that their words and ids stay in the cache.
const STITCHED: usize = 1 << 15;

/// Bytes of text for each merge that pay for finding out how tokens are made.
const BYTES_PER_MERGE: usize = 1;

/// Pairs that are replaced for each byte of a text, at most; usually it is one for two words. That
/// replacing always ends is not proven.
const MOST_REPLACED: usize = 8;

/// Bytes of the parts of a word that has more than a [`Key`](crate::packed::Key) holds: such words
/// seldom come again, as the phrases of Chinese and Japanese, and their parts do.
const PIECE: usize = 12;

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
            // A slot, and in `many` one number.
            most: 1 << (memory / (size_of::<Junction>() + 4)).max(FEW).ilog2(),
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

    #[inline(always)]
    fn prefetch(&self, left: u32, right: u32) {
        prefetch(&self.slots[self.place(left, right)]);
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

/// A pre-token that is not cut into blocks.
#[derive(Debug, Clone, Copy)]
struct PreTokenSpan {
    start: usize,
    end: usize,
    /// Is it looked up as it is?
    whole: bool,
    /// What to cache it by, if it is not known but may come again.
    new: Option<u64>,
}

/// What stays from part to part of a text, and from text to text.
#[derive(Debug)]
pub(crate) struct StitchingState {
    pub junctions: Junctions,
    /// Where each word ends.
    words: Vec<usize>,
    ids: Vec<u32>,
    pre_tokens: Vec<PreTokenSpan>,
}

impl StitchingState {
    pub fn new(memory: CacheMemory) -> Self {
        StitchingState {
            junctions: Junctions::new(memory.junctions()),
            words: Vec::new(),
            ids: Vec::new(),
            pre_tokens: Vec::new(),
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

    /// Prefetches what will be asked of the tokens that come next.
    #[inline(always)]
    fn prefetch(&self, next: &[u32]) {
        if let Some(&far) = next.get(2 * AHEAD) {
            self.meetings.prefetch(far);
            let (last, id) = (next[AHEAD], next[AHEAD + 1]);
            if self.meetings.may_merge(last, id) {
                self.junctions.prefetch(last, id);
            }
        }
    }

    /// Ends the row of a pre-token, which is cached if it is new.
    fn end(&mut self, pre_token: Option<&PreTokenSpan>, cache: &mut IdsCache) {
        if let Some(&PreTokenSpan {
            start,
            end,
            new: Some(hash),
            ..
        }) = pre_token
        {
            cache.insert_long(&self.text[start..end], hash, &self.out[self.first..]);
        }
        self.first = self.out.len();
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
            if (call.interrupt)() {
                return Err(Error::Interrupted);
            }
            // A pre-token that is cut here has more than so many bytes.
            let to = match end - from < 2 * STITCHED {
                true => end,
                false => from + STITCHED,
            };
            let cache = &call.state.lookup.cache;
            // Behind the first block there is what is left of a pre-token.
            let cut = from > start;
            let (mut done, within) = (from, |end: &usize| *end <= to);
            state.pre_tokens.clear();
            (state.pre_tokens).extend(ends.clone().take_while(within).map(|end| {
                let one = std::mem::replace(&mut done, end)..end;
                let cached = !cut && CACHED.contains(&one.len());
                let hash = cached.then(|| cache.hash_long(&text[one.clone()]));
                let known = hash.is_some_and(|hash| cache.has_long(&text[one.clone()], hash));
                PreTokenSpan {
                    start: one.start,
                    end,
                    whole: known || (!cut && one.len() <= LONGEST),
                    new: hash.filter(|_| !known),
                }
            }));
            let whole = state.pre_tokens.iter().all(|one| one.whole);
            if whole && done == end {
                // Nothing is new.
                state.words.clear();
                (state.words).extend(state.pre_tokens.iter().map(|one| one.end));
                self.look_up(text, (from, &state.words), call, row.out)?;
                return Ok(true);
            }
            stitching.find_words(text, from..to, &state.pre_tokens, &mut state.words)?;
            state.ids.clear();
            self.look_up(text, (from, &state.words), call, &mut state.ids)?;
            // Each of them, and what takes the place of others, has a byte at least.
            if row.out.capacity() - row.out.len() < to - from {
                let (rest, ids) = (text.len() - from, row.out.len());
                reserve_projected(row.out, to - from, (from, rest), ids);
            }
            let (mut at, mut word_end, mut before) = (from, from, NO_ID);
            let (mut words, mut pre_tokens) = (state.words.iter(), state.pre_tokens.iter());
            let ids = &state.ids[..];
            for (number, &id) in ids.iter().enumerate() {
                row.prefetch(&ids[number..]);
                if at == word_end {
                    before = NO_ID;
                    word_end = words.next().copied().unwrap_or(to);
                    if ends.next_if_eq(&at).is_some() {
                        row.end(pre_tokens.next(), &mut call.state.lookup.cache);
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
            if ends.next_if_eq(&to).is_some() {
                row.end(pre_tokens.next(), &mut call.state.lookup.cache);
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
        pre_tokens: &[PreTokenSpan],
        words: &mut Vec<usize>,
    ) -> Result<()> {
        let (from, block) = (part.start, &text[part]);
        let shifts = self.meetings.spaces_end_words();
        let (mut start, mut next) = (from, 0);
        words.clear();
        self.words.split(block, |_, mut end| {
            // The word takes the space that the next one starts with.
            end += usize::from(shifts && block.get(end) == Some(&b' '));
            end += from;
            while start < end {
                let mut word_end = end;
                let mut longest = LONGEST;
                if let Some(pre_token) = pre_tokens.get(next) {
                    if pre_token.end <= end {
                        word_end = pre_token.end;
                        next += 1;
                    } else if pre_token.whole {
                        return;
                    }
                    if pre_token.whole {
                        longest = usize::MAX;
                    }
                }
                while word_end - start > longest {
                    start += PIECE;
                    words.push(start);
                }
                if start < word_end {
                    start = word_end;
                    words.push(start);
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Alphabet, Merges};
    use crate::normalize::Chain;
    use crate::pretokenize::{Behaviour, Split};
    use crate::random::random_below;

    const LETTERS: &[u8] = b"ab \n1";

    /// Merges of what there is so far. Some make a token that exists, and some come too early.
    fn merging(below: &mut impl FnMut(usize) -> usize, round: usize) -> Merging {
        let steps = below(60);
        let mut merges = Vec::new();
        for step in 0..steps {
            let mut symbol = |most: usize| match below(LETTERS.len() + most) {
                letter if letter < LETTERS.len() => u32::from(LETTERS[letter]),
                token => (256 + token - LETTERS.len()) as u32,
            };
            let most = if round % 7 == 6 { steps } else { step };
            let token = match round % 5 {
                4 if step % 9 == 8 => symbol(step),
                _ => 256 + step as u32,
            };
            merges.push((symbol(most), symbol(most), token));
        }
        let known = |byte: u8| !(round % 11 == 10 && byte == b'z');
        Merging::new(
            Alphabet::bytes(|byte| known(byte[0]).then_some(byte[0].into())),
            Merges::new(merges.into_iter()),
        )
    }

    fn ids(merging: &Merging, text: &[u8]) -> Vec<u32> {
        let mut out = Vec::new();
        merging.segment(text, &mut out, &|| false).unwrap();
        out.iter().map(|segment| segment.id).collect()
    }

    #[test]
    fn two_tokens_become_what_merging_makes_of_them() {
        let mut below = random_below(21);
        let mut found = [0; 4];
        for round in 0..400 {
            let merging = merging(&mut below, round);
            let Some(all) = Meetings::of(&merging.merges, &merging.alphabet) else {
                continue;
            };
            let texts = (0..200).map(|_| {
                let length = 1 + below(9);
                let letters = (0..length).map(|_| LETTERS[below(LETTERS.len())]);
                letters.collect::<Vec<u8>>()
            });
            let whole = |text: &Vec<u8>| ids(&merging, text).len() == 1;
            let tokens: Vec<Vec<u8>> = texts.filter(whole).take(30).collect();
            for left in &tokens {
                for right in &tokens {
                    let (one, other) = (ids(&merging, left)[0], ids(&merging, right)[0]);
                    assert_eq!(all.length(one), left.len());
                    let made = ids(&merging, &[&left[..], right].concat());
                    let meeting = all.meeting(&merging.merges, one, other);
                    let expected = match made[..] {
                        [token] if meeting != Meeting::Others => Meeting::One(token),
                        _ if made == [one, other] => Meeting::Apart,
                        _ => Meeting::Others,
                    };
                    assert_eq!(meeting, expected, "{round} {left:?} {right:?}");
                    let apart = meeting == Meeting::Apart;
                    assert!(
                        apart || all.may_merge(one, other),
                        "{round} {left:?} {right:?}"
                    );
                    found[match meeting {
                        Meeting::Apart if all.may_merge(one, other) => 0,
                        Meeting::Apart => 1,
                        Meeting::One(_) => 2,
                        Meeting::Others => 3,
                    }] += 1;
                }
            }
        }
        assert!(found.iter().all(|&count| count > 1000), "{found:?}");
    }

    #[test]
    fn stitched_rows_are_those_of_merging() {
        let mut below = random_below(22);
        let (mut stitched, mut refused) = (0, 0);
        for round in 0..600 {
            let lines = Split::literal("\n", Behaviour::MergedWithPrevious, false);
            let splitting = match round % 3 {
                0 => Scanner::None,
                1 => Scanner::Split(lines),
                _ => Scanner::Digits { individual: true },
            };
            let splitting = PreTokenizer::from(splitting);
            let segmenter = Segmenter::Merges(merging(&mut below, round));
            let encoder = Encoder::new(Chain::default(), splitting, segmenter);
            let Segmenter::Merges(merging) = &encoder.segmenter else {
                unreachable!()
            };
            let Some(stitching) = Stitching::of(&encoder.pre_tokenizer, merging) else {
                refused += 1;
                continue;
            };
            let mut state = encoder.call_state();
            let call = &mut state.call(&|| false, None);
            for _ in 0..6 {
                let kinds = 1 + below(LETTERS.len());
                let length = match round % 50 {
                    0 => 3 * STITCHED + below(500),
                    _ => below(400),
                };
                let letters = (0..length).map(|_| LETTERS[below(kinds)]);
                let mut text: Vec<u8> = letters.collect();
                if round % 4 == 0 {
                    text.extend_from_within(..);
                    text.push(b'z');
                }
                let mut expected = Vec::new();
                let split = |start, end| expected.extend(ids(merging, &text[start..end]));
                encoder.pre_tokenizer.split(&text, split).unwrap();
                let mut out = vec![7];
                encoder
                    .stitched_ids(&stitching, &text, call, &mut out)
                    .unwrap();
                assert!(out[1..] == expected, "{round}: {text:?}");
                stitched += 1;
            }
        }
        assert!(stitched > 1000 && refused > 100, "{stitched} {refused}");
    }

    #[test]
    fn pairs_are_found_again_while_there_is_room() {
        let mut junctions = Junctions::new(0);
        assert_eq!(junctions.most, FEW);
        junctions.insert(3, 4, [5, NO_ID]);
        assert_eq!(junctions.get(3, 4), Some([5, NO_ID]));
        assert_eq!(junctions.get(4, 3), None);
        let mut junctions = Junctions::new(1 << 20);
        for id in 0..100_000 {
            let place = junctions.keep(&[id, 1, 2]);
            junctions.insert(id, 1, [MANY, place]);
            let Some([MANY, place]) = junctions.get(id, 1) else {
                panic!("{id}");
            };
            assert_eq!(junctions.kept(place), [id, 1, 2]);
        }
        assert_eq!(junctions.slots.len(), junctions.most);
        assert!(junctions.stats().bytes <= 1 << 20);
    }
}
