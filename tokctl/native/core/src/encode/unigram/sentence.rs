//! A sentence word by word.
//!
//! Where no piece holds `▁` behind something else, every segmentation of a sentence passes
//! through the places where words begin. The search has one sum at such a place, and nothing
//! else of what lies before it decides what comes behind. So words are searched one by one,
//! and those that were met before are cached (see `margin`).

use std::sync::atomic::Ordering;

use super::margin::{BestPath, NEAR, STEP};
use super::word_cache::{CachedWord, WordCache, WordStep, LONGEST};
use super::{Emitter, Precision, Unigram};
use crate::encode::borders::Borders;
use crate::encode::cache::CacheStats;
use crate::encode::word_starts::{WordStarts, MARK};
use crate::encode::Segment;
use crate::error::{Error, Result};
use crate::lock_free::{self, PoolGuard};
use crate::model::NO_ID;
use crate::normalize::rewrite_spaced;
use crate::Interrupt;

/// Words between two polls of the interrupt.
const POLL_EVERY: usize = 1 << 14;

/// Caches and working memory of calls that take sentences word by word; each call takes one or
/// makes one.
pub(crate) type SentencePool = lock_free::Pool<SentenceState>;

#[derive(Default)]
pub(crate) struct SentenceState {
    known: WordCache,
    /// A word with its `▁`.
    written: Vec<u8>,
    best: BestPath,
    segments: Vec<Segment>,
    scores: Vec<f64>,
}

impl Unigram {
    /// Can no unknown stretch, and no piece, reach over the start of a word?
    pub(crate) fn has_words<'t>(
        mut pieces: impl Iterator<Item = (&'t [u8], u32)>,
        unknown_id: u32,
    ) -> bool {
        let mut mark = false;
        let independent = pieces.all(|(text, id)| {
            mark |= text == MARK;
            id != unknown_id && WordStarts::of(text).next().is_none()
        });
        independent && mark
    }

    /// Where sentences can be taken word by word: the words' borders.
    pub(crate) fn by_words(&self) -> Option<&Borders> {
        self.by_words.as_ref()
    }

    /// Appends the best segmentation of a text of several words.
    pub(crate) fn word_by_word(
        &self,
        text: &[u8],
        out: &mut Vec<Segment>,
        interrupt: Interrupt,
    ) -> Result<()> {
        let first = out.len();
        let mut sentence = self.sentence(interrupt);
        let result = WordStarts::of(text).parts(|word| {
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

    /// Says how many bytes each thread may use to remember words.
    pub(crate) fn set_cache_memory(&self, bytes: usize) {
        self.cache_memory.store(bytes, Ordering::Relaxed);
        while self.words.take().is_some() {}
    }

    /// What all threads that are not at work remember.
    pub(crate) fn cache_stats(&self) -> CacheStats {
        let mut all = CacheStats::default();
        (self.words).each(|state| all = all + state.known.stats());
        all
    }

    /// A sentence whose words are still to come.
    pub fn sentence<'s>(&'s self, interrupt: Interrupt<'s>) -> Sentence<'s> {
        let mut state = self.words.acquire(SentenceState::default);
        let memory = self.cache_memory.load(Ordering::Relaxed);
        state.known.set_memory(memory);
        Sentence {
            model: self,
            state,
            sum: 0.0,
            done: 0,
            interrupt,
        }
    }
}

/// The words of a sentence that is segmented.
pub struct Sentence<'s> {
    model: &'s Unigram,
    state: PoolGuard<'s, SentenceState>,
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
            None => self.state.learn(self.model, word, spaced),
        };
        self.known_word(found, word, spaced, emit)
    }

    /// The same of a word whose entry was found.
    #[inline]
    pub(crate) fn known_word(
        &mut self,
        found: CachedWord,
        word: &[u8],
        spaced: bool,
        mut emit: impl FnMut(&[Segment; 4], usize),
    ) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(POLL_EVERY) && (self.interrupt)() {
            return Err(Error::Interrupted);
        }
        let state = &mut *self.state;
        if !found.holds_behind(self.sum) {
            return self.search(word, spaced, emit);
        }
        let mut left = usize::from(found.segments);
        for four in state.known.steps(found) {
            emit(&four.map(|step| step.segment), left.min(4));
            left = left.saturating_sub(4);
            self.sum = match self.model.precision {
                // Of numbers of 32 bits, as in `Precision::round`.
                Precision::Single => {
                    let add = |sum: f32, step: &WordStep| sum + step.score as f32;
                    f64::from(four.iter().fold(self.sum as f32, add))
                }
                Precision::Double => four.iter().fold(self.sum, |sum, step| sum + step.score),
            };
        }
        Ok(())
    }

    /// Appends the ids of a word, with U+0020 for each `▁`, if they are the same behind any sum,
    /// and their scores follow from them; see [`Self::add`]. It doesn't count as one of the sentence yet. Not
    /// for a word that [`Self::knows`].
    pub fn anywhere(&mut self, word: &[u8], out: &mut Vec<u32>) -> bool {
        let model = self.model;
        let Some(id_scores) = &model.id_scores else {
            return false;
        };
        let state = &mut *self.state;
        let best = &mut state.best;
        if word.len() > LONGEST || !model.best_with_margin(word, true, STEP, best).anywhere() {
            return false;
        }
        let first = out.len();
        let ids = best.path.iter().rev();
        out.extend(ids.map(|&piece| id_scores.id(piece)));
        if !out[first..].contains(&NO_ID) {
            return true;
        }
        out.truncate(first);
        let word = as_written(word, true, &mut state.written);
        let (segments, scores) = (&mut state.segments, &mut state.scores);
        take_path(model, word, &state.best.path, segments, scores);
        if !id_scores.match_scores(segments, scores) {
            return false;
        }
        out.extend(segments.iter().map(|segment| segment.id));
        true
    }

    /// The entry of a word that was here before; its ids do not go [`Self::anywhere`].
    pub(crate) fn knows(&mut self, word: &[u8]) -> Option<CachedWord> {
        match word.len() {
            ..=LONGEST => self.state.known.get(word),
            _ => Some(CachedWord::UNCACHED),
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
        let Some(id_scores) = &self.model.id_scores else {
            return ids.is_empty();
        };
        let sum = id_scores.sum(self.sum as f32, ids);
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
        let SentenceState {
            segments, written, ..
        } = &mut *self.state;
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
        let score = model.scores.get(piece as usize);
        scores.push(score.copied().unwrap_or(model.unknown_score));
    }
    emitter.finish();
}

