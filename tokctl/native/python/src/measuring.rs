//! Counts from which the metrics are computed.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tokctl_core::measure::{self, Column, Documents, MeasureOptions, WordRule, COUNTS};
use tokctl_core::Error;

use crate::decoder::Decoder;
use crate::encoder::{Encoder, Matchers};
use crate::errors::{detached, invalid, to_python};

/// Bytes, characters, spaces, words, whole words, split words, tokens, unknown tokens, lines,
/// exactly reproduced lines.
type CountsRow = [u64; COUNTS + 2];

/// Counts of one model on one text. See `tokctl_core::measure::Measured`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Measured {
    inner: measure::Measured,
    exact: Vec<bool>,
    weights: Option<Weights>,
}

/// Weights of documents.
struct Weights {
    /// End offset of each document.
    ends: Vec<usize>,
    documents: Vec<u64>,
    /// Number of lines of each document.
    lines: Vec<usize>,
}

impl Weights {
    /// Iterate over (number of lines, weight) of each document.
    fn lines(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.lines
            .iter()
            .copied()
            .zip(self.documents.iter().copied())
    }
}

#[pymethods]
impl Measured {
    /// Measure a text with an encoder and its decoder.
    ///
    /// The text is one document, or a document ends at each of `ends`; `weights` says how often
    /// each counts. The threads take chunks of `chunk` bytes (a parameter for tests).
    #[staticmethod]
    #[pyo3(signature = (
        encoder, decoder, text, matchers, unknown_id, *,
        words, threads, boundaries, lines, ends=None, weights=None, chunk=measure::CHUNK
    ))]
    #[allow(clippy::too_many_arguments)]
    fn of(
        py: Python<'_>,
        encoder: &Encoder,
        decoder: &Decoder,
        text: &[u8],
        matchers: Option<&Matchers>,
        unknown_id: Option<u32>,
        words: &str,
        threads: usize,
        boundaries: bool,
        lines: bool,
        ends: Option<Vec<usize>>,
        weights: Option<Vec<u64>>,
        chunk: usize,
    ) -> PyResult<Self> {
        let options = MeasureOptions {
            unknown: unknown_id,
            words: WordRule::named(words).map_err(to_python)?,
            boundaries,
            lines,
            threads,
            chunk,
        };
        let (encoder, matchers) = encoder.with(matchers);
        let decoder = &*decoder.0;
        detached(py, |interrupt| {
            let ends = ends.unwrap_or_else(|| vec![text.len()]);
            let given = Documents::new(text, &ends, weights.as_deref())?;
            let inner = measure::measure_documents(encoder, &given, matchers, &options, interrupt)?;
            let both = (encoder, decoder);
            let exact = measure::exact_lines(both, &given, matchers, threads, interrupt)?;
            let lines = weights.as_ref().map(|_| measure::line_counts(&given));
            let weights = weights.zip(lines).map(|(documents, lines)| Weights {
                ends,
                documents,
                lines,
            });
            Ok(Measured {
                inner,
                exact,
                weights,
            })
        })
    }

    /// Total counts; see `lines` for the columns.
    #[getter]
    fn counts(&self) -> CountsRow {
        let mut counts = CountsRow::default();
        counts[..COUNTS].copy_from_slice(&self.inner.totals);
        let exact_of = |lines: &[bool]| lines.iter().filter(|&&exact| exact).count() as u64;
        let lines = match &self.weights {
            None => [self.exact.len() as u64, exact_of(&self.exact)],
            Some(weights) => {
                let (mut rest, mut sums) = (&self.exact[..], [0, 0]);
                for (lines, weight) in weights.lines() {
                    let (own, later) = rest.split_at(lines);
                    sums[0] += lines as u64 * weight;
                    sums[1] += exact_of(own) * weight;
                    rest = later;
                }
                sums
            }
        };
        counts[COUNTS..].copy_from_slice(&lines);
        counts
    }

    /// Number of occurrences of each id, in id order.
    #[getter]
    fn id_counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = PyDict::new(py);
        for &(id, count) in &self.inner.ids {
            counts.set_item(id, count)?;
        }
        Ok(counts)
    }

    /// Counts of each line: bytes, characters, spaces, words, whole words, split words, tokens,
    /// unknown tokens, 1, and whether decoding reproduces the line.
    ///
    /// Only available if the text was measured with `lines`. Each line is listed once, whatever its
    /// document's weight.
    #[getter]
    fn lines(&self) -> PyResult<Vec<CountsRow>> {
        let rows = self.inner.lines.as_ref().ok_or_else(no_lines)?;
        let whole = rows.iter().zip(&self.exact);
        Ok(whole
            .map(|(row, &exact)| {
                let mut counts = CountsRow::default();
                counts[..COUNTS].copy_from_slice(row);
                counts[COUNTS..].copy_from_slice(&[1, u64::from(exact)]);
                counts
            })
            .collect())
    }

    /// Return the number of boundaries inside words that two measurements of one text share.
    ///
    /// Both must have equal weights. For a measurement and itself, this is the number of its
    /// boundaries.
    fn shared_boundaries(&self, other: &Measured) -> PyResult<u64> {
        let both = (&self.inner.boundaries, &other.inner.boundaries);
        match both {
            (Some(own), Some(others)) => Ok(match &self.weights {
                None => measure::shared(own, others),
                Some(w) => measure::shared_weighted(own, others, &w.ends, &w.documents),
            }),
            _ => Err(invalid("boundaries were not asked for".into())),
        }
    }
}

