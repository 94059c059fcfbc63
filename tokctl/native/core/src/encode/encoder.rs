//! Encoding of a text: normalize, split, segment each pre-token.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use super::cache::{BufferPool, CacheMemory, CacheStats, SegmentCache};
use super::lookup::{LookupState, PreTokenLookup};
use super::segmenter::{check_length, Segment, Segmenter};
use super::stitching::Stitching;
use super::word_starts::WordStarts;
use super::{sentences, AddedTokens, Matchers};
use crate::error::{Error, Result};
use crate::large_pages::reserve_projected;
use crate::lock_free::{Once, Pool, PoolGuard};
use crate::normalize::{Chain, Edges, Tidy};
use crate::pretokenize::{last_cut, safe_blocks, safe_cut, PreTokenizer};
use crate::Interrupt;

/// Block size in bytes: a longer text is normalized in blocks, if it can be cut.
pub(crate) const BLOCK: usize = 32 * 1024;

/// A tokenizer's encoding pipeline with its caches, shared by all threads.
pub struct Encoder {
    pub(crate) normalizers: Chain,
    pub(crate) pre_tokenizer: PreTokenizer,
    pub(crate) segmenter: Segmenter,
    /// Whether a pre-tokenizer needs to know which part of a normalized text was its first
    /// character.
    asks_for_first_char: bool,
    /// The whitespace normalizers that can run word by word; see [`sentences`].
    pub(super) tidy: Option<Tidy>,
    /// Whether the text for `tidy` can be cut into blocks.
    ///
    /// Computed once, and only for a long text, because all of a model's own character rules must
    /// be searched.
    pub(crate) tidy_in_blocks: Once<bool>,
    /// See [`stitching`](super::stitching).
    pub(super) stitching: Once<Option<Box<Stitching>>>,
    /// Bytes of text encoded so far, up to the point where stitching begins to pay.
    pub(super) bytes_seen: AtomicUsize,
    /// States that no call is using.
    ///
    /// Each call takes one or makes one.
    states: Pool<CallState>,
    cache_memory: AtomicUsize,
    pub(crate) buffers: Arc<BufferPool>,
}

/// Caches and working memory, passed on from call to call.
pub(crate) struct CallState {
    /// Memory limit of all caches together.
    memory: CacheMemory,
    /// Cache and working memory for calls that want ids only.
    pub(crate) lookup: LookupState,
    /// Cache for calls that also want the spans of tokens.
    segments: SegmentCache,
}

/// Everything a call needs besides the text.
pub(crate) struct Call<'c> {
    pub(crate) state: &'c mut CallState,
    pub(crate) interrupt: Interrupt<'c>,
    pub(crate) matchers: Option<&'c Matchers>,
}

impl CallState {
    fn new(memory: CacheMemory) -> Self {
        CallState {
            memory,
            lookup: LookupState::new(memory),
            segments: SegmentCache::new(memory),
        }
    }

    pub(crate) fn call<'c>(
        &'c mut self,
        interrupt: Interrupt<'c>,
        matchers: Option<&'c Matchers>,
    ) -> Call<'c> {
        Call {
            state: self,
            interrupt,
            matchers,
        }
    }
}

impl Encoder {
    pub fn new(normalizers: Chain, pre_tokenizer: PreTokenizer, segmenter: Segmenter) -> Self {
        let pre_tokenizer = match segmenter.superwords() {
            Some(_) => pre_tokenizer.with_runs(),
            None => pre_tokenizer,
        };
        Encoder {
            tidy: sentences::tidy(&normalizers, &pre_tokenizer, &segmenter),
            tidy_in_blocks: Once::default(),
            stitching: Once::default(),
            bytes_seen: AtomicUsize::new(0),
            asks_for_first_char: pre_tokenizer.asks_for_start() && !normalizers.is_empty(),
            normalizers,
            pre_tokenizer,
            segmenter,
            states: Pool::default(),
            cache_memory: AtomicUsize::new(CacheMemory::DEFAULT),
            buffers: Arc::default(),
        }
    }

    pub fn normalizers(&self) -> &Chain {
        &self.normalizers
    }

    pub fn segmenter(&self) -> &Segmenter {
        &self.segmenter
    }

