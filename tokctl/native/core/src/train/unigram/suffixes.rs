//! The suffixes of all segments, sorted up to a bounded depth.
//!
//! Pieces are short, so a suffix array that compares only the first `depth` characters finds them
//! all. Its construction stays linear for any text (a full suffix array needs care where the text
//! repeats). Several characters are packed into one 64-bit key; suffixes with equal keys are sorted
//! by their next characters.

use std::ops::Range;
use std::sync::Mutex;

use super::corpus::{UnigramCorpus, END};
use crate::error::Result;
use crate::jobs::{Interrupt, Jobs};

/// Approximate number of key bits that choose the bucket. Buckets are sorted one by one.
const BUCKET_BITS: u32 = 16;

/// Number of shares into which the buckets are divided for the threads.
const SHARES: usize = 64;

/// Sorted suffixes: see the module.
#[derive(Debug)]
pub struct Suffixes {
    /// Positions in the corpus. Suffixes that are equal up to the depth are adjacent.
    pub order: Vec<u32>,
    /// Number of leading characters that a suffix has in common with the suffix before it, up to
    /// the depth.
    pub shared: Vec<u8>,
}

impl Suffixes {
    /// Sort the suffixes of all segments by their first `depth` characters.
    pub fn new(
        corpus: &UnigramCorpus,
        depth: u8,
        threads: usize,
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<Self> {
        let packing = Packing::new(corpus, depth);
        let (mut order, ends) = packing.distribute();
        let mut shared = vec![0; order.len()];
        let shares = share_out(&mut order, &mut shared, &ends);
        let sort = |job: usize, stop: Interrupt| {
            if let Some(share) = shares[job].lock().ok().and_then(|mut slot| slot.take()) {
                packing.sort(share, stop);
            }
        };
        let count = shares.len();
        Jobs { count, threads }.in_order_reporting(progress, sort, |()| {})?;
        drop(shares);
        for &first in &ends {
            if (1..order.len()).contains(&first) {
                shared[first] = packing.compare(order[first - 1], order[first]);
            }
        }
        Ok(Suffixes { order, shared })
    }
}

/// Adjacent buckets that one thread sorts.
struct BucketShare<'s> {
    order: &'s mut [u32],
    shared: &'s mut [u8],
    buckets: Vec<Range<usize>>,
}

fn share_out<'s>(
    order: &'s mut [u32],
    shared: &'s mut [u8],
    ends: &[usize],
) -> Vec<Mutex<Option<BucketShare<'s>>>> {
    let enough = order.len() / SHARES;
    let (mut order, mut shared) = (order, shared);
    let mut shares = Vec::new();
    let (mut from, mut start, mut buckets) = (0, 0, Vec::new());
    for &end in ends {
        if end > start {
            buckets.push(start - from..end - from);
            start = end;
        }
        if end - from > enough || (end > from && order.len() == end - from) {
            let (own_order, rest) = order.split_at_mut(end - from);
            order = rest;
            let (own_shared, rest) = shared.split_at_mut(end - from);
            shared = rest;
            shares.push(Mutex::new(Some(BucketShare {
                order: own_order,
                shared: own_shared,
                buckets: std::mem::take(&mut buckets),
            })));
            from = end;
        }
    }
    shares
}

/// Scheme by which characters are packed into keys.
struct Packing<'c> {
    codes: &'c [u32],
    depth: usize,
    /// Number of bits per character.
    bits: u32,
    /// Number of characters per key.
    width: usize,
}

impl<'c> Packing<'c> {
    fn new(corpus: &'c UnigramCorpus, depth: u8) -> Self {
        let codes = corpus.characters.len() as u32;
        let bits = (u32::BITS - codes.leading_zeros()).max(1);
        Packing {
            codes: &corpus.codes,
            depth: depth.into(),
            bits,
            width: (u64::BITS / bits) as usize,
        }
    }

    /// Return the key of the `width` characters from a position, padded with zeros at the segment's
    /// end.
    fn key(&self, at: usize, width: usize) -> u64 {
        let mut key = 0;
        for index in 0..width {
            match self.codes.get(at + index) {
                Some(&code) if code != END => key = key << self.bits | u64::from(code),
                _ if index == 0 => return 0,
                _ => return key << (self.bits * (width - index) as u32),
            }
        }
        key
    }

    /// Distribute the suffixes to buckets by their first characters. Return the suffixes, and the
    /// end of each bucket.
    fn distribute(&self) -> (Vec<u32>, Vec<usize>) {
        let width = ((BUCKET_BITS / self.bits) as usize).clamp(1, self.depth.max(1));
        let mut ends = vec![0usize; 1 << (self.bits * width as u32)];
        let places = || (0..self.codes.len()).filter(|&at| self.codes[at] != END);
        for at in places() {
            ends[self.key(at, width) as usize] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            // Holds the start of the bucket until the suffixes are distributed.
            total += std::mem::replace(end, total);
        }
        let mut order = vec![0; total];
        for at in places() {
            let slot = &mut ends[self.key(at, width) as usize];
            order[*slot] = at as u32;
            *slot += 1;
        }
        (order, ends)
    }

