//! A sentence word by word.
//!
//! Where no piece holds `▁` behind something else, every segmentation of a sentence passes
//! through the places where words begin. The search has one sum at such a place, and nothing
//! else of what lies before it decides what comes behind. So words are searched apart, and
//! those that were met before are known (see `margin`).

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::emit::Emitter;
use super::known::{Known, Step, Word, LONGEST};
use super::{Interrupt, Precision, Segment, Unigram};
use crate::encode::parts::{Cuts, MARK};
use crate::error::{Error, Result};
use crate::normalize::rewrite_spaced;

/// Words between two questions whether to go on.
const PATIENCE: usize = 1 << 14;

/// What calls remember, where sentences can be taken word by word; each call takes one or makes
/// one.
#[derive(Default)]
pub(super) struct Pool(Mutex<Vec<Memory>>);

#[derive(Default)]
struct Memory {
    known: Known,
    /// A word with its `▁`.
    written: Vec<u8>,
    path: Vec<u32>,
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
        self.words.is_some()
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
        let taken = self.words.as_ref().and_then(|pool| pool.lock().pop());
        Sentence {
            model: self,
            memory: taken.unwrap_or_default(),
            sum: 0.0,
            done: 0,
            interrupt,
        }
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Vec<Memory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The words of a sentence that is segmented.
pub struct Sentence<'s> {
    model: &'s Unigram,
    memory: Memory,
    /// The best sum so far, taken down as the search takes it down.
    sum: f64,
    done: usize,
    interrupt: Interrupt<'s>,
}

impl Drop for Sentence<'_> {
    fn drop(&mut self) {
        if let Some(pool) = &self.model.words {
            pool.lock().push(std::mem::take(&mut self.memory));
        }
    }
}

impl Sentence<'_> {
    /// Calls `emit` with the segments of the next word: so many of four. It begins with `▁` unless
    /// it is the first; `spaced`: with U+0020 in its place.
    #[inline]
    pub fn word(
        &mut self,
        word: &[u8],
        spaced: bool,
        mut emit: impl FnMut(&[Segment; 4], usize),
    ) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(PATIENCE) && (self.interrupt)() {
            return Err(Error::Interrupted);
        }
        let memory = &mut self.memory;
        let found = match word.len() {
            ..=LONGEST => match memory.known.get(word) {
                Some(found) => found,
                None => memory.learn(self.model, word, spaced),
            },
            _ => Word::OPEN,
        };
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
        } = &mut self.memory;
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

impl Memory {
    #[cold]
    fn learn(&mut self, model: &Unigram, key: &[u8], spaced: bool) -> Word {
        let word = as_written(key, spaced, &mut self.written);
        if word.len() > LONGEST {
            return Word::OPEN;
        }
        let limit = model.clear_best(word, &mut self.path);
        self.segments.clear();
        self.scores.clear();
        if limit > 0.0 {
            let mut emitter = Emitter::new(model, word, &mut self.segments);
            for &piece in self.path.iter().rev() {
                emitter.push(piece);
                let found = model.pieces.get(piece as usize);
                self.scores
                    .push(found.map_or(model.unknown_score, |piece| piece.score));
            }
            emitter.finish();
        }
        self.known.insert(key, limit, &self.segments, &self.scores)
    }
}

#[cfg(test)]
mod tests {
    use super::super::UnigramOptions;
    use super::*;
    use crate::encode::unigram::Precision;

    fn model(pieces: &[(String, f64)], precision: Precision) -> Unigram {
        let options = UnigramOptions {
            unknown_id: Some(0),
            unknown_score: None,
            byte_ids: None,
            fuse_unknown: true,
            user_defined: Vec::new(),
            precision,
        };
        let pieces = (1..).zip(pieces);
        let pieces = pieces.map(|(id, (text, score))| (text.as_bytes(), id, *score));
        Unigram::new(pieces, options).unwrap()
    }

