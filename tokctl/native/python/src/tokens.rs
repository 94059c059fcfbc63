//! The tokens of one text for Python: ids at once, all other columns when they are read.
#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use tokctl_core::encode::{Ids, Token};
use tokctl_core::model::NO_ID;

use crate::encoder::{Encoder, Matchers};
use crate::errors::{detached, invalid};
use crate::ids::{IntCache, PausedGc};
use crate::texts::Text;

/// The tokens of a text, in order.
///
/// The ids may be a part of those of a batch. Spans are computed on first use, by encoding the text
/// again: most callers read only ids.
#[pyclass(module = "tokctl._native", frozen)]
pub struct TextTokens {
    pub encoder: Py<Encoder>,
    pub matchers: Option<Py<Matchers>>,
    /// Object with the list `tokens` and the methods `token_names` and `as_bytes`.
    pub tokenizer: Py<PyAny>,
    pub text: Py<PyAny>,
    pub ids: Arc<Ids<u32>>,
    pub range: Range<usize>,
    pub spans: OnceLock<Spans>,
}

/// Spans of the tokens of a text.
pub struct Spans {
    text: Text,
    /// Tokens with their offsets in bytes.
    tokens: Vec<Token>,
    /// Offsets in characters; `None` if they equal those in bytes.
    characters: Option<Vec<(usize, usize)>>,
}

#[pymethods]
impl TextTokens {
    fn __len__(&self) -> usize {
        self.range.len()
    }

    /// Whether every token has an id.
    #[getter]
    fn has_all_ids(&self) -> bool {
        !self.all_ids().contains(&NO_ID)
    }

    /// Return a column of `tokctl.Encoding` for the tokens `start..stop`.
    ///
    /// `offsets` are in characters of a `str`, in bytes of `bytes`. The texts in `tokens` are those
    /// of the tokenizer's list `tokens`. If one of the ids has no text there, the tokenizer's
    /// `token_names` makes all of them.
    fn column<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        start: usize,
        stop: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (this, py) = (slf.get(), slf.py());
        let ints = &this.encoder.get().ints;
        let column = match name {
            "raw_ids" => ints.list(py, part(this.all_ids(), start, stop)?)?,
            "tokens" => {
                let tokenizer = this.tokenizer.bind(py);
                match spelled(tokenizer, part(this.all_ids(), start, stop)?)? {
                    Some(texts) => texts,
                    None => return tokenizer.call_method1("token_names", (slf, start, stop)),
                }
            }
            _ => {
                let spans = this.spans(py)?;
                let tokens = part(&spans.tokens, start, stop)?;
                let in_bytes = tokens.iter().map(|token| (token.start, token.end));
                match (name, &spans.characters) {
                    ("surfaces", _) => {
                        let text = spans.text.as_ref();
                        PyList::new(
                            py,
                            in_bytes.map(|(a, b)| String::from_utf8_lossy(&text[a..b])),
                        )?
                    }
                    ("offsets", Some(offsets)) => {
                        pairs(py, ints, part(offsets, start, stop)?.iter().copied())?
                    }
                    ("offsets" | "byte_offsets", _) => pairs(py, ints, in_bytes)?,
                    ("word_ids", _) => ints.with_ints(|ints| {
                        PyList::new(py, tokens.iter().map(|token| ints.get(py, token.pre_token)))
                    })?,
                    _ => return Err(invalid(format!("there is no column {name}"))),
                }
            }
        };
        Ok(column.into_any())
    }

    /// The text as it was given.
    #[getter]
    fn text(&self, py: Python<'_>) -> Py<PyAny> {
        self.text.clone_ref(py)
    }
}

impl TextTokens {
    fn all_ids(&self) -> &[u32] {
        &self.ids[self.range.clone()]
    }

    /// Return the spans, computing them on first use.
    fn spans(&self, py: Python<'_>) -> PyResult<&Spans> {
        if let Some(spans) = self.spans.get() {
            return Ok(spans);
        }
        // Two threads can compute the spans at once. A lock could block a signal handler forever
        // that reads the columns which it interrupts.
        let encoder = self.encoder.get();
        let given = self.text.bind(py);
        let text = encoder.read(given, self.tokenizer.bind(py))?;
        let (inner, matchers) = encoder.with(self.matchers.as_ref().map(Py::get));
        let tokens = detached(py, |interrupt| {
            inner.tokens(text.as_ref(), matchers, interrupt)
        })?;
        let numbers = match (&text, given.cast::<PyString>()) {
            (Text::Str(text), _) if !text.is_ascii() => Some(character_numbers(text)),
            (Text::Bytes(_), Ok(escaped)) => Some(escaped_character_numbers(escaped)?),
            _ => None,
        };
        let characters = numbers.map(|numbers| in_characters(&tokens, &numbers));
        Ok(self.spans.get_or_init(|| Spans {
            text,
            tokens,
            characters,
        }))
    }
}