    /// Return the pool of id buffers.
    pub fn buffers(&self) -> &Arc<BufferPool> {
        &self.buffers
    }

    /// Return the size of all caches that no call is using, and of the id buffers.
    pub fn cache_stats(&self) -> CacheStats {
        let mut all = CacheStats {
            entries: 0,
            bytes: self.buffers.bytes(),
        };
        self.states.each(|state| {
            all = all + state.lookup.cache.stats() + state.segments.stats();
            if let Some(stitching) = &state.lookup.stitching {
                all = all + stitching.junctions.stats();
            }
        });
        match &self.segmenter {
            Segmenter::Unigram(unigram) => all + unigram.cache_stats(),
            _ => all,
        }
    }

    /// Return how much memory each worker's caches may use.
    pub fn cache_memory(&self) -> CacheMemory {
        CacheMemory::of_bytes(self.cache_memory.load(Ordering::Relaxed))
    }

    /// Set how much memory each worker's caches may use, and empty the caches.
    pub fn set_cache_memory(&self, memory: CacheMemory) {
        self.cache_memory.store(memory.bytes(), Ordering::Relaxed);
        while self.states.take().is_some() {}
        if let Segmenter::Unigram(unigram) = &self.segmenter {
            unigram.set_cache_memory(memory.unigram());
        }
    }

