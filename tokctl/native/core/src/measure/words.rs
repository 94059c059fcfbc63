//! What a word is, and the tokens that belong to it.

use unicode_segmentation::UnicodeSegmentation;

use crate::encode::Token;
use crate::error::{Error, Result};
use crate::model::NO_ID;
use crate::pretokenize::Scanner;
use crate::unicode::stretches;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordRule {
    /// Maximal runs of characters that are no white space.
    Spaces,
    /// What lies between two word boundaries of UAX #29 and holds an alphanumeric character:
    /// Alphabetic, or of the general categories Nd, Nl, No.
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

    /// Calls `emit(start, end)` with every word, in order.
    pub(super) fn each(self, text: &[u8], mut emit: impl FnMut(usize, usize)) {
        match self {
            WordRule::Spaces => {
                let split = Scanner::Whitespace.split(text, emit);
                debug_assert!(split.is_ok(), "this scanner asks nobody");
            }
            // A byte that is not UTF-8 ends a word: it is no character that a rule joins.
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

/// A word beside its tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeasuredWord {
    pub start: usize,
    pub end: usize,
    /// How many tokens belong to it.
    pub tokens: u64,
    /// Is it one token, which is known?
    pub whole: bool,
}

/// Lays the words of `text`, which starts at `base`, beside its tokens, which are in order.
///
/// A token belongs to the word of which it covers a character; one that covers nothing, to the
/// word at whose start or end it stands. (Two words side by side both have such a one between.)
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
