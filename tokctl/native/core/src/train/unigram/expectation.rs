//! The E step: expected counts of all pieces, by the forward-backward algorithm.
//!
//! Probabilities are multiplied as they are, which is exact enough and much faster than
//! sums of logarithms. A segment whose probability comes near the least number that a
//! float holds is done again with scaled numbers.

use super::corpus::UnigramCorpus;
use super::lattice::Lattice;
use super::scaled;
use crate::error::Result;
use crate::jobs::{Interrupt, Jobs};

/// Segments less probable than this are done with scaled numbers: then a path lost to
/// underflow, below 1e-307, would have had no share worth counting.
const LEAST: f64 = 1e-200;

/// Segments with more characters are not even tried with plain numbers.
const LONG: usize = 1 << 12;

/// Threads look whether they should stop after so many characters.
const LOOK: u32 = 1 << 16;

#[derive(Debug)]
pub struct Expectation {
    /// Of each piece.
    pub counts: Vec<f64>,
    /// Negative log likelihood of a pre-token on average: SentencePiece's objective.
    pub objective: f64,
}

/// What the two passes over a segment work with.
pub struct Model<'m> {
    pub corpus: &'m UnigramCorpus,
    pub lattice: &'m Lattice,
    /// Of each piece, no logarithms.
    pub probabilities: &'m [f64],
}

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

/// So many numbers of a list that grows where it has to. Most segments have only a few
/// characters: their numbers are not worth a call.
#[inline]
fn first(numbers: &mut Vec<f64>, count: usize) -> &mut [f64] {
    if numbers.len() < count {
        numbers.resize(count, 0.0);
    }
    &mut numbers[..count]
}

impl Model<'_> {
    /// Fills in the probability of all segmentations up to each place; returns that of
    /// the whole segment.
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

    /// The same from the end, and adds up what each edge contributes. The passes multiply
    /// by `last`, the segment's count over its probability.
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

    /// The single character at a place: id and probability.
    #[inline]
    pub fn character(&self, at: usize) -> (usize, f64) {
        let id = self.corpus.codes[at] as usize - 1;
        (id, self.probabilities[id])
    }
}
