//! Pre-tokens of many words, stitched together from the tokens of their words.
//!
//! Stitching is for models that merge by rank and whose tokens cross words: SuperBPE (Liu and
//! others 2025), and any model that splits text at lines, at numbers, or not at all.
//!
//! Such pre-tokens seldom repeat, but their words do. New pre-tokens are cut at words, the words
//! are looked up like pre-tokens, and their tokens are stitched together: **a row of tokens is the
//! result of merging its symbols if every two neighbours are the result of merging the symbols of
//! the two** (the proof is at `merging::long::merge`). Inside a word, this holds. If merging makes
//! other tokens of two tokens that meet, the new tokens replace the two, and meet their neighbours
//! in turn. Wherever the text is cut, the result can only be the row that merging makes.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::cache::{CacheMemory, CacheStats, IdsCache};
use super::encoder::Encoder;
use super::lookup::{PreTokenLookup, WorkingMemory};
use super::merging::{Meeting, Meetings, Merging, StitchedIds};
use super::segmenter::Segmenter;
use crate::error::{Error, Result};
use crate::large_pages::{self, reserve_projected};
use crate::model::NO_ID;
use crate::packed::{fold, LONGEST};
use crate::prefetch::prefetch;
use crate::pretokenize::{PreTokenizer, Scanner};
use crate::Interrupt;

/// Bytes that are looked up and stitched at a time, so that their words and ids stay in the cache.
pub(super) const STITCHED: usize = 1 << 15;

/// Number of merges that take as long to analyse as stitching saves per byte of text.
const MERGES_PER_BYTE: usize = 4;

/// Limit of replaced pairs per byte of a text; the usual number is one per two words.
///
/// It is not proven that replacing always ends.
const MOST_REPLACED: usize = 8;

/// Bytes of the parts of a word that is too long for a [`Key`](crate::packed::Key): long words,
/// such as phrases of Chinese and Japanese, seldom repeat, but their parts do.
const PIECE: usize = 12;

/// Bytes and tokens: a part of a text with more than 5 tokens per 8 bytes has few merges.
///
/// If, in addition, one of [`FRESH`] tokens comes with a new word or a new pair, little is cached.
/// Then the next parts are merged as they are and stitched only at their ends, while merges are
/// few.
const SPARSE: (usize, usize) = (8, 5);
/// Tokens per new word or pair: with at most this many, little is cached.
const FRESH: usize = 16;

/// Number of tokens by which prefetching runs ahead.
const AHEAD: usize = 8;

/// The facts about a model that stitching needs.
#[derive(Debug)]
pub(super) struct Stitching {
    meetings: Meetings,
    /// Finds words.
    words: PreTokenizer,
}

impl Stitching {
    /// Analyse a model.
    ///
    /// `None` if pre-tokens are words, or if the model does more than merge.
    fn of(pre_tokenizer: &PreTokenizer, merging: &Merging) -> Result<Option<Self>> {
        let exceptions = merging.whole.is_some() || merging.superwords.is_some();
        if exceptions || !merging.is_plain() || pre_tokenizer.rewrites() {
            return Ok(None);
        }
        let mut one = false;
        // The split may run a pattern of the caller, which may be interrupted.
        pre_tokenizer.split(b"a b", |start, end| one = (start, end) == (0, 3))?;
        let meetings = match one {
            true => Meetings::of(&merging.merges, &merging.alphabet),
            false => None,
        };
        Ok(meetings.map(|meetings| Stitching {
            meetings,
            words: Scanner::Gpt2.into(),
        }))
    }
}

/// The result of merging two tokens: one token, or [`APART`], or [`MANY`] plus an index into
/// [`Junctions::many`].
type Made = u32;
const MADE_BITS: u32 = 22;
/// Lowest number of a result of several tokens, which are in [`Junctions::many`].
const MANY: Made = 1 << 21;
/// The result of two tokens that stay as they are.
const APART: Made = (1 << MADE_BITS) - 1;

/// Pairs in a bucket; a bucket fills half of a cache line.
const WAYS: usize = 4;

