//! Extended grapheme clusters (UAX #29): `\X`.

use unicode_segmentation::UnicodeSegmentation;

/// A byte that is not UTF-8 stands alone, as a lone surrogate does.
pub fn split(text: &[u8], mut emit: impl FnMut(usize, usize)) {
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
