//! White space as the patterns of cl100k and after split it: up to its last line break.

use super::runs::kind_at;
use crate::unicode::{Classes, SPACE};

pub fn is_line_break(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// `\s*[\r\n]+|\s+(?!\S)|\s+` at a white-space character: where its pre-token ends.
///
/// With `whole_at_end`, `\s+$` comes first (tiktoken's form of cl100k): white space at
/// the end of the text is one pre-token, line breaks or not.
///
/// One walk over the run; what it leaves for the next pre-token holds no line break, so
/// a run is walked three times at most, however long it is.
pub fn space_end(classes: Classes, text: &[u8], at: usize, whole_at_end: bool) -> usize {
    let (mut end, mut last, mut after_break) = (at, at, at);
    while end < text.len() {
        let (kind, length) = kind_at(classes, text, end);
        if kind != SPACE {
            break;
        }
        last = end;
        end += length;
        if is_line_break(text[last]) {
            after_break = end;
        }
    }
    let at_end = end == text.len();
    if after_break > at && !(whole_at_end && at_end) {
        after_break
    } else if at_end || last == at {
        end
    } else {
        // `\s+(?!\S)` gives back the last space, which then belongs to what follows.
        last
    }
}

/// `[\r\n]*` (and `/`, where `slash`): what the patterns let follow punctuation.
pub fn breaks_end(text: &[u8], mut at: usize, slash: bool) -> usize {
    while at < text.len() && (is_line_break(text[at]) || slash && text[at] == b'/') {
        at += 1;
    }
    at
}
