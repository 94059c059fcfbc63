//! Words, and the tokens that belong to them.

use unicode_segmentation::UnicodeSegmentation;

use crate::encode::Token;
use crate::error::{Error, Result};
use crate::model::NO_ID;
use crate::pretokenize::Scanner;
use crate::unicode::stretches;

/// Definition of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordRule {
    /// Maximal runs of characters other than white space.
    Spaces,
    /// Texts between two word boundaries of UAX #29 with an alphanumeric character: Alphabetic, or
    /// of the general categories Nd, Nl, No.
    Unicode,
}

impl WordRule {
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "spaces" => Ok(WordRule::Spaces),
            "unicode" => Ok(WordRule::Unicode),
            _ => Err(Error::Invalid(format!("no rule of words is called {name}"))),
        }
    }

    /// Call `emit(start, end)` for every word, in order.
    pub(super) fn each(self, text: &[u8], mut emit: impl FnMut(usize, usize)) {
        match self {
            WordRule::Spaces => {
                let split = Scanner::Whitespace.split(text, emit);
                debug_assert!(split.is_ok(), "this scanner asks nobody");
            }
            // A byte that is not UTF-8 ends a word, because no rule joins it.
            WordRule::Unicode => {
                let mut base = 0;
                for (valid, invalid) in stretches(text) {
                    for (at, word) in valid.unicode_word_indices() {
                        emit(base + at, base + at + word.len());
                    }
                    base += valid.len() + invalid.len();
                }
            }
        }
    }
}

/// Word, and the tokens that belong to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeasuredWord {
    pub start: usize,
    pub end: usize,
    /// Number of tokens that belong to the word.
    pub tokens: u64,
    /// Whether the word is one token, other than the unknown token.
    pub whole: bool,
}

/// Match the words of `text`, which starts at offset `base`, with its tokens, which must be in
/// order.
///
/// A token belongs to every word of which it covers a character. A token of length 0 belongs to the
/// word that starts or ends at its offset (to both, if two words are adjacent).
pub(super) fn align(
    text: &[u8],
    base: usize,
    tokens: &[Token],
    (words, unknown): (WordRule, Option<u32>),
    mut emit: impl FnMut(MeasuredWord),
) {
    let mut next = 0;
    words.each(text, |start, end| {
        let (start, end) = (base + start, base + end);
        let behind = |token: &Token| token.end < start || token.end == start && token.start < start;
        while tokens.get(next).is_some_and(behind) {
            next += 1;
        }
        let touches = |token: &&Token| token.start < end || token.start == end && token.end == end;
        let touching = tokens[next..].iter().take_while(touches).count();
        let whole = match &tokens[next..next + touching] {
            [token] => {
                let known = token.id != NO_ID && Some(token.id) != unknown;
                known && token.start <= start && token.end >= end
            }
            _ => false,
        };
        emit(MeasuredWord {
            start,
            end,
            tokens: touching as u64,
            whole,
        });
    });
}
