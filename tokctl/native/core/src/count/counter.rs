//! Streaming, parallel counter of pre-tokens.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use super::counts::Counts;
use super::runs::RunWords;
use super::spilling::{finish, Limit, Tally};
use super::table::Adder;
use crate::error::Result;
use crate::jobs::{groups, Jobs, Worker};
use crate::memory;
use crate::normalize::{Chain, Edges};
use crate::pretokenize::{
    cut_into_pieces, first_cut, last_cut, last_safe_cut, safe_blocks, safe_cut, PreTokenizer,
};

/// Bytes of the pieces that the threads share out.
pub(super) const PIECE: usize = 64 * 1024;

/// Most tallies: each has a table of at least 32 KB, and hardly any block has more pieces.
const MOST_TALLIES: usize = 1024;

/// Most bytes of a character.
const LONGEST_CHARACTER: usize = 4;

/// Bytes before a possible cut that are normalized to check the cut.
const CONTEXT: usize = 256;

/// Counter of the pre-tokens of documents, which come block by block.
///
/// Text after the last possible cut waits for the next block. So memory holds one block and the
/// longest stretch without a space, or the whole document if normalizers or pre-tokenizers look
/// further.
pub struct Counter {
    pub(super) pre_tokenizer: PreTokenizer,
    pub(super) normalizers: Chain,
    pub(super) tallies: Vec<Tally>,
    limit: Option<Limit>,
    /// Text that is not normalized yet.
    raw: Vec<u8>,
    /// Whether a part of the document has been normalized.
    begun: bool,
    /// Normalized text that is not split yet.
    waiting: Vec<u8>,
    /// Whether a part of the document has been split.
    split: bool,
    /// Bytes of normalized text counted so far; a pre-token from [`Self::add`] counts as one byte.
    pub(super) counted: u64,
    /// Count of one occurrence in the current document.
    pub(super) weight: u64,
    /// Words whose runs are counted, instead of pre-tokens.
    runs: Option<Arc<RunWords>>,
}

impl Counter {
    /// Create a counter that uses `threads` threads.
    pub fn new(pre_tokenizer: PreTokenizer, normalizers: Chain, threads: usize) -> Self {
        Counter {
            pre_tokenizer,
            normalizers,
            tallies: Tally::some(threads.clamp(1, MOST_TALLIES), None),
            limit: None,
            raw: Vec::new(),
            begun: false,
            waiting: Vec::new(),
            split: false,
            counted: 0,
            weight: 1,
            runs: None,
        }
    }

    /// Return the counter, set to count runs of words instead of pre-tokens (see [`RunWords`]).
    pub fn of_runs(self, words: Arc<RunWords>) -> Self {
        Counter {
            pre_tokenizer: self.pre_tokenizer.with_runs(),
            runs: Some(words),
            ..self
        }
    }

    /// Return the counter with a limit of memory; the counts do not depend on the limit.
    pub fn within(self, limit: Limit) -> Self {
        Counter {
            tallies: Tally::some(self.tallies.len(), Some(&limit)),
            limit: Some(limit),
            ..self
        }
    }

    /// Count each occurrence `weight` times from now on; call only between two documents.
    pub fn set_weight(&mut self, weight: u64) {
        self.weight = weight;
    }

    /// Count the next block of the current document.
    pub fn feed(&mut self, block: &[u8]) -> Result<()> {
        if self.normalizers.is_empty() {
            return self.feed_normalized(block);
        }
        let searched = self.raw.len();
        take(&mut self.raw, block)?;
        let cut = match self.normalizers.cuts_before_space() {
            true => last_safe_cut(&self.raw, searched),
            false => None,
        };
        let Some(cut) = cut else { return Ok(()) };
        let rest = self.raw.split_off(cut);
        let raw = std::mem::replace(&mut self.raw, rest);
        self.feed_raw(&raw, false)
    }

