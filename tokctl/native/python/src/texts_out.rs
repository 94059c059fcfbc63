//! Decoded text as Python objects that are written once.
#![allow(unsafe_code)]

use std::ffi::{c_char, CStr};
use std::mem::MaybeUninit;
use std::slice;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use tokctl_core::large_pages;

use crate::errors::invalid;

/// `bytes` of a known size; `fill` writes every one of them and says whether it did.
pub fn filled_bytes<'py>(
    py: Python<'py>,
    size: usize,
    fill: impl FnOnce(&mut [MaybeUninit<u8>]) -> bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let length = size as ffi::Py_ssize_t;
    // SAFETY: without a text, this makes `bytes` of that size whose contents are to be written,
    // or is null with an exception set (a size above isize::MAX, negative here, is refused).
    let bytes = unsafe {
        let made = ffi::PyBytes_FromStringAndSize(std::ptr::null(), length);
        Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked::<PyBytes>()
    };
    // SAFETY: it is `bytes`, so that this is where its `size` bytes stand. Nobody else has a
    // reference to them before this function returns, and `MaybeUninit` needs no contents.
    let place = unsafe {
        let start = ffi::PyBytes_AsString(bytes.as_ptr());
        slice::from_raw_parts_mut(start.cast::<MaybeUninit<u8>>(), size)
    };
    large_pages::advise_start(place);
    match fill(place) {
        true => Ok(bytes),
        // Not to be shown to anybody: some of its bytes are whatever stood there.
        false => Err(invalid("a text has another size than its tokens".into())),
    }
}

/// `text.decode("utf-8", errors)`, without the `bytes`.
pub fn decoded<'py>(py: Python<'py>, text: &[u8], errors: &CStr) -> PyResult<Bound<'py, PyString>> {
    // SAFETY: both are valid for the call, the second one up to its NUL, and the thread is
    // attached; the result is a new `str`, or null with an exception set.
    unsafe {
        let made = ffi::PyUnicode_DecodeUTF8(
            text.as_ptr().cast::<c_char>(),
            text.len() as ffi::Py_ssize_t,
            errors.as_ptr(),
        );
        Ok(Bound::from_owned_ptr_or_err(py, made)?.cast_into_unchecked())
    }
}
