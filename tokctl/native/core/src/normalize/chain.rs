//! Chains of normalizers.

use std::borrow::Cow;

use super::aligned::{most, Aligned, TextAndPlaces, TextOnly};
use super::tidy::Tidy;
use super::{bert_at_once, Edges, Normalizer, Pass};
use crate::error::Result;
use crate::memory;
use crate::pattern::Search;

/// Sequence of normalizers, each applied to the result of the one before it.
#[derive(Debug, Clone, Default)]
pub struct Chain {
    normalizers: Vec<Normalizer>,
    /// White-space steps at the end that one pass can replace.
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

    /// Return `pass`, with the answer that `DummySpace` needs if no text is left.
    ///
    /// `given` is the text before the chain, `now` the text before this pass.
    fn settled<'n>(&self, pass: Pass<'n>, given: &[u8], now: &[u8]) -> Pass<'n> {
        match pass {
            Pass::DummySpace { behind, .. } => Pass::DummySpace {
                behind,
                alone: now.is_empty() && !self.is_blank(given),
            },
            pass => pass,
        }
    }

    /// Return whether `given` is nothing but spaces, or text that SentencePiece's rules turn into
    /// spaces.
    fn is_blank(&self, given: &[u8]) -> bool {
        match self.normalizers.first() {
            Some(Normalizer::CharsMap(rules)) => rules.makes_only_spaces(given),
            _ => given.iter().all(|&byte| byte == b' '),
        }
    }

    /// Return the steps at the end that one pass can replace.
    pub fn tidy(&self) -> Option<Tidy> {
        self.tidy
    }

    /// Apply the steps before [`Self::tidy`] to a text.
    pub fn apply_before_tidy<'t>(&self, text: &'t [u8], edges: Edges) -> Result<Cow<'t, [u8]>> {
        self.apply_each(&self.normalizers[..self.before_tidy()], text, edges)
    }

    /// Return [`Self::cuts_before_space`] for the steps before [`Self::tidy`] alone.
    pub fn before_tidy_cuts_before_space(&self) -> bool {
        before_space(&self.normalizers[..self.before_tidy()])
    }

    /// Return whether texts joined by NULs can go through the steps before [`Self::tidy`] together.
    ///
    /// True if these steps keep each NUL, write no other, and never look at both sides of one.
    pub fn before_tidy_splits_at_nul(&self) -> bool {
        let mut before = self.normalizers[..self.before_tidy()].iter();
        before.all(|step| matches!(step, Normalizer::CharsMap(rules) if rules.splits_at_nul()))
    }

    fn before_tidy(&self) -> usize {
        self.tidy.map_or(self.normalizers.len(), |tidy| tidy.from)
    }

    /// Return the normalized text, borrowed where nothing changes.
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
            // Four times the text: what a Unicode character usually grows to. Text that grows
            // further asks for memory bit by bit.
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

    /// Return the normalized text with the source spans of its bytes; None where nothing changes.
    pub fn apply_aligned(&self, text: &[u8], edges: Edges) -> Result<Option<Aligned>> {
        let mut current: Option<Aligned> = None;
        let most = most(text.len());
        for pass in self.passes() {
            let length = current.as_ref().map_or(text.len(), |now| now.text.len());
            // 9 bytes for each byte of text, 8 of them its span; the old spans exist beside the new
            // ones.
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

    /// Return whether a text may be cut before an ASCII space or a line feed that follows a letter,
    /// a number or punctuation.
    ///
    /// The parts can then be normalized on their own, given the right [`Edges`]. False is always
    /// safe.
    pub fn cuts_before_space(&self) -> bool {
        before_space(&self.normalizers)
    }
}

// Rules for cutting a text so that its parts can be normalized on their own.
//
// A cut comes before a U+0020 or a line feed that follows a letter, a number or punctuation. Each
// normalizer requires properties of the text at the cut and passes some on to the next normalizer.
// A property that is not known to hold counts as false.

/// Known properties of the text on both sides of a cut.
#[derive(Clone, Copy)]
struct CutContext {
    left: Left,
    /// Whether the right part is empty or begins with a U+0020 or a line feed.
    right: bool,
}

/// Known end of the left part, in ascending order of knowledge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Left {
    Unknown,
    /// A character other than white space.
    Solid,
    /// A letter, a number or punctuation.
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

/// Return whether the normalized parts, joined, equal the normalized whole.
fn allows(normalizer: &Normalizer, cut: CutContext) -> bool {
    match normalizer {
        // Each character is normalized on its own.
        Normalizer::DeleteNewlines
        | Normalizer::Lowercase
        | Normalizer::StripAccents
        | Normalizer::Nmt => true,
        // U+0020 and the line feed are starters that compose with no other character.
        Normalizer::Nfc | Normalizer::Nfd | Normalizer::Nfkc | Normalizer::Nfkd => cut.right,
        Normalizer::Bert { strip_accents, .. } => cut.right || !strip_accents,
        // A grapheme ends before a space, and before a line feed unless a carriage return precedes
        // it.
        Normalizer::CharsMap(map) => {
            cut.right && cut.left >= Left::Solid && map.cuts_before_space()
        }
        // With a solid left part, no run of spaces crosses the cut, and the left part is not empty.
        Normalizer::CollapseSpaces
        | Normalizer::Strip { .. }
        | Normalizer::StripSpaces { .. }
        | Normalizer::Prepend(_)
        | Normalizer::DummySpace { behind: false } => cut.left >= Left::Solid,
        // The last part may be nothing but spaces although the text is not.
        Normalizer::DummySpace { behind: true } => false,
        Normalizer::Replace { pattern, .. } => match pattern {
            Search::Literal(literal) => cut.right && !reaches_over_a_space(literal),
            Search::Pattern(_) => false,
        },
    }
}

/// Return whether a match may cross a cut; an empty literal matches on both sides of one.
fn reaches_over_a_space(literal: &str) -> bool {
    let behind_the_first = literal.chars().skip(1);
    literal.is_empty() || behind_the_first.into_iter().any(|c| c == ' ' || c == '\n')
}

/// Return the known properties of a cut after the normalizer.
fn after(normalizer: &Normalizer, cut: CutContext) -> CutContext {
    // A letter, number or punctuation never becomes nothing, nor text that ends in white space.
    // (Tested for every code point.)
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
