//! The core's errors as one Python exception; `tokctl` turns it into a TokctlError.

use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use tokctl_core::Error;

create_exception!(
    tokctl._native,
    CoreError,
    PyValueError,
    "Raised by the core. Its arguments are (message, kind, details)."
);

/// A work that was interrupted is Python's `KeyboardInterrupt`. `details` are the figures of the error, for the kinds that have some.
pub fn to_python(error: Error) -> PyErr {
    let message = error.to_string();
    let (kind, details): (&str, (u64, u64, u64)) = match error {
        Error::Interrupted => return PyKeyboardInterrupt::new_err(()),
        Error::VocabularyTooSmall { asked, least } => ("vocabulary-too-small", (asked, least, 0)),
        Error::TooLarge(_) => ("too-large", (0, 0, 0)),
        Error::UnknownId { position, id } => ("unknown-id", (position, id.into(), 0)),
        Error::IdOutside { line, column, id } => ("id-outside", (line, column, id.into())),
        Error::NotAnId { line, column, .. } => ("not-an-id", (line, column, 0)),
        Error::Invalid(_) => ("invalid", (0, 0, 0)),
    };
    CoreError::new_err((message, kind, details))
}

pub fn invalid(message: String) -> PyErr {
    to_python(Error::Invalid(message))
}

/// A character of the text of this number has no id.
pub fn no_id(text: usize) -> PyErr {
    let message = format!("a character of text {text} has no id");
    CoreError::new_err((message, "no-id", (text as u64, 0u64, 0u64)))
}
