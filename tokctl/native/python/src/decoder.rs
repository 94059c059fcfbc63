//! Decoding of ids to text, whole or as a stream, and creation of the resulting Python objects.

use std::ffi::{c_char, CStr, CString};
use std::mem::MaybeUninit;
use std::slice;
use std::sync::Arc;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyString};
use tokctl_core::decode::{self, DecoderStep, InvalidBytes};
use tokctl_core::model::{Marker, Prepend};
use tokctl_core::pattern::Search;
use tokctl_core::{large_pages, Error};

use crate::errors::{bytes, detached, invalid, to_python};
use crate::ids::{IdBlocks, IdSlice, Stopped};
use crate::pattern::python_pattern;

/// Decoder from ids to bytes or text. See `tokctl_core::decode::Decoder`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Decoder(pub Arc<decode::Decoder>);

#[pymethods]
impl Decoder {
    #[new]
    fn new(
        py: Python<'_>,
        steps: Vec<Bound<'_, PyDict>>,
        tokens: Vec<Vec<u8>>,
        special: Vec<bool>,
    ) -> PyResult<Self> {
        let steps = steps.iter().map(step).collect::<PyResult<_>>()?;
        let decoder = detached(py, |_| decode::Decoder::new(steps, tokens, special))?;
        Ok(Decoder(Arc::new(decoder)))
    }

    /// Return the decoded text of `ids` as `bytes`.
    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: IdBlocks,
        skip_special: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let decoder = &*self.0;
        if !decoder.is_flat() {
            let ids = ids.into_slice(py)?;
            let text = self.decoded(py, ids.as_slice(), skip_special)?;
            return bytes(py, &text);
        }
        let (mut size, mut before) = (0, 0);
        let sized = ids.each(py, |block| {
            let found = unhurried(py, block, || decoder.size(block, skip_special));
            size += found.map_err(|error| behind(error, before))?;
            before += block.len() as u64;
            Ok(())
        });
        if let Err(stopped) = sized {
            return Err(refused(py, ids, stopped));
        }
        filled_bytes(py, size, |text| {
            let mut rest = text;
            let filled: Result<(), Stopped<()>> = ids.each(py, |block| {
                let out = std::mem::take(&mut rest);
                let filled = unhurried(py, block, || decoder.fill(block, skip_special, out));
                rest = filled.ok_or(())?;
                Ok(())
            });
            filled.is_ok() && rest.is_empty()
        })
    }

    /// Return the decoded text of `ids` as `str`. `errors` says how bytes that are not UTF-8 are
    /// treated.
    fn text<'py>(
        &self,
        py: Python<'py>,
        ids: IdBlocks,
        skip_special: bool,
        errors: CString,
    ) -> PyResult<Bound<'py, PyString>> {
        let decoder = &*self.0;
        if !decoder.is_flat() {
            let ids = ids.into_slice(py)?;
            let text = self.decoded(py, ids.as_slice(), skip_special)?;
            return decoded(py, &text, &errors);
        }
        let (mut text, mut before) = (Vec::new(), 0);
        let made = ids.each(py, |block| {
            let onto = || decoder.decode_onto(block, skip_special, &mut text);
            unhurried(py, block, onto).map_err(|error| behind(error, before))?;
            before += block.len() as u64;
            Ok(())
        });
        match made {
            Ok(()) => decoded(py, &text, &errors),
            Err(stopped) => Err(refused(py, ids, stopped)),
        }
    }

    /// Decode token strings, which need not be in the vocabulary.
    fn decode_tokens<'py>(
        &self,
        py: Python<'py>,
        tokens: Vec<Vec<u8>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let tokens = tokens.iter().map(Vec::as_slice);
        let text = py
            .detach(|| self.0.decode_tokens(tokens))
            .map_err(to_python)?;
        bytes(py, &text)
    }

    /// Decode lines of decimal ids. Errors count lines from `first_line`.
    fn lines<'py>(
        &self,
        py: Python<'py>,
        block: &[u8],
        first_line: u64,
        skip_special: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let text = py
            .detach(|| self.0.lines(block, first_line, skip_special))
            .map_err(to_python)?;
        bytes(py, &text)
    }
}

