//! A trie over characters.
//!
//! Characters are numbered by how many entries contain them, the most frequent first. A number
//! becomes one or two labels of a [`Trie`] where possible. This takes fewer steps than bytes of
//! UTF-8 and fewer nodes, so that more of a vocabulary stays in the processor's cache.

use hashbrown::HashMap;

use super::trie::NO_LABEL;
use super::{CharIds, Trie, NO_ID};
use crate::error::Result;
use crate::unicode;

/// Numbers below this one take one label.
const ONE: u32 = 224;
/// Count of numbers that take two labels, of which the first is at least [`ONE`]. The label
/// [`LAST`] starts a number of four labels.
const TWO: u32 = (LAST - ONE) * 256;
const LAST: u32 = 255;

/// Bytes that are not UTF-8 count as characters after the last code point.
const STRAY: u32 = 0x11_0000;

/// Trie whose labels are numbered characters. Entries are numbered in input order.
#[derive(Debug, Clone)]
pub struct CharTrie {
    numbers: CharIds,
    trie: Trie,
    /// Length of the longest entry in bytes.
    longest: usize,
}

/// Short text as labels, so that entries can be matched from each of its characters.
#[derive(Debug)]
pub struct LabelledText {
    /// Labels; [`NO_LABEL`] follows the last one.
    labels: Box<[u16; LabelledText::ROOM]>,
    pub count: usize,
    /// For each character: index of its first label, and its length in bytes.
    pub characters: Vec<(u16, u16)>,
}

impl LabelledText {
    /// Maximum length of a text in bytes; each byte may be a character of four labels.
    pub const LONGEST: usize = 128;
    /// Power of two greater than the maximum number of labels.
    pub const ROOM: usize = 8 * Self::LONGEST;
}

impl Default for LabelledText {
    fn default() -> Self {
        LabelledText {
            labels: Box::new([NO_LABEL; Self::ROOM]),
            count: 0,
            characters: Vec::new(),
        }
    }
}

/// Return the character at the start of a text, and its length in bytes.
#[inline(always)]
fn first(text: &[u8]) -> Option<(u32, usize)> {
    Some(match *text.first()? {
        byte @ 0..0x80 => (u32::from(byte), 1),
        byte => unicode::decode(text, 0).unwrap_or((STRAY + u32::from(byte), 1)),
    })
}

fn characters(mut text: &[u8]) -> impl Iterator<Item = u32> + '_ {
    std::iter::from_fn(move || {
        let (code, length) = first(text)?;
        text = &text[length..];
        Some(code)
    })
}

/// Pass the labels of a number to `label`, until it returns false. Return whether all were
/// accepted.
#[inline(always)]
fn labels(number: u32, mut label: impl FnMut(u8) -> bool) -> bool {
    if number < ONE {
        return label(number as u8);
    }
    let [_, upper, middle, lower] = number.to_be_bytes();
    match number - ONE {
        two @ ..TWO => label((ONE + two / 256) as u8) && label(two as u8),
        _ => label(LAST as u8) && label(upper) && label(middle) && label(lower),
    }
}

