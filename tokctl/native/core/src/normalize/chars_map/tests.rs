use super::*;
use crate::normalize::{Chain, Edges, Normalizer};
use crate::random::random_below;

fn apply(map: &CharsMap, text: &str) -> String {
    let chain = Chain::new(vec![Normalizer::CharsMap(map.clone())]);
    let bytes = chain.apply(text.as_bytes(), Edges::WHOLE);
    let bytes = bytes.expect("rules do not fail").into_owned();
    String::from_utf8(bytes).expect("text stays text")
}

/// Return a hand-made blob: the unit of each node is `offset << 10 | has_leaf << 8 | label`.
fn small_blob() -> Vec<u8> {
    let mut units = vec![0u32; 512];
    // The root's children are at 256 ^ label; "a" has a value, "ab" another one.
    units[0] = 256 << 10;
    let a = 256 ^ usize::from(b'a');
    let behind_a = 128;
    units[a] = ((a ^ behind_a) as u32) << 10 | 1 << 8 | u32::from(b'a');
    units[behind_a] = 1 << 31;
    let b = behind_a ^ usize::from(b'b');
    let behind_b = 64;
    units[b] = ((b ^ behind_b) as u32) << 10 | 1 << 8 | u32::from(b'b');
    units[behind_b] = 1 << 31 | 2;
    let mut blob = (units.len() as u32 * 4).to_le_bytes().to_vec();
    blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    blob.extend("x\0é\0".as_bytes());
    blob
}

#[test]
fn a_blob_is_read_and_the_longest_key_wins() {
    let map = CharsMap::from_blob(&small_blob(), false).expect("a sound blob");
    assert_eq!(apply(&map, "cabaa b"), "céxx b");
    assert!(map.cuts_before_space());
    let nothing = CharsMap::from_blob(b"", false).expect("no rules at all");
    assert_eq!(apply(&nothing, "abc é"), "abc é");
}

#[test]
fn damaged_blobs_are_refused_or_harmless() {
    let sound = small_blob();
    for length in 0..sound.len() {
        if let Ok(map) = CharsMap::from_blob(&sound[..length], false) {
            apply(&map, "aab\u{0}é ab");
        }
    }
    let mut below = random_below(1);
    for _ in 0..3000 {
        let mut blob = sound.clone();
        for _ in 0..20 {
            let at = below(blob.len());
            blob[at] = below(256) as u8;
        }
        for graphemes in [false, true] {
            if let Ok(map) = CharsMap::from_blob(&blob, graphemes) {
                let chain = Chain::new(vec![Normalizer::CharsMap(map)]);
                let text = "aab\u{0}é abab字b".as_bytes();
                chain.cuts_before_space();
                let aligned = chain
                    .apply_aligned(text, Edges::WHOLE)
                    .expect("rules do not fail");
                let applied = chain.apply(text, Edges::WHOLE).expect("rules do not fail");
                assert_eq!(aligned.map_or(text.to_vec(), |a| a.text), &*applied);
            }
        }
    }
}

#[test]
fn the_file_of_rules_is_read_whole() {
    let counts = |nmt, cf| Builtin::new(nmt, cf).count();
    assert_eq!(counts(false, false), (4965, 949));
    assert_eq!(counts(true, false), (5009, 949));
    assert_eq!(counts(false, true), (6373, 949));
    assert_eq!(counts(true, true), (6417, 949));
}

/// Check what `cuts_before_space` assumes about the built-in keys.
#[test]
fn no_built_in_key_reaches_over_a_space() {
    use unicode_segmentation::UnicodeSegmentation;
    for (name, _, _) in NAMES {
        let map = CharsMap::named(name, false).expect("rules of this name");
        for character in '\0'..=char::MAX {
            let text = format!("{character} ");
            let touched = map.rules.shortest(&text).is_some();
            let bound = text.graphemes(true).count() == 1;
            assert!(!(touched && bound), "{name} {character:?}");
            for space in [' ', '\n'] {
                let text = format!("{character}{space}");
                let found = map.rules.longest(&text);
                assert!(found.is_none_or(|found| found.0 <= character.len_utf8()));
            }
        }
    }
}

