//! Encoding of text, pre-tokens and added tokens to ids; see `tokctl_core::encode::Encoder`.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use tokctl_core::encode::{
    self, AddedToken, ByteSink, IdNumber, Ids, Learned, Precision, RaggedIds, RemovalEvents, Rng,
    Segment, Segmentation, Segmenter, SegmenterOptions, Token, Unigram, Unknown, CHUNK,
};
use tokctl_core::model::{Marker, Units, NO_ID};
use tokctl_core::normalize::Edges;
use tokctl_core::Error;

use crate::blocks::FormGiven;
use crate::errors::{bytes, detached, invalid, to_python};
use crate::ids::{offsets, pack_u64, IdArray, IdBits, IntCache, PausedGc};
use crate::pretokenizers::Ranges;
use crate::texts::{Reader, Text};
use crate::tokens::TextTokens;
use crate::{normalizers, pretokenizers};

/// Columns of a token table: ids, starts, ends, pre-token numbers.
type Columns = (Vec<u32>, Vec<usize>, Vec<usize>, Vec<usize>);
/// Text, ranges in it, ranges in the given text, ids of added tokens.
type PreTokens<'py> = (Bound<'py, PyBytes>, Ranges, Ranges, Vec<Option<u32>>);
/// Bytes, ends, number of the first document that lacks an id.
type WrittenRows<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Option<usize>);
/// Ids, lengths, score.
type Scored = (Vec<u32>, Vec<u32>, f64);
/// Ids, lengths, ranks.
type Replayed = (Vec<u32>, Vec<u32>, Vec<u32>);

/// Fields of a recipe that encoders read; see [`SegmenterOptions`].
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    segmentation: String,
    units: String,
    marker: (String, String),
    user_defined: HashSet<u32>,
    fuse_unknown: bool,
    whole_words: bool,
    precision: String,
    unknown_id: Option<u32>,
    unknown: String,
    max_input_chars: Option<usize>,
    events: Option<EventColumns>,
    supermerges: Vec<(u32, u32, u32)>,
}

/// Numbers of tokens with an id and of removed tokens; (left, right, token) of each merge; (number
/// of merges before it, token) of each removal.
type EventColumns = ((u32, u32), Vec<(u32, u32, u32)>, Vec<(u32, u32)>);

impl Settings {
    fn options(self) -> tokctl_core::Result<SegmenterOptions> {
        Ok(SegmenterOptions {
            segmentation: Segmentation::named(&self.segmentation)?,
            units: Units::named(&self.units)?,
            marker: Marker::new(&self.marker.0, &self.marker.1)?,
            unknown_id: self.unknown_id,
            unknown: Unknown::named(&self.unknown)?,
            fuse_unknown: self.fuse_unknown,
            whole_words: self.whole_words,
            max_characters: self.max_input_chars,
            precision: Precision::named(&self.precision)?,
            user_defined: self.user_defined,
            events: self.events.map(|(sizes, merges, removals)| RemovalEvents {
                size: sizes.0,
                removed: sizes.1,
                merges,
                removals,
            }),
            supermerges: self.supermerges,
        })
    }
}

/// Return the ids of `<0x00>` to `<0xFF>` as a table.
fn byte_table(ids: Vec<u32>) -> PyResult<Box<[u32; 256]>> {
    <[u32; 256]>::try_from(ids)
        .map(Box::new)
        .map_err(|_| invalid("there is not one id for each of the 256 bytes".into()))
}

/// Encoder from text to ids. Safe to use from many threads at once.
///
/// See `tokctl_core::encode::Encoder`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Encoder {
    pub(crate) inner: encode::Encoder,
    /// Whether the model reads characters, so that bytes must be UTF-8.
    characters: bool,
    pub(crate) ints: Arc<IntCache>,
}

