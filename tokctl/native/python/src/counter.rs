//! Counting pre-tokens, with temporary files that Python provides where memory is limited.

use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokctl_core::count::{Scratch, Store};
use tokctl_core::encode::{EventReplay, Merging, RemovalEvents};
use tokctl_core::model::{Alphabet, Merges, Strings, NO_ID};
use tokctl_core::train::TrainingEvents;
use tokctl_core::unicode::well_formed;
use tokctl_core::{count, Error, Result};

use crate::columns::{ArrowBuffer, TextColumn};
use crate::errors::{self, bytes, detached, invalid, to_python};
use crate::ids::{offsets, pack_u64};
use crate::texts::{Reader, Texts};
use crate::trainer::Training;
use crate::{normalizers, pretokenizers};

/// Pre-tokens that [`Counter::feed_counts`] gives to the threads at a time.
const FED_TOGETHER: usize = 1 << 16;

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
            .ok_or_else(|| invalid("this counter is finished".into()))
    }

    /// Works without the GIL; what Python raises about its temporary files comes back.
    fn work<T: Send>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(&mut count::Counter) -> Result<T> + Send,
    ) -> PyResult<T> {
        let counter = self.open()?;
        let result = py.detach(|| work(counter));
        result.map_err(|error| self.raised.take().unwrap_or_else(|| to_python(error)))
    }
}

