//! Scanners that ask one thing of each character: its class, or how many came before.

use std::num::NonZeroUsize;

use super::behaviour::{split_at_characters, Behaviour};
use super::runs::code_at;
use crate::unicode::{Classes, NUMBER, PUNCTUATION};

/// Hugging Face's `Punctuation`: category P and the ASCII symbols.
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

/// Hugging Face's `Digits`: `\p{N}` apart from the rest, one by one where `individual`.
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

/// Hugging Face's `FixedLength`: so many characters each, the last piece what is left.
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
