//! Segmentation of a sentence word by word.
//!
//! If no piece contains `▁` after another character, every segmentation of a sentence passes
//! through the offsets where words begin. The search has one sum at such an offset, and nothing
//! else from before it affects the segmentation after it. So words are searched one by one, and
//! words seen before are cached (see `margin`).

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

/// A word cache and the working memory of a search.
#[derive(Default)]
pub(crate) struct SentenceState {
    known: WordCache,
    /// Buffer for a word with its `▁` written out.
    written: Vec<u8>,
    best: BestPath,
    segments: Vec<Segment>,
    scores: Vec<f64>,
}

impl Unigram {
    /// Return whether no unknown stretch and no piece crosses the start of a word.
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

    /// Return the cut points inside words, if sentences can be taken word by word.
    pub(crate) fn by_words(&self) -> Option<&Borders> {
        self.by_words.as_ref()
    }

    /// Append the best segmentation of a text of several words.
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

    /// Set how many bytes each thread may use to cache words, and drop the caches.
    pub(crate) fn set_cache_memory(&self, bytes: usize) {
        self.cache_memory.store(bytes, Ordering::Relaxed);
        while self.words.take().is_some() {}
    }

    /// Return the size of the word caches of all threads that are not at work.
    pub(crate) fn cache_stats(&self) -> CacheStats {
        let mut all = CacheStats::default();
        (self.words).each(|state| all = all + state.known.stats());
        all
    }

    /// Start a sentence, whose words follow.
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

/// A sentence that is segmented word by word.
pub struct Sentence<'s> {
    model: &'s Unigram,
    state: PoolGuard<'s, SentenceState>,
    /// The best sum so far, rebased where the search would rebase it.
    sum: f64,
    /// Number of words taken.
    done: usize,
    interrupt: Interrupt<'s>,
}

impl Sentence<'_> {
    /// Call `emit` with the segments of the next word, in arrays of four with the count of valid
    /// ones.
    ///
    /// The word begins with `▁` unless it is the first. If `spaced`, U+0020 stands for `▁`.
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

    /// Like [`Self::word`], for a word whose entry was found.
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
                // Add 32-bit numbers, as in `Precision::round`.
                Precision::Single => {
                    let add = |sum: f32, step: &WordStep| sum + step.score as f32;
                    f64::from(four.iter().fold(self.sum as f32, add))
                }
                Precision::Double => four.iter().fold(self.sum, |sum, step| sum + step.score),
            };
        }
        Ok(())
    }

    /// Append the ids of a word if they are valid after any sum and give the scores of the word;
    /// see [`Self::add`].
    ///
    /// `word` has U+0020 for each `▁`. The word does not count as part of the sentence yet. Not for
    /// a word that [`Self::knows`].
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

    /// Return the entry of a word that was seen before and is not [`Self::anywhere`].
    pub(crate) fn knows(&mut self, word: &[u8]) -> Option<CachedWord> {
        match word.len() {
            ..=LONGEST => self.state.known.get(word),
            _ => Some(CachedWord::UNCACHED),
        }
    }

    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Set the sum back to an earlier value.
    pub fn set_sum(&mut self, sum: f64) {
        self.sum = sum;
    }

    /// Count words that are [`Self::anywhere`] as part of the sentence, given by their ids.
    ///
    /// Returns false, and does nothing, if the sum could have been rebased on the way.
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

    /// Search the word from the current sum, without the cache.
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

/// Return the word with `▁` for each U+0020 if it is `spaced`.
fn as_written<'w>(word: &'w [u8], spaced: bool, written: &'w mut Vec<u8>) -> &'w [u8] {
    if !spaced {
        return word;
    }
    written.clear();
    rewrite_spaced(word, written);
    written
}

/// Collect the segments of a path, and the scores of its pieces.
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
    /// Find the margin of a word and add its entry to the cache.
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

/// Ids from this limit on have no score in [`IdScores`].
///
/// No vocabulary is so large.
const MAX_IDS: usize = 1 << 24;

/// The number that each token id adds to a sum: the score of its piece.
///
/// Of the byte tokens of an unknown character, the first adds the unknown score, the others 0.
/// Different pieces may have the same id; see [`Self::match_scores`].
pub(crate) struct IdScores {
    scores: Vec<f32>,
    /// By piece: its id, if the id's score equals the piece's score; else [`NO_ID`].
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
            // Unknown characters in a row may be fused.
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

    /// Return the id of an ordinary piece, or [`NO_ID`] if [`Self::sum`] would be wrong for it.
    #[inline]
    fn id(&self, piece: u32) -> u32 {
        self.ids.get(piece as usize).copied().unwrap_or(NO_ID)
    }

    /// Return whether the scores of the segments' ids are `scores`, in this order.
    ///
    /// Scores of 0 are ignored.
    pub(crate) fn match_scores(&self, segments: &[Segment], scores: &[f64]) -> bool {
        let id_scores = segments.iter().map(|segment| self.score(segment.id));
        let scores = scores.iter().map(|&score| score as f32);
        let counts = |score: &f32| *score != 0.0;
        id_scores.filter(counts).eq(scores.filter(counts))
    }

    /// Return the sum after these ids, or `None` if one of them begins at a sum beyond [`NEAR`].
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
