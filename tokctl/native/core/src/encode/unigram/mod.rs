//! Segmenting by a unigram language model (Kudo 2018): the most probable sequence of
//! pieces, the n most probable ones, or one drawn at random.
//!
//! The definition is SentencePiece's `unigram_model.cc` (version 0.2.3) and, where [`Precision::Double`]
//! is asked for, Hugging Face's `models/unigram`. Both score a segmentation by the sum of
//! its pieces' scores, walk the text character by character, and offer a character that
//! is no piece as unknown, at 10 below the lowest score: here of the pieces, there of all tokens.

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

/// How far an unknown character's score lies below the lowest score.
pub(super) const UNKNOWN_PENALTY: f64 = 10.0;

/// Whose arithmetic decides between segmentations that are nearly equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// SentencePiece's: scores and sums are rounded to 32 bits. (Up to 0.2.2 it compared
    /// some sums before rounding them, so those versions break a few ties otherwise.)
    Single,
    /// Hugging Face's: 64 bits throughout. That library also looks an unknown stretch up
    /// as a whole: where it is a piece, though not on the best path, it gets that id.
    Double,
}

#[derive(Debug, Clone)]
pub struct UnigramOptions {
    /// None leaves [`NO_ID`] in the output.
    pub unknown_id: Option<u32>,
    /// None: 10 below the lowest score of the pieces.
    pub unknown_score: Option<f64>,
    /// Tokens of the 256 bytes: an unknown stretch becomes one of them for each byte, if
    /// none of them is [`NO_ID`].
    /// (Each covers its byte; Hugging Face gives each the whole stretch as its place.)
    pub byte_ids: Option<Box<[u32; 256]>>,
    /// Unknown characters in a row are one unknown token, as in both libraries.
    pub fuse_unknown: bool,
    /// SentencePiece's user-defined pieces. They score 0.1 for each byte after the first:
    /// more than ordinary pieces, and most for the longest.
    pub user_defined: Vec<(Vec<u8>, u32)>,
    pub precision: Precision,
}

struct Piece {
    id: u32,
    /// Bytes.
    length: u32,
}

pub struct Unigram {
    /// Its entries are numbered as `pieces` and `scores`.
    trie: CharTrie,
    pieces: Vec<Piece>,
    scores: Vec<f64>,
    /// The same, rounded to 32 bits if they are not yet.
    scores_32: Vec<f32>,
    /// Number of the first user-defined piece; with their scores in a lattice.
    first_user_defined: usize,
    user_defined_scores: Vec<f64>,
    unknown_id: u32,
    unknown_score: f64,
    byte_ids: Option<Box<[u32; 256]>>,
    fuse_unknown: bool,
    precision: Precision,
    /// Where words can be searched one by one: their borders.
    by_words: Option<Borders>,
    words: sentence::SentencePool,
    /// Bytes that each thread may use to remember words.
    cache_memory: AtomicUsize,
    /// And in SentencePiece's arithmetic.
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

    /// Rounds a sum. (Rounding a 64-bit sum of two 32-bit numbers to 32 bits gives their
    /// 32-bit sum.)
    #[inline]
    fn round(self, sum: f64) -> f64 {
        match self {
            Precision::Single => f64::from(sum as f32),
            Precision::Double => sum,
        }
    }

    /// What the lowest of no scores is.
    fn highest(self) -> f64 {
        match self {
            Precision::Single => f64::from(f32::MAX),
            Precision::Double => f64::MAX,
        }
    }
}

impl Unigram {
    /// `pieces` are text, id and score of all pieces but the user-defined ones. Of equal
    /// texts the last one counts.
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
                    "the score of {text:?} is no number"
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
            // In the lattice SentencePiece counts characters, not bytes.
            user_defined_scores.push(score(characters(text)));
            texts.push((text, *id));
        }
        let unknown_score = options.unknown_score.unwrap_or(lowest - UNKNOWN_PENALTY);
        let unknown_score = precision.round(unknown_score);
        if !unknown_score.is_finite() {
            return Err(Error::Invalid("the unknown score is no number".into()));
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

    /// Appends the best segmentation. Of equal ones, the one whose last piece starts
    /// first, and so on from the end.
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

    /// The ids of bytes, where Hugging Face's Unigram makes them of a whole unknown stretch.
    pub(crate) fn bytes_of_stretches(&self) -> Option<&[u32; 256]> {
        let by_stretch = self.fuse_unknown && self.precision == Precision::Double;
        self.byte_ids.as_deref().filter(|_| by_stretch)
    }

    /// May [`Sentence::anywhere`] find any?
    pub(crate) fn has_words_anywhere(&self) -> bool {
        self.id_scores.is_some()
    }

    /// Characters of a sentence whose sums are all so near 0 that none is taken down, and that words
    /// which are the same anywhere are so in it.
    pub(crate) fn near_characters(&self) -> usize {
        let scores = self.scores_32.iter().map(|score| score.abs());
        let highest = scores.fold((self.unknown_score as f32).abs(), f32::max);
        // Rounding makes at most a 256th more of the sum of so many.
        ((NEAR * 0.99 / highest) as usize).min(1 << 16)
    }

    /// Calls `offer(length, piece, score)` for every piece that starts at `at`, the shortest first,
    /// and for the character there if it is none: what a segmentation can go on with. Returns the
    /// character's length, and how many bytes were looked at.
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

    /// The score of a piece in a lattice.
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

/// Bytes of the character at `at`; those that are not UTF-8 are a character each.
#[inline]
fn character(text: &[u8], at: usize) -> usize {
    match text[at] {
        0..0x80 => 1,
        _ => unicode::decode(text, at).map_or(1, |(_, length)| length),
    }
}

fn characters(text: &[u8]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < text.len() {
        at += character(text, at);
        count += 1;
    }
    count
}

/// Stands for the piece that an unknown character is; its length is added. No piece has
/// so high a number.
pub(crate) const UNKNOWN: u32 = u32::MAX - 8;

/// Makes segments of the pieces of a path, first to last, and of what is unknown.
pub(crate) struct Emitter<'e> {
    model: &'e Unigram,
    text: &'e [u8],
    out: &'e mut Vec<Segment>,
    /// Pieces up to here are taken; those from `written` on are unknown, and may go on.
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

    /// Takes one piece and returns its length.
    #[inline]
    pub(crate) fn push(&mut self, entry: u32) -> usize {
        let piece = self.model.pieces.get(entry as usize);
        // A piece of the text with the unknown token's id is unknown, too: Hugging Face
        // fuses it with its neighbours.
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

    /// Writes the unknown stretch that is still open.
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
    /// Bytes of a piece or of the unknown character that `entry` stands for.
    #[inline]
    pub(crate) fn length(&self, entry: u32) -> usize {
        match self.pieces.get(entry as usize) {
            Some(piece) => piece.length as usize,
            None => (entry - UNKNOWN) as usize,
        }
    }
}
