//! Counting within a limit of memory.
//!
//! A table that is full is sorted by its pre-tokens and written outside of memory as a run. The
//! runs are merged. The sums are then sorted by the first position of each pre-token, in memory or
//! again in runs.
//!
//! A run is a sequence of records. A record is the length of the pre-token, its count, its first
//! position, each in groups of seven bits (LEB128), and its bytes.

use std::sync::Arc;

use hashbrown::DefaultHashBuilder;

use super::counts::Counts;
use super::table::CountTable;
use crate::error::{Error, Result};
use crate::key_batch::KeyBatch;

/// Storage outside of memory, for example a temporary file: bytes are appended, and read from
/// anywhere.
pub trait Scratch: Send + Sync {
    /// Append bytes at the end.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;
    /// Fill the buffer with the bytes from offset `at` on.
    fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()>;
}

/// Source of storage; dropping the storage frees it.
pub trait Store: Send + Sync {
    /// Create empty storage.
    fn scratch(&self) -> Result<Box<dyn Scratch>>;
}

/// Pre-token with its count and its first position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'t> {
    pub text: &'t [u8],
    pub count: u64,
    pub first: u64,
}

/// Most bytes of a record's three numbers.
const LONGEST_HEAD: usize = 30;

/// Bytes that are written at a time.
const WRITTEN: usize = 1 << 18;

fn put_number(buffer: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        buffer.push(number as u8 | 0x80);
        number >>= 7;
    }
    buffer.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Result<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or_else(damaged)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(damaged())
}

fn damaged() -> Error {
    Error::Invalid("a temporary file was changed after it was written".into())
}

/// Runs in one storage.
pub struct Shelf {
    scratch: Box<dyn Scratch>,
    length: u64,
    /// Ends of the runs, as offsets.
    ends: Vec<u64>,
}

impl Shelf {
    pub fn new(store: &dyn Store) -> Result<Self> {
        Ok(Shelf {
            scratch: store.scratch()?,
            length: 0,
            ends: Vec::new(),
        })
    }

    /// Return the bytes of all runs.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Add a run that `write` fills.
    pub fn add(&mut self, write: impl FnOnce(&mut RunWriter) -> Result<()>) -> Result<()> {
        let mut writer = RunWriter {
            shelf: self,
            buffer: Vec::with_capacity(WRITTEN / 4),
        };
        write(&mut writer)?;
        writer.flush()?;
        self.ends.push(self.length);
        Ok(())
    }

    /// Return readers of the runs, with buffers of `size` bytes.
    pub fn readers(&self, size: usize) -> impl Iterator<Item = RunReader<'_>> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(move |(start, &end)| RunReader {
            scratch: self.scratch.as_ref(),
            at: start,
            end,
            size,
            buffer: Vec::new(),
            from: 0,
            length: 0,
            count: 0,
            first: 0,
        })
    }
}

/// Writer of one run.
pub struct RunWriter<'s> {
    shelf: &'s mut Shelf,
    buffer: Vec<u8>,
}

impl RunWriter<'_> {
    pub fn put(&mut self, record: Record) -> Result<()> {
        put_number(&mut self.buffer, record.text.len() as u64);
        put_number(&mut self.buffer, record.count);
        put_number(&mut self.buffer, record.first);
        self.buffer.extend_from_slice(record.text);
        if self.buffer.len() >= WRITTEN {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.shelf.scratch.append(&self.buffer)?;
            self.shelf.length += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// Reader of one run, record by record.
pub struct RunReader<'s> {
    scratch: &'s dyn Scratch,
    /// Offset of the next read.
    at: u64,
    /// Offset of the end of the run.
    end: u64,
    /// Bytes that are read at a time.
    size: usize,
    buffer: Vec<u8>,
    /// End of the current record in the buffer.
    from: usize,
    length: usize,
    count: u64,
    first: u64,
}

impl RunReader<'_> {
    /// Go to the next record, at first to the first one, and return its bytes in the run.
    ///
    /// Returns None at the end of the run.
    pub fn advance(&mut self) -> Result<Option<usize>> {
        self.fill(LONGEST_HEAD)?;
        let mut head = &self.buffer[self.from..];
        let before = head.len();
        if before == 0 {
            return Ok(None);
        }
        let length = take_number(&mut head)?;
        self.length = usize::try_from(length).map_err(|_| damaged())?;
        self.count = take_number(&mut head)?;
        self.first = take_number(&mut head)?;
        let taken = before - head.len();
        self.from += taken;
        self.fill(self.length)?;
        if self.buffer.len() - self.from < self.length {
            return Err(damaged());
        }
        self.from += self.length;
        Ok(Some(taken + self.length))
    }

    /// Return the current record.
    pub fn record(&self) -> Record<'_> {
        Record {
            text: &self.buffer[self.from - self.length..self.from],
            count: self.count,
            first: self.first,
        }
    }

    /// Fill the buffer to at least `wanted` unread bytes, if the run has them.
    fn fill(&mut self, wanted: usize) -> Result<()> {
        let there = self.buffer.len() - self.from;
        if there >= wanted || self.at == self.end {
            return Ok(());
        }
        self.buffer.drain(..self.from);
        self.from = 0;
        let more = (wanted - there).max(self.size) as u64;
        let more = more.min(self.end - self.at) as usize;
        self.buffer.resize(there + more, 0);
        self.scratch.read(self.at, &mut self.buffer[there..])?;
        self.at += more as u64;
        Ok(())
    }
}