impl CharTrie {
    /// Build the trie from (bytes, id). Of entries with equal bytes the last one counts; an empty
    /// entry matches nothing.
    pub fn build<'t>(entries: impl Iterator<Item = (&'t [u8], u32)> + Clone) -> Result<Self> {
        let mut counts: HashMap<u32, u32> = HashMap::new();
        let mut longest = 0;
        for (text, _) in entries.clone() {
            longest = longest.max(text.len());
            characters(text).for_each(|code| *counts.entry(code).or_default() += 1);
        }
        let mut order: Vec<(u32, u32)> = counts.into_iter().collect();
        order.sort_unstable_by_key(|&(code, count)| (std::cmp::Reverse(count), code));
        let mut numbers = CharIds::default();
        for (number, (code, _)) in (0..).zip(order) {
            numbers.insert(code, number);
        }
        let labels = |text| {
            let mut all = Vec::new();
            for code in characters(text) {
                labels(numbers.get(code), |label| {
                    all.push(label);
                    true
                });
            }
            all
        };
        let entries: Vec<(Vec<u8>, u32)> = entries.map(|(text, id)| (labels(text), id)).collect();
        let trie = Trie::build(entries.iter().map(|(text, id)| (&text[..], *id)))?;
        Ok(CharTrie {
            numbers,
            trie,
            longest,
        })
    }

    /// Call `found(length, entry number)` for every entry that is a prefix of `text` and ends at a
    /// character boundary, shortest first. Return the number of bytes read.
    #[inline(always)]
    pub fn walk(&self, text: &[u8], mut found: impl FnMut(usize, u32)) -> usize {
        let (mut at, mut place) = (0, self.trie.start());
        while let Some((code, length)) = first(&text[at..]) {
            at += length;
            let number = self.numbers.get(code);
            let step = |label| self.trie.step(&mut place, label);
            if number == NO_ID || !labels(number, step) {
                break;
            }
            if let Some(entry) = place.entry() {
                found(at, entry);
            }
        }
        at
    }

    /// Convert a text of up to [`LabelledText::LONGEST`] bytes to labels. Each leading U+0020
    /// counts as the character `space`.
    #[inline(always)]
    pub fn label(&self, mut text: &[u8], mut space: u32, out: &mut LabelledText) {
        debug_assert!(text.len() <= LabelledText::LONGEST);
        out.characters.clear();
        let mut count = 0;
        while let Some((mut code, length)) = first(text) {
            text = &text[length..];
            out.characters.push((count as u16, length as u16));
            match code == u32::from(b' ') {
                true => code = space,
                false => space = u32::from(b' '),
            }
            let mut push = |label| {
                out.labels[count % LabelledText::ROOM] = label;
                count += 1;
            };
            match self.numbers.get(code) {
                NO_ID => push(NO_LABEL),
                number => {
                    labels(number, |label| {
                        push(u16::from(label));
                        true
                    });
                }
            }
        }
        out.labels[count % LabelledText::ROOM] = NO_LABEL;
        out.count = count;
    }

    /// Like [`Self::walk`], but match labels from index `at` on, and call `found(end index in
    /// labels, entry number)`.
    #[inline(always)]
    pub fn walk_labels(
        &self,
        text: &LabelledText,
        mut at: usize,
        mut found: impl FnMut(usize, u32),
    ) {
        let mut place = self.trie.start();
        while self
            .trie
            .step(&mut place, text.labels[at % LabelledText::ROOM])
        {
            at += 1;
            if let Some(entry) = place.entry() {
                found(at, entry);
            }
        }
    }

    /// Return the id of the entry that equals `text`.
    pub fn get(&self, text: &[u8]) -> Option<u32> {
        let mut whole = None;
        self.walk(text, |length, entry| {
            whole = (length == text.len()).then_some(entry);
        });
        whole.map(|entry| self.trie.id(entry))
    }

    /// Return the length of the longest entry in bytes.
    pub fn longest_entry(&self) -> usize {
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random_below;

    fn check(entries: &[(Vec<u8>, u32)], texts: &[Vec<u8>]) {
        let given = entries.iter().map(|(text, id)| (&text[..], *id));
        let (trie, bytes) = (
            CharTrie::build(given.clone()).unwrap(),
            Trie::build(given).unwrap(),
        );
        assert_eq!(trie.longest_entry(), bytes.longest_entry());
        for text in texts {
            let ends: Vec<usize> = characters(text)
                .scan(0, |at, _| {
                    *at += first(&text[*at..])?.1;
                    Some(*at)
                })
                .collect();
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            bytes.walk(text, |length, entry| expected.push((length, entry)));
            expected.retain(|(length, _)| ends.contains(length));
            trie.walk(text, |length, entry| found.push((length, entry)));
            assert_eq!(found, expected, "{text:x?}");
            assert_eq!(trie.get(text), bytes.get(text), "{text:x?}");
        }
    }

    #[test]
    fn it_finds_what_a_trie_over_bytes_finds() {
        let mut below = random_below(2);
        for kinds in [3, 200, 400, 12_000, 40_000] {
            let mut text = |most: usize| -> Vec<u8> {
                let mut text = Vec::new();
                for _ in 0..below(most + 1) {
                    match below(12) {
                        0 => text.push(below(256) as u8),
                        1 => text.push(b"\xE3\x81\x82"[below(3)]),
                        _ => {
                            let code = 0x2F80 + below(kinds) as u32;
                            let character = char::from_u32(code).unwrap_or('é');
                            text.extend(character.to_string().as_bytes());
                        }
                    }
                }
                text
            };
            let count = 2 * kinds as u32;
            let entries: Vec<_> = (0..count).map(|id| (text(4), 3 * id)).collect();
            let mut texts: Vec<_> = (0..2000).map(|_| text(6)).collect();
            texts.extend(entries.iter().step_by(7).map(|entry| entry.0.clone()));
            check(&entries, &texts);
        }
        check(&[], &[b"".to_vec(), b"a".to_vec(), vec![0xE3]]);
    }
}
