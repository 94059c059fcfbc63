//! Split of a pre-token into its initial symbols.

use std::ops::Range;

use super::{CharIds, Marker, NO_ID, NO_SYMBOL};
use crate::error::{Error, Result};
use crate::unicode;

/// Unit of text that an initial symbol stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Units {
    Bytes,
    Characters,
}

impl Units {
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "bytes" => Ok(Units::Bytes),
            "characters" => Ok(Units::Characters),
            _ => Err(Error::Invalid(format!("no units are called {name}"))),
        }
    }
}

/// Ids of the initial symbols; [`NO_ID`] for bytes or characters without an id.
#[derive(Debug, Clone)]
pub enum Alphabet {
    Bytes(Box<ByteAlphabet>),
    Characters(Box<CharAlphabet>),
}

/// Ids of the 256 bytes.
#[derive(Debug, Clone)]
pub struct ByteAlphabet {
    ids: [u32; 256],
    /// Whether every byte's id can be part of a packed pair (is below [`NO_SYMBOL`]).
    all_pair: bool,
}

/// Ids of the characters and of the marker.
#[derive(Debug, Clone)]
pub struct CharAlphabet {
    marker: Marker,
    /// Id of the marker if the marker is a symbol of its own.
    marker_id: u32,
    /// Ids of plain characters (`bare`) and of characters with a fused marker (`marked`).
    bare: CharIds,
    marked: CharIds,
}

impl Alphabet {
    /// Build the alphabet of bytes. `id_of` returns the id of a symbol's string, or None.
    pub fn bytes(id_of: impl Fn(&[u8]) -> Option<u32>) -> Self {
        let mut ids = [NO_ID; 256];
        for byte in 0..=255u8 {
            ids[byte as usize] = id_of(&[byte]).unwrap_or(NO_ID);
        }
        let all_pair = ids.iter().all(|&id| id < NO_SYMBOL);
        Alphabet::Bytes(Box::new(ByteAlphabet { ids, all_pair }))
    }

    /// Build the alphabet of characters. `symbols` lists all strings that can be initial symbols,
    /// with their ids; other strings are ignored.
    pub fn characters<'s>(marker: &Marker, symbols: impl Iterator<Item = (&'s [u8], u32)>) -> Self {
        let mut alphabet = CharAlphabet {
            marker: marker.clone(),
            marker_id: NO_ID,
            bare: CharIds::default(),
            marked: CharIds::default(),
        };
        for (symbol, id) in symbols {
            let Ok(symbol) = std::str::from_utf8(symbol) else {
                continue;
            };
            match marker {
                Marker::End(mark) | Marker::Start(mark) if symbol == mark => {
                    alphabet.marker_id = id;
                }
                _ => {}
            }
            if let Some(character) = only_char(symbol) {
                alphabet.bare.insert(character.into(), id);
            }
            let rest = match marker {
                Marker::EndFused(mark) => symbol.strip_suffix(mark.as_str()),
                Marker::Continuation(mark) => symbol.strip_prefix(mark.as_str()),
                _ => None,
            };
            if let Some(character) = rest.and_then(only_char) {
                alphabet.marked.insert(character.into(), id);
            }
        }
        Alphabet::Characters(Box::new(alphabet))
    }

    /// Call `push(id, length)` for each initial symbol of a pre-token.
    ///
    /// The lengths are in bytes of the pre-token and add up to its length. A marker that is a
    /// symbol of its own has length 0.
    #[inline]
    pub fn symbols(&self, pre_token: &[u8], push: impl FnMut(u32, u32)) {
        self.symbols_of(pre_token, 0..pre_token.len(), push);
    }

    /// Like [`Self::symbols`], for the symbols that begin in `part`, which must start at a symbol.
    /// Return the end of the last symbol.
    #[inline]
    pub fn symbols_of(
        &self,
        pre_token: &[u8],
        part: Range<usize>,
        mut push: impl FnMut(u32, u32),
    ) -> usize {
        match self {
            Alphabet::Bytes(alphabet) => {
                for &byte in &pre_token[part.clone()] {
                    push(alphabet.ids[byte as usize], 1);
                }
                part.end
            }
            Alphabet::Characters(alphabet) => alphabet.symbols(pre_token, part, push),
        }
    }

    /// Return whether symbols do not depend on their position in the pre-token.
    pub fn is_unmarked(&self) -> bool {
        match self {
            Alphabet::Bytes(_) => true,
            Alphabet::Characters(alphabet) => alphabet.marker == Marker::None,
        }
    }

    /// Return the texts that a fused marker adds before and after the symbol at `place`, in a
    /// pre-token of `length` bytes.
    pub fn fused(&self, place: &Range<usize>, length: usize) -> (&[u8], &[u8]) {
        let marker = match self {
            Alphabet::Bytes(_) => &Marker::None,
            Alphabet::Characters(alphabet) => &alphabet.marker,
        };
        match marker {
            Marker::Continuation(mark) if place.start > 0 => (mark.as_bytes(), b""),
            Marker::EndFused(mark) if place.end == length => (b"", mark.as_bytes()),
            _ => (b"", b""),
        }
    }
}

impl ByteAlphabet {
    #[inline]
    pub(crate) fn id(&self, byte: u8) -> u32 {
        self.ids[usize::from(byte)]
    }

    /// Append the symbols of the first `count` bytes, if pairs can be packed of every symbol;
    /// return whether they can.
    ///
    /// All 16 bytes are looked up, because a branch on `count` would be mispredicted.
    #[inline]
    pub(crate) fn append_first(
        &self,
        (bytes, count): ([u8; 16], usize),
        symbols: &mut Vec<u32>,
    ) -> bool {
        if self.all_pair {
            let first = symbols.len();
            symbols.extend_from_slice(&bytes.map(|byte| self.id(byte)));
            symbols.truncate(first + count);
        }
        self.all_pair
    }
}

impl CharAlphabet {
    #[inline]
    fn symbols(
        &self,
        pre_token: &[u8],
        part: Range<usize>,
        mut push: impl FnMut(u32, u32),
    ) -> usize {
        if part.start == 0 && matches!(self.marker, Marker::Start(_)) {
            push(self.marker_id, 0);
        }
        let mut at = part.start;
        while at < part.end {
            let decoded = unicode::decode(pre_token, at);
            // Callers check their text; a stray byte is treated as a character without an id.
            let length = decoded.map_or(1, |(_, length)| length);
            let marked = match self.marker {
                Marker::Continuation(_) => at > 0,
                Marker::EndFused(_) => at + length == pre_token.len(),
                _ => false,
            };
            let ids = if marked { &self.marked } else { &self.bare };
            let id = decoded.map_or(NO_ID, |(code, _)| ids.get(code));
            push(id, length as u32);
            at += length;
        }
        if at == pre_token.len() && matches!(self.marker, Marker::End(_)) {
            push(self.marker_id, 0);
        }
        at
    }
}

fn only_char(symbol: &str) -> Option<char> {
    let mut characters = symbol.chars();
    let first = characters.next()?;
    characters.next().is_none().then_some(first)
}
