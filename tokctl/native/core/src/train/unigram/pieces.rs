//! The current pieces and their probabilities.

use super::corpus::UnigramCorpus;
use super::lattice::Lattice;
use crate::error::Result;
use crate::model::NO_ID;

/// Minimum expected count of a piece; rarer pieces are dropped (SentencePiece:
/// `kExpectedFrequencyThreshold`).
const LEAST_EXPECTED: f64 = 0.5;

/// Tolerance of comparisons. Values that are equal by symmetry differ by rounding; with a
/// tolerance, no choice depends on the order of a sum.
pub const EQUAL: f64 = 1e-9;

/// Score difference between the least probable piece and a character that is too rare for an
/// estimate (SentencePiece: `kUnkPenalty`).
const UNKNOWN_PENALTY: f64 = 10.0;

/// Pieces: single characters by code point, then all others by text.
#[derive(Debug)]
pub struct Pieces {
    /// Number of single-character pieces.
    pub characters: usize,
    /// A position and the length of each longer piece; index 0 is the piece with id `characters`.
    pub places: Vec<u32>,
    pub lengths: Vec<u8>,
    /// Natural logarithms of the probabilities.
    pub scores: Vec<f64>,
    /// Lowest score of an estimated piece.
    pub least: f64,
    /// Whether each character was too rare for an estimate in the last M step.
    pub rare: Vec<bool>,
}

impl Pieces {
    /// Create the seed pieces. The score of a piece is the logarithm of its share in `weights`.
    pub fn new(
        corpus: &UnigramCorpus,
        places: Vec<u32>,
        lengths: Vec<u8>,
        weights: &[u128],
    ) -> Self {
        let sum = (weights.iter().sum::<u128>() as f64).ln();
        let scores: Vec<f64> = weights.iter().map(|&w| (w as f64).ln() - sum).collect();
        Pieces {
            characters: corpus.characters.len(),
            places,
            lengths,
            least: least(scores.iter().copied()),
            scores,
            rare: vec![false; corpus.characters.len()],
        }
    }

    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// Return a position and the length of a piece of two or more characters.
    pub fn place(&self, id: usize) -> (usize, usize) {
        let index = id - self.characters;
        (self.places[index] as usize, self.lengths[index] as usize)
    }

    pub fn text(&self, id: usize, corpus: &UnigramCorpus) -> String {
        match id.checked_sub(self.characters) {
            Some(index) => corpus.text(self.places[index], self.lengths[index]),
            None => corpus.characters[id].into(),
        }
    }

    /// Return the probability of each piece.
    pub fn probabilities(&self) -> Vec<f64> {
        self.scores.iter().map(|score| score.exp()).collect()
    }

    /// Do the M step: estimate the scores from the expected counts. Return the number of dropped
    /// pieces.
    ///
    /// Uses the digamma function instead of the logarithm, which takes probability from rare pieces
    /// (the variational estimate under a Dirichlet process, as in SentencePiece). Pieces with a low
    /// expected count are dropped. Characters stay; those with a low expected count get a low
    /// score.
    pub fn maximize(
        &mut self,
        expected: &[f64],
        lattice: &mut Lattice,
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<usize> {
        let enough = |count: f64| count >= LEAST_EXPECTED - EQUAL;
        let sum: f64 = expected.iter().filter(|&&count| enough(count)).sum();
        let sum = digamma(sum);
        for (score, &count) in self.scores.iter_mut().zip(expected) {
            *score = digamma(count) - sum;
        }
        let estimated = self.scores.iter().zip(expected);
        let estimated = estimated.filter(|&(_, &count)| enough(count));
        self.least = least(estimated.map(|(&score, _)| score));
        for (character, rare) in self.rare.iter_mut().enumerate() {
            *rare = !enough(expected[character]);
            if *rare {
                self.scores[character] = self.least - UNKNOWN_PENALTY;
            }
        }
        let characters = self.characters;
        let keep = |id| id < characters || enough(expected[id]);
        self.retain(lattice, keep, progress)
    }

    /// Keep the pieces whose ids satisfy `keep`. Return the number of dropped pieces.
    pub fn retain(
        &mut self,
        lattice: &mut Lattice,
        keep: impl Fn(usize) -> bool,
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<usize> {
        let (mut new_ids, mut kept) = (vec![NO_ID; self.len()], 0);
        for (id, new_id) in new_ids.iter_mut().enumerate() {
            if keep(id) {
                *new_id = kept as u32;
                self.scores[kept] = self.scores[id];
                if let Some(index) = id.checked_sub(self.characters) {
                    self.places[kept - self.characters] = self.places[index];
                    self.lengths[kept - self.characters] = self.lengths[index];
                }
                kept += 1;
            }
        }
        let dropped = self.len() - kept;
        if dropped > 0 {
            self.scores.truncate(kept);
            self.places.truncate(kept - self.characters);
            self.lengths.truncate(kept - self.characters);
            lattice.rename(&new_ids, progress)?;
        }
        Ok(dropped)
    }
}

/// Return the lowest score, or 0 if there are none, so that characters without an estimate have a
/// finite score.
fn least(scores: impl Iterator<Item = f64>) -> f64 {
    scores.min_by(f64::total_cmp).unwrap_or(0.0)
}

/// Compute the derivative of the logarithm of the gamma function: raise x to at least 7 by ψ(x) =
/// ψ(x + 1) - 1/x, then apply the asymptotic series around x - 1/2.
fn digamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 7.0 {
        below += 1.0 / x;
        x += 1.0;
    }
    x -= 0.5;
    let square = 1.0 / (x * x);
    let series =
        1.0 / 24.0 - square * (7.0 / 960.0 - square * (31.0 / 8064.0 - square * (127.0 / 30720.0)));
    x.ln() + square * series - below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digamma_has_its_known_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        assert!((digamma(1.0) + EULER).abs() < 1e-9);
        assert!((digamma(2.0) - (1.0 - EULER)).abs() < 1e-9);
        assert!((digamma(0.5) + EULER + 2.0 * 2f64.ln()).abs() < 1e-9);
        assert!((digamma(1e9) - 1e9f64.ln()).abs() < 1e-8);
        assert!(digamma(0.0) == f64::NEG_INFINITY);
    }
}
