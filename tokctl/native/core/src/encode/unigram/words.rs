//! A sentence word by word.
//!
//! Where no piece holds `▁` behind something else, every segmentation of a sentence passes
//! through the places where words begin. The search has one sum at such a place, and nothing
//! else of what lies before it decides what comes behind. So words are searched apart, and
//! those that were met before are known (see `margin`).

use super::emit::Emitter;
use super::known::{Known, Step, Word, LONGEST};
use super::margin::{Ways, STEP};
use super::{Interrupt, Precision, Segment, Unigram};
use crate::encode::parts::{Cuts, MARK};
use crate::error::{Error, Result};
use crate::lock_free::{self, Lent};
use crate::normalize::rewrite_spaced;

/// Words between two questions whether to go on.
const PATIENCE: usize = 1 << 14;

/// What calls remember, where sentences can be taken word by word; each call takes one or makes
/// one.
pub(super) type Pool = lock_free::Pool<Memory>;

#[derive(Default)]
pub(super) struct Memory {
    known: Known,
    /// A word with its `▁`.
    written: Vec<u8>,
    ways: Ways,
    segments: Vec<Segment>,
    scores: Vec<f64>,
}

impl Unigram {
    /// Can no unknown stretch, and no piece, reach over the start of a word?
    pub(super) fn has_words<'t>(
        mut pieces: impl Iterator<Item = (&'t [u8], u32)>,
        unknown_id: u32,
    ) -> bool {
        let mut mark = false;
        let apart = pieces.all(|(text, id)| {
            mark |= text == MARK;
            id != unknown_id && Cuts::of(text).next().is_none()
        });
        apart && mark
    }

    /// Can sentences be taken word by word?
    pub fn has_word_by_word(&self) -> bool {
        self.has_words
    }

    /// Appends the best segmentation of a text of several words.
    pub(super) fn word_by_word(
        &self,
        text: &[u8],
        out: &mut Vec<Segment>,
        interrupt: Interrupt,
    ) -> Result<()> {
        let first = out.len();
        let mut sentence = self.sentence(interrupt);
        let result = Cuts::of(text).parts(|word| {
            sentence.word(word, false, |four, count| {
                let end = out.len() + count;
                out.extend_from_slice(four);
                out.truncate(end);
            })
        });
        if result.is_err() {
            out.truncate(first);
        }
        result
    }

    /// A sentence whose words are still to come.
    pub fn sentence<'s>(&'s self, interrupt: Interrupt<'s>) -> Sentence<'s> {
        Sentence {
            model: self,
            memory: self.words.lend(),
            sum: 0.0,
            done: 0,
            interrupt,
        }
    }
}

/// The words of a sentence that is segmented.
pub struct Sentence<'s> {
    model: &'s Unigram,
    memory: Lent<'s, Memory>,
    /// The best sum so far, taken down as the search takes it down.
    sum: f64,
    done: usize,
    interrupt: Interrupt<'s>,
}

