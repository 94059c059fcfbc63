//! Tokens of a text with their offsets in characters, as Python lists.
#![allow(unsafe_code)]

use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use tokctl_core::encode::Token;

use crate::errors::invalid;
use crate::ids::{IntCache, PausedGc};

/// Tokens of one text, in order, with offsets in characters.
#[pyclass(module = "tokctl._native", frozen)]
pub struct PlacedTokens {
    tokens: Vec<Token>,
    ints: Arc<IntCache>,
}

impl PlacedTokens {
    /// Convert tokens with byte offsets in `text`.
    pub fn new(mut tokens: Vec<Token>, text: &str, ints: Arc<IntCache>) -> Self {
        if !text.is_ascii() {
            to_characters(&mut tokens, text);
        }
        PlacedTokens { tokens, ints }
    }

    fn range(&self, start: usize, stop: usize) -> PyResult<&[Token]> {
        let found = self.tokens.get(start..stop);
        found.ok_or_else(|| invalid(format!("there are no tokens {start} to {stop}")))
    }
}

#[pymethods]
impl PlacedTokens {
    fn __len__(&self) -> usize {
        self.tokens.len()
    }

    /// Return the ids of the tokens `start..stop`.
    fn ids<'py>(&self, py: Python<'py>, start: usize, stop: usize) -> PyResult<Bound<'py, PyList>> {
        let tokens = self.range(start, stop)?;
        let ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
        self.ints.list(py, &ids)
    }

    /// Return (start, end) in characters of the tokens `start..stop`, with `shift` added.
    ///
    /// For each of `trims`, (whether a prefix space was added, whether token `start` is the first
    /// of its encoding), the offsets are trimmed as in `tokctl.tokenizer.postprocess.trimmed`.
    /// `spaces` has, for each id, the numbers of leading and trailing spaces as 32-bit numbers.
    /// Returns None if a number is unknown (2^32 - 1).
    fn offsets<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        stop: usize,
        shift: usize,
        trims: Vec<(bool, bool)>,
        spaces: &[u8],
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let tokens = self.range(start, stop)?;
        // Only tuples of ints are created: collecting garbage would be wasted work.
        let _paused = PausedGc::new(py);
        self.ints.with_ints(|ints| {
            let mut pairs = Vec::with_capacity(tokens.len());
            for (place, token) in tokens.iter().enumerate() {
                let mut bounds = (token.start, token.end);
                if !trims.is_empty() {
                    match spaces_of(spaces, token.id) {
                        (0, 0) => {}
                        (UNKNOWN, _) => return Ok(None),
                        found => {
                            for &(prefix_space, first) in &trims {
                                let begins = first && place == 0;
                                bounds = trimmed(bounds, found, prefix_space, begins);
                            }
                        }
                    }
                }
                let (from, to) = (
                    ints.get(py, bounds.0 + shift),
                    ints.get(py, bounds.1 + shift),
                );
                let pair = PyTuple::new(py, [from, to])?;
                // SAFETY: the object is a tuple, which the collector tracks. No cycle goes through
                // ints, so the collector has nothing to do with it. Python itself untracks such
                // tuples when the collector first visits them, and on deallocation it checks
                // whether they are tracked.
                unsafe { ffi::PyObject_GC_UnTrack(pair.as_ptr().cast()) };
                pairs.push(pair);
            }
            PyList::new(py, pairs).map(Some)
        })
    }

    /// Return the pre-token number of each of the tokens `start..stop`.
    fn words<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        stop: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let tokens = self.range(start, stop)?;
        self.ints.with_ints(|ints| {
            PyList::new(py, tokens.iter().map(|token| ints.get(py, token.pre_token)))
        })
    }
}

/// Convert byte offsets to character offsets. An offset inside a character is widened to include
/// it.
fn to_characters(tokens: &mut [Token], text: &str) {
    // Offsets nearly always ascend from token to token, but nothing guarantees it.
    let mut numbers = Vec::with_capacity(text.len() + 1);
    let mut next = 0;
    for &byte in text.as_bytes() {
        next += usize::from(byte & 0xC0 != 0x80);
        numbers.push(next - 1);
    }
    numbers.push(next);
    for token in tokens {
        let start = numbers[token.start];
        token.end = match token.end > token.start {
            true => numbers[token.end - 1] + 1,
            false => start,
        };
        token.start = start;
    }
}

/// Number of spaces that stands for an unknown number.
const UNKNOWN: usize = u32::MAX as usize;

/// Return the numbers of leading and trailing spaces of the token with an id.
fn spaces_of(spaces: &[u8], id: u32) -> (usize, usize) {
    let number = |at: usize| {
        let bytes = spaces.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_ne_bytes(bytes) as usize)
    };
    let at = 8 * id as usize;
    (number(at).unwrap_or(0), number(at + 4).unwrap_or(0))
}

/// Trim a range: see `tokctl.tokenizer.postprocess.trimmed`.
fn trimmed(
    (mut start, mut end): (usize, usize),
    (leading, trailing): (usize, usize),
    prefix_space: bool,
    begins: bool,
) -> (usize, usize) {
    let first = begins || start == 0;
    if !(first && prefix_space && leading == 1) {
        start = end.min(start + leading);
    }
    if trailing <= end {
        end = start.max(end - trailing);
    }
    (start, end)
}