    /// Normalize the next part of the document and count what can be counted.
    ///
    /// `end` tells whether it is the last part.
    fn feed_raw(&mut self, raw: &[u8], end: bool) -> Result<()> {
        let mut blocks = Vec::new();
        if self.normalizers.cuts_before_space() {
            blocks.extend(safe_blocks(raw, PIECE));
        }
        if blocks.is_empty() {
            blocks.push(0..raw.len());
        }
        let (normalizers, begun) = (&self.normalizers, std::mem::replace(&mut self.begun, true));
        let normalize = |_: &mut Worker<()>, number: usize| {
            let edges = Edges::of(&blocks[number], raw);
            let edges = Edges {
                start: edges.start && !begun,
                end: edges.end && end,
            };
            normalizers.apply(&raw[blocks[number].clone()], edges)
        };
        let jobs = Jobs {
            count: blocks.len(),
            threads: self.tallies.len(),
        };
        let normalized: Vec<Cow<[u8]>> = jobs.collect(&|| false, || (), normalize)?;
        match &normalized[..] {
            [one] => self.feed_normalized(one),
            parts => {
                memory::check(parts.iter().map(|part| part.len()).sum())?;
                self.feed_normalized(&parts.concat())
            }
        }
    }

    fn feed_normalized(&mut self, block: &[u8]) -> Result<()> {
        // The character before a cut must lie in the block.
        let cuts = |text: &[u8], from| last_cut(&self.pre_tokenizer, text, from);
        let Some(last) = cuts(block, block.len().min(LONGEST_CHARACTER)) else {
            take(&mut self.waiting, block)?;
            return Ok(());
        };
        // The block is counted in place, except the part that belongs to the text before it.
        let mut counted = 0;
        if !self.waiting.is_empty() {
            counted = first_windows(last)
                .find_map(|end| cuts(&block[..end], LONGEST_CHARACTER))
                .unwrap_or(last);
            let mut joined = std::mem::take(&mut self.waiting);
            take(&mut joined, &block[..counted])?;
            self.count(&joined)?;
            joined.clear();
            self.waiting = joined;
        }
        take(&mut self.waiting, &block[last..])?;
        self.count(&block[counted..last])
    }

    /// End the current document: the waiting text is counted, and nothing joins it to the next
    /// document.
    pub fn end_document(&mut self) -> Result<()> {
        if !self.normalizers.is_empty() {
            let raw = std::mem::take(&mut self.raw);
            self.feed_raw(&raw, true)?;
        }
        self.count_rest()
    }

    /// Continue a document: another counter has the text before it, up to a [`Self::cut`].
    pub fn go_on(&mut self) {
        (self.begun, self.split) = (true, true);
    }

    /// End a part of a document: another counter has the text after it.
    pub fn end_part(&mut self) -> Result<()> {
        if !self.normalizers.is_empty() {
            let raw = std::mem::take(&mut self.raw);
            self.feed_raw(&raw, false)?;
        }
        self.count_rest()
    }

    fn count_rest(&mut self) -> Result<()> {
        let rest = std::mem::take(&mut self.waiting);
        self.count(&rest)?;
        (self.begun, self.split) = (false, false);
        Ok(())
    }

    /// Return the first offset where a document may be cut for two counters.
    ///
    /// The text is a part of the document that starts anywhere; only the bytes around the cut
    /// decide. Returns None if no cut exists, or none can be found without the whole document.
    pub fn cut(&self, text: &[u8]) -> Result<Option<usize>> {
        if self.normalizers.is_empty() {
            return Ok(first_cut(&self.pre_tokenizer, text, LONGEST_CHARACTER));
        }
        if !self.normalizers.cuts_before_space() || !self.pre_tokenizer.cuts_before_space() {
            return Ok(None);
        }
        // The text can start within a character.
        let lead = text.iter().take_while(|&&byte| byte & 0xc0 == 0x80).count();
        let inside = Edges {
            start: false,
            end: false,
        };
        let (mut start, mut from) = (lead, lead + LONGEST_CHARACTER);
        while let Some(at) = safe_cut(text, from) {
            // Parts that are normalized on their own must be split at the cut, too.
            let before = self.normalizers.apply(&text[start..at], inside)?;
            let end = safe_cut(text, at + 1).unwrap_or(text.len());
            let after = self.normalizers.apply(&text[at..end], inside)?;
            let joined = [&before[..], &after[..]].concat();
            let place = before.len();
            if place >= LONGEST_CHARACTER
                && first_cut(&self.pre_tokenizer, &joined, place) == Some(place)
            {
                return Ok(Some(at));
            }
            from = at + 1;
            // Keep enough text for the character before the next cut.
            if at - start > CONTEXT {
                start = at;
                from = at + LONGEST_CHARACTER;
            }
        }
        Ok(None)
    }

