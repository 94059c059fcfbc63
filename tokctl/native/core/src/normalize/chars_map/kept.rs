//! Protected texts, which rules leave alone: SentencePiece's user-defined pieces (`PrefixMatcher`
//! of normalizer.cc).

use crate::error::Result;
use crate::model::Trie;

/// Set of protected texts.
#[derive(Debug)]
pub(super) struct Kept {
    texts: Trie,
    /// Whether a text begins with each byte.
    first: [bool; 256],
    /// Whether a text holds a space or a line feed after its first byte.
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

    /// Return the bytes of the longest protected text that begins `text`.
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

    /// Return the offset in `text` of the next byte, after the first, that may begin a protected
    /// text.
    #[inline]
    pub fn before(&self, text: &[u8]) -> usize {
        let later = text.iter().skip(1);
        let found = later
            .clone()
            .position(|&byte| self.first[usize::from(byte)]);
        found.map_or(text.len(), |place| place + 1)
    }
}
