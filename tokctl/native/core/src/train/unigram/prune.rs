//! Which pieces the model can do without.

use std::ops::Range;

use super::best_path::{usage, Path};
use super::corpus::UnigramCorpus;
use super::lattice::Lattice;
use super::pieces::{Pieces, EQUAL};
use super::Dropped;
use crate::error::Result;
use crate::jobs::{Interrupt, Jobs};

/// Shares of the pieces that threads take.
const SHARE: usize = 4096;

/// So many of the dropped pieces are named.
pub const NAMED: usize = 20;

/// How many pieces to keep, single characters included.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub most: usize,
    /// So many are kept even if the best segmentations use fewer.
    pub least: usize,
}

/// Drops the pieces with the least loss, of equal ones those with the least score, single
/// characters never. Returns how many were dropped and those that came nearest to staying.
///
/// The loss of a piece is how much the log likelihood of a pre-token falls, on average, if
/// every occurrence in the best segmentations is replaced by the piece's best alternative
/// (SentencePiece: `PruneSentencePieces`). A piece in no best segmentation has none and is
/// dropped, unless too few would be left: there SentencePiece gives a smaller vocabulary.
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

    // Rounded, so that what is equal but for rounding errors is ordered by text.
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

/// The loss of every piece but the single characters; negative infinity for those that no
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
        // The piece's occurrences go over to those of its alternative.
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
