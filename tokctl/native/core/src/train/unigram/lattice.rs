//! The positions of all pieces in the corpus.
//!
//! The lattice of a segment has a node before every character and an edge for every piece that
//! matches from the node on. All edges are found once, with the seed. When pieces are dropped,
//! their edges are removed. A single character always has an edge, which is not stored: the
//! character with code `c` is the piece `c - 1`.

use std::ops::Range;

use super::corpus::CorpusSegment;
use crate::error::{Error, Result};
use crate::memory;
use crate::model::NO_ID;

/// Maximum number of blocks of the corpus: few enough that adding up their expected counts costs
/// little, and enough to keep all threads busy.
const MOST_BLOCKS: usize = 16;

/// Approximate minimum number of characters in a block.
const LEAST_BLOCK: usize = 1 << 16;

/// Number of positions between two progress calls.
const ASK: usize = 1 << 16;

/// Edges of all positions in the corpus: see the module.
#[derive(Debug)]
pub struct Lattice {
    /// The edges from position `at` are `starts[at]..starts[at + 1]`.
    starts: Vec<u32>,
    /// Edges by position; those of one position by ascending length.
    edges: Vec<Edge>,
}

/// Id of a piece and, in the low byte, its length in characters (at least 2). With both in one
/// number, the many passes over the corpus read a single stream of memory.
#[derive(Debug, Clone, Copy, Default)]
struct Edge(u32);

impl Edge {
    /// Number of bits for the length.
    const LENGTH: u32 = 8;
    /// Number of ids that fit.
    const IDS: u32 = 1 << (u32::BITS - Edge::LENGTH);

    fn new(id: u32, length: u8) -> Self {
        Edge(id << Edge::LENGTH | u32::from(length))
    }

    #[inline]
    fn id(self) -> usize {
        (self.0 >> Edge::LENGTH) as usize
    }

    #[inline]
    fn length(self) -> u8 {
        self.0 as u8
    }
}

impl Lattice {
    /// Build the lattice. `visit` must call its argument with (position, id, length) for every
    /// edge, the edges of one position by ascending length.
    ///
    /// `visit` is called twice.
    pub fn new(
        places: usize,
        mut visit: impl FnMut(&mut dyn FnMut(u32, u32, u8)) -> Result<()>,
    ) -> Result<Self> {
        let mut starts = vec![0u32; places + 1];
        let (mut edges, mut highest) = (0u64, 0);
        visit(&mut |at, id, _| {
            starts[at as usize] += 1;
            edges += 1;
            highest = id.max(highest);
        })?;
        if highest >= Edge::IDS {
            return Err(Error::TooLarge(
                "there are more than 2^24 pieces: train from a smaller seed".into(),
            ));
        }
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
            edges: memory::with_capacity(edges as usize)?,
            starts: Vec::new(),
        };
        lattice.edges.resize(edges as usize, Edge::default());
        visit(&mut |at, id, length| {
            let slot = starts[at as usize] as usize;
            lattice.edges[slot] = Edge::new(id, length);
            starts[at as usize] += 1;
        })?;
        // Each start has advanced to the start of the next position.
        starts.rotate_right(1);
        starts[0] = 0;
        lattice.starts = starts;
        Ok(lattice)
    }

    /// Iterate over (id, length) of the pieces of two or more characters that match at a position.
    #[inline]
    pub fn edges(&self, at: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> + '_ {
        let range = self.starts[at] as usize..self.starts[at + 1] as usize;
        let edges = self.edges[range].iter();
        edges.map(|edge| (edge.id(), usize::from(edge.length())))
    }

    /// Replace piece ids by `new_ids`, and remove the edges of pieces whose new id is [`NO_ID`].
    pub fn rename(&mut self, new_ids: &[u32], progress: &mut dyn FnMut() -> bool) -> Result<()> {
        let (mut kept, mut from) = (0, 0);
        for at in 1..self.starts.len() {
            if at % ASK == 0 && !progress() {
                return Err(Error::Interrupted);
            }
            let end = self.starts[at] as usize;
            for edge in from..end {
                let edge = self.edges[edge];
                let id = new_ids[edge.id()];
                self.edges[kept] = Edge::new(id, edge.length());
                kept += usize::from(id != NO_ID);
            }
            from = end;
            self.starts[at] = kept as u32;
        }
        self.edges.truncate(kept);
        Ok(())
    }
}

/// Divide the segments into ranges with about equally many characters.
///
/// The ranges depend only on the corpus, so that sums by block are rounded alike for any number of
/// threads.
pub fn blocks(segments: &[CorpusSegment]) -> Vec<Range<usize>> {
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
            .rename(&[0, 1, 2, 3, NO_ID, 4, 5], &mut || true)
            .unwrap();
        assert_eq!(at(&lattice, 0), [(4, 2)]);
        assert_eq!(at(&lattice, 2), [(5, 3)]);
        assert_eq!(at(&lattice, 3), [(4, 2)]);
    }

    #[test]
    fn an_edge_has_room_for_so_many_ids() {
        for id in [Edge::IDS - 1, Edge::IDS] {
            let visit = |push: &mut dyn FnMut(u32, u32, u8)| {
                push(0, id, u8::MAX);
                Ok(())
            };
            let found = Lattice::new(1, visit).map(|lattice| lattice.edges(0).next());
            match id < Edge::IDS {
                true => assert_eq!(found, Ok(Some((id as usize, usize::from(u8::MAX))))),
                false => assert!(matches!(found, Err(Error::TooLarge(_)))),
            }
        }
    }

    #[test]
    fn blocks_cover_every_segment_once() {
        let segments: Vec<CorpusSegment> = (0..100_000)
            .map(|n| CorpusSegment {
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
