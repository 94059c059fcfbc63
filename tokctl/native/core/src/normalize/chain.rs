//! Normalizers one after the other.

use std::borrow::Cow;

use super::aligned::{most, Aligned, TextAndPlaces, TextOnly};
use super::tidy::Tidy;
use super::{bert_at_once, Edges, Normalizer, Pass};
use crate::error::Result;
use crate::memory;
use crate::pattern::Search;

/// Normalizers, each over what the one before it gave.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    normalizers: Vec<Normalizer>,
    /// Those of them that one pass can stand for.
    tidy: Option<Tidy>,
}

impl Chain {
    pub fn new(normalizers: Vec<Normalizer>) -> Self {
        Chain {
            tidy: Tidy::of(&normalizers),
            normalizers,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.normalizers.is_empty()
    }

    fn passes(&self) -> impl Iterator<Item = Pass<'_>> {
        self.normalizers.iter().flat_map(Normalizer::passes)
    }

    /// A pass over a text that nothing may be left of: one that asks what was there is told.
    fn settled<'n>(&self, pass: Pass<'n>, given: &[u8], now: &[u8]) -> Pass<'n> {
        match pass {
            Pass::DummySpace { behind, .. } => Pass::DummySpace {
                behind,
                alone: now.is_empty() && !self.is_blank(given),
            },
            pass => pass,
        }
    }

    /// Is this text nothing but spaces, or what SentencePiece's rules make spaces of?
    fn is_blank(&self, given: &[u8]) -> bool {
        match self.normalizers.first() {
            Some(Normalizer::CharsMap(rules)) => rules.makes_only_spaces(given),
            _ => given.iter().all(|&byte| byte == b' '),
        }
    }

    /// The steps at the end that one pass can stand for.
    pub fn tidy(&self) -> Option<Tidy> {
        self.tidy
    }

    /// What the steps before [`Self::tidy`] make of a text.
    pub fn apply_before_tidy<'t>(&self, text: &'t [u8], edges: Edges) -> Result<Cow<'t, [u8]>> {
        self.apply_each(&self.normalizers[..self.before_tidy()], text, edges)
    }

    /// As [`Self::cuts_before_space`], of the steps before [`Self::tidy`].
    pub fn before_tidy_cuts_before_space(&self) -> bool {
        before_space(&self.normalizers[..self.before_tidy()])
    }

    /// Do the steps before [`Self::tidy`] leave each NUL as it is, make no others, and never look at
    /// what lies on both sides of one? Then texts can be taken together with NULs between them.
    pub fn before_tidy_splits_at_nul(&self) -> bool {
        let mut before = self.normalizers[..self.before_tidy()].iter();
        before.all(|step| matches!(step, Normalizer::CharsMap(rules) if rules.splits_at_nul()))
    }

    fn before_tidy(&self) -> usize {
        self.tidy.map_or(self.normalizers.len(), |tidy| tidy.from)
    }

    /// The normalized text; borrowed where nothing changes.
    pub fn apply<'t>(&self, text: &'t [u8], edges: Edges) -> Result<Cow<'t, [u8]>> {
        match self.tidy.filter(|_| edges == Edges::WHOLE) {
            None => self.apply_each(&self.normalizers, text, edges),
            Some(tidy) => {
                let current = self.apply_before_tidy(text, edges)?;
                let changed = tidy.run(&current);
                Ok(match changed[..] == current[..] {
                    true => current,
                    false => Cow::Owned(changed),
                })
            }
        }
    }

    fn apply_each<'t>(
        &self,
        normalizers: &[Normalizer],
        text: &'t [u8],
        edges: Edges,
    ) -> Result<Cow<'t, [u8]>> {
        let mut current = Cow::Borrowed(text);
        let most = most(text.len());
        for normalizer in normalizers {
            // As much as a character of Unicode becomes in usual text; what grows further is asked
            // for bit by bit.
            memory::check(current.len().saturating_mul(4))?;
            if let &Normalizer::Bert {
                clean_text,
                cjk_spacing,
                strip_accents,
                lowercase,
            } = normalizer
            {
                let steps = bert_at_once::BertSteps {
                    clean_text,
                    cjk_spacing,
                    strip_accents,
                    lowercase,
                };
                if let Cow::Owned(changed) = bert_at_once::run(steps, &current)? {
                    current = Cow::Owned(changed);
                }
                continue;
            }
            for pass in normalizer.passes() {
                let pass = self.settled(pass, text, &current);
                let mut sink = TextOnly::new(&current, most);
                pass.run(&current, edges, &mut sink)?;
                if let Cow::Owned(changed) = sink.finish()? {
                    current = Cow::Owned(changed);
                }
            }
        }
        Ok(current)
    }

    /// The normalized text with the places of its bytes in the original; None where
    /// nothing changes.
    pub fn apply_aligned(&self, text: &[u8], edges: Edges) -> Result<Option<Aligned>> {
        let mut current: Option<Aligned> = None;
        let most = most(text.len());
        for pass in self.passes() {
            let length = current.as_ref().map_or(text.len(), |now| now.text.len());
            // Each byte has a place, and the old ones are there, too.
            memory::check(length.saturating_mul(4 * 9))?;
            let mut sink = match &current {
                None => TextAndPlaces::new(text, None, most)?,
                Some(before) => TextAndPlaces::new(&before.text, Some(&before.places), most)?,
            };
            let old = current.as_ref().map_or(text, |before| &before.text);
            let pass = self.settled(pass, text, old);
            pass.run(old, edges, &mut sink)?;
            if let Some(changed) = sink.finish()? {
                current = Some(changed);
            }
        }
        Ok(current)
    }

    /// May a text be cut before an ASCII space or a line feed that follows a letter, a
    /// number or punctuation, and the parts be normalized apart, given right [`Edges`]?
    /// False is always safe.
    pub fn cuts_before_space(&self) -> bool {
        before_space(&self.normalizers)
    }
}

