//! The pattern of GPT-4 and its relatives; every byte belongs to exactly one pre-token.
//!
//! `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|`
//! ` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
//!
//! Llama 3's `tokenizer.json` has this form; Qwen2's takes one `\p{N}` at a time. The form in
//! tiktoken's `openai_public.py` (cl100k_base) has `\s++$` before `\s*[\r\n]`, so white space at
//! the end of a text is not split at its last line break.

use super::parts::{Parts, Prefixed};
use super::{ahead, AsciiClasses, Carry, Groups, MaskPattern, View};
use crate::pretokenize::runs::contraction_any_case;
use crate::unicode::{LETTER, NUMBER, SPACE};

/// Class bit of the plain space and the apostrophe.
const MARKED: u8 = 8;
/// Class bit of line breaks.
const BREAK: u8 = 16;

/// State of the pattern, in one of its variants.
///
/// With `SINGLE`, one number is one pre-token, not up to three. With `WHOLE`, white space at the
/// end of the text is one pre-token.
#[derive(Clone, Copy, Default)]
pub struct Cl100k<const SINGLE: bool, const WHOLE: bool> {
    parts: Prefixed,
    letters: Carry,
    groups: Groups,
    /// Starts in this block, after contractions that begin in the block before.
    started: u64,
}

impl<const SINGLE: bool, const WHOLE: bool> MaskPattern for Cl100k<SINGLE, WHOLE> {
    const ASCII: AsciiClasses = AsciiClasses::new(Self::WIDE, &[(MARKED, b" '"), (BREAK, b"\r\n")]);
    const WIDE: u8 = LETTER | NUMBER | SPACE;

    #[inline(always)]
    fn starts(&mut self, view: &View) -> u64 {
        let (block, next) = (view.block, view.next);
        let [letters, numbers, spaces] = [LETTER, NUMBER, SPACE].map(|class| block.of(class));
        let breaks = block.of(BREAK);
        let (others, joined) = self.parts.starts::<WHOLE>(&Parts {
            view,
            others: !(letters | numbers | spaces),
            spaces: (spaces, next.of(SPACE)),
            plain: spaces & block.of(MARKED),
            breaks: (breaks, next.of(BREAK)),
            trailing: breaks,
        });
        let words = letters & !self.letters.behind(letters) & !joined;
        let numbers = match SINGLE {
            true => numbers & !block.rest,
            false => self.groups.starts(numbers, view),
        };
        let starts = words | numbers | others | self.started;
        self.started = 0;
        let apostrophes = block.of(MARKED) & !spaces;
        let short = starts & apostrophes & ahead(letters, next.of(LETTER));
        match short {
            0 => starts,
            _ => starts | self.contractions(view, short),
        }
    }
}

impl<const SINGLE: bool, const WHOLE: bool> Cl100k<SINGLE, WHOLE> {
    /// Return the starts after contractions that are at the start of a pre-token.
    ///
    /// Without these starts, a pre-token would join the apostrophe and all letters after it.
    #[inline(never)]
    fn contractions(&mut self, view: &View, mut short: u64) -> u64 {
        let mut started = 0_u128;
        while short != 0 {
            let place = short.trailing_zeros();
            short &= short - 1;
            let length = contraction_any_case(view.text, view.at + place as usize);
            if length > 0 {
                started |= 1 << (place + length as u32);
            }
        }
        self.started = (started >> 64) as u64;
        started as u64
    }
}
