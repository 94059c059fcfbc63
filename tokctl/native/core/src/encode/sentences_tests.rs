//! Check that the ids of separate words are the ids of the whole sentence.

use std::collections::HashSet;

use crate::encode::lookup::LINE_END;
use crate::encode::{
    Encoder, Learned, Merging, Precision, Segmentation, Segmenter, SegmenterOptions, Unigram,
    UnigramOptions, Unknown,
};
use crate::model::{Marker, Units, NO_ID};
use crate::normalize::{Chain, CharsMap, Normalizer};
use crate::pattern::Search;
use crate::pretokenize::PreTokenizer;
use crate::random::random_below;

const PIECES: [&str; 18] = [
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
    "日",
    "本",
    "語",
    "日本",
    "。",
    "b。",
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
    let parts = [
        "a", "b", "ab", "ba", "aab", "é", "日本", "x", " ", " ", "日", "本語", "。", "字",
    ];
    let mut text = String::new();
    for _ in 0..words {
        text.push(' ');
        let kinds = [10, parts.len()][below(2)];
        let count = [9, 9, 9, 60][below(4)];
        (0..below(count)).for_each(|_| text.push_str(parts[below(kinds)]));
        if below(50) == 0 {
            text.push_str(&"aab".repeat(below(60)));
        }
    }
    text
}

/// Check the ids of a text, and of its normalized form, with new and with cached words.
fn check(encoder: &Encoder, (text, marked): (&str, &str), expected: &[u32], case: &str) {
    for _again in 0..3 {
        let (mut ids, mut marked_ids) = (Vec::new(), Vec::new());
        let mut state = encoder.call_state();
        let call = &mut state.call(&|| false, None);
        encoder.ids_with(text.as_bytes(), call, &mut ids).unwrap();
        assert!(ids == expected, "{case}");
        encoder
            .normalized_ids(marked.as_bytes(), 1, call, &mut marked_ids)
            .unwrap();
        assert!(marked_ids == expected, "{case}");
    }
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
            // In long texts the sum is rebased; the first texts come again.
            for (words, seed) in [(3, 1), (40, 2), (8000, 3), (40, 2), (700, 4), (3, 1)] {
                let text = text(words, seed);
                let mut expected = Vec::new();
                let marked = text.replace(' ', "▁");
                whole
                    .best(marked.as_bytes(), &mut expected, &|| false)
                    .unwrap();
                let expected: Vec<u32> = expected.iter().map(|segment| segment.id).collect();
                let case = format!("{scale} {apart} {byte_ids} {words}");
                check(&encoder, (&text, &marked), &expected, &case);
            }
        }
    }
}

/// Make SentencePiece's BPE: any two neighbours whose text together is a token merge, the earliest
/// token first.
fn merging(tokens: &[String], unknown: Option<u32>, byte_ids: Option<fn(u8) -> u32>) -> Merging {
    let learned = Learned {
        tokens: (0..).zip(tokens).map(|(id, text)| (text, id)).collect(),
        merges: Vec::new(),
        scores: Vec::new(),
        byte_ids: byte_ids.map(|id| Box::new(std::array::from_fn(|byte| id(byte as u8)))),
    };
    let options = SegmenterOptions {
        segmentation: Segmentation::Ranks,
        units: Units::Characters,
        marker: Marker::None,
        unknown_id: unknown,
        unknown: Unknown::Word,
        fuse_unknown: true,
        whole_words: false,
        max_characters: None,
        precision: Precision::Single,
        user_defined: HashSet::new(),
        events: None,
        supermerges: Vec::new(),
    };
    match Segmenter::new(&options, learned) {
        Ok(Segmenter::Merges(merging)) => merging,
        _ => unreachable!("merges were asked for"),
    }
}

