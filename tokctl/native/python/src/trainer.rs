//! Training: counts of pre-tokens to merges, pieces or words.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::model::{Marker, Units};
use tokctl_core::train::alphabet::{self, Limits};
use tokctl_core::train::parity::{self, GlobalMerges, Measure, ParityOptions, Window};
use tokctl_core::train::{
    frequency, unigram, Criterion, Extend, FirstPhase, Options, RemovalRule, Start, Stop, Ties,
    TrainingEvents,
};

use crate::counter::{Counts, RunWords};
use crate::encoder::Encoder;
use crate::errors::{self, invalid, to_python};
use crate::stored::StoredModel;

/// Model to extend: its tokens, and (left id, right id, token id) of each merge.
type Model = (Vec<Vec<u8>>, Vec<(u32, u32, u32)>);

/// (coverage as numerator and denominator, maximum number of characters, initial characters)
type LimitsRow = (Option<(u64, u64)>, Option<u64>, String);

fn limits((coverage, most, initial): LimitsRow) -> Limits {
    Limits {
        coverage,
        most,
        initial: initial.chars().collect(),
    }
}

/// Return the characters that get an id, in code point order.
#[pyfunction]
#[pyo3(signature = (counts, *, limits))]
pub fn alphabet_of(py: Python<'_>, counts: &Counts, limits: LimitsRow) -> PyResult<String> {
    let limits = self::limits(limits);
    let characters = py.detach(|| alphabet::alphabet_of(&counts.0, &limits));
    characters
        .map(|characters| characters.into_iter().collect())
        .map_err(to_python)
}

/// Train a word or character model.
///
/// Returns the tokens by id, the count of each token, and whether fewer tokens than requested were
/// found.
#[pyfunction]
#[pyo3(signature = (counts, *, kind, vocab_size, first, reserved, initial_tokens,
    min_frequency, max_token_length, limits))]
#[allow(clippy::too_many_arguments)]
pub fn train_by_frequency<'py>(
    py: Python<'py>,
    counts: &Counts,
    kind: &str,
    vocab_size: u64,
    first: Vec<Vec<u8>>,
    reserved: Vec<Vec<u8>>,
    initial_tokens: Vec<Vec<u8>>,
    min_frequency: u64,
    max_token_length: Option<u64>,
    limits: LimitsRow,
) -> PyResult<(Vec<Bound<'py, PyBytes>>, Vec<u64>, bool)> {
    let options = frequency::FrequencyOptions {
        kind: match kind {
            "words" => frequency::TokenKind::Words,
            "characters" => frequency::TokenKind::Characters,
            _ => return Err(invalid(format!("no kind of token is called {kind}"))),
        },
        vocab_size,
        first,
        reserved,
        initial_tokens,
        min_frequency,
        max_token_length,
        limits: self::limits(limits),
    };
    let trained = py
        .detach(|| frequency::train(&counts.0, &options))
        .map_err(to_python)?;
    let tokens = trained.tokens.iter();
    Ok((
        tokens.map(|token| PyBytes::new(py, token)).collect(),
        trained.counts,
        trained.stop == Stop::Exhausted,
    ))
}

/// Result of a training by merges.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Training {
    #[pyo3(get)]
    pub model: Py<StoredModel>,
    /// See `tokctl_core::train::Training`.
    #[pyo3(get)]
    initial_merges: u32,
    #[pyo3(get)]
    alphabet_end: u32,
    #[pyo3(get)]
    exhausted: bool,
    pub events: Option<TrainingEvents>,
}

/// Removed tokens; (left, right, token, counts) of each merge; (number of merges before it, token,
/// counts) of each removal.
type EventRows<'py> = (
    Vec<Bound<'py, PyBytes>>,
    Vec<(u32, u32, u32, u64, u64, u64)>,
    Vec<(u32, u32, u64, u64)>,
);

#[pymethods]
impl Training {
    /// Merges and removals of a training that removes tokens, else None.
    #[getter]
    fn events<'py>(&self, py: Python<'py>) -> Option<EventRows<'py>> {
        let events = self.events.as_ref()?;
        let merges = events.merges.iter();
        let removals = events.removals.iter();
        Some((
            (events.removed.iter().map(|token| PyBytes::new(py, token))).collect(),
            merges
                .map(|m| {
                    (
                        m.left,
                        m.right,
                        m.token,
                        m.count,
                        m.left_count,
                        m.right_count,
                    )
                })
                .collect(),
            removals
                .map(|r| (r.step, r.token, r.count, r.whole))
                .collect(),
        ))
    }
}

/// Return the rule for `("intermediate", threshold)`, `("to-symbols", threshold)` or `("scaffold",
/// None)`.
fn removal_rule(kind: &str, threshold: Option<(u64, u64)>) -> PyResult<RemovalRule> {
    match (kind, threshold) {
        ("intermediate" | "to-symbols", Some(threshold)) => Ok(RemovalRule::Intermediate {
            threshold,
            to_symbols: kind == "to-symbols",
        }),
        ("scaffold", None) => Ok(RemovalRule::Scaffold),
        _ => Err(invalid(format!("no rule of removals is called {kind}"))),
    }
}

