//! Check that parts of every size have the tokens and spans of the whole text.

use std::sync::Mutex;

use super::*;
use crate::encode::parallel::one_text::tests::{chains, matchers, merging, pre_tokenizers, TEXTS};
use crate::encode::Words;
use crate::normalize::{Chain, CharsMap, Normalizer};
use crate::unicode::{Classes, SPACE};

/// Return ids and spans of the tokens, and the number of parts.
fn by_parts(
    encoder: &Encoder,
    text: &[u8],
    how: (usize, usize),
    matchers: Option<&Matchers>,
) -> (Vec<(u32, usize, usize)>, usize) {
    let found = Mutex::new((Vec::new(), Vec::new()));
    let make = |start, end, tokens: &[Token]| {
        let tokens: Vec<_> = tokens.iter().map(|t| (t.id, t.start, t.end)).collect();
        Ok((start, end, tokens))
    };
    let take = |(start, end, tokens): (usize, usize, Vec<_>)| {
        let mut found = found.lock().unwrap();
        found.0.extend(tokens);
        found.1.push((start, end));
        Ok(())
    };
    encoder
        .tokens_by_parts(text, how, matchers, make, take, &|| false)
        .unwrap();
    let (tokens, ranges) = found.into_inner().unwrap();
    let mut at = 0;
    for &(start, end) in &ranges {
        assert_eq!(start, at);
        let class = text.get(at).map(|_| Classes::get().at(text, at).0);
        assert!(at == 0 || class.unwrap() & SPACE != 0, "no word is cut");
        at = end;
    }
    assert_eq!(at, text.len());
    (tokens, ranges.len())
}

fn whole(encoder: &Encoder, text: &[u8], matchers: Option<&Matchers>) -> Vec<(u32, usize, usize)> {
    let tokens = encoder.tokens(text, matchers, &|| false).unwrap();
    tokens.iter().map(|t| (t.id, t.start, t.end)).collect()
}

/// Return the normalizers of the thread tests, and SentencePiece's rules, which move offsets.
fn all_chains() -> Vec<Chain> {
    let rules = |name, graphemes| Normalizer::CharsMap(CharsMap::named(name, graphemes).unwrap());
    let strip = Normalizer::StripSpaces {
        left: true,
        right: true,
    };
    let mut all = chains();
    for graphemes in [false, true] {
        let steps = vec![
            rules("nmt_nfkc", graphemes),
            Normalizer::CollapseSpaces,
            strip.clone(),
            Normalizer::DummySpace { behind: false },
        ];
        all.push(Chain::new(steps));
    }
    all.push(Chain::new(vec![Normalizer::Nfd, Normalizer::StripAccents]));
    all
}

#[test]
fn parts_of_any_size_have_the_tokens_of_the_whole() {
    let own: [&[u8]; 3] = [
        "\u{1}\u{200b}a ½ b ﬁ c\u{308} d\r\n\u{a8} e \u{fdfa} f".as_bytes(),
        "naïve é\n\n字字 a,b. c  d\t e ".as_bytes(),
        "x <s> y<s>z a\nb".as_bytes(),
    ];
    let mut parted = 0;
    for pre_tokenizer in pre_tokenizers() {
        for chain in all_chains() {
            let encoder = Encoder::new(chain, pre_tokenizer.clone(), merging());
            for (raw, normalized) in [(false, false), (true, false), (false, true), (true, true)] {
                let matchers = matchers(raw, normalized);
                let matchers = (raw || normalized).then_some(&matchers);
                for text in TEXTS.into_iter().chain(own) {
                    let expected = whole(&encoder, text, matchers);
                    for how in [(1, 1), (2, 1), (1, 7)] {
                        let (found, parts) = by_parts(&encoder, text, how, matchers);
                        assert_eq!(found, expected, "{how:?} {pre_tokenizer:?}");
                        parted += parts - 1;
                    }
                }
            }
        }
    }
    assert!(parted > 10_000, "{parted}");
}

#[test]
fn unknown_words_that_are_one_are_not_parted() {
    let mut words = Words::new([(&b"a"[..], 4)].into_iter(), Some(0));
    words.fuse_unknown = true;
    let encoder = Encoder::new(
        Chain::default(),
        crate::pretokenize::Scanner::Whitespace.into(),
        crate::encode::Segmenter::Words(words),
    );
    let (found, parts) = by_parts(&encoder, b"x y a z", (2, 1), None);
    assert_eq!(found, whole(&encoder, b"x y a z", None));
    assert_eq!(parts, 1);
}
