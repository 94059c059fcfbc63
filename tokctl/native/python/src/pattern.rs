//! Patterns of Python's `regex` package for the core.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::pattern::Pattern;
use tokctl_core::unicode::decode;
use tokctl_core::Result;

use crate::errors::from_python;

/// A compiled pattern of the `regex` package.
#[derive(Debug)]
struct PythonPattern {
    source: String,
    compiled: Py<PyAny>,
}

/// The pattern, compiled as `tokctl.model.patterns` compiles it; its errors are Python's.
pub fn python_pattern(py: Python<'_>, pattern: &str) -> PyResult<Arc<dyn Pattern>> {
    let module = py.import("tokctl.model.patterns")?;
    let compiled = module.call_method1("compile_pattern", (format!("regex:{pattern}"),))?;
    Ok(Arc::new(PythonPattern {
        source: pattern.to_owned(),
        compiled: compiled.unbind(),
    }))
}

impl Pattern for PythonPattern {
    fn find(&self, text: &[u8]) -> Result<Vec<(usize, usize)>> {
        Python::attach(|py| {
            let what = || format!("the pattern {:?}", self.source);
            self.spans(py, text)
                .map_err(|error| from_python(py, error, &what()))
        })
    }
}

impl PythonPattern {
    fn spans(&self, py: Python<'_>, text: &[u8]) -> PyResult<Vec<(usize, usize)>> {
        // A byte that is not UTF-8 is a character of its own.
        let characters =
            PyBytes::new(py, text).call_method1("decode", ("utf-8", "surrogateescape"))?;
        let matches = self
            .compiled
            .bind(py)
            .call_method1("finditer", (characters,))?;
        let mut place = Place::new(text);
        let mut found = Vec::new();
        let mut done = 0;
        for one in matches.try_iter()? {
            let (start, end): (usize, usize) = one?.call_method0("span")?.extract()?;
            // A pattern with \K or look-behind can match behind what is done already.
            if end < start || start < done {
                continue;
            }
            done = end;
            found.push((place.of(start), place.of(end)));
        }
        Ok(found)
    }
}

/// Turns ascending numbers of characters into offsets in bytes.
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