/// Return the sums of each model's counts over the lines of each resample.
///
/// `models` lists the measured texts of each model; lines are drawn from all texts of a model. See
/// `tokctl_core::measure::resample`.
#[pyfunction]
pub fn resample_lines(
    py: Python<'_>,
    models: Vec<Vec<Py<Measured>>>,
    resamples: usize,
    seed: u64,
    threads: usize,
) -> PyResult<Vec<Vec<CountsRow>>> {
    let models: Vec<Vec<&Measured>> = models
        .iter()
        .map(|texts| texts.iter().map(|text| text.get()).collect())
        .collect();
    detached(py, |interrupt| {
        // Columns that don't depend on the model are equal for all models: each is summed once.
        let mut columns: Vec<Column> = Vec::new();
        let mut places = Vec::new();
        for texts in &models {
            let mut own = [0; COUNTS + 2];
            for (count, place) in own.iter_mut().enumerate() {
                let column = column_of(texts, count)?;
                let same = columns.iter().position(|other| *other == column);
                *place = same.unwrap_or(columns.len());
                if same.is_none() {
                    columns.push(column);
                }
            }
            places.push(own);
        }
        let columns: Vec<&Column> = columns.iter().collect();
        let sums = measure::resample(&columns, resamples, seed, threads, interrupt)?;
        let of = |own: &[usize; COUNTS + 2]| {
            let resampled = sums.iter().map(|sums| own.map(|place| sums[place]));
            resampled.collect()
        };
        Ok(places.iter().map(of).collect())
    })
}

fn column_of(texts: &[&Measured], count: usize) -> Result<Column, Error> {
    let mut column = Column::new();
    for text in texts {
        let exact = text.exact.iter();
        match count {
            COUNTS => append(text, exact.map(|_| 1), &mut column)?,
            _ if count > COUNTS => {
                append(text, exact.map(|&exact| u64::from(exact)), &mut column)?;
            }
            _ => {
                let lines = text.inner.lines.as_ref();
                let lines = lines.ok_or_else(|| Error::Invalid(NO_LINES.into()))?;
                append(text, lines.iter().map(|row| row[count]), &mut column)?;
            }
        }
    }
    Ok(column)
}

fn append(
    text: &Measured,
    lines: impl Iterator<Item = u64>,
    column: &mut Column,
) -> Result<(), Error> {
    match &text.weights {
        None => measure::column(lines, column),
        Some(weights) => measure::weighted_column(lines, weights.lines(), column),
    }
}

const NO_LINES: &str = "lines were not asked for";

fn no_lines() -> PyErr {
    invalid(NO_LINES.into())
}
