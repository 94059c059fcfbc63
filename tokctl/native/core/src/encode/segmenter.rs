//! One pre-token to its tokens, by any kind of model.

use super::{LongestMatch, Merging, Unigram, Words};
use crate::error::{Error, Result};
use crate::Interrupt;

/// A token of a pre-token and how many bytes of it the token covers. The lengths of a
/// pre-token's segments add up to its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    pub id: u32,
    pub length: u32,
}

/// How a pre-token becomes tokens.
pub enum Segmenter {
    Merges(Merging),
    LongestMatch(LongestMatch),
    Unigram(Unigram),
    Words(Words),
}

impl Segmenter {
    /// Appends the segments of one pre-token.
    pub fn segment(
        &self,
        pre_token: &[u8],
        out: &mut Vec<Segment>,
        interrupt: Interrupt,
    ) -> Result<()> {
        check_length(pre_token)?;
        match self {
            Segmenter::Merges(merging) => merging.segment(pre_token, out, interrupt),
            Segmenter::LongestMatch(matching) => matching.segment(pre_token, out, interrupt),
            Segmenter::Unigram(unigram) => unigram.segment(pre_token, out, interrupt),
            Segmenter::Words(words) => {
                words.segment(pre_token, out);
                Ok(())
            }
        }
    }
}

impl Segmenter {
    /// Appends the ids of one pre-token: those of its segments.
    pub(crate) fn ids(
        &self,
        pre_token: &[u8],
        scratch: &mut Vec<Segment>,
        out: &mut Vec<u32>,
        interrupt: Interrupt,
    ) -> Result<()> {
        if let Segmenter::Merges(merging) = self {
            if merging.short_ids(pre_token, out) {
                return Ok(());
            }
        }
        scratch.clear();
        self.segment(pre_token, scratch, interrupt)?;
        out.extend(scratch.iter().map(|segment| segment.id));
        Ok(())
    }
}

/// Lengths and places inside a pre-token are 32-bit numbers.
pub(crate) fn check_length(pre_token: &[u8]) -> Result<()> {
    if pre_token.len() >= u32::MAX as usize - 1 {
        return Err(Error::TooLarge(
            "a pre-token of over 4 GB can't be segmented".into(),
        ));
    }
    Ok(())
}
