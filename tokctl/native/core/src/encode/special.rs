//! Special tokens that the caller allows in its text.

use aho_corasick::{AhoCorasick, MatchKind};

use crate::error::{Error, Result};

/// Finds special tokens in text: leftmost first, longest first, in linear time.
pub struct SpecialTokens {
    matcher: AhoCorasick,
    ids: Vec<u32>,
}

impl SpecialTokens {
    pub fn new(tokens: &[(Vec<u8>, u32)]) -> Result<Self> {
        let spelled = tokens.iter().filter(|(text, _)| !text.is_empty());
        let matcher = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(spelled.clone().map(|(text, _)| text))
            .map_err(|error| Error::TooLarge(format!("the special tokens: {error}")))?;
        Ok(SpecialTokens {
            matcher,
            ids: spelled.map(|&(_, id)| id).collect(),
        })
    }

    /// Byte range and id of every special token in `text`, in order.
    pub fn find<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = (usize, usize, u32)> + 't {
        self.matcher.find_iter(text).map(|found| {
            (
                found.start(),
                found.end(),
                self.ids[found.pattern().as_usize()],
            )
        })
    }
}
