//! Encoding of texts that come in blocks, to bytes of a file or to arrays of ids.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyBytes;
use tokctl_core::encode::{self, BlockEncoder, ByteSink, Context, Cuts, Form, IdSink, Sink};

use crate::encoder::{Encoder, Matchers};
use crate::errors::{bytes, detached, invalid, to_python};
use crate::ids::{offsets, pack_u64, IdArray, IdBits};

/// The first text with a character that has no id: the number of the line where it starts, from 0,
/// and its bytes.
type MissingId<'py> = Option<(u64, Bound<'py, PyBytes>)>;

/// Written bytes, number of tokens, and the first text that lacks an id.
type Written<'py> = (Bound<'py, PyBytes>, u64, MissingId<'py>);

/// Text that comes in blocks, and its encoder.
struct BlockSource {
    encoder: Py<Encoder>,
    matchers: Option<Py<Matchers>>,
    threads: usize,
    blocks: BlockEncoder,
}

impl BlockSource {
    fn new(
        encoder: Py<Encoder>,
        matchers: Option<Py<Matchers>>,
        cuts: Cuts,
        threads: usize,
    ) -> Self {
        BlockSource {
            encoder,
            matchers,
            threads,
            blocks: BlockEncoder::new(cuts),
        }
    }

    fn feed<'py>(
        &mut self,
        py: Python<'py>,
        block: &[u8],
        last: bool,
        sink: &mut impl Sink,
    ) -> PyResult<MissingId<'py>> {
        let (encoder, matchers) = (self.encoder.get()).with(self.matchers.as_ref().map(Py::get));
        let (threads, blocks) = (self.threads, &mut self.blocks);
        let missing = detached(py, |interrupt| {
            let context = Context {
                encoder,
                matchers,
                threads,
                interrupt,
            };
            blocks.feed(&context, block, last, sink)
        })?;
        Ok(missing.map(|found| (found.line, PyBytes::new(py, &found.text))))
    }
}

/// Encoder of texts in blocks to bytes of a file.
///
/// See `tokctl_core::encode::{BlockEncoder, ByteSink}`.
#[pyclass(module = "tokctl._native")]
pub struct IdWriter {
    source: BlockSource,
    /// Sink with the bytes written last.
    sink: ByteSink,
}

#[pymethods]
impl IdWriter {
    /// Create a writer.
    ///
    /// `cuts` says where the text may be cut: `lines`, `pieces` or `nowhere`. `last_id` is added
    /// after each line, or after the text.
    #[new]
    #[pyo3(signature = (encoder, matchers, *, cuts, form, threads, last_id=None))]
    fn new(
        encoder: Py<Encoder>,
        matchers: Option<Py<Matchers>>,
        cuts: &str,
        form: FormGiven,
        threads: usize,
        last_id: Option<u32>,
    ) -> PyResult<Self> {
        let cuts = cuts_named(cuts)?;
        let form = form.form()?;
        Ok(IdWriter {
            source: BlockSource::new(encoder, matchers, cuts, threads),
            sink: ByteSink::new(form, cuts == Cuts::Lines, last_id),
        })
    }

    /// Encode the next part of the text, `block[start:end]`, and return what is complete.
    ///
    /// Returns the bytes, the number of tokens, and the first text that lacks an id (or None). With
    /// `last`, the text ends with this part.
    #[pyo3(signature = (block, last=false, start=0, end=None))]
    fn feed<'py>(
        &mut self,
        py: Python<'py>,
        block: &[u8],
        last: bool,
        start: usize,
        end: Option<usize>,
    ) -> PyResult<Written<'py>> {
        let end = end.map_or(block.len(), |end| end.min(block.len()));
        let block = block.get(start..end).unwrap_or_default();
        self.sink.clear();
        let missing = self.source.feed(py, block, last, &mut self.sink)?;
        let written = bytes(py, &self.sink.bytes)?;
        Ok((written, self.sink.tokens, missing))
    }

    /// Return the number of ids before the end of each line, for the lines returned by the last
    /// `feed`.
    ///
    /// Only for lines in a packed form. The numbers have 64 bits in native byte order.
    fn ends<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        pack_u64(py, self.sink.ends.len(), self.sink.ends.iter().copied())
    }

    /// Number of bytes that were fed and not yet encoded.
    #[getter]
    fn waiting(&self) -> usize {
        self.source.blocks.waiting()
    }
}

/// Names of the tokens, to write instead of ids.
///
/// See `tokctl_core::encode::TokenNames`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct TokenNames(Arc<encode::TokenNames>);