    /// Return the state for a call, or for one thread of a call.
    pub(crate) fn call_state(&self) -> PoolGuard<'_, CallState> {
        let memory = self.cache_memory();
        let mut state = self.states.acquire(|| CallState::new(memory));
        // A call was using this state when the limit was changed.
        if state.memory != memory {
            *state = CallState::new(memory);
        }
        state
    }

    /// Append the ids of `text`.
    ///
    /// A token that `matchers` find becomes its id.
    pub fn ids(
        &self,
        text: &[u8],
        matchers: Option<&Matchers>,
        out: &mut Vec<u32>,
        interrupt: Interrupt,
    ) -> Result<()> {
        self.ids_with(text, &mut self.call_state().call(interrupt, matchers), out)
    }

    pub(crate) fn ids_with(&self, text: &[u8], call: &mut Call, out: &mut Vec<u32>) -> Result<()> {
        let matcher = call.matchers.and_then(Matchers::raw);
        each_span(matcher, text, |id, start, end| match id {
            Some(id) => {
                out.push(id);
                Ok(())
            }
            None => {
                let stretch = &text[start..end];
                let first_char = match start {
                    0 => self.first_char(stretch)?,
                    _ => 0,
                };
                self.stretch_ids(stretch, first_char, call, out)
            }
        })
    }

    /// Append the ids of a stretch between two added tokens that were found in the raw text.
    pub(crate) fn stretch_ids(
        &self,
        stretch: &[u8],
        first_char: usize,
        call: &mut Call,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let matcher = call.matchers.and_then(Matchers::normalized);
        if let (None, Some(tidy)) = (matcher, self.tidy) {
            return self.sentence_ids(tidy, stretch, call, out);
        }
        if matcher.is_none() && stretch.len() > BLOCK && self.can_be_cut() {
            return self.ids_in_blocks(stretch, first_char, call, out);
        }
        let text = self.normalizers.apply(stretch, Edges::WHOLE)?;
        each_span(matcher, &text, |id, start, end| match id {
            Some(id) => {
                out.push(id);
                Ok(())
            }
            None => {
                let first_char = first_char.saturating_sub(start);
                let first = out.len();
                self.normalized_ids(&text[start..end], first_char, call, out)?;
                self.fuse(out, first);
                Ok(())
            }
        })
    }

    /// Return how many bytes of the normalized text came from the first character of `text`.
    ///
    /// Returns 1 if no pre-tokenizer uses the number. Hugging Face's `Metaspace` recognizes the
    /// first piece by its offset in the raw text.
    pub(crate) fn first_char(&self, text: &[u8]) -> Result<usize> {
        let mut end = if self.asks_for_first_char {
            0
        } else {
            text.len()
        };
        while end < text.len() {
            end = match self.can_be_cut() {
                true => safe_cut(text, 2 * end + 1).unwrap_or(text.len()),
                false => text.len(),
            };
            let edges = Edges::of(&(0..end), text);
            let Some(aligned) = self.normalizers.apply_aligned(&text[..end], edges)? else {
                return Ok(1);
            };
            let of_first = aligned.places.iter().take_while(|place| place.0 == 0);
            if !aligned.places.is_empty() {
                return Ok(of_first.count());
            }
        }
        Ok(1)
    }

    /// Return the ids of the 256 bytes, if every byte of an unknown stretch has the span of the
    /// whole stretch.
    pub(crate) fn bytes_of_stretches(&self) -> Option<&[u32; 256]> {
        match &self.segmenter {
            Segmenter::Unigram(unigram) => unigram.bytes_of_stretches(),
            _ => None,
        }
    }

    /// Return the id that a run of unknown pre-tokens is fused into, if the model fuses them.
    pub(crate) fn fused(&self) -> Option<u32> {
        match &self.segmenter {
            Segmenter::Words(words) => words.fused(),
            _ => None,
        }
    }

    /// Fuse runs of the unknown id in `out`, from index `first` on, into one id each.
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

    /// Return whether a text can be normalized and split in blocks.
    ///
    /// False without normalizers: such a text is not copied, so blocks would save nothing.
    pub(crate) fn can_be_cut(&self) -> bool {
        !self.normalizers.is_empty()
            && self.normalizers.cuts_before_space()
            && self.pre_tokenizer.cuts_before_space()
    }

    /// Normalize and split block by block.
    ///
    /// The normalized text stays in the processor's cache, and is never in memory as a whole.
    fn ids_in_blocks(
        &self,
        stretch: &[u8],
        first_char: usize,
        call: &mut Call,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        // Normalized text whose last pre-token may continue in the next block.
        let mut waiting: Vec<u8> = Vec::new();
        let first = out.len();
        let mut split = false;
        for block in safe_blocks(stretch, BLOCK) {
            let edges = Edges::of(&block, stretch);
            let (done, rest) = (block.start, stretch.len() - block.start);
            let searched = waiting.len();
            waiting.extend_from_slice(&self.normalizers.apply(&stretch[block], edges)?);
            let end = match edges.end {
                true => waiting.len(),
                false => last_cut(&self.pre_tokenizer, &waiting, searched).unwrap_or(0),
            };
            if out.capacity() - out.len() < end {
                let ids = out.len() - first;
                reserve_projected(out, end, (done, rest), ids);
            }
            if end > 0 {
                let first_char = if split { 0 } else { first_char };
                self.normalized_ids(&waiting[..end], first_char, call, out)?;
                waiting.drain(..end);
                split = true;
            }
            if (call.interrupt)() {
                return Err(Error::Interrupted);
            }
        }
        self.fuse(out, first);
        Ok(())
    }

    /// Append the ids of normalized text without added tokens.
    ///
    /// `first_char` is [`Self::first_char`] of the raw text, or 0 if the raw text's first character
    /// is not in `text`.
    pub(crate) fn normalized_ids(
        &self,
        text: &[u8],
        first_char: usize,
        call: &mut Call,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        if self.tidy.is_some() {
            return self.normalized_sentence_ids(text, call, out);
        }
        let (state, interrupt) = (&mut call.state.lookup, call.interrupt);
        if let Some(words) = self.pre_tokenizer.metaspace() {
            let mut lookup = PreTokenLookup::new(self, text, Some(words), state, out, interrupt);
            words.split(text, first_char > 0, |word| lookup.push_word(word));
            return lookup.finish();
        }
        if self.pre_tokenizer.rewrites() {
            let splits = self.pre_tokenizer.run(text, first_char)?;
            let mut lookup = PreTokenLookup::new(self, &splits.text, None, state, out, interrupt);
            let mut places = lookup.places();
            for &(start, end) in &splits.ranges {
                places.push(start, end);
            }
            drop(places);
            return lookup.finish();
        }
        let mut lookup = PreTokenLookup::new(self, text, None, state, out, interrupt);
        self.pre_tokenizer.split(text, lookup.places())?;
        lookup.finish()
    }

    /// Call `emit` with the segments of each pre-token and the offset where the pre-token starts.
    pub(crate) fn each_range(
        &self,
        text: &[u8],
        ranges: &[(usize, usize)],
        call: &mut Call,
        mut emit: impl FnMut(&[Segment], usize) -> Result<()>,
    ) -> Result<()> {
        let mut steps = InterruptibleSteps::new(call.interrupt);
        for &(start, end) in ranges {
            steps.step(|interrupt| {
                let segments = {
                    let cache = &mut call.state.segments;
                    self.segment_cached(&text[start..end], cache, interrupt)?
                };
                emit(segments, start)
            });
        }
        steps.result()
    }
}

