use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::count;

use crate::options;

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
    fn new(pre_tokenizer: &str, normalizers: Vec<String>, threads: usize) -> PyResult<Self> {
        Ok(Counter(Some(count::Counter::new(
            options::pre_tokenizer(pre_tokenizer)?,
            options::normalizers(normalizers)?,
            threads,
        ))))
    }

    fn feed(&mut self, py: Python<'_>, block: &[u8]) -> PyResult<()> {
        let counter = self.open()?;
        py.detach(|| counter.feed(block));
        Ok(())
    }

    fn end_document(&mut self, py: Python<'_>) -> PyResult<()> {
        let counter = self.open()?;
        py.detach(|| counter.end_document());
        Ok(())
    }

    fn add(&mut self, pre_token: &[u8], count: u64) -> PyResult<()> {
        self.open()?.add(pre_token, count);
        Ok(())
    }

    fn finish(&mut self, py: Python<'_>, min_count: u64) -> PyResult<Counts> {
        self.open()?;
        let counter = self.0.take();
        Ok(Counts(py.detach(|| {
            counter
                .map(|counter| counter.finish(min_count))
                .unwrap_or_default()
        })))
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

    fn items<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, u64)> {
        let items = self.0.iter();
        items
            .map(|(text, count)| (PyBytes::new(py, text), count))
            .collect()
    }
}
