//! Models as their files store them, without a Python object for each token.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use tokctl_core::decode;
use tokctl_core::encode::{Learned, Superwords};
use tokctl_core::model::{serde_json, Fault, Filling, Lists, MergeList, Ranks, Stored, NO_ID};

use crate::decoder::{self, Decoder};
use crate::encoder::{Encoder, Settings};
use crate::errors::{detached, invalid, to_python, CoreError};

/// Long lists of a model file. See `tokctl_core::model::Lists`.
#[pyclass(module = "tokctl._native")]
pub struct ModelFile(Option<Lists>);

/// The four columns of `Lists::columns`.
type MergeColumns = [Option<Vec<u64>>; 4];

/// Return the value that serde_json reads from a JSON number, or None if the number is too large.
#[pyfunction]
pub fn read_as_serde_json(text: &str) -> Option<f64> {
    serde_json::read(text)
}

/// Return texts for the numbers whose shortest text serde_json would misread, and None for the
/// others.
///
/// serde_json and exact parsers read such a text alike. Also returns how many numbers have no such
/// text.
#[pyfunction]
pub fn texts_for_serde_json(numbers: Vec<f64>) -> (Vec<Option<String>>, usize) {
    let mut without = 0;
    let text = |number| {
        if serde_json::is_read_well(number) {
            return None;
        }
        let text = serde_json::written(number);
        without += usize::from(text.is_none());
        text
    };
    (numbers.into_iter().map(text).collect(), without)
}

#[pymethods]
impl ModelFile {
    /// Take the long lists out of a JSON file. Return None if the file is not in the usual form.
    #[staticmethod]
    fn scan(py: Python<'_>, data: &[u8]) -> Option<Self> {
        let found = py.detach(|| Lists::scan(data))?;
        Some(ModelFile(Some(found)))
    }

    /// Build the lists from tokens by id. Of equal tokens, the last one owns the text.
    ///
    /// `merges` are columns of ids: none, the two sides, or the two sides and the merged token.
    /// With `scored`, the scores belong to the vocabulary, so that a token after its end has a
    /// default score.
    #[staticmethod]
    #[pyo3(signature = (tokens, merges, *, scores, scored, columns))]
    fn of(
        tokens: Vec<Option<PyBackedStr>>,
        merges: Vec<Vec<u32>>,
        scores: Vec<f64>,
        scored: bool,
        columns: MergeColumns,
    ) -> PyResult<Self> {
        let texts = tokens.iter().map(|token| token.as_deref());
        let mut lists = Lists::of(texts).ok_or_else(|| invalid("too many tokens".into()))?;
        let known = |id: &u32| (*id as usize) < tokens.len();
        if !merges.iter().flatten().all(known) {
            return Err(invalid("a merge names no token".into()));
        }
        lists.merges = match &merges[..] {
            [] => MergeList::Missing,
            [lefts, rights] => {
                let sides = lefts.iter().zip(rights);
                MergeList::Pairs(sides.map(|(&left, &right)| (left, right)).collect())
            }
            [lefts, rights, made] => {
                let all = lefts.iter().zip(rights).zip(made);
                let triples = all.map(|((&left, &right), &token)| (left, right, token));
                MergeList::Triples(triples.collect())
            }
            _ => return Err(invalid("merges have two or three columns".into())),
        };
        match scored {
            true => lists.scores = Some(scores),
            false => lists.own_scores = Some(scores),
        }
        lists.columns = columns;
        Ok(ModelFile(Some(lists)))
    }

