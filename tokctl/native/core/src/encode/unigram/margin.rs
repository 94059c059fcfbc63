//! Proof of when the best segmentation of a word stays the best after any preceding text.
//!
//! The sum of scores continues from word to word and is rounded after each piece. So the size of
//! the sum can decide between segmentations of a word, but only between nearly equal ones.
//!
//! Let `S` be the best sum where a word begins. Let `u` be half the distance from 1 to the next
//! number (2^-24 for 32 bits, 2^-53 for 64), `n` the number of characters in the word, and `m` the
//! highest absolute score of a piece found in the word. A segmentation with the scores s1 … sk,
//! where k <= n, has the sum f(S) = r(…r(r(S + s1) + s2)… + sk), where r rounds. Let E be
//! s1 + … + sk.
//!
//! 1. No partial sum exceeds B = (|S| + n m)(1 + 2^-10): k roundings enlarge it by a factor of at
//!    most (1 + u)^k, and k is at most 128. Rounding to nearest changes a sum by at most `u` times
//!    the sum. (A sum too small for this bound is exact.) So |f(S) - (S + E)| <= n u B.
//! 2. The search keeps the highest sum at every offset. Rounding is monotone: if x <= y, then
//!    r(x + s) <= r(y + s). So the search's sum at the end of the word is the highest f(S) of all
//!    segmentations, and the path that it traces back has this sum.
//! 3. If the E of one segmentation exceeds the E of every other by more than 2 n u B, its f(S) is
//!    the highest, by point 1. By point 2, the search finds this segmentation, whatever the rule
//!    for ties.
//!
//! So a word with such a gap keeps its best segmentation as long as
//! |S| < gap / (2 n u (1 + 2^-10)) - n m. The sum after the word is then made by adding the scores
//! one by one, as the search does.
//!
//! The gap is found as follows. From some offset on, perhaps only from the end of the word, another
//! segmentation has the pieces of the best one. It reaches this offset by another last piece, so
//! its sum there is at most the second highest. So the gap is the least difference between the two
//! highest sums of different last pieces, over the offsets on the best path. These sums are
//! computed in 32 bits from scores rounded to 32 bits. By point 1, their error is at most
//! 4 n 2^-24 n m.
//!
//! SentencePiece rebases a sum above 100,000 (see [`MAX_SUM`]). B must stay below that limit as
//! well.
//!
//! Most gaps are so large that `S` need not be known. Let `n m` be below 2000. If the word begins
//! at a sum of at most 100,000, its sums are at most B = (100,000 + n m)(1 + 2^-10). At most one of
//! its offsets is rebased: all later sums drop by the same number, and are small afterwards. If the
//! word begins at a higher sum, it starts from 0. Rebasing is one more monotone step of a path, and
//! changes a sum by at most 2 u B. So f(S) of a path of k pieces is within (k + 2) u B of the exact
//! sum. Let u B be added to every score. Then the best path, of k pieces, is the best after any sum
//! if it exceeds every other path by more than (2 k + 4) u B.

use super::viterbi::MAX_SUM;
use super::{Precision, Unigram, UNKNOWN};
use crate::encode::word_starts::MARK_CHARACTER;
use crate::model::LabelledText;

/// 1 + 2^-10, and a little more for the rounding in formulas that use this factor.
const SLACK: f64 = 1.0 + 1.0 / 1000.0;

/// Upper limit of `n m` for a word that is [`Margin::anywhere`].
const SMALL: f64 = 2000.0;
/// A word that is [`Margin::anywhere`] and begins at a sum up to this limit is not rebased at any
/// offset.
pub(crate) const NEAR: f32 = (MAX_SUM - SMALL - 50.0) as f32;

/// Largest change of a sum by one rounding, in a word that is [`Margin::anywhere`]: u B.
pub(crate) const STEP: f64 = (MAX_SUM + SMALL) * SLACK * (f32::EPSILON as f64) / 2.0;

/// How far a word's best segmentation is ahead of all others.
pub(crate) struct Margin {
    /// Least difference between the two highest sums on the best path.
    gap: f64,
    /// Number of pieces of the best segmentation.
    pieces: usize,
    /// `n`: characters of the word.
    characters: f64,
    /// `m`: highest absolute score of a piece found in the word.
    highest: f64,
}

