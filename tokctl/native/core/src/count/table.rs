//! Counts of one thread, with separate tables for short and long pre-tokens.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::counts::Counts;
use super::spilling::Record;
use super::spilling::Tally;
use crate::error::{Error, Result};
use crate::key_batch::{BatchLookup, GatheredPlaces, KeyBatch};
use crate::large_pages;
use crate::packed::{Key, Seeds};

/// Table of counts.
///
/// The order of insertion is not kept: entries are sorted by their first positions in the end. So
/// the hashers' random seeds do not affect the result.
pub struct CountTable {
    short: ShortCounts,
    long: LongCounts,
}

impl CountTable {
    /// Create a table; tables that will be merged share a hasher for long pre-tokens.
    pub fn with_hasher(hasher: DefaultHashBuilder) -> Self {
        CountTable {
            short: ShortCounts::new(),
            long: LongCounts::with_hasher(hasher),
        }
    }

    /// Add `count` occurrences of a pre-token, the first of them at position `first`.
    pub fn add(&mut self, pre_token: &[u8], count: u64, first: u64) {
        match Key::short(pre_token) {
            Some(key) => self.short.add(key, count, first),
            None => self.long.add(pre_token, count, first),
        }
    }

    /// Add the counts of another table.
    pub fn absorb(&mut self, other: &CountTable) {
        self.short.absorb(&other.short);
        self.long.absorb(&other.long);
    }

    pub fn is_empty(&self) -> bool {
        self.short.len() == 0 && self.long.entries().is_empty()
    }

    /// Return the bytes that the table takes, or will take when it grows soon.
    pub fn bytes_soon(&self) -> usize {
        self.short.bytes_soon() + self.long.bytes()
    }

    /// Return about how many bytes it takes to merge the tables.
    pub fn bytes_together<'t>(tables: impl Iterator<Item = &'t CountTable> + Clone) -> usize {
        let bytes = tables.clone().map(|t| t.short.bytes() + t.long.bytes());
        let entries = tables.clone().map(|t| t.short.len()).sum();
        let long = tables.map(|t| t.long.bytes());
        bytes.sum::<usize>() + ShortCounts::bytes_of(entries) + long.sum::<usize>()
    }

    /// Sort the entries by the bytes of the pre-tokens, for [`Self::sorted`].
    ///
    /// After this, only [`Self::reset`] makes the table usable for anything else.
    pub fn sort(&mut self) {
        self.short.sort();
        self.long.sort();
    }

    /// Call `each` for all entries, sorted by the bytes of the pre-tokens.
    pub fn sorted(&self, mut each: impl FnMut(Record) -> Result<()>) -> Result<()> {
        let mut long = self.long.entries().iter().peekable();
        let mut give_long_before = |bound: Option<&[u8]>, each: &mut dyn FnMut(Record) -> _| {
            while let Some(entry) =
                long.next_if(|entry| bound.is_none_or(|bound| self.long.text(entry) < bound))
            {
                each(Record {
                    text: self.long.text(entry),
                    count: entry.count,
                    first: entry.first,
                })?;
            }
            Ok::<_, Error>(())
        };
        for slot in self.short.sorted() {
            let (bytes, length) = slot.text();
            let text = &bytes[..length];
            give_long_before(Some(text), &mut each)?;
            let (count, first) = (slot.count, slot.first);
            each(Record { text, count, first })?;
        }
        give_long_before(None, &mut each)
    }

    /// Remove all entries; room beyond `most` bytes is freed.
    pub fn reset(&mut self, most: usize) {
        self.short.reset(most);
        self.long.reset();
    }

    /// Return all counts of at least `min_count`, by first positions.
    pub fn into_counts(self, min_count: u64) -> Counts {
        let CountTable { short, long } = self;
        let mut order = Vec::with_capacity(short.len() + long.entries().len());
        let mut length = 0;
        // One number holds the entry's table (in the lowest bit) and its index.
        for (at, slot) in short.slots() {
            if slot.count >= min_count {
                order.push((slot.first, 2 * at));
                length += slot.length();
            }
        }
        for (at, entry) in long.entries().iter().enumerate() {
            if entry.count >= min_count {
                order.push((entry.first, 2 * at + 1));
                length += long.text(entry).len();
            }
        }
        order.sort_unstable();
        let mut counts = Counts::with_capacity(order.len(), length);
        for (_, at) in order {
            if at % 2 == 0 {
                let slot = short.slot(at / 2);
                counts.push_with(slot.count, |text| slot.unpack(text));
            } else {
                let entry = &long.entries()[at / 2];
                counts.push(long.text(entry), entry.count);
            }
        }
        counts
    }
}

