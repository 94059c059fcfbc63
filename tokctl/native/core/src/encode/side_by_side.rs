//! Short texts that are looked up together: the lines of a block, the documents of a batch.
//!
//! A line has a few dozen pre-tokens. A batch of look-ups goes on from text to text, so that it is
//! full, and the cache misses of many texts overlap.

use std::ops::Range;

use super::encoder::Call;
use super::lookup::{GatheredPlaces, PreTokenLookup, LINE_END};
use super::{Encoder, Matchers};
use crate::error::Result;
use crate::pretokenize::PreTokenSink;

/// Bytes of texts that are copied to lie side by side, at most: in all, and of each on average.
/// Longer ones fill batches of their own.
const COPIED: usize = 128 * 1024;
const SHORT: usize = 4096;

impl Encoder {
    /// Appends the ids of every line of `block`; behind those of a line, [`LINE_END`] stands for
    /// its line feed.
    pub(crate) fn line_ids(&self, block: &[u8], call: &mut Call, out: &mut Vec<u32>) -> Result<()> {
        if self.takes_texts_together(call.matchers) {
            return self.ids_together(block, lines(block), call, out);
        }
        for (line, ended) in lines(block) {
            self.ids_with(&block[line], call, out)?;
            if ended {
                out.push(LINE_END);
            }
        }
        Ok(())
    }

    /// Appends the ids of each text, and where they end.
    pub(crate) fn ids_of_each<T: AsRef<[u8]>>(
        &self,
        texts: &[T],
        call: &mut Call,
        out: &mut Vec<u32>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        let bytes: usize = texts.iter().map(|text| text.as_ref().len()).sum();
        let short = bytes <= COPIED && bytes < SHORT * texts.len();
        if texts.len() < 2 || !short || !self.takes_texts_together(call.matchers) {
            for text in texts {
                self.ids_with(text.as_ref(), call, out)?;
                ends.push(out.len());
            }
            return Ok(());
        }
        let mut joined = Vec::with_capacity(bytes);
        texts
            .iter()
            .for_each(|text| joined.extend_from_slice(text.as_ref()));
        let mut start = 0;
        let places = texts.iter().map(|text| {
            let end = start + text.as_ref().len();
            (std::mem::replace(&mut start, end)..end, true)
        });
        let first = out.len();
        self.ids_together(&joined, places, call, out)?;
        take_ends(out, first, ends);
        Ok(())
    }

    /// Appends the ids of parts of a text, each a text of its own, and [`LINE_END`] behind those
    /// that have ended.
    fn ids_together(
        &self,
        text: &[u8],
        mut parts: impl Iterator<Item = (Range<usize>, bool)>,
        call: &mut Call,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let (state, interrupt) = (&mut call.state.lookup, call.interrupt);
        let mut lookup = PreTokenLookup::new(self, text, None, state, out, interrupt);
        let mut places = lookup.places();
        let result = parts.try_for_each(|(part, ended)| {
            let places_of_part = PartPlaces {
                places: &mut places,
                start: part.start,
            };
            self.pre_tokenizer.split(&text[part], places_of_part)?;
            if ended {
                places.end_line();
            }
            Ok(())
        });
        drop(places);
        result.and(lookup.finish())
    }

    /// Are pre-tokens ranges of the text as given, so that those of many texts can be looked up
    /// together?
    fn takes_texts_together(&self, matchers: Option<&Matchers>) -> bool {
        let found = matchers.is_some_and(|all| all.raw().is_some() || all.normalized().is_some());
        let splitting = &self.pre_tokenizer;
        let rewrites = splitting.metaspace().is_some() || splitting.rewrites();
        !found && self.normalizers.is_empty() && !rewrites && self.fused().is_none()
    }
}

/// Takes the places of a part of a text as places of the whole.
struct PartPlaces<'p, 'l, 'b> {
    places: &'p mut GatheredPlaces<'l, 'b>,
    /// Where the part starts.
    start: usize,
}

impl PreTokenSink for PartPlaces<'_, '_, '_> {
    #[inline(always)]
    fn take(&mut self, start: usize, end: usize) {
        self.places.take(self.start + start, self.start + end);
    }

    #[inline(always)]
    fn take_adjoining(&mut self, base: usize, start: usize, ends: &[u16]) -> usize {
        let (base, start) = (self.start + base, self.start + start);
        self.places.take_adjoining(base, start, ends) - self.start
    }
}

/// Each line without its line feed, and whether it has one.
fn lines(block: &[u8]) -> impl Iterator<Item = (Range<usize>, bool)> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = block.get(start..).filter(|rest| !rest.is_empty())?;
        let end = memchr::memchr(b'\n', rest);
        let line = start..start + end.unwrap_or(rest.len());
        start = line.end + 1;
        Some((line, end.is_some()))
    })
}

/// Takes each [`LINE_END`] out, from the place `first` on, and puts down where it stood.
fn take_ends(ids: &mut Vec<u32>, first: usize, ends: &mut Vec<usize>) {
    let (mut kept, mut start) = (first, first);
    while let Some(length) = ids[start..].iter().position(|&id| id == LINE_END) {
        ids.copy_within(start..start + length, kept);
        kept += length;
        ends.push(kept);
        start += length + 1;
    }
    ids.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_ranges_without_their_line_feeds() {
        let found = |text: &[u8]| lines(text).collect::<Vec<_>>();
        assert_eq!(found(b""), []);
        assert_eq!(
            found(b"a\n\nbc"),
            [(0..1, true), (2..2, true), (3..5, false)]
        );
        assert_eq!(found(b"\n"), [(0..0, true)]);
    }

    #[test]
    fn ends_are_taken_out_behind_what_was_there() {
        let mut ids = vec![LINE_END, 5, 1, 2, LINE_END, LINE_END, 3, LINE_END];
        let mut ends = vec![2];
        take_ends(&mut ids, 2, &mut ends);
        assert_eq!((ids, ends), (vec![LINE_END, 5, 1, 2, 3], vec![2, 4, 4, 5]));
    }
}
