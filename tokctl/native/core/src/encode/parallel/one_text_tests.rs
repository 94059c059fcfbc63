//! Check that chunks of every size, and several threads, give the ids of the whole text.

use super::*;
use crate::encode::{AddedToken, Merging, RaggedIds, Segmenter};
use crate::model::{Alphabet, Merges, Prepend};
use crate::normalize::{Chain, Normalizer};
use crate::pretokenize::{Behaviour, PreTokenizer, Rewrite, Scanner, Split, Step};

pub(crate) const TEXTS: [&[u8]; 5] = [
    "It's 1,000\u{a0} miles\r\n\r\n from\t\u{3000}here, 字 字'll <s>x <s> \u{e9}te\u{301} \u{85} x ▁a  b"
        .as_bytes(),
    b"aaaaaaaa aaa  aa\n\n  aab<s><s> a<s>\xFF a\xE2\x82 b\n\xF0 \x9F a",
    b"one_word_without_any_space_that_is_longer_than_every_chunk_is",
    b"   \n \n  ",
    b"",
];

/// Make merges of letters, some of which cross words if the pre-tokenizer allows.
pub(crate) fn merging() -> Segmenter {
    let pairs = [
        (97, 97),
        (256, 256),
        (32, 97),
        (258, 97),
        (101, 32),
        (115, 62),
        (226, 150),
    ];
    let triples = (256..)
        .zip(pairs)
        .map(|(token, (left, right))| (left, right, token));
    let alphabet = Alphabet::bytes(|byte| Some(u32::from(byte[0])));
    Segmenter::Merges(Merging::new(alphabet, Merges::new(triples)))
}

pub(crate) fn pre_tokenizers() -> Vec<PreTokenizer> {
    let names = [
        "none",
        "whitespace",
        "bert",
        "gpt2",
        "cl100k",
        "o200k",
        "deepseek-v3",
        "graphemes",
        "penn-treebank",
        "characters",
    ];
    let named = |name: &str| PreTokenizer::from(Scanner::named(name).unwrap());
    let mut all: Vec<_> = names.into_iter().map(named).collect();
    for prepend in [Prepend::Always, Prepend::First, Prepend::Never] {
        all.push(PreTokenizer::new(vec![Step {
            rewrite: Some(Rewrite::Metaspace {
                replacement: "\u{2581}".into(),
                prepend,
            }),
            scanner: Scanner::Split(Split::literal("▁", Behaviour::MergedWithNext, false)),
        }]));
    }
    all.push(PreTokenizer::new(vec![
        Step {
            rewrite: Some(Rewrite::PrefixSpace),
            scanner: Scanner::Digits { individual: true },
        },
        Scanner::Gpt2.into(),
    ]));
    all
}

pub(crate) fn chains() -> Vec<Chain> {
    let bert = Normalizer::Bert {
        clean_text: true,
        cjk_spacing: true,
        strip_accents: true,
        lowercase: true,
    };
    let strip = Normalizer::Strip {
        left: true,
        right: true,
    };
    [
        vec![],
        vec![Normalizer::Nfkc],
        vec![Normalizer::Lowercase, Normalizer::CollapseSpaces],
        vec![bert],
        vec![strip, Normalizer::Prepend("\u{2581}".into())],
        vec![Normalizer::DeleteNewlines],
    ]
    .into_iter()
    .map(Chain::new)
    .collect()
}

pub(crate) fn matchers(raw: bool, normalized: bool) -> Matchers {
    let token = |text: &str, id| AddedToken {
        text: text.as_bytes().to_vec(),
        id,
        strip_left: true,
        ..AddedToken::default()
    };
    let some = |wanted: bool, token| wanted.then_some(token).into_iter().collect();
    Matchers::new(
        some(raw, token("<s>", 1000)),
        some(normalized, token("x", 1001)),
    )
    .unwrap()
}

