//! What a Unigram training is asked for.

use crate::error::{Error, Result};

#[derive(Debug, Clone)]
pub struct UnigramTrainingOptions {
    /// Ids wanted in all: special tokens, byte tokens and pieces.
    pub vocab_size: u64,
    /// They have the lowest ids and never become pieces.
    pub special_tokens: Vec<Vec<u8>>,
    /// 256 tokens `<0x00>` to `<0xFF>`, right behind the special tokens.
    pub byte_fallback: bool,
    /// Pieces of two and more characters that training starts from, at most.
    pub seed_size: usize,
    /// The share of the pieces that a round keeps.
    pub shrinking_factor: f64,
    /// EM steps before each pruning.
    pub sub_iterations: u32,
    /// In characters, at most 255.
    pub max_piece_length: u32,
    /// The only characters that may be in pieces; others split a pre-token. None: all.
    pub alphabet: Option<Vec<char>>,
    /// Characters that get a piece in any case.
    pub required: Vec<char>,
    /// Texts of several characters that get a piece in any case, each once; their characters
    /// are among the required ones.
    pub initial_tokens: Vec<String>,
    pub threads: usize,
}

impl Default for UnigramTrainingOptions {
    /// SentencePiece's defaults, without special tokens.
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
