//! The pattern of GPT-4 and its relatives; every byte belongs to exactly one pre-token.
//!
//! `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|`
//! ` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
//!
//! Llama 3's `tokenizer.json` has this form; Qwen2's takes one `\p{N}` at a time. The form in
//! tiktoken's `openai_public.py` (cl100k_base) has `\s++$` before `\s*[\r\n]`, so white space at
//! the end of a text is not split at its last line break.

use crate::pretokenize::runs::{breaks_end, is_line_break, space_end};
use crate::pretokenize::runs::{contraction_any_case, kind_at, numbers_end, run_end};
use crate::unicode::{Classes, LETTER, NUMBER, OTHER, SPACE};

#[derive(Debug, Clone, Copy)]
pub struct Variant {
    /// Most numbers in one pre-token.
    pub numbers: usize,
    /// Whether white space at the end of the text is one pre-token.
    pub whole_at_end: bool,
}

pub const CL100K: Variant = Variant {
    numbers: 3,
    whole_at_end: true,
};
pub const LLAMA3: Variant = Variant {
    numbers: 3,
    whole_at_end: false,
};
pub const QWEN2: Variant = Variant {
    numbers: 1,
    whole_at_end: false,
};

pub fn split(variant: Variant, classes: Classes, text: &[u8], mut emit: impl FnMut(usize, usize)) {
    let mut at = 0;
    while at < text.len() {
        let end = match contraction_any_case(text, at) {
            0 => token_end(variant, classes, text, at),
            short => at + short,
        };
        emit(at, end);
        at = end;
    }
}

/// Return the end of the pre-token that starts at `at`, where no contraction starts.
#[inline]
fn token_end(variant: Variant, classes: Classes, text: &[u8], at: usize) -> usize {
    let (kind, length) = kind_at(classes, text, at);
    let next = at + length;
    match kind {
        LETTER => return run_end(classes, text, next, LETTER),
        NUMBER => return numbers_end(classes, text, at, variant.numbers),
        _ => {}
    }
    let following = text.get(next).map(|_| kind_at(classes, text, next).0);
    if following == Some(LETTER) && !is_line_break(text[at]) {
        return run_end(classes, text, next, LETTER);
    }
    if kind == SPACE && !(text[at] == b' ' && following == Some(OTHER)) {
        return space_end(classes, text, at, variant.whole_at_end);
    }
    breaks_end(text, run_end(classes, text, next, OTHER), false)
}
