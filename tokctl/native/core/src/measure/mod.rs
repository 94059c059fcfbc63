//! Counts over a text and its tokens, from which the metrics are made.

use crate::encode::Token;
use crate::pretokenize::Scanner;
use crate::unicode::{Classes, SPACE};

/// Words are maximal runs of non-space.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    pub words: u64,
    /// Words that are one token, which is not the unknown token.
    pub whole: u64,
    /// Words that are two tokens or more.
    pub split: u64,
    pub characters: u64,
    pub spaces: u64,
}

/// Lays the words of `text` beside its tokens, which are in order.
pub fn align_words(text: &[u8], tokens: &[Token], unknown: Option<u32>) -> Words {
    let mut found = Words::default();
    let mut next = 0;
    let words = Scanner::Whitespace.split(text, |start, end| {
        found.words += 1;
        // A token that ends before the word is behind us; a marker of length 0 that
        // stands right at its start belongs to it.
        let behind = |token: &Token| token.end < start || token.end == start && token.start < start;
        while tokens.get(next).is_some_and(behind) {
            next += 1;
        }
        let mut touching = 0u64;
        let mut at = next;
        let touches = |token: &&Token| token.start < end || token.start == end && token.end == end;
        while let Some(token) = tokens.get(at).filter(touches) {
            touching += 1;
            at += 1;
            if token.end > end {
                // It goes on into the next word.
                break;
            }
        }
        let only = &tokens[next..at];
        match only {
            [token] if token.start <= start && token.end >= end => {
                found.whole += u64::from(unknown != Some(token.id));
            }
            _ => found.split += u64::from(touching > 1),
        }
        next = if at > next && tokens[at - 1].end > end {
            at - 1
        } else {
            at
        };
    });
    debug_assert!(words.is_ok(), "this scanner asks nobody");
    let classes = Classes::get();
    let mut at = 0;
    while at < text.len() {
        let (class, length) = classes.at(text, at);
        found.characters += 1;
        found.spaces += u64::from(class & SPACE != 0);
        at += length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(spans: &[(usize, usize)]) -> Vec<Token> {
        let token = |&(start, end)| Token {
            id: 1,
            start,
            end,
            pre_token: Some(0),
        };
        spans.iter().map(token).collect()
    }

    fn words(text: &str, spans: &[(usize, usize)]) -> (u64, u64, u64) {
        let found = align_words(text.as_bytes(), &tokens(spans), None);
        (found.words, found.whole, found.split)
    }

    #[test]
    fn words_are_whole_or_split() {
        assert_eq!(words("ab cd", &[(0, 2), (2, 5)]), (2, 2, 0));
        assert_eq!(words("ab cd", &[(0, 2), (3, 5)]), (2, 2, 0));
        assert_eq!(words("ab cd", &[(0, 1), (1, 2), (2, 5)]), (2, 1, 1));
        // A start marker of its own makes a second token; so does an end marker.
        assert_eq!(words("ab cd", &[(0, 0), (0, 2), (3, 5)]), (2, 1, 1));
        assert_eq!(words("ab cd", &[(0, 2), (2, 2), (3, 5), (5, 5)]), (2, 0, 2));
        // One token over two words, and a word without a token.
        assert_eq!(words("ab cd", &[(0, 5)]), (2, 2, 0));
        assert_eq!(words("ab cd", &[(0, 2)]), (2, 1, 0));
        assert_eq!(words("  ", &[(0, 2)]), (0, 0, 0));
    }

    #[test]
    fn the_unknown_token_keeps_no_word() {
        let found = align_words(b"ab cd", &tokens(&[(0, 2), (3, 5)]), Some(1));
        assert_eq!((found.words, found.whole, found.split), (2, 0, 0));
        assert_eq!((found.characters, found.spaces), (5, 1));
    }
}
