use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::encode::{self, AddedToken, Rng, Segment, Segmenter, Token, Unigram};
use tokctl_core::measure;
use tokctl_core::model::NO_ID;
use tokctl_core::normalize::Edges;
use tokctl_core::Error;

use crate::errors::{invalid, to_python};
use crate::interrupt::detached;
use crate::{normalizers, options, pretokenizers, segmenters};

/// Columns of a token table: ids, starts, ends, pre-token numbers (None: special).
type Columns = (Vec<u32>, Vec<usize>, Vec<usize>, Vec<Option<usize>>);
/// Starts and ends.
type Ranges = Vec<(usize, usize)>;
/// Text, ranges, places, ids of added tokens.
type PreTokens<'py> = (Bound<'py, PyBytes>, Ranges, Ranges, Vec<Option<u32>>);
/// (words, whole, split), (characters, spaces), (tokens, unknown tokens, distinct ids).
type Measured = ((u64, u64, u64), (u64, u64), (u64, u64, Vec<u32>));
/// Ids, lengths, score.
type Scored = (Vec<u32>, Vec<u32>, f64);
/// Ids, lengths, ranks.
type Replayed = (Vec<u32>, Vec<u32>, Vec<u32>);

/// (text, id, (single word, strip left, strip right), (normalized, literal, special))
type AddedRow = (Vec<u8>, u32, (bool, bool, bool), (bool, bool, bool));

/// The added tokens that calls look for; see `tokctl_core::encode::Matchers`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Matchers(encode::Matchers);

#[pymethods]
impl Matchers {
    #[new]
    fn new(py: Python<'_>, encoder: &Encoder, tokens: Vec<AddedRow>) -> PyResult<Self> {
        py.detach(|| {
            let chain = encoder.0.normalizers();
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

/// See `tokctl_core::encode::Encoder`. Safe to use from many threads at once.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Encoder(encode::Encoder);

#[pymethods]
impl Encoder {
    /// `tokens` are the ordinary tokens with their ids; `merges` are (left, right, token);
    /// `scores` are by id; `byte_ids` those of `<0x00>` to `<0xFF>`; `user_defined` are the ids
    /// of SentencePiece's user-defined pieces, whose score follows from their length.
    #[new]
    #[pyo3(signature = (*, normalizers, pre_tokenizers, segmentation, units, marker, tokens,
        merges, scores, user_defined, byte_ids, fuse_unknown, whole_words, precision, unknown_id, unknown,
        max_input_chars))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        normalizers: &Bound<'_, PyAny>,
        pre_tokenizers: &Bound<'_, PyAny>,
        segmentation: &str,
        units: &str,
        marker: (String, String),
        tokens: Vec<(Vec<u8>, u32)>,
        merges: Vec<(u32, u32, u32)>,
        scores: Vec<f64>,
        user_defined: HashSet<u32>,
        byte_ids: Option<Vec<u32>>,
        fuse_unknown: bool,
        whole_words: bool,
        precision: &str,
        unknown_id: Option<u32>,
        unknown: &str,
        max_input_chars: Option<usize>,
    ) -> PyResult<Self> {
        let given = segmenters::Given {
            units: options::units(units)?,
            marker: options::marker(marker)?,
            tokens,
            merges,
            scores,
            user_defined,
            byte_ids: byte_ids.map(segmenters::byte_table).transpose()?,
            fuse_unknown,
            whole_words,
            precision,
            unknown_id,
            unknown,
            max_input_chars,
        };
        let chain = normalizers::chain(py, normalizers)?;
        let pre_tokenizer = pretokenizers::pre_tokenizer(py, pre_tokenizers)?;
        let segmenter = py
            .detach(|| segmenters::segmenter(segmentation, given))
            .map_err(to_python)?;
        Ok(Encoder(encode::Encoder::new(
            chain,
            pre_tokenizer,
            segmenter,
        )))
    }

    #[pyo3(signature = (text, matchers=None))]
    fn ids(&self, py: Python<'_>, text: &[u8], matchers: Option<&Matchers>) -> PyResult<Vec<u32>> {
        detached(py, |interrupt| {
            let mut ids = Vec::new();
            let matchers = matchers.map(|matchers| &matchers.0);
            self.0.ids(text, matchers, &mut ids, interrupt)?;
            Ok(ids)
        })
    }

    /// Ids of many texts; the threads share them out.
    fn batch(
        &self,
        py: Python<'_>,
        texts: Vec<Vec<u8>>,
        threads: usize,
        matchers: Option<&Matchers>,
    ) -> PyResult<Vec<Vec<u32>>> {
        let matchers = matchers.map(|matchers| &matchers.0);
        detached(py, |interrupt| {
            self.0.batch(&texts, threads, matchers, interrupt)
        })
    }

    /// Ids as little-endian numbers of `width` bytes (2 or 4), and how many there are.
    fn packed<'py>(
        &self,
        py: Python<'py>,
        text: &[u8],
        width: usize,
        matchers: Option<&Matchers>,
    ) -> PyResult<(Bound<'py, PyBytes>, usize)> {
        let matchers = matchers.map(|matchers| &matchers.0);
        let (packed, count) = detached(py, |interrupt| {
            let mut ids = Vec::new();
            self.0.ids(text, matchers, &mut ids, interrupt)?;
            Ok((pack(&ids, width)?, ids.len()))
        })?;
        Ok((PyBytes::new(py, &packed), count))
    }

