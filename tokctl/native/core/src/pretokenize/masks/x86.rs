//! [`Lanes`] of AVX2 and AVX-512.
//!
//! A [`HasAvx2`] or [`HasAvx512`] exists only if the processor was checked. The operations on lanes
//! are inlined into the functions at the end of this file, which need the proof. Nothing else
//! makes lanes.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::{lanes::Lanes, AsciiClasses, BatchPlaces, MaskPattern, Scan};

/// Proof that the processor has AVX2, BMI1, BMI2, LZCNT and POPCNT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HasAvx2(());

/// Proof of AVX-512 with operations on bytes, as in Ice Lake, Zen 4 and later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HasAvx512(());

impl HasAvx2 {
    pub fn detect() -> Option<Self> {
        let has = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        has.then_some(HasAvx2(()))
    }
}

impl HasAvx512 {
    pub fn detect() -> Option<Self> {
        let has = HasAvx2::detect().is_some()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx512vbmi2");
        has.then_some(HasAvx512(()))
    }
}

#[derive(Clone, Copy)]
struct Avx2(__m256i, __m256i);

// SAFETY: `write_places` is the trait's own. Lanes are made only where the instructions were found.
unsafe impl Lanes for Avx2 {
    const COMPARES: bool = true;

    #[inline(always)]
    fn load(bytes: &[u8; 64]) -> Self {
        let from = bytes.as_ptr().cast::<__m256i>();
        // SAFETY: both loads lie within the 64 bytes and need no alignment; lanes are made only
        // inside `avx2`, below, whose caller has proof of the instructions.
        unsafe { Avx2(_mm256_loadu_si256(from), _mm256_loadu_si256(from.add(1))) }
    }

    #[inline(always)]
    fn classes(self, table: &AsciiClasses) -> Self {
        // SAFETY: lanes exist, so the processor has the instructions (see `load`).
        unsafe { Avx2(classes_32(self.0, table), classes_32(self.1, table)) }
    }

    #[inline(always)]
    fn between(self, first: u8, last: u8) -> u64 {
        // SAFETY: lanes exist, so the processor has the instructions (see `load`).
        let (low, high) = unsafe {
            (
                between_32(self.0, first, last),
                between_32(self.1, first, last),
            )
        };
        u64::from(low) | u64::from(high) << 32
    }

    #[inline(always)]
    fn mask<const BIT: i32>(self) -> u64 {
        // SAFETY: lanes exist, so the processor has the instructions (see `load`).
        let (low, high) = unsafe { (mask_32::<BIT>(self.0), mask_32::<BIT>(self.1)) };
        u64::from(low) | u64::from(high) << 32
    }
}

/// Return the classes of 32 bytes, found row by row in the table, which has 16 bytes a row.
#[target_feature(enable = "avx2")]
#[inline]
fn classes_32(bytes: __m256i, table: &AsciiClasses) -> __m256i {
    let mut classes = _mm256_setzero_si256();
    for (number, row) in table.0.as_chunks::<16>().0.iter().enumerate() {
        let row = u128::from_le_bytes(*row);
        let row = _mm_set_epi64x((row >> 64) as i64, row as i64);
        // Bytes of this row become 0 to 15. The addition sets the highest bit of other bytes, for
        // which a shuffle gives 0.
        let inside = _mm256_xor_si256(bytes, _mm256_set1_epi8((number << 4) as i8));
        let index = _mm256_adds_epu8(inside, _mm256_set1_epi8(0x70));
        let found = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(row), index);
        classes = _mm256_or_si256(classes, found);
    }
    classes
}

#[target_feature(enable = "avx2")]
#[inline]
fn between_32(bytes: __m256i, first: u8, last: u8) -> u32 {
    let from_first = _mm256_sub_epi8(bytes, _mm256_set1_epi8(first as i8));
    // AVX2 has no unsigned comparison, but an unsigned minimum.
    let smaller = _mm256_min_epu8(from_first, _mm256_set1_epi8((last - first) as i8));
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(from_first, smaller)) as u32
}

#[target_feature(enable = "avx2")]
#[inline]
fn mask_32<const BIT: i32>(bytes: __m256i) -> u32 {
    // A shift of 16-bit units, because AVX2 cannot shift bytes: bit BIT of each byte comes to the
    // top of the byte all the same.
    let top = _mm256_sll_epi16(bytes, _mm_cvtsi32_si128(7 - BIT));
    _mm256_movemask_epi8(top) as u32
}

