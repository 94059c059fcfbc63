//! Newlines, runs of spaces, and the ends of a text.

use super::aligned::TextSink;
use super::Edges;

/// Delete every line feed and carriage return, with no replacement.
pub(super) fn delete_newlines(text: &[u8], sink: &mut impl TextSink) {
    let mut kept = 0;
    for at in memchr::memchr2_iter(b'\n', b'\r', text) {
        sink.keep(&text[kept..at]);
        sink.skip(1);
        kept = at + 1;
    }
    sink.keep(&text[kept..]);
}

/// Replace each run of U+0020 by its last one.
///
/// The space keeps its source span, as when Hugging Face replaces the pattern ` {2,}` by a space.
pub(super) fn collapse(text: &[u8], sink: &mut impl TextSink) {
    let mut kept = 0;
    while let Some(found) = memchr::memmem::find(&text[kept..], b"  ") {
        let start = kept + found;
        let run = text[start..].iter().take_while(|&&b| b == b' ').count();
        sink.keep(&text[kept..start]);
        sink.skip(run - 1);
        kept = start + run - 1;
        sink.keep(&text[kept..kept + 1]);
        kept += 1;
    }
    sink.keep(&text[kept..]);
}

/// Characters that [`strip`] removes.
#[derive(Clone, Copy)]
pub(super) enum Blank {
    /// Unicode's White_Space.
    White,
    /// U+0020 alone.
    Space,
}

/// Remove blanks at the ends of a text, where the chunk `text` reaches them (see `edges`).
pub(super) fn strip(
    text: &[u8],
    (left, right): (bool, bool),
    blank: Blank,
    edges: Edges,
    sink: &mut impl TextSink,
) {
    let is_blank = |c: char| match blank {
        Blank::White => c.is_whitespace(),
        Blank::Space => c == ' ',
    };
    let start = match left && edges.start {
        true => blanks_at_start(text, is_blank),
        false => 0,
    };
    let end = match right && edges.end {
        true => start.max(text.len() - blanks_at_end(text, is_blank)),
        false => text.len(),
    };
    sink.skip(start);
    sink.keep(&text[start..end]);
    sink.skip(text.len() - end);
}

fn blanks_at_start(text: &[u8], is_blank: impl Fn(char) -> bool) -> usize {
    let mut at = 0;
    while at < text.len() {
        match crate::unicode::decode(text, at) {
            Some((code, length)) if char::from_u32(code).is_some_and(&is_blank) => at += length,
            _ => break,
        }
    }
    at
}

fn blanks_at_end(text: &[u8], is_blank: impl Fn(char) -> bool) -> usize {
    let mut end = text.len();
    while end > 0 {
        match crate::unicode::decode_before(text, end) {
            Some((code, length)) if char::from_u32(code).is_some_and(&is_blank) => end -= length,
            _ => break,
        }
    }
    text.len() - end
}