    #[pyo3(signature = (text, matchers=None))]
    fn tokens(
        &self,
        py: Python<'_>,
        text: &[u8],
        matchers: Option<&Matchers>,
    ) -> PyResult<Columns> {
        let matchers = matchers.map(|matchers| &matchers.0);
        detached(py, |interrupt| {
            Ok(columns(self.0.tokens(text, matchers, interrupt)?))
        })
    }

    /// What the metrics of a text are made from; see `tokctl_core::measure`.
    #[pyo3(signature = (text, matchers, unknown_id))]
    fn measure(
        &self,
        py: Python<'_>,
        text: &[u8],
        matchers: Option<&Matchers>,
        unknown_id: Option<u32>,
    ) -> PyResult<Measured> {
        let matchers = matchers.map(|matchers| &matchers.0);
        detached(py, |interrupt| {
            let tokens = self.0.tokens(text, matchers, interrupt)?;
            let words = measure::align_words(text, &tokens, unknown_id);
            let mut ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
            let missing = |id: &&u32| **id == NO_ID || Some(**id) == unknown_id;
            let unknown = ids.iter().filter(missing).count() as u64;
            ids.sort_unstable();
            ids.dedup();
            ids.retain(|&id| id != NO_ID);
            Ok((
                (words.words, words.whole, words.split),
                (words.characters, words.spaces),
                (tokens.len() as u64, unknown, ids),
            ))
        })
    }

