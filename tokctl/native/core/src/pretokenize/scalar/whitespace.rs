//! `\S+`

use crate::unicode::{Classes, SPACE};

pub fn split(classes: Classes, text: &[u8], mut emit: impl FnMut(usize, usize)) {
    let mut start = None;
    let mut at = 0;
    while at < text.len() {
        let (class, length) = classes.at(text, at);
        if class & SPACE == 0 {
            start.get_or_insert(at);
        } else if let Some(start) = start.take() {
            emit(start, at);
        }
        at += length;
    }
    if let Some(start) = start {
        emit(start, text.len());
    }
}