/// A cache of the results of merging pairs of tokens.
///
/// A bucket holds the last few of its pairs.
#[derive(Debug)]
pub(crate) struct Junctions {
    /// A power of two of buckets.
    ///
    /// A slot has a pair, and in its lowest bits the result.
    buckets: Vec<[u64; WAYS]>,
    pairs: usize,
    /// Buckets at most.
    most: usize,
    /// Results of several tokens, one after another: their number, then the tokens.
    many: Vec<u32>,
    most_many: usize,
}

/// Buckets at first.
const FEW: usize = 1 << 8;

/// Stands for a free slot; no token has so high an id.
const NO_PAIR: u64 = u64::MAX;

#[inline(always)]
fn pair(left: u32, right: u32) -> u64 {
    u64::from(left) << 21 | u64::from(right)
}

impl Junctions {
    /// Make a cache of `memory` bytes.
    pub fn new(memory: usize) -> Self {
        Junctions {
            buckets: vec![[NO_PAIR; WAYS]; FEW],
            pairs: 0,
            most: 1 << (memory / 2 / size_of::<[u64; WAYS]>()).max(FEW).ilog2(),
            many: Vec::new(),
            most_many: (memory / 2 / size_of::<u32>()).clamp(FEW, (APART - MANY) as usize),
        }
    }

    pub fn stats(&self) -> CacheStats {
        CacheStats {
            entries: self.pairs,
            bytes: size_of_val(&self.buckets[..]) + size_of_val(&self.many[..]),
        }
    }

    #[inline(always)]
    fn place(&self, pair: u64) -> usize {
        fold(pair, 0x9E37_79B9_7F4A_7C15) as usize & (self.buckets.len() - 1)
    }

    #[inline(always)]
    fn get(&self, left: u32, right: u32) -> Option<Made> {
        let pair = pair(left, right);
        let mut found = NO_PAIR;
        for &slot in &self.buckets[self.place(pair)] {
            // Without a branch on which slot matches.
            found = if slot >> MADE_BITS == pair {
                slot
            } else {
                found
            };
        }
        (found != NO_PAIR).then_some(found as Made & APART)
    }

    #[inline(always)]
    fn prefetch(&self, left: u32, right: u32) {
        prefetch(&self.buckets[self.place(pair(left, right))]);
    }

    fn insert(&mut self, left: u32, right: u32, made: Made) {
        // At a higher load, too many buckets would have more pairs than slots.
        if self.pairs > self.buckets.len() * WAYS / 2 && self.buckets.len() < self.most {
            let size = (2 * self.buckets.len()).min(self.most);
            let larger = large_pages::table(size, [NO_PAIR; WAYS]);
            self.pairs = 0;
            for slot in std::mem::replace(&mut self.buckets, larger)
                .into_iter()
                .flatten()
            {
                if slot != NO_PAIR {
                    self.put(slot);
                }
            }
        }
        self.put(pair(left, right) << MADE_BITS | u64::from(made));
    }

    /// Put a pair in the first slot of its bucket; the last pair gives way.
    fn put(&mut self, slot: u64) {
        let place = self.place(slot >> MADE_BITS);
        let bucket = &mut self.buckets[place];
        self.pairs += usize::from(bucket[WAYS - 1] == NO_PAIR);
        bucket.copy_within(..WAYS - 1, 1);
        bucket[0] = slot;
    }

    /// Store a result of several tokens, and return its number.
    fn keep(&mut self, made: &[u32]) -> Made {
        if self.many.len() + made.len() >= self.most_many {
            self.many.clear();
            self.buckets.fill([NO_PAIR; WAYS]);
            self.pairs = 0;
        }
        let place = self.many.len() as u32;
        self.many.push(made.len() as u32);
        self.many.extend_from_slice(made);
        MANY + place
    }

    fn kept(&self, made: Made) -> &[u32] {
        let (count, made) = self.many[(made - MANY) as usize..].split_at(1);
        &made[..count[0] as usize]
    }
}

