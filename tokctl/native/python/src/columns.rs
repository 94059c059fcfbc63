//! Columns of texts in Arrow's layout: the bytes in one buffer, the offsets of the texts in
//! another. https://arrow.apache.org/docs/format/Columnar.html#variable-size-binary-layout
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice};
use pyo3::{ffi, IntoPyObjectExt};
use tokctl_core::count;
use tokctl_core::unicode::well_formed;

use crate::errors::{invalid, to_python};
use crate::ids::pack_u64;

/// Bytes of an Arrow buffer: its own memory, or a copy if others may write to that.
///
/// The bytes are read while other threads run Python. A buffer that pyarrow made from Python
/// objects is writable, one that was read from a file is not.
pub enum ArrowBuffer {
    ReadOnly(PyBuffer<u8>),
    Copied(Vec<u8>),
}

impl ArrowBuffer {
    pub fn bytes(&self) -> &[u8] {
        let buffer = match self {
            ArrowBuffer::ReadOnly(buffer) => buffer,
            ArrowBuffer::Copied(bytes) => return bytes,
        };
        let bytes = buffer.as_slice_ptr().unwrap_or(NonNull::from_ref(&[]));
        // SAFETY: the buffer is held, so that its memory keeps its address and is as long as the
        // slice; nobody can write to it.
        unsafe { slice::from_raw_parts(bytes.cast::<u8>().as_ptr(), bytes.len()) }
    }

    /// Iterate over the 64-bit numbers in the buffer. Raise ValueError unless there are `count`.
    pub fn numbers(&self, count: usize) -> PyResult<impl Iterator<Item = u64> + '_> {
        let (numbers, rest) = self.bytes().as_chunks();
        match rest.is_empty() && numbers.len() == count {
            true => Ok(numbers.iter().map(|&number| u64::from_ne_bytes(number))),
            false => Err(PyValueError::new_err("a column has another length")),
        }
    }
}

impl FromPyObject<'_, '_> for ArrowBuffer {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let buffer = PyBuffer::get(&given)?;
        if buffer.readonly() {
            return Ok(ArrowBuffer::ReadOnly(buffer));
        }
        buffer.to_vec(given.py()).map(ArrowBuffer::Copied)
    }
}

/// Sequence of texts in a buffer of Arrow, read without copying. The items are `bytes`.
#[pyclass(module = "tokctl._native", frozen, sequence)]
pub struct TextColumn {
    data: Arc<ArrowBuffer>,
    /// Range of each text in `data`.
    places: Vec<Range<usize>>,
}

fn outside() -> PyErr {
    PyValueError::new_err("a text of the column is outside of its bytes")
}

#[pymethods]
impl TextColumn {
    /// Create a column of `count` texts in `data`, from text number `start` on.
    ///
    /// `offsets` has numbers of 32 bits, or of 64 bits with `wide`. Raises ValueError if an offset
    /// is outside `data`, or less than the offset before it.
    #[new]
    fn new(
        data: ArrowBuffer,
        offsets: ArrowBuffer,
        start: usize,
        count: usize,
        wide: bool,
    ) -> PyResult<Self> {
        let length = data.bytes().len();
        let data = Arc::new(data);
        if count == 0 {
            let places = Vec::new();
            return Ok(TextColumn { data, places });
        }
        let last = start.checked_add(count).ok_or_else(outside)?;
        let read = |all: &mut dyn Iterator<Item = i64>| {
            let mut ends = all.map(|end| usize::try_from(end).ok().filter(|&end| end <= length));
            let mut begin = ends.next().flatten().ok_or_else(outside)?;
            let place = |end: Option<usize>| {
                let end = end.filter(|&end| begin <= end).ok_or_else(outside)?;
                Ok(std::mem::replace(&mut begin, end)..end)
            };
            ends.map(place).collect::<PyResult<Vec<_>>>()
        };
        let bytes = offsets.bytes();
        let places = if wide {
            let offsets = bytes.as_chunks().0.get(start..=last).ok_or_else(outside)?;
            read(&mut offsets.iter().map(|&end| i64::from_ne_bytes(end)))?
        } else {
            let offsets = bytes.as_chunks().0.get(start..=last).ok_or_else(outside)?;
            read(&mut offsets.iter().map(|&end| i32::from_ne_bytes(end).into()))?
        };
        Ok(TextColumn { data, places })
    }

