//! Counts of the ids in the output.

use std::sync::{Mutex, PoisonError};

use crate::encode::Token;
use crate::model::NO_ID;

/// Tables of counts by id, one for each thread that counts at the same time.
#[derive(Default)]
pub(super) struct IdTables(Mutex<Vec<IdTable>>);

#[derive(Default)]
pub(super) struct IdTable(Vec<u64>);

impl IdTables {
    /// Call `run` with a table that no other thread uses meanwhile.
    pub fn with<T>(&self, run: impl FnOnce(&mut IdTable) -> T) -> T {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut table = lock().pop().unwrap_or_default();
        let made = run(&mut table);
        lock().push(table);
        made
    }

    /// Return the counts that are not 0, with their ids, in id order.
    pub fn finish(self) -> Vec<(u32, u64)> {
        let tables = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let lengths = tables.iter().map(|table| table.0.len());
        let of = |id: usize| tables.iter().filter_map(|table| table.0.get(id)).sum();
        (0..lengths.max().unwrap_or_default())
            .map(|id| (id as u32, of(id)))
            .filter(|&(_, count)| count > 0)
            .collect()
    }
}

impl IdTable {
    /// Count the ids of tokens, each `times` times.
    pub fn add(&mut self, tokens: &[Token], times: u64) {
        for token in tokens.iter().filter(|token| token.id != NO_ID) {
            *self.count_of(token.id) += times;
        }
    }

    /// Add counts, each multiplied by `times`.
    pub fn add_counts(&mut self, counts: &[(u32, u64)], times: u64) {
        for &(id, count) in counts {
            *self.count_of(id) += count * times;
        }
    }

    fn count_of(&mut self, id: u32) -> &mut u64 {
        let id = id as usize;
        if id >= self.0.len() {
            self.0.resize(id + 1, 0);
        }
        &mut self.0[id]
    }
}
