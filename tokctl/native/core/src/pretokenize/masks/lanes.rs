//! Vectors of 64 bytes, on which one operation is done at once.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use super::AsciiClasses;

/// 64 bytes in registers.
///
/// # Safety
/// `write_places` must initialize an entry of `out` for each bit of the mask: [`super::places`]
/// reads as many. Methods may use instructions that only some processors have; [`super::level`]
/// chooses an implementation that this one can run.
pub unsafe trait Lanes: Copy {
    /// Whether `between` is one step; if not, it takes longer than a look-up of the character.
    const COMPARES: bool;

    fn load(bytes: &[u8; 64]) -> Self;

    /// Return the class of each byte; 0 for a byte beyond ASCII.
    fn classes(self, table: &AsciiClasses) -> Self;

    /// Return the mask of the bytes in `first..=last`.
    fn between(self, first: u8, last: u8) -> u64;

    /// Return bit `BIT` of each byte as a mask; the first byte's is the lowest.
    fn mask<const BIT: i32>(self) -> u64;

    /// Write the positions of a mask's bits, ascending and with `base` added, to the start of
    /// `out`.
    ///
    /// The entries after them are unspecified. Positions are written eight at a time, even if
    /// fewer are left: a branch at the last one would be mispredicted for nearly every mask.
    #[inline(always)]
    fn write_places(mut mask: u64, base: u16, out: &mut [MaybeUninit<u16>; 64]) {
        for eight in out.as_chunks_mut::<8>().0 {
            if mask == 0 {
                break;
            }
            for place in eight {
                place.write(base.wrapping_add(mask.trailing_zeros() as u16));
                mask &= mask.wrapping_sub(1);
            }
        }
    }
}

/// Eight words of eight bytes, in plain Rust.
#[derive(Clone, Copy)]
pub struct Portable([u64; 8]);

// SAFETY: `write_places` is the one above, which writes an entry for each bit. Needs no instructions
// that some processors lack.
unsafe impl Lanes for Portable {
    const COMPARES: bool = false;

    #[inline(always)]
    fn load(bytes: &[u8; 64]) -> Self {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Portable(words)
    }

    #[inline(always)]
    fn classes(self, table: &AsciiClasses) -> Self {
        Portable(self.0.map(|word| {
            let class = |byte: u8| {
                // All ones for ASCII: a mask cannot be mispredicted, unlike a branch.
                let is_ascii = (byte >> 7).wrapping_sub(1);
                table.0[usize::from(byte & 0x7F)] & is_ascii
            };
            u64::from_le_bytes(word.to_le_bytes().map(class))
        }))
    }

    #[inline(always)]
    fn between(self, first: u8, last: u8) -> u64 {
        let inside = |byte: u8| u8::from(byte.wrapping_sub(first) <= last - first);
        let words = self
            .0
            .map(|word| u64::from_le_bytes(word.to_le_bytes().map(inside)));
        Portable(words).mask::<0>()
    }

    #[inline(always)]
    fn mask<const BIT: i32>(self) -> u64 {
        let mut mask = 0;
        for (number, word) in self.0.into_iter().enumerate() {
            let lowest = (word >> BIT) & 0x0101_0101_0101_0101;
            // The product's highest byte has bit k of byte k; no two terms meet in a bit.
            let byte = lowest.wrapping_mul(0x0102_0408_1020_4080) >> 56;
            mask |= byte << (8 * number);
        }
        mask
    }
}
