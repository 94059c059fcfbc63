//! Runs of characters of one kind, which the scanners share.

use crate::unicode::{decode, Classes, LETTER, NUMBER, SPACE};

/// Class bits of the kinds that GPT-2's pattern tells apart; OTHER, the fourth, is 0.
const KINDS: u8 = LETTER | NUMBER | SPACE;

/// Return the kind of a character (LETTER, NUMBER, SPACE or else OTHER) and its length in bytes.
#[inline]
pub fn kind_at(classes: Classes, text: &[u8], at: usize) -> (u8, usize) {
    let (class, length) = classes.at(text, at);
    (class & KINDS, length)
}

/// Return the end of the run of `kind` that continues at `at`.
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

/// Return the length of an English contraction (`'s 't 're 've 'm 'll 'd`) at `at`, or 0.
#[inline]
pub fn contraction(text: &[u8], at: usize) -> usize {
    match text[at..] {
        [b'\'', b's' | b't' | b'm' | b'd', ..] => 2,
        [b'\'', b'r' | b'v', b'e', ..] | [b'\'', b'l', b'l', ..] => 3,
        _ => 0,
    }
}

/// Return the length of an English contraction in any case at `at`, or 0.
///
/// The pattern is `(?i:'s|'t|'re|'ve|'m|'ll|'d)`. Of the letters beyond ASCII, only U+017F, the
/// long s, folds to one of these.
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

/// Return the end of at most `most` characters of class NUMBER from `at` on.
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

/// Return the code point at `at` and its length in bytes.
///
/// A byte that is not UTF-8 is a character of its own: a lone surrogate, as with Python's
/// `surrogateescape`.
#[inline]
pub fn code_at(text: &[u8], at: usize) -> (u32, usize) {
    let first = text[at];
    if first < 0x80 {
        return (u32::from(first), 1);
    }
    decode(text, at).unwrap_or((0xDC00 + u32::from(first), 1))
}

// White space as the patterns from cl100k on split it: up to its last line break.

pub fn is_line_break(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// Return the end of the pre-token that starts with the white-space character at `at`.
///
/// The pattern is `\s*[\r\n]+|\s+(?!\S)|\s+`.
///
/// With `whole_at_end`, `\s+$` comes first (tiktoken's form of cl100k): white space at the end of
/// the text is one pre-token, with or without line breaks.
///
/// The run is walked once. The part left for the next pre-token holds no line break, so a run is
/// walked at most three times, however long it is.
pub fn space_end(classes: Classes, text: &[u8], at: usize, whole_at_end: bool) -> usize {
    let (mut end, mut last, mut after_break) = (at, at, at);
    while end < text.len() {
        let (kind, length) = kind_at(classes, text, end);
        if kind != SPACE {
            break;
        }
        last = end;
        end += length;
        if is_line_break(text[last]) {
            after_break = end;
        }
    }
    let at_end = end == text.len();
    if after_break > at && !(whole_at_end && at_end) {
        after_break
    } else if at_end || last == at {
        end
    } else {
        // `\s+(?!\S)` gives the last space back to the text after it.
        last
    }
}

/// Return the end of `[\r\n]*`, or with `slash` of `[\r\n/]*`, which the patterns let follow
/// punctuation.
pub fn breaks_end(text: &[u8], mut at: usize, slash: bool) -> usize {
    while at < text.len() && (is_line_break(text[at]) || slash && text[at] == b'/') {
        at += 1;
    }
    at
}
