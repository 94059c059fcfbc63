//! Character classes over bytes that need not be valid UTF-8.
//!
//! A byte outside any well-formed UTF-8 sequence counts as one character of class [`OTHER`]. The
//! reference agrees: Python's `surrogateescape` turns such a byte into a lone surrogate, which is
//! not a letter, number or space.

mod categories;
mod category;
mod code_points;
mod script;
pub mod scripts;
pub mod tables;
mod word;

pub use category::{Categories, Category};
pub use code_points::Utf8Writer;
pub use script::{scripts_of, Scripts};
pub use word::WordCharacters;

use category::ranges;

use crate::lock_free::Lazy;
use std::collections::HashMap;

pub const OTHER: u8 = 0;
pub const LETTER: u8 = 1;
pub const NUMBER: u8 = 2;
pub const SPACE: u8 = 4;
/// BERT's punctuation: general category P, or an ASCII symbol.
pub const PUNCTUATION: u8 = 8;
/// `\w`: alphabetic characters, marks, decimal digits, connector punctuation and the joiners.
pub const WORD: u8 = 16;
/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, the upper case of o200k's pattern. Caseless letters and marks
/// have both cases.
pub const UPPER: u8 = 32;
/// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`, the lower case of o200k's pattern.
pub const LOWER: u8 = 64;

const CODE_POINTS: usize = 0x11_0000;

/// Code points that share an entry of [`ClassTable::pages`].
const PAGE: usize = 64;

/// Class bits of all code points, in two stages.
///
/// Most pages are equal to another one. A flat table would have 1.1 MB, and the part of it that a
/// text needs would not stay in the L1 cache.
struct ClassTable {
    /// Index in `classes` of the first class of each page.
    pages: Box<[u16]>,
    /// Distinct pages, one after the other, the pages of ASCII first. An index of 16 bits cannot be
    /// out of range, so a look-up needs no bounds check.
    classes: Box<[u8; 1 << 16]>,
}

static TABLE: Lazy<ClassTable> = Lazy::new(|| {
    let mut flat = vec![OTHER; CODE_POINTS];
    let mut mark = |ranges: &[(u32, u32)], class: u8| {
        for &(first, last) in ranges {
            for entry in &mut flat[first as usize..=last as usize] {
                *entry |= class;
            }
        }
    };
    mark(&tables::LETTER, LETTER);
    mark(&tables::NUMBER, NUMBER);
    mark(&tables::SPACE, SPACE);
    mark(&tables::PUNCTUATION, PUNCTUATION);
    mark(&tables::WORD, WORD);
    for (first, last, category) in ranges() {
        mark(&[(first, last)], category.cases());
    }
    let mut pages = vec![0; CODE_POINTS / PAGE].into_boxed_slice();
    let mut classes = Box::new([OTHER; 1 << 16]);
    let mut places = HashMap::new();
    let mut before: Option<(&[u8], u16)> = None;
    for (place, page) in pages.iter_mut().zip(flat.chunks_exact(PAGE)) {
        // Most pages equal the page before, which is compared faster than hashed.
        *place = match before {
            Some((same, place)) if same == page => place,
            _ => {
                let next = places.len() * PAGE;
                *places.entry(page).or_insert_with(|| {
                    classes[next..next + PAGE].copy_from_slice(page);
                    next as u16
                })
            }
        };
        before = Some((page, *place));
    }
    ClassTable { pages, classes }
});

