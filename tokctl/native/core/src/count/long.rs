//! Counts of pre-tokens that are too long to be packed: their bytes lie in one array.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;

/// One distinct pre-token; its bytes lie in the table's arena.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    start: usize,
    length: usize,
    hash: u64,
    pub count: u64,
    /// Position of the first occurrence, in bytes since the start of all input.
    pub first: u64,
}

/// Order of insertion is kept, but nothing that leaves the counter depends on it:
/// entries are sorted by `first`. So the hasher's random seed can't show.
pub struct Long {
    hasher: DefaultHashBuilder,
    index: HashTable<u32>,
    entries: Vec<Entry>,
    arena: Vec<u8>,
}

impl Long {
    /// Tables that will be merged share a hasher, so that hashes are computed once.
    pub fn with_hasher(hasher: DefaultHashBuilder) -> Self {
        Long {
            hasher,
            index: HashTable::new(),
            entries: Vec::new(),
            arena: Vec::new(),
        }
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn text(&self, entry: &Entry) -> &[u8] {
        &self.arena[entry.start..entry.start + entry.length]
    }

    /// Bytes that the table takes.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
            + self.arena.capacity()
            + self.index.allocation_size()
    }

    /// Sorts the entries by their bytes; nothing can be added until the table is reset.
    pub fn sort(&mut self) {
        let (entries, arena) = (&mut self.entries, &self.arena);
        let text = |entry: &Entry| &arena[entry.start..entry.start + entry.length];
        entries.sort_unstable_by(|one, other| text(one).cmp(text(other)));
    }

    /// Takes all entries out, and gives the memory back.
    pub fn reset(&mut self) {
        *self = Long::with_hasher(self.hasher.clone());
    }

    pub fn add(&mut self, pre_token: &[u8], count: u64, first: u64) {
        let hash = self.hasher.hash_one(pre_token);
        self.add_hashed(pre_token, hash, count, first);
    }

    fn add_hashed(&mut self, pre_token: &[u8], hash: u64, count: u64, first: u64) {
        let (entries, arena) = (&mut self.entries, &mut self.arena);
        let same = |&at: &u32| {
            let entry = &entries[at as usize];
            entry.hash == hash && arena[entry.start..entry.start + entry.length] == *pre_token
        };
        if let Some(&at) = self.index.find(hash, same) {
            let entry = &mut entries[at as usize];
            // A count that 64 bits can't hold is refused when the counting ends.
            entry.count = entry.count.saturating_add(count);
            entry.first = entry.first.min(first);
            return;
        }
        // 2^32 distinct pre-tokens take over 100 GB before this conversion could fail.
        let at = u32::try_from(entries.len()).expect("fewer than 2^32 distinct pre-tokens");
        entries.push(Entry {
            start: arena.len(),
            length: pre_token.len(),
            hash,
            count,
            first,
        });
        arena.extend_from_slice(pre_token);
        self.index
            .insert_unique(hash, at, |&at| entries[at as usize].hash);
    }

    /// Adds another table with the same hasher.
    pub fn absorb(&mut self, other: &Long) {
        for entry in &other.entries {
            self.add_hashed(other.text(entry), entry.hash, entry.count, entry.first);
        }
    }
}
