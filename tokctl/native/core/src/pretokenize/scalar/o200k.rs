//! The pattern of GPT-4o (tiktoken's o200k_base); nothing is dropped.
//!
//! With U = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, L = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]` and
//! C = `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`:
//!
//! `[^\r\n\p{L}\p{N}]?U*L+C|[^\r\n\p{L}\p{N}]?U+L*C|\p{N}{1,3}|`
//! ` ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`

use crate::pretokenize::runs::{breaks_end, is_line_break, space_end};
use crate::pretokenize::runs::{code_at, contraction_any_case, kind_at, numbers_end, run_end};
use crate::unicode::{Categories, Category, Classes, LETTER, NUMBER, OTHER, SPACE};

const UPPER: u8 = 1;
const LOWER: u8 = 2;
/// Caseless letters and marks belong to both classes.
const BOTH: u8 = UPPER | LOWER;

#[inline]
fn case_at(categories: Categories, text: &[u8], at: usize) -> (u8, usize) {
    let (code, length) = code_at(text, at);
    let case = match categories.of(code) {
        Category::Lu | Category::Lt => UPPER,
        Category::Ll => LOWER,
        Category::Lm | Category::Lo | Category::Mn | Category::Mc | Category::Me => BOTH,
        _ => 0,
    };
    (case, length)
}

enum WordMatch {
    /// `U*L+` matches, so far up to this offset.
    First(usize),
    /// `U+L*` alone matches, so far up to this offset.
    Second(usize),
    No,
}

/// Match `U*L+|U+L*` at `start`.
///
/// If no lower-case letter follows the run of U, `U*` gives back characters until `L+` can take
/// one: the last character of the run that is in both classes, and that one alone.
fn word(categories: Categories, text: &[u8], start: usize) -> WordMatch {
    let (mut at, mut after_both) = (start, None);
    while at < text.len() {
        let (case, length) = case_at(categories, text, at);
        if case & UPPER == 0 {
            break;
        }
        at += length;
        if case == BOTH {
            after_both = Some(at);
        }
    }
    let uppers = at;
    while at < text.len() {
        let (case, length) = case_at(categories, text, at);
        if case & LOWER == 0 {
            break;
        }
        at += length;
    }
    match after_both {
        _ if at > uppers => WordMatch::First(at),
        Some(end) => WordMatch::First(end),
        None if uppers > start => WordMatch::Second(uppers),
        None => WordMatch::No,
    }
}

/// Return the end of the word at `at`, with the one character that may precede it.
fn word_end(
    categories: Categories,
    text: &[u8],
    at: usize,
    kind: u8,
    next: usize,
) -> Option<usize> {
    if kind == LETTER {
        return match word(categories, text, at) {
            WordMatch::First(end) | WordMatch::Second(end) => Some(end),
            WordMatch::No => None,
        };
    }
    if is_line_break(text[at]) {
        return None;
    }
    let behind = word(categories, text, next);
    match behind {
        WordMatch::First(end) => Some(end),
        // A mark is a word on its own, and `U*L+` without the character before it is tried before
        // `U+L*` with it.
        _ if case_at(categories, text, at).0 == BOTH => match word(categories, text, at) {
            WordMatch::First(end) | WordMatch::Second(end) => Some(end),
            WordMatch::No => None,
        },
        WordMatch::Second(end) => Some(end),
        WordMatch::No => None,
    }
}

#[cfg(test)]
pub fn split(classes: Classes, text: &[u8], mut emit: impl FnMut(usize, usize)) {
    let categories = Categories::get();
    let mut at = 0;
    while at < text.len() {
        let end = token_end(classes, categories, text, at);
        emit(at, end);
        at = end;
    }
}

#[inline]
pub fn token_end(classes: Classes, categories: Categories, text: &[u8], at: usize) -> usize {
    let (kind, length) = kind_at(classes, text, at);
    if kind == NUMBER {
        return numbers_end(classes, text, at, 3);
    }
    let next = at + length;
    if let Some(end) = word_end(categories, text, at, kind, next) {
        return end + contraction_any_case(text, end);
    }
    let punctuation_follows = || next < text.len() && kind_at(classes, text, next).0 == OTHER;
    if kind == SPACE && !(text[at] == b' ' && punctuation_follows()) {
        return space_end(classes, text, at, false);
    }
    breaks_end(text, run_end(classes, text, next, OTHER), true)
}
