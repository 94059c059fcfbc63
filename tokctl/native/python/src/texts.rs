//! Texts from Python, read without copying; runs of short `str` are converted in one buffer.
#![allow(unsafe_code)]

use std::ops::Range;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyList, PyString};
use tokctl_core::large_pages::{reserve_projected, with_room};
use tokctl_core::unicode::{well_formed, Utf8Writer};

use crate::columns::TextColumn;

/// Bytes of a Python object, which is kept alive.
pub enum Text {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        match self {
            Text::Str(text) => text.as_bytes(),
            Text::Bytes(text) => text,
        }
    }
}

/// Maximum length in characters of a `str` that is converted in our own buffer.
const SHORT: usize = 1 << 14;
/// Maximum bytes of remaining texts for which space is reserved at once.
const MOST_AHEAD: usize = 64 << 20;
/// Number of successive texts beyond ASCII after which texts are converted in our own buffer.
const IN_A_ROW: usize = 4;

/// Many texts. Python converts a `str` to UTF-8 one character at a time, and keeps the result with
/// the `str`. Short texts beyond ASCII are converted with vector instructions instead, and nothing
/// is kept.
#[derive(Default)]
pub struct Texts {
    texts: Vec<TextPlace>,
    written: Vec<u8>,
    /// Column that replaces the other fields.
    column: Option<Py<TextColumn>>,
}

enum TextPlace {
    There(Text),
    Written(Range<usize>),
}

impl Texts {
    pub fn len(&self) -> usize {
        let column = self.column.as_ref();
        column.map_or(self.texts.len(), |column| column.get().__len__())
    }

    pub fn slices(&self) -> Vec<&[u8]> {
        if let Some(column) = &self.column {
            return column.get().iter().collect();
        }
        let slices = self.texts.iter().map(|text| match text {
            TextPlace::Written(place) => &self.written[place.clone()],
            TextPlace::There(text) => text.as_ref(),
        });
        let mut all = with_room(self.texts.len());
        all.extend(slices);
        all
    }
}

/// Converter of short texts to UTF-8.
struct ShortTexts {
    writer: Utf8Writer,
    codes: Vec<u32>,
}

impl ShortTexts {
    fn new() -> Option<Self> {
        let writer = Utf8Writer::get()?;
        let codes = vec![0; SHORT];
        Some(ShortTexts { writer, codes })
    }

    /// Append the UTF-8 of a short text. Return its range in `out`, or None if nothing was
    /// appended.
    ///
    /// `done` and `left` are the numbers of texts already read and still to read.
    fn append(
        &mut self,
        text: &Bound<'_, PyString>,
        (done, left): (usize, usize),
        out: &mut Vec<u8>,
    ) -> Option<Range<usize>> {
        let length = Some(length(text)).filter(|&length| length <= SHORT)?;
        let room = Utf8Writer::room(length);
        if out.capacity() - out.len() < room {
            let most = done * MOST_AHEAD / out.len().max(1);
            reserve_projected(out, room, (done, left.min(most)), out.len());
        }
        let (codes, room) = (self.codes.as_mut_ptr(), self.codes.len() as isize);
        // SAFETY: the object is a `str`, and the interpreter's lock is held, as `text` shows; at
        // most as much as the buffer's length is written.
        let done = unsafe { ffi::PyUnicode_AsUCS4(text.as_ptr(), codes, room, 0) };
        if done.is_null() {
            drop(PyErr::take(text.py()));
            return None;
        }
        let start = out.len();
        let is_text = self.writer.append(&self.codes[..length], out);
        is_text.then_some(start..out.len())
    }
}

/// Return the number of characters of a `str`.
fn length(text: &Bound<'_, PyString>) -> usize {
    // SAFETY: the object is a `str`, and the interpreter's lock is held, as `text` shows.
    unsafe { ffi::PyUnicode_GetLength(text.as_ptr()) as usize }
}

/// Rules for reading texts.
pub struct Reader<'a, 'py> {
    /// Whether bytes must be UTF-8.
    pub utf8: bool,
    /// Function that is called with any other text, and returns bytes or raises. Without it, bytes
    /// are taken as they are.
    pub otherwise: Option<&'a Bound<'py, PyAny>>,
}

impl<'py> Reader<'_, 'py> {
    /// Read a `str` as its UTF-8, which Python keeps with it, or `bytes` as they are.
    pub fn read(&self, given: &Bound<'py, PyAny>) -> PyResult<Text> {
        if let Ok(text) = given.cast::<PyString>() {
            // Only a lone surrogate has no UTF-8.
            if let Ok(text) = PyBackedStr::try_from(text.clone()) {
                return Ok(Text::Str(text));
            }
        } else if let Ok(text) = given.cast::<PyBytes>() {
            let checked = self.utf8 && self.otherwise.is_some();
            if !checked || well_formed(text.as_bytes()).is_some() {
                return Ok(Text::Bytes(text.clone().into()));
            }
        }
        let Some(otherwise) = self.otherwise else {
            return Err(PyTypeError::new_err(
                "a text is str without lone surrogates, or bytes",
            ));
        };
        let bytes = otherwise.call1((given,))?.cast_into::<PyBytes>()?;
        Ok(Text::Bytes(bytes.into()))
    }

    /// Read every text of a sequence; short ones are converted in our own buffer where this is
    /// faster.
    pub fn read_all(&self, given: &Bound<'py, PyAny>) -> PyResult<Texts> {
        let mut texts = Texts::default();
        if let Ok(column) = given.cast::<TextColumn>() {
            let checked = self.utf8 && self.otherwise.is_some();
            if !checked || column.get().first_not_utf8(given.py()).is_none() {
                texts.column = Some(column.clone().unbind());
                return Ok(texts);
            }
        }
        let mut short = ShortTexts::new();
        // Number of successive texts that were not ASCII. Of ASCII, Python already has the UTF-8.
        let mut beyond_ascii = 0;
        let count = given.len().unwrap_or(0);
        let mut push = |texts: &mut Texts, given: &Bound<'py, PyAny>| {
            let done = texts.texts.len();
            let left = count.saturating_sub(done);
            let text = given.cast::<PyString>().ok();
            if let (IN_A_ROW.., Some(short), Some(text)) = (beyond_ascii, &mut short, text) {
                if let Some(place) = short.append(text, (done, left), &mut texts.written) {
                    if length(text) == place.len() {
                        beyond_ascii = 0;
                    }
                    texts.texts.push(TextPlace::Written(place));
                    return Ok(());
                }
            }
            let read = self.read(given)?;
            beyond_ascii = match text.is_some_and(|text| length(text) < read.as_ref().len()) {
                true => beyond_ascii + 1,
                false => 0,
            };
            texts.texts.push(TextPlace::There(read));
            Ok::<(), PyErr>(())
        };
        match given.cast_exact::<PyList>() {
            Ok(list) => {
                texts.texts = with_room(list.len());
                list.iter().try_for_each(|text| push(&mut texts, &text))?;
            }
            Err(_) => given
                .try_iter()?
                .try_for_each(|text| push(&mut texts, &text?))?,
        }
        Ok(texts)
    }
}