/// Return the texts of the ids in the tokenizer's list `tokens`; `None` if an id has no text.
fn spelled<'py>(
    tokenizer: &Bound<'py, PyAny>,
    ids: &[u32],
) -> PyResult<Option<Bound<'py, PyList>>> {
    let py = tokenizer.py();
    let all = tokenizer.getattr(intern!(py, "tokens"))?;
    let all = all.cast_into::<PyList>()?;
    let mut texts = Vec::with_capacity(ids.len());
    for &id in ids {
        match all.get_item(id as usize) {
            Ok(text) if !text.is_none() => texts.push(text),
            _ => return Ok(None),
        }
    }
    PyList::new(py, texts).map(Some)
}

fn pairs<'py>(
    py: Python<'py>,
    ints: &IntCache,
    offsets: impl ExactSizeIterator<Item = (usize, usize)>,
) -> PyResult<Bound<'py, PyList>> {
    // Only tuples of ints are created: collecting garbage would be wasted work.
    let _paused = PausedGc::new(py);
    ints.with_ints(|ints| {
        let mut pairs = Vec::with_capacity(offsets.len());
        for (start, end) in offsets {
            let pair = PyTuple::new(py, [ints.get(py, start), ints.get(py, end)])?;
            // SAFETY: the object is a tuple, which the collector tracks. No cycle goes through
            // ints, so the collector has nothing to do with it. Python itself untracks such tuples
            // when the collector first visits them, and on deallocation it checks whether they are
            // tracked.
            unsafe { ffi::PyObject_GC_UnTrack(pair.as_ptr().cast()) };
            pairs.push(pair);
        }
        PyList::new(py, pairs)
    })
}

fn part<T>(column: &[T], start: usize, stop: usize) -> PyResult<&[T]> {
    let found = column.get(start..stop);
    found.ok_or_else(|| invalid(format!("there are no tokens {start} to {stop}")))
}

/// Return the number of the character that each byte belongs to, and at the end the number of
/// characters.
fn character_numbers(text: &str) -> Vec<usize> {
    let mut numbers = Vec::with_capacity(text.len() + 1);
    let mut next = 0;
    for &byte in text.as_bytes() {
        next += usize::from(byte & 0xC0 != 0x80);
        numbers.push(next - 1);
    }
    numbers.push(next);
    numbers
}

/// Like [`character_numbers`], for a text in which surrogates stand for bytes that are not UTF-8.
fn escaped_character_numbers(text: &Bound<'_, PyString>) -> PyResult<Vec<usize>> {
    let encoded = text.call_method1("encode", ("utf-32-le", "surrogatepass"))?;
    let codes = encoded.cast_into::<PyBytes>()?;
    let codes = codes.as_bytes().as_chunks().0;
    let mut numbers = Vec::with_capacity(codes.len() + 1);
    for (number, &code) in codes.iter().enumerate() {
        let width = match u32::from_le_bytes(code) {
            0..0x80 | 0xDC80..=0xDCFF => 1,
            0x80..0x800 => 2,
            0x800..0x1_0000 => 3,
            _ => 4,
        };
        numbers.resize(numbers.len() + width, number);
    }
    numbers.push(codes.len());
    Ok(numbers)
}

/// Return the offsets of tokens in characters. An offset inside a character is widened to include
/// it.
fn in_characters(tokens: &[Token], numbers: &[usize]) -> Vec<(usize, usize)> {
    let offsets = tokens.iter().map(|token| {
        let start = numbers[token.start];
        match token.end > token.start {
            true => (start, numbers[token.end - 1] + 1),
            false => (start, start),
        }
    });
    offsets.collect()
}

/// Return offsets without the spaces that byte-level tokens start and end with.
///
/// With `prefix_space`, a space was added before the text. One leading space of a first token is
/// then this space, and stays. `begins`: the first token is the first of its encoding.
#[pyfunction]
pub fn trim_offsets<'py>(
    offsets: &Bound<'py, PyList>,
    tokens: &Bound<'py, PyList>,
    prefix_space: bool,
    begins: bool,
) -> PyResult<Bound<'py, PyList>> {
    let mut trimmed = Vec::with_capacity(offsets.len());
    for (place, (bounds, token)) in offsets.iter().zip(tokens).enumerate() {
        let token = token.cast_into::<PyString>()?;
        let token = token.to_string_lossy();
        let leading = token.chars().take_while(is_space).count();
        let trailing = token.chars().rev().take_while(is_space).count();
        if leading == 0 && trailing == 0 {
            trimmed.push(bounds);
            continue;
        }
        let (mut start, mut end): (usize, usize) = bounds.extract()?;
        let first = begins && place == 0 || start == 0;
        if !(first && prefix_space && leading == 1) {
            start = end.min(start + leading);
        }
        if trailing <= end {
            end = start.max(end - trailing);
        }
        trimmed.push((start, end).into_pyobject(offsets.py())?.into_any());
    }
    PyList::new(offsets.py(), trimmed)
}

/// Whether a character is white space, or the space in byte-level tokens.
fn is_space(character: &char) -> bool {
    *character == 'Ġ' || character.is_whitespace()
}
