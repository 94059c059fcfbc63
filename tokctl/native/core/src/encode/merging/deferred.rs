//! New pre-tokens, deferred until there are so many of them that merging them interleaved pays.
//!
//! Where a whole token counts before merges, it is looked up then, too: its place in the vocabulary
//! was prefetched. The ids of what comes behind them are appended meanwhile; when those of the new
//! ones are known, the rest moves back to make room.

use super::short::{Interleaved, ABOVE_SMALL, LARGE, MEDIUM, SMALL};
use super::Merging;
use crate::encode::cache::IdsCache;
use crate::encode::lookup::CACHED;
use crate::model::Alphabet;
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
    /// How many of them are merged here.
    merged: usize,
    /// What they start as, one behind the other.
    symbols: Vec<u32>,
    /// One for each word, once they are merged.
    ids_of_words: Vec<WordIds>,
    large: Interleaved<LARGE, u128>,
    medium: Interleaved<MEDIUM>,
    small: Interleaved<SMALL>,
    /// The ids of all words.
    made: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct DeferredWord {
    key: Key,
    hash: u64,
    /// Where its symbols end.
    symbols: usize,
    /// Ids that were appended before it.
    at: usize,
    /// Where its ids end in `made`.
    end: usize,
}

/// Where the ids of a deferred pre-token come from.
#[derive(Debug)]
enum WordIds {
    Whole(u32),
    /// Numbers among those that are merged interleaved.
    Small(usize),
    Medium(usize),
    Large(usize),
    Stitched(usize),
}

/// The ids of pre-tokens that were stitched, and where those of each end.
#[derive(Debug, Default)]
pub(crate) struct StitchedIds {
    pub ids: Vec<u32>,
    pub ends: Vec<usize>,
}

impl StitchedIds {
    fn of(&self, number: usize) -> &[u32] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.ids[start..self.ends[number]]
    }
}

impl DeferredMerges {
    /// Takes a pre-token that comes after so many ids; false where it is none that merging by
    /// rank alone segments, or not a short one. Only where [`Merging::is_plain`].
    ///
    /// The key is what it is cached by; that need not be its text, unless the model looks whole
    /// ones up. `window` has a short text in its first bytes, and how many they are.
    pub fn add(
        &mut self,
        merging: &Merging,
        (text, window): (&[u8], Option<([u8; 16], usize)>),
        (key, hash): (Key, u64),
        at: usize,
    ) -> bool {
        let symbols = &mut self.symbols;
        let added = match (&merging.alphabet, window) {
            (Alphabet::Bytes(alphabet), Some(window)) => alphabet.append_first(window, symbols),
            _ => false,
        };
        if !added && !merging.plain_symbols(text, symbols) {
            return false;
        }
        if let Some(whole) = &merging.whole {
            whole.prefetch(hash);
        }
        self.words.push(DeferredWord {
            key,
            hash,
            symbols: self.symbols.len(),
            at,
            end: 0,
        });
        self.merged += 1;
        true
    }

    /// Takes a pre-token that is stitched, a place in the text.
    pub fn add_stitched(&mut self, (key, hash): (Key, u64), at: usize) {
        // As one of no symbols, of which there is no other.
        self.words.push(DeferredWord {
            key,
            hash,
            symbols: self.symbols.len(),
            at,
            end: 0,
        });
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.merged >= MAX_WORDS
    }

    /// Should these be merged now that there are so many ids?
    pub fn is_due(&self, ids: usize) -> bool {
        let waits = |first: &DeferredWord| ids - first.at >= MAX_BEHIND;
        self.words.len() >= ENOUGH || self.words.first().is_some_and(waits)
    }

    /// Merges all that were deferred, puts their ids where they belong, and caches them. `stitched` has
    /// the ids of those that are stitched.
    pub fn resolve(
        &mut self,
        merging: &Merging,
        text: &[u8],
        stitched: &StitchedIds,
        cache: &mut IdsCache,
        out: &mut Vec<u32>,
    ) {
        self.begin(merging, text);
        self.large.merge(&merging.merges);
        self.medium.merge(&merging.merges);
        self.small.merge(&merging.merges);
        self.made.clear();
        for (word, source) in self.words.iter_mut().zip(&self.ids_of_words) {
            let first = self.made.len();
            match *source {
                WordIds::Whole(id) => self.made.push(id),
                WordIds::Small(number) => self.small.append(number, &mut self.made),
                WordIds::Medium(number) => self.medium.append(number, &mut self.made),
                WordIds::Large(number) => self.large.append(number, &mut self.made),
                WordIds::Stitched(number) => self.made.extend_from_slice(stitched.of(number)),
            }
            if let Some(superwords) = &merging.superwords {
                superwords.mark(&mut self.made[first..]);
            }
            // One that was deferred twice takes the place of itself.
            let ids = &self.made[first..];
            match word.key.place() {
                None => cache.insert_key(word.key, word.hash, ids),
                Some(place) if CACHED.contains(&place.len()) => {
                    cache.insert_long(&text[place], word.hash, ids);
                }
                Some(_) => {}
            }
            word.end = self.made.len();
        }
        self.put_in_place(out);
        self.clear();
    }

    /// Looks up those that are tokens as a whole, and begins with the symbols of the others.
    fn begin(&mut self, merging: &Merging, text: &[u8]) {
        let merges = &merging.merges;
        let (mut start, mut stitched) = (0, 0);
        for word in &self.words {
            let (symbols, count) = (&self.symbols[start..], word.symbols - start);
            start = word.symbols;
            if count == 0 {
                self.ids_of_words.push(WordIds::Stitched(stitched));
                stitched += 1;
                continue;
            }
            let whole = (merging.whole.as_ref()).and_then(|whole| match word.key.place() {
                None => whole.id_of_key(word.key, word.hash),
                Some(place) => whole.id_of_hashed(&text[place], word.hash),
            });
            self.ids_of_words.push(match (whole, count) {
                (Some(id), _) => WordIds::Whole(id),
                (None, 0..=SMALL) => WordIds::Small(self.small.add(merges, symbols, count)),
                (None, ABOVE_SMALL..=MEDIUM) => {
                    WordIds::Medium(self.medium.add(merges, symbols, count))
                }
                (None, _) => WordIds::Large(self.large.add(merges, symbols, count)),
            });
        }
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
        self.merged = 0;
        self.symbols.clear();
        self.ids_of_words.clear();
        self.large.clear();
        self.medium.clear();
        self.small.clear();
    }
}
