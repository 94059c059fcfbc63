//! Normalizers: transformations of a text before it is pre-tokenized.
//!
//! Each normalizer matches the library that defines it (Hugging Face's normalizers, SentencePiece's
//! rules), in the text and in the source spans. Text is bytes: bytes that are not UTF-8 pass
//! unchanged, and each well-formed stretch between them is normalized on its own.

mod aligned;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bert;
mod bert_at_once;
mod chain;
mod chars;
mod chars_map;
mod forms;
mod replace;
mod spaces;
mod tidy;

use std::ops::Range;

pub use aligned::Aligned;
pub use chain::Chain;
pub use chars_map::{compile, compile_named, CharsMap, CharsMapRules};
pub use tidy::{rewrite as rewrite_spaced, SpacedWords, Stops, Tidy};

use crate::error::Result;
use crate::pattern::Search;
use crate::unicode::Categories;
use aligned::TextSink;
use chars::Lowercase;
use chars::Marks;
use chars::Nmt;
use forms::NormalForm;
use spaces::Blank;

/// Whether a chunk reaches the start and the end of its text.
///
/// Counting normalizes a long text in blocks; only the first and the last block reach an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edges {
    pub start: bool,
    pub end: bool,
}

impl Edges {
    /// Edges of a whole text.
    pub const WHOLE: Edges = Edges {
        start: true,
        end: true,
    };

    /// Return the edges of the byte range `part` of `text`.
    pub fn of(part: &Range<usize>, text: &[u8]) -> Self {
        Edges {
            start: part.start == 0,
            end: part.end == text.len(),
        }
    }
}

/// Normalizer with its options, a member of a chain.
#[derive(Debug, Clone)]
pub enum Normalizer {
    /// Delete every line feed and carriage return, with no replacement, as the notebooks do after
    /// reading with universal newlines.
    DeleteNewlines,
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
    /// Replace each character by its full lower-case mapping.
    Lowercase,
    /// Remove every mark (general category M). Accents are separate marks only after `Nfd` or
    /// `Nfkd`.
    StripAccents,
    /// Hugging Face's `BertNormalizer`. If its configuration leaves `strip_accents` open, pass the
    /// value of `lowercase`.
    Bert {
        clean_text: bool,
        cjk_spacing: bool,
        strip_accents: bool,
        lowercase: bool,
    },
    /// SentencePiece's character rules.
    CharsMap(CharsMap),
    /// Hugging Face's `Nmt`.
    Nmt,
    /// Replace each run of U+0020 by one U+0020. SentencePiece's `remove_extra_whitespaces` is this
    /// step, then `StripSpaces` on both sides.
    CollapseSpaces,
    /// Remove Unicode white space at the chosen ends of the text.
    Strip {
        left: bool,
        right: bool,
    },
    /// Remove U+0020 at the chosen ends of the text.
    StripSpaces {
        left: bool,
        right: bool,
    },
    /// Replace every match of `pattern` by `content`.
    Replace {
        pattern: Search,
        content: String,
    },
    /// Prepend this string to a text that is not empty.
    Prepend(String),
    /// SentencePiece's dummy space: U+0020 before the text, or after it with `behind`
    /// (`Normalizer::Normalize` of normalizer.cc). If no text is left, the space depends on the
    /// text as given: a text of nothing but spaces gets none, a text that the rules delete gets
    /// one.
    DummySpace {
        behind: bool,
    },
}

/// Pass over a text; a normalizer takes one pass or several.
#[derive(Clone, Copy)]
enum Pass<'n> {
    Clean,
    SpaceIdeographs,
    Form(NormalForm),
    StripNonspacing,
    Lowercase,
    StripAccents,
    Nmt,
    DeleteNewlines,
    CollapseSpaces,
    Strip(bool, bool, Blank),
    CharsMap(&'n CharsMap),
    Replace(&'n Search, &'n str),
    Prepend(&'n str),
    DummySpace {
        behind: bool,
        /// Whether an empty text gets the space, too.
        alone: bool,
    },
}

impl Normalizer {
    fn passes(&self) -> impl Iterator<Item = Pass<'_>> {
        let one = match self {
            &Normalizer::Bert {
                clean_text,
                cjk_spacing,
                strip_accents,
                lowercase,
            } => {
                let passes = [
                    clean_text.then_some(Pass::Clean),
                    cjk_spacing.then_some(Pass::SpaceIdeographs),
                    strip_accents.then_some(Pass::Form(NormalForm::Nfd)),
                    strip_accents.then_some(Pass::StripNonspacing),
                    lowercase.then_some(Pass::Lowercase),
                ];
                return passes.into_iter().flatten();
            }
            Normalizer::DeleteNewlines => Pass::DeleteNewlines,
            Normalizer::Nfc => Pass::Form(NormalForm::Nfc),
            Normalizer::Nfd => Pass::Form(NormalForm::Nfd),
            Normalizer::Nfkc => Pass::Form(NormalForm::Nfkc),
            Normalizer::Nfkd => Pass::Form(NormalForm::Nfkd),
            Normalizer::Lowercase => Pass::Lowercase,
            Normalizer::StripAccents => Pass::StripAccents,
            Normalizer::CharsMap(map) => Pass::CharsMap(map),
            Normalizer::Nmt => Pass::Nmt,
            Normalizer::CollapseSpaces => Pass::CollapseSpaces,
            &Normalizer::Strip { left, right } => Pass::Strip(left, right, Blank::White),
            &Normalizer::StripSpaces { left, right } => Pass::Strip(left, right, Blank::Space),
            Normalizer::Replace { pattern, content } => Pass::Replace(pattern, content),
            Normalizer::Prepend(prefix) => Pass::Prepend(prefix),
            &Normalizer::DummySpace { behind } => Pass::DummySpace {
                behind,
                alone: false,
            },
        };
        [Some(one), None, None, None, None].into_iter().flatten()
    }
}

impl Pass<'_> {
    fn run(self, text: &[u8], edges: Edges, sink: &mut impl TextSink) -> Result<()> {
        match self {
            Pass::Clean => chars::run(&bert::Clean(Categories::get()), text, sink),
            Pass::SpaceIdeographs => chars::run(&bert::SpaceIdeographs, text, sink),
            Pass::Form(form) => forms::run(form, text, sink),
            Pass::StripNonspacing => chars::run(&Marks::Nonspacing(Categories::get()), text, sink),
            Pass::Lowercase => chars::run(&Lowercase, text, sink),
            Pass::StripAccents => chars::run(&Marks::All(Categories::get()), text, sink),
            Pass::Nmt => chars::run(&Nmt, text, sink),
            Pass::DeleteNewlines => spaces::delete_newlines(text, sink),
            Pass::CollapseSpaces => spaces::collapse(text, sink),
            Pass::Strip(left, right, blank) => {
                spaces::strip(text, (left, right), blank, edges, sink);
            }
            Pass::CharsMap(map) => map.run(text, sink),
            Pass::Replace(search, content) => return replace::run(search, content, text, sink),
            Pass::Prepend(prefix) => {
                if edges.start && !text.is_empty() && !prefix.is_empty() {
                    sink.lead(prefix);
                }
                sink.keep(text);
            }
            Pass::DummySpace { behind, alone } => {
                let put = alone || !text.is_empty();
                if put && edges.start && !behind {
                    sink.lead(" ");
                }
                sink.keep(text);
                if put && edges.end && behind {
                    sink.put(' ', 1);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
