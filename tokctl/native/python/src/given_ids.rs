//! Ids as Python gives them: lists, arrays, anything that can be walked.
#![allow(unsafe_code)]

use std::ffi::c_ulong;
use std::ptr::NonNull;

use pyo3::buffer::{Element, PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::PyOverflowError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::id_array::IdArray;

/// Ids to work on without the GIL.
pub enum GivenIds {
    Array(Py<IdArray>),
    Copied(Vec<u32>),
}

impl GivenIds {
    pub fn as_slice(&self) -> &[u32] {
        match self {
            GivenIds::Array(array) => array.get().ids(),
            GivenIds::Copied(ids) => ids,
        }
    }

    pub fn into_vec(self) -> Vec<u32> {
        match self {
            GivenIds::Array(array) => array.get().ids().to_vec(),
            GivenIds::Copied(ids) => ids,
        }
    }
}

/// Ids that are worked on block by block.
pub enum IdBlocks {
    /// In one block.
    Given(GivenIds),
    /// In memory that others may write to while Python's lock is not held: so each block is copied,
    /// as numbers of 32 bits.
    Row(Row),
}

/// A buffer of integers side by side.
pub enum Row {
    U16(PyBuffer<u16>),
    U32(PyBuffer<u32>),
    U64(PyBuffer<u64>),
    I32(PyBuffer<i32>),
    I64(PyBuffer<i64>),
}

/// Why work on blocks ended.
pub enum Stopped<E> {
    /// A number is no id.
    NoId,
    By(E),
}

/// Ids of a block, which fit the processor's cache.
const BLOCK: usize = 1 << 13;

impl IdBlocks {
    /// Calls `work` for each block, until one fails.
    pub fn each<E>(
        &self,
        attached: Python<'_>,
        mut work: impl FnMut(&[u32]) -> Result<(), E>,
    ) -> Result<(), Stopped<E>> {
        match self {
            IdBlocks::Given(ids) => work(ids.as_slice()).map_err(Stopped::By),
            IdBlocks::Row(Row::U16(row)) => each_of(attached, row, work),
            IdBlocks::Row(Row::U32(row)) => each_of(attached, row, work),
            IdBlocks::Row(Row::U64(row)) => each_of(attached, row, work),
            IdBlocks::Row(Row::I32(row)) => each_of(attached, row, work),
            IdBlocks::Row(Row::I64(row)) => each_of(attached, row, work),
        }
    }

    /// All at once.
    pub fn into_given(self, py: Python<'_>) -> PyResult<GivenIds> {
        match self {
            IdBlocks::Given(ids) => Ok(ids),
            IdBlocks::Row(Row::U16(row)) => copied(py, &row),
            IdBlocks::Row(Row::U32(row)) => copied(py, &row),
            IdBlocks::Row(Row::U64(row)) => copied(py, &row),
            IdBlocks::Row(Row::I32(row)) => copied(py, &row),
            IdBlocks::Row(Row::I64(row)) => copied(py, &row),
        }
    }
}

fn each_of<T: Element + Copy + Default + TryInto<u32>, E>(
    _attached: Python<'_>,
    row: &PyBuffer<T>,
    mut work: impl FnMut(&[u32]) -> Result<(), E>,
) -> Result<(), Stopped<E>> {
    let numbers = row.as_slice_ptr().unwrap_or(NonNull::from_ref(&[]));
    let (mut some, mut ids) = ([T::default(); BLOCK], [0; BLOCK]);
    for start in (0..numbers.len()).step_by(BLOCK) {
        let count = BLOCK.min(numbers.len() - start);
        // SAFETY: the buffer is held, so that its memory stays where it is, aligned and as long as
        // the slice, of which this is a part; `some` is our own, and has room for a block. It is
        // read as Python's own copies of buffers are: this thread is attached.
        unsafe {
            let from = numbers.cast::<T>().add(start).as_ptr();
            std::ptr::copy_nonoverlapping(from, some.as_mut_ptr(), count);
        }
        let mut fit = true;
        for (id, number) in ids.iter_mut().zip(&some[..count]) {
            let converted = (*number).try_into();
            fit &= converted.is_ok();
            *id = converted.unwrap_or_default();
        }
        if !fit {
            return Err(Stopped::NoId);
        }
        work(&ids[..count]).map_err(Stopped::By)?;
    }
    Ok(())
}

fn copied<T: Element + TryInto<u32>>(py: Python<'_>, row: &PyBuffer<T>) -> PyResult<GivenIds> {
    let refused = |_| PyOverflowError::new_err("a number is no id");
    let id = |number: T| number.try_into().map_err(refused);
    let ids: PyResult<Vec<u32>> = row.to_vec(py)?.into_iter().map(id).collect();
    ids.map(GivenIds::Copied)
}

impl<'py> FromPyObject<'_, 'py> for IdBlocks {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if given.cast::<IdArray>().is_err() {
            let buffer = PyUntypedBuffer::get(&given).ok();
            if let Some(row) = buffer
                .filter(PyUntypedBuffer::is_c_contiguous)
                .and_then(row_of)
            {
                return Ok(IdBlocks::Row(row));
            }
        }
        given.extract().map(IdBlocks::Given)
    }
}

