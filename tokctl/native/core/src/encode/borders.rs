//! Where a word may be segmented part by part.
//!
//! Two characters that no token has side by side never come to stand in one token. Where both are
//! tokens themselves, so that neither becomes bytes or part of an unknown stretch, what lies on the
//! two sides of that border is segmented alike whatever the other side is. Text without spaces has
//! many such borders, and the parts between them come again as words do; so do a word and the
//! punctuation behind it.

use super::word_starts::MARK_CHARACTER;
use crate::unicode;

/// What a model's tokens say of borders.
#[derive(Debug, Clone)]
pub struct Borders {
    /// A bit for each code point: is the character a token? Those behind the last are none.
    tokens: Vec<u64>,
    /// A bit for each hash of two characters: has a token these side by side? Where hashes collide
    /// a border is not seen.
    pairs: Box<[u64]>,
}

/// Bits for each pair that is put in (many are put in more than once), and the most of them in all:
/// what is looked up for each character must fit the processor's cache.
const BITS_PER_PAIR: usize = 2;
const MOST_BITS: usize = 1 << 20;

impl Borders {
    /// `tokens` are all that the model may find in a text.
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
        // Half the golden ratio's fraction: the upper bits of the product depend on all others.
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

    /// The places inside a word where it may be cut. U+0020 stands for `▁`.
    pub(crate) fn within<'w>(&'w self, word: &'w [u8]) -> BordersWithin<'w> {
        BordersWithin {
            borders: self,
            word,
            at: 0,
            before: NO_TOKEN,
        }
    }
}

/// In place of a character that is no token.
const NO_TOKEN: u32 = u32::MAX;

pub(crate) struct BordersWithin<'w> {
    borders: &'w Borders,
    word: &'w [u8],
    /// Up to here it was looked through.
    at: usize,
    /// The character before that.
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

/// The character at `at`, and its length; a byte that is no part of one has none.
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
        // Those that are no tokens may be one with their neighbours.
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