/// Decoder of a stream of ids. See `tokctl_core::decode::Stream`.
#[pyclass(module = "tokctl._native")]
pub struct DecodeStream(Option<decode::Stream>);

#[pymethods]
impl DecodeStream {
    #[new]
    fn new(decoder: &Decoder, skip_special: bool) -> Self {
        let decoder = Arc::clone(&decoder.0);
        DecodeStream(Some(decode::Stream::new(decoder, skip_special)))
    }

    /// Add ids and return the bytes that are now certain.
    fn push<'py>(&mut self, py: Python<'py>, ids: IdSlice) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, self.pushed(ids.as_slice())?)
    }

    /// Add an id or several ids and return the text that is now certain.
    ///
    /// Bytes that are not UTF-8 become U+FFFD. No piece ends inside a character, so each can be
    /// read by itself.
    fn push_text<'py>(
        &mut self,
        py: Python<'py>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyString>> {
        let text = match ids.cast::<PyInt>() {
            Ok(id) => self.pushed(&[id.extract()?])?,
            Err(_) => self.pushed(ids.extract::<IdSlice>()?.as_slice())?,
        };
        decoded(py, text, c"replace")
    }

    /// End the stream and return the remaining bytes.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        bytes(py, &self.ended()?)
    }

    /// End the stream and return the remaining text, like `push_text`.
    fn finish_text<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyString>> {
        decoded(py, &self.ended()?, c"replace")
    }
}

impl Decoder {
    fn decoded(&self, py: Python<'_>, ids: &[u32], skip_special: bool) -> PyResult<Vec<u8>> {
        unhurried(py, ids, || self.0.decode(ids, skip_special)).map_err(to_python)
    }
}

impl DecodeStream {
    fn pushed(&mut self, ids: &[u32]) -> PyResult<&[u8]> {
        let stream = self.0.as_mut().ok_or_else(finished)?;
        stream.extend(ids).map_err(to_python)
    }

    fn ended(&mut self) -> PyResult<Vec<u8>> {
        let stream = self.0.take().ok_or_else(finished)?;
        stream.finish().map_err(to_python)
    }
}

/// Fewer ids than this are decoded faster than the GIL can be released.
const FEW: usize = 256;

/// Run `work` on `ids`, without the GIL unless there are only few.
fn unhurried<T: Send>(py: Python<'_>, ids: &[u32], work: impl FnOnce() -> T + Send) -> T {
    match ids.len() < FEW {
        true => work(),
        false => py.detach(work),
    }
}

/// Return the error that a list of these ids gives: a number that is not an id takes precedence
/// over an id outside the vocabulary.
fn refused(py: Python<'_>, ids: IdBlocks, stopped: Stopped<Error>) -> PyErr {
    match (ids.into_slice(py), stopped) {
        (Err(error), _) => error,
        (Ok(_), Stopped::By(error)) => to_python(error),
        (Ok(_), Stopped::NoId) => invalid("ids were changed while they were read".into()),
    }
}

/// Correct the position in a block's error by the number of ids before the block.
fn behind(error: Error, before: u64) -> Error {
    match error {
        Error::UnknownId { position, id } => Error::UnknownId {
            position: before + position,
            id,
        },
        error => error,
    }
}

fn finished() -> PyErr {
    invalid("the stream is finished".into())
}

