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
mod long;
mod segments;
mod short;

use super::lookup::KeyBatch;
use crate::packed::{Key, Seeds};
use crate::prefetch::prefetch;
#[cfg(target_arch = "x86_64")]
use crate::pretokenize::Level;
pub use buffers::{BufferPool, Ids};
pub(crate) use segments::SegmentCache;
pub(crate) use short::INLINE;

/// 64 KB at first, at most 128 MB, and two generations of 16 MB.
const SHORT: short::ShortLimits = short::ShortLimits {
    first: 1 << 10,
    most: 1 << 21,
    elsewhere: 1 << 22,
};

/// 16 KB at first, at most 32 MB, and two generations of 32 MB.
const LONG: long::LongLimits = long::LongLimits {
    first: 1 << 10,
    most: 1 << 21,
    records: 1 << 25,
};

#[derive(Debug)]
pub(crate) struct IdsCache {
    seeds: Seeds,
    short: short::ShortTable,
    long: long::LongTable,
}

/// What a cache holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Pre-tokens.
    pub entries: usize,
    pub bytes: usize,
}

impl Default for IdsCache {
    fn default() -> Self {
        IdsCache {
            seeds: Seeds::default(),
            short: short::ShortTable::new(SHORT),
            long: long::LongTable::new(LONG),
        }
    }
}

/// Hashes keys, and prefetches the cache lines of their slots. Held by value in a loop over many
/// keys, it stays in registers.
#[derive(Clone, Copy)]
pub(crate) struct PrefetchingHasher<'c> {
    seeds: Seeds,
    short: &'c [short::Bucket],
    long: &'c [long::RecordSlot],
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
        mut odd: impl FnMut(usize, usize) -> (Key, u64),
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Level::Avx512(has) = Level::get() {
            return avx512::make_keys(has, text, batch, count, self.seeds, self.short, odd);
        }
        let places = batch.starts.iter().zip(&batch.ends).take(count);
        let made = batch.keys.iter_mut().zip(&mut batch.hashes).zip(places);
        for ((key, hash), (&start, &end)) in made {
            (*key, *hash) = match Key::in_window(text, start, end) {
                Some(key) => (key, self.hash(key)),
                None => odd(start, end),
            };
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
    pub fn stats(&self) -> CacheStats {
        CacheStats {
            entries: self.short.entries() + self.long.entries(),
            bytes: self.short.bytes() + self.long.bytes(),
        }
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

    /// See [`short::ShortTable::append_first_hits`].
    #[inline]
    pub fn append_first_hits(&self, keys: &[Key], hashes: &[u64], out: &mut Vec<u32>) -> usize {
        self.short.append_first_hits(keys, hashes, out)
    }

    pub fn ids_of_key(&mut self, key: Key, hash: u64) -> Option<&[u32]> {
        self.short.find(key, hash, self.seeds)
    }

    pub fn insert_key(&mut self, key: Key, hash: u64, ids: &[u32]) {
        self.short.insert(key, hash, ids, self.seeds);
    }

    /// Appends the ids of a text of over 15 bytes; false where they are not known.
    pub fn append_long(&mut self, text: &[u8], hash: u64, out: &mut Vec<u32>) -> bool {
        let found = self.long.find(text, hash);
        if let Some(bytes) = found {
            out.extend(long::ids(bytes));
        }
        found.is_some()
    }

    pub fn insert_long(&mut self, text: &[u8], hash: u64, ids: &[u32]) {
        self.long.insert(text, hash, ids);
    }
}
