//! The smallest number of tokens of a vocabulary that spell a text: a shortest path over its bytes,
//! in which every token that matches at an offset is an edge from it.
//!
//! Each byte is read once per token that reaches it, so the time is the length of the text times
//! the length of the longest match.

use crate::encode::{Encoder, Matchers};
use crate::error::{Error, Result};
use crate::jobs::{groups, Interrupt, Jobs};
use crate::model::Trie;

/// Bytes between two polls of the interrupt.
const POLL_EVERY: usize = 1 << 20;
/// Bytes of texts that a thread takes at a time.
const GROUP: usize = 1 << 16;
/// Cost of an offset that no path reaches.
const NONE: u64 = u64::MAX;
/// Maximum length of a character in bytes.
const CHARACTER: usize = 4;

/// Segmenter of texts into as few tokens as possible.
pub struct FewestTokens {
    trie: Trie,
    /// Whether a character that is not a token costs as many tokens as it has bytes.
    byte_fallback: bool,
}

impl FewestTokens {
    /// Build from the token strings of a vocabulary. With `byte_fallback`, texts must be UTF-8,
    /// except for bytes that never occur in UTF-8.
    pub fn new<'t>(tokens: impl Iterator<Item = &'t [u8]>, byte_fallback: bool) -> Result<Self> {
        Ok(FewestTokens {
            trie: Trie::build(tokens.map(|token| (token, 0)))?,
            byte_fallback,
        })
    }

    /// Return the maximum length of an edge in bytes.
    fn reach(&self) -> usize {
        let fallback = if self.byte_fallback { CHARACTER } else { 1 };
        self.trie.longest_entry().max(fallback)
    }

    /// Call `edge(length, tokens)` for all edges from the start of `text`.
    #[inline]
    fn edges(&self, text: &[u8], mut edge: impl FnMut(usize, u64)) {
        self.trie.prefixes(text, |length, _| edge(length, 1));
        if self.byte_fallback {
            let length = character(text);
            edge(length, length as u64);
        }
    }

    /// Return the minimum number of tokens, or None if no tokens spell the text. `ring` holds the
    /// costs of the next offsets, so the longest token bounds the memory.
    fn count(&self, text: &[u8], ring: &mut Vec<u64>, interrupt: Interrupt) -> Result<Option<u64>> {
        let size = (self.reach() + 1).next_power_of_two();
        ring.clear();
        ring.resize(size, NONE);
        ring[0] = 0;
        for start in 0..text.len() {
            if (start + 1).is_multiple_of(POLL_EVERY) && interrupt() {
                return Err(Error::Interrupted);
            }
            let here = std::mem::replace(&mut ring[start & (size - 1)], NONE);
            if here == NONE {
                continue;
            }
            self.edges(&text[start..], |length, tokens| {
                let to = &mut ring[(start + length) & (size - 1)];
                *to = (*to).min(here + tokens);
            });
        }
        let end = ring[text.len() & (size - 1)];
        Ok((end != NONE).then_some(end))
    }

    /// Return the minimum number of tokens of each text, or None if no tokens spell it.
    pub fn counts<T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        threads: usize,
        interrupt: Interrupt,
    ) -> Result<Vec<Option<u64>>> {
        let groups = groups(texts.iter().map(|text| text.as_ref().len()), GROUP);
        let jobs = Jobs {
            count: groups.len(),
            threads,
        };
        let made = jobs.collect(interrupt, Vec::new, |worker, number| {
            let texts = &texts[groups[number].clone()];
            let ring = &mut worker.state;
            let counts = texts
                .iter()
                .map(|text| self.count(text.as_ref(), ring, worker.interrupt));
            counts.collect::<Result<Vec<_>>>()
        })?;
        Ok(made.concat())
    }

    /// Return the minimum number of tokens of a whole text, normalized and rewritten, if tokens may
    /// span several pre-tokens.
    ///
    /// An added token found by `matchers` counts as one token, and no other token crosses it.
    /// Return None if no tokens spell the text, or if text between pre-tokens was dropped.
    pub fn across(
        &self,
        encoder: &Encoder,
        text: &[u8],
        matchers: Option<&Matchers>,
        interrupt: Interrupt,
    ) -> Result<Option<u64>> {
        let found = encoder.pre_tokens(text, matchers)?;
        let (mut tokens, mut start, mut end) = (0, 0, 0);
        let mut ring = Vec::new();
        let mut stretch =
            |start: usize, end: usize| self.count(&found.text[start..end], &mut ring, interrupt);
        for (&(from, to), added) in found.ranges.iter().zip(&found.added) {
            if from != end {
                return Ok(None);
            }
            if added.is_some() {
                let Some(before) = stretch(start, from)? else {
                    return Ok(None);
                };
                tokens += before + 1;
                start = to;
            }
            end = to;
        }
        let rest = stretch(start, end)?;
        Ok(rest
            .filter(|_| end == found.text.len())
            .map(|rest| tokens + rest))
    }

    /// Return the lengths of the tokens in bytes, or None if no tokens spell the text.
    ///
    /// Of all segmentations with the fewest tokens, the chosen one has the longest first token,
    /// then the longest second one, and so on. A character that falls back to bytes counts as one
    /// length.
    pub fn lengths(&self, text: &[u8], interrupt: Interrupt) -> Result<Option<Vec<usize>>> {
        let mut from = vec![(NONE, 0); text.len() + 1];
        from[text.len()] = (0, 0);
        for start in (0..text.len()).rev() {
            if (start + 1).is_multiple_of(POLL_EVERY) && interrupt() {
                return Err(Error::Interrupted);
            }
            let mut best = (NONE, 0);
            self.edges(&text[start..], |length, tokens| {
                let rest = from[start + length].0;
                let all = rest.saturating_add(tokens);
                if rest != NONE && (all < best.0 || all == best.0 && length > best.1) {
                    best = (all, length);
                }
            });
            from[start] = best;
        }
        if from[0].0 == NONE {
            return Ok(None);
        }
        let (mut lengths, mut at) = (Vec::new(), 0);
        while at < text.len() {
            lengths.push(from[at].1);
            at += from[at].1;
        }
        Ok(Some(lengths))
    }
}

