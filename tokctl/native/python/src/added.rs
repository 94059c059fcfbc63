use pyo3::prelude::*;
use tokctl_core::encode::{self, AddedToken};

use crate::errors::to_python;

/// See `tokctl_core::encode::AddedTokens`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct AddedTokens(encode::AddedTokens);

#[pymethods]
impl AddedTokens {
    /// Each token is (text, id, single word, strip left, strip right).
    #[new]
    fn new(py: Python<'_>, tokens: Vec<(Vec<u8>, u32, bool, bool, bool)>) -> PyResult<Self> {
        let tokens = tokens.into_iter();
        let tokens = tokens.map(
            |(text, id, single_word, strip_left, strip_right)| AddedToken {
                text,
                id,
                single_word,
                strip_left,
                strip_right,
            },
        );
        let tokens = tokens.collect();
        py.detach(|| encode::AddedTokens::new(tokens))
            .map(AddedTokens)
            .map_err(to_python)
    }

    fn find(&self, py: Python<'_>, text: &[u8]) -> Vec<(usize, usize, u32)> {
        py.detach(|| self.0.find(text).collect())
    }

    fn spans(&self, py: Python<'_>, text: &[u8]) -> Vec<(Option<u32>, (usize, usize))> {
        py.detach(|| self.0.spans(text))
    }
}
