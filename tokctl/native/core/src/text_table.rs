//! Texts by number, as of tokens by their ids, laid out so that copying one costs one load and one
//! store.

use std::mem::MaybeUninit;

use crate::error::{Error, Result};

/// Bytes of an entry, and of every copy.
const WIDTH: usize = 16;
/// The place of an entry's length: the last one, so that so many bytes can stand before it.
const LENGTH: usize = WIDTH - 1;
/// Ids whose lengths are added at a time.
const SOME: usize = 1024;
/// Texts that are copied at a time.
const TOGETHER: usize = 4;
/// Room for them: a power of two above all places where one may start, and an entry; so the
/// compiler sees that each lies within.
pub const WINDOW: usize = 64 + WIDTH;
/// In the place of a length: the text stands apart. No other length has all of these bits.
const APART: u8 = u8::MAX;

/// A text of up to [`LENGTH`] bytes and its length; or where a longer one stands, and its length
/// (two little-endian numbers of 8 and 7 bytes).
///
/// Aligned, so that no entry lies in two lines of the processor's cache.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct TokenEntry([u8; WIDTH]);

/// Texts by number.
#[derive(Default)]
pub struct TextTable {
    entries: Vec<TokenEntry>,
    /// Their last bytes once more, closer together: for callers that need nothing else.
    lengths: Vec<u8>,
    /// The texts that fit in no entry, end to end.
    apart: Vec<u8>,
}

/// A byte of memory that is written to: one that holds something already, or one that does not.
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
    /// Where a text that stands apart starts and ends.
    fn range(&self) -> std::ops::Range<usize> {
        let [a, b, c, d, e, f, g, h, rest @ ..] = self.0;
        let start = u64::from_le_bytes([a, b, c, d, e, f, g, h]) as usize;
        let [a, b, c, d, e, f, g, _] = rest;
        start..start + u64::from_le_bytes([a, b, c, d, e, f, g, 0]) as usize
    }
}

impl TextTable {
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

    pub fn get(&self, number: usize) -> Option<&[u8]> {
        let entry = self.entries.get(number)?;
        match entry.0[LENGTH] {
            APART => self.apart.get(entry.range()),
            length => entry.0.get(..usize::from(length)),
        }
    }

    /// How long the texts of `ids` are together, without those that `skipped` says.
    pub fn size(&self, ids: &[u32], skipped: impl Fn(usize) -> bool) -> Result<usize> {
        let mut size = 0;
        for (number, some) in ids.chunks(SOME).enumerate() {
            let (mut short, mut any) = (0, 0);
            for (at, &id) in some.iter().enumerate() {
                let Some(&length) = self.lengths.get(id as usize) else {
                    let position = (number * SOME + at) as u64;
                    return Err(Error::UnknownId { position, id });
                };
                let counted = usize::from(length) * usize::from(!skipped(id as usize));
                short += counted;
                any |= length;
            }
            size += match any {
                APART => self.size_with_apart(some, &skipped),
                _ => short,
            };
        }
        Ok(size)
    }

    /// The same where some of them stand apart.
    fn size_with_apart(&self, ids: &[u32], skipped: impl Fn(usize) -> bool) -> usize {
        let numbers = ids.iter().map(|&id| id as usize);
        let length = |number| self.get(number).unwrap_or_default().len();
        numbers.filter(|&id| !skipped(id)).map(length).sum()
    }

    /// Writes the texts of `ids` to the start of `out`, which must have the size that
    /// [`Self::size`] gives for them, or more; the rest of it, or None where it was too small.
    ///
    /// A short text is copied with all the entry behind it: what is too much is written over by
    /// the next text. Four are copied at a time, each of which waits for the lengths before it
    /// alone. Where there is no room for that, at the end, they are copied one by one.
    pub fn fill<'o, P: OutputByte>(
        &self,
        ids: &[u32],
        skipped: impl Fn(usize) -> bool,
        out: &'o mut [P],
    ) -> Option<&'o mut [P]> {
        let mut room = out;
        let mut fours = ids.chunks_exact(TOGETHER);
        for four in &mut fours {
            let written = match (room.first_chunk_mut(), four.first_chunk()) {
                (Some(to), Some(four)) => self.fill_four(*four, &skipped, to),
                _ => None,
            };
            room = match written {
                Some(written) => &mut room[written..],
                None => self.fill_each(four, &skipped, room)?,
            };
        }
        self.fill_each(fours.remainder(), &skipped, room)
    }

    /// How long the texts are together; None where one of them stands apart or is skipped.
    #[inline(always)]
    fn fill_four<P: OutputByte>(
        &self,
        ids: [u32; TOGETHER],
        skipped: impl Fn(usize) -> bool,
        to: &mut [P; WINDOW],
    ) -> Option<usize> {
        let mut at = 0;
        let mut any = 0;
        for id in ids {
            let entry = self.entries.get(id as usize)?;
            if skipped(id as usize) {
                return None;
            }
            let length = entry.0[LENGTH];
            any |= length;
            let place = to
                .get_mut(at..)
                .and_then(|to| to.first_chunk_mut::<WIDTH>());
            place?.copy_from_slice(&P::places(entry.0));
            at += usize::from(length) % WIDTH;
        }
        (any != APART).then_some(at)
    }

    /// What is left of `room`; None where it is too small, or an id unknown.
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
}
