//! Word by word encoding for models like SentencePiece's, which take a sentence as one pre-token.
//!
//! This works if the normalizers end only with SentencePiece's treatment of spaces, nothing splits
//! the text, and no token crosses the start of a word. Then words are found in the text before its
//! spaces are rewritten, and only a word that is new to the cache is rewritten.
//!
//! As in `lookup`, words are looked up in batches. A word of a unigram model is cached only if its
//! ids are valid after any sum of scores. Before a word that is not, and after each batch, the sum
//! is computed from the ids.

use std::borrow::Cow;
use std::ops::Range;

use super::borders::Borders;
use super::cache::{IdsCache, INLINE};
use super::encoder::{Call, Encoder, BLOCK};
use super::lookup::{LookupState, CACHED, LINE_END, LINE_END_KEY, POLL_EVERY};
use super::merging::{DeferredMerges, Merging, StitchedIds};
use super::segmenter::{Segment, Segmenter};
use super::unigram::{CachedWord, Sentence, Unigram};
use super::word_starts::WordStarts;
use crate::error::{Error, Result};
use crate::key_batch::{KeyBatch, BATCH};
use crate::normalize::{rewrite_spaced, Chain, Edges, Stops, Tidy};
use crate::packed::{Key, LONGEST};
use crate::pretokenize::{safe_blocks, PreTokenizer};
use crate::Interrupt;

/// Return the whitespace normalizers at the end of the chain, if they can run word by word.
pub(crate) fn tidy(
    normalizers: &Chain,
    pre_tokenizer: &PreTokenizer,
    segmenter: &Segmenter,
) -> Option<Tidy> {
    let by_words = segmenter.by_words().is_some();
    let whole = pre_tokenizer.steps().is_empty();
    normalizers.tidy().filter(|_| by_words && whole)
}

impl Encoder {
    /// Append the ids of a stretch that is not normalized yet.
    pub(crate) fn sentence_ids(
        &self,
        tidy: Tidy,
        stretch: &[u8],
        call: &mut Call,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let mut words =
            SentenceLookup::new(&self.segmenter, &mut call.state.lookup, out, call.interrupt);
        self.each_word(tidy, stretch, |text, start, end| {
            words.push(text, start, end)
        })?;
        words.finish()
    }

    /// Return whether [`Self::sentences_together`] can take sentences.
    pub(super) fn takes_sentences_together(&self) -> bool {
        let sums = match &self.segmenter {
            Segmenter::Unigram(model) => model.has_words_anywhere(),
            _ => true,
        };
        sums && self.tidy.is_some() && self.normalizers.before_tidy_splits_at_nul()
    }

    /// Append the ids of `count` sentences, each followed by [`LINE_END`].
    ///
    /// In `text`, a NUL precedes the first sentence and follows each one. Returns false, and
    /// appends nothing, if the sentences have other NULs. Only if
    /// [`Self::takes_sentences_together`].
    pub(super) fn sentences_together(
        &self,
        text: Vec<u8>,
        count: usize,
        call: &mut Call,
        out: &mut Vec<u32>,
    ) -> Result<bool> {
        let Some(tidy) = self.tidy else {
            return Ok(false);
        };
        let normalized = self.normalizers.apply_before_tidy(&text, Edges::WHOLE)?;
        let changed = match normalized {
            Cow::Owned(changed) => Some(changed),
            Cow::Borrowed(_) => None,
        };
        let mut text = changed.unwrap_or(text);
        let nuls: Vec<usize> = memchr::memchr_iter(0, &text).collect();
        if nuls.len() != count + 1 {
            return Ok(false);
        }
        // The NULs become the space that precedes the first word of each sentence.
        nuls.iter().for_each(|&nul| text[nul] = b' ');
        let near = match &self.segmenter {
            Segmenter::Unigram(model) => model.near_characters(),
            _ => usize::MAX,
        };
        let (segmenter, interrupt) = (&self.segmenter, call.interrupt);
        let state = &mut call.state.lookup;
        let mut lookup = SentenceLookup::new_near(segmenter, state, out, interrupt);
        let (mut words, mut stops) = (tidy.words(), Stops::new(&text));
        for ends in nuls.windows(2) {
            let sentence = ends[0] + 1..ends[1];
            words.restart();
            if sentence.len() < near {
                words.feed(&mut stops, sentence, true, |text, start, end| {
                    lookup.push(text, start, end)
                })?;
                lookup.push_key(LINE_END_KEY)?;
                continue;
            }
            lookup.finish()?;
            let mut alone = SentenceLookup::new(segmenter, state, out, interrupt);
            words.feed(&mut stops, sentence, true, |text, start, end| {
                alone.push(text, start, end)
            })?;
            alone.finish()?;
            out.push(LINE_END);
            lookup = SentenceLookup::new_near(segmenter, state, out, interrupt);
        }
        lookup.finish()?;
        Ok(true)
    }

