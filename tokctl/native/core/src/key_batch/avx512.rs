//! Keys and hashes of many pre-tokens with AVX-512, eight at a time. The results equal those of the
//! portable code.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::KeyBatch;
use crate::packed::{Key, Seeds, LONGEST};
use crate::prefetch::prefetch;
use crate::pretokenize::HasAvx512;

/// Number of keys made at a time.
const LANES: usize = 8;

/// Number of bytes that are read for a key.
const WINDOW: usize = 16;

/// Do the work of [`KeyBatch::make_keys`]. `odd` is called only for pre-tokens that are empty or
/// longer than 15 bytes; short ones at the end of the text are read with a mask.
#[inline]
pub(super) fn make_keys<T>(
    _: HasAvx512,
    text: &[u8],
    batch: &mut KeyBatch,
    count: usize,
    seeds: Seeds,
    slots: &[T],
    odd: impl FnMut(usize, usize) -> (Key, u64),
) {
    // SAFETY: a value of HasAvx512 exists only if the processor has all of these features.
    unsafe { make(text, batch, count, seeds, slots, odd) }
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn make<T>(
    text: &[u8],
    batch: &mut KeyBatch,
    count: usize,
    seeds: Seeds,
    slots: &[T],
    mut odd: impl FnMut(usize, usize) -> (Key, u64),
) {
    let last = text.len().checked_sub(WINDOW);
    let limit = _mm512_set1_epi64(last.unwrap_or(0) as i64);
    let mask = slots.len() - 1;
    let rows = (batch.starts.as_chunks::<LANES>().0.iter())
        .zip(batch.ends.as_chunks::<LANES>().0)
        .zip(batch.keys.as_chunks_mut::<LANES>().0)
        .zip(batch.hashes.as_chunks_mut::<LANES>().0);
    for (first, (((starts, ends), keys), hashes)) in (0..count).step_by(LANES).zip(rows) {
        // SAFETY: each load reads eight numbers of 64 bits from an array of eight.
        let (from, to) = unsafe {
            (
                _mm512_loadu_si512(starts.as_ptr().cast()),
                _mm512_loadu_si512(ends.as_ptr().cast()),
            )
        };
        // Entries after the last pre-token are stale, and may not even lie in this text.
        let valid = u8::MAX >> LANES.saturating_sub(count - first);
        let lengths = _mm512_maskz_sub_epi64(valid, to, from);
        let less = _mm512_sub_epi64(lengths, _mm512_set1_epi64(1));
        let mut odd_ones =
            _mm512_mask_cmpge_epu64_mask(valid, less, _mm512_set1_epi64(LONGEST as i64));
        let is_inside = _mm512_cmple_epu64_mask(from, limit) == u8::MAX;
        let windows = match is_inside && valid == u8::MAX && last.is_some() {
            true => windows(|lane| {
                // SAFETY: all starts are at most `last`, and from `last` on 16 bytes lie in the
                // text.
                unsafe { _mm_loadu_si128(text.as_ptr().add(starts[lane]).cast()) }
            }),
            false => {
                let mut counts = [0_u64; LANES];
                // SAFETY: the store writes eight numbers of 64 bits to an array of eight.
                unsafe { _mm512_storeu_si512(counts.as_mut_ptr().cast(), lengths) };
                windows(|lane| {
                    let count = counts[lane].min(WINDOW as u64) as u32;
                    let inside = _bzhi_u32((1 << LONGEST) - 1, count) as u16;
                    let start = text.as_ptr().wrapping_add(starts[lane]).cast();
                    // SAFETY: at most as many bytes are read as the pre-token has, and none if the
                    // lane is not valid.
                    unsafe { _mm_maskz_loadu_epi8(inside, start) }
                })
            }
        };
        let a = keys_of(windows.0, lengths, 0);
        let b = keys_of(windows.1, lengths, 32);
        let low = _mm512_permutex2var_epi64(a, _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0), b);
        let high = _mm512_permutex2var_epi64(a, _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1), b);
        let hash = fold(
            _mm512_xor_si512(low, _mm512_set1_epi64(seeds.0[0] as i64)),
            _mm512_xor_si512(high, _mm512_set1_epi64(seeds.0[1] as i64)),
        );
        // SAFETY: the stores write eight numbers of 64 bits, and eight keys of 16 bytes, to arrays
        // of eight.
        unsafe {
            _mm512_storeu_si512(hashes.as_mut_ptr().cast(), hash);
            _mm512_storeu_si512(keys.as_mut_ptr().cast(), a);
            _mm512_storeu_si512(keys.as_mut_ptr().add(LANES / 2).cast(), b);
        }
        for &hash in hashes.iter() {
            prefetch(&slots[hash as usize & mask]);
        }
        while odd_ones != 0 {
            let lane = odd_ones.trailing_zeros() as usize;
            (keys[lane], hashes[lane]) = odd(starts[lane], ends[lane]);
            odd_ones &= odd_ones - 1;
        }
    }
}