    /// (ids in decimal, number of tokens, line of the first token without an id).
    fn lines<'py>(
        &self,
        py: Python<'py>,
        block: &[u8],
        matchers: Option<&Matchers>,
    ) -> PyResult<(Bound<'py, PyBytes>, u64, Option<u64>)> {
        let matchers = matchers.map(|matchers| &matchers.0);
        let lines = detached(py, |interrupt| self.0.lines(block, matchers, interrupt))?;
        Ok((PyBytes::new(py, &lines.text), lines.tokens, lines.unknown))
    }

    /// The normalized and rewritten text, the byte ranges of its pre-tokens and of the added
    /// tokens between them, where these stood in the text as given, and the added tokens' ids.
    #[pyo3(signature = (text, matchers=None))]
    fn pre_tokens<'py>(
        &self,
        py: Python<'py>,
        text: &[u8],
        matchers: Option<&Matchers>,
    ) -> PyResult<PreTokens<'py>> {
        let matchers = matchers.map(|matchers| &matchers.0);
        let found = py
            .detach(|| self.0.pre_tokens(text, matchers))
            .map_err(to_python)?;
        let text = PyBytes::new(py, &found.text);
        Ok((text, found.ranges, found.places, found.added))
    }

    /// One pre-token after the first `steps` merges: ids, lengths, ranks of the merges made.
    fn replay(&self, py: Python<'_>, pre_token: &[u8], steps: u32) -> PyResult<Replayed> {
        let Segmenter::Merges(merging) = self.0.segmenter() else {
            return Err(invalid("this encoder has no merges".into()));
        };
        let (segments, ranks) =
            detached(py, |interrupt| merging.replay(pre_token, steps, interrupt))?;
        Ok((
            segments.iter().map(|segment| segment.id).collect(),
            segments.iter().map(|segment| segment.length).collect(),
            ranks,
        ))
    }

    /// The merges that are ever made, as (left, right, token) by rank, of these tokens.
    fn made(&self, py: Python<'_>, tokens: Vec<(Vec<u8>, u32)>) -> PyResult<Vec<(u32, u32, u32)>> {
        let Segmenter::Merges(merging) = self.0.segmenter() else {
            return Err(invalid("this encoder has no merges".into()));
        };
        detached(py, |interrupt| merging.made(&tokens, interrupt))
    }

    /// The `n` best segmentations of one pre-token, best first: ids, lengths, score.
    fn nbest(&self, py: Python<'_>, pre_token: &[u8], n: usize) -> PyResult<Vec<Scored>> {
        let unigram = self.unigram()?;
        let found = detached(py, |interrupt| unigram.nbest(pre_token, n, interrupt))?;
        Ok(found
            .into_iter()
            .map(|(segments, score)| {
                let (ids, lengths) = ids_and_lengths(&segments);
                (ids, lengths, score)
            })
            .collect())
    }

    /// Ids and lengths of each pre-token (byte ranges of `text`), drawn with `seed`; see
    /// `Unigram::sample`.
    fn sample(
        &self,
        py: Python<'_>,
        text: &[u8],
        ranges: Ranges,
        alpha: f64,
        nbest_size: i64,
        seed: u64,
    ) -> PyResult<Vec<(Vec<u32>, Vec<u32>)>> {
        let unigram = self.unigram()?;
        detached(py, |interrupt| {
            let mut rng = Rng::new(seed);
            ranges
                .iter()
                .map(|&(start, end)| {
                    let pre_token = text.get(start..end).ok_or_else(|| {
                        Error::Invalid("a pre-token lies outside its text".into())
                    })?;
                    let drawn =
                        unigram.sample(pre_token, alpha, nbest_size, &mut rng, interrupt)?;
                    Ok(ids_and_lengths(&drawn))
                })
                .collect()
        })
    }
}

impl Encoder {
    fn unigram(&self) -> PyResult<&Unigram> {
        match self.0.segmenter() {
            Segmenter::Unigram(unigram) => Ok(unigram),
            _ => Err(invalid(
                "only unigram models have scored segmentations".into(),
            )),
        }
    }
}

fn ids_and_lengths(segments: &[Segment]) -> (Vec<u32>, Vec<u32>) {
    let ids = segments.iter().map(|segment| segment.id).collect();
    (ids, segments.iter().map(|segment| segment.length).collect())
}

fn columns(tokens: Vec<Token>) -> Columns {
    (
        tokens.iter().map(|token| token.id).collect(),
        tokens.iter().map(|token| token.start).collect(),
        tokens.iter().map(|token| token.end).collect(),
        tokens.iter().map(|token| token.pre_token).collect(),
    )
}

fn pack(ids: &[u32], width: usize) -> Result<Vec<u8>, Error> {
    if ids.contains(&NO_ID) {
        return Err(Error::Invalid("a character of the text has no id".into()));
    }
    let fits = |id: u32| {
        u16::try_from(id).map_err(|_| Error::TooLarge(format!("id {id} does not fit 16 bits")))
    };
    match width {
        2 => ids
            .iter()
            .map(|&id| fits(id).map(u16::to_le_bytes))
            .collect::<Result<Vec<_>, _>>()
            .map(|ids| ids.concat()),
        4 => Ok(ids.iter().flat_map(|id| id.to_le_bytes()).collect()),
        _ => Err(Error::Invalid(format!("ids can't be {width} bytes wide"))),
    }
}
