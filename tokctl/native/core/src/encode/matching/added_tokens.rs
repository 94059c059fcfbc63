//! Added tokens, special ones among them: found in the text before anything else.
//!
//! This is Hugging Face's `AddedVocabulary::find_matches`: leftmost first, longest first. The text
//! of a match is consumed even if the match is then refused. tokctl's caller keeps two sets, for
//! raw text and for normalized text. In llama.cpp's `tokenizer_st_partition`, the longest token
//! comes first, wherever it is.

use super::automaton::LongestStarts;
use crate::error::{Error, Result};
use crate::unicode::{self, Classes, WordCharacters, SPACE};

/// A token that is found in the text as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AddedToken {
    pub text: Vec<u8>,
    pub id: u32,
    /// Whether the token is found only between characters that are not word characters (`\w`).
    pub single_word: bool,
    /// Whether the white space before the token belongs to it.
    pub strip_left: bool,
    /// Whether the white space after the token belongs to it.
    pub strip_right: bool,
    /// Whether the token stays ordinary text, in which no other token is found.
    pub refused: bool,
    /// Whether the token is found before shorter ones that start before it.
    ///
    /// One such token makes all tokens of a set longest-first.
    pub longest_first: bool,
}

/// Finds added tokens in text, in linear time regardless of their number.
pub struct AddedTokens {
    strings: LongestStarts,
    /// By token: the longest other token that is a prefix of it; `None` if matching is leftmost
    /// first.
    beginnings: Option<Vec<u32>>,
    tokens: Vec<AddedToken>,
    words: WordCharacters,
    classes: Classes,
}

impl AddedTokens {
    /// Make a finder.
    ///
    /// Of tokens with equal texts, the first counts; empty ones are never found.
    pub fn new(tokens: Vec<AddedToken>) -> Result<Self> {
        let texts: Vec<&[u8]> = tokens.iter().map(|token| token.text.as_slice()).collect();
        let strings = LongestStarts::new(&texts)
            .ok_or_else(|| Error::TooLarge("over 4 GB of added tokens".into()))?;
        let by_length = tokens.iter().any(|token| token.longest_first);
        let beginnings = by_length.then(|| strings.beginnings(&texts));
        Ok(AddedTokens {
            strings,
            beginnings,
            tokens,
            words: WordCharacters::get(),
            classes: Classes::get(),
        })
    }

    /// Find start, end and id of every added token in `text`, in order.
    ///
    /// As in Hugging Face, a token that starts with white space is found in white space that the
    /// token before it has stripped; the two then overlap.
    pub fn find<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = (usize, usize, u32)> + 't {
        // The end of the previous token, and the end of the last stripped white space.
        let (mut before, mut stripped) = (0, 0);
        let leftmost = self.beginnings.is_none();
        let leftmost = leftmost.then(|| self.strings.find(text));
        let by_length = self.beginnings.as_ref();
        let by_length = by_length.map(|beginnings| self.strings.find_longest(text, beginnings));
        let found = leftmost.into_iter().flatten();
        let found = found.chain(by_length.into_iter().flatten());
        found.filter_map(move |found| {
            let (mut start, mut end, number) = found;
            let token = &self.tokens[number as usize];
            let alone = || !token.single_word || self.is_alone(text, start, end);
            if token.refused || !alone() {
                return None;
            }
            if token.strip_left {
                start = self
                    .space_before(text, before.min(start), start)
                    .max(before);
            }
            if token.strip_right {
                // White space that was already scanned is not scanned again.
                let from = match stripped > end {
                    true => stripped,
                    false => end,
                };
                end = self.space_after(text, from);
                stripped = end;
            }
            // All of the token is stripped already. (Hugging Face panics if the rest has a negative
            // length.)
            if start >= end {
                return None;
            }
            before = end;
            Some((start, end, token.id))
        })
    }

    /// Return whether no word character is directly before or after `start..end`.
    fn is_alone(&self, text: &[u8], start: usize, end: usize) -> bool {
        let is_word = |character: Option<(u32, usize)>| {
            character.is_some_and(|(code, _)| self.words.has(code))
        };
        let after = (end < text.len())
            .then(|| unicode::decode(text, end))
            .flatten();
        !is_word(unicode::decode_before(text, start)) && !is_word(after)
    }

    /// Return where the white space before `end` begins, at least `lowest`.
    fn space_before(&self, text: &[u8], lowest: usize, mut end: usize) -> usize {
        while end > lowest {
            match unicode::decode_before(text, end) {
                Some((code, length)) if self.classes.of(code) & SPACE != 0 => end -= length,
                _ => break,
            }
        }
        end
    }

    fn space_after(&self, text: &[u8], mut at: usize) -> usize {
        while at < text.len() {
            match self.classes.at(text, at) {
                (class, length) if class & SPACE != 0 => at += length,
                _ => break,
            }
        }
        at
    }
}