/// Combine eight windows of 16 bytes into two vectors of four.
#[target_feature(enable = "avx512f,avx2")]
#[inline]
fn windows(one: impl Fn(usize) -> __m128i) -> (__m512i, __m512i) {
    let two = |lane| _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(one(lane)), one(lane + 1));
    let four = |lane| _mm512_inserti64x4::<1>(_mm512_castsi256_si512(two(lane)), two(lane + 2));
    (four(0), four(4))
}

/// Return the keys of four windows. Their lengths are bytes `at`, `at + 8`, `at + 16` and `at + 24`
/// of `lengths`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
fn keys_of(windows: __m512i, lengths: __m512i, at: i8) -> __m512i {
    // For each of the 64 bytes: index of the length of its window.
    const OF_WINDOW: [u8; 64] = {
        let (mut bytes, mut byte) = ([0; 64], 0);
        while byte < 64 {
            bytes[byte] = byte as u8 / 16 * 8;
            byte += 1;
        }
        bytes
    };
    // SAFETY: the load reads the 64 bytes of the array.
    let of_window = unsafe { _mm512_loadu_si512(OF_WINDOW.as_ptr().cast()) };
    let lengths =
        _mm512_permutexvar_epi8(_mm512_add_epi8(of_window, _mm512_set1_epi8(at)), lengths);
    let places =
        _mm512_broadcast_i32x4(_mm_set_epi64x(0x0F0E_0D0C_0B0A_0908, 0x0706_0504_0302_0100));
    let inside = _mm512_cmplt_epu8_mask(places, lengths);
    let text = _mm512_maskz_mov_epi8(inside, windows);
    _mm512_mask_mov_epi8(text, 0x8000_8000_8000_8000, lengths)
}

/// Combine the halves of eight products by exclusive or: see [`crate::packed::fold`].
#[target_feature(enable = "avx512f,avx512dq")]
#[inline]
fn fold(a: __m512i, b: __m512i) -> __m512i {
    let (a_high, b_high) = (_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
    let low_half = _mm512_set1_epi64(0xFFFF_FFFF);
    let lows = _mm512_mul_epu32(a, b);
    let first = _mm512_mul_epu32(a_high, b);
    let second = _mm512_mul_epu32(a, b_high);
    let highs = _mm512_mul_epu32(a_high, b_high);
    // None of these sums exceeds 64 bits.
    let middle = _mm512_add_epi64(first, _mm512_srli_epi64::<32>(lows));
    let carried = _mm512_add_epi64(second, _mm512_and_si512(middle, low_half));
    let high = _mm512_add_epi64(
        _mm512_add_epi64(highs, _mm512_srli_epi64::<32>(middle)),
        _mm512_srli_epi64::<32>(carried),
    );
    // The low half of the product: the low half of `lows`, and above it the low half of `carried`.
    let low = _mm512_mask_mov_epi32(_mm512_slli_epi64::<32>(carried), 0x5555, lows);
    _mm512_xor_si512(low, high)
}
