//! From pre-tokens to ids, many at a time.
//!
//! A scanner tells pre-tokens one by one. They are gathered as keys, each with its hash, and
//! the place where it stands in the cache is asked for ahead; then all of them are looked up
//! in a row, so that the memory's answers overlap.

use super::deferred::Deferred;
use super::encoder::Encoder;
use super::gathered::{Gathered, Memory, BATCH, CACHED, LOOK_EVERY};
use super::ids_cache::{IdsCache, INLINE};
use super::parts::Cuts;
use super::segmenter::{check_length, Segment, Segmenter};
use super::{Interrupt, Merging};
use crate::error::{Error, Result};
use crate::large_pages::make_room;
use crate::model::ByteAlphabet;
use crate::packed::{Key, LONGEST};
use crate::pretokenize::Metaspace;

/// Stands among the ids where a line ends; no token has such an id.
pub(super) const LINE_END: u32 = u32::MAX - 1;

/// Takes the pre-tokens of one text, in order. After a failure it does nothing.
pub(super) struct Batched<'b> {
    segmenter: &'b Segmenter,
    text: &'b [u8],
    /// What rewrites a pre-token before it is segmented.
    words: Option<Metaspace<'b>>,
    cache: &'b mut IdsCache,
    gathered: &'b mut Gathered,
    count: usize,
    rewritten: &'b mut Vec<u8>,
    scratch: &'b mut Vec<Segment>,
    /// None where new pre-tokens are segmented as they come.
    merging: Option<(&'b Merging, &'b ByteAlphabet)>,
    deferred: &'b mut Deferred,
    out: &'b mut Vec<u32>,
    /// How many ids were there before.
    first: usize,
    interrupt: Interrupt<'b>,
    batches: usize,
    result: Result<()>,
}

/// Counts apart from what it gathers for: moved into a scanner's loop, the number stays in a
/// register.
pub(super) struct Places<'p, 'b> {
    batched: &'p mut Batched<'b>,
    count: usize,
}

impl Places<'_, '_> {
    /// The next pre-token, `text[start..end]`.
    #[inline(always)]
    pub fn push(&mut self, start: usize, end: usize) {
        self.batched.gathered.places[self.count % BATCH] = (start, end);
        self.count += 1;
        if self.count == BATCH {
            self.batched.count = BATCH;
            self.batched.look_up();
            self.count = 0;
        }
    }

    /// [`LINE_END`] comes next.
    pub fn end_line(&mut self) {
        // An empty pre-token, in no text.
        self.push(usize::MAX, usize::MAX);
    }
}

impl Drop for Places<'_, '_> {
    fn drop(&mut self) {
        self.batched.count = self.count;
    }
}

impl<'b> Batched<'b> {
    pub fn new(
        encoder: &'b Encoder,
        text: &'b [u8],
        words: Option<Metaspace<'b>>,
        memory: &'b mut Memory,
        out: &'b mut Vec<u32>,
        interrupt: Interrupt<'b>,
    ) -> Self {
        let merging = match &encoder.segmenter {
            Segmenter::Merges(merging) if words.is_none() => Some(merging),
            _ => None,
        };
        // What an earlier call left when it failed.
        memory.deferred.clear();
        Batched {
            merging: merging.and_then(|merging| Some((merging, merging.few()?))),
            deferred: &mut memory.deferred,
            segmenter: &encoder.segmenter,
            text,
            words,
            cache: &mut memory.cache,
            gathered: &mut memory.gathered,
            count: 0,
            rewritten: &mut memory.rewritten,
            scratch: &mut memory.scratch,
            first: out.len(),
            out,
            interrupt,
            batches: 0,
            result: Ok(()),
        }
    }

    /// What takes pre-tokens as they stand in the text. Not where words are rewritten.
    pub fn places(&mut self) -> Places<'_, 'b> {
        Places {
            count: self.count,
            batched: self,
        }
    }

