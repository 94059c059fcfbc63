//! Texts as Python gives them, read where they stand.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyList, PyString};
use tokctl_core::unicode::well_formed;

/// The bytes of a Python object, which it keeps alive.
pub enum Text {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        match self {
            Text::Str(text) => text.as_bytes(),
            Text::Bytes(text) => text,
        }
    }
}

/// What becomes of texts that can't be read where they stand.
pub struct Reader<'a, 'py> {
    /// Must bytes be UTF-8?
    pub utf8: bool,
    /// Called with every other text; it gives the bytes, or raises. Without it bytes are taken
    /// as they are.
    pub otherwise: Option<&'a Bound<'py, PyAny>>,
}

impl<'py> Reader<'_, 'py> {
    /// A `str` as its UTF-8, which Python keeps with it; `bytes` as they are.
    pub fn read(&self, given: &Bound<'py, PyAny>) -> PyResult<Text> {
        if let Ok(text) = given.cast::<PyString>() {
            // Only a lone surrogate is in no UTF-8.
            if let Ok(text) = PyBackedStr::try_from(text.clone()) {
                return Ok(Text::Str(text));
            }
        } else if let Ok(text) = given.cast::<PyBytes>() {
            let checked = self.utf8 && self.otherwise.is_some();
            if !checked || well_formed(text.as_bytes()).is_some() {
                return Ok(Text::Bytes(text.clone().into()));
            }
        }
        let Some(otherwise) = self.otherwise else {
            return Err(PyTypeError::new_err(
                "a text is str without lone surrogates, or bytes",
            ));
        };
        let bytes = otherwise.call1((given,))?.cast_into::<PyBytes>()?;
        Ok(Text::Bytes(bytes.into()))
    }

    /// Every text of a sequence.
    pub fn read_all(&self, given: &Bound<'py, PyAny>) -> PyResult<Vec<Text>> {
        if let Ok(list) = given.cast_exact::<PyList>() {
            return list.iter().map(|text| self.read(&text)).collect();
        }
        given.try_iter()?.map(|text| self.read(&text?)).collect()
    }
}