/// Batches between two checks whether the table is full.
const BATCHES: u32 = 64;

/// Adder of the pre-tokens of a text, a batch at a time, because the table is far larger than the
/// processor's cache.
pub struct Adder<'t> {
    tally: &'t mut Tally,
    text: &'t [u8],
    /// Position of the text.
    base: u64,
    /// Count of one occurrence.
    weight: u64,
    /// Number of pre-tokens in the tally's batch.
    count: usize,
    /// Batches until the table is checked.
    batches: u32,
    /// First error that a check returned.
    failed: Result<()>,
}

impl<'t> Adder<'t> {
    pub fn new(tally: &'t mut Tally, text: &'t [u8], base: u64, weight: u64) -> Self {
        Adder {
            tally,
            text,
            base,
            weight,
            count: 0,
            batches: BATCHES,
            failed: Ok(()),
        }
    }

    /// Return a sink for ranges of the text.
    ///
    /// The ranges must ascend: an entry that exists keeps its first position.
    pub fn places(&mut self) -> GatheredPlaces<'_, Self> {
        GatheredPlaces::new(self)
    }

    /// Add the pre-tokens that wait, and check the table, which a limit of memory may write to a
    /// run.
    pub fn finish(mut self) -> Result<()> {
        self.look_up();
        self.failed?;
        self.tally.check()
    }
}

impl BatchLookup for Adder<'_> {
    #[inline(always)]
    fn batch(&mut self) -> &mut KeyBatch {
        &mut self.tally.batch
    }

    #[inline(always)]
    fn count(&mut self) -> &mut usize {
        &mut self.count
    }

    #[inline(never)]
    fn look_up(&mut self) {
        let count = std::mem::take(&mut self.count);
        let Tally { table, batch, .. } = &mut *self.tally;
        let text = self.text;
        let seeds = table.short.seeds;
        batch.make_keys(
            text,
            count,
            seeds,
            &table.short.slots,
            |start, end| match Key::short(&text[start..end]) {
                Some(key) => (key, seeds.hash(key)),
                None => (Key::of_place(start, end - start), 0),
            },
        );
        let mut at = 0;
        loop {
            let (keys, hashes) = (&batch.keys[at..count], &batch.hashes[at..count]);
            at += table.short.add_first_hits(keys, hashes, self.weight);
            if at == count {
                break;
            }
            let first = self.base + batch.starts[at] as u64;
            match batch.keys[at].place() {
                Some(place) => table.long.add(&text[place], self.weight, first),
                None => {
                    let (key, hash) = (batch.keys[at], batch.hashes[at]);
                    table.short.add_hashed(key, hash, self.weight, first);
                }
            }
            at += 1;
        }
        self.batches -= 1;
        if self.batches == 0 {
            self.batches = BATCHES;
            if self.failed.is_ok() {
                self.failed = self.tally.check();
            }
        }
    }
}

/// Key of a free slot, which no pre-token's key or span equals.
const FREE: Key = Key {
    low: 0,
    high: u64::MAX,
};

/// Slots of a new table.
const LEAST: usize = 1 << 10;

/// Slot of the table. Two fit in a cache line, and none crosses two lines.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub struct CountSlot {
    key: Key,
    pub count: u64,
    /// Position of the first occurrence.
    pub first: u64,
}

impl CountSlot {
    /// Append the pre-token to `text`.
    pub fn unpack(&self, text: &mut Vec<u8>) {
        let (bytes, length) = self.key.text();
        text.extend_from_slice(&bytes[..length]);
    }

