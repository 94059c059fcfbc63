//! [`Lanes`] of NEON, which every AArch64 processor has.
#![allow(unsafe_code)]

use std::arch::aarch64::*;

use super::{lanes::Lanes, AsciiClasses};

#[derive(Clone, Copy)]
pub struct Neon([uint8x16_t; 4]);

// SAFETY: `write_places` is the trait's own, and every processor of this target has NEON.
unsafe impl Lanes for Neon {
    const COMPARES: bool = true;

    #[inline(always)]
    fn load(bytes: &[u8; 64]) -> Self {
        // SAFETY: all four loads lie within the 64 bytes and need no alignment; this file is
        // compiled only for targets that have NEON.
        Neon([0, 16, 32, 48].map(|at| unsafe { vld1q_u8(bytes.as_ptr().add(at)) }))
    }

    #[inline(always)]
    fn classes(self, table: &AsciiClasses) -> Self {
        // SAFETY: the loads lie within the table's 128 bytes and need no alignment; this file is
        // compiled only for targets that have NEON.
        unsafe {
            let from = table.0.as_ptr();
            let (low, high) = (vld1q_u8_x4(from), vld1q_u8_x4(from.add(64)));
            Neon(self.0.map(|bytes| {
                // For an index from 64 on, the first look-up gives 0, the second keeps the value.
                let found = vqtbl4q_u8(low, bytes);
                vqtbx4q_u8(found, high, vsubq_u8(bytes, vdupq_n_u8(64)))
            }))
        }
    }

    #[inline(always)]
    fn between(self, first: u8, last: u8) -> u64 {
        // SAFETY: this file is compiled only for targets that have NEON.
        unsafe {
            let (first, most) = (vdupq_n_u8(first), vdupq_n_u8(last - first));
            bits(self.0.map(|bytes| vcleq_u8(vsubq_u8(bytes, first), most)))
        }
    }

    #[inline(always)]
    fn mask<const BIT: i32>(self) -> u64 {
        // SAFETY: this file is compiled only for targets that have NEON.
        unsafe {
            let bit = vdupq_n_u8(1 << BIT);
            bits(self.0.map(|bytes| vtstq_u8(bytes, bit)))
        }
    }
}

/// Return one bit of each byte; the bits of a byte are all equal.
#[inline(always)]
fn bits(bytes: [uint8x16_t; 4]) -> u64 {
    // SAFETY: this file is compiled only for targets that have NEON.
    unsafe {
        // Eight neighbours keep a different bit each; three sums of neighbours join the bits.
        let own = vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201));
        let [a, b, c, d] = bytes.map(|bytes| vandq_u8(bytes, own));
        let fours = vpaddq_u8(vpaddq_u8(a, b), vpaddq_u8(c, d));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(fours, fours)))
    }
}
