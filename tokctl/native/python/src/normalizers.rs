//! Normalizers from Python: a list whose items are names of kinds, or dicts with a kind and its
//! options.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use tokctl_core::normalize::{Aligned, Chain, CharsMap, CharsMapRules, Edges, Normalizer};
use tokctl_core::pattern::Search;
use tokctl_core::unicode;

use crate::errors::{bytes, invalid, to_python};
use crate::pattern::python_pattern;

/// Read a list of normalizers.
pub fn chain(py: Python<'_>, parts: &Bound<'_, PyAny>) -> PyResult<Chain> {
    let mut normalizers = Vec::new();
    for part in parts.try_iter()? {
        normalizers.push(normalizer(py, &Part::new(&part?)?)?);
    }
    Ok(Chain::new(normalizers))
}

/// Kind with its options.
struct Part<'py> {
    kind: String,
    options: Option<Bound<'py, PyDict>>,
}

impl<'py> Part<'py> {
    fn new(part: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(kind) = part.cast::<PyString>() {
            return Ok(Part {
                kind: kind.extract()?,
                options: None,
            });
        }
        let options = part
            .cast::<PyDict>()
            .map_err(|_| invalid("a normalizer is a name or a dictionary".into()))?;
        let kind = options.get_item("kind")?;
        let kind = kind.ok_or_else(|| invalid("a normalizer without a kind".into()))?;
        Ok(Part {
            kind: kind.extract()?,
            options: Some(options.clone()),
        })
    }

    fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.options {
            Some(options) => options.get_item(name),
            None => Ok(None),
        }
    }

    fn flag(&self, name: &str, default: bool) -> PyResult<bool> {
        let value = self.get(name)?;
        value.map_or(Ok(default), |value| value.extract())
    }

    fn text(&self, name: &str) -> PyResult<String> {
        match self.get(name)? {
            Some(value) => value.extract(),
            None => Err(invalid(format!(
                "the normalizer {} needs the option {name}",
                self.kind
            ))),
        }
    }
}

fn normalizer(py: Python<'_>, part: &Part<'_>) -> PyResult<Normalizer> {
    Ok(match part.kind.as_str() {
        "delete-newlines" => Normalizer::DeleteNewlines,
        "nfc" => Normalizer::Nfc,
        "nfd" => Normalizer::Nfd,
        "nfkc" => Normalizer::Nfkc,
        "nfkd" => Normalizer::Nfkd,
        "lowercase" => Normalizer::Lowercase,
        "strip-accents" => Normalizer::StripAccents,
        "bert" => bert(part)?,
        "chars-map" => Normalizer::CharsMap(chars_map(part)?),
        "nmt" => Normalizer::Nmt,
        "collapse-spaces" => Normalizer::CollapseSpaces,
        "strip" => Normalizer::Strip {
            left: part.flag("left", true)?,
            right: part.flag("right", true)?,
        },
        "strip-spaces" => Normalizer::StripSpaces {
            left: part.flag("left", true)?,
            right: part.flag("right", true)?,
        },
        "replace" => {
            let pattern = part.text("pattern")?;
            Normalizer::Replace {
                pattern: match part.flag("regex", false)? {
                    true => Search::Pattern(python_pattern(py, &pattern)?),
                    false => Search::Literal(pattern),
                },
                content: part.text("content")?,
            }
        }
        "prepend" => Normalizer::Prepend(part.text("text")?),
        "dummy-space" => Normalizer::DummySpace {
            behind: part.flag("behind", false)?,
        },
        kind => return Err(invalid(format!("no normalizer is called {kind}"))),
    })
}

/// Read a BERT normalizer. If `strip_accents` is not given, accents are removed if letters are
/// lower-cased.
fn bert(part: &Part<'_>) -> PyResult<Normalizer> {
    let lowercase = part.flag("lowercase", true)?;
    let strip_accents = match part.get("strip_accents")? {
        Some(value) => value.extract::<Option<bool>>()?,
        None => None,
    };
    Ok(Normalizer::Bert {
        clean_text: part.flag("clean_text", true)?,
        cjk_spacing: part.flag("cjk_spacing", true)?,
        strip_accents: strip_accents.unwrap_or(lowercase),
        lowercase,
    })
}

fn chars_map(part: &Part<'_>) -> PyResult<CharsMap> {
    let graphemes = part.flag("graphemes", false)?;
    let rules = match part.get("blob")? {
        Some(blob) => {
            let blob: Vec<u8> = blob.extract()?;
            CharsMap::from_blob(&blob, graphemes).map_err(to_python)?
        }
        None => {
            let name = part.text("name")?;
            CharsMap::named(&name, graphemes)
                .ok_or_else(|| invalid(format!("no rules of SentencePiece are called {name}")))?
        }
    };
    match part.get("keep")? {
        Some(texts) => {
            let texts: Vec<String> = texts.extract()?;
            let texts: Vec<_> = texts.into_iter().map(String::into_bytes).collect();
            rules.keeping(&texts).map_err(to_python)
        }
        None => Ok(rules),
    }
}

/// Compile rules, pairs of a text and its replacement, to a `precompiled_charsmap`.
#[pyfunction]
pub fn compile_chars_map(py: Python<'_>, rules: CharsMapRules) -> PyResult<Bound<'_, PyBytes>> {
    let blob = py
        .detach(|| tokctl_core::normalize::compile(&rules))
        .map_err(to_python)?;
    Ok(PyBytes::new(py, &blob))
}

/// Return the `precompiled_charsmap` of SentencePiece's rules with this name.
#[pyfunction]
pub fn chars_map_named<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
    let blob = py
        .detach(|| tokctl_core::normalize::compile_named(name))
        .ok_or_else(|| invalid(format!("no rules of SentencePiece are called {name}")))?
        .map_err(to_python)?;
    Ok(PyBytes::new(py, &blob))
}

/// Return the text after the normalizers.
#[pyfunction]
pub fn normalize<'py>(
    py: Python<'py>,
    parts: &Bound<'py, PyAny>,
    text: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let chain = chain(py, parts)?;
    let normalized = py.detach(|| chain.apply(text, Edges::WHOLE));
    bytes(py, &normalized.map_err(to_python)?)
}

/// Normalized text, and for each of its bytes the source range in bytes.
type AlignedText<'py> = (Bound<'py, PyBytes>, Vec<(u32, u32)>);

/// Return the text after the normalizers, and for each of its bytes the source range in bytes.
#[pyfunction]
pub fn normalize_aligned<'py>(
    py: Python<'py>,
    parts: &Bound<'py, PyAny>,
    text: &[u8],
) -> PyResult<AlignedText<'py>> {
    let chain = chain(py, parts)?;
    let aligned = py.detach(|| match chain.apply_aligned(text, Edges::WHOLE) {
        Ok(None) => Aligned::unchanged(text),
        Ok(Some(aligned)) => Ok(aligned),
        Err(error) => Err(error),
    });
    let aligned = aligned.map_err(to_python)?;
    Ok((bytes(py, &aligned.text)?, aligned.places))
}

/// Return the names of the scripts of a text's characters. See `tokctl_core::unicode::scripts_of`.
#[pyfunction]
pub fn scripts_of(text: &str) -> Vec<&'static str> {
    unicode::scripts_of(text)
}
