//! The pattern of SuperBPE's second stage (Liu and others 2025, arXiv 2503.13423).
//!
//! `\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)`
//!
//! Its matches are isolated. The text between two matches is a pre-token, mostly of many words.

use super::runs::{breaks_end, kind_at, numbers_end, run_end};
use crate::unicode::{Classes, LETTER, NUMBER, OTHER, SPACE};

pub fn split(classes: Classes, text: &[u8], mut emit: impl FnMut(usize, usize)) {
    let (mut at, mut done) = (0, 0);
    while at < text.len() {
        let (kind, length) = kind_at(classes, text, at);
        let next = at + length;
        let end = match kind {
            LETTER => {
                at = run_end(classes, text, next, LETTER);
                continue;
            }
            NUMBER => numbers_end(classes, text, at, 3),
            SPACE if text[at] == b' ' => spaces_end(classes, text, at),
            OTHER => others_end(classes, text, at),
            _ => at,
        };
        if end == at {
            at = next;
            continue;
        }
        if done < at {
            emit(done, at);
        }
        emit(at, end);
        (at, done) = (end, end);
    }
    if done < text.len() {
        emit(done, text.len());
    }
}

/// Return the end of the match that starts with a character other than a space, letter or number;
/// `at` if the character stands alone.
fn others_end(classes: Classes, text: &[u8], at: usize) -> usize {
    let is_other = |at: usize| kind_at(classes, text, at).0 == OTHER;
    let next = at + kind_at(classes, text, at).1;
    if next >= text.len() || !is_other(next) {
        return at;
    }
    breaks_end(text, run_end(classes, text, next, OTHER), true)
}

/// Return the end of the match that starts with a plain space; `at` if nothing matches.
fn spaces_end(classes: Classes, text: &[u8], at: usize) -> usize {
    let spaces = text[at..].iter().take_while(|&&byte| byte == b' ');
    let end = at + spaces.count();
    if end == text.len() {
        return end;
    }
    match kind_at(classes, text, end).0 {
        SPACE => end,
        // ` +(?!\S)` gives the last space back to the text after it.
        _ if end - at > 1 => end - 1,
        OTHER => match others_end(classes, text, end) {
            alone if alone == end => at,
            others => others,
        },
        _ => at,
    }
}
