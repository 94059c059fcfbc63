//! A long text encoded in blocks, and a long pre-token in parts, must give the ids of the whole.

use std::collections::HashMap;

use tokctl_core::encode::{can_cut, Borders, Encoder, Merging, Segmenter, Words};
use tokctl_core::model::{Alphabet, Marker, Merges, Prepend};
use tokctl_core::normalize::{Chain, CharsMap, Normalizer};
use tokctl_core::pretokenize::{Behaviour, PreTokenizer, Rewrite, Scanner, Split, Step};

fn metaspace(prepend: Prepend) -> PreTokenizer {
    let literal = Split::literal("\u{2581}", Behaviour::MergedWithNext, false);
    PreTokenizer::new(vec![Step {
        rewrite: Some(Rewrite::Metaspace {
            replacement: "\u{2581}".into(),
            prepend,
        }),
        scanner: Scanner::Split(literal),
    }])
}

fn bert() -> Vec<Normalizer> {
    vec![Normalizer::Bert {
        clean_text: true,
        cjk_spacing: true,
        strip_accents: true,
        lowercase: true,
    }]
}

fn sentencepiece() -> Vec<Normalizer> {
    let strip = Normalizer::StripSpaces {
        left: true,
        right: true,
    };
    vec![
        Normalizer::CharsMap(CharsMap::named("nmt_nfkc", false).unwrap()),
        Normalizer::CollapseSpaces,
        strip,
    ]
}

/// Return short lines in random order, so that cuts fall everywhere.
fn text(bytes: usize) -> Vec<u8> {
    const LINES: [&str; 9] = [
        "  It's  1,000\u{a0} miles \r\n\r\n from\t\u{3000}here!\n",
        "字 字'll  \u{85} x ﬁ ２３ ",
        "É e\u{301} \u{301} Ünder\n \u{301}x ",
        "\u{2581}a\u{2581} b \u{2581}",
        "word",
        ".",
        " ",
        "\n",
        "Ａｂｃ ",
    ];
    let mut text = Vec::new();
    let mut state = 12345u32;
    while text.len() < bytes {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.extend_from_slice(LINES[(state >> 16) as usize % LINES.len()].as_bytes());
    }
    text
}

#[test]
fn blocks_leave_no_trace() {
    let text = text(300_000);
    let never = || false;
    for normalizers in [bert as fn() -> _, sentencepiece] {
        for pre_tokenizer in [
            metaspace(Prepend::Always),
            metaspace(Prepend::First),
            Scanner::Bert.into(),
            Scanner::Gpt2.into(),
            Scanner::None.into(),
        ] {
            let chain = || Chain::new(normalizers());
            let words = |words: Words| Segmenter::Words(words);
            let nothing = words(Words::new([].into_iter(), None));
            let whole = Encoder::new(chain(), pre_tokenizer.clone(), nothing);
            let found = whole.pre_tokens(&text, None).unwrap();
            let pieces: Vec<&[u8]> = found
                .ranges
                .iter()
                .map(|&(a, b)| &found.text[a..b])
                .collect();
            let mut ids: HashMap<&[u8], u32> = HashMap::new();
            let expected: Vec<u32> = pieces
                .iter()
                .map(|&piece| {
                    let next = ids.len() as u32;
                    *ids.entry(piece).or_insert(next)
                })
                .collect();
            let known = words(Words::new(ids.into_iter(), None));
            let encoder = Encoder::new(chain(), pre_tokenizer.clone(), known);
            let mut given = Vec::new();
            encoder.ids(&text, None, &mut given, &never).unwrap();
            assert_eq!(given, expected, "{pre_tokenizer:?}");
            let tokens = encoder.tokens(&text, None, &never).unwrap();
            assert!(tokens.iter().map(|token| token.id).eq(expected));
        }
    }
}

/// Return the ids of a text that is not split, segmented part by part or as a whole.
fn by_words(tokens: &[&str], text: &str, by_words: bool) -> Vec<u32> {
    let tokens: Vec<_> = (1..)
        .zip(tokens)
        .map(|(id, text)| (text.as_bytes().to_vec(), id))
        .collect();
    assert!(can_cut(&tokens, None));
    let ranked: Vec<_> = tokens
        .iter()
        .map(|(text, id)| (&text[..], *id, *id))
        .collect();
    let symbols = tokens.iter().map(|(text, id)| (&text[..], *id));
    let merging = Merging {
        unknown: Some(0),
        fuse_unknown: true,
        by_words: by_words.then(|| Borders::of(tokens.iter().map(|(text, _)| &text[..]))),
        ..Merging::new(
            Alphabet::characters(&Marker::None, symbols),
            Merges::by_vocabulary(&ranked),
        )
    };
    let none = PreTokenizer::default();
    let encoder = Encoder::new(Chain::default(), none, Segmenter::Merges(merging));
    let mut ids = Vec::new();
    encoder
        .ids(text.as_bytes(), None, &mut ids, &|| false)
        .unwrap();
    ids
}

#[test]
fn parts_of_a_sentence_are_segmented_as_the_whole() {
    let tokens = [
        "▁▁",
        "ab",
        "▁",
        "▁a",
        "a",
        "▁ab",
        "b",
        "ba",
        "▁▁▁▁",
        "▁▁a",
        "bab",
    ];
    let characters = ['▁', 'a', 'b', '▁', 'x', '字', 'b'];
    let mut state = 1u32;
    for length in (1..200).chain([5_000]) {
        let text: String = (0..length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                characters[(state >> 16) as usize % characters.len()]
            })
            .collect();
        assert_eq!(
            by_words(&tokens, &text, true),
            by_words(&tokens, &text, false),
            "{text}"
        );
    }
}
