//! WordPiece encoding: the longest token first, from left to right (BERT).

use super::{Interrupt, Segment};
use crate::error::{Error, Result};
use crate::model::{Trie, NO_ID};
use crate::unicode;

/// What becomes of a word with an unmatchable rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// The whole word is one unknown token, as in BERT.
    Word,
    /// Only the character that can't be matched is; matching goes on after it.
    Character,
}

/// Bytes that are compared with tokens between two looks at the interrupt.
const LOOK_EVERY: usize = 1 << 22;

pub struct LongestMatch {
    start: Trie,
    inside: Trie,
    unknown: Unknown,
    unknown_id: u32,
    /// Words of more characters are unknown as a whole.
    max_characters: usize,
}

impl LongestMatch {
    /// `tokens` are the ordinary tokens, without the special ones, with their ids.
    /// A token that starts with `prefix` goes on inside a word; at the start of a word
    /// every token matches the text that it spells, as in BERT.
    pub fn new<'t>(
        tokens: impl Iterator<Item = (&'t [u8], u32)>,
        prefix: &[u8],
        unknown: Unknown,
        unknown_id: Option<u32>,
        max_characters: Option<usize>,
    ) -> Result<Self> {
        let tokens: Vec<(&[u8], u32)> = tokens.collect();
        let inside = tokens
            .iter()
            .filter_map(|&(token, id)| Some((token.strip_prefix(prefix)?, id)));
        Ok(LongestMatch {
            start: Trie::build(tokens.iter().copied())?,
            inside: Trie::build(inside)?,
            unknown,
            unknown_id: unknown_id.unwrap_or(NO_ID),
            max_characters: max_characters.unwrap_or(usize::MAX),
        })
    }

    /// Appends the tokens of a word.
    pub fn segment(&self, word: &[u8], out: &mut Vec<Segment>, interrupt: Interrupt) -> Result<()> {
        let first = out.len();
        let whole = Segment {
            id: self.unknown_id,
            length: word.len() as u32,
        };
        if word.len() > self.max_characters && characters(word) > self.max_characters {
            out.push(whole);
            return Ok(());
        }
        let (mut at, mut walked) = (0, 0);
        while at < word.len() {
            let trie = if at == 0 { &self.start } else { &self.inside };
            let (found, steps) = trie.longest_counted(&word[at..]);
            walked += steps;
            if walked > LOOK_EVERY {
                walked = 0;
                if interrupt() {
                    return Err(Error::Interrupted);
                }
            }
            let (id, length) = match found {
                Some(found) => found,
                None if self.unknown == Unknown::Character => {
                    let length = unicode::decode(word, at).map_or(1, |(_, length)| length);
                    (self.unknown_id, length)
                }
                None => {
                    out.truncate(first);
                    out.push(whole);
                    return Ok(());
                }
            };
            out.push(Segment {
                id,
                length: length as u32,
            });
            at += length;
        }
        Ok(())
    }
}

fn characters(text: &[u8]) -> usize {
    text.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}
