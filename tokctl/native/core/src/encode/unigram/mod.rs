//! Segmentation by a unigram language model (Kudo 2018): the most probable sequence of pieces, the
//! n most probable ones, or one drawn at random.
//!
//! The definition is SentencePiece's `unigram_model.cc` (version 0.2.3) and, with
//! [`Precision::Double`], Hugging Face's `models/unigram`. Both score a segmentation by the sum of
//! its pieces' scores, and walk the text character by character. A character that is not a piece is
//! offered as unknown, with a score 10 below the lowest: SentencePiece takes the lowest score of
//! the pieces, Hugging Face of all tokens.

mod margin;
mod nbest;
mod sample;
mod sentence;
mod viterbi;
mod word_cache;

use std::sync::atomic::AtomicUsize;

use super::borders::Borders;
use super::cache::CacheMemory;
use super::segmenter::{check_length, Segment};
use super::word_starts::WordStarts;
use crate::error::{Error, Result};
use crate::model::{CharTrie, NO_ID};
use crate::{unicode, Interrupt};
use margin::NEAR;
pub(crate) use sentence::Sentence;
pub(crate) use word_cache::CachedWord;

/// Distance of an unknown character's score below the lowest score.
pub(super) const UNKNOWN_PENALTY: f64 = 10.0;

/// The library whose arithmetic decides between segmentations that are nearly equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// SentencePiece: scores and sums are rounded to 32 bits.
    ///
    /// Versions up to 0.2.2 compared some sums before rounding them, and break a few ties
    /// differently.
    Single,
    /// Hugging Face: 64 bits throughout.
    ///
    /// Hugging Face also looks up an unknown stretch as a whole. If the stretch is a piece, though
    /// not on the best path, it gets the piece's id.
    Double,
}

/// Options of a [`Unigram`] model.
#[derive(Debug, Clone)]
pub struct UnigramOptions {
    /// Id of the unknown token; `None` leaves [`NO_ID`] in the output.
    pub unknown_id: Option<u32>,
    /// Score of an unknown character; `None` means 10 below the lowest score of the pieces.
    pub unknown_score: Option<f64>,
    /// Ids of the tokens of the 256 bytes: an unknown stretch becomes one token per byte, unless
    /// one of these tokens is [`NO_ID`].
    ///
    /// Each token covers its own byte; Hugging Face gives each token the span of the whole stretch.
    pub byte_ids: Option<Box<[u32; 256]>>,
    /// Whether a run of unknown characters is one unknown token, as in both libraries.
    pub fuse_unknown: bool,
    /// SentencePiece's user-defined pieces with their ids.
    ///
    /// They score 0.1 for each byte after the first: more than ordinary pieces, and most for the
    /// longest.
    pub user_defined: Vec<(Vec<u8>, u32)>,
    pub precision: Precision,
}

struct Piece {
    id: u32,
    /// Length in bytes.
    length: u32,
}

/// A unigram language model that segments pre-tokens.
pub struct Unigram {
    /// Maps texts to indices into `pieces` and `scores`.
    trie: CharTrie,
    pieces: Vec<Piece>,
    scores: Vec<f64>,
    /// `scores` rounded to 32 bits, if they are not yet.
    scores_32: Vec<f32>,
    /// Index of the first user-defined piece.
    first_user_defined: usize,
    /// Scores of the user-defined pieces in a lattice.
    user_defined_scores: Vec<f64>,
    unknown_id: u32,
    unknown_score: f64,
    byte_ids: Option<Box<[u32; 256]>>,
    fuse_unknown: bool,
    precision: Precision,
    /// Cut points inside words; `None` if words can't be searched one by one.
    by_words: Option<Borders>,
    words: sentence::SentencePool,
    /// Bytes that each thread may use to cache words.
    cache_memory: AtomicUsize,
    /// Scores by token id; `None` without `by_words`, or with [`Precision::Double`].
    id_scores: Option<sentence::IdScores>,
}

