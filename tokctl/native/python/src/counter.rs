use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::{count, Error};

use crate::errors::to_python;
use crate::scratch::{PythonStore, Raised};
use crate::texts::{Reader, Text};
use crate::{interrupt, normalizers, pretokenizers};

/// Counts pre-tokens block by block; see `tokctl_core::count::Counter`.
#[pyclass(module = "tokctl._native")]
pub struct Counter {
    counter: Option<count::Counter>,
    raised: Raised,
}

impl Counter {
    fn open(&mut self) -> PyResult<&mut count::Counter> {
        self.counter
            .as_mut()
            .ok_or_else(|| crate::errors::invalid("this counter is finished".into()))
    }

    /// Works without the GIL; what Python raises about its temporary files comes back.
    fn work<T: Send>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(&mut count::Counter) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let counter = self.open()?;
        let result = py.detach(|| work(counter));
        result.map_err(|error| self.raised.take().unwrap_or_else(|| to_python(error)))
    }
}

#[pymethods]
impl Counter {
    #[new]
    #[pyo3(signature = (pre_tokenizers, normalizers, threads, *, memory=None, store=None))]
    fn new(
        py: Python<'_>,
        pre_tokenizers: &Bound<'_, PyAny>,
        normalizers: &Bound<'_, PyAny>,
        threads: usize,
        memory: Option<u64>,
        store: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let pre_tokenizer = pretokenizers::pre_tokenizer(py, pre_tokenizers)?;
        let chain = normalizers::chain(py, normalizers)?;
        let mut counter = count::Counter::new(pre_tokenizer, chain, threads);
        if let (Some(bytes), Some(given)) = (memory, store) {
            let raised = raised.clone();
            counter = counter.within(count::Limit {
                bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
                store: Arc::new(PythonStore { given, raised }),
            });
        }
        let counter = Some(counter);
        Ok(Counter { counter, raised })
    }

    fn feed(&mut self, py: Python<'_>, block: &[u8]) -> PyResult<()> {
        self.work(py, |counter| counter.feed(block))
    }

    #[pyo3(signature = (texts, weights=None))]
    fn feed_documents(
        &mut self,
        py: Python<'_>,
        texts: &Bound<'_, PyAny>,
        weights: Option<Vec<u64>>,
    ) -> PyResult<()> {
        let texts = read(texts, weights.as_deref())?;
        let texts: Vec<&[u8]> = texts.iter().map(AsRef::as_ref).collect();
        self.work(py, |counter| {
            counter.feed_documents(&texts, weights.as_deref())
        })
    }

    fn end_document(&mut self, py: Python<'_>) -> PyResult<()> {
        self.work(py, count::Counter::end_document)
    }

    fn add(&mut self, pre_token: &[u8], count: u64) -> PyResult<()> {
        let added = self.open()?.add(pre_token, count);
        added.map_err(|error| self.raised.take().unwrap_or_else(|| to_python(error)))
    }

    fn set_weight(&mut self, weight: u64) -> PyResult<()> {
        self.open()?.set_weight(weight);
        Ok(())
    }

    /// `progress` is told bytes of sorted runs that are merged, and of all of them.
    #[pyo3(signature = (min_count, progress=None))]
    fn finish(
        &mut self,
        py: Python<'_>,
        min_count: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Counts> {
        self.open()?;
        let counter = self.counter.take();
        let tell = move |py: Python<'_>, (done, total): (u64, u64)| match &progress {
            Some(progress) => progress.call1(py, (done, total)).map(drop),
            None => Ok(()),
        };
        let counts = interrupt::watched_by(py, tell, |report| {
            let counts = match counter {
                Some(counter) => {
                    counter.finish_watched(min_count, &mut |done, total| report((done, total)))?
                }
                None => count::Counts::default(),
            };
            counts.check().map(|()| counts)
        });
        let counts = counts.map(Counts);
        counts.map_err(|error| self.raised.take().unwrap_or(error))
    }
}

