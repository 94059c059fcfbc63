//! The decoders that a chain is made of: what they are called, and what they consist of.

use std::sync::Arc;

use super::chain::{Node, Whole};
use super::fallback::ByteFallback;
use super::joining::{Fuse, Prefix, Words};
use super::literal::{Literal, Replace, Suffix};
use super::tokens::{Dedup, DropEmpty, Matches, Strip};
use crate::error::Result;
use crate::model::{Marker, Prepend};
use crate::pattern::{Pattern, Search};

/// A decoder of Hugging Face's `tokenizers` 0.23, or one of tokctl's own: a map from a list
/// of tokens to a list of tokens.
#[derive(Debug, Clone)]
pub enum Step {
    /// A token with the prefix goes on with a word, others start one.
    WordPiece { prefix: String, cleanup: bool },
    /// The replacement becomes a space, or nothing in the first token.
    /// `prepend` says which tokens got a space in front when they were made.
    Metaspace { replacement: char, prepend: Prepend },
    /// Runs of `<0x41>` tokens become text.
    ByteFallback,
    /// The suffix becomes a space, or nothing in the last token.
    BpeSuffix { suffix: String },
    /// All tokens become one. That is `ByteLevel`, too: tokens are bytes here, not spelled.
    Fuse,
    /// All tokens become one with a space between them: what Hugging Face does where a file
    /// names no decoder.
    JoinWithSpaces,
    /// Up to so many of one character off both ends of every token.
    Strip {
        content: char,
        start: usize,
        stop: usize,
    },
    /// In every token by itself.
    Replace { pattern: Search, content: String },
    /// Speech recognition: of equal tokens in a row one, without the padding.
    Ctc {
        pad: String,
        word_delimiter: String,
        cleanup: bool,
    },
    /// By tokctl's word marker.
    Markers(Marker),
}

/// `WordPiece`'s clean-up, in this order.
const CLEANUP: [(&str, &str); 11] = [
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
];

/// What a part looks at beside the token that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Token,
    /// Whether the token is the first one.
    First,
    /// Whether the token is the first or the last one.
    Edges,
    /// Other tokens.
    Tokens,
}

/// The smallest piece of a step; what it needs is prepared once.
#[derive(Debug, Clone)]
pub enum Part {
    Replace(Arc<Literal>, Arc<str>),
    ReplaceButFirst(Arc<Literal>, Arc<str>),
    Matches(Arc<dyn Pattern>, Arc<str>),
    Strip(char, usize, usize),
    Prefix(String),
    Suffix(Arc<Literal>),
    Words(Marker),
    Join,
    Fuse,
    ByteFallback,
    Dedup,
    DropEmpty,
}

impl Part {
    pub fn scope(&self) -> Scope {
        match self {
            Part::Replace(..) | Part::Matches(..) | Part::Strip(..) => Scope::Token,
            Part::ReplaceButFirst(..)
            | Part::Prefix(_)
            | Part::Words(Marker::None | Marker::Start(_) | Marker::Continuation(_)) => {
                Scope::First
            }
            Part::Suffix(_) | Part::Words(Marker::End(_) | Marker::EndFused(_)) => Scope::Edges,
            Part::Join | Part::Fuse | Part::ByteFallback | Part::Dedup | Part::DropEmpty => {
                Scope::Tokens
            }
        }
    }

    pub fn node(&self) -> Box<dyn Node> {
        match self {
            Part::Replace(literal, content) => Box::new(Replace::new(literal, content, false)),
            Part::ReplaceButFirst(literal, content) => {
                Box::new(Replace::new(literal, content, true))
            }
            Part::Matches(pattern, content) => Box::new(Whole::new(Matches::new(pattern, content))),
            Part::Strip(content, start, stop) => Box::new(Strip::new(*content, *start, *stop)),
            Part::Prefix(prefix) => Box::new(Prefix::new(prefix)),
            Part::Suffix(suffix) => Box::new(Suffix::new(suffix)),
            Part::Words(marker) => Box::new(Whole::new(Words::new(marker))),
            Part::Join => Box::new(Fuse::new(b" ")),
            Part::Fuse => Box::new(Fuse::new(b"")),
            Part::ByteFallback => Box::new(ByteFallback::default()),
            Part::Dedup => Box::new(Dedup::default()),
            Part::DropEmpty => Box::new(DropEmpty::default()),
        }
    }
}

/// The parts of all steps, without those that change nothing.
pub fn parts(steps: &[Step]) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    for step in steps {
        add(step, &mut parts)?;
    }
    // What comes out is joined anyway.
    while let Some(Part::Fuse | Part::DropEmpty) = parts.last() {
        parts.pop();
    }
    Ok(parts)
}

fn add(step: &Step, parts: &mut Vec<Part>) -> Result<()> {
    match step {
        Step::WordPiece { prefix, cleanup } => {
            parts.push(Part::Prefix(prefix.clone()));
            if *cleanup {
                clean_up(parts)?;
            }
        }
        Step::Metaspace {
            replacement,
            prepend,
        } => {
            let literal = Literal::new(&replacement.to_string())?;
            parts.push(match prepend {
                Prepend::Never => Part::Replace(literal, " ".into()),
                Prepend::Always | Prepend::First => Part::ReplaceButFirst(literal, " ".into()),
            });
        }
        Step::ByteFallback => parts.push(Part::ByteFallback),
        Step::BpeSuffix { suffix } => parts.push(Part::Suffix(Literal::new(suffix)?)),
        Step::Fuse => parts.push(Part::Fuse),
        Step::JoinWithSpaces => parts.push(Part::Join),
        Step::Strip {
            content,
            start,
            stop,
        } => parts.push(Part::Strip(*content, *start, *stop)),
        Step::Replace { pattern, content } => parts.push(match pattern {
            Search::Literal(text) => Part::Replace(Literal::new(text)?, content.as_str().into()),
            Search::Pattern(pattern) => Part::Matches(Arc::clone(pattern), content.as_str().into()),
        }),
        Step::Ctc {
            pad,
            word_delimiter,
            cleanup,
        } => {
            parts.push(Part::Dedup);
            // An empty string replaced by nothing is no change.
            if !pad.is_empty() {
                parts.push(Part::Replace(Literal::new(pad)?, "".into()));
            }
            if *cleanup {
                clean_up(parts)?;
                parts.push(Part::Replace(Literal::new(word_delimiter)?, " ".into()));
            }
            parts.push(Part::DropEmpty);
        }
        Step::Markers(Marker::None) => parts.push(Part::Fuse),
        Step::Markers(marker) => parts.extend([Part::Words(marker.clone()), Part::Fuse]),
    }
    Ok(())
}

fn clean_up(parts: &mut Vec<Part>) -> Result<()> {
    for (spaced, clean) in CLEANUP {
        parts.push(Part::Replace(Literal::new(spaced)?, clean.into()));
    }
    Ok(())
}
