//! Code points as UTF-8, sixteen at a time with AVX-512.
#![cfg_attr(target_arch = "x86_64", allow(unsafe_code))]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

#[cfg(target_arch = "x86_64")]
use crate::pretokenize::{HasAvx512, Level};

/// Writer that appends UTF-8 to a text.
///
/// A value exists only where the writer is faster than other libraries' code.
#[derive(Debug, Clone, Copy)]
pub struct Utf8Writer {
    #[cfg(target_arch = "x86_64")]
    has: HasAvx512,
    #[cfg(not(target_arch = "x86_64"))]
    has: std::convert::Infallible,
}

impl Utf8Writer {
    /// Return the writer, if the processor has AVX-512.
    pub fn get() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        if let Level::Avx512(has) = Level::get() {
            return Some(Utf8Writer { has });
        }
        None
    }

    /// Return the bytes that [`Self::append`] may reserve for `count` code points.
    pub fn room(count: usize) -> usize {
        4 * (count + 2 * LANES)
    }

    /// Append the UTF-8 of `codes` to `out`.
    ///
    /// Returns false, with `out` unchanged, if one of the codes is not a character.
    pub fn append(self, codes: &[u32], out: &mut Vec<u8>) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let first = out.len();
            let done = append_vectors(self.has, codes, out)
                && append_one_by_one(codes.as_chunks::<LANES>().1, out);
            if !done {
                out.truncate(first);
            }
            done
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let _ = (codes, out);
            match self.has {}
        }
    }
}

/// Append the UTF-8 of `codes` without vectors.
///
/// Returns false at the first code that is not a character; the characters before it stay.
#[cfg(any(target_arch = "x86_64", test))]
fn append_one_by_one(codes: &[u32], out: &mut Vec<u8>) -> bool {
    codes.iter().all(|&code| {
        let character = char::from_u32(code);
        let mut bytes = [0; 4];
        let text = character.map(|character| character.encode_utf8(&mut bytes));
        out.extend_from_slice(text.as_deref().unwrap_or_default().as_bytes());
        text.is_some()
    })
}

/// Code points in a vector.
const LANES: usize = 16;

/// Append the code points that fill whole vectors.
#[cfg(target_arch = "x86_64")]
#[inline]
fn append_vectors(_: HasAvx512, codes: &[u32], out: &mut Vec<u8>) -> bool {
    // SAFETY: a `HasAvx512` exists only where all features that `append` enables were detected.
    unsafe { append(codes, out) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn append(codes: &[u32], out: &mut Vec<u8>) -> bool {
    let all = |number: u32| _mm512_set1_epi32(number as i32);
    // Bit offsets of the four groups of six bits in each of two code points, highest first.
    let sixes = _mm512_set1_epi64(i64::from_le_bytes([18, 12, 6, 0, 50, 44, 38, 32]));
    let chunks = codes.as_chunks::<LANES>().0;
    // At most four bytes for each code point, and each write is a whole vector.
    out.reserve((chunks.len() + 1) * 4 * LANES);
    let spare = out.spare_capacity_mut().as_mut_ptr().cast::<u8>();
    let mut filled = 0;
    for chunk in chunks {
        // SAFETY: the load covers the sixteen numbers of 32 bits in `chunk`.
        let codes = unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) };
        let from_two = _mm512_cmpge_epu32_mask(codes, all(0x80));
        if from_two == 0 {
            // SAFETY: `filled` is at most 64 times the number of chunks before this one, so at
            // least 64 bytes of the reserved room are left; the store writes 16.
            unsafe { _mm_storeu_si128(spare.add(filled).cast(), _mm512_cvtepi32_epi8(codes)) };
            filled += LANES;
            continue;
        }
        let from_three = _mm512_cmpge_epu32_mask(codes, all(0x800));
        let from_four = _mm512_cmpge_epu32_mask(codes, all(0x1_0000));
        let is_surrogate =
            _mm512_cmpeq_epi32_mask(_mm512_and_si512(codes, all(0xFFFF_F800)), all(0xD800));
        if is_surrogate | _mm512_cmpge_epu32_mask(codes, all(0x11_0000)) != 0 {
            return false;
        }
        // Each code point ends in the last of its four bytes. `marks` are the UTF-8 prefix bits for
        // its length, `kept` tells which of the four bytes are used.
        let mut marks = all(0x80C0_0000);
        marks = _mm512_mask_mov_epi32(marks, from_three, all(0x8080_E000));
        marks = _mm512_mask_mov_epi32(marks, from_four, all(0x8080_80F0));
        let mut kept = _mm512_mask_mov_epi32(all(0xFF00_0000), from_two, all(0xFFFF_0000));
        kept = _mm512_mask_mov_epi32(kept, from_three, all(0xFFFF_FF00));
        kept = _mm512_mask_mov_epi32(kept, from_four, all(u32::MAX));
        let parts = _mm512_and_si512(_mm512_multishift_epi64_epi8(sixes, codes), all(0x3F3F_3F3F));
        let bytes = _mm512_or_si512(parts, marks);
        let bytes = _mm512_mask_slli_epi32::<24>(bytes, !from_two, codes);
        let kept = _mm512_movepi8_mask(kept);
        // SAFETY: at least 64 bytes of the reserved room are left, as above; the store writes 64.
        unsafe {
            let text = _mm512_maskz_compress_epi8(kept, bytes);
            _mm512_storeu_si512(spare.add(filled).cast(), text);
        }
        filled += kept.count_ones() as usize;
    }
    // SAFETY: the first `filled` bytes of the spare capacity are written.
    unsafe { out.set_len(out.len() + filled) };
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random_below;

    fn check(codes: &[u32]) {
        let Some(writer) = Utf8Writer::get() else {
            return;
        };
        let (mut expected, mut out) = (b"x".to_vec(), b"x".to_vec());
        let is_text = append_one_by_one(codes, &mut expected);
        assert_eq!(writer.append(codes, &mut out), is_text, "{codes:x?}");
        let expected = if is_text { &expected[..] } else { b"x" };
        assert_eq!(out, expected, "{codes:x?}");
    }

    #[test]
    fn every_code_point() {
        let all: Vec<u32> = ('\0'..=char::MAX).map(u32::from).collect();
        check(&all);
        for code in (0xD700..0xE100)
            .chain(0x10_FFF0..0x11_0010)
            .chain([u32::MAX])
        {
            check(&[[0x61; 16], [code; 16], [0xE9; 16]].concat());
            check(&[code]);
        }
    }

    #[test]
    fn those_of_all_lengths_side_by_side() {
        let mut below = random_below(11);
        for _ in 0..3000 {
            let length = below(70);
            let kinds = 1 + below(5);
            let codes: Vec<u32> = (0..length)
                .map(|_| match below(kinds) {
                    0 => below(0x80) as u32,
                    1 => 0x80 + below(0x780) as u32,
                    2 => 0x800 + below(0xD000) as u32,
                    3 => 0x1_0000 + below(0x10_0000) as u32,
                    _ => [0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF][below(7)],
                })
                .collect();
            check(&codes);
            if length > 0 {
                let mut wrong = codes.clone();
                wrong[below(length)] = 0xD800 + below(0x800) as u32;
                check(&wrong);
            }
        }
    }
}
