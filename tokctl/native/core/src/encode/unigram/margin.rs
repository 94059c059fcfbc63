//! When is the best segmentation of a word the best wherever the word stands?
//!
//! A sum of scores goes on from word to word and is rounded at each piece, so that how large it
//! is can decide between segmentations that are nearly equal. Only between those:
//!
//! Let a word begin where the best sum is `S`. Let `u` be half the distance from 1 to the next
//! number (2^-24 for 32 bits, 2^-53 for 64), `n` the word's characters and `m` the highest
//! absolute score of a piece that can stand in it. A segmentation with the scores s1 … sk, where
//! k <= n, has the sum f(S) = r(…r(r(S + s1) + s2)… + sk), where r rounds; let E be s1 + … + sk.
//!
//! 1. No sum on the way is above B = (|S| + n m)(1 + 2^-10), because k roundings make the most
//!    of it that (1 + u)^k does, and k is 128 at most. Rounding to nearest moves a sum by at most
//!    `u` times what it is. (A sum too small for that to hold is exact.) So
//!    |f(S) - (S + E)| <= n u B.
//! 2. The search keeps the highest sum at every place. Rounding is monotone: x <= y gives
//!    r(x + s) <= r(y + s). So what it has at the word's end is the highest f(S) of all
//!    segmentations, and the one that it goes back along has this sum.
//! 3. If the E of one segmentation is above that of any other by more than 2 n u B, its f(S) is
//!    above theirs by 1., and by 2. it is the one that is found, whatever ties would do.
//!
//! So a word with such a gap keeps its best segmentation as long as
//! |S| < gap / (2 n u (1 + 2^-10)) - n m. The sum behind the word is then made by adding the
//! scores one by one, as the search does. The gap is found in 64 bits: its own error is at most
//! 4 n 2^-53 n m, by 1. and as the highest two sums at a place are monotone, too.
//!
//! SentencePiece takes a sum above 100,000 down. B must stay below that as well.
//!
//! Most gaps are so large that `S` need not be known. Where `n m` is below 2000, a word that
//! begins at up to 100,000 has sums up to B = (100,000 + n m)(1 + 2^-10), and at most one of its
//! places takes those behind it down, all by the same number, after which they are small; at a
//! higher sum it starts from 0. That is one more step of a path which is monotone, and moves a
//! sum by at most 2 u B. So f(S) of a path of k pieces lies within (k + 2) u B of what E says.
//! Let u B be added to every score: then the best path, of k pieces, is the best behind any sum
//! if it is better than any other by more than (2 k + 4) u B.

use super::viterbi::MAX_SUM;
use super::{Precision, Unigram, UNKNOWN};

/// 1 + 2^-10, and a little more for the rounding of what is computed with it.
const SLACK: f64 = 1.0 + 1.0 / 1000.0;

/// The most that the scores of a word may come to that is [`Margin::anywhere`].
const SMALL: f64 = 2000.0;
/// Where a word that is clear anywhere begins at a sum up to this, none of its places is taken
/// down.
pub(crate) const NEAR: f32 = (MAX_SUM - SMALL - 50.0) as f32;

/// What one step may move a sum by, of a word that is [`Margin::anywhere`].
pub(crate) const STEP: f64 = (MAX_SUM + SMALL) * SLACK * (f32::EPSILON as f64) / 2.0;

/// By how much the best segmentation of a word is the best.
pub(crate) struct Margin {
    gap: f64,
    /// How many pieces it has.
    pieces: usize,
    /// `n` and `m`.
    characters: f64,
    highest: f64,
}

/// The best segmentation of a word, last piece first, and how it was found.
#[derive(Default)]
pub(crate) struct BestPath {
    places: Vec<BestSums>,
    pub path: Vec<u32>,
}

/// The two highest sums of different segmentations up to a place, and the last piece of the
/// first.
#[derive(Clone, Copy)]
struct BestSums {
    best: f64,
    second: f64,
    piece: u32,
}

const UNREACHED: BestSums = BestSums {
    best: f64::NEG_INFINITY,
    second: f64::NEG_INFINITY,
    piece: UNKNOWN,
};

impl Unigram {
    /// The best segmentation of a short word, by the exact sums. `more` is added to every score.
    pub(crate) fn best_with_margin(&self, word: &[u8], more: f64, best: &mut BestPath) -> Margin {
        let BestPath { places, path } = best;
        places.clear();
        places.resize(word.len() + 1, UNREACHED);
        places[0].best = 0.0;
        let (mut at, mut characters, mut highest) = (0, 0, 0.0f64);
        while at < word.len() {
            let before = places[at];
            let (length, _) = self.pieces_at(word, at, |length, piece, score| {
                highest = highest.max(score.abs());
                let place = &mut places[at + length];
                let (best, second) = (before.best + score + more, before.second + score + more);
                if best > place.best {
                    place.second = place.best.max(second);
                    (place.best, place.piece) = (best, piece);
                } else {
                    place.second = place.second.max(best);
                }
            });
            places[at + 1..at + length].fill(UNREACHED);
            at += length;
            characters += 1;
        }
        path.clear();
        while at > 0 {
            let piece = places[at].piece;
            path.push(piece);
            at -= self.length(piece);
        }
        let BestSums { best, second, .. } = places[word.len()];
        Margin {
            gap: best - second,
            pieces: path.len(),
            characters: f64::from(characters),
            highest,
        }
    }
}

impl Margin {
    /// The gap less what its own sums may err by, `n` and `m`.
    fn parts(&self) -> (f64, f64, f64) {
        let (n, m) = (self.characters, self.highest);
        (self.gap - 2.0 * f64::EPSILON * n * n * m * SLACK, n, m)
    }

    /// Is it what is found, in SentencePiece's arithmetic, whatever `S` is?
    pub(crate) fn anywhere(&self) -> bool {
        let (gap, n, m) = self.parts();
        n * m < SMALL && gap > (2.0 * self.pieces as f64 + 4.0) * STEP
    }

    /// What `|S|` must stay below for it to be what is found.
    pub(crate) fn limit(&self, precision: Precision) -> f64 {
        let (unit, most) = match precision {
            Precision::Single => (f64::from(f32::EPSILON) / 2.0, MAX_SUM),
            Precision::Double => (f64::EPSILON / 2.0, f64::MAX),
        };
        let (gap, n, m) = self.parts();
        let limit = (gap / (2.0 * n * unit)).min(most) / SLACK - n * m * SLACK;
        // No number where a score is too large for any of this.
        if limit.is_nan() {
            return 0.0;
        }
        limit
    }
}