#[pymethods]
impl Encoder {
    /// Create an encoder.
    ///
    /// `settings` has the fields of a recipe that encoders read. `tokens` are the ordinary tokens
    /// with their ids; `merges` are (left, right, token); `scores` are by id; `byte_ids` are the
    /// ids of `<0x00>` to `<0xFF>`.
    #[new]
    #[pyo3(signature = (normalizers, pre_tokenizers, settings, *, tokens, merges, scores, byte_ids))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        normalizers: &Bound<'_, PyAny>,
        pre_tokenizers: &Bound<'_, PyAny>,
        settings: Settings,
        tokens: Vec<(Vec<u8>, u32)>,
        merges: Vec<(u32, u32, u32)>,
        scores: Vec<f64>,
        byte_ids: Option<Vec<u32>>,
    ) -> PyResult<Self> {
        let learned = Learned {
            tokens,
            merges,
            scores,
            byte_ids: byte_ids.map(byte_table).transpose()?,
        };
        Encoder::of(py, (normalizers, pre_tokenizers), settings, learned)
    }

    /// Return the ids of a text, which is `str` or `bytes`, as in every method that makes ids.
    ///
    /// `otherwise` is called with a text that has lone surrogates, or that should be UTF-8 and is
    /// not, and returns its bytes. With `strict`, a character without an id is an error.
    #[pyo3(signature = (text, matchers=None, otherwise=None, strict=false))]
    fn ids<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        matchers: Option<&Matchers>,
        otherwise: Option<&Bound<'py, PyAny>>,
        strict: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let ids = self.ids_of::<u32>(text, (1, CHUNK), matchers, otherwise, strict)?;
        self.ints.list(text.py(), &ids)
    }

    /// Return the ids as an array of numbers of 16 or 32 `bits`.
    ///
    /// The threads take chunks of `chunk` bytes (a parameter for tests).
    #[pyo3(signature = (text, threads, matchers=None, otherwise=None, strict=false, chunk=CHUNK, bits=IdBits::Wide))]
    #[allow(clippy::too_many_arguments)]
    fn array<'py>(
        &self,
        text: &Bound<'py, PyAny>,
        threads: usize,
        matchers: Option<&Matchers>,
        otherwise: Option<&Bound<'py, PyAny>>,
        strict: bool,
        chunk: usize,
        bits: IdBits,
    ) -> PyResult<IdArray> {
        let (how, ints) = ((threads, chunk), Arc::clone(&self.ints));
        Ok(match bits {
            IdBits::Narrow => {
                let ids = self.ids_of::<u16>(text, how, matchers, otherwise, strict)?;
                IdArray::of(ids.trimmed(), ints)
            }
            IdBits::Wide => {
                let ids = self.ids_of::<u32>(text, how, matchers, otherwise, strict)?;
                IdArray::of(ids.trimmed(), ints)
            }
        })
    }

    /// Return the ids of many texts, as lists; the threads divide the texts among them.
    #[pyo3(signature = (texts, threads, matchers, otherwise=None, strict=false))]
    fn batch<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        threads: usize,
        matchers: Option<&Matchers>,
        otherwise: Option<&Bound<'py, PyAny>>,
        strict: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let flat = self.flat_of(texts, threads, matchers, otherwise, strict)?;
        self.ints.lists(texts.py(), &flat)
    }

    /// Return the ids of many texts as one array, and the offset of each text in the array.
    ///
    /// Offsets are 64-bit numbers in native byte order, with the end of the last text.
    #[pyo3(signature = (texts, threads, matchers, otherwise=None, strict=false, bits=IdBits::Wide))]
    fn batch_array<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        threads: usize,
        matchers: Option<&Matchers>,
        otherwise: Option<&Bound<'py, PyAny>>,
        strict: bool,
        bits: IdBits,
    ) -> PyResult<(IdArray, Bound<'py, PyBytes>)> {
        let ints = Arc::clone(&self.ints);
        let (ids, ends) = match bits {
            IdBits::Narrow => {
                let flat = self.flat_of::<u16>(texts, threads, matchers, otherwise, strict)?;
                (IdArray::of(flat.ids.trimmed(), ints), flat.ends)
            }
            IdBits::Wide => {
                let flat = self.flat_of::<u32>(texts, threads, matchers, otherwise, strict)?;
                (IdArray::of(flat.ids.trimmed(), ints), flat.ends)
            }
        };
        Ok((ids, offsets(texts.py(), &ends)?))
    }

    /// Encode documents to the bytes of a file.
    ///
    /// `form` is as in `IdWriter`; in decimal and by name, each document is a line. `last_id` is
    /// added after each. Returns the bytes; the number of ids before the end of each document, as
    /// 64-bit numbers in native byte order; and the number of the first document with a character
    /// that has no id (or None).
    #[pyo3(signature = (texts, threads, matchers, form, last_id=None))]
    fn rows<'py>(
        &self,
        texts: &Bound<'py, PyAny>,
        threads: usize,
        matchers: Option<&Matchers>,
        form: FormGiven,
        last_id: Option<u32>,
    ) -> PyResult<WrittenRows<'py>> {
        let form = form.form()?;
        let py = texts.py();
        let flat = self.flat_of(texts, threads, matchers, None, false)?;
        let mut sink = ByteSink::new(form, false, last_id);
        let missing = py
            .detach(|| sink.push_documents(&flat))
            .map_err(to_python)?;
        let ends = pack_u64(py, sink.ends.len(), sink.ends.iter().copied())?;
        Ok((bytes(py, &sink.bytes)?, ends, missing))
    }

    /// Return the tokens of a text as columns: ids, starts, ends (byte offsets), pre-token numbers.
    #[pyo3(signature = (text, matchers=None))]
    fn tokens(
        &self,
        py: Python<'_>,
        text: &[u8],
        matchers: Option<&Matchers>,
    ) -> PyResult<Columns> {
        let (inner, matchers) = self.with(matchers);
        detached(py, |interrupt| {
            Ok(columns(&inner.tokens(text, matchers, interrupt)?))
        })
    }

    /// Return the tokens of a text; only their ids are computed now.
    ///
    /// `tokenizer` names the tokens (`token_names`), and its `as_bytes` is `otherwise` as in `ids`.
    #[pyo3(signature = (text, tokenizer, matchers=None, strict=false))]
    fn encode(
        slf: &Bound<'_, Self>,
        text: &Bound<'_, PyAny>,
        tokenizer: &Bound<'_, PyAny>,
        matchers: Option<&Bound<'_, Matchers>>,
        strict: bool,
    ) -> PyResult<TextTokens> {
        let encoder = slf.get();
        let read = encoder.read(text, tokenizer)?;
        let found = matchers.map(Bound::get);
        let ids = encoder.ids_of_read::<u32>(text.py(), &read, (1, CHUNK), found, strict)?;
        let ids = Arc::new(ids.trimmed());
        Ok(TextTokens {
            encoder: slf.clone().unbind(),
            matchers: matchers.map(|matchers| matchers.clone().unbind()),
            tokenizer: tokenizer.clone().unbind(),
            text: text.clone().unbind(),
            range: 0..ids.len(),
            ids,
            spans: OnceLock::new(),
        })
    }

    /// Return the tokens of many texts, as `encode` does of one.
    #[pyo3(signature = (texts, tokenizer, threads, matchers=None, strict=false))]
    fn encode_batch<'py>(
        slf: &Bound<'py, Self>,
        texts: &Bound<'py, PyList>,
        tokenizer: &Bound<'py, PyAny>,
        threads: usize,
        matchers: Option<&Bound<'py, Matchers>>,
        strict: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let (encoder, found) = (slf.get(), matchers.map(Bound::get));
        let otherwise = tokenizer.getattr("as_bytes")?;
        let flat = encoder.flat_of::<u32>(texts, threads, found, Some(&otherwise), strict)?;
        let ids = Arc::new(flat.ids.trimmed());
        let mut start = 0;
        // None of the new objects is part of a cycle.
        let _paused = PausedGc::new(slf.py());
        let tokens = texts.iter().zip(flat.ends).map(|(text, end)| TextTokens {
            encoder: slf.clone().unbind(),
            matchers: matchers.map(|matchers| matchers.clone().unbind()),
            tokenizer: tokenizer.clone().unbind(),
            text: text.unbind(),
            ids: Arc::clone(&ids),
            range: std::mem::replace(&mut start, end)..end,
            spans: OnceLock::new(),
        });
        PyList::new(slf.py(), tokens.collect::<Vec<_>>())
    }

    /// Return a bit set for each text, in which bit n says whether a token starts or ends at byte
    /// n.
    ///
    /// Texts must have at most 127 bytes.
    fn cuts(
        &self,
        texts: &Bound<'_, PyAny>,
        matchers: Option<&Matchers>,
        threads: usize,
    ) -> PyResult<Vec<u128>> {
        let read = self.reader(None).read_all(texts)?;
        let (inner, matchers) = self.with(matchers);
        detached(texts.py(), |interrupt| {
            inner.cuts(&read.slices(), matchers, threads, interrupt)
        })
    }

    /// Maximum memory of each worker's caches in bytes.
    #[getter]
    fn cache_memory(&self) -> usize {
        self.inner.cache_memory().bytes()
    }

    #[setter]
    fn set_cache_memory(&self, bytes: usize) {
        let memory = encode::CacheMemory::of_bytes(bytes);
        self.inner.set_cache_memory(memory);
    }

    /// Return the number of pre-tokens in all caches, and their memory in bytes.
    fn cache_stats(&self) -> (u64, u64) {
        let stats = self.inner.cache_stats();
        (stats.entries as u64, stats.bytes as u64)
    }

    /// Return the pre-tokens of a text.
    ///
    /// Returns the normalized and rewritten text; the byte ranges in it of the pre-tokens and of
    /// the added tokens between them; the ranges of both in the given text; and the ids of the
    /// added tokens, with None for pre-tokens.
    #[pyo3(signature = (text, matchers=None))]
    fn pre_tokens<'py>(
        &self,
        py: Python<'py>,
        text: &[u8],
        matchers: Option<&Matchers>,
    ) -> PyResult<PreTokens<'py>> {
        let (inner, matchers) = self.with(matchers);
        let found = py
            .detach(|| inner.pre_tokens(text, matchers))
            .map_err(to_python)?;
        let text = bytes(py, &found.text)?;
        Ok((text, found.ranges, found.places, found.added))
    }

    /// Segment one pre-token by the first `steps` merges: return ids, lengths and ranks of the
    /// merges made.
    ///
    /// The ranks are empty if the training removed tokens.
    fn replay(&self, py: Python<'_>, pre_token: &[u8], steps: u32) -> PyResult<Replayed> {
        let (segments, ranks) = match self.inner.segmenter() {
            Segmenter::Merges(merging) => {
                detached(py, |interrupt| merging.replay(pre_token, steps, interrupt))?
            }
            Segmenter::Events(events) => {
                let state = detached(py, |interrupt| events.state(pre_token, steps, interrupt))?;
                (state, Vec::new())
            }
            Segmenter::Demolition(merging) => {
                let state = detached(py, |interrupt| merging.state(pre_token, steps, interrupt))?;
                (state, Vec::new())
            }
            _ => return Err(invalid("this encoder has no merges".into())),
        };
        Ok((
            segments.iter().map(|segment| segment.id).collect(),
            segments.iter().map(|segment| segment.length).collect(),
            ranks,
        ))
    }

    /// Return the ranks of the supermerges that apply to a sequence of words, in order.
    fn supermerge_steps(&self, py: Python<'_>, words: Vec<u32>) -> PyResult<Vec<u32>> {
        match self.inner.segmenter().superwords() {
            Some(superwords) => detached(py, |interrupt| superwords.steps(&words, interrupt)),
            None => Ok(Vec::new()),
        }
    }

    /// Return (left, right, token), by rank, of the merges that segmenting `tokens` ever makes.
    fn made(&self, py: Python<'_>, tokens: Vec<(Vec<u8>, u32)>) -> PyResult<Vec<(u32, u32, u32)>> {
        let Segmenter::Merges(merging) = self.inner.segmenter() else {
            return Err(invalid("this encoder has no merges".into()));
        };
        detached(py, |interrupt| merging.made(&tokens, interrupt))
    }

    /// Return the `n` best segmentations of one pre-token, best first, as (ids, lengths, score).
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

    /// Return the logarithm of the total probability of all segmentations of one pre-token.
    fn total(&self, py: Python<'_>, pre_token: &[u8]) -> PyResult<f64> {
        let unigram = self.unigram()?;
        detached(py, |interrupt| unigram.total(pre_token, 1.0, interrupt))
    }

    /// Draw a segmentation of each pre-token with `seed`, and return (ids, lengths) of each.
    ///
    /// `ranges` are the byte ranges of the pre-tokens in `text`. See `Unigram::sample`.
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
    /// Build from normalizers, pre-tokenizers, settings and the learned tokens.
    pub fn of<T: AsRef<[u8]> + Send>(
        py: Python<'_>,
        (normalizers, pre_tokenizers): (&Bound<'_, PyAny>, &Bound<'_, PyAny>),
        settings: Settings,
        learned: Learned<T>,
    ) -> PyResult<Self> {
        let chain = normalizers::chain(py, normalizers)?;
        let pre_tokenizer = pretokenizers::pre_tokenizer(py, pre_tokenizers)?;
        let options = settings.options().map_err(to_python)?;
        let characters = options.units == Units::Characters;
        let segmenter = py
            .detach(|| Segmenter::new(&options, learned))
            .map_err(to_python)?;
        Ok(Encoder {
            inner: encode::Encoder::new(chain, pre_tokenizer, segmenter),
            characters,
            ints: Arc::default(),
        })
    }

    /// Return the core's encoder and matchers to use with `matchers`.
    pub(crate) fn with<'a>(
        &'a self,
        matchers: Option<&'a Matchers>,
    ) -> (&'a encode::Encoder, Option<&'a encode::Matchers>) {
        match matchers {
            Some(matchers) => (&matchers.encoder.get().inner, Some(&matchers.found)),
            None => (&self.inner, None),
        }
    }

    fn reader<'a, 'py>(&self, otherwise: Option<&'a Bound<'py, PyAny>>) -> Reader<'a, 'py> {
        Reader {
            utf8: self.characters,
            otherwise,
        }
    }

    /// Read a text; `as_bytes` of `tokenizer` reads what is not UTF-8.
    pub(crate) fn read(
        &self,
        text: &Bound<'_, PyAny>,
        tokenizer: &Bound<'_, PyAny>,
    ) -> PyResult<Text> {
        let otherwise = tokenizer.getattr("as_bytes")?;
        self.reader(Some(&otherwise)).read(text)
    }

    fn ids_of<N: IdNumber>(
        &self,
        text: &Bound<'_, PyAny>,
        how: (usize, usize),
        matchers: Option<&Matchers>,
        otherwise: Option<&Bound<'_, PyAny>>,
        strict: bool,
    ) -> PyResult<Ids<N>> {
        let read = self.reader(otherwise).read(text)?;
        self.ids_of_read(text.py(), &read, how, matchers, strict)
    }

    fn ids_of_read<N: IdNumber>(
        &self,
        py: Python<'_>,
        text: &Text,
        how: (usize, usize),
        matchers: Option<&Matchers>,
        strict: bool,
    ) -> PyResult<Ids<N>> {
        let (inner, matchers) = self.with(matchers);
        let text = text.as_ref();
        detached(py, |interrupt| {
            let mut ids = Ids::<N>::new(inner.buffers(), text.len());
            inner.ids_in_chunks(text, how, matchers, ids.as_mut_vec(), interrupt)?;
            match strict && ids.iter().any(|&id| id.into() == NO_ID) {
                true => Err(Error::NoId(0)),
                false => Ok(ids),
            }
        })
    }

    pub(crate) fn flat_of<N: IdNumber>(
        &self,
        texts: &Bound<'_, PyAny>,
        threads: usize,
        matchers: Option<&Matchers>,
        otherwise: Option<&Bound<'_, PyAny>>,
        strict: bool,
    ) -> PyResult<RaggedIds<N>> {
        let read = self.reader(otherwise).read_all(texts)?;
        let (inner, matchers) = self.with(matchers);
        detached(texts.py(), |interrupt| {
            let texts = read.slices();
            let flat = inner.batch(&texts, threads, matchers, interrupt)?;
            match strict.then(|| flat.first_with(NO_ID)).flatten() {
                Some(text) => Err(Error::NoId(text)),
                None => Ok(flat),
            }
        })
    }

    fn unigram(&self) -> PyResult<&Unigram> {
        match self.inner.segmenter() {
            Segmenter::Unigram(unigram) => Ok(unigram),
            _ => Err(invalid(
                "only unigram models have scored segmentations".into(),
            )),
        }
    }
}