/// Working memory that is kept from part to part of a text, and from text to text.
#[derive(Debug)]
pub(crate) struct StitchingState {
    pub junctions: Junctions,
    /// Pre-tokens that wait to be stitched.
    waiting: Vec<Range<usize>>,
    /// The ids of stitched pre-tokens.
    stitched: StitchedIds,
    words: Vec<Range<usize>>,
    ids: Vec<u32>,
    /// Whether the next part is merged as it is, see [`SPARSE`].
    sparse: bool,
    work: WorkingMemory,
}

impl StitchingState {
    fn new(memory: CacheMemory) -> Self {
        StitchingState {
            junctions: Junctions::new(memory.junctions()),
            waiting: Vec::new(),
            stitched: StitchedIds::default(),
            words: Vec::new(),
            ids: Vec::new(),
            sparse: false,
            work: WorkingMemory::default(),
        }
    }
}

/// A text whose pre-tokens are looked up.
pub(crate) struct LookedUpText<'t> {
    pub segmenter: &'t Segmenter,
    pub text: &'t [u8],
    pub cache: &'t mut IdsCache,
    pub interrupt: Interrupt<'t>,
}

/// The rows of tokens of several pre-tokens, one after another.
struct Row<'r> {
    merging: &'r Merging,
    meetings: &'r Meetings,
    junctions: &'r mut Junctions,
    out: &'r mut Vec<u32>,
    /// Start of the current row in `out`.
    first: usize,
    /// Tokens that come next, last one first, as pairs: the token before, and the token itself.
    ///
    /// A token stays as it is if the token before is still its neighbour.
    pending: Vec<(u32, u32)>,
    made: Vec<u32>,
    scratch: Vec<u32>,
    /// How many more pairs may be replaced.
    left: usize,
    /// Words and pairs of this part that were new.
    new: usize,
    interrupt: Interrupt<'r>,
}

impl Row<'_> {
    /// Return the last token of the row, or [`NO_ID`].
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

    /// Append a token.
    ///
    /// Returns false if too many pairs were replaced.
    #[inline(never)]
    fn append(&mut self, mut id: u32) -> Result<bool> {
        self.pending.clear();
        loop {
            let last = self.last();
            let made = match self.may_merge(last, id) {
                true => self.junction(last, id)?,
                false => APART,
            };
            if made != APART {
                self.left -= 1;
                if self.left == 0 {
                    return Ok(false);
                }
                self.out.pop();
                id = self.first_of(made);
                continue;
            }
            self.out.push(id);
            loop {
                let Some((before, next)) = self.pending.pop() else {
                    return Ok(true);
                };
                if self.last() != before {
                    id = next;
                    break;
                }
                self.out.push(next);
            }
        }
    }

    /// Prefetch the data about tokens that come soon.
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

    /// Return the first token of a result; the others come next.
    #[inline(always)]
    fn first_of(&mut self, made: Made) -> u32 {
        if made < MANY {
            return made;
        }
        let made = self.junctions.kept(made);
        let pairs = made.windows(2).rev();
        self.pending.extend(pairs.map(|two| (two[0], two[1])));
        made[0]
    }

    /// Return the result of merging the last token and the next one.
    #[inline(always)]
    fn junction(&mut self, last: u32, id: u32) -> Result<Made> {
        if let Some(made) = self.junctions.get(last, id) {
            return Ok(made);
        }
        let made = self.made_of(last, id)?;
        self.new += 1;
        self.junctions.insert(last, id, made);
        Ok(made)
    }

    /// Like [`Self::junction`], for a pair that is not cached.
    #[inline(never)]
    fn made_of(&mut self, last: u32, id: u32) -> Result<Made> {
        let rank = match self.meetings.meeting(&self.merging.merges, last, id) {
            Meeting::Apart => return Ok(APART),
            Meeting::One(one) => return Ok(one),
            Meeting::Others(rank) => rank,
        };
        self.made.clear();
        for id in [last, id] {
            (self.meetings).symbols_before(rank, id, &mut self.scratch, &mut self.made);
        }
        self.merging.merge_ids(&mut self.made, self.interrupt)?;
        Ok(match self.made[..] {
            [one] => one,
            _ => self.junctions.keep(&self.made),
        })
    }
}

