//! Batches of pre-tokens on their way to a hash table.
//!
//! A scanner reports one pre-token after the other, and their spans are gathered. Then the keys and
//! hashes of the whole batch are made, and the cache lines of their slots are prefetched. Finally
//! all are looked up in a row, so that many cache misses overlap.

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::packed::{Key, Seeds};
use crate::prefetch::prefetch;
#[cfg(target_arch = "x86_64")]
use crate::pretokenize::Level;
use crate::pretokenize::PreTokenSink;

/// Number of pre-tokens in a batch.
pub(crate) const BATCH: usize = 256;

/// Pre-tokens that are not looked up yet.
#[derive(Debug)]
pub(crate) struct KeyBatch {
    /// Start and end offsets in the text.
    pub starts: [usize; BATCH],
    pub ends: [usize; BATCH],
    /// Keys of the pre-tokens. A pre-token of over 15 bytes has its start and length instead of a
    /// key.
    pub keys: [Key; BATCH],
    pub hashes: [u64; BATCH],
}

impl Default for KeyBatch {
    fn default() -> Self {
        KeyBatch {
            starts: [0; BATCH],
            ends: [0; BATCH],
            keys: [Key::default(); BATCH],
            hashes: [0; BATCH],
        }
    }
}

impl KeyBatch {
    /// Make the keys and the hashes of the first `count` spans, and prefetch their slots.
    ///
    /// The number of `slots` must be a power of two. `odd` makes the key and the hash of a span for
    /// which [`Key::in_window`] may return None.
    #[inline(always)]
    pub fn make_keys<T>(
        &mut self,
        text: &[u8],
        count: usize,
        seeds: Seeds,
        slots: &[T],
        mut odd: impl FnMut(usize, usize) -> (Key, u64),
    ) {
        #[cfg(target_arch = "x86_64")]
        if let Level::Avx512(has) = Level::get() {
            return avx512::make_keys(has, text, self, count, seeds, slots, odd);
        }
        let places = self.starts.iter().zip(&self.ends).take(count);
        let made = self.keys.iter_mut().zip(&mut self.hashes).zip(places);
        for ((key, hash), (&start, &end)) in made {
            (*key, *hash) = match Key::in_window(text, start, end) {
                Some(key) => {
                    let hash = seeds.hash(key);
                    prefetch(&slots[hash as usize & (slots.len() - 1)]);
                    (key, hash)
                }
                None => odd(start, end),
            };
        }
    }
}

/// Table that looks up a batch when the batch is full or the input ends.
pub(crate) trait BatchLookup {
    fn batch(&mut self) -> &mut KeyBatch;
    /// Return the number of pre-tokens in the batch.
    fn count(&mut self) -> &mut usize;
    /// Look up all pre-tokens of the batch and set their number to 0.
    fn look_up(&mut self);
}

/// Collector of spans for a [`BatchLookup`]. It keeps the number of gathered spans itself: when the
/// collector is moved into a scanner's loop, the number stays in a register.
pub(crate) struct GatheredPlaces<'p, L: BatchLookup> {
    lookup: &'p mut L,
    count: usize,
}

impl<'p, L: BatchLookup> GatheredPlaces<'p, L> {
    pub fn new(lookup: &'p mut L) -> Self {
        GatheredPlaces {
            count: *lookup.count(),
            lookup,
        }
    }

    /// Add the pre-token `text[start..end]`, and look up the batch if it is now full.
    #[inline(always)]
    pub fn push(&mut self, start: usize, end: usize) {
        self.lookup.batch().starts[self.count % BATCH] = start;
        self.lookup.batch().ends[self.count % BATCH] = end;
        self.count += 1;
        if self.count == BATCH {
            *self.lookup.count() = BATCH;
            self.lookup.look_up();
            self.count = 0;
        }
    }
}

impl<L: BatchLookup> PreTokenSink for GatheredPlaces<'_, L> {
    #[inline(always)]
    fn take(&mut self, start: usize, end: usize) {
        self.push(start, end);
    }

    #[inline(always)]
    fn take_adjoining(&mut self, base: usize, mut start: usize, ends: &[u16]) -> usize {
        let mut rest = ends;
        while !rest.is_empty() {
            let KeyBatch {
                starts: all_starts,
                ends: all_ends,
                ..
            } = self.lookup.batch();
            let free = all_starts[self.count..]
                .iter_mut()
                .zip(&mut all_ends[self.count..]);
            let mut taken = 0;
            for ((to_start, to_end), &end) in free.zip(rest) {
                *to_start = start;
                start = base + usize::from(end);
                *to_end = start;
                taken += 1;
            }
            rest = &rest[taken..];
            self.count += taken;
            if self.count == BATCH {
                *self.lookup.count() = BATCH;
                self.lookup.look_up();
                self.count = 0;
            }
        }
        start
    }
}

impl<L: BatchLookup> Drop for GatheredPlaces<'_, L> {
    fn drop(&mut self) {
        *self.lookup.count() = self.count;
    }
}
