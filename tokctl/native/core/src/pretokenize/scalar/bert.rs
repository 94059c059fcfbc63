//! `[^\s\p{P}$+<=>^`|~]+|[\p{P}$+<=>^`|~]`: BERT's basic tokenizer after cleaning.

use crate::unicode::{Classes, PUNCTUATION, SPACE};

pub fn split(classes: Classes, text: &[u8], mut emit: impl FnMut(usize, usize)) {
    let mut start = None;
    let mut at = 0;
    while at < text.len() {
        let (class, length) = classes.at(text, at);
        if class & (SPACE | PUNCTUATION) == 0 {
            start.get_or_insert(at);
        } else {
            if let Some(start) = start.take() {
                emit(start, at);
            }
            if class & PUNCTUATION != 0 {
                emit(at, at + length);
            }
        }
        at += length;
    }
    if let Some(start) = start {
        emit(start, text.len());
    }
}
