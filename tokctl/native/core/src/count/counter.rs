//! The streaming, parallel counter.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use hashbrown::DefaultHashBuilder;

use super::table::{Entry, Table};
use crate::error::{Error, Result};
use crate::normalize::{Chain, Edges};
use crate::pretokenize::{cut_into_pieces, last_cut, last_safe_cut, PreTokenizer};
use crate::MOST_THREADS;

/// Pieces that the threads share out among themselves, in bytes.
const PIECE: usize = 256 * 1024;

/// No pre-token may be counted so often.
pub const LEAST_TOO_LARGE: u64 = 1 << 63;

/// Takes documents block by block and counts their pre-tokens.
///
/// Text after the last place where it may be cut waits for the next block, so memory
/// holds one block plus the longest stretch without a space; or, where normalizers or
/// pre-tokenizers look further than that, the document.
pub struct Counter {
    pre_tokenizer: PreTokenizer,
    normalizers: Chain,
    tables: Vec<Table>,
    /// Text that is not yet normalized.
    raw: Vec<u8>,
    /// Has a part of the document been normalized?
    begun: bool,
    /// Normalized text that is not yet split.
    waiting: Vec<u8>,
    /// Has a part of the document been split?
    split: bool,
    /// Bytes counted so far, of normalized text; a pre-token that is added takes one.
    counted: u64,
    /// What one occurrence counts, in the document at hand.
    weight: u64,
}

impl Counter {
    pub fn new(pre_tokenizer: PreTokenizer, normalizers: Chain, threads: usize) -> Self {
        let hasher = DefaultHashBuilder::default();
        Counter {
            pre_tokenizer,
            normalizers,
            tables: (0..threads.clamp(1, MOST_THREADS))
                .map(|_| Table::with_hasher(hasher.clone()))
                .collect(),
            raw: Vec::new(),
            begun: false,
            waiting: Vec::new(),
            split: false,
            counted: 0,
            weight: 1,
        }
    }

    /// From now on each occurrence counts `weight` times. Set between two documents.
    pub fn set_weight(&mut self, weight: u64) {
        self.weight = weight;
    }

    /// Counts the next block of the current document.
    pub fn feed(&mut self, block: &[u8]) -> Result<()> {
        if self.normalizers.is_empty() {
            return self.feed_normalized(block);
        }
        let searched = self.raw.len();
        self.raw.extend_from_slice(block);
        let cut = match self.normalizers.cuts_before_space() {
            true => last_safe_cut(&self.raw, searched),
            false => None,
        };
        let Some(cut) = cut else { return Ok(()) };
        let rest = self.raw.split_off(cut);
        let edges = Edges {
            start: !self.begun,
            end: false,
        };
        self.begun = true;
        let raw = std::mem::replace(&mut self.raw, rest);
        let normalized = self.normalizers.apply(&raw, edges)?;
        self.feed_normalized(&normalized)
    }

    fn feed_normalized(&mut self, block: &[u8]) -> Result<()> {
        let searched = self.waiting.len();
        let mut joined = std::mem::take(&mut self.waiting);
        joined.extend_from_slice(block);
        match last_cut(&self.pre_tokenizer, &joined, searched) {
            Some(cut) => {
                self.waiting = joined.split_off(cut);
                self.count(&joined)
            }
            None => {
                self.waiting = joined;
                Ok(())
            }
        }
    }

    /// Ends the current document: what waits is counted, and nothing joins it to the next.
    pub fn end_document(&mut self) -> Result<()> {
        if !self.normalizers.is_empty() {
            let raw = std::mem::take(&mut self.raw);
            let edges = Edges {
                start: !self.begun,
                end: true,
            };
            let normalized = self.normalizers.apply(&raw, edges)?;
            self.waiting.extend_from_slice(&normalized);
        }
        let rest = std::mem::take(&mut self.waiting);
        self.count(&rest)?;
        (self.begun, self.split) = (false, false);
        Ok(())
    }

    /// Adds a pre-token that the caller has split off and counted itself.
    pub fn add(&mut self, pre_token: &[u8], count: u64) {
        let first = self.counted << self.room();
        self.tables[0].add(pre_token, count, first);
        self.counted += 1;
    }

    /// First places are in rewritten text, which is longer: a byte becomes up to four, and
    /// each step can put one more character in front of each. So every byte has this many
    /// bits of room, and the order of places is that of the text.
    fn room(&self) -> u32 {
        let steps = self.pre_tokenizer.steps().iter();
        match steps.filter(|step| step.rewrite.is_some()).count() {
            0 => 0,
            // More of them than that change nothing more.
            rewrites => rewrites.min(20) as u32 + 2,
        }
    }

