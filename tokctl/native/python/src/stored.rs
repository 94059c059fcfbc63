//! Models as their files hold them, without a Python object for each token.

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

/// See `tokctl_core::model::Lists`.
#[pyclass(module = "tokctl._native")]
pub struct ModelFile(Option<Lists>);

/// The four columns of `Lists::columns`.
type MergeColumns = [Option<Vec<u64>>; 4];

/// How serde_json reads a number of JSON; None where it is too large.
#[pyfunction]
pub fn read_as_serde_json(text: &str) -> Option<f64> {
    serde_json::read(text)
}

/// For each number that serde_json would misread from its shortest text, another text, which it
/// reads as everybody does; None for the others. Also how many have no such text.
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
    /// None where the file is not as libraries write it.
    #[staticmethod]
    fn scan(py: Python<'_>, data: &[u8]) -> Option<Self> {
        let found = py.detach(|| Lists::scan(data))?;
        Some(ModelFile(Some(found)))
    }

    /// Of tokens by id; of equal ones the last has the text. `merges` are columns of ids: none,
    /// the two sides, or these and the tokens that they make. `scored`: the scores are those of
    /// the vocabulary, so that a token behind it has the score 0.
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

    /// The JSON without its long lists, where null stands.
    #[getter]
    fn rest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.lists()?.rest))
    }

    /// Does the vocabulary hold scores?
    #[getter]
    fn is_scored(&self) -> PyResult<bool> {
        Ok(self.lists()?.scores.is_some())
    }

    /// The scores that the vocabulary holds, by id.
    fn scores(&self) -> PyResult<Vec<f64>> {
        Ok(self.lists()?.scores.clone().unwrap_or_default())
    }

    /// From now on these are the scores that serde_json reads, and with it Hugging Face's library.
    fn take_scores_of_serde_json(&mut self) -> PyResult<()> {
        self.lists_mut()?.take_scores_of_serde_json();
        Ok(())
    }

    /// Leaves each merge out that comes again later.
    fn drop_repeated_merges(&mut self) -> PyResult<()> {
        self.lists_mut()?.drop_repeated_merges();
        Ok(())
    }

    /// Leaves all merges out.
    fn drop_merges(&mut self) -> PyResult<()> {
        self.lists_mut()?.merges = MergeList::Missing;
        Ok(())
    }

    /// Does the right side of every merge begin with `mark`?
    fn merges_go_on_with(&self, mark: &str) -> PyResult<bool> {
        Ok(self.lists()?.merges_go_on_with(mark))
    }

    /// Tokens of the vocabulary, holes among them.
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.lists()?.spelled.len())
    }

    /// The id of a token, as it is spelled.
    fn id(&self, token: &str) -> PyResult<Option<u32>> {
        Ok(self.lists()?.id(token.as_bytes()))
    }

    /// How the token of an id is spelled.
    fn spelled<'py>(&self, py: Python<'py>, id: usize) -> PyResult<Bound<'py, PyString>> {
        let spelled = self.lists()?.spelled.get(id);
        let spelled = spelled.and_then(|text| std::str::from_utf8(text).ok());
        let spelled = spelled.ok_or_else(|| invalid(format!("no token has the id {id}")))?;
        Ok(PyString::new(py, spelled))
    }

    /// The model, once. `reserved` are the tokens that are spelled as they are, with their ids.
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
                    .map(|token| format!("merge {step} names {token}, which is no token")),
            };
            message.map_or_else(|error| error, PyValueError::new_err)
        })
    }
}

/// What `read_document` of the formats takes for a reason to read it otherwise.
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

/// See `tokctl_core::model::Stored`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct StoredModel(pub Stored);

#[pymethods]
impl StoredModel {
    fn __len__(&self) -> usize {
        self.0.tokens.len()
    }

