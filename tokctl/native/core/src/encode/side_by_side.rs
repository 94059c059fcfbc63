//! Many short texts, looked up together: the lines of a block or the documents of a batch.
//!
//! A line has about a dozen pre-tokens. A batch of lookups continues from text to text, so that
//! batches are full and the cache misses of many texts overlap.

use std::ops::Range;

use super::encoder::Call;
use super::lookup::{PreTokenLookup, LINE_END};
use super::{Encoder, Matchers};
use crate::error::Result;
use crate::pretokenize::TAB;

/// Bytes of texts that are copied side by side, at most.
const COPIED: usize = 128 * 1024;
/// Average bytes per text, at most: longer texts fill batches of their own.
const SHORT: usize = 4096;

impl Encoder {
    /// Append the ids of every line of `block`, with [`LINE_END`] in place of each line feed.
    pub(crate) fn line_ids(&self, block: &[u8], call: &mut Call, out: &mut Vec<u32>) -> Result<()> {
        if !found(call.matchers) && self.takes_sentences_together() {
            let open = !block.is_empty() && !block.ends_with(b"\n");
            let mut text = Vec::with_capacity(block.len() + 2);
            text.push(0);
            text.extend_from_slice(block);
            let mut count = usize::from(open);
            for end in memchr::memchr_iter(b'\n', block) {
                text[1 + end] = 0;
                count += 1;
            }
            if open {
                text.push(0);
            }
            if self.sentences_together(text, count, call, out)? {
                // The last line has no line feed.
                out.truncate(out.len() - usize::from(open));
                return Ok(());
            }
        }
        if !self.takes_texts_together(call.matchers) {
            for line in lines(block) {
                self.ids_with(&block[line.clone()], call, out)?;
                if line.end < block.len() {
                    out.push(LINE_END);
                }
            }
            return Ok(());
        }
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', block).collect();
        if !self.pre_tokenizer.splits_texts_as_one() {
            return self.ids_together(block, &ends, call, out);
        }
        let mut text = block.to_vec();
        ends.iter().for_each(|&end| text[end] = TAB);
        self.ids_together(&text, &ends, call, out)
    }

    /// Append the ids of each text, and to `ends` the length of `out` after each text.
    pub(crate) fn ids_of_each<T: AsRef<[u8]>>(
        &self,
        texts: &[T],
        call: &mut Call,
        out: &mut Vec<u32>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        let bytes = texts.iter().map(|text| text.as_ref().len()).sum::<usize>() + texts.len();
        let short = bytes <= COPIED && bytes < SHORT * texts.len();
        let first = out.len();
        if texts.len() > 1 && short && !found(call.matchers) && self.takes_sentences_together() {
            let mut joined = Vec::with_capacity(bytes + 1);
            joined.push(0);
            for text in texts {
                joined.extend_from_slice(text.as_ref());
                joined.push(0);
            }
            if self.sentences_together(joined, texts.len(), call, out)? {
                take_ends(out, first, ends);
                return Ok(());
            }
        }
        if texts.len() < 2 || !short || !self.takes_texts_together(call.matchers) {
            for text in texts {
                self.ids_with(text.as_ref(), call, out)?;
                ends.push(out.len());
            }
            return Ok(());
        }
        let (mut joined, mut places) = (Vec::with_capacity(bytes), Vec::with_capacity(texts.len()));
        for text in texts {
            joined.extend_from_slice(text.as_ref());
            places.push(joined.len());
            joined.push(TAB);
        }
        self.ids_together(&joined, &places, call, out)?;
        take_ends(out, first, ends);
        Ok(())
    }

    /// Append the ids of several texts that are parts of `text`.
    ///
    /// A part ends at each offset in `ends`, and the next one starts one byte later. [`LINE_END`]
    /// follows the ids of each part that has an end. If the pre-tokenizer splits texts as one, the
    /// byte at each end is a tab. The rest after the last end is one more part.
    fn ids_together(
        &self,
        text: &[u8],
        ends: &[usize],
        call: &mut Call,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let (state, interrupt) = (&mut call.state.lookup, call.interrupt);
        let mut lookup = PreTokenLookup::new(self, text, None, state, out, interrupt);
        let mut places = lookup.places();
        let result = self.pre_tokenizer.split_each(text, ends, &mut places);
        drop(places);
        result.and(lookup.finish())
    }

    /// Return whether pre-tokens of many texts can be looked up together.
    ///
    /// True if all pre-tokens are ranges of the raw text, and unknown words are not fused.
    fn takes_texts_together(&self, matchers: Option<&Matchers>) -> bool {
        let splitting = &self.pre_tokenizer;
        let rewrites = splitting.metaspace().is_some() || splitting.rewrites();
        !found(matchers) && self.normalizers.is_empty() && !rewrites && self.fused().is_none()
    }
}

/// Return whether added tokens must be found in texts.
fn found(matchers: Option<&Matchers>) -> bool {
    matchers.is_some_and(|all| all.raw().is_some() || all.normalized().is_some())
}

/// Iterate over the byte range of each line, without its line feed.
fn lines(block: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = block.get(start..).filter(|rest| !rest.is_empty())?;
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = start..start + length;
        start = line.end + 1;
        Some(line)
    })
}

/// Remove each [`LINE_END`] from index `first` on, and append to `ends` the index where it was.
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
        assert_eq!(found(b"a\n\nbc"), [0..1, 2..2, 3..5]);
    }

    #[test]
    fn ends_are_taken_out_behind_what_was_there() {
        let mut ids = vec![LINE_END, 5, 1, 2, LINE_END, LINE_END, 3, LINE_END];
        let mut ends = vec![2];
        take_ends(&mut ids, 2, &mut ends);
        assert_eq!((ids, ends), (vec![LINE_END, 5, 1, 2, 3], vec![2, 4, 4, 5]));
    }
}