/// (text, id, (single word, strip left, strip right, longest first), (normalized, literal),
/// refused)
type AddedRow = (Vec<u8>, u32, (bool, bool, bool, bool), (bool, bool), bool);

/// Added tokens that an encoding call looks for. See `tokctl_core::encode::Matchers`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Matchers {
    found: encode::Matchers,
    /// Encoder of the text between the added tokens. Where special tokens are allowed, its model
    /// can also make them from text, unlike the model of the main encoder.
    encoder: Py<Encoder>,
}

#[pymethods]
impl Matchers {
    #[new]
    fn new(py: Python<'_>, encoder: Py<Encoder>, tokens: Vec<AddedRow>) -> PyResult<Self> {
        let inner = &encoder.get().inner;
        let found = py.detach(|| {
            let chain = inner.normalizers();
            let (mut raw, mut normalized) = (Vec::new(), Vec::new());
            for (mut text, id, around, (in_normalized, literal), refused) in tokens {
                let (single_word, strip_left, strip_right, longest_first) = around;
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
                    refused,
                    longest_first,
                });
            }
            encode::Matchers::new(raw, normalized)
        });
        let found = found.map_err(to_python)?;
        Ok(Matchers { found, encoder })
    }
}

fn ids_and_lengths(segments: &[Segment]) -> (Vec<u32>, Vec<u32>) {
    let ids = segments.iter().map(|segment| segment.id).collect();
    (ids, segments.iter().map(|segment| segment.length).collect())
}

fn columns(tokens: &[Token]) -> Columns {
    (
        tokens.iter().map(|token| token.id).collect(),
        tokens.iter().map(|token| token.start).collect(),
        tokens.iter().map(|token| token.end).collect(),
        tokens.iter().map(|token| token.pre_token).collect(),
    )
}
