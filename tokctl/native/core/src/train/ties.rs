//! The rules that decide between pairs of equal score.

use crate::error::{Error, Result};

/// See `docs/algorithms.md`. Every rule but the last gives a key; the smaller key wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// The pair whose first occurrence comes first: words in first-seen order, each
    /// from left to right.
    FirstSeen,
    /// The same scan, but words that a merge has rewritten stand at the end, in the
    /// order of their rewriting.
    RewrittenLast,
    /// The smallest (left id, right id).
    LowestId,
    /// The greatest (left text, right text), as files spell them; see [`super::by_text`].
    HighestText,
}

impl Ties {
    pub fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "first-seen" => Ties::FirstSeen,
            "rewritten-last" => Ties::RewrittenLast,
            "lowest-id" => Ties::LowestId,
            "highest-text" => Ties::HighestText,
            _ => return Err(Error::Invalid(format!("no tie rule is called {name}"))),
        })
    }
}

/// Compared as a tuple: (place of the word in the scan, place in the corpus), or the
/// two ids. While a pair lives its key never falls, so an outdated key is a bound.
pub type TieKey = (u64, u64);