impl<'py> FromPyObject<'_, 'py> for GivenIds {
    type Error = PyErr;

    /// An array of our own where it stands; lists and arrays of integers number by number;
    /// everything else as `list(…)` has it.
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = given.cast::<IdArray>() {
            return Ok(GivenIds::Array(array.to_owned().unbind()));
        }
        if let Ok(list) = given.cast_exact::<PyList>() {
            return of_list(&list).map(GivenIds::Copied);
        }
        if let Some(ids) = of_buffer(&given) {
            return ids.map(GivenIds::Copied);
        }
        let list = given.py().get_type::<PyList>().call1((given,))?;
        of_list(list.cast::<PyList>()?).map(GivenIds::Copied)
    }
}

fn of_list(list: &Bound<'_, PyList>) -> PyResult<Vec<u32>> {
    let size = list.len();
    let mut ids = Vec::with_capacity(size);
    ids.extend((0..size as ffi::Py_ssize_t).map_while(|at| plain(list, at)));
    if ids.len() == size {
        return Ok(ids);
    }
    // Something that is no int, or too large for an id: PyO3 says what.
    drop(PyErr::take(list.py()));
    list.extract()
}

/// The id at a place of a list, if it is an int that can be one; else an exception may be set.
fn plain(list: &Bound<'_, PyList>, at: ffi::Py_ssize_t) -> Option<u32> {
    // SAFETY: `list` is a list, and this thread is attached; a place that it does not have gives
    // null. The item is borrowed from the list, and nothing runs between here and its use.
    let item = unsafe { ffi::PyList_GetItem(list.as_ptr(), at) };
    if item.is_null() {
        return None;
    }
    // SAFETY: `item` is a living object; one that is no int sets an exception and gives the
    // largest number, which is refused here (where it has 32 bits, too: PyO3 then takes it).
    let number = unsafe { ffi::PyLong_AsUnsignedLong(item) };
    match number {
        c_ulong::MAX => None,
        _ => u32::try_from(number).ok(),
    }
}

/// The numbers of a buffer, where that is one row of integers.
fn of_buffer(given: &Bound<'_, PyAny>) -> Option<PyResult<Vec<u32>>> {
    let py = given.py();
    let buffer = PyUntypedBuffer::get(given).ok()?;
    let kind = kind(&buffer)?;
    match (kind.is_ascii_uppercase(), buffer.item_size()) {
        (true, 1) => converted::<u8>(py, buffer),
        (true, 2) => converted::<u16>(py, buffer),
        (true, 4) => buffer.into_typed::<u32>().ok().map(|ids| ids.to_vec(py)),
        (true, 8) => converted::<u64>(py, buffer),
        (false, 1) => converted::<i8>(py, buffer),
        (false, 2) => converted::<i16>(py, buffer),
        (false, 4) => converted::<i32>(py, buffer),
        (false, 8) => converted::<i64>(py, buffer),
        _ => None,
    }
}

/// A row of the more usual kinds of integers.
fn row_of(buffer: PyUntypedBuffer) -> Option<Row> {
    match (kind(&buffer)?.is_ascii_uppercase(), buffer.item_size()) {
        (true, 2) => buffer.into_typed().ok().map(Row::U16),
        (true, 4) => buffer.into_typed().ok().map(Row::U32),
        (true, 8) => buffer.into_typed().ok().map(Row::U64),
        (false, 4) => buffer.into_typed().ok().map(Row::I32),
        (false, 8) => buffer.into_typed().ok().map(Row::I64),
        _ => None,
    }
}

/// The kind of integers that a buffer is one row of, if it is.
fn kind(buffer: &PyUntypedBuffer) -> Option<u8> {
    // The order of bytes may stand before the kind. That of the other sort of machine is left to
    // the list.
    let kind = match buffer.format().to_bytes() {
        &[kind] | &[b'@' | b'=', kind] => kind,
        &[b'<', kind] if cfg!(target_endian = "little") => kind,
        &[b'>' | b'!', kind] if cfg!(target_endian = "big") => kind,
        _ => return None,
    };
    (buffer.dimensions() == 1 && b"BHILQNbhilqn".contains(&kind)).then_some(kind)
}

fn converted<T: Element + TryInto<u32>>(
    py: Python<'_>,
    buffer: PyUntypedBuffer,
) -> Option<PyResult<Vec<u32>>> {
    let buffer = buffer.into_typed::<T>().ok()?;
    let id = |number: T| {
        let refused = |_| PyOverflowError::new_err("a number is no id");
        number.try_into().map_err(refused)
    };
    let numbers = buffer.to_vec(py);
    Some(numbers.and_then(|numbers| numbers.into_iter().map(id).collect()))
}
