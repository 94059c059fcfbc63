//! New pre-tokens, until there are so many of them that taking turns pays.
//!
//! The ids of what comes behind them are appended meanwhile; when those of the new ones are
//! known, the rest moves back to make room.

use super::few::{FEW, FEWER};
use super::ids_cache::IdsCache;
use super::merge_few::Turns;
use super::Merging;
use crate::model::ByteAlphabet;
use crate::packed::Key;

/// More turns than this hide no more of a look-up.
const MOST: usize = 24;

/// So many hide most of it.
const ENOUGH: usize = 12;

/// Ids that may have to move back: about as many as are near the processor.
const MOST_BEHIND: usize = 2048;

#[derive(Debug, Default)]
pub(super) struct Deferred {
    words: Vec<Word>,
    few: Turns<FEW>,
    fewer: Turns<FEWER>,
    /// The ids of all words.
    made: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Word {
    key: Key,
    hash: u64,
    /// Ids that were appended before it.
    at: usize,
    /// Its number among those that take turns.
    number: usize,
    is_fewer: bool,
    /// Where its ids end in `made`.
    end: usize,
}

impl Deferred {
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
        let is_fewer = text.len() <= FEWER;
        let number = match text.len() {
            1..=FEWER => self.fewer.add(alphabet, merges, text),
            length if length > FEWER && length <= FEW => self.few.add(alphabet, merges, text),
            _ => None,
        };
        self.words.extend(number.map(|number| Word {
            key,
            hash,
            at,
            number,
            is_fewer,
            end: 0,
        }));
        number.is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.words.len() >= MOST
    }

    /// Should these be done at last, with so many ids behind them?
    pub fn is_due(&self, ids: usize) -> bool {
        let waits = |first: &Word| ids - first.at >= MOST_BEHIND;
        self.words.len() >= ENOUGH || self.words.first().is_some_and(waits)
    }

    /// Puts the ids of all that were deferred where they belong, and remembers them.
    pub fn resolve(
        &mut self,
        merging: &Merging,
        text: &[u8],
        cache: &mut IdsCache,
        out: &mut Vec<u32>,
    ) {
        self.few.merge(&merging.merges);
        self.fewer.merge(&merging.merges);
        self.made.clear();
        for word in &mut self.words {
            let first = self.made.len();
            match word.key.place() {
                // The same word may have been deferred twice.
                None => match cache.ids_of_key(word.key, word.hash) {
                    Some(ids) => self.made.extend_from_slice(ids),
                    None => {
                        self.fewer.append(word.number, &mut self.made);
                        cache.insert_key(word.key, word.hash, &self.made[first..]);
                    }
                },
                Some(place) => {
                    let text = &text[place];
                    if !cache.append_long(text, word.hash, &mut self.made) {
                        match word.is_fewer {
                            true => self.fewer.append(word.number, &mut self.made),
                            false => self.few.append(word.number, &mut self.made),
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
        self.few.clear();
        self.fewer.clear();
    }
}
