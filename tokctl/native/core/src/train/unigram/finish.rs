//! The vocabulary, chosen from the pieces of the last round.

use std::cmp::Reverse;

use hashbrown::{HashMap, HashSet};

use super::corpus::UnigramCorpus;
use super::pieces::Pieces;
use super::prune::NAMED;
use super::{Dropped, Piece};
use crate::error::{Error, Result};
use crate::model::serde_json;

/// Score difference between successive characters without an estimate, so that no two have equal
/// scores (SentencePiece: `kMinScorePenaltyDelta`).
const STEP: f64 = 0.0001;

/// Score advantage of an initial token over its best other segmentation, per character of the
/// token. It exceeds the rounding errors of 32-bit sums.
const AHEAD: f64 = 0.001;

/// Return the vocabulary, the number of pieces left out, and the best pieces left out.
///
/// The vocabulary has all characters and initial tokens, then the pieces with the highest scores up
/// to `wanted` pieces. It is sorted by score descending, then text. Characters without an estimate
/// (`unseen` ones included) rank below all pieces, rarer ones lower. Scores are rounded to 32-bit
/// floats, as in SentencePiece's model files, and to numbers that every JSON parser reads alike. So
/// all formats hold the same model, and no order depends on rounding errors.
pub fn finish(
    pieces: &Pieces,
    corpus: &UnigramCorpus,
    unseen: &[char],
    initial: &[String],
    wanted: usize,
) -> Result<(Vec<Piece>, u64, Vec<Dropped>)> {
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
    let is_initial: HashSet<&[u8]> = initial.iter().map(String::as_bytes).collect();
    let (found, mut others): (Vec<Piece>, Vec<Piece>) = (pieces.characters..pieces.len())
        .map(known)
        .partition(|piece| is_initial.contains(piece.text.as_slice()));
    others.sort_unstable_by(order);
    let room = wanted.saturating_sub(vocabulary.len() + initial.len());
    let kept = room.min(others.len());
    let left_out = others.split_off(kept);
    let named = left_out.iter().take(NAMED).map(|piece| Dropped {
        text: piece.text.clone(),
        loss: None,
    });
    let named = named.collect();
    vocabulary.append(&mut others);
    let initial = scored(&vocabulary, found, initial)?;
    vocabulary.extend(initial);
    vocabulary.sort_unstable_by(order);
    Ok((vocabulary, left_out.len() as u64, named))
}

/// Return the initial tokens (`found` ones included) with scores that make each token the best
/// segmentation of its text.
///
/// Shorter tokens are scored first, because they can be parts of longer ones.
fn scored(vocabulary: &[Piece], found: Vec<Piece>, initial: &[String]) -> Result<Vec<Piece>> {
    let pieces = vocabulary.iter().chain(&found);
    let mut scores: HashMap<Vec<u8>, f64> = pieces.map(|p| (p.text.clone(), p.score)).collect();
    let mut in_order: Vec<&String> = initial.iter().collect();
    in_order.sort_by_key(|text| text.chars().count());
    let mut put_in = Vec::with_capacity(initial.len());
    for text in in_order {
        let own = scores.remove(text.as_bytes());
        let best = best_score(text, &scores);
        if best == f64::NEG_INFINITY {
            return Err(Error::Invalid(format!(
                "no pieces make the initial token {text:?}"
            )));
        }
        let ahead = stored_alike((best + AHEAD * text.chars().count() as f64).min(0.0));
        let score = own.unwrap_or(ahead).max(ahead);
        scores.insert(text.clone().into_bytes(), score);
        put_in.push(Piece {
            text: text.clone().into_bytes(),
            score,
        });
    }
    Ok(put_in)
}

/// Return the highest score of any segmentation of a text.
fn best_score(text: &str, scores: &HashMap<Vec<u8>, f64>) -> f64 {
    let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    ends.push(text.len());
    let mut best = vec![0.0];
    for (number, &end) in ends.iter().enumerate().skip(1) {
        let sums = (0..number).map(|start| {
            let piece = &text.as_bytes()[ends[start]..end];
            best[start] + scores.get(piece).copied().unwrap_or(f64::NEG_INFINITY)
        });
        best.push(sums.fold(f64::NEG_INFINITY, f64::max));
    }
    best[ends.len() - 1]
}

/// Return the 32-bit float nearest to `score` whose decimal text all JSON parsers read exactly. For
/// 2 scores in 1,000 it is not the nearest 32-bit float.
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
