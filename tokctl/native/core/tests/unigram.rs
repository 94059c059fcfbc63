//! Properties of the Unigram segmenter that need no other library; see `tests/exact` for the
//! others.

use tokctl_core::encode::{Precision, Rng, Segment, Unigram, UnigramOptions};
use tokctl_core::model::{Merges, NO_ID, NO_RANK};
use tokctl_core::Error;

fn options(precision: Precision) -> UnigramOptions {
    UnigramOptions {
        unknown_id: None,
        unknown_score: None,
        byte_ids: None,
        fuse_unknown: true,
        user_defined: Vec::new(),
        precision,
    }
}

fn model(pieces: &[(&str, f64)]) -> Unigram {
    let pieces = (0u32..).zip(pieces);
    let pieces = pieces.map(|(id, (text, score))| (text.as_bytes(), id, *score));
    Unigram::new(pieces, options(Precision::Double)).unwrap()
}

fn pairs(segments: &[Segment]) -> Vec<(u32, u32)> {
    segments.iter().map(|one| (one.id, one.length)).collect()
}

const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

#[test]
fn the_best_path_and_the_unknown() {
    let model = model(&[("a", -1.0), ("b", -1.0), ("ab", -1.5), ("ba", -1.4)]);
    let mut out = Vec::new();
    model.segment(b"abaxyb", &mut out, NEVER).unwrap();
    assert_eq!(pairs(&out), [(0, 1), (3, 2), (NO_ID, 2), (1, 1)]);
    out.clear();
    model.segment(b"", &mut out, NEVER).unwrap();
    assert_eq!(out, []);
}

#[test]
fn an_interrupt_stops_long_work_and_leaves_nothing_behind() {
    let model = model(&[("a", -1.0), ("aaa", -2.0)]);
    let long = vec![b'a'; 3_000_000];
    let mut out = vec![Segment { id: 7, length: 1 }];
    let stopped = model.segment(&long, &mut out, &|| true);
    assert_eq!(stopped, Err(Error::Interrupted));
    assert_eq!(out.len(), 1);
    let stopped = model.nbest(&long, 2, &|| true);
    assert_eq!(stopped.err(), Some(Error::Interrupted));
    let stopped = model.sample(&long, 1.0, -1, &mut Rng::new(0), &|| true);
    assert_eq!(stopped, Err(Error::Interrupted));
    // The scratch memory of the interrupted work is not used again.
    model.segment(b"aaaa", &mut out, NEVER).unwrap();
    assert_eq!(pairs(&out[1..]), [(0, 1), (1, 3)]);
}

#[test]
fn an_interrupt_may_segment_too() {
    let outer = model(&[("a", -1.0), ("aa", -1.5)]);
    let inner = model(&[("b", -1.0), ("bbbbbbbbb", -1.5)]);
    let mut out = Vec::new();
    let nested = || {
        let mut out = Vec::new();
        inner.segment(b"bbbbbbbbbb", &mut out, NEVER).unwrap();
        pairs(&out) != [(0, 1), (1, 9)]
    };
    outer
        .segment(&[b'a'; 2_000_001], &mut out, &nested)
        .unwrap();
    assert_eq!(out.len(), 1_000_001);
}

#[test]
fn long_texts_are_cut_without_a_trace() {
    // Cuts are possible at every word of the first text, and nowhere in the second; unknown spans
    // continue across cuts.
    let model = model(&[("ab", -1.0), ("a", -2.0), ("b", -2.0), ("bab", -3.5)]);
    for (unit, repeats) in [("abx", 9_000), ("ba", 20_000), ("xy", 12_000)] {
        let text = unit.repeat(repeats);
        let mut out = Vec::new();
        model.segment(text.as_bytes(), &mut out, NEVER).unwrap();
        let expected: Vec<(u32, u32)> = match unit {
            "abx" => [(0, 2), (NO_ID, 1)].repeat(repeats),
            "ba" => {
                let middle = std::iter::repeat_n((0, 2), repeats - 1);
                [(2, 1)].into_iter().chain(middle).chain([(1, 1)]).collect()
            }
            _ => vec![(NO_ID, 2 * repeats as u32)],
        };
        assert!(pairs(&out) == expected, "{unit}");
    }
}

#[test]
fn the_total_sums_all_segmentations() {
    let model = model(&[("a", -1.0), ("b", -2.0), ("ab", -2.5), ("ba", -3.0)]);
    let ways: [f64; 3] = [-1.0 - 2.0 - 1.0, -2.5 - 1.0, -1.0 - 3.0];
    let sum: f64 = ways.iter().map(|score| score.exp()).sum();
    let total = model.total(b"aba", 1.0, NEVER).unwrap();
    assert!((total - sum.ln()).abs() < 1e-12);
    assert_eq!(model.total(b"", 1.0, NEVER).unwrap(), 0.0);
}

#[test]
fn what_is_no_number_is_refused() {
    for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let made = Unigram::new(
            [(&b"a"[..], 0, score)].into_iter(),
            options(Precision::Double),
        );
        assert!(matches!(made.err(), Some(Error::Invalid(_))));
        let unknown_score = Some(score);
        let made = Unigram::new(
            [(&b"a"[..], 0, 0.0)].into_iter(),
            UnigramOptions {
                unknown_score,
                ..options(Precision::Single)
            },
        );
        assert!(matches!(made.err(), Some(Error::Invalid(_))));
        let drawn = model(&[("a", 0.0)]).sample(b"a", score, -1, &mut Rng::new(0), NEVER);
        assert!(matches!(drawn.err(), Some(Error::Invalid(_))));
    }
    // Scores whose sums overflow still give a complete segmentation.
    let model = model(&[("a", f64::MAX), ("aa", f64::MIN), ("b", f64::MIN)]);
    for nbest_size in [-1, 0, 5] {
        let drawn = model.sample(b"aabbaax", 3.0, nbest_size, &mut Rng::new(0), NEVER);
        assert_eq!(drawn.unwrap().iter().map(|one| one.length).sum::<u32>(), 7);
    }
}

#[test]
fn ranks_by_vocabulary() {
    let tokens: [(&[u8], u32, u32); 6] = [
        (b"a", 10, 0),
        (b"b", 11, 0),
        (b"ab", 12, 70),
        (b"ba", 13, 70),
        (b"aba", 14, 90),
        (b"xab", 15, 5),
    ];
    let merges = Merges::by_vocabulary(&tokens);
    // Two ranks: one of `ab` and `ba`, and one of `aba`; `xab` can't be made.
    assert_eq!(merges.len(), 2);
    assert_eq!((merges.rank(10, 11), merges.token(0, 10, 11)), (0, 12));
    assert_eq!((merges.rank(11, 10), merges.token(0, 11, 10)), (0, 13));
    for (left, right) in [(10, 13), (12, 10)] {
        assert_eq!(
            (merges.rank(left, right), merges.token(1, left, right)),
            (1, 14)
        );
    }
    assert_eq!(merges.rank(12, 12), NO_RANK);
}
