//! The corpus state: every distinct pre-token as a row of symbols, in one flat array.
//!
//! The *width* of a symbol is its number of initial symbols, and a symbol takes as many slots. Its
//! first slot holds its id, plus [`WIDE`] if more slots follow. Its second and its last slot hold
//! its width, plus [`INSIDE`], so that each neighbour is found in one step. The slots between them
//! hold anything, but are marked [`INSIDE`] too. One [`EDGE`] slot precedes each word and one
//! follows the last word. A character that has no id is also an [`EDGE`].
//!
//! A *position* ([`Place`]) is the index of a symbol's first slot. It never changes while the
//! symbol exists, and positions ascend in scan order.

use super::alphabet::initial_symbols;
use super::{Options, Progress, Start, Ties};
use crate::count::{run_ids, Counts};
use crate::error::{Error, Result};
use crate::memory;
use crate::model::{Vocabulary, NO_ID};
use crate::prefetch::prefetch;

/// Flag in the first slot of a symbol with a width of 2 or more.
const WIDE: u32 = 1 << 30;

/// Flag in every slot of a symbol but the first.
const INSIDE: u32 = 1 << 31;

const EDGE: u32 = INSIDE | WIDE;

/// Exclusive upper bound of ids and widths.
const LIMIT: u32 = 1 << 30;

/// Index of a symbol's first slot.
pub type Place = u32;

/// Estimated memory per symbol: a slot, an entry in the position lists of its pair and of a pair
/// made of it, and a quarter more for the tables.
const BYTES_PER_SYMBOL: usize = 15;

/// Bytes of pre-tokens that are segmented in one call.
const START_BATCH: usize = 4 << 20;

/// Segmented pre-tokens and the counts of their symbols: see the module.
pub struct Corpus {
    slots: Vec<u32>,
    words: WordIndex,
    word_counts: Vec<u64>,
    /// Scan position of each word; only kept for `rewritten-last`.
    scan_order: Option<Vec<u64>>,
    next_in_scan: u64,
    symbol_counts: Vec<u64>,
}

impl Corpus {
    /// Build the state before the first merge or, with `start`, after the merges of the extended
    /// model.
    pub fn new(
        counts: &Counts,
        vocabulary: &Vocabulary,
        options: &Options,
        start: Option<Start>,
        progress: Progress,
    ) -> Result<Self> {
        let mut corpus = Corpus {
            slots: Vec::new(),
            words: WordIndex::default(),
            word_counts: Vec::with_capacity(counts.len()),
            scan_order: None,
            next_in_scan: counts.len() as u64,
            symbol_counts: vec![0; vocabulary.len()],
        };
        if options.ties == Ties::RewrittenLast {
            corpus.scan_order = Some((0..counts.len() as u64).collect());
        }
        corpus.slots.push(EDGE);
        match start {
            None => corpus.fill(counts, vocabulary, options)?,
            Some(start) => corpus.fill_from(counts, start, progress)?,
        }
        Ok(corpus)
    }

    /// Append the initial symbols of each pre-token.
    fn fill(&mut self, counts: &Counts, vocabulary: &Vocabulary, options: &Options) -> Result<()> {
        let alphabet = initial_symbols(vocabulary, options);
        // Upper bound of the slots: each byte, and the edge and the marker of each word.
        let most = counts.text_length() + 2 * counts.len() + 1;
        memory::check(most.saturating_mul(BYTES_PER_SYMBOL))?;
        self.slots.reserve(most.min(u32::MAX as usize));
        for (pre_token, count) in counts.iter() {
            let first = self.slots.len();
            alphabet.symbols(pre_token, |id, _| {
                if id == NO_ID {
                    // No merge crosses a character that the alphabet leaves out.
                    self.slots.push(EDGE);
                } else {
                    self.slots.push(id);
                    self.symbol_counts[id as usize] += count;
                }
            });
            self.end_word(first, count)?;
        }
        Ok(())
    }

