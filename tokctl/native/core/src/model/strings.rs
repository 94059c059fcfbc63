//! Many short strings without an allocation for each.

use crate::packed::Seeds;
use crate::prefetch::prefetch;

/// Strings one behind the other, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    pub fn with_capacity(strings: usize, bytes: usize) -> Self {
        Strings {
            bytes: Vec::with_capacity(bytes),
            ends: Vec::with_capacity(strings),
        }
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn push(&mut self, string: &[u8]) {
        self.bytes.extend_from_slice(string);
        self.ends.push(self.bytes.len());
    }

    /// Adds the string that `write` appends; nothing where it fails.
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Option<()>) -> Option<()> {
        let start = self.bytes.len();
        if write(&mut self.bytes).is_none() {
            self.bytes.truncate(start);
            return None;
        }
        self.ends.push(self.bytes.len());
        Some(())
    }

    #[inline]
    pub fn get(&self, number: usize) -> Option<&[u8]> {
        let end = *self.ends.get(number)?;
        let start = match number {
            0 => 0,
            _ => self.ends[number - 1],
        };
        Some(&self.bytes[start..end])
    }

    /// Brings the place of a string nearer, if there is one of this number.
    #[inline]
    fn approach_end(&self, number: usize) {
        if let Some(end) = self.ends.get(number) {
            prefetch(end);
        }
    }

    /// Brings its last byte nearer.
    #[inline]
    fn approach(&self, number: usize) {
        let end = self.ends.get(number).and_then(|end| end.checked_sub(1));
        if let Some(byte) = end.and_then(|last| self.bytes.get(last)) {
            prefetch(byte);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let string = &self.bytes[start..end];
            start = end;
            string
        })
    }

    /// Bytes of all strings.
    pub fn total(&self) -> usize {
        self.bytes.len()
    }

    /// Is each of them UTF-8?
    pub fn are_utf8(&self) -> bool {
        // That the whole is, and no string ends inside a character, says it of each.
        simdutf8::basic::from_utf8(&self.bytes)
            .is_ok_and(|text| self.ends.iter().all(|&end| text.is_char_boundary(end)))
    }
}

/// From a string to its number: open addressing. Neighbours in a list are looked up together, so
/// that a look at memory for one overlaps with those for the others.
#[derive(Debug, Clone)]
pub struct Index {
    /// A power of two of them, at most half of them taken: the upper half of a string's hash and
    /// its number.
    slots: Vec<u64>,
    seeds: Seeds,
}

/// No string has the largest number.
const FREE: u64 = u64::MAX;

/// As many strings are looked up together.
const TOGETHER: usize = 32;

impl Default for Index {
    fn default() -> Self {
        Index::with_room_for(0)
    }
}

impl Index {
    fn with_room_for(strings: usize) -> Self {
        Index {
            slots: vec![FREE; (2 * strings + 1).next_power_of_two()],
            seeds: Seeds::default(),
        }
    }

    /// None where two strings are equal, or there are too many for their numbers.
    pub fn of(strings: &Strings) -> Option<Self> {
        let (index, repeated) = Index::adding(strings, |_| true)?;
        (repeated == 0).then_some(index)
    }

    /// Of the strings that are `wanted`, by number; of equal ones the last counts.
    pub fn of_last(strings: &Strings, wanted: impl Fn(u32) -> bool) -> Option<Self> {
        Some(Index::adding(strings, wanted)?.0)
    }

    /// Also says how many of the strings came again.
    fn adding(strings: &Strings, wanted: impl Fn(u32) -> bool) -> Option<(Self, usize)> {
        u32::try_from(strings.len()).ok()?;
        let mut index = Index::with_room_for(strings.len());
        let mut repeated = 0;
        for first in (0..strings.len()).step_by(TOGETHER) {
            let hashes = index.approach(strings, first);
            for (number, hash) in (first as u32..).zip(hashes).take(strings.len() - first) {
                let string = strings.get(number as usize).unwrap_or_default();
                if wanted(number) {
                    let at = index.find_slot(strings, string, hash);
                    repeated += usize::from(index.slots[at] != FREE);
                    index.slots[at] = tag(hash) | u64::from(number);
                }
            }
        }
        Some((index, repeated))
    }

    /// The hashes of strings from one number on, whose slots are asked for.
    #[inline]
    fn approach(&self, strings: &Strings, first: usize) -> [u64; TOGETHER] {
        let mut hashes = [0; TOGETHER];
        for (number, hash) in (first..).zip(&mut hashes) {
            let Some(string) = strings.get(number) else {
                break;
            };
            *hash = self.seeds.hash_any(string);
            prefetch(&self.slots[self.home(*hash)]);
        }
        hashes
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        hash as usize & (self.slots.len() - 1)
    }

