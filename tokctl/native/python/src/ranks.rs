//! Files of ranks.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tokctl_core::model::Ranks;

/// The rank of each token; None where the file has to be read in another way: see
/// `tokctl_core::model::Ranks`, or a token comes twice.
#[pyfunction]
pub fn plain_ranks<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Some(ranks) = py.detach(|| Ranks::of(data)) else {
        return Ok(None);
    };
    let (found, count) = (PyDict::new(py), ranks.iter().len());
    for (rank, token) in ranks.iter() {
        found.set_item(PyBytes::new(py, token), rank)?;
    }
    Ok((found.len() == count).then_some(found))
}
