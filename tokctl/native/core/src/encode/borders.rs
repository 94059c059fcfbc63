//! Cut points inside a word, where each side is segmented independently of the other.
//!
//! If no token contains two characters side by side, no token crosses from one to the other. If
//! both characters are also tokens themselves, neither becomes bytes or part of an unknown stretch.
//! Then each side of the border between them has the ids it would have alone. Text without spaces
//! has many borders, and the parts between them repeat as words do. A word and the punctuation
//! after it are also separated in this way.

use super::word_starts::MARK_CHARACTER;
use crate::unicode;

/// The characters that are tokens, and the pairs of characters that some token contains.
#[derive(Debug, Clone)]
pub struct Borders {
    /// A bit per code point: whether the character is a token.
    ///
    /// Code points past the end are not tokens.
    tokens: Vec<u64>,
    /// A bit per hash of two code points: whether a token contains them side by side.
    ///
    /// A hash collision hides a border, and never adds a false one.
    pairs: Box<[u64]>,
}

/// Bits per inserted pair; many pairs are inserted more than once.
const BITS_PER_PAIR: usize = 2;
/// The largest number of bits in all: the table is read for every character, so it must fit the
/// processor's cache.
const MOST_BITS: usize = 1 << 20;

impl Borders {
    /// Collect the borders of a model.
    ///
    /// `tokens` are all tokens that the model may find in a text.
    pub fn of<'t>(tokens: impl Iterator<Item = &'t [u8]> + Clone) -> Self {
        let begins = |byte: &&u8| **byte & 0xC0 != 0x80;
        let pairs: usize = (tokens.clone())
            .map(|token| token.iter().filter(begins).count().saturating_sub(1))
            .sum();
        let bits = (pairs * BITS_PER_PAIR)
            .clamp(64, MOST_BITS)
            .next_power_of_two();
        let mut borders = Borders {
            tokens: Vec::new(),
            pairs: vec![0; bits / 64].into(),
        };
        for token in tokens {
            borders.insert(token);
        }
        borders
    }

    fn insert(&mut self, token: &[u8]) {
        let mut before = None;
        let mut at = 0;
        while at < token.len() {
            let (code, length) = character(token, at);
            if let (Some(before), Some(code)) = (before, code) {
                let (word, bit) = self.pair(before, code);
                self.pairs[word] |= bit;
            }
            if let (Some(code), true) = (code, length == token.len()) {
                let word = code as usize / 64;
                if word >= self.tokens.len() {
                    self.tokens.resize(word + 1, 0);
                }
                self.tokens[word] |= 1 << (code % 64);
            }
            before = code;
            at += length;
        }
    }

    #[inline(always)]
    fn pair(&self, left: u32, right: u32) -> (usize, u64) {
        // Fibonacci hashing with 2^64 divided by the golden ratio: the product's upper bits depend
        // on all lower bits of the key.
        let both = u64::from(left) << 32 | u64::from(right);
        let hash = both.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let hash = (hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let word = (hash >> 6) as usize & (self.pairs.len() - 1);
        (word, 1 << (hash & 63))
    }

    #[inline(always)]
    fn is_token(&self, code: u32) -> bool {
        let word = self.tokens.get(code as usize / 64).copied();
        word.unwrap_or(0) >> (code % 64) & 1 == 1
    }

    /// Iterate over the byte offsets where `word` can be cut.
    ///
    /// U+0020 counts as `▁`.
    pub(crate) fn within<'w>(&'w self, word: &'w [u8]) -> BordersWithin<'w> {
        BordersWithin {
            borders: self,
            word,
            at: 0,
            before: NO_TOKEN,
        }
    }
}

/// Stands for a character that is not a token.
const NO_TOKEN: u32 = u32::MAX;

pub(crate) struct BordersWithin<'w> {
    borders: &'w Borders,
    word: &'w [u8],
    /// Offset up to which `word` has been searched.
    at: usize,
    /// The character before `at`, or [`NO_TOKEN`].
    before: u32,
}

impl Iterator for BordersWithin<'_> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.at < self.word.len() {
            let here = self.at;
            let (code, length) = match self.word[here] {
                b' ' => (Some(MARK_CHARACTER), 1),
                _ => character(self.word, here),
            };
            self.at += length;
            let code = code.unwrap_or(NO_TOKEN);
            let right = match self.borders.is_token(code) {
                true => code,
                false => NO_TOKEN,
            };
            let left = std::mem::replace(&mut self.before, right);
            if left != NO_TOKEN && right != NO_TOKEN {
                let (word, bit) = self.borders.pair(left, right);
                if self.borders.pairs[word] & bit == 0 {
                    return Some(here);
                }
            }
        }
        None
    }
}

/// Return the code point at offset `at` and its length in bytes.
///
/// An invalid byte gives `None` and length 1.
#[inline(always)]
fn character(text: &[u8], at: usize) -> (Option<u32>, usize) {
    match text[at] {
        byte @ 0..0x80 => (Some(u32::from(byte)), 1),
        _ => match unicode::decode(text, at) {
            Some((code, length)) => (Some(code), length),
            None => (None, 1),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(tokens: &[&str], word: &[u8]) -> Vec<usize> {
        let borders = Borders::of(tokens.iter().map(|token| token.as_bytes()));
        borders.within(word).collect()
    }

    #[test]
    fn borders_lie_between_tokens_that_no_token_joins() {
        let tokens = ["a", "b", "日", "本", "▁", "abx", "日本", "▁a", "b日é"];
        assert_eq!(within(&tokens, b""), []);
        assert_eq!(within(&tokens, b"abab"), [2], "b and a");
        assert_eq!(within(&tokens, " ab日本本日".as_bytes()), [9, 12]);
        assert_eq!(within(&tokens, "▁b a".as_bytes()), [3, 4]);
        // Characters that are not tokens may fuse with their neighbours.
        assert_eq!(within(&tokens, "ax日éa本".as_bytes()), [8]);
        assert_eq!(within(&tokens, b"a\xE6\x97b\x80a"), []);
        assert_eq!(within(&[], "ab日本".as_bytes()), []);
    }

    #[test]
    fn most_borders_are_seen_and_nothing_else() {
        let letters: Vec<char> = ('\u{4E00}'..'\u{5E00}').collect();
        let alone = letters.iter().map(char::to_string);
        let joined = letters.windows(2).map(|two| two.iter().collect());
        let tokens: Vec<String> = alone.chain(joined).collect();
        let borders = Borders::of(tokens.iter().map(String::as_bytes));
        let apart: String = letters.iter().step_by(2).collect();
        let seen = borders.within(apart.as_bytes()).count();
        assert!(seen > apart.len() / 3 / 2, "{seen}");
        let text: String = letters.iter().collect();
        assert_eq!(borders.within(text.as_bytes()).next(), None);
    }
}