    /// Add a pre-token that the caller has split off and counted.
    pub fn add(&mut self, pre_token: &[u8], count: u64) -> Result<()> {
        let first = self.counted << self.room();
        self.tallies[0].table.add(pre_token, count, first);
        self.counted += 1;
        self.tallies[0].check()
    }

    /// Return the bits by which positions are shifted, so that rewritten text keeps its order.
    ///
    /// First positions are offsets in rewritten text, which is longer: a byte becomes up to four
    /// bytes, and each step can put one more character in front of each.
    pub(super) fn room(&self) -> u32 {
        let steps = self.pre_tokenizer.steps().iter();
        match steps.filter(|step| step.rewrite.is_some()).count() {
            0 => 0,
            // More than 20 rewriting steps need no further bits.
            rewrites => rewrites.min(20) as u32 + 2,
        }
    }

    fn count(&mut self, text: &[u8]) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        // Room for a piece that is a single pre-token: a table copies its texts when it grows.
        memory::check(text.len().saturating_mul(4))?;
        let pieces = cut_into_pieces(&self.pre_tokenizer, text, PIECE);
        let (pre_tokenizer, base, weight) = (&self.pre_tokenizer, self.counted, self.weight);
        let runs = self.runs.as_deref();
        let (begun, room) = (self.split, self.room());
        let count = |tally: &mut Tally, piece: usize| {
            let start = piece.checked_sub(1).map_or(0, |before| pieces[before]);
            let stretch = Stretch {
                text: &text[start..pieces[piece]],
                first: (base + start as u64) << room,
                weight,
                opens: piece == 0 && !begun,
            };
            stretch.count(pre_tokenizer, runs, tally)
        };
        let result = count_pieces(&mut self.tallies, pieces.len(), count);
        self.counted += text.len() as u64;
        self.split = true;
        result
    }

    /// Return whether a document is still open.
    pub(super) fn is_open(&self) -> bool {
        self.begun || self.split || !self.raw.is_empty() || !self.waiting.is_empty()
    }

    /// Return all counts of at least `min_count`, in first-seen order.
    pub fn finish(self, min_count: u64) -> Result<Counts> {
        self.finish_watched(min_count, &mut |_, _| true)
    }

    /// Return [`Self::finish`], with calls of `progress`.
    ///
    /// `progress` gets the bytes of sorted runs that are merged, and the total. The work stops if
    /// it returns false.
    pub fn finish_watched(
        mut self,
        min_count: u64,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Counts> {
        self.end_document()?;
        finish(self.tallies, self.limit.as_ref(), min_count, progress)
    }

    /// Return the counts so far and remove them from the counter.
    ///
    /// Works also within a document; later positions come after the returned ones.
    pub fn take(&mut self) -> Result<Counts> {
        let fresh = Tally::some(self.tallies.len(), self.limit.as_ref());
        let tallies = std::mem::replace(&mut self.tallies, fresh);
        finish(tallies, self.limit.as_ref(), 1, &mut |_, _| true)
    }

    /// Return the bytes that the tables take, or will take when they grow soon.
    pub fn bytes(&self) -> usize {
        self.tallies
            .iter()
            .map(|tally| tally.table.bytes_soon())
            .sum()
    }
}

/// Append text that waits for more; a document can have any length.
fn take(waiting: &mut Vec<u8>, text: &[u8]) -> Result<()> {
    memory::reserve(waiting, text.len())?;
    waiting.extend_from_slice(text);
    Ok(())
}

/// Count the pieces `0..count`, with one thread for each tally.
///
/// Each thread takes ascending pieces and counts them in its tally.
fn count_pieces(
    tallies: &mut [Tally],
    count: usize,
    work: impl Fn(&mut Tally, usize) -> Result<()> + Sync,
) -> Result<()> {
    let threads = tallies.len();
    let idle = Mutex::new(tallies.iter_mut().rev().collect::<Vec<_>>());
    let tally = || {
        let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop().expect("a tally for each thread")
    };
    let work = |worker: &mut Worker<&mut Tally>, piece: usize| work(worker.state, piece);
    Jobs { count, threads }.in_order(&|| false, tally, work, |_, ()| Ok(()))
}