    /// The slot of a string, or the free one where it would be.
    #[inline]
    fn find_slot(&self, strings: &Strings, string: &[u8], hash: u64) -> usize {
        let mut at = self.home(hash);
        loop {
            let slot = self.slots[at];
            let same = || strings.get(slot as u32 as usize) == Some(string);
            if slot == FREE || slot & TAG == tag(hash) && same() {
                return at;
            }
            at = self.home(at as u64 + 1);
        }
    }

    #[inline]
    fn find_hashed(&self, strings: &Strings, string: &[u8], hash: u64) -> Option<u32> {
        let slot = self.slots[self.find_slot(strings, string, hash)];
        (slot != FREE).then_some(slot as u32)
    }

    /// The number of a string of `strings`, which the index was made of.
    pub fn find(&self, strings: &Strings, string: &[u8]) -> Option<u32> {
        self.find_hashed(strings, string, self.seeds.hash_any(string))
    }

    /// The same of each of a list; None where one is not there.
    pub fn find_all(&self, strings: &Strings, list: &Strings) -> Option<Vec<u32>> {
        let mut numbers = Vec::with_capacity(list.len());
        for first in (0..list.len()).step_by(TOGETHER) {
            let hashes = self.approach(list, first);
            let all = || hashes.iter().take(list.len() - first);
            // Nearly always a string is in the first slot that it may be in.
            for &hash in all() {
                strings.approach_end(self.slots[self.home(hash)] as u32 as usize);
            }
            for &hash in all() {
                strings.approach(self.slots[self.home(hash)] as u32 as usize);
            }
            for (number, &hash) in (first..).zip(all()) {
                let string = list.get(number)?;
                numbers.push(self.find_hashed(strings, string, hash)?);
            }
        }
        Some(numbers)
    }
}

/// The upper half.
const TAG: u64 = !(u32::MAX as u64);

#[inline]
fn tag(hash: u64) -> u64 {
    hash & TAG
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[&[u8]]) -> Strings {
        let mut strings = Strings::default();
        for text in texts {
            strings.push(text);
        }
        strings
    }

    #[test]
    fn strings_come_back_by_number() {
        let mut strings = of(&[b"ab", b"", b"c"]);
        assert_eq!(strings.push_with(|_| None), None);
        let half = |bytes: &mut Vec<u8>| {
            bytes.push(b'x');
            None
        };
        assert_eq!(strings.push_with(half), None);
        let found: Vec<_> = (0..4).map(|number| strings.get(number)).collect();
        assert_eq!(
            found,
            [Some(&b"ab"[..]), Some(&b""[..]), Some(&b"c"[..]), None]
        );
        assert_eq!(strings.iter().collect::<Vec<_>>(), [&b"ab"[..], b"", b"c"]);
        assert_eq!((strings.len(), strings.total()), (3, 3));
    }

    #[test]
    fn halves_of_a_character_are_no_text() {
        assert!(of(&["é".as_bytes(), b"", b"a"]).are_utf8());
        assert!(!of(&[b"\xC3", b"\xA9"]).are_utf8());
        assert!(!of(&[b"\xFF"]).are_utf8());
    }

    #[test]
    fn the_index_finds_all_and_nothing_else() {
        let texts: Vec<String> = (0..1000).map(|n| format!("{:x}", n * n)).collect();
        let mut strings = Strings::with_capacity(10, 10);
        texts.iter().for_each(|text| strings.push(text.as_bytes()));
        let index = Index::of(&strings).unwrap();
        for (number, text) in (0u32..).zip(&texts) {
            assert_eq!(index.find(&strings, text.as_bytes()), Some(number));
        }
        assert_eq!(index.find(&strings, b"2"), None);
        assert!(Index::of(&of(&[b"a", b"b", b"a"])).is_none());
        assert!(Index::of(&of(&[])).is_some());
        let strings = of(&[b"a", b"b", b"a", b"c"]);
        let last = Index::of_last(&strings, |number| number != 3).unwrap();
        let found = [b"a", b"b", b"c"].map(|text| last.find(&strings, text));
        assert_eq!(found, [Some(2), Some(1), None]);
    }

    #[test]
    fn a_list_is_found_as_its_strings_are() {
        let texts: Vec<String> = (0..300)
            .map(|n| "x".repeat(n % 90) + &n.to_string())
            .collect();
        let mut strings = Strings::default();
        texts.iter().for_each(|text| strings.push(text.as_bytes()));
        let index = Index::of(&strings).unwrap();
        for length in [0, 1, TOGETHER - 1, TOGETHER, TOGETHER + 1, 300] {
            let mut list = Strings::default();
            let expected: Vec<u32> = (0..length as u32).map(|n| n * 7 % 300).collect();
            let wanted = expected.iter().map(|&number| &texts[number as usize]);
            wanted.for_each(|text| list.push(text.as_bytes()));
            assert_eq!(index.find_all(&strings, &list), Some(expected));
            list.push(b"y");
            assert_eq!(index.find_all(&strings, &list), None);
        }
    }
}
