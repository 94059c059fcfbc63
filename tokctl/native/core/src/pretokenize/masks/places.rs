//! Places in a batch of blocks, in memory that is not cleared first: a text is often a short line.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use super::lanes::Lanes;
use super::BATCH;

/// Places in a batch, in order.
pub struct Places {
    /// The first `count` are written. Behind them is room for all bits of a mask.
    places: [MaybeUninit<u16>; 64 * (BATCH + 1)],
    count: usize,
}

impl Places {
    #[inline]
    pub fn none() -> Self {
        Places {
            places: [const { MaybeUninit::uninit() }; 64 * (BATCH + 1)],
            count: 0,
        }
    }

    /// Adds the bits of a mask, whose first one has the place `base`. Of a batch of masks at most,
    /// before the next [`Self::take`].
    #[inline(always)]
    pub fn add<L: Lanes>(&mut self, base: usize, mask: u64) {
        if let Some(free) = self.places[self.count..].first_chunk_mut() {
            L::write_places(mask, base as u16, free);
            self.count += mask.count_ones() as usize;
        }
    }

    /// Gives out all.
    #[inline(always)]
    pub fn take(&mut self) -> &[u16] {
        let places = &self.places[..std::mem::take(&mut self.count)];
        // SAFETY: `count` grows by as many places as `write_places` has written behind it.
        unsafe { &*(std::ptr::from_ref(places) as *const [u16]) }
    }
}
