//! Which pieces lie where in the corpus.
//!
//! The lattice of a segment has a node before every character and an edge for every piece
//! that matches there. Its edges are found once, with the seed; when pieces are dropped,
//! theirs are taken out. A single character always has an edge, which is not stored: the
//! character with code `c` is the piece `c - 1`.

use std::ops::Range;
use std::sync::Mutex;

use super::corpus::Segment;
use super::jobs::{in_order, Stop};
use crate::error::{Error, Result};
use crate::model::NO_ID;

/// The corpus is worked through in at most so many blocks, few enough that adding up their
/// expected counts costs nothing, enough for threads to share.
const MOST_BLOCKS: usize = 16;

/// A block has at least about so many characters.
const LEAST_BLOCK: usize = 1 << 16;

/// Threads take so many places at a time when edges are taken out.
const SHARE: usize = 1 << 15;

#[derive(Debug)]
pub struct Lattice {
    /// The edges at place `at` are `starts[at]..starts[at + 1]`.
    starts: Vec<u32>,
    ids: Vec<u32>,
    /// In characters, at least 2; ascending at each place.
    lengths: Vec<u8>,
}

impl Lattice {
    /// `visit` calls its argument with (place, id, length) for every edge, those of one
    /// place by ascending length; it is called twice.
    pub fn new(
        places: usize,
        mut visit: impl FnMut(&mut dyn FnMut(u32, u32, u8)) -> Result<()>,
    ) -> Result<Self> {
        let mut starts = vec![0u32; places + 1];
        let mut edges = 0u64;
        visit(&mut |at, _, _| {
            starts[at as usize] += 1;
            edges += 1;
        })?;
        if edges >= u64::from(u32::MAX) {
            return Err(Error::TooLarge(
                "the pieces match at more than 2^32 places: train on less text, or from a smaller seed"
                    .into(),
            ));
        }
        let mut total = 0;
        for start in &mut starts {
            total += std::mem::replace(start, total);
        }
        let mut lattice = Lattice {
            ids: vec![0; edges as usize],
            lengths: vec![0; edges as usize],
            starts: Vec::new(),
        };
        visit(&mut |at, id, length| {
            let slot = starts[at as usize] as usize;
            lattice.ids[slot] = id;
            lattice.lengths[slot] = length;
            starts[at as usize] += 1;
        })?;
        // Each start has moved to the next one's place.
        starts.rotate_right(1);
        starts[0] = 0;
        lattice.starts = starts;
        Ok(lattice)
    }

    /// The pieces of two and more characters that match at a place: ids and lengths.
    #[inline]
    pub fn edges(&self, at: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> + '_ {
        let range = self.starts[at] as usize..self.starts[at + 1] as usize;
        let ids = self.ids[range.clone()].iter();
        ids.zip(&self.lengths[range])
            .map(|(&id, &length)| (id as usize, length as usize))
    }

    /// Gives pieces their new ids; those with [`NO_ID`] lose their edges.
    pub fn rename(
        &mut self,
        new_ids: &[u32],
        threads: usize,
        progress: &mut dyn FnMut() -> bool,
    ) -> Result<()> {
        let (mut ids, mut lengths) = (&mut self.ids[..], &mut self.lengths[..]);
        let (mut shares, mut firsts, mut first) = (Vec::new(), Vec::new(), 0);
        for ends in self.starts[1..].chunks_mut(SHARE) {
            let end = ends.last().map_or(first, |&end| end as usize);
            let (own_ids, other_ids) = ids.split_at_mut(end - first);
            let (own_lengths, other_lengths) = lengths.split_at_mut(end - first);
            (ids, lengths) = (other_ids, other_lengths);
            shares.push(Mutex::new(Share {
                first,
                ends,
                ids: own_ids,
                lengths: own_lengths,
            }));
            firsts.push(first);
            first = end;
        }
        let rename = |job: usize, _: &Stop| match shares[job].lock() {
            Ok(mut share) => share.rename(new_ids),
            Err(_) => 0,
        };
        let mut kept = Vec::with_capacity(shares.len());
        in_order(shares.len(), threads, progress, rename, |n| kept.push(n))?;
        drop(shares);
        // What each share has kept moves up to what the one before it has kept.
        let mut total = 0;
        let shares = self.starts[1..].chunks_mut(SHARE).zip(firsts).zip(kept);
        for ((ends, first), kept) in shares {
            self.ids.copy_within(first..first + kept, total);
            self.lengths.copy_within(first..first + kept, total);
            ends.iter_mut().for_each(|end| *end += total as u32);
            total += kept;
        }
        self.ids.truncate(total);
        self.lengths.truncate(total);
        Ok(())
    }
}