#[test]
fn rules_that_never_end_are_refused() {
    // `a` leads from the root to the root, or `a` and then `b` do.
    let (root, a, b) = (0u32, 97, 98);
    for steps in [vec![(root, a, root)], vec![(root, a, 256), (256, b, root)]] {
        let mut units = vec![0u32; 512];
        for (from, label, to) in steps {
            let place = from ^ label;
            units[place as usize] = label | (place ^ to) << 10;
        }
        let mut blob = 2048u32.to_le_bytes().to_vec();
        blob.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        blob.extend(b"x\0");
        let refused = CharsMap::from_blob(&blob, false).unwrap_err();
        assert!(refused.to_string().contains("without an end"), "{refused}");
    }
}

#[test]
fn what_is_kept_is_kept_from_rules_that_begin_inside() {
    let keep: Vec<_> = ["the", "\u{fb01}", "x y"]
        .map(|text| text.as_bytes().to_vec())
        .into();
    let rules = CharsMap::named("nmt_nfkc", false).unwrap();
    let kept = rules.clone().keeping(&keep).unwrap();
    assert!(rules.cuts_before_space() && !kept.cuts_before_space());
    let chain = Chain::new(vec![Normalizer::CharsMap(kept)]);
    for (text, expected) in [
        ("the\u{301}", "the\u{301}"),
        ("he\u{301}", "h\u{e9}"),
        ("tthe\u{301}e\u{301}", "tthe\u{301}\u{e9}"),
        ("\u{fb01}\u{fb02}", "\u{fb01}fl"),
        ("", ""),
    ] {
        let found = chain.apply(text.as_bytes(), Edges::WHOLE).unwrap();
        assert_eq!(std::str::from_utf8(&found).unwrap(), expected);
    }
}

/// Read compiled rules back: every rule is present, and no other.
#[test]
fn compiled_rules_are_the_rules() {
    let mut draw = random_below(7);
    for size in [1, 2, 40, 3000] {
        let mut rules = CharsMapRules::new();
        for _ in 0..size {
            let key: String = (0..1 + draw(4))
                .filter_map(|_| char::from_u32(0x3B1 + draw(60) as u32 * 7))
                .collect();
            rules.insert(key, format!("{}", draw(30)));
        }
        let blob = compile(&rules).expect("sound rules");
        let read = Blob::new(&blob).expect("a sound blob");
        for (key, value) in &rules {
            let found: Vec<_> = read.prefixes(key).collect();
            let expected: Vec<_> = key
                .char_indices()
                .map(|(at, character)| at + character.len_utf8())
                .filter_map(|end| Some((end, &rules.get(&key[..end])?[..])))
                .collect();
            assert_eq!(found, expected);
            assert_eq!(found.last(), Some(&(key.len(), &value[..])));
            let other = format!("{key}!");
            assert_eq!(read.prefixes(&other).count(), found.len());
        }
    }
    assert_eq!(compile(&CharsMapRules::new()), Ok(Vec::new()));
    assert!(compile_named("nfkd").is_none());
}

