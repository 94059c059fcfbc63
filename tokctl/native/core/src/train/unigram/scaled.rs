//! The forward-backward algorithm for segments whose probabilities would underflow plain floats.

use std::ops::Range;

use super::expectation::Model;
use crate::jobs::Interrupt;

/// 2^256 and its inverse: multiplying by them is exact.
const UP: f64 = f64::from_bits((1023 + 256) << 52);
const DOWN: f64 = f64::from_bits((1023 - 256) << 52);

/// Size of the ring buffer of backward values: a piece reaches at most 255 characters ahead.
const REACH: usize = 256;

/// The number `mantissa * 2^(-256 * exponent)`. Once normalized, the mantissa is at least 2^-256.
#[derive(Debug, Clone, Copy)]
struct Scaled {
    mantissa: f64,
    exponent: i32,
}

const ZERO: Scaled = Scaled {
    mantissa: 0.0,
    exponent: i32::MAX,
};

impl Scaled {
    fn times(self, probability: f64) -> Self {
        Scaled {
            mantissa: self.mantissa * probability,
            exponent: self.exponent,
        }
    }

    /// Add `other`. If the exponents differ by more than 1, the smaller number is negligible and
    /// ignored.
    fn add(&mut self, other: Scaled) {
        if other.exponent == self.exponent {
            self.mantissa += other.mantissa;
        } else {
            let (large, small) = if other.exponent < self.exponent {
                (other, *self)
            } else {
                (*self, other)
            };
            *self = large;
            if small.exponent == large.exponent + 1 {
                self.mantissa += small.mantissa * DOWN;
            }
        }
    }

    fn normalize(&mut self) {
        if self.mantissa < DOWN {
            self.mantissa *= UP;
            self.exponent += 1;
        }
    }
}

/// Add the segment's expected counts to `counts`, and return its log probability.
pub fn forward_backward(
    model: &Model,
    range: Range<usize>,
    count: f64,
    counts: &mut [f64],
    stop: Interrupt,
) -> f64 {
    const ONE: Scaled = Scaled {
        mantissa: 1.0,
        exponent: 0,
    };
    let mut forward = vec![ZERO; range.len() + 1];
    forward[0] = ONE;
    for (index, at) in range.clone().enumerate() {
        if index % REACH == 0 && stop() {
            return 0.0;
        }
        forward[index].normalize();
        let here = forward[index];
        forward[index + 1].add(here.times(model.character(at).1));
        for (id, length) in model.lattice.edges(at) {
            forward[index + length].add(here.times(model.probabilities[id]));
        }
    }
    forward[range.len()].normalize();
    let whole = forward[range.len()];

    let mut backward = [ZERO; REACH];
    backward[range.len() % REACH] = ONE;
    for (index, at) in range.enumerate().rev() {
        if index % REACH == 0 && stop() {
            return 0.0;
        }
        let before = forward[index];
        let mut here = ZERO;
        let mut take = |id: usize, after: Scaled| {
            // `before` is normalized and `after` is a normalized number times one probability, so
            // that nothing underflows.
            let share = before.mantissa * after.mantissa / whole.mantissa;
            let exponent = before.exponent + after.exponent - whole.exponent;
            let scale = match exponent {
                -2 => UP * UP,
                -1 => UP,
                0 => 1.0,
                1 => DOWN,
                _ => 0.0,
            };
            counts[id] += count * share * scale;
            here.add(after);
        };
        let (id, probability) = model.character(at);
        take(id, backward[(index + 1) % REACH].times(probability));
        for (id, length) in model.lattice.edges(at) {
            let after = backward[(index + length) % REACH];
            take(id, after.times(model.probabilities[id]));
        }
        here.normalize();
        backward[index % REACH] = here;
    }
    whole.mantissa.ln() - f64::from(whole.exponent) * UP.ln()
}

#[cfg(test)]
mod tests {
    use super::super::corpus::UnigramCorpus;
    use super::super::expectation::expect;
    use super::super::lattice::blocks;
    use super::super::{seed, UnigramTrainingOptions};
    use super::*;
    use crate::count::Counts;
    use crate::random::random_below;

    /// Compare with the plain passes, on a text as long as plain floats allow.
    #[test]
    fn scaled_numbers_change_nothing() {
        let mut counts = Counts::default();
        counts.push("abracadabra".repeat(12).as_bytes(), 3);
        let corpus = UnigramCorpus::new(&counts, None, &mut || true).unwrap();
        let options = UnigramTrainingOptions::default();
        let (pieces, lattice) =
            seed::seed(&corpus, &Default::default(), &options, &mut || true).unwrap();
        let probabilities = pieces.probabilities();
        let model = Model {
            corpus: &corpus,
            lattice: &lattice,
            probabilities: &probabilities,
        };
        let plain = expect(&model, &blocks(&corpus.segments), 1, &mut || true).unwrap();
        let mut scaled = vec![0.0; pieces.len()];
        let range = 0..corpus.codes.len() - 1;
        let log = forward_backward(&model, range, 3.0, &mut scaled, &|| false);
        assert!((log + plain.objective).abs() < 1e-9);
        for (one, other) in plain.counts.iter().zip(&scaled) {
            assert!((one - other).abs() <= 1e-12 * one.max(1.0), "{one} {other}");
        }
    }

    /// Check that the expected counts cover every character exactly once, however long the text.
    #[test]
    fn expected_counts_cover_a_long_text() {
        let mut counts = Counts::default();
        let mut below = random_below(1);
        let letters = (0..40_000).map(|_| char::from(b'a' + below(26) as u8));
        let word: String = letters.collect();
        counts.push(word.as_bytes(), 5);
        let corpus = UnigramCorpus::new(&counts, None, &mut || true).unwrap();
        let options = UnigramTrainingOptions::default();
        let (pieces, lattice) =
            seed::seed(&corpus, &Default::default(), &options, &mut || true).unwrap();
        let model = Model {
            corpus: &corpus,
            lattice: &lattice,
            probabilities: &pieces.probabilities(),
        };
        let found = expect(&model, &blocks(&corpus.segments), 1, &mut || true).unwrap();
        let length = |id: usize| pieces.text(id, &corpus).chars().count() as f64;
        let counts = found.counts.iter().enumerate();
        let covered: f64 = counts.map(|(id, count)| count * length(id)).sum();
        assert!((covered / 200_000.0 - 1.0).abs() < 1e-9, "{covered}");
        assert!(found.objective.is_finite() && found.objective > 10_000.0);
    }
}