    pub fn length(&self) -> usize {
        self.key.length()
    }

    /// Return the bytes of the pre-token, and their number.
    pub fn text(&self) -> ([u8; 16], usize) {
        self.key.text()
    }

    /// Return a sort key in the order of the bytes; a prefix of another pre-token comes first.
    fn order(&self) -> (u64, u64) {
        (self.key.low.swap_bytes(), self.key.high.swap_bytes())
    }
}

/// Hash table of the pre-tokens that fit in a key, with linear probing.
pub struct ShortCounts {
    /// Slots, a power of two; at most three quarters are used.
    slots: Vec<CountSlot>,
    used: usize,
    seeds: Seeds,
}

impl ShortCounts {
    pub fn new() -> Self {
        ShortCounts {
            slots: large_pages::table(LEAST, NONE),
            used: 0,
            seeds: Seeds::default(),
        }
    }

    /// Return the slot where the search for a key begins.
    #[inline]
    fn home(&self, key: Key) -> usize {
        self.seeds.hash(key) as usize & (self.slots.len() - 1)
    }

    /// Add to the entries that are in the slots of their hashes, up to the first key that is not.
    ///
    /// Returns how many keys were added.
    #[inline]
    fn add_first_hits(&mut self, keys: &[Key], hashes: &[u64], count: u64) -> usize {
        let mask = self.slots.len() - 1;
        for (at, (&key, &hash)) in keys.iter().zip(hashes).enumerate() {
            let slot = &mut self.slots[hash as usize & mask];
            if slot.key != key {
                return at;
            }
            // A count that 64 bits can't hold is refused when the counting ends.
            slot.count = slot.count.saturating_add(count);
        }
        keys.len()
    }

    pub fn add(&mut self, key: Key, count: u64, first: u64) {
        self.add_hashed(key, self.seeds.hash(key), count, first);
    }

    fn add_hashed(&mut self, key: Key, hash: u64, count: u64, first: u64) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = &mut self.slots[at];
            if slot.key == key {
                slot.count = slot.count.saturating_add(count);
                slot.first = slot.first.min(first);
                return;
            }
            if slot.key == FREE {
                *slot = CountSlot { key, count, first };
                break;
            }
            at = (at + 1) & mask;
        }
        self.used += 1;
        if self.used * 4 > self.slots.len() * 3 {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let size = self.slots.len() * 2;
        for slot in std::mem::replace(&mut self.slots, large_pages::table(size, NONE)) {
            if slot.key != FREE {
                let mut at = self.home(slot.key);
                while self.slots[at].key != FREE {
                    at = (at + 1) & (size - 1);
                }
                self.slots[at] = slot;
            }
        }
    }

    pub fn len(&self) -> usize {
        self.used
    }

    /// Return the bytes of the table.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.slots[..])
    }

    /// Return [`Self::bytes`]; if the table will grow soon, with the bytes of the next table.
    pub fn bytes_soon(&self) -> usize {
        match self.used * 8 > self.slots.len() * 5 {
            true => 3 * self.bytes(),
            false => self.bytes(),
        }
    }

    /// Return the peak bytes of a table that grows to `entries` entries, with the table before it.
    pub fn bytes_of(entries: usize) -> usize {
        let slots = (entries / 3 * 4).next_power_of_two().max(LEAST);
        slots * size_of::<CountSlot>() / 2 * 3
    }

    /// Sort the entries by their bytes, for [`Self::sorted`].
    ///
    /// After this, only [`Self::reset`] makes the table usable for anything else.
    pub fn sort(&mut self) {
        let mut used = 0;
        for at in 0..self.slots.len() {
            if self.slots[at].key != FREE {
                self.slots.swap(used, at);
                used += 1;
            }
        }
        self.slots[..used].sort_unstable_by_key(CountSlot::order);
    }

    pub fn sorted(&self) -> &[CountSlot] {
        &self.slots[..self.used]
    }

    /// Remove all entries; a table of more than `most` bytes is replaced by a small one.
    pub fn reset(&mut self, most: usize) {
        if self.bytes() > most {
            self.slots = large_pages::table(LEAST, NONE);
        } else {
            self.slots.fill(NONE);
        }
        self.used = 0;
    }

    pub fn slot(&self, at: usize) -> &CountSlot {
        &self.slots[at]
    }

    /// Return the entries with their slot indices.
    pub fn slots(&self) -> impl Iterator<Item = (usize, &CountSlot)> {
        let slots = self.slots.iter().enumerate();
        slots.filter(|(_, slot)| slot.key != FREE)
    }

    /// Add another table's counts.
    pub fn absorb(&mut self, other: &ShortCounts) {
        for (_, slot) in other.slots() {
            self.add(slot.key, slot.count, slot.first);
        }
    }
}