/// Runs that are merged at a time: each has a buffer, and the disk moves between them.
pub const MAX_RUNS: usize = 64;

/// Least and most bytes of a run's buffer.
const BUFFERS: (usize, usize) = (1 << 12, 1 << 20);

/// Records that are merged between two calls of the progress callback.
const RECORDS_PER_REPORT: u32 = 1 << 12;

/// Sort order of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By the bytes of the pre-tokens.
    Text,
    /// By first positions.
    Place,
}

/// Callback that gets the bytes read from the runs; the work stops if it returns false.
pub type MergeProgress<'a> = &'a mut dyn FnMut(u64) -> bool;

/// Merge of the records of some runs in their order, with equal pre-tokens next to each other.
struct RunMerge<'s> {
    readers: Vec<RunReader<'s>>,
    /// Heap of the runs that are not at their end, the least record at the top.
    ///
    /// An entry is the first eight bytes of the record's sort key, and the number of the run.
    heap: Vec<(u64, usize)>,
    order: Order,
    /// Bytes read so far.
    read: u64,
}

impl<'s> RunMerge<'s> {
    fn new(readers: Vec<RunReader<'s>>, order: Order) -> Result<Self> {
        let mut merge = RunMerge {
            heap: Vec::with_capacity(readers.len()),
            readers,
            order,
            read: 0,
        };
        for at in 0..merge.readers.len() {
            if let Some(bytes) = merge.readers[at].advance()? {
                merge.read += bytes as u64;
                merge.heap.push((merge.start(at), at));
            }
        }
        for at in (0..merge.heap.len() / 2).rev() {
            merge.sink(at);
        }
        Ok(merge)
    }

    /// Return the first eight bytes of the sort key of a run's record.
    fn start(&self, reader: usize) -> u64 {
        let record = self.readers[reader].record();
        match self.order {
            Order::Place => record.first,
            Order::Text => match record.text.first_chunk() {
                Some(&bytes) => u64::from_be_bytes(bytes),
                None => {
                    let mut bytes = [0; 8];
                    bytes[..record.text.len()].copy_from_slice(record.text);
                    u64::from_be_bytes(bytes)
                }
            },
        }
    }

