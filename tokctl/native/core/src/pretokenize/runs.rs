//! Runs of characters of one kind: the part that the scanners share.

use crate::unicode::{Classes, LETTER, NUMBER, OTHER, SPACE};

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

/// The run that starts at `at` with a non-space: its end.
#[inline]
pub fn word_end(classes: Classes, text: &[u8], at: usize) -> usize {
    let (kind, length) = kind_at(classes, text, at);
    debug_assert!(kind == LETTER || kind == NUMBER || kind == OTHER);
    run_end(classes, text, at + length, kind)
}
