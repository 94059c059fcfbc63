//! A text to its ids: normalize, split, segment each pre-token.

use std::sync::Arc;

use super::batched::Batched;
use super::cache::Cache;
use super::ids_cache::CacheStats;
use super::segmenter::{Segment, Segmenter};
use super::spans::{each_span, Watch};
use super::spares::Spares;
use super::{gathered, sentences, Interrupt, Matchers};
use crate::error::{Error, Result};
use crate::lock_free::{Once, Pool};
use crate::normalize::{Chain, Edges, Tidy};
use crate::pretokenize::{last_cut, safe_cut, PreTokenizer};

/// A text longer than this is normalized in blocks of that size, where it may be cut.
pub(super) const BLOCK: usize = 32 * 1024;

pub struct Encoder {
    pub(super) normalizers: Chain,
    pub(super) pre_tokenizer: PreTokenizer,
    pub(super) segmenter: Segmenter,
    /// See [`sentences`].
    tidy: Option<Tidy>,
    /// May the text of these be cut into blocks? A model's own rules are looked through for
    /// that, so it is asked once, and for a long text alone.
    pub(super) tidy_in_blocks: Once<bool>,
    /// What no call is using at the moment; each call takes one or makes one.
    memories: Pool<Memory>,
    pub(super) spares: Arc<Spares>,
}

/// What calls remember, one after the other.
#[derive(Default)]
pub(super) struct Memory {
    /// Where ids are asked for alone.
    pub(super) ids: gathered::Memory,
    /// Where places are asked for, too.
    segments: Cache,
}

/// What a call needs beside the text.
pub(super) struct Work<'w> {
    pub(super) memory: &'w mut Memory,
    pub(super) interrupt: Interrupt<'w>,
    pub(super) matchers: Option<&'w Matchers>,
}

impl Encoder {
    pub fn new(normalizers: Chain, pre_tokenizer: PreTokenizer, segmenter: Segmenter) -> Self {
        Encoder {
            tidy: sentences::tidy(&normalizers, &pre_tokenizer, &segmenter),
            tidy_in_blocks: Once::default(),
            normalizers,
            pre_tokenizer,
            segmenter,
            memories: Pool::default(),
            spares: Arc::default(),
        }
    }

    pub fn normalizers(&self) -> &Chain {
        &self.normalizers
    }

    pub fn segmenter(&self) -> &Segmenter {
        &self.segmenter
    }

    /// Memory for the ids that are asked for.
    pub fn spares(&self) -> &Arc<Spares> {
        &self.spares
    }

    /// What is remembered that no call is using: in all caches, and memory for ids.
    pub fn cache_stats(&self) -> CacheStats {
        let mut all = CacheStats {
            entries: 0,
            bytes: self.spares.bytes(),
        };
        self.memories.each(|memory| {
            let one = memory.ids.cache.stats();
            all.entries += one.entries;
            all.bytes += one.bytes;
        });
        all
    }

    pub(super) fn with_work<T>(
        &self,
        interrupt: Interrupt,
        matchers: Option<&Matchers>,
        run: impl FnOnce(&mut Work) -> T,
    ) -> T {
        let mut memory = self.memories.take().unwrap_or_default();
        let result = run(&mut Work {
            memory: &mut memory,
            interrupt,
            matchers,
        });
        self.memories.put(memory);
        result
    }

    /// Appends the ids of `text`; the tokens that `matchers` find become their ids.
    pub fn ids(
        &self,
        text: &[u8],
        matchers: Option<&Matchers>,
        out: &mut Vec<u32>,
        interrupt: Interrupt,
    ) -> Result<()> {
        self.with_work(interrupt, matchers, |work| self.ids_with(text, work, out))
    }

    pub(super) fn ids_with(&self, text: &[u8], work: &mut Work, out: &mut Vec<u32>) -> Result<()> {
        let matcher = work.matchers.and_then(Matchers::raw);
        each_span(matcher, text, |id, start, end| match id {
            Some(id) => {
                out.push(id);
                Ok(())
            }
            None => self.stretch_ids(&text[start..end], start == 0, work, out),
        })
    }

    /// The ids of a stretch between two tokens that were found in the text as given.
    pub(super) fn stretch_ids(
        &self,
        stretch: &[u8],
        at_start: bool,
        work: &mut Work,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let matcher = work.matchers.and_then(Matchers::normalized);
        if let (None, Some(tidy)) = (matcher, self.tidy) {
            return self.sentence_ids(tidy, stretch, work, out);
        }
        if matcher.is_none() && stretch.len() > BLOCK && self.can_be_cut() {
            return self.ids_in_blocks(stretch, at_start, work, out);
        }
        let text = self.normalizers.apply(stretch, Edges::WHOLE)?;
        each_span(matcher, &text, |id, start, end| match id {
            Some(id) => {
                out.push(id);
                Ok(())
            }
            None => {
                let at_start = at_start && start == 0;
                let first = out.len();
                self.normalized_ids(&text[start..end], at_start, work, out)?;
                self.fuse(out, first);
                Ok(())
            }
        })
    }