impl Precision {
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "single" => Ok(Precision::Single),
            "double" => Ok(Precision::Double),
            _ => Err(Error::Invalid(format!("no precision is called {name}"))),
        }
    }

    /// Round a sum.
    ///
    /// Rounding the 64-bit sum of two 32-bit numbers to 32 bits gives the 32-bit sum.
    #[inline]
    fn round(self, sum: f64) -> f64 {
        match self {
            Precision::Single => f64::from(sum as f32),
            Precision::Double => sum,
        }
    }

    /// Return the start value of a search for the lowest score: the largest finite number.
    fn highest(self) -> f64 {
        match self {
            Precision::Single => f64::from(f32::MAX),
            Precision::Double => f64::MAX,
        }
    }
}

impl Unigram {
    /// Build a model from the text, id and score of all pieces except the user-defined ones.
    ///
    /// If a text occurs twice, the last one counts. Fails on a score that is not finite.
    pub fn new<'p>(
        pieces: impl Iterator<Item = (&'p [u8], u32, f64)>,
        options: UnigramOptions,
    ) -> Result<Self> {
        let precision = options.precision;
        let mut lowest = precision.highest();
        let mut texts: Vec<(&[u8], u32)> = Vec::new();
        let (mut all, mut scores) = (Vec::new(), Vec::new());
        for (text, id, score) in pieces {
            let score = precision.round(score);
            if !score.is_finite() {
                let text = String::from_utf8_lossy(text);
                return Err(Error::Invalid(format!(
                    "the score of {text:?} is not a number"
                )));
            }
            lowest = lowest.min(score);
            all.push(piece(text, id)?);
            scores.push(score);
            texts.push((text, id));
        }
        let first_user_defined = all.len();
        let mut user_defined_scores = Vec::new();
        for (text, id) in &options.user_defined {
            let score = |length: usize| precision.round(0.1 * (length as f64 - 1.0));
            all.push(piece(text, *id)?);
            scores.push(score(text.len()));
            // In a lattice, SentencePiece counts characters, not bytes.
            user_defined_scores.push(score(characters(text)));
            texts.push((text, *id));
        }
        let unknown_score = options.unknown_score.unwrap_or(lowest - UNKNOWN_PENALTY);
        let unknown_score = precision.round(unknown_score);
        if !unknown_score.is_finite() {
            return Err(Error::Invalid("the unknown score is not a number".into()));
        }
        let unknown_id = options.unknown_id.unwrap_or(NO_ID);
        let has_words = Unigram::has_words(texts.iter().copied(), unknown_id);
        let ids = all
            .iter()
            .map(|piece: &Piece| piece.id)
            .zip(scores.iter().copied());
        let byte_ids = options.byte_ids.as_deref();
        let by_words = has_words.then(|| Borders::of(texts.iter().map(|text| text.0)));
        let id_scores = (has_words && precision == Precision::Single)
            .then(|| sentence::IdScores::new(ids, (unknown_id, unknown_score), byte_ids));
        Ok(Unigram {
            id_scores,
            by_words,
            words: sentence::SentencePool::default(),
            cache_memory: AtomicUsize::new(CacheMemory::default().unigram()),
            trie: CharTrie::build(texts.iter().copied())?,
            pieces: all,
            scores_32: scores.iter().map(|&score| score as f32).collect(),
            scores,
            first_user_defined,
            user_defined_scores,
            unknown_id,
            unknown_score,
            byte_ids: options.byte_ids,
            fuse_unknown: options.fuse_unknown,
            precision,
        })
    }

    /// Append the best segmentation.
    ///
    /// Among equal ones, the segmentation whose last piece starts first wins, then the second to
    /// last, and so on.
    pub fn segment(
        &self,
        pre_token: &[u8],
        out: &mut Vec<Segment>,
        interrupt: Interrupt,
    ) -> Result<()> {
        match self.by_words {
            Some(_) if WordStarts::of(pre_token).next().is_some() => {
                check_length(pre_token)?;
                self.word_by_word(pre_token, out, interrupt)
            }
            _ => self.best(pre_token, out, interrupt).map(|_score| ()),
        }
    }

    /// Return the ids of the 256 bytes, if they replace a whole unknown stretch at once, as in
    /// Hugging Face's Unigram.
    pub(crate) fn bytes_of_stretches(&self) -> Option<&[u32; 256]> {
        let by_stretch = self.fuse_unknown && self.precision == Precision::Double;
        self.byte_ids.as_deref().filter(|_| by_stretch)
    }

