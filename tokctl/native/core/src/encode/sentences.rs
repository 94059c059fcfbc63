//! Models as SentencePiece's, which take a sentence for one pre-token, word by word.
//!
//! Where the normalizers only end in what SentencePiece does with spaces, nothing splits the
//! text, and no token reaches over the start of a word, words are found in the text before its
//! spaces are rewritten. Only a word that is new to the cache is rewritten.
//!
//! As in `lookup`, words are looked up in batches. A unigram model's words are in the cache only if
//! their ids are the same behind any sum of scores; before one that is not, and after each batch,
//! the sum is computed from the ids.

use super::cache::{IdsCache, INLINE};
use super::encoder::{Call, Encoder, BLOCK};
use super::lookup::{KeyBatch, LookupState, BATCH, CACHED, POLL_EVERY};
use super::segmenter::{Segment, Segmenter};
use super::unigram::{CachedWord, Sentence, Unigram};
use crate::error::{Error, Result};
use crate::normalize::{rewrite_spaced, Chain, Edges, Tidy};
use crate::packed::{Key, LONGEST};
use crate::pretokenize::{safe_blocks, PreTokenizer};
use crate::Interrupt;

/// The normalizers' last steps, if their work can be done word by word.
pub(crate) fn tidy(
    normalizers: &Chain,
    pre_tokenizer: &PreTokenizer,
    segmenter: &Segmenter,
) -> Option<Tidy> {
    let by_words = match segmenter {
        Segmenter::Merges(merging) => merging.by_words,
        Segmenter::Unigram(unigram) => unigram.has_word_by_word(),
        _ => false,
    };
    let whole = pre_tokenizer.steps().is_empty();
    normalizers.tidy().filter(|_| by_words && whole)
}

impl Encoder {
    /// The ids of a stretch that is not normalized yet.
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

