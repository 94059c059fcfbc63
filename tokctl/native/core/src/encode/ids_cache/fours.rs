//! Ids that lie in fours, appended without a look at how many they are.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use super::INLINE;

/// Appends the first ids of each four, as many as the number beside it says. It asks for no
/// further four when there is no room for one.
#[inline(always)]
pub(super) fn append_fours<'i>(
    out: &mut Vec<u32>,
    mut fours: impl Iterator<Item = (&'i [u32; INLINE], usize)>,
) {
    let (length, mut filled) = (out.len(), 0);
    let spare = out.spare_capacity_mut();
    while let Some(place) = spare.get_mut(filled..filled + INLINE) {
        let Some((ids, count)) = fours.next() else {
            break;
        };
        // All four are copied; those that do not count are written over.
        place.copy_from_slice(&ids.map(MaybeUninit::new));
        filled += count.min(INLINE);
    }
    // SAFETY: `filled` only goes over ids just written, which lie in the spare capacity.
    unsafe { out.set_len(length + filled) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_count_is_left_out_and_too_little_room_stops() {
        let fours = [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]];
        let counts = [2, 0, 9];
        for (room, expected) in [
            (4, &[0][..]),
            (5, &[0, 1, 2]),
            (6, &[0, 1, 2]),
            (7, &[0, 1, 2, 9, 10, 11, 12]),
            (100, &[0, 1, 2, 9, 10, 11, 12]),
        ] {
            let mut out = Vec::with_capacity(room);
            out.push(0);
            append_fours(&mut out, fours.iter().zip(counts));
            assert!(out.capacity() != room || out == expected, "{room}: {out:?}");
        }
        let mut out = Vec::new();
        append_fours(&mut out, fours.iter().zip(counts));
        assert!(out.is_empty());
    }
}