const NONE: CountSlot = CountSlot {
    key: FREE,
    count: 0,
    first: 0,
};

/// Distinct pre-token, whose bytes are in the table's arena.
#[derive(Debug, Clone, Copy)]
pub struct LongEntry {
    start: usize,
    length: usize,
    hash: u64,
    pub count: u64,
    /// Position of the first occurrence, in bytes since the start of all input.
    pub first: u64,
}

/// Table of the pre-tokens that do not fit in a key.
///
/// The order of insertion is kept, but entries are sorted by `first` before they leave the counter.
/// So the hasher's random seed does not affect the result.
pub struct LongCounts {
    hasher: DefaultHashBuilder,
    index: HashTable<u32>,
    entries: Vec<LongEntry>,
    arena: Vec<u8>,
}

impl LongCounts {
    /// Create a table; tables that will be merged share a hasher, so that hashes are computed once.
    pub fn with_hasher(hasher: DefaultHashBuilder) -> Self {
        LongCounts {
            hasher,
            index: HashTable::new(),
            entries: Vec::new(),
            arena: Vec::new(),
        }
    }

    pub fn entries(&self) -> &[LongEntry] {
        &self.entries
    }

    pub fn text(&self, entry: &LongEntry) -> &[u8] {
        &self.arena[entry.start..entry.start + entry.length]
    }

    /// Return the bytes that the table takes.
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<LongEntry>()
            + self.arena.capacity()
            + self.index.allocation_size()
    }

    /// Sort the entries by their bytes; nothing can be added until the table is reset.
    pub fn sort(&mut self) {
        let (entries, arena) = (&mut self.entries, &self.arena);
        let text = |entry: &LongEntry| &arena[entry.start..entry.start + entry.length];
        entries.sort_unstable_by(|one, other| text(one).cmp(text(other)));
    }

    /// Remove all entries, and free the memory.
    pub fn reset(&mut self) {
        *self = LongCounts::with_hasher(self.hasher.clone());
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
        entries.push(LongEntry {
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

    /// Add the counts of another table with the same hasher.
    pub fn absorb(&mut self, other: &LongCounts) {
        for entry in &other.entries {
            self.add_hashed(other.text(entry), entry.hash, entry.count, entry.first);
        }
    }
}

#[cfg(test)]
mod short_tests {
    use super::*;

    #[test]
    fn a_table_grows_and_absorbs() {
        let (mut one, mut other) = (ShortCounts::new(), ShortCounts::new());
        let key = |n: u64| Key::of(&n.to_le_bytes());
        for n in 0..5000 {
            one.add(key(n), 1, n + 100);
            other.add(key(n + 2500), 2, n);
            one.add(key(n), 1, n + 200);
        }
        one.absorb(&other);
        assert_eq!(one.len(), 7500);
        let mut found: Vec<_> = one
            .slots()
            .map(|(_, s)| (s.key.text(), s.count, s.first))
            .collect();
        found.sort_unstable();
        let expected = (0..7500).map(|n| match n {
            0..2500 => (key(n).text(), 2, n + 100),
            2500..5000 => (key(n).text(), 4, n - 2500),
            _ => (key(n).text(), 2, n - 2500),
        });
        let mut expected: Vec<_> = expected.collect();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }
}
