//! Runs of characters of one kind: the part that the scanners share.

use crate::unicode::{decode, Classes, LETTER, NUMBER, SPACE};

/// The three disjoint kinds that GPT-2's pattern tells apart, and the space.
const KINDS: u8 = LETTER | NUMBER | SPACE;

/// The kind of a character: LETTER, NUMBER, SPACE, or OTHER for all the rest.
#[inline]
pub fn kind_at(classes: Classes, text: &[u8], at: usize) -> (u8, usize) {
    let (class, length) = classes.at(text, at);
    (class & KINDS, length)
}

/// The end of the run of characters of `kind` that goes on at `at`.
#[inline]
pub fn run_end(classes: Classes, text: &[u8], mut at: usize, kind: u8) -> usize {
    while at < text.len() {
        let (here, length) = kind_at(classes, text, at);
        if here != kind {
            break;
        }
        at += length;
    }
    at
}

/// The length of an English contraction (`'s 't 're 've 'm 'll 'd`) at `at`, or 0.
#[inline]
pub fn contraction(text: &[u8], at: usize) -> usize {
    match text[at..] {
        [b'\'', b's' | b't' | b'm' | b'd', ..] => 2,
        [b'\'', b'r' | b'v', b'e', ..] | [b'\'', b'l', b'l', ..] => 3,
        _ => 0,
    }
}

/// The length of `(?i:'s|'t|'re|'ve|'m|'ll|'d)` at `at`, or 0. Among letters outside
/// ASCII only U+017F, the long s, folds to one of these.
#[inline]
pub fn contraction_any_case(text: &[u8], at: usize) -> usize {
    if text.get(at) != Some(&b'\'') {
        return 0;
    }
    let lower = |offset: usize| text.get(at + offset).map_or(0, u8::to_ascii_lowercase);
    match (lower(1), lower(2)) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        (b'r' | b'v', b'e') | (b'l', b'l') => 3,
        (0xC5, 0xBF) => 3,
        _ => 0,
    }
}

/// The end of at most `most` characters of class NUMBER from `at` on.
#[inline]
pub fn numbers_end(classes: Classes, text: &[u8], mut at: usize, most: usize) -> usize {
    for _ in 0..most {
        if at == text.len() {
            break;
        }
        let (kind, length) = kind_at(classes, text, at);
        if kind != NUMBER {
            break;
        }
        at += length;
    }
    at
}

/// The code point at `at` and its length. A byte that is not UTF-8 is a character of its
/// own, a lone surrogate as Python's `surrogateescape` makes it.
#[inline]
pub fn code_at(text: &[u8], at: usize) -> (u32, usize) {
    let first = text[at];
    if first < 0x80 {
        return (u32::from(first), 1);
    }
    decode(text, at).unwrap_or((0xDC00 + u32::from(first), 1))
}
