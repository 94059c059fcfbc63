//! First hits of many pre-tokens with AVX-512, which compares a bucket with a key in one
//! instruction.
//!
//! The results equal the results of the portable code in `short.rs`.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::short::{ShortTable, COUNT};
use super::INLINE;
use crate::packed::Key;
use crate::pretokenize::HasAvx512;

/// Append the ids of first hits; see [`super::short::ShortTable::append_first_hits`].
#[inline]
pub(super) fn append_first_hits(
    _: HasAvx512,
    table: &ShortTable,
    keys: &[Key],
    hashes: &[u64],
    out: &mut Vec<u32>,
) -> usize {
    // SAFETY: a value of HasAvx512 exists only if all of these features were detected.
    unsafe { append(table, keys, hashes, out) }
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2,lzcnt,popcnt"
)]
fn append(table: &ShortTable, keys: &[Key], hashes: &[u64], out: &mut Vec<u32>) -> usize {
    let length = out.len();
    let spare = out.spare_capacity_mut();
    let keys = &keys[..keys.len().min(spare.len() / INLINE)];
    // Free elements of `spare` beyond four ids per key.
    let mut more_room = spare.len() - keys.len() * INLINE;
    let buckets = table.buckets();
    let mask = buckets.len() - 1;
    let differs = _mm512_set4_epi64(-1, -1, !COUNT as i64, -1);
    let (mut found, mut filled) = (0, 0);
    for (key, &hash) in keys.iter().zip(hashes) {
        let both = &buckets[hash as usize & mask];
        let bucket = std::ptr::from_ref(both).cast::<u8>();
        // SAFETY: a bucket is 64 bytes, aligned to 64, and a key is 16 bytes.
        let (slots, wanted) = unsafe {
            (
                _mm512_load_si512(bucket.cast()),
                _mm_loadu_si128(std::ptr::from_ref(key).cast()),
            )
        };
        let other = _mm512_xor_si512(slots, _mm512_broadcast_i32x4(wanted));
        // Bits 0 and 1 are the halves of the first slot's key, bits 4 and 5 the halves of the
        // second slot's.
        let equal = u32::from(_mm512_testn_epi64_mask(other, differs));
        let equal = equal & equal.rotate_right(1) & 0x11;
        if equal == 0 {
            let Some(ids) = table.young_elsewhere(both, *key) else {
                break;
            };
            if ids.len() > more_room {
                break;
            }
            more_room -= ids.len();
            for (to, &id) in spare[filled..].iter_mut().zip(ids) {
                to.write(id);
            }
            filled += ids.len();
            found += 1;
            continue;
        }
        // SAFETY: the slot is one of the bucket's two, of 32 bytes each. `filled` is at most four
        // times the number of keys found inline, plus the ids taken from `more_room`, so `spare`
        // has room for four more ids.
        unsafe {
            let slot = bucket.add(2 * (equal & 0x10) as usize);
            let ids = _mm_load_si128(slot.add(16).cast());
            _mm_storeu_si128(spare.as_mut_ptr().add(filled).cast(), ids);
            filled += usize::from(*slot.add(15) >> 4);
        }
        found += 1;
    }
    // SAFETY: `filled` counts only ids just written, which are in the spare capacity.
    unsafe { out.set_len(length + filled) };
    found
}
