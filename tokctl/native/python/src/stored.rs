//! Models as their files hold them, without a Python object for each token.

use std::collections::HashSet;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};
use tokctl_core::decode;
use tokctl_core::model::{Filling, Sections, Stored, NO_ID};

use crate::decoder::{self, Decoder};
use crate::encoder::Encoder;
use crate::errors::invalid;
use crate::interrupt::detached;
use crate::segmenters::{Learned, Settings};

/// See `tokctl_core::model::Sections`.
#[pyclass(module = "tokctl._native")]
pub struct ModelFile(Option<Sections>);

#[pymethods]
impl ModelFile {
    /// None where the file has to be read in another way.
    #[staticmethod]
    fn scan(py: Python<'_>, data: &[u8]) -> Option<Self> {
        let found = py.detach(|| Sections::of(data))?;
        Some(ModelFile(Some(found)))
    }

    /// The JSON without its long lists, where null stands.
    #[getter]
    fn rest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.sections()?.rest))
    }

    /// Does the vocabulary hold scores?
    #[getter]
    fn is_scored(&self) -> PyResult<bool> {
        Ok(self.sections()?.scores.is_some())
    }

    /// The scores that the vocabulary holds, by id.
    fn scores(&self) -> PyResult<Vec<f64>> {
        Ok(self.sections()?.scores.clone().unwrap_or_default())
    }

    /// Are the merges texts with a space between the two sides?
    #[getter]
    fn merges_are_lines(&self) -> PyResult<bool> {
        Ok(self.sections()?.merges_are_lines())
    }

    fn has_equal_merges(&self, py: Python<'_>) -> PyResult<bool> {
        let sections = self.sections()?;
        Ok(py.detach(|| sections.has_equal_merges()))
    }

    /// Tokens of the vocabulary.
    fn __len__(&self) -> PyResult<usize> {
        Ok(self.sections()?.spelled.len())
    }

    /// The id of a token, as it is spelled.
    fn id(&self, token: &str) -> PyResult<Option<u32>> {
        Ok(self.sections()?.id(token.as_bytes()))
    }

    /// How the token of an id is spelled.
    fn spelled<'py>(&self, py: Python<'py>, id: usize) -> PyResult<Bound<'py, PyString>> {
        let spelled = self.sections()?.spelled.get(id);
        let spelled = spelled.and_then(|text| std::str::from_utf8(text).ok());
        let spelled = spelled.ok_or_else(|| invalid(format!("no token has the id {id}")))?;
        Ok(PyString::new(py, spelled))
    }

    /// The model, once; None where the file has to be read in another way. `apart` are the
    /// tokens that are spelled as they are, with their ids.
    #[pyo3(signature = (*, byte_level, mark, size, apart))]
    fn fill(
        &mut self,
        py: Python<'_>,
        byte_level: bool,
        mark: &str,
        size: usize,
        apart: Vec<(String, u32)>,
    ) -> PyResult<Option<StoredModel>> {
        self.sections()?;
        let sections = self.0.take();
        Ok(py.detach(|| {
            let filling = Filling {
                bytes: byte_level,
                mark,
                size,
                apart: apart.iter().map(|(text, id)| (*id, &text[..])).collect(),
            };
            sections?.fill(&filling).map(StoredModel)
        }))
    }
}

impl ModelFile {
    fn sections(&self) -> PyResult<&Sections> {
        let gone = || invalid("the model of this file has been taken".into());
        self.0.as_ref().ok_or_else(gone)
    }
}

/// See `tokctl_core::model::Stored`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct StoredModel(Stored);

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

    fn token_counts(&self) -> Vec<u64> {
        self.0.token_counts.clone()
    }

    /// As `Encoder`. `apart` are the ids that the model never makes of ordinary text; with
    /// `byte_fallback` the tokens of bytes are looked for.
    #[pyo3(signature = (normalizers, pre_tokenizers, settings, *, apart, byte_fallback))]
    fn encoder(
        &self,
        py: Python<'_>,
        normalizers: &Bound<'_, PyAny>,
        pre_tokenizers: &Bound<'_, PyAny>,
        settings: Settings,
        apart: HashSet<u32>,
        byte_fallback: bool,
    ) -> PyResult<Encoder> {
        let tokens = (0u32..).zip(self.0.tokens.iter());
        let ordinary = tokens.filter(|(id, _)| !apart.contains(id));
        let learned = Learned {
            tokens: ordinary.map(|(id, token)| (token, id)).collect(),
            merges: self.0.merges.clone(),
            scores: self.0.scores.clone(),
            byte_ids: byte_fallback.then(|| self.byte_ids()),
        };
        Encoder::of(py, (normalizers, pre_tokenizers), &settings, learned)
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