    fn is_before(&self, one: usize, other: usize) -> bool {
        let ((start, at), (other_start, other_at)) = (self.heap[one], self.heap[other]);
        let text = |at: usize| self.readers[at].record().text;
        start
            .cmp(&other_start)
            .then_with(|| text(at).cmp(text(other_at)))
            .is_lt()
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let mut least = at;
            if left < self.heap.len() && self.is_before(left, least) {
                least = left;
            }
            if right < self.heap.len() && self.is_before(right, least) {
                least = right;
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// Return the least record.
    fn record(&self) -> Option<Record<'_>> {
        let &(_, reader) = self.heap.first()?;
        Some(self.readers[reader].record())
    }

    fn advance(&mut self) -> Result<()> {
        let Some(&(_, reader)) = self.heap.first() else {
            return Ok(());
        };
        match self.readers[reader].advance()? {
            Some(bytes) => {
                self.read += bytes as u64;
                self.heap[0] = (self.start(reader), reader);
            }
            None => {
                self.heap.swap_remove(0);
            }
        }
        self.sink(0);
        Ok(())
    }
}

/// Call `each` once for each pre-token of the runs, with the sum of its counts and its least
/// position.
fn merged(
    readers: Vec<RunReader>,
    order: Order,
    progress: MergeProgress,
    mut each: impl FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut merge = RunMerge::new(readers, order)?;
    let mut text = Vec::new();
    let mut until_report = RECORDS_PER_REPORT;
    while let Some(record) = merge.record() {
        text.clear();
        text.extend_from_slice(record.text);
        let (mut count, mut first) = (record.count, record.first);
        merge.advance()?;
        while let Some(same) = merge.record().filter(|record| record.text == text) {
            // A count that 64 bits can't hold is refused when the counting ends.
            count = same.count.saturating_add(count);
            first = same.first.min(first);
            merge.advance()?;
        }
        let text = &text[..];
        each(Record { text, count, first })?;
        until_report -= 1;
        if until_report == 0 {
            until_report = RECORDS_PER_REPORT;
            if !progress(merge.read) {
                return Err(Error::Interrupted);
            }
        }
    }
    Ok(())
}

/// Merge the runs of all shelves, in several passes if there are too many.
///
/// `memory` is the number of bytes for the buffers. `progress` gets the bytes read and the bytes to
/// read.
pub fn merge_all(
    mut shelves: Vec<Shelf>,
    order: Order,
    store: &dyn Store,
    memory: usize,
    progress: &mut dyn FnMut(u64, u64) -> bool,
    each: impl FnMut(Record) -> Result<()>,
) -> Result<()> {
    let size = (memory / (MAX_RUNS + 1)).clamp(BUFFERS.0, BUFFERS.1);
    let length = |shelves: &[Shelf]| shelves.iter().map(Shelf::length).sum::<u64>();
    let runs: usize = shelves
        .iter()
        .map(|shelf| shelf.readers(size).count())
        .sum();
    let passes = std::iter::successors(Some(runs), |&runs| Some(runs.div_ceil(MAX_RUNS)));
    let mut left = passes.take_while(|&runs| runs > MAX_RUNS).count() as u64;
    let mut done = 0;
    while left > 0 {
        let bytes = length(&shelves);
        let total = done + bytes * (left + 1);
        let mut readers = shelves
            .iter()
            .flat_map(|shelf| shelf.readers(size))
            .peekable();
        let mut next = Shelf::new(store)?;
        while readers.peek().is_some() {
            let some: Vec<_> = readers.by_ref().take(MAX_RUNS).collect();
            let before = next.length();
            next.add(|run| {
                let mut report = |read| progress(done + before + read, total);
                merged(some, order, &mut report, |record| run.put(record))
            })?;
        }
        drop(readers);
        // The merged runs are freed before the next pass takes new storage.
        shelves = vec![next];
        done += bytes;
        left -= 1;
    }
    let total = done + length(&shelves);
    let readers = shelves.iter().flat_map(|shelf| shelf.readers(size));
    let mut report = |read| progress(done + read, total);
    merged(readers.collect(), order, &mut report, each)
}

#[derive(Debug, Clone, Copy)]
struct PlacedRecord {
    first: u64,
    count: u64,
    start: usize,
    length: usize,
}

/// Sorter of pre-tokens, which come in any order, by their first positions.
pub struct ByPlace<'s> {
    store: &'s dyn Store,
    /// Bytes that may wait in memory.
    most: usize,
    entries: Vec<PlacedRecord>,
    text: Vec<u8>,
    shelf: Option<Shelf>,
    /// Number of pre-tokens taken, and their bytes.
    taken: (usize, usize),
}

impl<'s> ByPlace<'s> {
    pub fn new(store: &'s dyn Store, most: usize) -> Self {
        ByPlace {
            store,
            most,
            entries: Vec::new(),
            text: Vec::new(),
            shelf: None,
            taken: (0, 0),
        }
    }

    pub fn put(&mut self, record: Record) -> Result<()> {
        self.entries.push(PlacedRecord {
            first: record.first,
            count: record.count,
            start: self.text.len(),
            length: record.text.len(),
        });
        self.text.extend_from_slice(record.text);
        self.taken.0 += 1;
        self.taken.1 += record.text.len();
        if size_of_val(&self.entries[..]) + self.text.len() > self.most {
            self.spill()?;
        }
        Ok(())
    }

    fn sort(&mut self) {
        self.entries.sort_unstable_by_key(|entry| entry.first);
    }

