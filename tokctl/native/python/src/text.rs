//! Functions of text alone.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::normalize::{Aligned, Edges};
use tokctl_core::unicode;

use crate::errors::to_python;
use crate::normalizers;

/// The text after the normalizers.
#[pyfunction]
pub fn normalize<'py>(
    py: Python<'py>,
    parts: &Bound<'py, PyAny>,
    text: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let chain = normalizers::chain(py, parts)?;
    let normalized = py.detach(|| chain.apply(text, Edges::WHOLE));
    Ok(PyBytes::new(py, &normalized.map_err(to_python)?))
}

/// Normalized text and, for every byte of it, the byte range that it came from.
type AlignedText<'py> = (Bound<'py, PyBytes>, Vec<(u32, u32)>);

/// The text after the normalizers with the places of its bytes.
#[pyfunction]
pub fn normalize_aligned<'py>(
    py: Python<'py>,
    parts: &Bound<'py, PyAny>,
    text: &[u8],
) -> PyResult<AlignedText<'py>> {
    let chain = normalizers::chain(py, parts)?;
    let aligned = py.detach(|| match chain.apply_aligned(text, Edges::WHOLE) {
        Ok(None) => Aligned::unchanged(text),
        Ok(Some(aligned)) => Ok(aligned),
        Err(error) => Err(error),
    });
    let aligned = aligned.map_err(to_python)?;
    Ok((PyBytes::new(py, &aligned.text), aligned.places))
}

/// The names of the scripts of a text's characters; see `tokctl_core::unicode::scripts_of`.
#[pyfunction]
pub fn scripts_of(text: &str) -> Vec<&'static str> {
    unicode::scripts_of(text)
}
