//! The word model: a pre-token is a token as a whole, or unknown; an unknown one can become
//! the tokens of its bytes. Unknown words side by side can be one token: see
//! `Encoder::fused`.

use hashbrown::HashMap;

use crate::encode::Segment;
use crate::model::NO_ID;

#[derive(Debug, Clone)]
pub struct Words {
    ids: HashMap<Box<[u8]>, u32>,
    unknown_id: u32,
    /// Tokens of the 256 bytes; [`NO_ID`] where one has none.
    pub byte_ids: Option<Box<[u32; 256]>>,
    pub fuse_unknown: bool,
}

impl Words {
    /// Of equal tokens the last one counts.
    pub fn new<'t>(tokens: impl Iterator<Item = (&'t [u8], u32)>, unknown_id: Option<u32>) -> Self {
        Words {
            ids: tokens.map(|(token, id)| (token.into(), id)).collect(),
            unknown_id: unknown_id.unwrap_or(NO_ID),
            byte_ids: None,
            fuse_unknown: false,
        }
    }

    /// The token that unknown words side by side are one of.
    pub fn fused(&self) -> Option<u32> {
        (self.fuse_unknown && self.unknown_id != NO_ID).then_some(self.unknown_id)
    }

    #[inline]
    pub fn id(&self, word: &[u8]) -> Option<u32> {
        self.ids.get(word).copied()
    }

    pub fn segment(&self, pre_token: &[u8], out: &mut Vec<Segment>) {
        let id = self.id(pre_token);
        if let (None, Some(ids)) = (id, &self.byte_ids) {
            let id = |&byte: &u8| ids[usize::from(byte)];
            if pre_token.iter().all(|byte| id(byte) != NO_ID) {
                out.extend(pre_token.iter().map(|byte| Segment {
                    id: id(byte),
                    length: 1,
                }));
                return;
            }
        }
        out.push(Segment {
            id: id.unwrap_or(self.unknown_id),
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

    #[test]
    fn an_unknown_word_is_its_bytes_where_all_have_tokens() {
        let mut words = Words::new([(&b"a"[..], 4)].into_iter(), Some(0));
        let mut ids = [NO_ID; 256];
        (ids[usize::from(b'b')], ids[usize::from(b'c')]) = (7, 8);
        words.byte_ids = Some(Box::new(ids));
        let mut out = Vec::new();
        for word in [&b"a"[..], b"bc", b"bd"] {
            words.segment(word, &mut out);
        }
        let found: Vec<_> = out.iter().map(|s| (s.id, s.length)).collect();
        assert_eq!(found, [(4, 1), (7, 1), (8, 1), (0, 2)]);
    }
}
