//! Normalizers one after the other.

use std::borrow::Cow;

use super::aligned::{Aligned, Bytes, Places};
use super::{cuts, Edges, Normalizer, Pass};
use crate::error::Result;

/// Normalizers, each over what the one before it gave.
#[derive(Debug, Clone, Default)]
pub struct Chain(Vec<Normalizer>);

impl Chain {
    pub fn new(normalizers: Vec<Normalizer>) -> Self {
        Chain(normalizers)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn passes(&self) -> impl Iterator<Item = Pass<'_>> {
        self.0.iter().flat_map(Normalizer::passes)
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
        match self.0.first() {
            Some(Normalizer::CharsMap(rules)) => rules.makes_only_spaces(given),
            _ => given.iter().all(|&byte| byte == b' '),
        }
    }

    /// The normalized text; borrowed where nothing changes.
    pub fn apply<'t>(&self, text: &'t [u8], edges: Edges) -> Result<Cow<'t, [u8]>> {
        let mut current = Cow::Borrowed(text);
        for pass in self.passes() {
            let pass = self.settled(pass, text, &current);
            let mut sink = Bytes::new(&current);
            pass.run(&current, edges, &mut sink)?;
            if let Cow::Owned(changed) = sink.finish() {
                current = Cow::Owned(changed);
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
        cuts::before_space(&self.0)
    }
}
