//! The corpus state: every distinct pre-token as a row of symbols, in one flat array.
//!
//! A symbol takes as many slots as it has initial symbols. Its first slot holds its id,
//! its first and last slot hold its width, so that both neighbours are found in one
//! step; the other slots are [`INSIDE`]. One [`EDGE`] slot stands before each word and
//! after the last. A place (the index of a symbol's first slot) never changes while the
//! symbol lives, and places ascend in scan order. A character that has no id is an [`EDGE`], too.

use hashbrown::HashSet;

use super::{Options, Ties};
use crate::count::Counts;
use crate::error::{Error, Result};
use crate::model::{Alphabet, Units, Vocabulary, NO_ID};

const EDGE: u32 = u32::MAX;
const INSIDE: u32 = u32::MAX - 1;

pub type Place = u32;

pub struct Corpus {
    symbols: Vec<u32>,
    widths: Vec<u32>,
    word_at: Vec<u32>,
    word_counts: Vec<u64>,
    /// Place of each word in the scan; only kept for `rewritten-last`.
    scan_order: Option<Vec<u64>>,
    next_in_scan: u64,
    symbol_counts: Vec<u64>,
}

impl Corpus {
    pub fn new(counts: &Counts, vocabulary: &Vocabulary, options: &Options) -> Result<Self> {
        let special: HashSet<&[u8]> = options.special_tokens.iter().map(Vec::as_slice).collect();
        let alphabet = match options.units {
            Units::Bytes => Alphabet::bytes(|byte| vocabulary.id(byte)),
            Units::Characters => Alphabet::characters(
                &options.marker,
                vocabulary
                    .tokens()
                    .iter()
                    .map(Vec::as_slice)
                    .zip(0..)
                    .filter(|(token, _)| !special.contains(token)),
            ),
        };
        let mut corpus = Corpus {
            symbols: vec![EDGE],
            widths: vec![1],
            word_at: vec![0],
            word_counts: Vec::with_capacity(counts.len()),
            scan_order: None,
            next_in_scan: counts.len() as u64,
            symbol_counts: vec![0; vocabulary.len()],
        };
        for (word, (pre_token, count)) in (0u32..).zip(counts.iter()) {
            alphabet.symbols(pre_token, |id, _| {
                if id == NO_ID {
                    // A character that the alphabet leaves out: no merge crosses it.
                    corpus.symbols.push(EDGE);
                } else {
                    corpus.symbols.push(id);
                    corpus.symbol_counts[id as usize] += count;
                }
            });
            corpus.symbols.push(EDGE);
            corpus.word_at.resize(corpus.symbols.len(), word);
            corpus.word_counts.push(count);
            // INSIDE and EDGE must not be mistaken for places.
            if corpus.symbols.len() >= INSIDE as usize {
                return Err(Error::TooLarge(
                    "the distinct pre-tokens have over 4 billion symbols together".into(),
                ));
            }
        }
        corpus.widths.resize(corpus.symbols.len(), 1);
        if options.ties == Ties::RewrittenLast {
            corpus.scan_order = Some((0..counts.len() as u64).collect());
        }
        Ok(corpus)
    }

    pub fn symbol_count(&self, symbol: u32) -> u64 {
        self.symbol_counts
            .get(symbol as usize)
            .copied()
            .unwrap_or(0)
    }

    /// How often the word around `place` occurs.
    #[inline]
    pub fn weight(&self, place: Place) -> u64 {
        self.word_counts[self.word_at[place as usize] as usize]
    }

    /// Where the word around `place` stands in the scan.
    #[inline]
    pub fn scan_place(&self, place: Place) -> u64 {
        match &self.scan_order {
            Some(order) => order[self.word_at[place as usize] as usize],
            None => 0,
        }
    }

    /// Is there now a `left` at `place` with a `right` after it?
    #[inline]
    pub fn has_pair(&self, place: Place, left: u32, right: u32) -> bool {
        let at = place as usize;
        self.symbols[at] == left && self.symbols[at + self.widths[at] as usize] == right
    }

    /// All adjacent pairs in scan order, as (place, left, right).
    pub fn pairs(&self) -> impl Iterator<Item = (Place, u32, u32)> + '_ {
        // Only called before the first merge, when every width is 1.
        let windows = self.symbols.windows(2).zip(0u32..);
        windows.filter_map(|(two, place)| {
            (two[0] != EDGE && two[1] != EDGE).then_some((place, two[0], two[1]))
        })
    }

    /// Merges the pair at `place` into `token`. Returns the neighbours, as
    /// (place, symbol) before and symbol after, where there are any.
    pub fn merge_at(&mut self, place: Place, token: u32) -> Neighbours {
        let at = place as usize;
        let next = at + self.widths[at] as usize;
        let width = self.widths[at] + self.widths[next];
        let end = at + width as usize;
        let before = at - self.widths[at - 1] as usize;
        let weight = self.weight(place);
        self.symbol_counts[self.symbols[at] as usize] -= weight;
        self.symbol_counts[self.symbols[next] as usize] -= weight;
        if self.symbol_counts.len() <= token as usize {
            self.symbol_counts.resize(token as usize + 1, 0);
        }
        self.symbol_counts[token as usize] += weight;
        self.symbols[next] = INSIDE;
        self.symbols[at] = token;
        self.widths[at] = width;
        self.widths[end - 1] = width;
        let present = |symbol: u32| (symbol != EDGE).then_some(symbol);
        Neighbours {
            before: present(self.symbols[before]).map(|symbol| (before as Place, symbol)),
            after: present(self.symbols[end]),
        }
    }

    /// The word that `place` lies in.
    pub fn word(&self, place: Place) -> u32 {
        self.word_at[place as usize]
    }

    pub fn keeps_scan_order(&self) -> bool {
        self.scan_order.is_some()
    }

    /// Moves words to the end of the scan, in the order that they have among themselves.
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

pub struct Neighbours {
    pub before: Option<(Place, u32)>,
    pub after: Option<u32>,
}