#[derive(Clone, Copy)]
struct Avx512(__m512i);

// SAFETY: `write_places` writes 32 entries, or 64 for a mask of more than 32 bits. Lanes are made only
// where the instructions were found.
unsafe impl Lanes for Avx512 {
    const COMPARES: bool = true;

    #[inline(always)]
    fn load(bytes: &[u8; 64]) -> Self {
        // SAFETY: the load covers the 64 bytes and needs no alignment; lanes are made only inside
        // `avx512`, below, whose caller has proof of the instructions.
        unsafe { Avx512(_mm512_loadu_si512(bytes.as_ptr().cast())) }
    }

    #[inline(always)]
    fn classes(self, table: &AsciiClasses) -> Self {
        // SAFETY: both loads lie within the table's 128 bytes and need no alignment; lanes exist,
        // so the processor has the instructions (see `load`).
        unsafe {
            let from = table.0.as_ptr().cast::<__m512i>();
            let (low, high) = (_mm512_loadu_si512(from), _mm512_loadu_si512(from.add(1)));
            let is_ascii = !_mm512_movepi8_mask(self.0);
            // The index is the low seven bits of a byte.
            let classes = _mm512_permutex2var_epi8(low, self.0, high);
            Avx512(_mm512_maskz_mov_epi8(is_ascii, classes))
        }
    }

    #[inline(always)]
    fn between(self, first: u8, last: u8) -> u64 {
        // SAFETY: lanes exist, so the processor has the instructions (see `load`).
        unsafe {
            let from_first = _mm512_sub_epi8(self.0, _mm512_set1_epi8(first as i8));
            _mm512_cmple_epu8_mask(from_first, _mm512_set1_epi8((last - first) as i8))
        }
    }

    #[inline(always)]
    fn mask<const BIT: i32>(self) -> u64 {
        // SAFETY: lanes exist, so the processor has the instructions (see `load`).
        unsafe { _mm512_test_epi8_mask(self.0, _mm512_set1_epi8((1_u8 << BIT) as i8)) }
    }

    #[inline(always)]
    fn write_places(mask: u64, base: u16, out: &mut [MaybeUninit<u16>; 64]) {
        // SAFETY: this is called only inside `avx512`, below, whose caller has proof of the
        // instructions. The load covers the 64 bytes of `PLACES`. Both stores lie within the 64
        // entries of 16 bits. None needs alignment.
        unsafe {
            let places =
                _mm512_maskz_compress_epi8(mask, _mm512_loadu_si512(PLACES.as_ptr().cast()));
            let base = _mm512_set1_epi16(base as i16);
            let half = |bytes| _mm512_add_epi16(_mm512_cvtepu8_epi16(bytes), base);
            let to = out.as_mut_ptr().cast::<__m512i>();
            _mm512_storeu_si512(to, half(_mm512_castsi512_si256(places)));
            if mask.count_ones() > 32 {
                _mm512_storeu_si512(to.add(1), half(_mm512_extracti64x4_epi64::<1>(places)));
            }
        }
    }
}

/// The numbers 0 to 63.
static PLACES: [u8; 64] = {
    let mut places = [0; 64];
    let mut place = 0;
    while place < 64 {
        places[place] = place as u8;
        place += 1;
    }
    places
};

#[inline]
pub(super) fn fill_avx2<P: MaskPattern>(
    _: HasAvx2,
    scan: &mut Scan<P>,
    places: &mut BatchPlaces,
) -> usize {
    // SAFETY: a `HasAvx2` exists only where all features that `avx2` enables were detected.
    unsafe { avx2(scan, places) }
}

#[inline]
pub(super) fn fill_avx512<P: MaskPattern>(
    _: HasAvx512,
    scan: &mut Scan<P>,
    places: &mut BatchPlaces,
) -> usize {
    // SAFETY: a `HasAvx512` exists only where all features that `avx512` enables were detected.
    unsafe { avx512(scan, places) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn avx2<P: MaskPattern>(scan: &mut Scan<P>, places: &mut BatchPlaces) -> usize {
    scan.fill::<Avx2>(places)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
fn avx512<P: MaskPattern>(scan: &mut Scan<P>, places: &mut BatchPlaces) -> usize {
    scan.fill::<Avx512>(places)
}
