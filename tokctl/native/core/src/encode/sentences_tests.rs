//! The ids of words apart are those of the sentence as a whole.

use crate::encode::{Encoder, Precision, Segmenter, Unigram, UnigramOptions};
use crate::normalize::{Chain, Normalizer};
use crate::pattern::Search;
use crate::pretokenize::PreTokenizer;
use crate::random::random_below;

const PIECES: [&str; 12] = [
    "▁",
    "a",
    "b",
    "▁a",
    "ab",
    "ba",
    "aa",
    "▁ab",
    "abab",
    "é",
    "▁éa",
    "aaaaaaaaaaaaaaaaaaaa",
];

fn unigram(scale: f64, apart: u32, byte_ids: bool) -> Unigram {
    let score = |(at, text): (usize, &&str)| {
        let score = (-scale * text.chars().count() as f64) as f32;
        f32::from_bits(score.to_bits() + at as u32 * 7 % (apart + 1))
    };
    let scores: Vec<f32> = PIECES.iter().enumerate().map(score).collect();
    let pieces = (1..).zip(PIECES).zip(&scores);
    let pieces = pieces.map(|((id, text), &score)| (text.as_bytes(), id, f64::from(score)));
    let options = UnigramOptions {
        unknown_id: Some(0),
        unknown_score: None,
        byte_ids: byte_ids.then(|| Box::new(std::array::from_fn(|byte| 100 + byte as u32))),
        fuse_unknown: true,
        user_defined: Vec::new(),
        precision: Precision::Single,
    };
    Unigram::new(pieces, options).unwrap()
}

fn text(words: usize, seed: u64) -> String {
    let mut below = random_below(seed);
    let parts = ["a", "b", "ab", "ba", "aab", "é", "日本", "x", " ", " "];
    let mut text = String::new();
    for _ in 0..words {
        text.push(' ');
        (0..below(9)).for_each(|_| text.push_str(parts[below(10)]));
        if below(50) == 0 {
            text.push_str(&"aab".repeat(below(60)));
        }
    }
    text
}

#[test]
fn words_apart_are_what_the_sentence_is() {
    let replace = Normalizer::Replace {
        pattern: Search::Literal(" ".into()),
        content: "▁".into(),
    };
    for (scale, apart) in [
        (0.3, 0),
        (0.3, 2),
        (7.1, 1000),
        (9.0, 1),
        (600.0, 3),
        (3e4, 5),
    ] {
        for byte_ids in [false, true] {
            let whole = unigram(scale, apart, byte_ids);
            let encoder = Encoder::new(
                Chain::new(vec![replace.clone()]),
                PreTokenizer::default(),
                Segmenter::Unigram(unigram(scale, apart, byte_ids)),
            );
            // Long ones come to where the sum is taken down; the first ones come again.
            for (words, seed) in [(3, 1), (40, 2), (8000, 3), (40, 2), (700, 4), (3, 1)] {
                let text = text(words, seed);
                let mut expected = Vec::new();
                let marked = text.replace(' ', "▁");
                whole
                    .best(marked.as_bytes(), &mut expected, &|| false)
                    .unwrap();
                let mut ids = Vec::new();
                encoder
                    .ids(text.as_bytes(), None, &mut ids, &|| false)
                    .unwrap();
                let expected: Vec<u32> = expected.iter().map(|segment| segment.id).collect();
                assert!(ids == expected, "{scale} {apart} {byte_ids} {words}");
            }
        }
    }
}
