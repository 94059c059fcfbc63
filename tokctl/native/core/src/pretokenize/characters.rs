//! Scanners that look at one property of each character: its class, or its position.

use std::num::NonZeroUsize;

use unicode_segmentation::UnicodeSegmentation;

use super::behaviour::{split_at_characters, Behaviour};
use super::runs::code_at;
use crate::unicode::{scripts, Categories, Category, Classes, Scripts, NUMBER, PUNCTUATION};

/// Split at Hugging Face's `Punctuation`: category P and the ASCII symbols.
pub fn punctuation(
    behaviour: Behaviour,
    classes: Classes,
    text: &[u8],
    emit: impl FnMut(usize, usize),
) {
    let is_match = |at| {
        let (class, length) = classes.at(text, at);
        (class & PUNCTUATION != 0, length)
    };
    split_at_characters(behaviour, text, is_match, emit);
}

/// Split `\p{N}` from the rest, one by one with `individual`, like Hugging Face's `Digits`.
pub fn digits(individual: bool, classes: Classes, text: &[u8], emit: impl FnMut(usize, usize)) {
    let behaviour = match individual {
        true => Behaviour::Isolated,
        false => Behaviour::Contiguous,
    };
    let is_match = |at| {
        let (class, length) = classes.at(text, at);
        (class & NUMBER != 0, length)
    };
    split_at_characters(behaviour, text, is_match, emit);
}

/// Cut a text before each group of `length` decimal digits, counted from the end of a number.
///
/// With a `length` of 3, the cuts are before the matches of `(?=(\d{3})+(?!\d))`.
pub fn digit_cuts(
    length: NonZeroUsize,
    categories: Categories,
    text: &[u8],
    mut emit: impl FnMut(usize, usize),
) {
    // Length of the character at an offset, if it is a decimal digit.
    let digit_at = |at: usize| {
        let (code, length) = code_at(text, at);
        let is_digit = match text[at].is_ascii() {
            true => text[at].is_ascii_digit(),
            false => categories.of(code) == Category::Nd,
        };
        is_digit.then_some(length)
    };
    let (mut at, mut start) = (0, 0);
    while at < text.len() {
        let mut end = at;
        let mut left = 0usize;
        while let Some(length) = text.get(end).and_then(|_| digit_at(end)) {
            end += length;
            left += 1;
        }
        if left == 0 {
            at += code_at(text, at).1;
        }
        while at < end {
            if left % length == 0 && start < at {
                emit(start, at);
                start = at;
            }
            at += code_at(text, at).1;
            left -= 1;
        }
    }
    if start < at {
        emit(start, at);
    }
}

/// Split each number, a run of `\p{N}`, into groups of `most` characters, counted from its end.
///
/// The text between numbers is a piece, too. With a `most` of 3, `1234567` gives `1`, `234`, `567`.
pub fn digit_groups(
    most: NonZeroUsize,
    classes: Classes,
    text: &[u8],
    mut emit: impl FnMut(usize, usize),
) {
    // Length of the character at an offset, if it is a number.
    let number_at = |at: usize| {
        let (class, length) = classes.at(text, at);
        (class & NUMBER != 0).then_some(length)
    };
    let (mut at, mut start) = (0, 0);
    let may_be_number = |byte: &u8| byte.is_ascii_digit() || !byte.is_ascii();
    while let Some(skipped) = text[at..].iter().position(may_be_number) {
        at += skipped;
        let Some(first) = number_at(at) else {
            at += classes.at(text, at).1;
            continue;
        };
        if start < at {
            emit(start, at);
        }
        let (mut end, mut left) = (at + first, 1usize);
        while end < text.len() {
            let Some(length) = number_at(end) else { break };
            end += length;
            left += 1;
        }
        start = at;
        while at < end {
            at += classes.at(text, at).1;
            left -= 1;
            if left % most == 0 {
                emit(start, at);
                start = at;
            }
        }
    }
    if start < text.len() {
        emit(start, text.len());
    }
}

/// Split like Hugging Face's `FixedLength`: pieces of `most` characters, the last one may be
/// shorter.
pub fn fixed(most: NonZeroUsize, text: &[u8], mut emit: impl FnMut(usize, usize)) {
    let (mut at, mut start, mut count) = (0, 0, 0);
    while at < text.len() {
        at += code_at(text, at).1;
        count += 1;
        if count == most.get() {
            emit(start, at);
            (start, count) = (at, 0);
        }
    }
    if start < at {
        emit(start, at);
    }
}

// Extended grapheme clusters (UAX #29): `\X`.

/// Split into clusters; a byte that is not UTF-8 stands alone, like a lone surrogate.
pub fn split_graphemes(text: &[u8], mut emit: impl FnMut(usize, usize)) {
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        for cluster in chunk.valid().graphemes(true) {
            emit(at, at + cluster.len());
            at += cluster.len();
        }
        for _ in chunk.invalid() {
            emit(at, at + 1);
            at += 1;
        }
    }
}

// Hugging Face's `UnicodeScripts`: split where the script changes, as SentencePiece does.
//
// Hiragana, Katakana and U+30FC count as Han; a space and an unassigned code point belong to the
// piece before them. Hugging Face starts the first piece at the first character that has a script,
// so spaces at the very start are dropped.

/// Script of characters that belong to a piece of any script.
const ANY: u8 = scripts::UNKNOWN;

/// Return the script that a character counts as in [`split_scripts`].
pub fn script_of(table: Scripts, code: u32) -> u8 {
    match (code, table.of(code)) {
        (0x20, _) => ANY,
        (0x30FC, _) | (_, scripts::HIRAGANA | scripts::KATAKANA) => scripts::HAN,
        (_, script) => script,
    }
}

pub fn split_scripts(text: &[u8], mut emit: impl FnMut(usize, usize)) {
    let table = Scripts::get();
    let (mut at, mut start, mut last) = (0, 0, ANY);
    while at < text.len() {
        let (code, length) = code_at(text, at);
        let script = script_of(table, code);
        if script != ANY {
            if last == ANY {
                start = at;
            } else if script != last {
                emit(start, at);
                start = at;
            }
            last = script;
        }
        at += length;
    }
    if last != ANY {
        emit(start, at);
    }
}
