//! Exchange of ids between Python and the core: as an array with the buffer protocol, from Python's
//! lists and arrays, and to lists of ints.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_ulong, c_void, CStr};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, TryLockError};

use pyo3::buffer::{Element, PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::{PyBufferError, PyIndexError, PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::{PyBytes, PyInt, PyIterator, PyList, PySlice};
use pyo3::{ffi, IntoPyObjectExt};
use tokctl_core::encode::{IdNumber, Ids, RaggedIds};

use crate::errors::{detached, invalid};

/// Number of ids that `repr` shows.
const SHOWN: usize = 10;

/// Number of bits of each id in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdBits {
    Narrow,
    Wide,
}

impl FromPyObject<'_, '_> for IdBits {
    type Error = PyErr;

    fn extract(bits: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        match bits.extract()? {
            16 => Ok(IdBits::Narrow),
            32 => Ok(IdBits::Wide),
            bits => Err(invalid(format!("ids can't have {bits} bits"))),
        }
    }
}

/// A function, and the arguments with which it is called.
type Pickled<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, isize));

fn wide<N: IdNumber>(id: &N) -> u32 {
    (*id).into()
}

/// Read-only array of ids with Python's buffer protocol.
#[pyclass(module = "tokctl._native", frozen, sequence)]
pub struct IdArray {
    ids: Numbers,
    ints: Arc<IntCache>,
    /// Fields that buffer views point to: number of ids, and bytes from one id to the next.
    shape: ffi::Py_ssize_t,
    stride: ffi::Py_ssize_t,
}

/// Contents of an array.
pub enum Numbers {
    Narrow(Ids<u16>),
    Wide(Ids<u32>),
}

impl From<Ids<u16>> for Numbers {
    fn from(ids: Ids<u16>) -> Self {
        Numbers::Narrow(ids)
    }
}

impl From<Ids<u32>> for Numbers {
    fn from(ids: Ids<u32>) -> Self {
        Numbers::Wide(ids)
    }
}

/// Evaluate one expression with the numbers of an array, of either width.
macro_rules! with_numbers {
    ($array:expr, $ids:ident => $done:expr) => {
        match &$array.ids {
            Numbers::Narrow($ids) => $done,
            Numbers::Wide($ids) => $done,
        }
    };
}

impl IdArray {
    pub fn of<N: IdNumber>(ids: Ids<N>, ints: Arc<IntCache>) -> Self
    where
        Numbers: From<Ids<N>>,
    {
        IdArray {
            // No vector has more than isize::MAX bytes.
            shape: ids.len() as ffi::Py_ssize_t,
            stride: size_of::<N>() as ffi::Py_ssize_t,
            ids: ids.into(),
            ints,
        }
    }

    /// Return the ids if they have 32 bits.
    fn wide(&self) -> Option<&[u32]> {
        match &self.ids {
            Numbers::Narrow(_) => None,
            Numbers::Wide(ids) => Some(ids),
        }
    }

    fn iter(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        with_numbers!(self, ids => Box::new(ids.iter().map(wide)))
    }

    fn get(&self, place: usize) -> Option<u32> {
        with_numbers!(self, ids => ids.get(place).map(wide))
    }
}

#[pymethods]
impl IdArray {
    #[new]
    fn new(ids: IdSlice) -> Self {
        IdArray::of(Ids::from(ids.into_vec()), Arc::default())
    }