impl Encoder {
    /// Return the facts that stitching needs, if it works for this model and enough text has come.
    pub(super) fn stitching(&self, bytes: usize) -> Result<Option<&Stitching>> {
        let Segmenter::Merges(merging) = &self.segmenter else {
            return Ok(None);
        };
        let before = self.bytes_seen.load(Ordering::Relaxed);
        let enough = merging.merges.len() / MERGES_PER_BYTE;
        if before < enough {
            let seen = before.saturating_add(bytes);
            self.bytes_seen.store(seen, Ordering::Relaxed);
            if seen < enough {
                return Ok(None);
            }
        }
        let make = || Stitching::of(&self.pre_tokenizer, merging).map(|found| found.map(Box::new));
        Ok(self.stitching.get_or_try_init(make)?.as_deref())
    }
}

/// Stitches the new pre-tokens of a text.
pub(super) struct Stitcher<'s> {
    stitching: &'s Stitching,
    state: &'s mut StitchingState,
}

impl<'s> Stitcher<'s> {
    /// Make a stitcher for a text of `bytes` bytes.
    ///
    /// `None` if pre-tokens are merged as they are.
    pub fn of(
        encoder: &'s Encoder,
        bytes: usize,
        state: &'s mut Option<Box<StitchingState>>,
    ) -> Result<Option<Self>> {
        let Some(stitching) = encoder.stitching(bytes)? else {
            return Ok(None);
        };
        let make = || Box::new(StitchingState::new(encoder.cache_memory()));
        let state = state.get_or_insert_with(make);
        // A failed call may have left entries.
        state.waiting.clear();
        Ok(Some(Stitcher { stitching, state }))
    }

    /// Return whether every byte of a pre-token is a token.
    pub fn knows(&self, pre_token: &[u8]) -> bool {
        self.stitching.meetings.knows(pre_token)
    }

    /// Add a pre-token, to be stitched together with others.
    pub fn add(&mut self, place: Range<usize>) {
        self.state.waiting.push(place);
    }

    /// Stitch the pre-tokens that were added.
    pub fn resolve(&mut self, source: &mut LookedUpText) -> Result<&StitchedIds> {
        let waiting = std::mem::take(&mut self.state.waiting);
        let StitchedIds { mut ids, mut ends } = std::mem::take(&mut self.state.stitched);
        ids.clear();
        ends.clear();
        let result = self.stitch(source, &waiting, &mut ids, &mut ends);
        self.state.stitched = StitchedIds { ids, ends };
        self.state.waiting = waiting;
        self.state.waiting.clear();
        result.map(|()| &self.state.stitched)
    }

    /// Append the ids of pre-tokens, and to `ends` where the ids of each one end.
    pub fn stitch(
        &mut self,
        source: &mut LookedUpText,
        pre_tokens: &[Range<usize>],
        out: &mut Vec<u32>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        let (first, known) = (out.len(), ends.len());
        if self.append(source, pre_tokens, out, ends)? {
            return Ok(());
        }
        out.truncate(first);
        ends.truncate(known);
        for place in pre_tokens {
            let pre_token = &source.text[place.clone()];
            let scratch = &mut self.state.work.scratch;
            (source.segmenter).ids(pre_token, scratch, out, source.interrupt)?;
            ends.push(out.len());
        }
        Ok(())
    }

