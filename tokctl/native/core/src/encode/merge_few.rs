//! Merging by rank for a pre-token of few bytes, where it is nothing but that.

use super::{MergeOrder, Merging};
use crate::model::{Alphabet, ByteAlphabet, NO_ID, NO_RANK};

/// As many bytes as a word has bits, and as many as most pre-tokens have at most.
const FEW: usize = 64;
const FEWER: usize = 16;

/// Candidates that are compared at once.
const LANES: usize = 8;

/// A pair that may merge: its rank, and the place where it begins in the low bits, so that the
/// least of them all is of the lowest rank, and of equal ranks the leftmost. Signed numbers,
/// because every processor compares many of these at once.
type Candidate = i32;
const PLACE_BITS: u32 = FEW.ilog2();
const NEVER: Candidate = Candidate::MAX;

#[inline(always)]
fn candidate(rank: u32, at: usize) -> Candidate {
    match rank {
        NO_RANK => NEVER,
        rank => (rank << PLACE_BITS) as Candidate | at as Candidate,
    }
}

#[inline(always)]
fn least(candidates: &[Candidate]) -> Candidate {
    let mut least = [NEVER; LANES];
    for some in candidates.chunks_exact(LANES) {
        for (least, &one) in least.iter_mut().zip(some) {
            *least = (*least).min(one);
        }
    }
    least.into_iter().fold(NEVER, Candidate::min)
}

impl Merging {
    /// Appends the ids of a pre-token: those of [`Self::segment`]. False, and nothing is
    /// appended, where it has too many bytes or the model asks for more than merges by rank.
    pub(super) fn ids_of_few(&self, pre_token: &[u8], out: &mut Vec<u32>) -> bool {
        let Alphabet::Bytes(alphabet) = &self.alphabet else {
            return false;
        };
        // Every candidate is less than the one that stands for none.
        let fits = self.merges.len() < NEVER as usize >> PLACE_BITS;
        if self.order != MergeOrder::ByRank || !fits {
            return false;
        }
        if let Some(id) = self.whole.as_ref().and_then(|whole| whole.id(pre_token)) {
            out.push(id);
            return true;
        }
        match pre_token.len() {
            0 => false,
            length if length <= FEWER => self.merge_few::<FEWER>(alphabet, pre_token, out),
            length if length <= FEW => self.merge_few::<FEW>(alphabet, pre_token, out),
            _ => false,
        }
    }

    /// Symbols stay where they begin, and a bit for each says that it is still there: what a
    /// merge takes away moves nothing.
    #[inline(always)]
    fn merge_few<const MOST: usize>(
        &self,
        alphabet: &ByteAlphabet,
        pre_token: &[u8],
        out: &mut Vec<u32>,
    ) -> bool {
        let count = pre_token.len();
        let mut ids = [NO_ID; MOST];
        let mut any_unknown = false;
        for (id, &byte) in ids.iter_mut().zip(pre_token) {
            *id = alphabet.id(byte);
            any_unknown |= *id == NO_ID;
        }
        if any_unknown {
            return false;
        }
        let mut candidates = [NEVER; MOST];
        for (at, two) in ids[..count].windows(2).enumerate() {
            candidates[at] = candidate(self.merges.rank(two[0], two[1]), at);
        }
        let candidates = &mut candidates[..count.next_multiple_of(LANES)];
        let mut there = u64::MAX >> (FEW - count);
        loop {
            let best = least(candidates);
            if best == NEVER {
                break;
            }
            let (rank, at) = (best as u32 >> PLACE_BITS, best as usize % FEW);
            let behind = there & (u64::MAX << at) << 1;
            let right = behind.trailing_zeros() as usize % MOST;
            let id = self.merges.token(rank, ids[at], ids[right]);
            ids[at] = id;
            candidates[right] = NEVER;
            there &= !(1 << right);
            let behind = behind & (behind - 1);
            candidates[at] = match behind {
                0 => NEVER,
                behind => {
                    let next = ids[behind.trailing_zeros() as usize % MOST];
                    candidate(self.merges.rank(id, next), at)
                }
            };
            let ahead = there & ((1 << at) - 1);
            if ahead != 0 {
                let before = ahead.ilog2() as usize % MOST;
                candidates[before] = candidate(self.merges.rank(ids[before], id), before);
            }
        }
        while there != 0 {
            out.push(ids[there.trailing_zeros() as usize % MOST]);
            there &= there - 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::Segmenter;
    use crate::model::Merges;
    use crate::split_mix::SplitMix64;

    /// The ids by the general way.
    fn by_segments(merging: &Merging, text: &[u8]) -> Vec<u32> {
        let mut out = Vec::new();
        merging.segment(text, &mut out, &|| false).unwrap();
        out.iter().map(|segment| segment.id).collect()
    }

    #[test]
    fn few_bytes_merge_as_many_do() {
        let mut numbers = SplitMix64::new(7);
        let mut below = |most: u64| (numbers.next_u64() % most) as u32;
        for round in 0..300 {
            // Merges of what there is so far; some make a token that exists.
            let mut merges = Vec::new();
            for step in 0..below(30) {
                let symbol = |number: u32| match number < 3 {
                    true => number + 97,
                    false => number + 253,
                };
                let (left, right) = (
                    symbol(below(3 + u64::from(step))),
                    symbol(below(3 + u64::from(step))),
                );
                let token = if below(8) == 0 {
                    symbol(below(3))
                } else {
                    256 + step
                };
                merges.push((left, right, token));
            }
            let merging = Merging {
                alphabet: Alphabet::bytes(|byte| (byte[0] != b'z').then_some(byte[0].into())),
                merges: Merges::new(merges.into_iter()),
                order: MergeOrder::ByRank,
                unknown: None,
                fuse_unknown: false,
                byte_ids: None,
                whole: None,
                in_parts: false,
            };
            for length in (1..=66).step_by(1 + round % 5) {
                let text: Vec<u8> = (0..length).map(|_| b'a' + below(3) as u8).collect();
                let mut ids = vec![5];
                assert_eq!(merging.ids_of_few(&text, &mut ids), length <= FEW);
                if length <= FEW {
                    assert_eq!(ids[1..], by_segments(&merging, &text));
                }
            }
            let mut ids = Vec::new();
            assert!(!merging.ids_of_few(b"az", &mut ids) && ids.is_empty());
            let segmenter = Segmenter::Merges(merging);
            let mut scratch = Vec::new();
            segmenter
                .ids(b"az", &mut scratch, &mut ids, &|| false)
                .unwrap();
            assert_eq!(ids, [97, NO_ID]);
        }
    }
}