    /// The id that pre-tokens side by side are one token of.
    pub(super) fn fused(&self) -> Option<u32> {
        match &self.segmenter {
            Segmenter::Words(words) => words.fused(),
            _ => None,
        }
    }

    /// Makes one of unknown words side by side, from the place `first` on.
    fn fuse(&self, out: &mut Vec<u32>, first: usize) {
        let Some(unknown) = self.fused() else { return };
        let mut kept = first;
        for at in first..out.len() {
            if out[at] != unknown || kept == first || out[kept - 1] != unknown {
                out[kept] = out[at];
                kept += 1;
            }
        }
        out.truncate(kept);
    }

    /// May a text be normalized and split in blocks? Without normalizers it is not copied
    /// anyway.
    pub(super) fn can_be_cut(&self) -> bool {
        !self.normalizers.is_empty()
            && self.normalizers.cuts_before_space()
            && self.pre_tokenizer.cuts_before_space()
    }

    /// Normalizes and splits block by block, so that the normalized text stays in the
    /// processor's cache and is never whole in memory.
    fn ids_in_blocks(
        &self,
        stretch: &[u8],
        at_start: bool,
        work: &mut Work,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        // Normalized text whose last pre-token may go on in the next block.
        let mut waiting: Vec<u8> = Vec::new();
        let first = out.len();
        let (mut from, mut split) = (0, false);
        while from < stretch.len() {
            let to = safe_cut(stretch, from + BLOCK).unwrap_or(stretch.len());
            let edges = Edges {
                start: from == 0,
                end: to == stretch.len(),
            };
            let searched = waiting.len();
            waiting.extend_from_slice(&self.normalizers.apply(&stretch[from..to], edges)?);
            let end = match edges.end {
                true => waiting.len(),
                false => last_cut(&self.pre_tokenizer, &waiting, searched).unwrap_or(0),
            };
            if end > 0 {
                self.normalized_ids(&waiting[..end], at_start && !split, work, out)?;
                waiting.drain(..end);
                split = true;
            }
            if (work.interrupt)() {
                return Err(Error::Interrupted);
            }
            from = to;
        }
        self.fuse(out, first);
        Ok(())
    }

    pub(super) fn normalized_ids(
        &self,
        text: &[u8],
        at_start: bool,
        work: &mut Work,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let (memory, interrupt) = (&mut work.memory.ids, work.interrupt);
        if let Some(words) = self.pre_tokenizer.metaspace() {
            let mut batched = Batched::new(self, text, Some(words), memory, out, interrupt);
            words.split(text, at_start, |word| batched.push_word(word));
            return batched.finish();
        }
        if self.pre_tokenizer.rewrites() {
            let splits = self.pre_tokenizer.run(text, at_start)?;
            let mut batched = Batched::new(self, &splits.text, None, memory, out, interrupt);
            let mut places = batched.places();
            for &(start, end) in &splits.ranges {
                places.push(start, end);
            }
            drop(places);
            return batched.finish();
        }
        let mut batched = Batched::new(self, text, None, memory, out, interrupt);
        let mut places = batched.places();
        self.pre_tokenizer
            .split(text, move |start, end| places.push(start, end))?;
        batched.finish()
    }

    /// Calls `emit` with the segments of each pre-token and where it starts.
    pub(super) fn each_range(
        &self,
        text: &[u8],
        ranges: &[(usize, usize)],
        work: &mut Work,
        mut emit: impl FnMut(&[Segment], usize) -> Result<()>,
    ) -> Result<()> {
        let mut watch = Watch::new(work.interrupt);
        for &(start, end) in ranges {
            watch.step(|interrupt| {
                let segments = {
                    let cache = &mut work.memory.segments;
                    self.segment_cached(&text[start..end], cache, interrupt)?
                };
                emit(segments, start)
            });
        }
        watch.result()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Words;
    use crate::pretokenize::{Behaviour, Scanner, Split, Step};

    #[test]
    fn unknown_words_side_by_side_are_one() {
        let mut words = Words::new([(&b" a"[..], 4)].into_iter(), Some(0));
        words.fuse_unknown = true;
        let split = Split::literal(" ", Behaviour::MergedWithNext, false);
        let steps = vec![Step {
            rewrite: None,
            scanner: Scanner::Split(split),
        }];
        let splitting = PreTokenizer::new(steps);
        let encoder = Encoder::new(Chain::default(), splitting, Segmenter::Words(words));
        for (text, expected) in [
            ("", vec![]),
            ("x y a z", vec![(0, 0, 3), (4, 3, 5), (0, 5, 7)]),
            (" a a", vec![(4, 0, 2), (4, 2, 4)]),
            ("x", vec![(0, 0, 1)]),
        ] {
            let mut ids = vec![0];
            encoder
                .ids(text.as_bytes(), None, &mut ids, &|| false)
                .unwrap();
            let tokens = encoder.tokens(text.as_bytes(), None, &|| false).unwrap();
            let found: Vec<_> = tokens.iter().map(|t| (t.id, t.start, t.end)).collect();
            assert_eq!(found, expected, "{text}");
            let alone: Vec<_> = expected.iter().map(|token| token.0).collect();
            assert_eq!(ids[1..], alone, "{text}");
        }
    }
}