    /// Return the ids as a list.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        with_numbers!(self, ids => self.ints.list(py, ids))
    }

    fn __len__(&self) -> usize {
        self.shape as usize
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(self.shape)?;
            let places = (0..range.slicelength)
                .map(|number| (range.start + number as isize * range.step) as usize);
            let ints = Arc::clone(&self.ints);
            return with_numbers!(self, ids => {
                let ids: Vec<_> = places.map(|place| ids[place]).collect();
                IdArray::of(Ids::from(ids), ints)
            })
            .into_bound_py_any(py);
        }
        let index: isize = index.extract()?;
        let place = if index < 0 { index + self.shape } else { index };
        let id = usize::try_from(place)
            .ok()
            .and_then(|place| self.get(place));
        let id = id.ok_or_else(|| PyIndexError::new_err("there is no such id in the array"))?;
        id.into_bound_py_any(py)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.tolist(py)?.try_iter()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
        if let Ok(other) = other.cast::<IdArray>() {
            return Ok(Some(match (&self.ids, &other.get().ids) {
                (Numbers::Narrow(ids), Numbers::Narrow(others)) => ids[..] == others[..],
                (Numbers::Wide(ids), Numbers::Wide(others)) => ids[..] == others[..],
                _ => self.iter().eq(other.get().iter()),
            }));
        }
        match other.cast::<PyList>() {
            Ok(other) => self.tolist(other.py())?.eq(other).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn __repr__(&self) -> String {
        let shown: Vec<String> = self.iter().take(SHOWN).map(|id| id.to_string()).collect();
        let more = if self.__len__() > SHOWN { ", …" } else { "" };
        format!(
            "<IdArray of {}: [{}{more}]>",
            self.__len__(),
            shown.join(", ")
        )
    }

    /// Support pickling: pickles hold the numbers in the same byte order on every machine.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py>> {
        let bytes = (self.shape * self.stride) as usize;
        let bytes = PyBytes::new_with(py, bytes, |out| {
            with_numbers!(self, ids => pack(ids, out));
            Ok(())
        })?;
        let make = py.import("tokctl._native")?.getattr("ids_from_bytes")?;
        Ok((make, (bytes, 8 * self.stride)))
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf // immutable
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    /// Return the ids of texts with the ids `before` and `behind` around those of each text.
    ///
    /// The texts begin and end at `offsets` (64-bit numbers in native byte order). Of each text, at
    /// most `most` ids are kept: the first ones, or with `last` the last ones. Also returns the new
    /// offsets.
    fn wrapped<'py>(
        &self,
        py: Python<'py>,
        offsets: &[u8],
        before: Vec<u32>,
        behind: Vec<u32>,
        most: usize,
        last: bool,
    ) -> PyResult<(Self, Bound<'py, PyBytes>)> {
        let offsets = offsets.as_chunks().0.iter().skip(1);
        let ends: Vec<_> = offsets
            .map(|&end| u64::from_ne_bytes(end) as usize)
            .collect();
        let ids = self.wide().unwrap_or_default();
        let wrapped = detached(py, |_| {
            RaggedIds::wrapped((ids, &ends), (&before, &behind), most, last)
        })?;
        let array = IdArray::of(wrapped.ids, Arc::clone(&self.ints));
        Ok((array, self::offsets(py, &wrapped.ends)?))
    }

    /// Return a view of the ids, as `array.array` does: format `I` or `H`, one dimension,
    /// read-only.
    ///
    /// # Safety
    /// `view` must be null, or point to memory for a `Py_buffer`, as Python guarantees.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("there is no view to fill"));
        }
        let wants = |what: c_int| flags & what == what;
        if wants(ffi::PyBUF_WRITABLE) {
            // SAFETY: `view` is not null, so it points to a `Py_buffer`. On error, `obj` must be
            // null.
            unsafe { (*view).obj = ptr::null_mut() };
            return Err(PyBufferError::new_err("ids are read-only"));
        }
        let array = slf.get();
        let requested = |wanted: bool, value: &ffi::Py_ssize_t| match wanted {
            true => ptr::from_ref(value).cast_mut(),
            false => ptr::null_mut(),
        };
        let filled = ffi::Py_buffer {
            buf: with_numbers!(array, ids => ids.as_ptr().cast_mut().cast::<c_void>()),
            len: array.shape * array.stride,
            itemsize: array.stride,
            readonly: 1,
            ndim: 1,
            format: match wants(ffi::PyBUF_FORMAT) {
                true => with_numbers!(array, ids => format_of(ids))
                    .as_ptr()
                    .cast_mut(),
                false => ptr::null_mut(),
            },
            shape: requested(wants(ffi::PyBUF_ND), &array.shape),
            strides: requested(wants(ffi::PyBUF_STRIDES), &array.stride),
            suboffsets: ptr::null_mut(),
            internal: ptr::null_mut(),
            obj: slf.clone().into_any().into_ptr(),
        };
        // SAFETY: `view` is not null, so it points to a `Py_buffer`. The memory in the view belongs
        // to an object that never changes (the class is frozen and hands out no `&mut`) nor moves.
        // The view's `obj`, a reference of its own, keeps the object alive until the view is
        // released.
        unsafe { view.write(filled) };
        Ok(())
    }
}

/// Return Python's format character of the numbers.
fn format_of<N>(_: &Ids<N>) -> &'static CStr
where
    N: IdNumber,
{
    match size_of::<N>() {
        2 => c"H",
        _ => c"I",
    }
}

