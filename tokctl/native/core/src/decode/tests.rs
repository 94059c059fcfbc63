//! Chains of real models, and comparisons of all ways of decoding.

use std::sync::Arc;

use super::*;
use crate::model::{Marker, Prepend};
use crate::pattern::Search;
use crate::random::random_below;

fn marked(kind: &str, mark: &str) -> Vec<DecoderStep> {
    vec![DecoderStep::Markers(Marker::new(kind, mark).unwrap())]
}

fn replace(text: &str, content: &str) -> DecoderStep {
    DecoderStep::Replace {
        pattern: Search::Literal(text.into()),
        content: content.into(),
    }
}

fn strip(content: char, start: usize, stop: usize) -> DecoderStep {
    DecoderStep::Strip {
        content,
        start,
        stop,
        first_only: false,
    }
}

fn strip_first(content: char, start: usize, stop: usize) -> DecoderStep {
    DecoderStep::Strip {
        content,
        start,
        stop,
        first_only: true,
    }
}

fn suffix(suffix: &str) -> DecoderStep {
    let suffix = suffix.into();
    DecoderStep::BpeSuffix { suffix }
}

fn word_piece() -> DecoderStep {
    DecoderStep::WordPiece {
        prefix: "##".into(),
        cleanup: true,
    }
}

fn ctc() -> DecoderStep {
    DecoderStep::Ctc {
        pad: "<pad>".into(),
        word_delimiter: "|".into(),
        cleanup: true,
    }
}

fn metaspace(prepend: Prepend) -> DecoderStep {
    let replacement = '▁';
    DecoderStep::Metaspace {
        replacement,
        prepend,
    }
}

fn fallback() -> DecoderStep {
    invalid_bytes(InvalidBytes::ReplaceRun)
}

fn invalid_bytes(invalid: InvalidBytes) -> DecoderStep {
    DecoderStep::ByteFallback { invalid }
}

fn llama() -> Vec<DecoderStep> {
    let start = vec![replace("▁", " "), fallback(), DecoderStep::Fuse];
    [start, vec![strip(' ', 1, 0)]].concat()
}

fn decoded(steps: Vec<DecoderStep>, tokens: &[&str]) -> String {
    let decoder = Decoder::new(steps, Vec::new(), Vec::new()).unwrap();
    let tokens = tokens.iter().map(|token| token.as_bytes());
    String::from_utf8(decoder.decode_tokens(tokens).unwrap()).unwrap()
}

#[test]
fn each_marker_gives_the_spaces_back() {
    let cases: [(&str, &str, &[&str], &str); 7] = [
        ("none", "", &["a", " b", "c"], "a bc"),
        ("end", "_", &["new", "e", "r", "_", "low_"], "newer low"),
        ("end-fused", "</w>", &["lo", "w</w>", "er</w>"], "low er"),
        ("start", "Ġ", &["Ġ", "lo", "w", "Ġer"], "low er"),
        ("continuation", "##", &["lo", "##w", "er"], "low er"),
        ("continuation", "##", &["##w", "er"], "##w er"),
        ("end", "_", &["_", "_", "a"], "  a"),
    ];
    for (kind, mark, tokens, text) in cases {
        assert_eq!(decoded(marked(kind, mark), tokens), text);
    }
}

#[test]
fn chains_of_real_models() {
    let bytes = [
        "▁h", "i", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "<0x80>", "▁",
    ];
    assert_eq!(decoded(llama(), &bytes[..6]), "hi\u{1F600}");
    assert_eq!(
        decoded(llama(), &bytes),
        "hi\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD} "
    );
    let bert = ["it", "'", "s", "un", "##done", ".", "do", "##n't"];
    assert_eq!(decoded(vec![word_piece()], &bert), "it ' s undone. don't");
    let clip = ["a</w>", "ph", "oto</w>", "of</w>"];
    assert_eq!(decoded(vec![suffix("</w>")], &clip), "a photo of");
    let speech = [
        "<pad>", "h", "h", "e", "l", "l", "<pad>", "l", "o", "|", "|", "y",
    ];
    assert_eq!(decoded(vec![ctc()], &speech), "hello y");
    let t5 = ["▁▁a", "▁b", "c▁"];
    assert_eq!(decoded(vec![metaspace(Prepend::Always)], &t5), "a bc ");
    assert_eq!(decoded(vec![metaspace(Prepend::Never)], &t5), "  a bc ");
    assert_eq!(
        decoded(vec![DecoderStep::JoinWithSpaces], &["a", "", "b"]),
        "a  b"
    );
}

