//! Compare the search word by word with a search through the whole sentence.

use super::super::UnigramOptions;
use super::*;
use crate::encode::unigram::Precision;
use crate::random::random_below;

fn model(pieces: &[(String, f64)], precision: Precision) -> Unigram {
    let options = UnigramOptions {
        unknown_id: Some(0),
        unknown_score: None,
        byte_ids: None,
        fuse_unknown: true,
        user_defined: Vec::new(),
        precision,
    };
    let pieces = (1..).zip(pieces);
    let pieces = pieces.map(|(id, (text, score))| (text.as_bytes(), id, *score));
    Unigram::new(pieces, options).unwrap()
}

/// Check that both searches give equal segments and bitwise equal sums.
///
/// Returns the number of words, and of words that were searched.
fn check(model: &Unigram, text: &str) -> (usize, usize) {
    let mut expected = Vec::new();
    let sum = model
        .best_from(0.0, text.as_bytes(), &mut expected, &|| false)
        .unwrap();
    for spaced in [false, true] {
        let (mut out, mut searched, mut words) = (Vec::new(), 0, 0);
        // The second time, every word is cached.
        for _ in 0..2 {
            let mut sentence = model.sentence(&|| false);
            out.clear();
            WordStarts::of(text.as_bytes())
                .parts(|word| {
                    let key = match spaced {
                        true => String::from_utf8_lossy(word).replace('▁', " ").into_bytes(),
                        false => word.to_vec(),
                    };
                    sentence.word(&key, spaced, |four, count| {
                        out.extend_from_slice(&four[..count]);
                    })?;
                    let known = sentence.state.known.get(&key);
                    words += 1;
                    searched += usize::from(known.is_none_or(|w| !w.holds_behind(sentence.sum)));
                    Ok::<(), Error>(())
                })
                .unwrap();
            assert_eq!(sentence.sum.to_bits(), sum.0.to_bits(), "{text}");
            assert_eq!(out, expected, "{text}");
        }
        if spaced {
            return (words, searched);
        }
    }
    (0, 0)
}

#[test]
fn near_ties_are_decided_as_in_the_whole_sentence() {
    let mut below = random_below(11);
    let (mut words, mut searched) = (0, 0);
    for round in 0..200 {
        let precision = [Precision::Single, Precision::Double][round % 2];
        let mut pieces: Vec<(String, f64)> = Vec::new();
        for mark in ["", "▁", "▁▁"] {
            for length in 0..4u32 {
                for bits in 0..1usize << length {
                    let letter = |at| ["a", "é"][bits >> at & 1];
                    let word: String = (0..length).map(letter).collect();
                    let text = format!("{mark}{word}");
                    if text.is_empty() || (below(4) == 0 && text != "▁") {
                        continue;
                    }
                    // Sums of equal lengths are equal up to a few last bits.
                    let characters = text.chars().count() as f64;
                    let base = [-1.25, -3.3, -0.1][round / 2 % 3] * characters;
                    let step = match precision {
                        Precision::Single => f64::from(f32::EPSILON),
                        Precision::Double => f64::EPSILON,
                    };
                    let off = [0.0, 1.0, -1.0, 3.0, 1e3, 1e5][below(6)];
                    pieces.push((text, base * (1.0 + off * step)));
                }
            }
        }
        let model = model(&pieces, precision);
        assert!(model.by_words().is_some());
        let parts = [
            "a",
            "é",
            "▁",
            "▁a",
            "▁aé",
            "aa",
            "x",
            "▁xy",
            "▁éaéa",
            "▁aaaa",
        ];
        let length = [5, 40, 2000][below(3)];
        let text: String = (0..length).map(|_| parts[below(10)]).collect();
        let counts = check(&model, &text);
        words += counts.0;
        searched += counts.1;
    }
    // Both paths, cached and searched, were taken.
    assert!(
        searched > words / 50 && searched < words,
        "{searched} {words}"
    );
}

#[test]
fn sums_are_taken_down_at_the_same_places() {
    for score in [-900.0, -33_333.3, -250_000.0, -1e30] {
        let pieces = ["▁", "a", "▁a", "aa", "▁b"];
        let scores = (0..).map(|n| score * (1.0 + f64::from(n) / 1024.0));
        let pieces: Vec<_> = pieces.map(String::from).into_iter().zip(scores).collect();
        let model = model(&pieces, Precision::Single);
        check(&model, &"▁aaa▁b▁aa▁▁x".repeat(300));
    }
}

#[test]
fn pieces_over_two_words_forbid_it() {
    let make = |texts: &[&str]| {
        let pieces: Vec<_> = texts.iter().map(|t| (t.to_string(), -1.0)).collect();
        model(&pieces, Precision::Single).by_words().is_some()
    };
    assert!(make(&["▁", "a", "▁a", "▁▁"]));
    assert!(!make(&["a", "▁a"]), "the mark can be unknown");
    assert!(!make(&["▁", "a▁"]));
    let piece = [(&b"a"[..], 0), ("▁".as_bytes(), 1)];
    assert!(
        !Unigram::has_words(piece.into_iter(), 0),
        "a piece that is unknown"
    );
}

#[test]
fn scores_follow_from_ids_or_it_is_noticed() {
    let mut bytes = [0u32; 256];
    (10..).zip(&mut bytes).for_each(|(id, byte)| *byte = id);
    let id_scores = IdScores::new([(1, -1.5), (2, -2.0)].into_iter(), (0, -9.0), Some(&bytes));
    let segments = |ids: &[u32]| -> Vec<Segment> {
        let segment = |&id| Segment { id, length: 1 };
        ids.iter().map(segment).collect()
    };
    assert!(id_scores.match_scores(&segments(&[1, 2, 0]), &[-1.5, -2.0, -9.0]));
    assert!(!id_scores.match_scores(&segments(&[1, 0]), &[-1.5, -9.0, -9.0]));
    assert!(!id_scores.match_scores(&segments(&[2, 1]), &[-1.5, -2.0]));
    // Two bytes of one character, then the same bytes as one character each.
    let pair = segments(&[10 + 0xC3, 10 + 0xA9]);
    assert!(id_scores.match_scores(&pair, &[-9.0]));
    assert!(!id_scores.match_scores(&pair, &[-9.0, -9.0]));
    assert!(!id_scores.match_scores(&segments(&[u32::MAX]), &[-1.5]));
    assert_eq!(id_scores.sum(-1.0, &[1, 2]), Some(-4.5));
    assert_eq!(id_scores.sum(-NEAR - 1.0, &[]), Some(-NEAR - 1.0));
    assert_eq!(id_scores.sum(1.0 - NEAR, &[2, 2]), None);
}