/// Create an array of ids from little-endian numbers of 16 or 32 `bits`.
#[pyfunction]
#[pyo3(signature = (data, bits=IdBits::Wide))]
pub fn ids_from_bytes(data: &[u8], bits: IdBits) -> PyResult<IdArray> {
    match bits {
        IdBits::Narrow => of_bytes(data, u16::from_le_bytes),
        IdBits::Wide => of_bytes(data, u32::from_le_bytes),
    }
}

fn of_bytes<N: IdNumber, const WIDTH: usize>(
    data: &[u8],
    number: impl Fn([u8; WIDTH]) -> N,
) -> PyResult<IdArray>
where
    Numbers: From<Ids<N>>,
{
    let (numbers, rest) = data.as_chunks();
    if !rest.is_empty() {
        return Err(PyValueError::new_err(format!("ids are {WIDTH} bytes each")));
    }
    let ids: Vec<N> = numbers.iter().copied().map(number).collect();
    Ok(IdArray::of(Ids::from(ids), Arc::default()))
}

/// Write the numbers in little-endian byte order.
fn pack<N: IdNumber>(ids: &[N], out: &mut [u8]) {
    let width = size_of::<N>();
    for (id, out) in ids.iter().zip(out.chunks_exact_mut(width)) {
        out.copy_from_slice(&wide(id).to_le_bytes()[..width]);
    }
}

/// Ids that can be read without the GIL.
pub enum IdSlice {
    /// An array of 32-bit numbers.
    Array(Py<IdArray>),
    Copied(Vec<u32>),
}

impl IdSlice {
    pub fn as_slice(&self) -> &[u32] {
        match self {
            IdSlice::Array(array) => array.get().wide().unwrap_or_default(),
            IdSlice::Copied(ids) => ids,
        }
    }

    pub fn into_vec(self) -> Vec<u32> {
        match self {
            IdSlice::Array(_) => self.as_slice().to_vec(),
            IdSlice::Copied(ids) => ids,
        }
    }
}

/// Ids that are read block by block.
pub enum IdBlocks {
    /// Ids as one block.
    Whole(IdSlice),
    /// Memory that other threads may write to while the GIL is released; so each block is copied,
    /// as 32-bit numbers.
    Buffer(IntBuffer),
}

/// Contiguous buffer of integers.
pub enum IntBuffer {
    U16(PyBuffer<u16>),
    U32(PyBuffer<u32>),
    U64(PyBuffer<u64>),
    I32(PyBuffer<i32>),
    I64(PyBuffer<i64>),
}

/// Reason why work on blocks ended.
pub enum Stopped<E> {
    /// A number is not an id.
    NoId,
    By(E),
}

/// Number of ids in a block, which fits the processor's cache.
const BLOCK: usize = 1 << 13;

impl IdBlocks {
    /// Call `work` with each block, until one fails.
    pub fn each<E>(
        &self,
        attached: Python<'_>,
        mut work: impl FnMut(&[u32]) -> Result<(), E>,
    ) -> Result<(), Stopped<E>> {
        match self {
            IdBlocks::Whole(ids) => work(ids.as_slice()).map_err(Stopped::By),
            IdBlocks::Buffer(IntBuffer::U16(row)) => each_of(attached, row, work),
            IdBlocks::Buffer(IntBuffer::U32(row)) => each_of(attached, row, work),
            IdBlocks::Buffer(IntBuffer::U64(row)) => each_of(attached, row, work),
            IdBlocks::Buffer(IntBuffer::I32(row)) => each_of(attached, row, work),
            IdBlocks::Buffer(IntBuffer::I64(row)) => each_of(attached, row, work),
        }
    }

    /// Return all ids at once.
    pub fn into_slice(self, py: Python<'_>) -> PyResult<IdSlice> {
        let ids = match self {
            IdBlocks::Whole(ids) => return Ok(ids),
            IdBlocks::Buffer(IntBuffer::U16(buffer)) => copied(py, &buffer),
            IdBlocks::Buffer(IntBuffer::U32(buffer)) => copied(py, &buffer),
            IdBlocks::Buffer(IntBuffer::U64(buffer)) => copied(py, &buffer),
            IdBlocks::Buffer(IntBuffer::I32(buffer)) => copied(py, &buffer),
            IdBlocks::Buffer(IntBuffer::I64(buffer)) => copied(py, &buffer),
        };
        ids.map(IdSlice::Copied)
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
        // SAFETY: the buffer is held, so its memory keeps its address and is aligned and as long as
        // the slice, of which this is a part; `some` is our own, and has room for a block. The
        // memory is read as Python's own copies of buffers are: this thread is attached.
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

/// Return all numbers of a buffer as ids.
fn copied<T: Element + TryInto<u32>>(py: Python<'_>, row: &PyBuffer<T>) -> PyResult<Vec<u32>> {
    let refused = |_| PyOverflowError::new_err("a number is no id");
    let id = |number: T| number.try_into().map_err(refused);
    row.to_vec(py)?.into_iter().map(id).collect()
}

impl<'py> FromPyObject<'_, 'py> for IdBlocks {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array = given.cast::<IdArray>();
        if !array.is_ok_and(|array| array.get().wide().is_some()) {
            let buffer = PyUntypedBuffer::get(&given).ok();
            if let Some(row) = buffer
                .filter(PyUntypedBuffer::is_c_contiguous)
                .and_then(int_buffer)
            {
                return Ok(IdBlocks::Buffer(row));
            }
        }
        given.extract().map(IdBlocks::Whole)
    }
}