/// Added tokens in two sets: one is found in the raw text, one in the normalized text.
pub struct Matchers {
    raw: Option<AddedTokens>,
    normalized: Option<AddedTokens>,
}

impl Matchers {
    /// Make both sets.
    ///
    /// `normalized` tokens are spelled as in normalized text; empty tokens are never found.
    pub fn new(raw: Vec<AddedToken>, normalized: Vec<AddedToken>) -> Result<Self> {
        let matcher = |tokens: Vec<AddedToken>| match tokens.is_empty() {
            true => Ok(None),
            false => AddedTokens::new(tokens).map(Some),
        };
        Ok(Matchers {
            raw: matcher(raw)?,
            normalized: matcher(normalized)?,
        })
    }

    pub fn raw(&self) -> Option<&AddedTokens> {
        self.raw.as_ref()
    }

    pub fn normalized(&self) -> Option<&AddedTokens> {
        self.normalized.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(texts: &[&str], set: impl Fn(&mut AddedToken)) -> AddedTokens {
        let token = |(id, text): (u32, &&str)| {
            let mut token = AddedToken {
                text: text.as_bytes().to_vec(),
                id,
                ..AddedToken::default()
            };
            set(&mut token);
            token
        };
        AddedTokens::new((0..).zip(texts).map(token).collect()).unwrap()
    }

    fn found(tokens: &AddedTokens, text: &str) -> Vec<(usize, usize, u32)> {
        tokens.find(text.as_bytes()).collect()
    }

    #[test]
    fn the_longest_of_the_leftmost() {
        let plain = tokens(&["ab", "abc", "bcd", "", "ab"], |_| {});
        assert_eq!(found(&plain, "xabcdab"), [(1, 4, 1), (5, 7, 0)]);
        assert_eq!(found(&tokens(&[], |_| {}), "ab"), []);
    }

    #[test]
    fn nothing_is_found_inside_a_refused_one() {
        let some = tokens(&["<a_b>", "_b", "<"], |token| token.refused = token.id == 0);
        assert_eq!(found(&some, "<a_b>_b<a"), [(5, 7, 1), (7, 8, 2)]);
    }

    #[test]
    fn single_words_stand_alone() {
        let words = tokens(&["ab", "ab!c"], |token| token.single_word = true);
        assert_eq!(
            found(&words, "ab xab abé ab-ab"),
            [(0, 2, 0), (12, 14, 0), (15, 17, 0)]
        );
        // The longer token consumes the text, though it is refused.
        assert_eq!(found(&words, "ab!cd"), []);
        assert_eq!(found(&words, "ab!"), [(0, 2, 0)]);
    }

    #[test]
    fn white_space_is_taken_along() {
        let both = tokens(&["a"], |token| {
            (token.strip_left, token.strip_right) = (true, true)
        });
        assert_eq!(found(&both, "x \u{3000}a  a\tb"), [(1, 8, 0), (8, 10, 0)]);
        assert_eq!(found(&both, " a "), [(0, 3, 0)]);
        // Half a character, or an invalid byte, is not white space.
        let bytes: Vec<_> = both.find(b"\x80\x80a\xE3\x80").collect();
        assert_eq!(bytes, [(2, 3, 0)]);
    }

    #[test]
    fn tokens_that_are_white_space_take_linear_time() {
        let text = " ".repeat(1_000_000);
        let right = tokens(&[" "], |token| token.strip_right = true);
        assert_eq!(found(&right, &text).len(), text.len());
        let left = tokens(&[" "], |token| token.strip_left = true);
        assert_eq!(found(&left, &text).len(), text.len());
    }
}