/// Text whose ends no pre-token crosses.
pub(super) struct Stretch<'t> {
    pub text: &'t [u8],
    /// Position of the first byte.
    pub first: u64,
    pub weight: u64,
    /// Whether a document starts with the text.
    pub opens: bool,
}

impl Stretch<'_> {
    pub fn count(
        &self,
        pre_tokenizer: &PreTokenizer,
        runs: Option<&RunWords>,
        tally: &mut Tally,
    ) -> Result<()> {
        if let Some(words) = runs {
            return words.count(self, pre_tokenizer, tally);
        }
        if pre_tokenizer.rewrites() {
            let splits = pre_tokenizer.run(self.text, self.opens.into())?;
            let mut adder = Adder::new(tally, &splits.text, self.first, self.weight);
            let mut places = adder.places();
            for &(from, to) in &splits.ranges {
                places.push(from, to);
            }
            drop(places);
            return adder.finish();
        }
        let mut adder = Adder::new(tally, self.text, self.first, self.weight);
        pre_tokenizer.split(self.text, adder.places())?;
        adder.finish()
    }
}

/// Return longer and longer prefixes of a text of `length` bytes, in which to look for a cut.
fn first_windows(length: usize) -> impl Iterator<Item = usize> {
    let longer = |&end: &usize| Some(end * 8);
    std::iter::successors(Some(1 << 10), longer).take_while(move |&end| end < length)
}

/// Bytes above which a document is shared out among the threads on its own.
const LARGE: usize = 4 * PIECE;

impl Counter {
    /// Count whole documents, with the result of feeding and ending them one by one.
    ///
    /// With `weights`, a document's weight multiplies the current one; a document of weight 0 is
    /// not counted.
    pub fn feed_documents(&mut self, texts: &[&[u8]], weights: Option<&[u64]>) -> Result<()> {
        if self.is_open() {
            self.end_document()?;
        }
        let weight = |at: usize| weights.map_or(1, |weights| weights[at]);
        let mut at = 0;
        while at < texts.len() {
            let large = texts[at..].iter().position(|text| text.len() > LARGE);
            let end = large.map_or(texts.len(), |further| at + further);
            self.feed_small(&texts[at..end], |small| weight(at + small))?;
            if end < texts.len() && weight(end) > 0 {
                let usual = self.weight;
                // A weight that 64 bits can't hold makes a count that is refused in the end.
                self.weight = usual.saturating_mul(weight(end));
                self.feed(texts[end])?;
                self.end_document()?;
                self.weight = usual;
            }
            at = end + 1;
        }
        Ok(())
    }

    fn feed_small(&mut self, texts: &[&[u8]], weight: impl Fn(usize) -> u64 + Sync) -> Result<()> {
        let groups = groups(texts.iter().map(|text| text.len()), PIECE);
        let (normalizers, pre_tokenizer) = (&self.normalizers, &self.pre_tokenizer);
        let runs = self.runs.as_deref();
        let normalize = |_: &mut Worker<()>, group: usize| -> Result<Vec<Cow<[u8]>>> {
            let texts = texts[groups[group].clone()].iter();
            match normalizers.is_empty() {
                true => Ok(texts.map(|&text| Cow::Borrowed(text)).collect()),
                false => texts
                    .map(|text| normalizers.apply(text, Edges::WHOLE))
                    .collect(),
            }
        };
        let jobs = Jobs {
            count: groups.len(),
            threads: self.tallies.len(),
        };
        let normalized = jobs.collect(&|| false, || (), normalize)?;
        // Positions of the documents, as if they came one after the other.
        let mut starts = Vec::with_capacity(groups.len());
        let mut next = self.counted;
        for texts in &normalized {
            starts.push(next);
            next += texts.iter().map(|text| text.len() as u64).sum::<u64>();
        }
        let (room, usual) = (self.room(), self.weight);
        let count = |tally: &mut Tally, group: usize| -> Result<()> {
            let mut place = starts[group];
            for (text, at) in normalized[group].iter().zip(groups[group].clone()) {
                let weight = weight(at);
                if !text.is_empty() && weight > 0 {
                    let stretch = Stretch {
                        text,
                        first: place << room,
                        weight: usual.saturating_mul(weight),
                        opens: true,
                    };
                    stretch.count(pre_tokenizer, runs, tally)?;
                }
                place += text.len() as u64;
            }
            Ok(())
        };
        count_pieces(&mut self.tallies, groups.len(), count)?;
        self.counted = next;
        Ok(())
    }
}

