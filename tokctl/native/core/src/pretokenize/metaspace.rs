//! Metaspace word by word, without a copy of the text.
//!
//! Each word is counted in the form that it most often has in the text: with U+0020 in front where
//! its rewritten form begins with the replacement. No rewritten word begins with U+0020, unless
//! that is the replacement, so both forms can be keys of one cache.

use super::behaviour::Behaviour;
use super::rewrite::Rewrite;
use super::scanner::Scanner;
use super::sequence::PreTokenizer;

/// Splitter into the words of a metaspace step that is the only step.
#[derive(Clone, Copy)]
pub struct Metaspace<'p> {
    rewrite: &'p Rewrite,
    replacement: &'p [u8],
}

impl PreTokenizer {
    /// Return the splitter into words, if the only step is a metaspace that splits.
    pub fn metaspace(&self) -> Option<Metaspace<'_>> {
        let [step] = self.steps() else { return None };
        let (Some(rewrite), Scanner::Split(split)) = (&step.rewrite, &step.scanner) else {
            return None;
        };
        let Rewrite::Metaspace { replacement, .. } = rewrite else {
            return None;
        };
        let replacement = replacement.as_bytes();
        let starts = split.plain_literal() == Some(replacement)
            && split.behaviour == Behaviour::MergedWithNext;
        (starts && !replacement.is_empty()).then_some(Metaspace {
            rewrite,
            replacement,
        })
    }
}

impl<'p> Metaspace<'p> {
    /// Call `emit` for every word of `text`; `at_start` tells whether the document starts there.
    pub fn split(self, text: &[u8], at_start: bool, mut emit: impl FnMut(&[u8])) {
        let replacement = self.replacement;
        let mut spaced = Vec::new();
        let mut word = |start: usize, end: usize| {
            let word = &text[start..end];
            let rest = match word.strip_prefix(replacement) {
                Some(rest) => rest,
                None if word[0] == b' ' => return emit(word),
                // Only the first word gets here: the others begin at a space or a replacement.
                None if self.rewrite.in_front(word, at_start).is_empty() => return emit(word),
                None => word,
            };
            spaced.clear();
            spaced.push(b' ');
            spaced.extend_from_slice(rest);
            emit(&spaced);
        };
        let mut start = 0;
        for at in memchr::memchr2_iter(b' ', replacement[0], text) {
            if at > start && (text[at] == b' ' || text[at..].starts_with(replacement)) {
                word(start, at);
                start = at;
            }
        }
        if start < text.len() {
            word(start, text.len());
        }
    }

    /// Write to `out` a word as the step rewrites it.
    pub fn rewritten(self, word: &[u8], out: &mut Vec<u8>) {
        out.clear();
        let rest = match word.split_first() {
            Some((b' ', rest)) => {
                out.extend_from_slice(self.replacement);
                rest
            }
            _ => word,
        };
        out.extend_from_slice(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Prepend;
    use crate::pretokenize::{Split, Step};

    #[test]
    fn the_words_are_those_of_the_rewritten_text() {
        let texts = [
            "",
            " ",
            "a",
            " a",
            "▁a",
            "a b  c ",
            "  a▁b ▁c▁ d",
            "▁▁a",
            "_x y_z",
            "字 字▁字",
            "“a” b",
        ];
        for replacement in ["▁", "_", " "] {
            for prepend in [Prepend::Always, Prepend::First, Prepend::Never] {
                let literal = Split::literal(replacement, Behaviour::MergedWithNext, false);
                let pre_tokenizer = PreTokenizer::new(vec![Step {
                    rewrite: Some(Rewrite::Metaspace {
                        replacement: replacement.into(),
                        prepend,
                    }),
                    scanner: Scanner::Split(literal),
                }]);
                let words = pre_tokenizer.metaspace().unwrap();
                for (text, at_start) in texts.iter().flat_map(|t| [(t, true), (t, false)]) {
                    let splits = pre_tokenizer.run(text.as_bytes(), at_start.into()).unwrap();
                    let ranges = splits.ranges.iter();
                    let expected: Vec<_> =
                        ranges.map(|&(a, b)| splits.text[a..b].to_vec()).collect();
                    let (mut found, mut one) = (Vec::new(), Vec::new());
                    words.split(text.as_bytes(), at_start, |word| {
                        words.rewritten(word, &mut one);
                        found.push(one.clone());
                    });
                    assert_eq!(
                        found, expected,
                        "{text:?} {replacement} {prepend:?} {at_start}"
                    );
                }
            }
        }
    }
}
