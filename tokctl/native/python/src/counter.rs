use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::count;

use crate::errors::to_python;
use crate::{normalizers, pretokenizers};

/// Counts pre-tokens block by block; see `tokctl_core::count::Counter`.
#[pyclass(module = "tokctl._native")]
pub struct Counter(Option<count::Counter>);

impl Counter {
    fn open(&mut self) -> PyResult<&mut count::Counter> {
        self.0
            .as_mut()
            .ok_or_else(|| crate::errors::invalid("this counter is finished".into()))
    }
}

#[pymethods]
impl Counter {
    #[new]
    fn new(
        py: Python<'_>,
        pre_tokenizers: &Bound<'_, PyAny>,
        normalizers: &Bound<'_, PyAny>,
        threads: usize,
    ) -> PyResult<Self> {
        Ok(Counter(Some(count::Counter::new(
            pretokenizers::pre_tokenizer(py, pre_tokenizers)?,
            normalizers::chain(py, normalizers)?,
            threads,
        ))))
    }

    fn feed(&mut self, py: Python<'_>, block: &[u8]) -> PyResult<()> {
        let counter = self.open()?;
        py.detach(|| counter.feed(block)).map_err(to_python)
    }

    fn end_document(&mut self, py: Python<'_>) -> PyResult<()> {
        let counter = self.open()?;
        py.detach(|| counter.end_document()).map_err(to_python)
    }

    fn add(&mut self, pre_token: &[u8], count: u64) -> PyResult<()> {
        self.open()?.add(pre_token, count);
        Ok(())
    }

    fn set_weight(&mut self, weight: u64) -> PyResult<()> {
        self.open()?.set_weight(weight);
        Ok(())
    }

    fn finish(&mut self, py: Python<'_>, min_count: u64) -> PyResult<Counts> {
        self.open()?;
        let counter = self.0.take();
        let counts = py.detach(|| {
            let counts = match counter {
                Some(counter) => counter.finish(min_count)?,
                None => count::Counts::default(),
            };
            counts.check().map(|()| counts)
        });
        counts.map(Counts).map_err(to_python)
    }
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

    /// One `word<TAB>count` per line, as `CountLines` reads them.
    fn to_lines<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let lines = py.detach(|| self.0.to_lines());
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
        let counter = counter.open()?;
        py.detach(|| self.0.feed(block, counter)).map_err(to_python)
    }

    fn end(&mut self, py: Python<'_>, counter: &mut Counter) -> PyResult<()> {
        let counter = counter.open()?;
        py.detach(|| self.0.end(counter)).map_err(to_python)
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