#[test]
fn a_dummy_space_asks_what_the_text_was() {
    let rules = CharsMap::named("nmt_nfkc", false).expect("rules of this name");
    for behind in [false, true] {
        let space = Normalizer::DummySpace { behind };
        let strip = Normalizer::StripSpaces {
            left: true,
            right: true,
        };
        let tidy = Chain::new(vec![Normalizer::CharsMap(rules.clone()), strip, space]);
        for (text, expected) in [("", ""), ("\u{3000} ", ""), ("\u{1} ", " "), ("a ", "a ")] {
            let expected = match (behind, expected) {
                (false, "a ") => " a",
                _ => expected,
            };
            let found = tidy
                .apply(text.as_bytes(), Edges::WHOLE)
                .expect("no failure");
            assert_eq!(
                String::from_utf8_lossy(&found),
                expected,
                "{text:?} {behind}"
            );
            let aligned = tidy.apply_aligned(text.as_bytes(), Edges::WHOLE);
            let aligned = aligned.expect("no failure").unwrap_or_default();
            assert_eq!(aligned.text, found.as_ref(), "{text:?}");
            assert_eq!(aligned.places.len(), found.len());
        }
        assert_eq!(tidy.cuts_before_space(), !behind);
    }
}

/// Apply the rules like [`longest`], with a look-up at every character.
fn slowly(map: &CharsMap, text: &str) -> String {
    let (mut out, mut at) = (String::new(), 0);
    while let Some(character) = text[at..].chars().next() {
        match map.rules.longest(&text[at..]) {
            Some((length, value)) => {
                value.with(|value| out.push_str(value));
                at += length;
            }
            None => {
                out.push(character);
                at += character.len_utf8();
            }
        }
    }
    out
}

#[test]
fn what_is_not_looked_up_has_no_rule() {
    let mut below = random_below(5);
    let blob = compile_named("nmt_nfkc")
        .expect("a name of rules")
        .expect("sound rules");
    let blob = CharsMap::from_blob(&blob, false).expect("a sound blob");
    let named = NAMES
        .iter()
        .filter_map(|known| CharsMap::named(known.0, false));
    for map in named.chain([blob]) {
        if let Source::Builtin(rules) = &map.rules.source {
            rules.each_concerned(|code, _, follows| assert!(code >= 0x80 || !follows));
        }
        for code in 0x80..0x1_0000 {
            let Some(character) = char::from_u32(code) else {
                continue;
            };
            // Marks, jamo, and the characters that half-width ones compose with.
            let text = format!("e{character}\u{301}{character}\u{3099}か{character}\u{1161}");
            assert_eq!(apply(&map, &text), slowly(&map, &text), "{text:?}");
        }
        let pool: Vec<char> = "aeZ \u{301}\u{3099}\u{309A}かはガカﾊﾞｶ한\u{1100}\u{1161}\u{11A8}ﾡￂé〜！日\u{2028}\u{E000}😀𝐀\u{200B}"
            .chars()
            .collect();
        for _ in 0..20_000 {
            let text: String = (0..below(9)).map(|_| pool[below(pool.len())]).collect();
            assert_eq!(apply(&map, &text), slowly(&map, &text), "{text:?}");
        }
    }
}

/// Check that vectors stop where the search by characters does.
#[test]
fn untouched_is_what_no_character_stops() {
    let characters: Vec<char> = ('\0'..='\u{FFFF}')
        .chain(['\u{1F600}', '\u{1D165}'])
        .collect();
    let mut below = random_below(5);
    for (name, _, _) in NAMES {
        let rules = CharsMap::named(name, false)
            .expect("rules of this name")
            .rules;
        let clean: Vec<char> = (characters.iter().copied())
            .filter(|one| rules.untouched_one_by_one(format!("{one}").as_bytes()) > 0)
            .collect();
        // Each character after others, then random texts in which few characters stop.
        let mut texts: Vec<String> = (characters.iter())
            .map(|one| format!("{}字é{one}{}", "a".repeat(below(62)), "б".repeat(40)))
            .collect();
        texts.extend((0..4000).map(|_| {
            let length = below(300);
            let one = |_| match below(100) {
                0 => characters[below(characters.len())],
                1..40 => clean[below(clean.len())],
                _ => clean[below(0x600)],
            };
            (0..length).map(one).collect()
        }));
        for text in texts {
            let expected = rules.untouched_one_by_one(text.as_bytes());
            assert_eq!(rules.untouched(&text), expected, "{name} {text:?}");
        }
    }
}
