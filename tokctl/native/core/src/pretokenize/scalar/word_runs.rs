//! `\w+|[^\w\s]+`: Hugging Face's `Whitespace`.

use crate::unicode::{Classes, SPACE, WORD};

pub fn split(classes: Classes, text: &[u8], mut emit: impl FnMut(usize, usize)) {
    let (mut at, mut start, mut kind) = (0, 0, SPACE);
    while at < text.len() {
        let (class, length) = classes.at(text, at);
        let here = class & (SPACE | WORD);
        if here != kind {
            if kind != SPACE {
                emit(start, at);
            }
            (start, kind) = (at, here);
        }
        at += length;
    }
    if kind != SPACE {
        emit(start, at);
    }
}
