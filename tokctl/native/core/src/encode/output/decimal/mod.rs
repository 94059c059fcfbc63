//! Decimal numbers, and lines of ids.

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::encode::lookup::LINE_END;
use crate::model::NO_ID;
#[cfg(target_arch = "x86_64")]
use crate::pretokenize::Level;

/// The most digits that [`decimal`] writes.
const MAX_DIGITS: usize = 10;

/// Limit below which the digits of a number are looked up.
const LOOKED_UP: u32 = 1_000_000;

/// The digits of the numbers below 1000, the first one in the lowest byte.
static THREE: [u32; 1000] = three();

const fn three() -> [u32; 1000] {
    let mut digits = [0; 1000];
    let mut number = 0;
    while number < 1000 {
        let (first, second, third) = (number / 100, number / 10 % 10, number % 10);
        digits[number] = (first | second << 8 | third << 16) as u32;
        number += 1;
    }
    digits
}

/// Write `number` in decimal at the start of `to`, and return how many digits it has.
///
/// `to` must have at least [`MAX_DIGITS`] bytes; the bytes after the digits are overwritten. The
/// six digits of nearly every id are made in one machine word, and leading zeros are shifted out:
/// no branch depends on the number of digits.
#[inline(always)]
fn decimal(number: u32, to: &mut [u8]) -> usize {
    if number >= LOOKED_UP {
        return decimal_of_many(number, to);
    }
    let (high, low) = (number / 1000, number % 1000);
    let digits = u64::from(THREE[high as usize]) | u64::from(THREE[low as usize]) << 24;
    // The last digit stays if all are zeros.
    let zeros = (digits | 1 << 40).trailing_zeros() / 8;
    let text = (digits | 0x3030_3030_3030) >> (8 * zeros);
    to[..8].copy_from_slice(&text.to_le_bytes());
    6 - zeros as usize
}

#[cold]
fn decimal_of_many(number: u32, to: &mut [u8]) -> usize {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(number).as_bytes();
    to[..text.len()].copy_from_slice(text);
    text.len()
}

/// Number of ids for which room is made at once, so that the room stays in the cache.
const AT_ONCE: usize = 256;

/// The most bytes that an id takes, with its separator.
const WIDTH: usize = 1 + MAX_DIGITS;

/// Append ids with `separator` between the ids of a line, and a line feed for each [`LINE_END`].
///
/// `joined` is whether an id precedes the next one in its line, before and after the call. Returns
/// the number of ids. Returns `None` if an id is [`NO_ID`]; then only some ids were appended.
pub fn append_lines(
    ids: &[u32],
    separator: u8,
    joined: &mut bool,
    out: &mut Vec<u8>,
) -> Option<u64> {
    let mut lines = Lines {
        separator,
        joined: *joined,
        tokens: 0,
    };
    for some in ids.chunks(AT_ONCE) {
        let at = out.len();
        out.resize(at + WIDTH * some.len(), 0);
        let length = lines.write(some, &mut out[at..])?;
        out.truncate(at + length);
    }
    *joined = lines.joined;
    Some(lines.tokens)
}

/// The state of [`append_lines`].
struct Lines {
    separator: u8,
    joined: bool,
    tokens: u64,
}

impl Lines {
    /// Write ids to `to`, which has [`WIDTH`] bytes for each.
    ///
    /// Returns the number of bytes written, or `None` if an id is [`NO_ID`].
    #[inline]
    fn write(&mut self, ids: &[u32], to: &mut [u8]) -> Option<usize> {
        #[cfg(target_arch = "x86_64")]
        if let Level::Avx512(has) = Level::get() {
            return avx512::write(has, self, ids, to);
        }
        self.write_one_by_one(ids, to, 0)
    }

    /// Like [`Self::write`], from byte `at` of `to` on and one by one.
    ///
    /// Returns the offset after the last byte.
    #[inline(always)]
    fn write_one_by_one(&mut self, ids: &[u32], to: &mut [u8], mut at: usize) -> Option<usize> {
        for &id in ids {
            if id >= LINE_END {
                if id == NO_ID {
                    return None;
                }
                to[at] = b'\n';
                at += 1;
                self.joined = false;
                continue;
            }
            to[at] = self.separator;
            at += usize::from(self.joined);
            self.joined = true;
            self.tokens += 1;
            at += decimal(id, &mut to[at..at + MAX_DIGITS]);
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        let decimal = |number: u32| {
            let mut text = [b'x'; MAX_DIGITS];
            let length = decimal(number, &mut text);
            String::from_utf8(text[..length].to_vec()).unwrap()
        };
        let ends = (0..10).map(|power| 10u32.pow(power));
        let around = ends.flat_map(|end| [end - 1, end, end + 1]);
        let spread = (0..200_000u32).map(|step| step.wrapping_mul(2_654_435_761));
        // All numbers of four digits, in both halves.
        let halves = (0..10_000).flat_map(|four| [four, 10_000 * four, 10_001 * four]);
        for number in around.chain(spread).chain(halves).chain([u32::MAX]) {
            assert_eq!(decimal(number), number.to_string());
        }
    }

    /// Return the result of [`append_lines`], made by the standard library.
    fn expected(ids: &[u32], mut joined: bool) -> (bool, u64, String) {
        let (mut tokens, mut text) = (0, String::new());
        for &id in ids {
            if id == LINE_END {
                text.push('\n');
            } else {
                text += if joined { " " } else { "" };
                text += &id.to_string();
                tokens += 1;
            }
            joined = id != LINE_END;
        }
        (joined, tokens, text)
    }

    #[test]
    fn lines_of_ids_of_any_size_are_written() {
        let mut state = 1u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) as u32
        };
        for round in 0..2000 {
            let count = random() as usize % 600;
            let ids: Vec<u32> = (0..count)
                .map(|_| match random() % 16 {
                    // Some rounds have long lines, some have huge numbers.
                    0 if round % 3 > 0 => LINE_END,
                    1 if round % 5 == 0 => random() << 1,
                    2 => random() % 10,
                    3 => 999_990 + random() % 10 + u32::from(round % 7 == 0) * 10,
                    _ => random() % 10u32.pow(random() % 7),
                })
                .collect();
            let (mut joined, mut text) = (round % 2 == 0, Vec::new());
            let before = joined;
            let tokens = append_lines(&ids, b' ', &mut joined, &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            assert_eq!((joined, tokens, text), expected(&ids, before));

            let ids = &ids[..count.min(AT_ONCE)];
            let (joined, mut room) = (before, [0; AT_ONCE * WIDTH]);
            let mut lines = Lines {
                separator: b' ',
                joined,
                tokens: 0,
            };
            let end = lines.write_one_by_one(ids, &mut room, 0).unwrap();
            let text = String::from_utf8(room[..end].to_vec()).unwrap();
            assert_eq!((lines.joined, lines.tokens, text), expected(ids, before));
        }
    }

    #[test]
    fn every_id_of_six_digits_is_written() {
        let ids: Vec<u32> = (0..1_000_008).collect();
        let mut text = Vec::new();
        append_lines(&ids, b' ', &mut false, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let written = text.split(' ').map(|id| id.parse::<u32>().unwrap());
        assert!(written.eq(ids));
        assert!(!text.contains(" 0") && text.starts_with("0 1 "));
    }

    #[test]
    fn an_id_that_is_none_is_found_anywhere() {
        for place in 0..20 {
            let mut ids = [5; 20];
            ids[place] = NO_ID;
            assert_eq!(append_lines(&ids, b' ', &mut false, &mut Vec::new()), None);
        }
    }
}
