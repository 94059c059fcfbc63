//! Gap between a segmentation and the fewest tokens, of its own vocabulary and of any vocabulary.

use pyo3::prelude::*;
use tokctl_core::measure::{self, BoundOptions, Symbols};

use crate::encoder::{Encoder, Matchers};
use crate::errors::{detached, to_python, watched};

/// Segmenter of texts into as few tokens as possible. See `tokctl_core::measure::FewestTokens`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct FewestTokens(measure::FewestTokens);

#[pymethods]
impl FewestTokens {
    #[new]
    #[pyo3(signature = (tokens, *, byte_fallback))]
    fn new(py: Python<'_>, tokens: Vec<Vec<u8>>, byte_fallback: bool) -> PyResult<Self> {
        let made = py.detach(|| {
            let tokens = tokens.iter().map(|token| &token[..]);
            measure::FewestTokens::new(tokens, byte_fallback)
        });
        made.map(FewestTokens).map_err(to_python)
    }

    /// Return the minimum number of tokens of each text, or None if no tokens spell it.
    fn counts(
        &self,
        py: Python<'_>,
        texts: Vec<Vec<u8>>,
        threads: usize,
    ) -> PyResult<Vec<Option<u64>>> {
        detached(py, |interrupt| self.0.counts(&texts, threads, interrupt))
    }

    /// Return the lengths in bytes of the fewest tokens of a text, or None if no tokens spell it.
    fn lengths(&self, py: Python<'_>, text: &[u8]) -> PyResult<Option<Vec<usize>>> {
        detached(py, |interrupt| self.0.lengths(text, interrupt))
    }

    /// Return the minimum number of tokens of a document if tokens may span several pre-tokens.
    #[pyo3(signature = (encoder, text, matchers=None))]
    fn across(
        &self,
        py: Python<'_>,
        encoder: &Encoder,
        text: &[u8],
        matchers: Option<&Matchers>,
    ) -> PyResult<Option<u64>> {
        let (encoder, matchers) = encoder.with(matchers);
        detached(py, |interrupt| {
            self.0.across(encoder, text, matchers, interrupt)
        })
    }
}

/// Return (`frequent`, `is_reached`, `linear`, `edges`) of `tokctl_core::measure::VocabularyBound`.
///
/// `progress` is called with the number of rounds done.
#[pyfunction]
#[pyo3(signature = (texts, counts, *, symbols, budget, rounds, most_edges, threads, progress=None))]
#[allow(clippy::too_many_arguments)]
pub fn vocabulary_bound(
    py: Python<'_>,
    texts: Vec<Vec<u8>>,
    counts: Vec<u64>,
    symbols: &str,
    budget: u64,
    rounds: usize,
    most_edges: usize,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u64, bool, u64, u64)> {
    let options = BoundOptions {
        symbols: Symbols::named(symbols).map_err(to_python)?,
        budget,
        rounds,
        most_edges,
        threads,
    };
    let bound = watched(py, progress, |report| {
        measure::vocabulary_bound(&texts, &counts, &options, report)
    })?;
    Ok((bound.frequent, bound.is_reached, bound.linear, bound.edges))
}
