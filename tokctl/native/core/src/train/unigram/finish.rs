//! From the last round's pieces to the vocabulary.

use std::cmp::Reverse;

use super::corpus::UnigramCorpus;
use super::pieces::Pieces;
use super::prune::NAMED;
use super::{Dropped, Piece};
use crate::model::serde_json;

/// Characters without an estimate differ by this much, so that no two have the same score
/// (SentencePiece: `kMinScorePenaltyDelta`).
const STEP: f64 = 0.0001;

/// All characters, then the pieces with the highest scores until there are `wanted`:
/// sorted by score descending, then text. Also says how many pieces were left out, and
/// names the best of them.
///
/// A character without an estimate, `unseen` ones included, stands below all pieces, rarer
/// ones lower. Scores are rounded to 32 bits, as SentencePiece's model files hold them, and to
/// what every JSON parser reads alike: so all formats hold the same model, and no order depends
/// on rounding errors.
pub fn finish(
    pieces: &Pieces,
    corpus: &UnigramCorpus,
    unseen: &[char],
    wanted: usize,
) -> (Vec<Piece>, u64, Vec<Dropped>) {
    let piece = |text: String, score: f64| Piece {
        text: text.into_bytes(),
        score: stored_alike(score),
    };
    let (rare, estimated): (Vec<usize>, Vec<usize>) =
        (0..pieces.characters).partition(|&id| pieces.rare[id]);
    let mut rare: Vec<(u64, char)> = rare
        .iter()
        .map(|&id| (corpus.frequencies[id], corpus.characters[id]))
        .chain(unseen.iter().map(|&character| (0, character)))
        .collect();
    rare.sort_unstable_by_key(|&(frequency, character)| (Reverse(frequency), character));

    let known = |id: usize| piece(pieces.text(id, corpus), pieces.scores[id]);
    let mut vocabulary: Vec<Piece> = estimated.into_iter().map(known).collect();
    for (index, (_, character)) in rare.into_iter().enumerate() {
        let score = pieces.least - STEP * (index + 1) as f64;
        vocabulary.push(piece(character.into(), score));
    }
    let mut others: Vec<Piece> = (pieces.characters..pieces.len()).map(known).collect();
    others.sort_unstable_by(order);
    let kept = wanted.saturating_sub(vocabulary.len()).min(others.len());
    let left_out = others.split_off(kept);
    let named = left_out.iter().take(NAMED).map(|piece| Dropped {
        text: piece.text.clone(),
        loss: None,
    });
    let named = named.collect();
    vocabulary.append(&mut others);
    vocabulary.sort_unstable_by(order);
    (vocabulary, left_out.len() as u64, named)
}

/// The nearest number of 32 bits that has a text which all parsers read as it is; for two of a
/// thousand that is not the nearest one.
fn stored_alike(score: f64) -> f64 {
    let nearest = score as f32;
    let (mut up, mut down) = (nearest, nearest);
    loop {
        for candidate in [up, down].map(f64::from) {
            if serde_json::is_read_well(candidate) || serde_json::written(candidate).is_some() {
                return candidate;
            }
        }
        (up, down) = (up.next_up(), down.next_down());
    }
}

fn order(one: &Piece, other: &Piece) -> std::cmp::Ordering {
    let by_score = other.score.total_cmp(&one.score);
    by_score.then_with(|| one.text.cmp(&other.text))
}
