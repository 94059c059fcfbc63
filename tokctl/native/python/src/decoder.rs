use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tokctl_core::decode::{self, Step};
use tokctl_core::model::Prepend;
use tokctl_core::pattern::Search;

use crate::errors::{invalid, to_python};
use crate::interrupt::detached;
use crate::options;
use crate::pattern::python_pattern;

/// See `tokctl_core::decode::Decoder`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Decoder(Arc<decode::Decoder>);

#[pymethods]
impl Decoder {
    #[new]
    fn new(
        py: Python<'_>,
        steps: Vec<Bound<'_, PyDict>>,
        tokens: Vec<Vec<u8>>,
        special: Vec<bool>,
    ) -> PyResult<Self> {
        let steps = steps.iter().map(step).collect::<PyResult<_>>()?;
        let decoder = detached(py, |_| decode::Decoder::new(steps, tokens, special))?;
        Ok(Decoder(Arc::new(decoder)))
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

    fn decode_tokens<'py>(
        &self,
        py: Python<'py>,
        tokens: Vec<Vec<u8>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let tokens = tokens.iter().map(Vec::as_slice);
        let text = py
            .detach(|| self.0.decode_tokens(tokens))
            .map_err(to_python)?;
        Ok(PyBytes::new(py, &text))
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

/// See `tokctl_core::decode::Stream`.
#[pyclass(module = "tokctl._native")]
pub struct DecodeStream(Option<decode::Stream>);

#[pymethods]
impl DecodeStream {
    #[new]
    fn new(decoder: &Decoder, skip_special: bool) -> Self {
        let decoder = Arc::clone(&decoder.0);
        DecodeStream(Some(decode::Stream::new(decoder, skip_special)))
    }

    fn push<'py>(&mut self, py: Python<'py>, ids: Vec<u32>) -> PyResult<Bound<'py, PyBytes>> {
        let stream = self.0.as_mut().ok_or_else(finished)?;
        let text = stream.extend(&ids).map_err(to_python)?;
        Ok(PyBytes::new(py, &text))
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let stream = self.0.take().ok_or_else(finished)?;
        Ok(PyBytes::new(py, &stream.finish().map_err(to_python)?))
    }
}

fn finished() -> PyErr {
    invalid("the stream is finished".into())
}

/// A decoder as plain data: its kind and what belongs to it.
fn step(data: &Bound<'_, PyDict>) -> PyResult<Step> {
    let kind: String = get(data, "kind")?;
    Ok(match kind.as_str() {
        "wordpiece" => Step::WordPiece {
            prefix: get(data, "prefix")?,
            cleanup: get(data, "cleanup")?,
        },
        "metaspace" => Step::Metaspace {
            replacement: get(data, "replacement")?,
            prepend: Prepend::named(&get::<String>(data, "prepend")?).map_err(to_python)?,
        },
        "byte-fallback" => Step::ByteFallback,
        "bpe-suffix" => Step::BpeSuffix {
            suffix: get(data, "suffix")?,
        },
        "fuse" | "byte-level" => Step::Fuse,
        "join" => Step::JoinWithSpaces,
        "strip" => Step::Strip {
            content: get(data, "content")?,
            start: get(data, "start")?,
            stop: get(data, "stop")?,
        },
        "replace" => {
            let pattern: String = get(data, "pattern")?;
            Step::Replace {
                pattern: match get(data, "regex")? {
                    true => Search::Pattern(python_pattern(data.py(), &pattern)?),
                    false => Search::Literal(pattern),
                },
                content: get(data, "content")?,
            }
        }
        "ctc" => Step::Ctc {
            pad: get(data, "pad")?,
            word_delimiter: get(data, "word_delimiter")?,
            cleanup: get(data, "cleanup")?,
        },
        "markers" => Step::Markers(options::marker((get(data, "marker")?, get(data, "text")?))?),
        _ => return Err(invalid(format!("no decoder is called {kind}"))),
    })
}

fn get<'py, T: FromPyObjectOwned<'py>>(data: &Bound<'py, PyDict>, key: &str) -> PyResult<T> {
    let value = data.get_item(key)?;
    let value = value.ok_or_else(|| invalid(format!("a decoder lacks its {key}")))?;
    let wrong = |error| invalid(format!("a decoder's {key}: {error}"));
    value
        .extract()
        .map_err(|error: T::Error| wrong(error.into()))
}
