//! Pre-tokens in batches, on their way to a table.
//!
//! A scanner calls back with one pre-token after the other. Their places are gathered; then the keys
//! and hashes of the whole batch are made, the cache lines of their slots are prefetched, and it
//! is looked up in a row, so that many cache misses are under way at the same time.

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::packed::{Key, Seeds};
use crate::prefetch::prefetch;
#[cfg(target_arch = "x86_64")]
use crate::pretokenize::Level;
use crate::pretokenize::PreTokenSink;

/// Pre-tokens of a batch.
pub(crate) const BATCH: usize = 256;

/// Pre-tokens that are not looked up yet.
#[derive(Debug)]
pub(crate) struct KeyBatch {
    /// Start and end in the text.
    pub starts: [usize; BATCH],
    pub ends: [usize; BATCH],
    /// Of a pre-token of over 15 bytes, its start and its length in place of the key.
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
    /// Makes the keys and the hashes of the first `count` places, and prefetches their slots, of
    /// which there is a power of two. `odd` makes those of a place that [`Key::in_window`] has no
    /// key for.
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

/// Looks a batch up when it is full, or nothing more comes.
pub(crate) trait BatchLookup {
    fn batch(&mut self) -> &mut KeyBatch;
    /// Pre-tokens in the batch.
    fn count(&mut self) -> &mut usize;
    /// Looks all of them up; then there are none.
    fn look_up(&mut self);
}

/// Counts apart from the look-up that it gathers for: moved into a scanner's loop, the number stays
/// in a register.
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

    /// The next pre-token, `text[start..end]`.
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