#[pymethods]
impl TokenNames {
    /// Create the names. `names` are by id, as they are written; with `json` they are JSON strings.
    #[new]
    fn new(py: Python<'_>, names: Vec<PyBackedBytes>, json: bool) -> Self {
        py.detach(|| TokenNames(Arc::new(encode::TokenNames::new(names, json))))
    }
}

/// Form of the written ids: `decimal`, `16` and `32` (bits), `counted`, or token names.
#[derive(FromPyObject)]
pub enum FormGiven<'py> {
    Named(PyRef<'py, TokenNames>),
    Numbers(PyBackedStr),
}

impl FormGiven<'_> {
    pub fn form(&self) -> PyResult<Form> {
        match self {
            FormGiven::Named(names) => Ok(Form::Named(Arc::clone(&names.0))),
            FormGiven::Numbers(name) => match &**name {
                "decimal" => Ok(Form::Decimal),
                "16" => Ok(Form::Packed16),
                "32" => Ok(Form::Packed32),
                "counted" => Ok(Form::Counted),
                name => Err(invalid(format!("ids can't be written as {name}"))),
            },
        }
    }
}

/// Return the cuts with this name.
pub fn cuts_named(name: &str) -> PyResult<Cuts> {
    match name {
        "lines" => Ok(Cuts::Lines),
        "pieces" => Ok(Cuts::Pieces),
        "nowhere" => Ok(Cuts::Nowhere),
        _ => Err(invalid(format!("a text can't be cut at {name}"))),
    }
}

/// Encoder of texts in blocks to arrays of ids.
///
/// See `tokctl_core::encode::{BlockEncoder, IdSink, Sink}`.
#[pyclass(module = "tokctl._native")]
pub struct IdCollector {
    source: BlockSource,
    sink: Collected,
}

/// Sink of 16-bit or 32-bit ids.
enum Collected {
    Narrow(IdSink<u16>),
    Wide(IdSink<u32>),
}

#[pymethods]
impl IdCollector {
    /// Create a collector. `cuts` is `lines` or `pieces`; `separator` is added after each document.
    #[new]
    #[pyo3(signature = (encoder, matchers, *, cuts, threads, separator=None, bits=IdBits::Wide))]
    fn new(
        encoder: Py<Encoder>,
        matchers: Option<Py<Matchers>>,
        cuts: &str,
        threads: usize,
        separator: Option<u32>,
        bits: IdBits,
    ) -> PyResult<Self> {
        let cuts = cuts_named(cuts)?;
        let lines = cuts == Cuts::Lines;
        Ok(IdCollector {
            source: BlockSource::new(encoder, matchers, cuts, threads),
            sink: match bits {
                IdBits::Narrow => Collected::Narrow(IdSink::new(lines, separator)),
                IdBits::Wide => Collected::Wide(IdSink::new(lines, separator)),
            },
        })
    }

    /// Encode the next block of a text; with `last`, the text ends with this block.
    #[pyo3(signature = (block, last=false))]
    fn feed<'py>(&mut self, py: Python<'py>, block: &[u8], last: bool) -> PyResult<MissingId<'py>> {
        match &mut self.sink {
            Collected::Narrow(sink) => self.source.feed(py, block, last, sink),
            Collected::Wide(sink) => self.source.feed(py, block, last, sink),
        }
    }

    /// Encode whole documents.
    fn add(&mut self, texts: &Bound<'_, PyAny>) -> PyResult<()> {
        let source = &self.source;
        let matchers = source.matchers.as_ref().map(Py::get);
        let (encoder, threads) = (source.encoder.get(), source.threads);
        match &mut self.sink {
            Collected::Narrow(sink) => {
                sink.add(encoder.flat_of(texts, threads, matchers, None, true)?)
            }
            Collected::Wide(sink) => {
                sink.add(encoder.flat_of(texts, threads, matchers, None, true)?)
            }
        }
        .map_err(to_python)
    }

    /// Return the number of documents that have ended, and whose ids were not taken.
    fn documents(&self) -> usize {
        match &self.sink {
            Collected::Narrow(sink) => sink.documents(),
            Collected::Wide(sink) => sink.documents(),
        }
    }

    /// Take the ids of the ended documents, with the offset of each document, as
    /// `Encoder.batch_array` does.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<(IdArray, Bound<'py, PyBytes>)> {
        let ints = Arc::clone(&self.source.encoder.get().ints);
        let (ids, ends) = match &mut self.sink {
            Collected::Narrow(sink) => {
                let flat = sink.take();
                (IdArray::of(flat.ids, ints), flat.ends)
            }
            Collected::Wide(sink) => {
                let flat = sink.take();
                (IdArray::of(flat.ids, ints), flat.ends)
            }
        };
        Ok((ids, offsets(py, &ends)?))
    }
}
