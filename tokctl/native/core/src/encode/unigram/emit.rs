//! From a path of pieces to segments: what becomes of unknown characters.

use super::{Precision, Segment, Unigram};
use crate::model::NO_ID;

/// Stands for the piece that an unknown character is; its length is added. No piece has
/// so high a number.
pub(super) const UNKNOWN: u32 = u32::MAX - 8;

/// Takes the pieces of a path, first to last.
pub(super) struct Emitter<'e> {
    model: &'e Unigram,
    text: &'e [u8],
    out: &'e mut Vec<Segment>,
    /// Pieces up to here are taken; those from `written` on are unknown, and may go on.
    taken: usize,
    written: usize,
}

impl<'e> Emitter<'e> {
    pub(super) fn new(model: &'e Unigram, text: &'e [u8], out: &'e mut Vec<Segment>) -> Self {
        Emitter {
            model,
            text,
            out,
            taken: 0,
            written: 0,
        }
    }

    /// Takes one piece and returns its length.
    #[inline]
    pub(super) fn push(&mut self, entry: u32) -> usize {
        let piece = self.model.pieces.get(entry as usize);
        // A piece of the text with the unknown token's id is unknown, too: Hugging Face
        // fuses it with its neighbours.
        let Some(piece) = piece.filter(|piece| piece.id != self.model.unknown_id) else {
            let length = self.model.length(entry);
            if !self.model.fuse_unknown {
                self.finish();
            }
            self.taken += length;
            return length;
        };
        if self.written < self.taken {
            self.finish();
        }
        self.out.push(Segment {
            id: piece.id,
            length: piece.length,
        });
        self.taken += piece.length as usize;
        self.written = self.taken;
        piece.length as usize
    }

    #[inline]
    pub(super) fn length(&self, entry: u32) -> usize {
        self.model.length(entry)
    }

    /// Writes the unknown stretch that is still open.
    pub(super) fn finish(&mut self) {
        let stretch = &self.text[self.written..self.taken];
        self.written = self.taken;
        if stretch.is_empty() {
            return;
        }
        let model = self.model;
        let mut push = |id, length| self.out.push(Segment { id, length });
        let known = match model.precision {
            Precision::Double => model.trie.get(stretch),
            Precision::Single => None,
        };
        let bytes = model.byte_ids.as_ref().filter(|_| known.is_none());
        let bytes = bytes.map(|ids| stretch.iter().map(|&byte| ids[byte as usize]));
        match bytes.filter(|ids| ids.clone().all(|id| id != NO_ID)) {
            Some(ids) => ids.for_each(|id| push(id, 1)),
            None => push(known.unwrap_or(model.unknown_id), stretch.len() as u32),
        }
    }
}

impl Unigram {
    /// Bytes of a piece or of the unknown character that `entry` stands for.
    #[inline]
    pub(super) fn length(&self, entry: u32) -> usize {
        match self.pieces.get(entry as usize) {
            Some(piece) => piece.length as usize,
            None => (entry - UNKNOWN) as usize,
        }
    }
}
