//! The E step: expected counts of all pieces, by the forward-backward algorithm.
//!
//! Probabilities are multiplied directly, which is exact enough and much faster than sums of
//! logarithms. A segment whose probability comes near the smallest float is computed again with
//! scaled numbers.

use super::corpus::UnigramCorpus;
use super::lattice::Lattice;
use super::scaled;
use crate::error::Result;
use crate::jobs::{Interrupt, Jobs};

/// Segments less probable than this are computed with scaled numbers. In the other segments, a path
/// lost to underflow (below 1e-307) has a negligible share.
const LEAST: f64 = 1e-200;

/// Segments with at least this many characters use scaled numbers at once.
const LONG: usize = 1 << 12;

/// Number of characters between two checks whether the thread should stop.
const LOOK: u32 = 1 << 16;

/// Result of an E step.
#[derive(Debug)]
pub struct Expectation {
    /// Expected count of each piece.
    pub counts: Vec<f64>,
    /// Mean negative log likelihood of a pre-token: SentencePiece's objective.
    pub objective: f64,
}

/// Inputs of the forward and backward passes over a segment.
pub struct Model<'m> {
    pub corpus: &'m UnigramCorpus,
    pub lattice: &'m Lattice,
    /// Probability of each piece (not its logarithm).
    pub probabilities: &'m [f64],
}

/// Do the E step over all `blocks` of the corpus.
pub fn expect(
    model: &Model,
    blocks: &[std::ops::Range<usize>],
    threads: usize,
    progress: &mut dyn FnMut() -> bool,
) -> Result<Expectation> {
    let mut sum = Expectation {
        counts: vec![0.0; model.probabilities.len()],
        objective: 0.0,
    };
    let work = |job: usize, stop: Interrupt| {
        let mut counts = vec![0.0; model.probabilities.len()];
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        let (mut log_likelihood, mut looked) = (0.0, 0);
        for segment in &model.corpus.segments[blocks[job].clone()] {
            if segment.end - looked > LOOK {
                looked = segment.end;
                if stop() {
                    break;
                }
            }
            let range = segment.start as usize..segment.end as usize;
            let count = segment.count as f64;
            let probability = if range.len() < LONG {
                model.forward(range.clone(), &mut forward)
            } else {
                0.0
            };
            let log_probability = if probability >= LEAST {
                let last = count / probability;
                model.backward(range, &forward, &mut backward, last, &mut counts);
                probability.ln()
            } else {
                scaled::forward_backward(model, range, count, &mut counts, stop)
            };
            log_likelihood += count * log_probability;
        }
        (counts, log_likelihood)
    };
    let mut log_likelihood = 0.0;
    let count = blocks.len();
    let jobs = Jobs { count, threads };
    jobs.in_order_reporting(progress, work, |(counts, block)| {
        for (sum, count) in sum.counts.iter_mut().zip(counts) {
            *sum += count;
        }
        log_likelihood += block;
    })?;
    sum.objective = -log_likelihood / (model.corpus.pre_tokens as f64).max(1.0);
    Ok(sum)
}

/// Return the first `count` numbers of `numbers`, which grows if necessary. Inlined, because most
/// segments have so few characters that a call would cost more than the work.
#[inline]
fn first(numbers: &mut Vec<f64>, count: usize) -> &mut [f64] {
    if numbers.len() < count {
        numbers.resize(count, 0.0);
    }
    &mut numbers[..count]
}

impl Model<'_> {
    /// Compute the total probability of all segmentations up to each position. Return the
    /// probability of the whole segment.
    fn forward(&self, range: std::ops::Range<usize>, forward: &mut Vec<f64>) -> f64 {
        let forward = first(forward, range.len() + 1);
        forward.fill(0.0);
        forward[0] = 1.0;
        for (index, at) in range.enumerate() {
            let here = forward[index];
            forward[index + 1] += here * self.character(at).1;
            for (id, length) in self.lattice.edges(at) {
                forward[index + length] += here * self.probabilities[id];
            }
        }
        forward[forward.len() - 1]
    }

    /// Do the pass from the end, and add the contribution of each edge to `counts`.
    ///
    /// All values are scaled by `last`, the segment's count divided by its probability.
    fn backward(
        &self,
        range: std::ops::Range<usize>,
        forward: &[f64],
        backward: &mut Vec<f64>,
        last: f64,
        counts: &mut [f64],
    ) {
        let backward = first(backward, range.len() + 1);
        backward[range.len()] = last;
        for (index, at) in range.enumerate().rev() {
            let before = forward[index];
            let (id, probability) = self.character(at);
            let mut here = probability * backward[index + 1];
            counts[id] += before * here;
            for (id, length) in self.lattice.edges(at) {
                let after = self.probabilities[id] * backward[index + length];
                counts[id] += before * after;
                here += after;
            }
            backward[index] = here;
        }
    }

    /// Return the id and the probability of the single character at a position.
    #[inline]
    pub fn character(&self, at: usize) -> (usize, f64) {
        let id = self.corpus.codes[at] as usize - 1;
        (id, self.probabilities[id])
    }
}
