//! Ids as one array of 32-bit numbers, which others read where it stands.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use pyo3::exceptions::{PyBufferError, PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList, PySlice};
use pyo3::{ffi, IntoPyObjectExt};

use tokctl_core::encode::Ids;

use crate::columns::pack;
use crate::given_ids::GivenIds;
use crate::numbers::Numbers;

/// As many ids are shown by `repr`.
const SHOWN: usize = 10;

/// A read-only array of ids with Python's buffer protocol.
#[pyclass(module = "tokctl._native", frozen, sequence)]
pub struct IdArray {
    ids: Ids,
    numbers: Arc<Numbers>,
    /// For views: number of ids, and bytes from one to the next.
    shape: ffi::Py_ssize_t,
    stride: ffi::Py_ssize_t,
}

impl IdArray {
    pub fn of(ids: impl Into<Ids>, numbers: Arc<Numbers>) -> Self {
        let ids = ids.into();
        IdArray {
            // No vector has more than isize::MAX bytes.
            shape: ids.len() as ffi::Py_ssize_t,
            stride: size_of::<u32>() as ffi::Py_ssize_t,
            ids,
            numbers,
        }
    }

    pub fn ids(&self) -> &[u32] {
        &self.ids
    }
}

#[pymethods]
impl IdArray {
    #[new]
    fn new(ids: GivenIds) -> Self {
        IdArray::of(ids.into_vec(), Arc::default())
    }

    /// A list of the ids.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.numbers.list(py, &self.ids)
    }

    fn __len__(&self) -> usize {
        self.ids.len()
    }

    fn __getitem__<'py>(&self, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = index.py();
        if let Ok(slice) = index.cast::<PySlice>() {
            let range = slice.indices(self.shape)?;
            let place = |number: usize| (range.start + number as isize * range.step) as usize;
            let ids = (0..range.slicelength).map(|number| self.ids[place(number)]);
            return IdArray::of(ids.collect::<Vec<_>>(), Arc::clone(&self.numbers))
                .into_bound_py_any(py);
        }
        let index: isize = index.extract()?;
        let place = if index < 0 { index + self.shape } else { index };
        let id = usize::try_from(place)
            .ok()
            .and_then(|place| self.ids.get(place));
        let id = id.ok_or_else(|| PyIndexError::new_err("there is no such id in the array"))?;
        id.into_bound_py_any(py)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.tolist(py)?.try_iter()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
        if let Ok(other) = other.cast::<IdArray>() {
            return Ok(Some(self.ids() == other.get().ids()));
        }
        match other.cast::<PyList>() {
            Ok(other) => self.tolist(other.py())?.eq(other).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn __repr__(&self) -> String {
        let shown: Vec<String> = self.ids.iter().take(SHOWN).map(u32::to_string).collect();
        let more = if self.ids.len() > SHOWN { ", …" } else { "" };
        format!(
            "<IdArray of {}: [{}{more}]>",
            self.ids.len(),
            shown.join(", ")
        )
    }

    /// Pickles hold four bytes for an id, in the same order on every machine.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = PyBytes::new_with(py, size_of_val(self.ids()), |out| {
            pack(&self.ids, size_of::<u32>(), out);
            Ok(())
        })?;
        let make = py.import("tokctl._native")?.getattr("ids_from_bytes")?;
        Ok((make, (bytes,)))
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf // it never changes
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    /// A view of the ids, as `array.array` gives one: format `I`, one dimension, read-only.
    ///
    /// # Safety
    /// `view` is null, or points to memory for a `Py_buffer`: Python's promise.
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
            // SAFETY: `view` is not null, and so for a `Py_buffer`. An error has no owner.
            unsafe { (*view).obj = ptr::null_mut() };
            return Err(PyBufferError::new_err("ids are read-only"));
        }
        let array = slf.get();
        let given = |wanted: bool, value: &ffi::Py_ssize_t| match wanted {
            true => ptr::from_ref(value).cast_mut(),
            false => ptr::null_mut(),
        };
        let filled = ffi::Py_buffer {
            buf: array.ids.as_ptr().cast_mut().cast::<c_void>(),
            len: array.shape * array.stride,
            itemsize: array.stride,
            readonly: 1,
            ndim: 1,
            format: match wants(ffi::PyBUF_FORMAT) {
                true => c"I".as_ptr().cast_mut(),
                false => ptr::null_mut(),
            },
            shape: given(wants(ffi::PyBUF_ND), &array.shape),
            strides: given(wants(ffi::PyBUF_STRIDES), &array.stride),
            suboffsets: ptr::null_mut(),
            internal: ptr::null_mut(),
            obj: slf.clone().into_any().into_ptr(),
        };
        // SAFETY: `view` is not null, and so for a `Py_buffer`. What it points to belongs to an
        // object that never changes (the class is frozen and hands out no `&mut`) nor moves, and
        // that the view's `obj`, a reference of its own, keeps alive until it is released.
        unsafe { view.write(filled) };
        Ok(())
    }
}

/// The array of ids that are little-endian numbers of 32 bits.
#[pyfunction]
pub fn ids_from_bytes(data: &[u8]) -> PyResult<IdArray> {
    let (ids, rest) = data.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(PyValueError::new_err("ids are four bytes each"));
    }
    let ids: Vec<u32> = ids.iter().copied().map(u32::from_le_bytes).collect();
    Ok(IdArray::of(ids, Arc::default()))
}
