//! Removal of the pieces that the model can best do without.

use std::ops::Range;

use super::best_path::{usage, Path};
use super::corpus::UnigramCorpus;
use super::lattice::Lattice;
use super::pieces::{Pieces, EQUAL};
use super::Dropped;
use crate::error::Result;
use crate::jobs::{Interrupt, Jobs};

/// Number of pieces that a thread processes at a time.
const SHARE: usize = 4096;

/// Number of dropped pieces that are reported.
pub const NAMED: usize = 20;

/// Number of pieces to keep, single characters included.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub most: usize,
    /// Pieces to keep even if the best segmentations use fewer.
    pub least: usize,
}

/// Drop the pieces with the lowest loss; of equal losses, those with the lowest score. Return the
/// number of dropped pieces, and those that came nearest to being kept.
///
/// Single characters are never dropped. The loss of a piece is the mean fall of a pre-token's log
/// likelihood if the best alternative replaces the piece in all best segmentations (SentencePiece:
/// `PruneSentencePieces`). A piece that no best segmentation uses has no loss and is dropped,
/// unless too few pieces would be left; SentencePiece makes a smaller vocabulary in this case.
pub fn prune(
    pieces: &mut Pieces,
    lattice: &mut Lattice,
    corpus: &UnigramCorpus,
    blocks: &[Range<usize>],
    size: Size,
    threads: usize,
    progress: &mut dyn FnMut() -> bool,
) -> Result<(usize, Vec<Dropped>)> {
    let used = usage(corpus, lattice, pieces, blocks, threads, progress)?;
    let losses = losses(pieces, lattice, corpus, &used, threads, progress)?;

    // Rounded, so that values that differ only by rounding errors are ordered by text.
    let mut ranked: Vec<(f32, f32, usize)> = (pieces.characters..pieces.len())
        .map(|id| {
            let loss = losses[id - pieces.characters];
            (loss as f32, pieces.scores[id] as f32, id)
        })
        .collect();
    ranked.sort_unstable_by(|(loss, score, id), (other_loss, other_score, other_id)| {
        let by_figures = other_loss
            .total_cmp(loss)
            .then(other_score.total_cmp(score));
        by_figures.then(id.cmp(other_id))
    });
    let used = ranked.partition_point(|(loss, ..)| *loss > f32::NEG_INFINITY);
    let others = |size: usize| size.saturating_sub(pieces.characters).min(ranked.len());
    let kept = others(size.most).min(used.max(others(size.least)));
    let named = ranked[kept..].iter().take(NAMED).map(|&(.., id)| {
        let loss = losses[id - pieces.characters];
        Dropped {
            text: pieces.text(id, corpus).into_bytes(),
            loss: Some(if loss.is_finite() { loss } else { 0.0 }),
        }
    });
    let named = named.collect();
    let mut keep = vec![false; pieces.len()];
    keep[..pieces.characters].fill(true);
    ranked[..kept].iter().for_each(|&(.., id)| keep[id] = true);
    let dropped = pieces.retain(lattice, |id| keep[id], progress)?;
    Ok((dropped, named))
}

/// Return the loss of every piece but the single characters; negative infinity for pieces that no
/// best segmentation uses.
fn losses(
    pieces: &Pieces,
    lattice: &Lattice,
    corpus: &UnigramCorpus,
    used: &[u64],
    threads: usize,
    progress: &mut dyn FnMut() -> bool,
) -> Result<Vec<f64>> {
    let others = pieces.len() - pieces.characters;
    let tokens = used.iter().sum::<u64>() as f64;
    let loss = |id: usize, path: &mut Path, stop: Interrupt| {
        let frequency = used[id] as f64;
        if used[id] == 0 {
            return f64::NEG_INFINITY;
        }
        let (at, length) = pieces.place(id);
        let split = path.find(corpus, lattice, &pieces.scores, at..at + length, true, stop);
        if split > pieces.scores[id] + EQUAL {
            return f64::NEG_INFINITY;
        }
        let with = frequency.ln() - tokens.ln();
        // The pieces of the alternative take over the occurrences of the dropped piece.
        let alternative = path.pieces().count() as f64;
        let tokens_without = (tokens + frequency * (alternative - 1.0)).ln();
        let without: f64 = path
            .pieces()
            .map(|id| (used[id] as f64 + frequency).ln() - tokens_without)
            .sum();
        frequency / corpus.pre_tokens as f64 * (with - without)
    };
    let work = |job: usize, stop: Interrupt| {
        let mut path = Path::default();
        let share = job * SHARE..others.min((job + 1) * SHARE);
        share
            .map(|index| loss(pieces.characters + index, &mut path, stop))
            .collect::<Vec<_>>()
    };
    let mut losses = Vec::with_capacity(others);
    let count = others.div_ceil(SHARE);
    let jobs = Jobs { count, threads };
    jobs.in_order_reporting(progress, work, |share| losses.extend(share))?;
    Ok(losses)
}