impl SentenceState {
    #[cold]
    fn learn(&mut self, model: &Unigram, key: &[u8], spaced: bool) -> CachedWord {
        if key.len() > LONGEST {
            return CachedWord::UNCACHED;
        }
        let limit = model
            .best_with_margin(key, spaced, 0.0, &mut self.best)
            .limit(model.precision);
        self.segments.clear();
        self.scores.clear();
        if limit > 0.0 {
            let word = as_written(key, spaced, &mut self.written);
            take_path(
                model,
                word,
                &self.best.path,
                &mut self.segments,
                &mut self.scores,
            );
        }
        self.known.insert(key, limit, &self.segments, &self.scores)
    }
}

/// An id above this has no score here. No vocabulary is so large.
const MAX_IDS: usize = 1 << 24;

/// By id, what it adds to a sum: the score of its piece, or the unknown one's for the first of a
/// character's bytes. Different pieces may have the same id: see [`Self::match_scores`].
pub(crate) struct IdScores {
    scores: Vec<f32>,
    /// By piece, its id where the id's score is that of the piece; else [`NO_ID`].
    ids: Vec<u32>,
}

impl IdScores {
    pub(crate) fn new(
        pieces: impl Iterator<Item = (u32, f64)> + Clone,
        unknown: (u32, f64),
        byte_ids: Option<&[u32; 256]>,
    ) -> Self {
        let mut scores = Vec::new();
        let mut set = |id: u32, score: f64| {
            let at = id as usize;
            if id != NO_ID && at < MAX_IDS {
                if at >= scores.len() {
                    scores.resize(at + 1, 0.0);
                }
                scores[at] = score as f32;
            }
        };
        for (byte, &id) in byte_ids.into_iter().flatten().enumerate() {
            let goes_on = byte & 0xC0 == 0x80;
            set(id, if goes_on { 0.0 } else { unknown.1 });
        }
        set(unknown.0, unknown.1);
        (pieces.clone()).for_each(|(id, score)| set(id, score));
        let mut all = IdScores {
            scores,
            ids: Vec::new(),
        };
        let id = |(id, score): (u32, f64)| match all.score(id) == score as f32 {
            // Unknown ones in a row may be one.
            true if id != unknown.0 => id,
            _ => NO_ID,
        };
        all.ids = pieces.map(id).collect();
        all
    }

    #[inline]
    fn score(&self, id: u32) -> f32 {
        self.scores.get(id as usize).copied().unwrap_or(0.0)
    }

    /// The id of a piece that stands for no unknown character, where [`Self::sum`] is right for it.
    #[inline]
    fn id(&self, piece: u32) -> u32 {
        self.ids.get(piece as usize).copied().unwrap_or(NO_ID)
    }

    /// Are these the scores of the segments' ids, in this order? (One of 0 adds nothing.)
    pub(crate) fn match_scores(&self, segments: &[Segment], scores: &[f64]) -> bool {
        let id_scores = segments.iter().map(|segment| self.score(segment.id));
        let scores = scores.iter().map(|&score| score as f32);
        let counts = |score: &f32| *score != 0.0;
        id_scores.filter(counts).eq(scores.filter(counts))
    }

    /// The sum behind these ids; None where one of them begins at a sum that is not [`NEAR`].
    #[inline]
    pub(crate) fn sum(&self, before: f32, ids: &[u32]) -> Option<f32> {
        let (mut sum, mut far) = (before, false);
        for &id in ids {
            far |= sum.abs() > NEAR;
            sum += self.score(id);
        }
        (!far).then_some(sum)
    }
}

#[cfg(test)]
#[path = "sentence_tests.rs"]
mod tests;
