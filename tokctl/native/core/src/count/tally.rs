//! What one thread counts: a table, and within a limit of memory the sorted runs that it was
//! written to whenever it was full.

use std::sync::Arc;

use hashbrown::DefaultHashBuilder;

use super::by_place::ByPlace;
use super::counts::Counts;
use super::merge::{merge_all, Order};
use super::runs::{Shelf, Store};
use super::table::Table;
use crate::error::Result;

/// Memory that counting may take, and where to go with what does not fit.
#[derive(Clone)]
pub struct Limit {
    /// Bytes of all tables, and of all that is needed to merge them.
    pub bytes: usize,
    pub store: Arc<dyn Store>,
}

pub struct Tally {
    pub table: Table,
    /// Bytes that the table may have; None: any number.
    most: Option<usize>,
    store: Option<Arc<dyn Store>>,
    shelf: Option<Shelf>,
}

impl Tally {
    /// As many as there are threads; tables that will be merged share a hasher.
    pub fn some(threads: usize, limit: Option<&Limit>) -> Vec<Self> {
        let hasher = DefaultHashBuilder::default();
        let tally = |_| Tally {
            table: Table::with_hasher(hasher.clone()),
            // A quarter is left for what texts and writing take beside the tables.
            most: limit.map(|limit| limit.bytes / 4 * 3 / threads),
            store: limit.map(|limit| limit.store.clone()),
            shelf: None,
        };
        (0..threads).map(tally).collect()
    }

    /// Writes the table to a run if it is full.
    #[inline]
    pub fn check(&mut self) -> Result<()> {
        match self.most {
            Some(most) if self.table.is_full(most) => self.spill(),
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

/// All counts of at least `min_count` of all tables and runs, by first places. `tell` gets the
/// bytes of runs that have been merged and that there are; false stops the work.
pub fn finish(
    mut tallies: Vec<Tally>,
    limit: Option<&Limit>,
    min_count: u64,
    tell: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Counts> {
    let spilled = tallies.iter().any(|tally| tally.shelf.is_some());
    let tables = || tallies.iter().map(|tally| &tally.table);
    if let Some(limit) = limit {
        if spilled || Table::bytes_together(tables()) > limit.bytes {
            tallies.iter_mut().try_for_each(Tally::spill)?;
            let shelves = tallies.iter_mut().filter_map(|tally| tally.shelf.take());
            let shelves = shelves.collect();
            drop(tallies);
            return merge(shelves, limit, min_count, tell);
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
    tell: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Counts> {
    let (store, half) = (limit.store.as_ref(), limit.bytes / 2);
    let mut by_place = ByPlace::new(store, half);
    merge_all(shelves, Order::Text, store, half, tell, |record| {
        match record.count >= min_count {
            true => by_place.put(record),
            false => Ok(()),
        }
    })?;
    by_place.finish(tell)
}

#[cfg(test)]
mod tests {
    use super::super::runs::tests::Remembered;
    use super::super::Counter;
    use super::*;
    use crate::normalize::Chain;
    use crate::pretokenize::Scanner;
    use crate::split_mix::SplitMix64;

    /// Words of one to thirty letters, many of them again and again.
    fn text(words: usize) -> String {
        let mut random = SplitMix64::new(3);
        let mut word = || {
            let mut word = SplitMix64::new(random.next_u64() % 20_000);
            let length = word.next_u64() % 30 + 1;
            let letters = (0..length).map(|_| char::from(b'a' + (word.next_u64() % 26) as u8));
            letters.chain([' ']).collect::<String>()
        };
        (0..words).map(|_| word()).collect()
    }

    fn count(text: &str, threads: usize, bytes: usize, least: u64) -> (Vec<(Vec<u8>, u64)>, bool) {
        let store = Arc::new(Remembered);
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
