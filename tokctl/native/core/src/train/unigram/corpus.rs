//! The distinct pre-tokens as one array of character codes.

use crate::count::Counts;
use crate::error::{Error, Result};

/// Code that ends every segment; no character has it.
pub const END: u32 = 0;

/// Pre-token, or a part of one between characters that have no piece.
#[derive(Debug, Clone, Copy)]
pub struct CorpusSegment {
    pub start: u32,
    /// Index of the segment's [`END`] code.
    pub end: u32,
    pub count: u64,
}

/// Character codes of all segments, each followed by [`END`].
#[derive(Debug)]
pub struct UnigramCorpus {
    /// Characters by code point. The character with code `c` is `characters[c - 1]`, so codes sort
    /// as the characters' UTF-8 does.
    pub characters: Vec<char>,
    /// Number of occurrences of each of `characters`.
    pub frequencies: Vec<u64>,
    pub codes: Vec<u32>,
    pub segments: Vec<CorpusSegment>,
    /// Total number of pre-token occurrences.
    pub pre_tokens: u64,
}

const CODE_POINTS: usize = char::MAX as usize + 1;

/// Number of pre-tokens between two progress calls.
const ASK: usize = 1024;

impl UnigramCorpus {
    /// Build the corpus. `alphabet` lists the characters that may have pieces (None: all); all
    /// other characters split a pre-token.
    pub fn new(
        counts: &Counts,
        alphabet: Option<&[char]>,
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<Self> {
        let mut seen = vec![0u64; CODE_POINTS];
        let mut symbols = 0u128;
        for (index, (pre_token, count)) in counts.iter().enumerate() {
            if index % ASK == 0 && !progress() {
                return Err(Error::Interrupted);
            }
            let text = text(pre_token)?;
            symbols += u128::from(count) * text.chars().count() as u128;
            // If the total number of symbols fits 64 bits, no sum over symbols wraps.
            if u64::try_from(symbols).is_err() {
                return Err(Error::TooLarge(
                    "the corpus has more symbols than counts of 64 bits hold".into(),
                ));
            }
            for character in text.chars() {
                seen[character as usize] += count;
            }
        }
        let mut corpus = UnigramCorpus {
            characters: Vec::new(),
            frequencies: Vec::new(),
            codes: Vec::new(),
            segments: Vec::new(),
            pre_tokens: 0,
        };
        let mut code_of = vec![END; CODE_POINTS];
        let allowed = alphabet.map(|alphabet| {
            let mut allowed = alphabet.to_vec();
            allowed.sort_unstable();
            allowed
        });
        for character in '\0'..=char::MAX {
            let frequency = seen[character as usize];
            let has_piece = allowed
                .as_ref()
                .is_none_or(|allowed| allowed.binary_search(&character).is_ok());
            if frequency > 0 && has_piece {
                corpus.characters.push(character);
                corpus.frequencies.push(frequency);
                code_of[character as usize] = corpus.characters.len() as u32;
            }
        }
        for (index, (pre_token, count)) in counts.iter().enumerate() {
            if index % ASK == 0 && !progress() {
                return Err(Error::Interrupted);
            }
            if count > 0 && !pre_token.is_empty() {
                corpus.push(text(pre_token)?, count, &code_of)?;
            }
        }
        Ok(corpus)
    }

    fn push(&mut self, text: &str, count: u64, code_of: &[u32]) -> Result<()> {
        self.pre_tokens += count;
        let mut start = self.codes.len();
        let ended = std::iter::once(END);
        for code in text
            .chars()
            .map(|character| code_of[character as usize])
            .chain(ended)
        {
            if code != END {
                self.codes.push(code);
            } else if self.codes.len() > start {
                let end = self.codes.len();
                let place = |at: usize| {
                    u32::try_from(at)
                        .ok()
                        .filter(|&at| at < u32::MAX)
                        .ok_or_else(|| {
                            Error::TooLarge(
                                "the distinct pre-tokens have more than 2^32 characters".into(),
                            )
                        })
                };
                self.segments.push(CorpusSegment {
                    start: place(start)?,
                    end: place(end)?,
                    count,
                });
                self.codes.push(END);
                start = self.codes.len();
            }
        }
        Ok(())
    }

    /// Return the text of `length` characters from position `at`.
    pub fn text(&self, at: u32, length: u8) -> String {
        let codes = &self.codes[at as usize..][..length as usize];
        codes
            .iter()
            .map(|&code| self.characters[code as usize - 1])
            .collect()
    }

    /// Return the code of a character, or None if it has no piece.
    pub fn code(&self, character: char) -> Option<u32> {
        let index = self.characters.binary_search(&character).ok()?;
        Some(index as u32 + 1)
    }
}

fn text(pre_token: &[u8]) -> Result<&str> {
    std::str::from_utf8(pre_token).map_err(|_| Error::Invalid("a pre-token is not UTF-8".into()))
}
