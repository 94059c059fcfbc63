//! Lookup of pre-tokens in batches.
//!
//! A scanner calls back with one pre-token after another. The lookup collects them as keys with
//! hashes, and prefetches the cache lines of their slots. Then it looks up the whole batch, so that
//! many cache misses overlap.

use std::ops::{Range, RangeInclusive};

use super::cache::{CacheMemory, IdsCache, PrefetchingHasher, INLINE};
use super::encoder::Encoder;
use super::merging::{DeferredMerges, Merging, StitchedIds};
use super::segmenter::{check_length, Segment, Segmenter};
use super::stitching::{LookedUpText, Stitcher, StitchingState, STITCHED};
use super::word_starts::WordStarts;
use crate::error::{Error, Result};
use crate::key_batch::{BatchLookup, GatheredPlaces, KeyBatch, BATCH};
use crate::large_pages::reserve_projected;
use crate::packed::{Key, LONGEST};
use crate::pretokenize::{Metaspace, TextsSink};
use crate::Interrupt;

/// Marks the end of a line among ids; no token has this id.
pub(crate) const LINE_END: u32 = u32::MAX - 1;

/// Batches between two polls of the interrupt.
pub(crate) const POLL_EVERY: usize = 64;

/// Lengths in bytes of cached pre-tokens that are too long for a [`Key`].
pub(crate) const CACHED: RangeInclusive<usize> = LONGEST + 1..=128;

/// The cache and the working memory of a call, kept for the next call.
#[derive(Debug)]
pub(crate) struct LookupState {
    pub cache: IdsCache,
    pub batch: Box<KeyBatch>,
    /// Buffer for a word after `Metaspace` rewrote it.
    pub rewritten: Vec<u8>,
    /// Words of over 15 bytes that are not a slice of an input text, one after another.
    pub texts: Vec<u8>,
    pub scratch: Vec<Segment>,
    pub deferred: DeferredMerges,
    /// `None` until a text is first stitched.
    pub stitching: Option<Box<StitchingState>>,
}

/// The working memory of a lookup that runs inside another lookup.
#[derive(Debug, Default)]
pub(crate) struct WorkingMemory {
    batch: Box<KeyBatch>,
    rewritten: Vec<u8>,
    pub scratch: Vec<Segment>,
    deferred: DeferredMerges,
}

impl LookupState {
    pub fn new(memory: CacheMemory) -> Self {
        LookupState {
            cache: IdsCache::new(memory),
            batch: Box::default(),
            rewritten: Vec::new(),
            texts: Vec::new(),
            scratch: Vec::new(),
            deferred: DeferredMerges::default(),
            stitching: None,
        }
    }
}

/// Looks up the pre-tokens of one text, in order.
///
/// After a failure, every method does nothing.
pub(crate) struct PreTokenLookup<'b> {
    segmenter: &'b Segmenter,
    text: &'b [u8],
    /// How a pre-token is rewritten before it is segmented.
    words: Option<Metaspace<'b>>,
    cache: &'b mut IdsCache,
    batch: &'b mut KeyBatch,
    count: usize,
    rewritten: &'b mut Vec<u8>,
    scratch: &'b mut Vec<Segment>,
    /// `None` if new pre-tokens are segmented at once, not deferred.
    merging: Option<&'b Merging>,
    deferred: &'b mut DeferredMerges,
    /// Stitches new pre-tokens of many words, if the model allows it.
    stitcher: Option<Stitcher<'b>>,
    out: &'b mut Vec<u32>,
    /// Length of `out` before the first id of this text.
    first: usize,
    interrupt: Interrupt<'b>,
    batches: usize,
    result: Result<()>,
}

