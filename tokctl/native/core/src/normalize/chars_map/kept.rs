//! Texts that rules leave alone: SentencePiece's user-defined pieces (`PrefixMatcher` of its
//! normalizer.cc).

use crate::error::Result;
use crate::model::Trie;

#[derive(Debug)]
pub(super) struct Kept {
    texts: Trie,
    /// Does one begin with this byte?
    first: [bool; 256],
    pub holds_space: bool,
}

impl Kept {
    pub fn new(texts: &[Vec<u8>]) -> Result<Self> {
        let texts = || texts.iter().filter(|text| !text.is_empty());
        let mut first = [false; 256];
        for text in texts() {
            first[usize::from(text[0])] = true;
        }
        Ok(Kept {
            texts: Trie::build(texts().map(|text| (&text[..], 0)))?,
            first,
            holds_space: texts().any(|text| text[1..].iter().any(|byte| b" \n".contains(byte))),
        })
    }

    /// Bytes of the longest one that `text` begins with.
    #[inline]
    pub fn longest(&self, text: &[u8]) -> Option<usize> {
        let begins = text
            .first()
            .is_some_and(|&byte| self.first[usize::from(byte)]);
        begins
            .then(|| self.texts.longest(text))
            .flatten()
            .map(|found| found.1)
    }

    /// How many bytes at the start of `text`, but for the first, none begins with.
    #[inline]
    pub fn before(&self, text: &[u8]) -> usize {
        let later = text.iter().skip(1);
        let found = later
            .clone()
            .position(|&byte| self.first[usize::from(byte)]);
        found.map_or(text.len(), |place| place + 1)
    }
}
