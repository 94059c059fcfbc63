//! Table of texts by number (such as tokens by id), laid out so that copying a text costs one load
//! and one store.

// The inner loops index without checking every id: see `TextTable::knows`.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use crate::error::{Error, Result};
use crate::prefetch::prefetch;
#[cfg(target_arch = "x86_64")]
use crate::pretokenize::Level;

/// Bytes of an entry, and of every copy.
const WIDTH: usize = 16;
/// Index of an entry's length byte: the last byte, so that the bytes before it hold the text.
const LENGTH: usize = WIDTH - 1;
/// Number of ids that are checked at a time, and then processed.
const SOME: usize = 256;
/// Distance in ids by which ids are prefetched: between the checks, the processor's own prefetcher
/// does not detect the sequential reads.
const AHEAD: usize = 1024;
/// Number of ids in a cache line.
const LINE: usize = 16;
/// Number of texts that are copied at a time.
const TOGETHER: usize = 8;
/// Bytes that the copied texts take at most.
pub const WINDOW: usize = TOGETHER * WIDTH;
/// Length byte of an entry whose text is stored separately. No real length has this bit, and none
/// is greater.
const APART: u8 = WIDTH as u8;

/// Text of up to [`LENGTH`] bytes and its length. For a longer text: its offset in `apart` and its
/// length, as two little-endian numbers of 8 and 7 bytes.
///
/// Aligned, so that no entry spans two cache lines.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct TokenEntry([u8; WIDTH]);

/// Texts by number.
#[derive(Default)]
pub struct TextTable {
    entries: Vec<TokenEntry>,
    /// Copies of the entries' last bytes, packed densely for callers that need only the lengths.
    lengths: Vec<u8>,
    /// Texts that do not fit an entry, end to end.
    apart: Vec<u8>,
}

/// Byte of output memory, initialized or not.
pub trait OutputByte: Copy {
    fn places(bytes: [u8; WIDTH]) -> [Self; WIDTH];
    fn place(byte: u8) -> Self;
}

impl OutputByte for u8 {
    fn places(bytes: [u8; WIDTH]) -> [u8; WIDTH] {
        bytes
    }

    fn place(byte: u8) -> u8 {
        byte
    }
}

impl OutputByte for MaybeUninit<u8> {
    fn places(bytes: [u8; WIDTH]) -> [Self; WIDTH] {
        bytes.map(MaybeUninit::new)
    }

    fn place(byte: u8) -> Self {
        MaybeUninit::new(byte)
    }
}

impl TokenEntry {
    /// Return the range in `apart` of a text that is stored separately.
    fn range(&self) -> std::ops::Range<usize> {
        let [a, b, c, d, e, f, g, h, rest @ ..] = self.0;
        let start = u64::from_le_bytes([a, b, c, d, e, f, g, h]) as usize;
        let [a, b, c, d, e, f, g, _] = rest;
        start..start + u64::from_le_bytes([a, b, c, d, e, f, g, 0]) as usize
    }
}

