//! Tokens and their ids.

use super::strings::{Index, Strings};

/// Id of a string without an id, such as a character outside the alphabet in a model without an
/// unknown token. Never written to output.
pub const NO_ID: u32 = u32::MAX;

/// Tokens in id order; no two have the same string.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    tokens: Strings,
    ids: Index,
}

impl Vocabulary {
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Return the id of `token`, which is added if it is new. Panics at 2^32 - 1 tokens.
    pub fn intern(&mut self, token: &[u8]) -> u32 {
        let id = self.ids.intern(&mut self.tokens, token);
        assert!(id != NO_ID, "fewer than 2^32 - 1 tokens");
        id
    }

    /// Return the id of a token, or None.
    pub fn id(&self, token: &[u8]) -> Option<u32> {
        self.ids.find(&self.tokens, token)
    }

    /// Return the string of an id, or None.
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        self.tokens.get(id as usize)
    }

    pub fn tokens(&self) -> &Strings {
        &self.tokens
    }

    pub fn into_tokens(self) -> Strings {
        self.tokens
    }
}
