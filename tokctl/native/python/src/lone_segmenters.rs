//! Segmenters by themselves: one pre-token in, its segments out.

use pyo3::prelude::*;
use tokctl_core::encode::{self, MergeOrder, Merging, Precision, Rng, Segment, UnigramOptions};
use tokctl_core::encode::{Segmenter, Words};
use tokctl_core::model::{Alphabet, Marker, Merges};

use crate::errors::{invalid, to_python};
use crate::interrupt::detached;

/// (id, length) of each segment.
type Segments = Vec<(u32, u32)>;

fn pairs(segments: &[Segment]) -> Segments {
    segments.iter().map(|one| (one.id, one.length)).collect()
}

fn all_bytes(ids: Option<Vec<u32>>) -> PyResult<Option<Box<[u32; 256]>>> {
    let count = |_| invalid("there must be one id for each of the 256 bytes".into());
    ids.map(|ids| <Box<[u32; 256]>>::try_from(ids.into_boxed_slice()).map_err(count))
        .transpose()
}

/// See `tokctl_core::encode::Unigram`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Unigram(encode::Unigram);

#[pymethods]
impl Unigram {
    #[new]
    #[pyo3(signature = (pieces, *, unknown_id=None, byte_ids=None, fuse_unknown=true,
        user_defined=Vec::new(), precision="single", unknown_score=None))]
    fn new(
        pieces: Vec<(Vec<u8>, u32, f64)>,
        unknown_id: Option<u32>,
        byte_ids: Option<Vec<u32>>,
        fuse_unknown: bool,
        user_defined: Vec<(Vec<u8>, u32)>,
        precision: &str,
        unknown_score: Option<f64>,
    ) -> PyResult<Self> {
        let precision = match precision {
            "single" => Precision::Single,
            "double" => Precision::Double,
            _ => return Err(invalid(format!("no precision is called {precision}"))),
        };
        let options = UnigramOptions {
            unknown_id,
            unknown_score,
            byte_ids: all_bytes(byte_ids)?,
            fuse_unknown,
            user_defined,
            precision,
        };
        let pieces = pieces
            .iter()
            .map(|(text, id, score)| (text.as_slice(), *id, *score));
        encode::Unigram::new(pieces, options)
            .map(Unigram)
            .map_err(to_python)
    }

    fn segment(&self, py: Python<'_>, pre_token: &[u8]) -> PyResult<Segments> {
        detached(py, |interrupt| {
            let mut segments = Vec::new();
            self.0.segment(pre_token, &mut segments, interrupt)?;
            Ok(pairs(&segments))
        })
    }

    /// The n best with their scores.
    fn nbest(&self, py: Python<'_>, pre_token: &[u8], n: usize) -> PyResult<Vec<(Segments, f64)>> {
        let best = detached(py, |interrupt| self.0.nbest(pre_token, n, interrupt))?;
        let with_pairs = best.iter().map(|(one, score)| (pairs(one), *score));
        Ok(with_pairs.collect())
    }

    /// `count` segmentations drawn one after the other.
    fn sample(
        &self,
        py: Python<'_>,
        pre_token: &[u8],
        alpha: f64,
        nbest_size: i64,
        seed: u64,
        count: usize,
    ) -> PyResult<Vec<Segments>> {
        detached(py, |interrupt| {
            let mut rng = Rng::new(seed);
            let draw = |_| {
                let sample = self
                    .0
                    .sample(pre_token, alpha, nbest_size, &mut rng, interrupt);
                sample.map(|segments| pairs(&segments))
            };
            (0..count).map(draw).collect()
        })
    }
}

/// Merges over characters or bytes, without an encoder around them.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Bpe(Segmenter);

#[pymethods]
impl Bpe {
    /// `tokens` are (text, id). `merges` are (left, right, token); without them any two
    /// tokens that spell a token merge, by `ranks`, one for each token.
    #[new]
    #[pyo3(signature = (tokens, *, merges=None, ranks=None, bytes=false, marker=None,
        unknown_id=None, byte_ids=None, fuse_unknown=false, whole=false))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        tokens: Vec<(Vec<u8>, u32)>,
        merges: Option<Vec<(u32, u32, u32)>>,
        ranks: Option<Vec<u32>>,
        bytes: bool,
        marker: Option<(String, String)>,
        unknown_id: Option<u32>,
        byte_ids: Option<Vec<u32>>,
        fuse_unknown: bool,
        whole: bool,
    ) -> PyResult<Self> {
        let texts = || tokens.iter().map(|(text, id)| (text.as_slice(), *id));
        let marker = match marker {
            Some(marker) => crate::options::marker(marker)?,
            None => Marker::None,
        };
        let alphabet = match bytes {
            true => Alphabet::bytes(|byte| Some(texts().find(|(text, _)| *text == byte)?.1)),
            false => Alphabet::characters(&marker, texts()),
        };
        let merges = match (merges, ranks) {
            (Some(merges), None) => Merges::new(merges.into_iter()),
            (None, Some(ranks)) if ranks.len() == tokens.len() => {
                let ranked = texts()
                    .zip(ranks)
                    .map(|((text, id), rank)| (text, id, rank));
                Merges::by_vocabulary(&ranked.collect::<Vec<_>>()).map_err(to_python)?
            }
            _ => return Err(invalid("either merges or a rank for each token".into())),
        };
        Ok(Bpe(Segmenter::Merges(Merging {
            alphabet,
            merges,
            order: MergeOrder::ByRank,
            unknown: unknown_id,
            fuse_unknown,
            byte_ids: all_bytes(byte_ids)?,
            whole: whole.then(|| Words::new(texts(), None)),
            in_parts: false,
        })))
    }

    fn segment(&self, py: Python<'_>, pre_token: &[u8]) -> PyResult<Segments> {
        detached(py, |interrupt| {
            let mut segments = Vec::new();
            self.0.segment(pre_token, &mut segments, interrupt)?;
            Ok(pairs(&segments))
        })
    }
}
