//! Scores that ids tell: the sum of a sentence from what it became.

use super::margin::NEAR;
use super::Segment;
use crate::model::NO_ID;

/// An id above this tells nothing; no vocabulary has as many.
const MOST_IDS: usize = 1 << 24;

/// By id, what it adds to a sum: the score of its piece, or the unknown one's for the first of a
/// character's bytes. That an id tells its score is not taken for granted: see [`Self::tells`].
pub(super) struct Told(Vec<f32>);

impl Told {
    pub(super) fn new(
        pieces: impl Iterator<Item = (u32, f64)>,
        unknown: (u32, f64),
        byte_ids: Option<&[u32; 256]>,
    ) -> Self {
        let mut scores = Vec::new();
        let mut set = |id: u32, score: f64| {
            let at = id as usize;
            if id != NO_ID && at < MOST_IDS {
                if at >= scores.len() {
                    scores.resize(at + 1, 0.0);
                }
                scores[at] = score as f32;
            }
        };
        for (byte, &id) in byte_ids.into_iter().flatten().enumerate() {
            let goes_on = byte & 0xC0 == 0x80;
            set(id, if goes_on { 0.0 } else { unknown.1 });
        }
        set(unknown.0, unknown.1);
        pieces.for_each(|(id, score)| set(id, score));
        Told(scores)
    }

    #[inline]
    fn score(&self, id: u32) -> f32 {
        self.0.get(id as usize).copied().unwrap_or(0.0)
    }

    /// Are these scores, in this order, what the segments tell? (One of 0 adds nothing.)
    pub(super) fn tells(&self, segments: &[Segment], scores: &[f64]) -> bool {
        let told = segments.iter().map(|segment| self.score(segment.id));
        let scores = scores.iter().map(|&score| score as f32);
        let counts = |score: &f32| *score != 0.0;
        told.filter(counts).eq(scores.filter(counts))
    }

    /// The sum behind these ids; None where one of them begins at a sum that is not [`NEAR`].
    #[inline]
    pub(super) fn sum(&self, before: f32, ids: &[u32]) -> Option<f32> {
        let (mut sum, mut far) = (before, false);
        for &id in ids {
            far |= sum.abs() > NEAR;
            sum += self.score(id);
        }
        (!far).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tell_their_scores_or_it_is_noticed() {
        let mut bytes = [0u32; 256];
        (10..).zip(&mut bytes).for_each(|(id, byte)| *byte = id);
        let told = Told::new([(1, -1.5), (2, -2.0)].into_iter(), (0, -9.0), Some(&bytes));
        let segments = |ids: &[u32]| -> Vec<Segment> {
            let segment = |&id| Segment { id, length: 1 };
            ids.iter().map(segment).collect()
        };
        assert!(told.tells(&segments(&[1, 2, 0]), &[-1.5, -2.0, -9.0]));
        assert!(!told.tells(&segments(&[1, 0]), &[-1.5, -9.0, -9.0]));
        assert!(!told.tells(&segments(&[2, 1]), &[-1.5, -2.0]));
        // Two bytes of one character, and two that are one each.
        let pair = segments(&[10 + 0xC3, 10 + 0xA9]);
        assert!(told.tells(&pair, &[-9.0]));
        assert!(!told.tells(&pair, &[-9.0, -9.0]));
        assert!(!told.tells(&segments(&[u32::MAX]), &[-1.5]));
        assert_eq!(told.sum(-1.0, &[1, 2]), Some(-4.5));
        assert_eq!(told.sum(-NEAR - 1.0, &[]), Some(-NEAR - 1.0));
        assert_eq!(told.sum(1.0 - NEAR, &[2, 2]), None);
    }
}