#[test]
fn a_strip_of_more_than_there_is_leaves_nothing() {
    assert_eq!(
        decoded(vec![strip('y', 1, 2)], &["yy", "y", "", "yay"]),
        "a"
    );
    assert_eq!(decoded(vec![strip('é', 0, 1)], &["éé", "éa", "é"]), "ééa");
}

#[test]
fn an_empty_string_is_not_replaced() {
    for step in [replace("", "x"), suffix("")] {
        assert!(Decoder::new(vec![step], Vec::new(), Vec::new()).is_err());
    }
}

#[test]
fn an_id_outside_the_vocabulary_is_an_error() {
    let decoder = Decoder::new(marked("none", ""), vec![b"a".to_vec()], vec![false]).unwrap();
    assert_eq!(decoder.decode(&[0, 0], false), Ok(b"aa".to_vec()));
    let error = Err(Error::UnknownId { position: 1, id: 7 });
    assert_eq!(decoder.decode(&[0, 7], false), error);
}

const TOKENS: [&[u8]; 24] = [
    b"",
    b" ",
    b"a",
    b"##a",
    b"##",
    b"a</w>",
    b"</w>",
    b"</w",
    b"\xE2\x96\x81",
    b"\xE2\x96",
    b"\x81b",
    b"<0xE2>",
    b"<0x82>",
    b"<0xAC>",
    b"<0x20>",
    b"<pad>",
    b"|",
    b" n't",
    b".",
    b" '",
    b"\xFF",
    b"_",
    b"a_",
    b"[S]",
];

/// Compare decoding at once by table, token by token through the whole chain, and as a stream.
#[test]
fn every_way_of_decoding_gives_the_same() {
    let chains = [
        vec![],
        vec![DecoderStep::JoinWithSpaces],
        vec![DecoderStep::Fuse],
        vec![DecoderStep::Fuse, replace("</w>", "_")],
        vec![word_piece()],
        vec![DecoderStep::Fuse, word_piece()],
        vec![metaspace(Prepend::First)],
        vec![
            DecoderStep::Fuse,
            metaspace(Prepend::Never),
            strip(' ', 2, 2),
        ],
        vec![suffix("</w>")],
        vec![DecoderStep::Fuse, suffix("</w>")],
        vec![suffix("a"), metaspace(Prepend::Always), word_piece()],
        vec![suffix("</w>"), DecoderStep::Fuse, strip('a', 1, 1)],
        vec![fallback()],
        vec![fallback(), ctc()],
        vec![invalid_bytes(InvalidBytes::Keep)],
        vec![DecoderStep::Fuse, fallback(), ctc()],
        vec![ctc()],
        vec![ctc(), word_piece()],
        vec![strip('▁', 1, 1), suffix("b")],
        vec![strip_first('▁', 1, 1), suffix("b")],
        vec![strip_first('▁', 2, 0)],
        vec![strip_first('▁', 9, 9), replace("▁", " "), fallback()],
        vec![DecoderStep::Fuse, strip_first('▁', 2, 1)],
        llama(),
        marked("none", ""),
        marked("end", "_"),
        marked("end-fused", "</w>"),
        marked("start", "▁"),
        marked("continuation", "##"),
    ];
    let mut below = random_below(7);
    let tokens: Vec<Vec<u8>> = TOKENS.iter().map(|token| token.to_vec()).collect();
    let special: Vec<bool> = TOKENS.iter().map(|token| token == b"[S]").collect();
    for (number, steps) in chains.into_iter().enumerate() {
        let decoder = Decoder::new(steps, tokens.clone(), special.clone()).unwrap();
        let decoder = Arc::new(decoder);
        for round in 0..400 {
            let length = below(12);
            let ids: Vec<u32> = (0..length).map(|_| below(24) as u32).collect();
            let skip = round % 2 == 0;
            let kept = ids.iter().map(|&id| TOKENS[id as usize]);
            let kept = kept.filter(|token| !(skip && *token == b"[S]"));
            let expected = decoder.decode_tokens(kept).unwrap();
            let at_once = decoder.decode(&ids, skip).unwrap();
            assert_eq!(at_once, expected, "chain {number}: {ids:?}");
            let mut stream = Stream::new(Arc::clone(&decoder), skip);
            let mut pieces = Vec::new();
            for &id in &ids {
                let piece = stream.push(id).unwrap();
                // Text is emitted only when certain, so it is a prefix of the expected text.
                pieces.extend(piece);
                assert!(expected.starts_with(&pieces), "chain {number}: {ids:?}");
            }
            pieces.extend(stream.finish().unwrap());
            assert_eq!(pieces, expected, "chain {number}: {ids:?}");
        }
    }
}