/// The best segmentation of a word, last piece first, and the working memory to find it.
pub(crate) struct BestPath {
    text: LabelledText,
    /// The best sums at each offset, by the number of labels before the offset.
    places: Box<[BestSums; ROOM]>,
    pub path: Vec<u32>,
}

const ROOM: usize = LabelledText::ROOM;

impl Default for BestPath {
    fn default() -> Self {
        BestPath {
            text: LabelledText::default(),
            places: Box::new([UNREACHED; ROOM]),
            path: Vec::new(),
        }
    }
}

/// The two highest sums at an offset that come by different last pieces, and the last piece of the
/// highest.
#[derive(Clone, Copy)]
struct BestSums {
    best: f32,
    second: f32,
    piece: u32,
    /// Number of labels before `piece`.
    from: u32,
}

const UNREACHED: BestSums = BestSums {
    best: f32::NEG_INFINITY,
    second: f32::NEG_INFINITY,
    piece: UNKNOWN,
    from: 0,
};

impl BestSums {
    #[inline(always)]
    fn offer(&mut self, sum: f32, piece: u32, from: usize) {
        // Without a branch: which sum is higher is unpredictable.
        let lower = if sum < self.best { sum } else { self.best };
        self.second = if lower > self.second {
            lower
        } else {
            self.second
        };
        let better = sum > self.best;
        self.best = if better { sum } else { self.best };
        let (old, new) = (pair(self.piece, self.from), pair(piece, from as u32));
        let taken = if better { new } else { old };
        (self.piece, self.from) = (taken as u32, (taken >> 32) as u32);
    }
}

#[inline(always)]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl Unigram {
    /// Find the best segmentation of a short word by exact sums, and its margin.
    ///
    /// `more` is added to every score. If the word is `spaced`, U+0020 stands for `▁`.
    pub(crate) fn best_with_margin(
        &self,
        word: &[u8],
        spaced: bool,
        more: f64,
        best: &mut BestPath,
    ) -> Margin {
        let BestPath { text, places, path } = best;
        let space = match spaced {
            true => MARK_CHARACTER,
            false => u32::from(b' '),
        };
        self.trie.label(word, space, text);
        let more = more as f32;
        let unknown = self.unknown_score as f32;
        let mut highest = 0.0f32;
        places[..=text.count].fill(UNREACHED);
        places[0].best = 0.0;
        let ends = text.characters.iter().skip(1).map(|&(next, _)| next);
        let ends = ends.chain([text.count as u16]);
        for (&(from, length), next) in text.characters.iter().zip(ends) {
            let (from, next) = (usize::from(from), usize::from(next));
            let before = places[from % ROOM].best;
            let mut is_piece = false;
            self.trie.walk_labels(text, from, |end, piece| {
                let score = self.scores_32[piece as usize];
                highest = if score.abs() > highest {
                    score.abs()
                } else {
                    highest
                };
                places[end % ROOM].offer(before + (score + more), piece, from);
                is_piece |= end == next;
            });
            if !is_piece {
                highest = highest.max(unknown.abs());
                let piece = UNKNOWN + u32::from(length);
                places[next % ROOM].offer(before + (unknown + more), piece, from);
            }
        }
        path.clear();
        let (mut at, mut gap) = (text.count, f64::INFINITY);
        while at > 0 {
            let place = places[at % ROOM];
            let above = f64::from(place.best) - f64::from(place.second);
            gap = if above < gap { above } else { gap };
            path.push(place.piece);
            at = place.from as usize;
        }
        Margin {
            gap,
            pieces: path.len(),
            characters: text.characters.len() as f64,
            highest: f64::from(highest + more),
        }
    }
}

impl Margin {
    /// Return the gap reduced by the error of its own sums, `n` and `m`.
    fn parts(&self) -> (f64, f64, f64) {
        let (n, m) = (self.characters, self.highest);
        (
            self.gap - 2.0 * f64::from(f32::EPSILON) * n * n * m * SLACK,
            n,
            m,
        )
    }