/// The edges of some places that follow each other.
struct Share<'l> {
    /// How many edges come before.
    first: usize,
    /// Where each place's edges end.
    ends: &'l mut [u32],
    ids: &'l mut [u32],
    lengths: &'l mut [u8],
}

impl Share<'_> {
    /// Moves the edges that stay to the front; ends count from there. Says how many stay.
    fn rename(&mut self, new_ids: &[u32]) -> usize {
        let (mut kept, mut from) = (0, 0);
        for end in self.ends.iter_mut() {
            let to = *end as usize - self.first;
            for edge in from..to {
                let id = new_ids[self.ids[edge] as usize];
                self.ids[kept] = id;
                self.lengths[kept] = self.lengths[edge];
                kept += usize::from(id != NO_ID);
            }
            from = to;
            *end = kept as u32;
        }
        kept
    }
}

/// Ranges of segments with about equally many characters. They depend on nothing but the
/// corpus, so sums by block have the same rounding for any number of threads.
pub fn blocks(segments: &[Segment]) -> Vec<Range<usize>> {
    let characters = segments.last().map_or(0, |last| last.end as usize);
    let enough = (characters / MOST_BLOCKS).max(LEAST_BLOCK);
    let mut blocks = Vec::new();
    let mut first = 0;
    for (index, segment) in segments.iter().enumerate() {
        let last = index + 1 == segments.len();
        if last || (segment.end - segments[first].start) as usize > enough {
            blocks.push(first..index + 1);
            first = index + 1;
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_found_and_taken_out() {
        let all = [(0, 5, 2), (2, 4, 2), (2, 6, 3), (3, 5, 2)];
        let visit = |push: &mut dyn FnMut(u32, u32, u8)| {
            all.iter()
                .for_each(|&(at, id, length)| push(at, id, length));
            Ok(())
        };
        let mut lattice = Lattice::new(4, visit).unwrap();
        let at = |lattice: &Lattice, at| lattice.edges(at).collect::<Vec<_>>();
        assert_eq!(at(&lattice, 0), [(5, 2)]);
        assert_eq!(at(&lattice, 1), []);
        assert_eq!(at(&lattice, 2), [(4, 2), (6, 3)]);
        assert_eq!(at(&lattice, 3), [(5, 2)]);
        lattice
            .rename(&[0, 1, 2, 3, NO_ID, 4, 5], 1, &mut || true)
            .unwrap();
        assert_eq!(at(&lattice, 0), [(4, 2)]);
        assert_eq!(at(&lattice, 2), [(5, 3)]);
        assert_eq!(at(&lattice, 3), [(4, 2)]);
    }

    #[test]
    fn many_shares_are_renamed_as_one() {
        let places = 3 * SHARE + 7;
        let ids = |at: usize| (0..at as u32 % 4).map(move |n| (at as u32 * 7 + n * 3) % 100);
        let visit = |push: &mut dyn FnMut(u32, u32, u8)| {
            for at in 0..places {
                ids(at)
                    .zip(2..)
                    .for_each(|(id, length)| push(at as u32, id, length));
            }
            Ok(())
        };
        let new_id = |id: u32| if id < 30 { NO_ID } else { id / 2 };
        let new_ids: Vec<u32> = (0..100).map(new_id).collect();
        for threads in [1, 2, 3] {
            let mut lattice = Lattice::new(places, visit).unwrap();
            lattice.rename(&new_ids, threads, &mut || true).unwrap();
            for at in 0..places {
                let expected = ids(at).zip(2usize..).filter_map(|(id, length)| {
                    let id = new_id(id);
                    (id != NO_ID).then_some((id as usize, length))
                });
                assert!(lattice.edges(at).eq(expected), "{at}");
            }
        }
    }

    #[test]
    fn blocks_cover_every_segment_once() {
        let segments: Vec<Segment> = (0..100_000)
            .map(|n| Segment {
                start: n * 30,
                end: n * 30 + 29,
                count: 1,
            })
            .collect();
        let found = blocks(&segments);
        assert!(found.len() > 4 && found.len() <= MOST_BLOCKS);
        assert_eq!(found[0].start, 0);
        assert!(found.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(found[found.len() - 1].end, segments.len());
        assert!(blocks(&[]).is_empty());
    }
}
