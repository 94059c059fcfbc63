//! BERT's normalizer in one pass.
//!
//! Its steps look at one character at a time, but for the decomposition, which brings marks that
//! stand side by side in order. A character of ASCII is no mark, never changes into one, and is
//! no part of another's decomposition, so what stands between two of these can be normalized by
//! itself. There, too, each character can, if none begins with a mark when it is decomposed.
//! What becomes of it alone is found by taking the steps, once, and remembered.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, Ordering};

use unicode_normalization::char::{canonical_combining_class, decompose_canonical};

use super::aligned::TextOnly;
use super::{Edges, Normalizer};
use crate::error::Result;
use crate::lock_free::Once;
use crate::unicode::decode;

/// Characters from here on are rare.
const IN_TABLE: u32 = 0x2_0000;

/// What becomes of a character: one other, or the same, in the low bits, with a space on both
/// sides, or nothing; or it can't be said without its neighbours. 0: not asked yet.
const SPACED: u32 = 1 << 28;
const REMOVED: u32 = 1 << 29;
const BESIDE_OTHERS: u32 = 1 << 30;
const KNOWN: u32 = 1 << 31;

/// Which of its steps are taken.
#[derive(Clone, Copy)]
pub(super) struct BertSteps {
    pub clean_text: bool,
    pub cjk_spacing: bool,
    pub strip_accents: bool,
    pub lowercase: bool,
}

impl BertSteps {
    /// The table of all normalizers with these steps. Whoever fills a place writes the same.
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

    /// Takes one step after the other.
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

    /// Of ASCII: is it taken out?
    #[inline]
    fn removes(self, byte: u8) -> bool {
        let stays = (byte == b'\t') | (byte == b'\n') | (byte == b'\r');
        self.clean_text & (((byte < 0x20) & !stays) | (byte == 0x7F))
    }

    /// A byte of ASCII that stays.
    #[inline]
    fn becomes(self, byte: u8) -> u8 {
        let space = self.clean_text & ((byte == b'\t') | (byte == b'\n') | (byte == b'\r'));
        let lower = self.lowercase & byte.is_ascii_uppercase();
        match space {
            true => b' ',
            false => byte | u8::from(lower) << 5,
        }
    }

    /// Does the plain run of bytes, each of which becomes another one, end here?
    #[inline]
    fn stops(self, byte: u8) -> bool {
        !byte.is_ascii() | self.removes(byte)
    }
}

/// So many bytes are taken together: the compiler makes vectors of them.
const TOGETHER: usize = 32;

/// Writes what becomes of the bytes up to the first that stops, and tells how many these are.
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

/// The place of the first flag that is not 0, found without a jump for each.
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

/// The normalized text; borrowed where nothing changes.
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

/// Writes what becomes of the character at `at` and returns its length; None where that can't be
/// said.
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
            // Four bytes at once, in place of a call.
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
            // Two marks that change places, one that stays, and what is removed between.
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
