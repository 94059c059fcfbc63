//! From text to ids: split, segment each pre-token, remember what was segmented.

mod added;
mod batch;
mod cache;
mod fallback;
mod lines;
mod longest;
mod longest_match;
mod matchers;
mod merge;
mod parts;
mod random;
mod unigram;
mod words;

pub use added::{AddedToken, AddedTokens};
pub use lines::Lines;
pub use longest_match::{LongestMatch, Unknown};
pub use matchers::Matchers;
pub use merge::{MergeOrder, Merging};
pub use parts::can_cut;
pub use random::Rng;
pub use unigram::{Precision, Unigram, UnigramOptions};
pub use words::Words;

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::normalize::{Chain, Edges};
use crate::pretokenize::{last_cut, safe_cut, Metaspace, PreTokenizer};
use cache::Cache;
use parts::Cuts;

/// A token of a pre-token and how many bytes of it the token covers. The lengths of a
/// pre-token's segments add up to its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub id: u32,
    pub length: u32,
}

/// A token with its place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub id: u32,
    /// Bytes of the original text.
    pub start: usize,
    pub end: usize,
    /// Number of the pre-token, from 0; None for a special token.
    pub pre_token: Option<usize>,
}

/// How a pre-token becomes tokens.
pub enum Segmenter {
    Merges(Merging),
    LongestMatch(LongestMatch),
    Unigram(Unigram),
    Words(Words),
}

impl Segmenter {
    /// Appends the segments of one pre-token.
    pub fn segment(
        &self,
        pre_token: &[u8],
        out: &mut Vec<Segment>,
        interrupt: Interrupt,
    ) -> Result<()> {
        check_length(pre_token)?;
        match self {
            Segmenter::Merges(merging) => merging.segment(pre_token, out, interrupt),
            Segmenter::LongestMatch(matching) => {
                matching.segment(pre_token, out);
                Ok(())
            }
            Segmenter::Unigram(unigram) => unigram.segment(pre_token, out, interrupt),
            Segmenter::Words(words) => {
                words.segment(pre_token, out);
                Ok(())
            }
        }
    }
}

/// Lengths and places inside a pre-token are 32-bit numbers.
fn check_length(pre_token: &[u8]) -> Result<()> {
    if pre_token.len() >= u32::MAX as usize - 1 {
        return Err(Error::TooLarge(
            "a pre-token of over 4 GB can't be segmented".into(),
        ));
    }
    Ok(())
}

/// Asked now and then in long work; true stops it.
pub type Interrupt<'i> = &'i (dyn Fn() -> bool + Sync);

/// A pre-token longer than this is segmented without a look into the cache.
const CACHED_LENGTH: usize = 64;

/// A text longer than this is normalized in blocks of that size, where it may be cut.
const BLOCK: usize = 32 * 1024;

pub struct Encoder {
    normalizers: Chain,
    pre_tokenizer: PreTokenizer,
    segmenter: Segmenter,
    /// Caches that no call is using at the moment; each call takes one or makes one.
    caches: Mutex<Vec<Cache>>,
}

/// What a call needs beside the text.
struct Work<'w> {
    cache: &'w mut Cache,
    interrupt: Interrupt<'w>,
    matchers: Option<&'w Matchers>,
}

impl Encoder {
    pub fn new(normalizers: Chain, pre_tokenizer: PreTokenizer, segmenter: Segmenter) -> Self {
        Encoder {
            normalizers,
            pre_tokenizer,
            segmenter,
            caches: Mutex::new(Vec::new()),
        }
    }

    pub fn normalizers(&self) -> &Chain {
        &self.normalizers
    }

    pub fn segmenter(&self) -> &Segmenter {
        &self.segmenter
    }

    fn with_work<T>(
        &self,
        interrupt: Interrupt,
        matchers: Option<&Matchers>,
        run: impl FnOnce(&mut Work) -> T,
    ) -> T {
        let lock = || self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cache = lock().pop().unwrap_or_default();
        let result = run(&mut Work {
            cache: &mut cache,
            interrupt,
            matchers,
        });
        lock().push(cache);
        result
    }