    fn count(&mut self, text: &[u8]) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let pieces = cut_into_pieces(&self.pre_tokenizer, text, PIECE);
        let next = AtomicUsize::new(0);
        let (pre_tokenizer, base, weight) = (&self.pre_tokenizer, self.counted, self.weight);
        let (begun, room) = (self.split, self.room());
        let work = |table: &mut Table| -> Result<()> {
            loop {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                let Some(&end) = pieces.get(piece) else {
                    return Ok(());
                };
                let start = piece.checked_sub(1).map_or(0, |before| pieces[before]);
                let first = (base + start as u64) << room;
                let text = &text[start..end];
                if pre_tokenizer.rewrites() {
                    let splits = pre_tokenizer.run(text, piece == 0 && !begun)?;
                    for &(from, to) in &splits.ranges {
                        table.add(&splits.text[from..to], weight, first + from as u64);
                    }
                } else {
                    pre_tokenizer.split(text, |from, to| {
                        table.add(&text[from..to], weight, first + from as u64);
                    })?;
                }
            }
        };
        let busy = self.tables.len().min(pieces.len());
        let (own, others) = self.tables[..busy].split_first_mut().expect("one table");
        let result = if others.is_empty() {
            work(own)
        } else {
            thread::scope(|scope| {
                let others: Vec<_> = others
                    .iter_mut()
                    .map(|table| scope.spawn(|| work(table)))
                    .collect();
                let result = work(own);
                others.into_iter().fold(result, |result, other| {
                    let joined = other.join();
                    result.and(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                })
            })
        };
        self.counted += text.len() as u64;
        self.split = true;
        result
    }

    /// All counts of at least `min_count`, in first-seen order.
    pub fn finish(mut self, min_count: u64) -> Result<Counts> {
        self.end_document()?;
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
        Ok(counts)
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
        self.counts
            .iter()
            .fold(0, |sum, &count| sum.saturating_add(count))
    }

    /// An error unless every count is below 2^63, and their sum below 2^64.
    pub fn check(&self) -> Result<()> {
        if let Some((word, _)) = self.iter().find(|&(_, count)| count >= LEAST_TOO_LARGE) {
            return Err(Error::TooLarge(format!(
                "the pre-token {:?} has a count of 2^63 or more",
                String::from_utf8_lossy(&word[..word.len().min(40)])
            )));
        }
        let total: u128 = self.counts.iter().map(|&count| u128::from(count)).sum();
        if total > u64::MAX.into() {
            return Err(Error::TooLarge(format!(
                "the pre-tokens occur {total} times, and counts have 64 bits"
            )));
        }
        Ok(())
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
    use crate::model::Prepend;
    use crate::pretokenize::{Rewrite, Scanner, Step};

    fn count(text: &[u8], blocks: usize, threads: usize) -> Vec<(Vec<u8>, u64)> {
        let mut counter = Counter::new(Scanner::Gpt2.into(), Chain::default(), threads);
        for block in text.chunks(blocks) {
            counter.feed(block).unwrap();
        }
        let counts = counter.finish(1).unwrap();
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
        let mut counter = Counter::new(Scanner::Gpt2.into(), Chain::default(), 1);
        counter.feed(b"ab").unwrap();
        counter.end_document().unwrap();
        counter.feed(b"cd").unwrap();
        let counts = counter.finish(1).unwrap();
        let found: Vec<_> = counts.iter().map(|(text, _)| text.to_vec()).collect();
        assert_eq!(found, [b"ab".to_vec(), b"cd".to_vec()]);
    }

    #[test]
    fn places_of_very_long_input_keep_their_order() {
        let metaspace = Step {
            rewrite: Some(Rewrite::Metaspace {
                replacement: "\u{2581}".into(),
                prepend: Prepend::Always,
            }),
            scanner: Scanner::Whitespace,
        };
        for steps in [vec![Scanner::Whitespace.into()], vec![metaspace]] {
            let mut counter = Counter::new(PreTokenizer::new(steps), Chain::default(), 1);
            counter.add(b"x", 1);
            counter.counted += 1 << 50;
            counter.feed(b"b c").unwrap();
            counter.end_document().unwrap();
            counter.counted += 1 << 50;
            counter.add(b"a", 1);
            counter.feed(b"d").unwrap();
            let counts = counter.finish(1).unwrap();
            let found = counts.iter().map(|(text, _)| text.to_vec());
            let found: Vec<_> = found.map(|text| String::from_utf8(text).unwrap()).collect();
            let order: Vec<_> = found
                .iter()
                .filter_map(|text| text.chars().last())
                .collect();
            assert_eq!(order.first(), Some(&'x'), "{found:?}");
            assert_eq!(order[order.len() - 2..], ['a', 'd'], "{found:?}");
        }
    }

    #[test]
    fn rare_pre_tokens_are_dropped() {
        let mut counter = Counter::new(Scanner::Whitespace.into(), Chain::default(), 1);
        counter.feed(b"a b a").unwrap();
        let counts = counter.finish(2).unwrap();
        assert_eq!(counts.iter().collect::<Vec<_>>(), [(&b"a"[..], 2)]);
    }
}
