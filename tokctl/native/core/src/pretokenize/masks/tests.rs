//! Tests of the masks against the scalar scanners, which go from character to character.

use super::{split_at_level, AsciiClasses, Level, MaskPattern};
use super::{Bert, Cl100k, Gpt2, O200k, Whitespace, WordRuns};
use crate::pretokenize::scalar::{bert, cl100k, gpt2, gpt2_words, o200k, whitespace, word_runs};
use crate::random::random_below;
use crate::unicode::{Classes, LETTER, LOWER, NUMBER, PUNCTUATION, SPACE, UPPER, WORD};

/// Strings that the patterns depend on: contractions, white space of every kind and length, numbers
/// that are not digits, letters of every case, marks, and bytes that are not UTF-8.
const TURNING: [&[u8]; 64] = [
    b"'",
    b"'",
    b"s",
    b"T",
    b"re",
    b"VE",
    b"ll",
    b"'d",
    b"'m",
    b"'\xC5\xBF",
    b" ",
    b" ",
    b"  ",
    b"\n",
    b"\r\n",
    b"\t",
    b"\x0B",
    b"\x1C",
    b"\xC2\x85",
    b"\xC2\xA0",
    b"\xE2\x80\x83",
    b"\xE3\x80\x80",
    b"\xE2\x80\xA8",
    b"a",
    b"Z",
    b"aB",
    b"Ab",
    b"AB",
    b"\xC3\xA9",
    b"\xC3\x89",
    b"\xE5\xAD\x97",
    b"\xD0\x96",
    b"\xD0\xB6",
    b"\xC7\x85",
    b"\xCA\xB0",
    b"\xCC\x81",
    b"\xE0\xA4\x83",
    b"\xEF\xB8\x8F",
    b"\xF0\x9D\x94\x84",
    b"1",
    b"23",
    b"4567",
    b"\xC2\xB2",
    b"\xD9\xA3",
    b"\xF0\x9D\x9F\x98",
    b".",
    b",",
    b"!!",
    b"/",
    b"//",
    b"_",
    b"-",
    b"\xE2\x80\x94",
    b"\xE2\x80\x99",
    b"\xF0\x9F\x98\x80",
    b"\0",
    b"\x7F",
    b"\xFF",
    b"\x80",
    b"\xC3",
    b"\xE5\xAD",
    b"\xF0\x9F\x98",
    b"\xED\xA0\x80",
    b"\xC0\x80",
];

type Spans = Vec<(usize, usize)>;

fn spans(split: impl FnOnce(&mut dyn FnMut(usize, usize))) -> Spans {
    let mut found = Vec::new();
    split(&mut |start, end| found.push((start, end)));
    found
}

fn same<P: MaskPattern>(
    pattern: P,
    text: &[u8],
    scalar: impl FnOnce(Classes, &[u8], &mut dyn FnMut(usize, usize)),
) {
    let expected = spans(|emit| scalar(Classes::get(), text, emit));
    for level in Level::all() {
        let found = spans(|emit| split_at_level(level, pattern, text, emit));
        if found != expected {
            let wrong = found
                .iter()
                .zip(&expected)
                .position(|(ours, theirs)| ours != theirs);
            let wrong = wrong.unwrap_or(found.len().min(expected.len()));
            let near = |spans: &Spans| {
                let spans = &spans[wrong.saturating_sub(2)..(wrong + 3).min(spans.len())];
                let text = |&(a, b): &(usize, usize)| (a, text[a..b].escape_ascii().to_string());
                spans.iter().map(text).collect::<Vec<_>>()
            };
            let name = std::any::type_name::<P>();
            panic!(
                "{name} {level:?}: {:?} != {:?}",
                near(&found),
                near(&expected)
            );
        }
    }
}

fn all_same(text: &[u8]) {
    same(
        Gpt2::<false, true>::default(),
        text,
        |classes, text, emit| {
            gpt2::split::<true>(classes, text, emit);
        },
    );
    same(
        Gpt2::<false, false>::default(),
        text,
        |classes, text, emit| {
            gpt2::split::<false>(classes, text, emit);
        },
    );
    same(
        Gpt2::<true, true>::default(),
        text,
        |classes, text, emit| {
            gpt2_words::split(classes, text, emit);
        },
    );
    same(Whitespace::default(), text, |classes, text, emit| {
        whitespace::split(classes, text, emit)
    });
    same(Bert::default(), text, |classes, text, emit| {
        bert::split(classes, text, emit)
    });
    same(WordRuns::default(), text, |classes, text, emit| {
        word_runs::split(classes, text, emit);
    });
    same(
        Cl100k::<false, true>::default(),
        text,
        |classes, text, emit| {
            cl100k::split(cl100k::CL100K, classes, text, emit);
        },
    );
    same(
        Cl100k::<false, false>::default(),
        text,
        |classes, text, emit| {
            cl100k::split(cl100k::LLAMA3, classes, text, emit);
        },
    );
    same(
        Cl100k::<true, false>::default(),
        text,
        |classes, text, emit| {
            cl100k::split(cl100k::QWEN2, classes, text, emit);
        },
    );
    same(O200k::default(), text, |classes, text, emit| {
        o200k::split(classes, text, emit)
    });
}