    fn spill(&mut self) -> Result<()> {
        self.sort();
        let shelf = match &mut self.shelf {
            Some(shelf) => shelf,
            none => none.insert(Shelf::new(self.store)?),
        };
        shelf.add(|run| {
            self.entries.iter().try_for_each(|entry| {
                run.put(Record {
                    text: &self.text[entry.start..entry.start + entry.length],
                    count: entry.count,
                    first: entry.first,
                })
            })
        })?;
        self.entries.clear();
        self.text.clear();
        Ok(())
    }

    /// Return all pre-tokens in the order of their positions; `progress` as in [`merge_all`].
    pub fn finish(mut self, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<Counts> {
        let (pre_tokens, bytes) = self.taken;
        if self.shelf.is_none() {
            self.sort();
            let mut counts = Counts::with_capacity(pre_tokens, bytes);
            for entry in &self.entries {
                let text = &self.text[entry.start..entry.start + entry.length];
                counts.push(text, entry.count);
            }
            return Ok(counts);
        }
        self.spill()?;
        // Memory is freed before the counts take theirs.
        let shelves = self.shelf.take().into_iter().collect();
        let (store, most) = (self.store, self.most);
        drop(self);
        let mut counts = Counts::with_capacity(pre_tokens, bytes);
        merge_all(shelves, Order::Place, store, most, progress, |record| {
            counts.push(record.text, record.count);
            Ok(())
        })?;
        Ok(counts)
    }
}

/// Memory that counting may take, and the storage for the rest.
#[derive(Clone)]
pub struct Limit {
    /// Bytes of all tables, and of the memory that merging them needs.
    pub bytes: usize,
    pub store: Arc<dyn Store>,
}

/// Counts of one thread: its table, and the runs that it has written.
pub struct Tally {
    pub table: CountTable,
    /// Pre-tokens on their way to the table.
    pub(super) batch: Box<KeyBatch>,
    /// Most bytes of the table; None for no limit.
    most: Option<usize>,
    store: Option<Arc<dyn Store>>,
    shelf: Option<Shelf>,
}

impl Tally {
    /// Create one tally for each thread; tables that will be merged share a hasher.
    pub fn some(threads: usize, limit: Option<&Limit>) -> Vec<Self> {
        let hasher = DefaultHashBuilder::default();
        let tally = |_| Tally {
            table: CountTable::with_hasher(hasher.clone()),
            batch: Box::default(),
            // A quarter is left for texts and writing.
            most: limit.map(|limit| limit.bytes / 4 * 3 / threads),
            store: limit.map(|limit| limit.store.clone()),
            shelf: None,
        };
        (0..threads).map(tally).collect()
    }

    /// Write the table to a run if it is full.
    #[inline]
    pub fn check(&mut self) -> Result<()> {
        match self.most {
            Some(most) if self.table.bytes_soon() > most => self.spill(),
            _ => Ok(()),
        }
    }

