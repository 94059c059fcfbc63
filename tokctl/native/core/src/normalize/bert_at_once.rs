//! BERT's normalizer in one pass.
//!
//! The steps treat one character at a time, except the decomposition, which reorders adjacent
//! marks. An ASCII character is not a mark, never becomes one, and takes no part in the
//! decomposition of its neighbours. So the text between two ASCII characters can be normalized on
//! its own. In that text, each character can be normalized on its own unless the decomposition of
//! one begins with a mark. The result for one character is computed once with the separate steps,
//! and remembered.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, Ordering};

use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

use super::aligned::TextOnly;
use super::{Edges, Normalizer};
use crate::error::Result;
use crate::lock_free::Once;
use crate::unicode::decode;

/// Number of code points with an entry in the table; higher ones are rare.
const IN_TABLE: u32 = 0x2_0000;

/// Flag of an entry: the character gets a space on both sides.
///
/// The low bits of an entry are the code point that the character becomes. An entry of 0 is not
/// filled in yet.
const SPACED: u32 = 1 << 28;
/// Flag of an entry: the character is removed.
const REMOVED: u32 = 1 << 29;
/// Flag of an entry: the result depends on the neighbours, or does not fit an entry.
const BESIDE_OTHERS: u32 = 1 << 30;
/// Flag of an entry: it is filled in.
const KNOWN: u32 = 1 << 31;

/// Steps of BERT's normalizer that are applied.
#[derive(Clone, Copy)]
pub(super) struct BertSteps {
    pub clean_text: bool,
    pub cjk_spacing: bool,
    pub strip_accents: bool,
    pub lowercase: bool,
}

impl BertSteps {
    /// Return the table that all normalizers with these steps share.
    ///
    /// Threads may fill an entry at the same time: all of them write the same value.
    fn table(self) -> &'static [AtomicU32] {
        static TABLES: [Once<Vec<AtomicU32>>; 16] = [const { Once::new() }; 16];
        let bits = [
            self.clean_text,
            self.cjk_spacing,
            self.strip_accents,
            self.lowercase,
        ];
        let number = bits.iter().fold(0, |n, &bit| 2 * n + usize::from(bit));
        let make = || (0..IN_TABLE).map(|_| AtomicU32::new(0)).collect();
        TABLES[number].get_or_init(make)
    }

    /// Apply one step after the other to `text`, and append the result to `out`.
    fn apply(self, text: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let normalizer = Normalizer::Bert {
            clean_text: self.clean_text,
            cjk_spacing: self.cjk_spacing,
            strip_accents: self.strip_accents,
            lowercase: self.lowercase,
        };
        let mut current = Cow::Borrowed(text);
        for pass in normalizer.passes() {
            let mut sink = TextOnly::new(&current, usize::MAX);
            pass.run(&current, Edges::WHOLE, &mut sink)?;
            if let Cow::Owned(changed) = sink.finish()? {
                current = Cow::Owned(changed);
            }
        }
        out.extend_from_slice(&current);
        Ok(())
    }

    /// Compute the entry of `character` with the separate steps.
    #[cold]
    fn ask(self, character: char) -> Result<u32> {
        let mut first = None;
        decompose_canonical(character, |part| {
            first.get_or_insert(part);
        });
        let is_mark = first.is_some_and(|part| canonical_combining_class(part) != 0);
        let mut out = Vec::new();
        self.apply(character.encode_utf8(&mut [0; 4]).as_bytes(), &mut out)?;
        let mut made = std::str::from_utf8(&out).unwrap_or_default().chars();
        let answer = match (made.next(), made.next(), made.next(), made.next()) {
            _ if is_mark && self.strip_accents => BESIDE_OTHERS,
            (None, ..) => REMOVED,
            (Some(one), None, ..) => u32::from(one),
            (Some(' '), Some(one), Some(' '), None) => u32::from(one) | SPACED,
            _ => BESIDE_OTHERS,
        };
        Ok(answer | KNOWN)
    }

    /// Return whether an ASCII byte is removed.
    #[inline]
    fn removes(self, byte: u8) -> bool {
        let stays = (byte == b'\t') | (byte == b'\n') | (byte == b'\r');
        self.clean_text & (((byte < 0x20) & !stays) | (byte == 0x7F))
    }

    /// Return the byte that an ASCII byte becomes, if it stays.
    #[inline]
    fn becomes(self, byte: u8) -> u8 {
        let space = self.clean_text & ((byte == b'\t') | (byte == b'\n') | (byte == b'\r'));
        let lower = self.lowercase & byte.is_ascii_uppercase();
        match space {
            true => b' ',
            false => byte | u8::from(lower) << 5,
        }
    }

    /// Return whether `byte` ends a run of bytes that each become one byte.
    #[inline]
    fn stops(self, byte: u8) -> bool {
        !byte.is_ascii() | self.removes(byte)
    }
}

/// Bytes per step of [`plain`], a constant so that the compiler vectorizes the step.
const TOGETHER: usize = 32;

/// Append the new bytes up to the first that [`BertSteps::stops`], and return their number.
#[inline]
fn plain(steps: BertSteps, text: &[u8], out: &mut Vec<u8>) -> usize {
    let mut at = 0;
    while let Some(chunk) = text[at..].first_chunk::<TOGETHER>() {
        out.extend_from_slice(&chunk.map(|byte| steps.becomes(byte)));
        let stops = chunk.map(|byte| u8::from(steps.stops(byte)));
        if let Some(end) = first_set(&stops) {
            out.truncate(out.len() + end - TOGETHER);
            return at + end;
        }
        at += TOGETHER;
    }
    let rest = &text[at..];
    let end = rest.iter().position(|&byte| steps.stops(byte));
    let rest = &rest[..end.unwrap_or(rest.len())];
    out.extend(rest.iter().map(|&byte| steps.becomes(byte)));
    at + rest.len()
}