#[test]
fn a_long_run_in_a_stream_is_no_quadratic_work() {
    let tokens = vec![
        b"<0xF0>".to_vec(),
        b"</w>".to_vec(),
        b"\xE2\x96\x81".to_vec(),
    ];
    let chains = [
        vec![fallback()],
        vec![DecoderStep::Fuse, suffix("</w></w></w>x")],
        vec![DecoderStep::Fuse, strip('▁', 400_000, 400_000)],
    ];
    for (id, steps) in (0u32..).zip(chains) {
        let decoder = Decoder::new(steps, tokens.clone(), vec![false; 3]).unwrap();
        let decoder = Arc::new(decoder);
        let mut stream = Stream::new(Arc::clone(&decoder), false);
        let ids = vec![id; 300_000];
        let mut pieces = Vec::new();
        for &id in &ids {
            pieces.extend(stream.push(id).unwrap());
        }
        pieces.extend(stream.finish().unwrap());
        assert_eq!(pieces, decoder.decode(&ids, false).unwrap());
    }
}

#[test]
fn invalid_bytes_become_what_the_decoder_says() {
    let bytes: Vec<Vec<u8>> = (0..=255u8)
        .map(|byte| format!("<0x{byte:02X}>").into_bytes())
        .collect();
    let tokens = [bytes, vec![b"[S]".to_vec(), b"x".to_vec()]].concat();
    let special: Vec<bool> = tokens.iter().map(|token| token == b"[S]").collect();
    let (s, x) = (256, 257);
    let bad = "\u{FFFD}";
    let cases: [(&[u32], [String; 2]); 6] = [
        (&[0xC3, 0xA9, 0xB8], [bad.repeat(3), format!("é{bad}")]),
        (&[0xE2, 0x0A], [bad.repeat(2), format!("{bad}\n")]),
        (
            &[0xE2, 0x82, 0xC3, 0xA9],
            [bad.repeat(4), format!("{bad}{bad}é")],
        ),
        (
            &[0xED, 0xA0, 0x80, x],
            [bad.repeat(3) + "x", bad.repeat(3) + "x"],
        ),
        (&[0xC3, s, 0xA9, x], ["éx".into(), bad.repeat(2) + "x"]),
        (
            &[0xEF, 0xBF, 0xBD, 0xF0, 0x9F],
            [bad.repeat(5), bad.repeat(3)],
        ),
    ];
    for (ids, wanted) in cases {
        let kinds = [InvalidBytes::ReplaceRun, InvalidBytes::ReplaceBytes];
        for (invalid, wanted) in kinds.into_iter().zip(wanted) {
            let steps = vec![invalid_bytes(invalid), DecoderStep::Fuse];
            let decoder = Decoder::new(steps, tokens.clone(), special.clone()).unwrap();
            let decoder = Arc::new(decoder);
            let found = decoder.decode(ids, true).unwrap();
            assert_eq!(String::from_utf8(found).unwrap(), wanted, "{ids:X?}");
            let mut stream = Stream::new(Arc::clone(&decoder), true);
            let mut pieces = Vec::new();
            for &id in ids {
                pieces.extend(stream.push(id).unwrap());
            }
            pieces.extend(stream.finish().unwrap());
            assert_eq!(String::from_utf8(pieces).unwrap(), wanted, "{ids:X?}");
        }
    }
}

#[test]
fn a_stream_holds_back_no_more_than_it_must() {
    let texts = ["▁a", "▁b", "<0xC3>", "<0xA9>", "c", " n't", "d</w>", "e"];
    let tokens: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    let pieces = |steps: Vec<DecoderStep>| {
        let decoder = Decoder::new(steps, tokens.clone(), vec![false; 8]).unwrap();
        let mut stream = Stream::new(Arc::new(decoder), false);
        let mut pieces: Vec<Vec<u8>> = (0..8).map(|id| stream.push(id).unwrap().to_vec()).collect();
        pieces.push(stream.finish().unwrap());
        let text = |piece| String::from_utf8(piece).unwrap();
        pieces.into_iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(
        pieces(llama()),
        ["a", " b", "", "", "éc", " n't", "d</w>", "e", ""]
    );
    let words = [
        " ▁b", " <0xC3>", " <0xA9>", " c", " n't", " d</w>", " e", "",
    ];
    assert_eq!(pieces(vec![word_piece()])[1..], words);
    let suffixed = pieces(vec![suffix("</w>")]);
    assert_eq!(suffixed[5..], [" n't", "d", " e", ""]);
}
