//! From text to ids: split, segment each pre-token, remember what was segmented.

mod batch;
mod cache;
mod lines;
mod longest_match;
mod merge;
mod special;
mod trie;

pub use lines::Lines;
pub use longest_match::{LongestMatch, Unknown};
pub use merge::{MergeOrder, Merging};
pub use special::SpecialTokens;

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::normalize::Normalizer;
use crate::pretokenize::PreTokenizer;
use cache::Cache;

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
    /// Number of the pre-token, from 0.
    pub pre_token: usize,
}

/// How a pre-token becomes tokens.
pub enum Segmenter {
    Merges(Merging),
    LongestMatch(LongestMatch),
}

impl Segmenter {
    /// Appends the segments of one pre-token.
    pub fn segment(
        &self,
        pre_token: &[u8],
        out: &mut Vec<Segment>,
        interrupt: Interrupt,
    ) -> Result<()> {
        // Lengths and places inside a pre-token are 32-bit numbers.
        if pre_token.len() >= u32::MAX as usize - 1 {
            return Err(Error::TooLarge(
                "a pre-token of over 4 GB can't be segmented".into(),
            ));
        }
        match self {
            Segmenter::Merges(merging) => merging.segment(pre_token, out, interrupt),
            Segmenter::LongestMatch(matching) => {
                matching.segment(pre_token, out);
                Ok(())
            }
        }
    }
}

/// Asked now and then in long work; true stops it.
pub type Interrupt<'i> = &'i (dyn Fn() -> bool + Sync);

/// A pre-token longer than this is segmented without a look into the cache.
const CACHED_LENGTH: usize = 64;

pub struct Encoder {
    normalizers: Vec<Normalizer>,
    pre_tokenizer: PreTokenizer,
    segmenter: Segmenter,
    /// Caches that no call is using at the moment; each call takes one or makes one.
    caches: Mutex<Vec<Cache>>,
}

impl Encoder {
    pub fn new(
        normalizers: Vec<Normalizer>,
        pre_tokenizer: PreTokenizer,
        segmenter: Segmenter,
    ) -> Self {
        Encoder {
            normalizers,
            pre_tokenizer,
            segmenter,
            caches: Mutex::new(Vec::new()),
        }
    }

    pub fn segmenter(&self) -> &Segmenter {
        &self.segmenter
    }

