//! Merging by rank where pre-tokens have few bytes and it is nothing but that.
//!
//! Each merge looks up two pairs, in a table that is larger than what is near the processor,
//! and cannot go on before both are there. Several pre-tokens take turns, so that one works
//! while the others wait.

use super::few::{Few, FEW, FEWER, MOST_RANKS};
use super::{MergeOrder, Merging};
use crate::model::{Alphabet, ByteAlphabet, Merges};
#[cfg(target_arch = "x86_64")]
use crate::pretokenize::Level;

impl Merging {
    /// The alphabet, if merges by rank of byte tokens are all that this does to a pre-token of
    /// few bytes.
    pub(super) fn few(&self) -> Option<&ByteAlphabet> {
        let Alphabet::Bytes(alphabet) = &self.alphabet else {
            return None;
        };
        let fits = self.merges.len() < MOST_RANKS && self.merges.can_be_asked();
        (self.order == MergeOrder::ByRank && fits).then_some(alphabet)
    }

    /// Appends the ids of a pre-token: those of [`Self::segment`]. False, and nothing is
    /// appended, where it has too many bytes or the model asks for more than merges by rank.
    pub(super) fn ids_of_few(&self, pre_token: &[u8], out: &mut Vec<u32>) -> bool {
        let Some(alphabet) = self.few() else {
            return false;
        };
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

    fn merge_few<const MOST: usize>(
        &self,
        alphabet: &ByteAlphabet,
        pre_token: &[u8],
        out: &mut Vec<u32>,
    ) -> bool {
        let mut few = Few::<MOST>::EMPTY;
        if !few.begin(alphabet, &self.merges, pre_token) {
            return false;
        }
        let mut merged = few.merge_first(&self.merges);
        while merged {
            merged = few.merge_next(&self.merges);
        }
        few.append(out);
        true
    }
}

/// Pre-tokens that are merged in turns.
#[derive(Debug)]
pub(super) struct Turns<const MOST: usize> {
    words: Vec<Few<MOST>>,
    /// Those that are not done.
    waiting: Vec<u32>,
    count: usize,
}

impl<const MOST: usize> Default for Turns<MOST> {
    fn default() -> Self {
        Turns {
            words: Vec::new(),
            waiting: Vec::new(),
            count: 0,
        }
    }
}

impl<const MOST: usize> Turns<MOST> {
    /// Takes a pre-token of 1 to `MOST` bytes and returns its number; None if it has a byte
    /// without an id.
    pub fn add(
        &mut self,
        alphabet: &ByteAlphabet,
        merges: &Merges,
        pre_token: &[u8],
    ) -> Option<usize> {
        let number = self.count;
        if number == self.words.len() {
            self.words.push(Few::EMPTY);
        }
        let known = self.words[number].begin(alphabet, merges, pre_token);
        self.count += usize::from(known);
        known.then_some(number)
    }

    /// Makes all merges of all.
    pub fn merge(&mut self, merges: &Merges) {
        #[cfg(target_arch = "x86_64")]
        if let Some(has) = Level::get().avx2() {
            return self.merge_avx2(has, merges);
        }
        self.merge_all(merges);
    }

    #[inline(always)]
    pub(super) fn merge_all(&mut self, merges: &Merges) {
        let Turns {
            words,
            waiting,
            count,
        } = self;
        waiting.clear();
        for (number, word) in (0u32..).zip(&mut words[..*count]) {
            if word.merge_first(merges) {
                waiting.push(number);
            }
        }
        while !waiting.is_empty() {
            let mut kept = 0;
            for at in 0..waiting.len() {
                let number = waiting[at];
                let word = &mut words[number as usize];
                // Written in any case, because a jump could not be foretold.
                waiting[kept] = number;
                kept += usize::from(word.merge_next(merges));
            }
            waiting.truncate(kept);
        }
    }

    /// Appends the ids of a pre-token that is done.
    pub fn append(&self, number: usize, out: &mut Vec<u32>) {
        self.words[number].append(out);
    }

