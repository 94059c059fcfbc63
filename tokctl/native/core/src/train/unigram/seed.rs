//! The pieces that training starts from: all characters, and the substrings of the pre-tokens that
//! cover most text.
//!
//! A substring is a candidate if it occurs at least twice and no longer substring occurs at exactly
//! its positions. Candidates are thus the inner nodes of the suffix tree and the suffixes of whole
//! pre-tokens. Substrings of the maximum length are not compared with longer ones. Frequencies
//! count every occurrence of a pre-token, overlaps included.

use std::cmp::Reverse;

use hashbrown::HashSet;

use super::corpus::{UnigramCorpus, END};
use super::lattice::Lattice;
use super::pieces::Pieces;
use super::suffixes::Suffixes;
use super::UnigramTrainingOptions;
use crate::error::{Error, Result};

const LEAST_FREQUENCY: u64 = 2;

/// Number of suffixes between two progress calls.
const ASK: usize = 1 << 16;

/// Substring that is the prefix of the suffixes `first..end`.
#[derive(Debug, Clone, Copy)]
struct SeedCandidate {
    first: u32,
    end: u32,
    length: u8,
    frequency: u64,
}

impl SeedCandidate {
    /// Return the number of characters covered; an upper bound if occurrences overlap.
    fn score(&self) -> u128 {
        u128::from(self.frequency) * u128::from(self.length)
    }

    /// Return a key in the order of the texts: rank of the first suffix, then length, so that a
    /// prefix comes first.
    fn text(&self) -> (u32, u8) {
        (self.first, self.length)
    }
}

/// Return the seed pieces and their lattice.
pub fn seed(
    corpus: &UnigramCorpus,
    excluded: &HashSet<Vec<u32>>,
    options: &UnigramTrainingOptions,
    progress: &mut dyn FnMut() -> bool,
) -> Result<(Pieces, Lattice)> {
    let depth = longest(options);
    let suffixes = Suffixes::new(corpus, depth, options.threads, progress)?;
    let mut candidates = candidates(corpus, &suffixes, excluded, options, progress)?;
    candidates.sort_unstable_by_key(SeedCandidate::text);

    let mut weights: Vec<u128> = corpus.frequencies.iter().map(|&n| n.into()).collect();
    weights.extend(candidates.iter().map(SeedCandidate::score));
    let place = |candidate: &SeedCandidate| suffixes.order[candidate.first as usize];
    let pieces = Pieces::new(
        corpus,
        candidates.iter().map(place).collect(),
        candidates.iter().map(|c| c.length).collect(),
        &weights,
    );
    let lattice = Lattice::new(corpus.codes.len(), |push| {
        edges(
            &suffixes,
            &candidates,
            corpus.characters.len(),
            progress,
            push,
        )
    })?;
    Ok((pieces, lattice))
}

fn longest(options: &UnigramTrainingOptions) -> u8 {
    options.max_piece_length.try_into().unwrap_or(u8::MAX)
}

/// Enumerate the nodes of the suffix tree, from left to right over the sorted suffixes.
fn candidates(
    corpus: &UnigramCorpus,
    suffixes: &Suffixes,
    excluded: &HashSet<Vec<u32>>,
    options: &UnigramTrainingOptions,
    progress: &mut dyn FnMut() -> bool,
) -> Result<Vec<SeedCandidate>> {
    let (rooms, segment_of) = rooms(corpus, longest(options));
    let mut best = HighestScored::new(options.seed_size);
    let mut close = |node: SeedCandidate| {
        let at = suffixes.order[node.first as usize] as usize;
        let text = || &corpus.codes[at..at + usize::from(node.length)];
        if node.length >= 2
            && node.frequency >= LEAST_FREQUENCY
            && (excluded.is_empty() || !excluded.contains(text()))
        {
            best.push(node);
        }
    };
    // Nodes that end at the current suffix or later, by ascending length.
    let mut open: Vec<SeedCandidate> = Vec::new();
    for (index, &at) in suffixes.order.iter().enumerate() {
        if index % ASK == 0 && !progress() {
            return Err(Error::Interrupted);
        }
        let here = index as u32;
        let shared = suffixes.shared[index];
        let (mut first, mut frequency) = (here, 0);
        while let Some(node) = open.pop_if(|node| node.length > shared) {
            let frequency_here = node.frequency + frequency;
            (first, frequency) = (node.first, frequency_here);
            close(SeedCandidate {
                end: here,
                frequency,
                ..node
            });
        }
        match open.last_mut() {
            Some(node) if node.length == shared => node.frequency += frequency,
            _ if shared > 0 => open.push(SeedCandidate {
                first,
                end: 0,
                length: shared,
                frequency,
            }),
            _ => {}
        }
        let count = corpus.segments[segment_of[at as usize] as usize].count;
        let length = rooms[at as usize];
        match open.last_mut() {
            Some(node) if node.length == length => node.frequency += count,
            _ => open.push(SeedCandidate {
                first: here,
                end: 0,
                length,
                frequency: count,
            }),
        }
    }
    let (end, mut frequency) = (suffixes.order.len() as u32, 0);
    while let Some(node) = open.pop() {
        frequency += node.frequency;
        close(SeedCandidate {
            end,
            frequency,
            ..node
        });
    }
    Ok(best.finish())
}

/// Return, for each position, the maximum length of a piece and the segment that contains the
/// position.
fn rooms(corpus: &UnigramCorpus, longest: u8) -> (Vec<u8>, Vec<u32>) {
    let mut rooms = vec![0u8; corpus.codes.len()];
    let mut segment_of = vec![0; corpus.codes.len()];
    for (index, segment) in corpus.segments.iter().enumerate() {
        for at in (segment.start as usize..segment.end as usize).rev() {
            debug_assert_ne!(corpus.codes[at], END);
            rooms[at] = rooms[at + 1].saturating_add(1).min(longest);
            segment_of[at] = index as u32;
        }
    }
    (rooms, segment_of)
}

/// Call `push` with (position, id, length) for every occurrence of a candidate.
fn edges(
    suffixes: &Suffixes,
    candidates: &[SeedCandidate],
    first_id: usize,
    progress: &mut dyn FnMut() -> bool,
    push: &mut dyn FnMut(u32, u32, u8),
) -> Result<()> {
    let mut next = 0;
    let mut open: Vec<usize> = Vec::new();
    for (index, &at) in suffixes.order.iter().enumerate() {
        if index % ASK == 0 && !progress() {
            return Err(Error::Interrupted);
        }
        while open
            .pop_if(|&mut node| candidates[node].end as usize <= index)
            .is_some()
        {}
        while candidates
            .get(next)
            .is_some_and(|node| node.first as usize == index)
        {
            open.push(next);
            next += 1;
        }
        for &node in &open {
            push(at, (first_id + node) as u32, candidates[node].length);
        }
    }
    Ok(())
}

/// Collector of the candidates with the highest scores; of equal scores, the first in text order.
struct HighestScored {
    size: usize,
    found: Vec<SeedCandidate>,
}

impl HighestScored {
    fn new(size: usize) -> Self {
        HighestScored {
            size,
            found: Vec::new(),
        }
    }

    fn push(&mut self, candidate: SeedCandidate) {
        self.found.push(candidate);
        if self.found.len() >= self.size.saturating_mul(2).max(1024) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.found.len() > self.size {
            let key = |c: &SeedCandidate| (Reverse(c.score()), c.text());
            self.found.select_nth_unstable_by_key(self.size, key);
            self.found.truncate(self.size);
        }
    }

    fn finish(mut self) -> Vec<SeedCandidate> {
        self.cut();
        self.found
    }
}