    /// Append the ids that `start` gives for each pre-token.
    fn fill_from(&mut self, counts: &Counts, start: Start, progress: Progress) -> Result<()> {
        let mut all = counts.iter().peekable();
        while all.peek().is_some() {
            let (mut texts, mut times, mut bytes) = (Vec::new(), Vec::new(), 0);
            while let (true, Some((text, count))) = (bytes < START_BATCH, all.peek()) {
                bytes += text.len();
                texts.push(*text);
                times.push(*count);
                all.next();
            }
            if !progress(0) {
                return Err(Error::Interrupted);
            }
            let mut done = 0;
            let mut result = Ok(());
            start(&texts, &mut |ids| {
                let (first, count) = (self.slots.len(), times[done]);
                done += 1;
                result = std::mem::replace(&mut result, Ok(())).and_then(|()| {
                    memory::reserve(&mut self.slots, ids.len() + 1)?;
                    for &id in ids {
                        self.slots.push(id);
                        self.symbol_counts[id as usize] += count;
                    }
                    self.end_word(first, count)
                });
            })?;
            result?;
        }
        memory::check(
            self.slots
                .len()
                .saturating_mul(BYTES_PER_SYMBOL - size_of::<u32>()),
        )
    }

    /// End the word whose first slot is `first`.
    fn end_word(&mut self, first: usize, count: u64) -> Result<()> {
        if self.slots.len() - first >= LIMIT as usize {
            return Err(Error::TooLarge(
                "a pre-token has over a billion symbols".into(),
            ));
        }
        self.words.end_at(self.slots.len());
        self.slots.push(EDGE);
        self.word_counts.push(count);
        if self.slots.len() >= Place::MAX as usize {
            return Err(Error::TooLarge(
                "the distinct pre-tokens have over 4 billion symbols together".into(),
            ));
        }
        Ok(())
    }

    /// Build the corpus from rows whose symbols are ids already (runs of words). No merge crosses
    /// [`NO_ID`]. Return an error if another id is not below `symbols`.
    pub fn of_runs(runs: &Counts, symbols: usize, ties: Ties) -> Result<Self> {
        // A symbol has four bytes in a run, and each row has an edge.
        let most = runs.text_length() / 4 + runs.len() + 1;
        memory::check(most.saturating_mul(BYTES_PER_SYMBOL))?;
        let mut corpus = Corpus {
            slots: Vec::with_capacity(most),
            words: WordIndex::default(),
            word_counts: Vec::with_capacity(runs.len()),
            scan_order: (ties == Ties::RewrittenLast).then(|| (0..runs.len() as u64).collect()),
            next_in_scan: runs.len() as u64,
            symbol_counts: vec![0; symbols],
        };
        corpus.slots.push(EDGE);
        for (run, count) in runs.iter() {
            let first = corpus.slots.len();
            for id in run_ids(run) {
                if id == NO_ID {
                    corpus.slots.push(EDGE);
                    continue;
                }
                let known = corpus.symbol_counts.get_mut(id as usize);
                *known.ok_or_else(|| Error::Invalid("a run names no token".into()))? += count;
                corpus.slots.push(id);
            }
            corpus.end_word(first, count)?;
        }
        Ok(corpus)
    }

    /// Return the number of slots.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Raise the count of a symbol to `count`, its total with the occurrences outside the corpus.
    pub fn count_all(&mut self, symbol: u32, count: u64) {
        let known = &mut self.symbol_counts[symbol as usize];
        *known = count.max(*known);
    }

    /// Return the weighted count of a symbol; 0 for a symbol that never occurred.
    pub fn symbol_count(&self, symbol: u32) -> u64 {
        self.symbol_counts
            .get(symbol as usize)
            .copied()
            .unwrap_or(0)
    }

    /// Return the count of the word at `place`.
    #[inline]
    pub fn weight(&self, place: Place) -> u64 {
        self.word_counts[self.word(place) as usize]
    }

    /// Return the scan position of the word at `place`, or 0 if the scan order is not kept.
    #[inline]
    pub fn scan_place(&self, place: Place) -> u64 {
        match &self.scan_order {
            Some(order) => order[self.word(place) as usize],
            None => 0,
        }
    }

    /// Prefetch the slot at `place`.
    #[inline]
    pub fn prefetch(&self, place: Place) {
        prefetch(&self.slots[place as usize]);
    }

