//! Pre-tokenizers: conversion of a description to the core's steps, and their application to a
//! text.

use std::num::NonZeroUsize;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use tokctl_core::model::Prepend;
use tokctl_core::pretokenize::{Behaviour, PreTokenizer, Rewrite, Scanner};
use tokctl_core::pretokenize::{Split, Step};

use crate::errors::{bytes, invalid, to_python};
use crate::pattern::python_pattern;

/// (start, end) of each range.
pub type Ranges = Vec<(usize, usize)>;

/// Read the steps of a pre-tokenizer: a list of dicts `{"kind": …}` with the options of the kind,
/// or of names of kinds without options. A single name is a list of one.
pub fn pre_tokenizer(py: Python<'_>, parts: &Bound<'_, PyAny>) -> PyResult<PreTokenizer> {
    let steps = match parts.cast::<PyString>() {
        Ok(name) if name.to_str()? == "none" => Vec::new(),
        Ok(name) => vec![step(py, name.as_any())?],
        Err(_) => parts
            .try_iter()?
            .map(|part| step(py, &part?))
            .collect::<PyResult<_>>()?,
    };
    Ok(PreTokenizer::new(steps))
}

fn step(py: Python<'_>, part: &Bound<'_, PyAny>) -> PyResult<Step> {
    if let Ok(name) = part.cast::<PyString>() {
        let options = Options {
            kind: name.to_str()?.to_owned(),
            given: PyDict::new(py),
        };
        return options.step(py);
    }
    let given = part.cast::<PyDict>()?;
    let kind = given
        .get_item("kind")?
        .ok_or_else(|| invalid("a pre-tokenizer has no kind".into()))?
        .extract()?;
    Options {
        kind,
        given: given.clone(),
    }
    .step(py)
}

/// Options of one step.
struct Options<'py> {
    kind: String,
    given: Bound<'py, PyDict>,
}

impl Options<'_> {
    fn step(&self, py: Python<'_>) -> PyResult<Step> {
        let scanner = match self.kind.as_str() {
            "punctuation" => {
                self.only(&["behaviour"])?;
                Scanner::Punctuation(self.behaviour()?)
            }
            "digits" => {
                self.only(&["individual"])?;
                Scanner::Digits {
                    individual: self.required("individual")?,
                }
            }
            "digit-groups" => Scanner::DigitGroups(self.length()?),
            "digit-cuts" => Scanner::DigitCuts(self.length()?),
            "fixed" => Scanner::Fixed(self.length()?),
            "delimiter" => {
                self.only(&["text"])?;
                let text: String = self.required("text")?;
                Scanner::Split(Split::literal(&text, Behaviour::Removed, false))
            }
            "split" => {
                self.only(&["pattern", "regex", "behaviour", "invert"])?;
                match self.known_pattern()? {
                    Some(scanner) => scanner,
                    None => Scanner::Split(self.split(py)?),
                }
            }
            "metaspace" => return self.metaspace(),
            "prefix-space" => {
                self.only(&[])?;
                return Ok(Step {
                    rewrite: Some(Rewrite::PrefixSpace),
                    scanner: Scanner::None,
                });
            }
            "byte-level" => {
                self.only(&[])?;
                return Ok(Step {
                    rewrite: Some(Rewrite::ByteCharacters),
                    scanner: Scanner::None,
                });
            }
            name => {
                self.only(&[])?;
                Scanner::named(name)
                    .ok_or_else(|| invalid(format!("no pre-tokenizer is called {name}")))?
            }
        };
        Ok(scanner.into())
    }

    /// Read the length of a step that has only this option.
    fn length(&self) -> PyResult<NonZeroUsize> {
        self.only(&["length"])?;
        NonZeroUsize::new(self.required("length")?)
            .ok_or_else(|| invalid("invalid value 0 for length".into()))
    }

    /// Return the built-in scanner for a pattern whose matches are isolated, if one exists.
    fn known_pattern(&self) -> PyResult<Option<Scanner>> {
        let is_isolated = matches!(self.behaviour()?, Behaviour::Isolated);
        if !is_isolated || !self.required("regex")? {
            return Ok(None);
        }
        Ok(Scanner::of_pattern(&self.required::<String>("pattern")?))
    }

    fn split(&self, py: Python<'_>) -> PyResult<Split> {
        let pattern: String = self.required("pattern")?;
        let behaviour = self.behaviour()?;
        let invert = self.optional("invert")?.unwrap_or(false);
        Ok(match self.required("regex")? {
            true => Split::pattern(python_pattern(py, &pattern)?, behaviour, invert),
            false => Split::literal(&pattern, behaviour, invert),
        })
    }

    fn metaspace(&self) -> PyResult<Step> {
        self.only(&["replacement", "prepend", "split"])?;
        let replacement: char = self.required("replacement")?;
        let prepend: String = self.required("prepend")?;
        let replacement = replacement.to_string();
        let scanner = match self.required("split")? {
            true => Scanner::Split(Split::literal(
                &replacement,
                Behaviour::MergedWithNext,
                false,
            )),
            false => Scanner::None,
        };
        let prepend = Prepend::named(&prepend).map_err(to_python)?;
        Ok(Step {
            rewrite: Some(Rewrite::Metaspace {
                replacement,
                prepend,
            }),
            scanner,
        })
    }

    fn behaviour(&self) -> PyResult<Behaviour> {
        let name: String = self.required("behaviour")?;
        Behaviour::named(&name).map_err(to_python)
    }

    fn optional<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
    {
        match self.given.get_item(name)? {
            Some(value) => Ok(Some(value.extract()?)),
            None => Ok(None),
        }
    }

    fn required<T>(&self, name: &str) -> PyResult<T>
    where
        T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
    {
        self.optional(name)?
            .ok_or_else(|| invalid(format!("the pre-tokenizer {} has no {name}", self.kind)))
    }

    /// Return an error for an unknown option, which may be misspelt.
    fn only(&self, names: &[&str]) -> PyResult<()> {
        for key in self.given.keys() {
            let key: String = key.extract()?;
            if key != "kind" && !names.contains(&key.as_str()) {
                let message = format!("the pre-tokenizer {} has no option {key}", self.kind);
                return Err(invalid(message));
            }
        }
        Ok(())
    }
}

/// Return the byte ranges of the pre-tokens of `text`. Raise an error if a step changes the text.
#[pyfunction]
pub fn pre_tokens(py: Python<'_>, parts: &Bound<'_, PyAny>, text: &[u8]) -> PyResult<Ranges> {
    let pre_tokenizer = pre_tokenizer(py, parts)?;
    let split = || {
        let mut found = Vec::new();
        pre_tokenizer.split(text, |start, end| found.push((start, end)))?;
        Ok(found)
    };
    py.detach(split).map_err(to_python)
}

/// Return the text after the steps, the ranges of the pre-tokens in it, and their ranges in the
/// given text.
#[pyfunction]
pub fn pre_tokenize<'py>(
    py: Python<'py>,
    parts: &Bound<'py, PyAny>,
    text: &[u8],
) -> PyResult<(Bound<'py, PyBytes>, Ranges, Ranges)> {
    let pre_tokenizer = pre_tokenizer(py, parts)?;
    let splits = py
        .detach(|| pre_tokenizer.run(text, 1))
        .map_err(to_python)?;
    let places = splits.ranges.iter();
    let places = places
        .map(|&(start, end)| splits.place(start, end))
        .collect();
    Ok((bytes(py, &splits.text)?, splits.ranges, places))
}