/// Return a random text of turning strings, at a random offset in a block.
fn random_text(below: &mut impl FnMut(usize) -> usize, few: bool) -> Vec<u8> {
    let mut text = vec![b'x'; below(70)];
    // With `few`, only four strings, so that long runs and repeated turns are frequent.
    let chosen: Vec<usize> = (0..4).map(|_| below(TURNING.len())).collect();
    for _ in 0..below(100) {
        let which = match few {
            true => chosen[below(4)],
            false => below(TURNING.len()),
        };
        text.extend_from_slice(TURNING[which]);
    }
    text
}

/// Return the number of random texts; `TOKCTL_STRINGS` asks for more.
fn strings() -> u64 {
    let requested = std::env::var("TOKCTL_STRINGS").ok();
    requested
        .and_then(|number| number.parse().ok())
        .unwrap_or(3_000)
}

#[test]
fn masks_equal_the_scalar_scanners_on_turning_texts() {
    let mut below = random_below(1);
    for number in 0..strings() {
        all_same(&random_text(&mut below, number % 2 == 0));
    }
}

#[test]
fn masks_equal_the_scalar_scanners_on_bytes() {
    let mut below = random_below(2);
    for _ in 0..strings() / 4 {
        let bytes = (0..below(300)).map(|_| below(256) as u8);
        all_same(&bytes.collect::<Vec<_>>());
    }
}

#[test]
fn every_turn_at_every_place_of_a_block() {
    for first in TURNING {
        for second in TURNING {
            let turn = [first, second, b"a"].concat();
            // Turns are 130 bytes apart, so that each is two bytes further on in its block.
            let mut text = Vec::new();
            for place in 0..66 {
                text.resize(place * 65 * 2, b'b');
                text.extend_from_slice(&turn);
            }
            all_same(&text);
        }
    }
}

#[test]
fn ascii_has_its_classes() {
    const KEPT: u8 = LETTER | NUMBER | SPACE | PUNCTUATION | WORD | UPPER | LOWER;
    let classes = AsciiClasses::new(KEPT, &[(128, b"'\n")]);
    for (byte, class) in (0..).zip(classes.0) {
        let more = if byte == 39 || byte == 10 { 128 } else { 0 };
        assert_eq!(class, Classes::get().of(byte) | more, "{byte:x}");
    }
    assert_eq!(classes.bits(), 255);
    assert_eq!(AsciiClasses::new(SPACE, &[]).bits(), SPACE);
}

#[test]
fn long_runs() {
    for run in [
        " ", "\n", "a", "A", "字", "1", "²", "!", "/", "'s", "\u{301}", "\u{a0}", "é",
    ] {
        for before in ["", "a", "\n", "!", "字A", "a\n", "!\n", "1"] {
            for behind in ["", "a", "\n", "!", "B", "字", "1", "'s", " "] {
                for times in [1, 61, 64, 130, 200, 1100] {
                    let text = [before, &run.repeat(times), behind].concat();
                    all_same(text.as_bytes());
                }
            }
        }
    }
}

#[test]
#[ignore = "reads the files that TOKCTL_TEXTS names, separated by colons"]
fn masks_equal_the_scalar_scanners_on_files() {
    for path in std::env::var("TOKCTL_TEXTS").unwrap().split(':') {
        all_same(&std::fs::read(path).unwrap());
    }
}

/// Check each character beyond ASCII, in the first bytes of a block and between others.
#[test]
fn every_character_has_its_class() {
    let mut text = Vec::new();
    for character in ('\u{80}'..=char::MAX).filter(|c| *c < '\u{20000}' || *c > '\u{E0000}') {
        let mut bytes = [0; 4];
        text.extend_from_slice(b"a1 ");
        text.extend_from_slice(character.encode_utf8(&mut bytes).as_bytes());
    }
    all_same(&text);
}