    fn spill(&mut self) -> Result<()> {
        let (Some(store), false) = (&self.store, self.table.is_empty()) else {
            return Ok(());
        };
        let shelf = match &mut self.shelf {
            Some(shelf) => shelf,
            none => none.insert(Shelf::new(store.as_ref())?),
        };
        self.table.sort();
        shelf.add(|run| self.table.sorted(|record| run.put(record)))?;
        self.table.reset(self.most.unwrap_or(usize::MAX));
        Ok(())
    }
}

/// Return all counts of at least `min_count` of all tables and runs, by first positions.
///
/// `progress` gets the bytes of runs that are merged, and the total. The work stops if it returns
/// false.
pub fn finish(
    mut tallies: Vec<Tally>,
    limit: Option<&Limit>,
    min_count: u64,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Counts> {
    let spilled = tallies.iter().any(|tally| tally.shelf.is_some());
    let tables = || tallies.iter().map(|tally| &tally.table);
    if let Some(limit) = limit {
        if spilled || CountTable::bytes_together(tables()) > limit.bytes {
            tallies.iter_mut().try_for_each(Tally::spill)?;
            let shelves = tallies.iter_mut().filter_map(|tally| tally.shelf.take());
            let shelves = shelves.collect();
            drop(tallies);
            return merge(shelves, limit, min_count, progress);
        }
    }
    let mut tables = tallies.into_iter().map(|tally| tally.table);
    let mut table = tables.next().expect("a counter has a table");
    for other in tables {
        table.absorb(&other);
    }
    Ok(table.into_counts(min_count))
}

fn merge(
    shelves: Vec<Shelf>,
    limit: &Limit,
    min_count: u64,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Counts> {
    let (store, half) = (limit.store.as_ref(), limit.bytes / 2);
    let mut by_place = ByPlace::new(store, half);
    merge_all(
        shelves,
        Order::Text,
        store,
        half,
        progress,
        |record| match record.count >= min_count {
            true => by_place.put(record),
            false => Ok(()),
        },
    )?;
    by_place.finish(progress)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Storage in memory.
    pub struct MemoryStore;

    impl Store for MemoryStore {
        fn scratch(&self) -> Result<Box<dyn Scratch>> {
            Ok(Box::new(MemoryScratch(Vec::new())))
        }
    }

    struct MemoryScratch(Vec<u8>);

    impl Scratch for MemoryScratch {
        fn append(&mut self, bytes: &[u8]) -> Result<()> {
            self.0.extend_from_slice(bytes);
            Ok(())
        }

        fn read(&self, at: u64, buffer: &mut [u8]) -> Result<()> {
            let at = at as usize;
            buffer.copy_from_slice(&self.0[at..at + buffer.len()]);
            Ok(())
        }
    }

    #[test]
    fn records_come_back_whatever_is_read_at_a_time() {
        let long = vec![b'x'; 3 * WRITTEN];
        let numbers = [0, 1, 127, 128, 1 << 14, u64::MAX >> 1, u64::MAX];
        let mut shelf = Shelf::new(&MemoryStore).unwrap();
        for text in [&b""[..], b"a", &long, b"\xFF\0"] {
            let put = |run: &mut RunWriter| {
                numbers.iter().try_for_each(|&number| {
                    let (count, first) = (number, u64::MAX - number);
                    run.put(Record { text, count, first })
                })
            };
            shelf.add(put).unwrap();
        }
        for size in [1, 7, 100, 1 << 20] {
            let mut found = 0;
            let mut taken = 0;
            for (mut reader, length) in shelf.readers(size).zip([0, 1, long.len(), 2]) {
                for number in numbers {
                    taken += reader.advance().unwrap().unwrap() as u64;
                    let record = reader.record();
                    assert_eq!((record.count, record.first), (number, u64::MAX - number));
                    assert_eq!(record.text.len(), length);
                    found += 1;
                }
                assert_eq!(reader.advance(), Ok(None));
                assert_eq!(reader.advance(), Ok(None));
            }
            assert_eq!((found, taken), (28, shelf.length()));
        }
    }

    #[test]
    fn what_was_changed_is_an_error_or_other_records() {
        for bytes in [&b"\x05\x01\x01abc"[..], b"\x80", &[0xFF; 40], b"\x05\x01"] {
            let shelf = Shelf {
                scratch: Box::new(MemoryScratch(bytes.to_vec())),
                length: bytes.len() as u64,
                ends: vec![bytes.len() as u64],
            };
            let mut reader = shelf.readers(16).next().unwrap();
            assert!(reader.advance().is_err(), "{bytes:?}");
        }
    }
}

#[cfg(test)]
mod merge_tests {
    use std::collections::BTreeMap;

    use super::tests::MemoryStore;
    use super::*;
    use crate::random::random_below;

    /// Counts and first positions by pre-token.
    type Sums = BTreeMap<Vec<u8>, (u64, u64)>;

    /// Return sorted runs of random words, and the sums of their records.
    fn runs(number: usize) -> (Vec<Shelf>, Sums) {
        let mut below = random_below(number as u64);
        let mut all = Sums::new();
        let mut shelves: Vec<_> = (0..2).map(|_| Shelf::new(&MemoryStore).unwrap()).collect();
        for run in 0..number {
            let mut words = BTreeMap::new();
            for _ in 0..below(20) {
                let length = below(12);
                let word: Vec<u8> = (0..length).map(|_| below(3) as u8).collect();
                words.insert(word, (below(100) as u64, below(1000) as u64));
            }
            let put = |writer: &mut super::RunWriter| {
                words.iter().try_for_each(|(text, &(count, first))| {
                    writer.put(Record { text, count, first })
                })
            };
            shelves[run % 2].add(put).unwrap();
            for (word, (count, first)) in words {
                let sum = all.entry(word).or_insert((0, u64::MAX));
                *sum = (sum.0 + count, sum.1.min(first));
            }
        }
        (shelves, all)
    }

    #[test]
    fn any_number_of_runs_comes_to_the_same() {
        for number in [0, 1, 2, 63, 64, 65, 128, 129, 1000, 4200] {
            let (shelves, expected) = runs(number);
            let (mut found, mut last) = (Vec::new(), (0, 0));
            let mut progress = |done, total| {
                assert!(done <= total && (done, 0) >= (last.0, 0), "{done} {total}");
                last = (done, total);
                true
            };
            merge_all(
                shelves,
                Order::Text,
                &MemoryStore,
                1,
                &mut progress,
                |record| {
                    found.push((record.text.to_vec(), (record.count, record.first)));
                    Ok(())
                },
            )
            .unwrap();
            assert!(
                found == expected.into_iter().collect::<Vec<_>>(),
                "{number}"
            );
        }
    }

    #[test]
    fn the_caller_can_stop() {
        let (shelves, all) = runs(4200);
        assert!(all.len() > RECORDS_PER_REPORT as usize / 2);
        let mut never = |_, _| false;
        let merged = merge_all(
            shelves,
            Order::Text,
            &MemoryStore,
            1,
            &mut never,
            |_| Ok(()),
        );
        assert_eq!(merged, Err(Error::Interrupted));
    }
}

#[cfg(test)]
mod by_place_tests {
    use super::tests::MemoryStore;
    use super::*;

    #[test]
    fn the_order_is_that_of_the_places_whatever_fits() {
        // 7919 is prime: each position comes once.
        let words: Vec<_> = (0..3000u64).map(|n| (n * 7919 % 3000, n)).collect();
        for most in [1, 100, 5000, 1 << 30] {
            let mut sorting = ByPlace::new(&MemoryStore, most);
            for &(first, count) in &words {
                let text = first.to_string().into_bytes();
                let text = &text[..];
                sorting.put(Record { text, count, first }).unwrap();
            }
            let counts = sorting.finish(&mut |_, _| true).unwrap();
            assert_eq!(counts.len(), 3000);
            for (place, (text, count)) in counts.iter().enumerate() {
                assert_eq!(text, place.to_string().as_bytes());
                assert_eq!(count * 7919 % 3000, place as u64);
            }
        }
    }
}

#[cfg(test)]
mod tally_tests {
    use super::tests::MemoryStore;
    use super::*;
    use crate::count::Counter;
    use crate::normalize::Chain;
    use crate::pretokenize::Scanner;
    use crate::random::random_below;

    /// Return words of one to thirty letters, many of them repeated.
    fn text(words: usize) -> String {
        let mut below = random_below(3);
        let mut word = || {
            let mut below = random_below(below(20_000) as u64);
            let length = below(30) + 1;
            let letters = (0..length).map(|_| char::from(b'a' + below(26) as u8));
            letters.chain([' ']).collect::<String>()
        };
        (0..words).map(|_| word()).collect()
    }

    fn count(text: &str, threads: usize, bytes: usize, least: u64) -> (Vec<(Vec<u8>, u64)>, bool) {
        let store = Arc::new(MemoryStore);
        let limit = Limit { bytes, store };
        let mut counter = Counter::new(Scanner::Gpt2.into(), Chain::default(), threads);
        counter = counter.within(limit);
        for block in text.as_bytes().chunks(300_000) {
            counter.feed(block).unwrap();
        }
        counter.end_document().unwrap();
        let spilled = counter.tallies.iter().any(|tally| tally.shelf.is_some());
        let counts = counter.finish(least).unwrap();
        let counts = counts.iter().map(|(text, count)| (text.to_vec(), count));
        (counts.collect(), spilled)
    }

    #[test]
    fn no_limit_changes_what_is_counted() {
        let text = text(60_000);
        for least in [1, 3] {
            let (expected, spilled) = count(&text, 1, usize::MAX, least);
            assert!(!spilled && expected.len() > 10_000);
            for (threads, bytes, spills) in [
                (1, 1, true),
                (2, 1000, true),
                (3, 300_000, true),
                (1, 2_000_000, true),
                (2, 4_000_000, true),
                (1, 1 << 24, false),
            ] {
                let (found, spilled) = count(&text, threads, bytes, least);
                assert!(found == expected, "{threads} {bytes}");
                assert_eq!(spilled, spills, "{threads} {bytes}");
            }
        }
    }
}
