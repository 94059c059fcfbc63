//! Unicode's full lower-case mappings, each character by itself: Σ at the end of a word
//! becomes σ, as for Hugging Face's `Lowercase`.

use super::aligned::Sink;
use super::chars::CharRule;

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
    fn write(&self, character: char, sink: &mut impl Sink) {
        for (number, lower) in character.to_lowercase().enumerate() {
            sink.put(lower, isize::from(number > 0));
        }
    }
}

/// General punctuation and the blocks of East Asian scripts, which need no look-up.
#[inline]
fn has_no_case(character: char) -> bool {
    matches!(character, '\u{2000}'..='\u{2125}' | '\u{2E80}'..='\u{A63F}' | '\u{AC00}'..='\u{D7FF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_looked_up_has_no_case() {
        for character in ('\0'..=char::MAX).filter(|&character| has_no_case(character)) {
            assert!(character.to_lowercase().eq([character]));
        }
    }
}
