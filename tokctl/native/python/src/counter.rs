//! Counting of pre-tokens, with temporary files from Python where memory is limited.

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

/// Number of pre-tokens that [`Counter::feed_counts`] gives to the threads at a time.
const FED_TOGETHER: usize = 1 << 16;

/// Counter of pre-tokens that takes text block by block.
///
/// See `tokctl_core::count::Counter`.
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

    /// Run `work` without the GIL. If Python raised an exception about its temporary files, return
    /// it.
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
    /// Create a counter. With `words`, count runs of these words instead of pre-tokens.
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

    /// Count the next block of the current document.
    fn feed(&mut self, py: Python<'_>, block: &[u8]) -> PyResult<()> {
        self.work(py, |counter| counter.feed(block))
    }

    /// Count whole documents, each as often as its weight (None: once).
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

    /// Count each pre-token of `counts` as a document that occurs as often as its count.
    ///
    /// Used to split these pre-tokens further.
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

    /// End the current document, and count the text that was held back.
    fn end_document(&mut self, py: Python<'_>) -> PyResult<()> {
        self.work(py, count::Counter::end_document)
    }

    /// Continue a document whose beginning, up to a `cut`, is given to another counter.
    fn go_on(&mut self) -> PyResult<()> {
        self.open()?.go_on();
        Ok(())
    }

    /// End a part of a document whose rest is given to another counter.
    fn end_part(&mut self, py: Python<'_>) -> PyResult<()> {
        self.work(py, count::Counter::end_part)
    }

    /// Return the first offset where a document may be divided between two counters, or None.
    fn cut(&mut self, py: Python<'_>, text: &[u8]) -> PyResult<Option<usize>> {
        self.work(py, |counter| counter.cut(text))
    }

    /// Add a pre-token that the caller has split off and counted.
    fn add(&mut self, pre_token: &[u8], count: u64) -> PyResult<()> {
        let added = self.open()?.add(pre_token, count);
        added.map_err(|error| self.raised.take().unwrap_or_else(|| to_python(error)))
    }

    /// Set how often each occurrence counts from now on. Call it between two documents.
    fn set_weight(&mut self, weight: u64) -> PyResult<()> {
        self.open()?.set_weight(weight);
        Ok(())
    }

    /// Take the counts so far out of the counter. See `tokctl_core::count::Counter::take`.
    fn take(&mut self, py: Python<'_>) -> PyResult<Counts> {
        self.work(py, |counter| {
            let counts = counter.take()?;
            counts.check().map(|()| Counts(counts))
        })
    }

    /// Return the bytes that the tables take. See `tokctl_core::count::Counter::bytes`.
    fn memory(&mut self) -> PyResult<usize> {
        Ok(self.open()?.bytes())
    }

    /// Return all counts of at least `min_count`, in first-seen order. The counter can't be used
    /// again.
    ///
    /// `progress` is called with the number of bytes of sorted runs merged so far, and of all runs.
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

/// Read texts without copying them. There must be as many as `numbers`, if given.
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

/// Return documents as one stream of bytes. See `tokctl_core::count::framed`.
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

    /// Return the sum of all counts.
    fn total(&self) -> u64 {
        self.0.total()
    }

    /// Return the bytes that the counts take in memory.
    fn memory(&self) -> usize {
        self.0.bytes()
    }

    /// Return one `word<TAB>count` line per pre-token, as `CountLines` reads them.
    ///
    /// Only pre-tokens from number `start` to before `stop` are included.
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

    /// Return all pre-tokens end to end, their offsets (with the end of the last), and their
    /// counts.
    ///
    /// Offsets and counts are 64-bit numbers in native byte order.
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

    /// Return the pre-tokens with a count of at least `least`.
    fn at_least(&self, py: Python<'_>, least: u64) -> Self {
        Counts(py.detach(|| self.0.at_least(least)))
    }

    /// Return the first pre-token that is not UTF-8, or None.
    fn first_not_utf8<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let mut texts = self.0.iter().map(|(text, _)| text);
        let found = texts.find(|text| well_formed(text).is_none());
        found.map(|text| PyBytes::new(py, text))
    }

    /// Return a list of (pre-token, count).
    fn items<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, u64)> {
        let items = self.0.iter();
        items
            .map(|(text, count)| (PyBytes::new(py, text), count))
            .collect()
    }
}

/// Counts; for each pre-token, the source where it was first seen; and its first position there.
type Placed<'py> = (Counts, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Table of counts: pre-tokens, counts, sources and first positions.
type Table = (Py<TextColumn>, ArrowBuffer, ArrowBuffer, ArrowBuffer);

/// Iterate over all rows of some tables. Raise ValueError unless the columns of each table have
/// equal lengths.
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

