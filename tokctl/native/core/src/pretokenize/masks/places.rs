//! Offsets in a batch of blocks, in memory that is not cleared first.
//!
//! A text is often a short line, for which clearing would cost too much.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use super::lanes::Lanes;
use super::BATCH;

/// Offsets in a batch, in ascending order.
pub struct Places {
    /// Offsets, of which the first `count` are written. The rest always has room for all bits of a
    /// mask.
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

    /// Add the bits of a mask, whose first bit has the offset `base`.
    ///
    /// At most [`BATCH`] masks fit before the next [`Self::take`].
    #[inline(always)]
    pub fn add<L: Lanes>(&mut self, base: usize, mask: u64) {
        if let Some(free) = self.places[self.count..].first_chunk_mut() {
            L::write_places(mask, base as u16, free);
            self.count += mask.count_ones() as usize;
        }
    }

    /// Return all offsets, and start anew.
    #[inline(always)]
    pub fn take(&mut self) -> &[u16] {
        let places = &self.places[..std::mem::take(&mut self.count)];
        // SAFETY: `count` grows only by the number of offsets that `write_places` wrote directly
        // after the first `count`, so the first `count` are initialized.
        unsafe { &*(std::ptr::from_ref(places) as *const [u16]) }
    }
}