    /// Return the width of the symbol whose first slot is `at`.
    #[inline]
    pub fn width(&self, at: usize) -> usize {
        match self.slots[at] & WIDE {
            0 => 1,
            _ => (self.slots[at + 1] & !INSIDE) as usize,
        }
    }

    /// Return whether a `left` is now at `place` with a `right` after it.
    #[inline]
    pub fn has_pair(&self, place: Place, left: u32, right: u32) -> bool {
        let at = place as usize;
        self.slots[at] & !WIDE == left && self.slots[at + self.width(at)] & !WIDE == right
    }

    /// Iterate over all adjacent pairs in scan order, as (position, left, right).
    pub fn pairs(&self) -> impl Iterator<Item = (Place, u32, u32)> + '_ {
        // Only called before the first merge, when every width is 1.
        let windows = self.slots.windows(2).zip(0u32..);
        windows.filter_map(|(two, place)| {
            let (left, right) = (two[0], two[1]);
            (left != EDGE && right != EDGE).then_some((place, left, right))
        })
    }

    /// Merge the pair at `place` into `token` and return the symbols around it.
    ///
    /// The caller must report the sum of all such merges to [`Self::count_merged`].
    #[inline]
    pub fn merge_at(&mut self, place: Place, token: u32) -> AdjacentSymbols {
        let at = place as usize;
        let next = at + self.width(at);
        let end = next + self.width(next);
        let around = self.around(at, end);
        let inside = INSIDE | (end - at) as u32;
        self.slots[at] = WIDE | token;
        self.slots[next] = INSIDE;
        self.slots[at + 1] = inside;
        self.slots[end - 1] = inside;
        around
    }

    /// Return the symbol that ends before the slot `at` and the one that starts at the slot `end`.
    #[inline]
    fn around(&self, at: usize, end: usize) -> AdjacentSymbols {
        let place = at as Place;
        let before = match self.slots[at - 1] {
            EDGE => None,
            last if last & INSIDE == 0 => Some((place - 1, last)),
            last => {
                let first = place - (last & !INSIDE);
                Some((first, self.slots[first as usize] & !WIDE))
            }
        };
        let after = self.slots[end];
        AdjacentSymbols {
            before,
            after: (after != EDGE).then_some(after & !WIDE),
        }
    }

    /// Return the symbol whose first slot is `place`. If no symbol starts at `place`, the result is
    /// not the id of any symbol.
    #[inline]
    pub fn symbol_at(&self, place: Place) -> u32 {
        self.slots[place as usize] & !WIDE
    }

    /// Split the symbol at `place` into `parts`, given as (symbol, width), and return the symbols
    /// around it.
    ///
    /// The caller must report the sum of all such splits to [`Self::count_split`].
    pub fn split_at(&mut self, place: Place, parts: &[(u32, u32)]) -> AdjacentSymbols {
        let mut at = place as usize;
        let around = self.around(at, at + self.width(at));
        // All slots but the first are already marked `INSIDE`, also those in the middle of a part.
        for &(part, width) in parts {
            if width == 1 {
                self.slots[at] = part;
            } else {
                let end = at + width as usize;
                self.slots[at] = WIDE | part;
                self.slots[at + 1] = INSIDE | width;
                self.slots[end - 1] = INSIDE | width;
            }
            at += width as usize;
        }
        around
    }

    /// Update the symbol counts after `token` was split `times` times, weighted by word counts.
    pub fn count_split(&mut self, token: u32, parts: &[(u32, u32)], times: u64) {
        self.symbol_counts[token as usize] -= times;
        for &(part, _) in parts {
            self.symbol_counts[part as usize] += times;
        }
    }

    /// Update the symbol counts after `left` and `right` became `token` `times` times, weighted by
    /// word counts.
    pub fn count_merged(&mut self, left: u32, right: u32, token: u32, times: u64) {
        if self.symbol_counts.len() <= token as usize {
            self.symbol_counts.resize(token as usize + 1, 0);
        }
        self.symbol_counts[left as usize] -= times;
        self.symbol_counts[right as usize] -= times;
        self.symbol_counts[token as usize] += times;
    }

    /// Lower the count of a symbol by `times`. Return false and change nothing if the count is
    /// smaller.
    pub fn take_out(&mut self, symbol: u32, times: u64) -> bool {
        let count = self.symbol_counts.get_mut(symbol as usize);
        let left = count.as_deref().and_then(|count| count.checked_sub(times));
        if let (Some(count), Some(left)) = (count, left) {
            *count = left;
        }
        left.is_some()
    }

    /// Return the word that contains `place`.
    #[inline]
    pub fn word(&self, place: Place) -> u32 {
        self.words.at(place)
    }

    /// Return whether the corpus keeps the scan order of its words, for `rewritten-last`.
    pub fn keeps_scan_order(&self) -> bool {
        self.scan_order.is_some()
    }

    /// Return the numbers of the words in the order of the scan.
    pub fn scan_order(&self) -> Vec<u32> {
        let mut words: Vec<u32> = (0..self.word_counts.len() as u32).collect();
        if let Some(order) = &self.scan_order {
            words.sort_unstable_by_key(|&word| order[word as usize]);
        }
        words
    }

    /// Move a word back to an earlier position in the scan.
    pub fn move_back(&mut self, word: u32, scan_place: u64) {
        if let Some(order) = &mut self.scan_order {
            order[word as usize] = scan_place;
        }
    }

    /// Move words to the end of the scan, in their present order, and drop duplicates from `words`.
    pub fn move_to_end(&mut self, words: &mut Vec<u32>) {
        let Some(order) = &mut self.scan_order else {
            return;
        };
        words.sort_unstable_by_key(|&word| order[word as usize]);
        words.dedup();
        for &word in words.iter() {
            order[word as usize] = self.next_in_scan;
            self.next_in_scan += 1;
        }
    }
}

