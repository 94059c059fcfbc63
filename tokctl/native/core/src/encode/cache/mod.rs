//! Caches of the ids and segments of pre-tokens, in bounded memory, and a pool of id buffers: words
//! repeat.
//!
//! Nearly all pre-tokens are short. A short one is packed into two machine words, beside its ids in
//! one cache line. A table starts small, because a table that fits the processor's cache is much
//! faster, and grows with use. At its size limit, new pre-tokens replace others, but an entry in
//! frequent use is never thrown away together with the rest. The hash has seeds of this process and
//! only a few slots are probed, so that no text can make lookups slow.

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

/// Memory limit in bytes for all caches of one worker together.
///
/// Caches start small and grow as a text needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheMemory(usize);

impl Default for CacheMemory {
    fn default() -> Self {
        CacheMemory(CacheMemory::DEFAULT)
    }
}

impl CacheMemory {
    /// 320 MB, of which the largest table takes 128 MB: more makes hardly any text faster.
    pub const DEFAULT: usize = 320 << 20;
    /// The smallest limit, 1 MB.
    pub const LEAST: usize = 1 << 20;

    /// Make a limit of `bytes` bytes, raised to at least [`Self::LEAST`].
    pub fn of_bytes(bytes: usize) -> Self {
        CacheMemory(bytes.max(CacheMemory::LEAST))
    }

    pub fn bytes(self) -> usize {
        self.0
    }

    /// Return `count` twentieths of the budget, in bytes.
    ///
    /// The shares of the caches below sum to 20.
    fn parts(self, count: usize) -> usize {
        self.0 / 20 * count
    }

    /// Return how many values fit into `parts` twentieths, rounded down to a power of two.
    fn power_of_two<T>(self, parts: usize) -> usize {
        1 << (self.parts(parts) / size_of::<T>()).ilog2()
    }

    /// Limits of the table of pre-tokens of up to 15 bytes and their ids; 64 KB at first.
    fn short(self) -> short::ShortLimits {
        short::ShortLimits {
            first: 1 << 10,
            most: self.power_of_two::<short::Bucket>(8),
            elsewhere: self.parts(1),
        }
    }

    /// Limits of the table of longer pre-tokens and their ids; 16 KB at first.
    fn long(self) -> records::RecordLimits {
        records::RecordLimits {
            first: 1 << 10,
            most: self.power_of_two::<records::RecordSlot>(1),
            records: self.parts(4),
        }
    }

    /// Limits of the table of pre-tokens and their segments.
    fn segments(self) -> records::RecordLimits {
        records::RecordLimits {
            first: 1 << 10,
            most: self.power_of_two::<records::RecordSlot>(1),
            records: self.parts(1),
        }
    }

    /// Bytes for the words of a Unigram model, used instead of [`Self::junctions`].
    pub(crate) fn unigram(self) -> usize {
        self.parts(4)
    }

    /// Bytes for pairs of tokens, used by merging models only.
    pub(crate) fn junctions(self) -> usize {
        self.parts(1)
    }
}

/// The ids of pre-tokens, in one table for short and one for long pre-tokens.
#[derive(Debug)]
pub(crate) struct IdsCache {
    seeds: Seeds,
    short: short::ShortTable,
    long: records::RecordTable,
}

/// Number of entries and size of a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Number of cached pre-tokens.
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

/// Hashes keys and prefetches the cache lines of their slots.
///
/// Passed by value in a loop over many keys, it stays in registers.
#[derive(Clone, Copy)]
pub(crate) struct PrefetchingHasher<'c> {
    seeds: Seeds,
    short: &'c [short::Bucket],
    long: &'c [records::RecordSlot],
}

impl PrefetchingHasher<'_> {
    /// Hash a key and prefetch its slot.
    #[inline(always)]
    pub fn hash(self, key: Key) -> u64 {
        let hash = self.seeds.hash(key);
        prefetch(short::slot_of(self.short, hash));
        hash
    }

    /// Make the keys and the hashes of the first `count` ranges of a batch, and prefetch their
    /// slots.
    ///
    /// `odd(start, end)` returns the key and the hash of a range for which [`Key::in_window`]
    /// returns `None`.
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

    /// Fill in the hashes of the first `count` keys, and prefetch their slots.
    #[inline]
    pub fn make_hashes(self, batch: &mut KeyBatch, count: usize) {
        for (hash, &key) in batch.hashes.iter_mut().zip(&batch.keys[..count]) {
            *hash = self.hash(key);
        }
    }

    /// Hash a text of over 15 bytes and prefetch its slot.
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

    /// Append the ids of keys of a batch, up to the first key that is not a first hit.
    ///
    /// Returns the index of that key, or the end of `keys`.
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

    /// Keep the ids of a key.
    ///
    /// An empty list is not kept: segmenting the pre-token again costs little.
    pub fn insert_key(&mut self, key: Key, hash: u64, ids: &[u32]) {
        if ids.is_empty() {
            return;
        }
        self.short.insert(key, hash, ids, self.seeds);
    }

    /// Append the ids of a text of over 15 bytes.
    ///
    /// Returns false if they are not cached.
    pub fn append_long(&mut self, text: &[u8], hash: u64, out: &mut Vec<u32>) -> bool {
        let found = self.long.find(text, hash);
        if let Some(bytes) = found {
            out.extend(records::numbers(bytes));
        }
        found.is_some()
    }

    /// Keep the ids of a text of over 15 bytes.
    ///
    /// An empty list is not kept.
    pub fn insert_long(&mut self, text: &[u8], hash: u64, ids: &[u32]) {
        if ids.is_empty() {
            return;
        }
        self.long.insert(text, hash, ids);
    }
}