#[pymethods]
impl Counter {
    #[new]
    /// With `words` runs of them are counted, not pre-tokens.
    #[pyo3(signature = (pre_tokenizers, normalizers, threads, *, memory=None, store=None, words=None))]
    fn new(
        py: Python<'_>,
        pre_tokenizers: &Bound<'_, PyAny>,
        normalizers: &Bound<'_, PyAny>,
        threads: usize,
        memory: Option<u64>,
        store: Option<Py<PyAny>>,
        words: Option<&RunWords>,
    ) -> PyResult<Self> {
        let raised = Raised::default();
        let pre_tokenizer = pretokenizers::pre_tokenizer(py, pre_tokenizers)?;
        let chain = normalizers::chain(py, normalizers)?;
        let mut counter = count::Counter::new(pre_tokenizer, chain, threads);
        if let (Some(bytes), Some(store)) = (memory, store) {
            let raised = raised.clone();
            counter = counter.within(count::Limit {
                bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
                store: Arc::new(PythonStore { store, raised }),
            });
        }
        if let Some(words) = words {
            counter = counter.of_runs(words.words.clone());
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
        let texts = texts.slices();
        self.work(py, |counter| {
            counter.feed_documents(&texts, weights.as_deref())
        })
    }

    /// Counts each pre-token of `counts` as a document that comes so many times: what these
    /// pre-tokens are when they are split further.
    fn feed_counts(&mut self, py: Python<'_>, counts: &Counts) -> PyResult<()> {
        self.work(py, |counter| {
            let (mut texts, mut times): (Vec<&[u8]>, Vec<u64>) = (Vec::new(), Vec::new());
            for (at, (text, count)) in counts.0.iter().enumerate() {
                texts.push(text);
                times.push(count);
                if texts.len() == FED_TOGETHER || at + 1 == counts.0.len() {
                    counter.feed_documents(&texts, Some(&times))?;
                    texts.clear();
                    times.clear();
                }
            }
            Ok(())
        })
    }

    fn end_document(&mut self, py: Python<'_>) -> PyResult<()> {
        self.work(py, count::Counter::end_document)
    }

    fn go_on(&mut self) -> PyResult<()> {
        self.open()?.go_on();
        Ok(())
    }

    fn end_part(&mut self, py: Python<'_>) -> PyResult<()> {
        self.work(py, count::Counter::end_part)
    }

    fn cut(&mut self, py: Python<'_>, text: &[u8]) -> PyResult<Option<usize>> {
        self.work(py, |counter| counter.cut(text))
    }

    fn add(&mut self, pre_token: &[u8], count: u64) -> PyResult<()> {
        let added = self.open()?.add(pre_token, count);
        added.map_err(|error| self.raised.take().unwrap_or_else(|| to_python(error)))
    }

    fn set_weight(&mut self, weight: u64) -> PyResult<()> {
        self.open()?.set_weight(weight);
        Ok(())
    }

    /// See `tokctl_core::count::Counter::take`.
    fn take(&mut self, py: Python<'_>) -> PyResult<Counts> {
        self.work(py, |counter| {
            let counts = counter.take()?;
            counts.check().map(|()| Counts(counts))
        })
    }

    /// See `tokctl_core::count::Counter::bytes`.
    fn memory(&mut self) -> PyResult<usize> {
        Ok(self.open()?.bytes())
    }

    /// `progress` is called with the bytes of sorted runs that are merged, and with those of all
    /// runs.
    #[pyo3(signature = (min_count, progress=None))]
    fn finish(
        &mut self,
        py: Python<'_>,
        min_count: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Counts> {
        self.open()?;
        let counter = self.counter.take();
        let call = move |py: Python<'_>, (done, total): (u64, u64)| match &progress {
            Some(progress) => progress.call1(py, (done, total)).map(drop),
            None => Ok(()),
        };
        let counts = errors::watched_by(py, call, |report| {
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
fn read(texts: &Bound<'_, PyAny>, numbers: Option<&[u64]>) -> PyResult<Texts> {
    let reader = Reader {
        utf8: false,
        otherwise: None,
    };
    let texts = reader.read_all(texts)?;
    if numbers.is_some_and(|numbers| numbers.len() != texts.len()) {
        return Err(invalid("each text has one count".into()));
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
    let texts = texts.slices();
    let stream = py.detach(|| count::framed(&texts, counts.as_deref()));
    bytes(py, &stream)
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

    /// All pre-tokens end to end, where each begins and the last one ends, and their counts: as
    /// numbers of 64 bits.
    #[allow(clippy::type_complexity)]
    fn columns<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(
        Bound<'py, PyBytes>,
        Bound<'py, PyBytes>,
        Bound<'py, PyBytes>,
    )> {
        let (text, ends, counts) = self.0.columns();
        let counts = pack_u64(py, counts.len(), counts.iter().copied())?;
        Ok((bytes(py, text)?, offsets(py, ends)?, counts))
    }

    /// The pre-tokens that occur at least so often.
    fn at_least(&self, py: Python<'_>, least: u64) -> Self {
        Counts(py.detach(|| self.0.at_least(least)))
    }

    /// The first pre-token that is not UTF-8.
    fn first_not_utf8<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let mut texts = self.0.iter().map(|(text, _)| text);
        let found = texts.find(|text| well_formed(text).is_none());
        found.map(|text| PyBytes::new(py, text))
    }

    fn items<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, u64)> {
        let items = self.0.iter();
        items
            .map(|(text, count)| (PyBytes::new(py, text), count))
            .collect()
    }
}

/// Counts, and of each pre-token the source and the place where it was first seen.
type Placed<'py> = (Counts, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// A table of counts: its pre-tokens, their counts, their sources and their places.
type Table = (Py<TextColumn>, ArrowBuffer, ArrowBuffer, ArrowBuffer);

/// All rows of some tables; ValueError unless the columns of each are of the same length.
fn rows(tables: &[Table]) -> PyResult<impl Iterator<Item = count::CountedText<'_>>> {
    let mut rows = Vec::with_capacity(tables.len());
    for (texts, counts, sources, places) in tables {
        let texts = texts.get();
        let length = texts.__len__();
        let first = sources.numbers(length)?.zip(places.numbers(length)?);
        let numbers = counts.numbers(length)?.zip(first);
        let row = |(text, (count, first))| count::CountedText { text, count, first };
        rows.push(texts.iter().zip(numbers).map(row));
    }
    Ok(rows.into_iter().flatten())
}

/// The counts of some tables together; see `tokctl_core::count::merge`.
#[pyfunction]
pub fn merge_counts<'py>(py: Python<'py>, tables: Vec<Table>) -> PyResult<Placed<'py>> {
    let rows = rows(&tables)?;
    let merged = errors::detached(py, |interrupt| count::merge(rows, interrupt))?;
    let packed = |numbers: &[u64]| pack_u64(py, numbers.len(), numbers.iter().copied());
    let (sources, places) = (packed(&merged.sources)?, packed(&merged.places)?);
    Ok((Counts(merged.counts), sources, places))
}

/// The counts of tables that come as lists, each with the next stretch of places, and with each
/// pre-token once: see `tokctl_core::count::Collected`. There are so many rows, and bytes of all
/// pre-tokens.
#[pyfunction]
pub fn collect_counts(
    py: Python<'_>,
    stretches: &Bound<'_, PyAny>,
    pre_tokens: usize,
    size: usize,
) -> PyResult<Counts> {
    let mut collected = count::Collected::with_capacity(pre_tokens, size).map_err(to_python)?;
    for tables in stretches.try_iter()? {
        let tables: Vec<Table> = tables?.extract()?;
        let rows = rows(&tables)?;
        let count = tables.iter().map(|table| table.0.get().__len__()).sum();
        errors::detached(py, |_| collected.add(rows, count))?;
    }
    detached(py, |_| collected.finish()).map(Counts)
}

/// The words of which runs are counted; see `tokctl_core::count::RunWords`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct RunWords {
    words: Arc<count::RunWords>,
    /// See `tokctl_core::train::FirstPhase`.
    pub whole_after: Vec<u32>,
}