/// Return the ids as 16-bit numbers.
fn narrow_ids(
    encoder: &Encoder,
    text: &[u8],
    how: (usize, usize),
    matchers: Option<&Matchers>,
) -> crate::error::Result<Vec<u16>> {
    let mut ids = Vec::new();
    encoder.ids_in_chunks(text, how, matchers, &mut ids, &|| false)?;
    Ok(ids)
}

fn narrowed(ids: &[u32]) -> crate::error::Result<Vec<u16>> {
    let id = |&id: &u32| id.try_into().map_err(|_| crate::Error::NoId(0));
    ids.iter().map(id).collect()
}

#[test]
fn chunks_of_any_size_give_the_ids_of_the_whole() {
    let mut parted = 0;
    for chain in chains() {
        for pre_tokenizer in pre_tokenizers() {
            let encoder = Encoder::new(chain.clone(), pre_tokenizer, merging());
            for matchers in [
                None,
                Some(matchers(true, false)),
                Some(matchers(false, true)),
                Some(matchers(true, true)),
            ] {
                for text in TEXTS {
                    let mut whole = vec![7];
                    encoder
                        .ids(text, matchers.as_ref(), &mut whole, &|| false)
                        .unwrap();
                    for chunk in [1, 2, 3, 5, 8, 13, 30] {
                        let mut ids = vec![7];
                        let how = (2, chunk);
                        encoder
                            .ids_in_chunks(text, how, matchers.as_ref(), &mut ids, &|| false)
                            .unwrap();
                        assert_eq!(ids, whole, "{chunk} {}", text.escape_ascii());
                        let how = (chunk % 3, chunk);
                        let narrow = narrow_ids(&encoder, text, how, matchers.as_ref());
                        assert_eq!(narrow, narrowed(&whole[1..]));
                    }
                    let mut pieces = Vec::new();
                    encoder
                        .cut_stretch(text, 1, 1, matchers.as_ref(), &mut pieces)
                        .unwrap();
                    parted += usize::from(pieces.len() > 2);
                }
            }
        }
    }
    assert!(parted > 400, "{parted}");
}

#[test]
fn many_threads_give_the_ids_of_one() {
    let encoder = Encoder::new(Chain::default(), Scanner::Gpt2.into(), merging());
    let text: Vec<u8> = (0..200_000u32)
        .flat_map(|number| format!(" a{}", number.wrapping_mul(2_654_435_761)).into_bytes())
        .collect();
    let mut whole = Vec::new();
    encoder.ids(&text, None, &mut whole, &|| false).unwrap();
    for threads in [0, 1, 2, 5] {
        let mut ids: Vec<u32> = Vec::new();
        encoder
            .ids_threaded(&text, threads, None, &mut ids, &|| false)
            .unwrap();
        assert_eq!(ids, whole);
        let narrow = narrow_ids(&encoder, &text, (threads, CHUNK), None);
        assert_eq!(narrow, narrowed(&whole));
        let texts = [
            text.clone(),
            b"a".to_vec(),
            Vec::new(),
            text[..300_000].to_vec(),
        ];
        let all: RaggedIds = encoder.batch(&texts, threads, None, &|| false).unwrap();
        let all: Vec<&[u32]> = all.texts().collect();
        for (found, text) in all.iter().zip(&texts) {
            let mut ids = Vec::new();
            encoder.ids(text, None, &mut ids, &|| false).unwrap();
            assert_eq!(*found, ids);
        }
        assert_eq!(all.len(), texts.len());
        let narrow: RaggedIds<u16> = encoder.batch(&texts, threads, None, &|| false).unwrap();
        for (found, ids) in narrow.texts().zip(&all) {
            assert_eq!(Ok(found.to_vec()), narrowed(ids));
        }
        assert_eq!(narrow.ends.len(), all.len());
    }
    // The cache stays within its bounds and is reused.
    let stats = encoder.cache_stats();
    assert!(stats.entries > 10_000 && stats.bytes > stats.entries * 16);
    let stopped = encoder.ids_threaded::<u32>(&text, 2, None, &mut Vec::new(), &|| true);
    assert_eq!(stopped, Err(crate::Error::Interrupted));
}
