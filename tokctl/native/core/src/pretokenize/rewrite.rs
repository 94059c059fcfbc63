//! Changes that a pre-tokenizer makes to a piece before it is split.
//!
//! Source spans equal Hugging Face's: the replacement of a space has the span of the space, and
//! text put in front of a piece has the span of the piece's first character.

use crate::error::{Error, Result};
use crate::model::byte_characters::character_of;
use crate::model::Prepend;
use crate::unicode;

/// Change to a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rewrite {
    /// Hugging Face's `Metaspace`: every U+0020 becomes `replacement`, and `replacement` is put in
    /// front of a piece that does not start with it.
    Metaspace {
        replacement: String,
        prepend: Prepend,
    },
    /// `add_prefix_space` of Hugging Face's `ByteLevel`: U+0020 is put in front of every piece that
    /// does not start with it.
    PrefixSpace,
    /// Hugging Face's `ByteLevel` before other steps: each byte becomes the printable character
    /// that GPT-2's vocabulary spells it with.
    /// GPT-2's vocabulary spells it with.
    ByteCharacters,
}

/// Rewritten pieces, one after the other, with the source span of every byte.
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
    /// Return whether [`Self::apply`] would change this piece.
    pub fn changes(&self, piece: &[u8], at_start: bool) -> bool {
        match self {
            Rewrite::Metaspace { .. } => {
                memchr::memchr(b' ', piece).is_some() || !self.in_front(piece, at_start).is_empty()
            }
            Rewrite::PrefixSpace => !self.in_front(piece, at_start).is_empty(),
            Rewrite::ByteCharacters => !piece.iter().all(u8::is_ascii_graphic),
        }
    }

    /// Return whether the change depends on a piece being at the start of the input.
    pub fn asks_for_start(&self) -> bool {
        matches!(
            self,
            Rewrite::Metaspace {
                prepend: Prepend::First,
                ..
            }
        )
    }

    /// Return the text that is put in front of a piece.
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

    /// Append the changed piece to `out`.
    ///
    /// `origin(i)` returns the source span of the piece's byte `i`. `at_start` tells whether the
    /// piece is at the start of the input.
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

/// Return the source span of every byte of an input: the span of its character.
pub fn places(text: &[u8]) -> Result<Vec<(u32, u32)>> {
    if u32::try_from(text.len()).is_err() {
        let message = "a text of 4 GiB or more cannot be rewritten before it is split";
        return Err(Error::TooLarge(message.into()));
    }
    Ok(unicode::places(text))
}