    /// Return whether the search finds this segmentation after any `S`, in SentencePiece's
    /// arithmetic.
    pub(crate) fn anywhere(&self) -> bool {
        let (gap, n, m) = self.parts();
        n * m < SMALL && gap > (2.0 * self.pieces as f64 + 4.0) * STEP
    }

    /// Return the limit below which `|S|` must be for the search to find this segmentation.
    pub(crate) fn limit(&self, precision: Precision) -> f64 {
        let (unit, most) = match precision {
            Precision::Single => (f64::from(f32::EPSILON) / 2.0, MAX_SUM),
            Precision::Double => (f64::EPSILON / 2.0, f64::MAX),
        };
        let (gap, n, m) = self.parts();
        let limit = (gap / (2.0 * n * unit)).min(most) / SLACK - n * m * SLACK;
        // NaN if a score is too large for these formulas.
        if limit.is_nan() {
            return 0.0;
        }
        limit
    }
}

#[cfg(test)]
mod tests {
    use super::super::UnigramOptions;
    use super::*;
    use crate::random::random_below;

    /// List all segmentations of a text into pieces and unknown characters: sums, and lengths of
    /// the pieces.
    fn all(pieces: &[(String, f64)], unknown: f64, text: &str) -> Vec<(f64, Vec<usize>)> {
        if text.is_empty() {
            return vec![(0.0, Vec::new())];
        }
        let first = text.chars().next().map_or(0, char::len_utf8);
        let mut ways: Vec<_> = (pieces.iter().filter(|piece| text.starts_with(&piece.0)))
            .map(|(piece, score)| (piece.len(), *score))
            .collect();
        if !ways.iter().any(|way| way.0 == first) {
            ways.push((first, unknown));
        }
        let mut found = Vec::new();
        for (length, score) in ways {
            for (sum, mut path) in all(pieces, unknown, &text[length..]) {
                path.push(length);
                found.push((score + sum, path));
            }
        }
        found
    }

    #[test]
    fn the_gap_is_that_between_the_best_two_of_all_segmentations() {
        let mut below = random_below(3);
        let mut best = BestPath::default();
        for _ in 0..60 {
            let mut pieces: Vec<(String, f64)> = vec![("▁".into(), -2.0)];
            for _ in 0..below(40) {
                let piece: String = (0..1 + below(4))
                    .map(|_| ['a', 'é', '日', '𝐀'][below(4)])
                    .collect();
                let piece = format!("{}{piece}", ["", "", "▁"][below(3)]);
                if !pieces.iter().any(|known| known.0 == piece) {
                    pieces.push((piece, -(below(4000) as f64) / 256.0));
                }
            }
            let options = UnigramOptions {
                unknown_id: Some(0),
                unknown_score: Some(-20.0),
                byte_ids: None,
                fuse_unknown: true,
                user_defined: Vec::new(),
                precision: Precision::Single,
            };
            let numbered = (1..).zip(&pieces);
            let numbered = numbered.map(|(id, (text, score))| (text.as_bytes(), id, *score));
            let model = Unigram::new(numbered, options).unwrap();
            for _ in 0..60 {
                let letters = ['a', 'é', '日', '𝐀', 'x'];
                let word: String = (0..1 + below(7)).map(|_| letters[below(5)]).collect();
                let margin =
                    model.best_with_margin(format!(" {word}").as_bytes(), true, 0.0, &mut best);
                let mut ways = all(&pieces, -20.0, &format!("▁{word}"));
                ways.sort_by(|a, b| b.0.total_cmp(&a.0));
                let second = ways.get(1).map_or(f64::NEG_INFINITY, |way| way.0);
                // Sums of a few multiples of 1/256 are exact.
                assert_eq!(margin.gap, ways[0].0 - second, "{word} {pieces:?}");
                if margin.gap > 0.0 {
                    let lengths = best.path.iter().map(|&piece| model.length(piece));
                    let mut expected = ways[0].1.clone();
                    expected.reverse();
                    assert_eq!(lengths.rev().collect::<Vec<_>>(), expected);
                }
                assert_eq!(margin.characters, word.chars().count() as f64 + 1.0);
            }
        }
    }
}
