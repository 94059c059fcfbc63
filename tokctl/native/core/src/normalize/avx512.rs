//! AVX-512 search for bytes that a normalizer may change, 64 bytes at a time.
//!
//! The results equal the results of the portable code in `chars_map` and `tidy`.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::pretokenize::HasAvx512;

/// Bytes in a block.
pub(super) const BLOCK: usize = 64;
/// Bytes after a block that are loaded with it, for characters that begin in the block.
const MORE: usize = 2;

/// Prefilter: a superset of the characters that rules concern.
///
/// A character selects its bit by its first two bytes, so that each table fits in two registers.
/// Every character of four bytes is a member.
#[derive(Debug, Clone)]
pub(super) struct Suspects {
    /// Nonzero for each ASCII member.
    ascii: [u8; 128],
    /// Table of the two-byte characters, two to a bit.
    two: [u8; 128],
    /// Table of the three-byte characters, 64 to a bit.
    three: [u8; 128],
}

impl Suspects {
    pub fn new(ascii: &[bool; 128], concerns: impl Fn(u32) -> bool) -> Self {
        let (mut two, mut three) = ([0; 128], [0; 128]);
        for code in (0x80..0x1_0000).filter(|&code| concerns(code)) {
            let (table, bit) = match code {
                ..0x800 => (&mut two, code >> 1),
                _ => (&mut three, code >> 6),
            };
            table[bit as usize >> 3] |= 1 << (bit & 7);
        }
        Suspects {
            ascii: ascii.map(u8::from),
            two,
            three,
        }
    }

    /// Call `check` with the offset of each member until it returns an answer.
    ///
    /// Without an answer, the error is the number of bytes searched; the last bytes, fewer than a
    /// block and its [`MORE`] bytes, are not.
    #[inline]
    pub fn find<T>(
        &self,
        _: HasAvx512,
        text: &[u8],
        check: impl FnMut(usize) -> Option<T>,
    ) -> Result<T, usize> {
        // SAFETY: a `HasAvx512` exists only where all features that `find` enables were detected.
        unsafe { find(self, text, check) }
    }
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn find<T>(
    suspects: &Suspects,
    text: &[u8],
    mut check: impl FnMut(usize) -> Option<T>,
) -> Result<T, usize> {
    let ascii = table(&suspects.ascii);
    let (two, three) = (table(&suspects.two), table(&suspects.three));
    let bits = _mm512_set1_epi64(i64::from_le_bytes([1, 2, 4, 8, 16, 32, 64, 128]));
    let all = |byte: u8| _mm512_set1_epi8(byte as i8);
    let and = |a, byte| _mm512_and_si512(a, all(byte));
    // Test bit `number & 7` of the byte `index & 127` of a table.
    let is_set = |among, table: (__m512i, __m512i), index, number| {
        let byte = _mm512_permutex2var_epi8(table.0, index, table.1);
        _mm512_mask_test_epi8_mask(among, byte, _mm512_shuffle_epi8(bits, and(number, 7)))
    };
    let mut at = 0;
    while let Some(bytes) = text[at..].first_chunk::<{ BLOCK + MORE }>() {
        let (here, next) = (load::<0>(bytes), load::<1>(bytes));
        let is_ascii = !_mm512_movepi8_mask(here);
        let found = _mm512_permutex2var_epi8(ascii.0, here, ascii.1);
        let mut found = _mm512_mask_test_epi8_mask(is_ascii, found, found);
        let from_two = _mm512_cmpge_epu8_mask(here, all(0xC0));
        if from_two != 0 {
            let from_three = _mm512_cmpge_epu8_mask(here, all(0xE0));
            let from_four = _mm512_cmpge_epu8_mask(here, all(0xF0));
            // No instruction shifts single bytes: the masks clear the bits of the neighbour.
            let index = _mm512_or_si512(
                and(_mm512_slli_epi16::<2>(here), 0x7C),
                and(_mm512_srli_epi16::<4>(next), 0x03),
            );
            found |= from_four
                | is_set(
                    from_two & !from_three,
                    two,
                    index,
                    _mm512_srli_epi16::<1>(next),
                );
            let index = _mm512_or_si512(
                and(_mm512_slli_epi16::<3>(here), 0x78),
                and(_mm512_srli_epi16::<3>(next), 0x07),
            );
            found |= is_set(from_three & !from_four, three, index, next);
        }
        while found != 0 {
            if let Some(answer) = check(at + found.trailing_zeros() as usize) {
                return Ok(answer);
            }
            found &= found - 1;
        }
        at += BLOCK;
    }
    Err(at)
}

/// Return a bit for each byte of the block at `at` where a space or `▁` begins; None near the end.
#[inline]
pub(super) fn stops(_: HasAvx512, text: &[u8], at: usize) -> Option<u64> {
    let bytes = text.get(at..)?.first_chunk()?;
    // SAFETY: a `HasAvx512` exists only where all features that `stops_in` enables were detected.
    Some(unsafe { stops_in(bytes) })
}

#[target_feature(enable = "avx512f,avx512bw")]
fn stops_in(bytes: &[u8; BLOCK + MORE]) -> u64 {
    let (here, next, behind) = (load::<0>(bytes), load::<1>(bytes), load::<2>(bytes));
    let is = |bytes, byte: u8| _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte as i8));
    is(here, b' ') | is(here, 0xE2) & is(next, 0x96) & is(behind, 0x81)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load<const FROM: usize>(bytes: &[u8; BLOCK + MORE]) -> __m512i {
    const { assert!(FROM <= MORE) }
    // SAFETY: `FROM` is at most `MORE`, so the 64 bytes from `FROM` on lie within `bytes`.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().add(FROM).cast()) }
}

/// Load the two halves of a table.
#[target_feature(enable = "avx512f")]
#[inline]
fn table(bytes: &[u8; 128]) -> (__m512i, __m512i) {
    let from = bytes.as_ptr().cast::<__m512i>();
    // SAFETY: both loads lie within the 128 bytes.
    unsafe { (_mm512_loadu_si512(from), _mm512_loadu_si512(from.add(1))) }
}