/// Merge tables of counts. See `tokctl_core::count::merge`.
#[pyfunction]
pub fn merge_counts<'py>(py: Python<'py>, tables: Vec<Table>) -> PyResult<Placed<'py>> {
    let rows = rows(&tables)?;
    let merged = errors::detached(py, |interrupt| count::merge(rows, interrupt))?;
    let packed = |numbers: &[u64]| pack_u64(py, numbers.len(), numbers.iter().copied());
    let (sources, places) = (packed(&merged.sources)?, packed(&merged.places)?);
    Ok((Counts(merged.counts), sources, places))
}

/// Collect the counts of tables that come in lists.
///
/// Each list has the next range of first positions, and each pre-token occurs once. `pre_tokens` is
/// the number of rows, and `size` the total length of all pre-tokens in bytes. See
/// `tokctl_core::count::Collected`.
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

/// Words of which runs are counted. See `tokctl_core::count::RunWords`.
#[pyclass(module = "tokctl._native", frozen)]
pub struct RunWords {
    words: Arc<count::RunWords>,
    /// See `tokctl_core::train::FirstPhase`.
    pub whole_after: Vec<u32>,
}

#[pymethods]
impl RunWords {
    /// Collect the words among the tokens of a byte-level training, from the id `first` on.
    ///
    /// A word is a token that is a single token when it is a pre-token.
    #[new]
    fn new(py: Python<'_>, training: &Training, first: u32) -> PyResult<Self> {
        let model = &training.model.get().0;
        let mut whole_after = vec![0; model.tokens.len()];
        // Without removals, each token is made once.
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

/// Return the replay of a BoundlessBPE training with removals on a pre-token.
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

/// Reader of `word<TAB>count` lines into a counter.
#[pyclass(module = "tokctl._native")]
pub struct CountLines(count::CountLines);

#[pymethods]
impl CountLines {
    /// Create a reader. With `characters`, words must be UTF-8.
    #[new]
    fn new(characters: bool) -> Self {
        CountLines(count::CountLines::new(characters))
    }

    /// Add the lines that end in this block to `counter`.
    fn feed(&mut self, py: Python<'_>, block: &[u8], counter: &mut Counter) -> PyResult<()> {
        counter.work(py, |counter| self.0.feed(block, counter))
    }

    /// Add the last line, if no line feed ended it.
    fn end(&mut self, py: Python<'_>, counter: &mut Counter) -> PyResult<()> {
        counter.work(py, |counter| self.0.end(counter))
    }
}

/// Sampler that keeps a share of the lines. See `tokctl_core::count::LineSampler`.
#[pyclass(module = "tokctl._native")]
pub struct LineSampler(count::LineSampler);

#[pymethods]
impl LineSampler {
    #[new]
    fn new(share: (u64, u64), seed: u64) -> Self {
        LineSampler(count::LineSampler::new(share, seed))
    }

    /// Return the bytes of a block that are in kept lines.
    fn keep<'py>(&mut self, py: Python<'py>, block: &[u8]) -> Bound<'py, PyBytes> {
        let kept = py.detach(|| self.0.keep(block));
        PyBytes::new(py, &kept)
    }

    /// Return, for each of the next `documents` documents, whether it is kept as a whole.
    fn choose(&mut self, documents: usize) -> Vec<bool> {
        (0..documents).map(|_| self.0.choose()).collect()
    }

    /// End the document: the next block starts a new line.
    fn end_document(&mut self) {
        self.0.end_document();
    }
}

/// Check whether a text is UTF-8. See `tokctl_core::count::Utf8Check`.
#[pyclass(module = "tokctl._native")]
#[derive(Default)]
pub struct Utf8Check(count::Utf8Check);

#[pymethods]
impl Utf8Check {
    #[new]
    fn new() -> Self {
        Utf8Check::default()
    }

    /// Return (line, byte) of the first ill-formed sequence if this block shows one, else None.
    ///
    /// Lines count from 1, bytes from 0.
    fn feed(&mut self, py: Python<'_>, block: &[u8]) -> Option<(u64, u64)> {
        py.detach(|| self.0.feed(block)).err()
    }

    /// End the text. Return (line, byte) if it ends inside a character, else None.
    fn end(&self) -> Option<(u64, u64)> {
        self.0.end().err()
    }
}

/// First exception that Python raised while the core was working.
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

    /// Take the exception, if there is one.
    fn take(&self) -> Option<PyErr> {
        self.0.lock().ok().and_then(|mut slot| slot.take())
    }
}

/// Python object whose `scratch()` returns objects with `append(bytes)` and `read(at, size)`.
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
            // Checks for Ctrl-C between two blocks, too.
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
