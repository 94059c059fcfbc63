//! Training Unigram models.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::train::unigram;

use crate::counter::Counts;
use crate::interrupt;

#[pyclass(module = "tokctl._native", frozen)]
pub struct UnigramTraining(unigram::UnigramTraining);

type Dropped<'py> = (Bound<'py, PyBytes>, Option<f64>);
/// (pieces, objective, tokens, unused, dropped, [(text, loss)])
type RoundRow<'py> = (u64, f64, u64, u64, u64, Vec<Dropped<'py>>);

#[pymethods]
impl UnigramTraining {
    #[getter]
    fn pieces<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, f64)> {
        let pieces = self.0.pieces.iter();
        pieces
            .map(|piece| (PyBytes::new(py, &piece.text), piece.score))
            .collect()
    }

    #[getter]
    fn rounds<'py>(&self, py: Python<'py>) -> Vec<RoundRow<'py>> {
        let rounds = self.0.rounds.iter();
        rounds
            .map(|r| {
                let highest = r.highest.iter();
                let highest = highest
                    .map(|d| (PyBytes::new(py, &d.text), d.loss))
                    .collect();
                (
                    r.pieces,
                    r.objective,
                    r.tokens,
                    r.unused,
                    r.dropped,
                    highest,
                )
            })
            .collect()
    }

    #[getter]
    fn alphabet_size(&self) -> u64 {
        self.0.alphabet_size
    }

    #[getter]
    fn exhausted(&self) -> bool {
        self.0.exhausted
    }
}

#[pyfunction]
#[pyo3(signature = (counts, *, vocab_size, special_tokens, byte_fallback, seed_size,
    shrinking_factor, sub_iterations, max_piece_length, alphabet, required, threads, progress))]
#[allow(clippy::too_many_arguments)]
pub fn train_unigram(
    py: Python<'_>,
    counts: &Counts,
    vocab_size: u64,
    special_tokens: Vec<Vec<u8>>,
    byte_fallback: bool,
    seed_size: usize,
    shrinking_factor: f64,
    sub_iterations: u32,
    max_piece_length: u32,
    alphabet: Option<Vec<char>>,
    required: Vec<char>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<UnigramTraining> {
    let options = unigram::UnigramOptions {
        vocab_size,
        special_tokens,
        byte_fallback,
        seed_size,
        shrinking_factor,
        sub_iterations,
        max_piece_length,
        alphabet,
        required,
        threads,
    };
    interrupt::watched(py, progress, |report| {
        unigram::train_unigram(&counts.0, &options, report)
    })
    .map(UnigramTraining)
}