    fn segment_cached<'c>(
        &self,
        pre_token: &[u8],
        cache: &'c mut Cache,
        interrupt: Interrupt,
    ) -> Result<&'c [Segment]> {
        if pre_token.len() > CACHED_LENGTH {
            return self.segment_long(pre_token, cache, interrupt);
        }
        cache.get_or_insert(pre_token, |out| {
            self.segmenter.segment(pre_token, out, interrupt)
        })
    }

    fn segment_long<'c>(
        &self,
        pre_token: &[u8],
        cache: &'c mut Cache,
        interrupt: Interrupt,
    ) -> Result<&'c [Segment]> {
        let mut segments = cache.take_scratch();
        let result = match &self.segmenter {
            Segmenter::Merges(merging) if merging.in_parts => {
                check_length(pre_token).and_then(|()| {
                    let mut done = 0usize;
                    Cuts::of(pre_token).parts(|part| {
                        done += 1;
                        if done.is_multiple_of(1 << 14) && interrupt() {
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
                })
            }
            segmenter => segmenter.segment(pre_token, &mut segments, interrupt),
        };
        let kept = cache.keep_scratch(segments);
        result.map(|()| kept)
    }

    /// As [`Self::segment_cached`] for a word of a metaspace step.
    fn segment_word<'c>(
        &self,
        words: Metaspace,
        word: &[u8],
        rewritten: &mut Vec<u8>,
        cache: &'c mut Cache,
        interrupt: Interrupt,
    ) -> Result<&'c [Segment]> {
        if word.len() > CACHED_LENGTH {
            words.rewritten(word, rewritten);
            return self.segment_long(rewritten, cache, interrupt);
        }
        cache.get_or_insert(word, |out| {
            words.rewritten(word, rewritten);
            self.segmenter.segment(rewritten, out, interrupt)
        })
    }

    /// Appends the ids of `text`; the tokens that `matchers` find become their ids.
    pub fn ids(
        &self,
        text: &[u8],
        matchers: Option<&Matchers>,
        out: &mut Vec<u32>,
        interrupt: Interrupt,
    ) -> Result<()> {
        self.with_work(interrupt, matchers, |work| {
            let mut failure = Ok(());
            each_span(
                matchers.and_then(Matchers::raw),
                text,
                |id, start, end| match id {
                    Some(id) => out.push(id),
                    None if failure.is_ok() => {
                        failure = self.stretch_ids(&text[start..end], start == 0, work, out);
                    }
                    None => {}
                },
            );
            failure
        })
    }

    /// The ids of a stretch between two tokens that were found in the text as given.
    fn stretch_ids(
        &self,
        stretch: &[u8],
        at_start: bool,
        work: &mut Work,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let matcher = work.matchers.and_then(Matchers::normalized);
        if matcher.is_none() && stretch.len() > BLOCK && self.can_be_cut() {
            return self.ids_in_blocks(stretch, at_start, work, out);
        }
        let text = self.normalizers.apply(stretch, Edges::WHOLE)?;
        let mut failure = Ok(());
        each_span(matcher, &text, |id, start, end| match id {
            Some(id) => out.push(id),
            None if failure.is_ok() => {
                let at_start = at_start && start == 0;
                failure = self.normalized_ids(&text[start..end], at_start, work, out);
            }
            None => {}
        });
        failure
    }

    /// May a text be normalized and split in blocks? Without normalizers it is not copied
    /// anyway.
    fn can_be_cut(&self) -> bool {
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
        Ok(())
    }

    fn normalized_ids(
        &self,
        text: &[u8],
        at_start: bool,
        work: &mut Work,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let mut emit = |segments: &[Segment], _, _| {
            out.extend(segments.iter().map(|segment| segment.id));
        };
        let mut failure = Ok(());
        let mut seen = 0usize;
        if let Some(words) = self.pre_tokenizer.metaspace() {
            let mut rewritten = Vec::new();
            words.split(text, at_start, |word| {
                seen += 1;
                if failure.is_err() {
                    return;
                }
                if seen.is_multiple_of(1 << 14) && (work.interrupt)() {
                    failure = Err(Error::Interrupted);
                    return;
                }
                let (cache, interrupt) = (&mut *work.cache, work.interrupt);
                match self.segment_word(words, word, &mut rewritten, cache, interrupt) {
                    Ok(segments) => emit(segments, 0, 0),
                    Err(error) => failure = Err(error),
                }
            });
            return failure;
        }
        if self.pre_tokenizer.rewrites() {
            let splits = self.pre_tokenizer.run(text, at_start)?;
            return self.each_range(&splits.text, &splits.ranges, work, emit);
        }
        self.pre_tokenizer.split(text, |start, end| {
            seen += 1;
            if failure.is_err() {
                return;
            }
            if seen.is_multiple_of(1 << 14) && (work.interrupt)() {
                failure = Err(Error::Interrupted);
                return;
            }
            match self.segment_cached(&text[start..end], work.cache, work.interrupt) {
                Ok(segments) => emit(segments, start, end),
                Err(error) => failure = Err(error),
            }
        })?;
        failure
    }

    fn each_range(
        &self,
        text: &[u8],
        ranges: &[(usize, usize)],
        work: &mut Work,
        mut emit: impl FnMut(&[Segment], usize, usize),
    ) -> Result<()> {
        for (number, &(start, end)) in ranges.iter().enumerate() {
            if number % (1 << 14) == (1 << 14) - 1 && (work.interrupt)() {
                return Err(Error::Interrupted);
            }
            let segments = self.segment_cached(&text[start..end], work.cache, work.interrupt)?;
            emit(segments, start, end);
        }
        Ok(())
    }

    /// The tokens of `text` with their places in it.
    pub fn tokens(
        &self,
        text: &[u8],
        matchers: Option<&Matchers>,
        interrupt: Interrupt,
    ) -> Result<Vec<Token>> {
        let mut out = Placed::default();
        self.with_work(interrupt, matchers, |work| {
            let mut failure = Ok(());
            each_span(
                matchers.and_then(Matchers::raw),
                text,
                |id, start, end| match id {
                    Some(id) => out.added(id, start, end, work.matchers),
                    None if failure.is_ok() => {
                        failure = self.stretch_tokens(&text[start..end], start, work, &mut out);
                    }
                    None => {}
                },
            );
            failure
        })?;
        Ok(out.tokens)
    }

    /// The tokens of a stretch that starts at `base` of the text as given.
    fn stretch_tokens(
        &self,
        stretch: &[u8],
        base: usize,
        work: &mut Work,
        out: &mut Placed,
    ) -> Result<()> {
        let aligned = self.normalizers.apply_aligned(stretch, Edges::WHOLE)?;
        let (text, places) = match &aligned {
            Some(aligned) => (&aligned.text[..], Some(&aligned.places[..])),
            None => (stretch, None),
        };
        let mut failure = Ok(());
        let matcher = work.matchers.and_then(Matchers::normalized);
        each_span(matcher, text, |id, start, end| match id {
            Some(id) => {
                let (from, to) = place_of(places, start, end);
                out.added(id, base + from, base + to, work.matchers);
            }
            None if failure.is_ok() => {
                let run = self
                    .pre_tokenizer
                    .run(&text[start..end], base == 0 && start == 0);
                failure = run.and_then(|splits| {
                    let origins = splits.origins.as_deref();
                    let mut place = |from: usize, to: usize| {
                        let (from, to) = place_of(origins, from, to);
                        let (from, to) = place_of(places, start + from, start + to);
                        (base + from, base + to)
                    };
                    let ranges = &splits.ranges;
                    self.each_range(&splits.text, ranges, work, |segments, from, _| {
                        out.segments(segments, from, &mut place);
                    })
                });
            }
            None => {}
        });
        failure
    }

    /// The normalized and rewritten text, the byte ranges of its pre-tokens, and where
    /// each of these stood in `text`.
    pub fn pre_tokens(&self, text: &[u8]) -> Result<PreTokens> {
        let aligned = self.normalizers.apply_aligned(text, Edges::WHOLE)?;
        let (normalized, places) = match &aligned {
            Some(aligned) => (&aligned.text[..], Some(&aligned.places[..])),
            None => (text, None),
        };
        let splits = self.pre_tokenizer.run(normalized, true)?;
        let origins = splits.origins.as_deref();
        let place = |&(from, to): &(usize, usize)| {
            let (from, to) = place_of(origins, from, to);
            place_of(places, from, to)
        };
        Ok(PreTokens {
            places: splits.ranges.iter().map(place).collect(),
            ranges: splits.ranges,
            text: splits.text.into_owned(),
        })
    }
}