    /// Append the ids of a stretch that is normalized, with its `▁`.
    ///
    /// The words are looked up like the words of [`Self::sentence_ids`], so cached ids must hold in
    /// both texts.
    pub(crate) fn normalized_sentence_ids(
        &self,
        stretch: &[u8],
        call: &mut Call,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let mut words =
            SentenceLookup::new(&self.segmenter, &mut call.state.lookup, out, call.interrupt);
        WordStarts::of(stretch).parts(|word| words.push(word, 0, word.len()))?;
        words.finish()
    }

    /// Call `emit(text, start, end)` for every word, with U+0020 for each leading `▁`, until a call
    /// fails.
    fn each_word(
        &self,
        tidy: Tidy,
        stretch: &[u8],
        mut emit: impl FnMut(&[u8], usize, usize) -> Result<()>,
    ) -> Result<()> {
        let mut words = tidy.words();
        let can_be_cut = || self.normalizers.before_tidy_cuts_before_space();
        if stretch.len() <= BLOCK || !*self.tidy_in_blocks.get_or_init(can_be_cut) {
            let text = self.normalizers.apply_before_tidy(stretch, Edges::WHOLE)?;
            words.feed(&mut Stops::new(&text), 0..text.len(), true, emit)?;
            return Ok(());
        }
        // Text that may be the start of a word.
        let mut waiting: Vec<u8> = Vec::new();
        let mut wanted = 0;
        for block in safe_blocks(stretch, BLOCK) {
            let edges = Edges::of(&block, stretch);
            let text = self.normalizers.apply_before_tidy(&stretch[block], edges)?;
            waiting.extend_from_slice(&text);
            // Wait for more text, so that a long word is not searched again for each block.
            if waiting.len() >= wanted || edges.end {
                let (stops, all) = (&mut Stops::new(&waiting), 0..waiting.len());
                let done = words.feed(stops, all, edges.end, &mut emit)?;
                waiting.drain(..done);
                wanted = 2 * waiting.len();
            }
        }
        Ok(())
    }
}

/// The sum of scores of a unigram model's sentence.
struct SentenceSum<'s> {
    model: &'s Unigram,
    /// Whether words can have ids that are valid after any sum.
    anywhere: bool,
    /// Whether the sentences are short enough for their sums to stay near 0; [`LINE_END`] follows
    /// each.
    ///
    /// Then the sum is needed only for a word whose ids depend on it.
    near: bool,
    /// The sentence.
    ///
    /// Its sum does not include the ids from index `from` on.
    sentence: Option<Sentence<'s>>,
    /// Index in `out` of the first id that is not in the sum.
    from: usize,
}

/// Looks up the words of one sentence, in order.
///
/// Each word has U+0020 for its `▁`, or `▁` itself.
pub(crate) struct SentenceLookup<'s> {
    segmenter: &'s Segmenter,
    sum: Option<SentenceSum<'s>>,
    /// `None` if new words are segmented at once, not deferred.
    merging: Option<&'s Merging>,
    deferred: &'s mut DeferredMerges,
    borders: Option<&'s Borders>,
    /// Keys of a word's parts, and their hashes.
    parts: Vec<(Key, u64)>,
    cache: &'s mut IdsCache,
    batch: &'s mut KeyBatch,
    /// Words of over 15 bytes of the batch and of deferred words; their keys are ranges of this
    /// text.
    texts: &'s mut Vec<u8>,
    /// Buffer for a word with `▁` written out.
    written: &'s mut Vec<u8>,
    scratch: &'s mut Vec<Segment>,
    count: usize,
    out: &'s mut Vec<u32>,
    interrupt: Interrupt<'s>,
    batches: usize,
}

