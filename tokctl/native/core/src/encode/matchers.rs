//! The added tokens that one call looks for.

use hashbrown::HashSet;

use super::added::{AddedToken, AddedTokens};
use crate::error::Result;

/// Added tokens, those that are found in the text as given and those that are found in
/// the normalized text.
pub struct Matchers {
    raw: Option<AddedTokens>,
    normalized: Option<AddedTokens>,
    special: HashSet<u32>,
}

impl Matchers {
    /// `normalized` are spelled as in the normalized text; empty ones are never found.
    /// `special` are the ids of special tokens, which are no pre-tokens.
    pub fn new(
        raw: Vec<AddedToken>,
        normalized: Vec<AddedToken>,
        special: impl Iterator<Item = u32>,
    ) -> Result<Self> {
        let matcher = |tokens: Vec<AddedToken>| match tokens.is_empty() {
            true => Ok(None),
            false => AddedTokens::new(tokens).map(Some),
        };
        Ok(Matchers {
            raw: matcher(raw)?,
            normalized: matcher(normalized)?,
            special: special.collect(),
        })
    }

    pub fn raw(&self) -> Option<&AddedTokens> {
        self.raw.as_ref()
    }

    pub fn normalized(&self) -> Option<&AddedTokens> {
        self.normalized.as_ref()
    }

    pub fn is_special(&self, id: u32) -> bool {
        self.special.contains(&id)
    }
}
