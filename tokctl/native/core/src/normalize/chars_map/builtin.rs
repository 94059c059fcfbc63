//! SentencePiece's named rules, built from `rules.txt`.
//!
//! All but 6,000 of the 225,000 rules are variants of another sequence: their characters become,
//! each on its own, the characters of that sequence (half-width jamo, presentation forms). So a
//! sequence is looked up by what its characters become. `tools/chars_map.py` proves that the result
//! is the same.

use hashbrown::{HashMap, HashSet};

use super::expand::NamedRules;

/// Rules of one name, with or without the clean-up of Google's machine translation (`nmt`) and case
/// folding (`cf`).
#[derive(Debug)]
pub(super) struct Builtin {
    /// Page in `numbers` for each block of 256 code points; page 0 is for blocks without rules.
    pages: Vec<u16>,
    /// Index in `characters` plus 1 for each code point of a page; 0 for none.
    numbers: Vec<u32>,
    characters: Vec<Character>,
    values: String,
    /// Trie of sequences: (node of the sequence so far, folded next character) to node.
    nodes: HashMap<(u32, char), u32>,
    /// Value of the sequence that ends at each node.
    ends: Vec<Option<Value>>,
}

#[derive(Debug, Clone, Copy)]
struct Value {
    start: u32,
    length: u32,
}

/// Rules for one character.
#[derive(Debug, Clone, Copy, Default)]
struct Character {
    value: Option<Value>,
    /// Character that this one counts as in a sequence.
    folded: Option<char>,
    /// Whether it can be in a sequence, but not first. Few can, so this is checked before a
    /// sequence is looked up.
    follows: bool,
}

const START: u32 = 0;

/// First code point and number of the conjoining vowels.
const VOWELS: (u32, u32) = (0x1161, 21);
/// Code point before the first trailing jamo, and the number of trailing jamo plus 1.
const TRAILING: (u32, u32) = (0x11A7, 28);

impl Builtin {
    pub fn new(nmt: bool, cf: bool) -> Self {
        let made = NamedRules::new(nmt, cf);
        let mut rules = Builtin::empty();
        for (&key, value) in &made.characters {
            rules.add_character(key, value);
        }
        for (&key, &to) in &made.folded {
            rules.character(key).folded = Some(to);
        }
        for (key, value) in &made.sequences {
            rules.add_sequence(key, value);
        }
        rules.find_following();
        rules
    }

    /// Set [`Character::follows`] once all sequences are added.
    fn find_following(&mut self) {
        let behind = self.nodes.keys().filter(|(node, _)| *node != START);
        let behind: HashSet<char> = behind.map(|&(_, character)| character).collect();
        let jamo = |c| jamo(c, VOWELS.0, VOWELS.1).or(jamo(c, TRAILING.0, TRAILING.1));
        for character in &mut self.characters {
            let follows = |folded| behind.contains(&folded) || jamo(folded).is_some();
            character.follows = character.folded.is_some_and(follows);
        }
    }

    fn empty() -> Self {
        Builtin {
            pages: vec![0; 0x11_0000 >> 8],
            // The page of code points without rules.
            numbers: vec![0; 256],
            characters: Vec::new(),
            values: String::new(),
            nodes: HashMap::new(),
            ends: vec![None],
        }
    }

    fn add_value(&mut self, text: &str) -> Value {
        let start = self.values.len() as u32;
        self.values.push_str(text);
        Value {
            start,
            length: text.len() as u32,
        }
    }

    fn character(&mut self, key: char) -> &mut Character {
        let code = key as usize;
        if self.pages[code >> 8] == 0 {
            self.pages[code >> 8] = (self.numbers.len() >> 8) as u16;
            self.numbers.resize(self.numbers.len() + 256, 0);
        }
        let number = &mut self.numbers[usize::from(self.pages[code >> 8]) << 8 | code & 0xFF];
        if *number == 0 {
            self.characters.push(Character::default());
            *number = self.characters.len() as u32;
        }
        &mut self.characters[*number as usize - 1]
    }

    fn add_character(&mut self, key: char, text: &str) {
        let value = self.add_value(text);
        self.character(key).value = Some(value);
    }

    fn add_sequence(&mut self, key: &str, text: &str) {
        let value = self.add_value(text);
        let mut node = START;
        for character in key.chars() {
            let next = self.ends.len() as u32;
            node = *self.nodes.entry((node, character)).or_insert(next);
            if node == next {
                self.ends.push(None);
            }
        }
        self.ends[node as usize] = Some(value);
    }

