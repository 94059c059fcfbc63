//! Models in SentencePiece's way, word by word.
//!
//! Where the normalizers only end in what SentencePiece does with spaces, nothing splits the
//! text, and no token reaches over the start of a word, words are found in the text before its
//! spaces are rewritten. Only a word that is new to the cache is.

use super::encoder::{Encoder, Work, BLOCK};
use super::segmenter::Segmenter;
use super::spaced::Spaced;
use crate::error::Result;
use crate::normalize::{Chain, Edges, Tidy};
use crate::pretokenize::{safe_cut, PreTokenizer};

/// The steps whose work is done word by word, if that gives what it should.
pub(super) fn tidy(
    normalizers: &Chain,
    pre_tokenizer: &PreTokenizer,
    segmenter: &Segmenter,
) -> Option<Tidy> {
    let apart = match segmenter {
        Segmenter::Merges(merging) => merging.in_parts,
        Segmenter::Unigram(unigram) => unigram.has_word_by_word(),
        _ => false,
    };
    let whole = pre_tokenizer.steps().is_empty();
    normalizers.tidy().filter(|_| apart && whole)
}

impl Encoder {
    /// The ids of a stretch that is not normalized yet.
    pub(super) fn sentence_ids(
        &self,
        tidy: Tidy,
        stretch: &[u8],
        work: &mut Work,
        out: &mut Vec<u32>,
    ) -> Result<()> {
        let mut words = Spaced::new(&self.segmenter, &mut work.memory.ids, out, work.interrupt);
        self.each_word(tidy, stretch, |text, start, end| {
            words.push(text, start, end)
        })?;
        words.finish()
    }

    /// Calls `emit(text, start, end)` for every word, U+0020 for each `▁` in front, until one
    /// fails.
    fn each_word(
        &self,
        tidy: Tidy,
        stretch: &[u8],
        mut emit: impl FnMut(&[u8], usize, usize) -> Result<()>,
    ) -> Result<()> {
        let mut words = tidy.words();
        let can_be_cut = || self.normalizers.before_tidy_cuts_before_space();
        if stretch.len() <= BLOCK || !*self.tidy_in_blocks.get_or_init(can_be_cut) {
            let text = self.normalizers.apply_before_tidy(stretch, Edges::WHOLE)?;
            words.feed(&text, true, emit)?;
            return Ok(());
        }
        // What may be the start of a word.
        let mut waiting: Vec<u8> = Vec::new();
        let mut wanted = 0;
        let mut from = 0;
        while from < stretch.len() {
            let to = safe_cut(stretch, from + BLOCK).unwrap_or(stretch.len());
            let edges = Edges {
                start: from == 0,
                end: to == stretch.len(),
            };
            let block = self
                .normalizers
                .apply_before_tidy(&stretch[from..to], edges)?;
            waiting.extend_from_slice(&block);
            // A long word is not looked through again for each block.
            if waiting.len() >= wanted || edges.end {
                let done = words.feed(&waiting, edges.end, &mut emit)?;
                waiting.drain(..done);
                wanted = 2 * waiting.len();
            }
            from = to;
        }
        Ok(())
    }
}
