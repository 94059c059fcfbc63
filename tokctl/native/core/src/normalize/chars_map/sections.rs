//! Sections of SentencePiece's rules, read from `rules.txt`.

use hashbrown::HashMap;

const SOURCE: &str = include_str!("rules.txt");

/// The sections of `rules.txt`.
#[derive(Default)]
pub(super) struct Sections {
    /// Rules for single characters.
    pub characters: HashMap<char, String>,
    /// Sequences of folded characters, with their values.
    pub sequences: Vec<(String, String)>,
    /// Rules that `nmt` adds; None removes the rule for the character.
    pub nmt: Vec<(char, Option<String>)>,
    /// Case folding of single characters.
    pub case: HashMap<char, char>,
}

impl Sections {
    pub fn read() -> Self {
        let mut tables = Sections::default();
        let mut section = "";
        for line in SOURCE.lines() {
            if let Some(name) = line.strip_prefix("= ") {
                section = name;
            } else if !line.starts_with('#') {
                let (keys, value) = line.split_once(' ').unwrap_or((line, ""));
                tables.add(section, keys, value);
            }
        }
        tables
    }

    fn add(&mut self, section: &str, keys: &str, value: &str) {
        let (first, last) = keys.split_once('-').unwrap_or((keys, keys));
        if section == "sequences" {
            self.sequences
                .push((code_points(first, 0), code_points(value, 0)));
            return;
        }
        let (first, last) = (code_point(first), code_point(last));
        for (step, key) in (first..=last).enumerate() {
            let text = code_points(value.trim_matches('!'), step as u32);
            match section {
                "characters" => {
                    self.characters.insert(key, text);
                }
                "nmt" => self.nmt.push((key, (value != "!").then_some(text))),
                _ => self
                    .case
                    .extend(text.chars().next().map(|folded| (key, folded))),
            }
        }
    }
}

/// Return the text of code points joined by full stops, each raised by `step`.
fn code_points(list: &str, step: u32) -> String {
    let codes = list.split('.').filter(|code| !code.is_empty());
    let raised = codes.map(|code| char::from_u32(code_point(code) as u32 + step));
    raised.flatten().collect()
}

fn code_point(hexadecimal: &str) -> char {
    let code = u32::from_str_radix(hexadecimal, 16).ok();
    // A mistake in the file does not pass: the tests compare every rule with SentencePiece.
    code.and_then(char::from_u32).unwrap_or_default()
}