// Where a text may be cut so that its parts can be normalized apart.
//
// A cut is made before a U+0020 or a line feed that follows a letter, a number or
// punctuation. Each normalizer needs something of the cut and leaves something of it to
// the next one; what is not known to hold is taken not to.

/// What is known of the text on both sides of a cut.
#[derive(Clone, Copy)]
struct CutContext {
    left: Left,
    /// The right part begins with a U+0020 or a line feed, or it is empty.
    right: bool,
}

/// How the left part ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Left {
    Unknown,
    /// With a character that is no white space.
    Solid,
    /// With a letter, a number or punctuation.
    Word,
}

pub(super) fn before_space(normalizers: &[Normalizer]) -> bool {
    let mut cut = CutContext {
        left: Left::Word,
        right: true,
    };
    normalizers.iter().all(|normalizer| {
        let allowed = allows(normalizer, cut);
        cut = after(normalizer, cut);
        allowed
    })
}

/// Does normalizing the parts give what normalizing the whole does?
fn allows(normalizer: &Normalizer, cut: CutContext) -> bool {
    match normalizer {
        // One character at a time.
        Normalizer::DeleteNewlines
        | Normalizer::Lowercase
        | Normalizer::StripAccents
        | Normalizer::Nmt => true,
        // A space and a line feed are starters that nothing is put together with.
        Normalizer::Nfc | Normalizer::Nfd | Normalizer::Nfkc | Normalizer::Nfkd => cut.right,
        Normalizer::Bert { strip_accents, .. } => cut.right || !strip_accents,
        // A grapheme ends before a space, and before a line feed but after a return.
        Normalizer::CharsMap(map) => {
            cut.right && cut.left >= Left::Solid && map.cuts_before_space()
        }
        // The ends that stay must not come to stand at a cut.
        Normalizer::CollapseSpaces
        | Normalizer::Strip { .. }
        | Normalizer::StripSpaces { .. }
        | Normalizer::Prepend(_)
        | Normalizer::DummySpace { behind: false } => cut.left >= Left::Solid,
        // The last part may be nothing but spaces, and the text not.
        Normalizer::DummySpace { behind: true } => false,
        Normalizer::Replace { pattern, .. } => match pattern {
            Search::Literal(literal) => cut.right && !reaches_over_a_space(literal),
            Search::Pattern(_) => false,
        },
    }
}

/// An empty literal is found on both sides of a cut.
fn reaches_over_a_space(literal: &str) -> bool {
    let behind_the_first = literal.chars().skip(1);
    literal.is_empty() || behind_the_first.into_iter().any(|c| c == ' ' || c == '\n')
}

/// What is known of the cut when the normalizer has done its work.
fn after(normalizer: &Normalizer, cut: CutContext) -> CutContext {
    // A letter, number or punctuation becomes something that does not end in white
    // space, and not nothing. (Tested for every code point.)
    let from_a_word = match cut.left {
        Left::Word => Left::Solid,
        _ => Left::Unknown,
    };
    let solid = cut.left.min(Left::Solid);
    match normalizer {
        Normalizer::DeleteNewlines => CutContext {
            left: cut.left,
            right: false,
        },
        Normalizer::Nfc
        | Normalizer::Nfd
        | Normalizer::Nfkc
        | Normalizer::Nfkd
        | Normalizer::Lowercase => CutContext { left: solid, ..cut },
        Normalizer::StripAccents | Normalizer::Nmt => CutContext {
            left: from_a_word,
            ..cut
        },
        &Normalizer::Bert { cjk_spacing, .. } => CutContext {
            left: match cjk_spacing {
                true => Left::Unknown,
                false => from_a_word,
            },
            ..cut
        },
        Normalizer::CharsMap(map) if map.is_builtin() => CutContext {
            left: from_a_word,
            ..cut
        },
        Normalizer::CharsMap(_) => CutContext {
            left: Left::Unknown,
            right: false,
        },
        Normalizer::CollapseSpaces
        | Normalizer::Strip { .. }
        | Normalizer::StripSpaces { .. }
        | Normalizer::Prepend(_)
        | Normalizer::DummySpace { .. } => CutContext { left: solid, ..cut },
        Normalizer::Replace { pattern, content } => match pattern {
            Search::Literal(literal) => after_literal(literal, content, cut),
            Search::Pattern(_) => CutContext {
                left: Left::Unknown,
                right: false,
            },
        },
    }
}

fn after_literal(literal: &str, content: &str, cut: CutContext) -> CutContext {
    let is_solid = |text: &str| text.chars().next_back().is_some_and(|c| !c.is_whitespace());
    CutContext {
        left: match is_solid(content) {
            true => cut.left.min(Left::Solid),
            false => Left::Unknown,
        },
        right: cut.right && !literal.starts_with([' ', '\n']),
    }
}
