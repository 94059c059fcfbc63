//! Words repeat: the ids and the segments of pre-tokens, cached in bounded memory, and memory that
//! is used again.
//!
//! Short pre-tokens, which nearly all are, are packed into two machine words and lie beside their
//! ids in one cache line. A table starts small, because one that fits the processor's cache
//! is much faster, and grows with use; when it may grow no more, new pre-tokens take the
//! place of others. Nothing that is asked for often is ever thrown away with the rest. The hash has
//! the process's own seeds, and only a few slots are probed, so that no text makes a look-up slow.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod buffers;
mod generations;
mod records;
mod segments;
mod short;

use std::ops::{Add, Range};

use crate::key_batch::KeyBatch;
use crate::packed::{Key, Seeds};
use crate::prefetch::prefetch;
pub use buffers::{BufferPool, IdNumber, Ids};
pub(crate) use segments::SegmentCache;
pub(crate) use short::INLINE;

/// How much memory each worker of an encoder may use to remember pre-tokens, in bytes: all caches
/// together. They start small, and grow as a text asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheMemory(usize);

impl Default for CacheMemory {
    fn default() -> Self {
        CacheMemory(CacheMemory::DEFAULT)
    }
}

impl CacheMemory {
    /// 320 MB, of which the largest table takes 128: more makes hardly any text faster.
    pub const DEFAULT: usize = 320 << 20;
    /// 1 MB.
    pub const LEAST: usize = 1 << 20;

    /// Of at least [`Self::LEAST`].
    pub fn of_bytes(bytes: usize) -> Self {
        CacheMemory(bytes.max(CacheMemory::LEAST))
    }

    pub fn bytes(self) -> usize {
        self.0
    }

    /// So many of 20 equal parts. What is said below adds up to 20.
    fn parts(self, count: usize) -> usize {
        self.0 / 20 * count
    }

    /// As many values as parts have room for, rounded down to a power of two.
    fn power_of_two<T>(self, parts: usize) -> usize {
        1 << (self.parts(parts) / size_of::<T>()).ilog2()
    }

    /// For the ids of pre-tokens of up to 15 bytes; 64 KB at first.
    fn short(self) -> short::ShortLimits {
        short::ShortLimits {
            first: 1 << 10,
            most: self.power_of_two::<short::Bucket>(8),
            elsewhere: self.parts(1),
        }
    }

    /// For the ids of longer ones; 16 KB at first.
    fn long(self) -> records::RecordLimits {
        records::RecordLimits {
            first: 1 << 10,
            most: self.power_of_two::<records::RecordSlot>(1),
            records: self.parts(4),
        }
    }

    /// For the segments of pre-tokens.
    fn segments(self) -> records::RecordLimits {
        records::RecordLimits {
            first: 1 << 10,
            most: self.power_of_two::<records::RecordSlot>(1),
            records: self.parts(1),
        }
    }

    /// For what is known of the words of a Unigram model.
    pub(crate) fn unigram(self) -> usize {
        self.parts(4)
    }

    /// For what is known of pairs of tokens, in place of a Unigram model's words.
    pub(crate) fn junctions(self) -> usize {
        self.parts(1)
    }
}

#[derive(Debug)]
pub(crate) struct IdsCache {
    seeds: Seeds,
    short: short::ShortTable,
    long: records::RecordTable,
}

/// What a cache holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Pre-tokens.
    pub entries: usize,
    pub bytes: usize,
}

impl Add for CacheStats {
    type Output = CacheStats;

    fn add(self, other: CacheStats) -> CacheStats {
        CacheStats {
            entries: self.entries + other.entries,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Hashes keys, and prefetches the cache lines of their slots. Held by value in a loop over many
/// keys, it stays in registers.
#[derive(Clone, Copy)]
pub(crate) struct PrefetchingHasher<'c> {
    seeds: Seeds,
    short: &'c [short::Bucket],
    long: &'c [records::RecordSlot],
}

impl PrefetchingHasher<'_> {
    /// The hash of a key, whose slot is prefetched.
    #[inline(always)]
    pub fn hash(self, key: Key) -> u64 {
        let hash = self.seeds.hash(key);
        prefetch(short::slot_of(self.short, hash));
        hash
    }

    /// Makes the keys and the hashes of the first `count` places of a batch, and prefetches their
    /// slots. `odd` makes those of a place that [`Key::in_window`] has no key for.
    #[inline(always)]
    pub fn make_keys(
        self,
        text: &[u8],
        batch: &mut KeyBatch,
        count: usize,
        odd: impl FnMut(usize, usize) -> (Key, u64),
    ) {
        batch.make_keys(text, count, self.seeds, self.short, odd);
    }

    /// Fills in the hashes of so many keys, and prefetches their slots.
    #[inline]
    pub fn make_hashes(self, batch: &mut KeyBatch, count: usize) {
        for (hash, &key) in batch.hashes.iter_mut().zip(&batch.keys[..count]) {
            *hash = self.hash(key);
        }
    }

    /// The same of a text of over 15 bytes.
    #[inline]
    pub fn hash_long(self, text: &[u8]) -> u64 {
        let hash = self.seeds.hash_long(text);
        prefetch(short::slot_of(self.long, hash));
        hash
    }
}

impl IdsCache {
    pub fn new(memory: CacheMemory) -> Self {
        IdsCache {
            seeds: Seeds::default(),
            short: short::ShortTable::new(memory.short()),
            long: records::RecordTable::new(memory.long()),
        }
    }

    pub fn stats(&self) -> CacheStats {
        self.short.stats() + self.long.stats()
    }

    #[inline(always)]
    pub fn hasher(&self) -> PrefetchingHasher<'_> {
        PrefetchingHasher {
            seeds: self.seeds,
            short: self.short.buckets(),
            long: self.long.slots(),
        }
    }

    #[inline(always)]
    pub fn hash(&self, key: Key) -> u64 {
        self.seeds.hash(key)
    }

    pub fn hash_long(&self, text: &[u8]) -> u64 {
        self.seeds.hash_long(text)
    }

    /// Appends the ids of keys of a batch, up to the first that is not found at once; returns the
    /// place of that one, or the end.
    #[inline(always)]
    pub fn append_hits(&self, batch: &KeyBatch, keys: Range<usize>, out: &mut Vec<u32>) -> usize {
        let hashes = &batch.hashes[keys.clone()];
        let found = self
            .short
            .append_first_hits(&batch.keys[keys.clone()], hashes, out);
        keys.start + found
    }

    pub fn ids_of_key(&mut self, key: Key, hash: u64) -> Option<&[u32]> {
        self.short.find(key, hash, self.seeds)
    }

    /// Keeps the ids of a key; none at all are not worth it.
    pub fn insert_key(&mut self, key: Key, hash: u64, ids: &[u32]) {
        if ids.is_empty() {
            return;
        }
        self.short.insert(key, hash, ids, self.seeds);
    }

    /// Appends the ids of a text of over 15 bytes; false where they are not known.
    pub fn append_long(&mut self, text: &[u8], hash: u64, out: &mut Vec<u32>) -> bool {
        let found = self.long.find(text, hash);
        if let Some(bytes) = found {
            out.extend(records::numbers(bytes));
        }
        found.is_some()
    }

    /// Keeps the ids of a longer text; none at all are not worth it.
    pub fn insert_long(&mut self, text: &[u8], hash: u64, ids: &[u32]) {
        if ids.is_empty() {
            return;
        }
        self.long.insert(text, hash, ids);
    }
}
