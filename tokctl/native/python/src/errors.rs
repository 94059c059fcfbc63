//! Conversion of the core's errors to one Python exception, a TokctlError, and handling of Ctrl-C
//! and progress while the core works without the GIL.

use std::cell::Cell;
use std::ffi::{CString, OsString};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyException, PyKeyboardInterrupt};
use pyo3::import_exception;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::{memory, Error};

import_exception!(tokctl.core.errors, CoreError);
import_exception!(tokctl.core.errors, OutOfMemoryError);

thread_local! {
    /// Exception that interrupted the work of this thread. The core's error can't hold it.
    static INTERRUPTION: Cell<Option<PyErr>> = const { Cell::new(None) };
}

/// Convert an exception in Python code that the core called. An exception outside of `Exception`,
/// such as one raised by a signal handler, ends all of the work.
pub fn from_python(py: Python<'_>, error: PyErr, what: &str) -> Error {
    if error.is_instance_of::<PyException>(py) {
        return Error::Invalid(format!("{what} failed: {error}"));
    }
    INTERRUPTION.set(Some(error));
    Error::Interrupted
}

/// Convert an error of the core. An interruption becomes the exception that caused it, or
/// `KeyboardInterrupt`. `details` are the numbers of the error, for kinds that have any.
pub fn to_python(error: Error) -> PyErr {
    let message = error.to_string();
    let (kind, details): (&str, (u64, u64, u64)) = match error {
        Error::Interrupted if memory::is_exhausted() => {
            memory::recover();
            return to_python(Error::OutOfMemory);
        }
        Error::Interrupted => {
            return INTERRUPTION
                .take()
                .unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
        }
        Error::VocabularyTooSmall { requested, least } => {
            ("vocabulary-too-small", (requested, least, 0))
        }
        Error::TooLarge(_) => ("too-large", (0, 0, 0)),
        Error::OutOfMemory => return OutOfMemoryError::new_err(()),
        Error::UnknownId { position, id } => ("unknown-id", (position, id.into(), 0)),
        Error::IdOutside { line, column, id } => ("id-outside", (line, column, id.into())),
        Error::NotAnId { line, column, .. } => ("not-an-id", (line, column, 0)),
        Error::NoId(text) => ("no-id", (text as u64, 0, 0)),
        Error::Invalid(_) => ("invalid", (0, 0, 0)),
    };
    CoreError::new_err((message, kind, details))
}

/// Copy bytes to a Python object, with an error if there is no memory for them.
pub fn bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    memory::check(bytes.len()).map_err(to_python)?;
    Ok(PyBytes::new(py, bytes))
}

/// Name the files that the process deletes if it has no memory to continue.
///
/// Only for a process that runs a single command. See `tokctl_core::memory::last_words`.
#[pyfunction]
pub fn last_words(names: Vec<OsString>) {
    let names = names.into_iter().map(OsString::into_encoded_bytes);
    let names = names.filter_map(|name| CString::new(name).ok()).collect();
    memory::last_words(names);
}

/// Return the exception for [`Error::Invalid`].
pub fn invalid(message: String) -> PyErr {
    to_python(Error::Invalid(message))
}

/// Run `work` without the GIL. The closure passed to `work` returns true once a Python signal
/// handler has raised; that exception is then returned.
pub fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let (raised, before) = (Mutex::new(None), memory::exhaustions());
    let result = py.detach(|| {
        if !memory::recover() {
            return Err(Error::OutOfMemory);
        }
        let stop = || {
            memory::is_exhausted()
                || Python::attach(|py| match py.check_signals() {
                    Ok(()) => false,
                    Err(error) => {
                        keep(&raised, error);
                        true
                    }
                })
        };
        work(&stop)
    });
    finish(result, raised, before)
}

fn keep(raised: &Mutex<Option<PyErr>>, error: PyErr) {
    if let Ok(mut slot) = raised.lock() {
        slot.get_or_insert(error);
    }
}

/// Return the result, or the exception that caused an interruption. `before` is the number of
/// memory exhaustions before the work began.
fn finish<T>(result: Result<T, Error>, raised: Mutex<Option<PyErr>>, before: usize) -> PyResult<T> {
    match (result, raised.into_inner().ok().flatten()) {
        (Err(Error::Interrupted), Some(error)) => Err(error),
        (Err(Error::Interrupted), None) if memory::exhaustions() != before => {
            memory::recover();
            Err(to_python(Error::OutOfMemory))
        }
        (result, _) => result.map_err(to_python),
    }
}

/// Interval at which progress is reported and signals are checked.
const INTERVAL: Duration = Duration::from_millis(50);

/// Run `work` without the GIL. `work` reports its progress, and must stop when the report returns
/// false: `progress` or a signal handler has then raised, and that exception is returned.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(u64) -> bool) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let call = move |py: Python<'_>, size| match &progress {
        Some(progress) => progress.call1(py, (size,)).map(drop),
        None => Ok(()),
    };
    watched_by(py, call, work)
}

/// Like [`watched`], with any callback: `progress` is called with the reported value.
pub fn watched_by<T: Send, R>(
    py: Python<'_>,
    progress: impl Fn(Python<'_>, R) -> PyResult<()> + Sync,
    work: impl FnOnce(&mut dyn FnMut(R) -> bool) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let (raised, before) = (Mutex::new(None), memory::exhaustions());
    let result = py.detach(|| {
        if !memory::recover() {
            return Err(Error::OutOfMemory);
        }
        let mut reported = Instant::now();
        let mut report = |value: R| {
            if memory::is_exhausted() {
                return false;
            }
            if reported.elapsed() < INTERVAL {
                return true;
            }
            reported = Instant::now();
            Python::attach(|py| {
                let result = py.check_signals().and_then(|()| progress(py, value));
                result.map_err(|error| keep(&raised, error)).is_ok()
            })
        };
        work(&mut report)
    });
    finish(result, raised, before)
}
