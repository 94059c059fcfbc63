//! Documents that come in blocks, to arrays of their ids.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::encode::{BlockEncoder, Context, Cuts, IdSink};

use crate::encoder::{offsets, Encoder};
use crate::id_array::IdArray;
use crate::interrupt::detached;
use crate::matchers::Matchers;
use crate::written_ids::cuts_named;

/// The first text with a character that has no id: the line that it starts in, from 0, and its
/// bytes.
type MissingId<'py> = Option<(u64, Bound<'py, PyBytes>)>;

/// See `tokctl_core::encode::{BlockEncoder, IdSink}`.
#[pyclass(module = "tokctl._native")]
pub struct IdCollector {
    encoder: Py<Encoder>,
    matchers: Option<Py<Matchers>>,
    threads: usize,
    blocks: BlockEncoder,
    sink: IdSink,
}

#[pymethods]
impl IdCollector {
    /// `cuts`: `lines` or `pieces`; `separator` is put behind each document.
    #[new]
    #[pyo3(signature = (encoder, matchers, *, cuts, threads, separator=None))]
    fn new(
        encoder: Py<Encoder>,
        matchers: Option<Py<Matchers>>,
        cuts: &str,
        threads: usize,
        separator: Option<u32>,
    ) -> PyResult<Self> {
        let cuts = cuts_named(cuts)?;
        Ok(IdCollector {
            encoder,
            matchers,
            threads,
            blocks: BlockEncoder::new(cuts),
            sink: IdSink::new(cuts == Cuts::Lines, separator),
        })
    }

    /// Takes the next block of a text; with `last` the text ends there.
    #[pyo3(signature = (block, last=false))]
    fn feed<'py>(&mut self, py: Python<'py>, block: &[u8], last: bool) -> PyResult<MissingId<'py>> {
        let encoder = &self.encoder.get().inner;
        let matchers = self.matchers.as_ref().map(|matchers| &matchers.get().0);
        let (threads, blocks, sink) = (self.threads, &mut self.blocks, &mut self.sink);
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

    /// Takes whole documents.
    fn add(&mut self, texts: &Bound<'_, PyAny>) -> PyResult<()> {
        let encoder = self.encoder.get();
        let matchers = self.matchers.as_ref().map(|matchers| matchers.get());
        let flat = encoder.flat_of(texts, self.threads, matchers, None, true)?;
        self.sink.add(flat);
        Ok(())
    }

    /// Documents that have ended, and whose ids were not taken.
    fn documents(&self) -> usize {
        self.sink.documents()
    }

    /// Their ids, and where those of each begin, as `Encoder.batch_array` has them.
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<(IdArray, Bound<'py, PyBytes>)> {
        let flat = self.sink.take();
        let numbers = Arc::clone(&self.encoder.get().numbers);
        Ok((IdArray::of(flat.ids, numbers), offsets(py, &flat.ends)?))
    }
}