    /// The next word that is rewritten, which need not lie in the text.
    pub fn push_word(&mut self, word: &[u8]) {
        if (1..=LONGEST).contains(&word.len()) {
            self.gathered.keys[self.count % BATCH] = Key::of(word);
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

    /// The ids of all that is gathered.
    #[inline(never)]
    fn look_up(&mut self) {
        let count = std::mem::take(&mut self.count);
        if self.result.is_err() {
            return;
        }
        self.batches += 1;
        if self.batches.is_multiple_of(LOOK_EVERY) && (self.interrupt)() {
            self.result = Err(Error::Interrupted);
            return;
        }
        match self.words {
            None => self.make_keys(count),
            Some(_) => self.gathered.make_hashes(count, self.cache.homes()),
        }
        if self.out.capacity() - self.out.len() < count * INLINE {
            let done = match self.words {
                None => self.done(count),
                Some(_) => 0,
            };
            let rest = self.text.len().saturating_sub(done);
            let ids = self.out.len() - self.first + count;
            make_room(self.out, count * INLINE, (done, rest), ids);
        }
        self.result = self.append_all(count);
    }

    /// So many bytes of the text lie before the end of what is gathered.
    fn done(&self, count: usize) -> usize {
        let mut ends = self.gathered.places[..count].iter().rev();
        ends.find(|place| place.0 != usize::MAX)
            .map_or(0, |place| place.1)
    }

    /// The keys of places, and their hashes.
    fn make_keys(&mut self, count: usize) {
        let Gathered {
            places,
            keys,
            hashes,
        } = &mut *self.gathered;
        let (text, homes) = (self.text, self.cache.homes());
        let made = keys.iter_mut().zip(hashes).zip(&places[..count]);
        for ((key, hash), &(start, end)) in made {
            let length = end - start;
            if (1..=LONGEST).contains(&length) {
                *key = Key::of_range(text, start, end);
                *hash = homes.hash(*key);
            } else {
                *key = Key::of_place(start, length);
                *hash = match CACHED.contains(&length) {
                    true => homes.hash_long(&text[start..end]),
                    false => 0,
                };
            }
        }
    }

    fn append_all(&mut self, count: usize) -> Result<()> {
        let mut at = 0;
        while at < count {
            let Gathered { keys, hashes, .. } = &*self.gathered;
            let (keys, hashes) = (&keys[at..count], &hashes[at..count]);
            at += self.cache.append_at_home(keys, hashes, self.out);
            if at < count {
                let (key, hash) = (self.gathered.keys[at], self.gathered.hashes[at]);
                self.append_gathered(key, hash)?;
                at += 1;
            }
        }
        if self.deferred.is_due(self.out.len()) {
            self.resolve();
        }
        Ok(())
    }

    /// One that is not in the first place looked at, or has many ids, or is long.
    #[inline(never)]
    fn append_gathered(&mut self, key: Key, hash: u64) -> Result<()> {
        match key.place() {
            None => self.append_key(key, hash),
            Some(place) if place.start == usize::MAX => {
                self.out.push(LINE_END);
                Ok(())
            }
            Some(place) => {
                let text = self.text;
                let word = &text[place];
                if !CACHED.contains(&word.len()) {
                    return self.append_parts(word);
                }
                if self.cache.append_long(word, hash, self.out) || self.defer(word, key, hash) {
                    return Ok(());
                }
                self.append_new_long(word, hash)
            }
        }
    }

    /// Puts a new pre-token off; false where that does not pay.
    fn defer(&mut self, word: &[u8], key: Key, hash: u64) -> bool {
        let Some((merging, alphabet)) = self.merging else {
            return false;
        };
        if self.deferred.is_full() {
            self.resolve();
        }
        let at = self.out.len();
        self.deferred.add(merging, alphabet, word, (key, hash), at)
    }

    /// The ids of all that was put off.
    fn resolve(&mut self) {
        if let (Some((merging, _)), false) = (self.merging, self.deferred.is_empty()) {
            self.deferred
                .resolve(merging, self.text, self.cache, self.out);
        }
    }

    fn append_key(&mut self, key: Key, hash: u64) -> Result<()> {
        if let Some(ids) = self.cache.ids_of_key(key, hash) {
            self.out.extend_from_slice(ids);
            return Ok(());
        }
        let (text, length) = key.text();
        if self.defer(&text[..length], key, hash) {
            return Ok(());
        }
        let first = self.out.len();
        self.segment(&text[..length])?;
        self.cache.insert_key(key, hash, &self.out[first..]);
        Ok(())
    }

    /// One of over 15 bytes, or of none.
    fn append_long(&mut self, word: &[u8], hash: u64) -> Result<()> {
        if !CACHED.contains(&word.len()) {
            return self.append_parts(word);
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

    /// One that is too long to be remembered; its parts, where it has any, are not.
    fn append_parts(&mut self, text: &[u8]) -> Result<()> {
        match self.segmenter {
            Segmenter::Merges(merging) if merging.in_parts => {}
            _ => return self.segment(text),
        }
        check_length(text)?;
        let mut done = 0usize;
        Cuts::of(text).parts(|part| {
            done += 1;
            if done.is_multiple_of(LOOK_EVERY * BATCH) && (self.interrupt)() {
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

    /// Looks up what is left, and tells the first failure if there was one.
    pub fn finish(mut self) -> Result<()> {
        self.look_up();
        if self.result.is_ok() {
            self.resolve();
        }
        self.result
    }
}