    /// Calls `emit(text, start, end)` for every word, U+0020 for each `▁` in front, until one
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
            words.feed(&text, true, emit)?;
            return Ok(());
        }
        // What may be the start of a word.
        let mut waiting: Vec<u8> = Vec::new();
        let mut wanted = 0;
        for block in safe_blocks(stretch, BLOCK) {
            let edges = Edges::of(&block, stretch);
            let text = self.normalizers.apply_before_tidy(&stretch[block], edges)?;
            waiting.extend_from_slice(&text);
            // A long word is not looked through again for each block.
            if waiting.len() >= wanted || edges.end {
                let done = words.feed(&waiting, edges.end, &mut emit)?;
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
    /// Can words have the same ids behind any sum?
    anywhere: bool,
    /// Its sum stands before the first id that is not added yet.
    sentence: Option<Sentence<'s>>,
    /// The place of that id.
    from: usize,
}

/// Takes the words of one sentence, in order, each with U+0020 for its `▁`.
pub(crate) struct SentenceLookup<'s> {
    segmenter: &'s Segmenter,
    sum: Option<SentenceSum<'s>>,
    cache: &'s mut IdsCache,
    batch: &'s mut KeyBatch,
    /// A word with its `▁`.
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
        let model = match segmenter {
            Segmenter::Unigram(model) => Some(model),
            _ => None,
        };
        let sum = model.map(|model| SentenceSum {
            model,
            anywhere: model.has_words_anywhere(),
            sentence: None,
            from: out.len(),
        });
        SentenceLookup {
            segmenter,
            sum,
            cache: &mut state.cache,
            batch: &mut state.batch,
            written: &mut state.rewritten,
            scratch: &mut state.scratch,
            count: 0,
            out,
            interrupt,
            batches: 0,
        }
    }

    /// The next word, `text[start..end]`.
    #[inline(always)]
    pub fn push(&mut self, text: &[u8], start: usize, end: usize) -> Result<()> {
        // The first word of a sentence may have no space; as others see it in the cache, it
        // could be a text of its own.
        let spaced = match &self.sum {
            None => true,
            Some(sums) => sums.anywhere && text.get(start) == Some(&b' '),
        };
        if spaced && (1..=LONGEST).contains(&(end - start)) {
            self.batch.keys[self.count % BATCH] = Key::of_range(text, start, end);
            self.count += 1;
            return match self.count {
                BATCH => self.look_up(false),
                _ => Ok(()),
            };
        }
        self.look_up(false)?;
        self.append_long(&text[start..end], spaced)
    }

    /// The ids of what is left.
    pub fn finish(mut self) -> Result<()> {
        self.look_up(true)
    }

    /// Appends the ids of the batch.
    #[inline(never)]
    fn look_up(&mut self, last: bool) -> Result<()> {
        let count = std::mem::take(&mut self.count);
        self.batches += 1;
        if self.batches.is_multiple_of(POLL_EVERY) && (self.interrupt)() {
            return Err(Error::Interrupted);
        }
        self.batch.make_hashes(count, self.cache.hasher());
        self.out.reserve(count * INLINE);
        let first = self.out.len();
        let before = self.sum.as_ref().map_or(0.0, SentenceSum::sum);
        let mut done = self.append_all(count)?;
        if !last {
            done = done && self.add_sum();
        }
        match &mut self.sum {
            Some(sums) if !done => {
                // The sum was taken down somewhere among them: each as the search does it.
                self.out.truncate(first);
                let sentence = sums.sentence(self.interrupt);
                sentence.set_sum(before);
                for key in &self.batch.keys[..count] {
                    let (word, length) = key.text();
                    append_word(sentence, &word[..length], self.out)?;
                }
                sums.from = self.out.len();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// False where the sum may have been taken down.
    fn append_all(&mut self, count: usize) -> Result<bool> {
        let mut at = 0;
        while at < count {
            at = (self.batch).append_hits(at, count, self.cache, self.out);
            if at < count {
                let (key, hash) = (self.batch.keys[at], self.batch.hashes[at]);
                if !self.append_key(key, hash)? {
                    return Ok(false);
                }
                at += 1;
            }
        }
        Ok(true)
    }

    #[inline(never)]
    fn append_key(&mut self, key: Key, hash: u64) -> Result<bool> {
        if let Some(ids) = self.cache.ids_of_key(key, hash) {
            self.out.extend_from_slice(ids);
            return Ok(true);
        }
        let (text, length) = key.text();
        let first = self.out.len();
        let word = &text[..length];
        let known = self.known(word);
        if known.is_none() && self.append_new(word)? {
            self.cache.insert_key(key, hash, &self.out[first..]);
            return Ok(true);
        }
        let added = self.add_sum();
        if added {
            self.append_behind_sum(word, known)?;
        }
        Ok(added)
    }

    /// One of over 15 bytes, or without a space. The batch is empty.
    fn append_long(&mut self, word: &[u8], spaced: bool) -> Result<()> {
        let mut known = None;
        if spaced && CACHED.contains(&word.len()) {
            let hash = self.cache.hash_long(word);
            let first = self.out.len();
            let found = self.cache.append_long(word, hash, self.out);
            if !found {
                known = self.known(word);
            }
            if found || (known.is_none() && self.append_new(word)?) {
                if !found {
                    self.cache.insert_long(word, hash, &self.out[first..]);
                }
                if self.add_sum() {
                    return Ok(());
                }
                self.out.truncate(first);
            }
        }
        match self.sum {
            Some(_) => self.append_behind_sum(word, known),
            None => self.append_new(word).map(|_| ()),
        }
    }

    /// The entry of a word whose ids depend on a sum.
    fn known(&self, word: &[u8]) -> Option<CachedWord> {
        self.sum.as_ref()?.sentence.as_ref()?.knows(word)
    }

    /// Appends the ids of a word that is not known, if they do not depend on a sum.
    fn append_new(&mut self, word: &[u8]) -> Result<bool> {
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

    /// Appends the ids of a word behind the sum so far, to which all was added.
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

    /// Adds what is not added yet; false where the sum may have been taken down.
    fn add_sum(&mut self) -> bool {
        let Some(sums) = &mut self.sum else {
            return true;
        };
        let from = std::mem::replace(&mut sums.from, self.out.len());
        sums.sentence(self.interrupt).add(&self.out[from..])
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

fn append_word(sentence: &mut Sentence, word: &[u8], out: &mut Vec<u32>) -> Result<()> {
    sentence.word(word, true, |four, count| {
        append_few(four, count, out);
    })
}

/// All four are appended, and what is too much taken away.
#[inline]
fn append_few(four: &[Segment; 4], count: usize, out: &mut Vec<u32>) {
    let end = out.len() + count;
    out.extend_from_slice(&four.map(|segment| segment.id));
    out.truncate(end);
}

#[cfg(test)]
#[path = "sentences_tests.rs"]
mod tests;
