//! The most probable segmentation, found by the Viterbi algorithm.

use std::ops::Range;

use super::corpus::UnigramCorpus;
use super::lattice::Lattice;
use super::pieces::{Pieces, EQUAL};
use crate::error::Result;
use crate::jobs::{Interrupt, Jobs};

/// Last piece on the best path to a position: (id, length). Pieces have at most 255 characters.
type PathStep = (u32, u8);

/// Number of characters between two checks whether the thread should stop.
const LOOK: usize = 1 << 12;

/// Count how often the best segmentations of the whole corpus use each piece.
pub fn usage(
    corpus: &UnigramCorpus,
    lattice: &Lattice,
    pieces: &Pieces,
    blocks: &[Range<usize>],
    threads: usize,
    progress: &mut dyn FnMut() -> bool,
) -> Result<Vec<u64>> {
    let mut sum = vec![0u64; pieces.len()];
    let work = |job: usize, stop: Interrupt| {
        let mut used = vec![0u64; pieces.len()];
        let mut path = Path::default();
        for segment in &corpus.segments[blocks[job].clone()] {
            let range = segment.start as usize..segment.end as usize;
            path.find(corpus, lattice, &pieces.scores, range, false, stop);
            path.pieces().for_each(|id| used[id] += segment.count);
            if stop() {
                break;
            }
        }
        used
    };
    let count = blocks.len();
    let jobs = Jobs { count, threads };
    jobs.in_order_reporting(progress, work, |used: Vec<u64>| {
        for (sum, count) in sum.iter_mut().zip(used) {
            *sum += count;
        }
    })?;
    Ok(sum)
}

/// Buffers for one search, reused by the next.
#[derive(Debug, Default)]
pub struct Path {
    scores: Vec<f64>,
    steps: Vec<PathStep>,
    /// Characters in the last searched range; the buffers fit the longest range so far.
    length: usize,
}

impl Path {
    /// Find the best segmentation of a range of the corpus and return its score. With `split`, find
    /// the best one with more than one piece.
    ///
    /// Of two paths to a position that are equally good, the one with the longer last piece wins.
    pub fn find(
        &mut self,
        corpus: &UnigramCorpus,
        lattice: &Lattice,
        scores: &[f64],
        range: Range<usize>,
        split: bool,
        stop: Interrupt,
    ) -> f64 {
        let length = range.len();
        self.length = length;
        if self.scores.len() <= length {
            self.scores.resize(length + 1, 0.0);
            self.steps.resize(length + 1, (0, 1));
        }
        let best = &mut self.scores[..=length];
        let steps = &mut self.steps[..=length];
        best.fill(f64::NEG_INFINITY);
        best[0] = 0.0;
        steps.fill((0, 1));
        for (index, at) in range.enumerate() {
            if index % LOOK == LOOK - 1 && stop() {
                break;
            }
            let here = best[index];
            // Longer pieces start at earlier positions, so they are offered first.
            let mut offer = |id: usize, width: usize| {
                let (score, end) = (here + scores[id], index + width);
                if score > best[end] + EQUAL {
                    best[end] = score;
                    steps[end] = (id as u32, width as u8);
                }
            };
            offer(corpus.codes[at] as usize - 1, 1);
            for (id, width) in lattice.edges(at) {
                if index + width > length || (split && width == length) {
                    break;
                }
                offer(id, width);
            }
        }
        best[length]
    }

    /// Iterate over the pieces of the best segmentation, from the last to the first.
    pub fn pieces(&self) -> impl Iterator<Item = usize> + '_ {
        let mut end = self.length;
        std::iter::from_fn(move || {
            if end == 0 {
                return None;
            }
            let (id, width) = self.steps[end];
            end -= usize::from(width);
            Some(id as usize)
        })
    }
}
