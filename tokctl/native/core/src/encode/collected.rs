//! The ids of documents that come in blocks, end to end.

use super::blocks::{Blocks, Cuts, Encoding, Lacking};
use super::written::Form;
use super::Flat;
use crate::error::Result;

/// Bytes of text that one thread encodes at a time: the ids stay in the processor's cache until
/// they are where they belong.
const PART: usize = 1 << 18;

/// See [`Collected::feed`].
#[derive(Debug)]
pub struct Collected {
    blocks: Blocks,
    lines: bool,
    /// What stands behind the ids of each document.
    separator: Option<u32>,
    /// What the blocks have written last.
    written: Vec<u8>,
    ids: Vec<u32>,
    /// For each document that has ended: where its ids do.
    ends: Vec<usize>,
}

impl Collected {
    /// With [`Cuts::Lines`], each line is a document. A text that can be cut nowhere is added.
    pub fn new(cuts: Cuts, separator: Option<u32>) -> Self {
        let lines = cuts == Cuts::Lines;
        Collected {
            // The ids of lines come with what stands behind them, and with where they end.
            blocks: Blocks::new(cuts, Form::Packed32).ending_with(separator.filter(|_| lines)),
            lines,
            separator,
            written: Vec::new(),
            ids: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Takes the next block of a text, which ends there with `last`. If a character has no id, the
    /// text that it stands in.
    pub fn feed(
        &mut self,
        encoding: &Encoding,
        block: &[u8],
        last: bool,
    ) -> Result<Option<Lacking>> {
        // Threads share a block out by themselves.
        let part = if encoding.threads < 2 {
            PART
        } else {
            block.len()
        };
        for part in block.chunks(part.max(1)) {
            if let Some(lacking) = self.feed_part(encoding, part, false)? {
                return Ok(Some(lacking));
            }
        }
        if !last {
            return Ok(None);
        }
        let lacking = self.feed_part(encoding, b"", true)?;
        if lacking.is_none() && !self.lines {
            self.end();
        }
        Ok(lacking)
    }

    fn feed_part(
        &mut self,
        encoding: &Encoding,
        part: &[u8],
        last: bool,
    ) -> Result<Option<Lacking>> {
        self.written.clear();
        let fed = self.blocks.feed(encoding, part, last, &mut self.written)?;
        if fed.lacking.is_some() {
            return Ok(fed.lacking);
        }
        let before = self.ids.len();
        let numbers = self.written.chunks_exact(4);
        let ids = numbers.map(|id| u32::from_le_bytes([id[0], id[1], id[2], id[3]]));
        self.ids.extend(ids);
        let ends = fed.ends.iter().map(|&end| before + end as usize);
        self.ends.extend(ends);
        Ok(None)
    }

    /// Takes documents that were encoded already.
    pub fn add(&mut self, mut documents: Flat) {
        if self.ids.capacity() == 0 && self.ends.is_empty() && documents.ends.len() == 1 {
            // A long text's ids stay where they are.
            self.ids = std::mem::take(documents.ids.as_mut_vec());
            return self.end();
        }
        for ids in documents.texts() {
            self.ids.extend_from_slice(ids);
            self.end();
        }
    }

    fn end(&mut self) {
        self.ids.extend(self.separator);
        self.ends.push(self.ids.len());
    }

    /// Documents that have ended.
    pub fn documents(&self) -> usize {
        self.ends.len()
    }

    /// The ids of the documents that have ended, and where those of each do.
    pub fn take(&mut self) -> Flat {
        let ends = std::mem::take(&mut self.ends);
        let rest = self.ids.split_off(ends.last().copied().unwrap_or_default());
        let mut ids = std::mem::replace(&mut self.ids, rest);
        if ids.capacity() / 2 > ids.len() {
            ids.shrink_to_fit();
        }
        Flat {
            ids: ids.into(),
            ends,
        }
    }
}