    /// Return whether [`Sentence::anywhere`] can succeed for any word.
    pub(crate) fn has_words_anywhere(&self) -> bool {
        self.id_scores.is_some()
    }

    /// Return a number of characters within which a sentence's sum stays within [`NEAR`].
    ///
    /// In a sentence with fewer characters, no sum is rebased, and words that are
    /// [`Sentence::anywhere`] keep their ids. At most 65,536.
    pub(crate) fn near_characters(&self) -> usize {
        let scores = self.scores_32.iter().map(|score| score.abs());
        let highest = scores.fold((self.unknown_score as f32).abs(), f32::max);
        // Rounding enlarges a sum of 65,536 scores by at most 1/256.
        ((NEAR * 0.99 / highest) as usize).min(1 << 16)
    }

    /// Call `offer(length, piece, score)` for every piece that starts at offset `at`, shortest
    /// first.
    ///
    /// If the character at `at` is not a piece, it is offered last, as unknown. Returns the length
    /// of the character in bytes, and the number of bytes examined.
    #[inline(always)]
    fn pieces_at(
        &self,
        text: &[u8],
        at: usize,
        mut offer: impl FnMut(usize, u32, f64),
    ) -> (usize, usize) {
        let length = character(text, at);
        let mut is_piece = false;
        let looked_at = self.trie.walk(&text[at..], |found, piece| {
            offer(found, piece, self.scores[piece as usize]);
            is_piece |= found == length;
        });
        if !is_piece {
            offer(length, UNKNOWN + length as u32, self.unknown_score);
        }
        (length, looked_at)
    }

    /// Return the score of a piece in a lattice.
    fn lattice_score(&self, entry: u32) -> f64 {
        let entry = entry as usize;
        match entry.checked_sub(self.first_user_defined) {
            Some(number) => self.user_defined_scores[number],
            None => self.scores[entry],
        }
    }
}

fn piece(text: &[u8], id: u32) -> Result<Piece> {
    check_length(text)?;
    Ok(Piece {
        id,
        length: text.len() as u32,
    })
}

/// Return the length in bytes of the character at offset `at`.
///
/// Each invalid byte counts as a character.
#[inline]
fn character(text: &[u8], at: usize) -> usize {
    match text[at] {
        0..0x80 => 1,
        _ => unicode::decode(text, at).map_or(1, |(_, length)| length),
    }
}

/// Count the characters of `text`.
fn characters(text: &[u8]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < text.len() {
        at += character(text, at);
        count += 1;
    }
    count
}

/// Piece number of an unknown character, before the character's length in bytes is added.
///
/// No piece has so high a number.
pub(crate) const UNKNOWN: u32 = u32::MAX - 8;

/// Turns the pieces of a path, first to last, into segments, and unknown stretches into tokens.
pub(crate) struct Emitter<'e> {
    model: &'e Unigram,
    text: &'e [u8],
    out: &'e mut Vec<Segment>,
    /// Offset after the last piece taken.
    ///
    /// The bytes from `written` to `taken` are an unknown stretch that may continue.
    taken: usize,
    written: usize,
}

impl<'e> Emitter<'e> {
    pub(crate) fn new(model: &'e Unigram, text: &'e [u8], out: &'e mut Vec<Segment>) -> Self {
        Emitter {
            model,
            text,
            out,
            taken: 0,
            written: 0,
        }
    }

    /// Take the next piece, and return its length in bytes.
    #[inline]
    pub(crate) fn push(&mut self, entry: u32) -> usize {
        let piece = self.model.pieces.get(entry as usize);
        // An ordinary piece with the unknown token's id counts as unknown too: Hugging Face fuses
        // it with its neighbours.
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
    pub(crate) fn length(&self, entry: u32) -> usize {
        self.model.length(entry)
    }

    /// Write the open unknown stretch, if any.
    pub(crate) fn finish(&mut self) {
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
    /// Return the length in bytes of the piece or unknown character that `entry` stands for.
    #[inline]
    pub(crate) fn length(&self, entry: u32) -> usize {
        match self.pieces.get(entry as usize) {
            Some(piece) => piece.length as usize,
            None => (entry - UNKNOWN) as usize,
        }
    }
}
