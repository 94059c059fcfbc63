//! Functions of text alone.

use crate::options;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::pretokenize;

/// The text after the normalizers.
#[pyfunction]
pub fn normalize<'py>(
    py: Python<'py>,
    names: Vec<String>,
    text: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let mut text = text.to_vec();
    for normalizer in options::normalizers(names)? {
        text = normalizer.apply(&text).into_owned();
    }
    Ok(PyBytes::new(py, &text))
}

/// Where `text` can be cut at or after `from` without changing its pre-tokens: the last
/// such place, if there is one.
#[pyfunction]
pub fn last_cut(name: &str, text: &[u8], from: usize) -> PyResult<Option<usize>> {
    let from = from.min(text.len());
    Ok(pretokenize::last_cut(
        options::pre_tokenizer(name)?,
        text,
        from,
    ))
}

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
