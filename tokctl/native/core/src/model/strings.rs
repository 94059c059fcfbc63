//! Many short strings without an allocation for each.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Strings by number, stored end to end.
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

    /// Add the string that `write` appends, or nothing if `write` returns None.
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

    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let string = &self.bytes[start..end];
            start = end;
            string
        })
    }

    /// Return the total length of all strings in bytes.
    pub fn total(&self) -> usize {
        self.bytes.len()
    }

    /// Return whether every string is valid UTF-8.
    pub fn are_utf8(&self) -> bool {
        // Every string is valid if all bytes together are and no string ends inside a character.
        simdutf8::basic::from_utf8(&self.bytes)
            .is_ok_and(|text| self.ends.iter().all(|&end| text.is_char_boundary(end)))
    }
}

/// Hash index from a string to its number.
#[derive(Debug, Clone, Default)]
pub struct Index {
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Index {
    /// Build the index. Return None if two strings are equal, or there are too many.
    pub fn of(strings: &Strings) -> Option<Self> {
        let mut index = Index::default();
        (index.add(strings, |_| true)? == 0).then_some(index)
    }

    /// Build the index of the strings whose numbers are `wanted`; of equal strings the last counts.
    pub fn of_last(strings: &Strings, wanted: impl Fn(u32) -> bool) -> Option<Self> {
        let mut index = Index::default();
        index.add(strings, wanted)?;
        Some(index)
    }

    /// Add strings to an empty index. Return how many of them were repetitions.
    fn add(&mut self, strings: &Strings, wanted: impl Fn(u32) -> bool) -> Option<usize> {
        let count = u32::try_from(strings.len()).ok()?;
        self.numbers = HashTable::with_capacity(strings.len());
        let mut repeated = 0;
        for (number, string) in (0..count).zip(strings.iter()).filter(|one| wanted(one.0)) {
            let hash = self.hasher.hash_one(string);
            let equal = |&other: &u32| strings.get(other as usize) == Some(string);
            match self.numbers.find_mut(hash, equal) {
                Some(other) => {
                    *other = number;
                    repeated += 1;
                }
                // The capacity suffices for all strings, so the hash of an existing entry is never
                // needed.
                None => {
                    self.numbers.insert_unique(hash, number, |_| hash);
                }
            }
        }
        Some(repeated)
    }

    /// Return the number of a string, and add it to `strings` if it is new. The index must hold all
    /// of `strings`.
    pub fn intern(&mut self, strings: &mut Strings, string: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(string);
        let equal = |&number: &u32| strings.get(number as usize) == Some(string);
        if let Some(&number) = self.numbers.find(hash, equal) {
            return number;
        }
        let number = u32::try_from(strings.len()).expect("fewer than 2^32 strings");
        strings.push(string);
        let (hasher, strings) = (&self.hasher, &*strings);
        let again = |&number: &u32| hasher.hash_one(strings.get(number as usize).unwrap_or(b""));
        self.numbers.insert_unique(hash, number, again);
        number
    }

    /// Return the number of a string. `strings` must be the strings from which the index was built.
    #[inline]
    pub fn find(&self, strings: &Strings, string: &[u8]) -> Option<u32> {
        let equal = |&number: &u32| strings.get(number as usize) == Some(string);
        self.numbers
            .find(self.hasher.hash_one(string), equal)
            .copied()
    }
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
        let (mut interned, mut index) = (Strings::default(), Index::default());
        for _ in 0..2 {
            for (number, text) in (0u32..).zip(&texts) {
                assert_eq!(index.intern(&mut interned, text.as_bytes()), number);
            }
        }
        assert_eq!(interned, strings);
        let strings = of(&[b"a", b"b", b"a", b"c"]);
        let last = Index::of_last(&strings, |number| number != 3).unwrap();
        let found = [b"a", b"b", b"c"].map(|text| last.find(&strings, text));
        assert_eq!(found, [Some(2), Some(1), None]);
    }
}