/// Read a decoder step from a dict with its kind and its options.
pub fn step(data: &Bound<'_, PyDict>) -> PyResult<DecoderStep> {
    let kind: String = get(data, "kind")?;
    Ok(match kind.as_str() {
        "wordpiece" => DecoderStep::WordPiece {
            prefix: get(data, "prefix")?,
            cleanup: get(data, "cleanup")?,
        },
        "metaspace" => DecoderStep::Metaspace {
            replacement: get(data, "replacement")?,
            prepend: Prepend::named(&get::<String>(data, "prepend")?).map_err(to_python)?,
        },
        "byte-fallback" => DecoderStep::ByteFallback {
            invalid: InvalidBytes::named(&get::<String>(data, "invalid")?).map_err(to_python)?,
        },
        "bpe-suffix" => DecoderStep::BpeSuffix {
            suffix: get(data, "suffix")?,
        },
        "fuse" | "byte-level" => DecoderStep::Fuse,
        "byte-characters" => DecoderStep::ByteCharacters,
        "join" => DecoderStep::JoinWithSpaces,
        "strip" => DecoderStep::Strip {
            content: get(data, "content")?,
            start: get(data, "start")?,
            stop: get(data, "stop")?,
            first_only: get(data, "first_only")?,
        },
        "replace" => {
            let pattern: String = get(data, "pattern")?;
            DecoderStep::Replace {
                pattern: match get(data, "regex")? {
                    true => Search::Pattern(python_pattern(data.py(), &pattern)?),
                    false => Search::Literal(pattern),
                },
                content: get(data, "content")?,
            }
        }
        "ctc" => DecoderStep::Ctc {
            pad: get(data, "pad")?,
            word_delimiter: get(data, "word_delimiter")?,
            cleanup: get(data, "cleanup")?,
        },
        "markers" => {
            let (kind, text): (String, String) = (get(data, "marker")?, get(data, "text")?);
            DecoderStep::Markers(Marker::new(&kind, &text).map_err(to_python)?)
        }
        _ => return Err(invalid(format!("no decoder is called {kind}"))),
    })
}

fn get<'py, T: FromPyObjectOwned<'py>>(data: &Bound<'py, PyDict>, key: &str) -> PyResult<T> {
    let value = data.get_item(key)?;
    let value = value.ok_or_else(|| invalid(format!("a decoder lacks its {key}")))?;
    let wrong = |error| invalid(format!("a decoder's {key}: {error}"));
    value
        .extract()
        .map_err(|error: T::Error| wrong(error.into()))
}

/// Create `bytes` of a known size. `fill` must write every byte, and returns whether it did.
#[allow(unsafe_code)]
fn filled_bytes<'py>(
    py: Python<'py>,
    size: usize,
    fill: impl FnOnce(&mut [MaybeUninit<u8>]) -> bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let length = size as ffi::Py_ssize_t;
    // SAFETY: without a text, the call makes `bytes` of this size with unwritten contents, or
    // returns null with an exception set (a size above isize::MAX, negative here, is refused).
    let bytes = unsafe {
        let made = ffi::PyBytes_FromStringAndSize(std::ptr::null(), length);
        Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked::<PyBytes>()
    };
    // SAFETY: the object is `bytes`, so the pointer is the start of its `size` bytes. Nobody else
    // has a reference to them before this function returns, and `MaybeUninit` needs no contents.
    let place = unsafe {
        let start = ffi::PyBytes_AsString(bytes.as_ptr());
        slice::from_raw_parts_mut(start.cast::<MaybeUninit<u8>>(), size)
    };
    large_pages::advise_start(place);
    match fill(place) {
        true => Ok(bytes),
        // Must not become visible: some of its bytes are unwritten.
        false => Err(invalid("a text has another size than its tokens".into())),
    }
}

/// Return `text.decode("utf-8", errors)` without creating `bytes`.
#[allow(unsafe_code)]
fn decoded<'py>(py: Python<'py>, text: &[u8], errors: &CStr) -> PyResult<Bound<'py, PyString>> {
    // SAFETY: both pointers are valid during the call, the second one up to its NUL, and the thread
    // is attached; the result is a new `str`, or null with an exception set.
    unsafe {
        let made = ffi::PyUnicode_DecodeUTF8(
            text.as_ptr().cast::<c_char>(),
            text.len() as ffi::Py_ssize_t,
            errors.as_ptr(),
        );
        Ok(Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked())
    }
}
