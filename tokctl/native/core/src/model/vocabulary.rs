//! Tokens and their ids.

use hashbrown::HashMap;

/// Stands where a token has no id (a character that the alphabet lacks, in a model
/// without an unknown token). Never written out.
pub const NO_ID: u32 = u32::MAX;

/// Tokens in id order; every token's string is unique.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    tokens: Vec<Vec<u8>>,
    ids: HashMap<Vec<u8>, u32>,
}

impl Vocabulary {
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The id of `token`, which is added when it is new.
    pub fn intern(&mut self, token: &[u8]) -> u32 {
        if let Some(&id) = self.ids.get(token) {
            return id;
        }
        let id = u32::try_from(self.tokens.len()).expect("fewer than 2^32 tokens");
        assert!(id != NO_ID, "fewer than 2^32 - 1 tokens");
        self.tokens.push(token.to_vec());
        self.ids.insert(token.to_vec(), id);
        id
    }

    pub fn id(&self, token: &[u8]) -> Option<u32> {
        self.ids.get(token).copied()
    }

    pub fn token(&self, id: u32) -> Option<&[u8]> {
        self.tokens.get(id as usize).map(Vec::as_slice)
    }

    pub fn tokens(&self) -> &[Vec<u8>] {
        &self.tokens
    }
}
