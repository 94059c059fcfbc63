//! Room outside of memory that Python gives: temporary files.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::count::{Scratch, Store};
use tokctl_core::{Error, Result};

/// An exception that Python has raised while the core was at work.
#[derive(Clone, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn keep<T>(&self, result: PyResult<T>) -> Result<T> {
        result.map_err(|error| {
            if let Ok(mut slot) = self.0.lock() {
                slot.get_or_insert(error);
            }
            Error::Interrupted
        })
    }

    /// The exception, if there is one.
    pub fn take(&self) -> Option<PyErr> {
        self.0.lock().ok().and_then(|mut slot| slot.take())
    }
}

/// A Python object whose `scratch()` gives objects with `append(bytes)` and `read(at, size)`.
pub struct PythonStore {
    pub given: Py<PyAny>,
    pub raised: Raised,
}

impl Store for PythonStore {
    fn scratch(&self) -> Result<Box<dyn Scratch>> {
        let made = Python::attach(|py| self.given.call_method0(py, "scratch"));
        let file = self.raised.keep(made)?;
        let raised = self.raised.clone();
        Ok(Box::new(PythonScratch { file, raised }))
    }
}

struct PythonScratch {
    file: Py<PyAny>,
    raised: Raised,
}

impl Scratch for PythonScratch {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let written = Python::attach(|py| {
            // Ctrl-C is heard between two blocks, too.
            py.check_signals()?;
            let bytes = PyBytes::new(py, bytes);
            self.file.call_method1(py, "append", (bytes,)).map(drop)
        });
        self.raised.keep(written)
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        let read = Python::attach(|py| {
            let bytes = self.file.call_method1(py, "read", (at, buffer.len()))?;
            let bytes = bytes.bind(py).cast::<PyBytes>()?.as_bytes();
            let same = bytes.len() == buffer.len();
            if same {
                buffer.copy_from_slice(bytes);
            }
            Ok(same)
        });
        match self.raised.keep(read)? {
            true => Ok(()),
            false => Err(Error::Invalid("a temporary file has become shorter".into())),
        }
    }
}