    /// The JSON without its long lists, which are replaced by null.
    #[getter]
    fn rest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.lists()?.rest))
    }

    /// Whether the vocabulary contains scores.
    #[getter]
    fn is_scored(&self) -> PyResult<bool> {
        Ok(self.lists()?.scores.is_some())
    }

    /// Return the scores in the vocabulary, by id.
    fn scores(&self) -> PyResult<Vec<f64>> {
        Ok(self.lists()?.scores.clone().unwrap_or_default())
    }

    /// Replace the scores by the values that serde_json, and so Hugging Face's library, reads.
    fn take_scores_of_serde_json(&mut self) -> PyResult<()> {
        self.lists_mut()?.take_scores_of_serde_json();
        Ok(())
    }

    /// Drop each merge that occurs again later in the list.
    fn drop_repeated_merges(&mut self) -> PyResult<()> {
        self.lists_mut()?.drop_repeated_merges();
        Ok(())
    }

    /// Drop all merges.
    fn drop_merges(&mut self) -> PyResult<()> {
        self.lists_mut()?.merges = MergeList::Missing;
        Ok(())
    }

    /// Return whether the right side of every merge begins with `mark`.
    fn merges_go_on_with(&self, mark: &str) -> PyResult<bool> {
        Ok(self.lists()?.merges_go_on_with(mark))
    }

    /// Return the number of ids of the vocabulary, including unused ones.
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.lists()?.spelled.len())
    }

    /// Return the id of a token, as the file spells it.
    fn id(&self, token: &str) -> PyResult<Option<u32>> {
        Ok(self.lists()?.id(token.as_bytes()))
    }

    /// Return a token as the file spells it.
    fn spelled<'py>(&self, py: Python<'py>, id: usize) -> PyResult<Bound<'py, PyString>> {
        let spelled = self.lists()?.spelled.get(id);
        let spelled = spelled.and_then(|text| std::str::from_utf8(text).ok());
        let spelled = spelled.ok_or_else(|| invalid(format!("no token has the id {id}")))?;
        Ok(PyString::new(py, spelled))
    }

    /// Build the model. Can be called only once.
    ///
    /// `reserved` lists the tokens with literal text, with their ids.
    #[pyo3(signature = (*, byte_level, mark, size, reserved))]
    fn fill(
        &mut self,
        py: Python<'_>,
        byte_level: bool,
        mark: &str,
        size: usize,
        reserved: Vec<(String, u32)>,
    ) -> PyResult<StoredModel> {
        let mut lists = self.0.take().ok_or_else(taken)?;
        let filled = py.detach(|| {
            lists.fill(&Filling {
                bytes: byte_level,
                mark,
                size,
                reserved: reserved.iter().map(|(text, id)| (*id, &text[..])).collect(),
            })
        });
        if let Err(Fault::NoByte(_)) = filled {
            self.0 = Some(lists);
        }
        filled.map(StoredModel).map_err(|fault| {
            let quoted = |text: &str| PyString::new(py, text).repr().map(|text| text.to_string());
            let message = match fault {
                Fault::NoByte(one) => {
                    let shown = quoted(one.encode_utf8(&mut [0; 4]));
                    let message = |one| format!("{one} stands for no byte in a byte-level token");
                    return shown.map(message).map_or_else(|error| error, no_byte);
                }
                Fault::NoToken { step, spelled } => quoted(&spelled)
                    .map(|token| format!("merge {step} names {token}, which is not a token")),
            };
            message.map_or_else(|error| error, PyValueError::new_err)
        })
    }
}

/// Return the error on which the formats' `read_document` reads a file differently.
fn no_byte(message: String) -> PyErr {
    CoreError::new_err((message, "no-byte", (0, 0, 0)))
}

fn taken() -> PyErr {
    invalid("the model of this file has been taken".into())
}

impl ModelFile {
    fn lists(&self) -> PyResult<&Lists> {
        self.0.as_ref().ok_or_else(taken)
    }

    fn lists_mut(&mut self) -> PyResult<&mut Lists> {
        self.0.as_mut().ok_or_else(taken)
    }
}

/// Tokens, merges and counts of a model. See `tokctl_core::model::Stored`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct StoredModel(pub Stored);

#[pymethods]
impl StoredModel {
    fn __len__(&self) -> usize {
        self.0.tokens.len()
    }