    pub fn clear(&mut self) {
        self.count = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::{merge_long, Segment, Segmenter};
    use crate::model::{NO_ID, NO_RANK};
    use crate::split_mix::SplitMix64;

    /// The ids by the general way.
    fn by_segments(merging: &Merging, text: &[u8]) -> Vec<u32> {
        let mut out = Vec::new();
        merging.segment(text, &mut out, &|| false).unwrap();
        out.iter().map(|segment| segment.id).collect()
    }

    /// By the queue of [`crate::encode::merge_long`].
    fn by_queue(merging: &Merging, text: &[u8]) -> Vec<u32> {
        let symbol = |&byte: &u8| Segment {
            id: byte.into(),
            length: 1,
        };
        let mut out = vec![symbol(&b'.')];
        out.extend(text.iter().map(symbol));
        merge_long::merge(&merging.merges, &mut out, 1, &|| false).unwrap();
        let length: u32 = out[1..].iter().map(|segment| segment.length).sum();
        assert_eq!(length as usize, text.len());
        out[1..].iter().map(|segment| segment.id).collect()
    }

    /// By scans, as merging is defined.
    fn by_scans(merging: &Merging, text: &[u8]) -> Vec<u32> {
        let mut ids: Vec<u32> = text.iter().map(|&byte| byte.into()).collect();
        loop {
            let ranks = ids
                .windows(2)
                .map(|two| merging.merges.rank(two[0], two[1]));
            match (0..).zip(ranks).min_by_key(|&(_, rank)| rank) {
                Some((at, rank)) if rank != NO_RANK => {
                    let right = ids.remove(at + 1);
                    ids[at] = merging.merges.token(rank, ids[at], right);
                }
                _ => return ids,
            }
        }
    }

    #[test]
    fn few_bytes_merge_as_many_do() {
        let mut in_order = 0;
        let mut numbers = SplitMix64::new(7);
        let mut below = |most: u64| (numbers.next_u64() % most) as u32;
        for round in 0..400 {
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
                let token = if round % 2 == 0 && below(8) == 0 {
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
                let expected = by_scans(&merging, &text);
                assert_eq!(by_segments(&merging, &text), expected);
                assert_eq!(by_queue(&merging, &text), expected);
                if length <= FEW {
                    assert_eq!(ids[1..], expected);
                }
            }
            in_order += u32::from(merging.merges.come_later());
            let mut ids = Vec::new();
            assert!(!merging.ids_of_few(b"az", &mut ids) && ids.is_empty());
            let segmenter = Segmenter::Merges(merging);
            let mut scratch = Vec::new();
            segmenter
                .ids(b"az", &mut scratch, &mut ids, &|| false)
                .unwrap();
            assert_eq!(ids, [97, NO_ID]);
        }
        // Both queues were there.
        assert!((100..300).contains(&in_order), "{in_order}");
    }

    #[test]
    fn pre_tokens_take_turns() {
        let merges = [
            (97, 97, 256),
            (256, 98, 257),
            (98, 97, 258),
            (257, 258, 259),
            (256, 256, 260),
        ];
        let merges = Merges::new(merges.into_iter());
        let alphabet = Alphabet::bytes(|byte| (byte[0] != b'z').then_some(byte[0].into()));
        let Alphabet::Bytes(alphabet) = alphabet else {
            unreachable!()
        };
        let mut turns = Turns::<FEWER>::default();
        for round in 0..3 {
            turns.clear();
            let words: Vec<Vec<u8>> = (0..40u32)
                .map(|number| {
                    (0..1 + number % 16)
                        .map(|at| b'a' + (number >> (at % 6) & 1) as u8)
                        .collect()
                })
                .collect();
            assert_eq!(turns.add(&alphabet, &merges, b"az"), None);
            for (number, word) in words.iter().enumerate() {
                assert_eq!(turns.add(&alphabet, &merges, word), Some(number));
            }
            match round {
                0 => turns.merge_all(&merges),
                _ => turns.merge(&merges),
            }
            for (number, word) in words.iter().enumerate() {
                let mut alone = Few::<FEWER>::EMPTY;
                assert!(alone.begin(&alphabet, &merges, word));
                let mut merged = alone.merge_first(&merges);
                while merged {
                    merged = alone.merge_next(&merges);
                }
                let (mut ids, mut expected) = (Vec::new(), Vec::new());
                turns.append(number, &mut ids);
                alone.append(&mut expected);
                assert_eq!(ids, expected);
            }
        }
    }
}
