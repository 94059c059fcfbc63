//! Many sorted runs as one.

use super::runs::{Reader, Record, Shelf, Store};
use crate::error::{Error, Result};

/// Runs that are merged at a time: each has a buffer, and the disk goes from one to the other.
pub const MOST_RUNS: usize = 64;

/// Bytes of such a buffer, at least and at most.
const BUFFERS: (usize, usize) = (1 << 12, 1 << 20);

/// The caller is told of the work after so many records.
const RECORDS_BETWEEN: u32 = 1 << 12;

/// What runs are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Bytes of the pre-tokens.
    Text,
    /// First places.
    Place,
}

/// Told how many bytes of the runs have been read; false stops the work.
pub type Tell<'a> = &'a mut dyn FnMut(u64) -> bool;

/// All records of some runs in their order, those of the same pre-token one behind the other.
struct Merge<'s> {
    readers: Vec<Reader<'s>>,
    /// Runs that are not at their end: the first eight bytes of what each is sorted by, and
    /// its number. A heap, the least record at its top.
    heap: Vec<(u64, usize)>,
    order: Order,
    /// Bytes read so far.
    read: u64,
}

impl<'s> Merge<'s> {
    fn new(readers: Vec<Reader<'s>>, order: Order) -> Result<Self> {
        let mut merge = Merge {
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

    /// The beginning of what a run's record is sorted by.
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

    /// The least record.
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

/// Gives each pre-token of the runs once: its counts added up, its least place.
fn merged(
    readers: Vec<Reader>,
    order: Order,
    tell: Tell,
    mut each: impl FnMut(Record) -> Result<()>,
) -> Result<()> {
    let mut merge = Merge::new(readers, order)?;
    let mut text = Vec::new();
    let mut until_told = RECORDS_BETWEEN;
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
        until_told -= 1;
        if until_told == 0 {
            until_told = RECORDS_BETWEEN;
            if !tell(merge.read) {
                return Err(Error::Interrupted);
            }
        }
    }
    Ok(())
}

/// Merges the runs of all shelves, over several passes where they are many; `memory`: bytes for
/// the buffers. `tell` gets bytes read and how many there are to read.
pub fn merge_all(
    mut shelves: Vec<Shelf>,
    order: Order,
    store: &dyn Store,
    memory: usize,
    tell: &mut dyn FnMut(u64, u64) -> bool,
    each: impl FnMut(Record) -> Result<()>,
) -> Result<()> {
    let size = (memory / (MOST_RUNS + 1)).clamp(BUFFERS.0, BUFFERS.1);
    let length = |shelves: &[Shelf]| shelves.iter().map(Shelf::length).sum::<u64>();
    let runs: usize = shelves
        .iter()
        .map(|shelf| shelf.readers(size).count())
        .sum();
    let passes = std::iter::successors(Some(runs), |&runs| Some(runs.div_ceil(MOST_RUNS)));
    let mut left = passes.take_while(|&runs| runs > MOST_RUNS).count() as u64;
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
            let some: Vec<_> = readers.by_ref().take(MOST_RUNS).collect();
            let before = next.length();
            next.add(|run| {
                let mut told = |read| tell(done + before + read, total);
                merged(some, order, &mut told, |record| run.put(record))
            })?;
        }
        drop(readers);
        // What was merged is given back before the next pass takes new room.
        shelves = vec![next];
        done += bytes;
        left -= 1;
    }
    let total = done + length(&shelves);
    let readers = shelves.iter().flat_map(|shelf| shelf.readers(size));
    let mut told = |read| tell(done + read, total);
    merged(readers.collect(), order, &mut told, each)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::runs::tests::Remembered;
    use super::*;
    use crate::split_mix::SplitMix64;

    /// Counts and first places by pre-token.
    type Sums = BTreeMap<Vec<u8>, (u64, u64)>;

    /// Sorted runs of random words, and what they come to.
    fn runs(number: usize) -> (Vec<Shelf>, Sums) {
        let mut random = SplitMix64::new(number as u64);
        let mut all = Sums::new();
        let mut shelves: Vec<_> = (0..2).map(|_| Shelf::new(&Remembered).unwrap()).collect();
        for run in 0..number {
            let mut words = BTreeMap::new();
            for _ in 0..random.next_u64() % 20 {
                let length = random.next_u64() % 12;
                let word: Vec<u8> = (0..length).map(|_| random.next_u64() as u8 % 3).collect();
                words.insert(word, (random.next_u64() % 100, random.next_u64() % 1000));
            }
            let put = |writer: &mut super::super::runs::RunWriter| {
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
            let mut tell = |done, total| {
                assert!(done <= total && (done, 0) >= (last.0, 0), "{done} {total}");
                last = (done, total);
                true
            };
            merge_all(shelves, Order::Text, &Remembered, 1, &mut tell, |record| {
                found.push((record.text.to_vec(), (record.count, record.first)));
                Ok(())
            })
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
        assert!(all.len() > RECORDS_BETWEEN as usize / 2);
        let mut never = |_, _| false;
        let merged = merge_all(shelves, Order::Text, &Remembered, 1, &mut never, |_| Ok(()));
        assert_eq!(merged, Err(Error::Interrupted));
    }
}