/// Return the length of the character at the start of a text; a byte that can't start one has
/// length 1.
pub(super) fn character(text: &[u8]) -> usize {
    let length = match text[0] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => 1,
    };
    length.min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fewest(tokens: &[&str], byte_fallback: bool) -> FewestTokens {
        let tokens = tokens.iter().map(|token| token.as_bytes());
        FewestTokens::new(tokens, byte_fallback).unwrap()
    }

    #[test]
    fn the_longest_match_is_not_always_the_fewest() {
        let tokens = fewest(&["a", "b", "c", "d", "abc", "ab", "cd"], false);
        let texts = ["abcd", "abd", "", "abcx", "x"];
        let counts = tokens.counts(&texts, 1, &|| false).unwrap();
        assert_eq!(counts, [Some(2), Some(2), Some(0), None, None]);
        assert_eq!(counts, tokens.counts(&texts, 3, &|| false).unwrap());
        // "abc d" and "ab cd" have two tokens each.
        let lengths = |text: &str| tokens.lengths(text.as_bytes(), &|| false).unwrap();
        assert_eq!(lengths("abcd"), Some(vec![3, 1]));
        assert_eq!((lengths(""), lengths("abcx")), (Some(vec![]), None));
    }

    #[test]
    fn characters_fall_back_to_bytes() {
        let tokens = fewest(&["a", "\u{e9}t"], true);
        let counts = tokens.counts(&["a\u{e9}", "a\u{e9}t", "\u{20ac}"], 1, &|| false);
        assert_eq!(counts.unwrap(), [Some(3), Some(2), Some(3)]);
        let lengths = tokens.lengths("\u{20ac}a".as_bytes(), &|| false).unwrap();
        assert_eq!(lengths, Some(vec![3, 1]));
    }
}
