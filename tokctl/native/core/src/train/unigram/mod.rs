//! Training of Unigram models (Kudo 2018, "Subword Regularization"), as in SentencePiece's
//! `unigram_model_trainer.cc`.
//!
//! [`seed`] finds far too many pieces. Then, round by round, EM estimates their probabilities
//! ([`expectation`] is the E step, [`pieces`] the M step), and [`prune`] drops the least important
//! ones, until about as many are left as requested. [`finish`] takes the best of them. Where
//! SentencePiece leaves an order open, pieces are ordered by score, then text.
//!
//! Two things differ. Every character keeps its piece throughout: SentencePiece drops rare
//! characters, treats them as unknown and restores them at the end. And pruning never goes below
//! the requested size, where SentencePiece fails because the vocabulary is too large.

mod best_path;
mod corpus;
mod expectation;
mod finish;
mod lattice;
mod options;
mod pieces;
mod prune;
mod scaled;
mod seed;
mod suffixes;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use hashbrown::HashSet;

use crate::count::Counts;
use crate::error::{Error, Result};
use crate::memory;
use corpus::UnigramCorpus;
use expectation::{expect, Model};
pub use options::UnigramTrainingOptions;

/// Piece of a trained model.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    pub text: Vec<u8>,
    /// Natural logarithm of the probability, rounded to a 32-bit float.
    pub score: f64,
}

/// Statistics of a round: EM, then pruning.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// Number of pieces after EM.
    pub pieces: u64,
    /// Mean negative log likelihood of a pre-token, in the last E step.
    pub objective: f64,
    /// Expected number of tokens in the corpus, in the last E step.
    pub tokens: u64,
    /// Number of pieces dropped by EM because their expected counts were too low.
    pub unused: u64,
    /// Number of pieces dropped after EM.
    pub dropped: u64,
    /// Dropped pieces that came nearest to being kept.
    pub highest: Vec<Dropped>,
}

/// Piece that a round dropped.
#[derive(Debug, Clone, PartialEq)]
pub struct Dropped {
    pub text: Vec<u8>,
    /// Loss of the piece; None in the last round, which drops by score.
    pub loss: Option<f64>,
}

/// Result of a Unigram training.
#[derive(Debug, Clone, PartialEq)]
pub struct UnigramTraining {
    /// Pieces by score descending, then text. Their ids follow those of the special tokens and byte
    /// tokens.
    pub pieces: Vec<Piece>,
    pub rounds: Vec<Round>,
    /// Number of pieces that are single characters, kept in any case.
    pub alphabet_size: u64,
    /// Whether fewer pieces were found than requested.
    pub exhausted: bool,
}

/// Rounds end once the number of pieces is at most this multiple of the requested number.
const ENOUGH: f64 = 1.1;

/// Train a Unigram model. `progress` is called from time to time with the number of pieces; false
/// stops the training.
pub fn train_unigram(
    counts: &Counts,
    options: &UnigramTrainingOptions,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<UnigramTraining> {
    options.check()?;
    // Memory per character: a code, a suffix with its data, and the start of the lattice's edges.
    memory::check(counts.text_length().saturating_mul(32))?;
    let required: BTreeSet<char> = options.required.iter().copied().collect();
    let alphabet = options.alphabet.as_ref().map(|alphabet| {
        let alphabet = alphabet.iter().chain(&required);
        alphabet.copied().collect::<Vec<_>>()
    });
    let corpus = UnigramCorpus::new(counts, alphabet.as_deref(), &mut || progress(0))?;
    let unseen: Vec<char> = required
        .into_iter()
        .filter(|&character| corpus.code(character).is_none())
        .collect();
    let wanted = wanted(&corpus, &unseen, options)?;
    let excluded = excluded(&corpus, options);
    let alphabet_size = (corpus.characters.len() + unseen.len()) as u64;

    let (mut pieces, mut lattice) =
        seed::seed(&corpus, &excluded, options, &mut || progress(alphabet_size))?;
    let blocks = lattice::blocks(&corpus.segments);
    let enough = (wanted as f64 * ENOUGH) as usize;
    let mut rounds = Vec::new();
    let mut size = pieces.len() as u64;
    while !corpus.segments.is_empty() {
        let mut round = Round {
            pieces: 0,
            objective: 0.0,
            tokens: 0,
            unused: 0,
            dropped: 0,
            highest: Vec::new(),
        };
        for _ in 0..options.sub_iterations {
            let probabilities = pieces.probabilities();
            let model = Model {
                corpus: &corpus,
                lattice: &lattice,
                probabilities: &probabilities,
            };
            let found = expect(&model, &blocks, options.threads, &mut || progress(size))?;
            round.objective = found.objective;
            round.tokens = found.counts.iter().sum::<f64>().round() as u64;
            let mut report = || progress(size);
            let unused = pieces.maximize(&found.counts, &mut lattice, &mut report)?;
            round.unused += unused as u64;
            size = pieces.len() as u64;
        }
        round.pieces = size;
        if pieces.len() <= enough {
            rounds.push(round);
            break;
        }
        let share = (pieces.len() as f64 * options.shrinking_factor) as usize;
        let size_after = prune::Size {
            most: enough.max(share),
            least: enough,
        };
        let (dropped, highest) = prune::prune(
            &mut pieces,
            &mut lattice,
            &corpus,
            &blocks,
            size_after,
            options.threads,
            &mut || progress(size),
        )?;
        (round.dropped, round.highest) = (dropped as u64, highest);
        rounds.push(round);
        size = pieces.len() as u64;
    }
    let (pieces, left_out, highest) =
        finish::finish(&pieces, &corpus, &unseen, &options.initial_tokens, wanted)?;
    if let Some(round) = rounds.last_mut() {
        (round.dropped, round.highest) = (left_out, highest);
    }
    progress(pieces.len() as u64);
    Ok(UnigramTraining {
        exhausted: pieces.len() < wanted,
        pieces,
        rounds,
        alphabet_size,
    })
}

/// Return the number of pieces that the vocabulary has room for.
fn wanted(
    corpus: &UnigramCorpus,
    unseen: &[char],
    options: &UnigramTrainingOptions,
) -> Result<usize> {
    let bytes = if options.byte_fallback { 256 } else { 0 };
    let others = options.special_tokens.len() as u64 + bytes;
    let characters = corpus.characters.len() + unseen.len();
    let least = others + (characters + options.initial_tokens.len()) as u64;
    if options.vocab_size < least {
        return Err(Error::VocabularyTooSmall {
            requested: options.vocab_size,
            least,
        });
    }
    for token in &options.special_tokens {
        let mut text = std::str::from_utf8(token).unwrap_or_default().chars();
        if let (Some(character), None) = (text.next(), text.next()) {
            if corpus.code(character).is_some() || unseen.contains(&character) {
                return Err(Error::Invalid(format!(
                    "a special token is spelled like {character:?}, a symbol of the alphabet"
                )));
            }
        }
    }
    Ok((options.vocab_size - others) as usize)
}

/// Return the texts that no piece may have, as codes: special tokens and byte tokens.
fn excluded(corpus: &UnigramCorpus, options: &UnigramTrainingOptions) -> HashSet<Vec<u32>> {
    let bytes = (0..=255u8).map(|byte| format!("<0x{byte:02X}>"));
    let bytes = bytes.filter(|_| options.byte_fallback);
    let special = options.special_tokens.iter();
    let special = special.filter_map(|token| String::from_utf8(token.clone()).ok());
    let codes = |text: String| text.chars().map(|c| corpus.code(c)).collect();
    bytes.chain(special).filter_map(codes).collect()
}
