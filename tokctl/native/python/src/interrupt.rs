//! Ctrl-C and other signals, while the core works without the GIL.

use std::sync::Mutex;
use std::time::{Duration, Instant};

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

fn keep(raised: &Mutex<Option<PyErr>>, error: PyErr) {
    if let Ok(mut slot) = raised.lock() {
        slot.get_or_insert(error);
    }
}

fn finish<T>(result: Result<T, Error>, raised: Mutex<Option<PyErr>>) -> PyResult<T> {
    match (result, raised.into_inner().ok().flatten()) {
        (Err(Error::Interrupted), Some(error)) => Err(error),
        (result, _) => result.map_err(errors::to_python),
    }
}

/// Python is told of progress, and looks for Ctrl-C, this often.
const REPORT: Duration = Duration::from_millis(50);

/// Runs `work` without the GIL. It reports how far it is, and stops when the answer is
/// false: when `progress` or a signal handler has raised, which is what comes back then.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&mut dyn FnMut(u64) -> bool) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let tell = move |py: Python<'_>, size| match &progress {
        Some(progress) => progress.call1(py, (size,)).map(drop),
        None => Ok(()),
    };
    watched_by(py, tell, work)
}

/// The same; `tell` is given what is reported.
pub fn watched_by<T: Send, R>(
    py: Python<'_>,
    tell: impl Fn(Python<'_>, R) -> PyResult<()> + Sync,
    work: impl FnOnce(&mut dyn FnMut(R) -> bool) -> Result<T, Error> + Send,
) -> PyResult<T> {
    let raised = Mutex::new(None);
    let result = py.detach(|| {
        let mut reported = Instant::now();
        let mut report = |how_far: R| {
            if reported.elapsed() < REPORT {
                return true;
            }
            reported = Instant::now();
            Python::attach(|py| {
                let told = py.check_signals().and_then(|()| tell(py, how_far));
                told.map_err(|error| keep(&raised, error)).is_ok()
            })
        };
        work(&mut report)
    });
    finish(result, raised)
}