impl TextTable {
    /// Add a text under the next number.
    pub fn push(&mut self, text: &[u8]) {
        let mut entry = [0; WIDTH];
        if text.len() <= LENGTH {
            entry[..text.len()].copy_from_slice(text);
            entry[LENGTH] = text.len() as u8;
        } else {
            entry[..8].copy_from_slice(&(self.apart.len() as u64).to_le_bytes());
            entry[8..].copy_from_slice(&(text.len() as u64).to_le_bytes());
            entry[LENGTH] = APART;
            self.apart.extend_from_slice(text);
        }
        self.lengths.push(entry[LENGTH]);
        self.entries.push(TokenEntry(entry));
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Return the text with this number, or None.
    pub fn get(&self, number: usize) -> Option<&[u8]> {
        let entry = self.entries.get(number)?;
        match entry.0[LENGTH] {
            APART => self.apart.get(entry.range()),
            length => entry.0.get(..usize::from(length)),
        }
    }

    /// Return the total length of the texts of `ids` in bytes, without texts for which `skipped` is
    /// true. Return [`Error::UnknownId`] for an id outside the table.
    pub fn size(&self, ids: &[u32], skipped: impl Fn(usize) -> bool) -> Result<usize> {
        let mut size = 0;
        for (number, some) in parts(ids).enumerate() {
            if !self.knows(some) {
                let unknown = |&id: &u32| id as usize >= self.len();
                let at = some.iter().position(unknown).unwrap_or_default();
                let position = (number * SOME + at) as u64;
                return Err(Error::UnknownId {
                    position,
                    id: some[at],
                });
            }
            let (mut short, mut any) = (0, 0);
            let mut add = |&id: &u32| {
                let number = id as usize;
                // SAFETY: the table knows all of `some`, and has one length per entry.
                let length = unsafe { *self.lengths.get_unchecked(number) };
                short += usize::from(length) * usize::from(!skipped(number));
                any |= length;
            };
            // Groups of a fixed size let the compiler unroll the loop.
            let groups = some.chunks_exact(TOGETHER);
            groups.remainder().iter().for_each(&mut add);
            groups.for_each(|group| group.iter().for_each(&mut add));
            size += match any & APART {
                0 => short,
                _ => self.size_with_apart(some, &skipped),
            };
        }
        Ok(size)
    }

    /// Return whether all `ids` are in the table, without a branch per id.
    fn knows(&self, ids: &[u32]) -> bool {
        #[cfg(target_arch = "x86_64")]
        if Level::get().avx2().is_some() {
            // SAFETY: the processor has the features for which the function is compiled.
            return unsafe { are_below_avx2(ids, self.len()) };
        }
        are_below(ids, self.len())
    }

    /// Return the total length if some texts are stored separately.
    fn size_with_apart(&self, ids: &[u32], skipped: impl Fn(usize) -> bool) -> usize {
        let numbers = ids.iter().map(|&id| id as usize);
        let length = |number| self.get(number).unwrap_or_default().len();
        numbers.filter(|&id| !skipped(id)).map(length).sum()
    }

    /// Write the texts of `ids` to the start of `out`. Return the rest of `out`, or None if `out`
    /// is too small or an id is unknown.
    ///
    /// `out` must have at least the size that [`Self::size`] returns. A short text is copied with
    /// its whole entry, and the next text overwrites the excess. Texts are copied in groups, in
    /// which each copy waits only for the lengths before it. At the end, where `out` has no room
    /// for a group, they are copied one by one.
    pub fn fill<'o, P: OutputByte>(
        &self,
        ids: &[u32],
        skipped: impl Fn(usize) -> bool,
        out: &'o mut [P],
    ) -> Option<&'o mut [P]> {
        let mut room = out;
        for some in parts(ids) {
            if !self.knows(some) {
                return None;
            }
            let mut groups = some.chunks_exact(TOGETHER);
            for group in &mut groups {
                let written = match (room.first_chunk_mut(), group.first_chunk()) {
                    // SAFETY: the table knows all of `some`.
                    (Some(to), Some(ids)) => unsafe { self.fill_group(ids, &skipped, to) },
                    _ => None,
                };
                room = match written {
                    Some(written) => &mut room[written..],
                    None => self.fill_each(group, &skipped, room)?,
                };
            }
            room = self.fill_each(groups.remainder(), &skipped, room)?;
        }
        Some(room)
    }

    /// Write the texts of a group to `to`. Return their total length, or None if a text is stored
    /// separately or skipped.
    ///
    /// # Safety
    /// The table must know all ids.
    #[inline(always)]
    unsafe fn fill_group<P: OutputByte>(
        &self,
        ids: &[u32; TOGETHER],
        skipped: impl Fn(usize) -> bool,
        to: &mut [P; WINDOW],
    ) -> Option<usize> {
        let mut place = to.as_mut_ptr();
        let mut any = 0;
        let mut any_skipped = false;
        let start = place;
        for &id in ids {
            // SAFETY: as promised, the entry exists. No length exceeds the width of an entry, so
            // text number n of the group (from 1) ends within n entries, and `to` has space for one
            // entry per text; `place` never leaves `to`, except for its end.
            unsafe {
                let entry = self.entries.get_unchecked(id as usize);
                place.cast::<[P; WIDTH]>().write(P::places(entry.0));
                let length = entry.0[LENGTH];
                any |= length;
                place = place.add(usize::from(length));
            }
            any_skipped |= skipped(id as usize);
        }
        let written = place.addr() - start.addr();
        (any & APART == 0 && !any_skipped).then_some(written)
    }

    /// Copy texts one by one. Return the rest of `room`, or None if `room` is too small or an id
    /// unknown.
    fn fill_each<'r, P: OutputByte>(
        &self,
        ids: &[u32],
        skipped: impl Fn(usize) -> bool,
        mut room: &'r mut [P],
    ) -> Option<&'r mut [P]> {
        for &id in ids {
            let number = id as usize;
            let text = self.get(number)?;
            if skipped(number) {
                continue;
            }
            let (to, rest) = room.split_at_mut_checked(text.len())?;
            for (to, &byte) in to.iter_mut().zip(text) {
                *to = P::place(byte);
            }
            room = rest;
        }
        Some(room)
    }
}