impl Sentence<'_> {
    /// Calls `emit` with the segments of the next word: so many of four. It begins with `▁` unless
    /// it is the first; `spaced`: with U+0020 in its place.
    #[inline]
    pub fn word(
        &mut self,
        word: &[u8],
        spaced: bool,
        emit: impl FnMut(&[Segment; 4], usize),
    ) -> Result<()> {
        let found = match self.knows(word) {
            Some(found) => found,
            None => self.memory.learn(self.model, word, spaced),
        };
        self.known_word(found, word, spaced, emit)
    }

    /// The same of a word of which this is known.
    #[inline]
    pub(in crate::encode) fn known_word(
        &mut self,
        found: Word,
        word: &[u8],
        spaced: bool,
        mut emit: impl FnMut(&[Segment; 4], usize),
    ) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(PATIENCE) && (self.interrupt)() {
            return Err(Error::Interrupted);
        }
        let memory = &mut *self.memory;
        if !found.holds_behind(self.sum) {
            return self.search(word, spaced, emit);
        }
        let mut left = usize::from(found.segments);
        for four in memory.known.steps(found) {
            emit(&four.map(|step| step.segment), left.min(4));
            left = left.saturating_sub(4);
            self.sum = match self.model.precision {
                // Of numbers of 32 bits, as in `Precision::round`.
                Precision::Single => {
                    let add = |sum: f32, step: &Step| sum + step.score as f32;
                    f64::from(four.iter().fold(self.sum as f32, add))
                }
                Precision::Double => four.iter().fold(self.sum, |sum, step| sum + step.score),
            };
        }
        Ok(())
    }

    /// Appends the ids of a word, with U+0020 for each `▁`, if they are the same behind any sum,
    /// and tell the scores; see [`Self::add`]. It doesn't count as one of the sentence yet. Not
    /// for a word that [`Self::knows`].
    pub fn anywhere(&mut self, word: &[u8], out: &mut Vec<u32>) -> bool {
        let model = self.model;
        let Some(told) = &model.told else {
            return false;
        };
        let memory = &mut *self.memory;
        let word = as_written(word, true, &mut memory.written);
        if word.len() > LONGEST || !model.clear_best(word, STEP, &mut memory.ways).anywhere() {
            return false;
        }
        let (segments, scores) = (&mut memory.segments, &mut memory.scores);
        take_path(model, word, &memory.ways.path, segments, scores);
        if !told.tells(segments, scores) {
            return false;
        }
        out.extend(segments.iter().map(|segment| segment.id));
        true
    }

    /// Was a word here before? Then its ids do not go [`Self::anywhere`].
    pub(in crate::encode) fn knows(&self, word: &[u8]) -> Option<Word> {
        match word.len() {
            ..=LONGEST => self.memory.known.get(word),
            _ => Some(Word::OPEN),
        }
    }

    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Goes back to a sum of before.
    pub fn set_sum(&mut self, sum: f64) {
        self.sum = sum;
    }

    /// Counts words whose ids are the same anywhere. False where the sum could have been taken
    /// down on the way: then nothing happened.
    #[inline]
    pub fn add(&mut self, ids: &[u32]) -> bool {
        let Some(told) = &self.model.told else {
            return ids.is_empty();
        };
        let sum = told.sum(self.sum as f32, ids);
        if let Some(sum) = sum {
            self.sum = f64::from(sum);
        }
        sum.is_some()
    }

    /// As the search does it from here.
    #[cold]
    fn search(
        &mut self,
        word: &[u8],
        spaced: bool,
        mut emit: impl FnMut(&[Segment; 4], usize),
    ) -> Result<()> {
        let Memory {
            segments, written, ..
        } = &mut *self.memory;
        segments.clear();
        let word = as_written(word, spaced, written);
        let (sum, _) = self
            .model
            .best_from(self.sum, word, segments, self.interrupt)?;
        self.sum = sum;
        for few in segments.chunks(4) {
            let four = std::array::from_fn(|at| few[at.min(few.len() - 1)]);
            emit(&four, few.len());
        }
        Ok(())
    }
}

fn as_written<'w>(word: &'w [u8], spaced: bool, written: &'w mut Vec<u8>) -> &'w [u8] {
    if !spaced {
        return word;
    }
    written.clear();
    rewrite_spaced(word, written);
    written
}

/// The segments of a path, and the scores of its pieces.
fn take_path(
    model: &Unigram,
    word: &[u8],
    path: &[u32],
    segments: &mut Vec<Segment>,
    scores: &mut Vec<f64>,
) {
    segments.clear();
    scores.clear();
    let mut emitter = Emitter::new(model, word, segments);
    for &piece in path.iter().rev() {
        emitter.push(piece);
        let found = model.pieces.get(piece as usize);
        scores.push(found.map_or(model.unknown_score, |piece| piece.score));
    }
    emitter.finish();
}

impl Memory {
    #[cold]
    fn learn(&mut self, model: &Unigram, key: &[u8], spaced: bool) -> Word {
        let word = as_written(key, spaced, &mut self.written);
        if word.len() > LONGEST {
            return Word::OPEN;
        }
        let limit = model
            .clear_best(word, 0.0, &mut self.ways)
            .limit(model.precision);
        self.segments.clear();
        self.scores.clear();
        if limit > 0.0 {
            let word = as_written(key, spaced, &mut self.written);
            take_path(
                model,
                word,
                &self.ways.path,
                &mut self.segments,
                &mut self.scores,
            );
        }
        self.known.insert(key, limit, &self.segments, &self.scores)
    }
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
