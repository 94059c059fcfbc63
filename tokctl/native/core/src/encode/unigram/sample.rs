//! A segmentation drawn at random, for subword regularization (Kudo 2018).

use super::{character, Emitter, Unigram, UNKNOWN};
use crate::encode::segmenter::{check_length, Segment};
use crate::encode::Rng;
use crate::error::{Error, Result};
use crate::Interrupt;

/// The largest `nbest_size`; SentencePiece refuses more.
const MOST: i64 = 512;

/// Bytes examined between two polls of the interrupt.
const POLL_EVERY: usize = 1 << 20;

impl Unigram {
    /// Draw a segmentation with a probability proportional to exp(`alpha` x score).
    ///
    /// If `nbest_size` is negative, draws from all segmentations; if it is over 1, from the n best.
    /// 0 and 1 return the best one.
    pub fn sample(
        &self,
        pre_token: &[u8],
        alpha: f64,
        nbest_size: i64,
        rng: &mut Rng,
        interrupt: Interrupt,
    ) -> Result<Vec<Segment>> {
        check_length(pre_token)?;
        if !alpha.is_finite() {
            return Err(Error::Invalid("alpha is not a number".into()));
        }
        if nbest_size > MOST {
            let message = format!("can't draw from the {nbest_size} best: {MOST} are the most");
            return Err(Error::Invalid(message));
        }
        if nbest_size < 0 {
            return self.sample_all(pre_token, alpha, rng, interrupt);
        }
        let mut best = self.nbest(pre_token, nbest_size as usize, interrupt)?;
        let scores = best.iter().map(|&(_, score)| alpha * score);
        let chosen = rng.choose(&weights(scores));
        Ok(best.swap_remove(chosen).0)
    }

    /// Return the natural logarithm of the sum of exp(`alpha` x score) over all segmentations.
    ///
    /// With an alpha of 1, a score minus this number is the log probability of a segmentation among
    /// all of them.
    pub fn total(&self, pre_token: &[u8], alpha: f64, interrupt: Interrupt) -> Result<f64> {
        check_length(pre_token)?;
        Ok(self.sums(pre_token, alpha, interrupt)?[0])
    }

    /// Draw from all segmentations, from front to end.
    ///
    /// SentencePiece sums from the front and draws from the end, which gives the same
    /// probabilities. Drawing from the front need not keep the pieces.
    fn sample_all(
        &self,
        text: &[u8],
        alpha: f64,
        rng: &mut Rng,
        interrupt: Interrupt,
    ) -> Result<Vec<Segment>> {
        let sums = self.sums(text, alpha, interrupt)?;
        let mut choices = Vec::new();
        let mut segments = Vec::new();
        let mut emitter = Emitter::new(self, text, &mut segments);
        let mut at = 0;
        while at < text.len() {
            self.choices(text, at, alpha, &sums, &mut choices);
            let chosen = rng.choose(&weights(choices.iter().map(|choice| choice.1)));
            at += emitter.push(choices[chosen].0);
        }
        emitter.finish();
        Ok(segments)
    }

    /// Return, for each offset, the logarithm of the summed weights of all segmentations from there
    /// to the end.
    ///
    /// NaN inside characters, where no piece may end.
    fn sums(&self, text: &[u8], alpha: f64, interrupt: Interrupt) -> Result<Vec<f64>> {
        let mut sums = vec![f64::NAN; text.len() + 1];
        let mut at = 0;
        while at < text.len() {
            sums[at] = 0.0;
            at += character(text, at);
        }
        sums[at] = 0.0;
        let mut choices = Vec::new();
        let mut work = 0;
        for at in (0..text.len()).rev() {
            if sums[at].is_nan() {
                continue;
            }
            work += self.choices(text, at, alpha, &sums, &mut choices);
            let most = choices
                .iter()
                .map(|choice| choice.1)
                .fold(f64::MIN, f64::max);
            let sum: f64 = choices.iter().map(|choice| (choice.1 - most).exp()).sum();
            // Clamped to finite numbers, even if the scores are absurd.
            sums[at] = (most + sum.ln()).clamp(f64::MIN, f64::MAX);
            if work >= POLL_EVERY {
                work = 0;
                if interrupt() {
                    return Err(Error::Interrupted);
                }
            }
        }
        Ok(sums)
    }

    /// Collect each piece that starts at `at`, with the log of the summed weights of all
    /// segmentations that start with it.
    ///
    /// Returns the number of bytes examined.
    fn choices(
        &self,
        text: &[u8],
        at: usize,
        alpha: f64,
        sums: &[f64],
        choices: &mut Vec<(u32, f64)>,
    ) -> usize {
        choices.clear();
        let length = character(text, at);
        let mut is_piece = false;
        let looked_at = self.trie.walk(&text[at..], |found, entry| {
            let after = sums[at + found];
            if !after.is_nan() {
                choices.push((entry, alpha * self.lattice_score(entry) + after));
                is_piece |= found == length;
            }
        });
        if !is_piece {
            let weight = alpha * self.unknown_score + sums[at + length];
            choices.push((UNKNOWN + length as u32, weight));
        }
        looked_at
    }
}

/// Convert logarithms to weights, scaled so that the greatest is 1.
fn weights(logarithms: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let most = logarithms.clone().fold(f64::NEG_INFINITY, f64::max);
    logarithms.map(|one| (one - most).exp()).collect()
}