impl<'s> SentenceLookup<'s> {
    pub fn new(
        segmenter: &'s Segmenter,
        state: &'s mut LookupState,
        out: &'s mut Vec<u32>,
        interrupt: Interrupt<'s>,
    ) -> Self {
        let (model, merging) = match segmenter {
            Segmenter::Unigram(model) => (Some(model), None),
            Segmenter::Merges(merging) => (None, Some(merging)),
            _ => (None, None),
        };
        let sum = model.map(|model| SentenceSum {
            model,
            anywhere: model.has_words_anywhere(),
            near: false,
            sentence: None,
            from: out.len(),
        });
        // A failed call may have left entries.
        state.deferred.clear();
        state.texts.clear();
        SentenceLookup {
            segmenter,
            sum,
            merging: merging.filter(|merging| merging.is_plain()),
            deferred: &mut state.deferred,
            borders: segmenter.by_words(),
            parts: Vec::new(),
            cache: &mut state.cache,
            batch: &mut state.batch,
            texts: &mut state.texts,
            written: &mut state.rewritten,
            scratch: &mut state.scratch,
            count: 0,
            out,
            interrupt,
            batches: 0,
        }
    }

    /// Make a lookup for sentences of fewer bytes than [`Unigram::near_characters`], each followed
    /// by [`LINE_END_KEY`].
    fn new_near(
        segmenter: &'s Segmenter,
        state: &'s mut LookupState,
        out: &'s mut Vec<u32>,
        interrupt: Interrupt<'s>,
    ) -> Self {
        let mut lookup = SentenceLookup::new(segmenter, state, out, interrupt);
        if let Some(sums) = &mut lookup.sum {
            sums.near = true;
        }
        lookup
    }

    /// Take the next word, `text[start..end]`.
    #[inline(always)]
    pub fn push(&mut self, text: &[u8], start: usize, end: usize) -> Result<()> {
        let cached = self.sum.as_ref().is_none_or(|sums| sums.anywhere);
        if cached && (1..=LONGEST).contains(&(end - start)) {
            return self.push_key(Key::of_range(text, start, end));
        }
        self.push_long(&text[start..end], cached)
    }

    #[inline(always)]
    fn push_key(&mut self, key: Key) -> Result<()> {
        self.batch.keys[self.count % BATCH] = key;
        self.count += 1;
        match self.count {
            BATCH => self.look_up(false),
            _ => Ok(()),
        }
    }

    /// Take a word of over 15 bytes, or a word that is not cached.
    #[inline(never)]
    fn push_long(&mut self, word: &[u8], cached: bool) -> Result<()> {
        if cached && CACHED.contains(&word.len()) {
            let key = Key::of_place(self.texts.len(), word.len());
            self.texts.extend_from_slice(word);
            return self.push_key(key);
        }
        if word.is_empty() {
            return Ok(());
        }
        let borders = self.borders.filter(|_| cached);
        let mut within = borders.into_iter().flat_map(|all| all.within(word));
        if let Some(mut end) = within.next() {
            let mut start = 0;
            for next in within.chain([word.len()]) {
                self.push_part(&word[start..end])?;
                (start, end) = (end, next);
            }
            return self.push_part(&word[start..end]);
        }
        self.look_up(false)?;
        match self.sum {
            Some(_) => {
                // Needed only for sentences together; otherwise the sum is complete.
                self.add_sum();
                self.append_behind_sum(word, None)
            }
            None => self.segment(word).map(|_| ()),
        }
    }

    /// Take a part of a word that is too long to be cached.
    fn push_part(&mut self, part: &[u8]) -> Result<()> {
        match Key::short(part) {
            Some(key) => self.push_key(key),
            // The part has no borders itself.
            None => self.push_long(part, true),
        }
    }

    /// Append the ids of the remaining words.
    pub fn finish(mut self) -> Result<()> {
        self.look_up(true)?;
        let texts = std::mem::take(self.texts);
        self.resolve(&texts);
        *self.texts = texts;
        Ok(())
    }

    /// Append the ids of the batch.
    #[inline(never)]
    fn look_up(&mut self, last: bool) -> Result<()> {
        let texts = std::mem::take(self.texts);
        let result = self.append_batch(&texts, last);
        *self.texts = texts;
        if self.deferred.is_empty() {
            self.texts.clear();
        }
        result
    }

