//! Ctrl-C and other signals, while the core works without the GIL.

use std::sync::Mutex;

use pyo3::prelude::*;
use tokctl_core::Error;

use crate::errors;

/// Runs `work` without the GIL. The closure that it gets answers true once a Python
/// signal handler has raised; then that exception is what comes back.
pub fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&(dyn Fn() -> bool + Sync)) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let raised = Mutex::new(None);
    let result = py.detach(|| {
        let stop = || {
            Python::attach(|py| match py.check_signals() {
                Ok(()) => false,
                Err(error) => {
                    keep(&raised, error);
                    true
                }
            })
        };
        work(&stop)
    });
    finish(result, raised)
}

pub fn keep(raised: &Mutex<Option<PyErr>>, error: PyErr) {
    if let Ok(mut slot) = raised.lock() {
        slot.get_or_insert(error);
    }
}

pub fn finish<T>(result: Result<T, Error>, raised: Mutex<Option<PyErr>>) -> PyResult<T> {
    match (result, raised.into_inner().ok().flatten()) {
        (Err(Error::Interrupted), Some(error)) => Err(error),
        (result, _) => result.map_err(errors::to_python),
    }
}
