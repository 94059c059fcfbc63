//! The words of a sentence to ids, many at a time.
//!
//! As in `batched`, words are gathered and then looked up in a row. A unigram model's words are
//! in the cache only if their ids are the same behind any sum; before one that is not, and after
//! each batch, the sum is made up from the ids.

use super::gathered::{Gathered, Memory, BATCH, CACHED, LOOK_EVERY};
use super::ids_cache::{IdsCache, INLINE};
use super::segmenter::{Segment, Segmenter};
use super::unigram::{Sentence, Unigram, Word};
use super::Interrupt;
use crate::error::{Error, Result};
use crate::normalize::rewrite_spaced;
use crate::packed::{Key, LONGEST};

/// A sentence of a unigram model.
struct Sums<'s> {
    model: &'s Unigram,
    /// Can words have the same ids behind any sum?
    anywhere: bool,
    /// Its sum stands before the first id that is not added yet.
    sentence: Option<Sentence<'s>>,
    /// The place of that id.
    from: usize,
}

/// Takes the words of one sentence, in order, each with U+0020 for its `▁`.
pub(super) struct Spaced<'s> {
    segmenter: &'s Segmenter,
    sums: Option<Sums<'s>>,
    cache: &'s mut IdsCache,
    gathered: &'s mut Gathered,
    /// A word with its `▁`.
    written: &'s mut Vec<u8>,
    scratch: &'s mut Vec<Segment>,
    count: usize,
    out: &'s mut Vec<u32>,
    interrupt: Interrupt<'s>,
    batches: usize,
}

impl<'s> Spaced<'s> {
    pub fn new(
        segmenter: &'s Segmenter,
        memory: &'s mut Memory,
        out: &'s mut Vec<u32>,
        interrupt: Interrupt<'s>,
    ) -> Self {
        let model = match segmenter {
            Segmenter::Unigram(model) => Some(model),
            _ => None,
        };
        let sums = model.map(|model| Sums {
            model,
            anywhere: model.has_words_anywhere(),
            sentence: None,
            from: out.len(),
        });
        Spaced {
            segmenter,
            sums,
            cache: &mut memory.cache,
            gathered: &mut memory.gathered,
            written: &mut memory.rewritten,
            scratch: &mut memory.scratch,
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
        let spaced = match &self.sums {
            None => true,
            Some(sums) => sums.anywhere && text.get(start) == Some(&b' '),
        };
        if spaced && (1..=LONGEST).contains(&(end - start)) {
            self.gathered.keys[self.count % BATCH] = Key::of_range(text, start, end);
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

    /// The ids of all that is gathered.
    #[inline(never)]
    fn look_up(&mut self, last: bool) -> Result<()> {
        let count = std::mem::take(&mut self.count);
        self.batches += 1;
        if self.batches.is_multiple_of(LOOK_EVERY) && (self.interrupt)() {
            return Err(Error::Interrupted);
        }
        self.gathered.make_hashes(count, self.cache.homes());
        self.out.reserve(count * INLINE);
        let first = self.out.len();
        let before = self.sums.as_ref().map_or(0.0, Sums::sum);
        let mut done = self.append_all(count)?;
        if !last {
            done = done && self.add_sum();
        }
        match &mut self.sums {
            Some(sums) if !done => {
                // The sum was taken down somewhere among them: each as the search does it.
                self.out.truncate(first);
                let sentence = sums.sentence(self.interrupt);
                sentence.set_sum(before);
                for key in &self.gathered.keys[..count] {
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
            let Gathered { keys, hashes, .. } = &*self.gathered;
            let (keys, hashes) = (&keys[at..count], &hashes[at..count]);
            at += self.cache.append_at_home(keys, hashes, self.out);
            if at < count {
                let (key, hash) = (self.gathered.keys[at], self.gathered.hashes[at]);
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

    /// One of over 15 bytes, or without a space. Nothing is gathered.
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
        match self.sums {
            Some(_) => self.append_behind_sum(word, known),
            None => self.append_new(word).map(|_| ()),
        }
    }

    /// What is known of a word whose ids depend on a sum.
    fn known(&self, word: &[u8]) -> Option<Word> {
        self.sums.as_ref()?.sentence.as_ref()?.knows(word)
    }

    /// Appends the ids of a word that is not known, if they do not depend on a sum.
    fn append_new(&mut self, word: &[u8]) -> Result<bool> {
        if let Some(sums) = &mut self.sums {
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
    fn append_behind_sum(&mut self, word: &[u8], known: Option<Word>) -> Result<()> {
        if let Some(sums) = &mut self.sums {
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
        let Some(sums) = &mut self.sums else {
            return true;
        };
        let from = std::mem::replace(&mut sums.from, self.out.len());
        sums.sentence(self.interrupt).add(&self.out[from..])
    }
}

impl<'s> Sums<'s> {
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
#[path = "spaced_tests.rs"]
mod tests;