impl BatchLookup for PreTokenLookup<'_> {
    #[inline(always)]
    fn batch(&mut self) -> &mut KeyBatch {
        self.batch
    }

    #[inline(always)]
    fn count(&mut self) -> &mut usize {
        &mut self.count
    }

    /// Append the ids of the batch.
    #[inline(never)]
    fn look_up(&mut self) {
        let count = std::mem::take(&mut self.count);
        if self.result.is_err() {
            return;
        }
        self.batches += 1;
        if self.batches.is_multiple_of(POLL_EVERY) && (self.interrupt)() {
            self.result = Err(Error::Interrupted);
            return;
        }
        match self.words {
            None => self.make_keys(count),
            Some(_) => self.cache.hasher().make_hashes(self.batch, count),
        }
        if self.out.capacity() - self.out.len() < count * INLINE {
            let done = match self.words {
                None => self.done(count),
                Some(_) => 0,
            };
            let rest = self.text.len().saturating_sub(done);
            let ids = self.out.len() - self.first + count;
            reserve_projected(self.out, count * INLINE, (done, rest), ids);
        }
        self.result = self.append_all(count);
    }
}

impl TextsSink for GatheredPlaces<'_, PreTokenLookup<'_>> {
    /// Note that a line ends here: [`LINE_END`] comes next among the ids.
    #[inline]
    fn end_text(&mut self) {
        // Encoded as an empty pre-token; no other pre-token is empty.
        self.push(0, 0);
    }
}

/// The key that stands for the end of a line.
///
/// The cache holds it like any other key, with [`LINE_END`] as its id, so that a line's end does
/// not interrupt the loop over hits.
pub(crate) const LINE_END_KEY: Key = Key::NONE;

/// Return the key and the hash of a pre-token for which [`Key::in_window`] returns `None`.
#[inline(never)]
fn odd_key(text: &[u8], hasher: PrefetchingHasher, start: usize, end: usize) -> (Key, u64) {
    let length = end - start;
    if length == 0 {
        return (LINE_END_KEY, hasher.hash(LINE_END_KEY));
    }
    if (1..=LONGEST).contains(&length) {
        let key = Key::of_range(text, start, end);
        return (key, hasher.hash(key));
    }
    let hash = match CACHED.contains(&length) {
        true => hasher.hash_long(&text[start..end]),
        false => 0,
    };
    (Key::of_place(start, length), hash)
}

impl<'b> PreTokenLookup<'b> {
    pub fn new(
        encoder: &'b Encoder,
        text: &'b [u8],
        words: Option<Metaspace<'b>>,
        state: &'b mut LookupState,
        out: &'b mut Vec<u32>,
        interrupt: Interrupt<'b>,
    ) -> Self {
        let merging = match &encoder.segmenter {
            // With rewriting, a key holds the word before it was rewritten, but `whole` looks up
            // rewritten words.
            Segmenter::Merges(merging) if words.is_none() || merging.whole.is_none() => {
                Some(merging).filter(|merging| merging.is_plain())
            }
            _ => None,
        };
        let stitcher = match words {
            None => Stitcher::of(encoder, text.len(), &mut state.stitching),
            Some(_) => Ok(None),
        };
        let (stitcher, result) = match stitcher {
            Ok(stitcher) => (stitcher, Ok(())),
            Err(error) => (None, Err(error)),
        };
        // A failed call may have left entries.
        state.deferred.clear();
        PreTokenLookup {
            merging,
            deferred: &mut state.deferred,
            stitcher,
            segmenter: &encoder.segmenter,
            text,
            words,
            cache: &mut state.cache,
            batch: &mut state.batch,
            count: 0,
            rewritten: &mut state.rewritten,
            scratch: &mut state.scratch,
            first: out.len(),
            out,
            interrupt,
            batches: 0,
            result,
        }
    }

    /// Make a lookup of the words that a stitcher cuts pre-tokens into.
    pub fn of_words(
        source: &'b mut LookedUpText,
        work: &'b mut WorkingMemory,
        out: &'b mut Vec<u32>,
    ) -> Self {
        work.deferred.clear();
        let merging = match source.segmenter {
            Segmenter::Merges(merging) => Some(merging),
            _ => None,
        };
        PreTokenLookup {
            merging: merging.filter(|merging| merging.is_plain()),
            deferred: &mut work.deferred,
            stitcher: None,
            segmenter: source.segmenter,
            text: source.text,
            words: None,
            cache: source.cache,
            batch: &mut work.batch,
            count: 0,
            rewritten: &mut work.rewritten,
            scratch: &mut work.scratch,
            first: out.len(),
            out,
            interrupt: source.interrupt,
            batches: 0,
            result: Ok(()),
        }
    }

