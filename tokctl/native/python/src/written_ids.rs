//! Texts that come in blocks, to ids as they are written.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::encode::{BlockEncoder, ByteSink, Context, Cuts, Form};

use crate::encoder::Encoder;
use crate::errors::invalid;
use crate::interrupt::detached;
use crate::matchers::Matchers;

/// What is written, the number of tokens, and the first text with a character that has no id:
/// the line that it starts in, from 0, and its bytes.
type Written<'py> = (Bound<'py, PyBytes>, u64, Option<(u64, Bound<'py, PyBytes>)>);

/// See `tokctl_core::encode::{BlockEncoder, ByteSink}`.
#[pyclass(module = "tokctl._native")]
pub struct IdWriter {
    encoder: Py<Encoder>,
    matchers: Option<Py<Matchers>>,
    threads: usize,
    blocks: BlockEncoder,
    /// What was written last.
    sink: ByteSink,
}

#[pymethods]
impl IdWriter {
    /// `cuts`: `lines`, `pieces` or `nowhere`. `form`: `decimal`, `16` and `32` (bits), or
    /// `counted`. `last_id` is put behind each line.
    #[new]
    #[pyo3(signature = (encoder, matchers, *, cuts, form, threads, last_id=None))]
    fn new(
        encoder: Py<Encoder>,
        matchers: Option<Py<Matchers>>,
        cuts: &str,
        form: &str,
        threads: usize,
        last_id: Option<u32>,
    ) -> PyResult<Self> {
        let cuts = cuts_named(cuts)?;
        let form = form_named(form)?;
        Ok(IdWriter {
            encoder,
            matchers,
            threads,
            blocks: BlockEncoder::new(cuts),
            sink: ByteSink::new(form, cuts == Cuts::Lines, last_id),
        })
    }

    /// What the next part of the text, `block[start:end]`, completes; with `last` it ends there.
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
        let encoder = &self.encoder.get().inner;
        let matchers = self.matchers.as_ref().map(|matchers| &matchers.get().0);
        let (threads, blocks, sink) = (self.threads, &mut self.blocks, &mut self.sink);
        sink.clear();
        let missing = detached(py, |interrupt| {
            let context = Context {
                encoder,
                matchers,
                threads,
                interrupt,
            };
            blocks.feed(&context, block, last, sink)
        })?;
        let missing = missing.map(|found| (found.line, PyBytes::new(py, &found.text)));
        Ok((PyBytes::new(py, &sink.bytes), sink.tokens, missing))
    }

    /// Of lines in a packed form: how many ids stand before the end of each line, of those that
    /// `feed` gave last; 64-bit numbers in the processor's order.
    fn ends<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        numbers(py, &self.sink.ends)
    }

    /// Bytes that were fed and not yet encoded.
    #[getter]
    fn waiting(&self) -> usize {
        self.blocks.waiting()
    }
}

/// `decimal`, `16` and `32` (bits), or `counted`.
pub fn form_named(form: &str) -> PyResult<Form> {
    match form {
        "decimal" => Ok(Form::Decimal),
        "16" => Ok(Form::Packed16),
        "32" => Ok(Form::Packed32),
        "counted" => Ok(Form::Counted),
        _ => Err(invalid(format!("ids can't be written as {form}"))),
    }
}

/// 64-bit numbers in the processor's order.
pub fn numbers<'py>(py: Python<'py>, numbers: &[u64]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, 8 * numbers.len(), |out| {
        for (out, number) in out.chunks_exact_mut(8).zip(numbers) {
            out.copy_from_slice(&number.to_ne_bytes());
        }
        Ok(())
    })
}

pub fn cuts_named(name: &str) -> PyResult<Cuts> {
    match name {
        "lines" => Ok(Cuts::Lines),
        "pieces" => Ok(Cuts::Pieces),
        "nowhere" => Ok(Cuts::Nowhere),
        _ => Err(invalid(format!("a text can't be cut at {name}"))),
    }
}
