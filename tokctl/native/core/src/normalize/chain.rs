//! Normalizers one after the other.

use std::borrow::Cow;

use super::aligned::{Aligned, Bytes, Places};
use super::tidy::Tidy;
use super::{bert_at_once, cuts, Edges, Normalizer, Pass};
use crate::error::Result;

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
        cuts::before_space(&self.normalizers[..self.before_tidy()])
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
        for normalizer in normalizers {
            if let &Normalizer::Bert {
                clean_text,
                cjk_spacing,
                strip_accents,
                lowercase,
            } = normalizer
            {
                let steps = bert_at_once::Steps {
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
                let mut sink = Bytes::new(&current);
                pass.run(&current, edges, &mut sink)?;
                if let Cow::Owned(changed) = sink.finish() {
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
        for pass in self.passes() {
            let mut sink = match &current {
                None => Places::new(text, None)?,
                Some(before) => Places::new(&before.text, Some(&before.places))?,
            };
            let old = current.as_ref().map_or(text, |before| &before.text);
            let pass = self.settled(pass, text, old);
            pass.run(old, edges, &mut sink)?;
            if let Some(changed) = sink.finish() {
                current = Some(changed);
            }
        }
        Ok(current)
    }

    /// May a text be cut before an ASCII space or a line feed that follows a letter, a
    /// number or punctuation, and the parts be normalized apart, given right [`Edges`]?
    /// False is always safe.
    pub fn cuts_before_space(&self) -> bool {
        cuts::before_space(&self.normalizers)
    }
}
