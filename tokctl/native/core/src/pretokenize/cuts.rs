//! Places where a text can be cut without changing its pre-tokens.
//!
//! A cut stands before an ASCII space that follows something other than a space. No
//! pattern here joins a word to the space behind it, and a run of spaces (where
//! GPT-2's pattern looks ahead) is never cut inside.

use super::PreTokenizer;
use crate::unicode::{Classes, SPACE};

fn is_cut(classes: Classes, text: &[u8], at: usize) -> bool {
    matches!(text[at], b' ' | b'\n' | b'\t' | b'\r')
        && at > 0
        && classes.before(text, at) & SPACE == 0
}

/// The last cut in `text` at or after `from`, if there is one.
pub fn last_cut(pre_tokenizer: PreTokenizer, text: &[u8], from: usize) -> Option<usize> {
    if !pre_tokenizer.cuts_before_space() {
        return None;
    }
    let classes = Classes::get();
    (from..text.len())
        .rev()
        .find(|&at| is_cut(classes, text, at))
}

/// Splits `text` at cuts into pieces of about `size` bytes: ascending end offsets,
/// the last one `text.len()`. A piece without a cut inside grows past `size`.
pub fn cut_into_pieces(pre_tokenizer: PreTokenizer, text: &[u8], size: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    if pre_tokenizer.cuts_before_space() {
        let classes = Classes::get();
        let mut at = size;
        while at < text.len() {
            if is_cut(classes, text, at) {
                ends.push(at);
                at += size;
            } else {
                at += 1;
            }
        }
    }
    ends.push(text.len());
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pre_tokens(pre_tokenizer: PreTokenizer, text: &[u8]) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        pre_tokenizer.split(text, |a, b| found.push(text[a..b].to_vec()));
        found
    }

    #[test]
    fn cutting_anywhere_allowed_changes_nothing() {
        let text =
            "  It's  1,000\u{a0} miles\r\n\r\n from\t\u{3000}here, 字 字'll  \u{85} x ".as_bytes();
        for pre_tokenizer in [
            PreTokenizer::Whitespace,
            PreTokenizer::Bert,
            PreTokenizer::Gpt2Words,
            PreTokenizer::Gpt2,
        ] {
            let whole = pre_tokens(pre_tokenizer, text);
            for size in 1..text.len() + 2 {
                let mut start = 0;
                let mut parts = Vec::new();
                for end in cut_into_pieces(pre_tokenizer, text, size) {
                    parts.extend(pre_tokens(pre_tokenizer, &text[start..end]));
                    start = end;
                }
                assert_eq!(parts, whole, "{pre_tokenizer:?} at {size}");
            }
        }
    }

    #[test]
    fn a_text_of_one_pre_token_is_never_cut() {
        assert_eq!(cut_into_pieces(PreTokenizer::None, b"a b c", 1), vec![5]);
        assert_eq!(last_cut(PreTokenizer::None, b"a b c", 0), None);
        assert_eq!(last_cut(PreTokenizer::Gpt2, b"a b c", 0), Some(3));
        assert_eq!(last_cut(PreTokenizer::Gpt2, b"abc", 0), None);
    }
}
