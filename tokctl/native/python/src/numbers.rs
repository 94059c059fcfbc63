//! Lists of ids, filled with Python ints that are kept.

use std::sync::{Mutex, TryLockError};

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};
use tokctl_core::encode::RaggedIds;

use crate::collector;

/// Ints of ids up to this are kept: 32 MB of table, were a vocabulary as large.
const MOST: usize = 1 << 22;

/// The Python int of every id that lists were made of, so that the next list needs references
/// and no new objects. The table is as long as the vocabulary at most, since that is where ids
/// come from.
#[derive(Default)]
pub struct Numbers(Mutex<Table>);

type Table = Vec<Option<Py<PyInt>>>;

impl Numbers {
    pub fn list<'py>(&self, py: Python<'py>, ids: &[u32]) -> PyResult<Bound<'py, PyList>> {
        self.with_table(|table| list(py, ids, table))
    }

    /// A list for each text.
    pub fn lists<'py>(&self, py: Python<'py>, texts: &RaggedIds) -> PyResult<Bound<'py, PyList>> {
        let lists = PyList::empty(py);
        // Nothing but lists of ints comes into being here: walking them is no use.
        let _paused = collector::Paused::new(py);
        self.with_table(|table| {
            for ids in texts.texts() {
                lists.append(list(py, ids, table)?)?;
            }
            Ok(lists)
        })
    }

    fn with_table<T>(&self, work: impl FnOnce(&mut Table) -> T) -> T {
        match self.0.try_lock() {
            Ok(mut table) => work(&mut table),
            Err(TryLockError::Poisoned(table)) => work(&mut table.into_inner()),
            // Making a list can run Python's collector, and so any code, this one included. It
            // then makes ints of its own.
            Err(TryLockError::WouldBlock) => work(&mut Table::new()),
        }
    }
}

fn list<'py>(py: Python<'py>, ids: &[u32], table: &mut Table) -> PyResult<Bound<'py, PyList>> {
    PyList::new(
        py,
        ids.iter().map(|&id| match table.get(id as usize) {
            Some(Some(number)) => number.bind(py).clone(),
            _ => made(py, id, table),
        }),
    )
}

#[cold]
fn made<'py>(py: Python<'py>, id: u32, table: &mut Table) -> Bound<'py, PyInt> {
    let Ok(number) = id.into_pyobject(py);
    let place = id as usize;
    if place < MOST {
        if place >= table.len() {
            table.resize_with(place + 1, || None);
        }
        table[place] = Some(number.clone().unbind());
    }
    number
}