/// Look-up of character classes; get one before a loop, not inside it.
#[derive(Clone, Copy)]
pub struct Classes(&'static ClassTable);

impl Classes {
    pub fn get() -> Self {
        Classes(&TABLE)
    }

    /// Return the class bits of a code point.
    #[inline]
    pub fn of(self, code: u32) -> u8 {
        let code = code as usize;
        self.in_page(code / PAGE, code % PAGE)
    }

    /// Return the class bits of the code point `page * 64 + place`, where `place` is below 64.
    #[inline]
    pub fn in_page(self, page: usize, place: usize) -> u8 {
        match self.0.pages.get(page) {
            Some(&first) => self.0.classes[usize::from(first | place as u16)],
            None => OTHER,
        }
    }

    /// Return the class bits and the length in bytes of the character at `at`.
    ///
    /// `at` must be below `text.len()`.
    #[inline]
    pub fn at(self, text: &[u8], at: usize) -> (u8, usize) {
        let first = text[at];
        if first < 0x80 {
            return (self.0.classes[first as usize], 1);
        }
        match decode(text, at) {
            Some((code, length)) => (self.of(code), length),
            None => (OTHER, 1),
        }
    }

    /// Return the class bits of the character that ends just before `end`, which must be above 0.
    pub fn before(self, text: &[u8], end: usize) -> u8 {
        decode_before(text, end).map_or(OTHER, |(code, _)| self.of(code))
    }
}

/// Return `text` if all of it is well-formed UTF-8.
///
/// The check uses SIMD and does not tell which byte is wrong.
pub fn well_formed(text: &[u8]) -> Option<&str> {
    simdutf8::basic::from_utf8(text).ok()
}

/// Return the stretches of well-formed text, each with the bytes after it that are not UTF-8.
///
/// Equals `utf8_chunks` of the standard library, which looks at each byte on its own and takes ten
/// times as long for well-formed text.
pub fn stretches(text: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    let mut whole = well_formed(text);
    let mut rest = Some(text).filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let bytes = rest.take()?;
        if let Some(text) = whole.take() {
            return Some((text, &[][..]));
        }
        let error = match std::str::from_utf8(bytes) {
            Ok(valid) => return Some((valid, &[][..])),
            Err(error) => error,
        };
        let (valid, others) = bytes.split_at(error.valid_up_to());
        let (invalid, after) = others.split_at(error.error_len().unwrap_or(others.len()));
        rest = Some(after).filter(|after| !after.is_empty());
        Some((std::str::from_utf8(valid).unwrap_or_default(), invalid))
    })
}

/// Return the code point at `at` and its length in bytes.
///
/// None if the bytes are not well-formed UTF-8: also for overlong forms, surrogates and code points
/// past U+10FFFF.
#[inline(always)]
pub fn decode(text: &[u8], at: usize) -> Option<(u32, usize)> {
    let low = |byte: u8| u32::from(byte & 0x3F);
    match text[at..] {
        [byte @ 0..0x80, ..] => Some((u32::from(byte), 1)),
        [a @ 0xC2..=0xDF, b @ 0x80..=0xBF, ..] => Some((u32::from(a & 0x1F) << 6 | low(b), 2)),
        // All forms of three bytes except those that may be overlong or surrogates.
        [a @ (0xE1..=0xEC | 0xEE..=0xEF), b @ 0x80..=0xBF, c @ 0x80..=0xBF, ..] => {
            Some((u32::from(a & 0x0F) << 12 | low(b) << 6 | low(c), 3))
        }
        _ => decode_rare(text, at),
    }
}

/// Return the result of [`decode`] for any bytes.
#[inline(never)]
fn decode_rare(text: &[u8], at: usize) -> Option<(u32, usize)> {
    let first = text[at];
    let continuation = |offset: usize| -> Option<u32> {
        match text.get(at + offset) {
            Some(&byte) if byte & 0xC0 == 0x80 => Some(u32::from(byte & 0x3F)),
            _ => None,
        }
    };
    let first_bits = u32::from(first);
    match first {
        0x00..=0x7F => Some((first_bits, 1)),
        0xC2..=0xDF => Some(((first_bits & 0x1F) << 6 | continuation(1)?, 2)),
        0xE0..=0xEF => {
            let code = (first_bits & 0x0F) << 12 | continuation(1)? << 6 | continuation(2)?;
            let surrogate = (0xD800..0xE000).contains(&code);
            (code >= 0x800 && !surrogate).then_some((code, 3))
        }
        0xF0..=0xF4 => {
            let high = (first_bits & 0x07) << 18 | continuation(1)? << 12;
            let code = high | continuation(2)? << 6 | continuation(3)?;
            (0x1_0000..CODE_POINTS as u32)
                .contains(&code)
                .then_some((code, 4))
        }
        _ => None,
    }
}

/// Return the code point that ends at `end` and its length in bytes.
///
/// None at the start of the text, and if the bytes before `end` are not well-formed UTF-8.
#[inline]
pub fn decode_before(text: &[u8], end: usize) -> Option<(u32, usize)> {
    let mut starts = (end.saturating_sub(4)..end).rev();
    let start = starts.find(|&at| text[at] & 0xC0 != 0x80)?;
    decode(text, start).filter(|(_, length)| start + length == end)
}