    fn with_cache<T>(&self, work: impl FnOnce(&mut Cache) -> T) -> T {
        let lock = || self.caches.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cache = lock().pop().unwrap_or_default();
        let result = work(&mut cache);
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
            let mut segments = cache.take_scratch();
            let result = self.segmenter.segment(pre_token, &mut segments, interrupt);
            let kept = cache.keep_scratch(segments);
            return result.map(|()| kept);
        }
        cache.get_or_insert(pre_token, |out| {
            self.segmenter.segment(pre_token, out, interrupt)
        })
    }

    /// Calls `emit(segments, start, end)` for every pre-token of an already normalized text.
    fn each_pre_token(
        &self,
        text: &[u8],
        cache: &mut Cache,
        interrupt: Interrupt,
        mut emit: impl FnMut(&[Segment], usize, usize),
    ) -> Result<()> {
        let mut failure = Ok(());
        let mut seen = 0usize;
        self.pre_tokenizer.split(text, |start, end| {
            seen += 1;
            if failure.is_err() {
                return;
            }
            if seen.is_multiple_of(1 << 14) && interrupt() {
                failure = Err(Error::Interrupted);
                return;
            }
            match self.segment_cached(&text[start..end], cache, interrupt) {
                Ok(segments) => emit(segments, start, end),
                Err(error) => failure = Err(error),
            }
        });
        failure
    }

    /// Appends the ids of `text`.
    pub fn ids(&self, text: &[u8], out: &mut Vec<u32>, interrupt: Interrupt) -> Result<()> {
        let normalized = self.normalize(text);
        self.with_cache(|cache| {
            self.each_pre_token(&normalized, cache, interrupt, |segments, _, _| {
                out.extend(segments.iter().map(|segment| segment.id));
            })
        })
    }

    /// The tokens of `text` with their places in it.
    pub fn tokens(&self, text: &[u8], interrupt: Interrupt) -> Result<Vec<Token>> {
        let normalized = self.normalize(text);
        let mut tokens = Vec::new();
        let mut pre_token = 0;
        self.with_cache(|cache| {
            self.each_pre_token(&normalized, cache, interrupt, |segments, start, _| {
                place(segments, start, pre_token, &mut tokens);
                pre_token += 1;
            })
        })?;
        self.place_in_original(text, &mut tokens);
        Ok(tokens)
    }

    /// The tokens of `text` with their places in it, where the caller has split the
    /// normalized text into pre-tokens (byte ranges).
    pub fn tokens_of(
        &self,
        text: &[u8],
        pre_tokens: &[(usize, usize)],
        interrupt: Interrupt,
    ) -> Result<Vec<Token>> {
        let normalized = self.normalize(text);
        let mut tokens = Vec::new();
        self.with_cache(|cache| {
            for (number, &(start, end)) in pre_tokens.iter().enumerate() {
                if number % (1 << 14) == (1 << 14) - 1 && interrupt() {
                    return Err(Error::Interrupted);
                }
                let pre_token = normalized
                    .get(start..end)
                    .ok_or_else(|| Error::Invalid("a pre-token lies outside its text".into()))?;
                let segments = self.segment_cached(pre_token, cache, interrupt)?;
                place(segments, start, number, &mut tokens);
            }
            Ok(())
        })?;
        self.place_in_original(text, &mut tokens);
        Ok(tokens)
    }

    /// Turns places in the normalized text into places in the original.
    fn place_in_original(&self, text: &[u8], tokens: &mut [Token]) {
        let Some(origins) = self.origins(text) else {
            return;
        };
        for token in tokens {
            // The end is that of the last byte covered, not the start of the next one.
            let covered = token.end > token.start;
            let end = match covered {
                true => origins[token.end - 1] + 1,
                false => origins[token.start],
            };
            (token.start, token.end) = (origins[token.start], end);
        }
    }

    /// The byte ranges of the pre-tokens of the normalized text, and that text.
    pub fn pre_tokens(&self, text: &[u8]) -> (Vec<u8>, Vec<(usize, usize)>) {
        let normalized = self.normalize(text);
        let mut found = Vec::new();
        self.pre_tokenizer
            .split(&normalized, |start, end| found.push((start, end)));
        (normalized.into_owned(), found)
    }

    fn normalize<'t>(&self, text: &'t [u8]) -> std::borrow::Cow<'t, [u8]> {
        let mut normalized = std::borrow::Cow::Borrowed(text);
        for normalizer in &self.normalizers {
            normalized = std::borrow::Cow::Owned(normalizer.apply(&normalized).into_owned());
        }
        normalized
    }

    /// For each byte of the normalized text, and its end, the place in the original.
    fn origins(&self, text: &[u8]) -> Option<Vec<usize>> {
        let mut origins: Option<Vec<usize>> = None;
        let mut current = std::borrow::Cow::Borrowed(text);
        for normalizer in &self.normalizers {
            if let Some(step) = normalizer.origins(&current) {
                origins = Some(match origins {
                    None => step,
                    Some(before) => step.into_iter().map(|at| before[at]).collect(),
                });
            }
            current = std::borrow::Cow::Owned(normalizer.apply(&current).into_owned());
        }
        origins
    }
}

fn place(segments: &[Segment], mut start: usize, pre_token: usize, out: &mut Vec<Token>) {
    for segment in segments {
        let end = start + segment.length as usize;
        out.push(Token {
            id: segment.id,
            start,
            end,
            pre_token,
        });
        start = end;
    }
}
