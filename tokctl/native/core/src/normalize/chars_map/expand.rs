//! SentencePiece's named rules, combined from the sections of `rules.txt` and written out one by
//! one.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use super::compile::CharsMapRules;
use super::sections::Sections;

/// Rules of one name, in the form of `rules.txt`.
pub(super) struct NamedRules {
    /// Rules for single characters.
    pub characters: HashMap<char, String>,
    /// Character that each character counts as in a sequence.
    pub folded: HashMap<char, char>,
    /// Rules for folded sequences, without the conjoining jamo.
    pub sequences: Vec<(String, String)>,
}

impl NamedRules {
    pub fn new(nmt: bool, cf: bool) -> Self {
        let mut tables = Sections::read();
        // Sequences are folded by NFKC's result for a character, whatever `nmt` and `cf` say.
        let mut folded: HashMap<char, char> = HashMap::new();
        let mut inside: Vec<char> = leading().chain(vowels()).chain(trailing()).collect();
        inside.extend(tables.sequences.iter().flat_map(|(key, _)| key.chars()));
        inside.sort_unstable();
        inside.dedup();
        folded.extend(inside.iter().map(|&character| (character, character)));
        for (&key, value) in &tables.characters {
            let mut value = value.chars();
            if let (Some(one), None) = (value.next(), value.next()) {
                if inside.binary_search(&one).is_ok() {
                    folded.insert(key, one);
                }
            }
        }
        if nmt {
            for (key, value) in tables.nmt {
                match value {
                    Some(value) => tables.characters.insert(key, value),
                    None => tables.characters.remove(&key),
                };
            }
        }
        let case = match cf {
            true => tables.case,
            false => HashMap::new(),
        };
        let fold = |text: &str| -> String {
            let folded = text.chars().map(|c| case.get(&c).copied().unwrap_or(c));
            folded.collect()
        };
        let mut characters: HashMap<char, String> = HashMap::new();
        characters.extend(case.iter().map(|(&key, &value)| (key, value.to_string())));
        characters.extend(
            tables
                .characters
                .iter()
                .map(|(&key, value)| (key, fold(value))),
        );
        let sequences = tables.sequences.into_iter();
        NamedRules {
            characters,
            folded,
            sequences: sequences.map(|(key, value)| (key, fold(&value))).collect(),
        }
    }
}

/// Return all rules, one by one.
pub(super) fn rules_of(nmt: bool, cf: bool) -> CharsMapRules {
    let made = NamedRules::new(nmt, cf);
    let mut like: BTreeMap<char, Vec<char>> = BTreeMap::new();
    for (&character, &folded) in &made.folded {
        like.entry(folded).or_default().push(character);
    }
    let mut rules: CharsMapRules = made
        .characters
        .into_iter()
        .map(|(key, value)| (key.to_string(), value))
        .collect();
    let mut add = |key: &[char], value: &str| {
        let mut keys = vec![String::new()];
        for folded in key {
            let ways = like.get(folded).map_or(&[][..], |ways| &ways[..]);
            keys = keys
                .iter()
                .flat_map(|start| ways.iter().map(move |way| format!("{start}{way}")))
                .collect();
        }
        rules.extend(keys.into_iter().map(|key| (key, value.to_string())));
    };
    for (key, value) in &made.sequences {
        add(&key.chars().collect::<Vec<_>>(), value);
    }
    // Unicode, 3.12: the syllables are in the order of their jamo.
    let mut syllables = '\u{AC00}'..='\u{D7A3}';
    let mut next = || syllables.next().unwrap_or_default().to_string();
    for first in leading() {
        for second in vowels() {
            add(&[first, second], &next());
            for third in trailing() {
                add(&[first, second, third], &next());
            }
        }
    }
    rules
}

/// Return the leading conjoining jamo (Unicode, 3.12).
fn leading() -> impl Iterator<Item = char> {
    '\u{1100}'..='\u{1112}'
}

/// Return the conjoining vowels.
fn vowels() -> impl Iterator<Item = char> {
    '\u{1161}'..='\u{1175}'
}

/// Return the trailing conjoining jamo.
fn trailing() -> impl Iterator<Item = char> {
    '\u{11A8}'..='\u{11C2}'
}
