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
//! scores one by one, as the search does.
//!
//! The gap: every other segmentation comes from some place on, perhaps the word's end, to the same
//! pieces as the best one, and before that place by another piece, whose sum is not above the second
//! highest there. So it is the least distance between the two highest sums, of different last
//! pieces, at the places that the best one passes. These are found in 32 bits, of scores rounded
//! to that, with an error of at most 4 n 2^-24 n m, by 1.
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
use crate::encode::word_starts::MARK_CHARACTER;
use crate::model::LabelledText;

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
pub(crate) struct BestPath {
    text: LabelledText,
    /// By the number of labels before a place.
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

/// The two highest sums up to a place that come by different pieces, and the piece of the first.
#[derive(Clone, Copy)]
struct BestSums {
    best: f32,
    second: f32,
    piece: u32,
    /// Where it begins.
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
        // Without a jump: which is higher can't be foreseen.
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
    /// The best segmentation of a short word, by the exact sums. `more` is added to every score.
    /// U+0020 stands for `▁` if the word is `spaced`.
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
    /// The gap less what its own sums may err by, `n` and `m`.
    fn parts(&self) -> (f64, f64, f64) {
        let (n, m) = (self.characters, self.highest);
        (
            self.gap - 2.0 * f64::from(f32::EPSILON) * n * n * m * SLACK,
            n,
            m,
        )
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

#[cfg(test)]
mod tests {
    use super::super::UnigramOptions;
    use super::*;
    use crate::random::random_below;

    /// The sums of all segmentations of a text into pieces and unknown characters, and their pieces.
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
                // Sums of a few 256ths are exact.
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
