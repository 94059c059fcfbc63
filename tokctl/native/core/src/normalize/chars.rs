//! Normalizers that treat one character at a time.

use super::aligned::TextSink;
use crate::unicode::{stretches, Categories, Category};

/// Rule that replaces each character on its own, whatever its neighbours.
pub(super) trait CharRule {
    /// Return whether the rule changes `character`.
    fn touches(&self, character: char) -> bool;
    /// Return how many leading bytes are ASCII that the rule leaves unchanged.
    #[inline]
    fn untouched(&self, bytes: &[u8]) -> usize {
        leading(bytes, |byte| {
            !byte.is_ascii() || self.touches(char::from(byte))
        })
    }
    /// Return the ASCII character that this ASCII byte becomes; None if it becomes no or other
    /// characters.
    ///
    /// A run of bytes with an answer is written at once.
    #[inline]
    fn ascii(&self, _: u8) -> Option<u8> {
        None
    }
    /// Write the replacement of a character that the rule touches.
    fn write(&self, character: char, sink: &mut impl TextSink);
}

/// Apply `rule` to `text`; bytes that are not UTF-8 stay unchanged.
pub(super) fn run(rule: &impl CharRule, text: &[u8], sink: &mut impl TextSink) {
    for (stretch, invalid) in stretches(text) {
        let bytes = stretch.as_bytes();
        let (mut kept, mut at) = (0, 0);
        loop {
            at += rule.untouched(&bytes[at..]);
            let Some(character) = stretch[at..].chars().next() else {
                break;
            };
            let becomes = |byte: u8| becomes(rule, byte);
            let mapped = leading(&bytes[at..], |byte| becomes(byte).is_none());
            if mapped > 0 {
                sink.keep(&bytes[kept..at]);
                let run = &bytes[at..at + mapped];
                sink.map(run, |byte| becomes(byte).unwrap_or(byte));
                at += mapped;
                kept = at;
                continue;
            }
            let end = at + character.len_utf8();
            if rule.touches(character) {
                sink.keep(&bytes[kept..at]);
                rule.write(character, sink);
                kept = end;
            }
            at = end;
        }
        sink.keep(&bytes[kept..]);
        sink.keep(invalid);
    }
}

#[inline]
fn becomes(rule: &impl CharRule, byte: u8) -> Option<u8> {
    match byte.is_ascii() {
        true => rule.ascii(byte),
        false => None,
    }
}

/// Return how many leading bytes are ASCII.
#[inline]
pub(super) fn ascii_length(bytes: &[u8]) -> usize {
    leading(bytes, |byte| !byte.is_ascii())
}

/// Return how many bytes come before the first that stops; looks at sixteen bytes at a time.
#[inline]
pub(super) fn leading(bytes: &[u8], stops: impl Fn(u8) -> bool) -> usize {
    if bytes.first().is_none_or(|&byte| stops(byte)) {
        return 0;
    }
    let goes_on = |chunk: &&[u8]| !chunk.iter().fold(false, |any, &byte| any | stops(byte));
    let length = 16 * bytes.chunks_exact(16).take_while(goes_on).count();
    let rest = &bytes[length..];
    length
        + rest
            .iter()
            .position(|&byte| stops(byte))
            .unwrap_or(rest.len())
}

// Unicode's full lower-case mappings, each character on its own: a Σ at the end of a word becomes
// σ, as in Hugging Face's `Lowercase`.

pub(super) struct Lowercase;

impl CharRule for Lowercase {
    #[inline]
    fn touches(&self, character: char) -> bool {
        if character.is_ascii() {
            return character.is_ascii_uppercase();
        }
        if has_no_case(character) {
            return false;
        }
        let mut lower = character.to_lowercase();
        lower.next() != Some(character) || lower.next().is_some()
    }

    #[inline]
    fn ascii(&self, byte: u8) -> Option<u8> {
        Some(byte.to_ascii_lowercase())
    }

    #[inline]
    fn write(&self, character: char, sink: &mut impl TextSink) {
        for (number, lower) in character.to_lowercase().enumerate() {
            sink.put(lower, isize::from(number > 0));
        }
    }
}

/// Return whether `character` is in general punctuation or in an East Asian block, which have no
/// case.
///
/// This saves the look-up of the mapping.
#[inline]
fn has_no_case(character: char) -> bool {
    matches!(character, '\u{2000}'..='\u{2125}' | '\u{2E80}'..='\u{A63F}' | '\u{AC00}'..='\u{D7FF}')
}

// Removal of combining marks.

/// Marks to remove.
pub(super) enum Marks {
    /// Every mark (general category M), as in Hugging Face's `StripAccents`.
    All(Categories),
    /// Nonspacing marks (Mn), as in BERT's normalizer.
    Nonspacing(Categories),
}

impl CharRule for Marks {
    #[inline]
    fn touches(&self, character: char) -> bool {
        // The first mark is U+0300.
        character >= '\u{300}'
            && match self {
                Marks::All(categories) => categories.of(character.into()).is_mark(),
                Marks::Nonspacing(categories) => categories.of(character.into()) == Category::Mn,
            }
    }

    fn write(&self, character: char, sink: &mut impl TextSink) {
        sink.skip(character.len_utf8());
    }
}

// Clean-up of Google's neural machine translation, as in Hugging Face's `Nmt`: controls are
// removed, and characters that count as spaces become U+0020. (SentencePiece's rules `nmt_nfkc`
// differ in U+061C and U+200D.)

pub(super) struct Nmt;

fn is_removed(character: char) -> bool {
    matches!(
        character,
        '\u{1}'..='\u{8}' | '\u{B}' | '\u{E}'..='\u{1F}' | '\u{7F}' | '\u{8F}' | '\u{9F}'
    )
}

fn is_spaced(character: char) -> bool {
    matches!(
        character,
        '\t' | '\n' | '\u{C}' | '\r' | '\u{1680}' | '\u{200B}'
            ..='\u{200F}' | '\u{2028}' | '\u{2029}' | '\u{2581}' | '\u{FEFF}' | '\u{FFFD}'
    )
}

impl CharRule for Nmt {
    #[inline]
    fn touches(&self, character: char) -> bool {
        is_removed(character) || is_spaced(character)
    }

    fn write(&self, character: char, sink: &mut impl TextSink) {
        match is_removed(character) {
            true => sink.skip(character.len_utf8()),
            false => sink.put(' ', 0),
        }
    }
}

#[cfg(test)]
mod lowercase_tests {
    use super::*;

    #[test]
    fn what_is_not_looked_up_has_no_case() {
        for character in ('\0'..=char::MAX).filter(|&character| has_no_case(character)) {
            assert!(character.to_lowercase().eq([character]));
        }
    }
}
