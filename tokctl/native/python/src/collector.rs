//! Python's cyclic garbage collector, held off for a while.
#![allow(unsafe_code)]

use pyo3::{ffi, Python};

/// While this lives, no collection starts.
pub struct Paused<'py> {
    _py: Python<'py>,
    was_on: bool,
}

impl<'py> Paused<'py> {
    pub fn new(py: Python<'py>) -> Self {
        // SAFETY: the thread is attached to the interpreter, which `py` proves.
        let was_on = unsafe { ffi::PyGC_Disable() } != 0;
        Paused { _py: py, was_on }
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        if self.was_on {
            // SAFETY: the thread is attached still: `_py` can't outlive that.
            unsafe { ffi::PyGC_Enable() };
        }
    }
}
