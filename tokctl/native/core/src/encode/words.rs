//! The word model: a pre-token is a token as a whole, or unknown.

use hashbrown::HashMap;

use super::Segment;
use crate::model::NO_ID;

#[derive(Debug, Clone)]
pub struct Words {
    ids: HashMap<Box<[u8]>, u32>,
    unknown_id: u32,
}

impl Words {
    /// Of equal tokens the last one counts.
    pub fn new<'t>(tokens: impl Iterator<Item = (&'t [u8], u32)>, unknown_id: Option<u32>) -> Self {
        Words {
            ids: tokens.map(|(token, id)| (token.into(), id)).collect(),
            unknown_id: unknown_id.unwrap_or(NO_ID),
        }
    }

    #[inline]
    pub fn id(&self, word: &[u8]) -> Option<u32> {
        self.ids.get(word).copied()
    }

    pub fn segment(&self, pre_token: &[u8], out: &mut Vec<Segment>) {
        out.push(Segment {
            id: self.id(pre_token).unwrap_or(self.unknown_id),
            length: pre_token.len() as u32,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pre_token_is_one_token_or_unknown() {
        let tokens = [(&b"a"[..], 4), (b"bc", 5)];
        for (unknown, expected) in [(Some(0), 0), (None, NO_ID)] {
            let words = Words::new(tokens.into_iter(), unknown);
            let mut out = Vec::new();
            for word in [&b"bc"[..], b"b", b"a"] {
                words.segment(word, &mut out);
            }
            let found: Vec<_> = out.iter().map(|s| (s.id, s.length)).collect();
            assert_eq!(found, [(5, 2), (expected, 1), (4, 1)]);
        }
    }
}
