//! The streaming, parallel counter.

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use hashbrown::DefaultHashBuilder;

use super::table::{Entry, Table};
use crate::normalize::Normalizer;
use crate::pretokenize::{cut_into_pieces, last_cut, PreTokenizer};
use crate::MOST_THREADS;

/// Pieces that the threads share out among themselves, in bytes.
const PIECE: usize = 256 * 1024;

/// Takes documents block by block and counts their pre-tokens.
///
/// Text after the last place where it may be cut waits for the next block, so memory
/// holds one block plus the longest stretch without a space.
pub struct Counter {
    pre_tokenizer: PreTokenizer,
    normalizers: Vec<Normalizer>,
    tables: Vec<Table>,
    waiting: Vec<u8>,
    /// Bytes of normalized text that lie before `waiting`.
    position: u64,
}

impl Counter {
    pub fn new(pre_tokenizer: PreTokenizer, normalizers: Vec<Normalizer>, threads: usize) -> Self {
        let hasher = DefaultHashBuilder::default();
        Counter {
            pre_tokenizer,
            normalizers,
            tables: (0..threads.clamp(1, MOST_THREADS))
                .map(|_| Table::with_hasher(hasher.clone()))
                .collect(),
            waiting: Vec::new(),
            position: 0,
        }
    }

    /// Counts the next block of the current document.
    pub fn feed(&mut self, block: &[u8]) {
        let mut text = Cow::Borrowed(block);
        for normalizer in &self.normalizers {
            text = Cow::Owned(normalizer.apply(&text).into_owned());
        }
        let searched = self.waiting.len();
        let mut joined = std::mem::take(&mut self.waiting);
        joined.extend_from_slice(&text);
        match last_cut(self.pre_tokenizer, &joined, searched) {
            Some(cut) => {
                self.waiting = joined.split_off(cut);
                self.count(&joined);
            }
            None => self.waiting = joined,
        }
    }

    /// Ends the current document: what waits is counted, and nothing joins it to the next.
    pub fn end_document(&mut self) {
        let rest = std::mem::take(&mut self.waiting);
        self.count(&rest);
    }

    /// Adds a pre-token that the caller has split off and counted itself.
    pub fn add(&mut self, pre_token: &[u8], count: u64) {
        self.tables[0].add(pre_token, count, self.position);
        self.position += pre_token.len() as u64;
    }

    fn count(&mut self, text: &[u8]) {
        let pieces = cut_into_pieces(self.pre_tokenizer, text, PIECE);
        let next = AtomicUsize::new(0);
        let (pre_tokenizer, position) = (self.pre_tokenizer, self.position);
        let work = |table: &mut Table| loop {
            let piece = next.fetch_add(1, Ordering::Relaxed);
            let Some(&end) = pieces.get(piece) else {
                break;
            };
            let start = piece.checked_sub(1).map_or(0, |before| pieces[before]);
            let base = position + start as u64;
            let text = &text[start..end];
            pre_tokenizer.split(text, |from, to| {
                table.add(&text[from..to], 1, base + from as u64);
            });
        };
        let busy = self.tables.len().min(pieces.len());
        let (own, others) = self.tables[..busy].split_first_mut().expect("one table");
        if others.is_empty() {
            work(own);
        } else {
            thread::scope(|scope| {
                for table in others {
                    scope.spawn(|| work(table));
                }
                work(own);
            });
        }
        self.position += text.len() as u64;
    }

    /// All counts of at least `min_count`, in first-seen order.
    pub fn finish(mut self, min_count: u64) -> Counts {
        self.end_document();
        let mut tables = self.tables.into_iter();
        let mut table = tables.next().expect("a counter has a table");
        for other in tables {
            table.absorb(&other);
        }
        let mut order: Vec<&Entry> = table.entries().iter().collect();
        order.sort_unstable_by_key(|entry| entry.first);
        let mut counts = Counts::default();
        for entry in order {
            if entry.count >= min_count {
                counts.push(table.text(entry), entry.count);
            }
        }
        counts
    }
}

/// Distinct pre-tokens and how often each occurs, in first-seen order.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    text: Vec<u8>,
    ends: Vec<usize>,
    counts: Vec<u64>,
}

impl Counts {
    pub fn push(&mut self, pre_token: &[u8], count: u64) {
        self.text.extend_from_slice(pre_token);
        self.ends.push(self.text.len());
        self.counts.push(count);
    }

    pub fn len(&self) -> usize {
        self.counts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Occurrences of all pre-tokens together.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .zip(&self.counts)
            .map(|((start, &end), &count)| (&self.text[start..end], count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &[u8], blocks: usize, threads: usize) -> Vec<(Vec<u8>, u64)> {
        let mut counter = Counter::new(PreTokenizer::Gpt2, Vec::new(), threads);
        for block in text.chunks(blocks) {
            counter.feed(block);
        }
        let counts = counter.finish(1);
        counts.iter().map(|(t, n)| (t.to_vec(), n)).collect()
    }

    #[test]
    fn order_and_counts_do_not_depend_on_blocks_or_threads() {
        let text = "to be or not to be, that's the question\n\n  to be? ".repeat(20_000);
        let whole = count(text.as_bytes(), text.len(), 1);
        assert_eq!(whole[0], (b"to".to_vec(), 1));
        for (blocks, threads) in [(7, 1), (4096, 2), (700_001, 3), (text.len(), 2)] {
            assert_eq!(count(text.as_bytes(), blocks, threads), whole);
        }
    }

    #[test]
    fn documents_are_not_joined() {
        let mut counter = Counter::new(PreTokenizer::Gpt2, Vec::new(), 1);
        counter.feed(b"ab");
        counter.end_document();
        counter.feed(b"cd");
        let counts = counter.finish(1);
        let found: Vec<_> = counts.iter().map(|(text, _)| text.to_vec()).collect();
        assert_eq!(found, [b"ab".to_vec(), b"cd".to_vec()]);
    }

    #[test]
    fn rare_pre_tokens_are_dropped() {
        let mut counter = Counter::new(PreTokenizer::Whitespace, Vec::new(), 1);
        counter.feed(b"a b a");
        let counts = counter.finish(2);
        assert_eq!(counts.iter().collect::<Vec<_>>(), [(&b"a"[..], 2)]);
    }
}