impl<'py> FromPyObject<'_, 'py> for IdSlice {
    type Error = PyErr;

    /// Read an `IdArray` in place, lists and arrays of integers number by number, and everything
    /// else as `list(…)` does.
    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = given.cast::<IdArray>() {
            return Ok(match &array.get().ids {
                Numbers::Narrow(ids) => IdSlice::Copied(ids.iter().map(wide).collect()),
                Numbers::Wide(_) => IdSlice::Array(array.to_owned().unbind()),
            });
        }
        if let Ok(list) = given.cast_exact::<PyList>() {
            return of_list(&list).map(IdSlice::Copied);
        }
        if let Some(ids) = of_buffer(&given) {
            return ids.map(IdSlice::Copied);
        }
        let list = given.py().get_type::<PyList>().call1((given,))?;
        of_list(list.cast::<PyList>()?).map(IdSlice::Copied)
    }
}

fn of_list(list: &Bound<'_, PyList>) -> PyResult<Vec<u32>> {
    let size = list.len();
    let mut ids = Vec::with_capacity(size);
    // Without a GIL, another thread could remove an item from the list while it is read.
    with_critical_section(list, || {
        ids.extend((0..size as ffi::Py_ssize_t).map_while(|at| small_int(list, at)));
    });
    if ids.len() == size {
        return Ok(ids);
    }
    // An item is not an int, or too large for an id: PyO3 reports which.
    drop(PyErr::take(list.py()));
    list.extract()
}

/// Return the id at an index of a list, or None, possibly with an exception set, if the item can't
/// be one.
fn small_int(list: &Bound<'_, PyList>, at: ffi::Py_ssize_t) -> Option<u32> {
    // SAFETY: `list` is a list, and this thread is attached; an index out of range gives null. The
    // item is borrowed from the list, which `of_list` locks if there is no GIL, and nothing runs
    // between this call and the item's use.
    let item = unsafe { ffi::PyList_GetItem(list.as_ptr(), at) };
    if item.is_null() {
        return None;
    }
    // SAFETY: `item` is a living object. If it is not an int, the call sets an exception and
    // returns the largest number, which is rejected below (if it has 32 bits, too: PyO3 then reads
    // the item).
    let number = unsafe { ffi::PyLong_AsUnsignedLong(item) };
    match number {
        c_ulong::MAX => None,
        _ => u32::try_from(number).ok(),
    }
}

/// Return the numbers of a buffer if the buffer is one row of integers.
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

/// Return a typed buffer for the most common kinds of integers.
fn int_buffer(buffer: PyUntypedBuffer) -> Option<IntBuffer> {
    match (kind(&buffer)?.is_ascii_uppercase(), buffer.item_size()) {
        (true, 2) => buffer.into_typed().ok().map(IntBuffer::U16),
        (true, 4) => buffer.into_typed().ok().map(IntBuffer::U32),
        (true, 8) => buffer.into_typed().ok().map(IntBuffer::U64),
        (false, 4) => buffer.into_typed().ok().map(IntBuffer::I32),
        (false, 8) => buffer.into_typed().ok().map(IntBuffer::I64),
        _ => None,
    }
}

/// Return the format character of a buffer that is one row of integers.
fn kind(buffer: &PyUntypedBuffer) -> Option<u8> {
    // A byte order may precede the character. A foreign byte order is left to the list.
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
    Some(copied(py, &buffer.into_typed::<T>().ok()?))
}

/// Exclusive upper bound of ids whose ints are cached: the table takes at most 32 MB.
const MAX_CACHED: usize = 1 << 22;

/// Cache of the Python ints of all ids that were put in lists, so that the next list needs
/// references and no new objects. The table is at most as long as the vocabulary, from which the
/// ids come.
#[derive(Default)]
pub struct IntCache(Mutex<Table>);

