//! Tests of chains: source spans, edges, cuts.

use super::*;
use crate::random::random_below;
use crate::unicode::{Classes, LETTER, NUMBER, PUNCTUATION};
use std::borrow::Cow;

const BERT: Normalizer = Normalizer::Bert {
    clean_text: true,
    cjk_spacing: true,
    strip_accents: true,
    lowercase: true,
};

fn literal(pattern: &str, content: &str) -> Normalizer {
    Normalizer::Replace {
        pattern: Search::Literal(pattern.into()),
        content: content.into(),
    }
}

fn rules(name: &str, graphemes: bool) -> Normalizer {
    Normalizer::CharsMap(CharsMap::named(name, graphemes).expect("rules of this name"))
}

fn every_kind() -> Vec<Normalizer> {
    vec![
        Normalizer::DeleteNewlines,
        Normalizer::Nfc,
        Normalizer::Nfd,
        Normalizer::Nfkc,
        Normalizer::Nfkd,
        Normalizer::Lowercase,
        Normalizer::StripAccents,
        BERT,
        rules("nmt_nfkc", false),
        rules("nmt_nfkc_cf", true),
        Normalizer::Nmt,
        Normalizer::CollapseSpaces,
        Normalizer::Strip {
            left: true,
            right: true,
        },
        Normalizer::StripSpaces {
            left: true,
            right: false,
        },
        literal(" ", "\u{2581}"),
        literal("a", " "),
        literal("b c", "x"),
        literal("e", ""),
        Normalizer::Prepend("\u{2581}".into()),
    ]
}

fn apply(chain: &Chain, text: &[u8], edges: Edges) -> Vec<u8> {
    let applied = chain.apply(text, edges);
    applied.expect("these normalizers do not fail").into_owned()
}