    /// Like [`Self::stitch`], but returns false if too many pairs were replaced.
    fn append(
        &mut self,
        source: &mut LookedUpText,
        pre_tokens: &[Range<usize>],
        out: &mut Vec<u32>,
        ends: &mut Vec<usize>,
    ) -> Result<bool> {
        let Segmenter::Merges(merging) = source.segmenter else {
            return Ok(false);
        };
        let (meetings, state) = (&self.stitching.meetings, &mut *self.state);
        let bytes = pre_tokens.iter().map(Range::len).sum::<usize>();
        let mut row = Row {
            merging,
            meetings,
            junctions: &mut state.junctions,
            first: out.len(),
            out,
            pending: Vec::new(),
            made: Vec::new(),
            scratch: Vec::new(),
            left: MOST_REPLACED.saturating_mul(bytes),
            new: 0,
            interrupt: source.interrupt,
        };
        let first = row.first;
        let mut parts = Parts {
            pre_tokens,
            from: pre_tokens.first().map_or(0, |one| one.start),
        };
        let mut pre_token_ends = pre_tokens.iter().map(|one| one.end).peekable();
        while !parts.pre_tokens.is_empty() {
            if (source.interrupt)() {
                return Err(Error::Interrupted);
            }
            let from = parts.from;
            state.words.clear();
            let words = match state.sparse {
                true => None,
                false => Some(self.stitching),
            };
            let size = parts.find_words(words, source.text, &mut state.words)?;
            state.ids.clear();
            let known = source.cache.stats().entries;
            if state.sparse {
                for word in &state.words {
                    let (word, scratch) = (&source.text[word.clone()], &mut state.work.scratch);
                    let ids = &mut state.ids;
                    (source.segmenter).ids(word, scratch, ids, source.interrupt)?;
                }
            } else {
                let mut lookup = PreTokenLookup::of_words(source, &mut state.work, &mut state.ids);
                let mut places = lookup.places();
                for word in &state.words {
                    places.push(word.start, word.end);
                }
                drop(places);
                lookup.finish()?;
            }
            row.new = source.cache.stats().entries.saturating_sub(known);
            // Every token covers at least one byte, also a token that replaces others.
            if row.out.capacity() - row.out.len() < size {
                match pre_tokens {
                    [one] => {
                        let (done, ids) = (from - one.start, row.out.len() - first);
                        reserve_projected(row.out, size, (done, one.len() - done), ids);
                    }
                    _ => row.out.reserve(size),
                }
            }
            let (mut left, mut at, mut before) = (0, 0, NO_ID);
            let mut words = state.words.iter();
            let ids = &state.ids[..];
            for (number, &id) in ids.iter().enumerate() {
                row.prefetch(&ids[number..]);
                if left == 0 {
                    if pre_token_ends.next_if_eq(&at).is_some() {
                        ends.push(row.out.len());
                        row.first = row.out.len();
                    }
                    let word = words.next().cloned().unwrap_or_default();
                    (left, at, before) = (word.len(), word.end, NO_ID);
                }
                let last = row.last();
                if last == before || !row.may_merge(last, id) {
                    row.out.push(id);
                } else if !row.append(id)? {
                    return Ok(false);
                }
                before = id;
                left -= meetings.length(id);
            }
            let fresh = state.sparse || FRESH * row.new > ids.len();
            state.sparse = fresh && SPARSE.0 * ids.len() > SPARSE.1 * size;
            if pre_token_ends.next_if_eq(&at).is_some() {
                ends.push(row.out.len());
                row.first = row.out.len();
            }
        }
        Ok(true)
    }
}

/// The rest of several pre-tokens, taken part by part.
struct Parts<'p> {
    pre_tokens: &'p [Range<usize>],
    /// Offset where the first pre-token continues.
    from: usize,
}

impl Parts<'_> {
    /// Append the words of the next part, and return the part's length in bytes.
    ///
    /// Words also end where pre-tokens end. Without `stitching`, each pre-token's share of the part
    /// is one word.
    fn find_words(
        &mut self,
        stitching: Option<&Stitching>,
        text: &[u8],
        words: &mut Vec<Range<usize>>,
    ) -> Result<usize> {
        let mut size = 0;
        while let (Some(first), true) = (self.pre_tokens.first(), size < STITCHED) {
            // Adjacent pre-tokens are split together.
            let (from, mut to, mut count) = (self.from, first.end, 1);
            while let Some(next) = self.pre_tokens.get(count) {
                if next.start != to || to - from >= STITCHED {
                    break;
                }
                (to, count) = (next.end, count + 1);
            }
            let pre_tokens = &self.pre_tokens[..count];
            // Only the last pre-token can be this long, and is cut.
            if to - from >= 2 * STITCHED {
                to = from + STITCHED;
                count -= 1;
            }
            match stitching {
                Some(stitching) => stitching.words_of(text, from..to, pre_tokens, words)?,
                None => {
                    let part = |one: &Range<usize>| from.max(one.start)..to.min(one.end);
                    words.extend(pre_tokens.iter().map(part));
                }
            }
            size += to - from;
            let last = &self.pre_tokens[count..];
            self.from = match last.first() {
                Some(next) if next.start < to => to,
                Some(next) => next.start,
                None => to,
            };
            self.pre_tokens = last;
        }
        Ok(size)
    }
}

