//! New pre-tokens, deferred until there are so many of them that merging them interleaved pays.
//!
//! The ids of what comes behind them are appended meanwhile; when those of the new ones are
//! known, the rest moves back to make room.

use super::short::{Interleaved, MEDIUM, SMALL};
use super::Merging;
use crate::encode::cache::IdsCache;
use crate::model::ByteAlphabet;
use crate::packed::Key;

/// More at a time hide no more of the latency of a look-up.
const MAX_WORDS: usize = 24;

/// So many hide most of it.
const ENOUGH: usize = 12;

/// Ids that may have to move back: about as many as fit the nearest cache.
const MAX_BEHIND: usize = 2048;

#[derive(Debug, Default)]
pub(crate) struct DeferredMerges {
    words: Vec<DeferredWord>,
    medium: Interleaved<MEDIUM>,
    small: Interleaved<SMALL>,
    /// The ids of all words.
    made: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct DeferredWord {
    key: Key,
    hash: u64,
    /// Ids that were appended before it.
    at: usize,
    /// Its number among those that are merged interleaved.
    number: usize,
    is_small: bool,
    /// Where its ids end in `made`.
    end: usize,
}

impl DeferredMerges {
    /// Takes a pre-token that comes after so many ids; false where it is none that merging by
    /// rank alone segments, or not a short one.
    pub fn add(
        &mut self,
        merging: &Merging,
        alphabet: &ByteAlphabet,
        text: &[u8],
        (key, hash): (Key, u64),
        at: usize,
    ) -> bool {
        if merging
            .whole
            .as_ref()
            .is_some_and(|whole| whole.id(text).is_some())
        {
            return false;
        }
        let merges = &merging.merges;
        let is_small = text.len() <= SMALL;
        let number = match text.len() {
            1..=SMALL => self.small.add(alphabet, merges, text),
            length if length > SMALL && length <= MEDIUM => self.medium.add(alphabet, merges, text),
            _ => None,
        };
        self.words.extend(number.map(|number| DeferredWord {
            key,
            hash,
            at,
            number,
            is_small,
            end: 0,
        }));
        number.is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.words.len() >= MAX_WORDS
    }

    /// Should these be merged now that there are so many ids?
    pub fn is_due(&self, ids: usize) -> bool {
        let waits = |first: &DeferredWord| ids - first.at >= MAX_BEHIND;
        self.words.len() >= ENOUGH || self.words.first().is_some_and(waits)
    }

    /// Merges all that were deferred, puts their ids where they belong, and caches them.
    pub fn resolve(
        &mut self,
        merging: &Merging,
        text: &[u8],
        cache: &mut IdsCache,
        out: &mut Vec<u32>,
    ) {
        self.medium.merge(&merging.merges);
        self.small.merge(&merging.merges);
        self.made.clear();
        for word in &mut self.words {
            let first = self.made.len();
            match word.key.place() {
                // The same word may have been deferred twice.
                None => match cache.ids_of_key(word.key, word.hash) {
                    Some(ids) => self.made.extend_from_slice(ids),
                    None => {
                        self.small.append(word.number, &mut self.made);
                        cache.insert_key(word.key, word.hash, &self.made[first..]);
                    }
                },
                Some(place) => {
                    let text = &text[place];
                    if !cache.append_long(text, word.hash, &mut self.made) {
                        match word.is_small {
                            true => self.small.append(word.number, &mut self.made),
                            false => self.medium.append(word.number, &mut self.made),
                        }
                        cache.insert_long(text, word.hash, &self.made[first..]);
                    }
                }
            }
            word.end = self.made.len();
        }
        self.put_in_place(out);
        self.clear();
    }

    fn put_in_place(&self, out: &mut Vec<u32>) {
        let mut from = out.len();
        let mut to = from + self.made.len();
        let mut end = self.made.len();
        out.resize(to, 0);
        for (number, word) in self.words.iter().enumerate().rev() {
            let start = match number {
                0 => 0,
                number => self.words[number - 1].end,
            };
            to -= from - word.at;
            out.copy_within(word.at..from, to);
            from = word.at;
            to -= end - start;
            out[to..][..end - start].copy_from_slice(&self.made[start..end]);
            end = start;
        }
    }

    pub fn clear(&mut self) {
        self.words.clear();
        self.medium.clear();
        self.small.clear();
    }
}