/// Return the documents as one byte string that determines them uniquely.
///
/// Each document is preceded by its length and its count, as little-endian numbers of eight bytes.
/// A document with a count of 0 is left out; without `counts`, each document counts once.
pub fn framed(texts: &[&[u8]], counts: Option<&[u64]>) -> Vec<u8> {
    let bytes: usize = texts.iter().map(|text| text.len() + 16).sum();
    let mut stream = Vec::with_capacity(bytes);
    for (at, text) in texts.iter().enumerate() {
        let count = counts.map_or(1, |counts| counts[at]);
        if count > 0 {
            stream.extend_from_slice(&(text.len() as u64).to_le_bytes());
            stream.extend_from_slice(&count.to_le_bytes());
            stream.extend_from_slice(text);
        }
    }
    stream
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
    fn what_is_taken_in_between_comes_first() {
        let text = "to be or not to be, that's the question\n\n  to be? ".repeat(50);
        let whole = count(text.as_bytes(), text.len(), 1);
        for (blocks, threads) in [(7, 1), (64, 2)] {
            let mut counter = Counter::new(Scanner::Gpt2.into(), Chain::default(), threads);
            let mut found: Vec<(Vec<u8>, u64)> = Vec::new();
            let mut add = |counts: &Counts| {
                for (text, count) in counts.iter() {
                    match found.iter_mut().find(|(known, _)| known == text) {
                        Some((_, sum)) => *sum += count,
                        None => found.push((text.to_vec(), count)),
                    }
                }
            };
            let empty = counter.bytes();
            for block in text.as_bytes().chunks(blocks) {
                counter.feed(block).unwrap();
                add(&counter.take().unwrap());
                assert_eq!(counter.bytes(), empty);
            }
            add(&counter.finish(1).unwrap());
            assert_eq!(found, whole);
        }
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
            counter.add(b"x", 1).unwrap();
            counter.counted += 1 << 50;
            counter.feed(b"b c").unwrap();
            counter.end_document().unwrap();
            counter.counted += 1 << 50;
            counter.add(b"a", 1).unwrap();
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

#[cfg(test)]
mod documents_tests {
    use super::*;
    use crate::normalize::Chain;
    use crate::pretokenize::Scanner;

    fn counter(threads: usize) -> Counter {
        Counter::new(Scanner::Gpt2.into(), Chain::default(), threads)
    }

    #[test]
    fn documents_at_once_are_documents_one_by_one() {
        let texts: Vec<String> = (0..20_000)
            .map(|n| match n % 1000 {
                0 => String::new(),
                7 => format!("{n} long ").repeat(LARGE / 5),
                _ => format!("n {n} to be{}", " or".repeat(n % 7)),
            })
            .collect();
        let weights: Vec<u64> = (0..20_000).map(|n| n % 3).collect();
        let mut one_by_one = counter(1);
        for (text, &weight) in texts.iter().zip(&weights) {
            one_by_one.set_weight(5 * weight);
            if weight > 0 {
                one_by_one.feed(text.as_bytes()).unwrap();
                one_by_one.end_document().unwrap();
            }
        }
        let expected = one_by_one.finish(1).unwrap();
        let expected: Vec<_> = expected.iter().collect();
        let texts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
        for (threads, batch) in [(1, 20_000), (2, 20_000), (3, 999), (2, 1)] {
            let mut at_once = counter(threads);
            at_once.set_weight(5);
            for (texts, weights) in texts.chunks(batch).zip(weights.chunks(batch)) {
                at_once.feed_documents(texts, Some(weights)).unwrap();
            }
            let found = at_once.finish(1).unwrap();
            assert!(
                found.iter().eq(expected.iter().copied()),
                "{threads} {batch}"
            );
        }
    }
}

#[cfg(test)]
mod framed_tests {
    use super::*;

    #[test]
    fn lengths_and_counts_are_in_it() {
        let one = framed(&[b"ab"], None);
        assert_eq!(one, b"\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0ab");
        assert_eq!(framed(&[b"x", b"ab"], Some(&[0, 1])), one);
        assert_ne!(framed(&[b"a", b"b"], None)[..], one[..]);
        assert_ne!(framed(&[b"ab"], Some(&[2])), one);
    }
}
