//! Functions of text alone.

use crate::options;
use pyo3::prelude::*;

/// Byte ranges of the pre-tokens of `text`.
#[pyfunction]
pub fn pre_tokens(py: Python<'_>, name: &str, text: &[u8]) -> PyResult<Vec<(usize, usize)>> {
    let pre_tokenizer = options::pre_tokenizer(name)?;
    Ok(py.detach(|| {
        let mut found = Vec::new();
        pre_tokenizer.split(text, |start, end| found.push((start, end)));
        found
    }))
}
