//! Splits at a literal string, or at a pattern that the caller searches for.

use std::sync::Arc;

use memchr::memmem;

use super::behaviour::{Behaviour, PieceMerger};
use super::runs::code_at;
use crate::error::Result;
use crate::pattern::Pattern;

#[derive(Debug, Clone)]
pub enum Needle {
    Literal(Box<memmem::Finder<'static>>),
    Pattern(Arc<dyn Pattern>),
}

/// Hugging Face's `Split`, and its `CharDelimiterSplit` (a literal that is removed).
#[derive(Debug, Clone)]
pub struct Split {
    pub needle: Needle,
    pub behaviour: Behaviour,
    /// Whether matches and the stretches between them swap roles.
    pub invert: bool,
}

impl Split {
    pub fn literal(text: &str, behaviour: Behaviour, invert: bool) -> Self {
        Split {
            needle: Needle::Literal(Box::new(memmem::Finder::new(text).into_owned())),
            behaviour,
            invert,
        }
    }

    pub fn pattern(pattern: Arc<dyn Pattern>, behaviour: Behaviour, invert: bool) -> Self {
        Split {
            needle: Needle::Pattern(pattern),
            behaviour,
            invert,
        }
    }

    /// Return the literal, unless the needle is a pattern or the split is inverted.
    pub fn plain_literal(&self) -> Option<&[u8]> {
        match &self.needle {
            Needle::Literal(finder) if !self.invert => Some(finder.needle()),
            _ => None,
        }
    }

    pub fn split(&self, text: &[u8], emit: impl FnMut(usize, usize)) -> Result<()> {
        let mut matches = MatchSplitter {
            pieces: PieceMerger::new(self.behaviour, emit),
            invert: self.invert,
            done: 0,
        };
        match &self.needle {
            Needle::Literal(finder) if finder.needle().is_empty() => {
                // The empty string matches before every character and at the end.
                let mut at = 0;
                while at < text.len() {
                    matches.push(at, at);
                    at += code_at(text, at).1;
                }
                matches.push(at, at);
            }
            Needle::Literal(finder) => {
                for start in finder.find_iter(text) {
                    matches.push(start, start + finder.needle().len());
                }
            }
            Needle::Pattern(pattern) => {
                for (start, end) in pattern.matches(text)? {
                    matches.push(start, end);
                }
            }
        }
        matches.finish(text.len());
        Ok(())
    }
}

/// Splitter that passes on matches and the gaps between them.
struct MatchSplitter<E> {
    pieces: PieceMerger<E>,
    invert: bool,
    done: usize,
}

impl<E: FnMut(usize, usize)> MatchSplitter<E> {
    fn push(&mut self, start: usize, end: usize) {
        if self.done < start {
            self.pieces.push(self.done, start, self.invert);
        }
        self.pieces.push(start, end, !self.invert);
        self.done = end;
    }

    fn finish(mut self, length: usize) {
        if self.done < length {
            self.pieces.push(self.done, length, self.invert);
        }
        self.pieces.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(split: &Split, text: &str) -> Vec<String> {
        let mut found = Vec::new();
        let emit = |a, b| found.push(text[a..b].to_string());
        split.split(text.as_bytes(), emit).unwrap();
        found
    }

    #[test]
    fn the_empty_string_parts_characters() {
        let split = Split::literal("", Behaviour::Isolated, false);
        assert_eq!(pieces(&split, "aéb"), ["a", "é", "b"]);
    }

    #[test]
    fn inverted_the_gaps_are_the_delimiters() {
        let split = Split::literal("ab", Behaviour::Removed, true);
        assert_eq!(pieces(&split, "xababyab"), ["ab", "ab", "ab"]);
        let split = Split::literal("ab", Behaviour::MergedWithPrevious, true);
        assert_eq!(pieces(&split, "xababyab"), ["x", "ab", "aby", "ab"]);
    }

    #[derive(Debug)]
    struct FixedMatches(Vec<(usize, usize)>);

    impl Pattern for FixedMatches {
        fn find(&self, _: &[u8]) -> Result<Vec<(usize, usize)>> {
            Ok(self.0.clone())
        }
    }

    #[test]
    fn matches_of_a_pattern_may_be_empty() {
        let split = |ranges: &[(usize, usize)]| {
            let matches = Arc::new(FixedMatches(ranges.to_vec()));
            Split::pattern(matches, Behaviour::Isolated, false)
        };
        assert_eq!(pieces(&split(&[(0, 0), (1, 2)]), "abc"), ["a", "b", "c"]);
        assert_eq!(pieces(&split(&[(1, 2), (3, 3)]), "abc"), ["a", "b", "c"]);
    }

    #[test]
    fn matches_outside_of_the_text_or_out_of_order_are_errors() {
        for ranges in [
            &[(2, 4)][..],
            &[(4, 4)],
            &[(2, 1)],
            &[(1, 3), (2, 3)],
            &[(1, 2), (0, 0)],
        ] {
            let matches = Arc::new(FixedMatches(ranges.to_vec()));
            let split = Split::pattern(matches, Behaviour::Isolated, false);
            assert!(split.split(b"abc", |_, _| ()).is_err(), "{ranges:?}");
        }
    }
}