/// Return the span of its character for each byte of a text, which must be below 4 GiB.
pub fn places(text: &[u8]) -> Vec<(u32, u32)> {
    let mut places = Vec::with_capacity(text.len());
    while places.len() < text.len() {
        let start = places.len();
        let end = start + decode(text, start).map_or(1, |(_, length)| length);
        places.resize(end, (start as u32, end as u32));
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_the_place_of_its_character() {
        assert_eq!(places(b""), []);
        let found = places(b"a\xC3\xA9\xC3b");
        assert_eq!(found, [(0, 1), (1, 3), (1, 3), (3, 4), (4, 5)]);
    }

    #[test]
    fn stretches_are_those_of_the_standard_library() {
        let texts: [&[u8]; 7] = [
            b"",
            "aé字😀".as_bytes(),
            b"\x80",
            b"a\xE2\x82b\xF0\x9F\x98",
            b"\xFF\xFEa\xC3",
            b"\xED\xA0\x80\xF4\x90\x80\x80",
            b"\xC0\x80 \xE0\x80",
        ];
        for text in texts {
            let expected = text.utf8_chunks().map(|c| (c.valid(), c.invalid()));
            assert!(stretches(text).eq(expected), "{text:?}");
        }
    }

    #[test]
    fn decode_agrees_with_the_standard_library_on_every_code_point() {
        let mut buffer = [0u8; 4];
        for code in 0..CODE_POINTS as u32 {
            if let Some(character) = char::from_u32(code) {
                let bytes = character.encode_utf8(&mut buffer).as_bytes();
                assert_eq!(decode(bytes, 0), Some((code, bytes.len())));
            }
        }
    }

    #[test]
    fn decode_refuses_what_the_standard_library_refuses() {
        for first in 0x80..=0xFFu8 {
            for second in 0..=0xFFu8 {
                for rest in [[0x80, 0x80], [0xBF, 0xBF], [0x41, 0x80], [0x80, 0x41]] {
                    let bytes = [first, second, rest[0], rest[1]];
                    let ours = decode(&bytes, 0).map(|(_, length)| length);
                    let theirs = (2..=4).find(|&n| {
                        std::str::from_utf8(&bytes[..n]).is_ok_and(|s| s.chars().count() == 1)
                    });
                    assert_eq!(ours, theirs, "{bytes:x?}");
                }
            }
        }
    }

    #[test]
    fn the_character_before_is_the_one_that_ends_there() {
        let text = "a\u{7ff}字😀".as_bytes();
        for (start, character) in "a\u{7ff}字😀".char_indices() {
            let end = start + character.len_utf8();
            let expected = (u32::from(character), character.len_utf8());
            assert_eq!(decode_before(text, end), Some(expected));
            for inside in start + 1..end {
                assert_eq!(decode_before(text, inside), None);
            }
        }
        let none: [&[u8]; 7] = [
            b"",
            b"\x80",
            b"a\x80",
            b"\xFF",
            b"\xC0\x80",
            b"\xED\xA0\x80",
            b"a\x80\x80\x80\x80",
        ];
        for text in none {
            assert_eq!(decode_before(text, text.len()), None, "{text:x?}");
        }
    }

    #[test]
    fn the_classes_are_the_ranges() {
        let classes = Classes::get();
        let kinds: [(&[(u32, u32)], u8); 5] = [
            (&tables::LETTER, LETTER),
            (&tables::NUMBER, NUMBER),
            (&tables::SPACE, SPACE),
            (&tables::PUNCTUATION, PUNCTUATION),
            (&tables::WORD, WORD),
        ];
        for (ranges, class) in kinds {
            let (mut ranges, categories) = (ranges.iter().peekable(), Categories::get());
            for code in 0..CODE_POINTS as u32 {
                ranges.next_if(|range| range.1 < code);
                let inside = ranges.peek().is_some_and(|range| range.0 <= code);
                assert_eq!(classes.of(code) & class != 0, inside, "{code:x} {class}");
                let cases = classes.of(code) & (UPPER | LOWER);
                assert_eq!(cases, categories.of(code).cases(), "{code:x}");
            }
        }
        assert_eq!(classes.of(CODE_POINTS as u32), OTHER);
    }

    #[test]
    fn the_class_before_a_place_is_the_class_of_the_character_there() {
        let classes = Classes::get();
        let text = "a1 \u{a0}字\u{3000}!".as_bytes();
        let expected = [LETTER, NUMBER, SPACE, SPACE, LETTER, SPACE, PUNCTUATION];
        let mut at = 0;
        for class in expected {
            at += classes.at(text, at).1;
            assert_eq!(classes.before(text, at) & !(WORD | UPPER | LOWER), class);
        }
        assert_eq!(classes.before(b"\x80", 1), OTHER);
    }
}