    /// The segments and the score's bits, of a search through the whole sentence and word by word.
    fn check(model: &Unigram, text: &str) -> (usize, usize) {
        let mut expected = Vec::new();
        let sum = model
            .best_from(0.0, text.as_bytes(), &mut expected, &|| false)
            .unwrap();
        for spaced in [false, true] {
            let (mut out, mut searched, mut words) = (Vec::new(), 0, 0);
            // The second time every word is known.
            for _ in 0..2 {
                let mut sentence = model.sentence(&|| false);
                out.clear();
                Cuts::of(text.as_bytes())
                    .parts(|word| {
                        let key = match spaced {
                            true => String::from_utf8_lossy(word).replace('▁', " ").into_bytes(),
                            false => word.to_vec(),
                        };
                        sentence.word(&key, spaced, |four, count| {
                            out.extend_from_slice(&four[..count]);
                        })?;
                        let known = sentence.memory.known.get(&key);
                        words += 1;
                        searched +=
                            usize::from(known.is_none_or(|w| !w.holds_behind(sentence.sum)));
                        Ok::<(), Error>(())
                    })
                    .unwrap();
                assert_eq!(sentence.sum.to_bits(), sum.0.to_bits(), "{text}");
                assert_eq!(out, expected, "{text}");
            }
            if spaced {
                return (words, searched);
            }
        }
        (0, 0)
    }

    #[test]
    fn near_ties_are_decided_as_in_the_whole_sentence() {
        let mut state = 11u64;
        let mut below = |end: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) as usize % end
        };
        let (mut words, mut searched) = (0, 0);
        for round in 0..200 {
            let precision = [Precision::Single, Precision::Double][round % 2];
            let mut pieces: Vec<(String, f64)> = Vec::new();
            for mark in ["", "▁", "▁▁"] {
                for length in 0..4u32 {
                    for bits in 0..1usize << length {
                        let letter = |at| ["a", "é"][bits >> at & 1];
                        let word: String = (0..length).map(letter).collect();
                        let text = format!("{mark}{word}");
                        if text.is_empty() || (below(4) == 0 && text != "▁") {
                            continue;
                        }
                        // Sums of equal lengths are equal, but for a few last places.
                        let characters = text.chars().count() as f64;
                        let base = [-1.25, -3.3, -0.1][round / 2 % 3] * characters;
                        let step = match precision {
                            Precision::Single => f64::from(f32::EPSILON),
                            Precision::Double => f64::EPSILON,
                        };
                        let off = [0.0, 1.0, -1.0, 3.0, 1e3, 1e5][below(6)];
                        pieces.push((text, base * (1.0 + off * step)));
                    }
                }
            }
            let model = model(&pieces, precision);
            assert!(model.has_word_by_word());
            let parts = [
                "a",
                "é",
                "▁",
                "▁a",
                "▁aé",
                "aa",
                "x",
                "▁xy",
                "▁éaéa",
                "▁aaaa",
            ];
            let length = [5, 40, 2000][below(3)];
            let text: String = (0..length).map(|_| parts[below(10)]).collect();
            let counts = check(&model, &text);
            words += counts.0;
            searched += counts.1;
        }
        // Both ways were gone.
        assert!(
            searched > words / 50 && searched < words,
            "{searched} {words}"
        );
    }

    #[test]
    fn sums_are_taken_down_at_the_same_places() {
        for score in [-900.0, -33_333.3, -250_000.0, -1e30] {
            let pieces = ["▁", "a", "▁a", "aa", "▁b"];
            let scores = (0..).map(|n| score * (1.0 + f64::from(n) / 1024.0));
            let pieces: Vec<_> = pieces.map(String::from).into_iter().zip(scores).collect();
            let model = model(&pieces, Precision::Single);
            check(&model, &"▁aaa▁b▁aa▁▁x".repeat(300));
        }
    }

    #[test]
    fn pieces_over_two_words_forbid_it() {
        let make = |texts: &[&str]| {
            let pieces: Vec<_> = texts.iter().map(|t| (t.to_string(), -1.0)).collect();
            model(&pieces, Precision::Single).has_word_by_word()
        };
        assert!(make(&["▁", "a", "▁a", "▁▁"]));
        assert!(!make(&["a", "▁a"]), "the mark can be unknown");
        assert!(!make(&["▁", "a▁"]));
        let piece = [(&b"a"[..], 0), ("▁".as_bytes(), 1)];
        assert!(
            !Unigram::has_words(piece.into_iter(), 0),
            "a piece that is unknown"
        );
    }
}