/// Texts where they stand; as many as there are `numbers`.
fn read(texts: &Bound<'_, PyAny>, numbers: Option<&[u64]>) -> PyResult<Vec<Text>> {
    let reader = Reader {
        utf8: false,
        otherwise: None,
    };
    let texts = reader.read_all(texts)?;
    if numbers.is_some_and(|numbers| numbers.len() != texts.len()) {
        return Err(crate::errors::invalid("each text has one count".into()));
    }
    Ok(texts)
}

/// Documents as one stream of bytes; see `tokctl_core::count::framed`.
#[pyfunction]
#[pyo3(signature = (texts, counts=None))]
pub fn framed<'py>(
    py: Python<'py>,
    texts: &Bound<'py, PyAny>,
    counts: Option<Vec<u64>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let texts = read(texts, counts.as_deref())?;
    let texts: Vec<&[u8]> = texts.iter().map(AsRef::as_ref).collect();
    let stream = py.detach(|| count::framed(&texts, counts.as_deref()));
    Ok(PyBytes::new(py, &stream))
}

/// Distinct pre-tokens with their counts, in first-seen order.
#[pyclass(module = "tokctl._native", frozen)]
pub struct Counts(pub count::Counts);

#[pymethods]
impl Counts {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn total(&self) -> u64 {
        self.0.total()
    }

    /// Bytes that they take in memory.
    fn memory(&self) -> usize {
        self.0.bytes()
    }

    /// One `word<TAB>count` per line, as `CountLines` reads them: of the pre-tokens from
    /// number `start` to before `stop`.
    #[pyo3(signature = (start=0, stop=None))]
    fn to_lines<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        stop: Option<usize>,
    ) -> Bound<'py, PyBytes> {
        let stop = stop.map_or(self.0.len(), |stop| stop.min(self.0.len()));
        let lines = py.detach(|| self.0.lines_of(start.min(stop)..stop));
        PyBytes::new(py, &lines)
    }

    fn items<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, u64)> {
        let items = self.0.iter();
        items
            .map(|(text, count)| (PyBytes::new(py, text), count))
            .collect()
    }
}

/// Reads `word<TAB>count` lines into a counter.
#[pyclass(module = "tokctl._native")]
pub struct CountLines(count::CountLines);

#[pymethods]
impl CountLines {
    #[new]
    fn new(characters: bool) -> Self {
        CountLines(count::CountLines::new(characters))
    }

    fn feed(&mut self, py: Python<'_>, block: &[u8], counter: &mut Counter) -> PyResult<()> {
        counter.work(py, |counter| self.0.feed(block, counter))
    }

    fn end(&mut self, py: Python<'_>, counter: &mut Counter) -> PyResult<()> {
        counter.work(py, |counter| self.0.end(counter))
    }
}

/// Keeps a share of the lines; see `tokctl_core::count::LineSampler`.
#[pyclass(module = "tokctl._native")]
pub struct LineSampler(count::LineSampler);

#[pymethods]
impl LineSampler {
    #[new]
    fn new(share: (u64, u64), seed: u64) -> Self {
        LineSampler(count::LineSampler::new(share, seed))
    }

    fn keep<'py>(&mut self, py: Python<'py>, block: &[u8]) -> Bound<'py, PyBytes> {
        let kept = py.detach(|| self.0.keep(block));
        PyBytes::new(py, &kept)
    }

    /// Which of so many documents are kept, each as a whole.
    fn choose(&mut self, documents: usize) -> Vec<bool> {
        (0..documents).map(|_| self.0.choose()).collect()
    }

    fn end_document(&mut self) {
        self.0.end_document();
    }
}

/// Is a text UTF-8? See `tokctl_core::count::Utf8Check`.
#[pyclass(module = "tokctl._native")]
#[derive(Default)]
pub struct Utf8Check(count::Utf8Check);

#[pymethods]
impl Utf8Check {
    #[new]
    fn new() -> Self {
        Utf8Check::default()
    }

    /// The line and the byte where it is not, if that is in this block.
    fn feed(&mut self, py: Python<'_>, block: &[u8]) -> Option<(u64, u64)> {
        py.detach(|| self.0.feed(block)).err()
    }

    fn end(&self) -> Option<(u64, u64)> {
        self.0.end().err()
    }
}