/// Train by merges. See `tokctl_core::train::Options` for the options.
#[pyfunction]
#[pyo3(signature = (counts, *, criterion, ties, units, marker, vocab_size, special_tokens,
    reserved, initial_alphabet, bare_characters, min_frequency, max_token_length, max_words,
    forbidden, whole_characters, initial_tokens, limits, extend, start, threads, removal,
    progress))]
#[allow(clippy::too_many_arguments)]
pub fn train(
    py: Python<'_>,
    counts: &Counts,
    criterion: &str,
    ties: &str,
    units: &str,
    marker: (String, String),
    vocab_size: u64,
    special_tokens: Vec<Vec<u8>>,
    reserved: Vec<Vec<u8>>,
    initial_alphabet: Vec<Vec<u8>>,
    bare_characters: bool,
    min_frequency: u64,
    max_token_length: Option<u64>,
    max_words: Option<u64>,
    forbidden: Vec<Vec<u8>>,
    whole_characters: bool,
    initial_tokens: Vec<Vec<u8>>,
    limits: LimitsRow,
    extend: Option<Model>,
    start: Option<Py<Encoder>>,
    threads: usize,
    removal: Option<(String, Option<(u64, u64)>)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Training> {
    let options = Options {
        criterion: Criterion::named(criterion).map_err(to_python)?,
        ties: Ties::named(ties).map_err(to_python)?,
        units: Units::named(units).map_err(to_python)?,
        marker: Marker::new(&marker.0, &marker.1).map_err(to_python)?,
        vocab_size,
        special_tokens,
        reserved,
        initial_alphabet,
        bare_characters,
        min_frequency,
        max_token_length,
        max_words,
        forbidden,
        whole_characters,
        initial_tokens,
        limits: self::limits(limits),
        extend: extend.map(|(tokens, merges)| Extend { tokens, merges }),
        removal: (removal.map(|(kind, threshold)| removal_rule(&kind, threshold))).transpose()?,
    };
    let encoder = start.as_ref().map(|start| &start.get().inner);
    let training = errors::watched(py, progress, |report| {
        let mut segmented = encoder.map(|encoder| {
            move |texts: &[&[u8]], each: &mut dyn FnMut(&[u32])| {
                let flat = encoder.batch::<u32, _>(texts, threads, None, &|| false)?;
                flat.texts().for_each(each);
                Ok(())
            }
        });
        let start = segmented.as_mut().map(|start| start as Start);
        tokctl_core::train::train(&counts.0, &options, start, report)
    })?;
    Training::of(py, training)
}

impl Training {
    fn of(py: Python<'_>, mut training: tokctl_core::train::Training) -> PyResult<Self> {
        Ok(Training {
            events: training.events.take(),
            initial_merges: training.initial_merges,
            alphabet_end: training.alphabet_end,
            exhausted: training.stop == Stop::Exhausted,
            model: Py::new(py, StoredModel(training.into_stored()))?,
        })
    }
}

/// Arguments of `train` that [`train_parity`] shares.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct MergeSettings {
    ties: String,
    units: String,
    marker: (String, String),
    vocab_size: u64,
    special_tokens: Vec<Vec<u8>>,
    reserved: Vec<Vec<u8>>,
    initial_alphabet: Vec<Vec<u8>>,
    bare_characters: bool,
    min_frequency: u64,
    max_token_length: Option<u64>,
    whole_characters: bool,
    limits: LimitsRow,
}

impl MergeSettings {
    fn options(self) -> tokctl_core::Result<Options> {
        Ok(Options {
            ties: Ties::named(&self.ties)?,
            units: Units::named(&self.units)?,
            marker: Marker::new(&self.marker.0, &self.marker.1)?,
            vocab_size: self.vocab_size,
            special_tokens: self.special_tokens,
            reserved: self.reserved,
            initial_alphabet: self.initial_alphabet,
            bare_characters: self.bare_characters,
            min_frequency: self.min_frequency,
            max_token_length: self.max_token_length,
            whole_characters: self.whole_characters,
            limits: limits(self.limits),
            ..Options::default()
        })
    }
}

/// Result of a parity-aware training. See `tokctl_core::train::parity::ParityTraining`.
#[pyclass(module = "tokctl._native", frozen, get_all)]
pub struct ParityTraining {
    training: Py<Training>,
    chosen: Vec<u32>,
    global_merges: usize,
    pre_tokens: usize,
    before: Vec<u64>,
    after: Vec<u64>,
    lengths: Vec<u64>,
}