impl Stitching {
    /// Append the words of a part of a text.
    fn words_of(
        &self,
        text: &[u8],
        part: Range<usize>,
        pre_tokens: &[Range<usize>],
        words: &mut Vec<Range<usize>>,
    ) -> Result<()> {
        let (mut start, block) = (part.start, &text[part.clone()]);
        let shifts = self.meetings.spaces_end_words();
        let mut ends = pre_tokens.iter().map(|one| one.end).peekable();
        self.words.split(block, |_, mut end| {
            // The word takes the space with which the next word starts.
            end += usize::from(shifts && block.get(end) == Some(&b' '));
            end += part.start;
            while start < end {
                let word_end = ends.next_if(|&one| one <= end).unwrap_or(end);
                while word_end - start > LONGEST {
                    words.push(start..start + PIECE);
                    start += PIECE;
                }
                if start < word_end {
                    words.push(start..word_end);
                    start = word_end;
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

    /// Make random merges of earlier symbols.
    ///
    /// Some make a token that exists, and some come too early.
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
        let (mut found, mut shorter) = ([0; 4], 0);
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
                        _ if matches!(meeting, Meeting::Others(_)) => meeting,
                        [token] => Meeting::One(token),
                        _ => Meeting::Apart,
                    };
                    assert_eq!(meeting, expected, "{round} {left:?} {right:?}");
                    let mut symbols = vec![one, other];
                    if let Meeting::Others(rank) = meeting {
                        symbols.clear();
                        for id in [one, other] {
                            all.symbols_before(rank, id, &mut Vec::new(), &mut symbols);
                        }
                        assert!(made != [one, other], "{round} {left:?} {right:?}");
                        shorter += usize::from(symbols.len() < left.len() + right.len());
                    }
                    merging.merge_ids(&mut symbols, &|| false).unwrap();
                    assert_eq!(symbols, made, "{round} {left:?} {right:?}");
                    let apart = meeting == Meeting::Apart;
                    assert!(
                        apart || all.may_merge(one, other),
                        "{round} {left:?} {right:?}"
                    );
                    found[match meeting {
                        Meeting::Apart if all.may_merge(one, other) => 0,
                        Meeting::Apart => 1,
                        Meeting::One(_) => 2,
                        Meeting::Others(_) => 3,
                    }] += 1;
                }
            }
        }
        assert!(found.iter().all(|&count| count > 1000), "{found:?}");
        assert!(shorter > 100, "{shorter}");
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
            if encoder.stitching(usize::MAX).unwrap().is_none() {
                refused += 1;
                continue;
            }
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
                encoder.ids(&text, None, &mut out, &|| false).unwrap();
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
        junctions.insert(3, 4, 5);
        junctions.insert(3, 5, APART);
        let found = [(3, 4), (3, 5), (4, 3)].map(|(left, right)| junctions.get(left, right));
        assert_eq!(found, [Some(5), Some(APART), None]);
        let mut junctions = Junctions::new(1 << 20);
        for id in 0..100_000 {
            let made = junctions.keep(&[id, 1, 2]);
            junctions.insert(id, 1, made);
            let Some(made @ MANY..) = junctions.get(id, 1) else {
                panic!("{id}");
            };
            assert_eq!(junctions.kept(made), [id, 1, 2]);
        }
        assert_eq!(junctions.buckets.len(), junctions.most);
        assert!(junctions.stats().bytes <= 1 << 20);
        // The pairs that came last are found.
        let mut junctions = Junctions::new(1 << 20);
        (0..1 << 20).for_each(|id| junctions.insert(id, id, id));
        let kept = (0..1 << 20).filter(|&id| junctions.get(id, id) == Some(id));
        assert_eq!(kept.count(), junctions.stats().entries);
    }
}
