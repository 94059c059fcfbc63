//! Options of a Unigram training.

use crate::error::{Error, Result};

/// Options of a Unigram training.
#[derive(Debug, Clone)]
pub struct UnigramTrainingOptions {
    /// Target vocabulary size: special tokens, byte tokens and pieces.
    pub vocab_size: u64,
    /// Tokens that get the lowest ids and never become pieces.
    pub special_tokens: Vec<Vec<u8>>,
    /// Whether the 256 tokens `<0x00>` to `<0xFF>` follow the special tokens.
    pub byte_fallback: bool,
    /// Maximum number of pieces of two or more characters at the start of training.
    pub seed_size: usize,
    /// Share of the pieces that a round keeps; between 0 and 1, exclusive.
    pub shrinking_factor: f64,
    /// Number of EM steps before each pruning.
    pub sub_iterations: u32,
    /// Maximum length of a piece in characters, 1 to 255.
    pub max_piece_length: u32,
    /// Characters that may be in pieces; all others split a pre-token. None: all characters.
    pub alphabet: Option<Vec<char>>,
    /// Characters that always get a piece.
    pub required: Vec<char>,
    /// Texts of several characters that always get a piece, each listed once. Their characters must
    /// be in `required`.
    pub initial_tokens: Vec<String>,
    pub threads: usize,
}

impl Default for UnigramTrainingOptions {
    /// Return SentencePiece's defaults, without special tokens.
    fn default() -> Self {
        UnigramTrainingOptions {
            vocab_size: 8000,
            special_tokens: Vec::new(),
            byte_fallback: false,
            seed_size: 1_000_000,
            shrinking_factor: 0.75,
            sub_iterations: 2,
            max_piece_length: 16,
            alphabet: None,
            required: Vec::new(),
            initial_tokens: Vec::new(),
            threads: 1,
        }
    }
}

impl UnigramTrainingOptions {
    /// Return an error if an option is out of range.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::Invalid(what));
        if !(self.shrinking_factor > 0.0 && self.shrinking_factor < 1.0) {
            return wrong(format!(
                "the shrinking factor is {}, not between 0 and 1",
                self.shrinking_factor
            ));
        }
        if self.sub_iterations == 0 {
            return wrong("EM needs at least one sub-iteration".into());
        }
        if !(1..=u32::from(u8::MAX)).contains(&self.max_piece_length) {
            return wrong(format!(
                "the longest piece has {} characters, not 1 to 255",
                self.max_piece_length
            ));
        }
        if self.vocab_size >= u64::from(u32::MAX) {
            return Err(Error::TooLarge(format!(
                "a vocabulary of {} does not fit 32-bit ids",
                self.vocab_size
            )));
        }
        Ok(())
    }
}
