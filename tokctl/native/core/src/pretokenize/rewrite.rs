//! Changes that a pre-tokenizer makes to a piece before it splits it.
//!
//! Places are Hugging Face's: what replaces a space has the place of that space, and what
//! is put in front of a piece has the place of the piece's first character.

use crate::error::{Error, Result};
use crate::model::byte_characters::character_of;
use crate::model::Prepend;
use crate::unicode;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rewrite {
    /// Hugging Face's `Metaspace`: every U+0020 becomes `replacement`, and one is put in
    /// front of a piece that does not start with one.
    Metaspace {
        replacement: String,
        prepend: Prepend,
    },
    /// `add_prefix_space` of Hugging Face's `ByteLevel`: U+0020 is put in front of every
    /// piece that does not start with one.
    PrefixSpace,
    /// Hugging Face's `ByteLevel` in front of others: each byte becomes the printable character that
    /// GPT-2's vocabulary spells it with.
    ByteCharacters,
}

/// Pieces of text written one after the other, with the place in the input of every byte.
#[derive(Debug, Default)]
pub struct Rewritten {
    pub text: Vec<u8>,
    pub origins: Vec<(u32, u32)>,
}

impl Rewritten {
    fn push(&mut self, bytes: &[u8], origin: (u32, u32)) {
        self.text.extend_from_slice(bytes);
        self.origins.resize(self.text.len(), origin);
    }
}

impl Rewrite {
    /// Would [`Self::apply`] change this piece?
    pub fn changes(&self, piece: &[u8], at_start: bool) -> bool {
        match self {
            Rewrite::Metaspace { .. } => {
                memchr::memchr(b' ', piece).is_some() || !self.in_front(piece, at_start).is_empty()
            }
            Rewrite::PrefixSpace => !self.in_front(piece, at_start).is_empty(),
            Rewrite::ByteCharacters => !piece.iter().all(u8::is_ascii_graphic),
        }
    }

    /// Does it matter whether a piece stands where the input starts?
    pub fn asks_for_start(&self) -> bool {
        matches!(
            self,
            Rewrite::Metaspace {
                prepend: Prepend::First,
                ..
            }
        )
    }

    /// What is put in front of a piece.
    pub(super) fn in_front(&self, piece: &[u8], at_start: bool) -> &[u8] {
        let (with, wanted) = match self {
            Rewrite::PrefixSpace => (&b" "[..], true),
            Rewrite::ByteCharacters => return b"",
            Rewrite::Metaspace {
                replacement,
                prepend,
            } => (
                replacement.as_bytes(),
                match prepend {
                    Prepend::Always => true,
                    Prepend::First => at_start,
                    Prepend::Never => false,
                },
            ),
        };
        if piece.is_empty() || !wanted || piece[0] == b' ' || piece.starts_with(with) {
            return b"";
        }
        with
    }

    /// Appends the changed piece to `out`. `origin(i)` is the place in the input of the
    /// piece's byte `i`; `at_start` says that the piece stands where the input starts.
    pub fn apply(
        &self,
        piece: &[u8],
        at_start: bool,
        origin: impl Fn(usize) -> (u32, u32),
        out: &mut Rewritten,
    ) {
        let in_front = self.in_front(piece, at_start);
        if !in_front.is_empty() {
            out.push(in_front, origin(0));
        }
        let space = match self {
            Rewrite::Metaspace { replacement, .. } => replacement.as_bytes(),
            Rewrite::PrefixSpace => b" ",
            Rewrite::ByteCharacters => {
                for (at, &byte) in piece.iter().enumerate() {
                    let mut buffer = [0; 4];
                    let character = character_of(byte).encode_utf8(&mut buffer);
                    out.push(character.as_bytes(), origin(at));
                }
                return;
            }
        };
        for (at, byte) in piece.iter().enumerate() {
            match byte {
                b' ' => out.push(space, origin(at)),
                _ => out.push(&[*byte], origin(at)),
            }
        }
    }
}

/// The place of every byte of an input: that of its character.
pub fn places(text: &[u8]) -> Result<Vec<(u32, u32)>> {
    if u32::try_from(text.len()).is_err() {
        let message = "a text of 4 GiB or more cannot be rewritten before it is split";
        return Err(Error::TooLarge(message.into()));
    }
    Ok(unicode::places(text))
}