    /// How many merges, counts of each column, scores and counts of tokens there are.
    #[getter]
    fn lengths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let lengths = PyDict::new(py);
        lengths.set_item("merges", self.0.merges.len())?;
        lengths.set_item("counts", self.0.counts.each_ref().map(Vec::len))?;
        lengths.set_item("scores", self.0.scores.len())?;
        lengths.set_item("token_counts", self.0.token_counts.len())?;
        Ok(lengths)
    }

    fn token<'py>(&self, py: Python<'py>, id: usize) -> PyResult<Bound<'py, PyBytes>> {
        let token = self.0.tokens.get(id);
        let token = token.ok_or_else(|| invalid(format!("no token has the id {id}")))?;
        Ok(PyBytes::new(py, token))
    }

    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let tokens: Vec<_> = self.0.tokens.iter().collect();
        PyList::new(py, tokens.iter().map(|token| PyBytes::new(py, token)))
    }

    /// The ids of `<0x00>` to `<0xFF>`, as far as the vocabulary has them.
    fn byte_tokens(&self) -> Vec<u32> {
        let tokens = (0..).zip(self.0.tokens.iter());
        let found = tokens.filter(|(_, token)| byte_token(token).is_some());
        found.map(|(id, _)| id).collect()
    }

    /// The six columns of the merges: left, right, token, and the three counts, which are 0
    /// where nothing is known of them.
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

    /// The highest id that a merge takes or makes.
    fn highest_merged(&self) -> Option<u32> {
        let merges = self.0.merges.iter();
        merges
            .map(|&(left, right, token)| left.max(right).max(token))
            .max()
    }

    fn scores(&self) -> Vec<f64> {
        self.0.scores.clone()
    }

    /// An error unless the tokens can have these supermerges, (left, right, token) by rank.
    fn check_supermerges(&self, supermerges: Vec<(u32, u32, u32)>) -> PyResult<()> {
        let tokens = self.0.tokens.iter().zip(0u32..);
        let tokens: Vec<_> = tokens.collect();
        let checked = Superwords::new(&supermerges, &tokens);
        checked.map(drop).map_err(to_python)
    }

    fn token_counts(&self) -> Vec<u64> {
        self.0.token_counts.clone()
    }

    /// As `Encoder`. `reserved_ids` are the ids that the model never makes of ordinary text; with
    /// `byte_fallback` the tokens of bytes are looked for.
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

    /// As `Decoder`; `special` are the ids of the special tokens.
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
    /// The ids of the tokens of the 256 bytes; of equal tokens the last one counts.
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

/// The byte that `<0x0A>` stands for.
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

/// See `tokctl_core::model::Ranks`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct RankFile(Ranks);

#[pymethods]
impl RankFile {
    /// None where the file has to be read in another way.
    #[staticmethod]
    fn scan(py: Python<'_>, data: &[u8]) -> Option<Self> {
        py.detach(|| Ranks::scan(data)).map(RankFile)
    }

    /// Of tokens with their ranks, no two of either alike.
    #[staticmethod]
    fn of(entries: Vec<(PyBackedBytes, u32)>) -> Self {
        let entries = entries.iter().map(|(token, rank)| (&token[..], *rank));
        RankFile(Ranks::of(entries))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// Has a token this rank?
    fn __contains__(&self, rank: u32) -> bool {
        self.0.has(rank)
    }

    /// One more than the highest rank.
    #[getter]
    fn end(&self) -> u32 {
        self.0.end()
    }

    /// The numbers below `end` that are the rank of no token.
    fn free(&self, end: u32) -> Vec<u32> {
        self.0.free(end)
    }

    /// The lowest byte that is no token.
    fn missing_byte(&self) -> Option<u8> {
        self.0.missing_byte()
    }

    /// The model; `others` have the ids that are no ranks.
    fn fill(&self, py: Python<'_>, others: HashMap<u32, Vec<u8>>) -> StoredModel {
        StoredModel(py.detach(|| self.0.fill(&others)))
    }
}