#[inline(always)]
fn are_below(ids: &[u32], limit: usize) -> bool {
    let highest = ids.iter().copied().fold(0, u32::max);
    ids.is_empty() || (highest as usize) < limit
}

/// Like [`are_below`], with an instruction that takes the maxima of eight pairs.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn are_below_avx2(ids: &[u32], limit: usize) -> bool {
    are_below(ids, limit)
}

/// Split `ids` into parts, and prefetch ahead of each part.
fn parts(ids: &[u32]) -> impl Iterator<Item = &[u32]> {
    ids.chunks(SOME).enumerate().map(|(number, some)| {
        let ahead = ids.iter().skip(number * SOME + AHEAD).take(SOME);
        ahead.step_by(LINE).for_each(prefetch);
        some
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(texts: &[&[u8]]) -> TextTable {
        let mut table = TextTable::default();
        texts.iter().for_each(|text| table.push(text));
        table
    }

    #[test]
    fn texts_of_every_length_come_back() {
        let long = [b'x'; 300];
        let texts: Vec<&[u8]> = (0..=40)
            .chain([254, 255, 256, 300])
            .map(|n| &long[..n])
            .collect();
        let table = table(&texts);
        assert_eq!(table.len(), texts.len());
        for (number, text) in texts.iter().enumerate() {
            assert_eq!(table.get(number), Some(*text));
        }
        assert_eq!(table.get(texts.len()), None);
    }

    #[test]
    fn the_end_is_not_written_over() {
        let table = table(&[b"a", b"bcd", b"", b"0123456789abcdef", b"0123456789abcde"]);
        let cases: [&[u32]; 6] = [&[], &[0], &[1, 0, 2], &[3, 1], &[4, 4], &[0, 3, 4, 2, 1]];
        for ids in cases {
            let expected: Vec<u8> = ids
                .iter()
                .flat_map(|&id| table.get(id as usize).unwrap().to_vec())
                .collect();
            let size = table.size(ids, |_| false).unwrap();
            let mut out = vec![MaybeUninit::new(b'?'); size];
            let rest = table.fill(ids, |_| false, &mut out);
            assert!(rest.is_some_and(|rest| rest.is_empty()));
            for more in [0, 1, 15, 100] {
                let mut bytes = vec![b'?'; size + more];
                let rest = table.fill(ids, |_| false, &mut bytes);
                assert_eq!(rest.map(|rest| rest.len()), Some(more));
                assert_eq!(bytes[..size], expected);
            }
            if size > 0 {
                let mut small = vec![b'?'; size - 1];
                assert!(table.fill(ids, |_| false, &mut small).is_none());
            }
        }
    }

    #[test]
    fn skipped_texts_count_nothing_and_unknown_ids_are_named() {
        let table = table(&[b"ab", b"c"]);
        assert_eq!(table.size(&[0, 1, 0], |number| number == 0), Ok(1));
        let error = Error::UnknownId { position: 2, id: 2 };
        assert_eq!(table.size(&[0, 1, 2, 3], |_| true), Err(error));
    }

    #[test]
    fn an_unknown_id_is_found_at_every_place() {
        let table = table(&[b"ab", b"a text that stands apart"]);
        for position in (0..2 * SOME + AHEAD).step_by(7).chain([SOME - 1, SOME]) {
            for id in [2, 3, i32::MAX as u32, 1 << 31, u32::MAX] {
                let mut ids = vec![1; 2 * SOME + AHEAD];
                ids[position] = id;
                let position = position as u64;
                let error = Error::UnknownId { position, id };
                assert_eq!(table.size(&ids, |_| false), Err(error));
                let mut out = vec![b'?'; ids.len() * 24];
                assert!(table.fill(&ids, |_| false, &mut out).is_none());
            }
        }
    }
}