type Table = Vec<Option<Py<PyInt>>>;

impl IntCache {
    /// Return a list of ints.
    pub fn list<'py, N: IdNumber>(
        &self,
        py: Python<'py>,
        ids: &[N],
    ) -> PyResult<Bound<'py, PyList>> {
        self.with_table(|table| list(py, ids, table))
    }

    /// Return a list of ids for each text.
    pub fn lists<'py>(&self, py: Python<'py>, texts: &RaggedIds) -> PyResult<Bound<'py, PyList>> {
        let lists = PyList::empty(py);
        // Only lists of ints are created: collecting garbage would be wasted work.
        let _paused = PausedGc::new(py);
        self.with_table(|table| {
            for ids in texts.texts() {
                lists.append(list(py, ids, table)?)?;
            }
            Ok(lists)
        })
    }

    /// Call `work` with a cache of ints for numbers that need not be ids.
    pub fn with_ints<T>(&self, work: impl FnOnce(&mut Ints) -> T) -> T {
        self.with_table(|table| work(&mut Ints(table)))
    }

    fn with_table<T>(&self, work: impl FnOnce(&mut Table) -> T) -> T {
        match self.0.try_lock() {
            Ok(mut table) => work(&mut table),
            Err(TryLockError::Poisoned(table)) => work(&mut table.into_inner()),
            // Creating a list can run Python's collector, and so any code, including this function,
            // which then uses a table of its own.
            Err(TryLockError::WouldBlock) => work(&mut Table::new()),
        }
    }
}

/// Exclusive upper bound of numbers cached by [`Ints`].
const MAX_SMALL: usize = 1 << 16;

/// Cache of Python ints for numbers that occur often.
pub struct Ints<'a>(&'a mut Table);

impl Ints<'_> {
    pub fn get<'py>(&mut self, py: Python<'py>, number: usize) -> Bound<'py, PyInt> {
        match self.0.get(number) {
            Some(Some(object)) => object.bind(py).clone(),
            _ if number < MAX_SMALL => made(py, number as u32, self.0),
            _ => {
                let Ok(object) = number.into_pyobject(py);
                object
            }
        }
    }
}

fn list<'py, N: IdNumber>(
    py: Python<'py>,
    ids: &[N],
    table: &mut Table,
) -> PyResult<Bound<'py, PyList>> {
    PyList::new(
        py,
        ids.iter().map(wide).map(|id| match table.get(id as usize) {
            Some(Some(number)) => number.bind(py).clone(),
            _ => made(py, id, table),
        }),
    )
}

#[cold]
fn made<'py>(py: Python<'py>, id: u32, table: &mut Table) -> Bound<'py, PyInt> {
    let Ok(number) = id.into_pyobject(py);
    let place = id as usize;
    if place < MAX_CACHED {
        if place >= table.len() {
            table.resize_with(place + 1, || None);
        }
        table[place] = Some(number.clone().unbind());
    }
    number
}

/// Guard that keeps Python's cyclic garbage collector off, where one thread runs at a time.
///
/// Without that lock another thread could turn the collector off meanwhile, and the guard would
/// turn it on again.
pub struct PausedGc<'py> {
    _py: Python<'py>,
    was_on: bool,
}

impl<'py> PausedGc<'py> {
    pub fn new(py: Python<'py>) -> Self {
        // SAFETY: the thread is attached to the interpreter, which `py` proves.
        let was_on = cfg!(not(Py_GIL_DISABLED)) && unsafe { ffi::PyGC_Disable() } != 0;
        PausedGc { _py: py, was_on }
    }
}

impl Drop for PausedGc<'_> {
    fn drop(&mut self) {
        if self.was_on {
            // SAFETY: the thread is still attached: `_py` can't outlive the attachment.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}

/// Return `count` numbers as 64-bit numbers in native byte order.
pub fn pack_u64<'py>(
    py: Python<'py>,
    count: usize,
    numbers: impl Iterator<Item = u64>,
) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, 8 * count, |out| {
        for (out, number) in out.chunks_exact_mut(8).zip(numbers) {
            out.copy_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    })
}

/// Return the offsets of the ids of each text (with the end of the last) from the end of each, in
/// the form of [`pack_u64`].
pub fn offsets<'py>(py: Python<'py>, ends: &[usize]) -> PyResult<Bound<'py, PyBytes>> {
    let ends_64 = ends.iter().map(|&end| end as u64);
    pack_u64(py, ends.len() + 1, std::iter::once(0).chain(ends_64))
}