    /// Numbers of merges, of counts per column, of scores and of token counts.
    #[getter]
    fn lengths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let lengths = PyDict::new(py);
        lengths.set_item("merges", self.0.merges.len())?;
        lengths.set_item("counts", self.0.counts.each_ref().map(Vec::len))?;
        lengths.set_item("scores", self.0.scores.len())?;
        lengths.set_item("token_counts", self.0.token_counts.len())?;
        Ok(lengths)
    }

    /// Return the bytes of a token.
    fn token<'py>(&self, py: Python<'py>, id: usize) -> PyResult<Bound<'py, PyBytes>> {
        let token = self.0.tokens.get(id);
        let token = token.ok_or_else(|| invalid(format!("no token has the id {id}")))?;
        Ok(PyBytes::new(py, token))
    }

    /// Return the bytes of all tokens, by id.
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let tokens: Vec<_> = self.0.tokens.iter().collect();
        PyList::new(py, tokens.iter().map(|token| PyBytes::new(py, token)))
    }

    /// Return the ids of the tokens `<0x00>` to `<0xFF>` that the vocabulary has.
    fn byte_tokens(&self) -> Vec<u32> {
        let tokens = (0..).zip(self.0.tokens.iter());
        let found = tokens.filter(|(_, token)| byte_token(token).is_some());
        found.map(|(id, _)| id).collect()
    }

    /// Return six columns of the merges: left, right, token, and their three counts (0 if unknown).
    #[allow(clippy::type_complexity)]
    fn merge_columns(&self) -> (Vec<u32>, Vec<u32>, Vec<u32>, Vec<u64>, Vec<u64>, Vec<u64>) {
        let merges = &self.0.merges;
        let column = |column: &Vec<u64>| match column.is_empty() {
            true => vec![0; merges.len()],
            false => column.clone(),
        };
        let [counts, left_counts, right_counts] = self.0.counts.each_ref().map(column);
        (
            merges.iter().map(|merge| merge.0).collect(),
            merges.iter().map(|merge| merge.1).collect(),
            merges.iter().map(|merge| merge.2).collect(),
            counts,
            left_counts,
            right_counts,
        )
    }

    /// Return the highest id in a merge, or None if there are no merges.
    fn highest_merged(&self) -> Option<u32> {
        let merges = self.0.merges.iter();
        merges
            .map(|&(left, right, token)| left.max(right).max(token))
            .max()
    }

    /// Return the scores by id, or an empty list.
    fn scores(&self) -> Vec<f64> {
        self.0.scores.clone()
    }

    /// Raise an error unless the supermerges, (left, right, token) by rank, fit the tokens.
    fn check_supermerges(&self, supermerges: Vec<(u32, u32, u32)>) -> PyResult<()> {
        let tokens = self.0.tokens.iter().zip(0u32..);
        let tokens: Vec<_> = tokens.collect();
        let checked = Superwords::new(&supermerges, &tokens);
        checked.map(drop).map_err(to_python)
    }

    /// Return the count of each token by id, or an empty list.
    fn token_counts(&self) -> Vec<u64> {
        self.0.token_counts.clone()
    }

    /// Create an `Encoder` for the model.
    ///
    /// `reserved_ids` are ids that the model never makes from ordinary text. With `byte_fallback`,
    /// the tokens of the 256 bytes are used.
    #[pyo3(signature = (normalizers, pre_tokenizers, settings, *, reserved_ids, byte_fallback))]
    fn encoder(
        &self,
        py: Python<'_>,
        normalizers: &Bound<'_, PyAny>,
        pre_tokenizers: &Bound<'_, PyAny>,
        settings: Settings,
        reserved_ids: HashSet<u32>,
        byte_fallback: bool,
    ) -> PyResult<Encoder> {
        let tokens = (0u32..).zip(self.0.tokens.iter());
        let ordinary = tokens.filter(|(id, _)| !reserved_ids.contains(id));
        let learned = Learned {
            tokens: ordinary.map(|(id, token)| (token, id)).collect(),
            merges: self.0.merges.clone(),
            scores: self.0.scores.clone(),
            byte_ids: byte_fallback.then(|| self.byte_ids()),
        };
        Encoder::of(py, (normalizers, pre_tokenizers), settings, learned)
    }

    /// Create a `Decoder` for the model; `special` lists the ids of the special tokens.
    fn decoder(
        &self,
        py: Python<'_>,
        steps: Vec<Bound<'_, PyDict>>,
        special: Vec<usize>,
    ) -> PyResult<Decoder> {
        let steps = steps.iter().map(decoder::step).collect::<PyResult<_>>()?;
        let decoder = detached(py, |_| {
            let tokens: Vec<Vec<u8>> = self.0.tokens.iter().map(<[u8]>::to_vec).collect();
            let mut flags = vec![false; tokens.len()];
            for id in special {
                if let Some(flag) = flags.get_mut(id) {
                    *flag = true;
                }
            }
            decode::Decoder::new(steps, tokens, flags)
        })?;
        Ok(Decoder(Arc::new(decoder)))
    }
}

impl StoredModel {
    /// Return the ids of the tokens of the 256 bytes; of equal tokens the last one counts.
    fn byte_ids(&self) -> Box<[u32; 256]> {
        let mut ids = Box::new([NO_ID; 256]);
        for (id, token) in (0u32..).zip(self.0.tokens.iter()) {
            if let Some(byte) = byte_token(token) {
                ids[usize::from(byte)] = id;
            }
        }
        ids
    }
}

/// Return the byte for which a token such as `<0x0A>` stands.
fn byte_token(token: &[u8]) -> Option<u8> {
    let &[b'<', b'0', b'x', high, low, b'>'] = token else {
        return None;
    };
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    };
    Some(digit(high)? << 4 | digit(low)?)
}

/// Tokens and ranks of a tiktoken file. See `tokctl_core::model::Ranks`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct RankFile(Ranks);

#[pymethods]
impl RankFile {
    /// Read a file in its usual form. Return None if the file must be read in another way.
    #[staticmethod]
    fn scan(py: Python<'_>, data: &[u8]) -> Option<Self> {
        py.detach(|| Ranks::scan(data)).map(RankFile)
    }

    /// Build from (token, rank) in any order. All tokens and all ranks must be distinct.
    #[staticmethod]
    fn of(entries: Vec<(PyBackedBytes, u32)>) -> Self {
        let entries = entries.iter().map(|(token, rank)| (&token[..], *rank));
        RankFile(Ranks::of(entries))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Return whether a token has this rank.
    fn __contains__(&self, rank: u32) -> bool {
        self.0.has(rank)
    }

    /// Highest rank plus one.
    #[getter]
    fn end(&self) -> u32 {
        self.0.end()
    }

    /// Return the numbers below `end` that are not the rank of any token.
    fn free(&self, end: u32) -> Vec<u32> {
        self.0.free(end)
    }

    /// Return the lowest byte that is not a token, or None.
    fn missing_byte(&self) -> Option<u8> {
        self.0.missing_byte()
    }

    /// Build the model whose ids are the ranks; `others` has texts for ids that are not a rank.
    fn fill(&self, py: Python<'_>, others: HashMap<u32, Vec<u8>>) -> StoredModel {
        StoredModel(py.detach(|| self.0.fill(&others)))
    }
}
