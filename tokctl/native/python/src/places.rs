//! The tokens of a text with their places in characters, for Python's lists.

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyTuple};
use tokctl_core::encode::Token;

use crate::errors::invalid;
use crate::ids::PausedGc;

/// Tokens of one text, in its order. Places are in characters.
#[pyclass(module = "tokctl._native", frozen)]
pub struct PlacedTokens(Vec<Token>);

impl PlacedTokens {
    /// Of tokens whose places are bytes of `text`. A cut inside a character widens to all of it.
    pub fn new(mut tokens: Vec<Token>, text: &str) -> Self {
        if text.is_ascii() {
            return PlacedTokens(tokens);
        }
        // Places rise from token to token nearly always, but nothing promises it.
        let mut numbers = Vec::with_capacity(text.len() + 1);
        let mut next = 0;
        for &byte in text.as_bytes() {
            next += usize::from(byte & 0xC0 != 0x80);
            numbers.push(next - 1);
        }
        numbers.push(next);
        for token in &mut tokens {
            let start = numbers[token.start];
            token.end = match token.end > token.start {
                true => numbers[token.end - 1] + 1,
                false => start,
            };
            token.start = start;
        }
        PlacedTokens(tokens)
    }

    fn range(&self, start: usize, stop: usize) -> PyResult<&[Token]> {
        let found = self.0.get(start..stop);
        found.ok_or_else(|| invalid(format!("there are no tokens {start} to {stop}")))
    }
}

#[pymethods]
impl PlacedTokens {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// (start, end) of the tokens `start..stop`, with `shift` added, trimmed as
    /// `tokctl.tokenizer.postprocess.trimmed` says: for each of `trims` whether a prefix space was
    /// added and whether the first of these tokens is that of its encoding. `spaces` has, for each
    /// id, how many a token begins and ends with, as 32-bit numbers.
    fn offsets<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        stop: usize,
        shift: usize,
        trims: Vec<(bool, bool)>,
        spaces: &[u8],
    ) -> PyResult<Bound<'py, PyList>> {
        let tokens = self.range(start, stop)?;
        // Nothing but tuples of ints comes into being here: walking them is no use.
        let _paused = PausedGc::new(py);
        let mut before: Option<(usize, Bound<'py, PyInt>)> = None;
        let pairs = tokens.iter().enumerate().map(|(place, token)| {
            let mut bounds = (token.start, token.end);
            if !trims.is_empty() {
                if let Some(found) = spaces_of(spaces, token.id) {
                    for &(prefix_space, first) in &trims {
                        bounds = trimmed(bounds, found, prefix_space, first && place == 0);
                    }
                }
            }
            let (from, to) = (bounds.0 + shift, bounds.1 + shift);
            // A token mostly begins where the one before it ends.
            let from = match before.take() {
                Some((number, object)) if number == from => object,
                _ => int(py, from),
            };
            let end = int(py, to);
            before = Some((to, end.clone()));
            PyTuple::new(py, [from, end])
        });
        let pairs = pairs.collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, pairs)
    }

    /// The number of each token's pre-token, of the tokens `start..stop`.
    fn words<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        stop: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut before: Option<(usize, Bound<'py, PyInt>)> = None;
        let numbers = self.range(start, stop)?.iter().map(|token| {
            let (number, object) = match before.take() {
                Some(same) if same.0 == token.pre_token => same,
                _ => (token.pre_token, int(py, token.pre_token)),
            };
            before = Some((number, object.clone()));
            object
        });
        PyList::new(py, numbers)
    }
}

fn int(py: Python<'_>, number: usize) -> Bound<'_, PyInt> {
    let Ok(number) = number.into_pyobject(py);
    number
}

/// How many spaces the token of an id begins and ends with, if any.
fn spaces_of(spaces: &[u8], id: u32) -> Option<(usize, usize)> {
    let at = 8 * id as usize;
    let (leading, trailing) = spaces.get(at..at + 8)?.split_at(4);
    let number = |bytes: &[u8]| Some(u32::from_ne_bytes(bytes.try_into().ok()?) as usize);
    Some((number(leading)?, number(trailing)?)).filter(|&found| found != (0, 0))
}

/// See `tokctl.tokenizer.postprocess.trimmed`.
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
