//! Counts of runs of words, the candidates for superwords.
//!
//! A run is two or more adjacent pre-tokens, each of which is a word that has an id. A run is
//! counted as the ids of its words, four bytes each, so that the tables, the temporary files and
//! the order of pre-tokens also work for runs.

use hashbrown::HashMap;

use super::counter::Stretch;
use super::spilling::Tally;
use crate::error::Result;
use crate::packed::{Key, LONGEST};
use crate::pretokenize::{is_word, PreTokenizer};

/// Bytes of an id.
const ID: usize = 4;

/// Runs between two checks whether the table is full.
const CHECK_EVERY: u32 = 1 << 12;

/// Words that runs consist of, with their ids.
#[derive(Default)]
pub struct RunWords {
    short: HashMap<Key, u32>,
    long: HashMap<Vec<u8>, u32>,
}

impl RunWords {
    /// Create the set from tokens with their ids; tokens that are not words are left out.
    pub fn new<'t>(tokens: impl Iterator<Item = (&'t [u8], u32)>) -> Self {
        let mut words = RunWords::default();
        for (token, id) in tokens.filter(|(token, _)| is_word(token)) {
            match Key::short(token) {
                Some(key) => words.short.insert(key, id),
                None => words.long.insert(token.to_vec(), id),
            };
        }
        words
    }

    #[inline]
    fn id(&self, text: &[u8], start: usize, end: usize) -> Option<u32> {
        match end - start {
            1..=LONGEST => self.short.get(&Key::of_range(text, start, end)),
            _ => self.long.get(&text[start..end]),
        }
        .copied()
    }

    /// Count the runs of a stretch of text.
    pub(super) fn count(
        &self,
        stretch: &Stretch,
        pre_tokenizer: &PreTokenizer,
        tally: &mut Tally,
    ) -> Result<()> {
        let mut runs = OpenRun {
            ids: Vec::new(),
            start: 0,
            added: 0,
            stretch,
            tally,
            result: Ok(()),
        };
        if pre_tokenizer.rewrites() {
            let splits = pre_tokenizer.run(stretch.text, stretch.opens.into())?;
            for &(start, end) in &splits.ranges {
                runs.take(self.id(&splits.text, start, end), start);
            }
        } else {
            let text = stretch.text;
            pre_tokenizer.split(text, |start, end| {
                runs.take(self.id(text, start, end), start);
            })?;
        }
        runs.end();
        runs.result?;
        tally.check()
    }
}

/// Run of the last pre-tokens, which is added to the table at its end.
struct OpenRun<'r> {
    ids: Vec<u8>,
    /// Start of the run in the text.
    start: usize,
    added: u32,
    stretch: &'r Stretch<'r>,
    tally: &'r mut Tally,
    result: Result<()>,
}

impl OpenRun<'_> {
    #[inline]
    fn take(&mut self, id: Option<u32>, start: usize) {
        let Some(id) = id else { return self.end() };
        if self.ids.is_empty() {
            self.start = start;
        }
        self.ids.extend_from_slice(&id.to_le_bytes());
    }

    #[inline]
    fn end(&mut self) {
        if self.ids.len() > ID {
            let first = self.stretch.first + self.start as u64;
            (self.tally.table).add(&self.ids, self.stretch.weight, first);
            self.added += 1;
            if self.added.is_multiple_of(CHECK_EVERY) && self.result.is_ok() {
                self.result = self.tally.check();
            }
        }
        self.ids.clear();
    }
}

/// Return the ids of a counted run.
pub fn run_ids(run: &[u8]) -> impl Iterator<Item = u32> + '_ {
    let ids = run.chunks_exact(ID);
    ids.map(|id| u32::from_le_bytes(id.try_into().expect("four bytes")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::count::Counter;
    use crate::normalize::Chain;
    use crate::pretokenize::Scanner;

    fn runs(text: &[u8], block: usize, threads: usize) -> Vec<(Vec<u32>, u64)> {
        let words = ["the", " the", " of", " sea", " understandably", ".", " 1"];
        let words = (0..).zip(words).map(|(id, word)| (word.as_bytes(), id));
        let counter = Counter::new(Scanner::O200k.into(), Chain::default(), threads);
        let mut counter = counter.of_runs(Arc::new(RunWords::new(words)));
        for block in text.chunks(block) {
            counter.feed(block).unwrap();
        }
        let counts = counter.finish(1).unwrap();
        counts
            .iter()
            .map(|(run, count)| (run_ids(run).collect(), count))
            .collect()
    }

    #[test]
    fn runs_end_at_what_is_no_word_or_no_token() {
        let text = b"the sea of the. of the the other of understandably\n the sea of 1 of";
        let found = runs(text, text.len(), 1);
        let expected = [
            (vec![0, 3, 2, 1], 1),
            (vec![2, 1, 1], 1),
            (vec![2, 4], 1),
            (vec![1, 3, 2], 1),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn runs_do_not_depend_on_blocks_or_threads() {
        let text =
            "the sea of the sea of the, of the\nthe of of the sea the 1.5 of the\n".repeat(9000);
        let whole = runs(text.as_bytes(), text.len(), 1);
        assert_eq!(whole.len(), 3);
        for (block, threads) in [(7, 1), (4096, 2), (300_001, 3)] {
            assert_eq!(runs(text.as_bytes(), block, threads), whole);
        }
    }
}