/// Call `emit(id, start, end)` for every added token and every stretch between added tokens.
///
/// A stretch has no id, and is never empty.
pub(crate) fn each_span(
    matcher: Option<&AddedTokens>,
    text: &[u8],
    mut emit: impl FnMut(Option<u32>, usize, usize) -> Result<()>,
) -> Result<()> {
    let mut done = 0;
    if let Some(matcher) = matcher {
        for (start, end, id) in matcher.find(text) {
            if start > done {
                emit(None, done, start)?;
            }
            emit(Some(id), start, end)?;
            done = end;
        }
    }
    match done < text.len() {
        true => emit(None, done, text.len()),
        false => Ok(()),
    }
}

/// Pre-tokens between two polls of the interrupt.
const POLL_EVERY: usize = 1 << 14;

/// The steps of a callback that can't stop its caller: after a failure, a step does nothing.
struct InterruptibleSteps<'i> {
    interrupt: Interrupt<'i>,
    steps: usize,
    result: Result<()>,
}

impl<'i> InterruptibleSteps<'i> {
    fn new(interrupt: Interrupt<'i>) -> Self {
        InterruptibleSteps {
            interrupt,
            steps: 0,
            result: Ok(()),
        }
    }

    #[inline]
    fn step(&mut self, run: impl FnOnce(Interrupt<'i>) -> Result<()>) {
        self.steps += 1;
        if self.result.is_err() {
            return;
        }
        self.result = match self.steps.is_multiple_of(POLL_EVERY) && (self.interrupt)() {
            true => Err(Error::Interrupted),
            false => run(self.interrupt),
        };
    }

    /// Return the first failure, or `Ok`.
    fn result(self) -> Result<()> {
        self.result
    }
}

/// Length in bytes: a longer pre-token is segmented without the segment cache.
const CACHED_LENGTH: usize = 64;

impl Encoder {
    /// Return the segments of a pre-token from the cache, or segment it.
    ///
    /// For callers that want lengths besides ids; for ids only, see [`PreTokenLookup`].
    fn segment_cached<'c>(
        &self,
        pre_token: &[u8],
        cache: &'c mut SegmentCache,
        interrupt: Interrupt,
    ) -> Result<&'c [Segment]> {
        if pre_token.len() > CACHED_LENGTH {
            return self.segment_long(pre_token, cache, interrupt);
        }
        cache.get_or_insert(pre_token, |out| {
            self.segmenter.segment(pre_token, out, interrupt)
        })
    }

    /// Segment a pre-token that is too long for the cache, word by word if the model allows it.
    fn segment_long<'c>(
        &self,
        pre_token: &[u8],
        cache: &'c mut SegmentCache,
        interrupt: Interrupt,
    ) -> Result<&'c [Segment]> {
        let mut segments = cache.take_scratch();
        let result = match &self.segmenter {
            Segmenter::Merges(merging) if merging.by_words.is_some() => check_length(pre_token)
                .and_then(|()| {
                    let mut done = 0usize;
                    WordStarts::of(pre_token).parts(|part| {
                        done += 1;
                        if done.is_multiple_of(POLL_EVERY) && interrupt() {
                            return Err(Error::Interrupted);
                        }
                        if part.len() > CACHED_LENGTH {
                            return self.segmenter.segment(part, &mut segments, interrupt);
                        }
                        let found = cache.get_or_insert(part, |out| {
                            self.segmenter.segment(part, out, interrupt)
                        })?;
                        segments.extend_from_slice(found);
                        Ok(())
                    })
                }),
            segmenter => segmenter.segment(pre_token, &mut segments, interrupt),
        };
        let kept = cache.keep_scratch(segments);
        result.map(|()| kept)
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
