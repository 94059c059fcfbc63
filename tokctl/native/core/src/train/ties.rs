//! Rules that decide between pairs of equal score.

use crate::error::{Error, Result};

/// Tie rule, as described in `docs/algorithms.md`. Every rule but the last computes a key for each
/// pair; the smaller key wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ties {
    /// Choose the pair whose first occurrence comes first: words in first-seen order, each from
    /// left to right.
    FirstSeen,
    /// Like `FirstSeen`, but words that a merge has rewritten move to the end of the scan, in the
    /// order in which they were rewritten.
    RewrittenLast,
    /// Choose the smallest (left id, right id).
    LowestId,
    /// Choose the greatest (left text, right text), as files spell them; see [`super::by_text`].
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

/// Tie key, compared as a tuple: (scan position of the word, slot in the corpus), or the two ids.
///
/// The key of a pair never decreases unless the pair gains an occurrence. An outdated key is thus a
/// lower bound.
pub type TieKey = (u64, u64);