/// Neighbours of a symbol: (position, symbol) before it, and the symbol after it.
pub struct AdjacentSymbols {
    pub before: Option<(Place, u32)>,
    pub after: Option<u32>,
}

// Index from slots to words: a bit for each word's end, and the number of words before every 64
// slots. 16 bytes for 64 slots stay in the processor's cache, where a word number for each slot
// would not.

/// Word ends in a block of 64 slots.
#[derive(Clone, Copy, Default)]
struct WordEnds {
    /// Bitmap of the slots that end a word.
    ends: u64,
    /// Number of words that end before this block.
    before: u32,
}

/// Map from slots to word numbers.
#[derive(Default)]
pub struct WordIndex {
    blocks: Vec<WordEnds>,
    ended: u32,
}

impl WordIndex {
    /// End a word at `slot`. Slots must be given in ascending order.
    pub fn end_at(&mut self, slot: usize) {
        self.reach(slot);
        self.blocks[slot / 64].ends |= 1 << (slot % 64);
        self.ended += 1;
    }

    fn reach(&mut self, slot: usize) {
        let block = WordEnds {
            ends: 0,
            before: self.ended,
        };
        if self.blocks.len() <= slot / 64 {
            self.blocks.resize(slot / 64 + 1, block);
        }
    }

    /// Return the word of a slot; the edge slot that ends a word belongs to the word. At least one
    /// word must end at or after the slot.
    #[inline]
    pub fn at(&self, slot: u32) -> u32 {
        let block = self.blocks[slot as usize / 64];
        let earlier = block.ends & ((1 << (slot % 64)) - 1);
        block.before + earlier.count_ones()
    }
}

#[cfg(test)]
mod words_tests {
    use super::*;

    #[test]
    fn every_slot_has_its_word() {
        let lengths = [1, 2, 3, 64, 1, 1, 200, 63, 65, 128, 1];
        let (mut words, mut expected) = (WordIndex::default(), Vec::new());
        for (word, length) in (0u32..).zip(lengths) {
            expected.resize(expected.len() + length, word);
            words.end_at(expected.len() - 1);
        }
        let found: Vec<u32> = (0..expected.len() as u32).map(|at| words.at(at)).collect();
        assert_eq!(found, expected);
    }
}
