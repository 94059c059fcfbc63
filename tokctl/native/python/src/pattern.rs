//! Patterns of Python's `regex` package for the core.

use std::sync::Arc;

use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::pattern::Pattern;
use tokctl_core::unicode::decode;
use tokctl_core::{Error, Result};

use crate::errors::from_python;

/// Compiled pattern of the `regex` package.
#[derive(Debug)]
struct PythonPattern {
    source: String,
    compiled: Py<PyAny>,
    /// Whether a search could take more than quadratic time, and so has a time limit. Other
    /// patterns have none, because a limit costs more than matching.
    can_backtrack: bool,
}

/// Compile a pattern as `tokctl.model.patterns` does; errors are Python's.
pub fn python_pattern(py: Python<'_>, pattern: &str) -> PyResult<Arc<dyn Pattern>> {
    let module = patterns(py)?;
    let compiled = module.call_method1("compile_pattern", (format!("regex:{pattern}"),))?;
    let can_backtrack = module.call_method1("can_backtrack", (pattern,))?;
    Ok(Arc::new(PythonPattern {
        source: pattern.to_owned(),
        compiled: compiled.unbind(),
        can_backtrack: can_backtrack.extract()?,
    }))
}

impl Pattern for PythonPattern {
    fn find(&self, text: &[u8]) -> Result<Vec<(usize, usize)>> {
        Python::attach(|py| {
            let what = || format!("the pattern {:?}", self.source);
            self.spans(py, text).map_err(|error| {
                if error.is_instance_of::<PyTimeoutError>(py) {
                    return self.takes_too_long(py, text.len());
                }
                from_python(py, error, &what())
            })
        })
    }
}

fn patterns(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("tokctl.model.patterns")
}

impl PythonPattern {
    fn takes_too_long(&self, py: Python<'_>, size: usize) -> Error {
        let message = || {
            let arguments = (&self.source, size);
            patterns(py)?
                .call_method1("takes_too_long", arguments)?
                .extract()
        };
        match message() {
            Ok(message) => Error::Invalid(message),
            Err(error) => from_python(py, error, "a search"),
        }
    }

    fn spans(&self, py: Python<'_>, text: &[u8]) -> PyResult<Vec<(usize, usize)>> {
        // A byte that is not UTF-8 counts as one character.
        let characters =
            PyBytes::new(py, text).call_method1("decode", ("utf-8", "surrogateescape"))?;
        let limit = match self.can_backtrack {
            true => Some(patterns(py)?.call_method1("seconds", (text.len(),))?),
            false => None,
        };
        let matches = patterns(py)?.call_method1("matches", (&self.compiled, characters, limit))?;
        let matches: Vec<(usize, usize)> = matches.extract()?;
        let mut place = Place::new(text);
        let places = |(start, end)| (place.of(start), place.of(end));
        Ok(matches.into_iter().map(places).collect())
    }
}

/// Converter from ascending character numbers to byte offsets.
struct Place<'t> {
    text: &'t [u8],
    is_ascii: bool,
    characters: usize,
    at: usize,
}

impl<'t> Place<'t> {
    fn new(text: &'t [u8]) -> Self {
        Place {
            text,
            is_ascii: text.is_ascii(),
            characters: 0,
            at: 0,
        }
    }

    fn of(&mut self, character: usize) -> usize {
        if self.is_ascii {
            return character.min(self.text.len());
        }
        while self.characters < character && self.at < self.text.len() {
            self.at += decode(self.text, self.at).map_or(1, |(_, length)| length);
            self.characters += 1;
        }
        self.at
    }
}
