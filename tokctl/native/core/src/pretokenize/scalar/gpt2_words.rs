//! `'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}+|[^\s\p{L}\p{N}]+`: GPT-2's pattern without spaces.

use super::gpt2::word_end;
use crate::pretokenize::runs::{contraction, kind_at};
use crate::unicode::{Classes, SPACE};

pub fn split(classes: Classes, text: &[u8], mut emit: impl FnMut(usize, usize)) {
    let mut at = 0;
    while at < text.len() {
        let short = contraction(text, at);
        if short > 0 {
            emit(at, at + short);
            at += short;
            continue;
        }
        let (kind, length) = kind_at(classes, text, at);
        if kind == SPACE {
            at += length;
            continue;
        }
        let end = word_end(classes, text, at);
        emit(at, end);
        at = end;
    }
}