    /// Return a column of the texts with these numbers (64 bits each), without copying a text.
    ///
    /// Raises ValueError if a number is out of range.
    fn chosen(&self, numbers: ArrowBuffer) -> PyResult<Self> {
        let count = numbers.bytes().len() / 8;
        let numbers = numbers.numbers(count)?;
        let place = |number: u64| {
            let place = usize::try_from(number)
                .ok()
                .and_then(|at| self.places.get(at));
            place.cloned().ok_or_else(outside)
        };
        Ok(TextColumn {
            data: Arc::clone(&self.data),
            places: numbers.map(place).collect::<PyResult<_>>()?,
        })
    }

    pub fn __len__(&self) -> usize {
        self.places.len()
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        let length = self.places.len() as isize;
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(length)?;
            let numbers =
                (0..range.slicelength).map(|n| (range.start + n as isize * range.step) as usize);
            let places = numbers.map(|number| self.places[number].clone()).collect();
            let data = Arc::clone(&self.data);
            return TextColumn { data, places }.into_bound_py_any(py);
        }
        let index: isize = index.extract()?;
        let place = if index < 0 { index + length } else { index };
        let place = usize::try_from(place)
            .ok()
            .and_then(|at| self.places.get(at));
        let place = place.ok_or_else(|| PyIndexError::new_err("there is no such text"))?;
        PyBytes::new(py, &self.data.bytes()[place.clone()]).into_bound_py_any(py)
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the class is a sequence, and this thread is attached. Python returns a new
        // reference, or null with an exception set.
        unsafe { Bound::from_owned_ptr_or_err(slf.py(), ffi::PySeqIter_New(slf.as_ptr())) }
    }

    /// Divide the texts, in order, into columns of up to `size` bytes; a longer text is alone.
    fn batches(&self, size: usize) -> Vec<Self> {
        let mut batches = Vec::new();
        let mut rest = &self.places[..];
        while !rest.is_empty() {
            let mut bytes = 0;
            let mut fits = |place: &Range<usize>| {
                bytes += place.len();
                bytes <= size
            };
            let (batch, later) =
                rest.split_at(rest.iter().take_while(|&place| fits(place)).count().max(1));
            rest = later;
            let data = Arc::clone(&self.data);
            let places = batch.to_vec();
            batches.push(TextColumn { data, places });
        }
        batches
    }

    /// Total length of all texts in bytes.
    #[getter]
    fn size(&self) -> usize {
        self.places.iter().map(Range::len).sum()
    }

    /// Return the number of the first text that is not UTF-8, or None.
    pub fn first_not_utf8(&self, py: Python<'_>) -> Option<usize> {
        let not_utf8 = |text: &[u8]| well_formed(text).is_none();
        py.detach(|| self.iter().position(not_utf8))
    }

    /// Divide the texts into `parts` parts. Return the numbers of the texts in each, as 64-bit
    /// numbers.
    ///
    /// See `tokctl_core::count::parts`.
    fn parts<'py>(&self, py: Python<'py>, parts: usize) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        if parts == 0 {
            return Err(invalid("there is one part at least".into()));
        }
        let found = py
            .detach(|| count::parts(self.iter(), parts))
            .map_err(to_python)?;
        found
            .into_iter()
            .map(|numbers| pack_u64(py, numbers.len(), numbers.iter().copied()))
            .collect()
    }
}

impl TextColumn {
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let data = self.data.bytes();
        self.places.iter().map(|place| &data[place.clone()])
    }
}
