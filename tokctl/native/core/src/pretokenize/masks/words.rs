//! Patterns that drop white space and use at most one more class.

use super::{AsciiClasses, Carry, MaskPattern, View};
use crate::unicode::{PUNCTUATION, SPACE, WORD};

/// `\S+`
#[derive(Clone, Copy, Default)]
pub struct Whitespace {
    /// Carry of the characters other than spaces, so that a text can start with one of them.
    others: Carry,
}

impl MaskPattern for Whitespace {
    const ASCII: AsciiClasses = AsciiClasses::new(Self::WIDE, &[]);
    const WIDE: u8 = SPACE;
    const DROPS: bool = true;

    #[inline(always)]
    fn starts(&mut self, view: &View) -> u64 {
        let others = !view.block.of(SPACE);
        others ^ self.others.behind(others)
    }
}

/// `[^\s\p{P}$+<=>^`|~]+|[\p{P}$+<=>^`|~]`: BERT's basic tokenizer after cleaning.
#[derive(Clone, Copy, Default)]
pub struct Bert {
    others: Carry,
    punctuation: Carry,
}

impl MaskPattern for Bert {
    const ASCII: AsciiClasses = AsciiClasses::new(Self::WIDE, &[]);
    const WIDE: u8 = SPACE | PUNCTUATION;
    const DROPS: bool = true;

    #[inline(always)]
    fn starts(&mut self, view: &View) -> u64 {
        let block = view.block;
        let (others, punctuation) = (!block.of(SPACE), block.of(PUNCTUATION));
        let single = (punctuation | self.punctuation.behind(punctuation)) & !block.rest;
        single | (others ^ self.others.behind(others))
    }
}

/// `\w+|[^\w\s]+`: Hugging Face's `Whitespace`.
#[derive(Clone, Copy, Default)]
pub struct WordRuns {
    others: Carry,
    words: Carry,
}

impl MaskPattern for WordRuns {
    const ASCII: AsciiClasses = AsciiClasses::new(Self::WIDE, &[]);
    const WIDE: u8 = SPACE | WORD;
    const DROPS: bool = true;

    #[inline(always)]
    fn starts(&mut self, view: &View) -> u64 {
        let (others, words) = (!view.block.of(SPACE), view.block.of(WORD));
        (others ^ self.others.behind(others)) | (words ^ self.words.behind(words))
    }
}
