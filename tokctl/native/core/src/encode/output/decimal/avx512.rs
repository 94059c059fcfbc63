//! Lines of ids with AVX-512.
//!
//! The digits of eight ids are made side by side. Leading zeros and other unwritten bytes are
//! squeezed out of all eight at once. The results equal the results of [`Lines::write_one_by_one`].
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::{Lines, LOOKED_UP, WIDTH};
use crate::encode::lookup::LINE_END;
use crate::pretokenize::HasAvx512;

/// Write ids; see [`Lines::write`].
#[inline]
pub(super) fn write(_: HasAvx512, lines: &mut Lines, ids: &[u32], to: &mut [u8]) -> Option<usize> {
    // SAFETY: a value of HasAvx512 exists only if all of these features were detected.
    unsafe { write_eights(lines, ids, to) }
}

/// Bits of the first byte of each id.
///
/// The eight bytes of an id are a separator or a line feed, six digits, and a byte that is never
/// written.
const FIRST_BYTES: u64 = 0x0101_0101_0101_0101;

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn write_eights(lines: &mut Lines, ids: &[u32], to: &mut [u8]) -> Option<usize> {
    let line_end = _mm512_set1_epi64(LINE_END.into());
    let looked_up = _mm512_set1_epi64(LOOKED_UP.into());
    // Shuffles bytes 0, 1 and 2 of both halves of a lane behind a free byte.
    let in_order = _mm512_set4_epi32(
        0x800E_0D0Cu32 as i32,
        0x0A09_0880u32 as i32,
        0x8006_0504u32 as i32,
        0x0201_0080,
    );
    let characters = _mm512_set1_epi64(0x0030_3030_3030_3000 | i64::from(lines.separator));
    let (mut at, mut rest) = (0, ids);
    while let Some((eight, others)) = rest.split_first_chunk::<8>() {
        rest = others;
        // SAFETY: the load reads the eight ids.
        let numbers = _mm512_cvtepu32_epi64(unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) });
        let ends = _mm512_cmpeq_epi64_mask(numbers, line_end);
        if _mm512_cmpge_epu64_mask(numbers, looked_up) != ends {
            at = lines.write_one_by_one(eight, to, at)?;
            continue;
        }
        let first_of_line = ends << 1 | u8::from(!lines.joined);
        lines.joined = ends < 1 << 7;
        lines.tokens += u64::from(ends.count_zeros());

        // Rounded up, 2³²/1000 is off by less than 1 in 6 million.
        let high = _mm512_srli_epi64::<32>(_mm512_mul_epu32(numbers, _mm512_set1_epi64(4_294_968)));
        let low = _mm512_sub_epi64(numbers, _mm512_mul_epu32(high, _mm512_set1_epi64(1000)));
        let halves = _mm512_or_si512(high, _mm512_slli_epi64::<32>(low));
        // Up to 1000, 41 / 4096 replaces 1 / 100; up to 100, 103 / 1024 replaces 1 / 10.
        let times = |numbers, factor| _mm512_mullo_epi16(numbers, _mm512_set1_epi16(factor));
        let hundreds = _mm512_srli_epi16::<12>(times(halves, 41));
        let below = _mm512_sub_epi16(halves, times(hundreds, 100));
        let tens = _mm512_srli_epi16::<10>(times(below, 103));
        let ones = _mm512_sub_epi16(below, times(tens, 10));
        let digits = _mm512_or_si512(
            _mm512_or_si512(hundreds, _mm512_slli_epi32::<8>(tens)),
            _mm512_slli_epi32::<16>(ones),
        );
        let digits = _mm512_shuffle_epi8(digits, in_order);

        // Keep the digits from the first nonzero one on, and always the last one.
        let mut kept = _mm512_test_epi8_mask(digits, digits) | FIRST_BYTES << 6;
        kept |= kept << 1 & 0xFEFE_FEFE_FEFE_FEFE;
        kept |= kept << 2 & 0xFCFC_FCFC_FCFC_FCFC;
        kept |= kept << 4 & 0xF0F0_F0F0_F0F0_F0F0;
        kept &= 0x7E7E_7E7E_7E7E_7E7E;
        let ended = _pdep_u64(ends.into(), FIRST_BYTES);
        kept &= !(ended * 0xFF);
        kept |= ended | _pdep_u64((!first_of_line).into(), FIRST_BYTES);
        let text = _mm512_or_si512(digits, characters);
        let text = _mm512_mask_mov_epi64(text, ends, _mm512_set1_epi64(b'\n'.into()));
        // The ids before took at most [`WIDTH`] bytes each, so this room is left.
        let room = &mut to[at..at + 8 * WIDTH];
        // SAFETY: the room is 88 bytes, and 64 are written.
        unsafe {
            let text = _mm512_maskz_compress_epi8(kept, text);
            _mm512_storeu_si512(room.as_mut_ptr().cast(), text);
        }
        at += kept.count_ones() as usize;
    }
    lines.write_one_by_one(rest, to, at)
}