    #[inline(always)]
    fn append_batch(&mut self, texts: &[u8], last: bool) -> Result<()> {
        let count = std::mem::take(&mut self.count);
        self.batches += 1;
        if self.batches.is_multiple_of(POLL_EVERY) && (self.interrupt)() {
            return Err(Error::Interrupted);
        }
        let hasher = self.cache.hasher();
        hasher.make_hashes(self.batch, count);
        if !texts.is_empty() {
            let keys = self.batch.keys[..count].iter();
            for (hash, key) in self.batch.hashes.iter_mut().zip(keys) {
                if let Some(place) = key.place() {
                    *hash = hasher.hash_long(&texts[place]);
                }
            }
        }
        self.out.reserve(count * INLINE);
        let first = self.out.len();
        let before = self.sum.as_ref().map_or(0.0, SentenceSum::sum);
        let near = self.sum.as_ref().is_some_and(|sums| sums.near);
        let mut done = self.append_all(texts, count)?;
        if !last && !near {
            done = done && self.add_sum();
        }
        debug_assert!(done || !near);
        if let (Some(sums), false) = (&mut self.sum, done) {
            // The sum was rebased within the batch: take each word as the search does.
            self.out.truncate(first);
            let sentence = sums.sentence(self.interrupt);
            sentence.set_sum(before);
            for key in &self.batch.keys[..count] {
                let (short, length) = key.text();
                let word = match key.place() {
                    None => &short[..length],
                    Some(place) => &texts[place],
                };
                append_word(sentence, word, self.out)?;
            }
            sums.from = self.out.len();
        }
        if self.deferred.is_due(self.out.len()) {
            self.resolve(texts);
        }
        Ok(())
    }

    /// Append the ids of all keys.
    ///
    /// Returns false if the sum may have been rebased.
    fn append_all(&mut self, texts: &[u8], count: usize) -> Result<bool> {
        let mut at = 0;
        while at < count {
            at = (self.cache).append_hits(self.batch, at..count, self.out);
            if at < count {
                let (key, hash) = (self.batch.keys[at], self.batch.hashes[at]);
                if !self.append_missed(texts, key, hash)? {
                    return Ok(false);
                }
                at += 1;
            }
        }
        Ok(true)
    }

    /// Append the ids of a word that was not a first hit.
    ///
    /// Slow path: the entry overflowed its bucket, has more than four ids, is longer than 15 bytes,
    /// or is new. Returns false if the sum may have been rebased.
    #[inline(never)]
    fn append_missed(&mut self, texts: &[u8], key: Key, hash: u64) -> Result<bool> {
        if self.append_cached(texts, key, hash) {
            return Ok(true);
        }
        if key == LINE_END_KEY {
            self.out.push(LINE_END);
            self.cache.insert_key(key, hash, &[LINE_END]);
            return Ok(true);
        }
        if let (Some(place), Some(borders)) = (key.place(), self.borders) {
            let mut parts = std::mem::take(&mut self.parts);
            self.part(borders, texts, place, &mut parts);
            let done = match parts.len() {
                1 => self.append_new(texts, key, hash),
                _ => self.append_parts(texts, &parts, (key, hash)),
            };
            self.parts = parts;
            return done;
        }
        self.append_new(texts, key, hash)
    }

    /// Append the ids of a key.
    ///
    /// Returns false if they are not cached.
    fn append_cached(&mut self, texts: &[u8], key: Key, hash: u64) -> bool {
        let Some(place) = key.place() else {
            let ids = self.cache.ids_of_key(key, hash);
            self.out.extend_from_slice(ids.unwrap_or_default());
            return ids.is_some();
        };
        self.cache.append_long(&texts[place], hash, self.out)
    }

    /// Make the keys of a word's parts, and prefetch their slots.
    fn part(
        &self,
        borders: &Borders,
        texts: &[u8],
        place: Range<usize>,
        parts: &mut Vec<(Key, u64)>,
    ) {
        let (hasher, word) = (self.cache.hasher(), &texts[place.clone()]);
        let mut start = 0;
        parts.clear();
        let mut push = |end| {
            let part = &word[start..end];
            let at = place.start + std::mem::replace(&mut start, end);
            parts.push(match Key::short(part) {
                Some(key) => (key, hasher.hash(key)),
                None => (Key::of_place(at, part.len()), hasher.hash_long(part)),
            });
        };
        for end in borders.within(word) {
            push(end);
        }
        push(word.len());
    }

    /// Append the ids of a word's parts.
    ///
    /// The whole word is cached if all parts were: then it has probably come before. A word that
    /// comes once is not cached.
    fn append_parts(
        &mut self,
        texts: &[u8],
        parts: &[(Key, u64)],
        (word, word_hash): (Key, u64),
    ) -> Result<bool> {
        let (first, mut cached) = (self.out.len(), true);
        for &(key, hash) in parts {
            if !self.append_cached(texts, key, hash) {
                cached = false;
                if !self.append_new(texts, key, hash)? {
                    return Ok(false);
                }
            }
        }
        if let (true, Some(place)) = (cached, word.place()) {
            let ids = &self.out[first..];
            self.cache.insert_long(&texts[place], word_hash, ids);
        }
        Ok(true)
    }