/// Return the index of the first flag that is not 0, without a branch for each flag.
#[inline]
fn first_set(flags: &[u8; TOGETHER]) -> Option<usize> {
    let words = flags
        .as_chunks::<8>()
        .0
        .iter()
        .map(|&word| u64::from_le_bytes(word));
    let found = words.enumerate().find(|&(_, word)| word != 0);
    found.map(|(number, word)| 8 * number + word.trailing_zeros() as usize / 8)
}

/// Return the normalized text, borrowed where nothing changes.
pub(super) fn run(steps: BertSteps, text: &[u8]) -> Result<Cow<'_, [u8]>> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 16 + TOGETHER);
    let table = steps.table();
    let mut at = 0;
    while at < text.len() {
        at += plain(steps, &text[at..], &mut out);
        let (start, written) = (at, out.len());
        while at < text.len() && steps.stops(text[at]) {
            match character(steps, table, text, at, &mut out)? {
                Some(length) => at += length,
                None => {
                    let rest = text[at..].iter().take_while(|&&byte| steps.stops(byte));
                    at += rest.count();
                    out.truncate(written);
                    steps.apply(&text[start..at], &mut out)?;
                    break;
                }
            }
        }
    }
    Ok(match out == text {
        true => Cow::Borrowed(text),
        false => Cow::Owned(out),
    })
}

/// Append the normalized character at `at` and return its length in bytes; None if only the
/// separate steps can tell the result.
#[inline]
fn character(
    steps: BertSteps,
    table: &[AtomicU32],
    text: &[u8],
    at: usize,
    out: &mut Vec<u8>,
) -> Result<Option<usize>> {
    if text[at].is_ascii() {
        return Ok(Some(1));
    }
    let Some((code, length)) = decode(text, at) else {
        return Ok(None);
    };
    let Some(place) = table.get(code as usize) else {
        return Ok(None);
    };
    let mut answer = place.load(Ordering::Relaxed);
    if answer == 0 {
        answer = steps.ask(char::from_u32(code).unwrap_or_default())?;
        place.store(answer, Ordering::Relaxed);
    }
    if answer == code | KNOWN {
        match text[at..].first_chunk::<4>() {
            // A copy of four bytes is cheaper than a call that copies `length` bytes.
            Some(four) => {
                out.extend_from_slice(four);
                out.truncate(out.len() + length - four.len());
            }
            None => out.extend_from_slice(&text[at..at + length]),
        }
    } else if answer & BESIDE_OTHERS != 0 {
        return Ok(None);
    } else if answer & REMOVED == 0 {
        let spaced = answer & SPACED != 0;
        out.extend(spaced.then_some(b' '));
        let one = char::from_u32(answer & (SPACED - 1)).unwrap_or_default();
        out.extend_from_slice(one.encode_utf8(&mut [0; 4]).as_bytes());
        out.extend(spaced.then_some(b' '));
    }
    Ok(Some(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random_below;

    fn every() -> impl Iterator<Item = BertSteps> {
        (0..16).map(|bits| BertSteps {
            clean_text: bits & 1 != 0,
            cjk_spacing: bits & 2 != 0,
            strip_accents: bits & 4 != 0,
            lowercase: bits & 8 != 0,
        })
    }

    fn check(steps: BertSteps, text: &[u8]) {
        let mut expected = Vec::new();
        steps.apply(text, &mut expected).unwrap();
        let found = run(steps, text).unwrap();
        assert_eq!(*found, expected, "{:?}", String::from_utf8_lossy(text));
        assert_eq!(matches!(found, Cow::Borrowed(_)), expected == text);
    }

    #[test]
    fn every_character_alone_and_beside_marks() {
        for steps in every().step_by(5) {
            let mut text = String::new();
            for character in '\0'..=char::MAX {
                if u32::from(character) % 16 == 0 {
                    text.push('A');
                }
                text.push(character);
            }
            check(steps, text.as_bytes());
        }
        let all = BertSteps {
            clean_text: true,
            cjk_spacing: true,
            strip_accents: true,
            lowercase: true,
        };
        for character in ('\0'..'\u{3400}').chain('\u{F900}'..'\u{FB00}') {
            // Two marks that are reordered, one that stays, and a removed character between them.
            for text in [
                format!("{character}\u{1D165}\u{302A}"),
                format!("E\u{302E}\u{1}{character}\u{200B}\u{302A}\u{302E}x"),
                format!("字{character}É"),
            ] {
                check(all, text.as_bytes());
            }
        }
    }

    #[test]
    fn any_bytes() {
        let pieces: [&[u8]; 12] = [
            b"The",
            b" ",
            b"\t\n\r",
            b"\x01\x7F",
            b"\xC3",
            b"\xF0\x9F\x98",
            "é".as_bytes(),
            "\u{302E}".as_bytes(),
            "\u{302A}".as_bytes(),
            "字한".as_bytes(),
            "😀\u{1D165}".as_bytes(),
            b"\0",
        ];
        let mut below = random_below(3);
        for _ in 0..500 {
            let count = below(12);
            let parts: Vec<&[u8]> = (0..count).map(|_| pieces[below(12)]).collect();
            every().for_each(|steps| check(steps, &parts.concat()));
        }
    }
}