    #[inline]
    fn look_up(&self, character: char) -> Option<&Character> {
        let code = character as usize;
        let number = self.numbers[usize::from(self.pages[code >> 8]) << 8 | code & 0xFF];
        self.characters.get((number as usize).wrapping_sub(1))
    }

    fn text(&self, value: Value) -> &str {
        &self.values[value.start as usize..(value.start + value.length) as usize]
    }

    /// Return whether a key begins with this ASCII character and holds no others than ASCII.
    pub fn touches_ascii(&self, byte: u8) -> bool {
        let character = self.look_up(char::from(byte));
        character.is_some_and(|character| character.value.is_some())
    }

    /// Call `found(code, begins, follows)` for each character that rules concern.
    ///
    /// `begins`: a rule replaces the character, whatever follows it. `follows`: a rule may begin
    /// with the character before it.
    pub fn each_concerned(&self, mut found: impl FnMut(u32, bool, bool)) {
        for (page, &start) in (0..).zip(&self.pages) {
            let numbers = match start {
                0 => &[],
                _ => &self.numbers[usize::from(start) << 8..][..256],
            };
            for (code, &number) in (page << 8..).zip(numbers) {
                if let Some(character) = self.characters.get((number as usize).wrapping_sub(1)) {
                    found(code, character.value.is_some(), character.follows);
                }
            }
        }
    }

    /// Call `found(length, value)` for each sequence that begins `text`, shortest first.
    fn sequences<'s>(&'s self, text: &str, mut found: impl FnMut(usize, Replacement<'s>)) {
        let mut folded = text.char_indices().map_while(|(at, character)| {
            let folded = self.look_up(character)?.folded?;
            Some((at + character.len_utf8(), folded))
        });
        let Some((_, first)) = folded.next() else {
            return;
        };
        if let Some(leading) = jamo(first, 0x1100, 19) {
            let vowel = folded
                .next()
                .and_then(|(end, c)| Some((end, jamo(c, VOWELS.0, VOWELS.1)?)));
            let Some((end, vowel)) = vowel else { return };
            let syllable = 0xAC00 + (leading * 21 + vowel) * 28;
            found(end, Replacement::Syllable(syllable));
            let trailing = folded
                .next()
                .and_then(|(end, c)| Some((end, jamo(c, TRAILING.0, TRAILING.1)?)));
            if let Some((end, trailing)) = trailing {
                found(end, Replacement::Syllable(syllable + trailing));
            }
            return;
        }
        let Some(mut node) = self.nodes.get(&(START, first)) else {
            return;
        };
        for (end, character) in folded {
            match self.nodes.get(&(*node, character)) {
                Some(next) => node = next,
                None => return,
            }
            if let Some(value) = self.ends[*node as usize] {
                found(end, Replacement::Text(self.text(value)));
            }
        }
    }

    pub fn longest<'s>(&'s self, text: &str) -> Option<(usize, Replacement<'s>)> {
        let mut characters = text.chars();
        let first = characters.next()?;
        let character = self.look_up(first)?;
        let mut follows = || self.look_up(characters.next()?).map(|next| next.follows);
        let alone = character
            .value
            .map(|value| Replacement::Text(self.text(value)));
        let mut best = alone.map(|value| (first.len_utf8(), value));
        if character.folded.is_some() && follows() == Some(true) {
            self.sequences(text, |end, value| best = Some((end, value)));
        }
        best
    }

    pub fn shortest<'s>(&'s self, text: &str) -> Option<Replacement<'s>> {
        let character = self.look_up(text.chars().next()?)?;
        if let Some(value) = character.value {
            return Some(Replacement::Text(self.text(value)));
        }
        let mut best = None;
        self.sequences(text, |_, value| {
            best.get_or_insert(value);
        });
        best
    }

    /// Return the number of keys of one character and of folded sequences.
    #[cfg(test)]
    pub fn count(&self) -> (usize, usize) {
        let values = self.characters.iter().filter(|c| c.value.is_some());
        (values.count(), self.ends.iter().flatten().count())
    }
}

/// Text that a rule puts in place of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replacement<'r> {
    Text(&'r str),
    /// Hangul syllable, by its code point.
    Syllable(u32),
}

impl Replacement<'_> {
    /// Return the result of `with` for the text.
    pub fn with<T>(self, with: impl FnOnce(&str) -> T) -> T {
        match self {
            Replacement::Text(text) => with(text),
            Replacement::Syllable(code) => {
                let syllable = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                with(syllable.encode_utf8(&mut [0; 4]))
            }
        }
    }
}

fn jamo(character: char, first: u32, count: u32) -> Option<u32> {
    let number = (character as u32).checked_sub(first)?;
    (number < count).then_some(number)
}
