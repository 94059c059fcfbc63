use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::encode::{self, LongestMatch, MergeOrder, Merging, Segmenter, Token, Unknown};
use tokctl_core::measure;
use tokctl_core::model::{Alphabet, Marker, Merges, Units, NO_ID};
use tokctl_core::Error;

use crate::errors::{invalid, to_python};
use crate::interrupt::detached;
use crate::options;

/// Columns of a token table: ids, starts, ends, pre-token numbers.
type Columns = (Vec<u32>, Vec<usize>, Vec<usize>, Vec<usize>);
/// (words, whole, split), (characters, spaces), (tokens, unknown tokens, distinct ids).
type Measured = ((u64, u64, u64), (u64, u64), (u64, u64, Vec<u32>));
/// Ids, lengths, ranks.
type Replayed = (Vec<u32>, Vec<u32>, Vec<u32>);

#[pyclass(module = "tokctl._native", frozen)]
pub struct SpecialTokens(encode::SpecialTokens);

#[pymethods]
impl SpecialTokens {
    #[new]
    fn new(tokens: Vec<(Vec<u8>, u32)>) -> PyResult<Self> {
        encode::SpecialTokens::new(&tokens)
            .map(SpecialTokens)
            .map_err(to_python)
    }

    fn find(&self, text: &[u8]) -> Vec<(usize, usize, u32)> {
        self.0.find(text).collect()
    }
}

/// See `tokctl_core::encode::Encoder`. Safe to use from many threads at once.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Encoder(encode::Encoder);

fn alphabet(units: Units, marker: &Marker, ordinary: &[(Vec<u8>, u32)]) -> Alphabet {
    match units {
        Units::Bytes => {
            let mut ids = [None; 256];
            for (token, id) in ordinary {
                if let [byte] = token[..] {
                    ids[byte as usize] = Some(*id);
                }
            }
            Alphabet::bytes(|byte| ids[byte[0] as usize])
        }
        Units::Characters => {
            let symbols = ordinary.iter().map(|(token, id)| (token.as_slice(), *id));
            Alphabet::characters(marker, symbols)
        }
    }
}

#[pymethods]
impl Encoder {
    /// `tokens` are the ordinary tokens with their ids; `merges` are (left, right, token).
    #[new]
    #[pyo3(signature = (*, normalizers, pre_tokenizer, segmentation, units, marker, tokens,
        merges, unknown_id, unknown, max_input_chars))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        normalizers: Vec<String>,
        pre_tokenizer: &str,
        segmentation: &str,
        units: &str,
        marker: (String, String),
        tokens: Vec<(Vec<u8>, u32)>,
        merges: Vec<(u32, u32, u32)>,
        unknown_id: Option<u32>,
        unknown: &str,
        max_input_chars: Option<usize>,
    ) -> PyResult<Self> {
        let marker = options::marker(marker)?;
        let merging = |order| Merging {
            alphabet: alphabet(Units::Bytes, &marker, &[]),
            merges: Merges::new(merges.iter().copied()),
            order,
            unknown: unknown_id,
        };
        let segmenter = match segmentation {
            "merges" | "replay" => {
                let order = match segmentation {
                    "merges" => MergeOrder::ByRank,
                    _ => MergeOrder::Replay,
                };
                let alphabet = alphabet(options::units(units)?, &marker, &tokens);
                Segmenter::Merges(Merging {
                    alphabet,
                    ..merging(order)
                })
            }
            "longest-match" => {
                let prefix = match &marker {
                    Marker::Continuation(prefix) => prefix.as_bytes(),
                    _ => return Err(invalid("longest match needs a continuation marker".into())),
                };
                let unknown = match unknown {
                    "word" => Unknown::Word,
                    "char" => Unknown::Character,
                    _ => return Err(invalid(format!("unknown can't be {unknown}"))),
                };
                Segmenter::LongestMatch(LongestMatch::new(
                    tokens.iter().map(|(token, id)| (token.as_slice(), *id)),
                    prefix,
                    unknown,
                    unknown_id,
                    max_input_chars,
                ))
            }
            _ => return Err(invalid(format!("no segmentation is called {segmentation}"))),
        };
        Ok(Encoder(encode::Encoder::new(
            options::normalizers(normalizers)?,
            options::pre_tokenizer(pre_tokenizer)?,
            segmenter,
        )))
    }

    #[pyo3(signature = (text, special=None))]
    fn ids(
        &self,
        py: Python<'_>,
        text: &[u8],
        special: Option<&SpecialTokens>,
    ) -> PyResult<Vec<u32>> {
        detached(py, |interrupt| {
            let mut ids = Vec::new();
            let special = special.map(|special| &special.0);
            self.0
                .ids_with_special(text, special, &mut ids, interrupt)?;
            Ok(ids)
        })
    }

    /// Ids of many texts; the threads share them out.
    fn batch(
        &self,
        py: Python<'_>,
        texts: Vec<Vec<u8>>,
        threads: usize,
        special: Option<&SpecialTokens>,
    ) -> PyResult<Vec<Vec<u32>>> {
        let special = special.map(|special| &special.0);
        detached(py, |interrupt| {
            self.0.batch(&texts, threads, special, interrupt)
        })
    }

    /// Ids as little-endian numbers of `width` bytes (2 or 4), and how many there are.
    fn packed<'py>(
        &self,
        py: Python<'py>,
        text: &[u8],
        width: usize,
        special: Option<&SpecialTokens>,
    ) -> PyResult<(Bound<'py, PyBytes>, usize)> {
        let special = special.map(|special| &special.0);
        let (packed, count) = detached(py, |interrupt| {
            let mut ids = Vec::new();
            self.0
                .ids_with_special(text, special, &mut ids, interrupt)?;
            Ok((pack(&ids, width)?, ids.len()))
        })?;
        Ok((PyBytes::new(py, &packed), count))
    }

    fn tokens(&self, py: Python<'_>, text: &[u8]) -> PyResult<Columns> {
        detached(py, |interrupt| Ok(columns(self.0.tokens(text, interrupt)?)))
    }

    fn tokens_of(
        &self,
        py: Python<'_>,
        text: &[u8],
        pre_tokens: Vec<(usize, usize)>,
    ) -> PyResult<Columns> {
        detached(py, |interrupt| {
            Ok(columns(self.0.tokens_of(text, &pre_tokens, interrupt)?))
        })
    }

    /// What the metrics of a text are made from; see `tokctl_core::measure`.
    fn measure(
        &self,
        py: Python<'_>,
        text: &[u8],
        pre_tokens: Option<Vec<(usize, usize)>>,
        unknown_id: Option<u32>,
    ) -> PyResult<Measured> {
        detached(py, |interrupt| {
            let tokens = match &pre_tokens {
                Some(pre_tokens) => self.0.tokens_of(text, pre_tokens, interrupt)?,
                None => self.0.tokens(text, interrupt)?,
            };
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
        special: Option<&SpecialTokens>,
    ) -> PyResult<(Bound<'py, PyBytes>, u64, Option<u64>)> {
        let special = special.map(|special| &special.0);
        let lines = detached(py, |interrupt| self.0.lines(block, special, interrupt))?;
        Ok((PyBytes::new(py, &lines.text), lines.tokens, lines.unknown))
    }

    /// The normalized text and the byte ranges of its pre-tokens.
    fn pre_tokens<'py>(
        &self,
        py: Python<'py>,
        text: &[u8],
    ) -> (Bound<'py, PyBytes>, Vec<(usize, usize)>) {
        let (normalized, ranges) = py.detach(|| self.0.pre_tokens(text));
        (PyBytes::new(py, &normalized), ranges)
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
