//! New pre-tokens, deferred until enough of them have come to merge them interleaved.
//!
//! If the model keeps a pre-token whole that is a token, the vocabulary is looked up at that time,
//! too: its slot was prefetched when the pre-token was deferred. Meanwhile the ids of later
//! pre-tokens are appended. When the ids of the new pre-tokens are known, the later ids move back
//! to make room.

use super::short::{Interleaved, ABOVE_SMALL, LARGE, MEDIUM, SMALL};
use super::Merging;
use crate::encode::cache::IdsCache;
use crate::encode::lookup::CACHED;
use crate::model::Alphabet;
use crate::packed::Key;

/// Pre-tokens merged at a time, at most: more would hide no more of the latency of lookups.
const MAX_WORDS: usize = 24;

/// Deferred pre-tokens that are enough to hide most of the latency.
const ENOUGH: usize = 12;

/// Later ids that may have to move back: about as many as fit the nearest cache.
const MAX_BEHIND: usize = 2048;

/// New pre-tokens that wait to be merged.
#[derive(Debug, Default)]
pub(crate) struct DeferredMerges {
    words: Vec<DeferredWord>,
    /// How many of `words` are merged, not stitched.
    merged: usize,
    /// The initial symbols of all words, one after another.
    symbols: Vec<u32>,
    /// The source of each word's ids, once the merging has begun.
    ids_of_words: Vec<WordIds>,
    large: Interleaved<LARGE, u128>,
    medium: Interleaved<MEDIUM>,
    small: Interleaved<SMALL>,
    /// The ids of all words, one after another.
    made: Vec<u32>,
}

/// A pre-token that waits.
#[derive(Debug, Clone, Copy)]
struct DeferredWord {
    key: Key,
    hash: u64,
    /// End of the word's symbols in `symbols`.
    symbols: usize,
    /// Number of ids before it in the output.
    at: usize,
    /// End of the word's ids in `made`.
    end: usize,
}

/// The source of a deferred pre-token's ids.
#[derive(Debug)]
enum WordIds {
    /// The pre-token is one token.
    Whole(u32),
    /// Number among the small rows.
    Small(usize),
    /// Number among the medium rows.
    Medium(usize),
    /// Number among the large rows.
    Large(usize),
    /// Number among the stitched pre-tokens.
    Stitched(usize),
}

/// The ids of stitched pre-tokens, and where the ids of each one end.
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
    /// Add a pre-token that comes after `at` ids, for a model that [`Merging::is_plain`].
    ///
    /// Returns false if the pre-token is not short, or has symbols that merging by rank alone can't
    /// handle.
    ///
    /// The pre-token is cached by `key`. The key may be of another text, unless the model looks up
    /// whole pre-tokens. `window` has a short text in its first bytes, and the length.
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

    /// Add a pre-token that is stitched; `key` is a range of the text.
    pub fn add_stitched(&mut self, (key, hash): (Key, u64), at: usize) {
        // Marked by having no symbols: every other pre-token has some.
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

    /// Return whether to merge now, when `ids` ids have been appended.
    pub fn is_due(&self, ids: usize) -> bool {
        let waits = |first: &DeferredWord| ids - first.at >= MAX_BEHIND;
        self.words.len() >= ENOUGH || self.words.first().is_some_and(waits)
    }

    /// Merge all deferred pre-tokens, insert their ids into `out`, and cache them.
    ///
    /// `stitched` has the ids of the stitched pre-tokens.
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
            // A pre-token that was deferred twice replaces its own entry.
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

    /// Look up the pre-tokens that are tokens as a whole, and begin the rows of the others.
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

    /// Insert the ids of each pre-token into `out`, from the last one to the first.
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