#[pymethods]
impl RunWords {
    /// The words among the tokens of a byte-level training from the id `first` on: those that are
    /// one token where they are a pre-token.
    #[new]
    fn new(py: Python<'_>, training: &Training, first: u32) -> PyResult<Self> {
        let model = &training.model.get().0;
        let mut whole_after = vec![0; model.tokens.len()];
        // Where nothing is removed, each token is made once.
        for (after, merge) in (1..).zip(&model.merges) {
            whole_after[merge.2 as usize] = after;
        }
        detached(py, move |interrupt| {
            if let Some(events) = &training.events {
                let replay = replay(&model.tokens, events)?;
                for (after, token) in whole_after.iter_mut().zip(model.tokens.iter()) {
                    *after = replay
                        .one_token_after(token, interrupt)?
                        .unwrap_or(u32::MAX);
                }
            }
            let tokens = (0..).zip(model.tokens.iter()).skip(first as usize);
            let whole = tokens.filter(|&(id, _)| whole_after[id as usize] < u32::MAX);
            let words = count::RunWords::new(whole.map(|(id, token)| (token, id)));
            Ok(RunWords {
                words: Arc::new(words),
                whole_after,
            })
        })
    }
}

/// What a training of BoundlessBPE that took tokens away does to a pre-token.
fn replay(tokens: &Strings, events: &TrainingEvents) -> Result<EventReplay> {
    let mut bytes = [NO_ID; 256];
    for (id, token) in (0..).zip(tokens.iter()) {
        if let &[byte] = token {
            bytes[byte as usize] = id;
        }
    }
    let alphabet = Alphabet::bytes(|byte| Some(bytes[byte[0] as usize]));
    let merges = events.merges.iter();
    let removals = events.removals.iter();
    let events = RemovalEvents {
        size: tokens.len() as u32,
        removed: events.removed.len() as u32,
        merges: merges.map(|m| (m.left, m.right, m.token)).collect(),
        removals: removals.map(|r| (r.step, r.token)).collect(),
    };
    EventReplay::new(Merging::new(alphabet, Merges::default()), events, true)
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

/// An exception that Python has raised while the core was at work.
#[derive(Clone, Default)]
struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn keep<T>(&self, result: PyResult<T>) -> Result<T> {
        result.map_err(|error| {
            if let Ok(mut slot) = self.0.lock() {
                slot.get_or_insert(error);
            }
            Error::Interrupted
        })
    }

    /// The exception, if there is one.
    fn take(&self) -> Option<PyErr> {
        self.0.lock().ok().and_then(|mut slot| slot.take())
    }
}

/// A Python object whose `scratch()` gives objects with `append(bytes)` and `read(at, size)`.
struct PythonStore {
    store: Py<PyAny>,
    raised: Raised,
}

impl Store for PythonStore {
    fn scratch(&self) -> Result<Box<dyn Scratch>> {
        let made = Python::attach(|py| self.store.call_method0(py, "scratch"));
        let file = self.raised.keep(made)?;
        let raised = self.raised.clone();
        Ok(Box::new(PythonScratch { file, raised }))
    }
}

struct PythonScratch {
    file: Py<PyAny>,
    raised: Raised,
}

impl Scratch for PythonScratch {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let written = Python::attach(|py| {
            // Ctrl-C is heard between two blocks, too.
            py.check_signals()?;
            let bytes = PyBytes::new(py, bytes);
            self.file.call_method1(py, "append", (bytes,)).map(drop)
        });
        self.raised.keep(written)
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
        let read = Python::attach(|py| {
            let bytes = self.file.call_method1(py, "read", (at, buffer.len()))?;
            let bytes = bytes.bind(py).cast::<PyBytes>()?.as_bytes();
            let same = bytes.len() == buffer.len();
            if same {
                buffer.copy_from_slice(bytes);
            }
            Ok(same)
        });
        match self.raised.keep(read)? {
            true => Ok(()),
            false => Err(Error::Invalid("a temporary file has become shorter".into())),
        }
    }
}