    fn sort(&self, share: BucketShare, stop: Interrupt) {
        let BucketShare {
            order,
            shared,
            buckets,
        } = share;
        let mut keyed: Vec<(u64, u32)> = Vec::new();
        let (mut runs, mut next): (Vec<Range<usize>>, Vec<_>) = (Vec::new(), Vec::new());
        for bucket in buckets {
            runs.push(bucket);
            let mut depth = 0;
            while !runs.is_empty() {
                let width = self.width.min(self.depth - depth);
                let last = depth + width == self.depth;
                for run in runs.drain(..) {
                    if stop() {
                        return;
                    }
                    let places = &mut order[run.clone()];
                    let key = |&at: &u32| (self.key(at as usize + depth, width), at);
                    keyed.clear();
                    keyed.extend(places.iter().map(key));
                    keyed.sort_unstable();
                    let mut first = run.start;
                    for index in 0..places.len() {
                        let (key, at) = keyed[index];
                        places[index] = at;
                        let here = run.start + index;
                        if index > 0 && key != keyed[index - 1].0 {
                            let same = self.same(key, keyed[index - 1].0, width);
                            shared[here] = (depth + same) as u8;
                            first = here;
                        } else if here > first {
                            shared[here] = (depth + self.filled(key, width)) as u8;
                        }
                        let ends = index + 1 == places.len() || keyed[index + 1].0 != key;
                        let told_apart = last || self.filled(key, width) < width;
                        if ends && here > first && !told_apart {
                            next.push(first..here + 1);
                        }
                    }
                }
                std::mem::swap(&mut runs, &mut next);
                depth += width;
            }
        }
    }

    /// Return the number of leading characters that two different keys have in common.
    fn same(&self, one: u64, other: u64, width: usize) -> usize {
        let unused = u64::BITS - self.bits * width as u32;
        (((one ^ other).leading_zeros() - unused) / self.bits) as usize
    }

    /// Return the number of characters of a key before its segment ends.
    fn filled(&self, key: u64, width: usize) -> usize {
        width.saturating_sub((key.trailing_zeros() / self.bits) as usize)
    }

    fn compare(&self, one: u32, other: u32) -> u8 {
        let same = (0..self.depth).take_while(|&index| {
            let code = |at: u32| self.codes.get(at as usize + index).copied();
            code(one) == code(other) && code(one).is_some_and(|code| code != END)
        });
        same.count() as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::Counts;

    fn check(words: &[&str], depth: u8) {
        let mut counts = Counts::default();
        for word in words {
            counts.push(word.as_bytes(), 1);
        }
        let corpus = UnigramCorpus::new(&counts, None, &mut || true).unwrap();
        let room = |at: u32| {
            let codes = &corpus.codes[at as usize..];
            codes
                .iter()
                .take(depth.into())
                .take_while(|&&c| c != END)
                .count() as u8
        };
        let text = |at: u32| corpus.text(at, room(at));
        let mut expected: Vec<String> = words
            .iter()
            .flat_map(|word| word.char_indices().map(move |(at, _)| &word[at..]))
            .map(|suffix| suffix.chars().take(depth.into()).collect())
            .collect();
        expected.sort();
        for threads in [1, 2] {
            let suffixes = Suffixes::new(&corpus, depth, threads, &mut || true).unwrap();
            let found: Vec<String> = suffixes.order.iter().map(|&at| text(at)).collect();
            assert_eq!(found, expected);
            for index in 1..found.len() {
                let pairs = found[index - 1].chars().zip(found[index].chars());
                let same = pairs.take_while(|(a, b)| a == b).count();
                assert_eq!(usize::from(suffixes.shared[index]), same, "{index}");
            }
        }
    }

    #[test]
    fn the_order_is_that_of_the_strings() {
        check(&["mississippi", "miss", "sip", "ippi"], 16);
        check(&["mississippi", "miss", "sip", "ippi"], 3);
        check(&["a", "b", "a", "c"], 16);
        check(&["\u{2581}näïve", "\u{10ffff}\0näi", "日本語日本"], 2);
        check(&[], 4);
    }

    #[test]
    fn long_repeats_need_several_keys() {
        let repeated = "ab".repeat(300);
        let letters = "x".repeat(500);
        check(&[&repeated, &letters, &repeated[1..], "xy"], 255);
        check(&[&repeated, &letters, &repeated[1..], "xy"], 16);
        check(&[&letters], 1);
    }
}
