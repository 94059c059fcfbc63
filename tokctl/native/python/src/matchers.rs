//! The added tokens that calls look for.

use pyo3::prelude::*;
use tokctl_core::encode::{self, AddedToken};
use tokctl_core::normalize::Edges;

use crate::encoder::Encoder;
use crate::errors::to_python;

/// (text, id, (single word, strip left, strip right), (normalized, literal, special))
type AddedRow = (Vec<u8>, u32, (bool, bool, bool), (bool, bool, bool));

/// The added tokens that calls look for; see `tokctl_core::encode::Matchers`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Matchers(pub(crate) encode::Matchers);

#[pymethods]
impl Matchers {
    #[new]
    fn new(py: Python<'_>, encoder: &Encoder, tokens: Vec<AddedRow>) -> PyResult<Self> {
        py.detach(|| {
            let chain = encoder.inner.normalizers();
            let special: Vec<u32> = tokens
                .iter()
                .filter(|(.., (_, _, special))| *special)
                .map(|&(_, id, ..)| id)
                .collect();
            let (mut raw, mut normalized) = (Vec::new(), Vec::new());
            for (mut text, id, around, (in_normalized, literal, _)) in tokens {
                let (single_word, strip_left, strip_right) = around;
                if in_normalized && !literal {
                    text = chain.apply(&text, Edges::WHOLE)?.into_owned();
                }
                let to = if in_normalized {
                    &mut normalized
                } else {
                    &mut raw
                };
                to.push(AddedToken {
                    text,
                    id,
                    single_word,
                    strip_left,
                    strip_right,
                });
            }
            encode::Matchers::new(raw, normalized, special.into_iter())
        })
        .map(Matchers)
        .map_err(to_python)
    }
}
