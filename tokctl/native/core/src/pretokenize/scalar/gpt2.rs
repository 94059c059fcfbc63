//! The pattern of GPT-2's `encoder.py`; every byte belongs to exactly one pre-token.
//!
//! `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

use crate::pretokenize::runs::{contraction, kind_at, run_end};
use crate::unicode::{Classes, LETTER, NUMBER, OTHER, SPACE};

/// Split by the pattern; without `CONTRACTIONS`, by the pattern without its first seven
/// alternatives.
pub fn split<const CONTRACTIONS: bool>(
    classes: Classes,
    text: &[u8],
    mut emit: impl FnMut(usize, usize),
) {
    let mut at = 0;
    while at < text.len() {
        let end = match contraction(text, at) {
            _ if !CONTRACTIONS => token_end(classes, text, at),
            0 => token_end(classes, text, at),
            short => at + short,
        };
        emit(at, end);
        at = end;
    }
}

/// Return the end of the pre-token that starts at `at`, where no contraction starts.
#[inline]
fn token_end(classes: Classes, text: &[u8], at: usize) -> usize {
    let (kind, length) = kind_at(classes, text, at);
    if kind != SPACE {
        return word_end(classes, text, at);
    }
    let next = at + length;
    if next == text.len() {
        return next;
    }
    if kind_at(classes, text, next).0 != SPACE {
        // ` ?` joins a plain space to the next word; another kind of space stands alone.
        return if text[at] == b' ' {
            word_end(classes, text, next)
        } else {
            next
        };
    }
    let end = run_end(classes, text, next, SPACE);
    if end == text.len() {
        return end;
    }
    // `\s+(?!\S)` gives the last space back to the text after it.
    last_space_start(text, end)
}

/// Return the start of the space character that ends at `end`.
fn last_space_start(text: &[u8], end: usize) -> usize {
    let mut start = end - 1;
    while text[start] & 0xC0 == 0x80 {
        start -= 1;
    }
    start
}

/// Return the end of the run that starts at `at`, with a character that is not a space.
#[inline]
pub fn word_end(classes: Classes, text: &[u8], at: usize) -> usize {
    let (kind, length) = kind_at(classes, text, at);
    debug_assert!(kind == LETTER || kind == NUMBER || kind == OTHER);
    run_end(classes, text, at + length, kind)
}
