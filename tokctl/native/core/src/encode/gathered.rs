//! What is gathered to be looked up together, and what a call keeps for the next one.

use std::ops::RangeInclusive;

use super::deferred::Deferred;
use super::ids_cache::{Homes, IdsCache};
use super::segmenter::Segment;
use crate::packed::{Key, LONGEST};

/// Pre-tokens that are gathered.
pub(super) const BATCH: usize = 256;

/// Batches between two looks at the interrupt.
pub(super) const LOOK_EVERY: usize = 64;

/// Lengths of pre-tokens over 15 bytes that are remembered.
pub(super) const CACHED: RangeInclusive<usize> = LONGEST + 1..=128;

/// What a call works with, kept for the next one.
#[derive(Debug)]
pub(super) struct Memory {
    pub cache: IdsCache,
    pub gathered: Box<Gathered>,
    /// A word as it is rewritten.
    pub rewritten: Vec<u8>,
    pub scratch: Vec<Segment>,
    pub deferred: Deferred,
}

/// Pre-tokens that are not looked up yet.
#[derive(Debug)]
pub(super) struct Gathered {
    /// Start and end in the text.
    pub places: [(usize, usize); BATCH],
    /// Of a pre-token of over 15 bytes, its start and its length in place of the key.
    pub keys: [Key; BATCH],
    pub hashes: [u64; BATCH],
}

impl Gathered {
    /// The hashes of so many keys, whose places are asked for ahead.
    #[inline]
    pub fn make_hashes(&mut self, count: usize, homes: Homes) {
        for (hash, &key) in self.hashes.iter_mut().zip(&self.keys[..count]) {
            *hash = homes.hash(key);
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            cache: IdsCache::default(),
            gathered: Box::new(Gathered {
                places: [(0, 0); BATCH],
                keys: [Key::default(); BATCH],
                hashes: [0; BATCH],
            }),
            rewritten: Vec::new(),
            scratch: Vec::new(),
            deferred: Deferred::default(),
        }
    }
}