    /// Append the ids of a word that is not in the cache.
    ///
    /// Returns false if the sum may have been rebased.
    fn append_new(&mut self, texts: &[u8], key: Key, hash: u64) -> Result<bool> {
        let (short, length) = key.text();
        let word = match key.place() {
            None => &short[..length],
            Some(place) => &texts[place],
        };
        if let Some(merging) = self.merging {
            if self.deferred.is_full() {
                self.resolve(texts);
            }
            self.written.clear();
            rewrite_spaced(word, self.written);
            let one = (key, hash);
            if (self.deferred).add(merging, (self.written, None), one, self.out.len()) {
                return Ok(true);
            }
        }
        let first = self.out.len();
        let known = self.known(word);
        if known.is_none() && self.segment(word)? {
            let ids = &self.out[first..];
            match key.place() {
                None => self.cache.insert_key(key, hash, ids),
                Some(_) => self.cache.insert_long(word, hash, ids),
            }
            return Ok(true);
        }
        let added = self.add_sum();
        if added {
            self.append_behind_sum(word, known)?;
        }
        Ok(added)
    }

    /// Insert the ids of all deferred words.
    fn resolve(&mut self, texts: &[u8]) {
        if let (Some(merging), false) = (self.merging, self.deferred.is_empty()) {
            let none = StitchedIds::default();
            (self.deferred).resolve(merging, texts, &none, self.cache, self.out);
        }
    }

    /// Return the entry of a word whose ids depend on the sum.
    fn known(&mut self, word: &[u8]) -> Option<CachedWord> {
        self.sum.as_mut()?.sentence.as_mut()?.knows(word)
    }

    /// Append the ids of a new word, if they don't depend on the sum.
    ///
    /// Returns false if they do.
    fn segment(&mut self, word: &[u8]) -> Result<bool> {
        if let Some(sums) = &mut self.sum {
            let sentence = sums.sentence(self.interrupt);
            return Ok(sentence.anywhere(word, self.out));
        }
        self.written.clear();
        rewrite_spaced(word, self.written);
        self.segmenter
            .ids(self.written, self.scratch, self.out, self.interrupt)?;
        Ok(true)
    }

    /// Append the ids of a word after the current sum, which must be complete.
    fn append_behind_sum(&mut self, word: &[u8], known: Option<CachedWord>) -> Result<()> {
        if let Some(sums) = &mut self.sum {
            let sentence = sums.sentence(self.interrupt);
            let out = &mut *self.out;
            match known {
                Some(known) => sentence.known_word(known, word, true, |four, count| {
                    append_few(four, count, out);
                })?,
                None => append_word(sentence, word, out)?,
            }
            sums.from = self.out.len();
        }
        Ok(())
    }

    /// Add the remaining ids to the sum.
    ///
    /// Returns false if the sum may have been rebased.
    fn add_sum(&mut self) -> bool {
        let Some(sums) = &mut self.sum else {
            return true;
        };
        let from = std::mem::replace(&mut sums.from, self.out.len());
        let mut ids = &self.out[from..];
        let near = sums.near;
        let sentence = sums.sentence(self.interrupt);
        if near {
            if let Some(end) = ids.iter().rposition(|&id| id == LINE_END) {
                ids = &ids[end + 1..];
                sentence.set_sum(0.0);
            }
        }
        sentence.add(ids)
    }
}

impl<'s> SentenceSum<'s> {
    fn sum(&self) -> f64 {
        self.sentence.as_ref().map_or(0.0, Sentence::sum)
    }

    fn sentence(&mut self, interrupt: Interrupt<'s>) -> &mut Sentence<'s> {
        self.sentence
            .get_or_insert_with(|| self.model.sentence(interrupt))
    }
}

/// Append the ids of the next word of a sentence.
fn append_word(sentence: &mut Sentence, word: &[u8], out: &mut Vec<u32>) -> Result<()> {
    sentence.word(word, true, |four, count| {
        append_few(four, count, out);
    })
}

/// Append the ids of the first `count` of four segments: all four are appended, then the rest is
/// cut off.
#[inline]
fn append_few(four: &[Segment; 4], count: usize, out: &mut Vec<u32>) {
    let end = out.len() + count;
    out.extend_from_slice(&four.map(|segment| segment.id));
    out.truncate(end);
}

#[cfg(test)]
#[path = "sentences_tests.rs"]
mod tests;