/// Make tokens that occur in texts of these letters, mostly the shorter ones first.
fn tokens(below: &mut impl FnMut(usize) -> usize, letters: &[&str], count: usize) -> Vec<String> {
    let mut tokens: Vec<String> = letters.iter().map(ToString::to_string).collect();
    while tokens.len() < count {
        let (left, right) = (below(tokens.len()), below(tokens.len()));
        let token = format!("{}{}", tokens[left], tokens[right]);
        let crosses = token.trim_start_matches('▁').contains('▁');
        if !crosses && token.len() < 60 && !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    tokens
}

#[test]
fn merged_words_apart_are_what_the_sentence_is() {
    let replace = Normalizer::Replace {
        pattern: Search::Literal(" ".into()),
        content: "▁".into(),
    };
    let letters = ["▁", "a", "b", "é", "日", "本", "語", "x", "。", "😀"];
    let all: fn(u8) -> u32 = |byte| 1000 + u32::from(byte);
    // One byte of `語` has no token.
    let some: fn(u8) -> u32 = |byte| match byte {
        0xAA => NO_ID,
        _ => 1000 + u32::from(byte),
    };
    let mut below = random_below(3);
    for round in 0..60 {
        let known = 3 + round % 8;
        let count = known + below(60);
        let tokens = tokens(&mut below, &letters[..known], count);
        let byte_ids = [None, Some(all), Some(some)][round % 3];
        let make = || merging(&tokens, [None, Some(999)][round / 3 % 2], byte_ids);
        let whole = make();
        assert!(whole.by_words.is_some() && whole.is_plain());
        let encoder = Encoder::new(
            Chain::new(vec![replace.clone()]),
            PreTokenizer::default(),
            Segmenter::Merges(make()),
        );
        for words in [0, 1, 3, 600, 40, 2] {
            let mut text = String::new();
            for _ in 0..words {
                let length = [3, 9, 30, 90, 200][below(5) * below(2)];
                (0..below(length)).for_each(|_| text.push_str(letters[1 + below(9)]));
                text.push_str([" ", " ", "  "][below(3)]);
            }
            let marked = text.replace(' ', "▁");
            let mut segments = Vec::new();
            whole
                .segment(marked.as_bytes(), &mut segments, &|| false)
                .unwrap();
            let expected: Vec<u32> = segments.iter().map(|segment| segment.id).collect();
            check(
                &encoder,
                (&text, &marked),
                &expected,
                &format!("{round} {words}"),
            );
        }
    }
}

#[test]
fn sentences_together_are_what_each_is_alone() {
    let replace = |from: &str, to: &str| Normalizer::Replace {
        pattern: Search::Literal(from.into()),
        content: to.into(),
    };
    let strip = |left| Normalizer::StripSpaces { left, right: !left };
    let rules = || Normalizer::CharsMap(CharsMap::named("nmt_nfkc", false).unwrap());
    let marked = || vec![replace(" ", "▁")];
    let joined = || {
        vec![
            rules(),
            strip(true),
            Normalizer::CollapseSpaces,
            Normalizer::Prepend(" ".into()),
            replace("▁", " "),
            strip(false),
            replace(" ", "▁"),
        ]
    };
    let pieces = PIECES.map(String::from);
    let models: [&dyn Fn() -> Segmenter; 4] = [
        &|| Segmenter::Unigram(unigram(7.1, 1000, false)),
        &|| Segmenter::Unigram(unigram(9.0, 1, true)),
        &|| Segmenter::Unigram(unigram(3e4, 5, false)),
        &|| {
            Segmenter::Merges(merging(
                &pieces,
                Some(999),
                Some(|byte| 100 + u32::from(byte)),
            ))
        },
    ];
    let mut below = random_below(5);
    for (number, model) in models.iter().enumerate() {
        for chain in [marked(), joined()] {
            let encoder = |chain| Encoder::new(chain, PreTokenizer::default(), model());
            let chain = Chain::new(chain);
            let (together, alone) = (encoder(chain.clone()), encoder(chain));
            assert!(together.takes_sentences_together());
            let odd = [
                "",
                " ",
                "  a",
                "▁ab b",
                "ａb ｶﾞ",
                "é\u{301} ab",
                "a\0b",
                "ab\u{3000}",
                "ba ",
            ];
            for seed in 0..24 {
                // Some texts have NULs, and some are so long that their sums are rebased.
                let kinds = [odd.len(), 6][below(2)];
                let mut texts: Vec<String> = Vec::new();
                for _ in 0..2 + below(40) {
                    texts.push(match below(4) {
                        0 => odd[below(kinds)].into(),
                        1 if below(4) == 0 => text(300 + below(2000), seed),
                        _ => text(below(12), seed),
                    });
                }
                let mut state = alone.call_state();
                let call = &mut state.call(&|| false, None);
                let (mut expected, mut expected_ends) = (vec![7], Vec::new());
                for text in &texts {
                    alone
                        .ids_with(text.as_bytes(), call, &mut expected)
                        .unwrap();
                    expected_ends.push(expected.len());
                }
                let mut state = together.call_state();
                let call = &mut state.call(&|| false, None);
                let (mut ids, mut ends) = (vec![7], Vec::new());
                together
                    .ids_of_each(&texts, call, &mut ids, &mut ends)
                    .unwrap();
                assert!(ids == expected && ends == expected_ends, "{number} {seed}");
                for end in ["", "\n"] {
                    let block = texts.join("\n") + end;
                    let mut ids = vec![7];
                    together.line_ids(block.as_bytes(), call, &mut ids).unwrap();
                    let lines: Vec<Vec<u32>> = (ids[1..].split(|&id| id == LINE_END))
                        .map(|line| line.to_vec())
                        .collect();
                    assert_eq!(lines.len(), texts.len() + end.len(), "{number} {seed}");
                    assert!(lines.concat() == expected[1..], "{number} {seed}");
                }
            }
        }
    }
}
