use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::decode;

use crate::errors::to_python;
use crate::options;

/// See `tokctl_core::decode::Decoder`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Decoder(decode::Decoder);

#[pymethods]
impl Decoder {
    #[new]
    fn new(marker: (String, String), tokens: Vec<Vec<u8>>, special: Vec<bool>) -> PyResult<Self> {
        if tokens.len() != special.len() {
            return Err(crate::errors::invalid(
                "a flag is needed for every token".into(),
            ));
        }
        Ok(Decoder(decode::Decoder::new(
            options::marker(marker)?,
            tokens,
            special,
        )))
    }

    fn decode<'py>(
        &self,
        py: Python<'py>,
        ids: Vec<u32>,
        skip_special: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let text = py
            .detach(|| self.0.decode(&ids, skip_special))
            .map_err(to_python)?;
        Ok(PyBytes::new(py, &text))
    }

    fn decode_tokens<'py>(&self, py: Python<'py>, tokens: Vec<Vec<u8>>) -> Bound<'py, PyBytes> {
        let text = self.0.decode_tokens(tokens.iter().map(Vec::as_slice));
        PyBytes::new(py, &text)
    }

    fn lines<'py>(
        &self,
        py: Python<'py>,
        block: &[u8],
        first_line: u64,
        skip_special: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let text = py
            .detach(|| self.0.lines(block, first_line, skip_special))
            .map_err(to_python)?;
        Ok(PyBytes::new(py, &text))
    }
}