/// The pre-tokens of a text.
pub struct PreTokens {
    pub text: Vec<u8>,
    pub ranges: Vec<(usize, usize)>,
    pub places: Vec<(usize, usize)>,
}

/// Calls `emit(id, start, end)` for every added token and every stretch between, which
/// has no id; no stretch is empty.
fn each_span(
    matcher: Option<&AddedTokens>,
    text: &[u8],
    mut emit: impl FnMut(Option<u32>, usize, usize),
) {
    let mut done = 0;
    if let Some(matcher) = matcher {
        for (start, end, id) in matcher.find(text) {
            if start > done {
                emit(None, done, start);
            }
            emit(Some(id), start, end);
            done = end;
        }
    }
    if done < text.len() {
        emit(None, done, text.len());
    }
}

/// Where the bytes `start..end` of a text came from: `places` holds that of each byte,
/// and nothing moved without it. An empty stretch has an empty place.
fn place_of(places: Option<&[(u32, u32)]>, start: usize, end: usize) -> (usize, usize) {
    let Some(places) = places else {
        return (start, end);
    };
    if start < end {
        return (places[start].0 as usize, places[end - 1].1 as usize);
    }
    let at = match places.get(start) {
        Some(&(from, _)) => from,
        None => places.last().map_or(0, |&(_, to)| to),
    };
    (at as usize, at as usize)
}

/// Tokens as they are found, with the number of the next pre-token.
#[derive(Default)]
struct Placed {
    tokens: Vec<Token>,
    pre_tokens: usize,
}

impl Placed {
    fn added(&mut self, id: u32, start: usize, end: usize, matchers: Option<&Matchers>) {
        let special = matchers.is_some_and(|matchers| matchers.is_special(id));
        let pre_token = (!special).then_some(self.pre_tokens);
        self.pre_tokens += usize::from(!special);
        self.tokens.push(Token {
            id,
            start,
            end,
            pre_token,
        });
    }

    fn segments(
        &mut self,
        segments: &[Segment],
        mut from: usize,
        mut place: impl FnMut(usize, usize) -> (usize, usize),
    ) {
        for segment in segments {
            let to = from + segment.length as usize;
            let (start, end) = place(from, to);
            self.tokens.push(Token {
                id: segment.id,
                start,
                end,
                pre_token: Some(self.pre_tokens),
            });
            from = to;
        }
        self.pre_tokens += 1;
    }
}