/// Train on one text per language. See `tokctl_core::train::parity`.
///
/// `global_merges` is (number, None) or a share (numerator, denominator). `window` is (size,
/// limit), with the limit as (numerator, denominator).
#[pyfunction]
#[pyo3(signature = (languages, dev, settings, *, global_merges, window, measure, targets, progress))]
#[allow(clippy::too_many_arguments)]
pub fn train_parity(
    py: Python<'_>,
    languages: Vec<Py<Counts>>,
    dev: Option<Vec<Py<Counts>>>,
    settings: MergeSettings,
    global_merges: (u64, Option<u64>),
    window: Option<(u64, (u64, u64))>,
    measure: &str,
    targets: Vec<(u64, u64)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<ParityTraining> {
    let options = settings.options().map_err(to_python)?;
    let parity = ParityOptions {
        global_merges: match global_merges {
            (number, None) => GlobalMerges::Number(number),
            (share, Some(whole)) => GlobalMerges::Share(share, whole),
        },
        window: window.map(|(size, limit)| Window { size, limit }),
        measure: Measure::named(measure).map_err(to_python)?,
        targets,
    };
    let trained = errors::watched(py, progress, |report| {
        let languages: Vec<_> = languages.iter().map(|counts| &counts.get().0).collect();
        let dev: Option<Vec<_>> = dev
            .as_ref()
            .map(|dev| dev.iter().map(|counts| &counts.get().0).collect());
        parity::train_parity(&languages, dev.as_deref(), &options, &parity, report)
    })?;
    Ok(ParityTraining {
        training: Py::new(py, Training::of(py, trained.training)?)?,
        chosen: trained.chosen,
        global_merges: trained.global_merges,
        pre_tokens: trained.pre_tokens,
        before: trained.before,
        after: trained.after,
        lengths: trained.lengths,
    })
}

/// (left, right, token, count, left count, right count)
type MergeRow = (u32, u32, u32, u64, u64, u64);

/// Train the second phase of BoundlessBPE from the first phase and its words.
///
/// Returns the result of both phases, and the supermerges. See
/// `tokctl_core::train::train_superwords`.
#[pyfunction]
#[pyo3(signature = (first, words, pre_tokens, runs, *, ties, vocab_size, special_tokens, reserved, min_frequency,
    max_token_length, progress))]
#[allow(clippy::too_many_arguments)]
pub fn train_superwords(
    py: Python<'_>,
    first: &Training,
    words: &RunWords,
    pre_tokens: &Counts,
    runs: &Counts,
    ties: &str,
    vocab_size: u64,
    special_tokens: Vec<Vec<u8>>,
    reserved: Vec<Vec<u8>>,
    min_frequency: u64,
    max_token_length: Option<u64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Training, Vec<MergeRow>)> {
    let options = Options {
        ties: Ties::named(ties).map_err(to_python)?,
        vocab_size,
        special_tokens,
        reserved,
        min_frequency,
        max_token_length,
        ..Options::default()
    };
    let found = errors::watched(py, progress, |report| {
        let first = FirstPhase {
            model: &first.model.get().0,
            events: first.events.as_ref(),
            alphabet_end: first.alphabet_end,
            whole_after: &words.whole_after,
        };
        tokctl_core::train::train_superwords(&first, &pre_tokens.0, &runs.0, &options, report)
    })?;
    let rows = found.supermerges.iter().map(|merge| {
        let counts = (merge.count, merge.left_count, merge.right_count);
        (
            merge.left,
            merge.right,
            merge.token,
            counts.0,
            counts.1,
            counts.2,
        )
    });
    let rows = rows.collect();
    Ok((Training::of(py, found.training)?, rows))
}

/// Result of a Unigram training. See `tokctl_core::train::unigram::UnigramTraining`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct UnigramTraining(unigram::UnigramTraining);

type Dropped<'py> = (Bound<'py, PyBytes>, Option<f64>);
/// (pieces, objective, tokens, unused, dropped, [(text, loss)])
type RoundRow<'py> = (u64, f64, u64, u64, u64, Vec<Dropped<'py>>);

#[pymethods]
impl UnigramTraining {
    /// Pieces with their scores, by score descending, then text.
    #[getter]
    fn pieces<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, f64)> {
        let pieces = self.0.pieces.iter();
        pieces
            .map(|piece| (PyBytes::new(py, &piece.text), piece.score))
            .collect()
    }

    /// Statistics of each round: (pieces, objective, tokens, unused, dropped, [(text, loss)]).
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

    /// Number of pieces that are single characters, kept in any case.
    #[getter]
    fn alphabet_size(&self) -> u64 {
        self.0.alphabet_size
    }

    /// Whether fewer pieces were found than requested.
    #[getter]
    fn exhausted(&self) -> bool {
        self.0.exhausted
    }
}

/// Train a Unigram model. See `tokctl_core::train::unigram::UnigramTrainingOptions` for the
/// options.
#[pyfunction]
#[pyo3(signature = (counts, *, vocab_size, special_tokens, byte_fallback, seed_size,
    shrinking_factor, sub_iterations, max_piece_length, alphabet, required, initial_tokens, threads,
    progress))]
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
    initial_tokens: Vec<String>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<UnigramTraining> {
    let options = unigram::UnigramTrainingOptions {
        vocab_size,
        special_tokens,
        byte_fallback,
        seed_size,
        shrinking_factor,
        sub_iterations,
        max_piece_length,
        alphabet,
        required,
        initial_tokens,
        threads,
    };
    errors::watched(py, progress, |report| {
        unigram::train_unigram(&counts.0, &options, report)
    })
    .map(UnigramTraining)
}