    /// Return a sink that takes pre-tokens as ranges of the text.
    ///
    /// Only for pre-tokens that are not rewritten.
    pub fn places(&mut self) -> GatheredPlaces<'_, Self> {
        GatheredPlaces::new(self)
    }

    /// Take the next word to be rewritten, which need not be a slice of the text.
    pub fn push_word(&mut self, word: &[u8]) {
        if (1..=LONGEST).contains(&word.len()) {
            self.batch.keys[self.count % BATCH] = Key::of(word);
            self.count += 1;
            if self.count == BATCH {
                self.look_up();
            }
            return;
        }
        self.look_up();
        if self.result.is_ok() {
            let hash = match CACHED.contains(&word.len()) {
                true => self.cache.hash_long(word),
                false => 0,
            };
            self.result = self.append_long(word, hash);
        }
    }

    /// Return how many bytes of the text precede the end of the batch's last pre-token.
    fn done(&self, count: usize) -> usize {
        let mut ends = self.batch.ends[..count].iter().rev();
        ends.find(|&&end| end != 0).map_or(0, |&end| end)
    }

    /// Make the keys and the hashes of the first `count` ranges of the batch.
    #[inline(always)]
    fn make_keys(&mut self, count: usize) {
        let (text, hasher) = (self.text, self.cache.hasher());
        hasher.make_keys(text, self.batch, count, |start, end| {
            odd_key(text, hasher, start, end)
        });
    }

    fn append_all(&mut self, count: usize) -> Result<()> {
        let mut at = 0;
        while at < count {
            at = (self.cache).append_hits(self.batch, at..count, self.out);
            if at < count {
                let (key, hash) = (self.batch.keys[at], self.batch.hashes[at]);
                self.append_missed(key, hash)?;
                at += 1;
            }
        }
        match self.deferred.is_due(self.out.len()) {
            true => self.resolve(),
            false => Ok(()),
        }
    }

    /// Append the ids of a pre-token that was not a first hit.
    ///
    /// Slow path: the entry overflowed its bucket, has more than four ids, is longer than 15 bytes,
    /// or is new.
    #[inline(never)]
    fn append_missed(&mut self, key: Key, hash: u64) -> Result<()> {
        match key.place() {
            None => self.append_key(key, hash),
            Some(place) => {
                let text = self.text;
                let word = &text[place.clone()];
                let cached = CACHED.contains(&word.len());
                if cached && self.cache.append_long(word, hash, self.out) {
                    return Ok(());
                }
                if self.stitch(place, key, hash)? {
                    return Ok(());
                }
                match cached {
                    false => self.append_by_words(word),
                    true if self.defer(word, key, hash)? => Ok(()),
                    true => self.append_new_long(word, hash),
                }
            }
        }
    }

    /// Stitch a new pre-token, a very long one at once.
    ///
    /// Returns false if the pre-token can't be stitched.
    #[inline(never)]
    fn stitch(&mut self, place: Range<usize>, key: Key, hash: u64) -> Result<bool> {
        let knows = |stitcher: &Stitcher| stitcher.knows(&self.text[place.clone()]);
        if !self.stitcher.as_ref().is_some_and(knows) {
            return Ok(false);
        }
        if place.len() > STITCHED {
            self.resolve()?;
        }
        let Some(stitcher) = &mut self.stitcher else {
            return Ok(false);
        };
        if place.len() <= STITCHED {
            stitcher.add(place);
            self.deferred.add_stitched((key, hash), self.out.len());
            return Ok(true);
        }
        let mut source = LookedUpText {
            segmenter: self.segmenter,
            text: self.text,
            cache: self.cache,
            interrupt: self.interrupt,
        };
        stitcher.stitch(&mut source, &[place], self.out, &mut Vec::new())?;
        Ok(true)
    }

    /// Defer a new pre-token.
    ///
    /// Returns false if the pre-token must be segmented at once.
    fn defer(&mut self, word: &[u8], key: Key, hash: u64) -> Result<bool> {
        let Some(merging) = self.merging else {
            return Ok(false);
        };
        if self.deferred.is_full() {
            self.resolve()?;
        }
        let word = match self.words {
            None => (word, key.place().is_none().then(|| key.text())),
            Some(words) => {
                words.rewritten(word, self.rewritten);
                (&**self.rewritten, None)
            }
        };
        let at = self.out.len();
        Ok(self.deferred.add(merging, word, (key, hash), at))
    }

    /// Insert the ids of all deferred pre-tokens.
    fn resolve(&mut self) -> Result<()> {
        let (Some(merging), false) = (self.merging, self.deferred.is_empty()) else {
            return Ok(());
        };
        let none = StitchedIds::default();
        let stitched = match &mut self.stitcher {
            None => &none,
            Some(stitcher) => stitcher.resolve(&mut LookedUpText {
                segmenter: self.segmenter,
                text: self.text,
                cache: self.cache,
                interrupt: self.interrupt,
            })?,
        };
        (self.deferred).resolve(merging, self.text, stitched, self.cache, self.out);
        Ok(())
    }

    fn append_key(&mut self, key: Key, hash: u64) -> Result<()> {
        if let Some(ids) = self.cache.ids_of_key(key, hash) {
            self.out.extend_from_slice(ids);
            return Ok(());
        }
        if key == LINE_END_KEY {
            self.out.push(LINE_END);
            self.cache.insert_key(key, hash, &[LINE_END]);
            return Ok(());
        }
        let (text, length) = key.text();
        if self.defer(&text[..length], key, hash)? {
            return Ok(());
        }
        let first = self.out.len();
        self.segment(&text[..length])?;
        self.cache.insert_key(key, hash, &self.out[first..]);
        Ok(())
    }

    /// Append the ids of a word that is over 15 bytes long, or empty.
    fn append_long(&mut self, word: &[u8], hash: u64) -> Result<()> {
        if !CACHED.contains(&word.len()) {
            return self.append_by_words(word);
        }
        if self.cache.append_long(word, hash, self.out) {
            return Ok(());
        }
        self.append_new_long(word, hash)
    }

    fn append_new_long(&mut self, word: &[u8], hash: u64) -> Result<()> {
        let first = self.out.len();
        self.segment(word)?;
        self.cache.insert_long(word, hash, &self.out[first..]);
        Ok(())
    }

    /// Append the ids of a pre-token that is too long to be cached, word by word if the model
    /// allows it.
    fn append_by_words(&mut self, text: &[u8]) -> Result<()> {
        match self.segmenter {
            Segmenter::Merges(merging) if merging.by_words.is_some() => {}
            _ => return self.segment(text),
        }
        check_length(text)?;
        let mut done = 0usize;
        WordStarts::of(text).parts(|part| {
            done += 1;
            if done.is_multiple_of(POLL_EVERY * BATCH) && (self.interrupt)() {
                return Err(Error::Interrupted);
            }
            match part.len() {
                1..=LONGEST => {
                    let key = Key::of(part);
                    self.append_key(key, self.cache.hash(key))
                }
                length if CACHED.contains(&length) => {
                    self.append_long(part, self.cache.hash_long(part))
                }
                _ => self.segment(part),
            }
        })
    }

    fn segment(&mut self, word: &[u8]) -> Result<()> {
        let word = match self.words {
            None => word,
            Some(words) => {
                words.rewritten(word, self.rewritten);
                &*self.rewritten
            }
        };
        self.segmenter
            .ids(word, self.scratch, self.out, self.interrupt)
    }

    /// Look up the rest, and return the first failure.
    pub fn finish(mut self) -> Result<()> {
        self.look_up();
        if self.result.is_ok() {
            self.result = self.resolve();
        }
        self.result?;
        match self.segmenter.superwords() {
            Some(superwords) => superwords.join(self.out, self.first, self.interrupt),
            None => Ok(()),
        }
    }
}
