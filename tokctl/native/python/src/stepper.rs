//! A training by merges, step by step; see `tokctl_core::train::Stepper`.

use pyo3::prelude::*;
use tokctl_core::count;
use tokctl_core::encode::Segmenter;
use tokctl_core::model::{Marker, Units};
use tokctl_core::train::{self, Criterion, Extend, Options, RankedPair, Refusal, Ties};

use crate::encoder::Encoder;
use crate::errors::{detached, invalid, to_python};

/// Fields of `tokctl_core::train::Options` that decide between pairs.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PairRules {
    criterion: String,
    ties: String,
    units: String,
    marker: (String, String),
    special_tokens: Vec<Vec<u8>>,
    initial_alphabet: Vec<Vec<u8>>,
    min_frequency: u64,
    max_token_length: Option<u64>,
    max_words: Option<u64>,
    forbidden: Vec<Vec<u8>>,
    whole_characters: bool,
}

impl PairRules {
    fn options(self) -> tokctl_core::Result<Options> {
        Ok(Options {
            criterion: Criterion::named(&self.criterion)?,
            ties: Ties::named(&self.ties)?,
            units: Units::named(&self.units)?,
            marker: Marker::new(&self.marker.0, &self.marker.1)?,
            special_tokens: self.special_tokens,
            initial_alphabet: self.initial_alphabet,
            min_frequency: self.min_frequency,
            max_token_length: self.max_token_length,
            max_words: self.max_words,
            forbidden: self.forbidden,
            whole_characters: self.whole_characters,
            ..Options::default()
        })
    }
}

/// (left, right, count, left count, right count, reason why it may not be merged)
type PairRow = (u32, u32, u64, u64, u64, Option<&'static str>);

fn row(pair: RankedPair) -> PairRow {
    let refusal = pair.refusal.map(|refusal| match refusal {
        Refusal::TooLong => "long",
        Refusal::TooManyWords => "words",
        Refusal::Forbidden => "forbidden",
        Refusal::Special => "special",
        Refusal::CutsCharacter => "cut",
    });
    let counts = (pair.count, pair.left_count, pair.right_count);
    (pair.left, pair.right, counts.0, counts.1, counts.2, refusal)
}

/// A training on counted pre-tokens at one of its steps.
#[pyclass(module = "tokctl._native")]
pub struct Stepper(train::Stepper);

#[pymethods]
impl Stepper {
    /// Build the state before the first merge, from the initial symbols that `encoder` gives.
    #[new]
    #[pyo3(signature = (encoder, counts, tokens, merges, rules, *, keeps_scan_order))]
    fn new(
        py: Python<'_>,
        encoder: &Encoder,
        counts: Vec<(Vec<u8>, u64)>,
        tokens: Vec<Vec<u8>>,
        merges: Vec<(u32, u32, u32)>,
        rules: PairRules,
        keeps_scan_order: bool,
    ) -> PyResult<Self> {
        let Segmenter::Merges(merging) = encoder.inner.segmenter() else {
            return Err(invalid("this encoder has no merges".into()));
        };
        let options = rules.options().map_err(to_python)?;
        let model = Extend { tokens, merges };
        detached(py, |interrupt| {
            let mut words = count::Counts::default();
            for (pre_token, count) in &counts {
                let (symbols, _) = merging.replay(pre_token, 0, interrupt)?;
                words.push_with(*count, |row| {
                    row.extend(symbols.iter().flat_map(|symbol| symbol.id.to_le_bytes()));
                });
            }
            train::Stepper::new(&words, model, options, keeps_scan_order).map(Stepper)
        })
    }

    /// Number of merges made.
    #[getter]
    fn step(&self) -> usize {
        self.0.step()
    }

    /// Go to the state after `step` merges.
    fn goto(&mut self, py: Python<'_>, step: usize) -> PyResult<()> {
        detached(py, |interrupt| self.0.goto(step, interrupt))
    }

    /// Weighted number of symbols, including those without an id.
    #[getter]
    fn symbols(&self) -> u64 {
        self.0.symbols()
    }

    /// Number of distinct pairs.
    #[getter]
    fn distinct_pairs(&self) -> usize {
        self.0.distinct_pairs()
    }

    /// Weighted number of neighbours of which one has no id.
    #[getter]
    fn unknown_pairs(&self) -> u64 {
        self.0.unknown_pairs()
    }

    /// Return the numbers of the words that the last merge rewrote, ascending.
    fn rewritten(&self) -> Vec<u32> {
        self.0.rewritten()
    }

    /// Return the numbers of the words in the order in which the tie rule scans them.
    fn scan_order(&self) -> Vec<u32> {
        self.0.scan_order()
    }

    /// Return the `limit` best pairs, the pair that the training would merge, and the number of
    /// pairs that tie with it.
    fn leading(&mut self, limit: usize) -> (Vec<PairRow>, Option<PairRow>, usize) {
        let ranking = self.0.leading(limit);
        let pairs = ranking.pairs.into_iter().map(row).collect();
        (pairs, ranking.best.map(row), ranking.tied)
    }

    /// Return all pairs in the order that the training prefers.
    fn all_pairs(&mut self) -> Vec<PairRow> {
        self.0.all_pairs().into_iter().map(row).collect()
    }

    /// Return the pair of two symbols with the number of pairs of a higher score, or None.
    fn pair(&mut self, left: u32, right: u32) -> Option<(PairRow, usize)> {
        let (pair, above) = self.0.pair(left, right)?;
        Some((row(pair), above))
    }
}
