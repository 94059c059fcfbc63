//! Counts in the order of their first places, within a limit of memory: what does not fit
//! waits in sorted runs.

use super::counts::Counts;
use super::merge::{merge_all, Order};
use super::runs::{Record, Shelf, Store};
use crate::error::Result;

#[derive(Debug, Clone, Copy)]
struct Entry {
    first: u64,
    count: u64,
    start: usize,
    length: usize,
}

/// Takes pre-tokens in any order.
pub struct ByPlace<'s> {
    store: &'s dyn Store,
    /// Bytes that may wait in memory.
    most: usize,
    entries: Vec<Entry>,
    text: Vec<u8>,
    shelf: Option<Shelf>,
    /// Pre-tokens taken, and their bytes.
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
        self.entries.push(Entry {
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

    /// All of them in the order of their places. `tell` as in [`merge_all`].
    pub fn finish(mut self, tell: &mut dyn FnMut(u64, u64) -> bool) -> Result<Counts> {
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
        // Memory is given back before the counts take theirs.
        let shelves = self.shelf.take().into_iter().collect();
        let (store, most) = (self.store, self.most);
        drop(self);
        let mut counts = Counts::with_capacity(pre_tokens, bytes);
        merge_all(shelves, Order::Place, store, most, tell, |record| {
            counts.push(record.text, record.count);
            Ok(())
        })?;
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::runs::tests::Remembered;
    use super::*;

    #[test]
    fn the_order_is_that_of_the_places_whatever_fits() {
        // 7919 is prime: all places come once.
        let words: Vec<_> = (0..3000u64).map(|n| (n * 7919 % 3000, n)).collect();
        for most in [1, 100, 5000, 1 << 30] {
            let mut sorting = ByPlace::new(&Remembered, most);
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