fn random_text(below: &mut impl FnMut(usize) -> usize, length: usize) -> Vec<u8> {
    const TURNING: &str = "aAebc.1   \n\n\r\t\0\u{1}é\u{301}\u{323}字ﬁ①ｶﾞ한ᄒ\u{1161}\u{11ab}\u{a0}\u{2581}\u{3000}İΣǅ\u{d4e}\u{600}\u{200d}👩\u{ff5e}\u{fdfa}\u{37a}";
    let turning: Vec<char> = TURNING.chars().collect();
    let mut text = Vec::new();
    for _ in 0..below(length) {
        match below(40) {
            0 => text.push(0xE5),
            1 => text.extend([0xF0, 0x9F]),
            _ => {
                let character = turning[below(turning.len())];
                text.extend(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
    text
}

fn places_of_a_cut(text: &[u8]) -> Vec<usize> {
    let classes = Classes::get();
    let word = LETTER | NUMBER | PUNCTUATION;
    let is_cut =
        |&at: &usize| matches!(text[at], b' ' | b'\n') && classes.before(text, at) & word != 0;
    (1..text.len()).filter(is_cut).collect()
}

#[test]
fn parts_normalized_apart_are_the_whole_where_a_chain_says_so() {
    let kinds = every_kind();
    let mut chains: Vec<Vec<Normalizer>> = kinds.iter().map(|kind| vec![kind.clone()]).collect();
    for first in &kinds {
        for second in &kinds {
            chains.push(vec![first.clone(), second.clone()]);
            chains.push(vec![first.clone(), Normalizer::Lowercase, second.clone()]);
        }
    }
    let mut below = random_below(7);
    let (mut cutting, mut cuts) = (0, 0);
    for chain in chains
        .into_iter()
        .map(Chain::new)
        .filter(Chain::cuts_before_space)
    {
        cutting += 1;
        for _ in 0..60 {
            let text = random_text(&mut below, 30);
            let whole = apply(&chain, &text, Edges::WHOLE);
            for cut in places_of_a_cut(&text) {
                cuts += 1;
                let (start, end) = (
                    Edges {
                        start: true,
                        end: false,
                    },
                    Edges {
                        start: false,
                        end: true,
                    },
                );
                let mut parts = apply(&chain, &text[..cut], start);
                parts.extend(apply(&chain, &text[cut..], end));
                let shown = String::from_utf8_lossy(&text);
                assert_eq!(parts, whole, "{chain:?} {shown:?} at {cut}");
            }
        }
    }
    assert!(
        cutting > 300 && cuts > 20_000,
        "{cutting} chains, {cuts} cuts"
    );
}

#[test]
fn what_cannot_be_cut_says_so() {
    let cuts = |parts: &[Normalizer]| Chain::new(parts.to_vec()).cuts_before_space();
    assert!(cuts(&[]));
    assert!(cuts(&[
        Normalizer::Nfkc,
        Normalizer::Lowercase,
        Normalizer::CollapseSpaces
    ]));
    // The space after the ideograph meets the next space.
    assert!(!cuts(&[BERT, Normalizer::CollapseSpaces]));
    // "a\n\u{301}" composes to one character.
    assert!(!cuts(&[Normalizer::DeleteNewlines, Normalizer::Nfc]));
    // U+037A is a letter whose decomposition is a space and a mark.
    let three = [
        Normalizer::Nfkd,
        Normalizer::StripAccents,
        Normalizer::CollapseSpaces,
    ];
    assert!(!cuts(&three));
    assert!(!cuts(&[literal("b c", "x")]));
    assert!(!cuts(&[literal("", "x")]));
    assert!(!cuts(&[literal("a", " "), Normalizer::CollapseSpaces]));
}

/// Check what [`Chain::cuts_before_space`] assumes about single characters.
#[test]
fn a_word_never_comes_to_end_in_white_space() {
    let classes = Classes::get();
    let plain_bert = Normalizer::Bert {
        clean_text: true,
        cjk_spacing: false,
        strip_accents: true,
        lowercase: true,
    };
    let of_a_word = [
        Normalizer::StripAccents,
        Normalizer::Nmt,
        plain_bert,
        rules("nmt_nfkc", false),
        rules("nmt_nfkc_cf", true),
    ];
    let of_any = [
        Normalizer::Nfc,
        Normalizer::Nfd,
        Normalizer::Nfkc,
        Normalizer::Nfkd,
        Normalizer::Lowercase,
    ];
    let chains = |kinds: &[Normalizer]| -> Vec<Chain> {
        kinds
            .iter()
            .map(|kind| Chain::new(vec![kind.clone()]))
            .collect()
    };
    let (of_a_word, of_any) = (chains(&of_a_word), chains(&of_any));
    for character in ('\0'..=char::MAX).filter(|character| !character.is_whitespace()) {
        let is_word = classes.of(character.into()) & (LETTER | NUMBER | PUNCTUATION) != 0;
        let kinds = of_any.iter().chain(of_a_word.iter().filter(|_| is_word));
        let text = character.to_string();
        for chain in kinds {
            let became = apply(chain, text.as_bytes(), Edges::WHOLE);
            let last = std::str::from_utf8(&became)
                .ok()
                .and_then(|text| text.chars().next_back());
            assert!(
                last.is_some_and(|last| !last.is_whitespace()),
                "{chain:?} {character:?}"
            );
        }
    }
}

#[test]
fn both_sinks_give_the_same_text_and_places_lie_in_the_original() {
    let kinds = every_kind();
    let mut below = random_below(3);
    for number in 0..4000 {
        let mut parts = vec![kinds[number % kinds.len()].clone()];
        parts.push(kinds[below(kinds.len())].clone());
        let chain = Chain::new(parts);
        let text = random_text(&mut below, 20);
        let fast = chain.apply(&text, Edges::WHOLE).expect("these do not fail");
        let aligned = chain.apply_aligned(&text, Edges::WHOLE);
        match aligned.expect("these do not fail") {
            None => assert!(matches!(fast, Cow::Borrowed(_)), "{chain:?}"),
            Some(aligned) => {
                assert_eq!(aligned.text, &*fast, "{chain:?} {text:?}");
                assert_eq!(aligned.places.len(), aligned.text.len());
                for &(start, end) in &aligned.places {
                    assert!(
                        start <= end && end as usize <= text.len(),
                        "{chain:?} {text:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn text_that_stays_is_borrowed() {
    let text = "plain text, nothing to do: 中文 été";
    for kind in [
        Normalizer::Nfc,
        Normalizer::Nfkc,
        Normalizer::Lowercase,
        Normalizer::CollapseSpaces,
        rules("nmt_nfkc", false),
        rules("nmt_nfkc", true),
        Normalizer::StripAccents,
    ] {
        let chain = Chain::new(vec![kind]);
        let applied = chain.apply(text.as_bytes(), Edges::WHOLE);
        assert!(matches!(applied, Ok(Cow::Borrowed(_))), "{chain:?}");
        let aligned = chain.apply_aligned(text.as_bytes(), Edges::WHOLE);
        assert_eq!(aligned, Ok(None), "{chain:?}");
    }
}

#[test]
fn places_are_those_of_what_was_replaced() {
    let places = |normalizer: Normalizer, text: &str| {
        let aligned = Chain::new(vec![normalizer]).apply_aligned(text.as_bytes(), Edges::WHOLE);
        aligned
            .expect("these do not fail")
            .unwrap_or_default()
            .places
    };
    assert_eq!(
        places(Normalizer::DeleteNewlines, "a\r\nb"),
        [(0, 1), (3, 4)]
    );
    assert_eq!(places(Normalizer::Nfkd, "ﬁ"), [(0, 3), (0, 3)]);
    assert_eq!(places(Normalizer::Nfc, "e\u{301}"), [(0, 1), (0, 1)]);
    assert_eq!(places(Normalizer::Prepend("_".into()), "é"), [(0, 2); 3]);
    assert_eq!(places(literal("ab", "x"), "ab"), [(1, 2)]);
    assert_eq!(
        places(Normalizer::CollapseSpaces, "a   b"),
        [(0, 1), (3, 4), (4, 5)]
    );
    assert_eq!(places(rules("nfkc", false), "e\u{301}"), [(0, 3), (0, 3)]);
}

#[test]
fn long_floods_take_linear_time() {
    let flood = "e".to_string() + &"\u{301}\u{323}".repeat(250_000);
    for kind in every_kind() {
        let chain = Chain::new(vec![kind]);
        assert!(chain.apply_aligned(flood.as_bytes(), Edges::WHOLE).is_ok());
    }
}
